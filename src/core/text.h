// Splits text into terms. A TermBatch holds documents as sequences of symbols: ids of words (in a
// vocabulary of its own, so that splitting text needs no model) and marks for the end of a
// sequence, sentence or paragraph. Spans count code points of the original text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

struct Span {
    std::uint32_t start;
    std::uint32_t end;
};

struct TermBatch {
    std::vector<Symbol> symbols;
    std::vector<std::size_t> ends;  // of each document: one past its last symbol
    Vocabulary words;               // the vocabulary of the ids in `symbols`
    std::vector<Span> spans;        // one per symbol if asked for, otherwise empty

    std::size_t documents() const { return ends.size(); }
    std::size_t begin_of(std::size_t document) const {
        return document == 0 ? 0 : ends[document - 1];
    }
    std::span<const Symbol> document(std::size_t at) const {
        return {symbols.data() + begin_of(at), ends[at] - begin_of(at)};
    }
    void clear();
    // Some of the documents, with a vocabulary of their own words only.
    TermBatch part(const std::vector<std::size_t>& documents) const;

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
    TextReader(Paragraphs paragraphs, bool with_spans)
        : paragraphs_(paragraphs), with_spans_(with_spans), word_(64) {}

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

    void add(Symbol symbol, std::size_t start, std::size_t end) {
        batch_->symbols.push_back(symbol);
        if (!with_spans_) return;
        batch_->spans.push_back(
            {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(end)});
    }
    void add_break(std::size_t start, std::size_t end);
    void end_sentence();
    void end_paragraph();
    char* room(std::size_t bytes);

    Paragraphs paragraphs_;
    bool with_spans_;
    TermBatch* batch_ = nullptr;
    std::size_t document_begin_ = 0;
    std::vector<char> word_;  // the folded bytes of the word being read, with room behind them
    std::size_t word_size_ = 0;
};

}  // namespace watchword
