// What the fuzz targets have in common: documents, parameters and damage made from the fuzzer's
// bytes, and questions that any model must answer.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model.h"
#include "core/refiner.h"

namespace ww = watchword;

#define REQUIRE(condition)                                                       \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                        \
        }                                                                        \
    } while (false)

using Data = FuzzedDataProvider;
using Document = std::pair<std::string, ww::Label>;

inline bool equal(const ww::SnapshotLevel& a, const ww::SnapshotLevel& b) {
    return a.words == b.words && a.children == b.children && a.rows == b.rows &&
           a.labels == b.labels && a.counts == b.counts && a.weights == b.weights;
}

inline bool equal(const std::optional<ww::FitTotals>& a, const std::optional<ww::FitTotals>& b) {
    if (!a || !b) return a.has_value() == b.has_value();
    return a->margins == b->margins && a->texts == b->texts && a->documents == b->documents &&
           a->learnt == b->learnt && a->unlearnt == b->unlearnt && a->biases == b->biases;
}

inline bool equal(const ww::Snapshot& a, const ww::Snapshot& b) {
    const auto same_totals = [](const ww::LabelTotals& one, const ww::LabelTotals& other) {
        return one.documents == other.documents && one.words == other.words;
    };
    return a.labels == b.labels && a.word_bytes == b.word_bytes &&
           a.word_offsets == b.word_offsets && a.maxima == b.maxima &&
           a.was_pruned == b.was_pruned && a.pruned.ngrams == b.pruned.ngrams &&
           a.pruned.counts == b.pruned.counts && equal(a.fit, b.fit) &&
           std::equal(a.totals.begin(), a.totals.end(), b.totals.begin(), b.totals.end(),
                      same_totals) &&
           std::equal(a.levels.begin(), a.levels.end(), b.levels.begin(), b.levels.end(),
                      [](const auto& one, const auto& other) { return equal(one, other); });
}

inline ww::Label label_of(unsigned number) {
    return number % 8 < 6 ? ww::Label(std::string(1, static_cast<char>('a' + number % 8)))
                          : ww::Label(std::string(number % 8 * 5, 'z'));
}

// Few short words, so that n-grams repeat, and some that no other document has.
inline std::string text_from(Data& data) {
    static constexpr const char* kPieces[] = {"a ",
                                              "b ",
                                              "c ",
                                              "a b c ",
                                              "b a ",
                                              ", ",
                                              ". ",
                                              "\n",
                                              "\n\n",
                                              "d'e ",
                                              "f",
                                              "long"
                                              "er ",
                                              "x y",
                                              " 1\t",
                                              "\xe9"
                                              "t\xe9 ",
                                              "g"};
    const std::string choices = data.ConsumeRandomLengthString(64);
    std::string text;
    for (const char choice : choices) {
        const auto byte = static_cast<unsigned char>(choice);
        text += kPieces[byte % 16];
        if (byte >= 0xF0) text += std::to_string(byte) + ' ';
    }
    return text;
}

inline ww::TextView view_of(const std::string& text) { return {text.data(), text.size(), 1}; }

inline ww::TermBatch terms_of(const std::string& text, ww::TextRules rules, bool with_spans,
                              ww::Purpose purpose = ww::Purpose::Reading) {
    ww::TermBatch batch;
    ww::TextReader(rules, purpose, with_spans).read(view_of(text), batch);
    return batch;
}

// The defaults of src/watchword/model/parameters.py.
inline ww::Parameters default_parameters() {
    ww::Parameters parameters{};
    parameters.smoothness = 0.13;
    parameters.significance = 0.7;
    parameters.sanction = 0.25;
    parameters.max_ngram = 3;
    parameters.min_count = 1;
    parameters.prior = 3;
    parameters.label_weight = 0.2;
    parameters.ngram_scale = ww::NgramScale::Label;
    parameters.significance_function = ww::SignificanceFunction::Ratio;
    parameters.confidence_function = ww::ConfidenceFunction::Gv;
    parameters.reading = ww::ReadingRule::Paper;
    parameters.counting = ww::Counting::Documents;
    parameters.prune_floor = 10;
    parameters.prune_shortest = 1;
    return parameters;
}

