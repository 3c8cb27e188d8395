// Adding documents: the part of Counts that learns (Algorithm 1).
#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "counts.h"
#include "parallel.h"
#include "seen.h"

namespace watchword {

struct Counts::Item {
    std::uint32_t position;
    std::uint32_t document;
};

struct Counts::Sorted {
    std::vector<Item> items;
    std::array<std::size_t, kShards + 1> begin{};

    std::span<const Item> of(std::size_t shard) const {
        return {items.data() + begin[shard], begin[shard + 1] - begin[shard]};
    }
};

struct Counts::Lesson {
    TermBatch* batch;
    std::span<const LabelId> labels;        // by document
    std::vector<Item> first_words;          // of each document; only where documents are counted
    std::vector<Fingerprint> fingerprints;  // by document
    std::vector<WordId> ids;                // of the batch's words
    Sorted sorted;
};

// Reused from shard to shard. Not thread_local, which takes a call for every access.
struct alignas(64) Counts::Room {
    // The n-grams to count next: where they begin, in which document, and how to find them.
    struct Open {
        std::uint32_t position;
        std::uint32_t document;
        Trie::Key key;
        std::uint64_t hash;
    };
    std::vector<Open> open;
    SeenNodes seen;
};

namespace {

constexpr unsigned kThreadsPerWordTask = 4;

// Calls visit(position, document) for every word of a batch.
template <class Visit>
void for_each_word(const TermBatch& batch, const Visit& visit) {
    for (std::size_t document = 0; document < batch.documents(); ++document) {
        for (std::size_t at = batch.begin_of(document); at < batch.ends[document]; ++at) {
            if (is_word(batch.symbols[at])) visit(at, document);
        }
    }
}

}  // namespace

void Counts::learn(std::span<TermBatch> batches, std::span<const LabelId> labels,
                   unsigned threads) {
    // Several threads have leaders of their own, which take memory and time for every label.
    std::size_t symbols = 0;
    for (const TermBatch& batch : batches) symbols += batch.symbols.size();
    const std::size_t useful = 1 + symbols / std::max<std::size_t>(labels_.size(), 1);
    threads = static_cast<unsigned>(std::clamp<std::size_t>(threads, 1, std::min(kShards, useful)));
    forget_unlearn_index_before(batches);
    grow_label_columns();
    std::vector<Lesson> lessons(batches.size());
    std::size_t first = 0;
    for (std::size_t at = 0; at < batches.size(); ++at) {
        lessons[at].batch = &batches[at];
        lessons[at].labels = labels.subspan(first, batches[at].documents());
        first += batches[at].documents();
    }
    Added added;
    try {
        added = prepare_all(lessons, threads);
    } catch (...) {
        for (const Lesson& lesson : lessons) take_back_words(lesson);
        throw;
    }

    // One thread writes the leaders directly, so that a document costs nothing per label. Others
    // make their own, in memory that no other thread writes to.
    std::vector<Room> rooms(threads);
    std::vector<std::optional<Leaders>> found(threads > 1 ? threads : 0);
    const auto leaders_of = [&](unsigned thread) -> Leaders& {
        if (threads <= 1) return leaders_;
        if (!found[thread]) found[thread] = leaders_.fork();
        return *found[thread];
    };
    // Single words are tasks of their own, and come first because they take longest. Every such
    // task scans all words, so that there are as few as can keep up with the shards. One more adds
    // the fingerprints.
    const unsigned word_tasks = 1 + (threads - 1) / kThreadsPerWordTask;
    const std::size_t tasks = word_tasks + 1 + (max_ngram_ > 1 ? kShards : 0);
    complete_ = false;
    parallel_for(tasks, threads, [&](std::size_t task, unsigned thread) {
        if (task == word_tasks) return add_fingerprints(lessons);
        if (task > word_tasks) {
            const std::size_t shard = task - word_tasks - 1;
            return learn_shard(shards_[shard], lessons, shard, leaders_of(thread), rooms[thread]);
        }
        for (const Lesson& lesson : lessons) {
            learn_words(lesson, static_cast<unsigned>(task), word_tasks, leaders_of(thread));
        }
    });
    for (const std::optional<Leaders>& part : found) {
        if (part) leaders_.join(*part, *this);
    }
    for (const auto& [label, more] : added) {
        totals_[label].documents += more.documents;
        totals_[label].words += more.words;
    }
    complete_ = true;
    with_index([&] { note_learnt(lessons); });
}

// Returns what will be added to the totals. Nothing is counted before it is certain that everything
// can be.
Counts::Added Counts::prepare_all(std::span<Lesson> lessons, unsigned threads) {
    // One thread at a time adopts words, batch after batch, while others prepare what has its ids.
    std::mutex adopting;
    std::size_t adopted = 0;
    std::vector<std::vector<Count>> words_in(lessons.size());  // by document
    parallel_for(lessons.size(), threads, [&](std::size_t at, unsigned) {
        {
            const std::lock_guard guard(adopting);
            for (; adopted <= at; ++adopted) adopt_words(lessons[adopted]);
        }
        words_in[at] = prepare(lessons[at]);
    });
    Added added;
    for (std::size_t at = 0; at < lessons.size(); ++at) {
        for (std::size_t document = 0; document < words_in[at].size(); ++document) {
            LabelTotals& own = added[lessons[at].labels[document]];
            own.documents += lessons[at].batch->counted_as(document);
            own.words += words_in[at][document];
        }
    }
    for (const auto& [label, more] : added) check_totals_fit(totals_[label], more);
    for (std::size_t shard = 0; shard < kShards && max_ngram_ > 1; ++shard) {
        check_room(shard, lessons);
    }
    return added;
}

// Only of documents that can be unlearnt: those learnt with all their n-grams.
void Counts::add_fingerprints(std::span<const Lesson> lessons) {
    try {
        for (const Lesson& lesson : lessons) {
            if (lesson.batch->longest > 0) continue;
            for (std::size_t document = 0; document < lesson.fingerprints.size(); ++document) {
                if (lesson.batch->counted_as(document) != 1) continue;
                learnt_.add(lesson.fingerprints[document]);
            }
        }
    } catch (const std::bad_alloc&) {
        learnt_.clear();
    }
}

// Recording every n-gram of many documents costs more than building the index again.
void Counts::forget_unlearn_index_before(std::span<const TermBatch> batches) {
    constexpr std::size_t kShare = 4;
    std::size_t occurrences = 0;
    bool shortened = false;  // the index takes every document for one with all its n-grams
    for (const TermBatch& batch : batches) {
        occurrences += batch.symbols.size() * max_ngram_;
        shortened = shortened || batch.longest > 0;
    }
    if (shortened || occurrences > std::max(kFewNgrams, size() / kShare)) forget_unlearn_index();
}

void Counts::note_learnt(std::span<const Lesson> lessons) {
    std::unordered_map<LabelId, std::vector<Document>> documents;
    for (const Lesson& lesson : lessons) {
        for (std::size_t at = 0; at < lesson.batch->documents(); ++at) {
            documents[lesson.labels[at]].push_back(lesson.batch->document(at));
        }
    }
    for (const auto& [label, own] : documents) note(uses_of(own, label), label, Change::Learnt);
}

void Counts::adopt_words(Lesson& lesson) {
    const Vocabulary& words = lesson.batch->words;
    lesson.ids.reserve(words.id_limit());
    // Before any word is added: there is none without a cell.
    word_cells_.resize(std::size_t{words_.id_limit()} + words.id_limit());
    constexpr WordId kAhead = 8;
    for (WordId id = 0; id < words.id_limit(); ++id) {
        if (id + kAhead < words.id_limit()) {
            words_.prefetch_word(hash_word(words.padded(id + kAhead)));
        }
        const PaddedWord word = words.padded(id);
        lesson.ids.push_back(words_.find_or_add(word, hash_word(word)));
    }
}

// Removes the words that were added for a lesson that is not learnt: those without counts.
void Counts::take_back_words(const Lesson& lesson) {
    for (const WordId word : lesson.ids) {
        if (words_.holds(word) && word_cells_[word].empty()) remove_word(word);
    }
}

// Gives a batch the word ids of this vocabulary. Returns how many words of each document count.
std::vector<Count> Counts::prepare(Lesson& lesson) const {
    TermBatch& batch = *lesson.batch;
    batch.is_learnt = true;
    if (counting_ == Counting::Documents) lesson.first_words = first_words(batch);
    std::vector<Count> words(batch.documents(), 0);
    lesson.fingerprints.reserve(batch.documents());
    for (std::size_t document = 0; document < batch.documents(); ++document) {
        Count read = 0;
        for (std::size_t at = batch.begin_of(document); at < batch.ends[document]; ++at) {
            Symbol& symbol = batch.symbols[at];
            if (!is_word(symbol)) continue;
            symbol = lesson.ids[symbol];
            ++read;
        }
        if (counting_ == Counting::Occurrences) words[document] = read;
        lesson.fingerprints.push_back(
            fingerprint_of(batch.document(document), lesson.labels[document]));
    }
    for (const Item item : lesson.first_words) ++words[item.document];
    if (max_ngram_ > 1) lesson.sorted = sort_by_shard(batch);
    return words;
}

// Where each word stands first in each document, while its id is still the batch's own.
std::vector<Counts::Item> Counts::first_words(const TermBatch& batch) {
    std::vector<Item> first;
    std::vector<std::size_t> latest(batch.words.id_limit(), 0);  // document, from 1, by word
    for_each_word(batch, [&](std::size_t at, std::size_t document) {
        if (std::exchange(latest[batch.symbols[at]], document + 1) == document + 1) return;
        first.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(document)});
    });
    return first;
}

