"""Policies that `tune` fits to the scores of held-out subjects before it tries them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from watchword._arrays import FloatArray, IntArray
from watchword._checks import Label, as_whole
from watchword.evaluation import metrics
from watchword.evaluation.objectives import Objective, deadline_of
from watchword.evaluation.scores import Scores
from watchword.streams.policies import Policy

_Value = TypeVar("_Value")
Worth = Callable[[IntArray], FloatArray]
"""What a correct alert after some numbers of posts is worth, from 0 to 1."""


def worth_of(objective: Objective, p: float) -> Worth:
    """Return a function from delays to the worth of a correct alert by an objective.

    By ERDE_o it is 1 − lc_o(k), by F_latency the speed, by other measures 1 at any time; by a
    weighted sum, the weighted mean.

    >>> worth_of(Objective.of({"erde5": 1, "f1": 1}), p=0.0078)(np.array([1, 5, 99])).round(2)
    array([0.99, 0.75, 0.5 ])
    """

    def worth(delays: IntArray) -> FloatArray:
        names = objective.names
        weights = objective.weights or dict.fromkeys(names, 1.0)
        total = np.zeros(delays.size)
        for name in names:
            total += weights[name] * _worth_by(name, delays, p)
        return total / sum(weights.values()) if names else np.ones(delays.size)

    return worth


def _worth_by(name: str, delays: IntArray, p: float) -> FloatArray:
    deadline = deadline_of(name)
    if deadline is not None:
        return np.asarray(1 - metrics.latency_cost(delays, deadline))
    return (
        np.asarray(1 - metrics.penalty(delays, p)) if name == "f_latency" else np.ones(len(delays))
    )


class Fit(NamedTuple):
    """Policies fitted to the scores of all folds, and those that are tried on each fold.

    For each fold, `by_fold` has the policies that are tried on it, one for each of `policies`.
    """

    policies: list[Policy]
    by_fold: list[list[Policy]]


class FittedPolicies(ABC):
    """Base class of what `tune` replaces by policies fitted to scores."""

    positive: Label

    @abstractmethod
    def fitted(self, scores: Sequence[Scores], _worth: Worth, /) -> Fit:
        """Return the policies fitted to scores, which are those of one fold each."""


def as_values(
    name: str, value: object, what: str, check: Callable[[str, object], _Value]
) -> tuple[_Value, ...]:
    """Return a list as a tuple of checked values; raise an error if it is empty or no list."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be {what}, got {value!r}")
    found = tuple(check(name, one) for one in value)
    if not found:
        raise ValueError(f"{name} must not be empty")
    return found


def as_posts(name: str, value: object) -> tuple[int, ...]:
    """Return the value as numbers of posts, each at least 1."""
    return as_values(name, value, "numbers of posts", partial(as_whole, least=1))
