#include "labels.h"

#include <algorithm>

namespace watchword {

std::optional<LabelId> LabelTable::find(const Label& label) const {
    const auto found = ids_.find(label);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
}

std::vector<LabelId> LabelTable::find_or_add_all(std::span<const Label> labels) {
    std::vector<LabelId> ids;
    ids.reserve(labels.size());
    const std::size_t known = ids_.size();
    for (const Label& label : labels) {
        const auto found = ids_.find(label);
        ids.push_back(found != ids_.end() ? found->second : add(label));
    }
    if (ids_.size() != known) sort();
    return ids;
}

LabelId LabelTable::add(const Label& label) {
    if (!ids_.empty() && ids_.begin()->first.index() != label.index()) {
        throw LabelTypeFailure("the labels of one model must be all str or all int");
    }
    LabelId id;
    if (free_.empty()) {
        if (names_.size() >= kMaxLabels)
            throw LimitFailure("a model would have more than 2^23 - 1 labels");
        id = id_limit();
        names_.push_back(label);
    } else {
        id = free_.back();
        free_.pop_back();
        names_[id] = label;
    }
    ids_.emplace(label, id);
    return id;
}

void LabelTable::remove(LabelId id) {
    ids_.erase(names_[id]);
    free_.push_back(id);
    sort();
}

std::vector<Label> LabelTable::sorted_names() const {
    std::vector<Label> names;
    names.reserve(ids_.size());
    for (const auto& entry : ids_) names.push_back(entry.first);
    return names;
}

bool LabelTable::are_sorted_names(std::span<const Label> labels) const {
    return std::equal(labels.begin(), labels.end(), sorted_.begin(), sorted_.end(),
                      [this](const Label& label, LabelId id) { return label == names_[id]; });
}

void LabelTable::sort() {
    sorted_.clear();
    position_.assign(names_.size(), 0);
    for (const auto& [label, id] : ids_) {
        position_[id] = static_cast<LabelPosition>(sorted_.size());
        sorted_.push_back(id);
    }
}

}  // namespace watchword
