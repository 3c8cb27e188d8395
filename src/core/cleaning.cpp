#include "cleaning.h"

#include <array>
#include <cstring>

#include "ascii.h"
#include "unicode.h"
#include "utf8.h"

namespace watchword {
namespace {

#include "cleaning_table.inc"

// The order is that of tools/make_unicode_table.py.
enum class CleanClass : std::uint8_t { Other, Space, Digit, Uncased, Cased, Ignorable };

constexpr std::uint32_t kItself = 255;

// A full stop in text to read that a character was decomposed into: it does not end the sentence.
constexpr std::uint32_t kInnerStop = 0x110000;

std::uint32_t record_of(std::uint32_t code_point) {
    const std::size_t block = kBlockOf[code_point >> kBlockShift];
    const std::size_t offset = code_point & ((1u << kBlockShift) - 1);
    return kRecords[kRecordOf[(block << kBlockShift) + offset]];
}

CleanClass class_of(std::uint32_t code_point) {
    if (code_point > 0x10FFFF) return CleanClass::Other;
    return static_cast<CleanClass>(record_of(code_point) >> 28);
}

CleanKind kind_of(std::uint32_t code_point) {
    constexpr std::string_view kBreaks = "(),;:?!=\"/.|<>[]";
    if (code_point == kInnerStop) return CleanKind::Break;
    if (code_point < 128 && kBreaks.find(static_cast<char>(code_point)) != kBreaks.npos) {
        return CleanKind::Break;
    }
    if (code_point == '#') return CleanKind::Hash;
    switch (class_of(code_point)) {
        case CleanClass::Other: return CleanKind::Other;
        case CleanClass::Space: return CleanKind::Space;
        case CleanClass::Digit: return CleanKind::Digit;
        default: return CleanKind::Word;
    }
}

AsciiKinds make_ascii_kinds(Cut cut) {
    AsciiKinds kinds{};
    for (std::uint32_t code = 0; code < 128; ++code) kinds[code] = kind_of(code);
    if (cut != Cut::Nowhere) kinds['.'] = CleanKind::Stop;
    if (cut == Cut::StopsAndLines) kinds['\n'] = CleanKind::LineStop;
    return kinds;
}

}  // namespace

const std::array<AsciiKinds, 3> kAsciiKinds{make_ascii_kinds(Cut::Nowhere),
                                            make_ascii_kinds(Cut::Stops),
                                            make_ascii_kinds(Cut::StopsAndLines)};

CleanKind wide_kind(std::uint32_t code_point) { return kind_of(code_point); }

bool is_clean_space(std::uint32_t code_point) { return class_of(code_point) == CleanClass::Space; }

Case case_of(std::uint32_t code_point) {
    switch (class_of(code_point)) {
        case CleanClass::Cased: return Case::Cased;
        case CleanClass::Ignorable: return Case::Ignorable;
        default: return Case::None;
    }
}

CleanText<std::uint8_t> Cleaner::clean_ascii(const std::uint8_t* text, std::size_t size) {
    const auto next_apostrophe = [text, size](std::size_t at) {
        const void* found = at == size ? nullptr : std::memchr(text + at, '\'', size - at);
        return found == nullptr
                   ? size
                   : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - text);
    };
    std::size_t end = next_apostrophe(0);
    if (end == size) {
        find_numbers(text, size);
        return {text, size, numbers_, nullptr};
    }
    ascii_.clear();
    origins_.clear();
    for (std::size_t begin = 0; begin < size; begin = end + 1, end = next_apostrophe(begin)) {
        ascii_.insert(ascii_.end(), text + begin, text + end);
        for (std::size_t at = begin; with_origins_ && at < end; ++at) {
            const auto place = static_cast<std::uint32_t>(at);
            origins_.push_back({place, place + 1});
        }
        if (end == size) break;
    }
    find_numbers(ascii_.data(), ascii_.size());
    return {ascii_.data(), ascii_.size(), numbers_, with_origins_ ? origins_.data() : nullptr};
}

template <class Char>
CleanText<std::uint32_t> Cleaner::clean(const Char* text, std::size_t size) {
    wide_.clear();
    origins_.clear();
    for (std::size_t at = 0; at < size; ++at) {
        const auto code = static_cast<std::uint32_t>(text[at]);
        const auto place = static_cast<std::uint32_t>(at);
        if (code >= 128) {
            append_cleaned(code, {place, place + 1});
        } else if (code != '\'') {
            wide_.push_back(code >= 'A' && code <= 'Z' ? code | 0x20 : code);
            if (with_origins_) origins_.push_back({place, place + 1});
        }
    }
    find_numbers(wide_.data(), wide_.size());
    return {wide_.data(), wide_.size(), numbers_, with_origins_ ? origins_.data() : nullptr};
}

template CleanText<std::uint32_t> Cleaner::clean(const std::uint8_t*, std::size_t);
template CleanText<std::uint32_t> Cleaner::clean(const std::uint16_t*, std::size_t);
template CleanText<std::uint32_t> Cleaner::clean(const std::uint32_t*, std::size_t);

