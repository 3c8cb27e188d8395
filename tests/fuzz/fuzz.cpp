// The coverage-guided fuzz target (libFuzzer, with the sanitizers): the tokenizer on any
// characters, the learner on any sequence of operations, the loader on any arrays. The first byte
// of an input chooses among the three. Whatever happens, nothing may crash, and what the comments
// below promise must hold.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/model.h"

namespace ww = watchword;

namespace {

#define REQUIRE(condition)                                                       \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                        \
        }                                                                        \
    } while (false)

using Data = FuzzedDataProvider;
using Document = std::pair<std::string, ww::Label>;

// --- Comparing
// ------------------------------------------------------------------------------------

bool equal(const ww::SnapshotLevel& a, const ww::SnapshotLevel& b) {
    return a.words == b.words && a.children == b.children && a.rows == b.rows &&
           a.labels == b.labels && a.counts == b.counts;
}

bool equal(const ww::Snapshot& a, const ww::Snapshot& b) {
    const auto same_totals = [](const ww::LabelTotals& one, const ww::LabelTotals& other) {
        return one.documents == other.documents && one.words == other.words;
    };
    return a.labels == b.labels && a.word_bytes == b.word_bytes &&
           a.word_offsets == b.word_offsets && a.maxima == b.maxima &&
           a.was_pruned == b.was_pruned && a.pruned.ngrams == b.pruned.ngrams &&
           a.pruned.counts == b.pruned.counts &&
           std::equal(a.totals.begin(), a.totals.end(), b.totals.begin(), b.totals.end(),
                      same_totals) &&
           std::equal(a.levels.begin(), a.levels.end(), b.levels.begin(), b.levels.end(),
                      [](const auto& one, const auto& other) { return equal(one, other); });
}

// --- The tokenizer
// --------------------------------------------------------------------------------

template <class Char>
ww::TermBatch read(const std::vector<std::uint32_t>& codes, ww::Paragraphs paragraphs,
                   bool with_spans) {
    // A copy of exactly this size, so that reading past its end is noticed.
    const std::vector<Char> text(codes.begin(), codes.end());
    ww::TermBatch batch;
    ww::TextReader(paragraphs, with_spans).read({text.data(), text.size(), sizeof(Char)}, batch);
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
void require_well_formed(const ww::TermBatch& batch, std::size_t size) {
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
        REQUIRE(previous <= span.start && span.start < span.end && span.end <= size);
        previous = span.end;
    }
}

void fuzz_tokenizer(Data& data) {
    const auto paragraphs = data.ConsumeBool() ? ww::Paragraphs::Lines : ww::Paragraphs::BlankLines;
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
    const ww::TermBatch wide = read<std::uint32_t>(codes, paragraphs, true);
    require_well_formed(wide, codes.size());
    require_same(wide, read<std::uint32_t>(codes, paragraphs, false));
    if (width <= 2) require_same(wide, read<std::uint16_t>(codes, paragraphs, true));
    if (width == 1) require_same(wide, read<std::uint8_t>(codes, paragraphs, true));

    // Another's tokenizer that finds the same terms gives the same batch.
    std::vector<ww::ForeignTerm> terms;
    for (std::size_t at = 0; at < wide.symbols.size(); ++at) {
        const ww::Symbol symbol = wide.symbols[at];
        if (symbol == ww::kBreak) terms.push_back({wide.spans[at], std::nullopt});
        if (ww::is_word(symbol)) {
            terms.push_back({wide.spans[at], std::string(wide.words.word(symbol))});
        }
    }
    ww::TermBatch foreign;
    ww::TextReader(paragraphs, true).read_foreign({codes.data(), codes.size(), 4}, terms, foreign);
    require_same(wide, foreign);
}

// --- The learner
// ----------------------------------------------------------------------------------

ww::Label label_of(unsigned number) {
    return number % 8 < 6 ? ww::Label(std::string(1, static_cast<char>('a' + number % 8)))
                          : ww::Label(std::string(number % 8 * 5, 'z'));
}

