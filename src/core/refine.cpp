#include "refine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "hash.h"

namespace watchword {
namespace {

constexpr std::size_t kTabledFrequencies = table_size(1024, 3);
constexpr std::size_t kTabledTimes = table_size(64, 3);
constexpr std::size_t kLeastSlots = table_size(256, 4);

double frequency_of(Count times) { return 1 + std::log(static_cast<double>(times)); }

std::array<double, kTabledTimes> tabled_frequencies() {
    std::array<double, kTabledTimes> known{};
    for (std::size_t times = 1; times < kTabledTimes; ++times) known[times] = frequency_of(times);
    return known;
}

// Not local to its function, where every call would have to ask whether it is ready.
const std::array<double, kTabledTimes> kFrequencies = tabled_frequencies();

}  // namespace

Count documents_of(const Counts& counts) {
    Count documents = 0;
    const LabelTable& labels = counts.labels();
    for (LabelPosition position = 0; position < labels.size(); ++position) {
        documents += counts.totals(labels.id_at(position)).documents;
    }
    return documents;
}

double inverse_frequency(Count documents, Count of_ngram) {
    const double all = static_cast<double>(documents);
    const double own = static_cast<double>(std::min(documents, of_ngram));
    return std::log((1 + all) / (1 + own)) + 1;
}

double term_weight(Count times, double inverse_frequency, double decay) {
    const double frequency = times < kTabledTimes ? kFrequencies[times] : frequency_of(times);
    return frequency * inverse_frequency * decay;
}

double dual_step(double dual, double score, double squares, double slack) {
    return std::max(0., dual - (score - 1 + slack * dual) / (squares + slack));
}

std::vector<double> leanings_of(std::span<const Count> texts) {
    double sum = 0, labels = 0;
    for (const Count own : texts) {
        if (own == 0) continue;
        sum += std::log(static_cast<double>(own));
        ++labels;
    }
    std::vector<double> leanings(texts.size(), 0);
    for (std::size_t label = 0; label < texts.size(); ++label) {
        if (texts[label] == 0) continue;
        leanings[label] = std::log(static_cast<double>(texts[label])) - sum / labels;
    }
    return leanings;
}

TermWeights::TermWeights(const Counts& counts, double decay)
    : documents_(documents_of(counts)),
      decays_(counts.max_ngram(), 1),
      inverse_frequencies_(kTabledFrequencies, 0) {
    for (std::size_t at = 1; at < decays_.size(); ++at) decays_[at] = decays_[at - 1] * decay;
}

double TermWeights::weight(unsigned length, Count times, Count of_ngram) {
    const double decay = decays_[length - 1];
    if (of_ngram >= kTabledFrequencies) {
        return term_weight(times, inverse_frequency(documents_, of_ngram), decay);
    }
    double& known = inverse_frequencies_[of_ngram];
    if (known == 0) known = inverse_frequency(documents_, of_ngram);
    return term_weight(times, known, decay);
}

// Features

FeatureReader::FeatureReader(NgramFinder& finder, const Counts& counts, double decay, Memo& memo)
    : finder_(finder), memo_(memo), weights_(counts, decay), slots_(kLeastSlots) {}

std::span<const Feature> FeatureReader::read(std::span<const Symbol> document,
                                             std::vector<FeatureOccurrence>* occurrences) {
    features_.clear();
    if (++stamp_ == 0) {
        std::fill(slots_.begin(), slots_.end(), Slot{});
        stamp_ = 1;
    }
    used_slots_ = std::min(slots_.size(), std::bit_ceil(2 * document.size() + kLeastSlots));
    const std::uint32_t known = memo_.stamp();
    const auto visit = [&](std::size_t position, unsigned length, NgramId ngram,
                           const auto& entry) {
        if (features_.size() * 2 >= used_slots_) grow();
        Slot& slot = slot_of(length, ngram);
        if (slot.stamp != stamp_) {
            const Memo::Entry& own = entry();
            if (memo_.confidences(own).size == 0) return;  // a word without counts
            slot = {stamp_, static_cast<std::uint32_t>(features_.size())};
            features_.push_back({ngram, length, 0, 0, own});
            memo_.prefetch_confidences(own);
        }
        ++features_[slot.feature].times;
        if (occurrences) occurrences->push_back({position, slot.feature});
    };
    for (std::size_t at = 0; at < document.size();) at = finder_.find_all(document, at, visit);
    if (memo_.stamp() != known) {
        // The memo was full: this time with room for the whole document.
        memo_.make_room(features_.size());
        for (Feature& feature : features_) {
            feature.entry = memo_.get(feature.length, feature.ngram);
        }
    }
    double squares = 0;
    for (Feature& feature : features_) {
        feature.x = weights_.weight(feature.length, feature.times,
                                    static_cast<Count>(memo_.total(feature.entry)));
        squares += feature.x * feature.x;
    }
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 1;
    for (Feature& feature : features_) feature.x *= scale;
    return features_;
}

FeatureReader::Slot& FeatureReader::slot_of(unsigned length, NgramId ngram) {
    const std::size_t mask = used_slots_ - 1;
    for (std::size_t at = hash_pair(ngram, length) & mask;; at = (at + 1) & mask) {
        Slot& slot = slots_[at];
        if (slot.stamp != stamp_) return slot;
        const Feature& known = features_[slot.feature];
        if (known.ngram == ngram && known.length == length) return slot;
    }
}

void FeatureReader::grow() {
    used_slots_ *= 2;
    slots_.assign(std::max(slots_.size(), used_slots_), {});
    for (std::uint32_t index = 0; index < features_.size(); ++index) {
        slot_of(features_[index].length, features_[index].ngram) = {stamp_, index};
    }
}

// Scores

Scorer::Scorer(const Counts& counts, const Corrections& corrections, double alpha, Memo& memo)
    : counts_(counts), corrections_(corrections), alpha_(alpha), memo_(memo) {}

void Scorer::add_counted(std::span<const Feature> features, double* out) {
    const std::size_t labels = memo_.labels();
    const double alpha = alpha_;
    for (const Feature& feature : features) {
        const ConfidenceRow row = memo_.confidences(feature.entry);
        const double x = feature.x;
        if (row.positions == nullptr) {
            const double* values = row.values;
            for (std::size_t label = 0; label < labels; ++label) {
                out[label] += x * (values[label] > alpha ? values[label] : 0);
            }
        } else {
            for (std::size_t at = 0; at < row.size; ++at) {
                if (row.values[at] > alpha) out[row.positions[at]] += x * row.values[at];
            }
        }
    }
    // Minus the mean of cv for each n-gram, that is minus the mean of the sums.
    double sum = 0;
    for (std::size_t label = 0; label < labels; ++label) sum += out[label];
    const double mean = sum / static_cast<double>(labels);
    for (std::size_t label = 0; label < labels; ++label) out[label] -= mean;
}

void Scorer::add_corrections(std::span<const Feature> features, double* out) {
    const LabelTable& labels = counts_.labels();
    const std::size_t ids = labels.id_limit();
    sums_.assign(ids, 0);
    double* sums = sums_.data();
    places_.clear();
    for (const Feature& feature : features) {
        places_.push_back(corrections_.place_of(feature.length, feature.ngram));
    }
    for (std::size_t at = 0; at < features.size(); ++at) {
        if (at + kAhead < features.size()) places_[at + kAhead].prefetch_row();
        const Feature& feature = features[at];
        const double x = feature.x;
        const auto row = corrections_.row(places_[at], feature.length, feature.ngram, room_);
        if (row.size() == ids) {
            for (std::size_t label = 0; label < ids; ++label) {
                sums[label] += x * static_cast<double>(Corrections::weight_of(row[label]));
            }
        } else {
            for (const LabelCount entry : row) {
                sums[Corrections::label_of(entry)] +=
                    x * static_cast<double>(Corrections::weight_of(entry));
            }
        }
    }
    for (std::size_t at = 0; at < labels.size(); ++at) {
        out[at] += sums[labels.id_at(static_cast<LabelPosition>(at))];
    }
}

void Scorer::score(std::span<const Feature> features, double* out) {
    const LabelTable& labels = counts_.labels();
    std::fill(out, out + labels.size(), 0.);
    if (features.empty()) return;
    add_counted(features, out);
    finish(features, out);
}

void Scorer::finish(std::span<const Feature> features, double* out) {
    const LabelTable& labels = counts_.labels();
    const double scale = corrections_.fit.scale();
    for (std::size_t at = 0; at < labels.size(); ++at) {
        out[at] = corrections_.bias(labels.id_at(static_cast<LabelPosition>(at))) + scale * out[at];
    }
    add_corrections(features, out);
}

void Scorer::parts(const Feature& feature, double* counted, double* corrected) {
    const std::size_t labels = memo_.labels();
    std::fill(counted, counted + labels, 0.);
    std::fill(corrected, corrected + labels, 0.);
    add_counted({&feature, 1}, counted);
    const double scale = corrections_.fit.scale();
    for (std::size_t at = 0; at < labels; ++at) counted[at] *= scale;
    add_corrections({&feature, 1}, corrected);
}

// Leaving a text out

LeaveOneOut::LeaveOneOut(const Counts& counts, double decay, double alpha, Memo& memo)
    : counts_(counts), weights_(counts, decay), alpha_(alpha), memo_(memo) {}

bool LeaveOneOut::is_only_of(const Feature& feature, const TextLabels& labels) const {
    const Count own = counts_.counting() == Counting::Documents ? 1 : feature.times;
    if (memo_.total(feature.entry) > static_cast<double>(own) || labels.size() != 1) return false;
    const ConfidenceRow row = memo_.confidences(feature.entry);
    return row.size == 1 && counts_.labels().id_at(row.position(0)) == labels[0];
}

bool LeaveOneOut::is_frequent(const Feature& feature, const TextLabels& labels) const {
    const Count least = kFrequent * feature.times;
    if (memo_.total(feature.entry) <= static_cast<double>(least)) return false;
    return std::all_of(labels.begin(), labels.end(), [&](LabelId label) {
        return counts_.count(feature.length, feature.ngram, label) > least;
    });
}

void LeaveOneOut::add(const Feature& feature, Count of_ngram, const ConfidenceRow& row,
                      double* counted) {
    Feature left = feature;
    left.x = weights_.weight(feature.length, feature.times, of_ngram);
    features_.push_back(left);
    for (std::size_t at = 0; at < row.size; ++at) {
        if (!(row.values[at] > alpha_)) continue;
        counted[row.position(at)] += left.x * row.values[at];
        means_ += left.x * row.values[at];
    }
}

std::span<const Feature> LeaveOneOut::read(std::span<const Feature> features,
                                           const TextLabels& labels, double* counted) {
    const std::size_t columns = memo_.labels();
    features_.clear();
    means_ = 0;
    std::fill_n(counted, columns, 0.);
    for (const Feature& feature : features) {
        if (is_only_of(feature, labels)) continue;
        if (is_frequent(feature, labels)) {
            add(feature, static_cast<Count>(memo_.total(feature.entry)),
                memo_.confidences(feature.entry), counted);
            continue;
        }
        const ValueRow& row =
            memo_.values_without(feature.length, feature.ngram, labels, feature.times);
        if (row.size() == 0) continue;
        Count of_ngram = 0;
        for (const Count count : row.count) of_ngram += count;
        const double* values = memo_.confidences(feature.length, feature.ngram, row).data();
        add(feature, of_ngram, {values, row.position.data(), row.size()}, counted);
    }
    double squares = 0;
    for (const Feature& feature : features_) squares += feature.x * feature.x;
    const double norm = squares > 0 ? std::sqrt(squares) : 1;
    for (Feature& feature : features_) feature.x /= norm;
    for (std::size_t label = 0; label < columns; ++label) {
        counted[label] = (counted[label] - means_ / static_cast<double>(columns)) / norm;
    }
    return features_;
}

// Correction on the fly

void correct_once(const Counts& counts, Corrections& corrections, std::span<const Feature> features,
                  Scorer& scorer, const TextLabels& own, double cost) {
    if (features.empty()) return;
    const LabelTable& labels = counts.labels();
    std::vector<double> scores(labels.size(), 0);
    scorer.add_counted(features, scores.data());
    double margin = 0;
    for (const LabelId label : own) margin += scores[labels.position(label)];
    Fit& fit = corrections.fit;
    if (!own.empty()) fit.margins += margin / static_cast<double>(own.size());
    ++fit.texts;
    scorer.finish(features, scores.data());
    const double slack = 1 / (2 * cost);
    std::vector<double> steps(labels.id_limit(), 0), squares(labels.id_limit(), fit.bias);
    std::vector<LabelCount> room;
    for (const Feature& feature : features) {
        for (const LabelCount entry : counts.row(feature.length, feature.ngram, room)) {
            squares[entry.label()] += feature.x * feature.x;
        }
    }
    for (LabelPosition position = 0; position < labels.size(); ++position) {
        const LabelId label = labels.id_at(position);
        const bool inside = std::find(own.begin(), own.end(), label) != own.end();
        const double sign = inside ? 1 : -1;
        steps[label] = sign * dual_step(0, sign * scores[position], squares[label], slack);
        corrections.set_bias(label, corrections.bias(label) + steps[label] * fit.bias);
    }
    for (const Feature& feature : features) {
        corrections.add(feature.length, feature.ngram,
                        counts.row(feature.length, feature.ngram, room), feature.x, steps);
    }
}

}  // namespace watchword
