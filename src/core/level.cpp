#include "level.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace watchword {

LevelCounter::LevelCounter(std::shared_ptr<const Counts> kept, unsigned length)
    : kept_(std::move(kept)), length_(length), slots_(table_size(1024, 4)) {
    if (length < 2 || length - 1 > kept_->max_ngram()) {
        throw std::invalid_argument("the n-grams that were kept are not one word shorter");
    }
}

void LevelCounter::add(const TermBatch& batch, std::span<const Label> labels) {
    if (taken_ > 0) throw std::logic_error("rows are being taken");
    batch.check_usable();
    std::vector<WordId> ids(batch.words.id_limit());
    for (WordId id = 0; id < ids.size(); ++id) ids[id] = kept_->find_word(batch.words.padded(id));
    symbols_.assign(batch.symbols.begin(), batch.symbols.end());
    for (Symbol& symbol : symbols_) symbol = is_word(symbol) ? ids[symbol] : symbol;
    for (std::size_t document = 0; document < batch.documents(); ++document) {
        const std::optional<LabelId> label = kept_->labels().find(labels[document]);
        if (!label) throw std::invalid_argument("a label was not there before");
        const std::size_t begin = batch.begin_of(document);
        const std::span<const Symbol> own(symbols_.data() + begin, batch.ends[document] - begin);
        ++document_;
        // The n-gram that begins here without its last word, and the next one: without its first.
        NgramId prefix = Counts::kNone;
        for (std::size_t at = 0; at + length_ <= own.size() + 1; ++at) {
            const NgramId here = kept_at(own, at, *label);
            if (at > 0 && prefix != Counts::kNone && here != Counts::kNone) {
                count(prefix, own[at + length_ - 2], *label);
            }
            prefix = here;
        }
    }
}

NgramId LevelCounter::kept_at(std::span<const Symbol> symbols, std::size_t at,
                              LabelId label) const {
    const auto words = symbols.subspan(at, length_ - 1);
    if (!std::all_of(words.begin(), words.end(), is_word)) return Counts::kNone;
    const NgramId ngram = kept_->find(words);
    if (ngram == Counts::kNone || kept_->count(length_ - 1, ngram, label) == 0) {
        return Counts::kNone;
    }
    return ngram;
}

std::size_t LevelCounter::slot_of(NgramId prefix, WordId word, LabelId label) const {
    const std::uint64_t hash = mix(hash_pair(prefix, word) ^ label, kHashSeed.second);
    return hash & (slots_.size() - 1);
}

void LevelCounter::count(NgramId prefix, WordId word, LabelId label) {
    if ((used_ + 1) * 3 > slots_.size() * 2) grow();
    for (std::size_t at = slot_of(prefix, word, label);; at = (at + 1) & (slots_.size() - 1)) {
        Slot& slot = slots_[at];
        if (slot.count == 0) {
            slot = {prefix, word, label, document_ - 1, 0};
            ++used_;
        }
        if (slot.prefix == prefix && slot.word == word && slot.label == label) {
            const bool again = slot.document == document_;
            slot.count += !again || kept_->counting() == Counting::Occurrences;
            slot.document = document_;
            return;
        }
    }
}

void LevelCounter::grow() {
    std::vector<Slot> old(slots_.size() * 2);
    std::swap(old, slots_);
    for (const Slot& slot : old) {
        if (slot.count == 0) continue;
        std::size_t at = slot_of(slot.prefix, slot.word, slot.label);
        while (slots_[at].count > 0) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }
}

CountRows LevelCounter::take(std::size_t most) {
    CountRows rows;
    std::vector<std::string_view> words;
    for (; taken_ < slots_.size() && !rows.full(most); ++taken_) {
        const Slot& slot = slots_[taken_];
        if (slot.count == 0) continue;
        words.clear();
        for (const WordId word : kept_->words_of(length_ - 1, slot.prefix)) {
            words.push_back(kept_->word(word));
        }
        words.push_back(kept_->word(slot.word));
        rows.add(kept_->labels().position(slot.label), words, slot.count);
    }
    if (rows.size() == 0) {
        std::fill(slots_.begin(), slots_.end(), Slot{});
        used_ = taken_ = 0;
    }
    return rows;
}

}  // namespace watchword
