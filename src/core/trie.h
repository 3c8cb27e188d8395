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
    static constexpr NodeIndex kEmptySlot = kMaxNodes;

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

    class Slot {
        friend class Trie;

       public:
        constexpr Slot() : tag(0), index(kEmptySlot) {}

       private:
        Slot(std::uint32_t hash_tag, NodeIndex node)
            : tag(hash_tag & 0xFF), index(node & kMaxNodes) {}
        std::uint32_t tag : 8;
        std::uint32_t index : 24;
    };

    NodeIndex find(Key key, std::uint64_t hash) const {
        return find_from(first_slot(hash), key, hash);
    }
    NodeIndex find(Key key) const { return find(key, key.hash()); }
    NodeIndex find_or_add(Key key, std::uint64_t hash) {
        if ((nodes_.size() + 1) * 3 > slots_.size() * 2) grow();
        const Places places = table_of(hash);
        for (std::size_t at = places.slot_of(hash);; at = places.next(at)) {
            const Slot slot = places.slots[at];
            if (slot.index == kEmptySlot) return add_node(key, hash, at);
            if (slot.tag == tag_of(hash) && nodes_[slot.index].key == key) return slot.index;
        }
    }

    // Finding in three steps, so that the memory of many searches is fetched at once. Each gives
    // the slot for the next one to go on from.
    const Slot* prefetch_slot(std::uint64_t hash) const {
        const Slot* const at = first_slot(hash);
        prefetch(at);
        return at;
    }
    // Gives that of a node which may be the one, or an empty slot.
    const Slot* prefetch_node(const Slot* at, std::uint64_t hash) const {
        while (at->tag != tag_of(hash) && at->index != kEmptySlot) at = next_slot(at, hash);
        if (at->index != kEmptySlot) prefetch(&nodes_[at->index]);
        return at;
    }
    void prefetch_node(std::uint64_t hash) const { prefetch_node(first_slot(hash), hash); }
    NodeIndex find_from(const Slot* at, Key key, std::uint64_t hash) const {
        for (;; at = next_slot(at, hash)) {
            if (at->index == kEmptySlot) return kNone;
            if (at->tag == tag_of(hash) && nodes_[at->index].key == key) return at->index;
        }
    }

    NodeIndex size() const { return static_cast<NodeIndex>(nodes_.size()); }
    const Node& node(NodeIndex index) const { return nodes_[index]; }
    const Cell& cell(NodeIndex index) const { return nodes_[index].cell; }
    const RowPool& pool() const { return pool_; }

    Count add(NodeIndex index, LabelId label, Count amount) {
        Cell& cell = nodes_[index].cell;
        live_ += cell.empty();
        const Count count = cell.add(label, amount, pool_);
        if (index < copied_) [[unlikely]]
            larger_nodes_[index].cell = cell;
        return count;
    }
    Count subtract(NodeIndex index, LabelId label, Count amount) {
        Cell& cell = nodes_[index].cell;
        const Count count = cell.subtract(label, amount, pool_);
        live_ -= cell.empty();
        if (index < copied_) larger_nodes_[index].cell = cell;
        return count;
    }
    bool mostly_empty() const { return live_ < size() / 2; }

    // Length of every node's n-gram, by index.
    std::vector<std::uint8_t> lengths() const;

    void reserve(std::size_t nodes);
    // So many nodes more fit in any case.
    std::size_t room() const { return kMaxNodes - nodes_.size(); }

    // Whether each node has a count, or a longer one that begins with it has.
    std::vector<bool> needed() const;
    // Forgets the nodes that are not needed (and those longer than `max_length`, if given).
    void compact(std::optional<unsigned> max_length = std::nullopt);

   private:
    // A table of slots, to search in.
    struct Places {
        const Slot* slots;
        std::size_t size;

        // The top bits choose the shard (counts.h), the lowest are the tag. Sizes are no powers of
        // two, see Trie::grow.
        std::size_t slot_of(std::uint64_t hash) const {
            return (hash >> 16 & 0xFFFFFFFF) * size >> 32;
        }
        std::size_t next(std::size_t at) const { return at + 1 == size ? 0 : at + 1; }
    };

    static std::uint32_t tag_of(std::uint64_t hash) { return hash & 0xFF; }
    // Where a node with this hash is, or would be.
    Places table_of(std::uint64_t hash) const {
        if (growing_) [[unlikely]]
            return table_while_growing(hash);
        return {slots_.data(), slot_count_};
    }
    Places table_while_growing(std::uint64_t hash) const;
    const Slot* first_slot(std::uint64_t hash) const {
        const Places places = table_of(hash);
        return places.size == 0 ? &kNoSlot : places.slots + places.slot_of(hash);
    }
    const Slot* next_slot(const Slot* at, std::uint64_t hash) const {
        const Places places = table_of(hash);
        return ++at == places.slots + places.size ? places.slots : at;
    }
    NodeIndex add_node(Key key, std::uint64_t hash, std::size_t slot);
    std::size_t shard() const;
    void make_room_for_node();
    void grow();
    void rehash(std::size_t slots);
    void insert(NodeIndex index, std::uint64_t hash);
    void move_slots(std::size_t least);
    void forget_old_slots();

    static const Slot kNoSlot;

    Table<Slot> slots_;
    Table<Node> nodes_;
    std::uint32_t slot_count_ = 0;  // of slots_
    // Large tables grow little by little, so that no document has to wait for all of it. Until all
    // slots have been moved, the old table is searched for nodes that belong at or behind `moved_`
    // there. Nodes are copied before the table is full, and those below `copied_` kept up to date.
    bool growing_ = false;  // there is an old table
    NodeIndex copied_ = 0;
    NodeIndex live_ = 0;  // nodes with a count
    Table<Slot> old_slots_;
    std::size_t moved_ = 0;
    Table<Node> larger_nodes_;
    RowPool pool_;
};

}  // namespace watchword
