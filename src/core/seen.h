// The set of n-grams seen in each document, for one pass over a batch. The size of its table
// depends on the number of n-grams in the batch, not on the model; the table is reused.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "hash.h"
#include "trie.h"

namespace watchword {

class SeenNodes {
   public:
    // Clears the set, and makes room for this many pairs.
    void expect(std::size_t most) {
        const std::size_t slots = std::bit_ceil(std::max<std::size_t>(16, most * 2));
        slots_.assign(slots, kEmpty);
        mask_ = slots - 1;
    }
    // Adds a pair; returns whether it is new.
    bool insert(std::uint32_t document, NodeIndex node) {
        const std::uint64_t pair = std::uint64_t{document} << 32 | node;
        for (std::size_t at = hash_pair(document, node) & mask_;; at = (at + 1) & mask_) {
            if (slots_[at] == pair) return false;
            if (slots_[at] != kEmpty) continue;
            slots_[at] = pair;
            return true;
        }
    }

   private:
    static constexpr std::uint64_t kEmpty = Trie::kNone;  // no node has this index

    std::vector<std::uint64_t> slots_;
    std::size_t mask_ = 0;
};

}  // namespace watchword
