"""Measures of early detection: ERDE, F_latency, rankings, bounds and bootstrap intervals.

A subject is alerted if its predicted label is the positive one. Its delay k is the number of posts
read when the alert was raised, ignored without an alert. Chunk delays of subjects with fewer than
ten posts are 0 by the official rule; `minimum_delay=0` accepts them (otherwise 0 is an error).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from watchword._checks import BoolArray, FloatArray, IntArray, as_not_negative, as_number, as_whole
from watchword.evaluation.counts import AlertCounts

Labels = Iterable[Any]
_Costs = tuple[float | None, float, float]  # of false positives, false negatives, true positives
CHUNKS = 10  # eRisk 2017 and 2018
LATENCY_P = 0.0078  # of the penalty, at eRisk


ROUNDING = 1e-9  # differences of measures that are smaller may come from the order of sums


@dataclass(frozen=True)
class ErdeBounds:
    """The ERDE of never alerting, of alerting everyone at once, and the best possible one.

    `at_once` is that of alerting all subjects at the first step, `best` that of alerting exactly
    the positives there. Subjects without posts cannot be alerted: their positives count as missed.
    """

    never: float
    at_once: float
    best: float


@dataclass(frozen=True)
class PrecisionRecallF1:
    """Precision, recall and F₁ of the positive label; 0 where the denominator is 0."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Interval:
    """A measure on the whole set and its interval over resamples; `undefined` counts NaN."""

    value: float
    low: float
    high: float
    undefined: int

    @classmethod
    def of(cls, value: float, resampled: FloatArray, confidence_level: float) -> Interval:
        """Return the percentile interval, given the values of resamples."""
        if not 0 < as_number("confidence_level", confidence_level) < 1:
            raise ValueError(f"confidence_level must be in (0, 1), got {confidence_level}")
        defined = resampled[np.isfinite(resampled)]
        ends = [0.5 - confidence_level / 2, 0.5 + confidence_level / 2]
        low, high = np.quantile(defined, ends) if defined.size else (math.nan, math.nan)
        return cls(value, float(low), float(high), resampled.size - defined.size)

    @property
    def excludes_zero(self) -> bool:
        """Whether all differences are on one side of zero, by more than rounding errors."""
        return self.low > ROUNDING or self.high < -ROUNDING


def latency_cost(delays: ArrayLike, deadline: float) -> FloatArray:
    """Return the cost of a true positive after k posts: lc_o(k) = 1 − 1/(1 + e^(k−o)).

    >>> latency_cost([1, 50, 99, 100_000], 50).round(3).tolist()
    [0.0, 0.5, 1.0, 1.0]
    """
    distance = _numbers("delays", delays) - as_not_negative("deadline", deadline)
    with np.errstate(under="ignore"):
        decay = np.exp(-np.abs(distance))  # exp(distance) could overflow
    return np.where(distance >= 0, 1.0, decay) / (1.0 + decay)


def erde(
    y_true: Labels,
    y_pred: Labels,
    delays: ArrayLike,
    *,
    deadline: float,
    positive: object,
    cost_false_positive: float | None = None,
    cost_false_negative: float = 1.0,
    cost_true_positive: float = 1.0,
    minimum_delay: int = 1,
) -> float:
    """Return ERDE_o, the mean cost, as a fraction; c_fp [default: the share of positives].

    >>> truth, alerts = ["risk", "risk", "none", "none"], ["risk", "none", "risk", "none"]
    >>> erde(truth, alerts, [5, 0, 1, 0], deadline=5, positive="risk")
    0.5
    """
    actual, alerted = _outcomes(y_true, y_pred, positive)
    checked = _alert_delays(delays, alerted, minimum_delay)
    costs = cost_false_positive, cost_false_negative, cost_true_positive
    return _mean_cost(actual, alerted, checked, deadline, costs)


def erde_percent(
    y_true: Labels,
    y_pred: Labels,
    delays: ArrayLike,
    posts: ArrayLike,
    *,
    deadline: float,
    positive: object,
    cost_false_positive: float | None = None,
    cost_false_negative: float = 1.0,
    cost_true_positive: float = 1.0,
    minimum_delay: int = 1,
) -> float:
    """Return ERDE%: like `erde`, with k and the deadline in percent of the subject's `posts`.

    >>> erde_percent([1, 0], [1, 0], [5, 0], [25, 80], deadline=20, positive=1)
    0.25
    """
    actual, alerted = _outcomes(y_true, y_pred, positive)
    shares = _alert_delays(delays, alerted, minimum_delay, posts)
    costs = cost_false_positive, cost_false_negative, cost_true_positive
    return _mean_cost(actual, alerted, shares, deadline, costs)


