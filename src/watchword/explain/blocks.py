"""The blocks of an explanation: which are painted, how strongly, and their descriptions.

`Rules` decides for all outputs: notebook, page, terminal, live page and board.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from typing import Any, Literal, NamedTuple

import numpy as np

from watchword._checks import FloatArray, Label, reprs
from watchword.errors import UnknownLabelError
from watchword.model.explanation import Block, Explanation, ScoredNgram

PaintLevel = Literal["paragraph", "sentence", "ngram"]
PlainData = Mapping[str, Any]
PaintedSpan = tuple[int, int, int]  # start and end of a block, and the index of its rule

LEVELS: tuple[PaintLevel, ...] = ("paragraph", "sentence", "ngram")
LEVEL_NAMES = {"paragraph": "paragraphs", "sentence": "sentences", "ngram": "n-grams"}

MOST_BLOCKS = 50_000  # per level: with more, browsers become slow
MOST_LABELS = 20  # in descriptions: those of highest score
MOST_LINES = 3  # in descriptions in a snippet: labels with all their numbers
_MOST_SILENT = 5  # labels without a value that are named
SHARE_DIGITS = 4
_SURE = 0.001  # probabilities this near to 0 or 1 are not told apart


class Head:
    """The text, labels and scores of an explanation, and the label to paint it for.

    With `all_labels`, each block is painted in the colour of the label that it supports. `alert`
    is the label that alerts are raised for, which has the warm colour.
    """

    def __init__(
        self,
        explanation: Explanation | PlainData,
        label: Label | None = None,
        *,
        alert: Label | None = None,
        all_labels: bool = False,
    ) -> None:
        plain = plain_of(explanation)
        self.text: str = plain["text"]
        self.labels: list[Label] = list(plain["labels"])
        self.predicted: Label = plain["label"]
        self.value: list[float] = list(plain["value"])
        self.summary: Mapping[str, str] = plain["summary"]
        self.bias: Sequence[float] | None = plain.get("bias")  # of a refined model
        self.probability: Sequence[float] | None = plain.get("probability")  # the same
        self.has_evidence = any(self.value)
        self.label = self.predicted if label is None else label
        self.column = column_of(self.labels, self.label)
        self.alert = None if alert is None else column_of(self.labels, alert)
        self.all_labels = all_labels

    @cached_property
    def columns(self) -> list[int]:
        """The columns of the labels to describe."""
        return shown_columns(self.value, self.column)


def plain_of(explanation: Explanation | PlainData) -> PlainData:
    """Return an explanation as a mapping, without copying its blocks."""
    return vars(explanation) if isinstance(explanation, Explanation) else explanation


def blocks_of(explanation: Explanation | PlainData) -> Iterator[PlainData]:
    """Yield all blocks as plain data, each before its inner blocks."""
    return _with_inner(plain_of(explanation)["blocks"])


def _with_inner(blocks: Iterable[Block | PlainData]) -> Iterator[PlainData]:
    for block in blocks:
        # Without copies, which would be slow.
        plain = vars(block) if isinstance(block, Block) else block
        yield plain
        if inner := plain.get("blocks"):
            yield from _with_inner(inner)


@dataclass
class StyleRule:
    """The common description of all blocks with the same words and numbers."""

    kind: str
    block: PlainData  # the first of them
    words: str
    times: int = 0
    marked: bool = False
    described: bool = False

    def __post_init__(self) -> None:
        contribution: Sequence[float] | None = self.block["contribution"]
        value: Sequence[float] = self.block["value"]
        #: The painted numbers: the contribution to each score or, without one, the value.
        self.parts = value if contribution is None else contribution
        self.strength = max(self.parts)
        #: Whether blocks may be marked: n-grams never learnt are not.
        self.learnt = self.kind != "ngram" or any(self.block["count"])


class Total(NamedTuple):
    """What all blocks with the same words, or all occurrences of an n-gram, add to a score.

    The n-grams of a refined score have two parts, counted and corrected, and no rule, because they
    overlap.
    """

    words: str
    times: int
    total: float
    rule: StyleRule | None  # of the first of them
    counted: float | None = None
    corrected: float | None = None


class _ScoreParts:
    """What the n-grams of refined texts add to the scores, summed over the texts."""

    def __init__(self) -> None:
        self._added: list[Sequence[ScoredNgram | PlainData]] = []
        self._sums: dict[str, tuple[int, FloatArray]] = {}  # times; counted, corrected by label

    def __bool__(self) -> bool:
        return bool(self._sums or self._added)

    def add(self, ngrams: Sequence[ScoredNgram | PlainData]) -> None:
        """Remember the n-grams of a text; they are summed only when the largest are wanted."""
        if ngrams:
            self._added.append(ngrams)

    def _sum(self) -> None:
        for ngram in chain.from_iterable(self._added):
            plain = vars(ngram) if isinstance(ngram, ScoredNgram) else ngram
            times, parts = plain["times"], np.array([plain["counted"], plain["corrected"]])
            if plain["ngram"] in self._sums:
                before, known = self._sums[plain["ngram"]]
                times, parts = before + times, known + parts
            self._sums[plain["ngram"]] = times, parts
        self._added = []

    def largest(self, column: int, most: int) -> list[Total]:
        self._sum()
        names = list(self._sums)
        parts = np.array([one[:, column] for _, one in self._sums.values()])
        totals = parts.sum(axis=1)
        rows = np.flatnonzero(totals > 0).tolist()
        best = heapq.nsmallest(most, rows, key=lambda row: (-totals[row], names[row]))
        found = [(names[row], float(totals[row]), parts[row].tolist()) for row in best]
        return [Total(name, self._sums[name][0], total, None, *own) for name, total, own in found]


class Rules:
    """The blocks of one or several texts, and how strongly each is painted.

    At each level, the block with the largest part for any label is painted in full and all others
    in proportion; a block with a negative part is not painted. All labels share the scale. With
    `scale`, made by `scale_of` of several texts, these texts share it, too.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> rules = Rules()
    >>> rules.add(model.explain("A match, a match!"), ["ngram"])
    [(0, 1, 0), (2, 7, 1), (9, 10, 0), (11, 16, 1)]
    >>> [(rule.words, rules.shares(rule)) for rule in rules.all]
    [('a', [1.0, 0.0]), ('match', [1.0, 0.0])]
    """

    def __init__(self, scale: Mapping[str, float] | None = None) -> None:
        self.all: list[StyleRule] = []
        #: By level: the part that is painted in full, at least that of the scale.
        self.highest: dict[str, float] = dict.fromkeys(LEVELS, 0.0) | dict(scale or {})
        self._indices: dict[Any, int] = {}
        self._scored = _ScoreParts()

    def add(
        self,
        explanation: Explanation | PlainData,
        levels: Sequence[str] = LEVELS,
        until: int | None = None,
    ) -> list[PaintedSpan]:
        """Add the blocks of these levels that begin before `until`, and return their places."""
        plain = plain_of(explanation)
        text = plain["text"]
        if "ngram" in levels:
            self._scored.add(plain.get("ngrams") or ())
        places = []
        for block in blocks_of(explanation):
            if until is not None and block["start"] >= until:
                break
            if block["kind"] in levels:
                places.append((block["start"], block["end"], self._index_of(block, text)))
        return places

    def share(self, rule: StyleRule, column: int) -> float:
        """Return how strongly blocks are painted for a label: from 0, not at all, to 1."""
        part = rule.parts[column]
        return rounded(part / self.highest[rule.kind], SHARE_DIGITS) if part > 0 else 0.0

    def shares(self, rule: StyleRule) -> list[float]:
        """Return how strongly blocks are painted for every label."""
        return [self.share(rule, column) for column in range(len(rule.parts))]

    def speaks_for(self, rule: StyleRule) -> int | None:
        """Return the column of the label that blocks are painted for most strongly.

        None if they are not painted for any label, or as strongly for two.
        """
        shares = self.shares(rule)
        highest = max(shares)
        return shares.index(highest) if highest > 0 and shares.count(highest) == 1 else None

    def paint(self, rule: StyleRule, head: Head) -> tuple[int, float]:
        """Return the column of the label in whose colour blocks are painted, and how strongly."""
        column = self.speaks_for(rule) if head.all_labels else head.column
        return (head.column, 0.0) if column is None else (column, self.share(rule, column))

    def strongest(self, places: Sequence[PaintedSpan], most: int) -> list[PaintedSpan]:
        """Return the blocks to mark, in order: the `most` strongest of each level.

        Of equally strong blocks the first are marked; n-grams never learnt are not.
        """
        learnt = [place for place in places if self.all[place[2]].learnt]
        if len(learnt) <= most:  # as in nearly all texts
            return learnt
        kept: set[PaintedSpan] = set()
        for level in LEVELS:
            own = [place for place in learnt if self.all[place[2]].kind == level]
            kept.update(sorted(own, key=lambda place: -self.all[place[2]].strength)[:most])
        return [place for place in learnt if place in kept]

    def largest(self, kind: str, column: int, most: int) -> list[Total]:
        """Return the words with the largest total contribution to a label's score.

        N-grams of refined texts are those that the score adds up, which overlap.
        """
        if kind == "ngram" and self._scored:
            return self._scored.largest(column, most)
        found: dict[str, Total] = {}
        for rule in self.all:
            part = rule.parts[column]
            if rule.kind == kind and part > 0:
                known = found.get(rule.words, Total(rule.words, 0, 0.0, rule))
                found[rule.words] = known._replace(
                    times=known.times + rule.times, total=known.total + rule.times * part
                )
        return sorted(found.values(), key=lambda one: (-one.total, one.words))[:most]

    def largest_of_all(
        self, kind: str, columns: Sequence[int], most: int
    ) -> list[tuple[int, Total]]:
        """Return the words with the largest total contribution to any of these labels' scores.

        Words are listed once, with the column of the label to which they contribute most; those
        that contribute equally to two labels support neither and are left out.
        """
        found: dict[str, tuple[int, Total]] = {}
        tied = set()
        for column in columns:
            for one in self.largest(kind, column, most):
                known = found.get(one.words)
                if known is None or one.total > known[1].total:
                    found[one.words] = column, one
                    tied.discard(one.words)
                elif one.total == known[1].total:
                    tied.add(one.words)
        listed = [pair for words, pair in found.items() if words not in tied]
        return sorted(listed, key=lambda pair: (-pair[1].total, pair[1].words))[:most]

    def count_unmarked(
        self, places: Sequence[PaintedSpan], marked: Iterable[PaintedSpan]
    ) -> Counter[str]:
        """Return the number of blocks of each level that could be painted, but are not marked."""
        rules = (self.all[index] for _, _, index in set(places).difference(marked))
        return Counter(rule.kind for rule in rules if rule.strength > 0)

    def _index_of(self, block: PlainData, text: str) -> int:
        kind, value, contribution = block["kind"], block["value"], block["contribution"]
        words = block["ngram"] if kind == "ngram" else text[block["start"] : block["end"]]
        counted = block.get("counted")
        added = contribution is value or (contribution and tuple(contribution))
        key = (kind, words, tuple(value), added, counted and tuple(counted))
        index = self._indices.setdefault(key, len(self.all))
        if index == len(self.all):
            # Without the inner blocks, which would keep whole texts in memory.
            rule = StyleRule(kind, block if kind == "ngram" else {**block, "blocks": ()}, words)
            self.all.append(rule)
            if rule.strength > self.highest[kind]:
                self.highest[kind] = rule.strength
        self.all[index].times += 1
        return index


def scale_of(explanations: Iterable[Explanation | PlainData]) -> dict[str, float]:
    """Return the largest part of a block at each level in several texts, which `Rules` takes."""
    rules = Rules()
    for explanation in explanations:
        rules.add(explanation)
    return rules.highest


def column_of(labels: Sequence[Label], label: Label) -> int:
    """Return the index of a label, or raise `UnknownLabelError`."""
    if label not in labels:
        known = reprs(labels)
        raise UnknownLabelError(f"unknown label {label!r}; the explanation has {known}")
    return list(labels).index(label)


def shown_columns(scores: Sequence[float], column: int, most: int = MOST_LABELS) -> list[int]:
    """Return the columns of the labels to describe: those of highest score, and this column."""
    best = sorted(range(len(scores)), key=lambda at: (at != column, -scores[at], at))
    return sorted(best[:most])


def by_score(columns: Sequence[int], scores: Sequence[float]) -> list[int]:
    """Return the columns in descending order of their scores."""
    return sorted(columns, key=lambda at: (-scores[at], at))


class Bar(NamedTuple):
    """A score as a bar, in parts of the width of all bars."""

    start: float
    width: float


def score_bars(scores: Sequence[float]) -> list[Bar]:
    """Return scores as bars from 0 to the right or, if negative, to the left.

    >>> score_bars([3.0, -1.0])
    [Bar(start=0.25, width=0.75), Bar(start=0.0, width=0.25)]
    """
    lowest, highest = min(0.0, *scores, 0.0), max(0.0, *scores, 0.0)
    span = highest - lowest or 1.0
    return [Bar((min(score, 0.0) - lowest) / span, abs(score) / span) for score in scores]


def rounded(number: float, digits: int) -> float:
    """Round half up, with the same arithmetic as paint.js; `round` rounds half to even.

    >>> rounded(0.0625, 3), round(0.0625, 3)
    (0.063, 0.062)
    """
    scale = 10.0**digits
    return (number * scale + 0.5) // 1 / scale


def as_value(number: float) -> str:
    """Return a value for display, formatted as `number` in paint.js formats it.

    >>> as_value(1.73349), as_value(0.00004), as_value(0)
    ('1.733', '4e-05', '0')
    """
    if 0.001 <= number <= 1:
        return _THOUSANDTHS[int(number * 1000.0 + 0.5)]
    if number == 0:
        return "0"
    if -0.001 < number < 0.001:
        return f"{number:.1g}"
    return f"{rounded(number, 3):.3f}"


def as_chance(probability: float) -> str:
    """Return a probability in percent, for display; never as certain.

    >>> as_chance(0.8731), as_chance(0.99999), as_chance(1e-9)
    ('87.3 %', '> 99.9 %', '< 0.1 %')
    """
    if not _SURE < probability < 1 - _SURE:
        return "< 0.1 %" if probability <= _SURE else "> 99.9 %"
    return f"{rounded(100 * probability, 1):.1f} %"


# Formatting a number takes longer than finding it here, and a text may have thousands.
_THOUSANDTHS = tuple(f"{number / 1000:.3f}" for number in range(1001))


def telling(block: PlainData, labels: Sequence[Label], columns: Sequence[int]) -> str:
    """Return the description of a block: its words, and a line for each label with a value."""
    return "\n".join([heading(block), *label_lines(block, list(map(str, labels)), columns)])


def heading(block: PlainData) -> str:
    """Return the first line of a description."""
    words: str = block["ngram"] if block["kind"] == "ngram" else f"this {block['kind']}"
    return words


def label_lines(
    block: PlainData,
    names: Sequence[str],
    columns: Sequence[int],
    *,
    painted: int | None = None,
    least: float = 0.0,
) -> list[str]:
    """Return the other lines of a description: one for each label with a value, of these names.

    With `painted`, the column of the label that a snippet is painted for, an n-gram with values for
    more than `MOST_LINES` labels has one line for that label and one with the values of the others;
    those below `least` are not named.
    """
    is_ngram = block["kind"] == "ngram"
    value = block["value"]
    count = block["count"] if is_ngram else value
    known = [*columns] if all(count) else [at for at in columns if value[at] or count[at]]
    known.sort(key=value.__getitem__, reverse=True)
    if painted is None or not is_ngram or len(known) <= MOST_LINES:
        lines = [f"{names[at]} {_numbers(block, at)}" for at in known]
    else:
        lines, others = [], known.copy()
        if painted in known:
            lines.append(f"{names[painted]} {_numbers(block, painted)}")
            others.remove(painted)
        lines.append(_values(names, value, others, least))
    if silent := len(columns) - len(known):
        named = f"{silent} others"
        if silent <= _MOST_SILENT:
            named = ", ".join(names[at] for at in columns if at not in known)
        lines.append(f"{named} 0{' (never learnt)' if is_ngram else ''}")
    return lines


def _values(
    names: Sequence[str], value: Sequence[float], columns: Sequence[int], least: float
) -> str:
    """Return the values of labels, in descending order, in one line; small ones as a range."""
    large = [at for at in columns if value[at] >= least]
    by_value = groupby(large, key=lambda at: as_value(value[at]))
    values = [f"{', '.join(names[at] for at in own)} {shown}" for shown, own in by_value]
    if small := columns[len(large) :]:
        highest, lowest = as_value(value[small[0]]), as_value(value[small[-1]])
        span = highest if highest == lowest else f"{lowest} to {highest}"
        values.append(f"{names[small[0]] if len(small) == 1 else f'{len(small)} others'} {span}")
    return "; ".join(values)


def _numbers(block: PlainData, at: int) -> str:
    value, part = block["value"][at], block["contribution"]
    numbers = as_value(value)
    if part is not None and part[at] != value:
        numbers += f", adds {as_value(part[at])} to the score"
    if block["kind"] == "ngram":
        lv, sg, sn = as_value(block["lv"][at]), as_value(block["sg"][at]), as_value(block["sn"][at])
        parts = ""
        if block.get("counted") is not None:
            counted, corrected = as_value(block["counted"][at]), as_value(block["corrected"][at])
            parts = f"counted {counted}, corrected {corrected}; "
        numbers += f" ({parts}count {block['count'][at]:,}; lv {lv}, sg {sg}, sn {sn})"
    return numbers
