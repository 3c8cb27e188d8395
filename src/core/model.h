// The facade that the bindings see: counts, parameters and the locks that let many threads read
// while one learns. Models made from one another share their counts until one of them changes.
// In model.cpp, inspect.cpp (values of n-grams) and model_refine.cpp (corrections).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "corrections.h"
#include "counts.h"
#include "memo.h"
#include "ngram_finder.h"
#include "parallel.h"
#include "refine.h"
#include "refiner.h"
#include "snapshot.h"
#include "summary.h"
#include "text.h"
#include "trails.h"
#include "value.h"

namespace watchword {

struct Parameters : ValueParameters {
    unsigned max_ngram;
    Counting counting;
    double alpha;
    ReadingRule reading;
    SummaryOperators summary;
    Paragraphs paragraphs;
    Tokenization tokenization;
    std::optional<Count> prune_period;  // in words; none: only when asked to
    Count prune_floor;
    unsigned prune_shortest;

    TextRules text_rules() const { return {paragraphs, tokenization}; }
};

// One row of label values per document.
struct ConfidenceTable {
    std::vector<Label> labels;
    std::size_t documents = 0;
    std::vector<double> values;
    std::optional<double> temperature;  // of refined scores
};

// Every value of an n-gram, one column per label.
struct ValueTable {
    std::vector<Label> labels;
    std::vector<Count> count;
    std::vector<double> lv, sg, sn, gv, cv;  // one row per n-gram
};

// A refined score: what each n-gram adds to it, and what of that belongs to each block.
struct ExplainedScore {
    struct Ngram {
        unsigned length;
        Count times;
        double x;
        std::string words;
    };
    std::vector<Ngram> ngrams;
    std::vector<double> counted, corrected;              // one row of labels per n-gram
    std::vector<double> block_counted, block_corrected;  // one row of labels per block
    std::vector<double> bias;                            // by label
};

struct Explained {
    Reading reading;
    std::vector<std::size_t> distinct;  // of each n-gram of the reading: its row in `values`
    ValueTable values;
    std::vector<double> document;
    std::optional<ExplainedScore> score;  // of a model with corrections
};

struct RankedNgram {
    std::string words;
    double value;
    Count count;
};

// The values of all n-grams, in a cell for each label position and length - 1 (the lengths of a
// label are adjacent): the best n-grams, the number of those with value 0, and a histogram of the
// others with bins (at · width, (at + 1) · width], of which the last may be empty.
struct Survey {
    static constexpr std::size_t kBins = 32;

    std::vector<Label> labels;
    unsigned lengths = 0;
    double width = 0;
    std::vector<std::vector<RankedNgram>> best;
    std::vector<std::uint64_t> worthless;
    std::vector<std::uint64_t> bins;  // kBins per cell
};

struct Pruning {
    PruneResult removed;
    bool dropped_corrections = false;
};

struct Following {
    std::string word;
    Count count;
};

struct Totals {
    std::vector<Label> labels;
    std::vector<LabelTotals> of_label;
    PruneResult pruned;
    bool was_pruned = false;
};

class Model {
   public:
    explicit Model(const Parameters& parameters);
    Model(const Parameters& parameters, const Snapshot& snapshot);
    // A model over a mapped file: it reads like any other, but cannot learn.
    Model(const Parameters& parameters, const Snapshot& known, MappedArrays arrays);
    // The same counts with other parameters; max_ngram may only be smaller, counting the same.
    // Corrections hold for the parameters that they were fitted with.
    Model(const Model& other, const Parameters& parameters, bool with_corrections);

    // `counted` tells how many documents each text counts as; empty: one each.
    void learn(const std::vector<TextView>& texts, const std::vector<Label>& labels,
               unsigned threads, const std::vector<Count>& counted = {});
    void learn(TermBatch& batch, const std::vector<Label>& labels);
    void unlearn(const TermBatch& document, const Label& label, bool check = true);
    // Corrections become the mean of both, or are dropped.
    void merge(const Model& other, bool average_corrections);
    // Corrections are dropped if counts are removed: fitted to n-grams that are gone, they would be
    // too certain of texts without them.
    Pruning prune(Count floor, unsigned shortest);

