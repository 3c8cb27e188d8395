"""Learnt stopping: weights of `Weighs`, learnt from subjects with known labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from watchword._arrays import BoolArray, FloatArray
from watchword._checks import Label, as_above_zero, as_choice
from watchword.evaluation.fitted_policies import (
    Fit,
    FittedPolicies,
    Worth,
    as_posts,
    as_values,
    best_ranking,
    timed,
)
from watchword.evaluation.replaying import is_positive
from watchword.evaluation.scores import Scores
from watchword.streams.policies import Policy, Weighs
from watchword.streams.policy import check_fields
from watchword.streams.steps import ScoreName
from watchword.streams.weighing import FEATURES, NEEDED_FOR, FeatureName

# The thresholds that are tried: the mean of the weighted sum plus these standard deviations.
_ABOVE_MEAN = np.arange(-10, 40) / 10
_DIGITS = 4  # significant digits of weights and thresholds
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
