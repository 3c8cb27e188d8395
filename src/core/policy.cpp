#include "policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace watchword {
namespace {

constexpr std::int64_t kFirstRounds = 3;  // in which a population policy raises no alert
// Added to both gains, so that a post without evidence for a label does not decide everything.
// Where log-ratios rank the training subjects of a stream in benchmarks/ better than shares do,
// values from .001 to .01 are equally good in cross-validation; above .1, hardly anything is left
// of the logarithm, and the ranking is that of softmax.
constexpr double kLeastGain = 0.01;
constexpr const char* kNoLogRatios = "log-ratios were not summed";

// A mean per post as a number from −1 to 1.
double tanh_mean(double sum, std::int64_t posts) {
    const double mean = sum / static_cast<double>(std::max<std::int64_t>(posts, 1));
    return std::tanh(mean / 2);
}

// The logistic function of a mean per post; in this form it cannot overflow.
double logistic_mean(double sum, std::int64_t posts) { return 0.5 + 0.5 * tanh_mean(sum, posts); }

// How far one of two values is ahead of the other, from −1 to 1.
double lean(double value, double other) {
    const double total = value + other;
    return total > 0 ? (value - other) / total : 0;
}

double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

// A rule for each row by itself, without memory: a function of the step and the row.
template <class Rule>
class RowPolicy final : public Policy {
   public:
    explicit RowPolicy(Rule rule) : rule_(std::move(rule)) {}
    void mark(const Step& step, std::size_t, std::span<Flag> alerts) const override {
        // Local copies, which bytes cannot alias: the loop can then use vector instructions.
        const Step own = step;
        const Rule rule = rule_;
        for (std::size_t row = 0; row < own.rows(); ++row) alerts[row] = rule(own, row);
    }

   private:
    Rule rule_;
};

template <class Rule>
PolicyPointer of_rows(Rule rule) {
    return std::make_shared<RowPolicy<Rule>>(std::move(rule));
}

// A rule about a score, which may count in memory: a function of the step, the row, the score and
// the memory column.
template <class Rule>
class ScorePolicy final : public Policy {
   public:
    ScorePolicy(Score score, std::size_t remembers, Rule rule)
        : score_(score), remembers_(remembers), rule_(std::move(rule)) {}
    std::size_t remembers() const override { return remembers_; }
    void mark(const Step& step, std::size_t column, std::span<Flag> alerts) const override {
        std::vector<double> scores(step.rows());
        fill_scores(score_, step, scores);
        for (std::size_t row = 0; row < step.rows(); ++row) {
            alerts[row] = rule_(step, row, scores[row], column);
        }
    }

   private:
    Score score_;
    std::size_t remembers_;
    Rule rule_;
};

template <class Rule>
PolicyPointer of_score(Score score, std::size_t remembers, Rule rule) {
    return std::make_shared<ScorePolicy<Rule>>(score, remembers, std::move(rule));
}

// Counts in memory for how many posts in a row something holds.
double in_a_row(double& count, bool holds) {
    count = holds ? count + 1 : 0;
    return count;
}

class Repeats final : public Policy {
   public:
    explicit Repeats(std::int64_t times) : times_(static_cast<double>(times)) {}
    std::size_t remembers() const override { return 1; }
    void mark(const Step& step, std::size_t column, std::span<Flag> alerts) const override {
        for (std::size_t row = 0; row < step.rows(); ++row) {
            const bool favours = step.gain[row] > step.other_gain[row];
            alerts[row] = in_a_row(step.remembered(row, column), favours) >= times_;
        }
    }

   private:
    double times_;
};

class StandsOut final : public Policy {
   public:
    explicit StandsOut(double gamma) : gamma_(gamma) {}
    bool is_population() const override { return true; }
    void mark(const Step& step, std::size_t, std::span<Flag> alerts) const override {
        std::fill(alerts.begin(), alerts.end(), Flag{0});
        if (step.round < kFirstRounds || step.rows() == 0) return;
        std::vector<double> leads(step.rows());
        for (std::size_t row = 0; row < leads.size(); ++row) {
            leads[row] = step.value[row] - step.other[row];
        }
        std::vector<double> sorted = leads;
        const double middle = median(sorted);
        for (std::size_t row = 0; row < leads.size(); ++row) {
            sorted[row] = std::fabs(leads[row] - middle);
        }
        const double threshold = middle + gamma_ * median(sorted);
        for (std::size_t row = 0; row < leads.size(); ++row) alerts[row] = leads[row] > threshold;
    }

