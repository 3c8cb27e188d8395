// Texts as Python and Arrow hold them, and the terms they are made of.
#include "bindings.h"
#include "core/utf8.h"

namespace watchword::bindings {

namespace {

// (start, end, word or None) of each term of one text.
using TermTuple = std::tuple<std::uint32_t, std::uint32_t, std::optional<std::string>>;
using PlainTerm = nb::typed<nb::tuple, std::uint32_t, std::uint32_t, std::optional<nb::str>>;
using Tree = nb::typed<nb::list, nb::typed<nb::list, nb::typed<nb::list, PlainTerm>>>;

TermBatch read_views(const std::vector<TextView>& views, TextRules rules, Purpose purpose,
                     bool with_spans) {
    TermBatch batch;
    TextReader reader(rules, purpose, with_spans);
    for (const TextView& view : views) reader.read(view, batch);
    return batch;
}

TermBatch read_terms(const Texts& texts, TextRules rules, Purpose purpose, bool with_spans) {
    const std::vector<TextView> views = views_of(texts);
    return without_gil([&] { return read_views(views, rules, purpose, with_spans); });
}

TermBatch read_utf8(const VectorIn<std::uint8_t>& data, const VectorIn<std::int32_t>& offsets,
                    TextRules rules, Purpose purpose) {
    return without_gil([&] {
        const Utf8Texts texts(span_of(data), span_of(offsets));
        return read_views(texts.views(), rules, purpose, false);
    });
}

TermBatch foreign_terms(const Texts& texts, const std::vector<std::vector<TermTuple>>& terms,
                        TextRules rules, Purpose purpose, bool with_spans) {
    const std::vector<TextView> views = views_of(texts);
    TermBatch batch;
    TextReader reader(rules, purpose, with_spans);
    for (std::size_t at = 0; at < views.size(); ++at) {
        std::vector<ForeignTerm> own;
        for (const auto& [start, end, word] : terms[at]) own.push_back({{start, end}, word});
        reader.read_foreign(views[at], own, batch);
    }
    return batch;
}

// Paragraphs of sentences of terms.
Tree term_tree(const TermBatch& batch) {
    batch.check_usable();
    if (batch.spans.size() != batch.symbols.size()) {
        throw std::invalid_argument("the terms were read without spans");
    }
    nb::list paragraphs, sentences, terms;
    const auto close = [](nb::list& inner, nb::list& outer) {
        if (inner.size() > 0) outer.append(inner);
        inner = nb::list();
    };
    for (std::size_t at = 0; at < batch.symbols.size(); ++at) {
        const Symbol symbol = batch.symbols[at];
        if (symbol == kSentenceEnd || symbol == kParagraphEnd) {
            close(terms, sentences);
            if (symbol == kParagraphEnd) close(sentences, paragraphs);
            continue;
        }
        const Span span = batch.spans[at];
        nb::object word = nb::none();
        if (is_word(symbol)) {
            const std::string_view bytes = batch.words.word(symbol);
            word = nb::str(bytes.data(), bytes.size());
        }
        terms.append(nb::make_tuple(span.start, span.end, word));
    }
    return paragraphs;
}

Texts words_of(const TermBatch& batch) {
    nb::list words;
    for (WordId id = 0; id < batch.words.id_limit(); ++id) {
        const std::string_view word = batch.words.word(id);
        words.append(nb::str(word.data(), word.size()));
    }
    return words;
}

}  // namespace

TextView view_of(nb::handle text) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("text must be str");
    return {PyUnicode_DATA(text.ptr()), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr())),
            static_cast<unsigned>(PyUnicode_KIND(text.ptr()))};
}

std::vector<TextView> views_of(const Texts& texts) {
    std::vector<TextView> views;
    views.reserve(texts.size());
    for (const nb::handle text : texts) views.push_back(view_of(text));
    return views;
}

void bind_text(nb::module_& m) {
    nb::enum_<Paragraphs>(m, "Paragraphs")
        .value("lines", Paragraphs::Lines)
        .value("blank_lines", Paragraphs::BlankLines);
    nb::enum_<Tokenization>(m, "Tokenization")
        .value("unicode", Tokenization::Unicode)
        .value("pyss3", Tokenization::Pyss3);
    nb::enum_<Purpose>(m, "Purpose")
        .value("learning", Purpose::Learning)
        .value("reading", Purpose::Reading);
    nb::class_<TextRules>(m, "TextRules")
        .def(nb::init<Paragraphs, Tokenization>(), "paragraphs"_a, "tokenization"_a)
        .def_ro("paragraphs", &TextRules::paragraphs)
        .def_ro("tokenization", &TextRules::tokenization);
    nb::class_<TermBatch>(m, "TermBatch")
        .def_prop_ro("words", &words_of)
        .def_prop_ro(
            "symbols",
            [](const TermBatch& batch) {
                batch.check_usable();
                return to_vector(std::vector(batch.symbols));
            },
            nb::rv_policy::move)  // the array has its owner: the batch need not live
        .def_rw("counted", &TermBatch::counted)
        .def_rw("longest", &TermBatch::longest)
        .def("rewrite", &TermBatch::rewrite, "replacement"_a)
        .def("part", &TermBatch::part, "documents"_a)
        .def("tree", &term_tree);
    m.def("read_terms", &read_terms, "texts"_a, "rules"_a, "purpose"_a, "with_spans"_a);
    m.def("read_utf8", &read_utf8, "data"_a, "offsets"_a, "rules"_a, "purpose"_a);
    m.def("foreign_terms", &foreign_terms, "texts"_a, "terms"_a, "rules"_a, "purpose"_a,
          "with_spans"_a);
}

}  // namespace watchword::bindings