Counts::Sorted Counts::sort_by_shard(const TermBatch& batch) {
    const std::vector<Symbol>& symbols = batch.symbols;
    const auto begins_bigram = [&symbols](std::size_t at) {
        return at + 1 < symbols.size() && is_word(symbols[at + 1]);
    };
    const auto shard_at = [&symbols](std::size_t at) {
        return shard_index(Trie::Key::of_bigram(symbols[at], symbols[at + 1]).hash());
    };
    Sorted sorted;
    for_each_word(batch, [&](std::size_t at, std::size_t) {
        if (begins_bigram(at)) ++sorted.begin[shard_at(at) + 1];
    });
    for (std::size_t shard = 0; shard < kShards; ++shard) {
        sorted.begin[shard + 1] += sorted.begin[shard];
    }
    sorted.items.resize(sorted.begin[kShards]);
    std::array<std::size_t, kShards> next;
    std::copy_n(sorted.begin.begin(), kShards, next.begin());
    for_each_word(batch, [&](std::size_t at, std::size_t document) {
        if (!begins_bigram(at)) return;
        sorted.items[next[shard_at(at)]++] = {static_cast<std::uint32_t>(at),
                                              static_cast<std::uint32_t>(document)};
    });
    return sorted;
}

void Counts::learn_words(const Lesson& lesson, unsigned part, unsigned parts, Leaders& all) {
    Leaders::Length leaders = all.of_length(1, *this);
    const Symbol* const symbols = lesson.batch->symbols.data();
    const LabelId* const labels = lesson.labels.data();
    const auto learn = [&](std::size_t at, std::size_t document) {
        const WordId word = symbols[at];
        if (parts > 1 && word % kWordPools % parts != part) return;
        const LabelId label = labels[document];
        const Count count = word_cells_[word].add(label, 1, word_pool(word));
        leaders.rise(label, word, count - 1, count);
    };
    if (counting_ == Counting::Occurrences) return for_each_word(*lesson.batch, learn);
    for (const Item item : lesson.first_words) learn(item.position, item.document);
}