inline ww::Parameters parameters_from(Data& data) {
    ww::Parameters parameters{};
    parameters.max_ngram = data.ConsumeIntegralInRange(1u, 5u);
    parameters.smoothness = data.PickValueInArray({0.455, 1.0, 0.1});
    parameters.significance = data.PickValueInArray({1.0, 0.0, 4.0});
    parameters.sanction = data.PickValueInArray({1.0, 0.0, 2.0});
    parameters.min_count = data.ConsumeIntegralInRange(1u, 3u);
    parameters.prior = data.ConsumeBool() ? 1 : 0;
    parameters.ngram_scale = data.ConsumeBool() ? ww::NgramScale::Words : ww::NgramScale::Length;
    parameters.significance_function =
        data.PickValueInArray({ww::SignificanceFunction::Vanilla, ww::SignificanceFunction::Xai});
    parameters.confidence_function =
        data.PickValueInArray({ww::ConfidenceFunction::Gv, ww::ConfidenceFunction::NormGv,
                               ww::ConfidenceFunction::NormGvXai});
    parameters.alpha = data.PickValueInArray({0.0, 0.3});
    parameters.reading = data.PickValueInArray({ww::ReadingRule::Paper, ww::ReadingRule::WordsSum});
    for (ww::SummaryOperator& operation : parameters.summary) {
        operation = data.PickValueInArray(
            {ww::SummaryOperator::Sum, ww::SummaryOperator::Max, ww::SummaryOperator::Mean});
    }
    parameters.paragraphs =
        data.PickValueInArray({ww::Paragraphs::Lines, ww::Paragraphs::BlankLines});
    // One number for many choices, so that inputs that were kept mean what they meant.
    const auto choices = data.ConsumeIntegral<std::uint8_t>();
    const auto choice = choices % 16;
    parameters.tokenization =
        choices % 32 < 16 ? ww::Tokenization::Unicode : ww::Tokenization::Pyss3;
    if (choice % 8 == 0) parameters.prune_period = 20;
    parameters.counting =
        choice % 8 < 4 && choice != 0 ? ww::Counting::Documents : ww::Counting::Occurrences;
    parameters.prune_floor = data.ConsumeIntegralInRange(0u, 3u);
    parameters.prune_shortest = data.ConsumeIntegralInRange(1u, 3u);
    if (choices >= 0xC0) return default_parameters();
    if (choices >= 0xA0) {
        parameters.significance_function = ww::SignificanceFunction::Ratio;
        parameters.ngram_scale = ww::NgramScale::Label;
        parameters.label_weight = 0.2;
    }
    return parameters;
}

inline void learn(ww::Model& model, const std::vector<Document>& documents, unsigned threads) {
    std::vector<ww::TextView> texts;
    std::vector<ww::Label> labels;
    for (const auto& [text, label] : documents) {
        texts.push_back(view_of(text));
        labels.push_back(label);
    }
    model.learn(texts, labels, threads);
}

// Fits corrections to documents whose labels the model has learnt.
inline void refine(ww::Model& model, const std::vector<Document>& documents) {
    const std::vector<ww::Label> labels = model.labels();
    std::vector<ww::TextView> texts;
    ww::Model::TextPositions positions;
    for (const auto& [text, label] : documents) {
        const auto found = std::find(labels.begin(), labels.end(), label);
        if (found == labels.end()) continue;
        texts.push_back(view_of(text));
        positions.push_back({static_cast<ww::LabelPosition>(found - labels.begin())});
    }
    ww::Model::Folds folds;
    for (std::size_t at = 0; at < texts.size(); ++at) {
        folds.of_text.push_back(at % 2);
        if (at % 2 == 0) folds.scored.push_back(at);
    }
    const auto refiner = model.refiner(texts, positions, folds, {.5, 1, 1, .05, false, 0}, 1);
    refiner->begin(0);
    refiner->run_pass();
    for (const double score : refiner->held_out_scores()) REQUIRE(std::isfinite(score));
    refiner->begin(ww::Refiner::kNoFold);
    refiner->run_pass();
    REQUIRE(model.adopt(*refiner, 1, .5));
}

inline std::vector<Document> documents_from(Data& data, unsigned most) {
    std::vector<Document> documents;
    for (unsigned left = data.ConsumeIntegralInRange(0u, most); left > 0; --left) {
        std::string text = text_from(data);
        documents.emplace_back(std::move(text), label_of(data.ConsumeIntegral<std::uint8_t>()));
    }
    return documents;
}

// Asks a model for everything it can tell.
inline void inspect(const ww::Model& model, const std::string& text, ww::TextRules rules) {
    if (model.labels().empty()) return;
    const ww::ConfidenceTable table = model.confidence({view_of(text)}, 1);
    const ww::Explained explained = model.explain(terms_of(text, rules, true));
    REQUIRE(table.values == explained.document);
    const bool refined = model.fit().has_value();
    for (const double value : table.values) {
        REQUIRE((refined || value >= 0) && std::isfinite(value));
    }
    for (const ww::Label& label : model.labels()) {
        for (const ww::RankedNgram& ranked : model.top_ngrams(label, 5, std::nullopt)) {
            REQUIRE(ranked.count > 0 && ranked.value > 0 && !ranked.words.empty());
        }
    }
    const ww::Survey survey = model.survey(5);
    for (std::size_t cell = 0; cell < survey.best.size(); ++cell) {
        const auto own = survey.bins.begin() + static_cast<std::ptrdiff_t>(cell * survey.kBins);
        const auto valued = std::accumulate(own, own + survey.kBins, std::uint64_t{0});
        REQUIRE(survey.best[cell].size() == std::min<std::uint64_t>(valued, 5));
    }
    model.next_words({"a"}, std::nullopt);
    model.stop_words(0.5);
    model.value({"a", "b"});
    model.totals();
    model.ngrams_by_length();
}

