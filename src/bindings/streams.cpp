// Policies and the table of subjects that applies them. All of it runs with the GIL held, except
// the reading of texts: a policy may be written in Python.
#include <nanobind/stl/shared_ptr.h>

#include "bindings.h"
#include "core/combination.h"
#include "core/evidence.h"
#include "core/policy.h"
#include "core/subjects.h"

namespace watchword::bindings {

namespace {

using Numbers = VectorIn<double>;
using Integers = VectorIn<std::int64_t>;
using Counters = VectorIn<std::uint32_t>;
using Flags = Vector<bool>;
using FlagsIn = VectorIn<bool>;
using MatrixIn = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Ask = nb::typed<nb::callable, Flags(...)>;
using Memory = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> copy_of(std::span<const T> values) {
    return {values.begin(), values.end()};
}

std::span<const Flag> flags_of(const FlagsIn& flags) {
    return {reinterpret_cast<const Flag*>(flags.data()), flags.shape(0)};
}

Flags to_flags(std::vector<Flag>&& values) {
    auto kept = std::make_unique<std::vector<Flag>>(std::move(values));
    bool* data = reinterpret_cast<bool*>(kept->data());
    const std::size_t size = kept->size();
    return Flags(data, {size}, owner_of(std::move(kept)));
}

// A policy written in Python: a function of the arrays of a step. It gets copies, since it may keep
// them; what it writes into its memory is copied back.
class OwnPolicy final : public Policy {
   public:
    OwnPolicy(Ask ask, std::size_t remembers, bool is_population)
        : ask_(std::move(ask)), remembers_(remembers), is_population_(is_population) {}
    std::size_t remembers() const override { return remembers_; }
    bool is_population() const override { return is_population_; }

    void mark(const Step& step, std::size_t column, std::span<Flag> alerts) const override {
        std::vector<double> own;
        for (std::size_t row = 0; row < step.rows(); ++row) {
            for (std::size_t at = 0; at < remembers_; ++at) {
                own.push_back(step.remembered(row, column + at));
            }
        }
        const Matrix<double> memory = to_matrix(std::move(own), remembers_, step.rows());
        const nb::object answer =
            ask_(to_vector(copy_of(step.posts)), to_vector(copy_of(step.value)),
                 to_vector(copy_of(step.other)), to_vector(copy_of(step.gain)),
                 to_vector(copy_of(step.other_gain)), step.round, memory, log_ratios_of(step));
        const auto found = nb::cast<FlagsIn>(answer);
        if (found.shape(0) != step.rows()) throw nb::value_error("one bool per row");
        std::copy_n(flags_of(found).begin(), step.rows(), alerts.begin());
        for (std::size_t row = 0; row < step.rows(); ++row) {
            for (std::size_t at = 0; at < remembers_; ++at) {
                step.remembered(row, column + at) = memory.data()[row * remembers_ + at];
            }
        }
    }

   private:
    static std::optional<Vector<double>> log_ratios_of(const Step& step) {
        if (!step.log_ratios) return std::nullopt;
        return to_vector(copy_of(*step.log_ratios));
    }

    Ask ask_;
    std::size_t remembers_;
    bool is_population_;
};

// The arrays of a step, kept alive while the core uses them.
class BoundStep {
   public:
    BoundStep(Integers posts, Numbers value, Numbers other, Numbers gain, Numbers other_gain,
              std::int64_t round, Memory memory, std::optional<Numbers> log_ratios)
        : posts_(std::move(posts)),
          value_(std::move(value)),
          other_(std::move(other)),
          gain_(std::move(gain)),
          other_gain_(std::move(other_gain)),
          memory_(std::move(memory)),
          log_ratios_(std::move(log_ratios)),
          step_{span_of(posts_),
                span_of(value_),
                span_of(other_),
                span_of(gain_),
                span_of(other_gain_),
                round,
                {memory_.data(), memory_.size()},
                memory_.shape(1),
                {}} {
        if (log_ratios_) step_.log_ratios = span_of(*log_ratios_);
        const std::size_t ratios = log_ratios_ ? log_ratios_->shape(0) : rows();
        for (const std::size_t size : {value_.shape(0), other_.shape(0), gain_.shape(0),
                                       other_gain_.shape(0), memory_.shape(0), ratios}) {
            check_rows(size);
        }
    }

