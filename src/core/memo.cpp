#include "memo.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace watchword {

void Memo::prepare(const Counts& counts, const ValueParameters& parameters,
                   std::shared_ptr<const LargestValues> largest, std::uint64_t state) {
    if (state_ == state) return;
    state_ = state;
    counts_ = &counts;
    parameters_ = parameters;
    largest_ = std::move(largest);
    const LabelTable& labels = counts.labels();
    labels_ = labels.size();
    counts_by_position_.assign(labels_, 0);
    forget();
    maxima_.resize(counts.max_ngram());
    priors_.resize(counts.max_ngram());
    for (unsigned length = 1; length <= counts.max_ngram(); ++length) {
        const unsigned scaled = parameters.ngram_scale == NgramScale::Words ? 1 : length;
        double sum = 0;
        std::vector<Count>& column = maxima_[length - 1];
        column.resize(labels_);
        for (LabelPosition position = 0; position < labels_; ++position) {
            column[position] = counts.maximum(scaled, labels.id_at(position));
            sum += static_cast<double>(column[position]);
        }
        priors_[length - 1] = {};
        if (parameters.prior > 0 && sum > 0) {
            const double share = parameters.prior / sum;
            priors_[length - 1] = {share, compared_value(0, 1, share, parameters)};
        }
    }
    hashed_words_ = counts.mapped() != nullptr;
    // Never empty, so that a place can be named before it is known whether there is a word.
    words_.resize(std::max<std::size_t>({1, words_.size(), counts.words().id_limit()}));
    const std::size_t tabled = labels_ <= kTabledLabels ? labels_ * kTabledCounts : 0;
    local_values_.assign(counts.max_ngram() * tabled, -1);
    compared_values_.assign(parameters.prior > 0 ? counts.max_ngram() * tabled : 0, -1);
    // What the words of an n-gram are worth matters here, so that nothing can be shared.
    const bool sharing = parameters.confidence_function != ConfidenceFunction::NormGvXai;
    labels_limit_ = labels.id_limit();
    const bool few = labels_limit_ <= kSharedLabels;
    shared_.resize(sharing && few ? counts.max_ngram() * labels_limit_ * kSharedCounts : 0);
}

void Memo::make_room(std::size_t entries) {
    if (used_ >= kMaxEntries || values_.size() >= kMaxValues) forget();
    const std::size_t needed = std::bit_ceil((used_ + entries) * 2);
    if (longer_.size() < needed) grow(needed);
}

void Memo::forget() {
    used_ = 0;
    values_.clear();
    positions_.clear();
    if (++stamp_ == 0) {
        for (std::vector<Stamped>* all : {&words_, &shared_, &longer_}) {
            std::fill(all->begin(), all->end(), Stamped{});
        }
        stamp_ = 1;
    }
}

void Memo::grow(std::size_t slots) {
    std::vector<Stamped> old(slots);
    std::swap(old, longer_);
    for (const Stamped& entry : old) {
        if (entry.stamp == stamp_) find_longer(longer_[slot_of(entry.ngram)], entry.ngram) = entry;
    }
}

const Memo::Entry& Memo::get_hashed_word(WordId word) {
    Stamped& found = find_longer(longer_[slot_of(word)], word);
    if (found.stamp != stamp_) {
        found = {word_entry(word), stamp_, word};
        ++used_;
    }
    return found.entry;
}

Memo::Entry Memo::word_entry(WordId word) {
    Stamped* shared = shared_place(1, counts_->word_cell(word));
    if (shared == nullptr) return compute(1, word);
    if (shared->stamp != stamp_) *shared = {compute(1, word), stamp_, word};
    return shared->entry;
}

Memo::Entry Memo::compute(unsigned length, NgramId ngram) {
    const ValueRow& row = values(length, ngram);
    const std::vector<double>& cv = confidences(length, ngram, row);
    Entry entry{0, static_cast<std::uint32_t>(values_.size()),
                static_cast<std::uint32_t>(row.size())};
    for (const double value : cv) entry.best = std::max(entry.best, value);
    if (row.size() * 2 > labels_) {
        entry.size = kDense;
        values_.resize(values_.size() + labels_, 0);
        double* dense = values_.data() + entry.begin;
        for (std::size_t at = 0; at < row.size(); ++at) dense[row.position[at]] = cv[at];
    } else {
        positions_.resize(values_.size());
        values_.insert(values_.end(), cv.begin(), cv.end());
        positions_.insert(positions_.end(), row.position.begin(), row.position.end());
    }
    return entry;
}

