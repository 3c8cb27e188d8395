// Refinement: scores of labels over all n-grams of a document, counted values and corrections
// together, and how corrections are fitted.
//
//     x_t = (1 + ln tf_t) · idf_t · γ^(length - 1) / Z     Z: so that the squares add up to 1
//     S_c = b_c + Σ_t x_t · (k · (cv_tc - mean of cv_t over the labels) + w_tc)
//
// The weights w and biases b are those of a linear classifier with squared hinge loss, one label
// against the others, centred on the counted values; found by dual coordinate descent.
//
// w and b are fitted to learnt texts. These have n-grams that occur in no other text, with counted
// values that are higher the fewer texts the label has. New texts have no such n-grams, so that the
// fitted b favours labels with many texts too much. `lean`, measured on held-out texts
// (model/refining.py), corrects that:
//
//     b_c -= lean · (ln n_c - mean of ln n)     n: texts; labels without any are left
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "corrections.h"
#include "memo.h"
#include "ngram_finder.h"
#include "refiner.h"

namespace watchword {

// All documents that were learnt, N.
Count documents_of(const Counts& counts);

// ln((1 + N) / (1 + df)) + 1; where occurrences are counted, they take the place of documents.
double inverse_frequency(Count documents, Count of_ngram);

// The numerator of x; `decay` is γ^(length - 1).
double term_weight(Count times, double inverse_frequency, double decay);

// The new dual variable of a text and label: `score` is y·S, `squares` Σ x² + β, `slack` 1/(2C).
double dual_step(double dual, double score, double squares, double slack);

// ln n_c - mean of ln n, by label, over the labels that have texts; 0 for the others.
std::vector<double> leanings_of(std::span<const Count> texts);

// The numerators of x, with logarithms and powers from tables.
class TermWeights {
   public:
    TermWeights(const Counts& counts, double decay);

    double weight(unsigned length, Count times, Count of_ngram);

   private:
    const Count documents_;
    std::vector<double> decays_;               // by length - 1
    std::vector<double> inverse_frequencies_;  // of small numbers of documents; 0: not known yet
};

// A distinct n-gram of a document.
struct Feature {
    NgramId ngram;
    std::uint32_t length;
    std::uint32_t times;
    double x;
    Memo::Entry entry;  // its confidences, as long as the memo knows them
};

struct FeatureOccurrence {
    std::size_t position;
    std::size_t feature;
};

// Reads the features of documents; keeps its buffers between them.
class FeatureReader {
   public:
    FeatureReader(NgramFinder& finder, const Counts& counts, double decay, Memo& memo);

    // In the order in which they occur first; valid until the next call.
    std::span<const Feature> read(std::span<const Symbol> document,
                                  std::vector<FeatureOccurrence>* occurrences = nullptr);

   private:
    struct Slot {
        std::uint32_t stamp = 0;
        std::uint32_t feature = 0;
    };
    // Where a feature is, or has to be added.
    Slot& slot_of(unsigned length, NgramId ngram);
    void grow();

    NgramFinder& finder_;
    Memo& memo_;
    TermWeights weights_;
    std::vector<Feature> features_;
    std::vector<Slot> slots_;
    std::size_t used_slots_ = 0;  // for this document: a table that fits stays in the cache
    std::uint32_t stamp_ = table_size(0u, ~0u - 3);
};

// Scores documents with one memo, by label position.
class Scorer {
   public:
    Scorer(const Counts& counts, const Corrections& corrections, double alpha, Memo& memo);

    // Writes S; zeros for a document without known n-grams.
    void score(std::span<const Feature> features, double* out);
    // Adds Σ x · (cv - mean), the counted part without k, to zeros.
    void add_counted(std::span<const Feature> features, double* out);
    // Turns what add_counted has written into S.
    void finish(std::span<const Feature> features, double* out);
    // What one n-gram adds, apart: k · x · (cv - mean), and w · x.
    void parts(const Feature& feature, double* counted, double* corrected);

   private:
    static constexpr std::size_t kAhead = 8;  // features whose rows are fetched ahead

    void add_corrections(std::span<const Feature> features, double* out);

    const Counts& counts_;
    const Corrections& corrections_;
    const double alpha_;
    Memo& memo_;
    std::vector<double> sums_;                // by label id
    std::vector<Corrections::Place> places_;  // of the features' corrections
    std::vector<LabelCount> room_;
};

// Reads the features of learnt texts as if they had not been learnt: without their own counts.
class LeaveOneOut {
   public:
    LeaveOneOut(const Counts& counts, double decay, double alpha, Memo& memo);

    // Returns the features of a text, given those with its counts, and writes Σ x · (cv - mean) by
    // label position; valid until the next call.
    std::span<const Feature> read(std::span<const Feature> features, const TextLabels& labels,
                                  double* counted);

   private:
    // Whether no other text has it; decided without its counts, if at all.
    bool is_only_of(const Feature& feature, const TextLabels& labels) const;
    bool is_frequent(const Feature& feature, const TextLabels& labels) const;
    void add(const Feature& feature, Count of_ngram, const ConfidenceRow& row, double* counted);

    // An n-gram with more counts under the text's labels keeps its values: one document less
    // hardly changes them.
    static constexpr Count kFrequent = 32;

    const Counts& counts_;
    TermWeights weights_;
    const double alpha_;
    Memo& memo_;
    std::vector<Feature> features_;
    double means_ = 0;
};

// Corrects for one text on the fly: one step of the fit from a dual variable of 0. The counts must
// hold the text already.
void correct_once(const Counts& counts, Corrections& corrections, std::span<const Feature> features,
                  Scorer& scorer, const TextLabels& labels, double cost);

}  // namespace watchword
