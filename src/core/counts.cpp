#include "counts.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "parallel.h"
#include "snapshot.h"

namespace watchword {

struct Counts::Item {
    std::uint32_t position;
    LabelId label;
};

struct Counts::Sorted {
    std::vector<Item> items;
    std::array<std::size_t, kShards + 1> begin{};

    std::span<const Item> of(std::size_t shard) const {
        return {items.data() + begin[shard], begin[shard + 1] - begin[shard]};
    }
};

namespace {

// Calls visit(position, label) for every word of a batch.
template <class Visit>
void for_each_word(const TermBatch& batch, std::span<const LabelId> labels, const Visit& visit) {
    for (std::size_t document = 0; document < batch.documents(); ++document) {
        const LabelId label = labels[document];
        for (std::size_t at = batch.begin_of(document); at < batch.ends[document]; ++at) {
            if (is_word(batch.symbols[at])) visit(at, label);
        }
    }
}

void check_words(Count known, Count more) {
    if (more > kMaxWords - known) {
        throw std::overflow_error("a label would have more than 2^40 words");
    }
}

void raise_to(Count& maximum, Count count) { maximum = std::max(maximum, count); }

}  // namespace

Counts::Counts(const Counts& other, unsigned max_ngram)
    : max_ngram_(max_ngram),
      labels_(other.labels_),
      totals_(other.totals_),
      words_(other.words_),
      word_cells_(other.word_cells_),
      word_pools_(other.word_pools_),
      shards_(other.shards_),
      pruned_(other.pruned_),
      was_pruned_(other.was_pruned_),
      maxima_(empty_maxima()),
      stale_(other.stale_.load(std::memory_order_acquire)) {
    if (!stale_) std::copy_n(other.maxima_.begin(), max_ngram, maxima_.begin());
    if (max_ngram == other.max_ngram_) return;
    for (Trie& shard : shards_) shard.compact(max_ngram);
}

Counts::Counts(const Snapshot& known, std::shared_ptr<const MappedTree> tree)
    : max_ngram_(static_cast<unsigned>(tree->arrays().levels.size())), mapped_(std::move(tree)) {
    labels_.find_or_add_all(known.labels);
    totals_ = known.totals;
    pruned_ = known.pruned;
    was_pruned_ = known.was_pruned;
    maxima_ = empty_maxima();
    for (std::size_t at = 0; at < known.maxima.size(); ++at) {
        maxima_[at / labels_.size()][at % labels_.size()] = known.maxima[at];
    }
}

Counts::Maxima Counts::empty_maxima() const {
    return Maxima(max_ngram_, std::vector<Count>(labels_.id_limit(), 0));
}

void Counts::learn(std::span<TermBatch> batches, std::span<const LabelId> labels,
                   unsigned threads) {
    threads = std::min<unsigned>(threads, kWordPools);
    grow_label_columns();
    std::vector<std::span<const LabelId>> labels_of(batches.size());
    std::vector<std::vector<WordId>> ids_of(batches.size());
    std::size_t first = 0;
    for (std::size_t at = 0; at < batches.size(); ++at) {
        labels_of[at] = labels.subspan(first, batches[at].documents());
        first += batches[at].documents();
        adopt_words(batches[at], ids_of[at]);
    }
    std::vector<Sorted> sorted(batches.size());
    std::vector<std::vector<Count>> words_in(batches.size());  // by document
    parallel_for(batches.size(), threads, [&](std::size_t at, unsigned) {
        TermBatch& batch = batches[at];
        for (std::size_t document = 0; document < batch.documents(); ++document) {
            Count words = 0;
            for (std::size_t place = batch.begin_of(document); place < batch.ends[document];
                 ++place) {
                Symbol& symbol = batch.symbols[place];
                if (!is_word(symbol)) continue;
                symbol = ids_of[at][symbol];
                ++words;
            }
            words_in[at].push_back(words);
        }
        if (max_ngram_ > 1) sorted[at] = sort_by_shard(batches[at], labels_of[at]);
    });

    // Nothing is counted before it is certain that everything can be.
    std::unordered_map<LabelId, Count> words_of;
    for (std::size_t at = 0; at < batches.size(); ++at) {
        for (std::size_t document = 0; document < words_in[at].size(); ++document) {
            words_of[labels_of[at][document]] += words_in[at][document];
        }
    }
    for (const auto& [label, words] : words_of) check_words(totals_[label].words, words);
    for (std::size_t shard = 0; shard < kShards && max_ngram_ > 1; ++shard) {
        check_room(shard, batches, sorted);
    }

    // One thread writes the maxima directly, so that a document costs nothing per label.
    std::vector<Maxima> found(threads > 1 ? threads : 0, empty_maxima());
    const auto maxima_of = [&](unsigned thread) -> Maxima& {
        return threads > 1 ? found[thread] : maxima_;
    };
    parallel_for(threads, threads, [&](std::size_t part, unsigned thread) {
        for (std::size_t at = 0; at < batches.size(); ++at) {
            learn_words(batches[at], labels_of[at], static_cast<unsigned>(part), threads,
                        maxima_of(thread));
        }
    });
    if (max_ngram_ > 1) {
        parallel_for(kShards, threads, [&](std::size_t shard, unsigned thread) {
            for (std::size_t at = 0; at < batches.size(); ++at) {
                learn_ngrams(shards_[shard], batches[at], sorted[at].of(shard), maxima_of(thread));
            }
        });
    }
    for (const Maxima& part : found) {
        for (std::size_t length = 0; length < part.size(); ++length) {
            for (std::size_t label = 0; label < part[length].size(); ++label) {
                raise_to(maxima_[length][label], part[length][label]);
            }
        }
    }
    for (const LabelId label : labels) ++totals_[label].documents;
    for (const auto& [label, words] : words_of) totals_[label].words += words;
}

void Counts::forget_unused_labels() {
    for (const Label& label : labels_.sorted_names()) {
        const LabelId id = *labels_.find(label);
        if (id >= totals_.size() || totals_[id].documents == 0) labels_.remove(id);
    }
}

void Counts::grow_label_columns() {
    totals_.resize(labels_.id_limit());
    maxima_.resize(max_ngram_);
    for (std::vector<Count>& column : maxima_) column.resize(labels_.id_limit(), 0);
}

void Counts::adopt_words(TermBatch& batch, std::vector<WordId>& ids) {
    ids.resize(batch.words.id_limit());
    constexpr WordId kAhead = 8;
    for (WordId id = 0; id < batch.words.id_limit(); ++id) {
        if (id + kAhead < batch.words.id_limit()) {
            words_.prefetch_word(hash_word(batch.words.padded(id + kAhead)));
        }
        const PaddedWord word = batch.words.padded(id);
        ids[id] = words_.find_or_add(word, hash_word(word));
    }
    if (word_cells_.size() < words_.id_limit()) word_cells_.resize(words_.id_limit());
}

Counts::Sorted Counts::sort_by_shard(const TermBatch& batch,
                                     std::span<const LabelId> labels) const {
    const std::vector<Symbol>& symbols = batch.symbols;
    const auto begins_bigram = [&symbols](std::size_t at) {
        return at + 1 < symbols.size() && is_word(symbols[at + 1]);
    };
    const auto shard_at = [&symbols](std::size_t at) {
        return shard_index(Trie::Key::of_bigram(symbols[at], symbols[at + 1]).hash());
    };
    Sorted sorted;
    for_each_word(batch, labels, [&](std::size_t at, LabelId) {
        if (begins_bigram(at)) ++sorted.begin[shard_at(at) + 1];
    });
    for (std::size_t shard = 0; shard < kShards; ++shard) {
        sorted.begin[shard + 1] += sorted.begin[shard];
    }
    sorted.items.resize(sorted.begin[kShards]);
    std::array<std::size_t, kShards> next;
    std::copy_n(sorted.begin.begin(), kShards, next.begin());
    for_each_word(batch, labels, [&](std::size_t at, LabelId label) {
        if (!begins_bigram(at)) return;
        sorted.items[next[shard_at(at)]++] = {static_cast<std::uint32_t>(at), label};
    });
    return sorted;
}

void Counts::learn_words(const TermBatch& batch, std::span<const LabelId> labels, unsigned part,
                         unsigned parts, Maxima& maxima) {
    for_each_word(batch, labels, [&](std::size_t at, LabelId label) {
        const WordId word = batch.symbols[at];
        if (parts > 1 && word % kWordPools % parts != part) return;
        raise_to(maxima[0][label], word_cells_[word].add(label, 1, word_pool(word)));
    });
}

// Throws if these n-grams might not fit into their shard. Where even so many occurrences do not
// tell (a text may repeat two words a million times), a copy of the shard finds out.
void Counts::check_room(std::size_t shard, std::span<const TermBatch> batches,
                        std::span<const Sorted> sorted) const {
    std::size_t occurrences = 0;
    for (const Sorted& items : sorted) occurrences += items.of(shard).size() * (max_ngram_ - 1);
    if (occurrences <= shards_[shard].room()) return;
    Trie trial = shards_[shard];
    Maxima unused = empty_maxima();
    for (std::size_t at = 0; at < batches.size(); ++at) {
        learn_ngrams(trial, batches[at], sorted[at].of(shard), unused);
    }
}

void Counts::learn_ngrams(Trie& trie, const TermBatch& batch, std::span<const Item> items,
                          Maxima& maxima) const {
    constexpr std::size_t kSlotAhead = 12, kNodeAhead = 6;
    // The n-grams to count next: where they begin, under which label, and how to find them.
    struct Open {
        std::uint32_t position;
        LabelId label;
        Trie::Key key;
        std::uint64_t hash;
    };
    thread_local std::vector<Open> open;
    open.clear();
    for (const Item item : items) {
        const Symbol* at = batch.symbols.data() + item.position;
        const Trie::Key key = Trie::Key::of_bigram(at[0], at[1]);
        open.push_back({item.position, item.label, key, key.hash()});
    }
    for (unsigned length = 2; length <= max_ngram_ && !open.empty(); ++length) {
        std::vector<Count>& maximum = maxima[length - 1];
        std::size_t extended = 0;
        for (std::size_t at = 0; at < open.size(); ++at) {
            if (at + kSlotAhead < open.size()) trie.prefetch_slot(open[at + kSlotAhead].hash);
            if (at + kNodeAhead < open.size()) trie.prefetch_node(open[at + kNodeAhead].hash);
            const Open ngram = open[at];
            const NodeIndex node = trie.find_or_add(ngram.key, ngram.hash);
            raise_to(maximum[ngram.label], trie.add(node, ngram.label, 1));
            const std::size_t next = ngram.position + length;
            if (length == max_ngram_ || next >= batch.symbols.size()) continue;
            if (!is_word(batch.symbols[next])) continue;
            const Trie::Key key = Trie::Key::of_child(node, batch.symbols[next]);
            open[extended++] = {ngram.position, ngram.label, key, key.hash()};
        }
        open.resize(extended);
    }
}

void Counts::merge(const Counts& other) {
    for (LabelPosition position = 0; position < other.labels_.size(); ++position) {
        const LabelId theirs = other.labels_.id_at(position);
        const std::optional<LabelId> ours = labels_.find(other.labels_.name(theirs));
        if (ours) check_words(totals_[*ours].words, other.totals_[theirs].words);
    }
    std::vector<LabelId> label_of(other.labels_.id_limit(), 0);
    for (LabelPosition position = 0; position < other.labels_.size(); ++position) {
        const LabelId theirs = other.labels_.id_at(position);
        const LabelId ours = labels_.find_or_add(other.labels_.name(theirs));
        label_of[theirs] = ours;
        grow_label_columns();
        totals_[ours].documents += other.totals_[theirs].documents;
        totals_[ours].words += other.totals_[theirs].words;
    }
    std::vector<WordId> word_of(other.words_.id_limit(), 0);
    for (WordId theirs = 0; theirs < other.words_.id_limit(); ++theirs) {
        if (!other.words_.holds(theirs)) continue;
        const PaddedWord word = other.words_.padded(theirs);
        const WordId ours = words_.find_or_add(word, hash_word(word));
        word_of[theirs] = ours;
        if (word_cells_.size() <= ours) word_cells_.resize(words_.id_limit());
        for (const LabelCount entry : other.row(1, theirs)) {
            word_cells_[ours].add(label_of[entry.label()], entry.count(), word_pool(ours));
        }
    }
    for (const Trie& theirs : other.shards_) {
        std::vector<std::uint32_t> shard_of(theirs.size());
        std::vector<NodeIndex> moved(theirs.size(), Trie::kNone);
        for (NodeIndex index = 0; index < theirs.size(); ++index) {
            if (theirs.cell(index).empty()) continue;
            const Trie::Key old = theirs.node(index).key;
            Trie::Key key = Trie::Key::of_bigram(0, 0);
            if (old.is_bigram()) {
                key = Trie::Key::of_bigram(word_of[old.first_word()], word_of[old.word]);
                shard_of[index] = static_cast<std::uint32_t>(shard_index(key.hash()));
            } else {
                key = Trie::Key::of_child(moved[old.parent_node()], word_of[old.word]);
                shard_of[index] = shard_of[old.parent_node()];
            }
            Trie& ours = shards_[shard_of[index]];
            moved[index] = ours.find_or_add(key, key.hash());
            for (const LabelCount entry : theirs.cell(index).row(theirs.pool())) {
                ours.add(moved[index], label_of[entry.label()], entry.count());
            }
        }
    }
    stale_ = true;
}

PruneResult Counts::prune(Count floor, unsigned shortest) {
    PruneResult result;
    std::vector<LabelCount> doomed;
    const auto prune_row = [&](std::span<const LabelCount> row, const auto& subtract) {
        doomed.clear();
        for (const LabelCount entry : row) {
            if (entry.count() <= floor) doomed.push_back(entry);
        }
        for (const LabelCount entry : doomed) {
            subtract(entry);
            ++result.ngrams;
            result.counts += entry.count();
        }
    };
    for (Trie& shard : shards_) {
        const std::vector<std::uint8_t> lengths = shard.lengths();
        for (NodeIndex index = 0; index < shard.size(); ++index) {
            if (lengths[index] < shortest) continue;
            prune_row(shard.cell(index).row(shard.pool()), [&](LabelCount entry) {
                shard.subtract(index, entry.label(), entry.count());
            });
        }
        shard.compact();
    }
    if (shortest <= 1) {
        for (WordId word = 0; word < words_.id_limit(); ++word) {
            if (!words_.holds(word)) continue;
            prune_row(row(1, word), [&](LabelCount entry) {
                word_cells_[word].subtract(entry.label(), entry.count(), word_pool(word));
            });
            if (word_cells_[word].empty()) words_.remove(word);
        }
    }
    pruned_.ngrams += result.ngrams;
    pruned_.counts += result.counts;
    was_pruned_ = true;
    stale_ = true;
    return result;
}

void Counts::find_maxima() const {
    const std::lock_guard guard(finding_maxima_);
    if (!stale_.load(std::memory_order_acquire)) return;
    Maxima found = empty_maxima();
    for_each([&](unsigned length, NgramId ngram) {
        for (const LabelCount entry : row(length, ngram)) {
            raise_to(found[length - 1][entry.label()], entry.count());
        }
    });
    maxima_ = std::move(found);
    stale_.store(false, std::memory_order_release);
}

Count Counts::count(unsigned length, NgramId ngram, LabelId label) const {
    if (mapped_) return mapped_->count(length, mapped_->place(length, ngram), label);
    if (length == 1) return word_cells_[ngram].count(label, word_pool(ngram));
    const Trie& trie = shard_of(ngram);
    return trie.cell(node_index(ngram)).count(label, trie.pool());
}

std::size_t Counts::size() const {
    if (mapped_) return mapped_->size();
    std::size_t ngrams = words_.id_limit();
    for (const Trie& shard : shards_) ngrams += shard.size();
    return ngrams;
}

WordId Counts::find_word(PaddedWord word) const {
    if (mapped_) return mapped_->find_word({word.bytes, word.length});
    return words_.find(word, hash_word(word));
}

WordId Counts::find_word(std::string_view word) const {
    return mapped_ ? mapped_->find_word(word) : words_.find(word);
}

std::vector<WordId> Counts::words_of(unsigned length, NgramId ngram) const {
    if (mapped_) return mapped_->words_of(length, mapped_->place(length, ngram));
    if (length == 1) return {ngram};
    std::vector<WordId> words(length);
    const Trie& trie = shard_of(ngram);
    Trie::Key key = trie.node(node_index(ngram)).key;
    for (unsigned at = length - 1;; --at) {
        words[at] = key.word;
        if (key.is_bigram()) break;
        key = trie.node(key.parent_node()).key;
    }
    words[0] = key.first_word();
    return words;
}

NgramId Counts::find(std::span<const WordId> words) const {
    if (words.empty() || words.size() > max_ngram_) return kNone;
    if (words.size() == 1) return words[0];
    if (mapped_) {
        const std::uint64_t place = mapped_->find(words);
        if (place == MappedTree::kNone) return kNone;
        return mapped_->id(static_cast<unsigned>(words.size()), place);
    }
    const Trie::Key bigram = Trie::Key::of_bigram(words[0], words[1]);
    const std::size_t shard = shard_index(bigram.hash());
    const Trie& trie = shards_[shard];
    NodeIndex node = trie.find(bigram);
    for (std::size_t at = 2; at < words.size() && node != Trie::kNone; ++at) {
        node = trie.find(Trie::Key::of_child(node, words[at]));
    }
    if (node == Trie::kNone || trie.cell(node).empty()) return kNone;
    return ngram_id(shard, node);
}

void Counts::for_each(const Visitor& visit) const {
    for (unsigned length = 1; mapped_ && length <= max_ngram_; ++length) {
        const std::uint64_t ngrams = mapped_->ngrams(length);
        for (std::uint64_t at = 0; at < ngrams; ++at) visit(length, mapped_->id(length, at));
    }
    for (WordId word = 0; word < words_.id_limit(); ++word) {
        if (words_.holds(word) && !word_cells_[word].empty()) visit(1, word);
    }
    for (std::size_t shard = 0; shard < kShards; ++shard) {
        const Trie& trie = shards_[shard];
        const std::vector<std::uint8_t> lengths = trie.lengths();
        for (NodeIndex index = 0; index < trie.size(); ++index) {
            if (!trie.cell(index).empty()) visit(lengths[index], ngram_id(shard, index));
        }
    }
}

}  // namespace watchword