    std::size_t rows() const { return step_.rows(); }
    const Step& step() const { return step_; }
    const Step& step_for(const Policy& policy) const {
        if (memory_.shape(1) < policy.remembers()) {
            throw nb::value_error("the step has too few columns of memory");
        }
        return step_;
    }
    void check_rows(std::size_t size) const {
        if (size != rows()) throw nb::value_error("the arrays of a step differ in length");
    }

   private:
    Integers posts_;
    Numbers value_, other_, gain_, other_gain_;
    Memory memory_;
    std::optional<Numbers> log_ratios_;
    Step step_;
};

Flags alerts_of(const Policy& policy, const BoundStep& step) {
    std::vector<Flag> alerts(step.rows());
    policy.mark(step.step_for(policy), 0, alerts);
    return to_flags(std::move(alerts));
}

Flags advanced(const Policy& policy, const BoundStep& step, const FlagsIn& read,
               const FlagsIn& decided) {
    step.check_rows(read.shape(0));
    step.check_rows(decided.shape(0));
    std::vector<Flag> alerts(step.rows());
    advance(policy, step.step_for(policy), flags_of(read), flags_of(decided), alerts);
    return to_flags(std::move(alerts));
}

Vector<double> scores_of(Score score, const BoundStep& step) {
    std::vector<double> scores(step.rows());
    fill_scores(score, step.step(), scores);
    return to_vector(std::move(scores));
}

Matrix<double> features_of(const BoundStep& steps) {
    return to_matrix(feature_table(steps.step()), kFeatures, steps.rows());
}

Vector<double> log_ratios_of(const Numbers& gain, const Numbers& other_gain) {
    if (gain.shape(0) != other_gain.shape(0)) throw nb::value_error("arrays differ in length");
    std::vector<double> log_ratios;
    log_ratios.reserve(gain.shape(0));
    for (std::size_t at = 0; at < gain.shape(0); ++at) {
        log_ratios.push_back(log_ratio(gain.data()[at], other_gain.data()[at]));
    }
    return to_vector(std::move(log_ratios));
}

Vector<double> falling_threshold(double start, double end, std::int64_t wait, double scale,
                                 const Integers& posts) {
    const FallingThreshold threshold{start, end, wait, scale};
    std::vector<double> found;
    for (const std::int64_t count : span_of(posts)) found.push_back(threshold.after(count));
    return to_vector(std::move(found));
}

void bind_policies(nb::module_& m) {
    nb::enum_<Score>(m, "Score")
        .value("share", Score::Share)
        .value("softmax", Score::Softmax)
        .value("difference", Score::Difference)
        .value("log_ratio", Score::LogRatio);
    nb::enum_<StepFeature>(m, "StepFeature")
        .value("share", StepFeature::Share)
        .value("log_ratio", StepFeature::LogRatio)
        .value("posts", StepFeature::Posts)
        .value("share_posts", StepFeature::SharePosts)
        .value("evidence", StepFeature::Evidence)
        .value("gain", StepFeature::Gain);
    nb::class_<BoundStep>(m, "Step").def(nb::init<Integers, Numbers, Numbers, Numbers, Numbers,
                                                  std::int64_t, Memory, std::optional<Numbers>>(),
                                         "posts"_a, "value"_a, "other"_a, "gain"_a, "other_gain"_a,
                                         "round"_a, "memory"_a.noconvert(), "log_ratios"_a.none());
    nb::class_<Policy>(m, "Policy")
        .def_static("overtakes", &overtakes, "ratio"_a, "margin"_a)
        .def_static("leaps", &leaps, "factor"_a)
        .def_static("reaches", &reaches, "threshold"_a, "score"_a)
        .def_static("stays", &stays, "threshold"_a, "last"_a, "score"_a)
        .def_static("repeats", &repeats, "times"_a)
        .def_static(
            "reaches_falling",
            [](double start, double end, std::int64_t wait, double scale, Score score) {
                return reaches_falling({start, end, wait, scale}, score);
            },
            "start"_a, "end"_a, "wait"_a, "scale"_a, "score"_a)
        .def_static("stands_out", &stands_out, "gamma"_a)
        .def_static(
            "weighs",
            [](const Numbers& weights, double threshold) {
                FeatureWeights own;
                if (weights.shape(0) != own.size()) throw nb::value_error("one weight per feature");
                std::copy_n(weights.data(), own.size(), own.begin());
                return weighs(own, threshold);
            },
            "weights"_a, "threshold"_a)
        .def_static("after", &after, "of"_a, "posts"_a)
        .def_static("any_of", &any_of, "policies"_a)
        .def_static("all_of", &all_of, "policies"_a)
        .def_static(
            "own",
            [](Ask ask, std::size_t remembers, bool is_population) -> PolicyPointer {
                return std::make_shared<OwnPolicy>(std::move(ask), remembers, is_population);
            },
            "ask"_a, "remembers"_a, "is_population"_a)
        .def("alerts", &alerts_of, "step"_a)
        .def("advance", &advanced, "step"_a, "read"_a, "decided"_a);
    m.def("scores", &scores_of, "score"_a, "step"_a);
    m.def("feature_table", &features_of, "steps"_a);
    m.def("log_ratios", &log_ratios_of, "gain"_a, "other_gain"_a);
    m.def("falling_threshold", &falling_threshold, "start"_a, "end"_a, "wait"_a, "scale"_a,
          "posts"_a);
}

Matrix<double> combined_rows(const Combination& combination, const MatrixIn& gains,
                             std::size_t positive) {
    const std::size_t labels = gains.shape(1);
    if (positive >= labels) throw nb::value_error("no such column");
    return to_matrix(combined(combination, {gains.data(), gains.size()}, labels, positive), labels,
                     gains.shape(0));
}

void bind_combinations(nb::module_& m) {
    nb::enum_<Combine>(m, "Combine")
        .value("sum", Combine::Sum)
        .value("mean", Combine::Mean)
        .value("last", Combine::Last)
        .value("ema", Combine::Ema)
        .value("max", Combine::Max);
    nb::class_<Combination>(m, "Combination").def(nb::init<Combine, double>(), "how"_a, "alpha"_a);
    m.def("combined", &combined_rows, "combination"_a, "gains"_a, "positive"_a);
}

using SumDict = nb::typed<nb::dict, Label, double>;
using Record = nb::typed<nb::tuple, std::uint32_t, std::uint32_t, SumDict>;
// Indices into what was asked for, delays (0 without an alert), numbers of posts, sums per label.
using Records = nb::typed<nb::tuple, nb::typed<nb::list, int>, nb::typed<nb::list, int>,
                          nb::typed<nb::list, int>, nb::typed<nb::list, SumDict>>;

// The table with what Python needs beside it: labels as objects that all results share.
class BoundTable {
   public:
    BoundTable(PolicyPointer policy, Label positive, Labels labels, bool sums_log_ratios,
               const Combination& combination)
        : table(std::move(policy), std::move(positive), std::move(labels), sums_log_ratios,
                combination) {}

