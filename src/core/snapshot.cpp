#include "snapshot.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string_view>

namespace watchword {
namespace {

struct SortedNgram {
    std::uint64_t key;  // position of its parent in the level above, and rank of its last word
    NgramId id;
};

std::vector<WordId> sorted_words(const Counts& counts) {
    std::vector<WordId> order;
    for (WordId id = 0; id < counts.words().id_limit(); ++id) {
        if (counts.words().holds(id) && !counts.word_cell(id).empty()) order.push_back(id);
    }
    std::sort(order.begin(), order.end(), [&counts](WordId a, WordId b) {
        return counts.words().word(a) < counts.words().word(b);
    });
    return order;
}

void append_row(const Counts& counts, const Corrections* corrections, unsigned length, NgramId id,
                SnapshotLevel& level) {
    std::vector<std::pair<LabelPosition, Count>> row;
    std::vector<LabelCount> room;
    for (const LabelCount entry : counts.row(length, id, room)) {
        row.emplace_back(counts.labels().position(entry.label()), entry.count());
    }
    std::sort(row.begin(), row.end());
    for (const auto& [position, count] : row) {
        level.labels.push_back(position);
        level.counts.push_back(count);
        if (corrections == nullptr) continue;
        const LabelId label = counts.labels().id_at(position);
        const float weight = corrections->weight(length, id, label, room);
        level.weights.push_back(std::bit_cast<std::uint32_t>(weight));
    }
    level.rows.push_back(level.labels.size());
}

// All but the arrays of words and n-grams.
Snapshot take_totals(const Counts& counts, unsigned max_ngram) {
    Snapshot snapshot;
    const LabelTable& labels = counts.labels();
    snapshot.labels = labels.sorted_names();
    for (LabelPosition position = 0; position < labels.size(); ++position) {
        snapshot.totals.push_back(counts.totals(labels.id_at(position)));
    }
    snapshot.pruned = counts.pruned();
    snapshot.was_pruned = counts.was_pruned();
    for (unsigned length = 1; length <= max_ngram; ++length) {
        for (LabelPosition position = 0; position < labels.size(); ++position) {
            snapshot.maxima.push_back(counts.maximum(length, labels.id_at(position)));
        }
    }
    return snapshot;
}

template <class T>
std::vector<T> copied(const Numbers& numbers) {
    std::vector<T> copy(numbers.size());
    for (std::size_t at = 0; at < copy.size(); ++at) copy[at] = static_cast<T>(numbers[at]);
    return copy;
}

}  // namespace

Snapshot checked_copy(const Counts& counts, const std::optional<FitTotals>& fit,
                      unsigned max_ngram) {
    Snapshot snapshot = take_totals(counts, max_ngram);
    snapshot.fit = fit;
    const MappedArrays& arrays = counts.mapped()->arrays();
    snapshot.word_bytes = copied<char>(arrays.word_bytes);
    snapshot.word_offsets = copied<std::uint64_t>(arrays.word_offsets);
    for (unsigned length = 1; length <= max_ngram; ++length) {
        const MappedLevel& level = arrays.levels[length - 1];
        const bool longest = length == max_ngram;
        snapshot.levels.push_back(
            {copied<std::uint32_t>(level.words),
             longest ? std::vector<std::uint64_t>{} : copied<std::uint64_t>(level.children),
             copied<std::uint64_t>(level.rows), copied<std::uint32_t>(level.labels),
             copied<std::uint64_t>(level.counts),
             fit ? copied<std::uint32_t>(level.weights) : std::vector<std::uint32_t>{}});
    }
    try {
        SnapshotReader(snapshot, counts.counting()).check();
    } catch (const SnapshotFailure& failure) {
        throw MappedFailure(arrays.source + " is corrupt: " + failure.what());
    }
    return snapshot;
}

std::shared_ptr<Corrections> corrections_of(const Snapshot& snapshot, const Counts& counts) {
    if (!snapshot.fit) return nullptr;
    auto found = std::make_shared<Corrections>();
    found->fit = *snapshot.fit;
    for (std::size_t label = 0; label < snapshot.fit->biases.size(); ++label) {
        found->set_bias(static_cast<LabelId>(label), snapshot.fit->biases[label]);
    }
    // A model that was just read has ids in the order of the arrays.
    std::vector<NgramId> above, here;
    for (unsigned length = 1; length <= snapshot.levels.size(); ++length) {
        const SnapshotLevel& level = snapshot.levels[length - 1];
        here.resize(level.rows.size() - 1);
        if (length == 1) {
            std::iota(here.begin(), here.end(), 0u);
        } else {
            const std::vector<std::uint64_t>& children = snapshot.levels[length - 2].children;
            for (std::size_t parent = 0; parent + 1 < children.size(); ++parent) {
                for (std::uint64_t at = children[parent]; at < children[parent + 1]; ++at) {
                    here[at] = counts.find_extension(length - 1, above[parent], level.words[at]);
                }
            }
        }
        for (std::size_t at = 0; at < here.size(); ++at) {
            for (std::uint64_t entry = level.rows[at]; entry < level.rows[at + 1]; ++entry) {
                if (level.weights[entry] == 0) continue;
                found->set(length, here[at], level.labels[entry],
                           std::bit_cast<float>(level.weights[entry]));
            }
        }
        std::swap(above, here);
    }
    return found;
}

Snapshot take_snapshot(const Counts& counts, const Corrections* corrections, unsigned max_ngram) {
    Snapshot snapshot = take_totals(counts, max_ngram);

    const std::vector<WordId> words = sorted_words(counts);
    constexpr std::uint64_t kMissing = ~0u;
    std::vector<std::uint32_t> rank(counts.words().id_limit(), kMissing);
    snapshot.word_offsets.push_back(0);
    for (std::size_t at = 0; at < words.size(); ++at) {
        rank[words[at]] = static_cast<std::uint32_t>(at);
        const std::string_view word = counts.words().word(words[at]);
        snapshot.word_bytes.insert(snapshot.word_bytes.end(), word.begin(), word.end());
        snapshot.word_offsets.push_back(snapshot.word_bytes.size());
    }

    // Longer n-grams by length. A node comes after its parent, so walking by length finds the
    // parent's place in the level above.
    std::vector<std::vector<NgramId>> by_length(max_ngram + 1);
    counts.for_each([&](unsigned length, NgramId ngram) {
        if (length > 1 && length <= max_ngram) by_length[length].push_back(ngram);
    });
    std::vector<std::vector<std::uint64_t>> place(256);  // of the level above, by shard and node
    snapshot.levels.resize(max_ngram);
    std::size_t parents = words.size();
    snapshot.levels[0].rows.push_back(0);
    for (const WordId word : words) append_row(counts, corrections, 1, word, snapshot.levels[0]);
    for (std::size_t shard = 0; shard < place.size(); ++shard) {
        place[shard].resize(counts.shard(shard).size(), kMissing);
    }
    for (unsigned length = 2; length <= max_ngram; ++length) {
        std::vector<SortedNgram> order;
        order.reserve(by_length[length].size());
        for (const NgramId id : by_length[length]) {
            const Trie::Key key = counts.shard_of(id).node(Counts::node_index(id)).key;
            const std::uint64_t parent =
                key.is_bigram() ? rank[key.first_word()] : place[id >> 24][key.parent_node()];
            if (parent == kMissing || rank[key.word] == kMissing) {
                throw SnapshotFailure("n-grams are without their words");
            }
            order.push_back({parent << 32 | rank[key.word], id});
        }
        std::sort(order.begin(), order.end(),
                  [](const SortedNgram& a, const SortedNgram& b) { return a.key < b.key; });
        SnapshotLevel& level = snapshot.levels[length - 1];
        std::vector<std::uint64_t>& children = snapshot.levels[length - 2].children;
        children.assign(parents + 1, 0);
        level.words.reserve(order.size());
        level.rows.reserve(order.size() + 1);
        level.rows.push_back(0);
        for (std::size_t at = 0; at < order.size(); ++at) {
            level.words.push_back(static_cast<std::uint32_t>(order[at].key));
            ++children[(order[at].key >> 32) + 1];
            append_row(counts, corrections, length, order[at].id, level);
            place[order[at].id >> 24][Counts::node_index(order[at].id)] = at;
        }
        std::partial_sum(children.begin(), children.end(), children.begin());
        parents = order.size();
    }
    return snapshot;
}

}  // namespace watchword
