// Models: learning, reading and asking, and the arrays that they are saved as.
#include "bindings.h"
#include "core/label_clusters.h"
#include "core/rows.h"

namespace watchword::bindings {

namespace {

Named value_dict(ValueTable&& table) {
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

// Rows as tuples: quicker than an array for the few rows of a text, which Python reads one by one.
template <class T>
nb::list row_tuples(const std::vector<T>& values, std::size_t columns) {
    nb::list rows;
    for (std::size_t begin = 0; begin < values.size(); begin += columns) {
        nb::object row = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(columns)));
        if (!row.is_valid()) nb::raise_python_error();
        for (std::size_t at = 0; at < columns; ++at) {
            PyTuple_SET_ITEM(row.ptr(), static_cast<Py_ssize_t>(at),
                             nb::cast(values[begin + at]).release().ptr());
        }
        rows.append(std::move(row));
    }
    return rows;
}

// The values of the distinct n-grams of a text; Python computes with the confidences only.
Named explained_values(ValueTable&& table) {
    const std::size_t columns = table.labels.size();
    const std::size_t rows = columns == 0 ? 0 : table.count.size() / columns;
    nb::dict out;
    out["labels"] = table.labels;
    out["count"] = row_tuples(table.count, columns);
    out["lv"] = row_tuples(table.lv, columns);
    out["sg"] = row_tuples(table.sg, columns);
    out["sn"] = row_tuples(table.sn, columns);
    out["cv"] = to_matrix(std::move(table.cv), columns, rows);
    return out;
}

Named score_dict(ExplainedScore&& score, std::size_t columns, std::size_t blocks) {
    const std::size_t rows = score.ngrams.size();
    nb::list ngrams;
    for (const ExplainedScore::Ngram& ngram : score.ngrams) {
        ngrams.append(nb::make_tuple(ngram.words, ngram.length, ngram.times, ngram.x));
    }
    nb::dict out;
    out["ngrams"] = ngrams;
    out["counted"] = to_matrix(std::move(score.counted), columns, rows);
    out["corrected"] = to_matrix(std::move(score.corrected), columns, rows);
    out["block_counted"] = to_matrix(std::move(score.block_counted), columns, blocks);
    out["block_corrected"] = to_matrix(std::move(score.block_corrected), columns, blocks);
    out["bias"] = to_vector(std::move(score.bias));
    return out;
}

Named explained_dict(Explained&& explained) {
    const std::size_t columns = explained.values.labels.size();
    const std::size_t blocks = explained.reading.ngrams.size();
    const auto block = [](const Block& from) {
        return nb::make_tuple(from.span.start, from.span.end, from.parent);
    };
    nb::list ngrams, sentences, paragraphs;
    for (std::size_t at = 0; at < explained.reading.ngrams.size(); ++at) {
        const Reading::Ngram& ngram = explained.reading.ngrams[at];
        ngrams.append(nb::make_tuple(ngram.span.start, ngram.span.end, ngram.parent, ngram.words,
                                     explained.distinct[at]));
    }
    for (const Block& from : explained.reading.sentences) sentences.append(block(from));
    for (const Block& from : explained.reading.paragraphs) paragraphs.append(block(from));
    nb::dict out;
    out["ngrams"] = ngrams;
    out["sentences"] = sentences;
    out["paragraphs"] = paragraphs;
    out["sentence_values"] = to_matrix(std::move(explained.reading.sentence_values), columns,
                                       explained.reading.sentences.size());
    out["paragraph_values"] = to_matrix(std::move(explained.reading.paragraph_values), columns,
                                        explained.reading.paragraphs.size());
    out["value"] = to_vector(std::move(explained.document));
    out["values"] = explained_values(std::move(explained.values));
    out["score"] = nb::none();
    if (explained.score) {
        out["score"] = score_dict(std::move(*explained.score), columns, blocks);
    }
    return out;
}

using RankedList = nb::typed<nb::list, nb::typed<nb::tuple, nb::str, double, Count>>;

RankedList ranked_list(const std::vector<RankedNgram>& ranked) {
    RankedList out;
    for (const RankedNgram& entry : ranked) {
        out.append(nb::make_tuple(entry.words, entry.value, entry.count));
    }
    return out;
}

using FollowingList = nb::typed<nb::list, nb::typed<nb::tuple, nb::str, Count>>;

FollowingList following_list(const std::vector<Following>& following) {
    FollowingList out;
    for (const Following& entry : following) out.append(nb::make_tuple(entry.word, entry.count));
    return out;
}

Named survey_dict(Survey&& survey) {
    nb::dict out;
    nb::list best;
    for (const std::vector<RankedNgram>& ranked : survey.best) best.append(ranked_list(ranked));
    const std::size_t cells = survey.best.size();
    out["labels"] = survey.labels;
    out["width"] = survey.width;
    out["best"] = best;
    out["worthless"] = to_matrix(std::move(survey.worthless), survey.lengths, survey.labels.size());
    out["bins"] = to_matrix(std::move(survey.bins), Survey::kBins, cells);
    return out;
}

// What is known of labels: all of a snapshot but its words and n-grams.
Named totals_dict(const Labels& labels, const std::vector<LabelTotals>& totals, PruneResult pruned,
                  bool was_pruned) {
    nb::dict out;
    nb::list documents, words;
    for (const LabelTotals& of_label : totals) {
        documents.append(of_label.documents);
        words.append(of_label.words);
    }
    out["labels"] = labels;
    out["documents"] = documents;
    out["words"] = words;
    out["pruned_ngrams"] = pruned.ngrams;
    out["pruned_counts"] = pruned.counts;
    out["was_pruned"] = was_pruned;
    return out;
}

Named snapshot_dict(Snapshot&& snapshot) {
    nb::dict out =
        totals_dict(snapshot.labels, snapshot.totals, snapshot.pruned, snapshot.was_pruned);
    nb::list levels;
    out["words_since_prune"] = snapshot.words_since_prune;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(snapshot.word_bytes.data());
    out["word_bytes"] =
        to_vector(std::vector<std::uint8_t>(bytes, bytes + snapshot.word_bytes.size()));
    out["word_offsets"] = to_vector(std::move(snapshot.word_offsets));
    out["maxima"] = to_vector(std::move(snapshot.maxima));
    for (SnapshotLevel& level : snapshot.levels) {
        nb::dict entry;
        entry["words"] = to_vector(std::move(level.words));
        entry["children"] = to_vector(std::move(level.children));
        entry["rows"] = to_vector(std::move(level.rows));
        entry["labels"] = to_vector(std::move(level.labels));
        entry["counts"] = to_vector(std::move(level.counts));
        if (snapshot.fit) entry["weights"] = to_vector(std::move(level.weights));
        levels.append(entry);
    }
    out["levels"] = levels;
    out["fit"] = nb::cast(fit_dict(snapshot.fit));
    return out;
}

template <class T>
T field(const nb::dict& dict, const char* name) {
    return nb::cast<T>(dict[name]);
}

template <class T>
std::vector<T> array_field(const nb::dict& dict, const char* name) {
    const auto values = field<VectorIn<T>>(dict, name);
    return {values.data(), values.data() + values.shape(0)};
}

Snapshot totals_from(const nb::dict& dict) {
    Snapshot snapshot;
    snapshot.labels = field<std::vector<Label>>(dict, "labels");
    const auto documents = field<std::vector<Count>>(dict, "documents");
    const auto words = field<std::vector<Count>>(dict, "words");
    if (documents.size() != words.size()) throw SnapshotFailure("labels and totals differ");
    for (std::size_t at = 0; at < words.size(); ++at) {
        snapshot.totals.push_back({documents[at], words[at]});
    }
    snapshot.pruned = {field<Count>(dict, "pruned_ngrams"), field<Count>(dict, "pruned_counts")};
    snapshot.was_pruned = field<bool>(dict, "was_pruned");
    snapshot.words_since_prune = field<Count>(dict, "words_since_prune");
    snapshot.maxima = array_field<std::uint64_t>(dict, "maxima");
    snapshot.fit = fit_from(dict["fit"]);
    return snapshot;
}

Snapshot snapshot_from(const nb::dict& dict) {
    Snapshot snapshot = totals_from(dict);
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
                                   array_field<std::uint64_t>(level, "counts"),
                                   snapshot.fit ? array_field<std::uint32_t>(level, "weights")
                                                : std::vector<std::uint32_t>{}});
    }
    return snapshot;
}

