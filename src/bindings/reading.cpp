// Reading single texts, without arrays in between, and what confidences say.
#include <algorithm>

#include "bindings.h"
#include "core/evidence.h"

namespace watchword::bindings {

namespace {

using ValueDict = nb::typed<nb::dict, Label, double>;
using MatrixIn = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

ValueDict value_dict(const ConfidenceTable& table) {
    nb::dict out;
    for (std::size_t at = 0; at < table.labels.size(); ++at) {
        out[nb::cast(table.labels[at])] = table.values[at];
    }
    return out;
}

// None without evidence.
std::optional<Label> predict(const Model& model, const nb::str& text) {
    const OneReading reading(model, text);
    const std::vector<double>& values = reading.table.values;
    if (std::all_of(values.begin(), values.end(), [](double value) { return value == 0; })) {
        return std::nullopt;
    }
    const auto best = std::max_element(values.begin(), values.end()) - values.begin();
    return reading.table.labels[static_cast<std::size_t>(best)];
}

ValueDict confidence_one(const Model& model, const nb::str& text) {
    return value_dict(OneReading(model, text).table);
}

ValueDict probability_one(const Model& model, const nb::str& text) {
    OneReading reading(model, text);
    ConfidenceTable& table = reading.table;
    if (table.temperature) {
        to_softmax(table.values, *table.temperature);
    } else {
        to_shares(table.values);
    }
    return value_dict(table);
}

template <class Change>
Matrix<double> changed_rows(const MatrixIn& values, const Change& change) {
    const std::size_t rows = values.shape(0), columns = values.shape(1);
    std::vector<double> changed(values.data(), values.data() + rows * columns);
    without_gil([&] {
        for (std::size_t row = 0; row < rows; ++row) {
            change(std::span<double>(changed.data() + row * columns, columns));
        }
    });
    return to_matrix(std::move(changed), columns, rows);
}

thread_local ConfidenceTable kept_table;

}  // namespace

OneReading::OneReading(const Model& model, nb::handle text) : table(std::exchange(kept_table, {})) {
    const TextView view = view_of(text);
    without_gil([&] { model.confidence(view, table); });
}

OneReading::~OneReading() { kept_table = std::move(table); }

void bind_reading(nb::module_& m, nb::class_<Model>& model) {
    model.def("predict", &predict, "text"_a)
        .def("confidence_one", &confidence_one, "text"_a)
        .def("probability_one", &probability_one, "text"_a);
    m.def(
        "softmax",
        [](const MatrixIn& scores, double temperature) {
            return changed_rows(scores,
                                [=](std::span<double> row) { to_softmax(row, temperature); });
        },
        "scores"_a, "temperature"_a);
    m.def(
        "shares",
        [](const MatrixIn& values) {
            return changed_rows(values, [](std::span<double> row) { to_shares(row); });
        },
        "values"_a);
}

}  // namespace watchword::bindings
