// The fit of corrections to texts (refine.h has the equations). Owns the texts' features, laid out
// for many passes over them: n-grams that most labels have as dense rows, the others as rows of
// their labels. An n-gram of one text only needs no weight while fitting, since that is the text's
// dual variable times x.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "corrections.h"
#include "pages.h"

namespace watchword {

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

// An n-gram of a text while it is fitted.
struct TextFeature {
    static constexpr LabelId kSeveral = ~0u;

    NgramId ngram;
    std::uint32_t length;
    float x;
    LabelId only;  // the label that it was counted under, or kSeveral
};

class Refiner {
   public:
    static constexpr std::size_t kNoFold = ~std::size_t{0};

    // `texts` will be added.
    Refiner(std::shared_ptr<const Counts> counts, const RefineSettings& settings, std::size_t texts)
        : counts_(std::move(counts)),
          settings_(settings),
          labels_(counts_->labels().id_limit()),
          expected_texts_(texts) {}

    // Adds a text of a fold: its features, and Σ x · (cv - mean) by label position.
    void add(std::size_t fold, std::span<const TextFeature> features, const double* counted,
             const TextLabels& labels);
    // Has the last text scored by the fit that leaves its fold out; features and counted part are
    // those that it would have if it had not been learnt.
    void hold_out(std::span<const TextFeature> features, const double* counted);

    // Begins a fit to the texts outside of a fold, or to all with kNoFold.
    void begin(std::size_t left_out);
    // One pass of descent over the texts, in a random order.
    void run_pass();
    // How far the biases of labels lean towards those with many texts, in units of the lean that is
    // to be taken back; by label position.
    std::vector<double> leanings() const;
    std::shared_ptr<Corrections> finish(double lean) const;
    // The scores of texts of the fold that is left out, one row of label positions for each.
    std::vector<double> held_out_scores();

    const Counts& counts() const { return *counts_; }
    std::size_t texts() const { return texts_.size(); }

   private:
    struct Use {
        std::uint32_t feature;  // once laid out, the place of its row, unless it is unique
        float x;
    };
    // An entry of a sparse row. The first has the number of those that follow as its label.
    struct Weighed {
        LabelId label;
        float weight;
    };
    // The uses of a text: of n-grams with a dense row, with a sparse one, and of this text only.
    struct Uses {
        std::uint64_t begin, sparse, unique, end;

        std::span<const Use> dense_of(const Table<Use>& all) const {
            return {all.data() + begin, all.data() + sparse};
        }
        std::span<const Use> sparse_of(const Table<Use>& all) const {
            return {all.data() + sparse, all.data() + unique};
        }
        std::span<const Use> unique_of(const Table<Use>& all) const {
            return {all.data() + unique, all.data() + end};
        }
    };
    struct Text {
        TextLabels labels;
        Uses uses;
        double margin;  // the mean counted score of its labels
        std::size_t fold;
    };
    void make_room(std::size_t uses);
    void add_uses(std::span<const TextFeature> features, Table<Use>& uses);
    void append_counted(const double* counted, std::vector<float>& rows) const;
    void lay_out();
    void lay_out_rows(const Table<std::uint32_t>& used);
    float* dense_row(std::uint32_t row) { return dense_.data() + std::size_t{2} * row * labels_; }
    const float* dense_row(std::uint32_t row) const {
        return dense_.data() + std::size_t{2} * row * labels_;
    }
    std::span<Weighed> sparse_row(std::uint32_t begin) {
        return {sparse_.data() + begin + 1, sparse_[begin].label};
    }
    std::span<const Weighed> sparse_row(std::uint32_t begin) const {
        return {sparse_.data() + begin + 1, sparse_[begin].label};
    }
    struct SortRoom {
        std::vector<Use> sparse, unique;
    };
    void sort_uses(Table<Use>& all, Uses& uses, SortRoom& room) const;
    void add_squares(std::size_t text);
    template <class Visit>
    void for_each_label(std::uint32_t feature, const Visit& visit) const;
    void add_weights(std::span<const Use> dense, std::span<const Use> sparse);
    void add_steps(std::span<const Use> dense, std::span<const Use> sparse);
    void correct(std::size_t text);
    Fit fit() const;

    std::shared_ptr<const Counts> counts_;
    const RefineSettings settings_;
    const std::size_t labels_;  // ids of labels are below
    const std::size_t expected_texts_;

    // N-grams, in the order of their first use.
    static constexpr std::uint32_t kUnique = ~0u;
    std::vector<Table<std::uint32_t>> indices_;  // feature + 1 by shard (words last) and id
    Table<std::pair<unsigned, NgramId>> ngrams_;
    Table<LabelId> only_;
    // The number of a dense row; the beginning of a sparse one, after those numbers; or kUnique.
    Table<std::uint32_t> places_;
    // Weights.
    std::uint32_t dense_rows_ = 0;
    // By row and label id: the weights, then 1, or 0 where there must be no weight.
    Table<float> dense_;
    Table<Weighed> sparse_;

    // Texts.
    Table<Use> uses_;
    std::vector<Text> texts_;
    std::vector<float> counted_;  // by text and label id, as all of these
    std::vector<float> squares_;  // Σ x² + β over the n-grams that are counted under the label
    std::vector<float> unique_;   // Σ x² of the n-grams that no other text has
    Table<Use> held_out_uses_;
    struct HeldOut {
        std::size_t fold;
        Uses uses;
    };
    std::vector<HeldOut> held_out_;
    std::vector<float> held_out_counted_;

    // The fit.
    bool laid_out_ = false;
    std::size_t left_out_ = kNoFold;  // the fold
    double margins_ = 0;
    float scale_ = 0;
    std::uint64_t random_ = 0;
    std::vector<std::uint32_t> order_;
    std::vector<float> duals_;                          // a·y by text and label id
    std::vector<double> biases_;                        // by label id
    std::vector<Count> inside_;                         // texts by label id
    std::vector<double> slack_inside_, slack_outside_;  // 1/(2C) by label id
    std::vector<float> scores_, steps_;                 // room, by label id
};

}  // namespace watchword
