#include "refiner.h"

#include <algorithm>
#include <stdexcept>

#include "refine.h"

namespace watchword {
namespace {

constexpr std::size_t kAhead = 8;  // uses whose memory is fetched ahead

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

bool has(const TextLabels& labels, LabelId label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
}

}  // namespace

// Texts

void Refiner::add_uses(std::span<const TextFeature> features, Table<Use>& uses) {
    if (indices_.empty()) {
        for (std::size_t shard = 0; shard < Counts::kShards; ++shard) {
            indices_.emplace_back(counts_->shard(shard).size());
        }
        indices_.emplace_back(counts_->words().id_limit());
    }
    const auto index_of = [this](const TextFeature& feature) {
        if (feature.length == 1) return &indices_.back()[feature.ngram];
        return &indices_[feature.ngram >> 24][Counts::node_index(feature.ngram)];
    };
    for (std::size_t at = 0; at < features.size(); ++at) {
        if (at + 2 * kAhead < features.size()) prefetch(index_of(features[at + 2 * kAhead]));
        const TextFeature& feature = features[at];
        std::uint32_t& known = *index_of(feature);
        if (known == 0) {
            ngrams_.emplace_back(feature.length, feature.ngram);
            only_.push_back(feature.only);
            known = static_cast<std::uint32_t>(ngrams_.size());
        }
        uses.push_back({known - 1, feature.x});
    }
}

// Uses take most of the memory, and moving them as long as adding them: makes room for those of all
// texts, judged by the texts so far. Untouched memory costs nothing.
void Refiner::make_room(std::size_t uses) {
    const std::size_t size = uses_.size() + uses;
    if (size <= uses_.capacity()) return;
    const std::size_t all = size / (texts_.size() + 1) * expected_texts_;
    uses_.reserve(std::clamp(all + all / 16, size * 2, size * 8));
}

void Refiner::append_counted(const double* counted, std::vector<float>& rows) const {
    const LabelTable& known = counts_->labels();
    const std::size_t begin = rows.size();
    rows.resize(begin + known.id_limit(), 0);
    for (LabelPosition position = 0; position < known.size(); ++position) {
        rows[begin + known.id_at(position)] = static_cast<float>(counted[position]);
    }
}

void Refiner::add(std::size_t fold, std::span<const TextFeature> features, const double* counted,
                  const TextLabels& labels) {
    const std::uint64_t begin = uses_.size();
    make_room(features.size());
    add_uses(features, uses_);
    append_counted(counted, counted_);
    double margin = 0;
    for (const LabelId label : labels) margin += counted[counts_->labels().position(label)];
    if (!labels.empty()) margin /= static_cast<double>(labels.size());
    texts_.push_back({labels, {begin, begin, begin, uses_.size()}, margin, fold});
}

void Refiner::hold_out(std::span<const TextFeature> features, const double* counted) {
    const std::uint64_t begin = held_out_uses_.size();
    add_uses(features, held_out_uses_);
    held_out_.push_back({texts_.back().fold, {begin, begin, begin, held_out_uses_.size()}});
    append_counted(counted, held_out_counted_);
}

// The layout

template <class Visit>
void Refiner::for_each_label(std::uint32_t feature, const Visit& visit) const {
    if (only_[feature] != TextFeature::kSeveral) return visit(only_[feature]);
    const auto [length, ngram] = ngrams_[feature];
    std::vector<LabelCount> room;  // stays empty: counts in memory are read in place
    for (const LabelCount entry : counts_->row(length, ngram, room)) visit(entry.label());
}

void Refiner::lay_out() {
    laid_out_ = true;
    indices_ = {};
    Table<std::uint32_t> used(ngrams_.size(), 0);
    for (const Use& use : uses_) ++used[use.feature];
    lay_out_rows(used);
    const std::size_t labels = counts_->labels().id_limit();
    squares_.assign(texts_.size() * labels, static_cast<float>(settings_.bias));
    unique_.assign(texts_.size() * labels, 0);
    SortRoom room;
    for (std::size_t text = 0; text < texts_.size(); ++text) {
        sort_uses(uses_, texts_[text].uses, room);
        add_squares(text);
    }
    for (HeldOut& text : held_out_) sort_uses(held_out_uses_, text.uses, room);
}

// Gives every n-gram of several texts a row of weights.
void Refiner::lay_out_rows(const Table<std::uint32_t>& used) {
    const std::size_t labels = counts_->labels().id_limit();
    places_.assign(ngrams_.size(), kUnique);
    Table<std::uint32_t> sparse;
    for (std::uint32_t feature = 0; feature < used.size(); ++feature) {
        if (used[feature] < 2) continue;
        std::size_t size = 0;
        for_each_label(feature, [&](LabelId) { ++size; });
        if (size * 2 <= labels) {
            sparse.push_back(feature);
            continue;
        }
        places_[feature] = dense_rows_++;
        dense_.resize(dense_rows_ * 2 * labels, 0);
        float* counted_under = dense_row(places_[feature]) + labels;
        for_each_label(feature, [&](LabelId label) { counted_under[label] = 1; });
    }
    for (const std::uint32_t feature : sparse) {
        const std::size_t begin = sparse_.size();
        if (begin >= kUnique - dense_rows_) throw std::length_error("too many n-grams to refine");
        places_[feature] = dense_rows_ + static_cast<std::uint32_t>(begin);
        sparse_.push_back({0, 0});
        for_each_label(feature, [&](LabelId label) { sparse_.push_back({label, 0}); });
        sparse_[begin].label = static_cast<LabelId>(sparse_.size() - begin - 1);
    }
}

// Sorts uses by their kind, and gives them the place of their row instead of the feature.
void Refiner::sort_uses(Table<Use>& all, Uses& uses, SortRoom& room) const {
    Use* to = all.data() + uses.begin;
    const std::span<const Use> own(to, all.data() + uses.end);
    room.sparse.clear();
    room.unique.clear();
    for (std::size_t at = 0; at < own.size(); ++at) {
        if (at + 2 * kAhead < own.size()) prefetch(&places_[own[at + 2 * kAhead].feature]);
        const Use use = own[at];
        const std::uint32_t place = places_[use.feature];
        if (place < dense_rows_) {
            *to++ = {place, use.x};  // never ahead of what is read
        } else if (place != kUnique) {
            room.sparse.push_back({place - dense_rows_, use.x});
        } else {
            room.unique.push_back(use);
        }
    }
    uses.sparse = static_cast<std::uint64_t>(to - all.data());
    to = std::copy(room.sparse.begin(), room.sparse.end(), to);
    uses.unique = static_cast<std::uint64_t>(to - all.data());
    std::copy(room.unique.begin(), room.unique.end(), to);
}

void Refiner::add_squares(std::size_t text) {
    const std::size_t labels = counts_->labels().id_limit();
    float* squares = squares_.data() + text * labels;
    float* unique = unique_.data() + text * labels;
    const Uses& own = texts_[text].uses;
    for (const Use& use : own.dense_of(uses_)) {
        const float* counted_under = dense_row(use.feature) + labels;
        for (std::size_t label = 0; label < labels; ++label) {
            squares[label] += use.x * use.x * counted_under[label];
        }
    }
    for (const Use& use : own.sparse_of(uses_)) {
        for (const Weighed& weighed : sparse_row(use.feature)) {
            squares[weighed.label] += use.x * use.x;
        }
    }
    for (const Use& use : own.unique_of(uses_)) {
        for_each_label(use.feature, [&](LabelId label) {
            squares[label] += use.x * use.x;
            unique[label] += use.x * use.x;
        });
    }
}

// The fit

void Refiner::begin(std::size_t left_out) {
    if (!laid_out_) lay_out();
    const std::size_t labels = counts_->labels().id_limit();
    left_out_ = left_out;
    order_.clear();
    margins_ = 0;
    inside_.assign(labels, 0);
    for (std::uint32_t text = 0; text < texts_.size(); ++text) {
        if (texts_[text].fold == left_out) continue;
        order_.push_back(text);
        margins_ += texts_[text].margin;
        for (const LabelId label : texts_[text].labels) ++inside_[label];
    }
    scale_ = static_cast<float>(fit().scale());
    random_ = settings_.seed;
    for (std::uint32_t row = 0; row < dense_rows_; ++row) std::fill_n(dense_row(row), labels, 0.f);
    for (Weighed& weighed : sparse_) weighed.weight = 0;
    duals_.assign(texts_.size() * labels, 0);
    biases_.assign(labels, 0);
    scores_.resize(labels);
    steps_.resize(labels);
    slack_inside_.assign(labels, 1 / (2 * settings_.cost));
    slack_outside_ = slack_inside_;
    if (!settings_.balanced) return;
    const double texts = static_cast<double>(order_.size());
    for (std::size_t label = 0; label < labels; ++label) {
        const double inside = static_cast<double>(inside_[label]);
        slack_inside_[label] *= 2 * inside / texts;
        slack_outside_[label] *= 2 * (texts - inside) / texts;
    }
}

void Refiner::run_pass() {
    shuffle(order_, random_);
    for (const std::uint32_t text : order_) correct(text);
}

// Adds Σ x · w to the scores.
void Refiner::add_weights(std::span<const Use> dense, std::span<const Use> sparse) {
    const std::size_t labels = scores_.size();
    float* scores = scores_.data();
    for (std::size_t at = 0; at < dense.size(); ++at) {
        if (at + kAhead < dense.size()) {
            prefetch_both_ends(dense_row(dense[at + kAhead].feature), labels);
        }
        const float x = dense[at].x;
        const float* row = dense_row(dense[at].feature);
        for (std::size_t label = 0; label < labels; ++label) scores[label] += x * row[label];
    }
    for (std::size_t at = 0; at < sparse.size(); ++at) {
        if (at + kAhead < sparse.size()) prefetch(&sparse_[sparse[at + kAhead].feature]);
        const float x = sparse[at].x;
        for (const Weighed& weighed : sparse_row(sparse[at].feature)) {
            scores[weighed.label] += x * weighed.weight;
        }
    }
}

// Adds step · x to the weights.
void Refiner::add_steps(std::span<const Use> dense, std::span<const Use> sparse) {
    const std::size_t labels = steps_.size();
    const float* steps = steps_.data();
    for (const Use& use : dense) {
        float* row = dense_row(use.feature);
        const float* counted_under = row + labels;
        for (std::size_t label = 0; label < labels; ++label) {
            row[label] += use.x * steps[label] * counted_under[label];
        }
    }
    for (const Use& use : sparse) {
        for (Weighed& weighed : sparse_row(use.feature)) {
            weighed.weight += use.x * steps[weighed.label];
        }
    }
}

void Refiner::correct(std::size_t text) {
    const Text& own = texts_[text];
    if (own.uses.begin == own.uses.end) return;
    const std::size_t labels = scores_.size();
    const float* counted = counted_.data() + text * labels;
    const float* unique = unique_.data() + text * labels;
    float* duals = duals_.data() + text * labels;
    for (std::size_t label = 0; label < labels; ++label) {
        scores_[label] = static_cast<float>(biases_[label]) + scale_ * counted[label] +
                         duals[label] * unique[label];
    }
    add_weights(own.uses.dense_of(uses_), own.uses.sparse_of(uses_));
    bool changed = false;
    const LabelTable& known = counts_->labels();
    std::fill(steps_.begin(), steps_.end(), 0.f);
    for (LabelPosition position = 0; position < known.size(); ++position) {
        const LabelId label = known.id_at(position);
        const bool inside = has(own.labels, label);
        const double sign = inside ? 1 : -1;
        const double dual = sign * static_cast<double>(duals[label]);
        const double stepped = dual_step(dual, sign * static_cast<double>(scores_[label]),
                                         static_cast<double>(squares_[text * labels + label]),
                                         (inside ? slack_inside_ : slack_outside_)[label]);
        const auto after = static_cast<float>(sign * stepped);
        steps_[label] = after - duals[label];
        duals[label] = after;
        biases_[label] += static_cast<double>(steps_[label]) * settings_.bias;
        changed |= steps_[label] != 0;
    }
    if (changed) add_steps(own.uses.dense_of(uses_), own.uses.sparse_of(uses_));
}

std::vector<double> Refiner::held_out_scores() {
    const LabelTable& known = counts_->labels();
    const std::size_t labels = scores_.size();
    std::vector<double> found;
    for (std::size_t text = 0; text < held_out_.size(); ++text) {
        if (held_out_[text].fold != left_out_) continue;
        const float* counted = held_out_counted_.data() + text * labels;
        for (std::size_t label = 0; label < labels; ++label) {
            scores_[label] = static_cast<float>(biases_[label]) + scale_ * counted[label];
        }
        const Uses& own = held_out_[text].uses;
        add_weights(own.dense_of(held_out_uses_), own.sparse_of(held_out_uses_));
        for (LabelPosition position = 0; position < known.size(); ++position) {
            found.push_back(static_cast<double>(scores_[known.id_at(position)]));
        }
    }
    return found;
}

Fit Refiner::fit() const {
    Fit fit;
    fit.decay = settings_.decay;
    fit.strength = settings_.strength;
    fit.cost = settings_.cost;
    fit.bias = settings_.bias;
    fit.margins = margins_;
    fit.texts = order_.size();
    fit.documents = documents_of(*counts_);
    return fit;
}

std::vector<double> Refiner::leanings() const {
    const LabelTable& known = counts_->labels();
    std::vector<Count> texts;
    for (LabelPosition position = 0; position < known.size(); ++position) {
        texts.push_back(inside_[known.id_at(position)]);
    }
    return leanings_of(texts);
}

std::shared_ptr<Corrections> Refiner::finish(double lean) const {
    auto found = std::make_shared<Corrections>(*counts_);
    found->fit = fit();
    const LabelTable& known = counts_->labels();
    const std::vector<double> leaning = leanings();
    for (LabelPosition position = 0; position < known.size(); ++position) {
        const LabelId label = known.id_at(position);
        found->set_bias(label, biases_[label] - lean * leaning[position]);
    }
    std::vector<LabelCount> row;
    const auto add = [&row](LabelId label, float weight) {
        if (weight != 0) row.push_back(Corrections::entry_of(label, weight));
    };
    const auto fill = [&](std::uint32_t feature) {
        const auto [length, ngram] = ngrams_[feature];
        found->fill(length, ngram, row);
        row.clear();
    };
    const std::size_t labels = known.id_limit();
    for (std::uint32_t feature = 0; feature < places_.size(); ++feature) {
        const std::uint32_t place = places_[feature];
        if (place == kUnique) continue;
        if (place < dense_rows_) {
            const float* weights = dense_row(place);
            for (LabelId label = 0; label < labels; ++label) add(label, weights[label]);
        } else {
            for (const Weighed& own : sparse_row(place - dense_rows_)) add(own.label, own.weight);
        }
        fill(feature);
    }
    for (std::size_t text = 0; text < texts_.size(); ++text) {
        const float* duals = duals_.data() + text * labels;
        for (const Use& use : texts_[text].uses.unique_of(uses_)) {
            for_each_label(use.feature, [&](LabelId label) { add(label, duals[label] * use.x); });
            fill(use.feature);
        }
    }
    return found;
}

}  // namespace watchword
