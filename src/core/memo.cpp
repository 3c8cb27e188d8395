#include "memo.h"

#include <algorithm>
#include <bit>

#include "hash.h"

namespace watchword {

void Memo::prepare(const Counts& counts, const ValueParameters& parameters,
                   std::shared_ptr<const LargestValues> largest, std::uint64_t state) {
    if (state_ == state) return;
    state_ = state;
    counts_ = &counts;
    parameters_ = parameters;
    largest_ = std::move(largest);
    forget();
    const LabelTable& labels = counts.labels();
    maxima_.resize(counts.max_ngram());
    for (unsigned length = 1; length <= counts.max_ngram(); ++length) {
        std::vector<Count>& column = maxima_[length - 1];
        column.resize(labels.size());
        for (LabelPosition position = 0; position < labels.size(); ++position) {
            column[position] = counts.maximum(length, labels.id_at(position));
        }
    }
}

void Memo::make_room() {
    if (used_ >= kMaxEntries || confidences_.size() >= kMaxConfidences) forget();
}

void Memo::forget() {
    used_ = 0;
    confidences_.clear();
    if (++stamp_ == 0) {
        std::fill(slots_.begin(), slots_.end(), Slot{});
        stamp_ = 1;
    }
}

// Values of an n-gram of one label depend only on its length, label and count: such n-grams share
// an entry. Not so where the values of their words matter.
std::uint64_t Memo::key_of(unsigned length, NgramId ngram) const {
    constexpr std::uint64_t kShared = std::uint64_t{1} << 63, kLonger = std::uint64_t{1} << 62;
    if (parameters_.confidence_function != ConfidenceFunction::NormGvXai) {
        const std::span<const LabelCount> row = counts_->row(length, ngram);
        if (row.size() == 1 && row[0].count() < (1u << 16)) {
            return kShared | std::uint64_t{length} << 48 | std::uint64_t{row[0].label()} << 16 |
                   row[0].count();
        }
    }
    return length == 1 ? ngram : kLonger | ngram;
}

Memo::Entry Memo::get(unsigned length, NgramId ngram) {
    if (slots_.size() <= used_ * 2) grow();
    const std::uint64_t key = key_of(length, ngram);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = mix(key ^ kHashSeed.first, kHashSeed.second) & mask;
    for (; slots_[at].stamp == stamp_; at = (at + 1) & mask) {
        if (slots_[at].key == key) return slots_[at].entry;
    }
    const Entry entry = compute(length, ngram);
    slots_[at] = {key, entry, stamp_};
    ++used_;
    return entry;
}

void Memo::grow() {
    std::vector<Slot> old(std::max<std::size_t>(256, slots_.size() * 2));
    std::swap(old, slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
        if (slot.stamp != stamp_) continue;
        std::size_t at = mix(slot.key ^ kHashSeed.first, kHashSeed.second) & mask;
        while (slots_[at].stamp == stamp_) at = (at + 1) & mask;
        slots_[at] = slot;
    }
}

Memo::Entry Memo::compute(unsigned length, NgramId ngram) {
    confidences(length, ngram, values(length, ngram), computed_);
    Entry entry{0, static_cast<std::uint32_t>(confidences_.size()),
                static_cast<std::uint32_t>(computed_.size())};
    for (const Confidence& confidence : computed_) entry.best = std::max(entry.best, confidence.cv);
    confidences_.insert(confidences_.end(), computed_.begin(), computed_.end());
    return entry;
}

void Memo::fill_row(unsigned length, NgramId ngram, std::vector<LabelValues>& row) const {
    const LabelTable& labels = counts_->labels();
    row.clear();
    for (const LabelCount entry : counts_->row(length, ngram)) {
        row.push_back({labels.position(entry.label()), entry.count(), 0, 0, 0, 0});
    }
    std::sort(row.begin(), row.end(), [](const LabelValues& a, const LabelValues& b) {
        return a.position < b.position;
    });
    evaluate(row, maxima_[length - 1], parameters_);
}

const std::vector<LabelValues>& Memo::values(unsigned length, NgramId ngram) {
    fill_row(length, ngram, row_);
    return row_;
}

void Memo::confidences(unsigned length, NgramId ngram, const std::vector<LabelValues>& values,
                       std::vector<Confidence>& out) {
    out.clear();
    const ConfidenceFunction function = parameters_.confidence_function;
    double total = 0;
    std::vector<unsigned> speaking;  // by position: how many of the words speak for the label
    if (function == ConfidenceFunction::NormGvXai && length > 1) {
        speaking.resize(labels());
        for (const WordId word : counts_->words_of(length, ngram)) {
            fill_row(1, word, word_row_);
            for (const LabelValues& entry : word_row_) {
                total += entry.gv;
                speaking[entry.position] += speaks_for_it(entry.gv);
            }
        }
    }
    for (const LabelValues& entry : values) {
        const double max_gv = largest_ ? (*largest_)[length - 1][entry.position] : 0;
        const bool all = !speaking.empty() && speaking[entry.position] == length;
        out.push_back({entry.position,
                       confidence(entry.gv, max_gv, length, {total, all}, function)});
    }
}

}  // namespace watchword
