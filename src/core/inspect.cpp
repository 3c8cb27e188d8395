// The part of Model that returns the values of n-grams.
#include <algorithm>
#include <cmath>
#include <shared_mutex>
#include <stdexcept>
#include <utility>

#include "lease.h"
#include "model.h"

namespace watchword {
namespace {

// The n-grams of highest value among those offered; ties by spelling.
class Best {
   public:
    explicit Best(std::size_t most) : most_(most) {}

    // Spelling an n-gram costs more than comparing it, so `spell` is called only if it matters.
    template <class Spell>
    void offer(double value, Count count, const Spell& spell) {
        if (most_ == 0) return;
        const bool full = heap_.size() == most_;
        if (full && value < heap_.front().value) return;
        RankedNgram ranked{spell(), value, count};
        if (full) {
            if (!better(ranked, heap_.front())) return;
            std::pop_heap(heap_.begin(), heap_.end(), better);
            heap_.pop_back();
        }
        heap_.push_back(std::move(ranked));
        std::push_heap(heap_.begin(), heap_.end(), better);
    }

    std::vector<RankedNgram> take() {
        std::sort(heap_.begin(), heap_.end(), better);
        return std::move(heap_);
    }

   private:
    static bool better(const RankedNgram& a, const RankedNgram& b) {
        return a.value != b.value ? a.value > b.value : a.words < b.words;
    }

    std::size_t most_;
    std::vector<RankedNgram> heap_;  // the worst of the best in front
};

// Counts positive values without knowing the largest beforehand: when one does not fit, bins are
// twice as wide from then on. Widths are powers of two, so that joining two bins is exact.
class GrowingBins {
   public:
    explicit GrowingBins(std::size_t cells) : bins_(cells * Survey::kBins) {}

    void add(std::size_t cell, double value) {
        if (!std::isfinite(value)) throw std::domain_error("the value of an n-gram is not finite");
        while (value > width_ * Survey::kBins) widen();
        const double at = std::ceil(value / width_);  // at least 1: the value is positive
        ++bins_[cell * Survey::kBins + static_cast<std::size_t>(at) - 1];
    }

    double width() const { return width_; }
    std::vector<std::uint64_t> take() { return std::move(bins_); }

   private:
    void widen() {
        width_ *= 2;
        for (std::size_t cell = 0; cell < bins_.size(); cell += Survey::kBins) {
            std::uint64_t* own = bins_.data() + cell;
            constexpr std::size_t kHalf = Survey::kBins / 2;
            for (std::size_t at = 0; at < kHalf; ++at) own[at] = own[2 * at] + own[2 * at + 1];
            std::fill(own + kHalf, own + Survey::kBins, 0);
        }
    }

