// Counts on their way out of a process, and into a model file.
#include "core/rows.h"

#include "bindings.h"
#include "core/assemble.h"
#include "core/level.h"

namespace watchword::bindings {

namespace {

Named rows_dict(CountRows&& rows) {
    nb::dict out;
    out["labels"] = to_vector(std::move(rows.labels));
    out["keys"] = to_vector(std::move(rows.keys));
    out["offsets"] = to_vector(std::move(rows.offsets));
    out["counts"] = to_vector(std::move(rows.counts));
    return out;
}

Named parts_dict(ArrayParts&& parts) {
    nb::dict out;
    out["word_bytes"] = to_vector(std::move(parts.word_bytes));
    out["word_offsets"] = to_vector(std::move(parts.word_offsets));
    out["words"] = to_vector(std::move(parts.words));
    out["children"] = to_vector(std::move(parts.children));
    out["rows"] = to_vector(std::move(parts.rows));
    out["labels"] = to_vector(std::move(parts.labels));
    out["counts"] = to_vector(std::move(parts.counts));
    out["ranks"] = to_vector(std::move(parts.ranks));
    return out;
}

void bind_counters(nb::module_& m) {
    nb::class_<CountDrain>(m, "CountDrain")
        .def(
            "next",
            [](CountDrain& self, std::size_t most) {
                return rows_dict(without_gil([&] { return self.next(most); }));
            },
            "most"_a);
    nb::class_<LevelCounter>(m, "LevelCounter")
        .def(
            "__init__",
            [](LevelCounter* self, const Model& kept, unsigned length) {
                new (self) LevelCounter(kept.counts(), length);
            },
            "kept"_a, "length"_a)
        .def(
            "add",
            [](LevelCounter& self, const TermBatch& batch, const Labels& labels) {
                if (labels.size() != batch.documents()) throw nb::value_error("a label per text");
                without_gil([&] { self.add(batch, labels); });
            },
            "batch"_a, "labels"_a)
        .def("size", &LevelCounter::size)
        .def(
            "take",
            [](LevelCounter& self, std::size_t most) {
                return rows_dict(without_gil([&] { return self.take(most); }));
            },
            "most"_a);
}

}  // namespace

void bind_rows(nb::module_& m) {
    bind_counters(m);
    using Ranks = VectorIn<std::uint32_t>;
    nb::class_<Assembler>(m, "Assembler")
        .def(nb::init<unsigned, std::size_t>(), "max_ngram"_a, "labels"_a)
        .def(
            "add",
            [](Assembler& self, const VectorIn<std::uint8_t>& keys,
               const VectorIn<std::int32_t>& offsets, const VectorIn<std::int32_t>& labels,
               const VectorIn<std::int64_t>& counts, const Ranks& above) {
                const std::size_t rows = counts.shape(0);
                if (offsets.shape(0) != rows + 1 || labels.shape(0) != rows) {
                    throw nb::value_error("columns differ in length");
                }
                return parts_dict(without_gil([&] {
                    return self.add(
                        {span_of(keys), span_of(offsets), span_of(labels), span_of(counts)},
                        span_of(above));
                }));
            },
            "keys"_a, "offsets"_a, "labels"_a, "counts"_a, "above"_a)
        .def(
            "end_length",
            [](Assembler& self, const Ranks& above) {
                return parts_dict(without_gil([&] { return self.end_length(span_of(above)); }));
            },
            "above"_a)
        .def("length", &Assembler::length)
        .def("ngrams", &Assembler::ngrams)
        .def("maxima", [](const Assembler& self) { return to_vector(std::vector(self.maxima())); });
}

}  // namespace watchword::bindings
