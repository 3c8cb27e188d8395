// Counts as rows of label, n-gram and count, to be summed and sorted by another program, such as
// Spark. An n-gram is a key whose bytes sort in the order of a model file: its number of words,
// then the words separated by zeros. Zeros and ones inside a word become a one and their successor,
// which keeps the order. The caller owns the rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "counts.h"

namespace watchword {

using KeyBytes = std::vector<std::uint8_t>;

// An error in rows; the message is for the user who made them.
class RowsFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

void append_key(std::span<const std::string_view> words, KeyBytes& bytes);

// The words of a key, one after the other.
class KeyReader {
   public:
    explicit KeyReader(std::string_view words) : rest_(words) {}
    bool done() const { return done_; }
    // Valid until the next call.
    std::string_view next();

   private:
    std::string_view rest_;
    std::string unescaped_;
    bool done_ = false;
};

// In the layout of Arrow: `offsets` has one entry more than there are rows.
struct CountRows {
    std::vector<std::int32_t> labels;  // positions
    KeyBytes keys;
    std::vector<std::int32_t> offsets{0};
    std::vector<std::int64_t> counts;

    std::size_t size() const { return counts.size(); }
    bool full(std::size_t most) const;
    void add(LabelPosition label, std::span<const std::string_view> words, Count count);
};

// Returns counts as batches of rows; shares the counts and never changes them.
class CountDrain {
   public:
    CountDrain(std::shared_ptr<const Counts> counts, unsigned max_ngram)
        : counts_(std::move(counts)), max_ngram_(max_ngram) {}
    // Returns about this many rows; none at the end.
    CountRows next(std::size_t most);

   private:
    void add(unsigned length, NgramId ngram, CountRows& rows);
    void add_mapped(const MappedTree& tree, std::size_t most, CountRows& rows);
    void add_shard(const Trie& shard, std::size_t most, CountRows& rows);

    std::shared_ptr<const Counts> counts_;
    const unsigned max_ngram_;
    WordId word_ = 0;  // what comes next: a word, then the nodes of each shard
    std::size_t shard_ = 0;
    NodeIndex node_ = 0;
    unsigned length_ = 1;  // in a file: the n-grams of each length
    std::uint64_t place_ = 0;
    std::vector<LabelCount> room_;
    std::vector<std::uint8_t> lengths_;  // of the shard's nodes
    std::vector<std::string_view> words_;
};

}  // namespace watchword
