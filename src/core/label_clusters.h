// Decides the labels of a confidence vector.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace watchword {

// The number of these values (descending) in the upper of the two clusters that 2-means finds,
// starting from the ends; none if all values are equal.
std::size_t upper_cluster(std::span<const double> descending);

// The columns in the upper cluster, ascending.
std::vector<std::size_t> several(std::span<const double> values);

}  // namespace watchword
