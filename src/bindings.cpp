// The only file that knows Python: converts arguments, releases the interpreter, calls the core.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>

#if defined(__GLIBCXX__) && defined(__unix__)
#include <cxxabi.h>
#include <unistd.h>
#endif

#include "core/assemble.h"
#include "core/decide.h"
#include "core/level.h"
#include "core/model.h"
#include "core/rows.h"
#include "core/unicode.h"
#include "core/utf8.h"

namespace nb = nanobind;
using namespace nb::literals;
namespace ww = watchword;

namespace {

template <class T>
using Matrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;
template <class T>
using Vector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using VectorIn = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Texts = nb::typed<nb::list, nb::str>;
using Named = nb::typed<nb::dict, nb::str, nb::any>;  // parameters, arrays, tables by name
using Labels = std::vector<ww::Label>;
using Confidences = nb::typed<nb::tuple, Labels, Matrix<double>>;
using PlainTerm = nb::typed<nb::tuple, std::uint32_t, std::uint32_t, std::optional<nb::str>>;
using Tree = nb::typed<nb::list, nb::typed<nb::list, nb::typed<nb::list, PlainTerm>>>;

// Lets other Python threads run. Until 3.14 Python ends a daemon thread that asks for the
// interpreter after its end by unwinding the stack, which no function of nanobind survives: such a
// thread sleeps instead until the process ends, as it does from 3.14 on.
class Released {
   public:
    Released() : state_(PyEval_SaveThread()) {}
    ~Released() {
#if defined(__GLIBCXX__) && defined(__unix__)
        try {
            PyEval_RestoreThread(state_);
        } catch (const abi::__forced_unwind&) {
            for (;;) pause();
        }
#else
        PyEval_RestoreThread(state_);
#endif
    }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

   private:
    PyThreadState* state_;
};

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
std::vector<T> from_vector(const VectorIn<T>& values) {
    return {values.data(), values.data() + values.shape(0)};
}

template <class T>
std::span<const T> span_of(const VectorIn<T>& values) {
    return {values.data(), values.shape(0)};
}

ww::TextView view_of(nb::handle text) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("text must be str");
    return {PyUnicode_DATA(text.ptr()), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr())),
            static_cast<unsigned>(PyUnicode_KIND(text.ptr()))};
}

// The list keeps the strings alive while the core reads them without the interpreter.
std::vector<ww::TextView> views_of(const Texts& texts) {
    std::vector<ww::TextView> views;
    views.reserve(texts.size());
    for (const nb::handle text : texts) views.push_back(view_of(text));
    return views;
}

ww::TermBatch read_terms(const Texts& texts, ww::Paragraphs paragraphs, bool with_spans) {
    const std::vector<ww::TextView> views = views_of(texts);
    const Released release;
    ww::TermBatch batch;
    ww::TextReader reader(paragraphs, with_spans);
    for (const ww::TextView& view : views) reader.read(view, batch);
    return batch;
}

// The same of texts as Arrow has them, without their places.
ww::TermBatch read_utf8(const VectorIn<std::uint8_t>& data, const VectorIn<std::int32_t>& offsets,
                        ww::Paragraphs paragraphs) {
    const Released release;
    const ww::Utf8Texts texts(span_of(data), span_of(offsets));
    ww::TermBatch batch;
    ww::TextReader reader(paragraphs, false);
    for (const ww::TextView& view : texts.views()) reader.read(view, batch);
    return batch;
}

// (start, end, word or None) of each term of one text.
using TermTuple = std::tuple<std::uint32_t, std::uint32_t, std::optional<std::string>>;

ww::TermBatch foreign_terms(const Texts& texts, const std::vector<std::vector<TermTuple>>& terms,
                            ww::Paragraphs paragraphs, bool with_spans) {
    const std::vector<ww::TextView> views = views_of(texts);
    ww::TermBatch batch;
    ww::TextReader reader(paragraphs, with_spans);
    for (std::size_t at = 0; at < views.size(); ++at) {
        std::vector<ww::ForeignTerm> own;
        for (const auto& [start, end, word] : terms[at]) own.push_back({{start, end}, word});
        reader.read_foreign(views[at], own, batch);
    }
    return batch;
}

