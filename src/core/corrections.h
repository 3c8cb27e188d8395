// Corrections of the counted values (refine.h): a weight per n-gram and label where it was counted,
// and a bias per label. They belong to the n-grams of one Counts by their ids, or lie beside the
// counts of a file. A weight takes the place of a count in a Cell, as the bits of a float.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cells.h"
#include "counts.h"
#include "mapped.h"
#include "pages.h"

namespace watchword {

// What was fitted beside the weights, and how.
struct Fit {
    double decay = 0;        // γ: factor of an n-gram's weight per word after the first
    double strength = 0;     // κ: the mean counted score of a text's own labels
    double cost = 0;         // C
    double bias = 0;         // β: squared weight of the bias
    double margins = 0;      // the sum of the texts' counted scores for their own labels, unscaled
    Count texts = 0;         // how many texts were fitted
    Count documents = 0;     // learnt by the model when it was fitted
    double temperature = 1;  // of the probabilities

    // k: what the counted values are multiplied by.
    double scale() const {
        return margins > 0 ? strength * static_cast<double>(texts) / margins : 0;
    }
};

class Corrections {
   public:
    Corrections() = default;
    // With room for a weight of every n-gram.
    explicit Corrections(const Counts& counts);
    // Over a file: the weights lie beside its counts.
    explicit Corrections(std::shared_ptr<const MappedTree> tree) : mapped_(std::move(tree)) {}

    Fit fit;

    double bias(LabelId label) const { return label < biases_.size() ? biases_[label] : 0; }
    void set_bias(LabelId label, double bias);

    // The weights of an n-gram: entries by ascending label, read with the functions below. In place
    // or, from a file, in `room`.
    std::span<const LabelCount> row(unsigned length, NgramId ngram,
                                    std::vector<LabelCount>& room) const;
    // The same in two steps, so that the memory of many n-grams is fetched at once: where the
    // weights are, then the row. Places are valid until the weights change.
    struct Place {
        const Cell* cell = nullptr;  // null: there are no weights, or they are in a file
        const RowPool* pool = nullptr;

        void prefetch_row() const {
            if (cell != nullptr) cell->prefetch_row(*pool);
        }
    };
    Place place_of(unsigned length, NgramId ngram) const;
    std::span<const LabelCount> row(Place place, unsigned length, NgramId ngram,
                                    std::vector<LabelCount>& room) const;
    static LabelCount entry_of(LabelId label, float weight) {
        return {label + 1, std::bit_cast<std::uint32_t>(weight)};
    }
    static LabelId label_of(LabelCount entry) { return entry.label() - 1; }
    static float weight_of(LabelCount entry) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(entry.count()));
    }
    float weight(unsigned length, NgramId ngram, LabelId label,
                 std::vector<LabelCount>& room) const;

    void set(unsigned length, NgramId ngram, LabelId label, float weight);
    // Sets all weights, by ascending label, of an n-gram without any.
    void fill(unsigned length, NgramId ngram, std::span<const LabelCount> row);
    // Adds x times the step of each label, by id, under which the n-gram is counted.
    void add(unsigned length, NgramId ngram, std::span<const LabelCount> counts, double x,
             std::span<const double> steps);
    // Forgets a label, whose id may be given to another one.
    void forget(LabelId label);

    // The same corrections for counts that have other ids.
    Corrections moved(const Counts& from, const Counts& to) const;
    // The mean of two, for counts that have the n-grams of both.
    static Corrections averaged(const Corrections& one, const Counts& of_one,
                                const Corrections& other, const Counts& of_other,
                                const Counts& both);

   private:
    static constexpr std::size_t kShards = Counts::kShards;

    // Of single words, then of each shard.
    struct Part {
        Table<Cell> cells;
        RowPool pool;
    };
    Cell& writable_cell(unsigned length, NgramId ngram);
    static std::size_t part_of(unsigned length, NgramId ngram) {
        return length == 1 ? kShards : ngram >> 24;
    }
    const Part& part(unsigned length, NgramId ngram) const {
        return parts_[part_of(length, ngram)];
    }
    static std::size_t index(unsigned length, NgramId ngram) {
        return length == 1 ? ngram : Counts::node_index(ngram);
    }

    std::shared_ptr<const MappedTree> mapped_;
    std::array<Part, kShards + 1> parts_;
    std::vector<double> biases_;  // by label id
};

// Inline: these are called for every n-gram of a text.

inline Corrections::Place Corrections::place_of(unsigned length, NgramId ngram) const {
    if (mapped_) return {};
    const Part& own = part(length, ngram);
    const std::size_t at = index(length, ngram);
    if (at >= own.cells.size()) return {};
    prefetch(&own.cells[at]);
    return {&own.cells[at], &own.pool};
}

inline std::span<const LabelCount> Corrections::row(Place place, unsigned length, NgramId ngram,
                                                    std::vector<LabelCount>& room) const {
    if (place.cell != nullptr) return place.cell->row(*place.pool);
    if (!mapped_) return {};
    mapped_->read_weights(length, mapped_->place(length, ngram), room);
    return room;
}

inline std::span<const LabelCount> Corrections::row(unsigned length, NgramId ngram,
                                                    std::vector<LabelCount>& room) const {
    return row(place_of(length, ngram), length, ngram, room);
}

}  // namespace watchword
