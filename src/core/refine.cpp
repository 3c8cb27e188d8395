#include "refine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hash.h"

namespace watchword {
namespace {

constexpr std::size_t kTabledFrequencies = 1024;

// SplitMix64: the same numbers on every machine.
std::uint64_t next_random(std::uint64_t& state) {
    std::uint64_t mixed = state += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
    return mixed ^ mixed >> 31;
}

void shuffle(std::vector<std::uint32_t>& order, std::uint64_t& state) {
    for (std::size_t left = order.size(); left > 1; --left) {
        std::swap(order[left - 1], order[next_random(state) % left]);
    }
}

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
    const double frequency = times == 1 ? 1 : 1 + std::log(static_cast<double>(times));
    return frequency * inverse_frequency * decay;
}

double dual_step(double dual, double score, double squares, double slack) {
    return std::max(0., dual - (score - 1 + slack * dual) / (squares + slack));
}

// Features

FeatureReader::FeatureReader(Parser& parser, const Counts& counts, double decay, Memo& memo)
    : parser_(parser),
      memo_(memo),
      documents_(documents_of(counts)),
      decays_(counts.max_ngram(), 1),
      slots_(1024),
      inverse_frequencies_(kTabledFrequencies, 0) {
    for (std::size_t at = 1; at < decays_.size(); ++at) decays_[at] = decays_[at - 1] * decay;
}

std::span<const Feature> FeatureReader::read(std::span<const Symbol> document,
                                             std::vector<FeatureOccurrence>* occurrences) {
    features_.clear();
    if (++stamp_ == 0) {
        std::fill(slots_.begin(), slots_.end(), Slot{});
        stamp_ = 1;
    }
    const std::uint32_t known = memo_.stamp();
    const auto visit = [&](std::size_t position, unsigned length, NgramId ngram,
                           const auto& entry) {
        if (features_.size() * 2 >= slots_.size()) grow();
        Slot& slot = slot_of(length, ngram);
        if (slot.stamp != stamp_) {
            const Memo::Entry& own = entry();
            if (memo_.confidences(own).size == 0) return;  // a word without counts
            slot = {stamp_, static_cast<std::uint32_t>(features_.size())};
            features_.push_back({ngram, length, 0, 0, own});
        }
        ++features_[slot.feature].times;
        if (occurrences) occurrences->push_back({position, slot.feature});
    };
    for (std::size_t at = 0; at < document.size();) at = parser_.find_all(document, at, visit);
    if (memo_.stamp() != known) {
        // The memo was full: this time with room for the whole document.
        memo_.make_room(features_.size());
        for (Feature& feature : features_) {
            feature.entry = memo_.get(feature.length, feature.ngram);
        }
    }
    double squares = 0;
    for (Feature& feature : features_) {
        feature.x =
            term_weight(feature.times, inverse_frequency_of(feature), decays_[feature.length - 1]);
        squares += feature.x * feature.x;
    }
    const double norm = squares > 0 ? std::sqrt(squares) : 1;
    for (Feature& feature : features_) feature.x /= norm;
    return features_;
}

FeatureReader::Slot& FeatureReader::slot_of(unsigned length, NgramId ngram) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash_pair(ngram, length) & mask;; at = (at + 1) & mask) {
        Slot& slot = slots_[at];
        if (slot.stamp != stamp_) return slot;
        const Feature& known = features_[slot.feature];
        if (known.ngram == ngram && known.length == length) return slot;
    }
}

void FeatureReader::grow() {
    slots_.assign(slots_.size() * 2, {});
    for (std::uint32_t index = 0; index < features_.size(); ++index) {
        slot_of(features_[index].length, features_[index].ngram) = {stamp_, index};
    }
}

double FeatureReader::inverse_frequency_of(const Feature& feature) {
    const auto own = static_cast<Count>(memo_.total(feature.entry));
    if (own >= kTabledFrequencies) return inverse_frequency(documents_, own);
    double& known = inverse_frequencies_[own];
    if (known == 0) known = inverse_frequency(documents_, own);
    return known;
}

// Scores

Scorer::Scorer(const Counts& counts, const Corrections& corrections, double alpha, Memo& memo)
    : counts_(counts), corrections_(corrections), alpha_(alpha), memo_(memo) {}

