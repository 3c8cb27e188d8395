// Counting level by level, where rare n-grams will be dropped. An n-gram with a count above the
// floor consists of shorter ones above the floor, so only extensions of kept n-grams need to be
// counted. Owns the new counts; shares the kept ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rows.h"
#include "text.h"

namespace watchword {

class LevelCounter {
   public:
    // Counts n-grams of `length` (at least 2) words; `kept` holds the shorter ones.
    LevelCounter(std::shared_ptr<const Counts> kept, unsigned length);

    // Adds documents; each has one label, which must be a label of `kept`.
    void add(const TermBatch& batch, std::span<const Label> labels);
    // Distinct n-grams, per label.
    std::size_t size() const { return used_; }
    // Returns about this many rows and removes them; none at the end.
    CountRows take(std::size_t most);

   private:
    struct Slot {
        NgramId prefix = Counts::kNone;  // the n-gram without its last word
        WordId word = 0;
        LabelId label = 0;
        std::uint32_t document = 0;  // where it was counted last
        Count count = 0;
    };

    NgramId kept_at(std::span<const Symbol> symbols, std::size_t at, LabelId label) const;
    void count(NgramId prefix, WordId word, LabelId label);
    std::size_t slot_of(NgramId prefix, WordId word, LabelId label) const;
    void grow();

    std::shared_ptr<const Counts> kept_;
    const unsigned length_;
    std::vector<Slot> slots_;
    std::size_t used_ = 0;
    std::uint32_t document_ = 0;
    std::size_t taken_ = 0;  // slots that were handed out
    std::vector<Symbol> symbols_;
    std::vector<NgramId> found_;
};

}  // namespace watchword
