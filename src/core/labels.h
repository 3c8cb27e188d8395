// The labels of a model. A label has an id, in which counts are kept, and a position, its place in
// the sorted order that columns, ties and sums follow whatever the order of learning was.
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

// Thrown when labels of another type than the known ones are to be added.
class LabelTypeFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class LabelTable {
   public:
    std::size_t size() const { return sorted_.size(); }
    LabelId id_limit() const { return static_cast<LabelId>(names_.size()); }
    std::optional<LabelId> find(const Label& label) const;
    LabelId find_or_add(const Label& label) { return find_or_add_all({&label, 1})[0]; }
    // New labels cost a pass over all labels: many at once cost one.
    std::vector<LabelId> find_or_add_all(std::span<const Label> labels);
    void remove(LabelId id);

    const Label& name(LabelId id) const { return names_[id]; }
    LabelId id_at(LabelPosition position) const { return sorted_[position]; }
    LabelPosition position(LabelId id) const { return position_[id]; }
    std::vector<Label> sorted_names() const;

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
