// An index that makes the time of checking a document to unlearn depend on the document and not on
// the model: how much of an n-gram's count is accounted for by the n-grams that contain it. It is
// derived from the counts, which own it and keep it up to date.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cells.h"
#include "tally.h"
#include "trie.h"

namespace watchword {

class UnlearnIndex {
   public:
    // An n-gram; if it has several words, also the n-gram without the last one, and that word.
    struct Ngram {
        unsigned length;
        NgramId id;
        NgramId prefix;
        WordId last;
    };

    UnlearnIndex(Counting counting, unsigned max_ngram, std::size_t shards)
        : counting_(counting), max_ngram_(max_ngram), nodes_(shards) {}

    // Records that an n-gram's count under a label changes.
    void change(const Ngram& ngram, LabelId label, Count from, Count to);
    // The same, but only in the part for the n-grams of its shard, after `forget_shard`.
    void change_in_shard(const Ngram& ngram, LabelId label, Count from, Count to);
    // Clears the part for a shard, whose n-grams get other ids.
    void forget_shard(std::size_t shard) { nodes_[shard] = {}; }
    // Release memory that only building the index needed.
    void shrink_shard(std::size_t shard) { nodes_[shard].shrink(); }
    void shrink_words();

    // An n-gram of a document to unlearn, and the share of the document in the n-grams that contain
    // it: how often they occur in it or, where documents are counted, how many of them have the
    // same count as the n-gram.
    struct Leaving {
        unsigned length;
        NgramId id;
        Count count;                   // in the model
        Count amount;                  // in the document
        Count continued;               // of those one word longer that begin with it
        std::span<const Count> ended;  // if it is a word, of those that end in it: by length - 2
    };
    // Whether the remaining count is enough for the n-grams that remain. Every occurrence
    // of an n-gram is continued by at most one word, and every occurrence of a word ends at most
    // one n-gram of each length. Where documents are counted, one may continue an n-gram in many
    // ways, but has it whenever it has one of its continuations: what is in all documents of an
    // n-gram must be in this one too.
    bool may_go(const Leaving& ngram, LabelId label) const;

   private:
    // Many small tables, so that growing one of them is fast.
    static constexpr std::size_t kWordTallies = table_size(64, 2);
    static constexpr unsigned kContinued = 0;

    static Tally::Key key(NgramId ngram, LabelId label, unsigned way) {
        return std::uint64_t{ngram} << 32 | std::uint64_t{label} << 8 | way;
    }
    Tally& of_word(WordId word) { return words_[word % kWordTallies]; }
    const Tally& tally_of(unsigned length, NgramId ngram) const {
        return length == 1 ? words_[ngram % kWordTallies] : nodes_[ngram >> 24];
    }
    void apply(Tally& tally, Tally::Key key, Count from, Count to, int sign) const;

    Counting counting_;
    unsigned max_ngram_;
    // By n-gram, label and way of containing it. Where occurrences are counted: the n-gram's count
    // less those of the n-grams that contain it. Where documents are counted, for every count: 1 if
    // the n-gram has it, less the number of n-grams that have it. The ways are kContinued and, for
    // words, the length of the n-grams that end in them; these are compared with those one word
    // shorter, since most of them occur as often. Most of all these numbers are zero.
    std::array<Tally, kWordTallies> words_;
    std::vector<Tally> nodes_;  // by shard
};

}  // namespace watchword