    SumDict sums_dict(const double* sums) {
        nb::dict out;
        refresh_names();  // after an allocation that may run other Python code
        for (std::size_t at = 0; at < names_.size(); ++at) {
            out[names_[at]] = nb::float_(sums[at]);
        }
        return out;
    }

    SubjectTable table;

   private:
    void refresh_names() {
        if (version_ == table.labels_version()) return;
        names_.clear();
        for (const Label& label : table.labels()) names_.push_back(nb::cast(label));
        version_ = table.labels_version();
    }

    std::vector<nb::object> names_;
    std::uint64_t version_ = 0;
};

// The delay, the number of posts and the sums after one more post; None if the model is empty.
std::optional<Record> read_text(BoundTable& self, const Model& model, std::int64_t row,
                                const nb::str& text) {
    OneReading reading(model, text);
    ConfidenceTable& gains = reading.table;
    if (gains.labels.empty()) return std::nullopt;
    if (gains.temperature) to_softmax(gains.values, *gains.temperature);
    const SubjectRecords found = self.table.read({&row, 1}, {gains.labels, gains.values});
    return nb::make_tuple(found.delays[0], found.posts[0], self.sums_dict(found.sums.data()));
}

Gains gains_of(const Labels& labels, const MatrixIn& values) {
    return {labels, {values.data(), values.shape(0) * values.shape(1)}};
}

Records records_of(BoundTable& self, const SubjectRecords& found, bool every) {
    nb::list indices, delays, posts, sums;
    const std::size_t columns = self.table.labels().size();
    for (std::size_t at = 0; at < found.posts.size(); ++at) {
        if (!every && !found.alerted[at]) continue;
        indices.append(at);
        delays.append(found.delays[at]);
        posts.append(found.posts[at]);
        sums.append(self.sums_dict(found.sums.data() + at * columns));
    }
    return nb::make_tuple(indices, delays, posts, sums);
}

Records current_records(BoundTable& self, const Integers& rows) {
    nb::list indices, delays, posts, sums;
    for (std::size_t at = 0; at < rows.shape(0); ++at) {
        const auto row = static_cast<std::size_t>(rows.data()[at]);
        const SubjectRows found = self.table.rows(row, row + 1);
        const std::vector<double> own = copy_of(found.sums);
        indices.append(at);
        delays.append(found.delays[0]);
        posts.append(found.posts[0]);
        sums.append(self.sums_dict(own.data()));
    }
    return nb::make_tuple(indices, delays, posts, sums);
}

Named rows_dict(const BoundTable& self, std::size_t begin, std::size_t end) {
    const SubjectRows rows = self.table.rows(begin, end);
    const std::size_t count = end - begin;
    nb::dict out;
    out["posts"] = to_vector(copy_of(rows.posts));
    out["delays"] = to_vector(copy_of(rows.delays));
    out["sums"] = to_matrix(copy_of(rows.sums), self.table.labels().size(), count);
    out["memory"] = to_matrix(copy_of(rows.memory), self.table.memory_columns(), count);
    return out;
}

void restore(BoundTable& self, const Labels& labels, std::uint32_t rounds, const Counters& posts,
             const Counters& delays, const MatrixIn& sums, const MatrixIn& memory) {
    self.table.restore(labels, rounds,
                       {span_of(posts),
                        span_of(delays),
                        {sums.data(), sums.size()},
                        {memory.data(), memory.size()}});
}

}  // namespace

void bind_streams(nb::module_& m) {
    bind_policies(m);
    bind_combinations(m);
    nb::class_<BoundTable>(m, "SubjectTable")
        .def(nb::init<PolicyPointer, Label, Labels, bool, const Combination&>(), "policy"_a,
             "positive"_a, "labels"_a, "sums_log_ratios"_a, "combination"_a)
        .def(
            "resize", [](BoundTable& self, std::size_t rows) { self.table.resize(rows); }, "rows"_a)
        .def("labels", [](const BoundTable& self) { return self.table.labels(); })
        .def("rounds", [](const BoundTable& self) { return self.table.rounds(); })
        .def("read_text", &read_text, "model"_a, "row"_a, "text"_a)
        .def(
            "read",
            [](BoundTable& self, const Integers& rows, const Labels& labels, const MatrixIn& gains,
               bool every) {
                const SubjectRecords found =
                    self.table.read(span_of(rows), gains_of(labels, gains));
                return records_of(self, found, every);
            },
            "rows"_a, "labels"_a, "gains"_a, "every"_a)
        .def(
            "read_round",
            [](BoundTable& self, const Integers& rows, const Labels& labels,
               const MatrixIn& gains) {
                const SubjectRecords found =
                    self.table.read_round(span_of(rows), gains_of(labels, gains));
                return records_of(self, found, false);
            },
            "rows"_a, "labels"_a, "gains"_a)
        .def("records", &current_records, "rows"_a)
        .def(
            "scores",
            [](const BoundTable& self, Score score) { return to_vector(self.table.scores(score)); },
            "score"_a)
        .def("rows", &rows_dict, "begin"_a, "end"_a)
        .def("restore", &restore, "labels"_a, "rounds"_a, "posts"_a, "delays"_a, "sums"_a,
             "memory"_a);
}

}  // namespace watchword::bindings
