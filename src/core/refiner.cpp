#include "refiner.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

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

// Calls visit(columns), with a constant if it is small, so that a row stays in registers.
template <class Visit>
void with_columns(std::size_t columns, const Visit& visit) {
    switch (columns) {
        case 4: return visit(std::integral_constant<std::size_t, 4>());
        case 8: return visit(std::integral_constant<std::size_t, 8>());
        case 12: return visit(std::integral_constant<std::size_t, 12>());
        case 16: return visit(std::integral_constant<std::size_t, 16>());
        case 20: return visit(std::integral_constant<std::size_t, 20>());
        case 24: return visit(std::integral_constant<std::size_t, 24>());
        default: return visit(columns);
    }
}

// A row, copied where it is small: nothing else can change it, so that it stays in registers.
template <class Columns>
class Room {
   public:
    explicit Room(std::span<const float> row) { std::copy(row.begin(), row.end(), row_.begin()); }
    float& operator[](std::size_t column) { return row_[column]; }
    float operator[](std::size_t column) const { return row_[column]; }
    void write(std::span<float> row) const { std::copy(row_.begin(), row_.end(), row.begin()); }

   private:
    std::array<float, Columns::value> row_;
};

template <>
class Room<std::size_t> {
   public:
    explicit Room(std::span<const float> row) : row_(row.begin(), row.end()) {}
    float& operator[](std::size_t column) { return row_[column]; }
    float operator[](std::size_t column) const { return row_[column]; }
    void write(std::span<float> row) const { std::copy(row_.begin(), row_.end(), row.begin()); }

   private:
    std::vector<float> row_;
};

}  // namespace

// Texts

