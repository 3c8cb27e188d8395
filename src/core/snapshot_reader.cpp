// Reads counts from sorted arrays, which are untrusted.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "parallel.h"
#include "snapshot.h"
#include "unicode.h"
#include "utf8.h"

namespace watchword {
namespace {

constexpr double kLargest = 1e60;  // number of a fit

bool is_blank(std::uint32_t code_point) {
    const CharClass kind = char_class(code_point);
    return kind == CharClass::Blank || kind == CharClass::LineEnd;
}

}  // namespace

bool is_word_text(std::string_view bytes) {
    std::span<const std::uint8_t> left(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                       bytes.size());
    while (!left.empty()) {
        const CodePoint first = first_code_point(left);
        if (first.bytes == 0 || is_blank(first.code)) return false;
        left = left.subspan(first.bytes);
    }
    return true;
}

namespace {

[[noreturn]] void fail(const std::string& what) { throw SnapshotFailure(what); }

std::string level_name(std::size_t level) { return "ngrams" + std::to_string(level + 1); }

std::size_t place_in(std::span<const std::uint32_t> labels, std::uint32_t label) {
    return static_cast<std::size_t>(std::lower_bound(labels.begin(), labels.end(), label) -
                                    labels.begin());
}

// Offsets start at 0, never fall and end at the size of what they point into.
void check_offsets(const std::vector<std::uint64_t>& offsets, std::uint64_t size,
                   const std::string& name) {
    if (offsets.empty() || offsets.front() != 0) fail(name + " does not start at 0");
    if (!std::is_sorted(offsets.begin(), offsets.end())) fail(name + " is not ascending");
    if (offsets.back() != size) fail(name + " does not end where its array ends");
}

}  // namespace

std::shared_ptr<Counts> SnapshotReader::read() {
    check_arrays();
    auto counts =
        std::make_shared<Counts>(static_cast<unsigned>(snapshot_.levels.size()), counting_);
    // The arrays are sound now; whether the counts fit together is found out beside filling.
    const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
    parallel_for(snapshot_.levels.size(), threads, [&](std::size_t task, unsigned) {
        if (task == 0) {
            fill(*counts);
        } else {
            check_frequencies(task);
        }
    });
    return counts;
}

void SnapshotReader::check() const {
    check_arrays();
    for (std::size_t level = 1; level < snapshot_.levels.size(); ++level) check_frequencies(level);
}

void SnapshotReader::check_arrays() const {
    if (snapshot_.levels.empty() || snapshot_.levels.size() > kMaxNgramLimit) {
        fail("max_ngram is out of range");
    }
    check_known();
    check_words();
    for (std::size_t level = 0; level < snapshot_.levels.size(); ++level) check_level(level);
    check_totals();
}

std::shared_ptr<Counts> map_counts(const Snapshot& known, MappedArrays arrays, Counting counting) {
    SnapshotReader(known, counting).check_known();
    for (const MappedLevel& level : arrays.levels) {
        if (level.weights.size() != (known.fit ? level.counts.size() : 0)) {
            fail("weights and counts differ");
        }
    }
    SnapshotReader(known, counting).check_maxima();
    arrays.labels = known.labels.size();
    arrays.maxima = known.maxima;
    return std::make_shared<Counts>(known, std::make_shared<MappedTree>(std::move(arrays)),
                                    counting);
}

// No n-gram is more frequent than its words: so counts, which are checked against the maxima, are
// never divided by less.
void SnapshotReader::check_maxima() const {
    const std::size_t labels = snapshot_.labels.size();
    const std::vector<std::uint64_t>& maxima = snapshot_.maxima;
    for (std::size_t at = 0; at < maxima.size() && labels > 0; ++at) {
        const LabelTotals& total = snapshot_.totals[at % labels];
        if (maxima[at] > (at < labels ? total.words : maxima[at - labels])) {
            fail("maxima are above those of shorter n-grams, or above the words of their labels");
        }
        if (counting_ == Counting::Documents && maxima[at] > total.documents) {
            fail("a label has words in more documents than it has");
        }
    }
}

void SnapshotReader::check_known() const {
    if (snapshot_.labels.size() > kMaxLabels) fail("there are too many labels");
    if (snapshot_.totals.size() != snapshot_.labels.size()) fail("labels and totals differ");
    for (std::size_t at = 1; at < snapshot_.labels.size(); ++at) {
        if (!(snapshot_.labels[at - 1] < snapshot_.labels[at])) fail("labels are not sorted");
    }
    for (const LabelTotals& total : snapshot_.totals) {
        if (total.documents == 0 || total.documents > kMaxDocuments) {
            fail("the documents of a label are out of range");
        }
        if (total.words > kMaxWords) fail("the words of a label are out of range");
    }
    const PruneResult& pruned = snapshot_.pruned;
    if (std::max({pruned.ngrams, pruned.counts, snapshot_.words_since_prune}) > kMaxOfAll) {
        fail("what was pruned is out of range");
    }
    check_fit();
}

void SnapshotReader::check_fit() const {
    if (!snapshot_.fit) return;
    const FitTotals& fit = *snapshot_.fit;
    // So that no score can become infinite.
    const auto within = [](double number, double low, double high) {
        if (!(number >= low && number <= high)) fail("a number of its fit is out of range");
    };
    within(fit.decay, 1e-6, 1);
    within(fit.strength, 1e-6, 1e6);
    within(fit.cost, 1e-12, 1e12);
    within(fit.bias, 0, 1e6);
    within(fit.temperature, 1e-3, 1e3);
    within(fit.margins, -kLargest, kLargest);
    within(fit.scale(), 0, kLargest);
    if (std::max({fit.texts, fit.documents, fit.learnt, fit.unlearnt}) > kMaxOfAll) {
        fail("a number of its fit is out of range");
    }
    if (fit.biases.size() != snapshot_.labels.size()) fail("labels and biases differ");
    for (const double bias : fit.biases) {
        if (!(std::fabs(bias) <= kLargest)) fail("a bias is out of range");
    }
}

void SnapshotReader::check_words() const {
    const std::vector<std::uint64_t>& offsets = snapshot_.word_offsets;
    check_offsets(offsets, snapshot_.word_bytes.size(), "words.offsets");
    if (offsets.size() - 1 >= kFirstMark) fail("there are too many words");
    std::string_view previous;
    for (std::size_t at = 0; at + 1 < offsets.size(); ++at) {
        const std::string_view word(snapshot_.word_bytes.data() + offsets[at],
                                    offsets[at + 1] - offsets[at]);
        if (word.empty() || word.size() > 0xFFFFFFF0 || word <= previous) {
            fail("words are not sorted");
        }
        if (!is_word_text(word)) fail("a word is not UTF-8, or contains whitespace");
        previous = word;
    }
}

std::uint64_t SnapshotReader::ngrams(std::size_t level) const {
    return level == 0 ? snapshot_.word_offsets.size() - 1 : snapshot_.levels[level].words.size();
}

void SnapshotReader::check_level(std::size_t level) const {
    const SnapshotLevel& own = snapshot_.levels[level];
    const std::string name = level_name(level);
    if (own.rows.size() != ngrams(level) + 1) fail(name + ".rows has the wrong size");
    if (own.labels.size() != own.counts.size()) fail(name + ".labels and .counts differ");
    if (own.weights.size() != (snapshot_.fit ? own.counts.size() : 0)) {
        fail(name + ".weights and .counts differ");
    }
    for (const std::uint32_t weight : own.weights) {
        if (!std::isfinite(std::bit_cast<float>(weight))) fail(name + ".weights is out of range");
    }
    check_offsets(own.rows, own.labels.size(), name + ".rows");
    for (std::uint64_t ngram = 0; ngram < ngrams(level); ++ngram) {
        const std::span<const std::uint32_t> labels = row_labels(level, ngram);
        if (labels.empty()) fail(name + " has an n-gram without counts");
        for (std::size_t at = 0; at < labels.size(); ++at) {
            if (labels[at] >= snapshot_.labels.size()) fail(name + ".labels is out of range");
            if (at > 0 && labels[at] <= labels[at - 1]) fail(name + ".labels is not ascending");
        }
    }
    for (const std::uint64_t count : own.counts) {
        if (count == 0 || count > kMaxCount) fail(name + ".counts is out of range");
    }
    if (level == 0) return;
    const std::vector<std::uint64_t>& children = snapshot_.levels[level - 1].children;
    if (children.size() != ngrams(level - 1) + 1) {
        fail(level_name(level - 1) + ".children has the wrong size");
    }
    check_offsets(children, ngrams(level), level_name(level - 1) + ".children");
    for (std::size_t parent = 0; parent + 1 < children.size(); ++parent) {
        for (std::uint64_t ngram = children[parent]; ngram < children[parent + 1]; ++ngram) {
            if (own.words[ngram] >= ngrams(0)) fail(name + ".words is out of range");
            if (ngram > children[parent] && own.words[ngram] <= own.words[ngram - 1]) {
                fail(name + ".words is not ascending");
            }
        }
    }
}

void SnapshotReader::check_frequencies(std::size_t level) const {
    const std::vector<std::uint64_t>& children = snapshot_.levels[level - 1].children;
    // How much of each count its extensions, and the n-grams that end in it, have used up.
    std::vector<std::uint64_t> extended(snapshot_.levels[level - 1].counts.size(), 0);
    std::vector<std::uint64_t> ending(snapshot_.levels[0].counts.size(), 0);
    for (std::size_t parent = 0; parent + 1 < children.size(); ++parent) {
        for (std::uint64_t ngram = children[parent]; ngram < children[parent + 1]; ++ngram) {
            check_row(level, ngram, level - 1, parent, extended);
            check_row(level, ngram, 0, snapshot_.levels[level].words[ngram], ending);
        }
    }
}

// The extensions of an n-gram together, and the n-grams that end in a word, cannot have occurred
// more often than that n-gram or word; nor can any of them be in more documents. Unlearning relies
// on this: an n-gram with extensions always has a count left.
void SnapshotReader::check_row(std::size_t level, std::uint64_t ngram, std::size_t other_level,
                               std::uint64_t other, std::vector<std::uint64_t>& used) const {
    const auto labels = row_labels(level, ngram), other_labels = row_labels(other_level, other);
    const auto counts = row_counts(level, ngram), other_counts = row_counts(other_level, other);
    const std::uint64_t first = snapshot_.levels[other_level].rows[other];
    const bool everywhere = other_labels.size() == snapshot_.labels.size();
    const bool together = counting_ == Counting::Occurrences;
    for (std::size_t at = 0; at < labels.size(); ++at) {
        const auto there =
            everywhere ? std::size_t{labels[at]} : place_in(other_labels, labels[at]);
        const bool known = there < other_labels.size() && other_labels[there] == labels[at];
        const auto frequency = [&] {
            return together ? used[first + there] += counts[at] : counts[at];
        };
        if (!known || frequency() > other_counts[there]) {
            fail(level_name(level) + " has n-grams more frequent than their words");
        }
    }
}

void SnapshotReader::check_totals() const {
    const std::size_t labels = snapshot_.labels.size();
    std::vector<std::uint64_t> maxima(snapshot_.levels.size() * labels, 0);
    std::vector<std::uint64_t> words(labels, 0);
    for (std::size_t level = 0; level < snapshot_.levels.size(); ++level) {
        const SnapshotLevel& own = snapshot_.levels[level];
        for (std::size_t at = 0; at < own.labels.size(); ++at) {
            std::uint64_t& maximum = maxima[level * labels + own.labels[at]];
            maximum = std::max(maximum, own.counts[at]);
            if (level > 0) continue;
            std::uint64_t& sum = words[own.labels[at]];
            sum += own.counts[at];
            if (sum > kMaxWords) fail("the words of a label are out of range");
        }
    }
    // Pruning may have kept the largest counts of n-grams that are gone.
    if (snapshot_.maxima.size() != maxima.size()) fail("maxima has the wrong size");
    for (std::size_t at = 0; at < maxima.size(); ++at) {
        const bool fits = snapshot_.was_pruned ? snapshot_.maxima[at] >= maxima[at]
                                               : snapshot_.maxima[at] == maxima[at];
        if (!fits) fail("maxima are not those of the counts");
    }
    for (std::size_t at = 0; at < labels; ++at) {
        const LabelTotals& total = snapshot_.totals[at];
        const bool fits =
            snapshot_.was_pruned ? total.words >= words[at] : total.words == words[at];
        if (!fits) fail("totals of a label are not those of its counts");
        if (counting_ == Counting::Documents && maxima[at] > total.documents)
            fail("a label has words in more documents than it has");
    }
    if (snapshot_.was_pruned) check_maxima();
}

std::span<const std::uint32_t> SnapshotReader::row_labels(std::size_t level,
                                                          std::uint64_t ngram) const {
    const SnapshotLevel& own = snapshot_.levels[level];
    return {own.labels.data() + own.rows[ngram], own.rows[ngram + 1] - own.rows[ngram]};
}

std::span<const std::uint64_t> SnapshotReader::row_counts(std::size_t level,
                                                          std::uint64_t ngram) const {
    const SnapshotLevel& own = snapshot_.levels[level];
    return {own.counts.data() + own.rows[ngram], own.rows[ngram + 1] - own.rows[ngram]};
}

void SnapshotReader::fill(Counts& counts) const {
    counts.labels_.find_or_add_all(snapshot_.labels);
    counts.grow_label_columns();
    counts.pruned_ = snapshot_.pruned;
    counts.was_pruned_ = snapshot_.was_pruned;
    const std::size_t labels = snapshot_.labels.size();
    for (std::size_t at = 0; at < labels; ++at) {
        counts.totals_[at] = snapshot_.totals[at];
        for (std::size_t level = 0; level < snapshot_.levels.size(); ++level) {
            // Pruning may have kept larger ones than those of the n-grams.
            if (!snapshot_.was_pruned) break;
            counts.leaders_.fix(static_cast<unsigned>(level + 1), static_cast<LabelId>(at),
                                snapshot_.maxima[level * labels + at]);
        }
    }
    // A new model gives ids in order, so word ranks and label positions are the ids.
    const std::uint64_t words = ngrams(0);
    counts.words_.reserve(words);
    counts.word_cells_.resize(words);
    Leaders::Length leaders = counts.leaders_.of_length(1, counts);
    for (std::uint64_t word = 0; word < words; ++word) {
        const std::uint64_t begin = snapshot_.word_offsets[word];
        const std::uint64_t size = snapshot_.word_offsets[word + 1] - begin;
        counts.words_.find_or_add(std::string_view(snapshot_.word_bytes.data() + begin, size));
        const auto row = row_labels(0, word);
        const auto values = row_counts(0, word);
        const auto id = static_cast<WordId>(word);
        for (std::size_t at = 0; at < row.size(); ++at) {
            counts.word_cells_[word].add(row[at], values[at], counts.word_pool(id));
            leaders.rise(row[at], id, 0, values[at]);
        }
    }
    fill_shards(counts);
}

// Level by level in the order of the arrays; the places to be written are fetched some n-grams
// ahead.
void SnapshotReader::fill_shards(Counts& counts) const {
    constexpr std::size_t kAhead = 16;
    struct Next {
        Trie::Key key;
        std::uint64_t hash;
        std::uint8_t shard;
    };
    reserve_shards(counts);
    std::vector<NgramId> above, here;
    std::vector<Next> next;
    for (std::size_t level = 1; level < snapshot_.levels.size(); ++level) {
        const SnapshotLevel& own = snapshot_.levels[level];
        const std::vector<std::uint64_t>& children = snapshot_.levels[level - 1].children;
        here.resize(own.words.size());
        next.resize(own.words.size());
        Leaders::Length leaders =
            counts.leaders_.of_length(static_cast<unsigned>(level + 1), counts);
        const auto insert = [&](std::size_t at) {
            Trie& trie = counts.shards_[next[at].shard];
            const NodeIndex node = trie.find_or_add(next[at].key, next[at].hash);
            here[at] = Counts::ngram_id(next[at].shard, node);
            for (std::uint64_t entry = own.rows[at]; entry < own.rows[at + 1]; ++entry) {
                trie.add(node, own.labels[entry], own.counts[entry]);
                leaders.rise(own.labels[entry], here[at], 0, own.counts[entry]);
            }
        };
        std::size_t inserted = 0;
        for (std::size_t parent = 0; parent + 1 < children.size(); ++parent) {
            for (std::uint64_t at = children[parent]; at < children[parent + 1]; ++at) {
                const Trie::Key key =
                    level == 1
                        ? Trie::Key::of_bigram(static_cast<WordId>(parent), own.words[at])
                        : Trie::Key::of_child(Counts::node_index(above[parent]), own.words[at]);
                const std::uint64_t hash = key.hash();
                const std::size_t shard =
                    level == 1 ? Counts::shard_index(hash) : above[parent] >> 24;
                counts.shards_[shard].prefetch_slot(hash);
                next[at] = {key, hash, static_cast<std::uint8_t>(shard)};
                if (at >= kAhead) insert(inserted++);
            }
        }
        while (inserted < own.words.size()) insert(inserted++);
        std::swap(above, here);
    }
}

void SnapshotReader::reserve_shards(Counts& counts) const {
    std::array<std::size_t, Counts::kShards> sizes{};
    std::vector<std::uint8_t> above, here;  // shard of each n-gram
    for (std::size_t level = 1; level < snapshot_.levels.size(); ++level) {
        const SnapshotLevel& own = snapshot_.levels[level];
        const std::vector<std::uint64_t>& children = snapshot_.levels[level - 1].children;
        here.resize(own.words.size());
        for (std::size_t parent = 0; parent + 1 < children.size(); ++parent) {
            for (std::uint64_t at = children[parent]; at < children[parent + 1]; ++at) {
                const auto bigram =
                    Trie::Key::of_bigram(static_cast<WordId>(parent), own.words[at]);
                here[at] = level > 1
                               ? above[parent]
                               : static_cast<std::uint8_t>(Counts::shard_index(bigram.hash()));
                ++sizes[here[at]];
            }
        }
        std::swap(above, here);
    }
    for (std::size_t shard = 0; shard < sizes.size(); ++shard) {
        counts.shards_[shard].reserve(sizes[shard]);
    }
}

}  // namespace watchword
