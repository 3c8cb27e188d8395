// The arrays of a memory-mapped model file: read-only, and shared by all processes that map the
// same file. They were not validated beforehand, so every number is checked where it is used: a
// corrupt file gives a MappedFailure, never a wrong address. N-grams are numbered in the order of
// the file, words first; a word's id is its rank, and label ids are positions.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cells.h"
#include "hash.h"
#include "vocabulary.h"

namespace watchword {

// An error in a mapped file; the message names the file.
class MappedFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Little-endian numbers of one, two, four or eight bytes each, wherever they begin.
class Numbers {
   public:
    Numbers() = default;
    Numbers(const std::uint8_t* data, std::uint64_t size, unsigned width)
        : data_(data), size_(size), width_(width) {}

    std::uint64_t size() const { return size_; }
    const std::uint8_t* data() const { return data_; }
    // The index must be below the size; it is not checked.
    std::uint64_t operator[](std::uint64_t at) const {
        switch (width_) {
            case 1: return data_[at];
            case 2: return load<std::uint16_t>(at);
            case 4: return load<std::uint32_t>(at);
            default: return load<std::uint64_t>(at);
        }
    }
    std::uint64_t back() const { return (*this)[size_ - 1]; }
    // Any index: prefetched indices are not checked yet.
    void prefetch_at(std::uint64_t at) const {
        const auto address = reinterpret_cast<std::uintptr_t>(data_) + at * width_;
        prefetch(reinterpret_cast<const void*>(address));
    }

   private:
    template <class T>
    std::uint64_t load(std::uint64_t at) const {
        static_assert(std::endian::native == std::endian::little, "files are little-endian");
        T value;
        std::memcpy(&value, data_ + at * sizeof(T), sizeof(T));
        return value;
    }

    const std::uint8_t* data_ = nullptr;
    std::uint64_t size_ = 0;
    unsigned width_ = 1;
};

struct MappedLevel {
    Numbers words, children, rows, labels, counts;
    Numbers weights;  // the bits of floats, beside the counts; empty without corrections
};

struct MappedArrays {
    Numbers word_bytes, word_offsets;
    std::vector<MappedLevel> levels;
    std::vector<Count> maxima;  // by length, then label
    std::size_t labels = 0;
    std::string source;                  // names the file in messages
    std::shared_ptr<const void> memory;  // keeps it where it is
};

class MappedTree {
   public:
    static constexpr std::uint64_t kNone = ~0ull;

    struct Range {
        std::uint64_t begin, end;
    };

    // Checks the sizes of the arrays and their last offsets.
    explicit MappedTree(MappedArrays arrays);

    unsigned lengths() const { return static_cast<unsigned>(arrays_.levels.size()); }

    // Words; find returns kUnknownWord for unknown ones.
    WordId words() const { return static_cast<WordId>(ngrams(1)); }
    WordId find_word(std::string_view word) const;
    std::string_view spelling(WordId rank) const;

    // Converts between an index among n-grams of one length and an id over all lengths.
    std::uint64_t ngrams(unsigned length) const { return level(length).rows.size() - 1; }
    std::uint64_t size() const { return first_id_.back() + ngrams(lengths()); }
    std::uint32_t id(unsigned length, std::uint64_t place) const {
        return static_cast<std::uint32_t>(first_id_[length - 1] + place);
    }
    std::uint64_t place(unsigned length, std::uint32_t ngram) const {
        return ngram - first_id_[length - 1];
    }

    // The extensions of an n-gram, and the one by this word.
    Range children(unsigned length, std::uint64_t place) const;
    std::uint64_t find_child(unsigned length, Range among, WordId word) const;
    // One step of that search, which prefetches the memory of the next one; false if the rest is so
    // small that further steps are not worthwhile.
    bool narrow(unsigned length, Range& among, WordId word) const {
        if (among.end - among.begin <= kSmall) return false;
        const Numbers& words = level(length).words;
        const std::uint64_t middle = among.begin + (among.end - among.begin) / 2;
        (words[middle] <= word ? among.begin : among.end) = middle;
        words.prefetch_at(among.begin + (among.end - among.begin) / 2);
        return true;
    }
    WordId last_word(unsigned length, std::uint64_t place) const;
    // The words of an n-gram, first to last.
    std::vector<WordId> words_of(unsigned length, std::uint64_t place) const;

    // The counts by label. A cell holds a single label and its count; for several labels it only
    // marks that there are several.
    void read_row(unsigned length, std::uint64_t place, std::vector<LabelCount>& row) const;
    Cell cell(unsigned length, std::uint64_t place) const;
    // The weights of an n-gram as corrections.h has them.
    void read_weights(unsigned length, std::uint64_t place, std::vector<LabelCount>& row) const;
    Count count(unsigned length, std::uint64_t place, LabelId label) const;

    // Prefetch the memory that will be read next.
    void prefetch_children(unsigned length, std::uint64_t place) const {
        level(length).children.prefetch_at(place);
    }
    void prefetch_middle(unsigned length, Range among) const {
        level(length).words.prefetch_at(among.begin + (among.end - among.begin) / 2);
    }
    void prefetch_row(unsigned length, std::uint64_t place) const {
        level(length).rows.prefetch_at(place);
    }
    void prefetch_entries(unsigned length, std::uint64_t place) const {
        const std::uint64_t entry = level(length).rows[place];
        level(length).labels.prefetch_at(entry);
        level(length).counts.prefetch_at(entry);
    }

    const MappedArrays& arrays() const { return arrays_; }

   private:
    static constexpr std::uint64_t kSmall = 16;  // words that fit into one or two cache lines

    std::string_view word(WordId rank) const;  // any bytes
    const MappedLevel& level(unsigned length) const { return arrays_.levels[length - 1]; }
    Range entries(unsigned length, std::uint64_t place) const;
    LabelCount entry(unsigned length, std::uint64_t at) const;
    void check_offsets(const Numbers& offsets, std::uint64_t items, std::uint64_t end,
                       const std::string& name) const;
    [[noreturn]] void fail(const std::string& what) const;

    const MappedArrays arrays_;
    std::vector<std::uint64_t> first_id_;  // by length - 1
};

// A cache of the ranks of words, because searching the file is much slower. Used by one thread at a
// time. Its memory is bounded, whatever is read: long words, which are rare, are not remembered.
class RankMemo {
   public:
    WordId find(const MappedTree& tree, PaddedWord word);

   private:
    static constexpr std::size_t kMostWords = std::size_t{1} << 18;
    static constexpr std::uint32_t kLongest = 64;  // bytes of a word

    Vocabulary seen_;
    std::vector<WordId> ranks_;  // by id in `seen_`
};

}  // namespace watchword
