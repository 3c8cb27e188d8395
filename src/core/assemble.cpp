#include "assemble.h"

#include <algorithm>

#include "snapshot.h"

namespace watchword {

Assembler::Assembler(unsigned max_ngram, std::size_t labels)
    : max_ngram_(max_ngram), labels_(labels), maxima_(max_ngram * labels, 0) {}

void Assembler::fail(const std::string& what) const {
    throw RowsFailure(what + " (after " + std::to_string(ngrams_) + " n-grams of length " +
                      std::to_string(length_) + ")");
}

ArrayParts Assembler::add(const RowsView& rows, std::span<const std::uint32_t> above) {
    ArrayParts parts;
    if (length_ > max_ngram_) fail("an n-gram is longer than max_ngram");
    for (std::size_t row = 0; row < rows.counts.size(); ++row) {
        const std::int32_t begin = rows.offsets[row], end = rows.offsets[row + 1];
        if (begin < 0 || end <= begin || static_cast<std::size_t>(end) > rows.keys.size()) {
            fail("a row has no n-gram");
        }
        const auto* bytes = reinterpret_cast<const char*>(rows.keys.data()) + begin;
        if (static_cast<std::uint8_t>(*bytes) != length_) fail("the rows are not sorted by length");
        const std::string_view words(bytes + 1, static_cast<std::size_t>(end - begin - 1));
        if (ngrams_ == 0 || words != key_) begin_ngram(words, above, parts);
        const std::int32_t label = rows.labels[row];
        const std::int64_t count = rows.counts[row];
        if (label < 0 || static_cast<std::size_t>(label) >= labels_) fail("a label is unknown");
        if (label <= label_) fail("the rows are not sorted by label, or repeat");
        if (count < 1 || static_cast<Count>(count) > kMaxCount) fail("a count is out of range");
        label_ = label;
        parts.labels.push_back(static_cast<std::uint32_t>(label));
        parts.counts.push_back(static_cast<std::uint64_t>(count));
        Count& maximum = maxima_[(length_ - 1) * labels_ + static_cast<std::size_t>(label)];
        maximum = std::max(maximum, static_cast<Count>(count));
        ++entries_;
    }
    return parts;
}

void Assembler::begin_ngram(std::string_view words, std::span<const std::uint32_t> above,
                            ArrayParts& parts) {
    if (ngrams_ > 0 && words <= key_) fail("the rows are not sorted by n-gram");
    parts.rows.push_back(entries_);
    if (length_ == 1) {
        add_word(words, parts);
    } else {
        add_longer(words, above, parts);
    }
    key_ = words;
    label_ = -1;
    ++ngrams_;
}

void Assembler::add_word(std::string_view key, ArrayParts& parts) {
    KeyReader reader(key);
    const std::string_view word = reader.next();
    if (!reader.done() || word.empty() || !is_word_text(word)) fail("a row is not of one word");
    words_.find_or_add(word);
    parts.word_offsets.push_back(word_bytes_);
    word_bytes_ += word.size();
    parts.word_bytes.insert(parts.word_bytes.end(), word.begin(), word.end());
}

void Assembler::add_longer(std::string_view key, std::span<const std::uint32_t> above,
                           ArrayParts& parts) {
    // Neighbours mostly differ in the last word only.
    const std::size_t last = key.rfind('\0') + 1;  // escaped words hold no zero
    const bool same = ngrams_ > 0 && last > 0 && key_.size() > last &&
                      key_.rfind('\0') + 1 == last && key.substr(0, last) == key_.substr(0, last);
    KeyReader reader(same ? key.substr(last) : key);
    ranks_.resize(same ? length_ - 1 : 0);
    do {
        ranks_.push_back(words_.find(reader.next()));
        if (ranks_.back() == kUnknownWord) fail("an n-gram has a word that has no count");
    } while (!reader.done() && ranks_.size() < length_);
    if (!reader.done() || ranks_.size() != length_)
        fail("an n-gram has not as many words as it says");
    if (!same) find_parent(above, parts);
    parts.words.push_back(ranks_.back());
    if (length_ < max_ngram_) {
        parts.ranks.insert(parts.ranks.end(), ranks_.begin(), ranks_.end());
    }
}

std::uint64_t Assembler::parents(std::span<const std::uint32_t> above) const {
    return length_ == 2 ? words_.id_limit() : above.size() / (length_ - 1);
}

// Both ascend, so one step forward in either is enough.
void Assembler::find_parent(std::span<const std::uint32_t> above, ArrayParts& parts) {
    const std::span<const std::uint32_t> wanted(ranks_.data(), length_ - 1);
    const auto reached = [&] {
        if (length_ == 2) return parent_ >= wanted[0];
        const auto own = above.subspan(parent_ * (length_ - 1), length_ - 1);
        return !std::lexicographical_compare(own.begin(), own.end(), wanted.begin(), wanted.end());
    };
    const std::uint64_t limit = parents(above);
    for (; parent_ < limit && !reached(); ++parent_) {
        parts.children.push_back(ngrams_);
    }
    const bool found =
        parent_ < limit &&
        (length_ == 2 ||
         std::equal(wanted.begin(), wanted.end(),
                    above.begin() + static_cast<std::ptrdiff_t>(parent_ * (length_ - 1))));
    if (!found) fail("an n-gram has a beginning that has no count");
}

ArrayParts Assembler::end_length(std::span<const std::uint32_t> above) {
    ArrayParts parts;
    parts.rows.push_back(entries_);
    if (length_ == 1) {
        parts.word_offsets.push_back(word_bytes_);
    } else {
        // `children` begins with a 0 that no step forward has written.
        parts.children.assign(parents(above) - parent_, ngrams_);
        parent_ = 0;
    }
    ++length_;
    ngrams_ = entries_ = 0;
    key_.clear();
    label_ = -1;
    return parts;
}

}  // namespace watchword