   private:
    double gamma_;
};

double feature(StepFeature which, const Step& step, std::size_t row) {
    const double value = step.value[row], other = step.other[row];
    const std::int64_t posts = step.posts[row];
    const auto log_posts = [&] {
        return std::log(static_cast<double>(std::max<std::int64_t>(posts, 1)));
    };
    switch (which) {
        case StepFeature::Share: return lean(value, other);
        case StepFeature::LogRatio:
            if (!step.log_ratios) throw std::invalid_argument(kNoLogRatios);
            return tanh_mean((*step.log_ratios)[row], posts);
        case StepFeature::Posts: return log_posts();
        case StepFeature::SharePosts: return lean(value, other) * log_posts();
        case StepFeature::Evidence: return std::log1p(value + other);
        case StepFeature::Gain: return lean(step.gain[row], step.other_gain[row]);
    }
    return 0;
}

class Weighs final : public Policy {
   public:
    Weighs(const FeatureWeights& weights, double threshold) : threshold_(threshold) {
        for (std::size_t at = 0; at < kFeatures; ++at) {
            if (weights[at] != 0) terms_.push_back({static_cast<StepFeature>(at), weights[at]});
        }
    }
    void mark(const Step& step, std::size_t, std::span<Flag> alerts) const override {
        for (std::size_t row = 0; row < step.rows(); ++row) {
            double total = 0;
            for (const Term& term : terms_) total += term.weight * feature(term.feature, step, row);
            alerts[row] = (total >= threshold_) & (step.value[row] > 0);
        }
    }

   private:
    struct Term {
        StepFeature feature;
        double weight;
    };
    std::vector<Term> terms_;  // without features of weight 0
    double threshold_;
};

class After final : public Policy {
   public:
    After(PolicyPointer of, std::int64_t posts) : of_(std::move(of)), posts_(posts) {}
    std::size_t remembers() const override { return of_->remembers(); }
    bool is_population() const override { return of_->is_population(); }
    void mark(const Step& step, std::size_t column, std::span<Flag> alerts) const override {
        of_->mark(step, column, alerts);
        for (std::size_t row = 0; row < step.rows(); ++row)
            alerts[row] &= step.posts[row] >= posts_;
    }

   private:
    PolicyPointer of_;
    std::int64_t posts_;
};

// Marks each part's alerts, so that all update their memory, and combines them.
template <class Combine>
class Combined final : public Policy {
   public:
    explicit Combined(PolicyList parts) : parts_(std::move(parts)) {}
    std::size_t remembers() const override {
        std::size_t columns = 0;
        for (const PolicyPointer& part : parts_) columns += part->remembers();
        return columns;
    }
    bool is_population() const override {
        return std::any_of(parts_.begin(), parts_.end(),
                           [](const PolicyPointer& part) { return part->is_population(); });
    }
    void mark(const Step& step, std::size_t column, std::span<Flag> alerts) const override {
        parts_.front()->mark(step, column, alerts);
        column += parts_.front()->remembers();
        std::vector<Flag> own(step.rows());
        for (std::size_t part = 1; part < parts_.size(); ++part) {
            parts_[part]->mark(step, column, own);
            column += parts_[part]->remembers();
            std::transform(alerts.begin(), alerts.end(), own.begin(), alerts.begin(), Combine());
        }
    }

   private:
    PolicyList parts_;  // at least one
};

}  // namespace

void advance(const Policy& policy, const Step& step, std::span<const Flag> read,
             std::span<const Flag> decided, std::span<Flag> alerts) {
    const std::size_t columns = policy.remembers();
    const bool all_read = std::find(read.begin(), read.end(), Flag{0}) == read.end();
    std::vector<double> before;
    if (columns > 0 && !all_read) before.assign(step.memory.begin(), step.memory.end());
    policy.mark(step, 0, alerts);
    for (std::size_t row = 0; row < step.rows(); ++row) {
        alerts[row] = alerts[row] && read[row] && !decided[row];
        if (read[row] || before.empty()) continue;
        const auto own = before.begin() + static_cast<std::ptrdiff_t>(row * step.memory_columns);
        std::copy_n(own, columns, &step.remembered(row, 0));
    }
}