// Few short words, so that n-grams repeat, and some that no other document has.
std::string text_from(Data& data) {
    static constexpr const char* kPieces[] = {"a ",
                                              "b ",
                                              "c ",
                                              "a b c ",
                                              "b a ",
                                              ", ",
                                              ". ",
                                              "\n",
                                              "\n\n",
                                              "d'e ",
                                              "f",
                                              "long"
                                              "er ",
                                              "x y",
                                              " 1\t",
                                              "\xe9"
                                              "t\xe9 ",
                                              "g"};
    const std::string choices = data.ConsumeRandomLengthString(64);
    std::string text;
    for (const char choice : choices) {
        const auto byte = static_cast<unsigned char>(choice);
        text += kPieces[byte % 16];
        if (byte >= 0xF0) text += std::to_string(byte) + ' ';
    }
    return text;
}

ww::TextView view_of(const std::string& text) { return {text.data(), text.size(), 1}; }

ww::TermBatch terms_of(const std::string& text, ww::Paragraphs paragraphs, bool with_spans) {
    ww::TermBatch batch;
    ww::TextReader(paragraphs, with_spans).read(view_of(text), batch);
    return batch;
}

ww::Parameters parameters_from(Data& data) {
    ww::Parameters parameters{};
    parameters.max_ngram = data.ConsumeIntegralInRange(1u, 5u);
    parameters.value.smoothness = data.PickValueInArray({0.455, 1.0, 0.1});
    parameters.value.significance = data.PickValueInArray({1.0, 0.0, 4.0});
    parameters.value.sanction = data.PickValueInArray({1.0, 0.0, 2.0});
    parameters.value.min_count = data.ConsumeIntegralInRange(1u, 3u);
    parameters.value.prior = data.ConsumeBool() ? 1 : 0;
    parameters.value.ngram_scale =
        data.ConsumeBool() ? ww::NgramScale::Words : ww::NgramScale::Length;
    parameters.value.significance_function =
        data.PickValueInArray({ww::SignificanceFunction::Vanilla, ww::SignificanceFunction::Xai});
    parameters.value.confidence_function =
        data.PickValueInArray({ww::ConfidenceFunction::Gv, ww::ConfidenceFunction::NormGv,
                               ww::ConfidenceFunction::NormGvXai});
    parameters.alpha = data.PickValueInArray({0.0, 0.3});
    parameters.reading = data.PickValueInArray({ww::ReadingRule::Paper, ww::ReadingRule::WordsSum});
    for (ww::SummaryOperator& operation : parameters.summary) {
        operation = data.PickValueInArray(
            {ww::SummaryOperator::Sum, ww::SummaryOperator::Max, ww::SummaryOperator::Mean});
    }
    parameters.paragraphs =
        data.PickValueInArray({ww::Paragraphs::Lines, ww::Paragraphs::BlankLines});
    // One number for two choices, so that inputs that were kept mean what they meant.
    const auto choice = data.ConsumeIntegralInRange(0u, 15u);
    if (choice % 8 == 0) parameters.prune_period = 20;
    parameters.counting =
        choice % 8 < 4 && choice != 0 ? ww::Counting::Documents : ww::Counting::Occurrences;
    parameters.prune_floor = data.ConsumeIntegralInRange(0u, 3u);
    parameters.prune_shortest = data.ConsumeIntegralInRange(1u, 3u);
    return parameters;
}

void learn(ww::Model& model, const std::vector<Document>& documents, unsigned threads) {
    std::vector<ww::TextView> texts;
    std::vector<ww::Label> labels;
    for (const auto& [text, label] : documents) {
        texts.push_back(view_of(text));
        labels.push_back(label);
    }
    model.learn(texts, labels, threads);
}

std::vector<Document> documents_from(Data& data, unsigned most) {
    std::vector<Document> documents;
    for (unsigned left = data.ConsumeIntegralInRange(0u, most); left > 0; --left) {
        std::string text = text_from(data);
        documents.emplace_back(std::move(text), label_of(data.ConsumeIntegral<std::uint8_t>()));
    }
    return documents;
}

