// Splitting text as PySS3 does: the part of TextReader that reads cleaned text.
#include <cstring>

#include "ascii.h"
#include "text.h"
#include "unicode.h"

namespace watchword {
namespace {

constexpr std::size_t kNowhere = ~std::size_t{0};

template <class Char>
std::size_t start_of(const CleanText<Char>& text, std::size_t number) {
    return number < text.numbers.size() ? text.numbers[number].start : kNowhere;
}

// Where the blank line behind `at` begins, or the end of the text.
template <class Char>
std::size_t find_blank_line(const Char* text, std::size_t size, std::size_t at) {
    for (; at < size; ++at) {
        if (text[at] != '\n') continue;
        std::size_t next = at + 1;
        while (next < size && text[next] != '\n' && is_clean_space(text[next])) ++next;
        if (next < size && text[next] == '\n') return at;
        at = next - 1;
    }
    return size;
}

}  // namespace

template <class Char>
void TextReader::read_pyss3(const Char* text, std::size_t size) {
    clean_offset_ = 0;
    clean_end_ = 0;
    if (cut_ != Cut::Stops) {
        clean_and_read(text, size);
        return end_paragraph();
    }
    while (clean_offset_ < size) {
        const std::size_t end = find_blank_line(text, size, clean_offset_);
        clean_and_read(text + clean_offset_, end - clean_offset_);
        end_paragraph();
        clean_offset_ = end + 1;
    }
}

template void TextReader::read_pyss3(const std::uint8_t*, std::size_t);
template void TextReader::read_pyss3(const std::uint16_t*, std::size_t);
template void TextReader::read_pyss3(const std::uint32_t*, std::size_t);

template <class Char>
void TextReader::clean_and_read(const Char* text, std::size_t size) {
    if constexpr (sizeof(Char) == 1) {
        if (is_ascii({text, size})) return read_cleaned(cleaner_.clean_ascii(text, size));
    }
    read_cleaned(cleaner_.clean(text, size));
}

template <class Char>
void TextReader::read_cleaned(const CleanText<Char>& text) {
    next_number_ = 0;
    next_hashtag_ = kNowhere;
    for (std::size_t at = 0; at < text.size;) {
        const CleanKind kind = clean_kind(text.data[at], cut_);
        if (kind == CleanKind::Word || at == start_of(text, next_number_)) {
            at = read_clean_word(text, at);
            continue;
        }
        const Span place = text.origin(at);
        switch (kind) {
            case CleanKind::Break:
                // A text is read across breaks, but not learnt across them.
                if (cut_ == Cut::Nowhere) add_break_at(place);
                break;
            case CleanKind::Hash:
                if (cut_ == Cut::Nowhere) read_hash(text, at);
                break;
            case CleanKind::Stop: end_clean_sentence(place); break;
            case CleanKind::LineStop: end_paragraph(); break;
            default: break;
        }
        ++at;
    }
}

template <class Char>
std::size_t TextReader::read_clean_word(const CleanText<Char>& text, std::size_t at) {
    const std::size_t start = at;
    word_size_ = 0;
    if constexpr (sizeof(Char) == 1) word_size_ = fold_ascii(text.data + at, text.size - at);
    at += word_size_;
    // Most words are short, ASCII and without numbers.
    const bool whole = word_size_ > 0 && at < start_of(text, next_number_) &&
                       (at == text.size || clean_kind(text.data[at], cut_) != CleanKind::Word);
    if (!whole) at = assemble_clean_word(text, start);
    const Span span = span_behind({text.origin(start).start, text.origin(at - 1).end});
    add_word(span.start, span.end);
    return at;
}

template <class Char>
std::size_t TextReader::assemble_clean_word(const CleanText<Char>& text, std::size_t at) {
    word_size_ = 0;
    Case before = Case::None;  // of the last character that is not ignored
    const auto write = [&](std::uint32_t code) {
        word_size_ = static_cast<std::size_t>(write_utf8(code, room(4)) - word_.data());
    };
    // `str.lower`: a sigma is final after a cased letter, unless another one follows.
    const auto lower_sigma = [&](std::size_t next) -> std::uint32_t {
        while (next < text.size && next != start_of(text, next_number_) &&
               case_of(text.data[next]) == Case::Ignorable) {
            ++next;
        }
        const bool followed = next == start_of(text, next_number_) ||
                              (next < text.size && case_of(text.data[next]) == Case::Cased);
        return before == Case::Cased && !followed ? 0x3C2 : 0x3C3;
    };
    while (at < text.size) {
        if (at == start_of(text, next_number_)) {
            const CleanNumber& number = text.numbers[next_number_++];
            std::memcpy(room(number.word.size()), number.word.data(), number.word.size());
            word_size_ += number.word.size();
            before = Case::Cased;
            at = number.end;
            continue;
        }
        if (clean_kind(text.data[at], cut_) != CleanKind::Word) break;
        const std::uint32_t code = text.data[at];
        if (code < 128) {
            write(code >= 'A' && code <= 'Z' ? code | 0x20 : code);
        } else {
            write(code == kSigma ? lower_sigma(at + 1) : code);
        }
        if (const Case own = case_of(code); own != Case::Ignorable) before = own;
        ++at;
    }
    pad_word();
    return at;
}

// Hashtags break n-grams between one and the next, and so does a hash without a tag.
template <class Char>
void TextReader::read_hash(const CleanText<Char>& text, std::size_t at) {
    const Span place = text.origin(at);
    std::size_t number = next_number_;
    std::size_t end = at + 1;
    for (; end < text.size; ++end) {
        if (end == start_of(text, number)) {
            end = text.numbers[number++].end - 1;
        } else if (!is_clean_letter(text.data[end])) {
            break;
        }
    }
    if (end == at + 1 || at == next_hashtag_) add_break_at(place);
    if (end == at + 1) return;
    while (end < text.size && clean_kind(text.data[end], cut_) == CleanKind::Space) ++end;
    if (end < text.size && text.data[end] == '#') next_hashtag_ = end;
}

// The stop belongs to the sentence, unless that has no words.
void TextReader::end_clean_sentence(Span stop) {
    const bool first = batch_->symbols.size() == document_begin_;
    if (first || !is_word(batch_->symbols.back())) return;
    add_break_at(stop);
    end_sentence();
}

}  // namespace watchword
