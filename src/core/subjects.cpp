#include "subjects.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace watchword {
namespace {

constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();

// Grows by a quarter: appending is cheap on average, and little memory is wasted.
template <class T>
void grow(std::vector<T>& values, std::size_t size) {
    if (size > values.capacity()) {
        values.reserve(std::max(size, values.capacity() + values.capacity() / 4));
    }
    values.resize(size);
}

// The columns of labels, for many look-ups in turn.
class Columns {
   public:
    explicit Columns(std::span<const Label> labels) : labels_(labels), sorted_(labels.size()) {
        std::iota(sorted_.begin(), sorted_.end(), std::size_t{0});
        std::sort(sorted_.begin(), sorted_.end(),
                  [labels](std::size_t a, std::size_t b) { return labels[a] < labels[b]; });
    }
    // The number of labels if this one is not among them.
    std::size_t of(const Label& label) const {
        const auto at = std::lower_bound(
            sorted_.begin(), sorted_.end(), label,
            [this](std::size_t column, const Label& wanted) { return labels_[column] < wanted; });
        return at != sorted_.end() && labels_[*at] == label ? *at : labels_.size();
    }

   private:
    std::span<const Label> labels_;
    std::vector<std::size_t> sorted_;
};

// These labels, and behind them those of the others that are not among them.
std::vector<Label> united(std::span<const Label> labels, std::span<const Label> others) {
    const Columns columns(labels);
    std::vector<Label> every(labels.begin(), labels.end());
    for (const Label& label : others) {
        if (columns.of(label) == labels.size()) every.push_back(label);
    }
    return every;
}

}  // namespace