// Arrays where they lie in a mapped file. Python owns the memory; whichever thread uses it last
// releases it.
using Bytes = VectorIn<std::uint8_t>;
using Mapped = std::vector<Bytes>;

Numbers numbers_from(const nb::dict& dict, const char* name, Mapped& kept) {
    const auto [bytes, width] = field<std::pair<Bytes, unsigned>>(dict, name);
    kept.push_back(bytes);
    return {bytes.data(), bytes.shape(0) / width, width};
}

MappedArrays mapped_from(const nb::dict& dict, std::string source) {
    auto kept = std::make_unique<Mapped>();
    MappedArrays arrays;
    arrays.word_bytes = numbers_from(dict, "word_bytes", *kept);
    arrays.word_offsets = numbers_from(dict, "word_offsets", *kept);
    for (const nb::handle entry : field<nb::list>(dict, "levels")) {
        const auto level = nb::cast<nb::dict>(entry);
        arrays.levels.push_back(
            {numbers_from(level, "words", *kept), numbers_from(level, "children", *kept),
             numbers_from(level, "rows", *kept), numbers_from(level, "labels", *kept),
             numbers_from(level, "counts", *kept),
             level.contains("weights") ? numbers_from(level, "weights", *kept) : Numbers()});
    }
    arrays.source = std::move(source);
    arrays.memory = std::shared_ptr<const void>(kept.release(), [](const void* memory) {
        if (!Py_IsInitialized()) return;  // the process ends, and its memory with it
        const nb::gil_scoped_acquire acquired;
        delete static_cast<const Mapped*>(memory);
    });
    return arrays;
}