void Scorer::add_counted(std::span<const Feature> features, double* out) {
    const std::size_t labels = memo_.labels();
    double means = 0;
    for (std::size_t at = 0; at < features.size(); ++at) {
        if (at + kAhead < features.size()) memo_.prefetch_confidences(features[at + kAhead].entry);
        const double x = features[at].x;
        const ConfidenceRow row = memo_.confidences(features[at].entry);
        double sum = 0;
        const auto add = [&](std::size_t position, double known) {
            const double value = known > alpha_ ? known : 0;
            out[position] += x * value;
            sum += value;
        };
        if (row.positions == nullptr) {
            for (std::size_t label = 0; label < row.size; ++label) add(label, row.values[label]);
        } else {
            for (std::size_t label = 0; label < row.size; ++label) {
                add(row.positions[label], row.values[label]);
            }
        }
        means += x * sum;
    }
    means /= static_cast<double>(labels);
    for (std::size_t label = 0; label < labels; ++label) out[label] -= means;
}

void Scorer::add_corrections(std::span<const Feature> features, double* out) {
    const LabelTable& labels = counts_.labels();
    for (std::size_t at = 0; at < features.size(); ++at) {
        if (at + 2 * kAhead < features.size()) {
            const Feature& later = features[at + 2 * kAhead];
            corrections_.prefetch_cell(later.length, later.ngram);
        }
        if (at + kAhead < features.size()) {
            const Feature& next = features[at + kAhead];
            corrections_.prefetch_row(next.length, next.ngram);
        }
        const Feature& feature = features[at];
        for (const LabelCount entry : corrections_.row(feature.length, feature.ngram, room_)) {
            out[labels.position(Corrections::label_of(entry))] +=
                feature.x * static_cast<double>(Corrections::weight_of(entry));
        }
    }
}

