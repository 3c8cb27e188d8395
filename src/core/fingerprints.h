// The documents that were learnt, each as a number of 64 bits: those that are known need no further
// check before they are unlearnt. Fingerprints depend on the seed of the process and on ids of
// words, so they are neither saved nor merged; without them, the counts tell.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cells.h"
#include "tally.h"
#include "text.h"

namespace watchword {

using Fingerprint = std::uint64_t;

// Of a document whose words have the ids of a model. Another document has another fingerprint, but
// for chance; the seed keeps anyone from looking for one that has not.
inline Fingerprint fingerprint_of(std::span<const Symbol> document, LabelId label) {
    Fingerprint fingerprint = hash_pair(label, document.size() % 2);
    std::size_t at = 0;
    for (; at + 1 < document.size(); at += 2) {
        const std::uint64_t two = std::uint64_t{document[at]} << 32 | document[at + 1];
        fingerprint = mix(fingerprint ^ two, kHashSeed.second);
    }
    return at == document.size() ? fingerprint : mix(fingerprint ^ document[at], kHashSeed.second);
}

class Fingerprints {
   public:
    bool hold(Fingerprint document) const { return table_of(document).get(document, 0) > 0; }
    void add(Fingerprint document) { table_of(document).add(document, 0, 1); }
    void remove(Fingerprint document) { table_of(document).add(document, 0, -1); }
    void clear() { tables_ = {}; }

   private:
    // Many small tables, so that growing one of them is fast.
    static constexpr std::size_t kTables = 256;
    Tally& table_of(Fingerprint document) { return tables_[document % kTables]; }
    const Tally& table_of(Fingerprint document) const { return tables_[document % kTables]; }

    std::array<Tally, kTables> tables_;
};

}  // namespace watchword
