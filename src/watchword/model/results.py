"""Result types of a model: small, plain, immutable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from watchword._checks import FloatArray, Label

# The field `count` hides the tuple method of the same name.


class Value(NamedTuple):
    """The count and the values of an n-gram under one label."""

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
    """The result of pruning: the number of removed n-grams (per label) and their total count.

    `refinement_dropped` is true if the model was refined and no longer is.
    """

    ngrams: int
    counts: int
    refinement_dropped: bool = False


class ConfidenceTable(NamedTuple):
    """The confidences of texts (rows) for labels (columns)."""

    labels: tuple[Label, ...]
    values: FloatArray


@dataclass(frozen=True)
class ModelStatistics:
    """Statistics of a model: documents and words per label, distinct n-grams per length.

    With `counting="documents"`, words are the distinct words of each document.
    """

    documents: dict[Label, int]
    words: dict[Label, int]
    ngrams: tuple[int, ...]
    pruned_ngrams: int
    pruned_counts: int
    pruned: bool
