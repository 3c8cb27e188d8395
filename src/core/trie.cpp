#include "trie.h"

#include <algorithm>
#include <utility>

namespace watchword {
namespace {

constexpr std::size_t kFirst = table_size(16, 4);        // slots of the smallest table
constexpr std::size_t kSmall = table_size(1024, 16);     // slots of a table that grows fast
constexpr std::size_t kLarge = table_size(4096, 24);     // slots of one that grows little by little
constexpr std::size_t kShards = 256;                     // see counts.h
constexpr std::size_t kMovedAtOnce = table_size(64, 2);  // slots, for every node that is added
constexpr std::size_t kCopiedAtOnce =
    table_size(1024, 4);  // nodes, for each of the last that are added

}  // namespace

const Trie::Slot Trie::kNoSlot;

NodeIndex Trie::add_node(Key key, std::uint64_t hash, std::size_t slot) {
    if (room() == 0) {
        throw LimitFailure("too many n-grams for one model: prune it or shorten max_ngram");
    }
    const NodeIndex index = size();
    make_room_for_node();
    nodes_.push_back(Node{key, Cell{}});
    if (table_of(hash).slots == slots_.data()) {
        slots_[slot] = Slot(tag_of(hash), index);
    } else {
        old_slots_[slot] = Slot(tag_of(hash), index);
        // Searching began behind what was moved, but went on at the beginning of the table.
        if (slot < moved_) insert(index, hash);
    }
    if (growing_) move_slots(kMovedAtOnce);
    return index;
}

void Trie::make_room_for_node() {
    const std::size_t left = nodes_.capacity() - nodes_.size();
    if (left > nodes_.size() / kCopiedAtOnce) return;
    if (nodes_.size() < kCopiedAtOnce) return reserve_tightly(nodes_, nodes_.size() + 1);
    const std::size_t room = nodes_.capacity();
    if (larger_nodes_.capacity() <= room) {
        reserve_tightly(larger_nodes_, room + room / 16 * shard() / kShards + 1);
    }
    const std::size_t end = left == 0 ? nodes_.size() : copied_ + kCopiedAtOnce;
    const auto from = nodes_.begin() + copied_;
    const auto to = nodes_.begin() + static_cast<std::ptrdiff_t>(std::min(end, nodes_.size()));
    larger_nodes_.insert(larger_nodes_.end(), from, to);
    copied_ = static_cast<NodeIndex>(larger_nodes_.size());
    if (left > 0) return;
    nodes_ = std::exchange(larger_nodes_, Table<Node>());
    copied_ = 0;
}

Trie::Places Trie::table_while_growing(std::uint64_t hash) const {
    const Places old{old_slots_.data(), old_slots_.size()};
    return old.slot_of(hash) < moved_ ? Places{slots_.data(), slots_.size()} : old;
}

void Trie::grow() {
    if (growing_) move_slots(old_slots_.size());
    // Small tables grow faster: most of them will not stay small.
    if (slots_.size() < kSmall) return rehash(std::max(kFirst, slots_.size() * 4));
    if (slots_.size() < kLarge) return rehash(kLarge + kLarge * shard() / kShards);
    Table<Slot> larger(slots_.size() * 2);
    old_slots_ = std::exchange(slots_, std::move(larger));
    slot_count_ = static_cast<std::uint32_t>(slots_.size());
    moved_ = 0;
    growing_ = true;
}

// Shards fill at the same pace. Those of a large model must not all grow at the same time, so that
// tables have other sizes in every shard.
std::size_t Trie::shard() const { return nodes_.empty() ? 0 : nodes_[0].key.hash() >> 56; }

void Trie::rehash(std::size_t slots) {
    slots_.assign(slots, Slot());
    slot_count_ = static_cast<std::uint32_t>(slots);
    forget_old_slots();
    for (NodeIndex index = 0; index < size(); ++index) insert(index, nodes_[index].key.hash());
}

void Trie::insert(NodeIndex index, std::uint64_t hash) {
    const Places places{slots_.data(), slots_.size()};
    std::size_t at = places.slot_of(hash);
    while (slots_[at].index != kEmptySlot) at = places.next(at);
    slots_[at] = Slot(tag_of(hash), index);
}

// Moves slots up to an empty one: what belongs before it is then in the new table.
void Trie::move_slots(std::size_t least) {
    constexpr std::size_t kAhead = 8;
    const std::size_t end = std::min(old_slots_.size(), moved_ + least);
    for (bool empty = false; moved_ < end || (!empty && moved_ < old_slots_.size()); ++moved_) {
        if (moved_ + kAhead < old_slots_.size()) {
            const Slot ahead = old_slots_[moved_ + kAhead];
            if (ahead.index != kEmptySlot) prefetch(&nodes_[ahead.index]);
        }
        const NodeIndex index = old_slots_[moved_].index;
        empty = index == kEmptySlot;
        if (!empty) insert(index, nodes_[index].key.hash());
    }
    if (moved_ == old_slots_.size()) forget_old_slots();
}

void Trie::forget_old_slots() {
    old_slots_ = Table<Slot>();
    growing_ = false;
    moved_ = 0;
}

void Trie::reserve(std::size_t nodes) {
    if (nodes == 0) return;
    larger_nodes_ = Table<Node>();
    copied_ = 0;
    nodes_.reserve(nodes);
    // At least a third is empty, at most two thirds are, as if it had grown to this size.
    const std::size_t least = nodes * 3 / 2 + 1;
    const std::size_t more = least * (hash_pair(static_cast<std::uint32_t>(nodes), 0) >> 56);
    const std::size_t slots = std::max(kFirst, least + more / kShards);
    if (slots > slots_.size()) rehash(slots);
}

std::vector<std::uint8_t> Trie::lengths() const {
    std::vector<std::uint8_t> lengths(nodes_.size());
    for (NodeIndex index = 0; index < size(); ++index) {
        const Key key = nodes_[index].key;
        lengths[index] =
            key.is_bigram() ? 2 : static_cast<std::uint8_t>(lengths[key.parent_node()] + 1);
    }
    return lengths;
}

std::vector<bool> Trie::needed() const {
    std::vector<bool> needed(nodes_.size());
    for (NodeIndex index = size(); index-- > 0;) {
        if (!nodes_[index].cell.empty()) needed[index] = true;
        const Key key = nodes_[index].key;
        if (needed[index] && !key.is_bigram()) needed[key.parent_node()] = true;
    }
    return needed;
}

void Trie::compact(std::optional<unsigned> max_length) {
    const std::vector<std::uint8_t> length = lengths();
    const std::vector<bool> with_counts = needed();
    const auto kept = [&](NodeIndex index) {
        return with_counts[index] && (!max_length || length[index] <= *max_length);
    };
    NodeIndex live = 0;
    for (NodeIndex index = 0; index < size(); ++index) live += kept(index);
    Trie fresh;
    fresh.reserve(live);
    std::vector<NodeIndex> moved(nodes_.size(), kNone);
    for (NodeIndex index = 0; index < size(); ++index) {
        if (!kept(index)) continue;
        Key key = nodes_[index].key;
        if (!key.is_bigram()) key = Key::of_child(moved[key.parent_node()], key.word);
        moved[index] = fresh.find_or_add(key, key.hash());
        for (const LabelCount entry : nodes_[index].cell.row(pool_)) {
            fresh.add(moved[index], entry.label(), entry.count());
        }
    }
    *this = std::move(fresh);
}

}  // namespace watchword