template <class T>
T number_from(Data& data, T near) {
    const auto step = data.ConsumeIntegralInRange<int>(-3, 3);
    switch (data.ConsumeIntegralInRange(0, 3)) {
        case 0: return static_cast<T>(data.ConsumeIntegral<std::uint64_t>());
        case 1:
            return static_cast<T>(
                data.PickValueInArray<std::uint64_t>({0, 1, 0x7FFFFFF0, 0xFFFFFFFF, ww::kMaxCount,
                                                      ww::kMaxCount + 1, ww::kMaxOfAll, ~0ull}));
        default: return static_cast<T>(near + static_cast<T>(step));
    }
}

template <class T>
void damage(Data& data, std::vector<T>& values) {
    const auto at = data.ConsumeIntegralInRange<std::size_t>(0, values.size());
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(at);
    if (at == values.size()) {
        values.push_back(number_from<T>(data, values.empty() ? T{} : values.back()));
        return;
    }
    switch (data.ConsumeIntegralInRange(0, 4)) {
        case 0: values.erase(place); break;
        case 1: values.insert(place, *place); break;
        case 2: values.resize(at); break;
        default: *place = number_from<T>(data, *place);
    }
}

inline void damage(Data& data, ww::Snapshot& snapshot) {
    const auto damage_level = [&](std::size_t at) {
        ww::SnapshotLevel& level = snapshot.levels[at];
        // Single words need no last words and the longest n-grams have no children: a file has no
        // place for those arrays.
        const bool longest = at + 1 == snapshot.levels.size();
        switch (data.ConsumeIntegralInRange(0, 4)) {
            case 0:
                if (at > 0) damage(data, level.words);
                break;
            case 1:
                if (!longest) damage(data, level.children);
                break;
            case 2: damage(data, level.rows); break;
            case 3: damage(data, level.labels); break;
            default:
                if (snapshot.fit && data.ConsumeBool()) {
                    damage(data, level.weights);
                } else {
                    damage(data, level.counts);
                }
        }
    };
    switch (data.ConsumeIntegralInRange(0, 8)) {
        case 0: damage(data, snapshot.word_bytes); break;
        case 1: damage(data, snapshot.word_offsets); break;
        case 2: damage(data, snapshot.maxima); break;
        case 3:
            if (snapshot.totals.empty()) break;
            snapshot.totals.back().words = number_from(data, snapshot.totals.back().words);
            snapshot.totals.front().documents =
                number_from(data, snapshot.totals.front().documents);
            break;
        case 4:
            if (data.ConsumeBool())
                snapshot.labels.push_back(label_of(data.ConsumeIntegral<std::uint8_t>()));
            else if (!snapshot.labels.empty())
                snapshot.labels.pop_back();
            if (data.ConsumeBool()) snapshot.totals.resize(snapshot.labels.size());
            break;
        case 5:
            snapshot.was_pruned = data.ConsumeBool();
            snapshot.pruned.ngrams = number_from(data, snapshot.pruned.ngrams);
            snapshot.pruned.counts = number_from(data, snapshot.pruned.counts);
            break;
        default:
            damage_level(data.ConsumeIntegralInRange<std::size_t>(0, snapshot.levels.size() - 1));
    }
}

// Maxima and totals that fit the counts, so that damage to counts is not always found by them.
inline void repair_sums(ww::Snapshot& snapshot) {
    const std::size_t labels = snapshot.labels.size();
    snapshot.maxima.assign(snapshot.levels.size() * labels, 0);
    snapshot.totals.assign(labels, {3, 0});
    for (std::size_t length = 0; length < snapshot.levels.size(); ++length) {
        const ww::SnapshotLevel& level = snapshot.levels[length];
        for (std::size_t at = 0; at < std::min(level.labels.size(), level.counts.size()); ++at) {
            if (level.labels[at] >= labels) continue;
            std::uint64_t& maximum = snapshot.maxima[length * labels + level.labels[at]];
            maximum = std::max(maximum, level.counts[at]);
            if (length == 0) snapshot.totals[level.labels[at]].words += level.counts[at];
        }
    }
}
