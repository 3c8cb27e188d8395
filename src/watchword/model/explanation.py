"""Explanations: the blocks of a text with their values, as plain data.

`Explanation.to_dict()` is all that a renderer needs: blocks of the text with their offsets, values
and contributions. The values come from the core; only the contributions are computed here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from watchword._arrays import FloatArray
from watchword._checks import Label
from watchword.errors import HookError
from watchword.model.parameter_kinds import Level, SummaryFunction, SummaryOperator
from watchword.model.parameters import Parameters


class _Plain:
    """Base class of the parts of an explanation: fast, because a text may have many."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: strings, numbers, lists and dictionaries only."""
        return {
            name: _listed(value)
            for name, value in vars(self).items()
            if value is not None or name not in _ONLY_REFINED
        }


_ONLY_REFINED = ("counted", "corrected", "bias", "ngrams")


def _listed(value: Any) -> Any:
    if isinstance(value, tuple):
        return [one.to_dict() if isinstance(one, _Plain) else one for one in value]
    return dict(value) if isinstance(value, dict) else value


@dataclass(frozen=True)
class Block(_Plain):
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
class ScoredNgram(_Plain):
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
class Explanation(_Plain):
    """The values of a text's paragraphs, sentences and n-grams.

    With the summary `"sum"`, the contributions of the n-grams add up, left to right, to the
    contribution of their sentence, and so on up to `value`. In a refined model, `value` is the
    `bias` plus what `ngrams` add, which overlap; so do the contributions of the blocks.
    """

    text: str
    labels: tuple[Label, ...]
    label: Label
    value: tuple[float, ...]
    summary: dict[Level, str]
    blocks: tuple[Block, ...]
    bias: tuple[float, ...] | None = None
    ngrams: tuple[ScoredNgram, ...] | None = None

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
        from watchword.show.html import explanation_html  # on demand: explaining does not need it

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
        from watchword.show.html import explanation_page

        return explanation_page(
            self, label, level=level, title=title, most=most, alert=alert, all_labels=all_labels
        )

    def _repr_html_(self) -> str:
        from watchword.show.html import notebook_html

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
        self._operators = parameters.operators
        self._table = explained["values"]
        self._ngrams = explained["ngrams"]
        self._distinct = np.array([ngram[4] for ngram in self._ngrams], dtype=np.intp)
        confidences: FloatArray = self._table["cv"]
        self._score = explained["score"]
        row_values = np.where(confidences > parameters.alpha, confidences, 0.0)
        self.ngram_values: FloatArray = row_values[self._distinct]
        if self._score is not None:
            self.ngram_values = self._score["block_counted"] + self._score["block_corrected"]
        sentences, paragraphs = explained["sentences"], explained["paragraphs"]
        self._bounds = (
            _bounds([ngram[2] for ngram in self._ngrams], len(sentences)),
            _bounds([sentence[2] for sentence in sentences], len(paragraphs)),
            [(0, len(paragraphs))],
        )

    @cached_property
    def _levels(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        # The core summarises with its own operators only; user-defined functions run here.
        sentences: FloatArray = self._explained["sentence_values"]
        paragraphs: FloatArray = self._explained["paragraph_values"]
        document: FloatArray = self._explained["value"].reshape(1, -1)
        if not any(callable(operator) for operator in self._operators.values()):
            return sentences, paragraphs, document
        sentences = _summarise(self.ngram_values, self._bounds[0], self._operators["sentence"])
        paragraphs = _summarise(sentences, self._bounds[1], self._operators["paragraph"])
        document = _summarise(paragraphs, self._bounds[2], self._operators["document"])
        return sentences, paragraphs, document

    @property
    def document(self) -> FloatArray:
        """The document's value for each label."""
        vector: FloatArray = self._levels[2][0]
        return vector

    def build(self) -> tuple[Block, ...]:
        """Return the paragraphs with their sentences and n-grams."""
        sentences, paragraphs, _ = self._levels
        ngram_bounds, sentence_bounds, _ = self._bounds
        paragraph_shares, sentence_shares, ngram_shares = self._shares()
        ngram_blocks = self._ngram_blocks(ngram_shares)
        sentence_blocks = _outer_blocks(
            "sentence",
            self._explained["sentences"],
            _numbers(sentences, sentence_shares),
            ngram_bounds,
            ngram_blocks,
        )
        return tuple(
            _outer_blocks(
                "paragraph",
                self._explained["paragraphs"],
                _numbers(paragraphs, paragraph_shares),
                sentence_bounds,
                sentence_blocks,
            )
        )

    def _shares(self) -> tuple[_Shares | None, _Shares | None, _Shares | None]:
        """Return the shares of paragraphs, sentences and n-grams."""
        if set(self._operators.values()) == {"sum"}:
            return _ALL, _ALL, _ALL
        sentences, paragraphs, document = self._levels
        ngram_bounds, sentence_bounds, paragraph_bounds = self._bounds
        whole = _Shares(np.ones_like(document), np.ones(1))
        paragraph_shares = whole.of_parts(
            paragraphs, document, paragraph_bounds, self._operators["document"]
        )
        sentence_shares = paragraph_shares and paragraph_shares.of_parts(
            sentences, paragraphs, sentence_bounds, self._operators["paragraph"]
        )
        ngram_shares = sentence_shares and sentence_shares.of_parts(
            self.ngram_values, sentences, ngram_bounds, self._operators["sentence"]
        )
        return paragraph_shares, sentence_shares, ngram_shares

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
        bounds: list[tuple[int, int]],
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

_Numbers = tuple[Sequence[tuple[float, ...]], Sequence[tuple[float, ...] | None]]


def _numbers(values: FloatArray, shares: _Shares | None) -> _Numbers:
    """Return the values and the contributions of blocks."""
    rows = _tuples(values)
    if shares is _ALL:
        return rows, rows
    if shares is None:
        return rows, [None] * len(rows)
    return rows, _tuples(values / shares.divisors[:, None] * shares.counts)


def _outer_blocks(
    kind: str,
    places: list[tuple[int, int, int]],
    numbers: _Numbers,
    bounds: list[tuple[int, int]],
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


def _summarise(
    parts: FloatArray, bounds: list[tuple[int, int]], operator: SummaryOperator
) -> FloatArray:
    wholes = np.zeros((len(bounds), parts.shape[1]))
    for index, (begin, end) in enumerate(bounds):
        if begin < end:
            wholes[index] = _summarise_one(parts[begin:end], operator)
    return wholes


def _summarise_one(parts: FloatArray, operator: SummaryOperator) -> FloatArray:
    if callable(operator):
        return _summarise_by_function(parts, operator)
    if operator == "max":
        return np.asarray(parts.max(axis=0))
    total = np.zeros(parts.shape[1])
    for part in parts:  # left to right, as the core adds
        total = total + part
    return total / len(parts) if operator == "mean" else total


def _summarise_by_function(parts: FloatArray, function: SummaryFunction) -> FloatArray:
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


def _bounds(parents: list[int], wholes: int) -> list[tuple[int, int]]:
    """Return the begin and end of each whole's parts; parts are in order of their wholes."""
    edges = [bisect_left(parents, whole) for whole in range(wholes + 1)]
    return list(pairwise(edges))


def _tuples(values: npt.NDArray[Any]) -> list[tuple[Any, ...]]:
    return list(map(tuple, values.tolist()))
