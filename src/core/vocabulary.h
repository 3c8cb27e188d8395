// Word ⇄ 32-bit id. Owns the words' bytes, each padded with zeros to a multiple of eight so that
// words are hashed and compared eight bytes at a time. Ids of removed words are reused.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "hash.h"
#include "pages.h"
#include "probing_table.h"

namespace watchword {

using WordId = std::uint32_t;

// Ids at and above this one are marks in a sequence of terms (text.h), never words.
constexpr WordId kFirstMark = 0x7FFFFFF0;
constexpr WordId kUnknownWord = kFirstMark;

// A word whose bytes are followed by zeros up to a multiple of eight.
struct PaddedWord {
    const char* bytes;
    std::uint32_t length;

    std::size_t padded_length() const { return (static_cast<std::size_t>(length) + 7) & ~7ull; }
    std::uint64_t chunk(std::size_t at) const {
        std::uint64_t value;
        std::memcpy(&value, bytes + at, 8);
        return value;
    }
};

// Of a word of at most eight bytes.
inline std::uint64_t hash_short(std::uint64_t bytes, std::uint32_t length) {
    return mix(bytes ^ kHashSeed.first, kHashSeed.second + length);
}

inline std::uint64_t hash_word(PaddedWord word) {
    if (word.length <= 8) return hash_short(word.chunk(0), word.length);
    std::uint64_t hash = kHashSeed.second + word.length;
    for (std::size_t at = 0; at < word.padded_length(); at += 8) {
        hash = mix(hash ^ word.chunk(at), kHashSeed.first);
    }
    return hash;
}

class Vocabulary {
   public:
    // kUnknownWord if the word is not there.
    WordId find(PaddedWord word, std::uint64_t hash) const {
        const Slot* const slot = slots_.find(hash, Matches{*this, word, key_of(word, hash)});
        return slot == nullptr ? kUnknownWord : slot->id;
    }
    WordId find(std::string_view word) const;

    WordId find_or_add(PaddedWord word, std::uint64_t hash) {
        Slot* const slot = slots_.find_or_make_room(hash, Matches{*this, word, key_of(word, hash)});
        return slot->empty() ? add(word, hash, slot) : slot->id;
    }
    WordId find_or_add(std::string_view word);

    void prefetch_word(std::uint64_t hash) const { slots_.prefetch_slot(hash); }

    void remove(WordId id);
    void clear();
    void reserve(std::size_t words) { slots_.reserve(words); }

    // The ids ever given out are below this; some may be free.
    WordId id_limit() const { return static_cast<WordId>(entries_.size()); }
    bool holds(WordId id) const { return entries_[id].place != kFree; }
    PaddedWord padded(WordId id) const {
        return {bytes_at(entries_[id].place), entries_[id].length};
    }
    std::string_view word(WordId id) const {
        return {bytes_at(entries_[id].place), entries_[id].length};
    }
    // Of all memory, used or not.
    std::size_t capacity_bytes() const;

   private:
    static constexpr std::uint64_t kFree = ~0ull;
    static constexpr std::uint32_t kEmpty = ~0u;
    static constexpr std::size_t kLeastChunk = table_size(256, 16);
    static constexpr std::size_t kChunk = table_size(1 << 16, 64);
    static constexpr std::size_t kFewDeadBytes = table_size(4096, 32);

    struct Entry {
        std::uint64_t place;  // the chunk, then where in it, in 32 bits each
        std::uint32_t length;
    };
    // Most words have at most eight bytes: then the key is the word, and one comparison decides.
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t length = 0;
        std::uint32_t id = kEmpty;

        bool empty() const { return id == kEmpty; }
        std::uint64_t hash() const { return length <= 8 ? hash_short(key, length) : key; }
    };

    struct Matches {
        const Vocabulary& words;
        const PaddedWord word;
        const std::uint64_t key;

        bool operator()(const Slot& slot) const {
            return slot.key == key && slot.length == word.length &&
                   (word.length <= 8 || words.equal(slot.id, word));
        }
    };
    static std::uint64_t key_of(PaddedWord word, std::uint64_t hash) {
        return word.length <= 8 ? word.chunk(0) : hash;
    }
    const char* bytes_at(std::uint64_t place) const {
        return chunks_[place >> 32].data() + static_cast<std::uint32_t>(place);
    }
    bool equal(WordId id, PaddedWord word) const;
    WordId add(PaddedWord word, std::uint64_t hash, Slot* slot);
    std::uint64_t add_bytes(PaddedWord word);
    void add_chunk(std::size_t size);
    void compact_bytes();

    ProbingTable<Slot> slots_;
    SegmentedTable<Entry> entries_;
    std::vector<WordId> free_ids_;
    // No chunk but the first is ever moved.
    std::vector<std::vector<char>> chunks_;
    std::size_t last_used_ = 0;  // bytes of the last chunk
    std::size_t bytes_ = 0, dead_bytes_ = 0;
};

}  // namespace watchword
