"""Policies with thresholds taken from the quantiles of observed scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from watchword._arrays import FloatArray
from watchword._checks import Label
from watchword.evaluation.fitted_policies import Fit, FittedPolicies, Worth, as_posts
from watchword.evaluation.replaying import average_precision_of, is_positive
from watchword.evaluation.scores import Scores
from watchword.streams.histories import Histories
from watchword.streams.policies import Overtakes, Policy, Reaches
from watchword.streams.policy import ranking_score, settle
from watchword.streams.steps import ScoreName, Step

# The quantiles used as thresholds: finer where alerts are rare.
_QUANTILES = np.r_[0, 0.2, 0.4, 0.5, 0.6, 0.65, 0.7:0.78:0.02, 0.78:0.98:0.01, 0.98:0.9999:0.002]
_DIGITS = 4  # significant digits of a threshold
# On the streams in benchmarks/, smaller gains of average precision in cross-validation do not last.
_CLEARLY = 0.01


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
        settle(self, first_posts=as_posts)

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
        timed = [policy.after(first) for first in self.first_posts for policy in cautious_first]
        return [one if ranking_score(one) == best else one.ranked_by(best) for one in timed]

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