void Refiner::add_uses(std::span<const TextFeature> features, Table<Use>& uses) {
    if (indices_.empty()) {
        for (std::size_t shard = 0; shard < Counts::kShards; ++shard) {
            indices_.emplace_back(counts_->shard(shard).size());
        }
        indices_.emplace_back(counts_->words().id_limit());
        ngrams_.reserve(counts_->size());
        only_.reserve(counts_->size());
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
    constexpr std::size_t kFew = table_size(128, 3);  // texts, by which others cannot be judged
    const std::size_t size = uses_.size() + uses;
    if (size <= uses_.capacity()) return;
    if (texts_.size() < kFew) return uses_.reserve(size * 2);
    const std::size_t all = size / texts_.size() * expected_texts_;
    uses_.reserve(std::max(all + all / 2, size * 2));
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
    texts_.push_back({labels, {begin, begin, begin, begin, uses_.size()}, margin, fold});
}

void Refiner::hold_out(std::span<const TextFeature> features, const double* counted) {
    const std::uint64_t begin = held_out_uses_.size();
    add_uses(features, held_out_uses_);
    held_out_.push_back({texts_.back().fold, {begin, begin, begin, begin, held_out_uses_.size()}});
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
    Table<std::uint32_t> sizes(ngrams_.size(), 0);
    for (const Use& use : uses_) ++sizes[use.feature];
    lay_out_rows(sizes);
    squares_.assign(texts_.size() * labels_, static_cast<float>(settings_.bias));
    unique_.assign(texts_.size() * labels_, 0);
    scores_.assign(columns_, 0);
    steps_.assign(columns_, 0);
    SortRoom room;
    for (std::size_t text = 0; text < texts_.size(); ++text) {
        sort_uses(uses_, texts_[text].uses, room);
        add_squares(text);
    }
    for (HeldOut& text : held_out_) sort_uses(held_out_uses_, text.uses, room);
}

// Gives every n-gram of several texts a row of weights: those of a kind together.
void Refiner::lay_out_rows(Table<std::uint32_t>& sizes) {
    constexpr std::size_t kLong = kSparse + kSmall + 1;
    const auto kind_of_size = [this](std::size_t size) {
        if (size * 2 > labels_) return size == labels_ ? kFull : kPartial;
        return size <= kSmall ? kSparse + size : kLong;
    };
    std::array<std::size_t, kLong + 1> rooms{};
    for (std::uint32_t feature = 0; feature < sizes.size(); ++feature) {
        const bool shared = sizes[feature] > 1;
        sizes[feature] = 0;
        if (!shared) continue;
        for_each_label(feature, [&](LabelId) { ++sizes[feature]; });
        const std::size_t kind = kind_of_size(sizes[feature]);
        rooms[kind] += kind <= kPartial ? 1 : sizes[feature] + (kind == kLong);
    }
    std::size_t end = 0;
    std::array<std::uint32_t, kLong + 1> next;
    for (std::size_t kind = 0; kind <= kLong; ++kind) {
        next[kind] = static_cast<std::uint32_t>(end);
        end += rooms[kind];
        if (end >= kUnique) throw std::length_error("too many n-grams to refine");
        kind_ends_[kind] = static_cast<std::uint32_t>(end);
    }
    full_rows_ = kind_ends_[kFull];
    dense_rows_ = kind_ends_[kPartial];
    dense_.resize(dense_rows_ * columns_, 0);
    counted_under_.resize((dense_rows_ - full_rows_) * columns_, 0);
    sparse_.resize(end - dense_rows_);
    places_.assign(sizes.size(), kUnique);
    for (std::uint32_t feature = 0; feature < sizes.size(); ++feature) {
        if (sizes[feature] == 0) continue;
        const std::size_t kind = kind_of_size(sizes[feature]);
        const std::uint32_t place = next[kind];
        places_[feature] = place;
        next[kind] += kind <= kPartial ? 1 : sizes[feature] + (kind == kLong);
        if (kind == kPartial) {
            for_each_label(feature, [&](LabelId label) { counted_under(place)[label] = 1; });
        } else if (kind > kPartial) {
            Weighed* to = sparse_.data() + (place - dense_rows_);
            if (kind == kLong) *to++ = {sizes[feature], 0};
            for_each_label(feature, [&](LabelId label) { *to++ = {label, 0}; });
        }
    }
}

std::span<const Refiner::Weighed> Refiner::sparse_row(std::uint32_t place) const {
    const std::size_t size = kind_of(place) - kSparse;
    const Weighed* const row = &sparse_[place - dense_rows_];
    if (size > kSmall) return {row + 1, row->label};
    return {row, size};
}

std::size_t Refiner::kind_of(std::uint32_t place) const {
    std::size_t kind = 0;  // counted without a branch
    for (const std::uint32_t end : kind_ends_) kind += place >= end;
    return kind;
}

// Sorts uses by their kind, and gives them the place of their row instead of the feature.
void Refiner::sort_uses(Table<Use>& all, Uses& uses, SortRoom& room) const {
    const std::span<Use> own(all.data() + uses.begin, all.data() + uses.end);
    room.uses.assign(own.begin(), own.end());
    room.kinds.resize(own.size());
    room.ends.assign(kind_ends_.size() + 2, 0);
    for (std::size_t at = 0; at < own.size(); ++at) {
        if (at + 2 * kAhead < own.size()) prefetch(&places_[own[at + 2 * kAhead].feature]);
        const std::uint32_t place = places_[own[at].feature];
        room.kinds[at] = kind_of(place);
        if (place != kUnique) room.uses[at].feature = place;
        ++room.ends[room.kinds[at] + 1];
    }
    for (std::size_t kind = 1; kind < room.ends.size(); ++kind) {
        room.ends[kind] += room.ends[kind - 1];
    }
    uses.partial = uses.begin + room.ends[kPartial];
    uses.sparse = uses.begin + room.ends[kSparse + 1];
    uses.unique = uses.begin + room.ends[kind_ends_.size()];
    for (std::size_t at = 0; at < own.size(); ++at) {
        own[room.ends[room.kinds[at]]++] = room.uses[at];
    }
}

template <class Visit>
void Refiner::for_each_sparse(std::span<const Use> uses, const Visit& visit) {
    std::size_t at = 0;
    const auto visit_kind = [&](std::size_t kind, auto size) {
        for (; at < uses.size() && uses[at].feature < kind_ends_[kind]; ++at) {
            if (at + kAhead < uses.size()) {
                prefetch(&sparse_[uses[at + kAhead].feature - dense_rows_]);
            }
            Weighed* const row = &sparse_[uses[at].feature - dense_rows_];
            for (std::size_t entry = 0; entry < size; ++entry) visit(uses[at].x, row[entry]);
        }
    };
    visit_kind(kSparse + 1, std::integral_constant<std::size_t, 1>());
    visit_kind(kSparse + 2, std::integral_constant<std::size_t, 2>());
    visit_kind(kSparse + 3, std::integral_constant<std::size_t, 3>());
    for (std::size_t size = 4; size <= kSmall; ++size) visit_kind(kSparse + size, size);
    for (; at < uses.size(); ++at) {
        Weighed* const row = &sparse_[uses[at].feature - dense_rows_];
        for (LabelId entry = 1; entry <= row->label; ++entry) visit(uses[at].x, row[entry]);
    }
}

void Refiner::add_squares(std::size_t text) {
    float* squares = squares_.data() + text * labels_;
    float* unique = unique_.data() + text * labels_;
    const Uses& own = texts_[text].uses;
    float of_full = 0;
    for (const Use& use : own.full_of(uses_)) of_full += use.x * use.x;
    for (std::size_t label = 0; label < labels_; ++label) squares[label] += of_full;
    for (const Use& use : own.partial_of(uses_)) {
        const float* counted = counted_under(use.feature);
        for (std::size_t label = 0; label < labels_; ++label) {
            squares[label] += use.x * use.x * counted[label];
        }
    }
    for_each_sparse(own.sparse_of(uses_),
                    [&](float x, const Weighed& weighed) { squares[weighed.label] += x * x; });
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
    std::fill(dense_.begin(), dense_.end(), 0.f);
    for (Weighed& weighed : sparse_) weighed.weight = 0;
    duals_.assign(texts_.size() * labels, 0);
    biases_.assign(labels, 0);
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
    with_columns(columns_, [this](auto columns) {
        for (std::size_t at = 0; at < order_.size(); ++at) {
            if (at + 1 < order_.size()) prefetch_text(order_[at + 1]);
            correct(columns, order_[at]);
        }
    });
}

void Refiner::prefetch_text(std::size_t text) const {
    for (const auto* values : {&counted_, &unique_, &squares_, &duals_}) {
        prefetch_both_ends(values->data() + text * labels_, labels_);
    }
    const Uses& uses = texts_[text].uses;
    prefetch(uses_.data() + uses.begin);
    prefetch(uses_.data() + uses.sparse);
}

// Adds Σ x · w to the scores.
template <class Columns>
void Refiner::add_weights(Columns columns, const Uses& uses, const Table<Use>& all) {
    Room<Columns> sums(scores_);
    const auto dense = uses.dense_of(all);
    for (std::size_t at = 0; at < dense.size(); ++at) {
        if (at + kAhead < dense.size()) {
            prefetch_both_ends(dense_row(dense[at + kAhead].feature), columns);
        }
        const float x = dense[at].x;
        const float* row = dense_row(dense[at].feature);
        for (std::size_t column = 0; column < columns; ++column) sums[column] += x * row[column];
    }
    sums.write(scores_);
    for_each_sparse(uses.sparse_of(all), [this](float x, const Weighed& weighed) {
        scores_[weighed.label] += x * weighed.weight;
    });
}

// Adds step · x to the weights.
template <class Columns>
void Refiner::add_steps(Columns columns, const Uses& uses) {
    const Room<Columns> steps(steps_);
    for (const Use& use : uses.full_of(uses_)) {
        float* row = dense_row(use.feature);
        for (std::size_t column = 0; column < columns; ++column) {
            row[column] += use.x * steps[column];
        }
    }
    for (const Use& use : uses.partial_of(uses_)) {
        float* row = dense_row(use.feature);
        const float* counted = counted_under(use.feature);
        for (std::size_t column = 0; column < columns; ++column) {
            row[column] += use.x * steps[column] * counted[column];
        }
    }
    for_each_sparse(uses.sparse_of(uses_), [this](float x, Weighed& weighed) {
        weighed.weight += x * steps_[weighed.label];
    });
}

template <class Columns>
void Refiner::correct(Columns columns, std::size_t text) {
    const Text& own = texts_[text];
    if (own.uses.begin == own.uses.end) return;
    const float* counted = counted_.data() + text * labels_;
    const float* unique = unique_.data() + text * labels_;
    float* duals = duals_.data() + text * labels_;
    for (std::size_t label = 0; label < labels_; ++label) {
        scores_[label] = static_cast<float>(biases_[label]) + scale_ * counted[label] +
                         duals[label] * unique[label];
    }
    add_weights(columns, own.uses, uses_);
    bool changed = false;
    const LabelTable& known = counts_->labels();
    std::fill(steps_.begin(), steps_.end(), 0.f);
    for (LabelPosition position = 0; position < known.size(); ++position) {
        const LabelId label = known.id_at(position);
        const bool inside = has(own.labels, label);
        const double sign = inside ? 1 : -1;
        const double dual = sign * static_cast<double>(duals[label]);
        const double stepped = dual_step(dual, sign * static_cast<double>(scores_[label]),
                                         static_cast<double>(squares_[text * labels_ + label]),
                                         (inside ? slack_inside_ : slack_outside_)[label]);
        const auto after = static_cast<float>(sign * stepped);
        steps_[label] = after - duals[label];
        duals[label] = after;
        biases_[label] += static_cast<double>(steps_[label]) * settings_.bias;
        changed |= steps_[label] != 0;
    }
    if (changed) add_steps(columns, own.uses);
}

std::vector<double> Refiner::held_out_scores() {
    const LabelTable& known = counts_->labels();
    std::vector<double> found;
    for (std::size_t text = 0; text < held_out_.size(); ++text) {
        if (held_out_[text].fold != left_out_) continue;
        const float* counted = held_out_counted_.data() + text * labels_;
        for (std::size_t label = 0; label < labels_; ++label) {
            scores_[label] = static_cast<float>(biases_[label]) + scale_ * counted[label];
        }
        const Uses& own = held_out_[text].uses;
        add_weights(columns_, own, held_out_uses_);
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
    texts.reserve(known.size());
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
            for (const Weighed& own : sparse_row(place)) add(own.label, own.weight);
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
