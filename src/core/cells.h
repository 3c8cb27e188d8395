// The counts of one n-gram by label, in one 64-bit cell. Most n-grams occur in one label only: its
// number and count fit into the cell. Otherwise the cell points to a row of such pairs, sorted by
// label, in a RowPool that owns all rows of its cells. Counts never wrap: they are checked.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "hash.h"
#include "pages.h"

namespace watchword {

using LabelId = std::uint32_t;  // in order of appearance; ids of removed labels are reused
using Count = std::uint64_t;

// What is counted: every occurrence of an n-gram, or every document that contains it.
enum class Counting : std::uint8_t { Occurrences, Documents };

constexpr Count kMaxCount = (Count{1} << 40) - 1;
constexpr LabelId kMaxLabels = (1u << 23) - 1;

inline void raise_to(Count& maximum, Count count) {
    if (maximum < count) maximum = count;
}

// Thrown before anything is changed if a model would exceed one of its limits.
class LimitFailure : public std::overflow_error {
    using std::overflow_error::overflow_error;
};

// A label and its count in one word; sorted by label.
class LabelCount {
   public:
    LabelCount() = default;
    LabelCount(LabelId label, Count count) : bits_(std::uint64_t{label} << 40 | count) {}
    LabelId label() const { return static_cast<LabelId>(bits_ >> 40); }
    Count count() const { return bits_ & kMaxCount; }

   private:
    friend class Cell;
    explicit LabelCount(std::uint64_t bits) : bits_(bits) {}
    std::uint64_t bits_ = 0;
};

class RowPool;

class Cell {
   public:
    Cell() = default;
    explicit Cell(LabelCount only) : bits_(only) {}
    // A cell of several labels whose row is not in a pool.
    static Cell elsewhere() {
        Cell cell;
        cell.bits_.bits_ = kMany;
        return cell;
    }

    bool empty() const { return bits_.bits_ == 0; }
    bool single() const { return !(bits_.bits_ & kMany); }
    LabelCount only() const { return bits_; }

    // The labels with a count above zero, sorted by label.
    inline std::span<const LabelCount> row(const RowPool& pool) const;
    inline std::span<LabelCount> row(RowPool& pool);
    // Puts an entry in the place of its label's; its bits must not all be 0.
    void set(LabelCount entry, RowPool& pool);
    // Gives an empty cell all its entries at once, sorted by label.
    void fill(std::span<const LabelCount> entries, RowPool& pool);
    inline void prefetch_row(const RowPool& pool) const;
    Count count(LabelId label, const RowPool& pool) const;

    // Add and subtract return the new count; the caller must not subtract below zero.
    Count add(LabelId label, Count amount, RowPool& pool) {
        const bool fits = bits_.bits_ == 0 || bits_.bits_ >> 40 == label;  // never true of a row
        if (!fits) return add_to_row(label, amount, pool);
        const Count count = checked_sum(bits_.count(), amount);
        bits_ = LabelCount(label, count);
        return count;
    }
    Count subtract(LabelId label, Count amount, RowPool& pool);

   private:
    // A row: this bit, its size in 23 bits, its place in the pool in 40.
    static constexpr std::uint64_t kMany = std::uint64_t{1} << 63;

    std::uint32_t size() const {
        return static_cast<std::uint32_t>(bits_.bits_ >> 40 & kMaxLabels);
    }
    std::uint64_t place() const { return bits_.bits_ & kMaxCount; }
    static Count checked_sum(Count a, Count b) {
        if (b > kMaxCount - a) throw_overflow();
        return a + b;
    }
    [[noreturn]] static void throw_overflow();
    Count add_to_row(LabelId label, Count amount, RowPool& pool);
    void set_row(std::uint64_t place, std::uint32_t size);
    void insert(std::uint32_t index, LabelCount entry, RowPool& pool);

    LabelCount bits_;
};

class RowPool {
   public:
    // The capacity of a row is a power of two; released rows are reused.
    std::uint64_t allocate(unsigned log2_size);
    void release(std::uint64_t place, unsigned log2_size);
    LabelCount* at(std::uint64_t place) { return entries_.data() + place; }
    const LabelCount* at(std::uint64_t place) const { return entries_.data() + place; }

   private:
    Table<LabelCount> entries_;
    std::vector<std::vector<std::uint64_t>> released_;  // by log2 of the size; mostly empty
};

inline std::span<const LabelCount> Cell::row(const RowPool& pool) const {
    if (!single()) return {pool.at(place()), size()};
    return {&bits_, empty() ? std::size_t{0} : std::size_t{1}};
}

inline std::span<LabelCount> Cell::row(RowPool& pool) {
    if (!single()) return {pool.at(place()), size()};
    return {&bits_, empty() ? std::size_t{0} : std::size_t{1}};
}

inline void Cell::prefetch_row(const RowPool& pool) const {
    if (!single()) prefetch(pool.at(place()));
}

}  // namespace watchword