    double width_ = 0x1p-24;  // finer differences do not matter
    std::vector<std::uint64_t> bins_;
};

}  // namespace

void Model::append_values(Memo& memo, unsigned length, NgramId ngram, ValueTable& table) const {
    const std::size_t columns = counts_->labels().size();
    const std::size_t row = table.count.size();
    for (std::vector<double>* column : {&table.lv, &table.sg, &table.sn, &table.gv, &table.cv}) {
        column->resize(row + columns, 0);
    }
    table.count.resize(row + columns, 0);
    ValueRow values;
    std::span<const double> confidences;
    if (ngram != Counts::kNone) {
        values = memo.values(length, ngram);
        confidences = memo.confidences(length, ngram, values);
    }
    const double elsewhere = sanction_elsewhere(values, columns, parameters_);
    std::fill(table.sn.begin() + static_cast<std::ptrdiff_t>(row), table.sn.end(), elsewhere);
    for (std::size_t at = 0; at < values.size(); ++at) {
        const std::size_t place = row + values.position[at];
        table.count[place] = values.count[at];
        table.lv[place] = values.lv[at];
        table.sg[place] = values.sg[at];
        table.sn[place] = values.sn[at];
        table.gv[place] = values.gv[at];
        table.cv[place] = confidences[at];
    }
}

NgramId Model::find(const std::vector<std::string>& words) const {
    if (words.size() > parameters_.max_ngram) return Counts::kNone;
    std::vector<WordId> ids;
    for (const std::string& word : words) {
        ids.push_back(counts_->find_word(word));
        if (ids.back() == kUnknownWord) return Counts::kNone;
    }
    return counts_->find(ids);
}

ValueTable Model::value(const std::vector<std::string>& words) const {
    const std::shared_lock guard(lock_);
    Lease lease(*this);
    Workspace& workspace = lease.prepared();
    ValueTable table;
    table.labels = counts_->labels().sorted_names();
    append_values(workspace.memo, static_cast<unsigned>(words.size()), find(words), table);
    return table;
}

std::vector<RankedNgram> Model::top_ngrams(const Label& label, std::size_t most,
                                           std::optional<unsigned> length) const {
    const std::shared_lock guard(lock_);
    const std::optional<LabelId> id = counts_->labels().find(label);
    if (!id || most == 0) return {};
    const LabelPosition position = counts_->labels().position(*id);
    Lease lease(*this);
    Best best(most);
    for_each_value(lease.prepared().memo, length,
                   [&](unsigned own_length, NgramId ngram, const ValueRow& values, Memo& memo) {
                       const auto own =
                           std::find(values.position.begin(), values.position.end(), position);
                       if (own == values.position.end()) return;
                       const auto at = static_cast<std::size_t>(own - values.position.begin());
                       const Count count = values.count[at];
                       const double cv = memo.confidences(own_length, ngram, values)[at];
                       if (cv <= parameters_.alpha) return;
                       best.offer(cv, count, [&] { return words_of(own_length, ngram); });
                   });
    return best.take();
}

Survey Model::survey(std::size_t most) const {
    const std::shared_lock guard(lock_);
    Survey survey;
    survey.labels = counts_->labels().sorted_names();
    survey.lengths = parameters_.max_ngram;
    const std::size_t cells = survey.labels.size() * survey.lengths;
    survey.worthless.resize(cells);
    std::vector<Best> best(cells, Best(most));
    GrowingBins bins(cells);
    Lease lease(*this);
    for_each_value(
        lease.prepared().memo, std::nullopt,
        [&](unsigned length, NgramId ngram, const ValueRow& values, Memo& memo) {
            const std::span<const double> cv = memo.confidences(length, ngram, values);
            for (std::size_t at = 0; at < values.size(); ++at) {
                const std::size_t cell = values.position[at] * survey.lengths + length - 1;
                if (cv[at] <= parameters_.alpha) {
                    ++survey.worthless[cell];
                    continue;
                }
                bins.add(cell, cv[at]);
                best[cell].offer(cv[at], values.count[at], [&] { return words_of(length, ngram); });
            }
        });
    for (Best& own : best) survey.best.push_back(own.take());
    survey.width = bins.width();
    survey.bins = bins.take();
    return survey;
}

std::string Model::words_of(unsigned length, NgramId ngram) const {
    std::string words;
    for (const WordId word : counts_->words_of(length, ngram)) {
        if (!words.empty()) words += ' ';
        words += counts_->word(word);
    }
    return words;
}

std::vector<Following> Model::next_words(const std::vector<std::string>& words,
                                         const std::optional<Label>& label) const {
    const std::shared_lock guard(lock_);
    const NgramId prefix = find(words);
    if (prefix == Counts::kNone || words.size() >= parameters_.max_ngram) return {};
    std::optional<LabelId> id;
    if (label) id = counts_->labels().find(*label);
    std::vector<Following> following;
    std::vector<LabelCount> room;
    const auto length = static_cast<unsigned>(words.size());
    counts_->for_each_extension(length, prefix, [&](WordId word, NgramId extension) {
        Count count = 0;
        for (const LabelCount entry : counts_->row(length + 1, extension, room)) {
            if (!id || entry.label() == *id) count += entry.count();
        }
        if (count > 0) following.push_back({std::string(counts_->word(word)), count});
    });
    std::sort(following.begin(), following.end(), [](const Following& a, const Following& b) {
        return a.count != b.count ? a.count > b.count : a.word < b.word;
    });
    return following;
}

std::vector<std::string> Model::stop_words(double threshold) const {
    const std::shared_lock guard(lock_);
    struct Candidate {
        std::string word;
        Count count;
    };
    std::vector<Candidate> candidates;
    Lease lease(*this);
    for_each_value(lease.prepared().memo, 1,
                   [&](unsigned, NgramId word, const ValueRow& values, Memo&) {
                       Count count = 0;
                       for (std::size_t at = 0; at < values.size(); ++at) {
                           if (values.sg[at] >= threshold) return;
                           count += values.count[at];
                       }
                       candidates.push_back({words_of(1, word), count});
                   });
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return a.count != b.count ? a.count > b.count : a.word < b.word;
    });
    std::vector<std::string> words;
    words.reserve(candidates.size());
    for (Candidate& candidate : candidates) words.push_back(std::move(candidate.word));
    return words;
}

bool Model::is_empty() const {
    const std::shared_lock guard(lock_);
    return counts_->labels().size() == 0;
}

bool Model::is_mapped() const {
    const std::shared_lock guard(lock_);
    return counts_->mapped() != nullptr;
}

bool Model::was_pruned() const {
    const std::shared_lock guard(lock_);
    return counts_->was_pruned();
}

std::uint64_t Model::state() const {
    const std::shared_lock guard(lock_);
    return state_;
}

std::vector<Label> Model::labels() const {
    const std::shared_lock guard(lock_);
    return counts_->labels().sorted_names();
}

Totals Model::totals() const {
    const std::shared_lock guard(lock_);
    const LabelTable& labels = counts_->labels();
    Totals totals{labels.sorted_names(), {}, counts_->pruned(), counts_->was_pruned()};
    for (LabelPosition position = 0; position < labels.size(); ++position) {
        totals.of_label.push_back(counts_->totals(labels.id_at(position)));
    }
    return totals;
}

std::optional<Label> Model::label_with_most_words() const {
    const std::shared_lock guard(lock_);
    const LabelTable& labels = counts_->labels();
    std::optional<LabelId> best;
    for (LabelPosition position = 0; position < labels.size(); ++position) {
        const LabelId id = labels.id_at(position);
        if (!best || counts_->totals(id).words > counts_->totals(*best).words) best = id;
    }
    if (!best) return std::nullopt;
    return labels.name(*best);
}

std::vector<std::uint64_t> Model::ngrams_by_length() const {
    const std::shared_lock guard(lock_);
    std::vector<std::uint64_t> ngrams(parameters_.max_ngram, 0);
    if (const MappedTree* mapped = counts_->mapped()) {
        for (unsigned length = 1; length <= ngrams.size(); ++length) {
            ngrams[length - 1] = mapped->ngrams(length);
        }
        return ngrams;
    }
    counts_->for_each([&](unsigned length, NgramId) {
        if (length <= parameters_.max_ngram) ++ngrams[length - 1];
    });
    return ngrams;
}

unsigned Model::longest_ngram() const {
    const std::shared_lock guard(lock_);
    const LabelTable& labels = counts_->labels();
    for (unsigned length = parameters_.max_ngram; length > 0; --length) {
        for (LabelPosition position = 0; position < labels.size(); ++position) {
            if (counts_->maximum(length, labels.id_at(position)) > 0) return length;
        }
    }
    return 0;
}

}  // namespace watchword
