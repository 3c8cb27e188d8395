#include "counts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "snapshot.h"

namespace watchword {

Counts::Counts(const Counts& other, unsigned max_ngram)
    : max_ngram_(max_ngram),
      counting_(other.counting_),
      labels_(other.labels_),
      totals_(other.totals_),
      words_(other.words_),
      word_cells_(other.word_cells_),
      word_pools_(other.word_pools_),
      shards_(other.shards_),
      pruned_(other.pruned_),
      was_pruned_(other.was_pruned_),
      learnt_(other.learnt_),
      unchecked_(other.unchecked_),
      leaders_(other.leaders_, max_ngram) {
    if (max_ngram == other.max_ngram_) return;
    for (Trie& shard : shards_) shard.compact(max_ngram);
    if (was_pruned_) {
        leaders_.fix_all();
    } else {
        leaders_.rebuild(*this);
    }
}

Counts::Counts(const Snapshot& known, std::shared_ptr<const MappedTree> tree, Counting counting)
    : max_ngram_(static_cast<unsigned>(tree->arrays().levels.size())),
      counting_(counting),
      mapped_(std::move(tree)),
      leaders_(max_ngram_) {
    labels_.find_or_add_all(known.labels);
    totals_ = known.totals;
    pruned_ = known.pruned;
    was_pruned_ = known.was_pruned;
    leaders_.grow(labels_.id_limit());
    for (std::size_t at = 0; at < known.maxima.size(); ++at) {
        leaders_.fix(static_cast<unsigned>(at / labels_.size() + 1),
                     static_cast<LabelId>(at % labels_.size()), known.maxima[at]);
    }
}

void Counts::forget_unused(std::vector<LabelId> labels) {
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    for (const LabelId label : labels) {
        if (label >= totals_.size() || totals_[label].documents == 0) labels_.remove(label);
    }
}

void Counts::grow_label_columns() {
    totals_.resize(labels_.id_limit());
    leaders_.grow(labels_.id_limit());
}

void Counts::merge(const Counts& other) {
    std::size_t labels = labels_.size();
    for (LabelPosition position = 0; position < other.labels_.size(); ++position) {
        const LabelId theirs = other.labels_.id_at(position);
        const std::optional<LabelId> ours = labels_.find(other.labels_.name(theirs));
        if (ours) check_totals_fit(totals_[*ours], other.totals_[theirs]);
        labels += !ours;
    }
    if (labels > kMaxLabels) throw LimitFailure("a model would have more than 2^23 - 1 labels");
    complete_ = false;
    std::vector<LabelId> label_of(other.labels_.id_limit(), 0);
    for (LabelPosition position = 0; position < other.labels_.size(); ++position) {
        const LabelId theirs = other.labels_.id_at(position);
        const LabelId ours = labels_.find_or_add(other.labels_.name(theirs));
        label_of[theirs] = ours;
        grow_label_columns();
        totals_[ours].documents += other.totals_[theirs].documents;
        totals_[ours].words += other.totals_[theirs].words;
    }
    std::vector<Leaders::Length> leaders;
    for (unsigned length = 1; length <= max_ngram_; ++length) {
        leaders.push_back(leaders_.of_length(length, *this));
    }
    std::vector<WordId> word_of(other.words_.id_limit(), 0);
    for (WordId theirs = 0; theirs < other.words_.id_limit(); ++theirs) {
        if (!other.words_.holds(theirs)) continue;
        const PaddedWord word = other.words_.padded(theirs);
        const WordId ours = words_.find_or_add(word, hash_word(word));
        word_of[theirs] = ours;
        if (word_cells_.size() <= ours) word_cells_.resize(words_.id_limit());
        for (const LabelCount entry : other.row(1, theirs)) {
            const LabelId label = label_of[entry.label()];
            const Count count = word_cells_[ours].add(label, entry.count(), word_pool(ours));
            leaders[0].rise(label, ours, count - entry.count(), count);
        }
    }
    for (const Trie& theirs : other.shards_) {
        const std::vector<std::uint8_t> lengths = theirs.lengths();
        const std::vector<bool> needed = theirs.needed();
        std::vector<std::uint32_t> shard_of(theirs.size());
        std::vector<NodeIndex> moved(theirs.size(), Trie::kNone);
        for (NodeIndex index = 0; index < theirs.size(); ++index) {
            if (!needed[index]) continue;
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
                const LabelId label = label_of[entry.label()];
                const Count count = ours.add(moved[index], label, entry.count());
                leaders[lengths[index] - 1].rise(label, ngram_id(shard_of[index], moved[index]),
                                                 count - entry.count(), count);
            }
        }
    }
    unchecked_ = unchecked_ || other.unchecked_;
    forget_unlearn_index();
    complete_ = true;
}

