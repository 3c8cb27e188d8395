// Refinement: scores of labels over all n-grams of a document, counted values and corrections
// together, and how corrections are fitted. The equations are here; the exported page repeats that
// of the score in JavaScript, and tests compare the two.
//
//     x_t = (1 + ln tf_t) · idf_t · γ^(length - 1) / Z     Z: so that the squares add up to 1
//     S_c = b_c + Σ_t x_t · (k · (cv_tc - mean of cv_t over the labels) + w_tc)
//
// The weights w and biases b are those of a linear classifier with squared hinge loss, one label
// against the others, centred on the counted values; found by dual coordinate descent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "corrections.h"
#include "memo.h"
#include "parse.h"

namespace watchword {

// All documents that were learnt, N.
Count documents_of(const Counts& counts);

// ln((1 + N) / (1 + df)) + 1; where occurrences are counted, they take the place of documents.
double inverse_frequency(Count documents, Count of_ngram);

// The numerator of x; `decay` is γ^(length - 1).
double term_weight(Count times, double inverse_frequency, double decay);

// The new dual variable of a text and label: `score` is y·S, `squares` Σ x² + β, `slack` 1/(2C).
double dual_step(double dual, double score, double squares, double slack);

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
    FeatureReader(Parser& parser, const Counts& counts, double decay, Memo& memo);

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
    double inverse_frequency_of(const Feature& feature);

    Parser& parser_;
    Memo& memo_;
    const Count documents_;
    std::vector<double> decays_;  // of an n-gram, by length - 1
    std::vector<Feature> features_;
    std::vector<Slot> slots_;
    std::uint32_t stamp_ = 0;
    std::vector<double> inverse_frequencies_;  // of small numbers of documents
};

// Scores documents with one memo, by label position.
class Scorer {
   public:
    Scorer(const Counts& counts, const Corrections& corrections, double alpha, Memo& memo);

    // Writes S; zeros for a document without known n-grams.
    void score(std::span<const Feature> features, double* out);
    // Adds Σ x · (cv - mean), the counted part without k.
    void add_counted(std::span<const Feature> features, double* out);
    // What one n-gram adds, apart: k · x · (cv - mean), and w · x.
    void parts(const Feature& feature, double* counted, double* corrected);

   private:
    static constexpr std::size_t kAhead = 8;  // features whose memory is fetched ahead

    void add_corrections(std::span<const Feature> features, double* out);

    const Counts& counts_;
    const Corrections& corrections_;
    const double alpha_;
    Memo& memo_;
    std::vector<LabelCount> room_;
};

// The labels of a text, as ids; several where it has several.
using TextLabels = std::vector<LabelId>;

struct RefineSettings {
    double decay;
    double strength;
    double cost;
    double bias;
    bool balanced;  // weigh C so that texts inside and outside a label count alike in sum
    std::uint64_t seed;
};

// The texts while corrections are fitted to them.
class Refiner {
   public:
    Refiner(std::shared_ptr<const Counts> counts, const RefineSettings& settings)
        : counts_(std::move(counts)), settings_(settings) {}

    // In the order of the texts: features, and Σ x · (cv - mean) by label position.
    void add(std::span<const Feature> features, const double* counted, const TextLabels& labels);
    // One pass of descent over all texts, in a random order.
    void run_pass();
    std::shared_ptr<Corrections> finish() const;
    const Counts& counts() const { return *counts_; }
    std::size_t texts() const { return labels_.size(); }

   private:
    struct Use {
        std::uint32_t feature;
        float x;
    };
    struct Weighed {
        LabelId label;
        float weight;
    };

    std::uint32_t feature_of(const Feature& feature);
    void prepare();
    void correct(std::size_t text);

    std::shared_ptr<const Counts> counts_;
    const RefineSettings settings_;
    // N-grams in the order of their first occurrence, with a weight for each label that has it.
    std::vector<std::vector<std::uint32_t>> indices_;  // feature + 1 by shard (words last) and id
    std::vector<std::pair<unsigned, NgramId>> ngrams_;
    std::vector<std::uint64_t> begins_;
    std::vector<Weighed> weights_;
    // Texts.
    std::vector<Use> uses_;
    std::vector<std::uint64_t> ends_;
    std::vector<TextLabels> labels_;
    std::vector<float> counted_;  // by text and label id
    // The fit.
    bool prepared_ = false;
    double margins_ = 0;
    std::uint64_t random_ = 0;
    std::vector<std::uint32_t> order_;
    std::vector<float> duals_;                          // by text and label id
    std::vector<double> biases_;                        // by label id
    std::vector<double> slack_inside_, slack_outside_;  // 1/(2C) by label id
    std::vector<double> scores_, squares_, steps_;      // room, by label id
    std::vector<LabelCount> room_;
};

// Corrects for one text on the fly: one step of the fit from a dual variable of 0. The counts must
// hold the text already.
void correct_once(const Counts& counts, Corrections& corrections, std::span<const Feature> features,
                  Scorer& scorer, const TextLabels& labels);

}  // namespace watchword
