#include "unlearn_index.h"

namespace watchword {

void UnlearnIndex::change(const Ngram& ngram, LabelId label, Count from, Count to) {
    const WordId last = ngram.length == 1 ? ngram.id : ngram.last;
    Tally& ended = of_word(last);
    if (ngram.length > 1) apply(ended, key(last, label, ngram.length), from, to, -1);
    if (ngram.length < max_ngram_) apply(ended, key(last, label, ngram.length + 1), from, to, 1);
    if (ngram.length == 1) {
        if (max_ngram_ > 1) apply(ended, key(ngram.id, label, kContinued), from, to, 1);
        return;
    }
    if (ngram.length == 2) {
        apply(of_word(ngram.prefix), key(ngram.prefix, label, kContinued), from, to, -1);
    }
    change_in_shard(ngram, label, from, to);
}

void UnlearnIndex::change_in_shard(const Ngram& ngram, LabelId label, Count from, Count to) {
    Tally& nodes = nodes_[ngram.id >> 24];
    if (ngram.length < max_ngram_) apply(nodes, key(ngram.id, label, kContinued), from, to, 1);
    if (ngram.length > 2) apply(nodes, key(ngram.prefix, label, kContinued), from, to, -1);
}

void UnlearnIndex::apply(Tally& tally, Tally::Key key, Count from, Count to, int sign) const {
    if (counting_ == Counting::Occurrences) {
        const auto more = static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from);
        return tally.add(key, 0, sign * more);
    }
    if (from > 0) tally.add(key, from, -sign);
    if (to > 0) tally.add(key, to, sign);
}

void UnlearnIndex::shrink_words() {
    for (Tally& tally : words_) tally.shrink();
}

bool UnlearnIndex::may_go(const Leaving& ngram, LabelId label) const {
    const bool occurrences = counting_ == Counting::Occurrences;
    const Tally& tally = tally_of(ngram.length, ngram.id);
    const auto number = [&](unsigned way) {
        return tally.get(key(ngram.id, label, way), occurrences ? 0 : ngram.count);
    };
    const auto enough = [&](std::int64_t unaccounted, Count own) {
        const auto others = static_cast<std::int64_t>(own);
        return occurrences ? unaccounted + others >= static_cast<std::int64_t>(ngram.amount)
                           : unaccounted + others >= 1;
    };
    if (!enough(number(kContinued), ngram.continued)) return false;
    std::int64_t unaccounted = 0;
    for (std::size_t at = 0; at < ngram.ended.size(); ++at) {
        unaccounted += number(static_cast<unsigned>(at + 2));
        if (!enough(unaccounted, ngram.ended[at])) return false;
    }
    return true;
}

}  // namespace watchword