// Throws if these n-grams might not fit into their shard. Where even so many occurrences do not
// tell (a text may repeat two words a million times), a copy of the shard finds out.
void Counts::check_room(std::size_t shard, std::span<const Lesson> lessons) const {
    std::size_t occurrences = 0;
    for (const Lesson& lesson : lessons) {
        occurrences += lesson.sorted.of(shard).size() * (max_ngram_ - 1);
    }
    if (occurrences <= shards_[shard].room()) return;
    Trie trial = shards_[shard];
    Leaders unused = leaders_.fork();
    unused.fix_all(kMaxCount);  // nothing enters: the trial has other n-grams
    Room room;
    learn_shard(trial, lessons, shard, unused, room);
}

void Counts::learn_shard(Trie& trie, std::span<const Lesson> lessons, std::size_t shard,
                         Leaders& leaders, Room& room) const {
    for (const Lesson& lesson : lessons) {
        if (counting_ == Counting::Documents) {
            learn_ngrams<Counting::Documents>(trie, lesson, shard, leaders, room);
        } else {
            learn_ngrams<Counting::Occurrences>(trie, lesson, shard, leaders, room);
        }
    }
}

template <Counting counting>
void Counts::learn_ngrams(Trie& trie, const Lesson& lesson, std::size_t shard, Leaders& all,
                          Room& room) const {
    constexpr std::size_t kSlotAhead = 12, kNodeAhead = 6;
    std::vector<Room::Open>& open = room.open;
    const std::span<const Symbol> symbols = lesson.batch->symbols;
    const std::span<const LabelId> labels = lesson.labels;
    open.clear();
    for (const Item item : lesson.sorted.of(shard)) {
        const Symbol* at = symbols.data() + item.position;
        const Trie::Key key = Trie::Key::of_bigram(at[0], at[1]);
        open.push_back({item.position, item.document, key, key.hash()});
    }
    const unsigned longest =
        lesson.batch->longest > 0 ? std::min(lesson.batch->longest, max_ngram_) : max_ngram_;
    if (longest == 1) return;
    for (unsigned length = 2; length <= longest && !open.empty(); ++length) {
        if constexpr (counting == Counting::Documents) room.seen.expect(open.size());
        Leaders::Length leaders = all.of_length(length, *this);
        std::size_t extended = 0;
        for (std::size_t at = 0; at < open.size(); ++at) {
            if (at + kSlotAhead < open.size()) trie.prefetch_slot(open[at + kSlotAhead].hash);
            if (at + kNodeAhead < open.size()) trie.prefetch_node(open[at + kNodeAhead].hash);
            const Room::Open ngram = open[at];
            const NodeIndex node = trie.find_or_add(ngram.key, ngram.hash);
            if (counting == Counting::Occurrences || room.seen.insert(ngram.document, node)) {
                const LabelId label = labels[ngram.document];
                const Count count = trie.add(node, label, 1);
                leaders.rise(label, ngram_id(shard, node), count - 1, count);
            }
            const std::size_t next = ngram.position + length;
            if (length == longest || next >= symbols.size()) continue;
            if (!is_word(symbols[next])) continue;
            const Trie::Key key = Trie::Key::of_child(node, symbols[next]);
            open[extended++] = {ngram.position, ngram.document, key, key.hash()};
        }
        open.resize(extended);
    }
}

}  // namespace watchword
