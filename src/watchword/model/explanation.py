"""Explanations: what a text is made of, block by block, and its highlights.

`Explanation.to_dict()` is all that a renderer needs: blocks of the text with their offsets, values
and contributions. The values come from the core; only the contributions are computed here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from watchword._checks import FloatArray, IntArray, Label, as_choice, as_number, as_whole
from watchword._display import ToDict, view
from watchword.errors import HookError
from watchword.model.parameters import LEVELS, Level, Parameters, SummaryFunction, SummaryOperator

HighlightLevel = Literal["paragraph", "sentence", "ngram"]
HighlightOrder = Literal["value", "text"]


@dataclass(frozen=True)
class Highlight(ToDict):
    """A passage of a text, text[start:end], and what it contributes to the label's value."""

    text: str
    start: int
    end: int
    value: float


def highlights_of(
    explanation: Explanation,
    label: Label | None = None,
    *,
    level: HighlightLevel = "ngram",
    context: int = 3,
    least: float = 0.0,
    order: HighlightOrder = "value",
) -> list[Highlight]:
    """Return the passages of an explained text that support a label; see `TauSS3.highlights`."""
    as_choice("level", level, get_args(HighlightLevel))
    as_choice("order", order, get_args(HighlightOrder))
    around = as_whole("context", context, 0)
    floor = as_number("least", least)
    column = explanation.labels.index(explanation.label if label is None else label)
    blocks = list(_at_level(explanation.blocks, level))
    values = [
        (one.value if one.contribution is None else one.contribution)[column] for one in blocks
    ]
    spans: list[tuple[int, int]] = []  # first and last block of each passage
    reach = around if level == "ngram" else 0
    for index, value in enumerate(values):
        if value <= floor:
            continue
        first, last = max(index - reach, 0), min(index + reach, len(blocks) - 1)
        if level == "ngram" and spans and first <= spans[-1][1]:
            spans[-1] = spans[-1][0], last
        else:
            spans.append((first, last))
    found = []
    for first, last in spans:
        start, end = blocks[first].start, blocks[last].end
        found.append(
            Highlight(explanation.text[start:end], start, end, sum(values[first : last + 1]))
        )
    if order == "value":
        found.sort(key=lambda one: -one.value)
    return found


def _at_level(blocks: tuple[Block, ...], level: HighlightLevel) -> Iterator[Block]:
    for block in blocks:
        if block.kind == level:
            yield block
        else:
            yield from _at_level(block.blocks, level)


class _Part:
    """Base class of the parts of an explanation: fast, because a text may have many."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: strings, numbers, lists and dictionaries only."""
        plain = dict(vars(self))
        for name, value in vars(self).items():
            if type(value) is tuple:
                plain[name] = [one.to_dict() for one in value] if name in _OF_PARTS else list(value)
            elif type(value) is dict:
                plain[name] = dict(value)
            elif value is None and name in _ONLY_REFINED:
                del plain[name]
        return plain


_OF_PARTS = ("blocks", "ngrams")
_ONLY_REFINED = ("counted", "corrected", "bias", "ngrams", "probability")