def erde_bounds(
    y_true: Labels,
    first_delays: ArrayLike,
    *,
    deadline: float,
    positive: object,
    posts: ArrayLike | None = None,
    cost_false_negative: float = 1.0,
    cost_true_positive: float = 1.0,
    minimum_delay: int = 1,
) -> ErdeBounds:
    """Return the bounds of ERDE or, with `posts`, of ERDE%.

    `first_delays` are the earliest possible delays: ones, or `chunk_delays(1, posts)`. For a
    subject without posts, which no policy can alert, it is `math.inf`.

    >>> erde_bounds([1, 0, 0, 0], [5, 1, 1, 1], deadline=5, positive=1)
    ErdeBounds(never=0.25, at_once=0.3125, best=0.125)
    """
    actual, _ = _outcomes(y_true, None, positive)
    first = np.asarray(first_delays, dtype=np.float64)
    _check_length("first_delays", first, actual.size)
    everyone = first < math.inf
    checked = _alert_delays(first, everyone, minimum_delay, posts)
    costs = None, cost_false_negative, cost_true_positive
    nobody = np.zeros_like(actual)
    return ErdeBounds(
        *(
            _mean_cost(actual, alerted, checked, deadline, costs)
            for alerted in (nobody, everyone, actual & everyone)
        )
    )


