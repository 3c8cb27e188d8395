// ASCII text: runs of word characters, and digits, sixteen at a time where the processor can.
// Owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(__SSE2__) || defined(_M_X64)
#define WATCHWORD_SSE2 1
#include <emmintrin.h>

#include <bit>
#endif

namespace watchword {

constexpr std::size_t kRun = 16;

#if defined(WATCHWORD_SSE2)

// Folds the word characters (letters, digits, underscore) at the beginning of the sixteen bytes at
// `text` into the sixteen bytes at `out`, padded with zeros; returns their number.
inline std::size_t fold_run(const std::uint8_t* text, char* out) {
    alignas(16) static constexpr std::uint8_t kKeep[2 * kRun] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    const auto all = [](char value) { return _mm_set1_epi8(value); };
    const auto at_most = [](__m128i value, __m128i limit) {
        return _mm_cmpeq_epi8(_mm_min_epu8(value, limit), value);
    };
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
    const __m128i lower = _mm_or_si128(bytes, all(0x20));
    const __m128i letter = at_most(_mm_sub_epi8(lower, all('a')), all('z' - 'a'));
    const __m128i digit = at_most(_mm_sub_epi8(bytes, all('0')), all(9));
    const __m128i word = _mm_or_si128(_mm_or_si128(letter, digit), _mm_cmpeq_epi8(bytes, all('_')));
    const __m128i folded = _mm_or_si128(bytes, _mm_and_si128(letter, all(0x20)));
    const auto others = ~static_cast<unsigned>(_mm_movemask_epi8(word));
    const auto length = static_cast<std::size_t>(std::countr_zero(others));
    const __m128i keep = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kKeep + kRun - length));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_and_si128(folded, keep));
    return length;
}

#endif

// The place of the first digit from `at` on, or `size`.
inline std::size_t find_digit(const std::uint8_t* text, std::size_t size, std::size_t at) {
#if defined(WATCHWORD_SSE2)
    for (; at + kRun <= size; at += kRun) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + at));
        const __m128i above = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
        const __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(above, _mm_set1_epi8(9)), above);
        const auto found = static_cast<unsigned>(_mm_movemask_epi8(digit));
        if (found != 0) return at + static_cast<std::size_t>(std::countr_zero(found));
    }
#endif
    while (at < size && (text[at] < '0' || text[at] > '9')) ++at;
    return at;
}

inline bool is_ascii(std::span<const std::uint8_t> bytes) {
    std::uint64_t seen = 0;
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        std::uint64_t eight;
        std::memcpy(&eight, bytes.data() + at, 8);
        seen |= eight;
    }
    for (; at < bytes.size(); ++at) seen |= bytes[at];
    return (seen & 0x8080808080808080) == 0;
}

}  // namespace watchword
