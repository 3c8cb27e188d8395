// The most frequent n-grams of each length and label, so that the largest count stays known while
// documents are learnt and unlearnt. A column lists some n-grams and bounds the counts of all
// others: as long as one in the list has at least the bound, the largest count is in the list. It
// is derived from the counts, which own it and report every change.
#pragma once

#include <vector>

#include "cells.h"
#include "trie.h"

namespace watchword {

class Counts;

class Leaders {
   public:
    explicit Leaders(unsigned max_ngram) : columns_(max_ngram) {}
    // A copy for n-grams up to this length.
    Leaders(const Leaders& other, unsigned max_ngram)
        : columns_(other.columns_.begin(), other.columns_.begin() + max_ngram) {}

    // Room for labels with ids below this.
    void grow(std::size_t labels);
    // Empty columns with the bounds of these, for one of several threads.
    Leaders fork() const;
    // Adds what a fork found; no n-gram may have been reported to two of them.
    void join(const Leaders& fork, const Counts& counts);

    Count maximum(unsigned length, LabelId label) const {
        return columns_[length - 1][label].maximum;
    }
    // Sets a maximum that stays, for counts that are never lowered.
    void fix(unsigned length, LabelId label, Count maximum) {
        columns_[length - 1][label] = {maximum, maximum, {}};
    }
    // The same for all columns: their own maximum, or at least this one.
    void fix_all(Count least = 0);

    // The columns of one length, for many reports in turn.
    class Length {
       public:
        // Reports that a count has risen.
        void rise(LabelId label, NgramId ngram, Count before, Count count) {
            Column& column = columns_[label];
            if (column.maximum < count) column.maximum = count;
            // One branch instead of two, of which the first could not be predicted.
            const bool enters = (before <= column.bound) & (count > column.bound);
            if (enters) [[unlikely]]
                enter(column, label, ngram);
        }

       private:
        friend class Leaders;
        struct Column {
            Count maximum = 0;
            Count bound = 0;  // no n-gram outside the list has a larger count
            std::vector<NgramId> ngrams;
        };
        Length(std::vector<Column>& columns, unsigned length, const Counts& counts)
            : columns_(columns.data()), length_(length), counts_(counts) {}
        void enter(Column& column, LabelId label, NgramId ngram) const;

        Column* columns_;
        unsigned length_;
        const Counts& counts_;
    };
    Length of_length(unsigned length, const Counts& counts) {
        return {columns_[length - 1], length, counts};
    }

    // Finds the largest count again after counts were lowered: in the list or, if all in it have
    // become rare, by a pass over the n-grams of this length.
    void settle(unsigned length, LabelId label, const Counts& counts);
    // Finds all again, by a pass over all n-grams.
    void rebuild(const Counts& counts);
    // The number of n-grams that have the largest count; a pass over those of this length only if
    // there are very many.
    Count with_maximum(unsigned length, LabelId label, const Counts& counts) const;

    void forget_label(LabelId label);
    // Forgets the n-grams of a shard, whose ids are about to change.
    void forget_shard(std::size_t shard);

   private:
    using Column = Length::Column;
    static void shorten(Column& column, unsigned length, LabelId label, const Counts& counts);

    std::vector<std::vector<Column>> columns_;  // by length - 1 and label id
};

}  // namespace watchword
