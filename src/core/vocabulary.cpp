#include "vocabulary.h"

#include <algorithm>
#include <new>
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

WordId Vocabulary::find(std::string_view word) const {
    const Padded padded(word);
    return find(padded.get(), hash_word(padded.get()));
}

WordId Vocabulary::find_or_add(std::string_view word) {
    const Padded padded(word);
    return find_or_add(padded.get(), hash_word(padded.get()));
}

WordId Vocabulary::add(PaddedWord word, std::uint64_t hash, Slot* slot) {
    const Entry entry{add_bytes(word), word.length};
    WordId id = id_limit();
    if (free_ids_.empty()) {
        if (id >= kFirstMark) throw std::length_error("more than 2^31 words");
        entries_.push_back(entry);
    } else {
        id = free_ids_.back();
        free_ids_.pop_back();
        entries_[id] = entry;
    }
    slots_.fill(slot, {key_of(word, hash), word.length, id}, hash);
    return id;
}

std::uint64_t Vocabulary::add_bytes(PaddedWord word) {
    const std::size_t size = word.padded_length();
    if (chunks_.empty() || last_used_ + size > chunks_.back().size()) add_chunk(size);
    char* const to = chunks_.back().data() + last_used_;
    for (std::size_t at = 0; at < size; at += 8) std::memcpy(to + at, word.bytes + at, 8);
    const std::uint64_t place = std::uint64_t{chunks_.size() - 1} << 32 | last_used_;
    last_used_ += size;
    bytes_ += size;
    return place;
}

// A long word gets a chunk for itself.
void Vocabulary::add_chunk(std::size_t size) {
    if (chunks_.size() == 1 && last_used_ + size <= kChunk) {  // many stay small
        return chunks_[0].resize(std::min(kChunk, (last_used_ + size) * 2));
    }
    chunks_.emplace_back(std::max(size, chunks_.empty() ? kLeastChunk : kChunk));
    last_used_ = 0;
}

void Vocabulary::remove(WordId id) {
    free_ids_.push_back(id);
    const PaddedWord word = padded(id);
    slots_.remove(hash_word(word), [id](const Slot& slot) { return slot.id == id; });
    dead_bytes_ += word.padded_length();
    entries_[id] = {kFree, 0};
    if (dead_bytes_ > kFewDeadBytes && dead_bytes_ * 2 > bytes_) compact_bytes();
}

void Vocabulary::compact_bytes() {
    const std::size_t old = chunks_.size(), used = bytes_;
    try {
        add_chunk(kChunk);
        for (WordId id = 0; id < id_limit(); ++id) {
            if (holds(id)) entries_[id].place = add_bytes(padded(id));
        }
    } catch (const std::bad_alloc&) {
        dead_bytes_ += bytes_ - used;
        return;  // until the next time
    }
    for (WordId id = 0; id < id_limit(); ++id) {
        if (holds(id)) entries_[id].place -= std::uint64_t{old} << 32;
    }
    chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(old));
    bytes_ -= used;
    dead_bytes_ = 0;
}

void Vocabulary::clear() {
    const std::size_t words = entries_.size() - free_ids_.size();
    if (words * 16 >= slots_.capacity()) {
        slots_.clear();
    } else {
        for (WordId id = 0; id < id_limit(); ++id) {
            if (holds(id)) slots_.clear_run(hash_word(padded(id)));
        }
    }
    entries_.clear();
    free_ids_.clear();
    chunks_.resize(std::min<std::size_t>(chunks_.size(), 1));
    bytes_ = dead_bytes_ = last_used_ = 0;
}

std::size_t Vocabulary::capacity_bytes() const {
    std::size_t bytes = slots_.capacity() * sizeof(Slot) + entries_.size() * sizeof(Entry);
    for (const std::vector<char>& chunk : chunks_) bytes += chunk.capacity();
    return bytes;
}

}  // namespace watchword
