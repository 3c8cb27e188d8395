#include "text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "ascii.h"
#include "unicode.h"

namespace watchword {
namespace {

// Most text is ASCII: one look-up tells what a character is and what it folds to.
struct AsciiTable {
    std::array<CharClass, 128> kind;
    std::array<char, 128> folded;  // 0 unless the character is a word character
};

AsciiTable make_ascii_table() {
    AsciiTable table{};
    for (std::uint32_t code = 0; code < 128; ++code) {
        table.kind[code] = char_class(code);
        if (table.kind[code] == CharClass::Word) write_folded(code, &table.folded[code]);
    }
    return table;
}

const AsciiTable kAscii = make_ascii_table();

template <class Char>
CharClass class_of(Char character) {
    const auto code = static_cast<std::uint32_t>(character);
    return code < 128 ? kAscii.kind[code] : char_class(code);
}

template <class Char>
char ascii_folded(Char character) {
    const auto code = static_cast<std::uint32_t>(character);
    return code < 128 ? kAscii.folded[code] : '\0';
}

bool is_terminator(CharClass kind) {
    return kind == CharClass::Terminator || kind == CharClass::WideTerminator;
}

bool is_closer(CharClass kind) {
    return kind == CharClass::Closer || kind == CharClass::Apostrophe;
}

// Whether a word may go on with this character.
template <class Char>
bool may_continue(Char character) {
    const auto code = static_cast<std::uint32_t>(character);
    return code >= 128 || kAscii.folded[code] != '\0' || code == '\'';
}

// Whether a word continues with this after a joiner: vowel signs may follow one, too.
bool goes_on(CharClass kind) { return kind == CharClass::Word || kind == CharClass::Mark; }

template <class Char>
std::size_t skip_joiners(const Char* text, std::size_t size, std::size_t at) {
    while (at < size && class_of(text[at]) == CharClass::Joiner) ++at;
    return at;
}

// Whether a character is here neither part of a word nor the end of a sentence.
bool is_plain_break(CharClass kind) {
    return kind == CharClass::Break || kind == CharClass::Closer;
}

bool is_blank(CharClass kind) { return kind == CharClass::Blank || kind == CharClass::LineEnd; }

}  // namespace

void TermBatch::clear() {
    symbols.clear();
    ends.clear();
    words.clear();
    spans.clear();
    counted.clear();
    longest = 0;
    is_learnt = false;
}

void TermBatch::check_usable() const {
    if (is_learnt) {
        throw std::invalid_argument(
            "these terms were learnt, which uses them up: read the texts again");
    }
}

std::size_t TermBatch::capacity_bytes() const {
    return words.capacity_bytes() + symbols.capacity() * sizeof(Symbol) +
           spans.capacity() * sizeof(Span) + ends.capacity() * sizeof(std::size_t);
}

TermBatch TermBatch::part(const std::vector<std::size_t>& documents) const {
    check_usable();
    TermBatch part;
    part.longest = longest;
    std::vector<Symbol> id_of(words.id_limit(), kUnknownWord);
    for (const std::size_t document : documents) {
        if (document >= ends.size()) throw std::out_of_range("no such document");
        for (std::size_t at = begin_of(document); at < ends[document]; ++at) {
            Symbol symbol = symbols[at];
            if (is_word(symbol)) {
                Symbol& id = id_of[symbol];
                if (id == kUnknownWord) id = part.words.find_or_add(words.word(symbol));
                symbol = id;
            }
            part.symbols.push_back(symbol);
            if (!spans.empty()) part.spans.push_back(spans[at]);
        }
        part.ends.push_back(part.symbols.size());
        if (!counted.empty()) part.counted.push_back(counted[document]);
    }
    return part;
}

TermBatch TermBatch::piece(std::size_t begin, std::size_t end, std::uint64_t documents) const {
    check_usable();
    TermBatch piece;
    piece.longest = longest;
    piece.symbols.assign(symbols.begin() + static_cast<std::ptrdiff_t>(begin),
                         symbols.begin() + static_cast<std::ptrdiff_t>(end));
    for (Symbol& symbol : piece.symbols) {
        if (is_word(symbol)) symbol = piece.words.find_or_add(words.word(symbol));
    }
    piece.ends.push_back(piece.symbols.size());
    piece.counted.push_back(documents);
    return piece;
}

void TermBatch::rewrite(const std::vector<std::optional<std::string>>& replacement) {
    check_usable();
    Vocabulary rewritten;
    std::vector<Symbol> symbol_of(replacement.size(), kBreak);
    for (std::size_t id = 0; id < replacement.size(); ++id) {
        if (replacement[id]) symbol_of[id] = rewritten.find_or_add(*replacement[id]);
    }
    for (Symbol& symbol : symbols) {
        if (is_word(symbol)) symbol = symbol_of[symbol];
    }
    words = std::move(rewritten);
}

void TextReader::read(TextView text, TermBatch& batch) {
    if (text.size > std::numeric_limits<std::uint32_t>::max()) {
        throw std::length_error("a text has more than 2^32 characters");
    }
    batch_ = &batch;
    document_begin_ = batch.symbols.size();
    const auto read_as = [&](auto* characters) {
        if (rules_.tokenization == Tokenization::Pyss3) {
            read_pyss3(characters, text.size);
        } else {
            read_characters(characters, text.size);
        }
    };
    switch (text.width) {
        case 1: read_as(static_cast<const std::uint8_t*>(text.data)); break;
        case 2: read_as(static_cast<const std::uint16_t*>(text.data)); break;
        default: read_as(static_cast<const std::uint32_t*>(text.data)); break;
    }
    batch.ends.push_back(batch.symbols.size());
}

template <class Char>
void TextReader::read_characters(const Char* text, std::size_t size) {
    std::size_t at = 0;
    while (at < size) {
        if (text[at] == ' ') {
            ++at;
            continue;
        }
        switch (class_of(text[at])) {
            case CharClass::Word: at = read_word(text, size, at); break;
            case CharClass::Blank:
            case CharClass::LineEnd: at = read_blanks(text, size, at); break;
            case CharClass::Terminator:
            case CharClass::WideTerminator: at = read_terminator(text, size, at); break;
            default: {
                const std::size_t start = at;
                do ++at;
                while (at < size && is_plain_break(class_of(text[at])));
                add_break(start, at);
            }
        }
    }
    end_paragraph();
}

// The fast path: most words are short and ASCII. All others take the slow path.
template <class Char>
std::size_t TextReader::read_word(const Char* text, std::size_t size, std::size_t at) {
    const std::size_t start = at;
    word_size_ = fold_ascii(text + at, size - at);
    at += word_size_;
    if (at < size && may_continue(text[at])) {
        at = read_long_word(text, size, at);
        if (word_size_ == 0) {
            add_break(start, at);
            return at;
        }
    }
    add_word(start, at);
    return at;
}

// Folds the ASCII word characters at the beginning (at most kRun) into word_, zeros behind them.
template <class Char>
std::size_t TextReader::fold_ascii(const Char* text, std::size_t size) {
#if defined(WATCHWORD_SSE2)
    if constexpr (sizeof(Char) == 1) {
        if (size >= kRun) return fold_run(text, word_.data());
    }
#endif
    std::memset(word_.data(), 0, kRun);
    const std::size_t limit = std::min(size, kRun);
    std::size_t length = 0;
    for (char folded; length < limit && (folded = ascii_folded(text[length])) != '\0'; ++length) {
        word_[length] = folded;
    }
    return length;
}

template std::size_t TextReader::fold_ascii(const std::uint8_t*, std::size_t);

template <class Char>
std::size_t TextReader::read_long_word(const Char* text, std::size_t size, std::size_t at) {
    for (; at < size; ++at) {
        const CharClass kind = class_of(text[at]);
        if (kind == CharClass::Word || kind == CharClass::Mark) {
            char* end = write_folded(static_cast<std::uint32_t>(text[at]), room(kMaxFolded));
            word_size_ = static_cast<std::size_t>(end - word_.data());
        } else if (kind == CharClass::Apostrophe && at + 1 < size &&
                   class_of(text[at + 1]) == CharClass::Word) {
            *room(1) = '\'';
            ++word_size_;
        } else if (kind == CharClass::Joiner) {
            const std::size_t next = skip_joiners(text, size, at);
            if (next == size || !goes_on(class_of(text[next]))) break;
            at = next - 1;
        } else {
            break;
        }
    }
    pad_word();
    return at;
}

template <class Char>
std::size_t TextReader::read_blanks(const Char* text, std::size_t size, std::size_t at) {
    std::size_t line_ends = 0;
    for (; at < size; ++at) {
        const CharClass kind = class_of(text[at]);
        if (!is_blank(kind)) break;
        if (kind == CharClass::LineEnd) {
            ++line_ends;
            const bool carriage = text[at] == '\r' && at + 1 < size && text[at + 1] == '\n';
            if (carriage) ++at;
        }
    }
    if (line_ends >= (rules_.paragraphs == Paragraphs::Lines ? 1u : 2u)) end_paragraph();
    return at;
}

template <class Char>
std::size_t TextReader::read_terminator(const Char* text, std::size_t size, std::size_t at) {
    const std::size_t start = at;
    bool wide = false;
    for (; at < size && is_terminator(class_of(text[at])); ++at) {
        wide |= class_of(text[at]) == CharClass::WideTerminator;
    }
    while (at < size && is_closer(class_of(text[at]))) ++at;
    add_break(start, at);
    if (wide || at == size || is_blank(class_of(text[at]))) end_sentence();
    return at;
}

void TextReader::read_foreign(TextView text, const std::vector<ForeignTerm>& terms,
                              TermBatch& batch) {
    TermBatch own;
    TextReader(rules_, purpose_, true).read(text, own);
    batch_ = &batch;
    document_begin_ = batch.symbols.size();
    std::size_t next = 0;
    // A sentence or paragraph ends after the last own symbol before its mark; every foreign term
    // that starts before that place belongs to it.
    const auto add_before = [&](std::uint32_t end) {
        for (; next < terms.size() && terms[next].span.start < end; ++next) {
            const ForeignTerm& term = terms[next];
            if (!term.word) {
                add_break(term.span.start, term.span.end);
                continue;
            }
            add(batch.words.find_or_add(*term.word), term.span.start, term.span.end);
        }
    };
    std::uint32_t end = 0;
    for (std::size_t at = 0; at < own.symbols.size(); ++at) {
        if (own.symbols[at] == kSentenceEnd || own.symbols[at] == kParagraphEnd) {
            add_before(end);
            if (own.symbols[at] == kSentenceEnd) {
                end_sentence();
            } else {
                end_paragraph();
            }
        } else {
            end = own.spans[at].end;
        }
    }
    add_before(std::numeric_limits<std::uint32_t>::max());
    end_paragraph();
    batch.ends.push_back(batch.symbols.size());
}

void TextReader::add_break(std::size_t start, std::size_t end) {
    const bool first = batch_->symbols.size() == document_begin_;
    if (first || batch_->symbols.back() != kBreak) {
        add(kBreak, start, end);
    } else if (with_spans_) {
        batch_->spans.back().end = static_cast<std::uint32_t>(end);
    }
}

void TextReader::end_sentence() {
    const bool first = batch_->symbols.size() == document_begin_;
    if (first || batch_->symbols.back() == kParagraphEnd) return;
    if (batch_->symbols.back() != kSentenceEnd) add(kSentenceEnd, 0, 0);
}

void TextReader::end_paragraph() {
    const bool first = batch_->symbols.size() == document_begin_;
    if (first || batch_->symbols.back() == kParagraphEnd) return;
    add(kParagraphEnd, 0, 0);
}

void TextReader::pad_word() {
    if (word_size_ > std::numeric_limits<std::uint32_t>::max() - 8) {
        throw std::length_error("a word is longer than 4 GiB");
    }
    std::memset(room(8), 0, 8);
}

char* TextReader::room(std::size_t bytes) {
    const std::size_t needed = word_size_ + bytes;
    if (word_.size() < needed) word_.resize(std::max(needed, word_.size() * 2));
    return word_.data() + word_size_;
}

}  // namespace watchword
