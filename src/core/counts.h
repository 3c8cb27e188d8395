// The state of a model: how often each word sequence occurred under each label. Owns vocabulary,
// labels and shards; learns (Algorithm 1), unlearns, merges, prunes. Counts are additive, so the
// result does not depend on the order of documents, the number of threads or the partition.
// In counts.cpp, learn.cpp and unlearn.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cells.h"
#include "fingerprints.h"
#include "labels.h"
#include "leaders.h"
#include "mapped.h"
#include "pages.h"
#include "text.h"
#include "trie.h"
#include "unlearn_index.h"
#include "valuer.h"
#include "vocabulary.h"

namespace watchword {

struct Snapshot;

constexpr unsigned kMaxNgramLimit = 64;

// The limit of words and documents of a label. No count can exceed it, so nothing overflows.
constexpr Count kMaxWords = kMaxCount;
constexpr Count kMaxDocuments = kMaxCount;
// The limit of the counters over all labels: pruned n-grams, words since the last pruning.
constexpr Count kMaxOfAll = (Count{1} << 63) - 1;

struct LabelTotals {
    Count documents = 0;
    Count words = 0;  // sum of the counts of its words as learnt; not lowered by pruning
};

// Throws if a label with these totals would exceed the limit with this many more.
inline void check_totals_fit(const LabelTotals& known, const LabelTotals& more) {
    if (more.words > kMaxWords - known.words) {
        throw LimitFailure("a label would have more than 2^40 - 1 words");
    }
    if (more.documents > kMaxDocuments - known.documents) {
        throw LimitFailure("a label would have more than 2^40 - 1 documents");
    }
}

struct PruneResult {
    Count ngrams = 0;  // (n-gram, label) pairs, that is nodes of the labels' trees
    Count counts = 0;
};

// Thrown by attempts to unlearn a document that cannot have been learnt.
class UnlearnFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Counts {
   public:
    explicit Counts(unsigned max_ngram, Counting counting = Counting::Occurrences)
        : max_ngram_(max_ngram), counting_(counting), leaders_(max_ngram) {}
    Counts(const Counts& other) : Counts(other, other.max_ngram_) {}
    // A copy without n-grams longer than `max_ngram`.
    Counts(const Counts& other, unsigned max_ngram);
    Counts& operator=(const Counts&) = delete;

    // Counts that stay in a file: they can be read, but not changed. Only the labels of the
    // snapshot are used.
    Counts(const Snapshot& known, std::shared_ptr<const MappedTree> tree, Counting counting);
    const MappedTree* mapped() const { return mapped_.get(); }
    std::shared_ptr<const MappedTree> tree() const { return mapped_; }

    // Adds documents. The word ids of each batch become ids of this vocabulary; `labels` has one id
    // per document, batch after batch.
    void learn(std::span<TermBatch> batches, std::span<const LabelId> labels, unsigned threads);
    // Throws UnlearnFailure, with nothing changed, for a document that cannot have been learnt: no
    // n-gram may remain more frequent than its parts. Takes time in proportion to the document. If
    // these counts did not learn it themselves (but were loaded or merged), the first few documents
    // take a pass over all n-grams.
    // With `renumber`, n-grams may get other ids, which saves the memory of those that are gone.
    // Without `check`, such documents are not checked beyond the counts of their own n-grams.
    void unlearn(const TermBatch& document, const Label& label, bool renumber = true,
                 bool check = true);
    // False after a change that failed halfway, because memory ran out: nothing can be relied on.
    bool is_complete() const { return complete_; }
    // Whether a document was unlearnt without a check, so that n-grams may be more frequent than
    // their parts, or without them.
    bool unchecked() const { return unchecked_; }
    // Throws LimitFailure, with nothing changed, if a label's totals would become too large; if
    // there is no room for all n-grams, some may have been added.
    void merge(const Counts& other);
    bool has_room_for(const Counts& other) const;
    // With `keep_maxima`, the largest counts stay what they were, even if their n-grams are gone.
    PruneResult prune(Count floor, unsigned shortest, bool keep_maxima = false);
    // Whether there is a count that pruning would remove.
    bool has_to_prune(Count floor, unsigned shortest) const;
    // Throws LimitFailure if the counters of pruning might overflow after this many more
    // occurrences of n-grams.
    void check_prune_fits(Count floor, unsigned shortest, Count more) const;

    // Removes those of these labels that have no documents: a failed attempt to learn added them.
    void forget_unused(std::vector<LabelId> labels);

