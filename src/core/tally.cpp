#include "tally.h"

#include <algorithm>
#include <limits>

namespace watchword {
namespace {

constexpr Tally::Value kMostValue =
    table_size<Tally::Value>(std::numeric_limits<std::uint16_t>::max(), 3);
constexpr std::int64_t kMostNumber =
    table_size<std::int64_t>(std::numeric_limits<std::int16_t>::max(), 3);

// Full tables are slow, and large ones waste memory: between five and eight tenths are used.
bool is_full(std::size_t used, std::size_t entries) { return used * 10 >= entries * 8; }
std::size_t entries_for(std::size_t used) {
    return std::max<std::size_t>(table_size(8, 2), used * 16 / 10);
}

}  // namespace

std::int64_t Tally::get(Key key, Value value) const {
    std::int64_t number = 0;
    if (value <= kMostValue && !entries_.empty()) number = entries_[find(key, value)].number;
    if (large_.empty()) return number;
    const auto large = large_.find({key, value});
    return large == large_.end() ? number : number + large->second;
}

void Tally::add(Key key, Value value, std::int64_t amount) {
    if (amount == 0) return;
    if (value > kMostValue) return add_large(key, value, amount);
    if (is_full(used_ + 1, entries_.size())) resize(entries_for(used_ + 1));
    const std::size_t at = find(key, value);
    Entry& entry = entries_[at];
    used_ += entry.number == 0;
    std::int64_t number = entry.number + amount;
    if (number > kMostNumber || number < -kMostNumber) {
        add_large(key, value, number);
        number = 0;
    }
    if (number == 0) return remove(at);
    entry = {static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key),
             static_cast<std::uint16_t>(value), static_cast<std::int16_t>(number)};
}

void Tally::add_large(Key key, Value value, std::int64_t amount) {
    const auto found = large_.try_emplace({key, value}, 0).first;
    found->second += amount;
    if (found->second == 0) large_.erase(found);
}

void Tally::shrink() {
    if (entries_for(used_ + 1) < entries_.size()) resize(entries_for(used_ + 1));
}

std::size_t Tally::find(Key key, Value value) const {
    std::size_t at = home_of(key, value);
    while (entries_[at].number != 0 && !entries_[at].is(key, value)) at = next(at);
    return at;
}

// Closes the gap, so that no search stops before an entry that was pushed past it.
void Tally::remove(std::size_t at) {
    for (std::size_t other = next(at); entries_[other].number != 0; other = next(other)) {
        if (distance(home_of(entries_[other]), other) < distance(at, other)) continue;
        entries_[at] = entries_[other];
        at = other;
    }
    entries_[at] = Entry{};
    --used_;
}

void Tally::resize(std::size_t entries) {
    Table<Entry> old(entries);
    std::swap(old, entries_);
    for (const Entry& entry : old) {
        if (entry.number == 0) continue;
        std::size_t at = home_of(entry);
        while (entries_[at].number != 0) at = next(at);
        entries_[at] = entry;
    }
}

}  // namespace watchword