@dataclass(frozen=True)
class Block(_Part):
    """A paragraph, sentence or n-gram: text[start:end], with one number per label.

    `contribution` is the block's share of the document's value; None with user-defined summary
    functions, whose values have no shares.
    """

    kind: str
    start: int
    end: int
    value: tuple[float, ...]
    contribution: tuple[float, ...] | None
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class NgramBlock(Block):
    """An n-gram with its count and the factors of its value, per label.

    In a refined model, `counted` and `corrected` are the two parts of its value: those of all
    n-grams that overlap it, split evenly over their words.
    """

    ngram: str = ""
    count: tuple[int, ...] = ()
    lv: tuple[float, ...] = ()
    sg: tuple[float, ...] = ()
    sn: tuple[float, ...] = ()
    counted: tuple[float, ...] | None = None
    corrected: tuple[float, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        plain = super().to_dict()
        del plain["blocks"]
        return plain


@dataclass(frozen=True)
class ScoredNgram(_Part):
    """What an n-gram adds to a refined score, over all its occurrences in a text.

    `weight` is its weight in the text; `counted` and `corrected` are what its counted value and its
    correction add, per label.
    """

    ngram: str
    times: int
    weight: float
    counted: tuple[float, ...]
    corrected: tuple[float, ...]


@dataclass(frozen=True)
class Explanation(_Part):
    """The values of a text's paragraphs, sentences and n-grams.

    With the summary `"sum"`, the contributions of the n-grams add up, left to right, to the
    contribution of their sentence, and so on up to `value`. In a refined model, `value` is the
    `bias` plus what `ngrams` add, which overlap; so do the contributions of the blocks, and
    `probability` is the calibrated probability of each label (0 for all without evidence).
    """

    text: str
    labels: tuple[Label, ...]
    label: Label
    value: tuple[float, ...]
    summary: dict[Level, str]
    blocks: tuple[Block, ...]
    bias: tuple[float, ...] | None = None
    ngrams: tuple[ScoredNgram, ...] | None = None
    probability: tuple[float, ...] | None = None

    @property
    def has_evidence(self) -> bool:
        """Whether anything in the text counts for or against a label.

        Without evidence, `label` is the default label.
        """
        return any(self.value)

    def to_html(
        self,
        label: Label | None = None,
        *,
        level: Literal["paragraph", "sentence", "ngram"] = "ngram",
        title: str | None = None,
        most: int | None = None,
        alert: Label | None = None,
        all_labels: bool = False,
    ) -> str:
        """Return the text as HTML, with its blocks coloured by their contribution to a label.

        The label is the predicted one by default. The result is a snippet for notebooks and mails.
        Only the `most` strongest blocks are coloured [default: 5,000]. With `all_labels`, each
        block has the colour of the label that it supports. `alert` is the label that alerts are
        raised for: it has the warm colour.
        """
        explanation_html: Callable[..., str] = view("explanation_html")
        return explanation_html(
            self, label, level=level, title=title, most=most, alert=alert, all_labels=all_labels
        )

    def to_page(
        self,
        label: Label | None = None,
        *,
        level: Literal["paragraph", "sentence", "ngram"] = "ngram",
        title: str | None = None,
        most: int | None = None,
        alert: Label | None = None,
        all_labels: bool = False,
    ) -> str:
        """Return a self-contained page with the coloured text and controls for label and level.

        Label and level are the initial ones. Only the `most` strongest blocks of each level are
        coloured [default: 50,000]. `alert` and `all_labels` are those of `to_html`; readers can
        also choose all labels on the page.

        >>> from watchword import TauSS3
        >>> model = TauSS3()
        >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
        >>> page = model.explain("Machine learning!").to_page()
        >>> page.startswith("<!doctype html>")
        True
        """
        explanation_html: Callable[..., str] = view("explanation_html")
        return explanation_html(
            self,
            label,
            level=level,
            title=title,
            most=most,
            alert=alert,
            all_labels=all_labels,
            page=True,
        )

    def _repr_html_(self) -> str:
        notebook_html: Callable[..., str] = view("notebook_html")
        return notebook_html(self)


def scored_ngrams(
    score: dict[str, Any] | None,
) -> tuple[tuple[float, ...] | None, tuple[ScoredNgram, ...] | None]:
    """Return the bias and the n-grams of a refined score; nothing of a counted one."""
    if score is None:
        return None, None
    parts = zip(
        score["ngrams"], _tuples(score["counted"]), _tuples(score["corrected"]), strict=True
    )
    ngrams = tuple(
        ScoredNgram(words, times, weight, counted, corrected)
        for (words, _, times, weight), counted, corrected in parts
    )
    return tuple(score["bias"].tolist()), ngrams


class BlockValues:
    """The values and contributions of a document's blocks, level by level."""

    def __init__(self, explained: dict[str, Any], parameters: Parameters) -> None:
        self._explained = explained
        self._parameters, self._operators = parameters, parameters.operators
        self._table = explained["values"]
        self._ngrams = explained["ngrams"]
        self._score = explained["score"]
        confidences: FloatArray = self._table["cv"]
        row_values = np.where(confidences > parameters.alpha, confidences, 0.0)
        distinct = np.array([ngram[4] for ngram in self._ngrams], dtype=np.intp)
        self.ngram_values: FloatArray = row_values[distinct]
        if self._score is not None:
            self.ngram_values = self._score["block_counted"] + self._score["block_corrected"]

    @cached_property
    def _parents(self) -> dict[str, tuple[list[int], int]]:
        """The block of each level that each part belongs to, and the number of the blocks."""
        sentences, paragraphs = self._explained["sentences"], self._explained["paragraphs"]
        return {
            "sentence": ([ngram[2] for ngram in self._ngrams], len(sentences)),
            "paragraph": ([sentence[2] for sentence in sentences], len(paragraphs)),
            "document": ([0] * len(paragraphs), 1),
        }

    @property
    def owners(self) -> dict[str, tuple[IntArray, int]]:
        """The block of each level that each part belongs to, and the number of the blocks."""
        parents = self._parents.items()
        return {level: (np.array(own, np.int64), blocks) for level, (own, blocks) in parents}

    @cached_property
    def _bounds(self) -> dict[str, _Bounds]:
        """Where the parts of each block begin and end."""
        return {level: _bounds(*parents) for level, parents in self._parents.items()}

    @cached_property
    def _levels(self) -> dict[str, FloatArray]:
        """The values of the blocks of each level."""
        # The core summarises with its own operators only; user-defined functions run here.
        if not self._parameters.has_own_operators:
            return {
                "sentence": self._explained["sentence_values"],
                "paragraph": self._explained["paragraph_values"],
                "document": self._explained["value"].reshape(1, -1),
            }
        found: dict[str, FloatArray] = {}
        values, owners = self.ngram_values, self.owners
        for level in LEVELS:
            operator = self._operators[level]
            if callable(operator):
                values = _summarised_by(operator, values, self._bounds[level])
            else:
                values = summarised(values, *owners[level], operator)
            found[level] = values
        return found

    @property
    def document(self) -> FloatArray:
        """The document's value for each label."""
        vector: FloatArray = self._levels["document"][0]
        return vector

    def build(self) -> tuple[Block, ...]:
        """Return the paragraphs with their sentences and n-grams."""
        shares = self._shares
        blocks = self._ngram_blocks(shares["sentence"])
        for kind, above in (("sentence", "paragraph"), ("paragraph", "document")):
            numbers = _numbers(self._levels[kind], shares[above])
            blocks = _outer_blocks(
                kind, self._explained[f"{kind}s"], numbers, self._bounds[kind], blocks
            )
        return tuple(blocks)

    @cached_property
    def _shares(self) -> dict[str, _Shares | None]:
        """The shares of the parts of each level's blocks."""
        found: dict[str, _Shares | None] = dict.fromkeys(LEVELS, _ALL)
        if self._parameters.is_summed:
            return found
        values = {"ngram": self.ngram_values, **self._levels}
        shares: _Shares | None = _Shares(np.ones_like(values["document"]), np.ones(1))
        for level, parts in zip(reversed(LEVELS), ("paragraph", "sentence", "ngram"), strict=True):
            shares = shares and shares.of_parts(
                values[parts], values[level], self._bounds[level], self._operators[level]
            )
            found[level] = shares
        return found

    @property
    def ngram_contributions(self) -> FloatArray:
        """The share of each n-gram's value that reaches the document; there must be shares."""
        return _contributions(self.ngram_values, self._shares["sentence"] or _ALL)

    def _ngram_blocks(self, shares: _Shares | None) -> list[Block]:
        count, lv, sg, sn = (self._table[name] for name in ("count", "lv", "sg", "sn"))
        nothing = [None] * len(self._ngrams)
        counted, corrected = (
            nothing if self._score is None else _tuples(self._score[name])
            for name in ("block_counted", "block_corrected")
        )
        numbers = _numbers(self.ngram_values, shares)
        return [
            _made(
                NgramBlock,
                {
                    "kind": "ngram",
                    "start": start,
                    "end": end,
                    "value": value,
                    "contribution": contribution,
                    "blocks": (),
                    "ngram": words,
                    "count": count[row],
                    "lv": lv[row],
                    "sg": sg[row],
                    "sn": sn[row],
                    "counted": own_counted,
                    "corrected": own_corrected,
                },
            )
            for (start, end, _, words, row), value, contribution, own_counted, own_corrected in zip(
                self._ngrams, *numbers, counted, corrected, strict=True
            )
        ]


@dataclass(frozen=True)
class _Shares:
    """The share of each block's value that reaches the document: value · counts / divisor."""

    counts: FloatArray  # per block and label: 1, or 0 where another block is the maximum
    divisors: FloatArray  # per block: product of the numbers of blocks in its means

    def of_parts(
        self,
        parts: FloatArray,
        wholes: FloatArray,
        bounds: _Bounds,
        operator: SummaryOperator,
    ) -> _Shares | None:
        if callable(operator):
            return None
        counts = np.ones_like(parts)
        divisors = np.ones(len(parts))
        for whole, (begin, end) in enumerate(bounds):
            counts[begin:end] = self.counts[whole]
            divisors[begin:end] = self.divisors[whole]
            if operator == "mean":
                divisors[begin:end] *= end - begin
            elif operator == "max" and end > begin:
                first = np.argmax(parts[begin:end] == wholes[whole], axis=0)
                counts[begin:end] *= np.arange(end - begin)[:, None] == first
        return _Shares(counts, divisors)


_ALL = _Shares(np.ones((1, 1)), np.ones(1))  # for sums: every block counts fully

_Bounds = list[tuple[int, int]]  # where the parts of each block begin and end
_Numbers = tuple[Sequence[tuple[float, ...]], Sequence[tuple[float, ...] | None]]


def _numbers(values: FloatArray, shares: _Shares | None) -> _Numbers:
    """Return the values and the contributions of blocks."""
    rows = _tuples(values)
    if shares is _ALL:
        return rows, rows
    if shares is None:
        return rows, [None] * len(rows)
    return rows, _tuples(_contributions(values, shares))


def _contributions(values: FloatArray, shares: _Shares) -> FloatArray:
    return values if shares is _ALL else values / shares.divisors[:, None] * shares.counts


def _outer_blocks(
    kind: str,
    places: list[tuple[int, int, int]],
    numbers: _Numbers,
    bounds: _Bounds,
    inner: list[Block],
) -> list[Block]:
    return [
        _made(
            Block,
            {
                "kind": kind,
                "start": start,
                "end": end,
                "value": value,
                "contribution": contribution,
                "blocks": tuple(inner[begin:stop]),
            },
        )
        for (start, end, _), value, contribution, (begin, stop) in zip(
            places, *numbers, bounds, strict=True
        )
    ]


def _made(kind: type[Block], fields: dict[str, Any]) -> Block:
    """Return a block with these fields; its constructor would set them one by one, slowly."""
    block = object.__new__(kind)
    object.__setattr__(block, "__dict__", fields)
    return block


def summarised(parts: FloatArray, owners: IntArray, blocks: int, operator: str) -> FloatArray:
    """Return the values of blocks from those of their parts, as the core does; 0 without parts."""
    wholes = np.zeros((blocks, parts.shape[1]))
    if operator == "max":
        wholes[owners] = -np.inf
        np.maximum.at(wholes, owners, parts)
        return wholes
    np.add.at(wholes, owners, parts)  # in sequence, as in the core
    if operator == "mean":
        wholes /= np.maximum(np.bincount(owners, minlength=blocks), 1)[:, None]
    return wholes


def _summarised_by(function: SummaryFunction, parts: FloatArray, bounds: _Bounds) -> FloatArray:
    wholes = np.zeros((len(bounds), parts.shape[1]))
    for index, (begin, end) in enumerate(bounds):
        if begin < end:
            wholes[index] = _summary_by(function, parts[begin:end])
    return wholes


def _summary_by(function: SummaryFunction, parts: FloatArray) -> FloatArray:
    given = function(parts.copy())
    try:
        result = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise HookError(f"a summary function must return numbers, got {given!r}") from None
    if result.shape != parts.shape[1:]:
        raise HookError(
            f"a summary function must return the shape {parts.shape[1:]} for an array of shape "
            f"{parts.shape}, got {result.shape}"
        )
    if not np.isfinite(result).all():
        raise HookError(f"a summary function must return finite numbers, got {given!r}")
    return result


def _bounds(parents: list[int], wholes: int) -> _Bounds:
    """Return the begin and end of each whole's parts; parts are in order of their wholes."""
    edges = [bisect_left(parents, whole) for whole in range(wholes + 1)]
    return list(pairwise(edges))


def _tuples(values: npt.NDArray[Any]) -> list[tuple[Any, ...]]:
    return list(map(tuple, values.tolist()))
