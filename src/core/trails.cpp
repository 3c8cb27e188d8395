#include "trails.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "hash.h"
#include "model.h"
#include "reading_rule.h"
#include "summary.h"

namespace watchword {
namespace {

constexpr std::size_t kMaxSteps = ~std::uint32_t{0} - kMaxNgramLimit;

}  // namespace

struct Trails::Workspace {
    Valuer valuer;
    ValueRow row;
    ConfidenceStore store;
    std::vector<ConfidenceStore::Entry> entries;  // by row
    LargestValues largest;
    WordsEvidence evidence;
    std::vector<double> confidences;
    std::vector<double> word_values;  // gv, beside positions_, where words matter
};

// Finds the row of an n-gram, or adds it.
class Trails::Interner {
   public:
    Interner(Trails& trails, const Counts& counts, std::vector<Row>& rows, bool words_matter)
        : trails_(trails), counts_(counts), rows_(rows), words_matter_(words_matter) {}

    RowId row_of(unsigned length, NgramId ngram) {
        const std::uint64_t key = std::uint64_t{length} << 32 | ngram;
        const auto [known, added] = of_ngram_.try_emplace(key, 0);
        if (added) {
            // Words first: rows of words may be added meanwhile, and `known` would move.
            const RowId row = intern(length, ngram);
            of_ngram_[key] = row;
            return row;
        }
        return known->second;
    }

   private:
    RowId intern(unsigned length, NgramId ngram) {
        std::vector<RowId> words;
        if (words_matter_ && length > 1) {
            for (const WordId word : counts_.words_of(length, ngram)) {
                words.push_back(row_of(1, word));
            }
        }
        entries_.clear();
        for (const LabelCount entry : counts_.row(length, ngram, room_)) {
            entries_.emplace_back(counts_.labels().position(entry.label()), entry.count());
        }
        std::sort(entries_.begin(), entries_.end());
        std::uint64_t hash = length;
        for (const auto& [position, count] : entries_) {
            hash = hash * kMultiplier + (std::uint64_t{position} << 40 | count);
            hash ^= hash >> 29;
        }
        for (const RowId word : words) hash = (hash + word) * kMultiplier;
        const auto [first, last] = by_hash_.equal_range(hash);
        for (auto found = first; found != last; ++found) {
            if (is_same(rows_[found->second], length, words)) return found->second;
        }
        const auto row = static_cast<RowId>(rows_.size());
        rows_.push_back({length, static_cast<std::uint32_t>(entries_.size()),
                         trails_.positions_.size(), trails_.words_.size()});
        for (const auto& [position, count] : entries_) {
            trails_.positions_.push_back(position);
            trails_.counts_.push_back(count);
        }
        trails_.words_.insert(trails_.words_.end(), words.begin(), words.end());
        by_hash_.emplace(hash, row);
        return row;
    }

    bool is_same(const Row& row, unsigned length, const std::vector<RowId>& words) const {
        if (row.length != length || row.size != entries_.size()) return false;
        for (std::size_t at = 0; at < entries_.size(); ++at) {
            if (trails_.positions_[row.begin + at] != entries_[at].first) return false;
            if (trails_.counts_[row.begin + at] != entries_[at].second) return false;
        }
        return std::equal(words.begin(), words.end(),
                          trails_.words_.begin() + static_cast<std::ptrdiff_t>(row.words));
    }

    static constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;

    Trails& trails_;
    const Counts& counts_;
    std::vector<Row>& rows_;
    const bool words_matter_;
    std::unordered_map<std::uint64_t, RowId> of_ngram_;
    std::unordered_multimap<std::uint64_t, RowId> by_hash_;
    std::vector<std::pair<LabelPosition, Count>> entries_;
    std::vector<LabelCount> room_;
};

// The n-grams at one place, with the values of the moment.
class Trails::Path {
   public:
    Path(const Trails& trails, const Workspace& workspace, std::size_t at, unsigned max_ngram)
        : trails_(trails),
          workspace_(workspace),
          place_(trails.places_.data() + at),
          steps_(trails.steps_.data() + place_->steps),
          matched_(std::min<unsigned>(place_->matched, max_ngram)) {}

