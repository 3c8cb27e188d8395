// Numbers by key and value, nearly all of them zero: only the others take memory, and most of
// these are small numbers of small values, which take twelve bytes in an open-addressing table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "hash.h"
#include "pages.h"

namespace watchword {

class Tally {
   public:
    using Key = std::uint64_t;
    using Value = std::uint64_t;

    std::int64_t get(Key key, Value value) const;
    void add(Key key, Value value, std::int64_t amount);
    // Releases unused memory.
    void shrink();

   private:
    struct Entry {
        std::uint32_t high = 0, low = 0;  // of the key
        std::uint16_t value = 0;
        std::int16_t number = 0;  // 0: the entry is free

        bool is(Key key, Value wanted) const {
            return high == key >> 32 && low == static_cast<std::uint32_t>(key) && value == wanted;
        }
    };

    std::size_t home_of(Key key, Value value) const {
        const std::uint64_t hash = mix(key ^ kHashSeed.first, value + kHashSeed.second);
        return (hash >> 32) * entries_.size() >> 32;
    }
    std::size_t home_of(const Entry& entry) const {
        return home_of(std::uint64_t{entry.high} << 32 | entry.low, entry.value);
    }
    std::size_t next(std::size_t at) const { return at + 1 == entries_.size() ? 0 : at + 1; }
    std::size_t distance(std::size_t from, std::size_t to) const {
        return to >= from ? to - from : to + entries_.size() - from;
    }
    // The index of the entry, or of the free entry where it would be.
    std::size_t find(Key key, Value value) const;
    void add_large(Key key, Value value, std::int64_t amount);
    void remove(std::size_t at);
    void resize(std::size_t entries);

    Table<Entry> entries_;
    std::size_t used_ = 0;
    // Numbers and values too large for an entry. A number may be split between both.
    std::map<std::pair<Key, Value>, std::int64_t> large_;
};

}  // namespace watchword
