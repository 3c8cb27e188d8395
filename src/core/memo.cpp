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
    valuer_.prepare(counts.scale(), parameters);
    hashed_words_ = counts.mapped() != nullptr;
    const std::size_t chunks = counts.words().id_limit() / kChunk + 1;
    if (words_.size() < chunks) words_.resize(chunks, kEmptyChunk.data());
    own_words_.resize(words_.size());
    // What the words of an n-gram are worth matters here, so that nothing can be shared.
    const bool sharing = parameters.confidence_function != ConfidenceFunction::NormGvXai;
    labels_limit_ = labels.id_limit();
    const bool few = labels_limit_ <= kSharedLabels;
    shared_.resize(sharing && few ? counts.max_ngram() * labels_limit_ * kSharedCounts : 0);
}

void Memo::make_room(std::size_t entries) {
    if (used_ >= kMaxEntries || known_.size() >= kMaxValues) forget();
    const std::size_t needed = std::bit_ceil((used_ + entries) * 2);
    // In large steps: moving all entries costs more than room for some more.
    if (longer_.size() < needed) grow(std::max(needed, std::min(needed * 4, kMaxEntries * 2)));
}

void Memo::forget() {
    used_ = 0;
    known_.clear(labels_);
    if (++stamp_ == 0) {
        for (const auto& chunk : own_words_) {
            if (chunk != nullptr) std::fill_n(chunk.get(), kChunk, Stamped{});
        }
        std::fill(shared_.begin(), shared_.end(), Stamped{});
        std::fill(longer_.begin(), longer_.end(), Stamped{});
        stamp_ = 1;
    }
}

void Memo::grow(std::size_t slots) {
    Table<Stamped> old(slots);
    std::swap(old, longer_);
    for (const Stamped& entry : old) {
        if (entry.stamp == stamp_) find_longer(longer_[slot_of(entry.ngram)], entry.ngram) = entry;
    }
}

const std::array<Memo::Stamped, Memo::kChunk> Memo::kEmptyChunk{};

const Memo::Entry& Memo::remember_word(WordId word) {
    std::unique_ptr<Stamped[]>& chunk = own_words_[word / kChunk];
    if (chunk == nullptr) {
        chunk = std::make_unique<Stamped[]>(kChunk);
        words_[word / kChunk] = chunk.get();
    }
    Stamped& place = chunk[word % kChunk];
    place = {word_entry(word), stamp_, word};
    return place.entry;
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
    double total = 0;
    for (const Count count : row.count) total += static_cast<double>(count);
    return known_.add(row.position, confidences(length, ngram, row), total);
}

void Memo::fill_row(unsigned length, NgramId ngram, ValueRow& row) {
    fill_counts(length, ngram, row);
    valuer_.value(length, row);
}

void Memo::fill_counts(unsigned length, NgramId ngram, ValueRow& row) {
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
}

// gv = lv·sg·sn, weighted, never exceeds lv, weighted. The normalised confidences have no bound as
// cheap as that.
Memo::Entry Memo::bound(unsigned length, NgramId ngram) {
    if (parameters_.confidence_function != ConfidenceFunction::Gv) return compute(length, ngram);
    Entry entry{0, 0, kBound};
    for (const LabelCount count : counts_->row(length, ngram, room_)) {
        const LabelPosition position = counts_->labels().position(count.label());
        entry.best = std::max(entry.best, valuer_.bound_of(length, position, count.count()));
    }
    return entry;
}

const ValueRow& Memo::values(unsigned length, NgramId ngram) {
    fill_row(length, ngram, row_);
    return row_;
}

const ValueRow& Memo::values_without(unsigned length, NgramId ngram,
                                     std::span<const LabelId> labels, Count times) {
    fill_counts(length, ngram, row_);
    for (const LabelId label : labels) {
        const auto* const end = row_.position.end();
        const auto* const own = std::find(row_.position.begin(), row_.position.end(),
                                          counts_->labels().position(label));
        if (own == end) continue;
        Count& count = row_.count[static_cast<std::size_t>(own - row_.position.begin())];
        count -= std::min(count, counts_->counting() == Counting::Documents ? Count{1} : times);
    }
    std::size_t left = 0;
    for (std::size_t at = 0; at < row_.size(); ++at) {
        row_.position[left] = row_.position[at];
        row_.count[left] = row_.count[at];
        left += row_.count[at] > 0;
    }
    row_.resize(left);
    valuer_.value(length, row_);
    return row_;
}

std::span<const double> Memo::confidences(unsigned length, NgramId ngram, const ValueRow& values) {
    const ConfidenceFunction function = parameters_.confidence_function;
    if (function == ConfidenceFunction::Gv) return values.gv;
    evidence_.reset(labels_);
    if (function == ConfidenceFunction::NormGvXai && length > 1) {
        for (const WordId word : counts_->words_of(length, ngram)) {
            fill_row(1, word, word_row_);
            evidence_.add(word_row_.position, word_row_.gv);
        }
    }
    confidences_of(values, length, *largest_, evidence_, function, computed_);
    return computed_;
}

}  // namespace watchword
