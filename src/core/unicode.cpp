#include "unicode.h"

#include <cstring>

namespace watchword {
namespace {

#include "unicode_table.inc"

constexpr std::uint32_t kItself = 255;

std::uint32_t record_of(std::uint32_t code_point) {
    const std::size_t block = kBlockOf[code_point >> kBlockShift];
    const std::size_t offset = code_point & ((1u << kBlockShift) - 1);
    return kRecords[kRecordOf[(block << kBlockShift) + offset]];
}

constexpr std::uint32_t kSyllableFirst = 0xAC00, kSyllableLast = 0xD7A3;

}  // namespace

char* write_utf8(std::uint32_t code_point, char* out) {
    const auto byte = [&out](std::uint32_t value) { *out++ = static_cast<char>(value); };
    if (code_point < 0x80) {
        byte(code_point);
    } else if (code_point < 0x800) {
        byte(0xC0 | code_point >> 6);
        byte(0x80 | (code_point & 0x3F));
    } else if (code_point < 0x10000) {
        byte(0xE0 | code_point >> 12);
        byte(0x80 | (code_point >> 6 & 0x3F));
        byte(0x80 | (code_point & 0x3F));
    } else {
        byte(0xF0 | code_point >> 18);
        byte(0x80 | (code_point >> 12 & 0x3F));
        byte(0x80 | (code_point >> 6 & 0x3F));
        byte(0x80 | (code_point & 0x3F));
    }
    return out;
}

bool is_hangul_syllable(std::uint32_t code_point) {
    return code_point >= kSyllableFirst && code_point <= kSyllableLast;
}

std::array<std::uint32_t, 3> parts_of_syllable(std::uint32_t code_point) {
    const std::uint32_t index = code_point - kSyllableFirst;
    const std::uint32_t last = index % 28 == 0 ? 0 : 0x11A7 + index % 28;
    return {0x1100 + index / 588, 0x1161 + index % 588 / 28, last};
}

std::string_view unicode_version() { return kUnicodeVersion; }

CharClass char_class(std::uint32_t code_point) {
    if (code_point > 0x10FFFF) return CharClass::Break;
    return static_cast<CharClass>(record_of(code_point) >> 28);
}

char* write_folded(std::uint32_t code_point, char* out) {
    if (is_hangul_syllable(code_point)) {  // its parts need no folding
        for (const std::uint32_t part : parts_of_syllable(code_point)) {
            if (part != 0) out = write_utf8(part, out);
        }
        return out;
    }
    const std::uint32_t record = record_of(code_point);
    const std::uint32_t length = record >> 20 & 0xFF;
    if (length == kItself) return write_utf8(code_point, out);
    std::memcpy(out, kFolded + (record & 0xFFFFF), length);
    return out + length;
}

}  // namespace watchword
