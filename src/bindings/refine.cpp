// Corrections of a model: fitting, asking and explaining.
#include "core/refine.h"

#include "bindings.h"

namespace watchword::bindings {
namespace {

RefineSettings settings_from(const Named& dict) {
    const auto number = [&dict](const char* name) { return nb::cast<double>(dict[name]); };
    return {number("decay"),
            number("strength"),
            number("cost"),
            number("bias"),
            nb::cast<bool>(dict["balanced"]),
            nb::cast<std::uint64_t>(dict["seed"])};
}

Model::Folds folds_from(const std::vector<std::size_t>& folds,
                        const std::vector<std::size_t>& scored, std::size_t texts) {
    if (!folds.empty() && folds.size() != texts) throw nb::value_error("one fold per text");
    for (const std::size_t text : scored) {
        if (text >= texts) throw nb::index_error("no such text");
    }
    return {folds, scored};
}

}  // namespace

std::optional<Named> fit_dict(const std::optional<FitTotals>& fit) {
    if (!fit) return std::nullopt;
    nb::dict out;
    out["decay"] = fit->decay;
    out["strength"] = fit->strength;
    out["cost"] = fit->cost;
    out["bias"] = fit->bias;
    out["margins"] = fit->margins;
    out["temperature"] = fit->temperature;
    out["texts"] = fit->texts;
    out["documents"] = fit->documents;
    out["learnt"] = fit->learnt;
    out["unlearnt"] = fit->unlearnt;
    out["biases"] = fit->biases;
    return Named(out);
}

std::optional<FitTotals> fit_from(const nb::object& object) {
    if (object.is_none()) return std::nullopt;
    const auto dict = nb::cast<nb::dict>(object);
    FitTotals fit;
    fit.decay = nb::cast<double>(dict["decay"]);
    fit.strength = nb::cast<double>(dict["strength"]);
    fit.cost = nb::cast<double>(dict["cost"]);
    fit.bias = nb::cast<double>(dict["bias"]);
    fit.margins = nb::cast<double>(dict["margins"]);
    fit.temperature = nb::cast<double>(dict["temperature"]);
    fit.texts = nb::cast<Count>(dict["texts"]);
    fit.documents = nb::cast<Count>(dict["documents"]);
    fit.learnt = nb::cast<Count>(dict["learnt"]);
    fit.unlearnt = nb::cast<Count>(dict["unlearnt"]);
    fit.biases = nb::cast<std::vector<double>>(dict["biases"]);
    return fit;
}

void bind_refining(nb::module_& m, nb::class_<Model>& model) {
    nb::class_<Refiner>(m, "Refiner")
        .def(
            "begin",
            [](Refiner& self, std::optional<std::size_t> left_out) {
                without_gil([&] { self.begin(left_out.value_or(Refiner::kNoFold)); });
            },
            "left_out"_a.none())
        .def("run_pass", &Refiner::run_pass, nb::call_guard<ReleasedGil>())
        .def("held_out_scores",
             [](Refiner& self) {
                 const std::size_t labels = self.counts().labels().size();
                 auto scores = without_gil([&] { return self.held_out_scores(); });
                 const std::size_t rows = labels == 0 ? 0 : scores.size() / labels;
                 return to_matrix(std::move(scores), labels, rows);
             })
        .def("leanings", &Refiner::leanings)
        .def("texts", &Refiner::texts);
    model
        .def(
            "refiner",
            [](const Model& self, const Texts& texts, const Model::TextPositions& labels,
               const std::vector<std::size_t>& folds, const std::vector<std::size_t>& scored,
               const Named& settings, unsigned threads) {
                const std::vector<TextView> views = views_of(texts);
                const RefineSettings given = settings_from(settings);
                return without_gil([&] {
                    return self.refiner(views, labels, folds_from(folds, scored, labels.size()),
                                        given, threads);
                });
            },
            "texts"_a, "labels"_a, "folds"_a, "scored"_a, "settings"_a, "threads"_a)
        .def(
            "refiner_terms",
            [](const Model& self, const TermBatch& batch, const Model::TextPositions& labels,
               const std::vector<std::size_t>& folds, const std::vector<std::size_t>& scored,
               const Named& settings) {
                const RefineSettings given = settings_from(settings);
                return without_gil([&] {
                    return self.refiner(batch, labels, folds_from(folds, scored, labels.size()),
                                        given);
                });
            },
            "batch"_a, "labels"_a, "folds"_a, "scored"_a, "settings"_a)
        .def("adopt", &Model::adopt, "refiner"_a, "temperature"_a, "lean"_a,
             nb::call_guard<ReleasedGil>())
        .def(
            "learn_corrected",
            [](Model& self, const TermBatch& learning, const TermBatch& reading,
               const Labels& labels, const Named& settings) {
                const RefineSettings given = settings_from(settings);
                without_gil([&] { self.learn_corrected(learning, reading, labels, given); });
            },
            "learning"_a, "reading"_a, "labels"_a, "settings"_a)
        .def("drop_corrections", &Model::drop_corrections, nb::call_guard<ReleasedGil>())
        .def("fit", [](const Model& self) {
            const auto fit = without_gil([&] { return self.fit(); });
            return fit_dict(fit);
        });
}

}  // namespace watchword::bindings
