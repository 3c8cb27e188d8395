#include "rows.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace watchword {
namespace {

constexpr char kSeparator = 0, kEscape = 1;
// Batches end near this many bytes whatever the number of rows; Arrow counts them in 31 bits.
constexpr std::size_t kBatchBytes = table_size(1 << 26, 64);

void append_word(std::string_view word, KeyBytes& bytes) {
    for (const char byte : word) {
        const bool special = byte == kSeparator || byte == kEscape;
        if (special) bytes.push_back(kEscape);
        bytes.push_back(static_cast<std::uint8_t>(byte + special));
    }
}

}  // namespace

void append_key(std::span<const std::string_view> words, KeyBytes& bytes) {
    bytes.push_back(static_cast<std::uint8_t>(words.size()));
    for (std::size_t at = 0; at < words.size(); ++at) {
        if (at > 0) bytes.push_back(kSeparator);
        append_word(words[at], bytes);
    }
}

std::string_view KeyReader::next() {
    const std::size_t end = std::min(rest_.find(kSeparator), rest_.size());
    std::string_view word = rest_.substr(0, end);
    done_ = end == rest_.size();
    if (!done_) rest_.remove_prefix(end + 1);
    if (word.find(kEscape) == word.npos) return word;
    unescaped_.clear();
    for (std::size_t at = 0; at < word.size(); ++at) {
        if (word[at] != kEscape) {
            unescaped_ += word[at];
            continue;
        }
        ++at;
        if (at == word.size() || (word[at] != 1 && word[at] != 2)) {
            throw RowsFailure("an n-gram is not written as one");
        }
        unescaped_ += static_cast<char>(word[at] - 1);
    }
    return unescaped_;
}

bool CountRows::full(std::size_t most) const { return size() >= most || keys.size() > kBatchBytes; }

void CountRows::add(LabelPosition label, std::span<const std::string_view> words, Count count) {
    append_key(words, keys);
    if (keys.size() > std::numeric_limits<std::int32_t>::max()) {
        throw std::length_error("an n-gram is longer than 2 GiB");
    }
    offsets.push_back(static_cast<std::int32_t>(keys.size()));
    labels.push_back(static_cast<std::int32_t>(label));
    counts.push_back(static_cast<std::int64_t>(count));
}

CountRows CountDrain::next(std::size_t most) {
    CountRows rows;
    if (const MappedTree* mapped = counts_->mapped()) {
        add_mapped(*mapped, most, rows);
        return rows;
    }
    const Vocabulary& vocabulary = counts_->words();
    for (; word_ < vocabulary.id_limit() && !rows.full(most); ++word_) {
        if (vocabulary.holds(word_)) add(1, word_, rows);
    }
    if (max_ngram_ < 2) return rows;
    while (shard_ < Counts::kShards && !rows.full(most)) {
        const Trie& shard = counts_->shard(shard_);
        if (node_ == 0) lengths_ = shard.lengths();
        add_shard(shard, most, rows);
        if (node_ < shard.size()) break;
        ++shard_;
        node_ = 0;
    }
    return rows;
}

void CountDrain::add_mapped(const MappedTree& tree, std::size_t most, CountRows& rows) {
    while (length_ <= max_ngram_ && !rows.full(most)) {
        for (; place_ < tree.ngrams(length_) && !rows.full(most); ++place_) {
            add(length_, tree.id(length_, place_), rows);
        }
        if (place_ < tree.ngrams(length_)) return;
        ++length_;
        place_ = 0;
    }
}

void CountDrain::add_shard(const Trie& shard, std::size_t most, CountRows& rows) {
    for (; node_ < shard.size() && !rows.full(most); ++node_) {
        if (lengths_[node_] > max_ngram_) continue;
        add(lengths_[node_], Counts::ngram_id(shard_, node_), rows);
    }
}

void CountDrain::add(unsigned length, NgramId ngram, CountRows& rows) {
    const std::span<const LabelCount> row = counts_->row(length, ngram, room_);
    if (row.empty()) return;
    words_.clear();
    for (const WordId word : counts_->words_of(length, ngram)) {
        words_.push_back(counts_->word(word));
    }
    for (const LabelCount entry : row) {
        rows.add(counts_->labels().position(entry.label()), words_, entry.count());
    }
}

}  // namespace watchword
