// A cache of values while reading, valid for one state of the counts and one set of parameters. A
// memo is used by one thread at a time, and its memory is bounded.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "counts.h"
#include "hash.h"
#include "pages.h"
#include "valuer.h"

namespace watchword {

class Memo {
   public:
    using Entry = ConfidenceStore::Entry;

    // Must be called first; clears the values of another state.
    void prepare(const Counts& counts, const ValueParameters& parameters,
                 std::shared_ptr<const LargestValues> largest, std::uint64_t state);

    // Makes room for this many more entries, clearing the memo if it is too large. Entries and
    // places stay valid until the next call.
    void make_room(std::size_t entries);

    void prefetch_word(WordId word) const { prefetch_both_ends(&place_of_word(word)); }
    void prefetch_mapped_word(WordId word) const { prefetch_both_ends(&longer_[slot_of(word)]); }
    const Entry& get_word(WordId word) {
        if (hashed_words_) [[unlikely]]
            return get_hashed_word(word);
        const Stamped& found = place_of_word(word);
        return found.stamp == stamp_ ? found.entry : remember_word(word);
    }
    // N-grams of several words are looked up in two steps, the place and then the entry, so that
    // the memory of many is fetched at once. Null if the best cv does not exceed `floor`, which can
    // often be decided at a fraction of the cost of computing it.
    class Place;
    Place place_of(unsigned length, NgramId ngram, const Cell& counts);
    const Entry* get_above(double floor, Place place, unsigned length, NgramId ngram);

    ConfidenceRow confidences(const Entry& entry) const { return known_.confidences(entry); }
    // The sum of the n-gram's counts.
    double total(const Entry& entry) const { return known_.total(entry); }
    // Another number when entries were forgotten.
    std::uint32_t stamp() const { return stamp_; }
    // The entry of an n-gram that is in the model; valid until room is made again.
    const Entry& get(unsigned length, NgramId ngram);
    void prefetch_confidences(const Entry& entry) const {
        constexpr std::size_t kLine = 64 / sizeof(double);
        const ConfidenceRow row = known_.confidences(entry);
        prefetch_both_ends(row.values - 1, row.size + 1);  // with the total
        if (row.positions != nullptr) return prefetch_both_ends(row.positions, row.size);
        for (std::size_t at = kLine; at < row.size && at < 4 * kLine; at += kLine)
            prefetch(row.values + at);
    }

    // The values of an n-gram under the labels where it occurs; valid until the next call.
    const ValueRow& values(unsigned length, NgramId ngram);
    // The same if a document of these labels, which has the n-gram this often, were not counted.
    const ValueRow& values_without(unsigned length, NgramId ngram, std::span<const LabelId> labels,
                                   Count times);
    // The cv for each of these labels; valid until the next call.
    std::span<const double> confidences(unsigned length, NgramId ngram, const ValueRow& values);
    std::size_t labels() const { return labels_; }

   private:
    // Marks an entry of which only an upper bound of `best` is known.
    static constexpr std::uint32_t kBound = ConfidenceStore::kBound;
    static constexpr std::size_t kMaxEntries = table_size(1 << 18, 64);
    static constexpr std::size_t kSharedCounts =
        table_size(8, 3);  // counts below this share entries
    static constexpr std::size_t kSharedLabels =
        table_size(1024, 4);  // if there are no more labels than this
    static constexpr std::size_t kMaxValues = table_size(1 << 21, 256);

    struct Stamped {
        Entry entry;
        std::uint32_t stamp = 0;  // in use if it is the memo's
        NgramId ngram = 0;        // in `longer_`: whose entry it is
    };

