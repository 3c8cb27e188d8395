// Splits text into terms. A TermBatch holds documents as sequences of symbols: ids of words (in a
// vocabulary of its own, so that splitting text needs no model) and marks for the end of a
// sequence, sentence or paragraph. Spans count code points of the original text.
// In text.cpp and, by PySS3's rules, text_pyss3.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleaning.h"
#include "vocabulary.h"

namespace watchword {

using Symbol = std::uint32_t;  // a WordId, or one of the marks below (or kUnknownWord)

constexpr Symbol kBreak = kFirstMark + 1;         // a non-word: no n-gram crosses it
constexpr Symbol kSentenceEnd = kFirstMark + 2;   // follows a break
constexpr Symbol kParagraphEnd = kFirstMark + 3;  // also ends the sentence

inline bool is_word(Symbol symbol) { return symbol < kFirstMark; }

// A text as Python keeps it: an array of code points of one, two or four bytes each.
struct TextView {
    const void* data;
    std::size_t size;
    unsigned width;
};

enum class Paragraphs : std::uint8_t { Lines, BlankLines };

// Words by Unicode's rules, or by those of PySS3 (cleaning.h).
enum class Tokenization : std::uint8_t { Unicode, Pyss3 };

// By PySS3's rules, texts to learn and texts to read are cut differently.
enum class Purpose : std::uint8_t { Learning, Reading };

struct TextRules {
    Paragraphs paragraphs = Paragraphs::Lines;
    Tokenization tokenization = Tokenization::Unicode;
};

struct TermBatch {
    std::vector<Symbol> symbols;
    std::vector<std::size_t> ends;  // of each document: one past its last symbol
    Vocabulary words;               // the vocabulary of the ids in `symbols`
    std::vector<Span> spans;        // one per symbol if asked for, otherwise empty
    // Documents that each counts as (those that were joined, or 0 for the rest of one); empty: one.
    std::vector<std::uint64_t> counted;
    unsigned longest = 0;  // of the n-grams to learn, in words; 0: as long as the model counts them
    bool is_learnt = false;  // learning uses the symbols up

    // Throws if the batch was learnt.
    void check_usable() const;
    // Of all memory, used or not.
    std::size_t capacity_bytes() const;

    std::size_t documents() const { return ends.size(); }
    std::size_t begin_of(std::size_t document) const {
        return document == 0 ? 0 : ends[document - 1];
    }
    std::uint64_t counted_as(std::size_t document) const {
        return counted.empty() ? 1 : counted[document];
    }
    std::span<const Symbol> document(std::size_t at) const {
        return {symbols.data() + begin_of(at), ends[at] - begin_of(at)};
    }
    void clear();
    // Some of the documents, with a vocabulary of their own words only.
    TermBatch part(const std::vector<std::size_t>& documents) const;
    // Some symbols as one text without spans, which counts as this many documents.
    TermBatch piece(std::size_t begin, std::size_t end, std::uint64_t documents) const;

    // Replaces every word by another, or by a break: `replacement[id]` for each id.
    void rewrite(const std::vector<std::optional<std::string>>& replacement);
};

// A word or a break (no word) from a user-defined tokenizer.
struct ForeignTerm {
    Span span;
    std::optional<std::string> word;
};

// Appends documents to a batch. Keeps its buffers between documents.
class TextReader {
   public:
    TextReader(TextRules rules, Purpose purpose, bool with_spans)
        : rules_(rules),
          purpose_(purpose),
          with_spans_(with_spans),
          word_(64),
          cut_(cut_for(rules, purpose)),
          cleaner_(cut_, with_spans) {}

    void read(TextView text, TermBatch& batch);

    // The text's own sentences and paragraphs, but the words of another tokenizer.
    void read_foreign(TextView text, const std::vector<ForeignTerm>& terms, TermBatch& batch);

   private:
    template <class Char>
    void read_characters(const Char* text, std::size_t size);
    template <class Char>
    std::size_t read_word(const Char* text, std::size_t size, std::size_t at);
    template <class Char>
    std::size_t fold_ascii(const Char* text, std::size_t size);
    template <class Char>
    std::size_t read_long_word(const Char* text, std::size_t size, std::size_t at);
    template <class Char>
    std::size_t read_blanks(const Char* text, std::size_t size, std::size_t at);
    template <class Char>
    std::size_t read_terminator(const Char* text, std::size_t size, std::size_t at);

    // PySS3's rules.
    template <class Char>
    void read_pyss3(const Char* text, std::size_t size);
    template <class Char>
    void clean_and_read(const Char* text, std::size_t size);
    template <class Char>
    void read_cleaned(const CleanText<Char>& text);
    template <class Char>
    std::size_t read_clean_word(const CleanText<Char>& text, std::size_t at);
    template <class Char>
    std::size_t assemble_clean_word(const CleanText<Char>& text, std::size_t at);
    template <class Char>
    void read_hash(const CleanText<Char>& text, std::size_t at);
    void end_clean_sentence(Span stop);

    // The word in word_, behind which there must be zeros.
    void add_word(std::size_t start, std::size_t end) {
        const PaddedWord word{word_.data(), static_cast<std::uint32_t>(word_size_)};
        add(batch_->words.find_or_add(word, hash_word(word)), start, end);
    }
    void pad_word();
    void add(Symbol symbol, std::size_t start, std::size_t end) {
        batch_->symbols.push_back(symbol);
        if (!with_spans_) return;
        batch_->spans.push_back(
            {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(end)});
    }
    void add_break(std::size_t start, std::size_t end);
    // One character may have become several words, of which only the first spans it.
    Span span_behind(Span origin) {
        const auto place = [this](std::uint32_t at) {
            return std::max(clean_end_, static_cast<std::uint32_t>(clean_offset_ + at));
        };
        const Span span{place(origin.start), place(origin.end)};
        clean_end_ = span.end;
        return span;
    }
    void add_break_at(Span origin) {
        const Span span = span_behind(origin);
        add_break(span.start, span.end);
    }
    void end_sentence();
    void end_paragraph();
    char* room(std::size_t bytes);

    TextRules rules_;
    Purpose purpose_;
    bool with_spans_;
    TermBatch* batch_ = nullptr;
    std::size_t document_begin_ = 0;
    std::vector<char> word_;  // the folded bytes of the word being read, with room behind them
    std::size_t word_size_ = 0;

    static Cut cut_for(TextRules rules, Purpose purpose) {
        if (purpose == Purpose::Learning) return Cut::Nowhere;
        return rules.paragraphs == Paragraphs::Lines ? Cut::StopsAndLines : Cut::Stops;
    }

    Cut cut_;
    Cleaner cleaner_;
    std::size_t clean_offset_ = 0;  // of the text being cleaned in the whole
    std::uint32_t clean_end_ = 0;   // of the last term
    std::size_t next_number_ = 0;   // of the cleaned text
    std::size_t next_hashtag_ = 0;  // the hash of a tag that follows another
};

}  // namespace watchword
