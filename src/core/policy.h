// Policies: the rules that decide when to alert. A policy gets the values of some subjects after
// their latest posts, one row per subject, and marks the rows to alert: the same code serves one
// subject and a million. A policy never changes; combinations share the ownership of their parts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace watchword {

using Flag = std::uint8_t;  // 0 or 1, as NumPy stores booleans

// The values of some subjects after their latest posts (or chunks).
struct Step {
    std::span<const std::int64_t> posts;       // read so far
    std::span<const double> value, other;      // sums: of the positive label, of the best other
    std::span<const double> gain, other_gain;  // added by the latest post
    std::int64_t round = 0;                    // index of the round, for population policies
    std::span<double> memory;                  // what the policy remembers, row by row
    std::size_t memory_columns = 0;
    std::optional<std::span<const double>> log_ratios;  // sums of `log_ratio` over posts

    std::size_t rows() const { return posts.size(); }
    double& remembered(std::size_t row, std::size_t column) const {
        return memory[row * memory_columns + column];
    }
};

class Policy {
   public:
    virtual ~Policy() = default;
    // The number of memory columns that the policy uses; they start at 0.
    virtual std::size_t remembers() const { return 0; }
    // Whether it compares all subjects of a round, so that rows depend on each other.
    virtual bool is_population() const { return false; }
    // Marks the rows to alert. The policy's memory begins at `column`.
    virtual void mark(const Step& step, std::size_t column, std::span<Flag> alerts) const = 0;
};

using PolicyPointer = std::shared_ptr<const Policy>;
using PolicyList = std::vector<PolicyPointer>;

// The driver: applies a policy to a step and marks the new alerts. A row without a new post, or
// with an earlier alert, gets none. A row's memory changes only if a post was read.
void advance(const Policy& policy, const Step& step, std::span<const Flag> read,
             std::span<const Flag> decided, std::span<Flag> alerts);

// Scores of the positive label from 0 to 1; 0 without evidence. To add one: a name here and its
// formula in `fill_scores`.
enum class Score : std::uint8_t { Share, Softmax, Difference, LogRatio };

void fill_scores(Score score, const Step& step, std::span<double> scores);

// Features of a step, which `weighs` weighs. All are 0 after a first post without evidence.
// To add one: a name here and its formula in `feature`.
enum class StepFeature : std::uint8_t {
    Share,       // (value − other) / (value + other), from −1 to 1
    LogRatio,    // the mean of log-ratios, as a number from −1 to 1
    Posts,       // log(posts)
    SharePosts,  // share · posts
    Evidence,    // log(1 + value + other)
    Gain,        // as the share, of the latest post by itself
};
constexpr std::size_t kFeatures = 6;
// One weight for each feature, in their order.
using FeatureWeights = std::array<double, kFeatures>;

// All features of some steps, a column for each. Without log-ratios, their column is NaN.
std::vector<double> feature_table(const Step& steps);

// How far a post favours the positive label.
double log_ratio(double gain, double other_gain);

// θ(t) = end + (start − end) · e^(−(t − wait) / scale) after t posts.
struct FallingThreshold {
    double start, end;
    std::int64_t wait;
    double scale;

    double after(std::int64_t posts) const;
};

// Each documented by the class of this name in streams/policies.py.
PolicyPointer overtakes(double ratio, double margin);
PolicyPointer leaps(double factor);
PolicyPointer reaches(double threshold, Score score);
PolicyPointer stays(double threshold, std::int64_t last, Score score);
PolicyPointer repeats(std::int64_t times);
PolicyPointer reaches_falling(const FallingThreshold& threshold, Score score);
PolicyPointer stands_out(double gamma);
PolicyPointer weighs(const FeatureWeights& weights, double threshold);
PolicyPointer after(PolicyPointer of, std::int64_t posts);
PolicyPointer any_of(PolicyList policies);
PolicyPointer all_of(PolicyList policies);

}  // namespace watchword
