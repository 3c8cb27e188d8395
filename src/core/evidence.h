// What confidences say about a text: the evidence that a post adds to its subject, and
// probabilities. Rows hold one number per label; without evidence, all are 0.
#pragma once

#include <span>

namespace watchword {

// Replaces refined scores, which are signed, by their softmax; zeros stay zeros.
void to_softmax(std::span<double> row, double temperature);

// Replaces confidences by their shares; negative ones count 0.
void to_shares(std::span<double> row);

}  // namespace watchword
