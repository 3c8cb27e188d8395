// The class and folding of characters, from a generated table pinned to one Unicode version.
// Owns nothing: the table is constant data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace watchword {

// The order is that of tools/make_unicode_table.py.
enum class CharClass : std::uint8_t {
    Break,           // ends a word sequence
    Word,            // letter, digit or underscore
    Mark,            // part of a word after a word character, otherwise a break
    Blank,           // separates words
    LineEnd,         // a blank that may end a paragraph
    Apostrophe,      // part of a word between two word characters, otherwise a break
    Joiner,          // ignored between two word characters, otherwise a break
    Terminator,      // a break that ends a sentence before a blank
    WideTerminator,  // a break that ends a sentence whatever follows
    Closer,          // a break that belongs to the sentence whose terminator it follows
};

std::string_view unicode_version();

CharClass char_class(std::uint32_t code_point);

// No character folds to more bytes than this.
constexpr std::size_t kMaxFolded = 256;

// Writes the folded form (UTF-8) of one character of a word (decomposed, unaccented, case folded)
// and returns the end of what was written.
char* write_folded(std::uint32_t code_point, char* out);

// Hangul syllables decompose by arithmetic (Unicode, section 3.12).
bool is_hangul_syllable(std::uint32_t code_point);
// The third part is 0 where there are two.
std::array<std::uint32_t, 3> parts_of_syllable(std::uint32_t code_point);

// Writes a character in UTF-8 and returns the end of what was written.
char* write_utf8(std::uint32_t code_point, char* out);

}  // namespace watchword
