#include "model.h"

#include <algorithm>
#include <atomic>
#include <shared_mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "lease.h"

namespace watchword {
namespace {

// Texts are read and learnt in slices of about this many characters per thread: large enough that
// words repeat, small enough for the cache.
constexpr std::size_t kSliceCharacters = table_size(1 << 20, 64);
constexpr std::size_t kLeastSlice =
    table_size(1 << 15, 16);  // where threads are to finish together
// So many slices per thread are learnt together: the more, the longer each shard stays in the
// cache.
constexpr std::size_t kSlicesAtOnce = 4;

std::uint64_t new_state() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

std::size_t characters_of(const std::vector<TextView>& texts) {
    std::size_t characters = 0;
    for (const TextView& text : texts) characters += text.size + 1;
    return characters;
}

// The ends of slices of consecutive texts; `wanted` says how many characters the next one is to
// have, given how many are left.
template <class Wanted>
std::vector<std::size_t> slice_ends(const std::vector<TextView>& texts, const Wanted& wanted) {
    std::vector<std::size_t> ends;
    std::size_t size = 0, left = characters_of(texts);
    for (std::size_t at = 0; at < texts.size(); ++at) {
        size += texts[at].size + 1;
        if (size >= wanted(left) || at + 1 == texts.size()) {
            ends.push_back(at + 1);
            left -= size;
            size = 0;
        }
    }
    return ends;
}

// The size of slices of which every thread gets the same number.
std::size_t even_slice(std::size_t characters, unsigned threads) {
    const auto shares = [](std::size_t whole, std::size_t part) {
        return (whole + part - 1) / part;
    };
    const std::size_t per_thread = shares(characters, threads * kSliceCharacters);
    const std::size_t slices = std::max<std::size_t>(per_thread, 1) * threads;
    return std::max(shares(characters, slices), kLeastSlice);
}

}  // namespace

void Model::Workspace::shrink() {
    // More than a slice of texts takes, even one of distinct words.
    constexpr std::size_t kMostKept = std::size_t{1} << 24;
    const std::size_t own = ids.capacity() * sizeof(WordId) + symbols.capacity() * sizeof(Symbol);
    if (batch.capacity_bytes() + own <= kMostKept) return;
    batch = {};
    ids = {};
    symbols = {};
}

Model::Model(const Parameters& parameters)
    : parameters_(parameters),
      counts_(std::make_shared<Counts>(parameters.max_ngram, parameters.counting)),
      state_(new_state()) {}

Model::Model(const Parameters& parameters, const Snapshot& snapshot)
    : parameters_(parameters),
      counts_(SnapshotReader(snapshot, parameters.counting).read()),
      words_since_prune_(snapshot.words_since_prune),
      corrections_(corrections_of(snapshot, *counts_)),
      state_(new_state()) {
    if (!snapshot.fit) return;
    learnt_since_fit_ = snapshot.fit->learnt;
    unlearnt_since_fit_ = snapshot.fit->unlearnt;
}

Model::Model(const Parameters& parameters, const Snapshot& known, MappedArrays arrays)
    : parameters_(parameters),
      counts_(map_counts(known, std::move(arrays), parameters.counting)),
      words_since_prune_(known.words_since_prune),
      state_(new_state()) {
    if (!known.fit) return;
    corrections_ = std::make_shared<Corrections>(counts_->tree());
    corrections_->fit = *known.fit;
    for (std::size_t label = 0; label < known.fit->biases.size(); ++label) {
        corrections_->set_bias(static_cast<LabelId>(label), known.fit->biases[label]);
    }
    learnt_since_fit_ = known.fit->learnt;
    unlearnt_since_fit_ = known.fit->unlearnt;
}

Model::Model(const Model& other, const Parameters& parameters, bool with_corrections)
    : parameters_(parameters), state_(new_state()) {
    const std::shared_lock guard(other.lock_);
    counts_ = other.counts_;
    words_since_prune_ = other.words_since_prune_;
    if (!with_corrections) return;
    corrections_ = other.corrections_;
    learnt_since_fit_ = other.learnt_since_fit_;
    unlearnt_since_fit_ = other.unlearnt_since_fit_;
}

Counts& Model::writable() {
    if (counts_->mapped() != nullptr) throw std::logic_error("a mapped model cannot change");
    const bool alone = counts_.use_count() == 1;
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool longer = counts_->max_ngram() != parameters_.max_ngram;
    if (!alone || longer) {
        auto own = std::make_shared<Counts>(*counts_, parameters_.max_ngram);
        // Without longer n-grams, the others have other ids.
        if (longer && corrections_) {
            corrections_ = std::make_shared<Corrections>(corrections_->moved(*counts_, *own));
        }
        counts_ = std::move(own);
        changed();  // even if the caller changes nothing: memos point to the counts
    }
    return *counts_;
}

void Model::changed() { state_ = new_state(); }

void Model::learn(const std::vector<TextView>& texts, const std::vector<Label>& labels,
                  unsigned threads, const std::vector<Count>& counted) {
    // With periodic pruning, one slice at a time, too short to be pruned often.
    const bool pruning = parameters_.prune_period.has_value();
    const std::size_t characters =
        pruning ? std::min<std::size_t>(kSliceCharacters, *parameters_.prune_period)
                : even_slice(characters_of(texts), threads);
    const std::vector<std::size_t> ends =
        slice_ends(texts, [characters](std::size_t) { return characters; });
    std::size_t at_once = pruning ? 1 : std::min(kSlicesAtOnce * threads, ends.size());
    // Texts that may be rejected are learnt in one step, so that all or none are learnt.
    if (!pruning && at_once < ends.size() && !surely_fit(texts)) at_once = ends.size();
    std::vector<TermBatch> batches(at_once);
    for (std::size_t slice = 0; slice < ends.size(); slice += at_once) {
        const std::size_t slices = std::min(at_once, ends.size() - slice);
        const std::size_t first = slice == 0 ? 0 : ends[slice - 1];
        parallel_for(slices, threads, [&](std::size_t at, unsigned) {
            // On the thread's own stack: neighbours in the vector would share lines of the cache.
            TermBatch batch = std::move(batches[at]);
            TextReader reader(parameters_.text_rules(), Purpose::Learning, false);
            batch.clear();
            const std::size_t begin = slice + at == 0 ? 0 : ends[slice + at - 1];
            for (std::size_t text = begin; text < ends[slice + at]; ++text) {
                reader.read(texts[text], batch);
                if (!counted.empty()) batch.counted.push_back(counted[text]);
            }
            batches[at] = std::move(batch);
        });
        if (pruning) {
            learn_and_prune(batches[0], labels, first);
        } else {
            learn_batches({batches.data(), slices}, labels, first, threads);
        }
    }
}

bool Model::surely_fit(const std::vector<TextView>& texts) const {
    const std::shared_lock guard(lock_);
    const LabelTotals most{texts.size(), characters_of(texts)};
    if (most.words > kMaxWords) return false;
    const LabelTable& labels = counts_->labels();
    for (LabelPosition position = 0; position < labels.size(); ++position) {
        const LabelTotals& known = counts_->totals(labels.id_at(position));
        if (most.words > kMaxWords - known.words) return false;
        if (most.documents > kMaxDocuments - known.documents) return false;
    }
    return true;
}

void Model::learn(TermBatch& batch, const std::vector<Label>& labels) {
    batch.check_usable();
    const bool fits = batch.counted.empty() || batch.counted.size() == batch.documents();
    if (!fits || labels.size() != batch.documents()) {
        throw std::invalid_argument("there must be one label, and one count, for each document");
    }
    if (!parameters_.prune_period) return learn_batches({&batch, 1}, labels, 0, 1);
    learn_and_prune(batch, labels, 0);
    batch.is_learnt = true;
}

void Model::learn_and_prune(TermBatch& batch, const std::vector<Label>& labels, std::size_t first) {
    const Count period = *parameters_.prune_period;
    Count since = 0;
    {
        const std::shared_lock guard(lock_);
        since = words_since_prune_;
    }
    const auto words =
        static_cast<Count>(std::count_if(batch.symbols.begin(), batch.symbols.end(), is_word));
    if (since + words < period) return learn_batches({&batch, 1}, labels, first, 1);
    // Pieces end where pruning may be due: with documents or, by PySS3's rules, with any break. No
    // n-gram crosses either. Where documents are counted, a part of one would count as another.
    const bool at_breaks = parameters_.tokenization == Tokenization::Pyss3 &&
                           parameters_.counting == Counting::Occurrences;
    for (std::size_t document = 0; document < batch.documents(); ++document) {
        const std::vector<Label> own{labels[first + document]};
        std::uint64_t counted = batch.counted_as(document);
        std::size_t begin = batch.begin_of(document);
        for (std::size_t at = begin; at < batch.ends[document]; ++at) {
            since += is_word(batch.symbols[at]);
            const bool cut = at_breaks && since >= period && batch.symbols[at] == kBreak;
            const bool last = at + 2 >= batch.ends[document];  // the end of the paragraph follows
            if (!cut || last) continue;
            TermBatch piece = batch.piece(begin, at + 1, std::exchange(counted, 0));
            learn_batches({&piece, 1}, own, 0, 1);
            begin = at + 1;
            since = 0;
        }
        TermBatch rest = batch.piece(begin, batch.ends[document], counted);
        learn_batches({&rest, 1}, own, 0, 1);
        if (since >= period) since = 0;
    }
}

void Model::learn_batches(std::span<TermBatch> batches, const std::vector<Label>& labels,
                          std::size_t first, unsigned threads) {
    const std::lock_guard guard(lock_);
    Counts& counts = writable();
    changed();
    std::size_t documents = 0;
    Count words = 0;
    for (const TermBatch& batch : batches) {
        documents += batch.documents();
        words +=
            static_cast<Count>(std::count_if(batch.symbols.begin(), batch.symbols.end(), is_word));
    }
    const std::span<const Label> own(labels.data() + first, documents);
    const Count since_prune = words_since_prune_ + words;
    const bool pruning = parameters_.prune_period && since_prune >= *parameters_.prune_period;
    if (pruning) {
        counts.check_prune_fits(parameters_.prune_floor, parameters_.prune_shortest,
                                words * parameters_.max_ngram);
    }
    count(batches, own, threads);
    if (corrections_) learnt_since_fit_ += documents;
    if (!parameters_.prune_period) return;
    words_since_prune_ = pruning ? 0 : since_prune;
    if (pruning) prune_counts(parameters_.prune_floor, parameters_.prune_shortest);
}

std::vector<LabelId> Model::count(std::span<TermBatch> batches, std::span<const Label> labels,
                                  unsigned threads) {
    std::vector<LabelId> ids;
    change([&] {
        try {
            ids = counts_->labels().find_or_add_all(labels);
            counts_->learn(batches, ids, threads);
        } catch (...) {
            if (counts_->is_complete()) counts_->forget_unused(ids);
            throw;
        }
    });
    return ids;
}

void Model::merge(const Model& other, bool average_corrections) {
    // A snapshot of the other's counts: if it learns meanwhile, it does so on a copy.
    std::shared_ptr<const Counts> theirs, of_their_corrections;
    std::shared_ptr<const Corrections> their_corrections;
    Count learnt = 0, unlearnt = 0;
    {
        const std::shared_lock guard(other.lock_);
        theirs = of_their_corrections = other.counts_;
        their_corrections = other.corrections_;
        learnt = other.learnt_since_fit_;
        unlearnt = other.unlearnt_since_fit_;
        if (theirs->mapped() != nullptr) throw std::logic_error("a mapped model cannot be merged");
        if (theirs->max_ngram() != other.parameters_.max_ngram) {
            theirs = std::make_shared<Counts>(*theirs, other.parameters_.max_ngram);
        }
    }
    const std::lock_guard guard(lock_);
    const bool averaging = average_corrections && corrections_ && their_corrections;
    writable();  // without longer n-grams
    // Both are needed as they were until the mean is known.
    const std::shared_ptr<Counts> before = averaging ? counts_ : nullptr;
    Counts& ours = writable();
    change(
        [&] {
            if (ours.has_room_for(*theirs)) {
                ours.merge(*theirs);
            } else {
                auto merged = std::make_shared<Counts>(ours);
                merged->merge(*theirs);
                counts_ = std::move(merged);
            }
            if (!averaging) return;
            corrections_ = std::make_shared<Corrections>(Corrections::averaged(
                *corrections_, *before, *their_corrections, *of_their_corrections, *counts_));
        },
        before);
    if (averaging) {
        learnt_since_fit_ += learnt;
        unlearnt_since_fit_ += unlearnt;
    } else {
        forget_corrections();
    }
    changed();
}

Pruning Model::prune(Count floor, unsigned shortest) {
    const std::lock_guard guard(lock_);
    changed();
    return prune_counts(floor, shortest);
}

Pruning Model::prune_counts(Count floor, unsigned shortest) {
    const bool as_pyss3 = parameters_.tokenization == Tokenization::Pyss3;
    Counts& counts = writable();
    Pruning result;
    // Even if nothing is removed, n-grams get other ids, which corrections would not follow.
    if (!corrections_ || counts.has_to_prune(floor, shortest)) {
        change([&] { result.removed = counts.prune(floor, shortest, as_pyss3); });
        result.dropped_corrections = corrections_ != nullptr;
        forget_corrections();
    }
    if (as_pyss3) words_since_prune_ = 0;
    return result;
}

void Model::prepare(ConfidenceTable& table, std::size_t documents) const {
    const LabelTable& labels = counts_->labels();
    if (!labels.are_sorted_names(table.labels)) table.labels = labels.sorted_names();
    table.documents = documents;
    table.values.assign(documents * labels.size(), 0);
    table.temperature.reset();
    if (corrections_) table.temperature = corrections_->fit.temperature;
}

void Model::read_texts(std::span<const TextView> texts, Purpose purpose, double* out) const {
    Lease lease(*this);
    Workspace& workspace = lease.prepared();
    workspace.batch.clear();
    TextReader reader(parameters_.text_rules(), purpose, false);
    for (const TextView& text : texts) reader.read(text, workspace.batch);
    read_batch(workspace, workspace.batch, out);
}

ConfidenceTable Model::confidence(const std::vector<TextView>& texts, unsigned threads,
                                  Purpose purpose) const {
    const std::shared_lock guard(lock_);
    ConfidenceTable table;
    prepare(table, texts.size());
    // Shorter and shorter slices, so that all threads finish together.
    const std::vector<std::size_t> ends = slice_ends(texts, [threads](std::size_t left) {
        if (threads <= 1) return kSliceCharacters;
        return std::clamp(left / (std::size_t{threads} * 4), kLeastSlice, kSliceCharacters);
    });
    parallel_for(ends.size(), threads, [&](std::size_t slice, unsigned) {
        const std::size_t begin = slice == 0 ? 0 : ends[slice - 1];
        read_texts({texts.data() + begin, ends[slice] - begin}, purpose,
                   table.values.data() + begin * table.labels.size());
    });
    return table;
}

ConfidenceTable Model::confidence(const TermBatch& batch) const {
    const std::shared_lock guard(lock_);
    ConfidenceTable table;
    prepare(table, batch.documents());
    Lease lease(*this);
    read_batch(lease.prepared(), batch, table.values.data());
    return table;
}

void Model::confidence(TextView text, ConfidenceTable& out) const {
    const std::shared_lock guard(lock_);
    prepare(out, 1);
    read_texts({&text, 1}, Purpose::Reading, out.values.data());
}

void Model::adopt_words(Workspace& workspace, const TermBatch& batch) const {
    batch.check_usable();
    constexpr WordId kAhead = 8;
    const Vocabulary& words = batch.words;
    const MappedTree* mapped = counts_->mapped();
    workspace.ids.assign(words.id_limit() + 1, kUnknownWord);
    for (WordId id = 0; id < words.id_limit() && mapped != nullptr; ++id) {
        workspace.ids[id] = workspace.ranks.find(*mapped, words.padded(id));
    }
    for (WordId id = 0; id < words.id_limit() && mapped == nullptr; ++id) {
        if (id + kAhead < words.id_limit()) {
            counts_->words().prefetch_word(hash_word(words.padded(id + kAhead)));
        }
        const PaddedWord word = words.padded(id);
        workspace.ids[id] = counts_->words().find(word, hash_word(word));
    }
    // Without an unpredictable branch.
    workspace.symbols.resize(batch.symbols.size());
    for (std::size_t at = 0; at < batch.symbols.size(); ++at) {
        const Symbol symbol = batch.symbols[at];
        const Symbol id = workspace.ids[is_word(symbol) ? symbol : 0];
        workspace.symbols[at] = is_word(symbol) ? id : symbol;
    }
}

NgramFinder Model::finder_in(Workspace& workspace) const {
    return NgramFinder(*counts_, parameters_.max_ngram, parameters_.alpha, parameters_.reading,
                       workspace.memo);
}

void Model::read_batch(Workspace& workspace, const TermBatch& batch, double* out) const {
    adopt_words(workspace, batch);
    if (corrections_) return score_batch(workspace, batch, out);
    NgramFinder finder = finder_in(workspace);
    DocumentReader reader(finder, workspace.memo, parameters_.summary, parameters_.alpha);
    reader.read(workspace.symbols, batch.ends, out);
}

std::unique_ptr<Trails> Model::trails(const TermBatch& batch, bool largest_values,
                                      bool words) const {
    const std::shared_lock guard(lock_);
    Lease lease(*this);
    adopt_words(lease.get(), batch);
    return std::make_unique<Trails>(*counts_, lease.get().symbols, batch.ends,
                                    parameters_.max_ngram, Trails::Needs{largest_values, words});
}

Explained Model::explain(const TermBatch& batch) const {
    const std::shared_lock guard(lock_);
    Lease lease(*this);
    Workspace& workspace = lease.prepared();
    adopt_words(workspace, batch);
    NgramFinder finder = finder_in(workspace);
    DocumentReader reader(finder, workspace.memo, parameters_.summary, parameters_.alpha);
    Explained explained;
    const auto values = reader.read(workspace.symbols, batch, explained.reading);
    explained.document.assign(values.begin(), values.end());
    set_block_spans(batch, explained.reading);
    if (corrections_) explain_score(workspace, finder, explained);
    explained.values.labels = counts_->labels().sorted_names();
    std::unordered_map<std::uint64_t, std::size_t> rows;
    for (const Reading::Ngram& ngram : explained.reading.ngrams) {
        const std::uint64_t key = std::uint64_t{ngram.length} << 32 | ngram.id;
        const auto [found, added] = rows.try_emplace(key, rows.size());
        explained.distinct.push_back(found->second);
        if (added) append_values(workspace.memo, ngram.length, ngram.id, explained.values);
    }
    return explained;
}

ValueParameters Model::value_parameters(bool refined) const {
    ValueParameters own = parameters_;
    own.refined = refined;
    return own;
}

std::shared_ptr<const LargestValues> Model::largest_values(bool refined) const {
    if (parameters_.confidence_function == ConfidenceFunction::Gv) return nullptr;
    const std::lock_guard guard(largest_mutex_);
    if (largest_state_ == memo_state(refined)) return largest_;
    auto largest = std::make_shared<LargestValues>(
        counts_->max_ngram(), std::vector<double>(counts_->labels().size(), 0));
    Memo memo;
    memo.prepare(*counts_, value_parameters(refined), nullptr, memo_state(refined));
    for_each_value(memo, std::nullopt,
                   [&](unsigned length, NgramId, const ValueRow& values, Memo&) {
                       raise_largest(*largest, length, values);
                   });
    largest_ = std::move(largest);
    largest_state_ = memo_state(refined);
    return largest_;
}

void Model::for_each_value(Memo& memo, std::optional<unsigned> length,
                           const VisitValues& visit) const {
    counts_->for_each([&](unsigned own_length, NgramId ngram) {
        if (own_length > parameters_.max_ngram || (length && own_length != *length)) return;
        visit(own_length, ngram, memo.values(own_length, ngram), memo);
    });
}

std::size_t Model::size() const {
    const std::shared_lock guard(lock_);
    return counts_->size();
}

std::shared_ptr<const Counts> Model::counts() const {
    const std::shared_lock guard(lock_);
    return counts_;
}

std::shared_ptr<const Counts> Model::take_counts() {
    auto fresh = std::make_shared<Counts>(parameters_.max_ngram, parameters_.counting);
    const std::lock_guard guard(lock_);
    writable();
    changed();
    words_since_prune_ = 0;
    forget_corrections();
    return std::exchange(counts_, std::move(fresh));
}

Snapshot Model::snapshot() const {
    const std::shared_lock guard(lock_);
    if (counts_->mapped() != nullptr) {
        Snapshot snapshot = checked_copy(*counts_, fit_totals(), parameters_.max_ngram);
        snapshot.words_since_prune = words_since_prune_;
        return snapshot;
    }
    try {
        Snapshot snapshot = take_snapshot(*counts_, corrections_.get(), parameters_.max_ngram);
        snapshot.words_since_prune = words_since_prune_;
        snapshot.fit = fit_totals();
        if (counts_->unchecked()) SnapshotReader(snapshot, parameters_.counting).check();
        return snapshot;
    } catch (const SnapshotFailure& failure) {
        throw UnlearnFailure(failure.what());
    }
}

}  // namespace watchword
