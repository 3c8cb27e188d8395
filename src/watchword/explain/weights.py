"""Weights: the contribution of each n-gram occurrence to a text's value, as arrays.

In a refined model, the n-grams of a score overlap. There, the occurrences are the blocks of the
text: a block's words lose their share of every n-gram that contains them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from watchword._checks import BoolArray, FloatArray, IntArray
from watchword.errors import HookError
from watchword.model.engine import Engine
from watchword.model.explanation import BlockValues, summarised
from watchword.model.parameters import Level


class Terms(NamedTuple):
    """The n-grams that a text's value adds up: how often each occurs, and what that adds."""

    ngrams: list[str]
    times: IntArray
    contributions: FloatArray
    counted: FloatArray  #: the part that was counted
    corrections: FloatArray  #: in a refined model, the rest


@dataclass(frozen=True)
class Weights:
    """The n-gram occurrences of a text in order, each with one number per label."""

    places: tuple[tuple[int, int, str], ...]  #: its start, end and n-gram, as the model stores it
    values: FloatArray  #: confidence of each occurrence
    contributions: FloatArray  #: the share of it that reaches the document's value
    operators: dict[Level, str]  #: summary operators, level by level
    adds_up: bool  #: whether zeroing an occurrence subtracts exactly its contribution
    owners: dict[str, tuple[IntArray, int]]  #: as of `BlockValues`
    terms: Terms  #: the occurrences or, in a refined model, the overlapping n-grams of the score
    score: FloatArray | None = None  #: the refined score: the bias and all contributions

    def without(self, zeroed: BoolArray) -> FloatArray:
        """Return the text's values with some occurrences zeroed, added in the core's order."""
        if self.score is not None:
            return np.asarray(self.score - self.contributions[zeroed].sum(axis=0))
        values = np.where(zeroed[:, None], 0.0, self.values)
        for level, operator in self.operators.items():
            values = summarised(values, *self.owners[level], operator)
        return np.asarray(values[0])


def weigh(engine: Engine, text: str) -> Weights:
    """Read a text and return the weights of its n-gram occurrences.

    Raises `HookError` with user-defined summary functions, whose values have no shares.
    """
    explained = _explained(engine, text)
    ngrams, score = explained["ngrams"], explained["score"]
    blocks = BlockValues(explained, engine.parameters)
    contributions = blocks.ngram_contributions
    return Weights(
        places=tuple((start, end, words) for start, end, _, words, _ in ngrams),
        values=blocks.ngram_values,
        contributions=contributions,
        operators=engine.parameters.operator_names,
        adds_up=engine.parameters.is_additive,
        owners=blocks.owners,
        terms=(_counted_terms(ngrams, contributions) if score is None else _scored_terms(score)),
        score=None if score is None else explained["value"],
    )


def weigh_terms(engine: Engine, text: str) -> Terms:
    """Read a text and return only the n-grams that its value adds up; see `weigh`."""
    explained = _explained(engine, text)
    if explained["score"] is not None:
        return _scored_terms(explained["score"])
    blocks = BlockValues(explained, engine.parameters)
    return _counted_terms(explained["ngrams"], blocks.ngram_contributions)


def _explained(engine: Engine, text: str) -> dict[str, Any]:
    engine.refuse_if_unreadable()
    if engine.parameters.has_own_operators:
        raise HookError(
            "the value of a summary function cannot be split into shares of n-grams; "
            "use 'sum', 'mean' or 'max' as summary"
        )
    return engine.native.explain(engine.source.read([text], with_spans=True))


def _counted_terms(ngrams: list[tuple[Any, ...]], contributions: FloatArray) -> Terms:
    names, times = [one[3] for one in ngrams], np.ones(len(ngrams), np.int64)
    return Terms(names, times, contributions, contributions, np.zeros_like(contributions))


def _scored_terms(score: dict[str, Any]) -> Terms:
    names = [words for words, _, _, _ in score["ngrams"]]
    times = np.array([times for _, _, times, _ in score["ngrams"]], np.int64)
    counted, corrected = score["counted"], score["corrected"]
    return Terms(names, times, counted + corrected, counted, corrected)


def differences(rows: FloatArray, column: int, rival: int | None) -> FloatArray:
    """Return how far each row favours a label over its rival; without a rival, its value."""
    own = rows[:, column]
    return own if rival is None else np.asarray(own - rows[:, rival])


def strongest(
    found: Sequence[Any],
    most: int,
    difference: Callable[[Any], float] = attrgetter("difference"),
) -> tuple[list[Any], list[Any]]:
    """Return the strongest evidence for and against a label; of equals, the first.

    The `difference` of each is positive for the label and negative against it.
    """
    falling = sorted(found, key=difference, reverse=True)[:most]
    rising = sorted(found, key=difference)[:most]
    return [one for one in falling if difference(one) > 0], [
        one for one in rising if difference(one) < 0
    ]
