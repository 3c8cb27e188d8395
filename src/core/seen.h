// Which n-grams were met before in a document: a set for one pass over a batch. Its table follows
// from how many n-grams may come, never from the size of the model, and is kept between passes.
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
    // Forgets everything; at most so many pairs will come.
    void expect(std::size_t most) {
        const std::size_t slots = std::bit_ceil(std::max<std::size_t>(16, most * 2));
        slots_.assign(slots, kEmpty);
        mask_ = slots - 1;
    }
    // Whether this is the first time.
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
