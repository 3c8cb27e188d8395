// The n-grams of a text that the model knows: those chosen by reading (Algorithm 2), or all of
// them. One walk of the common tree serves all labels. Text is read in blocks, so that the memory
// of many look-ups is fetched at once.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "counts.h"
#include "memo.h"
#include "reading_rule.h"
#include "text.h"

namespace watchword {

// The n-gram chosen at a position (a word that was never learnt has no id), or the end of a
// sentence or paragraph (without an entry).
struct Choice {
    std::size_t position;
    unsigned length;
    NgramId ngram;
    const Memo::Entry* entry;
};

class NgramFinder {
   public:
    NgramFinder(const Counts& counts, unsigned max_ngram, double alpha, ReadingRule rule,
                Memo& memo)
        : counts_(counts), max_ngram_(max_ngram), alpha_(alpha), rule_(rule), memo_(memo) {}

    // Chooses the n-grams of these symbols, whose words are ids of the model, from `begin` on, and
    // returns the start of the next block. The choices, in order, are valid until the next call.
    std::size_t choose_block(std::span<const Symbol> symbols, std::size_t begin);
    std::span<const Choice> choices() const { return {choices_.data(), chosen_}; }

    // Finds all n-grams that begin in the block, overlapping ones too: calls
    // visit(position, length, ngram, entry) in the order of the text, where entry() is what the
    // memo knows of it, and returns where the next block begins.
    template <class Visit>
    std::size_t find_all(std::span<const Symbol> symbols, std::size_t begin, const Visit& visit) {
        const std::size_t end = walk_block(symbols, begin);
        for (std::size_t at = begin; at < end; ++at) {
            if (!is_word(symbols[at])) continue;
            const Symbol word = symbols[at];
            visit(at, 1u, NgramId{word},
                  [&]() -> const Memo::Entry& { return memo_.get_word(word); });
            const Found* found = found_at(at - begin);
            for (unsigned length = 2; length <= max_ngram_; ++length, ++found) {
                if (found->ngram == Counts::kNone) break;
                visit(at, length, found->ngram, [&]() -> const Memo::Entry& {
                    return *memo_.get_above(-1, found->place, length, found->ngram);
                });
            }
        }
        return end;
    }

   private:
    // The memory fetched for this many words fits into the first-level cache.
    static constexpr std::size_t kBlock = table_size(96, 8);

    // An n-gram of the block that is in the tree.
    struct Found {
        Memo::Place place;
        NgramId ngram;
    };
    // An n-gram to look for.
    struct Open {
        std::uint32_t offset;
        std::uint32_t shard;
        Trie::Key key;
        std::uint64_t hash;
        const Trie::Slot* slot;  // where to go on searching
    };

    // An n-gram to look for in a file.
    struct Step {
        std::uint32_t offset;
        std::uint64_t place;  // of what it extends, then its own
        MappedTree::Range among;
    };

    // Finds every n-gram that begins in the block, and returns where it ends.
    std::size_t walk_block(std::span<const Symbol> symbols, std::size_t begin);
    void walk(std::span<const Symbol> symbols, std::size_t begin, std::size_t end);
    void find_open(unsigned length, std::span<Open> open);
    // The same in a file.
    void walk_mapped(std::span<const Symbol> symbols, std::size_t begin, std::size_t end);
    void find_mapped(unsigned length, std::span<const Symbol> following);
    // The n-grams found at an offset, by length - 2, up to the first missing one.
    Found* found_at(std::size_t offset) { return &found_[offset * max_ngram_]; }
    class Path;
    Choice choose_at(std::span<const Symbol> symbols, std::size_t position, const Found* found);

    const Counts& counts_;
    const unsigned max_ngram_;
    const double alpha_;
    const ReadingRule rule_;
    Memo& memo_;
    std::array<Choice, kBlock> choices_;
    std::size_t chosen_ = 0;
    std::vector<Found> found_;  // by offset in the block and length - 2
    std::array<Open, kBlock> open_;
    std::vector<Step> steps_;
    std::vector<LabelCount> room_;
};

}  // namespace watchword
