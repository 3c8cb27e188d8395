// The equations of the model: pure functions of counts, of the largest count per length and label,
// and of the parameters. This is the only place that holds them. Sums run in one order of the
// labels and deviations in ascending order, so that equal counts give equal bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cells.h"
#include "labels.h"

namespace watchword {

enum class SignificanceFunction : std::uint8_t { Vanilla, Xai, Ratio };
// The unit of lv: the largest count of the n-grams of equal length, that of the words, or
// the label's words, times the largest share that any word has under any label.
enum class NgramScale : std::uint8_t { Length, Words, Label };
enum class ConfidenceFunction : std::uint8_t { Gv, NormGv, NormGvXai };

struct ValueParameters {
    double smoothness;    // σ
    double significance;  // λ
    double sanction;      // ρ
    Count min_count;
    double prior;         // occurrences assumed beforehand where labels are compared
    double label_weight;  // g
    bool refined;         // whether corrections are fitted around the values
    NgramScale ngram_scale;
    SignificanceFunction significance_function;
    ConfidenceFunction confidence_function;
};

// An array whose size changes often: resizing costs nothing, and new elements are uninitialised.
template <class T>
class Column {
   public:
    std::size_t size() const { return size_; }
    void resize(std::size_t size) {
        if (size > room_.size()) room_.resize(size);
        size_ = size;
    }
    T* data() { return room_.data(); }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    T& operator[](std::size_t at) { return room_[at]; }
    const T* data() const { return room_.data(); }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }
    const T& operator[](std::size_t at) const { return room_[at]; }

   private:
    std::vector<T> room_;
    std::size_t size_ = 0;
};

// An n-gram under the labels where it occurred, by ascending position. Under the other labels
// count, lv, sg, gv and cv are 0.
struct ValueRow {
    Column<LabelPosition> position;
    Column<Count> count;
    Column<double> lv, sg, sn, gv;
    Column<double> compared;  // what sg compares instead of lv, where there is a prior
    Column<double> sorted;    // room to sort these

    std::size_t size() const { return position.size(); }
    void resize(std::size_t size);
};

struct Spread {
    double centre;     // M
    double deviation;  // D
};

// The divisor of counts under a label, given its largest count (of n-grams of that length, or of
// words) and its number of words: the largest count itself or, by label, the words times the
// largest share that any word has under any label, so that no value exceeds 1.
std::vector<double> units_of(std::span<const Count> largest, std::span<const Count> words,
                             NgramScale scale);

// (its documents / the most that any label has)^(g · (1 - 2 / labels)) of each label: what its
// values are multiplied by, so that among many labels the rare ones do not win more often than they
// should. Two labels have equal weights: policies decide which error costs more.
std::vector<double> label_weights(std::span<const Count> documents, double exponent);

// The effective prior for these numbers of documents per label. The parameter applies to two labels
// with many documents; it is less with a handful of documents, whose counts it would exceed, and,
// unless corrections are fitted, with more labels: by itself, a value is right more often with less
// of a prior, but corrections do better around cautious values.
double grown_prior(const ValueParameters& parameters, std::span<const Count> documents);

// lv = (tf / unit)^σ, or 0 below min_count.
double local_value(Count count, double unit, const ValueParameters& parameters);

// With a prior, sg compares ((tf / unit + share) / (1 + share))^σ, where `share` is the prior over
// the sum of all labels' units: an unseen n-gram is equal under all labels, and one that was seen
// once nearly so.
double compared_value(Count count, double unit, double share, const ValueParameters& parameters);

// M and D of `labels` values of which those not in `present` are `absent`, the least; sorts those
// that are, if it has to. D = M for two labels, and by "ratio" for any number.
Spread spread_of(std::span<double> present, std::size_t labels, double absent,
                 SignificanceFunction function);

// sg of a value (lv, or what is compared instead) in a label where the n-gram occurs.
double significance(double value, Spread spread, bool everywhere_above_noise,
                    const ValueParameters& parameters);

// sn where the sg of all the other labels sum up to `others` (Ĉ).
double sanction(double others, std::size_t labels, double exponent);

// Fills sg, sn and gv of a row whose lv and, with a prior, compared values are set; `absent` is the
// compared value of labels where the n-gram does not occur (0 without a prior).
void evaluate(ValueRow& row, std::size_t labels, double absent, const ValueParameters& parameters);

// sn in a label where the n-gram does not occur.
double sanction_elsewhere(const ValueRow& row, std::size_t labels,
                          const ValueParameters& parameters);

// cv from gv, the largest gv of that length and label and, for n-grams of several words, what
// NormGvXai wants to know about their words.
struct WordEvidence {
    double total = 0;               // G: gv of all words in all labels
    bool all_speak_for_it = false;  // every word has gv ≥ .01 in this label
};
double confidence(double gv, double max_gv, unsigned length, WordEvidence words,
                  ConfidenceFunction function);
bool speaks_for_it(double word_gv);

}  // namespace watchword