// Marks the table as in use: a policy of the user's own may let other threads run.
class SubjectTable::Busy {
   public:
    explicit Busy(bool& flag) : flag_(flag) {
        if (flag) throw std::runtime_error("the reader or watcher is in use by its own policy");
        flag = true;
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() { flag_ = false; }

   private:
    bool& flag_;
};

void SubjectTable::Turn::clear() {
    rows.clear();
    posts.clear();
}

void SubjectTable::Turn::add(std::size_t row, std::size_t post) {
    rows.push_back(row);
    posts.push_back(post);
}

SubjectTable::SubjectTable(PolicyPointer policy, Label positive, std::vector<Label> labels,
                           bool sums_log_ratios, const Combination& combination)
    : policy_(std::move(policy)),
      positive_(std::move(positive)),
      policy_columns_(policy_->remembers()),
      sums_log_ratios_(sums_log_ratios),
      combination_(combination),
      memory_columns_(policy_columns_ + (sums_log_ratios ? 1 : 0)) {
    rearrange(std::move(labels));
}

void SubjectTable::resize(std::size_t rows) {
    if (rows <= size_) return;
    grow(posts_, rows);
    grow(delays_, rows);
    grow(sums_, rows * labels_.size());
    grow(memory_, rows * memory_columns_);
    size_ = rows;
}

SubjectRecords SubjectTable::read(std::span<const std::int64_t> rows, const Gains& gains) {
    const Busy busy(is_busy_);
    SubjectRecords records = begin(rows, gains);
    const auto [order, ends] = in_turns(rows);
    std::size_t at = 0;
    for (const std::size_t end : ends) {
        turn_.clear();
        for (; at < end; ++at) turn_.add(static_cast<std::size_t>(rows[order[at]]), order[at]);
        advance(gains, records);
    }
    return records;
}

SubjectTable::Turns SubjectTable::in_turns(std::span<const std::int64_t> rows) {
    std::vector<std::size_t> turns(rows.size());
    Turns found{std::vector<std::size_t>(rows.size()), {}};
    earlier_.resize(size_);
    for (std::size_t post = 0; post < rows.size(); ++post) {
        turns[post] = earlier_[static_cast<std::size_t>(rows[post])]++;
        if (turns[post] == found.ends.size()) found.ends.push_back(0);
        ++found.ends[turns[post]];
    }
    for (const std::int64_t row : rows) earlier_[static_cast<std::size_t>(row)] = 0;
    std::partial_sum(found.ends.begin(), found.ends.end(), found.ends.begin());
    std::vector<std::size_t> next(found.ends);
    for (std::size_t post = rows.size(); post-- > 0;) found.order[--next[turns[post]]] = post;
    return found;
}

SubjectRecords SubjectTable::read_round(std::span<const std::int64_t> rows, const Gains& gains) {
    const Busy busy(is_busy_);
    if (rounds_ == kMost) {
        throw FullFailure("the state is full: " + std::to_string(kMost) +
                          " rounds have been read; start a new watcher");
    }
    SubjectRecords records = begin(rows, gains);
    turn_.clear();
    if (policy_->is_population()) {
        for (std::size_t row = 0; row < size_; ++row) turn_.add(row, kNoPost);
        for (std::size_t post = 0; post < rows.size(); ++post) {
            turn_.posts[static_cast<std::size_t>(rows[post])] = post;
        }
    } else {
        for (std::size_t post = 0; post < rows.size(); ++post) {
            turn_.add(static_cast<std::size_t>(rows[post]), post);
        }
    }
    advance(gains, records);
    ++rounds_;
    return records;
}

SubjectRecords SubjectTable::begin(std::span<const std::int64_t> rows, const Gains& gains) {
    for (const std::int64_t row : rows) {
        if (row < 0 || static_cast<std::size_t>(row) >= size_) {
            throw std::out_of_range("no such row");
        }
    }
    if (gains.values.size() != rows.size() * gains.labels.size()) {
        throw std::invalid_argument("the gains must have a row per post and a column per label");
    }
    align(gains.labels);
    SubjectRecords records;
    records.alerted.resize(rows.size());
    records.posts.resize(rows.size());
    records.delays.resize(rows.size());
    records.sums.resize(rows.size() * labels_.size());
    return records;
}

// A model may learn or forget labels between two posts; the sums read so far are kept.
void SubjectTable::align(std::span<const Label> labels) {
    if (std::equal(labels.begin(), labels.end(), gained_.begin(), gained_.end())) return;
    if (united(labels_, labels).size() > labels_.size()) rearrange(united(labels, labels_));
    gained_.clear();  // until all is done
    columns_.clear();
    const Columns columns(labels_);
    for (const Label& label : labels) columns_.push_back(columns.of(label));
    gained_.assign(labels.begin(), labels.end());
}

void SubjectTable::rearrange(std::vector<Label> labels) {
    if (labels == labels_) return;
    const Columns columns(labels);
    const std::size_t positive = columns.of(positive_);
    if (positive == labels.size()) throw std::invalid_argument("the positive label is missing");
    std::vector<double> sums;
    sums.reserve(posts_.capacity() * labels.size());
    sums.resize(size_ * labels.size());
    for (std::size_t from = 0; from < labels_.size(); ++from) {
        const std::size_t to = columns.of(labels_[from]);
        if (to == labels.size()) throw std::invalid_argument("a label would be lost");
        for (std::size_t row = 0; row < size_; ++row) {
            sums[row * labels.size() + to] = sums_[row * labels_.size() + from];
        }
    }
    gained_.clear();  // their columns are others now
    columns_.clear();
    sums_ = std::move(sums);
    labels_ = std::move(labels);
    positive_column_ = positive;
    ++labels_version_;
}

void SubjectTable::gather(const Gains& gains) {
    Turn& turn = turn_;
    const std::size_t size = turn.rows.size(), columns = labels_.size();
    turn.read.resize(size);
    turn.decided.resize(size);
    turn.alerts.resize(size);
    turn.post_counts.resize(size);
    turn.gains.assign(size * columns, 0);
    turn.sums.resize(size * columns);
    for (auto* values : {&turn.value, &turn.other, &turn.gain, &turn.other_gain}) {
        values->resize(size);
    }
    turn.memory.resize(size * memory_columns_);
    turn.log_ratios.resize(sums_log_ratios_ ? size : 0);
    for (std::size_t at = 0; at < size; ++at) {
        const std::size_t row = turn.rows[at], post = turn.posts[at];
        const std::span<double> added(turn.gains.data() + at * columns, columns);
        const std::span<double> sums(turn.sums.data() + at * columns, columns);
        for (std::size_t label = 0; post != kNoPost && label < columns_.size(); ++label) {
            added[columns_[label]] = gains.values[post * columns_.size() + label];
        }
        const std::span<const double> before(sums_.data() + row * columns, columns);
        turn.read[at] = post != kNoPost;
        if (turn.read[at]) {
            combination_.combine(before, posts_[row], added, positive_column_, sums);
        } else {
            std::copy(before.begin(), before.end(), sums.begin());
        }
        turn.decided[at] = delays_[row] != 0;
        turn.post_counts[at] = std::int64_t{posts_[row]} + turn.read[at];
        if (turn.post_counts[at] > kMost) {
            throw FullFailure("the state is full: " + std::to_string(kMost) +
                              " posts of a subject have been read; start a new state");
        }
        turn.value[at] = sums[positive_column_];
        turn.other[at] = best_other(sums, positive_column_);
        turn.gain[at] = added[positive_column_];
        turn.other_gain[at] = best_other(added, positive_column_);
        std::copy_n(memory_.data() + row * memory_columns_, memory_columns_,
                    turn.memory.data() + at * memory_columns_);
        if (!sums_log_ratios_ || post == kNoPost) continue;
        turn.memory[at * memory_columns_ + policy_columns_] +=
            log_ratio(turn.gain[at], turn.other_gain[at]);
    }
    for (std::size_t at = 0; at < turn.log_ratios.size(); ++at) {
        turn.log_ratios[at] = turn.memory[at * memory_columns_ + policy_columns_];
    }
}

void SubjectTable::advance(const Gains& gains, SubjectRecords& records) {
    gather(gains);
    Step step{turn_.post_counts, turn_.value,  turn_.other,     turn_.gain, turn_.other_gain,
              rounds_,           turn_.memory, memory_columns_, {}};
    if (sums_log_ratios_) step.log_ratios = turn_.log_ratios;
    watchword::advance(*policy_, step, turn_.read, turn_.decided, turn_.alerts);
    commit(records);
    if (turn_.rows.size() * labels_.size() > kMostKept) turn_ = {};
}

void SubjectTable::commit(SubjectRecords& records) {
    const std::size_t columns = labels_.size();
    for (std::size_t at = 0; at < turn_.rows.size(); ++at) {
        const std::size_t row = turn_.rows[at], post = turn_.posts[at];
        const double* sums = turn_.sums.data() + at * columns;
        posts_[row] = static_cast<std::uint32_t>(turn_.post_counts[at]);
        if (turn_.alerts[at]) delays_[row] = posts_[row];
        std::copy_n(sums, columns, sums_.data() + row * columns);
        std::copy_n(turn_.memory.data() + at * memory_columns_, memory_columns_,
                    memory_.data() + row * memory_columns_);
        if (post == kNoPost) continue;
        records.alerted[post] = turn_.alerts[at];
        records.posts[post] = posts_[row];
        records.delays[post] = delays_[row];
        std::copy_n(sums, columns, records.sums.data() + post * columns);
    }
}

SubjectRows SubjectTable::rows(std::size_t begin, std::size_t end) const {
    if (begin > end || end > size_) throw std::out_of_range("no such rows");
    const std::size_t count = end - begin, columns = labels_.size();
    return {{posts_.data() + begin, count},
            {delays_.data() + begin, count},
            {sums_.data() + begin * columns, count * columns},
            {memory_.data() + begin * memory_columns_, count * memory_columns_}};
}

void SubjectTable::restore(std::span<const Label> labels, std::uint32_t rounds,
                           const SubjectRows& state) {
    const Busy busy(is_busy_);
    const std::size_t count = state.posts.size();
    if (count > size_ || state.delays.size() != count ||
        state.sums.size() != count * labels.size() ||
        state.memory.size() != count * memory_columns_) {
        throw std::invalid_argument("the state does not fit the table");
    }
    rearrange(united(labels, labels_));
    rounds_ = rounds;
    std::copy(state.posts.begin(), state.posts.end(), posts_.begin());
    std::copy(state.delays.begin(), state.delays.end(), delays_.begin());
    std::copy(state.memory.begin(), state.memory.end(), memory_.begin());
    for (std::size_t row = 0; row < count; ++row) {
        std::copy_n(state.sums.data() + row * labels.size(), labels.size(),
                    sums_.data() + row * labels_.size());
    }
}

std::vector<double> SubjectTable::scores(Score score) const {
    std::vector<std::int64_t> posts(posts_.begin(), posts_.end());
    std::vector<double> value(size_), other(size_), log_ratios;
    for (std::size_t row = 0; row < size_; ++row) {
        const std::span<const double> sums(sums_.data() + row * labels_.size(), labels_.size());
        value[row] = sums[positive_column_];
        other[row] = best_other(sums, positive_column_);
        if (sums_log_ratios_) {
            log_ratios.push_back(memory_[row * memory_columns_ + policy_columns_]);
        }
    }
    Step step{posts, value, other, {}, {}, rounds_, {}, 0, {}};
    if (sums_log_ratios_) step.log_ratios = log_ratios;
    std::vector<double> found(size_);
    fill_scores(score, step, found);
    return found;
}

}  // namespace watchword