// Paragraphs of sentences of terms.
Tree term_tree(const ww::TermBatch& batch) {
    nb::list paragraphs, sentences, terms;
    const auto close = [](nb::list& inner, nb::list& outer) {
        if (inner.size() > 0) outer.append(inner);
        inner = nb::list();
    };
    for (std::size_t at = 0; at < batch.symbols.size(); ++at) {
        const ww::Symbol symbol = batch.symbols[at];
        if (symbol == ww::kSentenceEnd || symbol == ww::kParagraphEnd) {
            close(terms, sentences);
            if (symbol == ww::kParagraphEnd) close(sentences, paragraphs);
            continue;
        }
        const ww::Span span = batch.spans[at];
        nb::object word = nb::none();
        if (ww::is_word(symbol)) {
            const std::string_view bytes = batch.words.word(symbol);
            word = nb::str(bytes.data(), bytes.size());
        }
        terms.append(nb::make_tuple(span.start, span.end, word));
    }
    return paragraphs;
}

Texts words_of(const ww::TermBatch& batch) {
    nb::list words;
    for (ww::WordId id = 0; id < batch.words.id_limit(); ++id) {
        const std::string_view word = batch.words.word(id);
        words.append(nb::str(word.data(), word.size()));
    }
    return words;
}

Confidences confidence_tuple(ww::ConfidenceTable&& table) {
    const std::size_t columns = table.labels.size();
    return nb::make_tuple(table.labels,
                          to_matrix(std::move(table.values), columns, table.documents));
}

Named value_dict(ww::ValueTable&& table) {
    const std::size_t columns = table.labels.size();
    const std::size_t rows = columns == 0 ? 0 : table.count.size() / columns;
    nb::dict out;
    out["labels"] = table.labels;
    out["count"] = to_matrix(std::move(table.count), columns, rows);
    out["lv"] = to_matrix(std::move(table.lv), columns, rows);
    out["sg"] = to_matrix(std::move(table.sg), columns, rows);
    out["sn"] = to_matrix(std::move(table.sn), columns, rows);
    out["gv"] = to_matrix(std::move(table.gv), columns, rows);
    out["cv"] = to_matrix(std::move(table.cv), columns, rows);
    return out;
}

Named explained_dict(ww::Explained&& explained) {
    const std::size_t columns = explained.values.labels.size();
    const auto block = [](const ww::Block& from) {
        return nb::make_tuple(from.span.start, from.span.end, from.parent);
    };
    nb::list ngrams, sentences, paragraphs;
    for (std::size_t at = 0; at < explained.reading.ngrams.size(); ++at) {
        const ww::Reading::Ngram& ngram = explained.reading.ngrams[at];
        ngrams.append(nb::make_tuple(ngram.span.start, ngram.span.end, ngram.parent, ngram.words,
                                     explained.distinct[at]));
    }
    for (const ww::Block& from : explained.reading.sentences) sentences.append(block(from));
    for (const ww::Block& from : explained.reading.paragraphs) paragraphs.append(block(from));
    nb::dict out;
    out["ngrams"] = ngrams;
    out["sentences"] = sentences;
    out["paragraphs"] = paragraphs;
    out["sentence_values"] = to_matrix(std::move(explained.reading.sentence_values), columns,
                                       explained.reading.sentences.size());
    out["paragraph_values"] = to_matrix(std::move(explained.reading.paragraph_values), columns,
                                        explained.reading.paragraphs.size());
    out["value"] = to_vector(std::move(explained.document));
    out["values"] = value_dict(std::move(explained.values));
    return out;
}

using RankedList = nb::typed<nb::list, nb::typed<nb::tuple, nb::str, double, ww::Count>>;

