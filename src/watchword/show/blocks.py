"""The blocks of an explanation: which are painted, how strongly, and their descriptions.

`Rules` decides for all outputs: notebook, page, terminal and live page. Only the page that
`export_page` writes decides by itself, in static/offline.js; tests compare the two.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np

from watchword._arrays import FloatArray
from watchword._checks import Label
from watchword.errors import UnknownLabelError
from watchword.model.explanation import Block, Explanation, ScoredNgram

PaintLevel = Literal["paragraph", "sentence", "ngram"]
Plain = Mapping[str, Any]
Place = tuple[int, int, int]  # start and end of a block, and the index of its rule

LEVELS: tuple[PaintLevel, ...] = ("paragraph", "sentence", "ngram")
LEVEL_NAMES = {"paragraph": "paragraphs", "sentence": "sentences", "ngram": "n-grams"}

MOST_BLOCKS = 50_000  # per level: with more, browsers become slow
MOST_LABELS = 20  # in descriptions: those of highest score
MOST_LINES = 3  # in descriptions in a snippet: labels with all their numbers
_MOST_SILENT = 5  # labels without a value that are named
SHARE_DIGITS = 4


class Head:
    """The text, labels and scores of an explanation, and the label to paint it for."""

    def __init__(self, explanation: Explanation | Plain, label: Label | None = None) -> None:
        if isinstance(explanation, Explanation):
            explanation = vars(explanation)
        self.text: str = explanation["text"]
        self.labels: list[Label] = list(explanation["labels"])
        self.predicted: Label = explanation["label"]
        self.value: list[float] = list(explanation["value"])
        self.summary: Mapping[str, str] = explanation["summary"]
        self.bias: Sequence[float] | None = explanation.get("bias")  # of a refined model
        self.label = self.predicted if label is None else label
        self.column = column_of(self.labels, self.label)


def blocks_of(explanation: Explanation | Plain) -> Iterator[Plain]:
    """Yield all blocks as plain data, each before its inner blocks."""
    if isinstance(explanation, Explanation):
        explanation = vars(explanation)
    return _with_inner(explanation["blocks"])


def _with_inner(blocks: Iterable[Block | Plain]) -> Iterator[Plain]:
    for block in blocks:
        plain = (
            vars(block) if isinstance(block, Block) else block
        )  # without copies, which would be slow
        yield plain
        yield from _with_inner(plain.get("blocks", ()))


@dataclass
class Rule:
    """The common description of all blocks with the same words and numbers."""

    kind: str
    block: Plain  # the first of them
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

    def is_marked(self, level: str) -> bool:
        """Return whether the block is marked at this level; n-grams never learnt are not."""
        return self.kind == level and (level != "ngram" or any(self.block["count"]))


class Total(NamedTuple):
    """What all blocks with the same words, or all occurrences of an n-gram, add to a score.

    The n-grams of a refined score have two parts, counted and corrected, and no rule, because they
    overlap.
    """

    words: str
    times: int
    total: float
    rule: Rule | None  # of the first of them
    counted: float | None = None
    corrected: float | None = None


class _Scored:
    """What the n-grams of refined texts add to the scores, summed over the texts."""

    def __init__(self) -> None:
        self._added: list[Sequence[ScoredNgram | Plain]] = []
        self._rows: dict[str, int] = {}
        self._times: list[int] = []
        self._counted: list[FloatArray] = []
        self._corrected: list[FloatArray] = []

    def __bool__(self) -> bool:
        return bool(self._rows or self._added)

    def add(self, ngrams: Sequence[ScoredNgram | Plain]) -> None:
        """Remember the n-grams of a text; they are summed only when the largest are wanted."""
        if ngrams:
            self._added.append(ngrams)

    def _sum(self) -> None:
        for ngram in chain.from_iterable(self._added):
            plain = vars(ngram) if isinstance(ngram, ScoredNgram) else ngram
            row = self._rows.setdefault(plain["ngram"], len(self._times))
            parts = np.array(plain["counted"]), np.array(plain["corrected"])
            if row == len(self._times):
                self._times.append(0)
                self._counted.append(np.zeros_like(parts[0]))
                self._corrected.append(np.zeros_like(parts[1]))
            self._times[row] += plain["times"]
            self._counted[row] += parts[0]
            self._corrected[row] += parts[1]
        self._added = []

    def largest(self, column: int, most: int) -> list[Total]:
        self._sum()
        counted = np.array([row[column] for row in self._counted])
        corrected = np.array([row[column] for row in self._corrected])
        totals = counted + corrected
        names = list(self._rows)
        rows = np.flatnonzero(totals > 0).tolist()
        best = heapq.nsmallest(most, rows, key=lambda row: (-totals[row], names[row]))
        return [
            Total(
                names[row],
                self._times[row],
                float(totals[row]),
                None,
                float(counted[row]),
                float(corrected[row]),
            )
            for row in best
        ]


class Rules:
    """The blocks of one or several texts, and how strongly each is painted.

    At each level, the block with the largest part for any label is painted in full and all others
    in proportion; a block with a negative part is not painted. All labels share the scale.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> rules = Rules()
    >>> rules.add(model.explain("A match, a match!"), ["ngram"])
    [(0, 1, 0), (2, 7, 1), (9, 10, 0), (11, 16, 1)]
    >>> [(rule.words, rules.shares(rule)) for rule in rules.all]
    [('a', [1.0, 0.0]), ('match', [1.0, 0.0])]
    """

    def __init__(self) -> None:
        self.all: list[Rule] = []
        self.highest: dict[str, float] = dict.fromkeys(LEVELS, 0.0)
        self._indices: dict[Any, int] = {}
        self._scored = _Scored()

    def add(
        self,
        explanation: Explanation | Plain,
        levels: Sequence[str] = LEVELS,
        until: int | None = None,
    ) -> list[Place]:
        """Add the blocks of these levels that begin before `until`, and return their places."""
        plain = vars(explanation) if isinstance(explanation, Explanation) else explanation
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

    def share(self, rule: Rule, column: int) -> float:
        """Return how strongly blocks are painted for a label: from 0, not at all, to 1."""
        part = rule.parts[column]
        return rounded(part / self.highest[rule.kind], SHARE_DIGITS) if part > 0 else 0.0

    def shares(self, rule: Rule) -> list[float]:
        """Return how strongly blocks are painted for every label."""
        return [self.share(rule, column) for column in range(len(rule.parts))]

    def strongest(self, places: Sequence[Place], most: int) -> list[Place]:
        """Return the blocks to mark, in order: the `most` strongest of each level.

        Of equally strong blocks the first are marked; n-grams never learnt are not.
        """
        kept: set[Place] = set()
        for level in LEVELS:
            own = [place for place in places if self.all[place[2]].is_marked(level)]
            kept.update(sorted(own, key=lambda place: -self.all[place[2]].strength)[:most])
        return [place for place in places if place in kept]

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

    def count_painted(self, places: Sequence[Place]) -> Counter[str]:
        """Return the number of blocks of each level that are painted for any label."""
        rules = (self.all[index] for _, _, index in places)
        return Counter(rule.kind for rule in rules if rule.strength > 0)

    def _index_of(self, block: Plain, text: str) -> int:
        kind, value, contribution = block["kind"], block["value"], block["contribution"]
        words = block["ngram"] if kind == "ngram" else text[block["start"] : block["end"]]
        counted = block.get("counted")
        key = (
            kind,
            words,
            tuple(value),
            contribution is value or (contribution and tuple(contribution)),
            counted and tuple(counted),
        )
        index = self._indices.setdefault(key, len(self.all))
        if index == len(self.all):
            rule = Rule(kind, {**block, "blocks": ()}, words)
            self.all.append(rule)
            self.highest[kind] = max(self.highest[kind], rule.strength)
        self.all[index].times += 1
        return index


def column_of(labels: Sequence[Label], label: Label) -> int:
    """Return the index of a label, or raise `UnknownLabelError`."""
    if label not in labels:
        listed = ", ".join(map(repr, labels))
        raise UnknownLabelError(f"unknown label {label!r}; the explanation has {listed}")
    return list(labels).index(label)


def shown_columns(scores: Sequence[float], column: int) -> list[int]:
    """Return the columns of the labels to describe: those of highest score, and this column."""
    best = sorted(range(len(scores)), key=lambda at: (at != column, -scores[at], at))
    return sorted(best[:MOST_LABELS])


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
    if number == 0:
        return "0"
    if -0.001 < number < 0.001:
        return f"{number:.1g}"
    return f"{(number * 1000.0 + 0.5) // 1 / 1000.0:.3f}"  # as `rounded`, without its calls


def telling(block: Plain, labels: Sequence[Label], columns: Sequence[int]) -> str:
    """Return the description of a block: its words, and a line for each label with a value."""
    return "\n".join([heading(block), *label_lines(block, list(map(str, labels)), columns)])


def heading(block: Plain) -> str:
    """Return the first line of a description."""
    words: str = block["ngram"] if block["kind"] == "ngram" else f"this {block['kind']}"
    return words


def label_lines(
    block: Plain,
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
    known = [at for at in columns if value[at] or count[at]]
    known.sort(key=value.__getitem__, reverse=True)
    silent = len(columns) - len(known)
    is_long = painted is not None and is_ngram and len(known) > MOST_LINES
    lines = [f"{names[at]} {_numbers(block, at)}" for at in known if at == painted or not is_long]
    if is_long:
        lines.append(_values(names, value, [at for at in known if at != painted], least))
    if silent:
        named = f"{silent} others"
        if silent <= _MOST_SILENT:
            named = ", ".join(names[at] for at in columns if at not in known)
        lines.append(f"{named} 0{' (never learnt)' if is_ngram else ''}")
    return lines


def _values(
    names: Sequence[str], value: Sequence[float], columns: Sequence[int], least: float
) -> str:
    """Return the values of labels, in descending order, in one line; small ones as a range."""
    named: dict[str, list[str]] = {}
    large = 0
    while large < len(columns) and value[columns[large]] >= least:
        named.setdefault(as_value(value[columns[large]]), []).append(names[columns[large]])
        large += 1
    values = [f"{', '.join(own)} {shown}" for shown, own in named.items()]
    if small := columns[large:]:
        highest, lowest = as_value(value[small[0]]), as_value(value[small[-1]])
        span = highest if highest == lowest else f"{lowest} to {highest}"
        values.append(f"{names[small[0]] if len(small) == 1 else f'{len(small)} others'} {span}")
    return "; ".join(values)


def _numbers(block: Plain, at: int) -> str:
    value, part = block["value"][at], block["contribution"]
    numbers = as_value(value)
    if part is not None and part[at] != value:
        numbers += f", adds {as_value(part[at])} to the score"
    if block["kind"] == "ngram":
        made_of = (f"{name} {as_value(block[name][at])}" for name in ("lv", "sg", "sn"))
        numbers += f" ({_parts(block, at)}count {block['count'][at]:,}; {', '.join(made_of)})"
    return numbers


def _parts(block: Plain, at: int) -> str:
    if block.get("counted") is None:
        return ""
    counted, corrected = as_value(block["counted"][at]), as_value(block["corrected"][at])
    return f"counted {counted}, corrected {corrected}; "
