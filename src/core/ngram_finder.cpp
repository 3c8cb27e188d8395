#include "ngram_finder.h"

#include <algorithm>

namespace watchword {
namespace {

const Memo::Entry kNothing{};  // the entry of an unknown word

}  // namespace

std::size_t NgramFinder::walk_block(std::span<const Symbol> symbols, std::size_t begin) {
    const std::size_t end = std::min(symbols.size(), begin + kBlock);
    memo_.make_room(kBlock * max_ngram_);
    if (counts_.mapped() != nullptr) {
        walk_mapped(symbols, begin, end);
    } else {
        walk(symbols, begin, end);
    }
    return end;
}

std::size_t NgramFinder::choose_block(std::span<const Symbol> symbols, std::size_t begin) {
    const std::size_t end = walk_block(symbols, begin);
    chosen_ = 0;
    std::size_t at = begin;
    while (at < end) {
        const Symbol symbol = symbols[at];
        if (symbol < kUnknownWord) {
            const Choice choice = choose_at(symbols, at, found_at(at - begin));
            memo_.prefetch_confidences(*choice.entry);
            choices_[chosen_++] = choice;
            at += choice.length;
            continue;
        }
        if (symbol == kUnknownWord) {
            choices_[chosen_++] = {at, 1, Counts::kNone, &kNothing};
        } else if (symbol != kBreak) {
            choices_[chosen_++] = {at, 1, symbol, nullptr};
        }
        ++at;
    }
    return at;
}

// Finds every n-gram that begins in the block, length by length.
void NgramFinder::walk(std::span<const Symbol> symbols, std::size_t begin, std::size_t end) {
    found_.resize(kBlock * max_ngram_);
    const auto word_at = [symbols](std::size_t at) {
        return at < symbols.size() && is_word(symbols[at]);
    };
    std::size_t open = 0;
    for (std::size_t at = begin; at < end; ++at) {
        if (!is_word(symbols[at])) continue;
        memo_.prefetch_word(symbols[at]);
        found_at(at - begin)->ngram = Counts::kNone;
        if (max_ngram_ == 1 || !word_at(at + 1)) continue;
        const Trie::Key key = Trie::Key::of_bigram(symbols[at], symbols[at + 1]);
        const std::uint64_t hash = key.hash();
        const std::size_t shard = Counts::shard_index(hash);
        const Trie::Slot* const slot = counts_.shard(shard).prefetch_slot(hash);
        open_[open++] = {static_cast<std::uint32_t>(at - begin), static_cast<std::uint32_t>(shard),
                         key, hash, slot};
    }
    for (unsigned length = 2; length <= max_ngram_ && open > 0; ++length) {
        find_open(length, {open_.data(), open});
        std::size_t extended = 0;
        for (std::size_t at = 0; at < open && length < max_ngram_; ++at) {
            const std::uint32_t offset = open_[at].offset, shard = open_[at].shard;
            const NgramId ngram = found_at(offset)[length - 2].ngram;
            if (ngram == Counts::kNone || !word_at(begin + offset + length)) continue;
            const Trie::Key key =
                Trie::Key::of_child(Counts::node_index(ngram), symbols[begin + offset + length]);
            const std::uint64_t hash = key.hash();
            const Trie::Slot* const slot = counts_.shard(shard).prefetch_slot(hash);
            open_[extended++] = {offset, shard, key, hash, slot};
        }
        open = extended;
    }
}

void NgramFinder::find_open(unsigned length, std::span<Open> open) {
    for (Open& next : open) {
        next.slot = counts_.shard(next.shard).prefetch_node(next.slot, next.hash);
    }
    for (const Open& next : open) {
        const Trie& trie = counts_.shard(next.shard);
        const NodeIndex node = trie.find_from(next.slot, next.key, next.hash);
        if (node == Trie::kNone || trie.cell(node).empty()) continue;
        trie.cell(node).prefetch_row(trie.pool());
        const NgramId ngram = Counts::ngram_id(next.shard, node);
        Found* found = found_at(next.offset) + (length - 2);
        found[0] = {memo_.place_of(length, ngram, trie.cell(node)), ngram};
        found[1].ngram = Counts::kNone;
    }
}

void NgramFinder::walk_mapped(std::span<const Symbol> symbols, std::size_t begin, std::size_t end) {
    const MappedTree& tree = *counts_.mapped();
    found_.resize(kBlock * max_ngram_);
    const auto word_at = [symbols](std::size_t at) {
        return at < symbols.size() && is_word(symbols[at]);
    };
    steps_.clear();
    for (std::size_t at = begin; at < end; ++at) {
        if (!is_word(symbols[at])) continue;
        memo_.prefetch_mapped_word(symbols[at]);
        found_at(at - begin)->ngram = Counts::kNone;
        if (max_ngram_ == 1 || !word_at(at + 1)) continue;
        tree.prefetch_children(1, symbols[at]);
        steps_.push_back({static_cast<std::uint32_t>(at - begin), symbols[at], {}});
    }
    for (unsigned length = 2; length <= max_ngram_ && !steps_.empty(); ++length) {
        find_mapped(length, symbols.subspan(begin + length - 1));
        std::size_t extended = 0;
        for (std::size_t at = 0; at < steps_.size() && length < max_ngram_; ++at) {
            if (!word_at(begin + steps_[at].offset + length)) continue;
            tree.prefetch_children(length, steps_[at].place);
            steps_[extended++] = steps_[at];
        }
        steps_.resize(extended);
    }
}

// Extends all searches by one word per step, and drops those that fail.
void NgramFinder::find_mapped(unsigned length, std::span<const Symbol> following) {
    const MappedTree& tree = *counts_.mapped();
    for (Step& step : steps_) {
        step.among = tree.children(length - 1, step.place);
        tree.prefetch_middle(length, step.among);
    }
    // All searches in step, so that each waits for memory while the others go on.
    for (bool going = true; going;) {
        going = false;
        for (Step& step : steps_) {
            going |= tree.narrow(length, step.among, following[step.offset]);
        }
    }
    std::size_t found = 0;
    for (const Step& step : steps_) {
        const std::uint64_t place = tree.find_child(length, step.among, following[step.offset]);
        if (place == MappedTree::kNone) continue;
        tree.prefetch_row(length, place);
        steps_[found++] = {step.offset, place, {}};
    }
    steps_.resize(found);
    for (const Step& step : steps_) tree.prefetch_entries(length, step.place);
    for (const Step& step : steps_) {
        const NgramId ngram = tree.id(length, step.place);
        Found* here = found_at(step.offset) + (length - 2);
        here[0] = {memo_.place_of(length, ngram, tree.cell(length, step.place)), ngram};
        here[1].ngram = Counts::kNone;
    }
}

// The n-grams found at one position of the text.
class NgramFinder::Path {
   public:
    Path(NgramFinder& finder, const Symbol* symbols, const Found* found)
        : counts_(finder.counts_),
          memo_(finder.memo_),
          room_(finder.room_),
          symbols_(symbols),
          found_(found) {}

