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

// Documents per label at which half of the prior is assumed.
constexpr double kHandful = 5;

// From here on tanh is 1 to the last bit of a double.
constexpr double kTanhIsOne = 20;

// By exp, which takes a third of the time: where tanh is near -1, the digits lost are those that
// adding .5 would lose anyway.
double fast_tanh(double value) {
    return value >= kTanhIsOne ? 1 : 1 - 2 / (std::exp(2 * value) + 1);
}

}  // namespace

void ValueRow::resize(std::size_t size) {
    position.resize(size);
    count.resize(size);
    for (Column<double>* column : {&lv, &sg, &sn, &gv, &compared, &sorted}) column->resize(size);
}

std::vector<double> units_of(std::span<const Count> largest, std::span<const Count> words,
                             NgramScale scale) {
    std::vector<double> units(largest.begin(), largest.end());
    if (scale != NgramScale::Label) return units;
    double most = 0;
    for (std::size_t at = 0; at < units.size(); ++at) {
        if (words[at] > 0) most = std::max(most, units[at] / static_cast<double>(words[at]));
    }
    for (std::size_t at = 0; at < units.size(); ++at) {
        // Not less than the largest count by rounding.
        units[at] = std::max(units[at], static_cast<double>(words[at]) * most);
    }
    return units;
}

std::vector<double> label_weights(std::span<const Count> documents, double exponent) {
    Count most = 0;
    for (const Count own : documents) most = std::max(most, own);
    std::vector<double> weights(documents.size(), 1);
    if (documents.size() <= 2 || exponent == 0) return weights;
    const double power = exponent * (1 - 2 / static_cast<double>(documents.size()));
    for (std::size_t at = 0; at < documents.size(); ++at) {
        weights[at] =
            std::pow(static_cast<double>(documents[at]) / static_cast<double>(most), power);
    }
    return weights;
}

double grown_prior(const ValueParameters& parameters, std::span<const Count> documents) {
    double all = 0;
    for (const Count own : documents) all += static_cast<double>(own);
    const double labels = static_cast<double>(documents.size());
    const double mean = all / labels;
    const double grown = mean * mean / (mean * mean + kHandful * kHandful);
    return parameters.prior * grown * (parameters.refined ? 1 : std::min(1., 2 / labels));
}

double local_value(Count count, double unit, const ValueParameters& parameters) {
    if (count < parameters.min_count || count == 0) return 0;
    return std::pow(static_cast<double>(count) / unit, parameters.smoothness);
}

double compared_value(Count count, double unit, double share, const ValueParameters& parameters) {
    const bool counts = count > 0 && count >= parameters.min_count;
    const double own = counts ? static_cast<double>(count) / unit : 0;
    return std::pow((own + share) / (1 + share), parameters.smoothness);
}

Spread spread_of(std::span<double> present, std::size_t labels, double absent,
                 SignificanceFunction function) {
    const std::size_t missing = labels - present.size();
    const std::size_t middle = (labels - 1) / 2;
    if (middle >= missing) std::sort(present.begin(), present.end());
    const double centre = middle < missing ? absent : present[middle - missing];
    const bool by_ratio = function == SignificanceFunction::Ratio && labels > 1;
    if (labels == 2 || by_ratio) return {centre, centre};
    double sum = 0;
    if (centre > absent) {
        for (std::size_t at = 0; at < missing; ++at) sum += centre - absent;
    }
    for (const double value : present) sum += std::fabs(centre - value);
    return {centre, sum / static_cast<double>(labels)};
}

double significance(double value, Spread spread, bool everywhere_above_noise,
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
    if (spread.deviation == 0) return value > 0 ? 1 : 0;
    if (lambda == 0) return 0;
    const double steepness = 3. / (lambda * spread.deviation);
    // Too steep for a double: every value other than the centre is far from it.
    const double from_centre = value - spread.centre;
    if (std::isinf(steepness) && from_centre != 0) return from_centre > 0 ? 1 : 0;
    return .5 * fast_tanh((from_centre == 0 ? 0 : steepness * from_centre) - 3.) + .5;
}

double sanction(double others, std::size_t labels, double exponent) {
    if (labels == 1) return 1;
    const double all = static_cast<double>(labels);
    const double base = (all - (others + 1)) / ((all - 1) * (others + 1));
    if (base < 0) return 0;
    if (exponent == 1) return base;
    // The default: square roots take a small part of the time of a power.
    if (exponent == .25) return std::sqrt(std::sqrt(base));
    return std::pow(base, exponent);
}

void evaluate(ValueRow& row, std::size_t labels, double absent, const ValueParameters& parameters) {
    const Column<double>& values = parameters.prior > 0 ? row.compared : row.lv;
    const std::size_t size = row.size();
    std::size_t present = 0;
    bool above_noise = size == labels || absent > kNoise;
    for (const double value : values) {
        above_noise = above_noise && value > kNoise;
        row.sorted[present] = value;
        present += value > absent;
    }
    const Spread spread =
        spread_of({row.sorted.data(), present}, labels, absent, parameters.significance_function);
    for (std::size_t at = 0; at < size; ++at) {
        row.sg[at] = significance(values[at], spread, above_noise, parameters);
    }
    // Every label's sum over the others (Ĉ), gathered in the place of sn: of those before it, in
    // label order, and of those behind it, from the last one on.
    double before = 0, behind = 0;
    for (std::size_t at = 0; at < size; ++at) {
        row.sn[at] = before;
        before += row.sg[at];
    }
    for (std::size_t at = size; at-- > 0;) {
        row.sn[at] = sanction(row.sn[at] + behind, labels, parameters.sanction);
        behind += row.sg[at];
    }
    for (std::size_t at = 0; at < size; ++at) row.gv[at] = row.lv[at] * (row.sg[at] * row.sn[at]);
}

double sanction_elsewhere(const ValueRow& row, std::size_t labels,
                          const ValueParameters& parameters) {
    double others = 0;
    for (const double sg : row.sg) others += sg;
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
