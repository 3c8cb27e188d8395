#include "hash.h"

#include <random>

namespace watchword {
namespace {

HashSeed random_seed() {
    std::random_device device;
    const auto draw = [&device] {
        const std::uint64_t high = device();
        return (high << 32 | device()) | 1;
    };
    const std::uint64_t first = draw();
    return {first, draw()};
}

}  // namespace

const HashSeed kHashSeed = random_seed();

}  // namespace watchword
