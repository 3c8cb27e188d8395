// Counts as sorted arrays: the form in which they are kept in a file, the same for equal counts
// whatever their history. Word ids are ranks in the sorted vocabulary; n-grams of each length are
// sorted by their words, and so are a parent's children side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counts.h"

namespace watchword {

struct SnapshotLevel {
    std::vector<std::uint32_t> words;     // last word of each n-gram; for single words left empty
    std::vector<std::uint64_t> children;  // where its extensions begin in the next level; one more
    std::vector<std::uint64_t> rows;      // where its counts begin; one more than n-grams
    std::vector<std::uint32_t> labels;    // by row: positions, ascending
    std::vector<std::uint64_t> counts;    // by row
};

struct Snapshot {
    std::vector<Label> labels;
    std::vector<LabelTotals> totals;          // by label
    std::vector<char> word_bytes;             // the words in ascending order of their UTF-8
    std::vector<std::uint64_t> word_offsets;  // one more than words
    std::vector<SnapshotLevel> levels;
    std::vector<std::uint64_t> maxima;  // by length, then label
    PruneResult pruned;
    bool was_pruned = false;
    Count words_since_prune = 0;
};

Snapshot take_snapshot(const Counts& counts, unsigned max_ngram);
// The same of counts that stay in a file: its arrays. Throws MappedFailure unless they are as sound
// as those of a model that is read from a file.
Snapshot checked_copy(const Counts& counts, unsigned max_ngram);

// Counts over the arrays of a file; `known` tells of its labels. Looks at no n-gram.
std::shared_ptr<Counts> map_counts(const Snapshot& known, MappedArrays arrays, Counting counting);

// Whether a word of a model may look so: UTF-8 as Python would encode it (no surrogates, no
// overlong forms), and no blank.
bool is_word_text(std::string_view bytes);

// What is wrong with a snapshot, in words for the person who tried to load it.
class SnapshotFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Checks everything before it believes anything.
class SnapshotReader {
   public:
    SnapshotReader(const Snapshot& snapshot, Counting counting)
        : snapshot_(snapshot), counting_(counting) {}
    std::shared_ptr<Counts> read();

    // What the manifest tells of labels and pruning.
    void check_known() const;
    // All that can be wrong.
    void check() const;

   private:
    void check_arrays() const;
    void check_words() const;
    void check_level(std::size_t level) const;
    void check_frequencies(std::size_t level) const;
    void check_row(std::size_t level, std::uint64_t ngram, std::size_t other_level,
                   std::uint64_t other, std::vector<std::uint64_t>& used) const;
    void check_totals() const;
    std::span<const std::uint32_t> row_labels(std::size_t level, std::uint64_t ngram) const;
    std::span<const std::uint64_t> row_counts(std::size_t level, std::uint64_t ngram) const;
    std::uint64_t ngrams(std::size_t level) const;
    void fill(Counts& counts) const;
    void fill_shards(Counts& counts) const;
    void reserve_shards(Counts& counts) const;

    const Snapshot& snapshot_;
    const Counting counting_;
};

}  // namespace watchword
