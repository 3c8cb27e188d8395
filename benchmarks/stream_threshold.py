"""The policy of the peers: alert when the score is at least θ, from post n on. Both are tuned.

The measures are those of `watchword.evaluation.metrics`, for many thresholds at once and without
watchword, which is not installed where the peers run. The final figures are not computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

FIRST_POSTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
# Thresholds are quantiles of the scores that were met, every subject counting the same: a grid
# that fits the range of any classifier, finer where alerts are rare.
_LEVELS = np.r_[0, 0.2, 0.4, 0.5, 0.6, 0.65, 0.7:0.78:0.02, 0.78:0.98:0.01, 0.98:0.9999:0.002]


@dataclass(frozen=True)
class Threshold:
    """A choice of θ and n, with the measure that it reached in cross-validation."""

    value: float
    threshold: float
    first_post: int


def best_threshold(
    scores: FloatArray,
    sizes: IntArray,
    truth: BoolArray,
    folds: Sequence[Sequence[int]],
    measure: str,
) -> Threshold:
    """The choice with the lowest mean over folds; of equals, the earlier post and lower θ."""
    judge = _MEASURES[measure]
    thresholds = _candidates(scores, sizes)
    weights = [len(fold) for fold in folds]
    best = Threshold(np.inf, 0.0, 0)
    for first_post in FIRST_POSTS:
        delays = alert_delays(scores, sizes, thresholds, first_post)
        by_fold = [judge(truth[list(fold)], delays[list(fold)]) for fold in folds]
        values = np.average(by_fold, axis=0, weights=weights)
        place = int(values.argmin())
        if values[place] < best.value:
            best = Threshold(float(values[place]), float(thresholds[place]), first_post)
    return best


def alert_delays(
    scores: FloatArray, sizes: IntArray, thresholds: FloatArray, first_post: int
) -> IntArray:
    """Posts read when each subject's alert falls, 0 if it never does: subjects × thresholds."""
    delays = np.zeros((len(sizes), len(thresholds)), np.int64)
    for row, own in enumerate(np.split(scores, np.cumsum(sizes)[:-1])):
        highest = np.maximum.accumulate(own[first_post - 1 :])
        waited = np.searchsorted(highest, thresholds)
        delays[row] = np.where(waited < highest.size, waited + first_post, 0)
    return delays


def _candidates(scores: FloatArray, sizes: IntArray) -> FloatArray:
    order = np.argsort(scores)
    cumulated = np.cumsum(np.repeat(1 / np.maximum(sizes, 1), sizes)[order])
    places = np.searchsorted(cumulated, _LEVELS * cumulated[-1])
    return np.unique(scores[order][np.minimum(places, order.size - 1)])


def _erde50(truth: BoolArray, delays: IntArray) -> FloatArray:
    missed, distance = delays == 0, np.clip(delays - 50.0, -500, 500)
    costs = np.where(missed, 1.0, 1 - 1 / (1 + np.exp(distance)))
    false_alarms = np.where(missed, 0.0, truth.mean())
    return np.asarray(np.where(truth[:, np.newaxis], costs, false_alarms).mean(axis=0))


def _minus_latency_weighted_f1(truth: BoolArray, delays: IntArray) -> FloatArray:
    alerts, own = (delays > 0).sum(axis=0), delays[truth]
    hits = (own > 0).sum(axis=0)
    f1 = 2 * hits / (alerts + truth.sum())
    own = np.sort(np.where(own > 0, own, np.iinfo(np.int64).max), axis=0)
    columns = np.arange(own.shape[1])
    low, high = own[np.maximum(hits - 1, 0) // 2, columns], own[hits // 2 % len(own), columns]
    speeds = [1 - np.tanh(0.0078 * (delay - 1.0) / 2) for delay in (low, high)]
    return np.asarray(np.where(hits > 0, -f1 * (speeds[0] + speeds[1]) / 2, 0.0))


_MEASURES: dict[str, Callable[[BoolArray, IntArray], FloatArray]] = {
    "erde50": _erde50,
    "f_latency": _minus_latency_weighted_f1,
}
