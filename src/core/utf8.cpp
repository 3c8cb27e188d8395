#include "utf8.h"

#include <stdexcept>
#include <string>

#include "ascii.h"

namespace watchword {
namespace {

// The code points; false if it is not UTF-8.
bool decode(std::span<const std::uint8_t> bytes, std::vector<std::uint32_t>& text) {
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        const CodePoint first = first_code_point(bytes);
        if (first.bytes == 0) return false;
        text.push_back(first.code);
        bytes = bytes.subspan(first.bytes);
    }
    return true;
}

}  // namespace

CodePoint first_code_point(std::span<const std::uint8_t> bytes) {
    constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    constexpr CodePoint kNone{0, 0};
    if (bytes.empty()) return kNone;
    const std::uint32_t lead = bytes[0];
    if (lead < 0x80) return {lead, 1};
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || length > bytes.size()) return kNone;
    std::uint32_t code = lead & (0xFFu >> (length + 1));
    for (std::size_t at = 1; at < length; ++at) {
        if ((bytes[at] & 0xC0) != 0x80) return kNone;
        code = code << 6 | (bytes[at] & 0x3F);
    }
    if (code < kLeast[length] || code > 0x10FFFF) return kNone;
    if (code >= 0xD800 && code <= 0xDFFF) return kNone;
    return {code, length};
}

Utf8Texts::Utf8Texts(std::span<const std::uint8_t> data, std::span<const std::int32_t> offsets) {
    for (std::size_t at = 0; at + 1 < offsets.size(); ++at) {
        const std::int32_t begin = offsets[at], end = offsets[at + 1];
        if (begin < 0 || end < begin || static_cast<std::size_t>(end) > data.size()) {
            throw std::invalid_argument("text " + std::to_string(at) + " lies elsewhere");
        }
        const auto bytes =
            data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
        if (is_ascii(bytes)) {
            views_.push_back({bytes.data(), bytes.size(), 1});
            continue;
        }
        std::vector<std::uint32_t>& text = decoded_.emplace_back();
        if (!decode(bytes, text)) {
            throw std::invalid_argument("text " + std::to_string(at) + " is not UTF-8");
        }
        views_.push_back({text.data(), text.size(), 4});
    }
}

}  // namespace watchword