void Scorer::score(std::span<const Feature> features, double* out) {
    const LabelTable& labels = counts_.labels();
    std::fill(out, out + labels.size(), 0.);
    if (features.empty()) return;
    add_counted(features, out);
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

// The fit

std::uint32_t Refiner::feature_of(const Feature& feature) {
    const std::size_t part = feature.length == 1 ? Counts::kShards : feature.ngram >> 24;
    const std::size_t at = feature.length == 1 ? feature.ngram : Counts::node_index(feature.ngram);
    if (indices_.empty()) indices_.resize(Counts::kShards + 1);
    if (at >= indices_[part].size()) {
        indices_[part].resize(part == Counts::kShards ? counts_->words().id_limit()
                                                      : counts_->shard(part).size());
    }
    std::uint32_t& known = indices_[part][at];
    if (known == 0) {
        ngrams_.emplace_back(feature.length, feature.ngram);
        known = static_cast<std::uint32_t>(ngrams_.size());
        begins_.push_back(weights_.size());
        for (const LabelCount entry : counts_->row(feature.length, feature.ngram, room_)) {
            weights_.push_back({entry.label(), 0});
        }
    }
    return known - 1;
}

void Refiner::add(std::span<const Feature> features, const double* counted,
                  const TextLabels& labels) {
    for (const Feature& feature : features) {
        uses_.push_back({feature_of(feature), static_cast<float>(feature.x)});
    }
    ends_.push_back(uses_.size());
    labels_.push_back(labels);
    const LabelTable& known = counts_->labels();
    const std::size_t begin = counted_.size();
    counted_.resize(begin + known.id_limit(), 0);
    for (LabelPosition position = 0; position < known.size(); ++position) {
        counted_[begin + known.id_at(position)] = static_cast<float>(counted[position]);
    }
    double own = 0;
    for (const LabelId label : labels) own += counted[known.position(label)];
    if (!labels.empty()) margins_ += own / static_cast<double>(labels.size());
}

void Refiner::prepare() {
    prepared_ = true;
    indices_.clear();
    indices_.shrink_to_fit();
    begins_.push_back(weights_.size());
    const std::size_t labels = counts_->labels().id_limit();
    const double texts = static_cast<double>(labels_.size());
    Fit fit;
    fit.strength = settings_.strength;
    fit.margins = margins_;
    fit.texts = labels_.size();
    const auto scale = static_cast<float>(fit.scale());
    for (float& counted : counted_) counted *= scale;
    order_.resize(labels_.size());
    std::iota(order_.begin(), order_.end(), 0u);
    random_ = settings_.seed;
    duals_.assign(labels_.size() * labels, 0);
    biases_.assign(labels, 0);
    scores_.resize(labels);
    squares_.resize(labels);
    steps_.resize(labels);
    slack_inside_.assign(labels, 1 / (2 * settings_.cost));
    slack_outside_ = slack_inside_;
    if (!settings_.balanced) return;
    std::vector<double> inside(labels, 0);
    for (const TextLabels& own : labels_) {
        for (const LabelId label : own) ++inside[label];
    }
    for (std::size_t label = 0; label < labels; ++label) {
        slack_inside_[label] *= 2 * inside[label] / texts;
        slack_outside_[label] *= 2 * (texts - inside[label]) / texts;
    }
}

void Refiner::run_pass() {
    if (!prepared_) prepare();
    shuffle(order_, random_);
    for (const std::uint32_t text : order_) correct(text);
}

void Refiner::correct(std::size_t text) {
    constexpr std::size_t kAhead = 8;
    const std::size_t labels = scores_.size();
    const std::span<const Use> uses(uses_.data() + (text == 0 ? 0 : ends_[text - 1]),
                                    uses_.data() + ends_[text]);
    if (uses.empty()) return;
    const float* counted = counted_.data() + text * labels;
    for (std::size_t label = 0; label < labels; ++label) {
        scores_[label] = biases_[label] + static_cast<double>(counted[label]);
        squares_[label] = settings_.bias;
    }
    for (std::size_t at = 0; at < uses.size(); ++at) {
        if (at + kAhead < uses.size()) {
            prefetch(weights_.data() + begins_[uses[at + kAhead].feature]);
        }
        const double x = static_cast<double>(uses[at].x);
        const std::uint64_t end = begins_[uses[at].feature + 1];
        for (std::uint64_t entry = begins_[uses[at].feature]; entry < end; ++entry) {
            const Weighed& own = weights_[entry];
            scores_[own.label] += x * static_cast<double>(own.weight);
            squares_[own.label] += x * x;
        }
    }
    bool changed = false;
    const TextLabels& own = labels_[text];
    const LabelTable& known = counts_->labels();
    std::fill(steps_.begin(), steps_.end(), 0.);
    for (LabelPosition position = 0; position < known.size(); ++position) {
        const LabelId label = known.id_at(position);
        const bool inside = std::find(own.begin(), own.end(), label) != own.end();
        const double sign = inside ? 1 : -1;
        float& dual = duals_[text * labels + label];
        const auto stepped = static_cast<float>(
            dual_step(static_cast<double>(dual), sign * scores_[label], squares_[label],
                      (inside ? slack_inside_ : slack_outside_)[label]));
        steps_[label] = sign * (static_cast<double>(stepped) - static_cast<double>(dual));
        dual = stepped;
        biases_[label] += steps_[label] * settings_.bias;
        changed |= steps_[label] != 0;
    }
    if (!changed) return;
    for (const Use& use : uses) {
        const std::uint64_t end = begins_[use.feature + 1];
        for (std::uint64_t entry = begins_[use.feature]; entry < end; ++entry) {
            Weighed& weighed = weights_[entry];
            weighed.weight +=
                static_cast<float>(steps_[weighed.label] * static_cast<double>(use.x));
        }
    }
}

std::shared_ptr<Corrections> Refiner::finish() const {
    auto found = std::make_shared<Corrections>();
    Fit& fit = found->fit;
    fit.decay = settings_.decay;
    fit.strength = settings_.strength;
    fit.cost = settings_.cost;
    fit.bias = settings_.bias;
    fit.margins = margins_;
    fit.texts = labels_.size();
    fit.documents = documents_of(*counts_);
    const LabelTable& labels = counts_->labels();
    for (LabelPosition position = 0; position < labels.size(); ++position) {
        const LabelId label = labels.id_at(position);
        found->set_bias(label, label < biases_.size() ? biases_[label] : 0);
    }
    for (std::size_t feature = 0; feature < ngrams_.size(); ++feature) {
        const auto [length, ngram] = ngrams_[feature];
        for (std::uint64_t at = begins_[feature]; at < begins_[feature + 1]; ++at) {
            if (weights_[at].weight == 0) continue;
            found->set(length, ngram, weights_[at].label, weights_[at].weight);
        }
    }
    return found;
}

void correct_once(const Counts& counts, Corrections& corrections, std::span<const Feature> features,
                  Scorer& scorer, const TextLabels& own) {
    if (features.empty()) return;
    const LabelTable& labels = counts.labels();
    std::vector<double> scores(labels.size(), 0);
    scorer.add_counted(features, scores.data());
    double margin = 0;
    for (const LabelId label : own) margin += scores[labels.position(label)];
    Fit& fit = corrections.fit;
    fit.margins += margin / static_cast<double>(own.size());
    ++fit.texts;
    scorer.score(features, scores.data());
    const double slack = 1 / (2 * fit.cost);
    std::vector<double> steps(labels.id_limit(), 0), squares(labels.id_limit(), fit.bias);
    std::vector<LabelCount> room, other;
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
        for (const LabelCount entry : counts.row(feature.length, feature.ngram, room)) {
            const double step = steps[entry.label()];
            if (step == 0) continue;
            const float known =
                corrections.weight(feature.length, feature.ngram, entry.label(), other);
            corrections.set(feature.length, feature.ngram, entry.label(),
                            known + static_cast<float>(step * feature.x));
        }
    }
}

}  // namespace watchword
