// PySS3's preprocessing, its `clean_and_ready`: characters are decomposed, marks and ASCII
// apostrophes dropped, and numbers found, which the patterns below replace by placeholder words.
// ASCII is cleaned in place where nothing is dropped. Owns the cleaned text until the next one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace watchword {

struct Span {
    std::uint32_t start;
    std::uint32_t end;
};

// Where text is cut before it is cleaned: texts to learn are cleaned as a whole.
enum class Cut : std::uint8_t { Nowhere, Stops, StopsAndLines };

// The kinds of characters in cleaned text.
enum class CleanKind : std::uint8_t {
    Other,     // separates words
    Space,     // separates words, and may be part of a number ("25 %")
    Word,      // letter, digit or underscore
    Digit,     // always part of a number
    Break,     // no n-gram is learnt across it
    Hash,      // a break unless a letter follows, or between two hashtags
    Stop,      // ends a sentence
    LineStop,  // ends a paragraph
};

constexpr std::uint32_t kSigma = 0x3A3;

// Whether a character is a cased letter, is ignored where case matters, or neither.
enum class Case : std::uint8_t { None, Cased, Ignorable };
Case case_of(std::uint32_t code_point);

using AsciiKinds = std::array<CleanKind, 128>;
extern const std::array<AsciiKinds, 3> kAsciiKinds;  // by cut
CleanKind wide_kind(std::uint32_t code_point);

inline CleanKind clean_kind(std::uint32_t code_point, Cut cut) {
    if (code_point < 128) return kAsciiKinds[static_cast<std::size_t>(cut)][code_point];
    return wide_kind(code_point);
}
bool is_clean_space(std::uint32_t code_point);
// Whether a character is one of a to z, in upper or lower case.
inline bool is_clean_letter(std::uint32_t code_point) {
    return (code_point | 0x20) >= 'a' && (code_point | 0x20) <= 'z';
}

// A number and the word that replaces it.
struct CleanNumber {
    std::size_t start;
    std::size_t end;
    std::string_view word;
};

template <class Char>  // uint8_t: ASCII as it was; uint32_t: code points in lower case, except Σ
struct CleanText {
    const Char* data;
    std::size_t size;
    std::span<const CleanNumber> numbers;  // ascending
    const Span* origins;                   // of each character; null if the text is the original

    Span origin(std::size_t at) const {
        const auto place = static_cast<std::uint32_t>(at);
        return origins == nullptr ? Span{place, place + 1} : origins[at];
    }
};

class Cleaner {
   public:
    Cleaner(Cut cut, bool with_origins) : cut_(cut), with_origins_(with_origins) {}

    CleanText<std::uint8_t> clean_ascii(const std::uint8_t* text, std::size_t size);
    template <class Char>
    CleanText<std::uint32_t> clean(const Char* text, std::size_t size);

   private:
    // A run of digits, and the number that begins with it.
    struct Digits {
        std::size_t start;
        std::size_t end;
        bool used = false;
        CleanNumber number{};
    };
    // What the pattern of a number matches from a run on: where it ends, and the run after it.
    struct Match {
        std::size_t end;
        std::size_t next;
    };

    template <class Char>
    void find_digits(const Char* text, std::size_t size);
    template <class Char>
    void find_numbers(const Char* text, std::size_t size);
    template <class Char, class Find>
    void replace(const Char* text, std::string_view word, const Find& find);
    template <class Char>
    Match match_number(const Char* text, std::size_t run) const;
    bool is_free(std::size_t run, std::size_t start) const {
        return run < digits_.size() && !digits_[run].used && digits_[run].start == start;
    }
    void append_cleaned(std::uint32_t code_point, Span origin);

    const Cut cut_;
    const bool with_origins_;
    std::vector<std::uint8_t> ascii_;
    std::vector<std::uint32_t> wide_;
    std::vector<Span> origins_;
    std::vector<Digits> digits_;
    std::vector<CleanNumber> numbers_;
};

}  // namespace watchword
