// Corrections of a model: fitting, reading with them, explaining.
#include <algorithm>
#include <shared_mutex>
#include <stdexcept>

#include "lease.h"
#include "model.h"

namespace watchword {
namespace {

std::shared_ptr<Corrections> empty_corrections(const RefineSettings& settings) {
    auto corrections = std::make_shared<Corrections>();
    Fit& fit = corrections->fit;
    fit.decay = settings.decay;
    fit.strength = settings.strength;
    fit.cost = settings.cost;
    fit.bias = settings.bias;
    return corrections;
}

}  // namespace

struct Model::FeatureBatch {
    std::vector<TextFeature> features;
    std::vector<std::size_t> ends;  // of each document
    std::vector<double> counted;    // one row of labels per document

    std::span<const TextFeature> of(std::size_t document) const {
        const std::size_t begin = document == 0 ? 0 : ends[document - 1];
        return {features.data() + begin, ends[document] - begin};
    }
    void clear() {
        features.clear();
        ends.clear();
        counted.clear();
    }
};

// The documents of a batch, and those that are held out as if they had not been learnt.
struct Model::FittedBatch {
    FeatureBatch learnt, left_out;

    void clear() {
        learnt.clear();
        left_out.clear();
    }
};

TextLabels Model::ids_of(const std::vector<LabelPosition>& positions) const {
    TextLabels ids;
    for (const LabelPosition position : positions) {
        if (position >= counts_->labels().size()) throw std::out_of_range("no such label");
        ids.push_back(counts_->labels().id_at(position));
    }
    return ids;
}

void Model::read_features(Workspace& workspace, const TermBatch& batch, double decay,
                          std::span<const FittedText> texts, FittedBatch& out) const {
    adopt_words(workspace, batch);
    NgramFinder finder = finder_in(workspace);
    FeatureReader reader(finder, *counts_, decay, workspace.memo);
    const Corrections none;
    Scorer scorer(*counts_, none, parameters_.alpha, workspace.memo);
    LeaveOneOut leaving_out(*counts_, decay, parameters_.alpha, workspace.memo);
    const std::size_t labels = counts_->labels().size();
    const auto add = [&](std::span<const Feature> features, FeatureBatch& to) {
        for (const Feature& feature : features) {
            const ConfidenceRow row = workspace.memo.confidences(feature.entry);
            const LabelId only =
                row.size == 1 ? counts_->labels().id_at(row.position(0)) : TextFeature::kSeveral;
            to.features.push_back(
                {feature.ngram, feature.length, static_cast<float>(feature.x), only});
        }
        to.ends.push_back(to.features.size());
        to.counted.resize(to.counted.size() + labels, 0);
        return to.counted.data() + to.counted.size() - labels;
    };
    const std::span<const Symbol> symbols(workspace.symbols);
    for (std::size_t document = 0; document < batch.documents(); ++document) {
        const std::size_t begin = batch.begin_of(document);
        const auto features = reader.read(symbols.subspan(begin, batch.ends[document] - begin));
        scorer.add_counted(features, add(features, out.learnt));
        if (!texts[document].scored) continue;
        workspace.counted.resize(labels);
        const auto left =
            leaving_out.read(features, texts[document].labels, workspace.counted.data());
        std::copy_n(workspace.counted.data(), labels, add(left, out.left_out));
    }
}

void Model::add_features(const FittedBatch& batch, std::span<const FittedText> texts,
                         Refiner& refiner) const {
    const std::size_t labels = counts_->labels().size();
    std::size_t left_out = 0;
    for (std::size_t document = 0; document < texts.size(); ++document) {
        refiner.add(texts[document].fold, batch.learnt.of(document),
                    batch.learnt.counted.data() + document * labels, texts[document].labels);
        if (!texts[document].scored) continue;
        refiner.hold_out(batch.left_out.of(left_out),
                         batch.left_out.counted.data() + left_out * labels);
        ++left_out;
    }
}

std::vector<Model::FittedText> Model::fitted_texts(const TextPositions& labels,
                                                   const Folds& folds) const {
    std::vector<FittedText> texts;
    texts.reserve(labels.size());
    for (std::size_t text = 0; text < labels.size(); ++text) {
        texts.push_back({ids_of(labels[text]), folds.of_text.empty() ? 0 : folds.of_text[text]});
    }
    for (const std::size_t text : folds.scored) texts[text].scored = true;
    return texts;
}

std::unique_ptr<Refiner> Model::refiner(const std::vector<TextView>& texts,
                                        const TextPositions& labels, const Folds& folds,
                                        const RefineSettings& settings, unsigned threads) const {
    constexpr std::size_t kTexts = table_size(256, 3);  // of a slice
    const std::shared_lock guard(lock_);
    auto found = std::make_unique<Refiner>(counts_, settings, labels.size());
    const std::vector<FittedText> fitted = fitted_texts(labels, folds);
    const std::size_t slices = (texts.size() + kTexts - 1) / kTexts;
    const auto of_slice = [&](std::size_t slice) {
        const std::size_t begin = slice * kTexts;
        return std::span(fitted).subspan(begin, std::min(kTexts, texts.size() - begin));
    };
    std::vector<FittedBatch> read(threads);  // kept, because the system clears what it gives anew
    for (std::size_t first = 0; first < slices; first += threads) {
        const std::size_t at_once = std::min<std::size_t>(threads, slices - first);
        parallel_for(at_once, threads, [&](std::size_t at, unsigned) {
            Lease lease(*this);
            Workspace& workspace = lease.prepared_to_refine();
            workspace.batch.clear();
            TextReader reader(parameters_.text_rules(), Purpose::Reading, false);
            const auto own = of_slice(first + at);
            for (std::size_t text = 0; text < own.size(); ++text) {
                reader.read(texts[(first + at) * kTexts + text], workspace.batch);
            }
            read[at].clear();
            read_features(workspace, workspace.batch, settings.decay, own, read[at]);
        });
        for (std::size_t at = 0; at < at_once; ++at) {
            add_features(read[at], of_slice(first + at), *found);
        }
    }
    return found;
}

std::unique_ptr<Refiner> Model::refiner(const TermBatch& batch, const TextPositions& labels,
                                        const Folds& folds, const RefineSettings& settings) const {
    const std::shared_lock guard(lock_);
    auto found = std::make_unique<Refiner>(counts_, settings, labels.size());
    Lease lease(*this);
    const std::vector<FittedText> texts = fitted_texts(labels, folds);
    FittedBatch read;
    read_features(lease.prepared_to_refine(), batch, settings.decay, texts, read);
    add_features(read, texts, *found);
    return found;
}

bool Model::adopt(const Refiner& refiner, double temperature, double lean) {
    auto fitted = refiner.finish(lean);
    fitted->fit.temperature = temperature;
    const std::lock_guard guard(lock_);
    if (&refiner.counts() != counts_.get()) return false;
    corrections_ = std::move(fitted);
    learnt_since_fit_ = unlearnt_since_fit_ = 0;
    changed();
    return true;
}

void Model::learn_corrected(const TermBatch& learning, const TermBatch& reading,
                            const std::vector<Label>& labels, const RefineSettings& settings) {
    if (parameters_.prune_period) throw std::logic_error("periodic pruning drops corrections");
    learning.check_usable();
    std::vector<TermBatch> batches(labels.size(), learning);
    const std::lock_guard guard(lock_);
    Counts& counts = writable();
    changed();
    auto corrections = corrections_ ? writable_corrections() : empty_corrections(settings);
    const Count uncorrected = corrections_ ? learnt_since_fit_ : documents_of(counts);
    const std::vector<LabelId> ids = count(batches, labels, 1);
    try {
        // A single step must be more careful than a fit of many passes.
        correct(*corrections, reading, ids, std::min(corrections->fit.cost, settings.cost));
    } catch (...) {
        refuse_from_now_on();  // it is counted, but only partly corrected for
        throw;
    }
    corrections_ = std::move(corrections);
    learnt_since_fit_ = uncorrected;
}

std::shared_ptr<Corrections> Model::writable_corrections() const {
    const bool alone = corrections_.use_count() == 1;
    return alone ? corrections_ : std::make_shared<Corrections>(*corrections_);
}

void Model::correct(Corrections& corrections, const TermBatch& document, const TextLabels& labels,
                    double cost) {
    Lease lease(*this);
    Workspace& workspace = lease.prepared_to_refine();
    adopt_words(workspace, document);
    NgramFinder finder = finder_in(workspace);
    FeatureReader reader(finder, *counts_, corrections.fit.decay, workspace.memo);
    Scorer scorer(*counts_, corrections, parameters_.alpha, workspace.memo);
    correct_once(*counts_, corrections, reader.read(workspace.symbols), scorer, labels, cost);
    corrections.fit.documents = documents_of(*counts_);
}

void Model::unlearn(const TermBatch& document, const Label& label, bool check) {
    const std::lock_guard guard(lock_);
    if (!corrections_) {
        change([&] { writable().unlearn(document, label, true, check); });
        changed();
        return;
    }
    // What is no longer counted under the label has no correction there.
    std::vector<std::pair<unsigned, NgramId>> held;
    Counts& counts = writable();
    {
        Lease lease(*this);
        Workspace& workspace = lease.prepared();
        adopt_words(workspace, document);
        NgramFinder finder = finder_in(workspace);
        FeatureReader reader(finder, counts, 1, workspace.memo);
        for (const Feature& feature : reader.read(workspace.symbols)) {
            held.emplace_back(feature.length, feature.ngram);
        }
    }
    const std::optional<LabelId> id = counts.labels().find(label);
    corrections_ = writable_corrections();
    Corrections& corrections = *corrections_;
    change([&] { counts.unlearn(document, label, false, check); });
    if (id && !counts.labels().find(label)) {
        corrections.forget(*id);
    } else if (id) {
        std::vector<LabelCount> room;
        for (const auto& [length, ngram] : held) {
            if (counts.count(length, ngram, *id) > 0) continue;
            if (corrections.weight(length, ngram, *id, room) == 0) continue;
            corrections.set(length, ngram, *id, 0);
        }
    }
    ++unlearnt_since_fit_;
    changed();
}

void Model::drop_corrections() {
    const std::lock_guard guard(lock_);
    forget_corrections();
    changed();
}

std::optional<FitTotals> Model::fit() const {
    const std::shared_lock guard(lock_);
    return fit_totals();
}

std::optional<FitTotals> Model::fit_totals() const {
    if (!corrections_) return std::nullopt;
    FitTotals totals;
    static_cast<Fit&>(totals) = corrections_->fit;
    totals.learnt = learnt_since_fit_;
    totals.unlearnt = unlearnt_since_fit_;
    const LabelTable& labels = counts_->labels();
    for (LabelPosition position = 0; position < labels.size(); ++position) {
        totals.biases.push_back(corrections_->bias(labels.id_at(position)));
    }
    return totals;
}

void Model::score_batch(Workspace& workspace, const TermBatch& batch, double* out) const {
    NgramFinder finder = finder_in(workspace);
    FeatureReader reader(finder, *counts_, corrections_->fit.decay, workspace.memo);
    Scorer scorer(*counts_, *corrections_, parameters_.alpha, workspace.memo);
    const std::size_t labels = counts_->labels().size();
    const std::span<const Symbol> symbols(workspace.symbols);
    for (std::size_t document = 0; document < batch.documents(); ++document) {
        const std::size_t begin = batch.begin_of(document);
        const auto features = reader.read(symbols.subspan(begin, batch.ends[document] - begin));
        scorer.score(features, out + document * labels);
    }
}

void Model::explain_score(Workspace& workspace, NgramFinder& finder, Explained& explained) const {
    FeatureReader reader(finder, *counts_, corrections_->fit.decay, workspace.memo);
    Scorer scorer(*counts_, *corrections_, parameters_.alpha, workspace.memo);
    std::vector<FeatureOccurrence> occurrences;
    const auto features = reader.read(workspace.symbols, &occurrences);
    const std::size_t labels = counts_->labels().size();
    scorer.score(features, explained.document.data());
    ExplainedScore& score = explained.score.emplace();
    for (std::size_t label = 0; label < labels; ++label) {
        const LabelId id = counts_->labels().id_at(static_cast<LabelPosition>(label));
        score.bias.push_back(features.empty() ? 0 : corrections_->bias(id));
    }
    score.counted.resize(features.size() * labels);
    score.corrected.resize(features.size() * labels);
    for (std::size_t at = 0; at < features.size(); ++at) {
        const Feature& feature = features[at];
        score.ngrams.push_back(
            {feature.length, feature.times, feature.x, words_of(feature.length, feature.ngram)});
        scorer.parts(feature, score.counted.data() + at * labels,
                     score.corrected.data() + at * labels);
    }

    // An n-gram's part is split evenly over its occurrences and their words; a block has what its
    // words have.
    Reading& reading = explained.reading;
    std::vector<std::size_t> block_of(workspace.symbols.size(), 0);
    for (std::size_t block = 0; block < reading.ngrams.size(); ++block) {
        const Reading::Ngram& ngram = reading.ngrams[block];
        std::fill_n(block_of.begin() + static_cast<std::ptrdiff_t>(ngram.position), ngram.length,
                    block);
    }
    score.block_counted.assign(reading.ngrams.size() * labels, 0);
    score.block_corrected.assign(reading.ngrams.size() * labels, 0);
    for (const FeatureOccurrence& occurrence : occurrences) {
        const Feature& feature = features[occurrence.feature];
        const double parts = static_cast<double>(feature.times) * feature.length;
        const std::size_t row = occurrence.feature * labels;
        for (std::size_t word = 0; word < feature.length; ++word) {
            const std::size_t block = block_of[occurrence.position + word] * labels;
            for (std::size_t label = 0; label < labels; ++label) {
                score.block_counted[block + label] += score.counted[row + label] / parts;
                score.block_corrected[block + label] += score.corrected[row + label] / parts;
            }
        }
    }
    const auto add = [labels](std::vector<double>& wholes, std::size_t whole, double part,
                              std::size_t label) { wholes[whole * labels + label] += part; };
    std::fill(reading.sentence_values.begin(), reading.sentence_values.end(), 0.);
    std::fill(reading.paragraph_values.begin(), reading.paragraph_values.end(), 0.);
    for (std::size_t block = 0; block < reading.ngrams.size(); ++block) {
        const std::size_t sentence = reading.ngrams[block].parent;
        for (std::size_t label = 0; label < labels; ++label) {
            const double part = score.block_counted[block * labels + label] +
                                score.block_corrected[block * labels + label];
            add(reading.sentence_values, sentence, part, label);
            add(reading.paragraph_values, reading.sentences[sentence].parent, part, label);
        }
    }
}

}  // namespace watchword