void Memo::fill_row(unsigned length, NgramId ngram, ValueRow& row) {
    const LabelTable& labels = counts_->labels();
    const std::span<const LabelCount> counts = counts_->row(length, ngram, room_);
    const std::size_t size = counts.size();
    row.resize(size);
    if (size * 2 > labels_) {
        // Cheaper than sorting: put every count into its place and collect them in order.
        for (const LabelCount entry : counts) {
            counts_by_position_[labels.position(entry.label())] = entry.count();
        }
        std::size_t filled = 0;
        for (LabelPosition position = 0; filled < size; ++position) {
            row.position[filled] = position;
            row.count[filled] = std::exchange(counts_by_position_[position], 0);
            filled += row.count[filled] > 0;
        }
    } else {
        // Few labels: insert each where it belongs.
        for (std::size_t added = 0; added < size; ++added) {
            const LabelPosition position = labels.position(counts[added].label());
            std::size_t at = added;
            for (; at > 0 && row.position[at - 1] > position; --at) {
                row.position[at] = row.position[at - 1];
                row.count[at] = row.count[at - 1];
            }
            row.position[at] = position;
            row.count[at] = counts[added].count();
        }
    }
    for (std::size_t at = 0; at < size; ++at) {
        row.lv[at] = local_value_of(length, row.position[at], row.count[at]);
    }
    if (parameters_.prior > 0) {
        for (std::size_t at = 0; at < size; ++at) {
            row.compared[at] = compared_value_of(length, row.position[at], row.count[at]);
        }
    }
    evaluate(row, labels_, priors_[length - 1].absent, parameters_);
}

// gv = lv·sg·sn never exceeds lv. The normalised confidences have no bound as cheap as that.
Memo::Entry Memo::bound(unsigned length, NgramId ngram) {
    if (parameters_.confidence_function != ConfidenceFunction::Gv) return compute(length, ngram);
    Entry entry{0, 0, kBound};
    for (const LabelCount count : counts_->row(length, ngram, room_)) {
        const LabelPosition position = counts_->labels().position(count.label());
        entry.best = std::max(entry.best, local_value_of(length, position, count.count()));
    }
    return entry;
}

double Memo::local_value_of(unsigned length, LabelPosition position, Count count) {
    const Count maximum = maxima_[length - 1][position];
    if (count >= kTabledCounts || local_values_.empty()) {
        return local_value(count, maximum, parameters_);
    }
    double& known = local_values_[((length - 1) * labels_ + position) * kTabledCounts + count];
    if (known < 0) known = local_value(count, maximum, parameters_);
    return known;
}

double Memo::compared_value_of(unsigned length, LabelPosition position, Count count) {
    const Count maximum = maxima_[length - 1][position];
    const double share = priors_[length - 1].share;
    if (count >= kTabledCounts || compared_values_.empty()) {
        return compared_value(count, maximum, share, parameters_);
    }
    double& known = compared_values_[((length - 1) * labels_ + position) * kTabledCounts + count];
    if (known < 0) known = compared_value(count, maximum, share, parameters_);
    return known;
}

const ValueRow& Memo::values(unsigned length, NgramId ngram) {
    fill_row(length, ngram, row_);
    return row_;
}

const std::vector<double>& Memo::confidences(unsigned length, NgramId ngram,
                                             const ValueRow& values) {
    const ConfidenceFunction function = parameters_.confidence_function;
    if (function == ConfidenceFunction::Gv) return values.gv;
    double total = 0;
    std::vector<unsigned> speaking;  // by position: how many of the words speak for the label
    if (function == ConfidenceFunction::NormGvXai && length > 1) {
        speaking.resize(labels_);
        for (const WordId word : counts_->words_of(length, ngram)) {
            fill_row(1, word, word_row_);
            for (std::size_t at = 0; at < word_row_.size(); ++at) {
                total += word_row_.gv[at];
                speaking[word_row_.position[at]] += speaks_for_it(word_row_.gv[at]);
            }
        }
    }
    computed_.resize(values.size());
    for (std::size_t at = 0; at < values.size(); ++at) {
        const LabelPosition position = values.position[at];
        const double max_gv = largest_ ? (*largest_)[length - 1][position] : 0;
        const bool all = !speaking.empty() && speaking[position] == length;
        computed_[at] = confidence(values.gv[at], max_gv, length, {total, all}, function);
    }
    return computed_;
}

}  // namespace watchword