// Asks a model for everything it can tell.
void inspect(const ww::Model& model, const std::string& text, ww::Paragraphs paragraphs) {
    if (model.labels().empty()) return;
    const ww::ConfidenceTable table = model.confidence({view_of(text)}, 1);
    const ww::Explained explained = model.explain(terms_of(text, paragraphs, true));
    REQUIRE(table.values == explained.document);
    for (const double value : table.values) REQUIRE(value >= 0);
    for (const ww::Label& label : model.labels()) {
        for (const ww::RankedNgram& ranked : model.top_ngrams(label, 5, std::nullopt)) {
            REQUIRE(ranked.count > 0 && ranked.value > 0 && !ranked.words.empty());
        }
    }
    const ww::Survey survey = model.survey(5);
    for (std::size_t cell = 0; cell < survey.best.size(); ++cell) {
        const auto own = survey.bins.begin() + static_cast<std::ptrdiff_t>(cell * survey.kBins);
        const auto valued = std::accumulate(own, own + survey.kBins, std::uint64_t{0});
        REQUIRE(survey.best[cell].size() == std::min<std::uint64_t>(valued, 5));
    }
    model.next_words({"a"}, std::nullopt);
    model.stop_words(0.5);
    model.value({"a", "b"});
    model.totals();
    model.ngrams_by_length();
}

// A file of the model gives the model back, to the last bit.
void require_round_trip(const ww::Model& model, const ww::Parameters& parameters) {
    const ww::Snapshot snapshot = model.snapshot();
    const ww::Model again(parameters, snapshot);
    REQUIRE(equal(again.snapshot(), snapshot));
}

// True if the document was taken back.
bool unlearn(ww::Model& model, const Document& document, ww::Paragraphs paragraphs) {
    ww::TermBatch batch = terms_of(document.first, paragraphs, false);
    try {
        model.unlearn(batch, document.second);
        return true;
    } catch (const ww::UnlearnFailure&) {
        return false;
    }
}

