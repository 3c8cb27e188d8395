#include "summary.h"

#include <algorithm>

namespace watchword {

void Accumulator::add(std::span<const Confidence> part, double alpha) {
    ++parts_;
    for (const Confidence& entry : part) {
        if (entry.cv <= alpha) continue;
        double& value = values_[entry.position];
        value = operation_ == SummaryOperator::Max ? std::max(value, entry.cv) : value + entry.cv;
    }
}

void Accumulator::add(std::span<const double> part) {
    ++parts_;
    if (operation_ == SummaryOperator::Max) {
        for (std::size_t at = 0; at < part.size(); ++at) {
            values_[at] = std::max(values_[at], part[at]);
        }
    } else {
        for (std::size_t at = 0; at < part.size(); ++at) values_[at] += part[at];
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

DocumentReader::DocumentReader(Parser& parser, const Memo& memo, SummaryOperators operators,
                               double alpha)
    : parser_(parser),
      memo_(memo),
      alpha_(alpha),
      sentence_(operators[0], memo.labels()),
      paragraph_(operators[1], memo.labels()),
      document_(operators[2], memo.labels()) {}

std::span<const double> DocumentReader::read(std::span<const Symbol> symbols,
                                             const TermBatch* batch, Reading* reading) {
    document_.reset();
    parser_.walk(symbols);
    std::size_t at = 0;
    while (at < symbols.size()) {
        const Symbol symbol = symbols[at];
        if (symbol == kSentenceEnd || symbol == kParagraphEnd) {
            end_sentence(reading);
            if (symbol == kParagraphEnd) end_paragraph(reading);
            ++at;
        } else if (symbol == kBreak) {
            ++at;
        } else {
            const Choice choice = parser_.choose(at);
            sentence_.add(memo_.confidences(choice.entry), alpha_);
            if (reading != nullptr) {
                std::string words;
                for (std::size_t word = at; word < at + choice.length; ++word) {
                    if (word > at) words += ' ';
                    words += batch->words.word(batch->symbols[word]);
                }
                const Span span{batch->spans[at].start, batch->spans[at + choice.length - 1].end};
                reading->ngrams.push_back({{span, reading->sentences.size()},
                                           choice.length,
                                           choice.ngram,
                                           std::move(words)});
            }
            at += choice.length;
        }
    }
    end_sentence(reading);
    end_paragraph(reading);
    return document_.finish();
}

void DocumentReader::end_sentence(Reading* reading) {
    if (sentence_.parts() == 0) return;
    const std::span<const double> values = sentence_.finish();
    paragraph_.add(values);
    if (reading != nullptr) {
        reading->sentences.push_back({{0, 0}, reading->paragraphs.size()});
        reading->sentence_values.insert(reading->sentence_values.end(), values.begin(),
                                        values.end());
    }
    sentence_.reset();
}

void DocumentReader::end_paragraph(Reading* reading) {
    if (paragraph_.parts() == 0) return;
    const std::span<const double> values = paragraph_.finish();
    document_.add(values);
    if (reading != nullptr) {
        reading->paragraphs.push_back({{0, 0}, 0});
        reading->paragraph_values.insert(reading->paragraph_values.end(), values.begin(),
                                         values.end());
    }
    paragraph_.reset();
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
