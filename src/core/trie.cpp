#include "trie.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace watchword {

NodeIndex Trie::add_node(Key key, std::uint64_t hash, std::size_t slot) {
    if (room() == 0) {
        throw LimitFailure("too many n-grams for one model: prune it or shorten max_ngram");
    }
    const NodeIndex index = size();
    slots_[slot] = Slot(tag_of(hash), index);
    reserve_tightly(nodes_, nodes_.size() + 1);
    nodes_.push_back(Node{key, Cell{}});
    return index;
}

// Small tables grow faster: most of them will not stay small.
std::size_t Trie::larger_table() const {
    return slots_.size() < 1024 ? std::max<std::size_t>(16, slots_.size() * 4) : slots_.size() * 2;
}

void Trie::grow(std::size_t slots) {
    slots_.assign(slots, Slot());
    mask_ = slots - 1;
    for (NodeIndex index = 0; index < size(); ++index) {
        const std::uint64_t hash = nodes_[index].key.hash();
        std::size_t at = slot_of(hash);
        while (slots_[at].index != kEmptySlot) at = (at + 1) & mask_;
        slots_[at] = Slot(tag_of(hash), index);
    }
}

void Trie::reserve(std::size_t nodes) {
    if (nodes == 0) return;
    nodes_.reserve(nodes);
    const std::size_t slots = std::bit_ceil(std::max<std::size_t>(16, nodes * 3 / 2 + 1));
    if (slots > slots_.size()) grow(slots);
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

void Trie::compact(std::optional<unsigned> max_length) {
    const std::vector<std::uint8_t> length = lengths();
    const auto kept = [&](NodeIndex index) {
        return !nodes_[index].cell.empty() && (!max_length || length[index] <= *max_length);
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
