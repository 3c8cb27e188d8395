#include "summary.h"

#include <algorithm>

namespace watchword {

namespace {

void add_all(double* __restrict sums, const double* __restrict parts, std::size_t size) {
    for (std::size_t at = 0; at < size; ++at) sums[at] += parts[at];
}

}  // namespace

void Accumulator::add(const ConfidenceRow& part, double alpha) {
    ++parts_;
    double* values = values_.data();
    if (operation_ != SummaryOperator::Max && alpha == 0) {
        // All values are at least 0, and adding 0 changes nothing, so no test is needed.
        if (part.positions == nullptr) return add_all(values, part.values, part.size);
        for (std::size_t at = 0; at < part.size; ++at)
            values[part.positions[at]] += part.values[at];
        return;
    }
    for (std::size_t at = 0; at < part.size; ++at) {
        const double cv = part.values[at];
        if (cv <= alpha) continue;
        double& value = values[part.position(at)];
        value = operation_ == SummaryOperator::Max ? std::max(value, cv) : value + cv;
    }
}

void Accumulator::add(std::span<const double> part) {
    ++parts_;
    if (operation_ != SummaryOperator::Max)
        return add_all(values_.data(), part.data(), part.size());
    for (std::size_t at = 0; at < part.size(); ++at) values_[at] = std::max(values_[at], part[at]);
}

void Accumulator::take(Accumulator& part) {
    if (parts_ == 0) {
        // One part alone is its own sum, maximum and mean.
        std::swap(values_, part.values_);
        parts_ = 1;
        part.parts_ = 0;
    } else {
        add(part.values_);
        part.reset();
    }
}

std::span<const double> Accumulator::finish() {
    if (operation_ == SummaryOperator::Mean && parts_ > 1) {
        for (double& value : values_) value /= static_cast<double>(parts_);
    }
    return values_;
}

void Accumulator::reset() {
    std::fill(values_.begin(), values_.end(), 0);
    parts_ = 0;
}

DocumentReader::DocumentReader(NgramFinder& finder, const Memo& memo, SummaryOperators operators,
                               double alpha)
    : finder_(finder), memo_(memo), alpha_(alpha), levels_(operators, memo.labels()) {}

void DocumentReader::read(std::span<const Symbol> symbols, std::span<const std::size_t> ends,
                          double* out) {
    std::size_t document = 0;
    const auto finish_document = [&] {
        const std::span<const double> values = finish(nullptr);
        out = std::copy(values.begin(), values.end(), out);
        levels_.reset();
        ++document;
    };
    levels_.reset();
    // No n-gram reaches into the next document, as there is a mark between them.
    for (std::size_t at = 0; at < symbols.size();) {
        at = finder_.choose_block(symbols, at);
        for (const Choice& choice : finder_.choices()) {
            while (choice.position >= ends[document]) finish_document();
            take(choice, nullptr, nullptr);
        }
    }
    while (document < ends.size()) finish_document();
}

std::span<const double> DocumentReader::read(std::span<const Symbol> symbols,
                                             const TermBatch& batch, Reading& reading) {
    levels_.reset();
    for (std::size_t at = 0; at < symbols.size();) {
        at = finder_.choose_block(symbols, at);
        for (const Choice& choice : finder_.choices()) take(choice, &batch, &reading);
    }
    return finish(&reading);
}

void DocumentReader::take(const Choice& choice, const TermBatch* batch, Reading* reading) {
    if (choice.entry != nullptr) {
        levels_.add(memo_.confidences(*choice.entry), alpha_);
        if (reading != nullptr) record_ngram(choice, *batch, *reading);
    } else {
        end_sentence(reading);
        if (choice.ngram == kParagraphEnd) end_paragraph(reading);
    }
}

std::span<const double> DocumentReader::finish(Reading* reading) {
    end_sentence(reading);
    end_paragraph(reading);
    return levels_.finish();
}

void DocumentReader::record_ngram(const Choice& choice, const TermBatch& batch,
                                  Reading& reading) const {
    const std::size_t last = choice.position + choice.length - 1;
    std::string words;
    for (std::size_t at = choice.position; at <= last; ++at) {
        if (at > choice.position) words += ' ';
        words += batch.words.word(batch.symbols[at]);
    }
    const Span span{batch.spans[choice.position].start, batch.spans[last].end};
    reading.ngrams.push_back({{span, reading.sentences.size()},
                              choice.length,
                              choice.ngram,
                              std::move(words),
                              choice.position});
}

void DocumentReader::end_sentence(Reading* reading) {
    levels_.end_sentence([reading](std::span<const double> values) {
        if (reading == nullptr) return;
        reading->sentences.push_back({{0, 0}, reading->paragraphs.size()});
        reading->sentence_values.insert(reading->sentence_values.end(), values.begin(),
                                        values.end());
    });
}

void DocumentReader::end_paragraph(Reading* reading) {
    levels_.end_paragraph([reading](std::span<const double> values) {
        if (reading == nullptr) return;
        reading->paragraphs.push_back({{0, 0}, 0});
        reading->paragraph_values.insert(reading->paragraph_values.end(), values.begin(),
                                         values.end());
    });
}

void set_block_spans(const TermBatch& document, Reading& reading) {
    struct Extent {
        Span span{0, 0};
        bool terms = false, words = false;

        void include(Span term, bool word) {
            if (!terms) span.start = term.start;
            span.end = term.end;
            terms = true;
            words = words || word;
        }
    };
    Extent sentence, paragraph;
    std::size_t sentences = 0, paragraphs = 0;
    for (std::size_t at = 0; at < document.symbols.size(); ++at) {
        const Symbol symbol = document.symbols[at];
        if (symbol != kSentenceEnd && symbol != kParagraphEnd) {
            sentence.include(document.spans[at], is_word(symbol));
            paragraph.include(document.spans[at], is_word(symbol));
            continue;
        }
        if (sentence.words) reading.sentences[sentences++].span = sentence.span;
        sentence = Extent{};
        if (symbol == kSentenceEnd) continue;
        if (paragraph.words) reading.paragraphs[paragraphs++].span = paragraph.span;
        paragraph = Extent{};
    }
}

}  // namespace watchword