void bind_learning(nb::class_<Model>& model) {
    model
        .def(
            "learn",
            [](Model& self, const Texts& texts, const Labels& labels, unsigned threads,
               const std::vector<Count>& counted) {
                const std::vector<TextView> views = views_of(texts);
                without_gil([&] { self.learn(views, labels, threads, counted); });
            },
            "texts"_a, "labels"_a, "threads"_a, "counted"_a = std::vector<Count>{})
        .def("learn_terms", nb::overload_cast<TermBatch&, const Labels&>(&Model::learn), "batch"_a,
             "labels"_a, nb::call_guard<ReleasedGil>())
        .def("unlearn", &Model::unlearn, "document"_a, "label"_a, "check"_a,
             nb::call_guard<ReleasedGil>())
        .def("merge", &Model::merge, "other"_a, "average_corrections"_a,
             nb::call_guard<ReleasedGil>())
        .def(
            "prune",
            [](Model& self, Count floor, unsigned shortest) {
                const Pruning result = without_gil([&] { return self.prune(floor, shortest); });
                const auto [ngrams, counts] = result.removed;
                return std::tuple(ngrams, counts, result.dropped_corrections);
            },
            "floor"_a, "shortest"_a);
}

void bind_reading_many(nb::class_<Model>& model) {
    model
        .def(
            "confidence",
            [](const Model& self, const Texts& texts, unsigned threads, Purpose purpose) {
                const std::vector<TextView> views = views_of(texts);
                return confidence_tuple(
                    without_gil([&] { return self.confidence(views, threads, purpose); }));
            },
            "texts"_a, "threads"_a, "purpose"_a)
        .def(
            "confidence_terms",
            [](const Model& self, const TermBatch& batch) {
                return confidence_tuple(without_gil([&] { return self.confidence(batch); }));
            },
            "batch"_a)
        .def("trails", &Model::trails, "batch"_a, "largest_values"_a, "words"_a,
             nb::call_guard<ReleasedGil>())
        .def(
            "explain",
            [](const Model& self, const TermBatch& batch) {
                return explained_dict(without_gil([&] { return self.explain(batch); }));
            },
            "batch"_a);
}

