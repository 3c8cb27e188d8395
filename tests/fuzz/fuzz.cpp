// The fuzz target of what changes (libFuzzer, with the sanitizers): the tokenizer on any
// characters, the learner on any sequence of operations, the loader on any arrays. The first byte
// of an input chooses among the three. Whatever happens, nothing may crash, and what the comments
// below promise must hold.
#include "fuzz.h"

namespace {

// --- The tokenizer
// --------------------------------------------------------------------------------

template <class Char>
ww::TermBatch read(const std::vector<std::uint32_t>& codes, ww::TextRules rules,
                   ww::Purpose purpose, bool with_spans) {
    // A copy of exactly this size, so that reading past its end is noticed.
    const std::vector<Char> text(codes.begin(), codes.end());
    ww::TermBatch batch;
    ww::TextReader(rules, purpose, with_spans)
        .read({text.data(), text.size(), sizeof(Char)}, batch);
    return batch;
}

void require_same(const ww::TermBatch& a, const ww::TermBatch& b) {
    REQUIRE(a.symbols == b.symbols);
    REQUIRE(a.ends == b.ends);
    REQUIRE(a.words.id_limit() == b.words.id_limit());
    for (ww::WordId id = 0; id < a.words.id_limit(); ++id) {
        REQUIRE(a.words.word(id) == b.words.word(id));
    }
}

// Spans ascend and stay inside the text, sentences and paragraphs are closed, no word is empty.
void require_well_formed(const ww::TermBatch& batch, std::size_t size, unsigned least_span) {
    REQUIRE(batch.documents() == 1);
    REQUIRE(batch.ends[0] == batch.symbols.size());
    REQUIRE(batch.spans.size() == batch.symbols.size());
    REQUIRE(batch.symbols.empty() || batch.symbols.back() == ww::kParagraphEnd);
    std::uint32_t previous = 0;
    for (std::size_t at = 0; at < batch.symbols.size(); ++at) {
        const ww::Symbol symbol = batch.symbols[at];
        if (ww::is_word(symbol)) REQUIRE(!batch.words.word(symbol).empty());
        if (!ww::is_word(symbol) && symbol != ww::kBreak) continue;
        const ww::Span span = batch.spans[at];
        REQUIRE(previous <= span.start && span.start + least_span <= span.end && span.end <= size);
        previous = span.end;
    }
}

void fuzz_tokenizer(Data& data) {
    const auto choices = data.ConsumeIntegralInRange(0u, 7u);
    const ww::TextRules rules{
        choices & 1 ? ww::Paragraphs::Lines : ww::Paragraphs::BlankLines,
        choices & 2 ? ww::Tokenization::Pyss3 : ww::Tokenization::Unicode,
    };
    const auto purpose = choices & 4 ? ww::Purpose::Learning : ww::Purpose::Reading;
    const unsigned width = data.PickValueInArray({1u, 2u, 4u});
    std::vector<std::uint32_t> codes;
    while (data.remaining_bytes() > 0 && codes.size() < 4096) {
        std::uint32_t code = data.ConsumeIntegral<std::uint8_t>();
        // Most characters of one byte; the others as Python has them, lone surrogates included.
        if (width == 2 && code >= 0x80) code = data.ConsumeIntegral<std::uint16_t>();
        if (width == 4 && code >= 0x80)
            code = data.ConsumeIntegralInRange<std::uint32_t>(0, 0x10FFFF);
        codes.push_back(code);
    }
    const ww::TermBatch wide = read<std::uint32_t>(codes, rules, purpose, true);
    // By PySS3's rules, one character may become several words, of which only the first spans it.
    const bool pyss3 = rules.tokenization == ww::Tokenization::Pyss3;
    require_well_formed(wide, codes.size(), pyss3 ? 0 : 1);
    require_same(wide, read<std::uint32_t>(codes, rules, purpose, false));
    if (width <= 2) require_same(wide, read<std::uint16_t>(codes, rules, purpose, true));
    if (width == 1) require_same(wide, read<std::uint8_t>(codes, rules, purpose, true));

    // Another's tokenizer that finds the same terms gives the same batch, if each has characters.
    if (pyss3) return;
    std::vector<ww::ForeignTerm> terms;
    for (std::size_t at = 0; at < wide.symbols.size(); ++at) {
        const ww::Symbol symbol = wide.symbols[at];
        if (symbol == ww::kBreak) terms.push_back({wide.spans[at], std::nullopt});
        if (ww::is_word(symbol)) {
            terms.push_back({wide.spans[at], std::string(wide.words.word(symbol))});
        }
    }
    ww::TermBatch foreign;
    ww::TextReader(rules, purpose, true)
        .read_foreign({codes.data(), codes.size(), 4}, terms, foreign);
    require_same(wide, foreign);
}

// --- The learner
// ----------------------------------------------------------------------------------

// A file of the model gives the model back, to the last bit.
void require_round_trip(const ww::Model& model, const ww::Parameters& parameters) {
    const ww::Snapshot snapshot = model.snapshot();
    const ww::Model again(parameters, snapshot);
    REQUIRE(equal(again.snapshot(), snapshot));
}

// True if the document was taken back.
bool unlearn(ww::Model& model, const Document& document, ww::TextRules rules) {
    const ww::TermBatch batch = terms_of(document.first, rules, false, ww::Purpose::Learning);
    try {
        model.unlearn(batch, document.second);
        return true;
    } catch (const ww::UnlearnFailure&) {
        return false;
    }
}

// Documents that were never learnt, unlearnt without a check, do no harm to memory; a file is
// either refused or gives the model back.
void fuzz_unchecked(Data& data, ww::Model& model, const ww::Parameters& parameters) {
    const auto unlearn_unchecked = [&](const Document& document) {
        try {
            model.unlearn(
                terms_of(document.first, parameters.text_rules(), false, ww::Purpose::Learning),
                document.second, false);
        } catch (const ww::UnlearnFailure&) {
        }
    };
    const auto read = [&](const ww::Model& changed) {  // values may be anything
        if (changed.labels().empty()) return;
        const std::string text = text_from(data);
        changed.confidence({view_of(text)}, 1);
        changed.explain(terms_of(text, parameters.text_rules(), true));
        changed.survey(5);
        for (const ww::Label& label : changed.labels()) {
            changed.top_ngrams(label, 5, std::nullopt);
        }
        changed.next_words({"a"}, std::nullopt);
        changed.stop_words(0.5);
        changed.ngrams_by_length();
    };
    for (unsigned step = 0; step < 8 && data.remaining_bytes() > 0; ++step) {
        for (const Document& document : documents_from(data, 4)) unlearn_unchecked(document);
        const std::vector<Document> documents = documents_from(data, 2);
        learn(model, documents, 1);
        read(model);
        ww::Model other(parameters);
        learn(other, documents, 1);
        other.merge(model, false);
        read(other);
        for (const Document& document : documents) unlearn_unchecked(document);
        read(model);
    }
    if (data.ConsumeBool()) model.prune(1, data.ConsumeIntegralInRange(1u, 3u));
    read(model);
    try {
        require_round_trip(model, parameters);
    } catch (const ww::UnlearnFailure&) {
    }
}

void fuzz_learner(Data& data) {
    const ww::Parameters parameters = parameters_from(data);
    ww::Model model(parameters);
    std::vector<Document> learnt;
    bool exact = !parameters.prune_period.has_value();
    for (unsigned step = 0; step < 24 && data.remaining_bytes() > 0; ++step) {
        switch (data.ConsumeIntegralInRange(0, 9)) {
            case 0:
            case 1: {
                const std::vector<Document> documents = documents_from(data, 4);
                // Threads cost more than these documents: seldom.
                learn(model, documents, data.ConsumeIntegral<std::uint8_t>() == 0 ? 2 : 1);
                learnt.insert(learnt.end(), documents.begin(), documents.end());
                break;
            }
            case 2:  // what was learnt can always be taken back, if nothing was pruned
                if (exact && !learnt.empty()) {
                    const auto at = data.ConsumeIntegralInRange<std::size_t>(0, learnt.size() - 1);
                    REQUIRE(unlearn(model, learnt[at], parameters.text_rules()));
                    learnt.erase(learnt.begin() + static_cast<std::ptrdiff_t>(at));
                }
                break;
            case 3: {  // a refused document changes nothing
                if (!exact) break;
                Document document{text_from(data), label_of(data.ConsumeIntegral<std::uint8_t>())};
                if (!learnt.empty() && data.ConsumeBool()) {  // a part of what was learnt
                    document =
                        learnt[data.ConsumeIntegralInRange<std::size_t>(0, learnt.size() - 1)];
                    document.first.resize(
                        data.ConsumeIntegralInRange<std::size_t>(0, document.first.size()));
                }
                const ww::Snapshot before = model.snapshot();
                if (unlearn(model, document, parameters.text_rules())) {
                    const auto same = std::find(learnt.begin(), learnt.end(), document);
                    if (same == learnt.end()) {
                        // Others add up to this one: what is left must still be a model.
                        require_round_trip(model, parameters);
                        inspect(model, document.first, parameters.text_rules());
                        model.prune(0, 1);
                        inspect(model, document.first, parameters.text_rules());
                        return;
                    }
                    learnt.erase(same);
                } else {
                    REQUIRE(equal(model.snapshot(), before));
                }
                break;
            }
            case 4: {
                if (!exact) break;
                const std::vector<Document> documents = documents_from(data, 4);
                ww::Model other(parameters);
                learn(other, documents, 1);
                if (data.ConsumeBool()) refine(other, documents);
                model.merge(other, data.ConsumeBool());
                learnt.insert(learnt.end(), documents.begin(), documents.end());
                break;
            }
            case 5:
                model.prune(data.ConsumeIntegralInRange(0u, 2u),
                            data.ConsumeIntegralInRange(1u, 3u));
                exact = false;
                break;
            case 6: inspect(model, text_from(data), parameters.text_rules()); break;
            case 7: {
                if (parameters.summary != ww::SummaryOperators{}) break;  // all sums
                if (data.ConsumeBool()) {
                    refine(model, learnt);
                } else if (!learnt.empty() && !model.labels().empty()) {
                    if (parameters.prune_period) break;
                    const Document& document = learnt[0];
                    const auto batch = terms_of(document.first, parameters.text_rules(), false);
                    model.learn_corrected(batch, batch, {document.second},
                                          {.5, 1, .3, .05, false, 0});
                    learnt.push_back(document);
                }
                break;
            }
            case 8:
                if (!exact) break;
                return fuzz_unchecked(data, model, parameters);
            default: {  // a model with shorter n-grams shares the counts until one of them learns
                ww::Parameters shorter = parameters;
                shorter.max_ngram = data.ConsumeIntegralInRange(1u, parameters.max_ngram);
                const bool same = shorter.max_ngram == parameters.max_ngram;
                ww::Model copy(model, shorter, same);
                const ww::Snapshot before = model.snapshot();
                learn(copy, documents_from(data, 2), 1);
                inspect(copy, text_from(data), parameters.text_rules());
                require_round_trip(copy, shorter);
                REQUIRE(equal(model.snapshot(), before));
            }
        }
    }
    require_round_trip(model, parameters);
    if (!exact) return;
    // Counts add: however the model came about, it is the one that learnt what is left.
    ww::Model fresh(parameters);
    learn(fresh, learnt, 1);
    model.drop_corrections();
    REQUIRE(equal(fresh.snapshot(), model.snapshot()));
}

// --- The loader
// -----------------------------------------------------------------------------------

// Counters of a file may be as large as counters can be: then a change is refused, and there is
// none. What comes of one can be loaded again.
template <class Change>
void change(ww::Model& model, const ww::Parameters& parameters, const Change& make) {
    const ww::Snapshot before = model.snapshot();
    try {
        make();
    } catch (const ww::LimitFailure&) {
        REQUIRE(equal(model.snapshot(), before));
    }
    require_round_trip(model, parameters);
}

// Arrays that were damaged are refused, or are a model: one that gives the same arrays back and
// that can be read, taught and asked to forget like any other.
void fuzz_loader(Data& data) {
    ww::Parameters parameters = parameters_from(data);
    parameters.prune_period.reset();
    ww::Model original(parameters);
    const std::vector<Document> documents = documents_from(data, 5);
    learn(original, documents, 1);
    ww::Snapshot snapshot = original.snapshot();
    for (unsigned left = data.ConsumeIntegralInRange(0u, 6u); left > 0; --left) {
        damage(data, snapshot);
    }
    if (data.ConsumeBool()) repair_sums(snapshot);
    std::unique_ptr<ww::Model> model;
    try {
        model = std::make_unique<ww::Model>(parameters, snapshot);
    } catch (const ww::SnapshotFailure&) {
        return;
    }
    REQUIRE(equal(model->snapshot(), snapshot));
    const std::string text = text_from(data);
    inspect(*model, text, parameters.text_rules());
    if (!snapshot.was_pruned) {
        for (const Document& document : documents) {
            unlearn(*model, document, parameters.text_rules());
            require_round_trip(*model, parameters);
        }
    }
    if (!snapshot.was_pruned) change(original, parameters, [&] { original.merge(*model, true); });
    change(*model, parameters, [&] { learn(*model, {{text, label_of(0)}}, 1); });
    inspect(original, text, parameters.text_rules());
    inspect(*model, text, parameters.text_rules());
    change(*model, parameters, [&] { model->prune(1, 1); });
    inspect(*model, text, parameters.text_rules());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    Data data(bytes + 1, size - 1);
    switch (bytes[0] % 3) {
        case 0: fuzz_tokenizer(data); break;
        case 1: fuzz_learner(data); break;
        default: fuzz_loader(data);
    }
    return 0;
}