    bool has(unsigned length) const { return length <= matched_; }
    const ConfidenceStore::Entry& word(unsigned offset) const {
        return workspace_.entries[trails_.steps_[place_[offset].steps]];
    }
    const ConfidenceStore::Entry* above(unsigned length, double floor) const {
        const ConfidenceStore::Entry* entry = &workspace_.entries[steps_[length - 1]];
        return entry->best > floor ? entry : nullptr;
    }
    ConfidenceRow confidences(const ConfidenceStore::Entry& entry) const {
        return workspace_.store.confidences(entry);
    }
    template <class Visit>
    void labels_of(unsigned length, const Visit& visit) const {
        const Row& row = trails_.rows_[steps_[length - 1]];
        for (std::size_t at = 0; at < row.size; ++at) visit(trails_.positions_[row.begin + at]);
    }

   private:
    const Trails& trails_;
    const Workspace& workspace_;
    const Place* place_;
    const RowId* steps_;
    unsigned matched_;
};

Trails::Trails(const Counts& counts, std::span<const Symbol> symbols,
               std::span<const std::size_t> ends, unsigned max_ngram, Needs needs)
    : labels_(counts.labels().sorted_names()),
      max_ngram_(max_ngram),
      needs_(needs),
      scale_(counts.scale()) {
    Interner interner(*this, counts, rows_, needs.words);
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
        walk(counts, symbols.subspan(begin, end - begin), interner);
        ends_.push_back(places_.size());
        begin = end;
    }
    if (!needs.largest_values) return;
    Interner all(*this, counts, every_, false);
    counts.for_each([&](unsigned length, NgramId ngram) { all.row_of(length, ngram); });
}

Trails::~Trails() = default;

void Trails::walk(const Counts& counts, std::span<const Symbol> symbols, Interner& interner) {
    for (std::size_t at = 0; at < symbols.size(); ++at) {
        const Symbol symbol = symbols[at];
        if (symbol == kBreak) continue;  // its only effect: no n-gram crosses it
        if (symbol == kSentenceEnd || symbol == kParagraphEnd) {
            const bool sentence = symbol == kSentenceEnd;
            places_.push_back(
                {sentence ? Place::Kind::SentenceEnd : Place::Kind::ParagraphEnd, 0, 0});
            continue;
        }
        if (symbol == kUnknownWord) {
            places_.push_back({Place::Kind::Unknown, 0, 0});
            continue;
        }
        if (steps_.size() > kMaxSteps)
            throw std::length_error("too much text to be followed at once");
        Place place{Place::Kind::Known, 1, static_cast<std::uint32_t>(steps_.size())};
        steps_.push_back(interner.row_of(1, symbol));
        NgramId ngram = symbol;
        for (unsigned length = 2; length <= max_ngram_; ++length) {
            const std::size_t last = at + length - 1;
            if (last >= symbols.size() || !is_word(symbols[last])) break;
            ngram = counts.find_extension(length - 1, ngram, symbols[last]);
            if (ngram == Counts::kNone) break;
            steps_.push_back(interner.row_of(length, ngram));
            place.matched = static_cast<std::uint8_t>(length);
        }
        places_.push_back(place);
    }
}

std::vector<double> Trails::confidence(const Parameters& parameters) const {
    const ConfidenceFunction function = parameters.confidence_function;
    const bool normalised = function != ConfidenceFunction::Gv;
    if (parameters.max_ngram > max_ngram_ || (normalised && !needs_.largest_values) ||
        (function == ConfidenceFunction::NormGvXai && !needs_.words)) {
        throw std::invalid_argument("these trails were not made for such parameters");
    }
    std::vector<double> values(documents() * labels_.size());
    std::unique_ptr<Workspace> workspace = take_workspace();
    value_rows(parameters, *workspace);
    read(parameters, *workspace, values.data());
    const std::lock_guard guard(idle_mutex_);
    idle_.push_back(std::move(workspace));
    return values;
}

