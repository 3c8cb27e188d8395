// An open-addressing hash table that grows in parts. It consists of segments of bounded size: the
// first bits of a hash choose one, and the search begins at the last bits. A full segment is split
// in two, so that no insertion moves more than one, however large the table is. It owns its slots,
// and the caller owns what they stand for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hash.h"
#include "pages.h"

namespace watchword {

// A new Slot is empty; it has empty() and hash().
template <class Slot>
class ProbingTable {
   public:
    ProbingTable() = default;
    ProbingTable(const ProbingTable& other)
        : segments_(other.segments_),
          directory_(other.directory_),
          mask_(other.mask_),
          most_used_(other.most_used_),
          shift_(other.shift_) {
        for (Entry& entry : directory_) entry.slots = segments_[entry.segment].slots.data();
    }
    ProbingTable(ProbingTable&& other) noexcept { swap(other); }
    ProbingTable& operator=(ProbingTable other) noexcept {
        swap(other);
        return *this;
    }
    ~ProbingTable() = default;

    // The slot with this hash that matches; null if there is none.
    template <class Matches>
    const Slot* find(std::uint64_t hash, const Matches& matches) const {
        if (directory_.empty()) return nullptr;
        const Slot* const slots = entry_of(hash).slots;
        for (std::size_t at = hash & mask_; !slots[at].empty(); at = (at + 1) & mask_) {
            if (matches(slots[at])) return &slots[at];
        }
        return nullptr;
    }
    void prefetch_slot(std::uint64_t hash) const {
        if (!directory_.empty()) prefetch(entry_of(hash).slots + (hash & mask_));
    }

    // The slot with this hash that matches or, if there is none, an empty one to fill next. Changes
    // nothing but the size of the table, and not even that if memory runs out.
    template <class Matches>
    Slot* find_or_make_room(std::uint64_t hash, const Matches& matches) {
        if (directory_.empty()) start(kLeast);
        Entry entry = entry_of(hash);
        for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
            if (entry.slots[at].empty()) {
                if (!is_full(segments_[entry.segment].used + 1)) return &entry.slots[at];
                break;
            }
            if (matches(entry.slots[at])) return &entry.slots[at];
        }
        do {
            grow(hash);
            entry = entry_of(hash);
        } while (is_full(segments_[entry.segment].used + 1));
        return empty_slot(hash, entry.slots);
    }
    void fill(Slot* empty, const Slot& slot, std::uint64_t hash) {
        *empty = slot;
        ++segments_[entry_of(hash).segment].used;
    }
    // Removes the slot with this hash that matches; there must be one.
    template <class Matches>
    void remove(std::uint64_t hash, const Matches& matches) {
        const Entry& entry = entry_of(hash);
        Slot* const slots = entry.slots;
        std::size_t at = hash & mask_;
        while (!matches(slots[at])) at = (at + 1) & mask_;
        // Close the gap, so that no search stops before a slot that was pushed past it.
        for (std::size_t next = (at + 1) & mask_; !slots[next].empty(); next = (next + 1) & mask_) {
            const std::size_t home = slots[next].hash() & mask_;
            if (((next - home) & mask_) < ((next - at) & mask_)) continue;
            slots[at] = slots[next];
            at = next;
        }
        slots[at] = Slot();
        --segments_[entry.segment].used;
    }

    void clear() {
        for (Segment& segment : segments_) {
            std::fill(segment.slots.begin(), segment.slots.end(), Slot());
            segment.used = 0;
        }
    }
    // Clears from the first slot for this hash to the end of the run. Called for the hash of every
    // slot, this clears the table in time that depends on what it holds and not on its size.
    void clear_run(std::uint64_t hash) {
        const Entry& entry = entry_of(hash);
        for (std::size_t at = hash & mask_; !entry.slots[at].empty(); at = (at + 1) & mask_) {
            entry.slots[at] = Slot();
        }
        segments_[entry.segment].used = 0;
    }

    // The number of slots, used or empty.
    std::size_t capacity() const { return segments_.size() * (mask_ + 1); }
    // Makes room for so many slots in an empty table.
    void reserve(std::size_t slots) {
        if (!directory_.empty()) return;
        std::size_t size = kLeast;
        while (size * 5 < slots * 8 && size < kSegment) size *= 2;
        start(size);
        // Segments are filled unevenly.
        while (size == kSegment && capacity() * 5 < (slots + slots / 16) * 8) {
            const std::size_t count = segments_.size();
            for (std::size_t at = 0; at < count; ++at) split(at);
        }
    }

