#include "value.h"

#include <algorithm>
#include <cmath>

namespace watchword {
namespace {

// The constants of the "xai" significance and confidence functions.
constexpr double kLeastScaledDeviation = .03;
constexpr double kCommonCentre = .3;
constexpr double kSuspectCentre = .2;
constexpr double kNoise = .09;
constexpr double kSmallDeviation = .1;
constexpr double kLeastEvidence = .05;
constexpr double kLeastWordValue = .01;

}  // namespace

double local_value(Count count, Count maximum, const ValueParameters& parameters) {
    if (count < parameters.min_count || count == 0) return 0;
    return std::pow(static_cast<double>(count) / static_cast<double>(maximum),
                    parameters.smoothness);
}

Spread spread_of(std::span<const double> sorted, std::size_t labels) {
    const std::size_t zeros = labels - sorted.size();
    if (labels == 2) {
        const double smaller = zeros > 0 ? 0 : sorted[0];
        return {smaller, smaller};
    }
    const std::size_t middle = (labels - 1) / 2;
    const double centre = middle < zeros ? 0 : sorted[middle - zeros];
    double sum = 0;
    if (centre > 0) {
        for (std::size_t at = 0; at < zeros; ++at) sum += centre;
    }
    for (const double value : sorted) sum += std::fabs(centre - value);
    return {centre, sum / static_cast<double>(labels)};
}

double significance(double local_value, Spread spread, bool everywhere_above_noise,
                    const ValueParameters& parameters) {
    const double lambda = parameters.significance;
    if (parameters.significance_function == SignificanceFunction::Xai) {
        if (lambda * spread.deviation <= kLeastScaledDeviation) {
            spread.deviation = lambda > 0 ? kLeastScaledDeviation / lambda : 0;
        }
        const bool common = spread.centre > kSuspectCentre || everywhere_above_noise;
        if ((common && spread.deviation <= kSmallDeviation) || spread.centre >= kCommonCentre) {
            return 0;
        }
    }
    if (spread.deviation == 0) return local_value > 0 ? 1 : 0;
    const double scale = lambda * spread.deviation;
    if (scale == 0) return 0;
    return .5 * std::tanh(3. / scale * (local_value - spread.centre) - 3.) + .5;
}

double sanction(double others, std::size_t labels, double exponent) {
    if (labels == 1) return 1;
    const double all = static_cast<double>(labels);
    const double base = (all - (others + 1)) / ((all - 1) * (others + 1));
    if (base < 0) return 0;
    return exponent == 1 ? base : std::pow(base, exponent);
}

void evaluate(std::vector<LabelValues>& row, std::span<const Count> maxima,
              const ValueParameters& parameters) {
    thread_local std::vector<double> sorted, others;
    const std::size_t labels = maxima.size();
    sorted.clear();
    bool above_noise = row.size() == labels;
    for (LabelValues& entry : row) {
        entry.lv = local_value(entry.count, maxima[entry.position], parameters);
        above_noise = above_noise && entry.lv > kNoise;
        if (entry.lv > 0) sorted.push_back(entry.lv);
    }
    std::sort(sorted.begin(), sorted.end());
    const Spread spread = spread_of(sorted, labels);
    for (LabelValues& entry : row) {
        entry.sg = significance(entry.lv, spread, above_noise, parameters);
    }
    // Every label's sum over the others, in label order; the inner loop is the one that vectorises.
    others.assign(row.size(), 0);
    for (std::size_t term = 0; term < row.size(); ++term) {
        const double sg = row[term].sg;
        if (sg == 0) continue;
        for (std::size_t at = 0; at < term; ++at) others[at] += sg;
        for (std::size_t at = term + 1; at < row.size(); ++at) others[at] += sg;
    }
    for (std::size_t at = 0; at < row.size(); ++at) {
        LabelValues& entry = row[at];
        entry.sn = sanction(others[at], labels, parameters.sanction);
        entry.gv = entry.lv * (entry.sg * entry.sn);
    }
}

double sanction_elsewhere(const std::vector<LabelValues>& row, std::size_t labels,
                          const ValueParameters& parameters) {
    double others = 0;
    for (const LabelValues& entry : row) others += entry.sg;
    return sanction(others, labels, parameters.sanction);
}

double confidence(double gv, double max_gv, unsigned length, WordEvidence words,
                  ConfidenceFunction function) {
    if (function == ConfidenceFunction::Gv) return gv;
    if (max_gv == 0) return 0;
    const double normalised = gv / max_gv;
    if (function == ConfidenceFunction::NormGv || length == 1) return normalised;
    if (words.total < kLeastEvidence) return 0;
    return words.all_speak_for_it ? normalised + words.total : normalised;
}

bool speaks_for_it(double word_gv) { return word_gv >= kLeastWordValue; }

}  // namespace watchword