std::unique_ptr<Trails::Workspace> Trails::take_workspace() const {
    const std::lock_guard guard(idle_mutex_);
    if (idle_.empty()) return std::make_unique<Workspace>();
    std::unique_ptr<Workspace> workspace = std::move(idle_.back());
    idle_.pop_back();
    return workspace;
}

void Trails::value_rows(const Parameters& parameters, Workspace& workspace) const {
    const ConfidenceFunction function = parameters.confidence_function;
    workspace.valuer.prepare(scale_, parameters);
    const auto value = [&](const Row& row) -> const ValueRow& {
        ValueRow& values = workspace.row;
        values.resize(row.size);
        std::copy_n(positions_.begin() + static_cast<std::ptrdiff_t>(row.begin), row.size,
                    values.position.begin());
        std::copy_n(counts_.begin() + static_cast<std::ptrdiff_t>(row.begin), row.size,
                    values.count.begin());
        workspace.valuer.value(row.length, values);
        return values;
    };
    const bool normalised = function != ConfidenceFunction::Gv;
    if (normalised) {
        workspace.largest.assign(scale_.largest.size(), std::vector<double>(labels_.size(), 0));
        for (const Row& row : every_) raise_largest(workspace.largest, row.length, value(row));
    }
    const bool by_words = function == ConfidenceFunction::NormGvXai;
    if (by_words) {
        workspace.word_values.resize(positions_.size());
        for (const Row& row : rows_) {
            if (row.length > 1) continue;
            const ValueRow& values = value(row);
            std::copy(values.gv.begin(), values.gv.end(),
                      workspace.word_values.begin() + static_cast<std::ptrdiff_t>(row.begin));
        }
    }
    workspace.store.clear(labels_.size());
    workspace.entries.assign(rows_.size(), {});
    for (std::size_t at = 0; at < rows_.size(); ++at) {
        const Row& row = rows_[at];
        if (row.length > parameters.max_ngram) continue;
        const ValueRow& values = value(row);
        if (!normalised) {
            workspace.entries[at] = workspace.store.add(values.position, values.gv);
            continue;
        }
        workspace.evidence.reset(labels_.size());
        for (unsigned word = 0; by_words && row.length > 1 && word < row.length; ++word) {
            const Row& own = rows_[words_[row.words + word]];
            workspace.evidence.add({positions_.data() + own.begin, own.size},
                                   {workspace.word_values.data() + own.begin, own.size});
        }
        confidences_of(values, row.length, workspace.largest, workspace.evidence, function,
                       workspace.confidences);
        workspace.entries[at] = workspace.store.add(values.position, workspace.confidences);
    }
}

void Trails::read(const Parameters& parameters, Workspace& workspace, double* out) const {
    Levels levels(parameters.summary, labels_.size());
    const auto ignore = [](std::span<const double>) {};
    std::size_t at = 0;
    for (const std::size_t end : ends_) {
        levels.reset();
        while (at < end) {
            switch (places_[at].kind) {
                case Place::Kind::Known: {
                    Path path(*this, workspace, at, parameters.max_ngram);
                    const Chosen chosen =
                        choose(path, parameters.alpha, parameters.reading, labels_.size());
                    levels.add(path.confidences(*chosen.entry), parameters.alpha);
                    at += chosen.length;
                    continue;
                }
                case Place::Kind::Unknown:
                    levels.add({nullptr, nullptr, 0}, parameters.alpha);
                    break;
                case Place::Kind::ParagraphEnd:
                    levels.end_sentence(ignore);
                    levels.end_paragraph(ignore);
                    break;
                case Place::Kind::SentenceEnd: levels.end_sentence(ignore); break;
            }
            ++at;
        }
        levels.end_sentence(ignore);
        levels.end_paragraph(ignore);
        const std::span<const double> values = levels.finish();
        out = std::copy(values.begin(), values.end(), out);
    }
}

}  // namespace watchword
