#include "cells.h"

#include <algorithm>
#include <bit>

namespace watchword {
namespace {

unsigned log2_room(std::uint32_t size) { return static_cast<unsigned>(std::bit_width(size - 1)); }

std::uint32_t lower_bound(const LabelCount* row, std::uint32_t size, LabelId label) {
    const auto before = [](const LabelCount& entry, LabelId wanted) {
        return entry.label() < wanted;
    };
    return static_cast<std::uint32_t>(std::lower_bound(row, row + size, label, before) - row);
}

}  // namespace

void Cell::throw_overflow() { throw LimitFailure("an n-gram would have a count above 2^40 - 1"); }

Count Cell::count(LabelId label, const RowPool& pool) const {
    if (single()) return bits_.label() == label ? bits_.count() : 0;
    const LabelCount* row = pool.at(place());
    const std::uint32_t index = lower_bound(row, size(), label);
    return index < size() && row[index].label() == label ? row[index].count() : 0;
}

Count Cell::add_to_row(LabelId label, Count amount, RowPool& pool) {
    if (single()) {
        const LabelCount old = bits_;
        const std::uint64_t place = pool.allocate(1);
        LabelCount* row = pool.at(place);
        const LabelCount added(label, checked_sum(0, amount));
        row[0] = old.label() < label ? old : added;
        row[1] = old.label() < label ? added : old;
        set_row(place, 2);
        return amount;
    }
    LabelCount* row = pool.at(place());
    const std::uint32_t index = lower_bound(row, size(), label);
    if (index < size() && row[index].label() == label) {
        const Count count = checked_sum(row[index].count(), amount);
        row[index] = LabelCount(label, count);
        return count;
    }
    insert(index, LabelCount(label, checked_sum(0, amount)), pool);
    return amount;
}

void Cell::set(LabelCount entry, RowPool& pool) {
    if (empty()) {
        bits_ = entry;
        return;
    }
    add(entry.label(), 0, pool);  // so that there is one
    for (LabelCount& own : row(pool)) {
        if (own.label() == entry.label()) own = entry;
    }
}

void Cell::fill(std::span<const LabelCount> entries, RowPool& pool) {
    if (entries.size() < 2) {
        if (!entries.empty()) bits_ = entries[0];
        return;
    }
    const auto size = static_cast<std::uint32_t>(entries.size());
    const std::uint64_t place = pool.allocate(log2_room(size));
    std::copy(entries.begin(), entries.end(), pool.at(place));
    set_row(place, size);
}

void Cell::insert(std::uint32_t index, LabelCount entry, RowPool& pool) {
    const std::uint32_t old_size = size();
    const std::uint64_t old_place = place();
    const unsigned old_room = log2_room(old_size);
    std::uint64_t new_place = old_place;
    if (log2_room(old_size + 1) != old_room) {
        new_place = pool.allocate(old_room + 1);
        std::copy_n(pool.at(old_place), old_size, pool.at(new_place));
        pool.release(old_place, old_room);
    }
    LabelCount* row = pool.at(new_place);
    std::copy_backward(row + index, row + old_size, row + old_size + 1);
    row[index] = entry;
    set_row(new_place, old_size + 1);
}

Count Cell::subtract(LabelId label, Count amount, RowPool& pool) {
    if (single()) {
        const Count count = bits_.count() - amount;
        bits_ = count == 0 ? LabelCount() : LabelCount(label, count);
        return count;
    }
    LabelCount* row = pool.at(place());
    const std::uint32_t old_size = size();
    const std::uint32_t index = lower_bound(row, old_size, label);
    const Count count = row[index].count() - amount;
    if (count > 0) {
        row[index] = LabelCount(label, count);
        return count;
    }
    const std::uint64_t old_place = place();
    const unsigned old_room = log2_room(old_size);
    std::copy(row + index + 1, row + old_size, row + index);
    if (old_size == 2) {
        bits_ = row[0];
        pool.release(old_place, old_room);
    } else if (log2_room(old_size - 1) != old_room) {
        const std::uint64_t new_place = pool.allocate(old_room - 1);
        std::copy_n(pool.at(old_place), old_size - 1, pool.at(new_place));
        pool.release(old_place, old_room);
        set_row(new_place, old_size - 1);
    } else {
        set_row(old_place, old_size - 1);
    }
    return 0;
}

void Cell::set_row(std::uint64_t place, std::uint32_t size) {
    bits_ = LabelCount(kMany | std::uint64_t{size} << 40 | place);
}

std::uint64_t RowPool::allocate(unsigned log2_size) {
    if (log2_size < released_.size() && !released_[log2_size].empty()) {
        const std::uint64_t place = released_[log2_size].back();
        released_[log2_size].pop_back();
        return place;
    }
    const std::uint64_t place = entries_.size();
    const std::size_t needed = entries_.size() + (std::size_t{1} << log2_size);
    reserve_tightly(entries_, needed);
    entries_.resize(needed);
    return place;
}

void RowPool::release(std::uint64_t place, unsigned log2_size) {
    if (released_.size() <= log2_size) released_.resize(log2_size + 1);
    released_[log2_size].push_back(place);
}

}  // namespace watchword
