#include "labels.h"

#include <algorithm>

namespace watchword {

std::optional<LabelId> LabelTable::find(const Label& label) const {
    const auto found = ids_.find(label);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
}

std::vector<LabelId> LabelTable::find_or_add_all(std::span<const Label> labels) {
    std::vector<LabelId> ids, added;
    ids.reserve(labels.size());
    try {
        for (const Label& label : labels) {
            const auto found = ids_.find(label);
            if (found == ids_.end()) {
                added.reserve(labels.size());
                added.push_back(add(label));
                ids.push_back(added.back());
            } else {
                ids.push_back(found->second);
            }
        }
    } catch (...) {
        for (const LabelId id : added) remove(id);
        throw;
    }
    return ids;
}

LabelId LabelTable::add(const Label& label) {
    if (!ids_.empty() && ids_.begin()->first.index() != label.index()) {
        throw LabelTypeFailure("the labels of one model must be all str or all int");
    }
    if (free_.empty()) {
        if (names_.size() >= kMaxLabels)
            throw LimitFailure("a model would have more than 2^23 - 1 labels");
        if (names_.size() == names_.capacity()) names_.reserve(names_.size() * 2 + 1);
        free_.reserve(names_.capacity());  // so that removing a label cannot fail
        names_.push_back(label);
        free_.push_back(id_limit() - 1);
    }
    const LabelId id = free_.back();
    names_[id] = label;
    ids_.emplace(label, id);
    free_.pop_back();
    order_.sorted.store(false, std::memory_order_relaxed);
    return id;
}

void LabelTable::remove(LabelId id) {
    ids_.erase(names_[id]);
    free_.push_back(id);
    order_.sorted.store(false, std::memory_order_relaxed);
}

std::vector<Label> LabelTable::sorted_names() const {
    std::vector<Label> names;
    names.reserve(ids_.size());
    for (const auto& entry : ids_) names.push_back(entry.first);
    return names;
}

bool LabelTable::are_sorted_names(std::span<const Label> labels) const {
    const std::vector<LabelId>& sorted = order().by_position;
    return std::equal(labels.begin(), labels.end(), sorted.begin(), sorted.end(),
                      [this](const Label& label, LabelId id) { return label == names_[id]; });
}

void LabelTable::sort() const {
    const std::lock_guard guard(order_.mutex);
    if (order_.sorted.load(std::memory_order_relaxed)) return;
    order_.by_position.clear();
    order_.by_id.assign(names_.size(), 0);
    for (const auto& [label, id] : ids_) {
        order_.by_id[id] = static_cast<LabelPosition>(order_.by_position.size());
        order_.by_position.push_back(id);
    }
    order_.sorted.store(true, std::memory_order_release);
}

}  // namespace watchword
