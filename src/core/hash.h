// Hashing and prefetching. Hashes are seeded once per process, so that an attacker cannot prepare
// text whose words all collide; no result depends on their values.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__SIZEOF_INT128__) && defined(_MSC_VER)
#include <intrin.h>
#endif

namespace watchword {

// Two random odd numbers, fixed for the life of the process.
struct HashSeed {
    std::uint64_t first;
    std::uint64_t second;
};
extern const HashSeed kHashSeed;

// Multiplies to 128 bits and folds the halves: every input bit reaches every output bit.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
    std::uint64_t high;
    const std::uint64_t low = _umul128(a, b, &high);
    return low ^ high;
#endif
}

inline std::uint64_t hash_pair(std::uint32_t a, std::uint32_t b) {
    const std::uint64_t key = static_cast<std::uint64_t>(a) << 32 | b;
    return mix(key ^ kHashSeed.first, kHashSeed.second);
}

inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
    // Otherwise the compiler removes functions that only prefetch.
    asm volatile("" : : "r"(address));
#endif
}

// Prefetches a small object that may lie across two cache lines.
template <class T>
void prefetch_both_ends(const T* first, std::size_t count = 1) {
    prefetch(first);
    // As an integer: for size 0, a pointer before the object would be undefined behaviour.
    prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(first + count) - 1));
}

}  // namespace watchword