    // The purpose tells how texts are cut: only by PySS3's rules does it make a difference.
    ConfidenceTable confidence(const std::vector<TextView>& texts, unsigned threads,
                               Purpose purpose = Purpose::Reading) const;
    ConfidenceTable confidence(const TermBatch& batch) const;
    // Reads one text; reuses the memory of the table. An empty model has no labels.
    void confidence(TextView text, ConfidenceTable& out) const;

    // Corrections. Texts to fit them to, with the labels of each: positions of the model's labels;
    // for cross-validation, the fold of each and the indices of texts to score.
    using TextPositions = std::vector<std::vector<LabelPosition>>;
    struct Folds {
        std::vector<std::size_t> of_text;  // empty: all in one
        std::vector<std::size_t> scored;
    };
    std::unique_ptr<Refiner> refiner(const std::vector<TextView>& texts,
                                     const TextPositions& labels, const Folds& folds,
                                     const RefineSettings& settings, unsigned threads) const;
    std::unique_ptr<Refiner> refiner(const TermBatch& batch, const TextPositions& labels,
                                     const Folds& folds, const RefineSettings& settings) const;
    // Takes what was fitted, without the lean; false if the counts have changed meanwhile.
    bool adopt(const Refiner& refiner, double temperature, double lean);
    // Learns one document under all of these labels and corrects for it, as one step: no other
    // thread sees the model in between. `reading` has the same document as it is cut for reading.
    void learn_corrected(const TermBatch& learning, const TermBatch& reading,
                         const std::vector<Label>& labels, const RefineSettings& settings);
    void drop_corrections();
    std::optional<FitTotals> fit() const;
    // The trails of documents under the current counts, to be read with other parameters. The data
    // for normalised confidences is collected only on request.
    std::unique_ptr<Trails> trails(const TermBatch& batch, bool largest_values, bool words) const;
    // The batch must hold one document with spans.
    Explained explain(const TermBatch& batch) const;

    ValueTable value(const std::vector<std::string>& words) const;
    std::vector<RankedNgram> top_ngrams(const Label& label, std::size_t most,
                                        std::optional<unsigned> length) const;
    // Takes one pass over the model, whatever the number of labels.
    Survey survey(std::size_t most) const;
    std::vector<Following> next_words(const std::vector<std::string>& words,
                                      const std::optional<Label>& label) const;
    std::vector<std::string> stop_words(double threshold) const;
    bool is_empty() const;
    bool is_mapped() const;
    bool was_pruned() const;
    // A number that changes with every change of the model; unique within the process.
    std::uint64_t state() const;
    std::vector<Label> labels() const;
    Totals totals() const;
    // The first of equals; none if the model is empty.
    std::optional<Label> label_with_most_words() const;
    // The number of distinct n-grams; takes a pass over the model.
    std::vector<std::uint64_t> ngrams_by_length() const;
    // The length of the longest n-grams with a largest count, which may have been pruned since.
    unsigned longest_ngram() const;
    // Throws UnlearnFailure if documents were unlearnt without a check that were not learnt.
    Snapshot snapshot() const;
    // An estimate of the number of n-grams, without a pass.
    std::size_t size() const;
    // The rows of the current counts; later learning does not change them.
    std::shared_ptr<const Counts> counts() const;
    // The same rows, which are removed from the model.
    std::shared_ptr<const Counts> take_counts();
    unsigned max_ngram() const { return parameters_.max_ngram; }

   private:
    struct Workspace {
        Memo memo;
        TermBatch batch;
        std::vector<WordId> ids;
        std::vector<Symbol> symbols;
        std::vector<double> counted;  // a row of labels
        RankMemo ranks;               // where words stay in a file

        // Gives back the memory that an unusually long text took.
        void shrink();
    };
    class Lease;
    using VisitValues = std::function<void(unsigned, NgramId, const ValueRow&, Memo&)>;

