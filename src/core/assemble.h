// Turns sorted rows into the arrays of a model file, a batch at a time. Finished parts are returned
// to the caller, who writes them to files. Owns the vocabulary, because n-grams consist of ranks of
// words, and nothing else that grows with the model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rows.h"

namespace watchword {

// The next entries of the arrays of one length, and of `children` one length below.
struct ArrayParts {
    std::vector<std::uint8_t> word_bytes;  // of single words
    std::vector<std::uint64_t> word_offsets;
    std::vector<std::uint32_t> words;
    std::vector<std::uint64_t> children;
    std::vector<std::uint64_t> rows;
    std::vector<std::uint32_t> labels;
    std::vector<std::uint64_t> counts;
    std::vector<std::uint32_t> ranks;  // of all words of each n-gram: `above` of the next length
};

// Rows in buffers that the caller owns.
struct RowsView {
    std::span<const std::uint8_t> keys;
    std::span<const std::int32_t> offsets;
    std::span<const std::int32_t> labels;  // positions
    std::span<const std::int64_t> counts;
};

class Assembler {
   public:
    Assembler(unsigned max_ngram, std::size_t labels);

    // Adds rows of the current length: those of an n-gram are adjacent, sorted by position.
    // `above` are the ranks of all n-grams one word shorter.
    ArrayParts add(const RowsView& rows, std::span<const std::uint32_t> above);
    // Ends the current length and begins the next.
    ArrayParts end_length(std::span<const std::uint32_t> above);

    unsigned length() const { return length_; }
    std::uint64_t ngrams() const { return ngrams_; }              // of the current length so far
    const std::vector<Count>& maxima() const { return maxima_; }  // by length, then position

   private:
    void begin_ngram(std::string_view words, std::span<const std::uint32_t> above,
                     ArrayParts& parts);
    void add_word(std::string_view word, ArrayParts& parts);
    void add_longer(std::string_view words, std::span<const std::uint32_t> above,
                    ArrayParts& parts);
    void find_parent(std::span<const std::uint32_t> above, ArrayParts& parts);
    std::uint64_t parents(std::span<const std::uint32_t> above) const;
    [[noreturn]] void fail(const std::string& what) const;

    const unsigned max_ngram_;
    const std::size_t labels_;
    unsigned length_ = 1;
    Vocabulary words_;  // ids are ranks
    std::uint64_t word_bytes_ = 0;
    std::uint64_t ngrams_ = 0;
    std::uint64_t entries_ = 0;
    std::uint64_t parent_ = 0;  // of the current n-gram, among those one word shorter
    std::string key_;           // of the current n-gram, without its number of words
    std::int32_t label_ = -1;   // the last one of the current n-gram
    std::vector<std::uint32_t> ranks_;
    std::vector<Count> maxima_;
};

}  // namespace watchword