   private:
    static constexpr std::size_t kLeast = table_size(16, 8);  // slots
    static constexpr std::size_t kSmall = table_size(1024, 8);
    static constexpr std::size_t kSegment = table_size(4096, 16);

    struct Segment {
        Table<Slot> slots;
        std::size_t used = 0;
        std::uint64_t prefix = 0;  // the first bits of its hashes, and how many these are
        unsigned depth = 0;
    };
    // For all hashes with the same first bits; several may lead to one segment.
    struct Entry {
        Slot* slots;
        std::size_t segment;
    };

    bool is_full(std::size_t used) const { return used > most_used_; }
    void set_size(std::size_t slots) {
        mask_ = slots - 1;
        most_used_ = slots / 8 * 5;
    }
    const Entry& entry_of(std::uint64_t hash) const { return directory_[hash >> shift_]; }
    Slot* empty_slot(std::uint64_t hash, Slot* slots) const {
        std::size_t at = hash & mask_;
        while (!slots[at].empty()) at = (at + 1) & mask_;
        return slots + at;
    }
    void start(std::size_t size) {
        directory_.reserve(2);
        segments_.push_back({Table<Slot>(size), 0, 0, 0});
        directory_.assign(2, {segments_[0].slots.data(), 0});
        set_size(size);
        shift_ = 63;
    }
    void grow(std::uint64_t hash) {
        if (mask_ + 1 == kSegment) return split(entry_of(hash).segment);
        // A small table has one segment, and grows fast: most do not stay small.
        Table<Slot> larger((mask_ + 1) * (mask_ < kSmall ? 4 : 2));
        set_size(larger.size());
        for (const Slot& slot : segments_[0].slots) {
            if (!slot.empty()) *empty_slot(slot.hash(), larger.data()) = slot;
        }
        segments_[0].slots = std::move(larger);
        for (Entry& entry : directory_) entry.slots = segments_[0].slots.data();
    }
    // Distributes the slots of a segment by the next bit of their hashes.
    void split(std::size_t at) {
        Segment low{Table<Slot>(kSegment), 0, segments_[at].prefix * 2, segments_[at].depth + 1};
        Segment high{Table<Slot>(kSegment), 0, low.prefix + 1, low.depth};
        if (low.depth > 64 - shift_) {
            std::vector<Entry> wider(directory_.size() * 2);
            for (std::size_t entry = 0; entry < wider.size(); ++entry) {
                wider[entry] = directory_[entry / 2];
            }
            directory_ = std::move(wider);
            --shift_;
        }
        segments_.emplace_back();  // nothing fails from here on
        for (const Slot& slot : segments_[at].slots) {
            if (slot.empty()) continue;
            const std::uint64_t hash = slot.hash();
            Segment& half = hash >> (64 - low.depth) & 1 ? high : low;
            *empty_slot(hash, half.slots.data()) = slot;
            ++half.used;
        }
        segments_[at] = std::move(low);
        segments_.back() = std::move(high);
        for (const std::size_t own : {at, segments_.size() - 1}) {
            const unsigned more = 64 - shift_ - segments_[own].depth;  // bits of the directory
            const std::size_t first = segments_[own].prefix << more;
            for (std::size_t entry = first; entry < first + (std::size_t{1} << more); ++entry) {
                directory_[entry] = {segments_[own].slots.data(), own};
            }
        }
    }
    void swap(ProbingTable& other) noexcept {
        std::swap(segments_, other.segments_);
        std::swap(directory_, other.directory_);
        std::swap(mask_, other.mask_);
        std::swap(most_used_, other.most_used_);
        std::swap(shift_, other.shift_);
    }

    std::vector<Segment> segments_;
    std::vector<Entry> directory_;  // by the first bits of a hash: at least one
    std::size_t mask_ = 0;          // of all segments
    std::size_t most_used_ = 0;     // slots of a segment
    unsigned shift_ = 63;           // to the first bits
};

}  // namespace watchword
