// The paths of documents in the tree, walked once and evaluated with many parameters. A search for
// parameters reads the same documents with the same counts many times; trails compute only what
// changes, the values of n-grams and their sums. N-grams with equal counts have equal values, so
// each distinct row of counts is evaluated once. The model is not needed afterwards. The results
// equal those of reading, to the last bit.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "counts.h"
#include "valuer.h"

namespace watchword {

struct Parameters;

class Trails {
   public:
    // Data needed besides the n-grams of the documents.
    struct Needs {
        bool largest_values = false;  // for the normalised confidences: rows of the whole model
        bool words = false;           // for NormGvXai: of which words an n-gram consists
    };

    // Symbols are words of the model; `ends` has one past the last symbol of each document.
    Trails(const Counts& counts, std::span<const Symbol> symbols, std::span<const std::size_t> ends,
           unsigned max_ngram, Needs needs);
    ~Trails();

    std::size_t documents() const { return ends_.size(); }
    const std::vector<Label>& labels() const { return labels_; }
    unsigned max_ngram() const { return max_ngram_; }
    const Needs& needs() const { return needs_; }
    std::size_t rows() const { return rows_.size(); }

    // The confidences of all documents, one row of labels each. Many threads may call it at once.
    std::vector<double> confidence(const Parameters& parameters) const;

   private:
    using RowId = std::uint32_t;

    // The counts of n-grams under the labels where they occurred, by ascending position.
    struct Row {
        unsigned length;
        std::uint32_t size;
        std::size_t begin;  // in positions_ and counts_
        std::size_t words;  // in words_, where words matter
    };
    // A word of a document, or the end of a sentence or paragraph.
    struct Place {
        enum class Kind : std::uint8_t { Known, Unknown, SentenceEnd, ParagraphEnd };
        Kind kind;
        std::uint8_t matched;  // n-grams of 1 to so many words begin here
        std::uint32_t steps;   // in steps_: their rows
    };
    struct Workspace;
    class Path;
    class Interner;

    void walk(const Counts& counts, std::span<const Symbol> symbols, Interner& interner);
    void value_rows(const Parameters& parameters, Workspace& workspace) const;
    void read(const Parameters& parameters, Workspace& workspace, double* out) const;
    std::unique_ptr<Workspace> take_workspace() const;

    std::vector<Label> labels_;
    unsigned max_ngram_;
    Needs needs_;
    Scale scale_;
    std::vector<Row> rows_;   // of the documents' n-grams
    std::vector<Row> every_;  // of all n-grams, where the largest values matter
    std::vector<LabelPosition> positions_;
    std::vector<Count> counts_;
    std::vector<RowId> words_;
    std::vector<RowId> steps_;
    std::vector<Place> places_;
    std::vector<std::size_t> ends_;  // of each document in places_

    mutable std::mutex idle_mutex_;
    mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace watchword
