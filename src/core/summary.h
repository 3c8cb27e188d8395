// The summary operators, which combine the values of n-grams into those of sentences, paragraphs
// and the document; and the result of reading a document.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ngram_finder.h"

namespace watchword {

enum class SummaryOperator : std::uint8_t { Sum, Max, Mean };

// By level: n-grams to sentence, sentences to paragraph, paragraphs to document.
using SummaryOperators = std::array<SummaryOperator, 3>;

// One vector that grows by parts. All values are ≥ 0, so 0 is neutral for every operator.
class Accumulator {
   public:
    Accumulator(SummaryOperator operation, std::size_t labels)
        : operation_(operation), values_(labels, 0) {}

    // An n-gram's values; those at or below alpha count 0.
    void add(const ConfidenceRow& part, double alpha);
    void add(std::span<const double> part);
    // Adds another accumulator as a part, and clears it.
    void take(Accumulator& part);
    std::size_t parts() const { return parts_; }
    // The summary of all parts; a mean is divided here, so call it once.
    std::span<const double> finish();
    void reset();

   private:
    SummaryOperator operation_;
    std::vector<double> values_;
    std::size_t parts_ = 0;
};

// Summarises a document's n-grams, level by level.
class Levels {
   public:
    Levels(SummaryOperators operators, std::size_t labels)
        : sentence_(operators[0], labels),
          paragraph_(operators[1], labels),
          document_(operators[2], labels) {}

    void add(const ConfidenceRow& ngram, double alpha) { sentence_.add(ngram, alpha); }
    // Ends a block; unless it has no n-grams, `seen` is called with its values.
    template <class Seen>
    void end_sentence(const Seen& seen) {
        if (sentence_.parts() == 0) return;
        seen(sentence_.finish());
        paragraph_.take(sentence_);
    }
    template <class Seen>
    void end_paragraph(const Seen& seen) {
        if (paragraph_.parts() == 0) return;
        seen(paragraph_.finish());
        document_.take(paragraph_);
    }
    std::span<const double> finish() { return document_.finish(); }
    void reset() { document_.reset(); }

   private:
    Accumulator sentence_, paragraph_, document_;
};

// A block of the text: n-gram, sentence or paragraph.
struct Block {
    Span span;
    std::size_t parent;  // index of the sentence or paragraph it belongs to
};

// The data of an explanation of one document.
struct Reading {
    struct Ngram : Block {
        unsigned length;
        NgramId id;
        std::string words;
        std::size_t position;  // of its first word among the symbols
    };
    std::vector<Ngram> ngrams;
    std::vector<Block> sentences;
    std::vector<Block> paragraphs;
    std::vector<double> sentence_values;   // one row of labels per sentence
    std::vector<double> paragraph_values;  // and per paragraph
};

// Sets the spans of sentences and paragraphs, from the first to the last term of each.
void set_block_spans(const TermBatch& document, Reading& reading);

// Reads documents with one finder; keeps its buffers between them.
class DocumentReader {
   public:
    DocumentReader(NgramFinder& finder, const Memo& memo, SummaryOperators operators, double alpha);

    // Symbols are words of the model. Writes the vectors of documents that end at these places.
    void read(std::span<const Symbol> symbols, std::span<const std::size_t> ends, double* out);
    // The vector of one document; valid until the next call. `batch`, the document alone, with
    // spans, tells what the words and spans were.
    std::span<const double> read(std::span<const Symbol> symbols, const TermBatch& batch,
                                 Reading& reading);

   private:
    void take(const Choice& choice, const TermBatch* batch, Reading* reading);
    std::span<const double> finish(Reading* reading);
    void record_ngram(const Choice& choice, const TermBatch& batch, Reading& reading) const;
    void end_sentence(Reading* reading);
    void end_paragraph(Reading* reading);

    NgramFinder& finder_;
    const Memo& memo_;
    double alpha_;
    Levels levels_;
};

}  // namespace watchword
