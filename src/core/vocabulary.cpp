#include "vocabulary.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace watchword {
namespace {

// A copy of a word with the zeros that PaddedWord asks for.
class Padded {
   public:
    explicit Padded(std::string_view word) : copy_(word) {
        if (word.size() >= ~0u - 8) throw std::length_error("a word is longer than 4 GiB");
        copy_.resize(std::max<std::size_t>(8, (word.size() + 7) & ~std::size_t{7}), '\0');
        length_ = static_cast<std::uint32_t>(word.size());
    }
    PaddedWord get() const { return {copy_.data(), length_}; }

   private:
    std::string copy_;
    std::uint32_t length_;
};

}  // namespace

bool Vocabulary::equal(WordId id, PaddedWord word) const {
    const PaddedWord own = padded(id);
    for (std::size_t at = 0; at < word.padded_length(); at += 8) {
        if (own.chunk(at) != word.chunk(at)) return false;
    }
    return true;
}

WordId Vocabulary::find(PaddedWord word, std::uint64_t hash) const {
    if (slots_.empty()) return kUnknownWord;
    const std::uint64_t key = key_of(word, hash);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = first_slot(hash); slots_[at].id != kEmpty; at = (at + 1) & mask) {
        if (slots_[at].key == key && same(slots_[at], word)) return slots_[at].id;
    }
    return kUnknownWord;
}

WordId Vocabulary::find(std::string_view word) const {
    const Padded padded(word);
    return find(padded.get(), hash_word(padded.get()));
}

WordId Vocabulary::find_or_add(std::string_view word) {
    const Padded padded(word);
    return find_or_add(padded.get(), hash_word(padded.get()));
}

WordId Vocabulary::add(PaddedWord word, std::uint64_t key, std::size_t slot) {
    WordId id;
    const Entry entry{bytes_.size(), word.length};
    bytes_.insert(bytes_.end(), word.bytes, word.bytes + word.padded_length());
    if (free_ids_.empty()) {
        if (entries_.size() >= kFirstMark) throw std::length_error("more than 2^31 words");
        id = static_cast<WordId>(entries_.size());
        entries_.push_back(entry);
    } else {
        id = free_ids_.back();
        free_ids_.pop_back();
        entries_[id] = entry;
    }
    slots_[slot] = {key, word.length, id};
    ++live_;
    return id;
}

void Vocabulary::remove(WordId id) {
    const std::uint64_t hash = hash_word(padded(id));
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = first_slot(hash);
    while (slots_[at].id != id) at = (at + 1) & mask;
    // Close the gap, so that no search stops before a slot that was pushed past it.
    for (std::size_t next = (at + 1) & mask; slots_[next].id != kEmpty; next = (next + 1) & mask) {
        const std::size_t home = first_slot(hash_word(padded(slots_[next].id)));
        if (((next - home) & mask) >= ((next - at) & mask)) {
            slots_[at] = slots_[next];
            at = next;
        }
    }
    slots_[at] = Slot{};
    dead_bytes_ += padded(id).padded_length();
    entries_[id] = {kFree, 0};
    free_ids_.push_back(id);
    --live_;
    if (dead_bytes_ > 4096 && dead_bytes_ * 2 > bytes_.size()) compact_bytes();
}

void Vocabulary::compact_bytes() {
    std::vector<char> kept;
    kept.reserve(bytes_.size() - dead_bytes_);
    for (Entry& entry : entries_) {
        if (entry.offset == kFree) continue;
        const char* from = bytes_.data() + entry.offset;
        entry.offset = kept.size();
        kept.insert(kept.end(), from, from + PaddedWord{from, entry.length}.padded_length());
    }
    bytes_ = std::move(kept);
    dead_bytes_ = 0;
}

void Vocabulary::clear() {
    // Clearing a table that was once large takes time in proportion to the words it holds now. From
    // a word's first slot to the end of its run, every slot can be cleared, because all words go.
    const bool few = live_ * 16 < slots_.size();
    if (!few) std::fill(slots_.begin(), slots_.end(), Slot{});
    for (WordId id = 0; few && id < id_limit(); ++id) {
        if (!holds(id)) continue;
        std::size_t at = first_slot(hash_word(padded(id)));
        for (; slots_[at].id != kEmpty; at = (at + 1) & (slots_.size() - 1)) slots_[at] = Slot{};
    }
    bytes_.clear();
    entries_.clear();
    free_ids_.clear();
    live_ = 0;
    dead_bytes_ = 0;
}

void Vocabulary::reserve(std::size_t words) {
    while (slots_.size() * 5 <= words * 8) grow();
    entries_.reserve(words);
}

void Vocabulary::grow() {
    const std::size_t size = std::max<std::size_t>(16, slots_.size() * 2);
    slots_.assign(size, Slot{});
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
    const std::size_t mask = size - 1;
    for (WordId id = 0; id < id_limit(); ++id) {
        if (!holds(id)) continue;
        const std::uint64_t hash = hash_word(padded(id));
        std::size_t at = first_slot(hash);
        while (slots_[at].id != kEmpty) at = (at + 1) & mask;
        slots_[at] = {key_of(padded(id), hash), padded(id).length, id};
    }
}

}  // namespace watchword
