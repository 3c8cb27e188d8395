// What a stream keeps about its subjects, one row for each: the sum of confidences per label (or
// another combination of what posts add), the number of posts, the policy's memory and the alert.
// The table owns all of it and applies the policy to posts as they are read, one by one, in batches
// or in rounds.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "combination.h"
#include "labels.h"
#include "policy.h"

namespace watchword {

// Thrown if a counter has no room for one more.
class FullFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What posts add to their subjects: a row per post, a column per label.
struct Gains {
    std::span<const Label> labels;
    std::span<const double> values;
};

// The subjects' records right after each of some posts.
struct SubjectRecords {
    std::vector<Flag> alerted;  // by this post
    std::vector<std::uint32_t> posts, delays;
    std::vector<double> sums;  // a column for each label of the table
};

// The contents of consecutive rows.
struct SubjectRows {
    std::span<const std::uint32_t> posts, delays;
    std::span<const double> sums, memory;
};

class SubjectTable {
   public:
    // Log-ratios are summed, in a memory column behind those of the policy, only on request.
    SubjectTable(PolicyPointer policy, Label positive, std::vector<Label> labels,
                 bool sums_log_ratios, const Combination& combination);

    std::size_t size() const { return size_; }
    const std::vector<Label>& labels() const { return labels_; }
    // Another number whenever the labels have changed.
    std::uint64_t labels_version() const { return labels_version_; }
    std::size_t memory_columns() const { return memory_columns_; }
    std::uint32_t rounds() const { return rounds_; }

    // Adds rows of subjects without posts.
    void resize(std::size_t rows);

    // Reads posts in order, given the row of each. Equivalent to reading each by itself. If the
    // policy throws, a subject keeps its posts up to the one that the policy failed for.
    SubjectRecords read(std::span<const std::int64_t> rows, const Gains& gains);
    // Reads one post of each of these distinct rows as one round. Population policies compare all
    // rows of the table.
    SubjectRecords read_round(std::span<const std::int64_t> rows, const Gains& gains);

    SubjectRows rows(std::size_t begin, std::size_t end) const;
    // Replaces the first rows. Labels that are not in the state keep their columns, behind it.
    void restore(std::span<const Label> labels, std::uint32_t rounds, const SubjectRows& state);
    // The current score of each row.
    std::vector<double> scores(Score score) const;

   private:
    class Busy;
    static constexpr std::size_t kNoPost = static_cast<std::size_t>(-1);
    static constexpr std::size_t kMostKept = 1 << 18;  // sums of a turn whose memory is kept

    // One post of each of some distinct rows; a row may have none.
    struct Turn {
        std::vector<std::size_t> rows;
        std::vector<std::size_t> posts;  // index into the batch, or kNoPost
        std::vector<Flag> read, decided, alerts;
        std::vector<std::int64_t> post_counts;
        std::vector<double> sums, gains;  // a column per label
        std::vector<double> value, other, gain, other_gain, memory, log_ratios;

        void clear();
        void add(std::size_t row, std::size_t post);
    };

    // The posts of a batch: all first posts of subjects, then all second ones, and so on.
    struct Turns {
        std::vector<std::size_t> order;  // indices of posts
        std::vector<std::size_t> ends;   // of each turn
    };

    Turns in_turns(std::span<const std::int64_t> rows);
    // Checks the rows, adds columns for new labels and makes room for the records.
    SubjectRecords begin(std::span<const std::int64_t> rows, const Gains& gains);
    void align(std::span<const Label> labels);
    void rearrange(std::vector<Label> labels);
    void gather(const Gains& gains);
    // Applies the policy to the turn. Changes nothing if the policy throws.
    void advance(const Gains& gains, SubjectRecords& records);
    void commit(SubjectRecords& records);

    PolicyPointer policy_;
    Label positive_;
    std::size_t policy_columns_;  // of the memory
    bool sums_log_ratios_;
    Combination combination_;
    std::size_t memory_columns_;
    std::vector<Label> labels_;
    std::uint64_t labels_version_ = 0;
    std::size_t positive_column_ = 0;
    std::uint32_t rounds_ = 0;
    std::size_t size_ = 0;
    std::vector<std::uint32_t> posts_, delays_;  // a delay is 0 without an alert
    std::vector<double> sums_, memory_;

    bool is_busy_ = false;
    // Buffers that are kept from call to call.
    std::vector<Label> gained_;           // the labels of the last gains
    std::vector<std::size_t> columns_;    // of these labels
    std::vector<std::uint32_t> earlier_;  // posts in the batch, by row; all 0 between calls
    Turn turn_;
};

}  // namespace watchword
