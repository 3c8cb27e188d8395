"""Policies that `tune` fits to the scores of held-out subjects: their base, and thresholds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar, get_args

import numpy as np

from watchword._arrays import FloatArray, IntArray
from watchword._checks import Label, as_whole
from watchword.evaluation import metrics
from watchword.evaluation.objectives import Objective, deadline_of
from watchword.evaluation.replaying import average_precision_of, is_positive
from watchword.evaluation.scores import Scores
from watchword.streams.histories import Histories
from watchword.streams.policies import Overtakes, Policy, Reaches
from watchword.streams.policy import check_fields, ranking_score
from watchword.streams.steps import ScoreName, Step

# The quantiles used as thresholds: finer where alerts are rare.
_QUANTILES = np.r_[0, 0.2, 0.4, 0.5, 0.6, 0.65, 0.7:0.78:0.02, 0.78:0.98:0.01, 0.98:0.9999:0.002]
_DIGITS = 4  # significant digits of a threshold
# On the streams in benchmarks/, smaller gains of average precision in cross-validation do not last.
_CLEARLY = 0.01

_Value = TypeVar("_Value")
Worth = Callable[[IntArray], FloatArray]
"""What a correct alert after some numbers of posts is worth, from 0 to 1."""


def worth_of(objective: Objective, p: float) -> Worth:
    """Return a function from delays to the worth of a correct alert by an objective.

    For ERDE it is 1 minus the latency cost, for F_latency the speed, for other measures always 1,
    and for a weighted sum of measures the weighted mean.

    >>> worth_of(Objective.of({"erde5": 1, "f1": 1}), p=0.0078)(np.array([1, 5, 99])).round(2)
    array([0.99, 0.75, 0.5 ])
    """

    def worth_by(name: str, delays: IntArray) -> FloatArray:
        if (deadline := deadline_of(name)) is not None:
            return 1 - metrics.latency_cost(delays, deadline)
        return 1 - metrics.penalty(delays, p) if name == "f_latency" else np.ones(delays.size)

    def worth(delays: IntArray) -> FloatArray:
        names = objective.names
        weights = objective.weights or dict.fromkeys(names, 1.0)
        total = np.zeros(delays.size)
        for name in names:
            total += weights[name] * worth_by(name, delays)
        return total / sum(weights.values()) if names else np.ones(delays.size)

    return worth


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


def timed(
    policies: Sequence[Policy], first_posts: Sequence[int], ranking: ScoreName
) -> list[Policy]:
    """Return the policies after each of these numbers of posts, with this score to rank by."""
    late = [policy.after(first) for first in first_posts for policy in policies]
    return [one if ranking_score(one) == ranking else one.ranked_by(ranking) for one in late]


@dataclass(frozen=True)
class Thresholds(FittedPolicies):
    """Policies for `tune` with thresholds fitted to the scores, after each of `first_posts` posts.

    The range of values depends on the model's parameters, on the number of posts and on the share
    of positives, so no fixed list of thresholds suits all data. These thresholds are quantiles of
    the scores of held-out subjects, with equal weight for each subject: of the share of the
    positive label (for `Reaches`) and of its lead over the best other label (the margin of
    `Overtakes`). Among policies with equal measures, `tune` prefers the earlier one, then the one
    with the higher threshold.

    If another score ranks the subjects clearly better than the share after their last posts, it
    ranks them (`Policy.ranked_by`), and `Reaches` with this score is also tried. It must raise the
    average precision by .01 in the mean over folds, and by more than twice the standard error.

    >>> import watchword as ww
    >>> people = ww.make_risk_streams(40, seed=3)
    >>> tuning = ww.tune(people, ww.Thresholds("at risk", first_posts=(1, 5)))
    >>> tuning.best.policy.posts
    1
    """

    positive: Label
    first_posts: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)

    def __post_init__(self) -> None:
        check_fields(self, first_posts=as_posts)

    def fitted(self, scores: Sequence[Scores], _worth: Worth) -> Fit:
        """Return the policies fitted to all scores; every fold is tried with the same ones."""
        policies = self.policies(scores)
        return Fit(policies, [policies] * len(scores))

    def policies(self, scores: Sequence[Scores]) -> list[Policy]:
        """Return the policies fitted to these scores."""
        series = [one for each in scores for one in each.series if one.value.size]
        if not series:
            return [Overtakes(self.positive).after(first) for first in self.first_posts]
        weights = np.concatenate([np.full(one.value.size, 1 / one.value.size) for one in series])
        step = Histories(series).steps
        leads = reversed(_quantiles(step.value - step.other, weights))
        best = best_ranking(scores)
        cautious_first: list[Policy] = [
            *self._reaching(step, weights, "share"),
            *(Overtakes(self.positive, margin=one) for one in leads),
        ]
        if best not in ("share", "difference"):  # the difference is the lead
            cautious_first += self._reaching(step, weights, best)
        return timed(cautious_first, self.first_posts, best)

    def _reaching(self, step: Step, weights: FloatArray, score: ScoreName) -> list[Reaches]:
        """Return policies for the quantiles of a score, highest first; 0 means no evidence."""
        found = reversed(_quantiles(step.score(score), weights))
        return [Reaches(self.positive, one, score) for one in found if one > 0]


def best_ranking(scores: Sequence[Scores]) -> ScoreName:
    """Return the score that ranks subjects best; the share unless another is clearly better."""
    judged = [one for one in scores if is_positive(one).any()]
    if not judged:
        return "share"
    shares = np.array([average_precision_of(one, "share") for one in judged])
    best: ScoreName = "share"
    most = _CLEARLY
    for name in get_args(ScoreName):
        if all(Step.needed_for(name) <= one.has for one in judged):
            gains = np.array([average_precision_of(one, name) for one in judged]) - shares
            error = gains.std(ddof=1) / math.sqrt(gains.size) if gains.size > 1 else 0.0
            if gains.mean() >= most and gains.mean() > 2 * error:
                best, most = name, float(gains.mean())
    return best


def _quantiles(values: FloatArray, weights: FloatArray) -> list[float]:
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    indices = np.searchsorted(below, _QUANTILES * below[-1])
    found = values[order][np.minimum(indices, values.size - 1)]
    return sorted({float(f"{one:.{_DIGITS}g}") for one in found.tolist()})