RankedList ranked_list(const std::vector<ww::RankedNgram>& ranked) {
    RankedList out;
    for (const ww::RankedNgram& entry : ranked) {
        out.append(nb::make_tuple(entry.words, entry.value, entry.count));
    }
    return out;
}

Named survey_dict(ww::Survey&& survey) {
    nb::dict out;
    nb::list best;
    for (const std::vector<ww::RankedNgram>& ranked : survey.best) best.append(ranked_list(ranked));
    const std::size_t cells = survey.best.size();
    out["labels"] = survey.labels;
    out["width"] = survey.width;
    out["best"] = best;
    out["worthless"] = to_matrix(std::move(survey.worthless), survey.lengths, survey.labels.size());
    out["bins"] = to_matrix(std::move(survey.bins), ww::Survey::kBins, cells);
    return out;
}

Named totals_dict(const ww::Totals& totals) {
    nb::dict out;
    nb::list documents, words;
    for (const ww::LabelTotals& of_label : totals.of_label) {
        documents.append(of_label.documents);
        words.append(of_label.words);
    }
    out["labels"] = totals.labels;
    out["documents"] = documents;
    out["words"] = words;
    out["pruned_ngrams"] = totals.pruned.ngrams;
    out["pruned_counts"] = totals.pruned.counts;
    out["was_pruned"] = totals.was_pruned;
    return out;
}

Named snapshot_dict(ww::Snapshot&& snapshot) {
    nb::dict out;
    nb::list documents, words, levels;
    for (const ww::LabelTotals& total : snapshot.totals) {
        documents.append(total.documents);
        words.append(total.words);
    }
    out["labels"] = snapshot.labels;
    out["documents"] = documents;
    out["words"] = words;
    out["pruned_ngrams"] = snapshot.pruned.ngrams;
    out["pruned_counts"] = snapshot.pruned.counts;
    out["was_pruned"] = snapshot.was_pruned;
    out["words_since_prune"] = snapshot.words_since_prune;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(snapshot.word_bytes.data());
    out["word_bytes"] =
        to_vector(std::vector<std::uint8_t>(bytes, bytes + snapshot.word_bytes.size()));
    out["word_offsets"] = to_vector(std::move(snapshot.word_offsets));
    out["maxima"] = to_vector(std::move(snapshot.maxima));
    for (ww::SnapshotLevel& level : snapshot.levels) {
        nb::dict entry;
        entry["words"] = to_vector(std::move(level.words));
        entry["children"] = to_vector(std::move(level.children));
        entry["rows"] = to_vector(std::move(level.rows));
        entry["labels"] = to_vector(std::move(level.labels));
        entry["counts"] = to_vector(std::move(level.counts));
        levels.append(entry);
    }
    out["levels"] = levels;
    return out;
}

template <class T>
T field(const nb::dict& dict, const char* name) {
    return nb::cast<T>(dict[name]);
}

template <class T>
std::vector<T> array_field(const nb::dict& dict, const char* name) {
    return from_vector<T>(field<VectorIn<T>>(dict, name));
}

// What is known of labels: all of a snapshot but its words and n-grams.
ww::Snapshot totals_from(const nb::dict& dict) {
    ww::Snapshot snapshot;
    snapshot.labels = field<std::vector<ww::Label>>(dict, "labels");
    const auto documents = field<std::vector<ww::Count>>(dict, "documents");
    const auto words = field<std::vector<ww::Count>>(dict, "words");
    if (documents.size() != words.size()) throw ww::SnapshotFailure("labels and totals differ");
    for (std::size_t at = 0; at < words.size(); ++at) {
        snapshot.totals.push_back({documents[at], words[at]});
    }
    snapshot.pruned = {field<ww::Count>(dict, "pruned_ngrams"),
                       field<ww::Count>(dict, "pruned_counts")};
    snapshot.was_pruned = field<bool>(dict, "was_pruned");
    snapshot.words_since_prune = field<ww::Count>(dict, "words_since_prune");
    snapshot.maxima = array_field<std::uint64_t>(dict, "maxima");
    return snapshot;
}