    unsigned max_ngram() const { return max_ngram_; }
    Counting counting() const { return counting_; }
    LabelTable& labels() { return labels_; }
    const LabelTable& labels() const { return labels_; }
    const LabelTotals& totals(LabelId label) const { return totals_[label]; }
    const PruneResult& pruned() const { return pruned_; }
    bool was_pruned() const { return was_pruned_; }
    const Vocabulary& words() const { return words_; }

    // The largest count of any n-gram of this length under this label, over the current counts,
    // or what pruning kept of it.
    Count maximum(unsigned length, LabelId label) const { return leaders_.maximum(length, label); }

    // The totals that values are relative to.
    Scale scale() const;

    // Shards and the ids of n-grams in them; not used with a mapped file.
    const Trie& shard_of(NgramId ngram) const { return shards_[ngram >> 24]; }
    static NgramId ngram_id(std::size_t shard, NodeIndex index) {
        return static_cast<NgramId>(shard << 24 | index);
    }
    static NodeIndex node_index(NgramId ngram) { return ngram & 0xFFFFFF; }
    static std::size_t shard_index(std::uint64_t bigram_hash) {
        return (bigram_hash >> 56) % table_size(kShards, std::size_t{3});
    }
    const Trie& shard(std::size_t index) const { return shards_[index]; }

    // The counts of an n-gram, sorted by label id: in place or, from a file, in `room`.
    std::span<const LabelCount> row(unsigned length, NgramId ngram,
                                    std::vector<LabelCount>& room) const {
        if (!mapped_) return row(length, ngram);
        mapped_->read_row(length, mapped_->place(length, ngram), room);
        return room;
    }
    Cell word_cell(WordId word) const {
        return mapped_ ? mapped_->cell(1, word) : word_cells_[word];
    }
    Cell cell(unsigned length, NgramId ngram) const {
        if (mapped_) return mapped_->cell(length, mapped_->place(length, ngram));
        return length == 1 ? word_cells_[ngram] : shard_of(ngram).cell(node_index(ngram));
    }
    // The count under one label; 0 if the n-gram does not occur there.
    Count count(unsigned length, NgramId ngram, LabelId label) const;
    // An estimate of the number of n-grams, without a pass over them.
    std::size_t size() const;

    // The id of a word; kUnknownWord if it is not known.
    WordId find_word(PaddedWord word) const;
    WordId find_word(std::string_view word) const;
    std::string_view word(WordId word) const {
        return mapped_ ? mapped_->spelling(word) : words_.word(word);
    }

    // Words of an n-gram, first to last.
    std::vector<WordId> words_of(unsigned length, NgramId ngram) const;
    // The n-gram of these words; kNone if there is none.
    NgramId find(std::span<const WordId> words) const;
    // The extension of an n-gram of this length by one word.
    NgramId find_extension(unsigned length, NgramId ngram, WordId word) const;
    static constexpr NgramId kNone = ~0u;
    // Calls visit(word, extension) for all of them; without a file, that is a pass over the
    // n-grams.
    void for_each_extension(unsigned length, NgramId ngram,
                            const std::function<void(WordId, NgramId)>& visit) const;

    // Calls visit(length, ngram) for every n-gram with a count, prefixes before their extensions.
    using Visitor = std::function<void(unsigned, NgramId)>;
    void for_each(const Visitor& visit) const;
    // The same for the n-grams of one length; not used with a mapped file.
    template <class Visit>
    void for_each_of_length(unsigned length, const Visit& visit) const {
        for (WordId word = 0; length == 1 && word < words_.id_limit(); ++word) {
            if (words_.holds(word) && !word_cells_[word].empty()) visit(word);
        }
        for (std::size_t shard = 0; length > 1 && shard < kShards; ++shard) {
            const std::vector<std::uint8_t> lengths = shards_[shard].lengths();
            for (NodeIndex index = 0; index < lengths.size(); ++index) {
                if (lengths[index] != length || shards_[shard].cell(index).empty()) continue;
                visit(ngram_id(shard, index));
            }
        }
    }

    static constexpr std::size_t kShards = 256;

   private:
    std::span<const LabelCount> row(unsigned length, NgramId ngram) const {
        if (length == 1) return word_cells_[ngram].row(word_pool(ngram));
        const Trie& trie = shard_of(ngram);
        return trie.cell(node_index(ngram)).row(trie.pool());
    }

    friend class SnapshotReader;
    static constexpr std::size_t kWordPools = 16;

    struct Item;    // where in a batch an n-gram begins
    struct Sorted;  // a batch's items of two words and more, by shard

