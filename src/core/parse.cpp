#include "parse.h"

#include <algorithm>

namespace watchword {

void Parser::walk(std::span<const Symbol> symbols) {
    constexpr std::size_t kSlotAhead = 16, kNodeAhead = 8;
    symbols_ = symbols;
    found_.resize(max_ngram_ - 1);
    const std::size_t size = symbols.size();
    for (unsigned length = 2; length <= max_ngram_; ++length) {
        std::vector<NgramId>& found = found_[length - 2];
        found.assign(size, Counts::kNone);
        if (size < length) continue;
        const std::size_t starts = size - length + 1;
        // The open positions: a shorter n-gram is known and a word follows it.
        const auto key_at = [&](std::size_t at, Trie::Key& key, const Trie*& trie) {
            const Symbol next = symbols[at + length - 1];
            if (!is_word(next)) return false;
            if (length == 2) {
                if (!is_word(symbols[at])) return false;
                key = Trie::Key::of_bigram(symbols[at], next);
            } else {
                const NgramId shorter = found_[length - 3][at];
                if (shorter == Counts::kNone) return false;
                key = Trie::Key::of_child(Counts::node_index(shorter), next);
                trie = &counts_.shard_of(shorter);
            }
            return true;
        };
        hashes_.resize(size);
        for (std::size_t step = 0; step < starts + kSlotAhead; ++step) {
            Trie::Key key{};
            const Trie* trie = nullptr;
            if (step < starts && key_at(step, key, trie)) {
                hashes_[step] = key.hash();
                if (length == 2) trie = &counts_.shard(Counts::shard_index(hashes_[step]));
                trie->prefetch_slot(hashes_[step]);
            }
            const std::size_t middle = step - (kSlotAhead - kNodeAhead);
            if (middle < starts && key_at(middle, key, trie)) {
                if (length == 2) trie = &counts_.shard(Counts::shard_index(hashes_[middle]));
                trie->prefetch_node(hashes_[middle]);
            }
            const std::size_t last = step - kSlotAhead;
            if (last < starts && key_at(last, key, trie)) {
                const std::uint64_t hash = hashes_[last];
                const std::size_t shard = length == 2 ? Counts::shard_index(hash)
                                                      : found_[length - 3][last] >> 24;
                trie = &counts_.shard(shard);
                const NodeIndex node = trie->find(key, hash);
                if (node != Trie::kNone && !trie->cell(node).empty()) {
                    found[last] = Counts::ngram_id(shard, node);
                }
            }
        }
    }
}

Choice Parser::choose(std::size_t position) {
    const Symbol word = symbols_[position];
    if (word == kUnknownWord) return {};
    memo_.make_room();
    Choice best{1, word, memo_.get(1, word)};
    const auto counted = [this](double cv) { return cv > alpha_ ? cv : 0; };
    unsigned matched = 1;
    for (unsigned length = 2; length <= max_ngram_; ++length) {
        const NgramId ngram = found_[length - 2][position];
        if (ngram == Counts::kNone) break;
        matched = length;
        const Memo::Entry entry = memo_.get(length, ngram);
        if (counted(entry.best) > counted(best.entry.best)) best = {length, ngram, entry};
    }
    if (rule_ == ReadingRule::WordsSum && best.length > 1 &&
        words_outweigh(position, matched, best.entry.best)) {
        return {1, word, memo_.get(1, word)};
    }
    return best;
}

// Whether, for some label, the words along the path matched in that label are together worth more.
bool Parser::words_outweigh(std::size_t position, unsigned matched, double best) {
    sums_.assign(memo_.labels(), 0);
    bool outweighed = false;
    for (unsigned length = 1; length <= matched; ++length) {
        word_cv_.assign(memo_.labels(), 0);
        const Memo::Entry word = memo_.get(1, symbols_[position + length - 1]);
        for (const Confidence& entry : memo_.confidences(word)) word_cv_[entry.position] = entry.cv;
        const NgramId ngram = length == 1 ? symbols_[position] : found_[length - 2][position];
        const Memo::Entry path = memo_.get(length, ngram);
        for (const Confidence& entry : memo_.confidences(path)) {
            sums_[entry.position] += word_cv_[entry.position];
            outweighed = outweighed || sums_[entry.position] > best;
        }
    }
    return outweighed;
}

}  // namespace watchword