void fill_scores(Score score, const Step& step, std::span<double> scores) {
    const auto fill = [&](const auto& formula) {
        for (std::size_t row = 0; row < step.rows(); ++row) {
            const double value = step.value[row], other = step.other[row];
            scores[row] = value == 0 && other == 0 ? 0 : formula(row, value, other);
        }
    };
    switch (score) {
        case Score::Share:
            return fill([](std::size_t, double value, double other) {
                const double total = value + other;
                return total > 0 ? value / total : 0;
            });
        case Score::Softmax:
            return fill([&](std::size_t row, double value, double other) {
                return logistic_mean(value - other, step.posts[row]);
            });
        case Score::Difference:
            return fill([](std::size_t, double value, double other) {
                const double difference = value - other;
                return 0.5 + 0.5 * difference / (1 + std::fabs(difference));
            });
        case Score::LogRatio:
            if (!step.log_ratios) throw std::invalid_argument(kNoLogRatios);
            return fill([&, sums = *step.log_ratios](std::size_t row, double, double) {
                return logistic_mean(sums[row], step.posts[row]);
            });
    }
}

std::vector<double> feature_table(const Step& steps) {
    std::vector<double> table(steps.rows() * kFeatures, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t row = 0; row < steps.rows(); ++row) {
        for (std::size_t at = 0; at < kFeatures; ++at) {
            const auto which = static_cast<StepFeature>(at);
            if (which == StepFeature::LogRatio && !steps.log_ratios) continue;
            table[row * kFeatures + at] = feature(which, steps, row);
        }
    }
    return table;
}

double log_ratio(double gain, double other_gain) {
    return std::log((gain + kLeastGain) / (other_gain + kLeastGain));
}

double FallingThreshold::after(std::int64_t posts) const {
    const std::int64_t past = std::max<std::int64_t>(posts - wait, 0);
    return end + (start - end) * std::exp(static_cast<double>(-past) / scale);
}

PolicyPointer overtakes(double ratio, double margin) {
    return of_rows([=](const Step& step, std::size_t row) {
        return (step.value[row] > ratio * step.other[row] + margin) & (step.value[row] > 0);
    });
}

PolicyPointer leaps(double factor) {
    return of_rows([=](const Step& step, std::size_t row) {
        return (step.gain[row] > 0) & (step.gain[row] >= factor * step.other_gain[row]);
    });
}

PolicyPointer reaches(double threshold, Score score) {
    return of_score(score, 0, [=](const Step&, std::size_t, double found, std::size_t) {
        return found >= threshold;
    });
}

PolicyPointer stays(double threshold, std::int64_t last, Score score) {
    const auto most = static_cast<double>(last);
    return of_score(score, 1,
                    [=](const Step& step, std::size_t row, double found, std::size_t column) {
                        return in_a_row(step.remembered(row, column), found >= threshold) > most;
                    });
}

PolicyPointer repeats(std::int64_t times) { return std::make_shared<Repeats>(times); }

PolicyPointer reaches_falling(const FallingThreshold& threshold, Score score) {
    return of_score(score, 0, [=](const Step& step, std::size_t row, double found, std::size_t) {
        const std::int64_t posts = step.posts[row];
        return posts > threshold.wait && found >= threshold.after(posts);
    });
}

PolicyPointer stands_out(double gamma) { return std::make_shared<StandsOut>(gamma); }

PolicyPointer weighs(const FeatureWeights& weights, double threshold) {
    return std::make_shared<Weighs>(weights, threshold);
}

PolicyPointer after(PolicyPointer of, std::int64_t posts) {
    return std::make_shared<After>(std::move(of), posts);
}

PolicyPointer any_of(PolicyList policies) {
    return std::make_shared<Combined<std::bit_or<Flag>>>(std::move(policies));
}

PolicyPointer all_of(PolicyList policies) {
    return std::make_shared<Combined<std::bit_and<Flag>>>(std::move(policies));
}

}  // namespace watchword