    const RowPool& word_pool(WordId word) const { return word_pools_[word % kWordPools]; }
    RowPool& word_pool(WordId word) { return word_pools_[word % kWordPools]; }
    void grow_label_columns();
    static std::vector<Item> first_words(const TermBatch& batch);
    static Sorted sort_by_shard(const TermBatch& batch);
    // A prepared batch to learn.
    struct Lesson;
    // Memory of one thread that learns.
    struct Room;
    using Added = std::unordered_map<LabelId, LabelTotals>;
    Added prepare_all(std::span<Lesson> lessons, unsigned threads);
    void adopt_words(Lesson& lesson);
    void take_back_words(const Lesson& lesson);
    std::vector<Count> prepare(Lesson& lesson) const;
    void learn_words(const Lesson& lesson, unsigned part, unsigned parts, Leaders& leaders);
    void check_room(std::size_t shard, std::span<const Lesson> lessons) const;
    template <Counting counting>
    void learn_ngrams(Trie& trie, const Lesson& lesson, std::size_t shard, Leaders& leaders,
                      Room& room) const;
    void learn_shard(Trie& trie, std::span<const Lesson> lessons, std::size_t shard,
                     Leaders& leaders, Room& room) const;

    using Document = std::span<const Symbol>;  // with words of this vocabulary
    // The count of an n-gram in some documents.
    struct Use {
        unsigned length;
        NgramId ngram;
        Count amount;
        std::size_t prefix, last;  // of several words: the uses of what UnlearnIndex::Ngram names
        Count count;               // in the model, under their label
    };
    std::vector<Symbol> symbols_of(const TermBatch& document) const;
    // Sorted by length; every n-gram must be known.
    std::vector<Use> uses_of(std::span<const Document> documents, LabelId label) const;
    // Throws UnlearnFailure unless a model would be left.
    void check_left(const std::vector<Use>& uses, LabelId label);
    void check_what_is_left(const UnlearnIndex& index, const std::vector<Use>& uses,
                            LabelId label) const;
    void check_documents_left(const std::vector<Use>& uses, LabelId label) const;
    void subtract(const std::vector<Use>& uses, LabelId label);
    // Whether no other n-grams have counts under a label. Takes a pass over all n-grams.
    bool are_all_of(const std::vector<Use>& uses, LabelId label) const;
    void remove_word(WordId word);
    void check_again();
    void lower_maxima(const std::vector<Use>& uses, LabelId label);
    void compact_shards(const std::vector<Use>& uses);
    UnlearnIndex unlearn_index_of(const std::vector<Use>& uses, LabelId label) const;
    void make_unlearn_index();
    void forget_unlearn_index();
    // Updates the index, or drops it if memory runs out: it can be built again from the counts.
    template <class Work>
    void with_index(const Work& work) {
        if (!unlearn_index_) return;
        try {
            work();
        } catch (const std::bad_alloc&) {
            forget_unlearn_index();
        }
    }
    UnlearnIndex::Ngram ngram_at(std::size_t shard, NodeIndex index, unsigned length) const;
    // Calls visit(n-gram, label, count) for all counts of a shard.
    template <class Visit>
    void for_each_count(std::size_t shard, const Visit& visit) const;
    void forget_unlearn_index_before(std::span<const TermBatch> batches);
    void note_learnt(std::span<const Lesson> lessons);
    void add_fingerprints(std::span<const Lesson> lessons);
    // Notes in the index that the counts of these n-grams, known in `uses`, change.
    enum class Change : std::uint8_t { Learnt, Unlearnt };
    void note(const std::vector<Use>& uses, LabelId label, Change change);

    unsigned max_ngram_;
    Counting counting_;
    std::shared_ptr<const MappedTree> mapped_;  // instead of words, cells and shards
    LabelTable labels_;
    std::vector<LabelTotals> totals_;  // by label id
    Vocabulary words_;
    SegmentedTable<Cell> word_cells_;  // by word id
    std::array<RowPool, kWordPools> word_pools_;
    std::array<Trie, kShards> shards_;
    PruneResult pruned_;
    bool was_pruned_ = false;

    // Of documents whose counts are all there: removing those leaves the counts of a model. Others
    // may be missing here.
    Fingerprints learnt_;
    bool unchecked_ = false;
    bool complete_ = true;
    std::size_t kept_words_ = 0;  // without counts, because n-grams may need them

    // Made once enough documents without a fingerprint were unlearnt for it to pay; copies make
    // their own.
    std::unique_ptr<UnlearnIndex> unlearn_index_;
    static constexpr unsigned kUnlearntWithoutIndex = 8;
    static constexpr std::size_t kFewNgrams =
        table_size(4096, 16);              // up to this many, it pays at once
    unsigned unlearnt_without_index_ = 0;  // since the last large change

    Leaders leaders_;
};

}  // namespace watchword