bool Counts::has_room_for(const Counts& other) const {
    return std::all_of(shards_.begin(), shards_.end(),
                       [&other](const Trie& shard) { return shard.room() >= other.size(); });
}

void Counts::check_prune_fits(Count floor, unsigned shortest, Count more) const {
    const Count room = kMaxOfAll - std::max(pruned_.ngrams, pruned_.counts);
    // Nearly always even every n-gram fits, under every label and with the highest count.
    Count times = room;
    for (const Count factor : {Count{size()} + more, Count{labels_.size()}, floor}) {
        times /= std::max<Count>(factor, 1);
    }
    if (times > 0) return;
    Count removed = more;
    std::vector<LabelCount> unused;
    for_each([&](unsigned length, NgramId ngram) {
        if (length < shortest || removed > room) return;
        for (const LabelCount entry : row(length, ngram, unused)) {
            if (entry.count() <= floor && removed <= room) removed += entry.count();
        }
    });
    if (removed > room) throw LimitFailure("a model would have pruned more than 2^63 - 1 counts");
}

bool Counts::has_to_prune(Count floor, unsigned shortest) const {
    const auto is_rare = [floor](LabelCount entry) { return entry.count() <= floor; };
    for (unsigned length = shortest; length <= max_ngram_; ++length) {
        bool found = false;
        for_each_of_length(length, [&](NgramId ngram) {
            const std::span<const LabelCount> entries = row(length, ngram);
            found = found || std::any_of(entries.begin(), entries.end(), is_rare);
        });
        if (found) return true;
    }
    return false;
}

PruneResult Counts::prune(Count floor, unsigned shortest, bool keep_maxima) {
    check_prune_fits(floor, shortest, 0);
    complete_ = false;
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
            if (word_cells_[word].empty()) remove_word(word);
        }
    }
    pruned_.ngrams += result.ngrams;
    pruned_.counts += result.counts;
    was_pruned_ = was_pruned_ || result.ngrams > 0;  // else all is as if never pruned
    if (keep_maxima) {
        leaders_.fix_all();
    } else {
        leaders_.rebuild(*this);
    }
    learnt_.clear();
    forget_unlearn_index();
    complete_ = true;
    return result;
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

Scale Counts::scale() const {
    Scale scale;
    const auto labels = static_cast<LabelPosition>(labels_.size());
    for (LabelPosition position = 0; position < labels; ++position) {
        scale.words.push_back(totals_[labels_.id_at(position)].words);
        scale.documents.push_back(totals_[labels_.id_at(position)].documents);
    }
    for (unsigned length = 1; length <= max_ngram_; ++length) {
        std::vector<Count>& largest = scale.largest.emplace_back();
        for (LabelPosition position = 0; position < labels; ++position) {
            largest.push_back(maximum(length, labels_.id_at(position)));
        }
    }
    return scale;
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
    NgramId ngram = words[0];
    for (unsigned length = 1; length < words.size() && ngram != kNone; ++length) {
        ngram = find_extension(length, ngram, words[length]);
    }
    return ngram;
}

NgramId Counts::find_extension(unsigned length, NgramId ngram, WordId word) const {
    if (mapped_) {
        const MappedTree::Range among = mapped_->children(length, mapped_->place(length, ngram));
        const std::uint64_t place = mapped_->find_child(length + 1, among, word);
        return place == MappedTree::kNone ? kNone : mapped_->id(length + 1, place);
    }
    const Trie::Key key = length == 1 ? Trie::Key::of_bigram(ngram, word)
                                      : Trie::Key::of_child(node_index(ngram), word);
    const std::uint64_t hash = key.hash();
    const std::size_t shard = length == 1 ? shard_index(hash) : ngram >> 24;
    const NodeIndex node = shards_[shard].find(key, hash);
    if (node == Trie::kNone || shards_[shard].cell(node).empty()) return kNone;
    return ngram_id(shard, node);
}

void Counts::for_each_extension(unsigned length, NgramId ngram,
                                const std::function<void(WordId, NgramId)>& visit) const {
    if (mapped_) {
        const auto [begin, end] = mapped_->children(length, mapped_->place(length, ngram));
        for (std::uint64_t at = begin; at < end; ++at) {
            visit(mapped_->last_word(length + 1, at), mapped_->id(length + 1, at));
        }
        return;
    }
    for_each([&](unsigned longer, NgramId extension) {
        if (longer != length + 1) return;
        const Trie::Key key = shard_of(extension).node(node_index(extension)).key;
        const bool extends = length == 1 ? key.first_word() == ngram
                                         : (ngram >> 24) == (extension >> 24) &&
                                               key.parent_node() == node_index(ngram);
        if (extends) visit(key.word, extension);
    });
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