ww::Snapshot snapshot_from(const nb::dict& dict) {
    ww::Snapshot snapshot = totals_from(dict);
    const auto bytes = field<VectorIn<std::uint8_t>>(dict, "word_bytes");
    const char* data = reinterpret_cast<const char*>(bytes.data());
    snapshot.word_bytes.assign(data, data + bytes.shape(0));
    snapshot.word_offsets = array_field<std::uint64_t>(dict, "word_offsets");
    for (const nb::handle entry : field<nb::list>(dict, "levels")) {
        const auto level = nb::cast<nb::dict>(entry);
        snapshot.levels.push_back({array_field<std::uint32_t>(level, "words"),
                                   array_field<std::uint64_t>(level, "children"),
                                   array_field<std::uint64_t>(level, "rows"),
                                   array_field<std::uint32_t>(level, "labels"),
                                   array_field<std::uint64_t>(level, "counts")});
    }
    return snapshot;
}

// The arrays as they lie in a file. They are somebody's memory, which is given back by whichever
// thread lets go of it last.
using Bytes = VectorIn<std::uint8_t>;
using Mapped = std::vector<Bytes>;

ww::Numbers numbers_from(const nb::dict& dict, const char* name, Mapped& kept) {
    const auto [bytes, width] = field<std::pair<Bytes, unsigned>>(dict, name);
    kept.push_back(bytes);
    return {bytes.data(), bytes.shape(0) / width, width};
}

ww::MappedArrays mapped_from(const nb::dict& dict, std::string source) {
    auto kept = std::make_unique<Mapped>();
    ww::MappedArrays arrays;
    arrays.word_bytes = numbers_from(dict, "word_bytes", *kept);
    arrays.word_offsets = numbers_from(dict, "word_offsets", *kept);
    for (const nb::handle entry : field<nb::list>(dict, "levels")) {
        const auto level = nb::cast<nb::dict>(entry);
        arrays.levels.push_back(
            {numbers_from(level, "words", *kept), numbers_from(level, "children", *kept),
             numbers_from(level, "rows", *kept), numbers_from(level, "labels", *kept),
             numbers_from(level, "counts", *kept)});
    }
    arrays.source = std::move(source);
    arrays.memory = std::shared_ptr<const void>(kept.release(), [](const void* memory) {
        if (!Py_IsInitialized()) return;  // the process ends, and its memory with it
        const nb::gil_scoped_acquire acquired;
        delete static_cast<const Mapped*>(memory);
    });
    return arrays;
}

// A damaged file is found out while it is read, and labels of another kind while they are learnt,
// which may be anywhere.
void translate_failures(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const ww::MappedFailure& failure) {
        const nb::object kind = nb::module_::import_("watchword.errors").attr("ModelFormatError");
        PyErr_SetString(kind.ptr(), failure.what());
    } catch (const ww::LimitFailure& failure) {
        const nb::object kind = nb::module_::import_("watchword.errors").attr("ModelLimitError");
        PyErr_SetString(kind.ptr(), failure.what());
    } catch (const ww::LabelTypeFailure& failure) {
        PyErr_SetString(PyExc_TypeError, failure.what());
    }
}

