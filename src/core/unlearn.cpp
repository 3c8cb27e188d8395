// The part of Counts that unlearns documents, or rejects them, and the index it keeps for that.
#include <algorithm>
#include <optional>
#include <tuple>

#include "counts.h"
#include "snapshot.h"

namespace watchword {

void Counts::unlearn(const TermBatch& document, const Label& label, bool renumber, bool check) {
    const std::optional<LabelId> id = labels_.find(label);
    if (!id || totals_[*id].documents == 0) {
        throw UnlearnFailure("no document with this label is left");
    }
    const std::vector<Symbol> symbols = symbols_of(document);
    const Document own(symbols);
    const std::vector<Use> uses = uses_of({&own, 1}, *id);
    LabelTotals& totals = totals_[*id];
    Count words = 0;
    for (const Use& use : uses) words += use.length == 1 ? use.amount : 0;
    const bool last = totals.documents == 1;
    const bool totals_suffice = check && !unchecked_;  // to know that nothing else would be left
    if (last && (totals.words != words || !(totals_suffice || are_all_of(uses, *id)))) {
        throw UnlearnFailure("it is not the only document that is left of this label");
    }
    for (const Use& use : uses) {
        if (use.count < use.amount) {
            throw UnlearnFailure("it has n-grams that were learnt less often under this label");
        }
    }
    const Fingerprint fingerprint = fingerprint_of(own, *id);
    const bool known = learnt_.hold(fingerprint);
    if (!known && (check || unlearn_index_)) check_left(uses, *id);
    complete_ = false;
    if (known) {
        learnt_.remove(fingerprint);
    } else if (check || unlearn_index_) {
        learnt_.clear();  // if it was not learnt, its counts are those of others
    } else {
        unchecked_ = true;
    }
    subtract(uses, *id);
    with_index([&] { note(uses, *id, Change::Unlearnt); });
    totals.words -= words;
    --totals.documents;
    if (last) {
        leaders_.forget_label(*id);
        labels_.remove(*id);
    } else {
        lower_maxima(uses, *id);
    }
    if (renumber) compact_shards(uses);
    complete_ = true;
    if (kept_words_ > std::max<std::size_t>(kFewNgrams, words_.id_limit() / 2)) check_again();
}

std::vector<Symbol> Counts::symbols_of(const TermBatch& document) const {
    document.check_usable();
    std::vector<WordId> ids(document.words.id_limit());
    for (WordId id = 0; id < document.words.id_limit(); ++id) {
        ids[id] = find_word(document.words.padded(id));
    }
    std::vector<Symbol> symbols = document.symbols;
    for (Symbol& symbol : symbols) {
        if (!is_word(symbol)) continue;
        symbol = ids[symbol];
        if (symbol == kUnknownWord) throw UnlearnFailure("it has words that were never learnt");
    }
    return symbols;
}

std::vector<Counts::Use> Counts::uses_of(std::span<const Document> documents, LabelId label) const {
    // Those of several words come right after the same without the last word.
    struct Occurrence {
        unsigned length;
        NgramId ngram;
        std::size_t document;
        std::size_t number;
        std::size_t last;  // word of all documents' words
    };
    std::vector<Occurrence> occurrences;
    std::vector<std::size_t> number_of_word;  // among the occurrences
    for (std::size_t document = 0; document < documents.size(); ++document) {
        const Document symbols = documents[document];
        for (std::size_t start = 0; start < symbols.size(); ++start) {
            if (!is_word(symbols[start])) continue;
            const std::size_t first = number_of_word.size();
            number_of_word.push_back(occurrences.size());
            NgramId ngram = symbols[start];
            for (unsigned length = 1;; ++length) {
                if (ngram == kNone) throw UnlearnFailure("it has n-grams that were never learnt");
                occurrences.push_back(
                    {length, ngram, document, occurrences.size(), first + length - 1});
                const std::size_t next = start + length;
                if (length == max_ngram_ || next >= symbols.size()) break;
                if (!is_word(symbols[next])) break;
                ngram = find_extension(length, ngram, symbols[next]);
            }
        }
    }
    std::sort(occurrences.begin(), occurrences.end(), [](const Occurrence& a, const Occurrence& b) {
        return std::tie(a.length, a.ngram, a.document) < std::tie(b.length, b.ngram, b.document);
    });
    std::vector<Use> uses;
    std::vector<std::size_t> use_of(occurrences.size());  // by number
    const Occurrence* previous = nullptr;
    for (const Occurrence& own : occurrences) {
        const bool same =
            previous != nullptr && previous->length == own.length && previous->ngram == own.ngram;
        if (!same) {
            uses.push_back({own.length, own.ngram, 0, 0, 0, count(own.length, own.ngram, label)});
            // Shorter ones were sorted before this one.
            if (own.length > 1) uses.back().prefix = use_of[own.number - 1];
            if (own.length > 1) uses.back().last = use_of[number_of_word[own.last]];
        }
        const bool again = same && previous->document == own.document;
        uses.back().amount += !again || counting_ == Counting::Occurrences;
        use_of[own.number] = uses.size() - 1;
        previous = &own;
    }
    return uses;
}

void Counts::check_left(const std::vector<Use>& uses, LabelId label) {
    if (!unlearn_index_) {
        const bool few = size() <= kFewNgrams;
        if (few || ++unlearnt_without_index_ > kUnlearntWithoutIndex) make_unlearn_index();
    }
    if (unlearn_index_) {
        check_what_is_left(*unlearn_index_, uses, label);
    } else {
        check_what_is_left(unlearn_index_of(uses, label), uses, label);
    }
    if (counting_ == Counting::Documents) check_documents_left(uses, label);
}

void Counts::check_what_is_left(const UnlearnIndex& index, const std::vector<Use>& uses,
                                LabelId label) const {
    const bool occurrences = counting_ == Counting::Occurrences;
    const std::size_t longer = max_ngram_ - 1;
    std::vector<Count> continued(uses.size(), 0);
    std::vector<Count> ended;  // of each word, by length - 2
    for (const Use& use : uses) {
        if (use.length == 1) {
            ended.resize(ended.size() + longer, 0);
            continue;
        }
        const auto share = [&](std::size_t part) {
            return occurrences ? use.amount : Count{use.count == uses[part].count};
        };
        continued[use.prefix] += share(use.prefix);
        ended[use.last * longer + use.length - 2] += share(use.last);
    }
    for (std::size_t at = 0; at < uses.size(); ++at) {
        const Use& use = uses[at];
        if (use.length == max_ngram_) break;
        UnlearnIndex::Leaving ngram{use.length, use.ngram,     use.count,
                                    use.amount, continued[at], {}};
        if (use.length == 1) ngram.ended = {ended.data() + at * longer, longer};
        if (!index.may_go(ngram, label)) {
            throw UnlearnFailure("n-grams would be left without their words");
        }
    }
}

// A word that is in every document of a label must be in this one. Checking words is enough: longer
// n-grams are never in more documents.
void Counts::check_documents_left(const std::vector<Use>& uses, LabelId label) const {
    const Count documents = totals_[label].documents;
    if (maximum(1, label) < documents) return;
    Count own = 0;
    for (const Use& use : uses) own += use.length == 1 && use.count == documents;
    if (leaders_.with_maximum(1, label, *this) > own) {
        throw UnlearnFailure("all documents of this label have words that it lacks");
    }
}

void Counts::subtract(const std::vector<Use>& uses, LabelId label) {
    for (const Use& use : uses) {
        if (use.length == 1) {
            Cell& cell = word_cells_[use.ngram];
            cell.subtract(label, use.amount, word_pool(use.ngram));
            if (cell.empty()) remove_word(use.ngram);
        } else {
            shards_[use.ngram >> 24].subtract(node_index(use.ngram), label, use.amount);
        }
    }
}

bool Counts::are_all_of(const std::vector<Use>& uses, LabelId label) const {
    std::size_t ngrams = 0;
    for_each([&](unsigned length, NgramId ngram) { ngrams += count(length, ngram, label) > 0; });
    const auto is_whole = [](const Use& use) { return use.amount == use.count; };
    return ngrams == uses.size() && std::all_of(uses.begin(), uses.end(), is_whole);
}

// Its id may be given to another word, which must not get the n-grams of this one.
void Counts::remove_word(WordId word) {
    if (unchecked_) {
        ++kept_words_;
    } else {
        words_.remove(word);
    }
}

// Removes the words that were kept, unless the counts are no longer those of a model.
void Counts::check_again() {
    kept_words_ = 0;
    try {
        SnapshotReader(take_snapshot(*this, nullptr, max_ngram_), counting_).check();
    } catch (const SnapshotFailure&) {
        return;
    } catch (const std::bad_alloc&) {
        return;  // the words stay until the next time
    }
    unchecked_ = false;
    learnt_.clear();  // the counts may be those of other documents
    for (WordId word = 0; word < words_.id_limit(); ++word) {
        if (words_.holds(word) && word_cells_[word].empty()) words_.remove(word);
    }
}

void Counts::lower_maxima(const std::vector<Use>& uses, LabelId label) {
    unsigned settled = 0;
    for (const Use& use : uses) {
        if (use.length == settled || use.count < maximum(use.length, label)) continue;
        leaders_.settle(use.length, label, *this);
        settled = use.length;
    }
}

void Counts::compact_shards(const std::vector<Use>& uses) {
    for (const Use& use : uses) {
        const std::size_t shard = use.ngram >> 24;
        if (use.length == 1 || !shards_[shard].mostly_empty()) continue;
        shards_[shard].compact();
        leaders_.forget_shard(shard);
        for_each_count(shard, [&](const UnlearnIndex::Ngram& ngram, LabelId label, Count count) {
            leaders_.of_length(ngram.length, *this).rise(label, ngram.id, 0, count);
        });
        with_index([&] {
            unlearn_index_->forget_shard(shard);
            for_each_count(shard,
                           [this](const UnlearnIndex::Ngram& ngram, LabelId label, Count count) {
                               unlearn_index_->change_in_shard(ngram, label, 0, count);
                           });
        });
    }
}

UnlearnIndex::Ngram Counts::ngram_at(std::size_t shard, NodeIndex index, unsigned length) const {
    const Trie::Key key = shards_[shard].node(index).key;
    return {length, ngram_id(shard, index),
            key.is_bigram() ? key.first_word() : ngram_id(shard, key.parent_node()), key.word};
}

template <class Visit>
void Counts::for_each_count(std::size_t shard, const Visit& visit) const {
    const Trie& trie = shards_[shard];
    const std::vector<std::uint8_t> lengths = trie.lengths();
    for (NodeIndex index = 0; index < trie.size(); ++index) {
        const UnlearnIndex::Ngram ngram = ngram_at(shard, index, lengths[index]);
        for (const LabelCount entry : trie.cell(index).row(trie.pool())) {
            visit(ngram, entry.label(), entry.count());
        }
    }
}

void Counts::make_unlearn_index() {
    auto index = std::make_unique<UnlearnIndex>(counting_, max_ngram_, kShards);
    for (WordId word = 0; word < words_.id_limit(); ++word) {
        for (const LabelCount entry : word_cells_[word].row(word_pool(word))) {
            index->change({1, word, 0, 0}, entry.label(), 0, entry.count());
        }
    }
    for (std::size_t shard = 0; shard < kShards; ++shard) {
        for_each_count(shard, [&](const UnlearnIndex::Ngram& ngram, LabelId label, Count count) {
            index->change(ngram, label, 0, count);
        });
        index->shrink_shard(shard);
    }
    index->shrink_words();
    unlearn_index_ = std::move(index);
}

// An index for checking one document only: its n-grams and the n-grams of its label that contain
// them. Where documents are counted, only n-grams as frequent as their parts matter.
UnlearnIndex Counts::unlearn_index_of(const std::vector<Use>& uses, LabelId label) const {
    UnlearnIndex found(counting_, max_ngram_, kShards);
    std::vector<std::uint32_t> use_of_word(words_.id_limit(), 0);  // 0: not in the document
    std::array<std::vector<std::uint32_t>, kShards> use_of_node;
    for (std::size_t at = 0; at < uses.size(); ++at) {
        const auto number = static_cast<std::uint32_t>(at + 1);
        const NgramId ngram = uses[at].ngram;
        if (uses[at].length == 1) {
            use_of_word[ngram] = number;
        } else {
            use_of_node[ngram >> 24].resize(shards_[ngram >> 24].size(), 0);
            use_of_node[ngram >> 24][node_index(ngram)] = number;
        }
    }
    for (WordId word = 0; word < words_.id_limit(); ++word) {
        const Count count = word_cells_[word].count(label, word_pool(word));
        if (count == 0) continue;
        if (use_of_word[word] == 0) continue;
        found.change({1, word, 0, 0}, label, 0, count);
    }
    for (std::size_t shard = 0; shard < kShards; ++shard) {
        const Trie& trie = shards_[shard];
        const std::vector<std::uint32_t>& use_of = use_of_node[shard];
        std::vector<std::uint8_t> lengths;
        for (NodeIndex index = 0; index < trie.size(); ++index) {
            const Trie::Key key = trie.node(index).key;
            const std::uint32_t last = use_of_word[key.word];
            const std::uint32_t prefix = key.is_bigram()  ? use_of_word[key.first_word()]
                                         : use_of.empty() ? 0
                                                          : use_of[key.parent_node()];
            const bool used = !use_of.empty() && use_of[index] != 0;
            if (last == 0 && prefix == 0 && !used) continue;
            const Count count = trie.cell(index).count(label, trie.pool());
            if (count == 0) continue;
            const auto matters = [&](std::uint32_t part) {
                if (part == 0) return false;
                return counting_ == Counting::Occurrences || uses[part - 1].count == count;
            };
            if (!used && !matters(last) && !matters(prefix)) continue;
            if (lengths.empty()) lengths = trie.lengths();
            found.change(ngram_at(shard, index, lengths[index]), label, 0, count);
        }
    }
    return found;
}

void Counts::forget_unlearn_index() {
    unlearn_index_.reset();
    unlearnt_without_index_ = 0;
}

void Counts::note(const std::vector<Use>& uses, LabelId label, Change change) {
    for (const Use& use : uses) {
        UnlearnIndex::Ngram ngram{use.length, use.ngram, 0, 0};
        if (use.length > 1) {
            ngram.prefix = uses[use.prefix].ngram;
            ngram.last = uses[use.last].ngram;
        }
        if (change == Change::Learnt) {
            unlearn_index_->change(ngram, label, use.count - use.amount, use.count);
        } else {
            unlearn_index_->change(ngram, label, use.count, use.count - use.amount);
        }
    }
}

}  // namespace watchword