void bind_questions(nb::class_<Model>& model) {
    model
        .def(
            "value",
            [](const Model& self, const std::vector<std::string>& words) {
                return value_dict(without_gil([&] { return self.value(words); }));
            },
            "words"_a)
        .def(
            "top_ngrams",
            [](const Model& self, const Label& label, std::size_t most,
               std::optional<unsigned> length) {
                return ranked_list(
                    without_gil([&] { return self.top_ngrams(label, most, length); }));
            },
            "label"_a, "most"_a, "length"_a.none())
        .def(
            "survey",
            [](const Model& self, std::size_t most) {
                return survey_dict(without_gil([&] { return self.survey(most); }));
            },
            "most"_a)
        .def(
            "next_words",
            [](const Model& self, const std::vector<std::string>& words,
               const std::optional<Label>& label) {
                return following_list(without_gil([&] { return self.next_words(words, label); }));
            },
            "words"_a, "label"_a.none())
        .def("stop_words", &Model::stop_words, "threshold"_a, nb::call_guard<ReleasedGil>())
        .def("is_mapped", &Model::is_mapped, nb::call_guard<ReleasedGil>())
        .def("was_pruned", &Model::was_pruned, nb::call_guard<ReleasedGil>())
        .def("is_empty", &Model::is_empty, nb::call_guard<ReleasedGil>())
        .def("state", &Model::state, nb::call_guard<ReleasedGil>())
        .def("labels", &Model::labels, nb::call_guard<ReleasedGil>())
        .def("totals",
             [](const Model& self) {
                 const Totals totals = without_gil([&] { return self.totals(); });
                 return totals_dict(totals.labels, totals.of_label, totals.pruned,
                                    totals.was_pruned);
             })
        .def("label_with_most_words", &Model::label_with_most_words, nb::call_guard<ReleasedGil>())
        .def("size", &Model::size, nb::call_guard<ReleasedGil>())
        .def("ngrams_by_length", &Model::ngrams_by_length, nb::call_guard<ReleasedGil>())
        .def("longest_ngram", &Model::longest_ngram, nb::call_guard<ReleasedGil>());
}

std::vector<std::vector<std::size_t>> several_of_rows(
    const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& values) {
    std::vector<std::vector<std::size_t>> columns;
    columns.reserve(values.shape(0));
    for (std::size_t row = 0; row < values.shape(0); ++row) {
        columns.push_back(several({values.data() + row * values.shape(1), values.shape(1)}));
    }
    return columns;
}

}  // namespace

Confidences confidence_tuple(ConfidenceTable&& table) {
    const std::size_t columns = table.labels.size();
    return nb::make_tuple(table.labels,
                          to_matrix(std::move(table.values), columns, table.documents));
}

void bind_model(nb::module_& m) {
    nb::class_<Model> model(m, "Model");
    model.def(nb::init<const Parameters&>(), "parameters"_a)
        .def_static(
            "from_snapshot",
            [](const Parameters& parameters, const Named& arrays) {
                const Snapshot snapshot = snapshot_from(arrays);
                return without_gil([&] { return std::make_unique<Model>(parameters, snapshot); });
            },
            "parameters"_a, "arrays"_a)
        .def_static(
            "from_mapped",
            [](const Parameters& parameters, const Named& known, const Named& arrays,
               const std::string& source) {
                return std::make_unique<Model>(parameters, totals_from(known),
                                               mapped_from(arrays, source));
            },
            "parameters"_a, "known"_a, "arrays"_a, "source"_a)
        .def(
            "replace",
            [](const Model& self, const Parameters& parameters, bool with_corrections) {
                return without_gil(
                    [&] { return std::make_unique<Model>(self, parameters, with_corrections); });
            },
            "parameters"_a, "with_corrections"_a);
    bind_learning(model);
    bind_reading_many(model);
    bind_reading(m, model);
    bind_questions(model);
    bind_refining(m, model);
    model
        .def("drain",
             [](Model& self) {
                 return without_gil([&] {
                     return std::make_unique<CountDrain>(self.take_counts(), self.max_ngram());
                 });
             })
        .def("rows",
             [](const Model& self) {
                 return without_gil(
                     [&] { return std::make_unique<CountDrain>(self.counts(), self.max_ngram()); });
             })
        .def("snapshot", [](const Model& self) {
            return snapshot_dict(without_gil([&] { return self.snapshot(); }));
        });
    m.def("several", &several_of_rows, "values"_a);
}

}  // namespace watchword::bindings
