"""The model in plain Python: slow, obvious, and written independently of the core.

One dict of counts per label stands for the paper's one prefix tree per label; a node is the tuple
of its words, its child is the tuple with one word more.  Nothing here is shared with the package.
Sums are explicit loops, because `sum` of floats is compensated from Python 3.12 on.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pyss3_reference

# --- from characters to terms ---------------------------------------------------------------------

LINE_END = re.compile("\r\n|[\n\v\f\r\x85\u2028\u2029]")
IGNORED_CONNECTORS = "\u00ad\u200c\u200d"  # soft hyphen, zero-width non-joiner and joiner
ACCENTS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
TERMINATORS = ".!?…．؟۔।॥"
UNSPACED_TERMINATORS = "。！？｡"  # scripts that write no blank after a sentence
CLOSERS = "\"')]}”’»›）］｝」』"
SENTENCE_END = re.compile(
    f"[{re.escape(TERMINATORS + UNSPACED_TERMINATORS)}]+[{re.escape(CLOSERS)}]*"
)


class Term(NamedTuple):
    """A word, or a break (word None), with its span in code points."""

    start: int
    end: int
    word: str | None


def is_word_character(character):
    return character.isalnum() or character == "_"


def is_mark(character):
    return unicodedata.category(character) in ("Mn", "Mc", "Me")


def fold(word):
    """Fold a word character by character, without context."""
    folded = ""
    for character in word:
        kept = ACCENTS.sub("", unicodedata.normalize("NFKD", character))
        for c in kept.casefold().replace("’", "'"):
            if is_word_character(c) or is_mark(c) or c == "'":
                folded += c
    return folded


def end_of_link(text, at, end):
    """Return the end of what continues the word at `at`, None if the word ends there."""
    if at == end:
        return None
    if is_word_character(text[at]) or is_mark(text[at]):
        return at + 1
    if text[at] in "'’":
        return at + 1 if at + 1 < end and is_word_character(text[at + 1]) else None
    behind = at
    while behind < end and text[behind] in IGNORED_CONNECTORS:
        behind += 1
    if at < behind < end and (is_word_character(text[behind]) or is_mark(text[behind])):
        return behind
    return None


def terms_between(text, start, end):
    """Yield the words, and one break per other non-blank character."""
    at = start
    while at < end:
        first, at = at, at + 1
        if text[first].isspace():
            continue
        if not is_word_character(text[first]):
            yield Term(first, at, None)
            continue
        while (behind := end_of_link(text, at, end)) is not None:
            at = behind
        yield Term(first, at, fold(text[first:at]) or None)


def paragraph_spans(text, paragraphs):
    """Return the spans of the lines, or of the runs of lines between blank ones."""
    spans, start = [], 0
    for line_end in LINE_END.finditer(text):
        spans.append((start, line_end.start()))
        start = line_end.end()
    spans.append((start, len(text)))
    if paragraphs == "lines":
        return spans
    runs, previous_is_blank = [], True
    for start, end in spans:
        is_blank = text[start:end].strip() == ""
        if not is_blank and previous_is_blank:
            runs.append((start, end))
        elif not is_blank:
            runs[-1] = (runs[-1][0], end)
        previous_is_blank = is_blank
    return runs


def sentence_spans(text, start, end):
    spans = []
    for match in SENTENCE_END.finditer(text, start, end):
        unspaced = any(c in UNSPACED_TERMINATORS for c in match.group())
        if unspaced or match.end() == end or text[match.end()].isspace():
            spans.append((start, match.end()))
            start = match.end()
    return [*spans, (start, end)]


def read_terms(text, paragraphs="lines"):
    """Return paragraphs of sentences of terms, without empty ones."""
    document = []
    for paragraph_start, paragraph_end in paragraph_spans(text, paragraphs):
        sentences = []
        for start, end in sentence_spans(text, paragraph_start, paragraph_end):
            terms = list(terms_between(text, start, end))
            if terms:
                sentences.append(terms)
        if sentences:
            document.append(sentences)
    return document


# --- the equations --------------------------------------------------------------------------------


def centre_and_spread(values, function="vanilla"):
    """Return the lower median and the mean absolute deviation; twice the smaller of two values.

    By "ratio" it is twice the lower median, however many values there are.
    """
    ordered = sorted(values)
    if len(ordered) == 2:
        return ordered[0], ordered[0]
    centre = ordered[(len(ordered) - 1) // 2]
    if function == "ratio" and len(ordered) > 1:
        return centre, centre
    total = 0.0
    for value in ordered:
        total += abs(centre - value)
    return centre, total / len(ordered)


def significance(local_values, index, weight, function):
    """Return sg of the label at `index`, which has seen the sequence; `weight` is λ."""
    centre, spread = centre_and_spread(local_values, function)
    if function == "xai":
        if weight * spread <= 0.03:
            spread = 0.03 / weight if weight else 0.0
        everywhere = centre > 0.2 or all(value > 0.09 for value in local_values)
        if centre >= 0.3 or (everywhere and spread <= 0.1):
            return 0.0
    if spread == 0:
        return 1.0 if local_values[index] > 0 else 0.0
    if weight == 0:  # nothing is far enough from the centre
        return 0.0
    scale, distance = weight * spread, local_values[index] - centre
    steepness = 3 / scale if scale else math.inf
    if math.isinf(steepness) and distance:
        return 1.0 if distance > 0 else 0.0
    return 0.5 * math.tanh((steepness * distance if distance else 0) - 3) + 0.5


def sanction(significances, index, weight):
    """Return sn of the label at `index`; `weight` is ρ."""
    labels = len(significances)
    if labels == 1:
        return 1.0
    others = 0.0
    for other, value in enumerate(significances):
        if other != index:
            others += value
    base = (labels - (others + 1)) / ((labels - 1) * (others + 1))
    return max(base, 0.0) ** weight


def two_means(values):
    """Return the indices of the upper of two clusters, none if all values are equal."""
    ranked = sorted(values, reverse=True)
    centres = (ranked[-1], ranked[0])
    if centres[0] == centres[1]:
        return []
    while True:
        low, high = centres
        lower = [v for v in ranked if abs(low - v) < abs(high - v)]
        upper = [v for v in ranked if not abs(low - v) < abs(high - v)]
        centres = (mean(lower) if lower else low, mean(upper) if upper else high)
        if centres == (low, high):
            return [index for index, value in enumerate(values) if value in upper]


def mean(values):
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def reduce_rows(operator, rows):
    """Reduce vectors to one, left to right."""
    if callable(operator):
        import numpy

        return [float(value) for value in operator(numpy.array(rows, dtype=float))]
    reduced = list(rows[0])
    for row in rows[1:]:
        for column, value in enumerate(row):
            if operator == "max":
                reduced[column] = max(reduced[column], value)
            else:
                reduced[column] += value
    if operator == "mean":
        reduced = [value / len(rows) for value in reduced]
    return reduced


# --- the model ------------------------------------------------------------------------------------


class Value(NamedTuple):
    """The value of a sequence in one label, with its factors."""

    count: int  # type: ignore[assignment]  # a tuple has a method of this name
    lv: float
    sg: float
    sn: float
    gv: float
    cv: float


@dataclass
class Block:
    """A piece of the text that was read: document, paragraph, sentence or n-gram."""

    kind: str
    start: int
    end: int
    value: list[float]
    blocks: list[Block] = field(default_factory=list)
    words: tuple[str, ...] = ()
    contribution: list[float] | None = None


DEFAULTS = {
    "smoothness": 0.455,
    "significance": 1.0,
    "sanction": 1.0,
    "max_ngram": 3,
    "min_count": 1,
    "alpha": 0.0,
    "prior": 0.0,
    "label_weight": 0.0,
    "ngram_scale": "length",
    "significance_function": "vanilla",
    "confidence_function": "gv",
    "reading": "paper",
    "summary": "sum",
    "default_label": None,
    "counting": "occurrences",
    "paragraphs": "lines",
    "tokenization": "unicode",
    "word_hook": None,
    "prune_period": None,
    "prune_floor": 10,
    "prune_shortest": 1,
}


def words_in(runs):
    return sum(term.word is not None for terms in runs for term in terms)


class CannotUnlearnError(Exception):
    """The document cannot have been learnt."""


class Reference:
    """τ-SS3 with the arguments of the package's model."""

    if TYPE_CHECKING:  # the parameters are attributes

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, **parameters):
        self.__dict__.update(DEFAULTS | parameters)
        if not isinstance(self.summary, dict):
            operators = dict.fromkeys(("sentence", "paragraph", "document"), self.summary)
            self.__dict__["summary"] = operators
        self.refined = False  # whether corrections are fitted around the values
        self.trees = {}  # label -> Counter of word tuples
        self.documents, self.words = Counter(), Counter()
        self.words_since_pruning = self.pruned_ngrams = self.pruned_counts = 0
        self.kept_largest = Counter()  # by label and length: counts of PySS3's that were pruned
        self.forget_values()

    def forget_values(self):
        self.known_values, self.known_largest = {}, {}

    @property
    def labels(self):
        return sorted(self.trees)

    @property
    def is_pyss3(self):
        return self.tokenization == "pyss3"

    def read_terms(self, text):
        read = pyss3_reference.read_terms if self.is_pyss3 else read_terms
        document = read(text, self.paragraphs)
        return self.hooked(document)

    def learnt_terms(self, text):
        """Return runs of terms that no n-gram leaves."""
        if not self.is_pyss3:
            return [terms for sentences in self.read_terms(text) for terms in sentences]
        return self.hooked([[pyss3_reference.clean_terms(text)]])[0]

    def hooked(self, document):
        if self.word_hook is None:
            return document
        for sentences in document:
            for terms in sentences:
                for index, term in enumerate(terms):
                    if term.word is not None:
                        terms[index] = term._replace(word=self.word_hook(term.word))
        return document

    # --- learning (Algorithm 1) ---

    def count(self, text):
        """Return how much each sequence counts in one document."""
        return self.count_terms(self.learnt_terms(text))

    def count_terms(self, runs):
        occurrences = self.occurrences(runs)
        if self.counting == "occurrences":
            return occurrences
        return Counter(dict.fromkeys(occurrences, 1))

    def occurrences(self, runs):
        """Return how often each sequence occurs in some runs of terms."""
        counts = Counter()
        for terms in runs:
            cursors = []
            for term in terms:
                if term.word is None:
                    cursors = []
                    continue
                cursors = [(*cursor, term.word) for cursor in [*cursors, ()]]
                for cursor in cursors:
                    counts[cursor] += 1
                cursors = [cursor for cursor in cursors if len(cursor) < self.max_ngram]
        return counts

    def learn(self, text, label, documents=1):
        self.trees.setdefault(label, Counter())
        self.documents[label] += documents
        for runs in self.pieces(self.learnt_terms(text)):
            counts = self.count_terms(runs)
            self.trees[label].update(counts)
            self.words[label] += sum(n for sequence, n in counts.items() if len(sequence) == 1)
            self.words_since_pruning += words_in(runs)
            if self.prune_period is not None and self.words_since_pruning >= self.prune_period:
                self.prune(self.prune_floor, self.prune_shortest)
                self.words_since_pruning = 0
        self.forget_values()

    def pieces(self, runs):
        """Yield a document in parts that end where pruning is due; PySS3 prunes at any break."""
        at_breaks = self.is_pyss3 and self.counting == "occurrences"
        if self.prune_period is None or not at_breaks:
            yield runs
            return
        [terms] = runs
        piece, begin = [], 0
        for index, term in enumerate(terms):
            piece = terms[begin : index + 1]
            due = self.words_since_pruning + words_in([piece]) >= self.prune_period
            if term.word is None and due:
                yield [piece]
                piece, begin = [], index + 1
        yield [piece]

    def learn_joined(self, corpus):
        """Learn (text, label) pairs as PySS3's `fit` does."""
        for label in sorted({label for _, label in corpus}):
            own = [text for text, other in corpus if other == label]
            joined = "".join(text if text.endswith("\n") else text + "\n" for text in own)
            self.learn(joined, label, documents=len(own))
        self.prune(self.prune_floor, self.prune_shortest)

    def unlearn(self, text, label):
        counts = self.count(text)
        tree = self.trees.get(label, Counter())
        if not self.documents[label] or any(n > tree[sequence] for sequence, n in counts.items()):
            raise CannotUnlearnError
        if self.documents[label] == 1 and counts != tree:
            raise CannotUnlearnError
        self.trees[label] = tree - counts  # Counter's minus keeps what is positive
        self.documents[label] -= 1
        self.words[label] -= sum(n for sequence, n in counts.items() if len(sequence) == 1)
        if not self.documents[label]:
            del self.trees[label], self.documents[label], self.words[label]
        self.forget_values()

    def prune(self, floor=10, shortest=1):
        """Drop, label by label, n-grams with count ≤ `floor`; return how many."""
        ngrams = counts = 0
        if self.is_pyss3:
            self.words_since_pruning = 0
        for label, tree in self.trees.items():
            for sequence, n in list(tree.items()):
                if self.is_pyss3:
                    key = (label, len(sequence))
                    self.kept_largest[key] = max(self.kept_largest[key], n)
                if n <= floor and len(sequence) >= shortest:
                    del tree[sequence]
                    ngrams, counts = ngrams + 1, counts + n
        self.pruned_ngrams += ngrams
        self.pruned_counts += counts
        self.forget_values()
        return ngrams, counts

    def counts(self):
        """Return "word word" -> label -> count, as the package gives it."""
        return {
            " ".join(s): {c: self.trees[c][s] for c in self.labels if s in self.trees[c]}
            for s in sorted({s for tree in self.trees.values() for s in tree})
        }

    # --- values ---

    def largest(self, what, label, length):
        """Return the largest count, or the largest gv, of that length in that label."""
        key = (what, label, length)
        if key not in self.known_largest:
            largest = self.kept_largest[label, length] if what == "count" else 0
            for sequence, n in self.trees[label].items():
                if len(sequence) == length:
                    largest = max(largest, n if what == "count" else self.gvs(sequence)[label].gv)
            self.known_largest[key] = largest
        return self.known_largest[key]

    def units(self, length):
        """Return what counts of that length are divided by, per label."""
        length = length if self.ngram_scale == "length" else 1
        largest = [self.largest("count", label, length) for label in self.labels]
        if self.ngram_scale != "label":
            return largest
        words = [self.words[label] for label in self.labels]
        share = max((most / n for most, n in zip(largest, words, strict=True) if n), default=0.0)
        return [max(most, n * share) for most, n in zip(largest, words, strict=True)]

    def grown_prior(self):
        """Return the prior for this number of labels and of documents per label."""
        mean = sum(self.documents.values()) / len(self.labels)
        grown = self.prior * (mean**2 / (mean**2 + 5**2))
        return grown if self.refined else grown * min(1, 2 / len(self.labels))

    def weight_of(self, label):
        """Return what the values of a label are multiplied by."""
        labels = len(self.labels)
        if labels <= 2:
            return 1.0
        share = self.documents[label] / max(self.documents.values())
        return share ** (self.label_weight * (1 - 2 / labels))

    def gvs(self, sequence):
        """Return the values of a sequence in each label, cv left at 0."""
        if sequence in self.known_values:
            return self.known_values[sequence]
        labels = self.labels
        counts = [self.trees[label].get(sequence, 0) for label in labels]
        units = self.units(len(sequence))
        shares = [
            n / unit if n and n >= self.min_count else 0.0
            for n, unit in zip(counts, units, strict=True)
        ]
        lvs = [share**self.smoothness if share else 0.0 for share in shares]
        compared = lvs
        if self.prior and any(units):
            assumed = self.grown_prior() / sum(units)
            compared = [((s + assumed) / (1 + assumed)) ** self.smoothness for s in shares]
        sgs = [
            significance(compared, index, self.significance, self.significance_function)
            if n
            else 0.0
            for index, n in enumerate(counts)
        ]
        sns = [sanction(sgs, index, self.sanction) for index in range(len(labels))]
        values = {
            label: Value(n, lv, sg, sn, lv * (sg * sn) * self.weight_of(label), 0.0)
            for label, n, lv, sg, sn in zip(labels, counts, lvs, sgs, sns, strict=True)
        }
        self.known_values[sequence] = values
        return values

    def cv(self, sequence, label):
        value = self.gvs(sequence)[label]
        if self.confidence_function == "gv" or value.count == 0:
            return value.gv
        largest = self.largest("gv", label, len(sequence))
        if largest == 0:
            return 0.0
        if self.confidence_function == "norm_gv" or len(sequence) == 1:
            return value.gv / largest
        total = 0.0
        for word in sequence:
            for other in self.labels:
                total += self.gvs((word,))[other].gv
        if total < 0.05:
            return 0.0
        if all(self.gvs((word,))[label].gv >= 0.01 for word in sequence):
            return value.gv / largest + total
        return value.gv / largest

    def values(self, sequence):
        sequence = tuple(sequence)
        return {
            label: value._replace(cv=self.cv(sequence, label))
            for label, value in self.gvs(sequence).items()
        }

    def vector(self, sequence):
        """Return the confidence vector: cv per label, 0 where it is not above α."""
        cvs = [self.cv(sequence, label) for label in self.labels]
        return [cv if cv > self.alpha else 0.0 for cv in cvs]

    # --- reading (Algorithm 2) ---

    def matched(self, label, words):
        """Return how far the label's tree can be followed."""
        length = 0
        while length < len(words) and words[: length + 1] in self.trees[label]:
            length += 1
        return length

    def best_ngram(self, words):
        """Return the best sequence at the start of `words`: the longest run without a break."""
        matched = {label: self.matched(label, words) for label in self.labels}
        if self.reading == "words_sum":
            return self.best_by_sum(words, matched)
        best = words[:1]
        for length in range(2, max(matched.values()) + 1):
            if max(self.vector(words[:length])) > max(self.vector(best)):
                best = words[:length]
        return best

    def best_by_sum(self, words, matched):
        """PySS3's choice: label by label, and from short to long, the first of equals wins."""
        best, highest = words[:1], self.alpha
        for label in self.labels:
            for length in range(1, matched[label] + 1):
                value = self.cv(words[:length], label)
                if value > highest:
                    best, highest = words[:length], value
        for label in self.labels:
            total = 0.0
            for word in words[: matched[label]]:
                total += self.cv((word,), label)
            if total > highest:
                return words[:1]
        return best

    def parse(self, terms):
        """Cut the terms of a sentence into (words, start, end)."""
        ngrams, at = [], 0
        while at < len(terms):
            run = []
            for term in terms[at:]:
                if term.word is None:
                    break
                run.append(term.word)
            if run:
                best = self.best_ngram(tuple(run))
                ngrams.append((best, terms[at].start, terms[at + len(best) - 1].end))
                at += len(best)
            else:
                at += 1
        return ngrams

    def read(self, text):
        """Read a document into blocks."""
        paragraphs = []
        for sentences in self.read_terms(text):
            blocks = []
            for terms in sentences:
                ngrams = [
                    Block("ngram", start, end, self.vector(words), words=words)
                    for words, start, end in self.parse(terms)
                ]
                if ngrams:
                    blocks.append(self.block("sentence", terms[0].start, terms[-1].end, ngrams))
            if blocks:
                start, end = sentences[0][0].start, sentences[-1][-1].end
                paragraphs.append(self.block("paragraph", start, end, blocks))
        document = self.block("document", 0, len(text), paragraphs)
        self.share(document, [1.0] * len(self.labels))
        return document

    def block(self, kind, start, end, blocks):
        rows = [block.value for block in blocks]
        value = reduce_rows(self.summary[kind], rows) if rows else [0.0] * len(self.labels)
        return Block(kind, start, end, value, blocks)

    def share(self, block, divisors):
        """Set the contribution of the block and those in it: its value over the divisors so far."""
        if divisors is not None:
            block.contribution = [v / d for v, d in zip(block.value, divisors, strict=True)]
        if block.kind == "ngram":
            return
        operator = self.summary[block.kind]
        taken = set()  # labels whose maximum has been met
        for child in block.blocks:
            if divisors is None or callable(operator):
                passed = None
            elif operator == "max":
                passed = []
                for column, divisor in enumerate(divisors):
                    attains = child.value[column] == block.value[column] and column not in taken
                    passed.append(divisor if attains else math.inf)  # a share of nothing
                    if attains:
                        taken.add(column)
            else:
                blocks = len(block.blocks) if operator == "mean" else 1
                passed = [divisor * blocks for divisor in divisors]
            self.share(child, passed)

    # --- decision ---

    def confidence(self, text):
        return dict(zip(self.labels, self.read(text).value, strict=True))

    def predict(self, text):
        confidence = self.confidence(text)
        if all(value == 0 for value in confidence.values()):
            if self.default_label is not None:
                return self.default_label
            return max(self.labels, key=lambda label: self.words[label])
        return max(self.labels, key=confidence.__getitem__)  # max keeps the first of equals

    def predict_labels(self, text):
        labels = self.labels
        return [labels[index] for index in two_means(self.read(text).value)]
