// The fit of corrections to texts (refine.h has the equations). Owns the texts' features, laid out
// for many passes over them: n-grams that most labels have as dense rows, the others as rows of
// their labels. Features whose rows are alike stand together in a text, so that the processor can
// predict what comes next. An n-gram of one text only needs no weight while fitting, since that is
// the text's dual variable times x.
#pragma once

#include <array>
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
          columns_((labels_ + kLanes - 1) / kLanes * kLanes),
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
    // An entry of a sparse row.
    struct Weighed {
        LabelId label;
        float weight;
    };
    // The uses of a text, by the kind of their rows: full, partial, sparse and none.
    struct Uses {
        std::uint64_t begin, partial, sparse, unique, end;

        std::span<const Use> dense_of(const Table<Use>& all) const {
            return {all.data() + begin, all.data() + sparse};
        }
        std::span<const Use> full_of(const Table<Use>& all) const {
            return {all.data() + begin, all.data() + partial};
        }
        std::span<const Use> partial_of(const Table<Use>& all) const {
            return {all.data() + partial, all.data() + sparse};
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
    // By feature, first how many texts use it, then how many labels it has, if several texts do.
    void lay_out_rows(Table<std::uint32_t>& sizes);
    float* dense_row(std::uint32_t row) { return dense_.data() + row * columns_; }
    const float* dense_row(std::uint32_t row) const { return dense_.data() + row * columns_; }
    float* counted_under(std::uint32_t row) {
        return counted_under_.data() + (row - full_rows_) * columns_;
    }
    const float* counted_under(std::uint32_t row) const {
        return counted_under_.data() + (row - full_rows_) * columns_;
    }
    // The kinds of rows, in the order of their places: full, partial, sparse of each size, none.
    static constexpr std::size_t kFull = 0, kPartial = 1, kSparse = 1;  // size 1 is kSparse + 1
    std::size_t kind_of(std::uint32_t place) const;
    std::span<const Weighed> sparse_row(std::uint32_t place) const;
    // Calls visit(x, entry) for all entries of the rows.
    template <class Visit>
    void for_each_sparse(std::span<const Use> uses, const Visit& visit);
    struct SortRoom {
        std::vector<Use> uses;
        std::vector<std::size_t> kinds, ends;
    };
    void sort_uses(Table<Use>& all, Uses& uses, SortRoom& room) const;
    void add_squares(std::size_t text);
    template <class Visit>
    void for_each_label(std::uint32_t feature, const Visit& visit) const;
    // `columns` is columns_, as a constant where it is small.
    template <class Columns>
    void add_weights(Columns columns, const Uses& uses, const Table<Use>& all);
    template <class Columns>
    void add_steps(Columns columns, const Uses& uses);
    void prefetch_text(std::size_t text) const;
    template <class Columns>
    void correct(Columns columns, std::size_t text);
    Fit fit() const;

    std::shared_ptr<const Counts> counts_;
    const RefineSettings settings_;
    const std::size_t labels_;  // ids of labels are below
    // The length of a dense row: the next multiple of what a processor computes at once.
    static constexpr std::size_t kLanes = 4;
    const std::size_t columns_;
    const std::size_t expected_texts_;

    // N-grams, in the order of their first use.
    static constexpr std::uint32_t kUnique = ~0u;
    std::vector<Table<std::uint32_t>> indices_;  // feature + 1 by shard (words last) and id
    Table<std::pair<unsigned, NgramId>> ngrams_;
    Table<LabelId> only_;
    // The number of a dense row; the beginning of a sparse one, after those numbers; or kUnique.
    Table<std::uint32_t> places_;
    // Sparse rows of more entries have their number as the label of an entry before them.
    static constexpr std::size_t kSmall = 12;
    std::array<std::uint32_t, kSparse + kSmall + 2> kind_ends_{};  // places of a kind are below
    // Weights.
    std::uint32_t full_rows_ = 0, dense_rows_ = 0;
    Table<float> dense_;          // by row and label id
    Table<float> counted_under_;  // of partial rows: 1, or 0 where there must be no weight
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
    std::vector<float> scores_, steps_;                 // room, by label id, of whole rows
};

}  // namespace watchword
