// What the binding files share: argument and result types, arrays without copies, and the one way
// to release the GIL. Only files in this folder include nanobind; each binds one subject.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/model.h"

namespace watchword::bindings {

namespace nb = nanobind;
using namespace nb::literals;

void bind_parameters(nb::module_& m);
void bind_text(nb::module_& m);
void bind_trails(nb::module_& m);
void bind_model(nb::module_& m);
void bind_rows(nb::module_& m);
void bind_streams(nb::module_& m);

template <class T>
using Matrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;
template <class T>
using Vector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using VectorIn = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Texts = nb::typed<nb::list, nb::str>;
using Named = nb::typed<nb::dict, nb::str, nb::any>;  // arrays and tables by name
using Labels = std::vector<Label>;
using Confidences = nb::typed<nb::tuple, Labels, Matrix<double>>;

// Lets other Python threads run while it exists. Before 3.14, Python ends a daemon thread that asks
// for the GIL after the interpreter's end by unwinding its stack, which no function of nanobind
// survives. Such a thread sleeps instead until the process ends, as it does from 3.14 on.
class ReleasedGil {
   public:
    ReleasedGil() : state_(PyEval_SaveThread()) {}
    ~ReleasedGil();
    ReleasedGil(const ReleasedGil&) = delete;
    ReleasedGil& operator=(const ReleasedGil&) = delete;

   private:
    PyThreadState* state_;
};

// Returns what `compute` returns. Bound member functions whose arguments and results need no
// conversion by hand use nb::call_guard<ReleasedGil>() instead.
template <class Compute>
auto without_gil(const Compute& compute) {
    const ReleasedGil released;
    return compute();
}

// Arrays own what the core computed: nothing is copied.
template <class T>
nb::capsule owner_of(std::unique_ptr<std::vector<T>> values) {
    return nb::capsule(values.release(), [](void* data) noexcept {
        const std::unique_ptr<std::vector<T>> gone(static_cast<std::vector<T>*>(data));
    });
}

template <class T>
Vector<T> to_vector(std::vector<T>&& values) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    T* data = kept->data();
    const std::size_t size = kept->size();
    return Vector<T>(data, {size}, owner_of(std::move(kept)));
}

template <class T>
Matrix<T> to_matrix(std::vector<T>&& values, std::size_t columns, std::size_t rows) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    T* data = kept->data();
    return Matrix<T>(data, {rows, columns}, owner_of(std::move(kept)));
}

template <class T>
std::span<const T> span_of(const VectorIn<T>& values) {
    return {values.data(), values.shape(0)};
}

// The list keeps the strings alive while the core reads them without the GIL.
std::vector<TextView> views_of(const Texts& texts);
TextView view_of(nb::handle text);

// The confidences of one text. Their memory is kept by the thread for the next one.
class OneReading {
   public:
    OneReading(const Model& model, nb::handle text);
    OneReading(const OneReading&) = delete;
    OneReading& operator=(const OneReading&) = delete;
    ~OneReading();

    ConfidenceTable table;
};

// The totals of a fit as a dict, or None, and back.
std::optional<Named> fit_dict(const std::optional<FitTotals>& fit);
std::optional<FitTotals> fit_from(const nb::object& dict);
void bind_refining(nb::module_& m, nb::class_<Model>& model);
void bind_reading(nb::module_& m, nb::class_<Model>& model);

Confidences confidence_tuple(ConfidenceTable&& table);

}  // namespace watchword::bindings
