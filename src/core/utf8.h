// Texts that come as UTF-8, as columns of Arrow have them, for a TextReader. What is ASCII is read
// in place, and must stay there as long as this; the rest is decoded, and owned here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text.h"

namespace watchword {

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
