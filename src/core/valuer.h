// Computes values with the equations of value.h. `Valuer`: lv, sg, sn and gv of n-grams from their
// counts, for one set of parameters; small counts are frequent, so their lv is cached; used by one
// thread at a time. `WordsEvidence` and `confidences_of`: cv from these. `ConfidenceStore`: the cv
// of many n-grams.
#pragma once

#include <vector>

#include "pages.h"
#include "value.h"

namespace watchword {

// Totals that values depend on besides the counts of the n-gram itself, by label position.
struct Scale {
    std::vector<std::vector<Count>> largest;  // by length - 1: the largest count of any n-gram
    std::vector<Count> words;
    std::vector<Count> documents;
};

class Valuer {
   public:
    void prepare(const Scale& scale, const ValueParameters& parameters);

    // Fills lv, sg, sn and gv of a row whose positions and counts are set.
    void value(unsigned length, ValueRow& row);
    double local_value_of(unsigned length, LabelPosition position, Count count);
    // What gv cannot exceed.
    double bound_of(unsigned length, LabelPosition position, Count count) {
        return local_value_of(length, position, count) * weights_[position];
    }

   private:
    static constexpr std::size_t kTabledCounts =
        table_size(64, 3);  // counts below this have their lv tabled
    static constexpr std::size_t kTabledLabels =
        table_size(64, 4);  // if there are no more labels than this

    struct Prior {
        double share = 0, absent = 0;  // see compared_value, and evaluate
    };

    double compared_value_of(unsigned length, LabelPosition position, Count count);
    void set_units(std::size_t at, std::vector<double> units);

    ValueParameters parameters_{};
    std::size_t labels_ = 0;
    std::vector<std::vector<double>> units_;  // by length - 1 and position
    std::vector<Prior> priors_;               // by length - 1
    std::vector<double> weights_;             // by position
    // lv, and what is compared instead of it with a prior, of small counts by length - 1, position
    // and count; negative: not computed yet. A text that is learnt changes few units, but the share
    // of the prior under all labels: lv is kept from one state of the counts to the next.
    std::vector<double> local_values_, compared_values_;
};

// The largest gv per length - 1 and label position, for the two normalised confidences.
using LargestValues = std::vector<std::vector<double>>;
void raise_largest(LargestValues& largest, unsigned length, const ValueRow& values);

// The values of the words of an n-gram, for NormGvXai.
class WordsEvidence {
   public:
    void reset(std::size_t labels);
    void add(std::span<const LabelPosition> positions, std::span<const double> gv);
    WordEvidence for_label(LabelPosition position) const {
        return {total_, words_ > 0 && speaking_[position] == words_};
    }

   private:
    double total_ = 0;
    unsigned words_ = 0;
    std::vector<unsigned> speaking_;  // by position: how many of the words speak for the label
};

// cv for each label of a row.
void confidences_of(const ValueRow& values, unsigned length, const LargestValues& largest,
                    const WordsEvidence& words, ConfidenceFunction function,
                    std::vector<double>& confidences);

// cv of an n-gram. Where most labels have one, there is a value for every label and `positions` is
// null; otherwise values[i] is that of the label at positions[i] and the others have 0.
struct ConfidenceRow {
    const double* values;
    const LabelPosition* positions;
    std::size_t size;

    LabelPosition position(std::size_t at) const {
        return positions == nullptr ? static_cast<LabelPosition>(at) : positions[at];
    }
};

// The cv of many n-grams, one behind the other.
class ConfidenceStore {
   public:
    struct Entry {
        double best = 0;          // the highest cv in any label
        std::uint32_t begin = 0;  // where its confidences are
        std::uint32_t size = 0;   // and how many, or kDense, or what the owner means by kBound
    };
    static constexpr std::uint32_t kDense = ~0u;
    static constexpr std::uint32_t kBound = ~0u - 1;

    void clear(std::size_t labels);
    // `total` is the sum of its counts, where somebody will ask for it.
    Entry add(std::span<const LabelPosition> positions, std::span<const double> confidences,
              double total = 0);
    double total(const Entry& entry) const { return values_[entry.begin - 1]; }
    ConfidenceRow confidences(const Entry& entry) const {
        const bool dense = entry.size == kDense;
        return {values_.data() + entry.begin, dense ? nullptr : positions_.data() + entry.begin,
                dense ? labels_ : entry.size};
    }
    std::size_t size() const { return values_.size(); }

   private:
    // Numbers to reserve at once; few stores grow beyond it.
    static constexpr std::size_t kEnough = table_size(1 << 21, 512);

    std::size_t labels_ = 0;
    Table<double> values_;            // of each entry: its total, then the confidences
    Table<LabelPosition> positions_;  // beside the values; meaningless where those are dense
};

}  // namespace watchword
