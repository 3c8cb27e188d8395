// The rule of reading (Algorithm 2) at one position: chooses one of the n-grams that begin there. A
// path provides these n-grams, from memory or from a file.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "valuer.h"

namespace watchword {

enum class ReadingRule : std::uint8_t { Paper, WordsSum };

struct Chosen {
    unsigned length;
    const ConfidenceStore::Entry* entry;
};

// Members that a path must have:
//   bool has(unsigned length)             whether an n-gram of this length (> 1) begins here
//   const Entry& word(unsigned offset)    entry of the word at this offset
//   const Entry* above(unsigned length, double floor)   its entry; null if not above `floor`
//   ConfidenceRow confidences(const Entry&)
//   void labels_of(unsigned length, visit)              calls visit(position of a label)

// Returns whether, for some label, the values of the words along the path add up to more.
template <class Path>
bool words_outweigh(Path& path, unsigned matched, double best, std::size_t labels) {
    thread_local std::vector<double> sums, word_cv;
    sums.assign(labels, 0);
    bool outweighed = false;
    for (unsigned length = 1; length <= matched; ++length) {
        word_cv.assign(labels, 0);
        const ConfidenceRow word = path.confidences(path.word(length - 1));
        for (std::size_t at = 0; at < word.size; ++at) word_cv[word.position(at)] = word.values[at];
        path.labels_of(length, [&](LabelPosition label) {
            sums[label] += word_cv[label];
            outweighed = outweighed || sums[label] > best;
        });
    }
    return outweighed;
}

// The first label that has the highest value.
template <class Path>
LabelPosition best_label(Path& path, const ConfidenceStore::Entry& entry) {
    const ConfidenceRow row = path.confidences(entry);
    std::size_t at = 0;
    while (at + 1 < row.size && row.values[at] != entry.best) ++at;
    return row.position(at);
}

// PySS3's rule: among equal values those of the first label win, then the shortest n-gram; and
// single words win where their values add up to more.
template <class Path>
Chosen choose_by_sum(Path& path, double alpha, std::size_t labels) {
    const ConfidenceStore::Entry* word = &path.word(0);
    Chosen best{1, word};
    bool above_alpha = word->best > alpha;
    unsigned matched = 1;
    for (; path.has(matched + 1); ++matched) {
        const double value = best.entry->best;
        const double floor = above_alpha ? std::nextafter(value, alpha) : alpha;
        const ConfidenceStore::Entry* entry = path.above(matched + 1, floor);
        if (entry == nullptr) continue;
        if (above_alpha && entry->best == value &&
            best_label(path, *entry) >= best_label(path, *best.entry)) {
            continue;
        }
        best = {matched + 1, entry};
        above_alpha = true;
    }
    const bool split = best.length > 1 && words_outweigh(path, matched, best.entry->best, labels);
    return split ? Chosen{1, word} : best;
}

template <class Path>
Chosen choose(Path& path, double alpha, ReadingRule rule, std::size_t labels) {
    if (rule == ReadingRule::WordsSum) return choose_by_sum(path, alpha, labels);
    const ConfidenceStore::Entry* word = &path.word(0);
    Chosen best{1, word};
    double best_value = std::max(word->best, alpha);  // values up to alpha count 0
    for (unsigned length = 2; path.has(length); ++length) {
        const ConfidenceStore::Entry* entry = path.above(length, best_value);
        if (entry == nullptr) continue;
        best_value = entry->best;
        best = {length, entry};
    }
    return best;
}

}  // namespace watchword