    const Stamped& place_of_word(WordId word) const { return words_[word / kChunk][word % kChunk]; }
    const Entry& remember_word(WordId word);
    Stamped& find_longer(Stamped& first, NgramId ngram);
    std::size_t slot_of(NgramId ngram) const { return hash_pair(ngram, 0) & (longer_.size() - 1); }
    // The entry that all n-grams with these counts share; null if they share none.
    Stamped* shared_place(unsigned length, const Cell& cell) {
        if (!cell.single() || cell.only().count() >= kSharedCounts || shared_.empty())
            return nullptr;
        const std::size_t of_label = (length - 1) * labels_limit_ + cell.only().label();
        return &shared_[of_label * kSharedCounts + cell.only().count()];
    }
    const Entry& get_hashed_word(WordId word);
    Entry word_entry(WordId word);
    Entry compute(unsigned length, NgramId ngram);
    Entry bound(unsigned length, NgramId ngram);
    void fill_counts(unsigned length, NgramId ngram, ValueRow& row);
    void fill_row(unsigned length, NgramId ngram, ValueRow& row);
    void grow(std::size_t slots);
    void forget();

    const Counts* counts_ = nullptr;
    ValueParameters parameters_{};
    std::shared_ptr<const LargestValues> largest_;
    std::uint64_t state_ = 0;
    std::size_t labels_ = 0;
    std::size_t labels_limit_ = 0;  // label ids are below this
    Valuer valuer_;
    // One entry per word: frequent words were mostly learnt first and lie together, and most of the
    // others are never read. Only chunks with words that were read have memory of their own, so
    // that no reading has to move or clear much of it; all others point to one chunk that stays
    // empty. Words of a mapped file are stored in `longer_`.
    static constexpr WordId kChunk = table_size(1024, 4);
    static const std::array<Stamped, kChunk> kEmptyChunk;
    std::vector<const Stamped*> words_;                  // by word / kChunk
    std::vector<std::unique_ptr<Stamped[]>> own_words_;  // as far as they are not empty
    bool hashed_words_ = false;
    // Values of an n-gram of one label depend only on its length, label and count: such n-grams
    // share an entry, by length - 1, label id and count.
    std::vector<Stamped> shared_;
    // Entries of the other n-grams, by hash.
    Table<Stamped> longer_;
    std::size_t used_ = 0;  // of `longer_`
    std::uint32_t stamp_ = table_size(1u, ~0u - 3);
    ConfidenceStore known_;
    ValueRow row_, word_row_;
    WordsEvidence evidence_;
    std::vector<double> computed_;
    std::vector<Count> counts_by_position_;
    std::vector<LabelCount> room_;  // for a row of counts
};

class Memo::Place {
   public:
    Place() = default;

   private:
    friend class Memo;
    Place(Stamped* stamped, bool hashed) : stamped_(stamped), hashed_(hashed) {}
    Stamped* stamped_;
    bool hashed_;  // the entry is here or in a later slot
};

inline Memo::Place Memo::place_of(unsigned length, NgramId ngram, const Cell& cell) {
    if (Stamped* shared = shared_place(length, cell)) return {shared, false};
    Stamped* place = &longer_[slot_of(ngram)];
    prefetch_both_ends(place);
    return {place, true};
}

inline const Memo::Entry* Memo::get_above(double floor, Place place, unsigned length,
                                          NgramId ngram) {
    Stamped* found = place.stamped_;
    if (place.hashed_) found = &find_longer(*found, ngram);
    if (found->stamp != stamp_) {
        *found = {bound(length, ngram), stamp_, ngram};
        used_ += place.hashed_;
    }
    if (found->entry.best <= floor) return nullptr;
    if (found->entry.size == kBound) {
        found->entry = compute(length, ngram);
        if (found->entry.best <= floor) return nullptr;
    }
    return &found->entry;
}

inline const Memo::Entry& Memo::get(unsigned length, NgramId ngram) {
    if (length == 1) return get_word(ngram);
    const Place place = place_of(length, ngram, counts_->cell(length, ngram));
    return *get_above(-1, place, length, ngram);
}

inline Memo::Stamped& Memo::find_longer(Stamped& first, NgramId ngram) {
    Stamped* at = &first;
    while (at->stamp == stamp_ && at->ngram != ngram) {
        if (++at == longer_.data() + longer_.size()) at = longer_.data();
    }
    return *at;
}

}  // namespace watchword
