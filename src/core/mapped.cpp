#include "mapped.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "snapshot.h"

namespace watchword {
namespace {

std::string name_of(unsigned length, const char* array) {
    return "ngrams" + std::to_string(length) + "." + array;
}

}  // namespace

void MappedTree::fail(const std::string& what) const {
    throw MappedFailure(arrays_.source + " is corrupt: " + what);
}

MappedTree::MappedTree(MappedArrays arrays) : arrays_(std::move(arrays)) {
    if (arrays_.levels.empty() || arrays_.levels.size() > kMaxNgramLimit) {
        fail("max_ngram is out of range");
    }
    if (arrays_.word_offsets.size() == 0) fail("words.offsets is empty");
    const std::uint64_t words = arrays_.word_offsets.size() - 1;
    if (words >= kFirstMark) fail("there are too many words");
    check_offsets(arrays_.word_offsets, words, arrays_.word_bytes.size(), "words.offsets");
    std::uint64_t ids = 0;
    for (unsigned length = 1; length <= lengths(); ++length) {
        const MappedLevel& own = level(length);
        const std::uint64_t size = length == 1 ? words : own.words.size();
        if (own.labels.size() != own.counts.size()) {
            fail(name_of(length, "labels") + " and .counts differ");
        }
        if (own.weights.size() != 0 && own.weights.size() != own.counts.size()) {
            fail(name_of(length, "weights") + " and .counts differ");
        }
        check_offsets(own.rows, size, own.labels.size(), name_of(length, "rows"));
        if (length < lengths()) {
            check_offsets(own.children, size, level(length + 1).words.size(),
                          name_of(length, "children"));
        }
        first_id_.push_back(ids);
        ids += size;
        // As many as fit into memory otherwise.
        if (ids >= Counts::kNone) fail("it has more than 2^32 n-grams");
    }
    if (arrays_.maxima.size() != lengths() * arrays_.labels) fail("maxima has the wrong size");
}

void MappedTree::check_offsets(const Numbers& offsets, std::uint64_t items, std::uint64_t end,
                               const std::string& name) const {
    if (offsets.size() == 0 || offsets.size() - 1 != items) fail(name + " has the wrong size");
    if (offsets[0] != 0) fail(name + " does not start at 0");
    if (offsets.back() != end) fail(name + " does not end where its array ends");
}

std::string_view MappedTree::spelling(WordId rank) const {
    const std::string_view bytes = word(rank);
    if (!is_word_text(bytes)) fail("a word is not UTF-8, or contains whitespace");
    return bytes;
}

std::string_view MappedTree::word(WordId rank) const {
    const std::uint64_t begin = arrays_.word_offsets[rank], end = arrays_.word_offsets[rank + 1];
    if (begin >= end || end > arrays_.word_bytes.size() || end - begin > 0xFFFFFFF0) {
        fail("words.offsets is not ascending");
    }
    return {reinterpret_cast<const char*>(arrays_.word_bytes.data()) + begin, end - begin};
}

WordId MappedTree::find_word(std::string_view wanted) const {
    WordId begin = 0, end = words();
    while (begin < end) {
        const WordId middle = begin + (end - begin) / 2;
        const int order = word(middle).compare(wanted);
        if (order == 0) return middle;
        if (order < 0) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return kUnknownWord;
}

MappedTree::Range MappedTree::children(unsigned length, std::uint64_t place) const {
    const Numbers& children = level(length).children;
    const Range range{children[place], children[place + 1]};
    if (range.begin > range.end || range.end > level(length + 1).words.size()) {
        fail(name_of(length, "children") + " is not ascending");
    }
    return range;
}

std::uint64_t MappedTree::find_child(unsigned length, Range among, WordId word) const {
    const Numbers& words = level(length).words;
    std::uint64_t size = among.end - among.begin;
    if (size == 0) return kNone;
    // Without an unpredictable branch.
    std::uint64_t begin = among.begin;
    while (size > 1) {
        const std::uint64_t half = size / 2;
        begin += words[begin + half] <= word ? half : 0;
        size -= half;
    }
    return words[begin] == word ? begin : kNone;
}

WordId MappedTree::last_word(unsigned length, std::uint64_t place) const {
    const std::uint64_t rank = length == 1 ? place : level(length).words[place];
    if (rank >= words()) fail(name_of(length, "words") + " is out of range");
    return static_cast<WordId>(rank);
}

std::vector<WordId> MappedTree::words_of(unsigned length, std::uint64_t place) const {
    std::vector<WordId> found(length);
    for (; length > 1; --length) {
        found[length - 1] = last_word(length, place);
        // The last one whose children begin here or before, and not the end of all.
        const Numbers& children = level(length - 1).children;
        std::uint64_t begin = 0, size = children.size() - 1;
        while (size > 1) {
            const std::uint64_t half = size / 2;
            begin += children[begin + half] <= place ? half : 0;
            size -= half;
        }
        place = begin;
    }
    found[0] = last_word(1, place);
    return found;
}

MappedTree::Range MappedTree::entries(unsigned length, std::uint64_t place) const {
    const Numbers& rows = level(length).rows;
    const Range range{rows[place], rows[place + 1]};
    if (range.begin >= range.end || range.end > level(length).labels.size()) {
        fail(name_of(length, "rows") + " is not ascending");
    }
    return range;
}

LabelCount MappedTree::entry(unsigned length, std::uint64_t at) const {
    const std::uint64_t label = level(length).labels[at], count = level(length).counts[at];
    if (label >= arrays_.labels) fail(name_of(length, "labels") + " is out of range");
    if (count == 0 || count > arrays_.maxima[(length - 1) * arrays_.labels + label]) {
        fail(name_of(length, "counts") + " is out of range");
    }
    return {static_cast<LabelId>(label), count};
}

void MappedTree::read_row(unsigned length, std::uint64_t place,
                          std::vector<LabelCount>& row) const {
    const Range range = entries(length, place);
    row.clear();
    for (std::uint64_t at = range.begin; at < range.end; ++at) {
        row.push_back(entry(length, at));
        if (row.size() > 1 && row[row.size() - 2].label() >= row.back().label()) {
            fail(name_of(length, "labels") + " is not ascending");
        }
    }
}

void MappedTree::read_weights(unsigned length, std::uint64_t place,
                              std::vector<LabelCount>& row) const {
    const Range range = entries(length, place);
    row.clear();
    for (std::uint64_t at = range.begin; at < range.end; ++at) {
        const auto bits = static_cast<std::uint32_t>(level(length).weights[at]);
        if (!std::isfinite(std::bit_cast<float>(bits))) {
            fail(name_of(length, "weights") + " is out of range");
        }
        row.emplace_back(entry(length, at).label() + 1, bits);
    }
}

Cell MappedTree::cell(unsigned length, std::uint64_t place) const {
    const Range range = entries(length, place);
    return range.end - range.begin == 1 ? Cell(entry(length, range.begin)) : Cell::elsewhere();
}

Count MappedTree::count(unsigned length, std::uint64_t place, LabelId label) const {
    const Range range = entries(length, place);
    for (std::uint64_t at = range.begin; at < range.end; ++at) {
        const LabelCount own = entry(length, at);
        if (own.label() >= label) return own.label() == label ? own.count() : 0;
    }
    return 0;
}

WordId RankMemo::find(const MappedTree& tree, PaddedWord word) {
    if (word.length > kLongest) return tree.find_word({word.bytes, word.length});
    const std::uint64_t hash = hash_word(word);
    const WordId id = seen_.find(word, hash);
    if (id != kUnknownWord) return ranks_[id];
    const WordId rank = tree.find_word({word.bytes, word.length});
    if (ranks_.size() >= kMostWords) {
        seen_.clear();
        ranks_.clear();
    }
    seen_.find_or_add(word, hash);
    ranks_.push_back(rank);
    return rank;
}

}  // namespace watchword
