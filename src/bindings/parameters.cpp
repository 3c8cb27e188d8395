// Parameters of a model. Their names are those of watchword.model.parameters.Parameters.
#include "bindings.h"

namespace watchword::bindings {

void bind_parameters(nb::module_& m) {
    nb::enum_<SignificanceFunction>(m, "SignificanceFunction")
        .value("vanilla", SignificanceFunction::Vanilla)
        .value("xai", SignificanceFunction::Xai)
        .value("ratio", SignificanceFunction::Ratio);
    nb::enum_<ConfidenceFunction>(m, "ConfidenceFunction")
        .value("gv", ConfidenceFunction::Gv)
        .value("norm_gv", ConfidenceFunction::NormGv)
        .value("norm_gv_xai", ConfidenceFunction::NormGvXai);
    nb::enum_<Counting>(m, "Counting")
        .value("occurrences", Counting::Occurrences)
        .value("documents", Counting::Documents);
    nb::enum_<ReadingRule>(m, "ReadingRule")
        .value("paper", ReadingRule::Paper)
        .value("words_sum", ReadingRule::WordsSum);
    nb::enum_<NgramScale>(m, "NgramScale")
        .value("length", NgramScale::Length)
        .value("words", NgramScale::Words)
        .value("label", NgramScale::Label);
    nb::enum_<SummaryOperator>(m, "SummaryOperator")
        .value("sum", SummaryOperator::Sum)
        .value("max", SummaryOperator::Max)
        .value("mean", SummaryOperator::Mean);

    nb::class_<Parameters>(m, "Parameters")
        .def(nb::init<>())
        .def_rw("smoothness", &Parameters::smoothness)
        .def_rw("significance", &Parameters::significance)
        .def_rw("sanction", &Parameters::sanction)
        .def_rw("min_count", &Parameters::min_count)
        .def_rw("prior", &Parameters::prior)
        .def_rw("label_weight", &Parameters::label_weight)
        .def_rw("ngram_scale", &Parameters::ngram_scale)
        .def_rw("significance_function", &Parameters::significance_function)
        .def_rw("confidence_function", &Parameters::confidence_function)
        .def_rw("max_ngram", &Parameters::max_ngram)
        .def_rw("counting", &Parameters::counting)
        .def_rw("alpha", &Parameters::alpha)
        .def_rw("reading", &Parameters::reading)
        .def_rw("summary", &Parameters::summary)
        .def_rw("paragraphs", &Parameters::paragraphs)
        .def_rw("tokenization", &Parameters::tokenization)
        .def_rw("prune_period", &Parameters::prune_period, nb::for_setter("value"_a.none()))
        .def_rw("prune_floor", &Parameters::prune_floor)
        .def_rw("prune_shortest", &Parameters::prune_shortest);
}

}  // namespace watchword::bindings
