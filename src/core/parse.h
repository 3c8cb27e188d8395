// Reading (Algorithm 2): which n-grams a sequence of words is taken to consist of. The tree that is
// the union of the labels' trees is walked once for all labels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "counts.h"
#include "memo.h"
#include "text.h"

namespace watchword {

enum class ReadingRule : std::uint8_t { Paper, WordsSum };

// An n-gram taken at some position; a word nobody has learnt has no id.
struct Choice {
    unsigned length = 1;
    NgramId ngram = Counts::kNone;
    Memo::Entry entry;
};

class Parser {
   public:
    Parser(const Counts& counts, unsigned max_ngram, double alpha, ReadingRule rule, Memo& memo)
        : counts_(counts), max_ngram_(max_ngram), alpha_(alpha), rule_(rule), memo_(memo) {}

    // Finds every n-gram of these symbols (whose words are ids of the model) in the tree.
    void walk(std::span<const Symbol> symbols);

    // The n-gram to take at this position, which must be that of a word.
    Choice choose(std::size_t position);

   private:
    bool words_outweigh(std::size_t position, unsigned matched, double best);

    const Counts& counts_;
    const unsigned max_ngram_;
    const double alpha_;
    const ReadingRule rule_;
    Memo& memo_;
    std::span<const Symbol> symbols_;
    std::vector<std::vector<NgramId>> found_;  // by length - 2 and position
    std::vector<std::uint64_t> hashes_;
    std::vector<double> word_cv_, sums_;  // by label position
};

}  // namespace watchword
