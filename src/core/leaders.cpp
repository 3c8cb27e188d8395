#include "leaders.h"

#include <algorithm>

#include "counts.h"

namespace watchword {
namespace {

// A column that has grown to the first is cut to the second. The more are kept, the longer
// unlearning goes on without a pass over the n-grams; the longer a search in the list takes, too.
constexpr std::size_t kMost = table_size(256, 6);
constexpr std::size_t kKept = table_size(128, 3);

}  // namespace

void Leaders::grow(std::size_t labels) {
    for (std::vector<Column>& columns : columns_) columns.resize(labels);
}

Leaders Leaders::fork() const {
    Leaders fork(static_cast<unsigned>(columns_.size()));
    for (std::size_t at = 0; at < columns_.size(); ++at) {
        for (const Column& column : columns_[at])
            fork.columns_[at].push_back({0, column.bound, {}});
    }
    return fork;
}

void Leaders::fix_all(Count least) {
    for (std::vector<Column>& columns : columns_) {
        for (Column& column : columns) {
            const Count maximum = std::max(column.maximum, least);
            column = {maximum, maximum, {}};
        }
    }
}

void Leaders::join(const Leaders& fork, const Counts& counts) {
    for (std::size_t at = 0; at < fork.columns_.size(); ++at) {
        for (std::size_t label = 0; label < fork.columns_[at].size(); ++label) {
            const Column& theirs = fork.columns_[at][label];
            Column& ours = columns_[at][label];
            raise_to(ours.maximum, theirs.maximum);
            raise_to(ours.bound, theirs.bound);
            ours.ngrams.insert(ours.ngrams.end(), theirs.ngrams.begin(), theirs.ngrams.end());
            if (ours.ngrams.size() < kMost) continue;
            shorten(ours, static_cast<unsigned>(at + 1), static_cast<LabelId>(label), counts);
        }
    }
}

void Leaders::Length::enter(Column& column, LabelId label, NgramId ngram) const {
    column.ngrams.push_back(ngram);
    if (column.ngrams.size() >= kMost) shorten(column, length_, label, counts_);
}

// An n-gram is listed twice if its count fell to the bound and rose again.
void Leaders::shorten(Column& column, unsigned length, LabelId label, const Counts& counts) {
    std::sort(column.ngrams.begin(), column.ngrams.end());
    const auto repeated = std::unique(column.ngrams.begin(), column.ngrams.end());
    column.ngrams.erase(repeated, column.ngrams.end());
    if (column.ngrams.size() <= kKept) return;
    struct Entry {
        Count count;
        NgramId ngram;
    };
    std::vector<Entry> entries;
    entries.reserve(column.ngrams.size());
    for (const NgramId ngram : column.ngrams) {
        entries.push_back({counts.count(length, ngram, label), ngram});
    }
    const auto dropped = entries.begin() + kKept;
    std::nth_element(entries.begin(), dropped, entries.end(),
                     [](const Entry& a, const Entry& b) { return a.count > b.count; });
    raise_to(column.bound, dropped->count);
    column.ngrams.clear();
    for (auto kept = entries.begin(); kept != dropped; ++kept) column.ngrams.push_back(kept->ngram);
}

void Leaders::settle(unsigned length, LabelId label, const Counts& counts) {
    Column& column = columns_[length - 1][label];
    column.maximum = 0;
    for (const NgramId ngram : column.ngrams) {
        raise_to(column.maximum, counts.count(length, ngram, label));
    }
    if (column.maximum >= column.bound) return;
    column = {};
    Length found = of_length(length, counts);
    counts.for_each_of_length(length, [&](NgramId ngram) {
        found.rise(label, ngram, 0, counts.count(length, ngram, label));
    });
}

void Leaders::rebuild(const Counts& counts) {
    for (std::vector<Column>& columns : columns_) columns.assign(columns.size(), {});
    std::vector<Length> found;
    for (unsigned length = 1; length <= columns_.size(); ++length) {
        found.push_back(of_length(length, counts));
    }
    std::vector<LabelCount> unused;
    counts.for_each([&](unsigned length, NgramId ngram) {
        for (const LabelCount entry : counts.row(length, ngram, unused)) {
            found[length - 1].rise(entry.label(), ngram, 0, entry.count());
        }
    });
}

Count Leaders::with_maximum(unsigned length, LabelId label, const Counts& counts) const {
    const Column& column = columns_[length - 1][label];
    std::vector<NgramId> found;
    const auto add = [&](NgramId ngram) {
        if (counts.count(length, ngram, label) == column.maximum) found.push_back(ngram);
    };
    if (column.maximum > column.bound) {
        for (const NgramId ngram : column.ngrams) add(ngram);
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
    } else if (column.maximum > 0) {
        counts.for_each_of_length(length, add);
    }
    return found.size();
}

void Leaders::forget_label(LabelId label) {
    for (std::vector<Column>& columns : columns_) columns[label] = {};
}

void Leaders::forget_shard(std::size_t shard) {
    for (std::size_t at = 1; at < columns_.size(); ++at) {
        for (Column& column : columns_[at]) {
            std::erase_if(column.ngrams, [&](NgramId ngram) { return ngram >> 24 == shard; });
        }
    }
}

}  // namespace watchword
