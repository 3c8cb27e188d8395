// Values remembered while reading. They hold for one state of the counts and one set of parameters;
// a memo belongs to one thread at a time, and its memory is bounded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "counts.h"
#include "value.h"

namespace watchword {

// The largest gv per length - 1 and label position, for the two normalised confidences.
using LargestValues = std::vector<std::vector<double>>;

// cv of an n-gram under the labels where it occurs, ascending.
struct Confidence {
    LabelPosition position;
    double cv;
};

class Memo {
   public:
    struct Entry {
        double best = 0;          // the highest cv in any label
        std::uint32_t begin = 0;  // where its confidences are
        std::uint32_t size = 0;
    };

    // Must be called before anything else; forgets what was computed for another state.
    void prepare(const Counts& counts, const ValueParameters& parameters,
                 std::shared_ptr<const LargestValues> largest, std::uint64_t state);

    // Forgets everything if there is too much; entries got before are then no longer valid.
    void make_room();

    Entry get(unsigned length, NgramId ngram);
    std::span<const Confidence> confidences(Entry entry) const {
        return {confidences_.data() + entry.begin, entry.size};
    }

    // All values under the labels where the n-gram occurs; valid until the next call.
    const std::vector<LabelValues>& values(unsigned length, NgramId ngram);
    void confidences(unsigned length, NgramId ngram, const std::vector<LabelValues>& values,
                     std::vector<Confidence>& out);
    std::size_t labels() const { return maxima_.empty() ? 0 : maxima_[0].size(); }

   private:
    static constexpr std::size_t kMaxEntries = std::size_t{1} << 19;
    static constexpr std::size_t kMaxConfidences = std::size_t{1} << 22;

    struct Slot {
        std::uint64_t key = 0;
        Entry entry;
        std::uint32_t stamp = 0;  // in use if it is the memo's
    };

    std::uint64_t key_of(unsigned length, NgramId ngram) const;
    Entry compute(unsigned length, NgramId ngram);
    void fill_row(unsigned length, NgramId ngram, std::vector<LabelValues>& row) const;
    void grow();
    void forget();

    const Counts* counts_ = nullptr;
    ValueParameters parameters_{};
    std::shared_ptr<const LargestValues> largest_;
    std::uint64_t state_ = 0;
    std::vector<std::vector<Count>> maxima_;  // by length - 1 and position
    std::vector<Slot> slots_;
    std::size_t used_ = 0;
    std::uint32_t stamp_ = 1;
    std::vector<Confidence> confidences_;
    std::vector<LabelValues> row_, word_row_;
    std::vector<Confidence> computed_;
};

}  // namespace watchword