def chunk_sizes(posts: ArrayLike) -> IntArray:
    """Return the number of posts in each of the ten chunks; the last dimension is the chunk.

    >>> chunk_sizes([9, 25]).tolist()
    [[0, 0, 0, 0, 0, 0, 0, 0, 0, 9], [2, 2, 2, 2, 2, 2, 2, 2, 2, 7]]
    """
    totals = _whole_numbers("posts", posts, 0)
    sizes = np.repeat(totals[..., np.newaxis] // CHUNKS, CHUNKS, axis=-1)
    sizes[..., -1] += totals % CHUNKS
    return sizes


def chunk_delays(chunks: ArrayLike, posts: ArrayLike) -> IntArray:
    """Return the delays of alerts at chunks 1 to 10: k = N at chunk 10, else floor(N/10)·chunk.

    >>> chunk_delays([1, 9, 10, 3], [19, 19, 19, 9]).tolist()
    [1, 9, 19, 0]
    """
    chunk, totals = _whole_numbers("chunks", chunks, 1, CHUNKS), _whole_numbers("posts", posts, 0)
    if chunk.ndim and totals.ndim:
        _check_length("posts", totals, chunk.size)
    return np.where(chunk == CHUNKS, totals, totals // CHUNKS * chunk)


def precision_recall_f1(y_true: Labels, y_pred: Labels, *, positive: object) -> PrecisionRecallF1:
    """Return precision, recall and F₁ of the positive label.

    >>> precision_recall_f1([1, 1, 0, 0], [1, 0, 0, 0], positive=1).recall
    0.5
    """
    actual, alerted = _outcomes(y_true, y_pred, positive)
    counts = _counts(actual, alerted)
    return PrecisionRecallF1(counts.precision, counts.recall, counts.f1)


def f_score(y_true: Labels, y_pred: Labels, *, positive: object, beta: float = 1.0) -> float:
    """Return F_β of the positive label; below 1, precision counts more (PAN 2012: 0.5).

    >>> round(f_score([1, 1, 0, 0], [1, 0, 0, 0], positive=1, beta=0.5), 3)
    0.833
    """
    found = precision_recall_f1(y_true, y_pred, positive=positive)
    weight = as_not_negative("beta", beta) ** 2
    total = weight * found.precision + found.recall
    return (1 + weight) * found.precision * found.recall / total if total else 0.0


def penalty(delays: ArrayLike, p: float = LATENCY_P) -> FloatArray:
    """Return the speed lost by a delay, from 0 at the first post to 1: −1 + 2/(1 + e^(−p(k−1))).

    >>> (1 - penalty([1, 11, 142])).round(3).tolist()
    [1.0, 0.961, 0.5]
    """
    # tanh is the same function, without an exponential that could overflow. The chunk delay of a
    # subject with few posts may be 0; it costs the same as a delay of 1.
    steps = np.maximum(_numbers("delays", delays) - 1, 0)
    return np.asarray(np.tanh(as_not_negative("p", p) * steps / 2))


def latency_parameter(posts: ArrayLike) -> float:
    """Return the p for which a delay of the median number of posts costs half: ln 3 / (median − 1).

    Subjects without posts are left out.

    >>> round(latency_parameter([2, 142, 2000, 0]), 4)
    0.0078
    """
    totals = _numbers("posts", posts)
    median = float(np.median(totals[totals > 0])) if (totals > 0).any() else 0.0
    if median <= 1:
        raise ValueError(f"the median number of posts must be above 1, got {median:g}")
    return math.log(3) / (median - 1)


def latency(
    y_true: Labels, y_pred: Labels, delays: ArrayLike, *, positive: object, minimum_delay: int = 1
) -> float:
    """Return latency_TP, the median delay of the true positives; NaN without any.

    >>> latency([1, 1, 1, 0], [1, 1, 0, 1], [2, 5, 0, 90], positive=1)
    3.5
    """
    actual, alerted = _outcomes(y_true, y_pred, positive)
    found = _alert_delays(delays, alerted, minimum_delay)[actual & alerted]
    return float(np.median(found)) if found.size else math.nan


def speed(
    y_true: Labels,
    y_pred: Labels,
    delays: ArrayLike,
    *,
    positive: object,
    p: float = LATENCY_P,
    minimum_delay: int = 1,
) -> float:
    """Return 1 − the median penalty of the true positives; NaN without any.

    >>> round(speed([1, 0], [1, 0], [50, 0], positive=1), 3)
    0.811
    """
    actual, alerted = _outcomes(y_true, y_pred, positive)
    found = _alert_delays(delays, alerted, minimum_delay)[actual & alerted]
    return 1.0 - float(np.median(penalty(found, p))) if found.size else math.nan


def latency_weighted_f1(
    y_true: Labels,
    y_pred: Labels,
    delays: ArrayLike,
    *,
    positive: object,
    p: float = LATENCY_P,
    minimum_delay: int = 1,
) -> float:
    """Return F_latency = F₁·speed; 0 without true positives.

    >>> latency_weighted_f1([1, 1, 0], [1, 0, 0], [1, 0, 0], positive=1) == 2 / 3
    True
    """
    actual, alerted = _outcomes(y_true, y_pred, positive)
    found = speed(actual, alerted, delays, positive=True, p=p, minimum_delay=minimum_delay)
    f1 = precision_recall_f1(actual, alerted, positive=True).f1
    return 0.0 if math.isnan(found) else f1 * found


def precision_at(
    scores: ArrayLike, y_true: Labels, k: int, *, positive: object, subjects: Iterable[Any]
) -> float:
    """Return P@k: positives among the k highest scores, divided by k even with fewer subjects.

    >>> precision_at([.9, .5, .5], [1, 0, 1], 2, positive=1, subjects=["a", "c", "b"])
    1.0
    """
    return int(_ranked(scores, y_true, positive, subjects)[: as_whole("k", k, 1)].sum()) / k


def ndcg_at(
    scores: ArrayLike, y_true: Labels, k: int, *, positive: object, subjects: Iterable[Any]
) -> float:
    """Return NDCG@k, with DCG = rel₁ + Σ_{r≥2} rel_r/log₂(r), divided by the ideal DCG.

    >>> ndcg_at([.9, .8, .7], [0, 1, 0], 3, positive=1, subjects=["a", "b", "c"])
    1.0
    """
    relevant = _ranked(scores, y_true, positive, subjects)
    ranks = np.arange(1, min(as_whole("k", k, 1), relevant.size) + 1)
    gains = 1.0 / np.log2(np.maximum(ranks, 2))  # ranks 1 and 2 both count fully
    ideal = float(gains[: relevant.sum()].sum())
    return float(gains[relevant[: ranks.size]].sum()) / ideal if ideal else 0.0


def average_precision(
    scores: ArrayLike, y_true: Labels, *, positive: object, subjects: Iterable[Any]
) -> float:
    """Return the mean precision at the rank of each positive; NaN without positives.

    >>> average_precision([.9, .8, .7, .6], [1, 0, 0, 1], positive=1, subjects="abcd")
    0.75
    """
    ranks = np.flatnonzero(_ranked(scores, y_true, positive, subjects)) + 1
    return float((np.arange(1, ranks.size + 1) / ranks).mean()) if ranks.size else math.nan


def bootstrap_interval(
    measure: Callable[..., float],
    y_true: Labels,
    prediction: Sequence[Any],
    *,
    positive: object,
    seed: int,
    baseline: Sequence[Any] | None = None,
    repeats: int = 1000,
    confidence_level: float = 0.95,
    **options: Any,
) -> Interval:
    """Return a measure with its percentile interval over resampled subjects.

    `prediction` holds the arguments of the measure after `y_true`: `(y_pred, delays)`. With a
    `baseline`, the result is the prediction's measure minus the baseline's, paired on the same
    resamples. If the measure has an argument `cost_false_positive` that is not set, all resamples
    use the value of the whole set.

    >>> truth, soon, late = [1, 0] * 9, ([1, 0] * 9, [1] * 18), ([1, 0] * 9, [9] * 18)
    >>> bootstrap_interval(erde, truth, soon, baseline=late, positive=1, seed=7, deadline=5).low < 0
    True
    """
    truth = list(y_true)
    sides = []
    for y_pred, *others in [prediction] if baseline is None else [prediction, baseline]:
        actual, alerted = _outcomes(truth, y_pred, positive)
        sides.append([alerted, *map(np.asarray, others)])
        for column in sides[-1]:
            _check_length("each column of a prediction", column, actual.size)
    cost = inspect.signature(measure).parameters.get("cost_false_positive")
    if cost is not None and cost.default is None and options.get(cost.name) is None:
        options = {**options, cost.name: float(actual.mean())}

    def measured(rows: Any) -> float:
        drawn = ([column[rows] for column in side] for side in sides)
        values = [measure(actual[rows], *side, positive=True, **options) for side in drawn]
        return values[0] - sum(values[1:])

    generator, size = np.random.default_rng(seed), actual.size
    draws = (generator.integers(size, size=size) for _ in range(as_whole("repeats", repeats, 1)))
    values = np.array([measured(rows) for rows in draws])
    return Interval.of(measured(slice(None)), values, confidence_level)


def _mean_cost(
    actual: BoolArray, alerted: BoolArray, delays: FloatArray, deadline: float, costs: _Costs
) -> float:
    false_positive = float(actual.mean()) if costs[0] is None else costs[0]
    mistakes = (
        as_not_negative("cost_false_positive", false_positive),
        as_not_negative("cost_false_negative", costs[1]),
    )
    late = float(latency_cost(delays[actual & alerted], deadline).sum())
    late *= as_not_negative("cost_true_positive", costs[2])
    return float(_counts(actual, alerted).mean_cost(*mistakes, late))


def _counts(actual: BoolArray, alerted: BoolArray) -> AlertCounts:
    masks = (actual, alerted, actual & alerted)
    return AlertCounts(actual.size, *(int(np.count_nonzero(mask)) for mask in masks))


def _outcomes(
    y_true: Labels, y_pred: Labels | None, positive: object
) -> tuple[BoolArray, BoolArray]:
    """Return masks of the positive and the alerted subjects (none without predictions)."""
    actual = _matches("y_true", y_true, positive)
    alerted = np.zeros_like(actual) if y_pred is None else _matches("y_pred", y_pred, positive)
    if not actual.size:
        raise ValueError("there must be at least one subject")
    _check_length("y_pred", alerted, actual.size)
    # Only a label can be misspelt: a mask, such as that of a resample, may be without positives.
    is_mask = isinstance(positive, bool) and getattr(y_true, "dtype", None) == np.bool_
    if not (is_mask or actual.any()):
        raise ValueError(f"no subject has the positive label {positive!r}")
    return actual, alerted


def _matches(name: str, labels: Labels, positive: object) -> BoolArray:
    if isinstance(labels, np.ndarray) and labels.dtype == np.bool_ and labels.ndim == 1:
        return np.asarray(labels == positive)
    listed = list(labels)  # an array would make 1 and "1" equal
    if any(isinstance(label, float) and math.isnan(label) for label in listed):
        raise ValueError(f"{name} must not contain NaN")
    return np.fromiter((label == positive for label in listed), np.bool_, len(listed))


def _alert_delays(
    delays: ArrayLike, alerted: BoolArray, minimum: int, posts: ArrayLike | None = None
) -> FloatArray:
    """Return the delays of alerts, 1 elsewhere; with `posts`, as percentages of the posts."""
    checked = _numbers("delays", delays, alerted)
    if checked.min() < as_whole("minimum_delay", minimum, 0):
        raise ValueError(f"delays of alerts must be at least {minimum}, got {checked.min():g}")
    if posts is None:
        return checked
    if (totals := _numbers("posts", posts, alerted)).min() < 1 or (checked > totals).any():
        raise ValueError("posts of alerted subjects must be at least 1 and not below their delays")
    return np.asarray(100.0 * checked / totals)


def _ranked(scores: ArrayLike, y_true: Labels, positive: object, ids: Iterable[Any]) -> BoolArray:
    """Return a mask of the positives, sorted by falling score, ties by subject id."""
    relevant, _ = _outcomes(y_true, None, positive)
    values, names = _numbers("scores", scores), list(ids)
    _check_length("scores", values, relevant.size)
    ranks = np.empty(len(names), np.int64)
    _check_length("subjects", ranks, relevant.size)
    try:
        order = sorted(range(len(names)), key=names.__getitem__)
    except TypeError:  # names of several types
        order = sorted(range(len(names)), key=lambda index: str(names[index]))
    ranks[order] = np.arange(len(names))
    return relevant[np.lexsort((ranks, -values))]


def _numbers(name: str, values: ArrayLike, where: BoolArray | None = None) -> FloatArray:
    """Return the values as finite floats; with `where`, one per subject and 1 where it is false."""
    numbers = np.asarray(values, dtype=np.float64)
    if where is not None:
        _check_length(name, numbers, where.size)
        numbers = np.where(where, numbers, 1.0)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite, got {numbers[~np.isfinite(numbers)][0]}")
    return numbers


def _whole_numbers(name: str, values: ArrayLike, least: int, most: int = 2**53) -> IntArray:
    numbers = _numbers(name, values)
    if ((numbers < least) | (numbers > most) | (numbers != np.floor(numbers))).any():
        raise ValueError(f"{name} must be whole numbers from {least} to {most}")
    return numbers.astype(np.int64)


def _check_length(name: str, values: NDArray[Any], size: int) -> None:
    if values.shape != (size,):
        raise ValueError(f"{name} must have one value per subject ({size}), got {values.shape}")


def randomization_test(
    measure: Callable[..., float],
    y_true: BoolArray,
    prediction: Sequence[Any],
    baseline: Sequence[Any],
    *,
    seed: int,
    repeats: int = 1000,
    **options: Any,
) -> float:
    """Return the p-value of the difference of a measure between two systems, two-sided.

    `prediction` and `baseline` hold the arguments of the measure after `y_true`, as arrays with one
    value per subject: `(y_pred, delays)`. The null hypothesis is that it does not matter which
    system a decision comes from: each repetition exchanges the decisions of both systems about a
    random half of the subjects.

    >>> from watchword.evaluation.metrics import erde
    >>> truth = np.array([True, False] * 9)
    >>> soon, late = (truth, np.full(18, 1)), (truth, np.full(18, 9))
    >>> options = {"positive": True, "deadline": 5, "seed": 0}
    >>> randomization_test(erde, truth, soon, late, **options) < 0.01
    True
    >>> randomization_test(erde, truth, soon, soon, **options)
    1.0
    """
    truth = np.asarray(y_true)
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(prediction, baseline, strict=True)]

    def difference(swapped: BoolArray) -> float:
        first, second = (
            measure(truth, *(np.where(swapped == side, a, b) for a, b in pairs), **options)
            for side in (False, True)
        )
        return abs(first - second)

    observed = difference(np.zeros(truth.size, np.bool_))
    generator, times = np.random.default_rng(seed), as_whole("repeats", repeats, 1)
    draws = (generator.random(truth.size) < 0.5 for _ in range(times))
    # Sums in another order may differ in the last digit.
    least = observed * (1 - ROUNDING) - ROUNDING
    extreme = sum(difference(swapped) >= least for swapped in draws)
    return (1 + extreme) / (1 + times)
