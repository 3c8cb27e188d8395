// How the values of a subject's posts become the subject's own: by their sum, as the model's
// evidence does, or by another rule for the scores of other classifiers. One rule for posts as they
// arrive and for whole histories, so that both give the same values to the last digit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace watchword {

enum class Combine : std::uint8_t { Sum, Mean, Last, Ema, Max };

struct Combination {
    Combine how = Combine::Sum;
    double alpha = 1;  // weight of the latest post in an exponential moving average

    // Writes a subject's values after one more post, given those after `posts` posts and those of
    // the post by itself: one per label. `Max` keeps the values of the post in which the positive
    // label leads most.
    void combine(std::span<const double> before, std::uint32_t posts, std::span<const double> added,
                 std::size_t positive, std::span<double> after) const;
};

// The largest value of another label than the positive one; 0 if there is none.
double best_other(std::span<const double> values, std::size_t positive);

// The values of a subject after each of its posts: a row per post, a column per label.
std::vector<double> combined(const Combination& combination, std::span<const double> gains,
                             std::size_t labels, std::size_t positive);

}  // namespace watchword
