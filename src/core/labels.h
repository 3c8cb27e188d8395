// The labels of a model. A label has an id, under which counts are stored, and a position in the
// sorted order, which columns, ties and sums follow, independent of the order of learning.
#pragma once

#include <cstdint>
#include <map>
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
    std::size_t size() const { return sorted_.size(); }
    LabelId id_limit() const { return static_cast<LabelId>(names_.size()); }
    std::optional<LabelId> find(const Label& label) const;
    LabelId find_or_add(const Label& label) { return find_or_add_all({&label, 1})[0]; }
    // Adding labels takes one pass over all labels, however many are added at once.
    std::vector<LabelId> find_or_add_all(std::span<const Label> labels);
    void remove(LabelId id);

    const Label& name(LabelId id) const { return names_[id]; }
    LabelId id_at(LabelPosition position) const { return sorted_[position]; }
    LabelPosition position(LabelId id) const { return position_[id]; }
    std::vector<Label> sorted_names() const;
    bool are_sorted_names(std::span<const Label> labels) const;

   private:
    LabelId add(const Label& label);
    void sort();

    std::vector<Label> names_;  // by id
    std::vector<LabelId> free_;
    std::map<Label, LabelId> ids_;
    std::vector<LabelId> sorted_;          // by position
    std::vector<LabelPosition> position_;  // by id
};

}  // namespace watchword
