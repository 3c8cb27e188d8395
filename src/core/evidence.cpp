#include "evidence.h"

#include <algorithm>
#include <cmath>

namespace watchword {

void to_softmax(std::span<double> row, double temperature) {
    if (std::all_of(row.begin(), row.end(), [](double score) { return score == 0; })) return;
    // Relative to the largest, so that no power overflows.
    const double largest = *std::max_element(row.begin(), row.end()) / temperature;
    double total = 0;
    for (double& score : row) {
        score = std::exp(score / temperature - largest);
        total += score;
    }
    for (double& power : row) power /= total;
}

void to_shares(std::span<double> row) {
    double largest = 0;
    for (double& value : row) {
        value = std::max(value, 0.0);
        largest = std::max(largest, value);
    }
    if (largest == 0) return;
    double total = 0;
    for (double& value : row) {
        value /= largest;  // first, since the sum could overflow
        total += value;
    }
    for (double& value : row) value /= total;
}

}  // namespace watchword