ww::Parameters parameters_from(const nb::dict& dict) {
    ww::Parameters parameters{};
    parameters.value.smoothness = field<double>(dict, "smoothness");
    parameters.value.significance = field<double>(dict, "significance");
    parameters.value.sanction = field<double>(dict, "sanction");
    parameters.value.min_count = field<ww::Count>(dict, "min_count");
    parameters.value.prior = field<double>(dict, "prior");
    parameters.value.ngram_scale = field<ww::NgramScale>(dict, "ngram_scale");
    parameters.value.significance_function =
        field<ww::SignificanceFunction>(dict, "significance_function");
    parameters.value.confidence_function =
        field<ww::ConfidenceFunction>(dict, "confidence_function");
    parameters.max_ngram = field<unsigned>(dict, "max_ngram");
    parameters.counting = field<ww::Counting>(dict, "counting");
    parameters.alpha = field<double>(dict, "alpha");
    parameters.reading = field<ww::ReadingRule>(dict, "reading");
    const auto summary = field<std::vector<ww::SummaryOperator>>(dict, "summary");
    if (summary.size() != parameters.summary.size()) throw nb::value_error("three operators");
    std::copy(summary.begin(), summary.end(), parameters.summary.begin());
    parameters.paragraphs = field<ww::Paragraphs>(dict, "paragraphs");
    parameters.prune_period = field<std::optional<ww::Count>>(dict, "prune_period");
    parameters.prune_floor = field<ww::Count>(dict, "prune_floor");
    parameters.prune_shortest = field<unsigned>(dict, "prune_shortest");
    return parameters;
}

void bind_enums(nb::module_& m) {
    nb::enum_<ww::SignificanceFunction>(m, "SignificanceFunction")
        .value("vanilla", ww::SignificanceFunction::Vanilla)
        .value("xai", ww::SignificanceFunction::Xai)
        .value("ratio", ww::SignificanceFunction::Ratio);
    nb::enum_<ww::ConfidenceFunction>(m, "ConfidenceFunction")
        .value("gv", ww::ConfidenceFunction::Gv)
        .value("norm_gv", ww::ConfidenceFunction::NormGv)
        .value("norm_gv_xai", ww::ConfidenceFunction::NormGvXai);
    nb::enum_<ww::Counting>(m, "Counting")
        .value("occurrences", ww::Counting::Occurrences)
        .value("documents", ww::Counting::Documents);
    nb::enum_<ww::ReadingRule>(m, "ReadingRule")
        .value("paper", ww::ReadingRule::Paper)
        .value("words_sum", ww::ReadingRule::WordsSum);
    nb::enum_<ww::NgramScale>(m, "NgramScale")
        .value("length", ww::NgramScale::Length)
        .value("words", ww::NgramScale::Words)
        .value("label", ww::NgramScale::Label);
    nb::enum_<ww::SummaryOperator>(m, "SummaryOperator")
        .value("sum", ww::SummaryOperator::Sum)
        .value("max", ww::SummaryOperator::Max)
        .value("mean", ww::SummaryOperator::Mean);
    nb::enum_<ww::Paragraphs>(m, "Paragraphs")
        .value("lines", ww::Paragraphs::Lines)
        .value("blank_lines", ww::Paragraphs::BlankLines);
}

Named rows_dict(ww::CountRows&& rows) {
    nb::dict out;
    out["labels"] = to_vector(std::move(rows.labels));
    out["keys"] = to_vector(std::move(rows.keys));
    out["offsets"] = to_vector(std::move(rows.offsets));
    out["counts"] = to_vector(std::move(rows.counts));
    return out;
}

