#include "label_clusters.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace watchword {

std::size_t upper_cluster(std::span<const double> descending) {
    if (descending.empty() || descending.front() == descending.back()) return 0;
    double low = descending.back(), high = descending.front();
    std::size_t upper = 0;
    // The border moves in one direction only; the bound guards against sums that are not numbers.
    for (std::size_t turn = 0; turn <= 2 * descending.size(); ++turn) {
        double low_sum = 0, high_sum = 0;
        std::size_t lower = 0;
        upper = 0;
        for (const double value : descending) {
            if (std::fabs(low - value) < std::fabs(high - value)) {
                low_sum += value;
                ++lower;
            } else {
                high_sum += value;
                ++upper;
            }
        }
        const double new_low = lower > 0 ? low_sum / static_cast<double>(lower) : low;
        const double new_high = upper > 0 ? high_sum / static_cast<double>(upper) : high;
        if (new_low == low && new_high == high) return upper;
        low = new_low;
        high = new_high;
    }
    return upper;
}

std::vector<std::size_t> several(std::span<const double> values) {
    std::vector<double> descending(values.begin(), values.end());
    std::sort(descending.begin(), descending.end(), std::greater<>());
    const std::size_t upper = upper_cluster(descending);
    std::vector<std::size_t> columns;
    if (upper == 0) return columns;
    const double least = descending[upper - 1];
    for (std::size_t at = 0; at < values.size(); ++at) {
        if (values[at] >= least) columns.push_back(at);
    }
    return columns;
}

}  // namespace watchword
