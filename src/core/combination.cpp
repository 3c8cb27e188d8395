#include "combination.h"

#include <algorithm>
#include <limits>

namespace watchword {
namespace {

double lead_of(std::span<const double> values, std::size_t positive) {
    return values[positive] - best_other(values, positive);
}

}  // namespace

void Combination::combine(std::span<const double> before, std::uint32_t posts,
                          std::span<const double> added, std::size_t positive,
                          std::span<double> after) const {
    const auto fill = [&](const auto& formula) {
        for (std::size_t label = 0; label < after.size(); ++label) {
            after[label] = formula(before[label], added[label]);
        }
    };
    if (how == Combine::Sum) return fill([](double old, double own) { return old + own; });
    if (posts == 0 || how == Combine::Last) return fill([](double, double own) { return own; });
    switch (how) {
        case Combine::Mean: {
            const double count = static_cast<double>(posts) + 1;
            return fill([=](double old, double own) { return old + (own - old) / count; });
        }
        case Combine::Ema:
            return fill([weight = alpha](double old, double own) {
                return weight * own + (1 - weight) * old;
            });
        default: {
            const auto chosen =
                lead_of(added, positive) > lead_of(before, positive) ? added : before;
            std::copy(chosen.begin(), chosen.end(), after.begin());
        }
    }
}

double best_other(std::span<const double> values, std::size_t positive) {
    if (values.size() == 1) return 0;
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t label = 0; label < values.size(); ++label) {
        if (label != positive) best = std::max(best, values[label]);
    }
    return best;
}

std::vector<double> combined(const Combination& combination, std::span<const double> gains,
                             std::size_t labels, std::size_t positive) {
    std::vector<double> rows(gains.size());
    const std::vector<double> none(labels);
    std::span<const double> before = none;
    const std::size_t posts = labels == 0 ? 0 : gains.size() / labels;
    for (std::size_t post = 0; post < posts; ++post) {
        const std::span<double> after(rows.data() + post * labels, labels);
        combination.combine(before, static_cast<std::uint32_t>(post),
                            gains.subspan(post * labels, labels), positive, after);
        before = after;
    }
    return rows;
}

}  // namespace watchword