Named parts_dict(ww::ArrayParts&& parts) {
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

// Counts on their way out of a process, and into a file.
void bind_rows(nb::module_& m) {
    nb::class_<ww::CountDrain>(m, "CountDrain")
        .def(
            "next",
            [](ww::CountDrain& self, std::size_t most) {
                ww::CountRows rows;
                {
                    const Released release;
                    rows = self.next(most);
                }
                return rows_dict(std::move(rows));
            },
            "most"_a);

    nb::class_<ww::LevelCounter>(m, "LevelCounter")
        .def(
            "__init__",
            [](ww::LevelCounter* self, const ww::Model& kept, unsigned length) {
                new (self) ww::LevelCounter(kept.counts(), length);
            },
            "kept"_a, "length"_a)
        .def(
            "add",
            [](ww::LevelCounter& self, const ww::TermBatch& batch, const Labels& labels) {
                if (labels.size() != batch.documents()) throw nb::value_error("a label per text");
                const Released release;
                self.add(batch, labels);
            },
            "batch"_a, "labels"_a)
        .def("size", &ww::LevelCounter::size)
        .def(
            "take",
            [](ww::LevelCounter& self, std::size_t most) {
                ww::CountRows rows;
                {
                    const Released release;
                    rows = self.take(most);
                }
                return rows_dict(std::move(rows));
            },
            "most"_a);

    using Ranks = VectorIn<std::uint32_t>;
    nb::class_<ww::Assembler>(m, "Assembler")
        .def(nb::init<unsigned, std::size_t>(), "max_ngram"_a, "labels"_a)
        .def(
            "add",
            [](ww::Assembler& self, const VectorIn<std::uint8_t>& keys,
               const VectorIn<std::int32_t>& offsets, const VectorIn<std::int32_t>& labels,
               const VectorIn<std::int64_t>& counts, const Ranks& above) {
                const std::size_t rows = counts.shape(0);
                if (offsets.shape(0) != rows + 1 || labels.shape(0) != rows) {
                    throw nb::value_error("columns differ in length");
                }
                ww::ArrayParts parts;
                {
                    const Released release;
                    parts = self.add(
                        {span_of(keys), span_of(offsets), span_of(labels), span_of(counts)},
                        span_of(above));
                }
                return parts_dict(std::move(parts));
            },
            "keys"_a, "offsets"_a, "labels"_a, "counts"_a, "above"_a)
        .def(
            "end_length",
            [](ww::Assembler& self, const Ranks& above) {
                ww::ArrayParts parts;
                {
                    const Released release;
                    parts = self.end_length(span_of(above));
                }
                return parts_dict(std::move(parts));
            },
            "above"_a)
        .def("length", &ww::Assembler::length)
        .def("ngrams", &ww::Assembler::ngrams)
        .def("maxima",
             [](const ww::Assembler& self) { return to_vector(std::vector(self.maxima())); });
}

// The equations alone, for whoever wants to check or plot them.
void bind_equations(nb::module_& m) {
    m.def(
        "evaluate",
        [](const std::vector<ww::Count>& counts, const std::vector<double>& units,
           const Named& parameters) {
            const ww::ValueParameters values = parameters_from(parameters).value;
            double sum = 0;
            for (const double unit : units) sum += unit;
            const double share = values.prior / sum;
            ww::ValueRow row;
            for (std::size_t at = 0; at < counts.size(); ++at) {
                if (counts[at] == 0) continue;
                const std::size_t last = row.size();
                row.resize(last + 1);
                row.position[last] = static_cast<ww::LabelPosition>(at);
                row.count[last] = counts[at];
                row.lv[last] = ww::local_value(counts[at], units[at], values);
                row.compared[last] = ww::compared_value(counts[at], units[at], share, values);
            }
            const double absent = values.prior > 0 ? ww::compared_value(0, 1, share, values) : 0;
            ww::evaluate(row, units.size(), absent, values);
            std::vector<std::tuple<double, double, double, double>> out(counts.size());
            for (std::size_t at = 0; at < row.size(); ++at) {
                out[row.position[at]] = {row.lv[at], row.sg[at], row.sn[at], row.gv[at]};
            }
            return out;
        },
        "counts"_a, "units"_a, "parameters"_a);
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "The native core of watchword.";
    m.attr("unicode_version") = nb::str(ww::unicode_version().data());
    m.attr("max_ngram_limit") = ww::kMaxNgramLimit;
    m.attr("max_count") = ww::kMaxCount;
    nb::exception<ww::UnlearnFailure>(m, "UnlearnFailure");
    nb::exception<ww::SnapshotFailure>(m, "SnapshotFailure");
    nb::exception<ww::RowsFailure>(m, "RowsFailure");
    nb::register_exception_translator(&translate_failures);
    nb::set_leak_warnings(false);  // models may live as long as the interpreter
    bind_enums(m);
    bind_equations(m);

    m.def(
        "several",
        [](const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& values) {
            std::vector<std::vector<std::size_t>> columns;
            for (std::size_t row = 0; row < values.shape(0); ++row) {
                const double* begin = values.data() + row * values.shape(1);
                columns.push_back(ww::several({begin, values.shape(1)}));
            }
            return columns;
        },
        "values"_a);

    nb::class_<ww::TermBatch>(m, "TermBatch")
        .def_prop_ro("words", &words_of)
        .def_prop_ro(
            "symbols",
            [](const ww::TermBatch& batch) {
                std::vector<ww::Symbol> copied = batch.symbols;
                return to_vector(std::move(copied));
            },
            nb::rv_policy::move)  // the array has its owner: the batch need not live
        .def("rewrite", &ww::TermBatch::rewrite, "replacement"_a)
        .def("part", &ww::TermBatch::part, "documents"_a)
        .def("tree", &term_tree);
    m.def("read_terms", &read_terms, "texts"_a, "paragraphs"_a, "with_spans"_a);
    m.def("read_utf8", &read_utf8, "data"_a, "offsets"_a, "paragraphs"_a);
    m.def("foreign_terms", &foreign_terms, "texts"_a, "terms"_a, "paragraphs"_a, "with_spans"_a);

    nb::class_<ww::Trails>(m, "Trails")
        .def_prop_ro("labels", &ww::Trails::labels)
        .def_prop_ro("rows", &ww::Trails::rows)
        .def(
            "confidence",
            [](const ww::Trails& self, const Named& parameters) {
                const ww::Parameters settings = parameters_from(parameters);
                ww::ConfidenceTable table{self.labels(), self.documents(), {}};
                {
                    const Released release;
                    table.values = self.confidence(settings);
                }
                return confidence_tuple(std::move(table));
            },
            "parameters"_a);

    nb::class_<ww::Model>(m, "Model")
        .def(
            "__init__",
            [](ww::Model* self, const Named& parameters) {
                new (self) ww::Model(parameters_from(parameters));
            },
            "parameters"_a)
        .def_static(
            "from_snapshot",
            [](const Named& parameters, const Named& arrays) {
                const ww::Parameters settings = parameters_from(parameters);
                const ww::Snapshot snapshot = snapshot_from(arrays);
                const Released release;
                return std::make_unique<ww::Model>(settings, snapshot);
            },
            "parameters"_a, "arrays"_a)
        .def_static(
            "from_mapped",
            [](const Named& parameters, const Named& known, const Named& arrays,
               const std::string& source) {
                const ww::Parameters settings = parameters_from(parameters);
                return std::make_unique<ww::Model>(settings, totals_from(known),
                                                   mapped_from(arrays, source));
            },
            "parameters"_a, "known"_a, "arrays"_a, "source"_a)
        .def(
            "replace",
            [](const ww::Model& self, const Named& parameters) {
                const ww::Parameters settings = parameters_from(parameters);
                const Released release;
                return std::make_unique<ww::Model>(self, settings);
            },
            "parameters"_a)
        .def(
            "learn",
            [](ww::Model& self, const Texts& texts, const Labels& labels, unsigned threads) {
                const std::vector<ww::TextView> views = views_of(texts);
                const Released release;
                self.learn(views, labels, threads);
            },
            "texts"_a, "labels"_a, "threads"_a)
        .def("learn_terms", nb::overload_cast<ww::TermBatch&, const Labels&>(&ww::Model::learn),
             "batch"_a, "labels"_a, nb::call_guard<Released>())
        .def("unlearn", &ww::Model::unlearn, "document"_a, "label"_a, nb::call_guard<Released>())
        .def("merge", &ww::Model::merge, "other"_a, nb::call_guard<Released>())
        .def(
            "prune",
            [](ww::Model& self, ww::Count floor, unsigned shortest) {
                const Released release;
                const ww::PruneResult result = self.prune(floor, shortest);
                return std::pair(result.ngrams, result.counts);
            },
            "floor"_a, "shortest"_a)
        .def(
            "confidence",
            [](const ww::Model& self, const Texts& texts, unsigned threads) {
                const std::vector<ww::TextView> views = views_of(texts);
                ww::ConfidenceTable table;
                {
                    const Released release;
                    table = self.confidence(views, threads);
                }
                return confidence_tuple(std::move(table));
            },
            "texts"_a, "threads"_a)
        .def(
            "confidence_terms",
            [](const ww::Model& self, const ww::TermBatch& batch) {
                ww::ConfidenceTable table;
                {
                    const Released release;
                    table = self.confidence(batch);
                }
                return confidence_tuple(std::move(table));
            },
            "batch"_a)
        .def("trails", &ww::Model::trails, "batch"_a, "largest_values"_a, "words"_a,
             nb::call_guard<Released>())
        .def(
            "explain",
            [](const ww::Model& self, const ww::TermBatch& batch) {
                ww::Explained explained;
                {
                    const Released release;
                    explained = self.explain(batch);
                }
                return explained_dict(std::move(explained));
            },
            "batch"_a)
        .def(
            "value",
            [](const ww::Model& self, const std::vector<std::string>& words) {
                ww::ValueTable table;
                {
                    const Released release;
                    table = self.value(words);
                }
                return value_dict(std::move(table));
            },
            "words"_a)
        .def(
            "top_ngrams",
            [](const ww::Model& self, const ww::Label& label, std::size_t most,
               std::optional<unsigned> length) {
                std::vector<ww::RankedNgram> ranked;
                {
                    const Released release;
                    ranked = self.top_ngrams(label, most, length);
                }
                return ranked_list(ranked);
            },
            "label"_a, "most"_a, "length"_a.none())
        .def(
            "survey",
            [](const ww::Model& self, std::size_t most) {
                ww::Survey survey;
                {
                    const Released release;
                    survey = self.survey(most);
                }
                return survey_dict(std::move(survey));
            },
            "most"_a)
        .def(
            "next_words",
            [](const ww::Model& self, const std::vector<std::string>& words,
               const std::optional<ww::Label>& label) {
                std::vector<ww::Following> following;
                {
                    const Released release;
                    following = self.next_words(words, label);
                }
                nb::typed<nb::list, nb::typed<nb::tuple, nb::str, ww::Count>> out;
                for (const ww::Following& entry : following) {
                    out.append(nb::make_tuple(entry.word, entry.count));
                }
                return out;
            },
            "words"_a, "label"_a.none())
        .def("stop_words", &ww::Model::stop_words, "threshold"_a, nb::call_guard<Released>())
        .def("is_mapped", &ww::Model::is_mapped, nb::call_guard<Released>())
        .def("is_empty", &ww::Model::is_empty, nb::call_guard<Released>())
        .def("state", &ww::Model::state, nb::call_guard<Released>())
        .def("labels", &ww::Model::labels, nb::call_guard<Released>())
        .def("totals",
             [](const ww::Model& self) {
                 ww::Totals totals;
                 {
                     const Released release;
                     totals = self.totals();
                 }
                 return totals_dict(totals);
             })
        .def("size", &ww::Model::size, nb::call_guard<Released>())
        .def(
            "drain",
            [](ww::Model& self) {
                const Released release;
                return std::make_unique<ww::CountDrain>(self.take_counts(), self.max_ngram());
            },
            nb::sig("def drain(self) -> CountDrain"))
        .def(
            "rows",
            [](const ww::Model& self) {
                const Released release;
                return std::make_unique<ww::CountDrain>(self.counts(), self.max_ngram());
            },
            nb::sig("def rows(self) -> CountDrain"))
        .def("ngrams_by_length", &ww::Model::ngrams_by_length, nb::call_guard<Released>())
        .def("snapshot", [](const ww::Model& self) {
            ww::Snapshot snapshot;
            {
                const Released release;
                snapshot = self.snapshot();
            }
            return snapshot_dict(std::move(snapshot));
        });
    bind_rows(m);
}
