// Documents walked through a model once and valued with many parameters.
#include "core/trails.h"

#include "bindings.h"

namespace watchword::bindings {

void bind_trails(nb::module_& m) {
    nb::class_<Trails>(m, "Trails")
        .def_prop_ro("labels", &Trails::labels)
        .def_prop_ro("rows", &Trails::rows)
        .def(
            "confidence",
            [](const Trails& self, const Parameters& parameters) {
                return confidence_tuple(without_gil([&] {
                    return ConfidenceTable{self.labels(), self.documents(),
                                           self.confidence(parameters)};
                }));
            },
            "parameters"_a);
}

}  // namespace watchword::bindings