void fuzz_learner(Data& data) {
    const ww::Parameters parameters = parameters_from(data);
    ww::Model model(parameters);
    std::vector<Document> learnt;
    bool exact = !parameters.prune_period.has_value();
    for (unsigned step = 0; step < 24 && data.remaining_bytes() > 0; ++step) {
        switch (data.ConsumeIntegralInRange(0, 7)) {
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
                    REQUIRE(unlearn(model, learnt[at], parameters.paragraphs));
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
                if (unlearn(model, document, parameters.paragraphs)) {
                    const auto same = std::find(learnt.begin(), learnt.end(), document);
                    if (same == learnt.end()) {
                        // Others add up to this one: what is left must still be a model.
                        require_round_trip(model, parameters);
                        inspect(model, document.first, parameters.paragraphs);
                        model.prune(0, 1);
                        inspect(model, document.first, parameters.paragraphs);
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
                model.merge(other);
                learnt.insert(learnt.end(), documents.begin(), documents.end());
                break;
            }
            case 5:
                model.prune(data.ConsumeIntegralInRange(0u, 2u),
                            data.ConsumeIntegralInRange(1u, 3u));
                exact = false;
                break;
            case 6: inspect(model, text_from(data), parameters.paragraphs); break;
            default: {  // a model with shorter n-grams shares the counts until one of them learns
                ww::Parameters shorter = parameters;
                shorter.max_ngram = data.ConsumeIntegralInRange(1u, parameters.max_ngram);
                ww::Model copy(model, shorter);
                const ww::Snapshot before = model.snapshot();
                learn(copy, documents_from(data, 2), 1);
                inspect(copy, text_from(data), parameters.paragraphs);
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
    REQUIRE(equal(fresh.snapshot(), model.snapshot()));
}

// --- The loader
// -----------------------------------------------------------------------------------

template <class T>
T number_from(Data& data, T near) {
    const auto step = data.ConsumeIntegralInRange<int>(-3, 3);
    switch (data.ConsumeIntegralInRange(0, 3)) {
        case 0: return static_cast<T>(data.ConsumeIntegral<std::uint64_t>());
        case 1:
            return static_cast<T>(data.PickValueInArray<std::uint64_t>(
                {0, 1, 0x7FFFFFF0, 0xFFFFFFFF, ww::kMaxCount, ww::kMaxCount + 1, ~0ull}));
        default: return static_cast<T>(near + static_cast<T>(step));
    }
}

template <class T>
void damage(Data& data, std::vector<T>& values) {
    const auto at = data.ConsumeIntegralInRange<std::size_t>(0, values.size());
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(at);
    if (at == values.size()) {
        values.push_back(number_from<T>(data, values.empty() ? T{} : values.back()));
        return;
    }
    switch (data.ConsumeIntegralInRange(0, 4)) {
        case 0: values.erase(place); break;
        case 1: values.insert(place, *place); break;
        case 2: values.resize(at); break;
        default: *place = number_from<T>(data, *place);
    }
}

void damage(Data& data, ww::Snapshot& snapshot) {
    const auto damage_level = [&](std::size_t at) {
        ww::SnapshotLevel& level = snapshot.levels[at];
        // Single words need no last words and the longest n-grams have no children: a file has no
        // place for those arrays.
        const bool longest = at + 1 == snapshot.levels.size();
        switch (data.ConsumeIntegralInRange(0, 4)) {
            case 0:
                if (at > 0) damage(data, level.words);
                break;
            case 1:
                if (!longest) damage(data, level.children);
                break;
            case 2: damage(data, level.rows); break;
            case 3: damage(data, level.labels); break;
            default: damage(data, level.counts);
        }
    };
    switch (data.ConsumeIntegralInRange(0, 8)) {
        case 0: damage(data, snapshot.word_bytes); break;
        case 1: damage(data, snapshot.word_offsets); break;
        case 2: damage(data, snapshot.maxima); break;
        case 3:
            if (snapshot.totals.empty()) break;
            snapshot.totals.back().words = number_from(data, snapshot.totals.back().words);
            snapshot.totals.front().documents =
                number_from(data, snapshot.totals.front().documents);
            break;
        case 4:
            if (data.ConsumeBool())
                snapshot.labels.push_back(label_of(data.ConsumeIntegral<std::uint8_t>()));
            else if (!snapshot.labels.empty())
                snapshot.labels.pop_back();
            if (data.ConsumeBool()) snapshot.totals.resize(snapshot.labels.size());
            break;
        case 5: snapshot.was_pruned = data.ConsumeBool(); break;
        default:
            damage_level(data.ConsumeIntegralInRange<std::size_t>(0, snapshot.levels.size() - 1));
    }
}

// Maxima and totals that fit the counts, so that damage to counts is not always found by them.
void repair_sums(ww::Snapshot& snapshot) {
    const std::size_t labels = snapshot.labels.size();
    snapshot.maxima.assign(snapshot.levels.size() * labels, 0);
    snapshot.totals.assign(labels, {3, 0});
    for (std::size_t length = 0; length < snapshot.levels.size(); ++length) {
        const ww::SnapshotLevel& level = snapshot.levels[length];
        for (std::size_t at = 0; at < std::min(level.labels.size(), level.counts.size()); ++at) {
            if (level.labels[at] >= labels) continue;
            std::uint64_t& maximum = snapshot.maxima[length * labels + level.labels[at]];
            maximum = std::max(maximum, level.counts[at]);
            if (length == 0) snapshot.totals[level.labels[at]].words += level.counts[at];
        }
    }
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
    inspect(*model, text, parameters.paragraphs);
    if (!snapshot.was_pruned) {
        for (const Document& document : documents) {
            unlearn(*model, document, parameters.paragraphs);
            require_round_trip(*model, parameters);
        }
    }
    try {  // counts of a file may be as large as counts can be
        if (!snapshot.was_pruned) original.merge(*model);
        learn(*model, {{text, label_of(0)}}, 1);
    } catch (const std::overflow_error&) {
        return;
    }
    inspect(original, text, parameters.paragraphs);
    inspect(*model, text, parameters.paragraphs);
    model->prune(1, 1);
    inspect(*model, text, parameters.paragraphs);
    model->snapshot();
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
