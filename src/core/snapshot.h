// Counts as sorted arrays, as in a model file: equal counts give equal arrays, whatever their
// history. Word ids are ranks in the sorted vocabulary. The n-grams of each length are sorted by
// their words, so the children of a parent are adjacent.
// In snapshot.cpp and, for untrusted arrays, snapshot_reader.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "corrections.h"
#include "counts.h"

namespace watchword {

// What corrections have beside their weights.
struct FitTotals : Fit {
    Count learnt = 0, unlearnt = 0;  // documents since the fit that were not corrected for
    std::vector<double> biases;      // by label
};

struct SnapshotLevel {
    std::vector<std::uint32_t> words;     // last word of each n-gram; for single words left empty
    std::vector<std::uint64_t> children;  // where its extensions begin in the next level; one more
    std::vector<std::uint64_t> rows;      // where its counts begin; one more than n-grams
    std::vector<std::uint32_t> labels;    // by row: positions, ascending
    std::vector<std::uint64_t> counts;    // by row
    std::vector<std::uint32_t> weights;   // by row: the bits of floats; empty without corrections
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
    std::optional<FitTotals> fit;
};

// `corrections` may be null.
// Throws SnapshotFailure if n-grams are without their words, after unlearning without a check.
Snapshot take_snapshot(const Counts& counts, const Corrections* corrections, unsigned max_ngram);
// The arrays of counts that stay in a file. Throws MappedFailure unless they pass the checks of a
// model that is loaded into memory.
Snapshot checked_copy(const Counts& counts, const std::optional<FitTotals>& fit,
                      unsigned max_ngram);

// The corrections of a snapshot, for the counts that were read from it; null if it has none.
std::shared_ptr<Corrections> corrections_of(const Snapshot& snapshot, const Counts& counts);

// Counts over the arrays of a file; `known` has its labels. Reads no n-gram.
std::shared_ptr<Counts> map_counts(const Snapshot& known, MappedArrays arrays, Counting counting);

// Whether these bytes are a valid word: UTF-8 as Python encodes it (no surrogates, no overlong
// forms), without blanks.
bool is_word_text(std::string_view bytes);

// An error in a snapshot; the message is for the user who tried to load it.
class SnapshotFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Validates a snapshot before using any of it.
class SnapshotReader {
   public:
    SnapshotReader(const Snapshot& snapshot, Counting counting)
        : snapshot_(snapshot), counting_(counting) {}
    std::shared_ptr<Counts> read();

    // Checks what the manifest says about labels and pruning.
    void check_known() const;
    // Checks that no maximum is above those of shorter n-grams, or above the totals of its label.
    void check_maxima() const;
    // Checks everything.
    void check() const;

   private:
    void check_arrays() const;
    void check_words() const;
    void check_level(std::size_t level) const;
    void check_frequencies(std::size_t level) const;
    void check_row(std::size_t level, std::uint64_t ngram, std::size_t other_level,
                   std::uint64_t other, std::vector<std::uint64_t>& used) const;
    void check_totals() const;
    void check_fit() const;
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
