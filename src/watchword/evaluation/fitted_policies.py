"""Policies that `tune` fits to the scores of held-out subjects: thresholds, and learnt weights."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar, get_args

import numpy as np

from watchword._checks import (
    BoolArray,
    FloatArray,
    IntArray,
    Label,
    as_above_zero,
    as_choice,
    as_whole,
)
from watchword.evaluation import metrics
from watchword.evaluation.objectives import Objective, deadline_of
from watchword.evaluation.replaying import average_precision_of, is_positive
from watchword.evaluation.scores import Scores
from watchword.streams.histories import Histories
from watchword.streams.policies import (
    FEATURES,
    NEEDED_FOR,
    FeatureName,
    Overtakes,
    Policy,
    Reaches,
    Weighs,
)
from watchword.streams.policy_base import check_fields, ranking_score
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


# The thresholds that are tried: the mean of the weighted sum plus these standard deviations.
_ABOVE_MEAN = np.arange(-10, 40) / 10
_WEIGHT_DIGITS = 4  # significant digits of weights and thresholds
_STEPS = 50  # of Newton's method, at most
_CLOSE = 1e-9  # relative change of the loss at which it ends


@dataclass(frozen=True)
class Learnt(FittedPolicies):
    """Policies for `tune` that learn when to stop: `Weighs` with learnt weights.

    After each post, a second small classifier decides whether to alert now: a logistic regression
    on features of the history (see `Weighs`). It is fitted to the scores of held-out subjects, so
    the model never learnt the posts whose scores it sees. A post of a positive subject is weighted
    by the worth of a correct alert at that time, under the measure that `tune` optimises (1 minus
    the latency cost of ERDE, or the speed of F_latency), a post of another subject by the cost of a
    false alert. All subjects have the same weight, and the nth post of a subject has 1/n of the
    weight of its first, because the first posts decide whether an alert is early. `strengths` are
    the strengths of the penalty on squared weights, of features in units of their standard
    deviation. Several thresholds are tried, and alerts come after each of `first_posts` posts at
    the earliest.

    Policies for the subjects of a fold are fitted without this fold, so that they are compared
    fairly with policies that learn nothing. The chosen one is fitted again to all folds.
    `features` are, by default, all that can be computed from the scores.

    >>> import watchword as ww
    >>> people = ww.make_risk_streams(40, seed=3)
    >>> tuning = ww.tune(people, Learnt("at risk", features=("share", "posts")), refine=False)
    >>> list(tuning.best.policy.of.weights)
    ['share', 'posts']
    """

    positive: Label
    features: tuple[FeatureName, ...] | None = None
    strengths: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0)
    first_posts: tuple[int, ...] = (1, 2, 3, 5, 10, 20)

    def __post_init__(self) -> None:
        strengths = partial(as_values, what="a list of numbers", check=as_above_zero)
        check_fields(self, features=_as_features, strengths=strengths, first_posts=as_posts)

    def fitted(self, scores: Sequence[Scores], worth: Worth) -> Fit:
        """Return policies for each strength, threshold and first post, fitted to the scores."""
        names = self._features_of(scores)
        samples = [Samples.of(one, names, worth) for one in scores]
        best = best_ranking(scores)
        without = [_joined(samples[:at] + samples[at + 1 :]) for at in range(len(samples))]
        whole, *by_fold = (
            self._policies(each, names, best) for each in (_joined(samples), *without)
        )
        return Fit(whole, by_fold)

    def _features_of(self, scores: Sequence[Scores]) -> tuple[FeatureName, ...]:
        """Return the features to use, or raise `ValueError` if the scores lack a chosen one."""
        has = frozenset.intersection(*(one.has for one in scores))
        available = tuple(name for name in FEATURES if NEEDED_FOR[name] <= has)
        if self.features is None:
            return available
        if missing := [name for name in self.features if name not in available]:
            raise ValueError(
                f"the features {', '.join(missing)} cannot be computed from these scores, which "
                f"have only {', '.join(sorted(has))}; available: {', '.join(available)}"
            )
        return self.features

    def _policies(
        self, samples: Samples, names: Sequence[FeatureName], ranking: ScoreName
    ) -> list[Policy]:
        learnt: list[Policy] = [
            policy
            for strength in self.strengths
            for policy in _weighing(self.positive, samples, names, strength)
        ]
        return timed(learnt, self.first_posts, ranking)


class FeatureWeight(NamedTuple):
    """The weight of a feature, and how much it matters in some scores."""

    feature: FeatureName
    weight: float
    deviation: float  #: standard deviation of the feature
    effect: float  #: weight · deviation, comparable between features


def weight_table(policy: Weighs, scores: Scores) -> list[FeatureWeight]:
    """Return the weights of a policy, the feature that matters most in these scores first.

    All subjects count the same, and the nth post of a subject 1/n as much as its first.

    >>> values, others = [[1, 2], [0, 3]], [[0, 0], [1, 3]]
    >>> scores = Scores.from_values(["ann", "bob"], [1, 0], values, others, positive=1)
    >>> for one in weight_table(Weighs(1, share=2, posts=0.5), scores):
    ...     print(f"{one.feature:6} {one.weight:4.1f} {one.effect:5.2f}")
    share   2.0  1.80
    posts   0.5  0.16
    """
    names = list(policy.weights)
    samples = Samples.of(scores, names, lambda delays: np.ones(delays.size))
    _, deviations = _mean_and_deviation(samples.features, samples.shares)
    columns = zip(policy.weights.items(), deviations.tolist(), strict=True)
    found = [
        FeatureWeight(name, weight, deviation, weight * deviation)
        for (name, weight), deviation in columns
    ]
    return sorted(found, key=lambda one: -abs(one.effect))


class Samples(NamedTuple):
    """The steps of subjects: a row of features for each, and how much it counts."""

    features: FloatArray
    truth: BoolArray  #: whether the subject is positive
    shares: FloatArray  #: how much the step counts among those of its subject, 1 together
    worth: FloatArray  #: what a correct alert at the step is worth

    @classmethod
    def of(cls, scores: Scores, names: Sequence[FeatureName], worth: Worth) -> Samples:
        """Return the steps with new posts."""
        histories, subjects = scores.histories, len(scores.subjects)
        read = histories.is_read  # chunks may be empty
        owners = np.repeat(np.arange(subjects), histories.lengths)[read]
        posts = histories.posts[read]
        totals = np.bincount(owners, 1 / posts, minlength=subjects)
        columns = [FEATURES.index(name) for name in names]
        return cls(
            histories.features[read][:, columns],
            is_positive(scores)[owners],
            1 / (posts * totals[owners]),
            worth(posts),
        )


def _joined(samples: Sequence[Samples]) -> Samples:
    return Samples(*(np.concatenate(each) for each in zip(*samples, strict=True)))


def _weighing(
    positive: Label, samples: Samples, names: Sequence[FeatureName], strength: float
) -> Iterator[Weighs]:
    """Yield policies with weights fitted to samples, the highest threshold first."""
    found = dict.fromkeys(FEATURES, 0.0)
    found.update(zip(names, map(_rounded, fit_weights(samples, strength)), strict=True))
    base = Weighs(positive, **found)
    sums = samples.features @ np.array([found[name] for name in names])
    mean, deviation = _mean_and_deviation(sums, samples.shares)
    for above in reversed(_ABOVE_MEAN.tolist()):
        yield replace(base, threshold=_rounded(float(mean + above * deviation)))


def fit_weights(samples: Samples, strength: float) -> list[float]:
    """Return the weight of each feature, by penalised logistic regression (Newton's method).

    A feature that is the same in all steps has the weight 0.
    """
    features, truth, shares, worth = samples
    positives, others = float(shares[truth].sum()), float(shares[~truth].sum())
    if not positives or not others:
        raise ValueError(
            "a policy cannot be learnt from subjects with posts that are all positive or all not"
        )
    cost = positives / (positives + others)  # of a false alert, as in ERDE
    counts = shares * np.where(truth, worth, cost)
    mean, deviation = _mean_and_deviation(features, shares)
    varies = deviation > 1e-12 * (1 + abs(mean))
    scaled = (features[:, varies] - mean[varies]) / deviation[varies]
    weights = np.zeros(features.shape[1])
    weights[varies] = _logistic(scaled, truth, counts, strength) / deviation[varies]
    return [float(weight) for weight in weights]


def _logistic(
    features: FloatArray, truth: BoolArray, counts: FloatArray, strength: float
) -> FloatArray:
    """Return the weights of a logistic regression with an intercept, which is not penalised."""
    rows = np.column_stack([features, np.ones(len(features))])
    signs = np.where(truth, 1.0, -1.0)
    penalty = np.append(np.full(features.shape[1], strength), 1e-6)
    weights = np.zeros(rows.shape[1])

    def loss(tried: FloatArray) -> float:
        wrong = np.logaddexp(0.0, -signs * (rows @ tried))
        return float(counts @ wrong + penalty @ tried**2 / 2)

    current = loss(weights)
    for _ in range(_STEPS):
        chances = 0.5 + 0.5 * np.tanh(rows @ weights / 2)
        slope = rows.T @ (counts * (chances - truth)) + penalty * weights
        curve = (rows.T * (counts * chances * (1 - chances))) @ rows + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        size = 1.0
        while (found := loss(weights - size * step)) > current and size > 1e-6:
            size /= 2
        if current - found <= _CLOSE * abs(current):
            break
        weights, current = weights - size * step, found
    return weights[:-1]


def _mean_and_deviation(values: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = np.average(values, axis=0, weights=shares)
    return mean, np.sqrt(np.average((values - mean) ** 2, axis=0, weights=shares))


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _as_features(name: str, value: object) -> tuple[FeatureName, ...] | None:
    if value is None:
        return None
    check = partial(as_choice, choices=FEATURES)
    chosen = as_values(name, value, "a list of features", check)
    return tuple(one for one in FEATURES if one in chosen)
