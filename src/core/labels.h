// The labels of a model. A label has an id, under which counts are stored, and a position in the
// sorted order, which columns, ties and sums follow, independent of the order of learning.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "cells.h"

namespace watchword {

using Label = std::variant<std::int64_t, std::string>;
using LabelPosition = std::uint32_t;

// Thrown by attempts to add labels of another type than the existing ones.
class LabelTypeFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class LabelTable {
   public:
    std::size_t size() const { return ids_.size(); }
    LabelId id_limit() const { return static_cast<LabelId>(names_.size()); }
    std::optional<LabelId> find(const Label& label) const;
    LabelId find_or_add(const Label& label) { return find_or_add_all({&label, 1})[0]; }
    // Adds all of them or, if it throws, none.
    std::vector<LabelId> find_or_add_all(std::span<const Label> labels);
    void remove(LabelId id);

    const Label& name(LabelId id) const { return names_[id]; }
    LabelId id_at(LabelPosition position) const { return order().by_position[position]; }
    LabelPosition position(LabelId id) const { return order().by_id[id]; }
    std::vector<Label> sorted_names() const;
    bool are_sorted_names(std::span<const Label> labels) const;

   private:
    // Sorted when it is first asked for, by any of the threads that read, so that adding or
    // removing a label does not take a pass over all of them. Copies sort for themselves.
    struct Order {
        Order() = default;
        Order(const Order&) {}
        Order& operator=(const Order&) = delete;

        std::mutex mutex;
        std::atomic<bool> sorted{false};
        std::vector<LabelId> by_position;
        std::vector<LabelPosition> by_id;
    };

    LabelId add(const Label& label);
    const Order& order() const {
        if (!order_.sorted.load(std::memory_order_acquire)) [[unlikely]]
            sort();
        return order_;
    }
    void sort() const;

    std::vector<Label> names_;  // by id
    std::vector<LabelId> free_;
    std::map<Label, LabelId> ids_;
    mutable Order order_;
};

}  // namespace watchword
