// The fuzz target of models that stay in their file (libFuzzer, with the sanitizers): any arrays,
// as a file would have them whose checksums are right. Every question is answered or refused with a
// MappedFailure, and all values are finite; arrays that pass as a whole can be loaded, and give the
// same values then.
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "core/rows.h"
#include "core/trails.h"
#include "fuzz.h"

namespace {

// Arrays in memory of exactly their size, so that reading past the end is noticed.
class File {
   public:
    File(Data& data, const ww::Snapshot& snapshot) {
        arrays_.source = "file";
        arrays_.word_bytes = stored(data, snapshot.word_bytes, 1);
        arrays_.word_offsets = stored(data, snapshot.word_offsets, 8);
        for (std::size_t at = 0; at < snapshot.levels.size(); ++at) {
            const ww::SnapshotLevel& level = snapshot.levels[at];
            arrays_.levels.push_back({stored(data, level.words, 4), stored(data, level.children, 8),
                                      stored(data, level.rows, 8), stored(data, level.labels, 4),
                                      stored(data, level.counts, 8),
                                      stored(data, level.weights, 4)});
        }
    }
    const ww::MappedArrays& arrays() const { return arrays_; }

   private:
    // Numbers of any width up to the widest that the format has for this array.
    template <class T>
    ww::Numbers stored(Data& data, const std::vector<T>& values, unsigned widest) {
        unsigned width = widest;
        while (width > 1 && data.ConsumeBool()) width /= 2;
        auto& memory = memory_.emplace_back(new std::uint8_t[values.size() * width]);
        for (std::size_t at = 0; at < values.size(); ++at) {
            const auto value = static_cast<std::uint64_t>(values[at]);
            std::memcpy(memory.get() + at * width, &value, width);
        }
        return {memory.get(), values.size(), width};
    }

    std::deque<std::unique_ptr<std::uint8_t[]>> memory_;
    ww::MappedArrays arrays_;
};

// True if it was answered.
bool ask(const std::function<void()>& question) {
    try {
        question();
        return true;
    } catch (const ww::MappedFailure&) {
        return false;
    }
}

void require_finite(const std::vector<double>& values) {
    for (const double value : values) REQUIRE(std::isfinite(value) && value >= 0);
}

void require_numbers(const std::vector<double>& values) {
    for (const double value : values) REQUIRE(std::isfinite(value));
}

void ask_all(const ww::Model& model, const std::string& text, const ww::Parameters& parameters) {
    using ww::ConfidenceFunction;
    ask([&] { require_numbers(model.confidence({view_of(text)}, 1).values); });
    ask([&] {
        require_numbers(model.explain(terms_of(text, parameters.text_rules(), true)).document);
    });
    ask([&] { model.survey(5); });
    ask([&] { model.stop_words(0.5); });
    ask([&] { model.next_words({"a"}, std::nullopt); });
    ask([&] { model.next_words({"a", "b"}, std::nullopt); });
    ask([&] { require_finite(model.value({"a", "b"}).cv); });
    ask([&] { require_finite(model.value({"c"}).cv); });
    model.totals();
    model.ngrams_by_length();
    for (const ww::Label& label : model.labels()) {
        ask([&] { model.top_ngrams(label, 5, std::nullopt); });
        ask([&] { model.next_words({"a"}, label); });
    }
    ask([&] {
        ww::CountDrain drain(model.counts(), parameters.max_ngram);
        while (drain.next(7).size() > 0) {
        }
    });
    ask([&] {
        const ConfidenceFunction function = parameters.confidence_function;
        const auto trails = model.trails(terms_of(text, parameters.text_rules(), false),
                                         function != ConfidenceFunction::Gv,
                                         function == ConfidenceFunction::NormGvXai);
        require_finite(trails->confidence(parameters));
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    Data data(bytes, size);
    ww::Parameters parameters = parameters_from(data);
    parameters.prune_period.reset();
    if (data.ConsumeBool()) parameters.ngram_scale = ww::NgramScale::Label;
    ww::Model original(parameters);
    const std::vector<Document> documents = documents_from(data, 5);
    learn(original, documents, 1);
    if (parameters.summary == ww::SummaryOperators{} && data.ConsumeBool()) {
        refine(original, documents);
    }
    ww::Snapshot snapshot = original.snapshot();
    for (unsigned left = data.ConsumeIntegralInRange(0u, 6u); left > 0; --left) {
        damage(data, snapshot);
    }
    if (data.ConsumeBool()) repair_sums(snapshot);
    const File file(data, snapshot);
    std::optional<ww::Model> model;
    try {
        model.emplace(parameters, snapshot, file.arrays());
    } catch (const ww::SnapshotFailure&) {
        return 0;
    } catch (const ww::MappedFailure&) {
        return 0;
    }
    if (model->labels().empty()) return 0;
    const std::string text = text_from(data);
    ask_all(*model, text, parameters);
    ww::Parameters shorter = parameters;
    shorter.max_ngram = data.ConsumeIntegralInRange(1u, parameters.max_ngram);
    const ww::Model other(*model, shorter, shorter.max_ngram == parameters.max_ngram);
    ask_all(other, text, shorter);
    ask([&] { ww::Model(shorter, other.snapshot()); });
    ww::Snapshot copy;
    if (!ask([&] { copy = model->snapshot(); })) return 0;
    const ww::Model loaded(parameters, copy);
    REQUIRE(equal(loaded.snapshot(), copy));
    REQUIRE(loaded.confidence({view_of(text)}, 1).values ==
            model->confidence({view_of(text)}, 1).values);
    return 0;
}
