// The n-grams of two words and more, as a prefix tree with one cell of counts per node. A Trie is
// one of many shards: an n-gram lives in the shard that its first two words hash to, together with
// all its extensions, so that shards can be filled in parallel and stay small enough for the cache.
// A node is found by its parent and its last word through an open-addressing table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cells.h"
#include "hash.h"
#include "pages.h"
#include "vocabulary.h"

namespace watchword {

using NodeIndex = std::uint32_t;  // within one trie; parents have smaller indices than children

// An n-gram of a model: for one word its id; otherwise its shard and its node's index.
using NgramId = std::uint32_t;

class alignas(64) Trie {  // what finding needs lies in one line of the cache
   public:
    static constexpr NodeIndex kNone = ~0u;
    static constexpr NodeIndex kMaxNodes = (1u << 24) - 1;

    // What finds a node: for a bigram its first word, for a longer n-gram its parent node; and the
    // last word. Word ids stay below 2^31, so the top bit tells the two apart.
    struct Key {
        std::uint32_t parent;
        WordId word;

        static Key of_bigram(WordId first, WordId second) { return {first, second}; }
        static Key of_child(NodeIndex parent, WordId word) { return {parent | kLonger, word}; }
        bool is_bigram() const { return !(parent & kLonger); }
        WordId first_word() const { return parent; }
        NodeIndex parent_node() const { return parent & ~kLonger; }
        std::uint64_t hash() const { return hash_pair(parent, word); }
        bool operator==(const Key&) const = default;

        static constexpr std::uint32_t kLonger = 1u << 31;
    };

    struct Node {
        Key key;
        Cell cell;
    };

    NodeIndex find(Key key, std::uint64_t hash) const {
        return find_from(slot_of(hash), key, hash);
    }
    NodeIndex find(Key key) const { return find(key, key.hash()); }
    NodeIndex find_or_add(Key key, std::uint64_t hash) {
        if ((nodes_.size() + 1) * 3 > slots_.size() * 2) grow(larger_table());
        for (std::size_t at = slot_of(hash);; at = (at + 1) & mask_) {
            const Slot slot = slots_[at];
            if (slot.index == kEmptySlot) return add_node(key, hash, at);
            if (slot.tag == tag_of(hash) && nodes_[slot.index].key == key) return slot.index;
        }
    }

    // Finding in three steps, so that the memory of many searches is fetched at once.
    void prefetch_slot(std::uint64_t hash) const {
        if (!slots_.empty()) prefetch(&slots_[slot_of(hash)]);
    }
    // Gives the slot to go on from: that of a node which may be the one, or an empty one.
    std::size_t prefetch_node(std::uint64_t hash) const {
        if (slots_.empty()) return 0;
        std::size_t at = slot_of(hash);
        Slot slot = slots_[at];
        while (slot.tag != tag_of(hash) && slot.index != kEmptySlot) {
            at = (at + 1) & mask_;
            slot = slots_[at];
        }
        if (slot.index != kEmptySlot) prefetch(&nodes_[slot.index]);
        return at;
    }
    NodeIndex find_from(std::size_t at, Key key, std::uint64_t hash) const {
        if (slots_.empty()) return kNone;
        for (;; at = (at + 1) & mask_) {
            const Slot slot = slots_[at];
            if (slot.index == kEmptySlot) return kNone;
            if (slot.tag == tag_of(hash) && nodes_[slot.index].key == key) return slot.index;
        }
    }

    NodeIndex size() const { return static_cast<NodeIndex>(nodes_.size()); }
    const Node& node(NodeIndex index) const { return nodes_[index]; }
    const Cell& cell(NodeIndex index) const { return nodes_[index].cell; }
    const RowPool& pool() const { return pool_; }

    Count add(NodeIndex index, LabelId label, Count amount) {
        Cell& cell = nodes_[index].cell;
        live_ += cell.empty();
        return cell.add(label, amount, pool_);
    }
    Count subtract(NodeIndex index, LabelId label, Count amount) {
        Cell& cell = nodes_[index].cell;
        const Count count = cell.subtract(label, amount, pool_);
        live_ -= cell.empty();
        return count;
    }
    bool mostly_empty() const { return live_ < size() / 2; }

    // Length of every node's n-gram, by index.
    std::vector<std::uint8_t> lengths() const;

    void reserve(std::size_t nodes);
    // So many nodes more fit in any case.
    std::size_t room() const { return kMaxNodes - nodes_.size(); }

    // Forgets the nodes without counts (and those longer than `max_length`, if given).
    void compact(std::optional<unsigned> max_length = std::nullopt);

   private:
    static constexpr std::uint32_t kEmptySlot = kMaxNodes;

    struct Slot {
        Slot() : tag(0), index(kEmptySlot) {}
        Slot(std::uint32_t hash_tag, NodeIndex node)
            : tag(hash_tag & 0xFF), index(node & kMaxNodes) {}
        std::uint32_t tag : 8;
        std::uint32_t index : 24;
    };

    static std::uint32_t tag_of(std::uint64_t hash) { return hash & 0xFF; }
    // The top bits choose the shard (counts.h), the lowest are the tag.
    std::size_t slot_of(std::uint64_t hash) const { return hash >> 16 & mask_; }
    NodeIndex add_node(Key key, std::uint64_t hash, std::size_t slot);
    std::size_t larger_table() const;
    void grow(std::size_t slots);

    Table<Slot> slots_;
    Table<Node> nodes_;
    std::size_t mask_ = 0;
    std::size_t live_ = 0;  // nodes with a count
    RowPool pool_;
};

}  // namespace watchword
