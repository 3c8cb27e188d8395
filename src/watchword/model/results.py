"""What a model answers with: small, plain, immutable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from watchword._checks import Label
from watchword.model.parameters import FloatArray

# `count` hides the method of that name that tuples have, which nobody will miss here.


class Value(NamedTuple):
    """All about an n-gram under one label: how often it was counted, and what it is worth."""

    count: int  # type: ignore[assignment]
    lv: float
    sg: float
    sn: float
    gv: float
    cv: float


class RankedNgram(NamedTuple):
    """An n-gram with its value and its count under one label."""

    ngram: str
    value: float
    count: int  # type: ignore[assignment]


class NextWord(NamedTuple):
    """A word that was seen after an n-gram."""

    word: str
    count: int  # type: ignore[assignment]
    probability: float


class Pruned(NamedTuple):
    """What a pruning removed: n-grams (counted per label) and their counts in all."""

    ngrams: int
    counts: int


class ConfidenceTable(NamedTuple):
    """The confidences of texts (rows) for labels (columns), all from one moment."""

    labels: tuple[Label, ...]
    values: FloatArray


@dataclass(frozen=True)
class ModelStatistics:
    """What a model has learnt: documents and words per label, distinct n-grams per length.

    Where documents are counted, words are the distinct ones of each document.
    """

    documents: dict[Label, int]
    words: dict[Label, int]
    ngrams: tuple[int, ...]
    pruned_ngrams: int
    pruned_counts: int
    pruned: bool
