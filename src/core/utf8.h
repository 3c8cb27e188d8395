// UTF-8 texts, such as Arrow columns, for a TextReader. ASCII texts are read in place, so their
// buffer must outlive this object; other texts are decoded into memory owned here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text.h"

namespace watchword {

// The code point at the beginning of some bytes, and how many of them it takes; 0 if they do not
// begin with one (surrogates and overlong forms are none).
struct CodePoint {
    std::uint32_t code;
    std::size_t bytes;
};
CodePoint first_code_point(std::span<const std::uint8_t> bytes);

class Utf8Texts {
   public:
    // Text i lies at offsets[i] up to offsets[i + 1]. Throws std::invalid_argument where one is
    // not UTF-8, or lies elsewhere.
    Utf8Texts(std::span<const std::uint8_t> data, std::span<const std::int32_t> offsets);
    Utf8Texts(const Utf8Texts&) = delete;
    Utf8Texts& operator=(const Utf8Texts&) = delete;

    const std::vector<TextView>& views() const { return views_; }

   private:
    std::vector<TextView> views_;
    std::vector<std::vector<std::uint32_t>> decoded_;
};

}  // namespace watchword
