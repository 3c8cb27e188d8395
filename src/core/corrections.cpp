#include "corrections.h"

#include <algorithm>
#include <functional>

namespace watchword {
namespace {

// Calls visit(length, ngram, words) for every n-gram of the counts.
void for_each_with_words(
    const Counts& counts,
    const std::function<void(unsigned, NgramId, std::span<const WordId>)>& visit) {
    counts.for_each([&](unsigned length, NgramId ngram) {
        visit(length, ngram, counts.words_of(length, ngram));
    });
}

// The same n-gram in other counts.
NgramId find_in(const Counts& counts, const Counts& named, std::span<const WordId> words,
                std::vector<WordId>& room) {
    room.clear();
    for (const WordId word : words) room.push_back(counts.find_word(named.word(word)));
    if (words.size() > counts.max_ngram()) return Counts::kNone;
    for (const WordId word : room) {
        if (word == kUnknownWord) return Counts::kNone;
    }
    return room.size() == 1 ? room[0] : counts.find(room);
}

}  // namespace

Corrections::Corrections(const Counts& counts) {
    for (std::size_t part = 0; part <= kShards; ++part) {
        const std::size_t size =
            part == kShards ? counts.words().id_limit() : counts.shard(part).size();
        reserve_tightly(parts_[part].cells, size);  // not to be copied when n-grams are learnt
        parts_[part].cells.resize(size);
    }
}

void Corrections::set_bias(LabelId label, double bias) {
    if (label >= biases_.size()) biases_.resize(label + 1, 0);
    biases_[label] = bias;
}

float Corrections::weight(unsigned length, NgramId ngram, LabelId label,
                          std::vector<LabelCount>& room) const {
    for (const LabelCount entry : row(length, ngram, room)) {
        if (label_of(entry) == label) return weight_of(entry);
    }
    return 0;
}

Cell& Corrections::writable_cell(unsigned length, NgramId ngram) {
    Part& own = parts_[part_of(length, ngram)];
    const std::size_t at = index(length, ngram);
    if (at >= own.cells.size()) {
        reserve_tightly(own.cells, at + 1);
        own.cells.resize(at + 1);
    }
    return own.cells[at];
}

void Corrections::set(unsigned length, NgramId ngram, LabelId label, float weight) {
    writable_cell(length, ngram).set(entry_of(label, weight), parts_[part_of(length, ngram)].pool);
}

void Corrections::fill(unsigned length, NgramId ngram, std::span<const LabelCount> row) {
    writable_cell(length, ngram).fill(row, parts_[part_of(length, ngram)].pool);
}

void Corrections::add(unsigned length, NgramId ngram, std::span<const LabelCount> counts, double x,
                      std::span<const double> steps) {
    Cell& cell = writable_cell(length, ngram);
    RowPool& pool = parts_[part_of(length, ngram)].pool;
    std::span<LabelCount> row = cell.row(pool);
    std::size_t at = 0;  // both are sorted by label
    for (const LabelCount entry : counts) {
        const LabelId label = entry.label();
        const auto added = static_cast<float>(steps[label] * x);
        if (added == 0) continue;
        while (at < row.size() && label_of(row[at]) < label) ++at;
        if (at < row.size() && label_of(row[at]) == label) {
            row[at] = entry_of(label, weight_of(row[at]) + added);
        } else {
            cell.set(entry_of(label, added), pool);
            row = cell.row(pool);  // it may have moved
        }
    }
}

void Corrections::forget(LabelId label) {
    if (label < biases_.size()) biases_[label] = 0;
    for (Part& own : parts_) {
        for (Cell& cell : own.cells) {
            for (LabelCount& entry : cell.row(own.pool)) {
                if (label_of(entry) == label) entry = entry_of(label, 0);
            }
        }
    }
}

Corrections Corrections::moved(const Counts& from, const Counts& to) const {
    Corrections there;
    there.fit = fit;
    there.biases_ = biases_;
    std::vector<WordId> words;
    std::vector<LabelCount> room;
    for_each_with_words(to, [&](unsigned length, NgramId ngram, std::span<const WordId> named) {
        const NgramId own = find_in(from, to, named, words);
        if (own == Counts::kNone) return;
        for (const LabelCount entry : row(length, own, room)) {
            if (to.count(length, ngram, label_of(entry)) == 0) continue;
            there.set(length, ngram, label_of(entry), weight_of(entry));
        }
    });
    return there;
}

Corrections Corrections::averaged(const Corrections& one, const Counts& of_one,
                                  const Corrections& other, const Counts& of_other,
                                  const Counts& both) {
    Corrections mean;
    mean.fit = one.fit;
    mean.fit.margins += other.fit.margins;
    mean.fit.texts += other.fit.texts;
    mean.fit.documents += other.fit.documents;
    mean.fit.temperature = (one.fit.temperature + other.fit.temperature) / 2;
    // Label ids differ; a label that only one of them knows keeps half of its corrections.
    const LabelTable& labels = both.labels();
    const auto add = [&](const Corrections& part, const Counts& counts) {
        const LabelTable& own = counts.labels();
        std::vector<LabelId> ids(own.id_limit());
        for (LabelPosition position = 0; position < own.size(); ++position) {
            const LabelId id = own.id_at(position);
            ids[id] = *labels.find(own.name(id));
            mean.set_bias(ids[id], mean.bias(ids[id]) + part.bias(id) / 2);
        }
        std::vector<WordId> words;
        std::vector<LabelCount> room, sum;
        for_each_with_words(both,
                            [&](unsigned length, NgramId ngram, std::span<const WordId> named) {
                                const NgramId found = find_in(counts, both, named, words);
                                if (found == Counts::kNone) return;
                                for (const LabelCount entry : part.row(length, found, room)) {
                                    const LabelId label = ids[label_of(entry)];
                                    const float known = mean.weight(length, ngram, label, sum);
                                    mean.set(length, ngram, label, known + weight_of(entry) / 2);
                                }
                            });
    };
    add(one, of_one);
    add(other, of_other);
    return mean;
}

}  // namespace watchword
