// Word ⇄ 32-bit id. Owns the words' bytes, each padded with zeros to a multiple of eight so that
// words are hashed and compared eight bytes at a time. Ids of removed words are reused.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "hash.h"
#include "pages.h"

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

inline std::uint64_t hash_word(PaddedWord word) {
    if (word.length <= 8) {
        return mix(word.chunk(0) ^ kHashSeed.first, kHashSeed.second + word.length);
    }
    std::uint64_t hash = kHashSeed.second + word.length;
    for (std::size_t at = 0; at < word.padded_length(); at += 8) {
        hash = mix(hash ^ word.chunk(at), kHashSeed.first);
    }
    return hash;
}

class Vocabulary {
   public:
    // kUnknownWord if the word is not there.
    WordId find(PaddedWord word, std::uint64_t hash) const;
    WordId find(std::string_view word) const;

    WordId find_or_add(PaddedWord word, std::uint64_t hash) {
        if (slots_.size() * 5 <= (live_ + 1) * 8) grow();
        const std::uint64_t key = key_of(word, hash);
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t at = first_slot(hash);; at = (at + 1) & mask) {
            const Slot& slot = slots_[at];
            if (slot.id == kEmpty) return add(word, key, at);
            if (slot.key == key && same(slot, word)) return slot.id;
        }
    }
    WordId find_or_add(std::string_view word);

    void prefetch_word(std::uint64_t hash) const {
        if (!slots_.empty()) prefetch(&slots_[first_slot(hash)]);
    }

    void remove(WordId id);
    void clear();
    void reserve(std::size_t words);

    // The ids ever given out are below this; some may be free.
    WordId id_limit() const { return static_cast<WordId>(entries_.size()); }
    bool holds(WordId id) const { return entries_[id].offset != kFree; }
    PaddedWord padded(WordId id) const {
        return {bytes_.data() + entries_[id].offset, entries_[id].length};
    }
    std::string_view word(WordId id) const {
        return {bytes_.data() + entries_[id].offset, entries_[id].length};
    }

   private:
    static constexpr std::uint64_t kFree = ~0ull;
    static constexpr std::uint32_t kEmpty = ~0u;

    struct Entry {
        std::uint64_t offset;
        std::uint32_t length;
    };
    // Most words have at most eight bytes: then the key is the word, and one comparison decides.
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t length = 0;
        std::uint32_t id = kEmpty;
    };

    static std::uint64_t key_of(PaddedWord word, std::uint64_t hash) {
        return word.length <= 8 ? word.chunk(0) : hash;
    }
    bool same(const Slot& slot, PaddedWord word) const {
        return slot.length == word.length && (word.length <= 8 || equal(slot.id, word));
    }
    bool equal(WordId id, PaddedWord word) const;
    std::size_t first_slot(std::uint64_t hash) const { return hash >> shift_; }
    WordId add(PaddedWord word, std::uint64_t key, std::size_t slot);
    void grow();
    void compact_bytes();

    std::vector<char> bytes_;
    std::vector<Entry> entries_;
    std::vector<WordId> free_ids_;
    Table<Slot> slots_;
    std::size_t live_ = 0;
    std::size_t dead_bytes_ = 0;
    unsigned shift_ = 63;
};

}  // namespace watchword