void Cleaner::append_cleaned(std::uint32_t code_point, Span origin) {
    const auto append = [&](std::uint32_t code) {
        if (code == '\'') return;
        if (code == '.' && cut_ != Cut::Nowhere) code = kInnerStop;
        wide_.push_back(code);
        if (with_origins_) origins_.push_back(origin);
    };
    if (is_hangul_syllable(code_point)) {
        for (const std::uint32_t part : parts_of_syllable(code_point)) {
            if (part != 0) append(part);
        }
        return;
    }
    const std::uint32_t record = code_point > 0x10FFFF ? kItself << 20 : record_of(code_point);
    const std::uint32_t length = record >> 20 & 0xFF;
    if (length == kItself) return append(code_point);
    std::span<const std::uint8_t> cleaned{kCleaned + (record & 0xFFFFF), length};
    // A mark belongs to the character before it.
    const bool follows = !origins_.empty() && origins_.back().end == origin.start;
    if (cleaned.empty() && follows) origins_.back().end = origin.end;
    while (!cleaned.empty()) {
        const CodePoint first = first_code_point(cleaned);
        append(first.code);
        cleaned = cleaned.subspan(first.bytes);
    }
}

template <class Char>
void Cleaner::find_digits(const Char* text, std::size_t size) {
    digits_.clear();
    const auto is_digit = [this](Char character) {
        return clean_kind(static_cast<std::uint32_t>(character), cut_) == CleanKind::Digit;
    };
    for (std::size_t at = 0; at < size;) {
        if constexpr (sizeof(Char) == 1) {
            at = find_digit(text, size, at);
            if (at == size) return;
        } else if (!is_digit(text[at])) {
            ++at;
            continue;
        }
        Digits run{at, at};
        while (run.end < size && is_digit(text[run.end])) ++run.end;
        at = run.end;
        digits_.push_back(run);
    }
}

// `\d+([.,]\d+)?`: no shorter match of it can be followed by what the other patterns need.
template <class Char>
Cleaner::Match Cleaner::match_number(const Char* text, std::size_t run) const {
    const std::size_t end = digits_[run].end;
    if (!is_free(run + 1, end + 1)) return {end, run + 1};
    const bool point =
        text[end] == ',' || text[end] == kInnerStop || (text[end] == '.' && cut_ == Cut::Nowhere);
    return point ? Match{digits_[run + 1].end, run + 2} : Match{end, run + 1};
}

// Replaces what a pattern matches, from left to right. `find(run, start)` tells what it matches
// from a run of digits on, and may move the start; no match ends at 0.
template <class Char, class Find>
void Cleaner::replace(const Char* text, std::string_view word, const Find& find) {
    for (std::size_t run = 0; run < digits_.size();) {
        std::size_t start = digits_[run].start;
        const Match match = digits_[run].used ? Match{0, 0} : find(match_number(text, run), start);
        if (match.end == 0) {
            ++run;
            continue;
        }
        digits_[run].number = {start, match.end, word};
        for (; run < match.next; ++run) digits_[run].used = true;
    }
}

// The patterns in PySS3's order: what one has replaced, the next does not see.
template <class Char>
void Cleaner::find_numbers(const Char* text, std::size_t size) {
    constexpr Match kNone{0, 0};
    numbers_.clear();
    find_digits(text, size);
    if (digits_.empty()) return;
    const auto is_space = [this](Char character) {
        return clean_kind(static_cast<std::uint32_t>(character), cut_) == CleanKind::Space;
    };
    const auto skip_spaces = [&](std::size_t at) {
        while (at < size && is_space(text[at])) ++at;
        return at;
    };
    // A date's separator, and the number behind it.
    const auto next_part = [&](Match before) {
        const bool separator =
            before.end < size &&
            (text[before.end] == '-' || text[before.end] == '/' || text[before.end] == '\\');
        if (!separator || !is_free(before.next, before.end + 1)) return kNone;
        return match_number(text, before.next);
    };
    replace(text, "nnbrrt", [&](Match number, std::size_t&) {
        const std::size_t unit = skip_spaces(number.end);
        if (unit == size) return kNone;
        const auto lower = static_cast<std::uint32_t>(text[unit]) | 0x20;
        const bool found = (lower == 'c' || lower == 'f') &&
                           (unit + 1 == size || !is_clean_letter(text[unit + 1]));
        return found ? Match{unit + 1, number.next} : kNone;
    });
    replace(text, "nnbrrd", [&](Match number, std::size_t&) {
        const Match second = next_part(number);
        return second.end == 0 ? kNone : next_part(second);
    });
    replace(text, "mnnbrr", [&](Match number, std::size_t& start) {
        std::size_t sign = start;
        while (sign > 0 && is_space(text[sign - 1])) --sign;
        if (sign == 0 || text[sign - 1] != '$') return kNone;
        start = sign - 1;
        return number;
    });
    replace(text, "nnbrrp", [&](Match number, std::size_t&) {
        const std::size_t sign = skip_spaces(number.end);
        return sign < size && text[sign] == '%' ? Match{sign + 1, number.next} : kNone;
    });
    replace(text, "nnbrr", [](Match number, std::size_t&) { return number; });
    for (const Digits& run : digits_) {
        if (run.number.end != 0) numbers_.push_back(run.number);
    }
}

}  // namespace watchword
