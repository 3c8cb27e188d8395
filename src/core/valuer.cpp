#include "valuer.h"

#include <algorithm>
#include <utility>

namespace watchword {

void Valuer::prepare(const Scale& scale, const ValueParameters& parameters) {
    const bool keeps_values = labels_ == scale.words.size() &&
                              units_.size() == scale.largest.size() &&
                              parameters_.smoothness == parameters.smoothness &&
                              parameters_.min_count == parameters.min_count;
    parameters_ = parameters;
    labels_ = scale.words.size();
    parameters_.prior = labels_ == 0 ? 0 : grown_prior(parameters, scale.documents);
    weights_ = label_weights(scale.documents, parameters.label_weight);
    const std::size_t lengths = scale.largest.size();
    const std::size_t tabled = labels_ <= kTabledLabels ? labels_ * kTabledCounts : 0;
    if (!keeps_values) {
        units_.assign(lengths, std::vector<double>(labels_, 0));
        local_values_.assign(lengths * tabled, -1);
    }
    compared_values_.assign(parameters_.prior > 0 ? lengths * tabled : 0, -1);
    priors_.assign(lengths, {});
    for (std::size_t at = 0; at < lengths; ++at) {
        const std::size_t scaled = parameters.ngram_scale == NgramScale::Length ? at : 0;
        set_units(at, units_of(scale.largest[scaled], scale.words, parameters.ngram_scale));
        double sum = 0;
        for (const double unit : units_[at]) sum += unit;
        if (parameters_.prior > 0 && sum > 0) {
            const double share = parameters_.prior / sum;
            priors_[at] = {share, compared_value(0, 1, share, parameters_)};
        }
    }
}

// Forgets what was computed with other units.
void Valuer::set_units(std::size_t at, std::vector<double> units) {
    for (std::size_t position = 0; position < labels_ && !local_values_.empty(); ++position) {
        if (units[position] == units_[at][position]) continue;
        double* const values = &local_values_[(at * labels_ + position) * kTabledCounts];
        std::fill_n(values, kTabledCounts, -1.);
    }
    units_[at] = std::move(units);
}

void Valuer::value(unsigned length, ValueRow& row) {
    const std::size_t size = row.size();
    for (std::size_t at = 0; at < size; ++at) {
        row.lv[at] = local_value_of(length, row.position[at], row.count[at]);
    }
    if (parameters_.prior > 0) {
        for (std::size_t at = 0; at < size; ++at) {
            row.compared[at] = compared_value_of(length, row.position[at], row.count[at]);
        }
    }
    evaluate(row, labels_, priors_[length - 1].absent, parameters_);
    if (parameters_.label_weight > 0) {
        for (std::size_t at = 0; at < size; ++at) row.gv[at] *= weights_[row.position[at]];
    }
}

double Valuer::local_value_of(unsigned length, LabelPosition position, Count count) {
    const double unit = units_[length - 1][position];
    if (count >= kTabledCounts || local_values_.empty()) {
        return local_value(count, unit, parameters_);
    }
    double& known = local_values_[((length - 1) * labels_ + position) * kTabledCounts + count];
    if (known < 0) known = local_value(count, unit, parameters_);
    return known;
}

double Valuer::compared_value_of(unsigned length, LabelPosition position, Count count) {
    const double unit = units_[length - 1][position];
    const double share = priors_[length - 1].share;
    if (count >= kTabledCounts || compared_values_.empty()) {
        return compared_value(count, unit, share, parameters_);
    }
    double& known = compared_values_[((length - 1) * labels_ + position) * kTabledCounts + count];
    if (known < 0) known = compared_value(count, unit, share, parameters_);
    return known;
}

void raise_largest(LargestValues& largest, unsigned length, const ValueRow& values) {
    for (std::size_t at = 0; at < values.size(); ++at) {
        double& most = largest[length - 1][values.position[at]];
        most = std::max(most, values.gv[at]);
    }
}

void WordsEvidence::reset(std::size_t labels) {
    total_ = 0;
    words_ = 0;
    speaking_.assign(labels, 0);
}

void WordsEvidence::add(std::span<const LabelPosition> positions, std::span<const double> gv) {
    ++words_;
    for (std::size_t at = 0; at < positions.size(); ++at) {
        total_ += gv[at];
        speaking_[positions[at]] += speaks_for_it(gv[at]);
    }
}

void confidences_of(const ValueRow& values, unsigned length, const LargestValues& largest,
                    const WordsEvidence& words, ConfidenceFunction function,
                    std::vector<double>& confidences) {
    confidences.resize(values.size());
    for (std::size_t at = 0; at < values.size(); ++at) {
        const LabelPosition position = values.position[at];
        confidences[at] = confidence(values.gv[at], largest[length - 1][position], length,
                                     words.for_label(position), function);
    }
}

void ConfidenceStore::clear(std::size_t labels) {
    labels_ = labels;
    values_.clear();
    positions_.clear();
}

ConfidenceStore::Entry ConfidenceStore::add(std::span<const LabelPosition> positions,
                                            std::span<const double> confidences, double total) {
    Entry entry{0, static_cast<std::uint32_t>(values_.size()) + 1,
                static_cast<std::uint32_t>(positions.size())};
    for (const double value : confidences) entry.best = std::max(entry.best, value);
    const std::size_t size = values_.size() + 1 + std::max(labels_, positions.size());
    reserve_ahead(values_, size, kEnough);
    reserve_ahead(positions_, size, kEnough);
    values_.push_back(total);
    if (positions.size() * 2 > labels_) {
        entry.size = kDense;
        values_.resize(values_.size() + labels_, 0);
        double* dense = values_.data() + entry.begin;
        for (std::size_t at = 0; at < positions.size(); ++at)
            dense[positions[at]] = confidences[at];
    } else {
        positions_.resize(values_.size());
        values_.insert(values_.end(), confidences.begin(), confidences.end());
        positions_.insert(positions_.end(), positions.begin(), positions.end());
    }
    return entry;
}

}  // namespace watchword
