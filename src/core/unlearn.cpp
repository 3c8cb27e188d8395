// The part of Counts that unlearns documents, or rejects them.
#include <algorithm>
#include <utility>

#include "counts.h"

namespace watchword {

void Counts::unlearn(const TermBatch& document, const Label& label, bool renumber) {
    const std::optional<LabelId> id = labels_.find(label);
    if (!id || totals_[*id].documents == 0) {
        throw UnlearnFailure("no document with this label is left");
    }
    const std::vector<Use> uses = uses_of(document);
    LabelTotals& totals = totals_[*id];
    Count words = 0;
    for (const Use& use : uses) words += use.length == 1 ? use.amount : 0;
    if (totals.documents == 1 && totals.words != words) {
        throw UnlearnFailure("it is not the only document that is left of this label");
    }
    check_what_is_left(uses, *id);
    if (counting_ == Counting::Documents) check_documents_left(uses, *id);

    for (const Use& use : uses) {
        if (use.length == 1) {
            Cell& cell = word_cells_[use.ngram];
            cell.subtract(*id, use.amount, word_pool(use.ngram));
            if (cell.empty()) words_.remove(use.ngram);
        } else {
            shards_[use.ngram >> 24].subtract(node_index(use.ngram), *id, use.amount);
        }
    }
    for (Trie& shard : shards_) {
        if (renumber && shard.mostly_empty()) shard.compact();
    }
    totals.words -= words;
    if (--totals.documents == 0) labels_.remove(*id);
    stale_ = true;
}

std::vector<Counts::Use> Counts::uses_of(const TermBatch& document) const {
    std::vector<Use> uses;
    std::vector<WordId> sequence;
    const std::vector<Symbol>& symbols = document.symbols;
    for (std::size_t start = 0; start < symbols.size(); ++start) {
        sequence.clear();
        for (std::size_t at = start; at < symbols.size() && is_word(symbols[at]); ++at) {
            if (sequence.size() == max_ngram_) break;
            sequence.push_back(words_.find(document.words.word(symbols[at])));
            const NgramId ngram = sequence.back() == kUnknownWord ? kNone : find(sequence);
            if (ngram == kNone) throw UnlearnFailure("it has n-grams that were never learnt");
            uses.push_back({static_cast<unsigned>(sequence.size()), ngram, 1});
        }
    }
    const auto place = [](const Use& use) { return std::pair(use.length, use.ngram); };
    std::sort(uses.begin(), uses.end(),
              [&](const Use& a, const Use& b) { return place(a) < place(b); });
    std::size_t distinct = 0;
    for (const Use& use : uses) {
        if (distinct > 0 && place(uses[distinct - 1]) == place(use)) {
            uses[distinct - 1].amount += counting_ == Counting::Occurrences;
        } else {
            uses[distinct++] = use;
        }
    }
    uses.resize(distinct);
    return uses;
}

// Every occurrence of an n-gram is continued by at most one word, and every occurrence of a word
// ends at most one n-gram of each length. A document that breaks this was never learnt. Where
// documents are counted, one may continue an n-gram in many ways, but has it whenever it has one of
// its continuations.
void Counts::check_what_is_left(const std::vector<Use>& uses, LabelId label) const {
    const auto count_of = [&](unsigned length, NgramId ngram) -> Count {
        if (length == 1) return word_cells_[ngram].count(label, word_pool(ngram));
        const Trie& trie = shard_of(ngram);
        return trie.cell(node_index(ngram)).count(label, trie.pool());
    };
    // What is left of each n-gram of the document, less what its extensions have of it; of a word
    // also, by length, less what the n-grams that end in it have.
    std::vector<Count> left(uses.size());
    std::vector<Count> left_to_end;
    std::vector<std::uint32_t> use_of_word(words_.id_limit(), 0);  // 0: not in the document
    std::vector<std::vector<std::uint32_t>> use_of_node(kShards);
    for (std::size_t at = 0; at < uses.size(); ++at) {
        const Count count = count_of(uses[at].length, uses[at].ngram);
        if (count < uses[at].amount) {
            throw UnlearnFailure("it has n-grams that were learnt less often under this label");
        }
        left[at] = count - uses[at].amount;
        const auto number = static_cast<std::uint32_t>(at + 1);
        if (uses[at].length == 1) {
            use_of_word[uses[at].ngram] = number;
            left_to_end.resize(number * max_ngram_, left[at]);
        } else {
            const std::size_t shard = uses[at].ngram >> 24;
            use_of_node[shard].resize(shards_[shard].size(), 0);
            use_of_node[shard][node_index(uses[at].ngram)] = number;
        }
    }
    const bool shared = counting_ == Counting::Documents;
    const auto take = [shared](Count& from, Count amount) {
        if (from < amount) throw UnlearnFailure("n-grams would be left without their words");
        if (!shared) from -= amount;
    };
    for (std::size_t shard = 0; shard < kShards; ++shard) {
        const Trie& trie = shards_[shard];
        const std::vector<std::uint32_t>& use_of = use_of_node[shard];
        std::vector<std::uint8_t> lengths;
        for (NodeIndex index = 0; index < trie.size(); ++index) {
            const Trie::Key key = trie.node(index).key;
            const std::uint32_t last = use_of_word[key.word];
            const std::uint32_t parent = key.is_bigram()  ? use_of_word[key.first_word()]
                                         : use_of.empty() ? 0
                                                          : use_of[key.parent_node()];
            if (last == 0 && parent == 0) continue;
            Count count = trie.cell(index).count(label, trie.pool());
            if (!use_of.empty() && use_of[index] != 0) count -= uses[use_of[index] - 1].amount;
            if (count == 0) continue;
            if (lengths.empty()) lengths = trie.lengths();
            if (last != 0) take(left_to_end[(last - 1) * max_ngram_ + lengths[index] - 1], count);
            if (parent != 0) take(left[parent - 1], count);
        }
    }
}

// A word that is in every document of a label must be in this one. Checking words is enough: longer
// n-grams are never in more documents.
void Counts::check_documents_left(const std::vector<Use>& uses, LabelId label) const {
    std::vector<bool> used(words_.id_limit(), false);
    for (const Use& use : uses) {
        if (use.length == 1) used[use.ngram] = true;
    }
    for (WordId word = 0; word < words_.id_limit(); ++word) {
        if (used[word] || !words_.holds(word)) continue;
        if (word_cells_[word].count(label, word_pool(word)) == totals_[label].documents) {
            throw UnlearnFailure("all documents of this label have words that it lacks");
        }
    }
}

}  // namespace watchword