    Counts& writable();
    // Runs a change. If it fails, earlier counts that were kept are put back; without them, a model
    // whose counts are incomplete cannot be used any more.
    template <class Work>
    void change(const Work& work, const std::shared_ptr<Counts>& kept = nullptr) {
        try {
            work();
        } catch (...) {
            if (kept) {
                counts_ = kept;
                changed();
            } else if (!counts_->is_complete()) {
                refuse_from_now_on();
            }
            throw;
        }
    }
    void refuse_from_now_on() {
        lock_.poison(
            "memory ran out while the model was changed, so it is incomplete: load it again, or "
            "learn it anew");
    }
    Pruning prune_counts(Count floor, unsigned shortest);
    void forget_corrections() {
        corrections_.reset();
        learnt_since_fit_ = unlearnt_since_fit_ = 0;
    }
    std::optional<FitTotals> fit_totals() const;
    void changed();
    // Whether these texts cannot make a label exceed its limit, whatever their number of words.
    bool surely_fit(const std::vector<TextView>& texts) const;
    void learn_batches(std::span<TermBatch> batches, const std::vector<Label>& labels,
                       std::size_t first, unsigned threads);
    // Counts documents and returns the id of each label; under a lock.
    std::vector<LabelId> count(std::span<TermBatch> batches, std::span<const Label> labels,
                               unsigned threads);
    // Room for this many documents, with the current labels.
    void prepare(ConfidenceTable& table, std::size_t documents) const;
    void read_texts(std::span<const TextView> texts, Purpose purpose, double* out) const;
    // With periodic pruning: `first` is the index of the batch's first label.
    void learn_and_prune(TermBatch& batch, const std::vector<Label>& labels, std::size_t first);
    void read_batch(Workspace& workspace, const TermBatch& batch, double* out) const;
    NgramFinder finder_in(Workspace& workspace) const;
    // Replaces the values of blocks by their parts of the refined score.
    void explain_score(Workspace& workspace, NgramFinder& finder, Explained& explained) const;
    void score_batch(Workspace& workspace, const TermBatch& batch, double* out) const;
    // Those of the model, or a copy if another model shares them.
    std::shared_ptr<Corrections> writable_corrections() const;
    void correct(Corrections& corrections, const TermBatch& document, const TextLabels& labels,
                 double cost);
    TextLabels ids_of(const std::vector<LabelPosition>& positions) const;
    // The features of a batch's documents and the counted part of their scores.
    struct FittedText {
        TextLabels labels;
        std::size_t fold;
        bool scored = false;
    };
    struct FeatureBatch;
    struct FittedBatch;
    std::vector<FittedText> fitted_texts(const TextPositions& labels, const Folds& folds) const;
    void read_features(Workspace& workspace, const TermBatch& batch, double decay,
                       std::span<const FittedText> texts, FittedBatch& out) const;
    void add_features(const FittedBatch& batch, std::span<const FittedText> texts,
                      Refiner& refiner) const;
    void adopt_words(Workspace& workspace, const TermBatch& batch) const;
    ValueParameters value_parameters(bool refined) const;
    // Another number for every state, and for both kinds of values.
    std::uint64_t memo_state(bool refined) const { return state_ * 2 + refined; }
    std::shared_ptr<const LargestValues> largest_values(bool refined) const;
    void for_each_value(Memo& memo, std::optional<unsigned> length, const VisitValues& visit) const;
    void append_values(Memo& memo, unsigned length, NgramId ngram, ValueTable& table) const;
    NgramId find(const std::vector<std::string>& words) const;
    std::string words_of(unsigned length, NgramId ngram) const;

    const Parameters parameters_;
    mutable TurnLock lock_;
    std::shared_ptr<Counts> counts_;
    Count words_since_prune_ = 0;
    std::shared_ptr<Corrections> corrections_;
    Count learnt_since_fit_ = 0, unlearnt_since_fit_ = 0;  // documents
    std::uint64_t state_;

    mutable std::mutex idle_mutex_;
    mutable std::vector<std::unique_ptr<Workspace>> idle_;
    mutable std::mutex largest_mutex_;
    mutable std::shared_ptr<const LargestValues> largest_;
    mutable std::uint64_t largest_state_ = 0;
};

}  // namespace watchword