    bool has(unsigned length) const { return found_[length - 2].ngram != Counts::kNone; }
    const Memo::Entry& word(unsigned offset) { return memo_.get_word(symbols_[offset]); }
    const Memo::Entry* above(unsigned length, double floor) {
        const Found& found = found_[length - 2];
        return memo_.get_above(floor, found.place, length, found.ngram);
    }
    ConfidenceRow confidences(const Memo::Entry& entry) const { return memo_.confidences(entry); }
    template <class Visit>
    void labels_of(unsigned length, const Visit& visit) const {
        const NgramId ngram = length == 1 ? symbols_[0] : found_[length - 2].ngram;
        for (const LabelCount entry : counts_.row(length, ngram, room_)) {
            visit(counts_.labels().position(entry.label()));
        }
    }

   private:
    const Counts& counts_;
    Memo& memo_;
    std::vector<LabelCount>& room_;
    const Symbol* symbols_;
    const Found* found_;
};

Choice NgramFinder::choose_at(std::span<const Symbol> symbols, std::size_t position,
                              const Found* found) {
    Path path(*this, symbols.data() + position, found);
    const Chosen chosen = choose(path, alpha_, rule_, memo_.labels());
    const NgramId ngram = chosen.length == 1 ? symbols[position] : found[chosen.length - 2].ngram;
    return {position, chosen.length, ngram, chosen.entry};
}

}  // namespace watchword
