// The equations of the model: pure functions of counts, of the largest count per length and label,
// and of the parameters. This is the only place that holds them. Sums run in label order and
// deviations in ascending order, so that equal counts give equal bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cells.h"
#include "labels.h"

namespace watchword {

enum class SignificanceFunction : std::uint8_t { Vanilla, Xai };
enum class ConfidenceFunction : std::uint8_t { Gv, NormGv, NormGvXai };

struct ValueParameters {
    double smoothness;    // σ
    double significance;  // λ
    double sanction;      // ρ
    Count min_count;
    SignificanceFunction significance_function;
    ConfidenceFunction confidence_function;
};

// An n-gram under one label. Labels under which it never occurred are left out of rows: there
// count, lv, sg, gv and cv are 0.
struct LabelValues {
    LabelPosition position;
    Count count;
    double lv;
    double sg;
    double sn;
    double gv;
};

struct Spread {
    double centre;     // M
    double deviation;  // D
};

// lv = (tf / max tf)^σ, or 0 below min_count.
double local_value(Count count, Count maximum, const ValueParameters& parameters);

// M and D of `labels` values of which those not in `sorted` (ascending) are 0.
Spread spread_of(std::span<const double> sorted, std::size_t labels);

// sg of a value in a label where the n-gram occurs.
double significance(double local_value, Spread spread, bool everywhere_above_noise,
                    const ValueParameters& parameters);

// sn where the sg of all the other labels sum up to `others` (Ĉ).
double sanction(double others, std::size_t labels, double exponent);

// Fills lv, sg, sn and gv of a row whose positions (ascending) and counts are set. `maxima` holds,
// by position, the largest count of an n-gram of this length.
void evaluate(std::vector<LabelValues>& row, std::span<const Count> maxima,
              const ValueParameters& parameters);

// sn in a label where the n-gram does not occur.
double sanction_elsewhere(const std::vector<LabelValues>& row, std::size_t labels,
                          const ValueParameters& parameters);

// cv from gv, the largest gv of that length and label and, for n-grams of several words, what
// NormGvXai wants to know about their words.
struct WordEvidence {
    double total = 0;          // G: gv of all words in all labels
    bool all_speak_for_it = false;  // every word has gv ≥ .01 in this label
};
double confidence(double gv, double max_gv, unsigned length, WordEvidence words,
                  ConfidenceFunction function);
bool speaks_for_it(double word_gv);

}  // namespace watchword
