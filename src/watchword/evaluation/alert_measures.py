"""Measures of alerts by name, the earliest possible delays, and the bounds of ERDE.

Delays of 0, which the official rule gives to chunks of subjects with few posts, are accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from watchword._arrays import BoolArray, FloatArray, IntArray
from watchword.evaluation import metrics
from watchword.evaluation.metrics import ErdeBounds
from watchword.evaluation.scores import By


def alert_measure(name: str, p: float) -> Callable[..., float]:
    """Return a measure as a function of `(y_true, y_pred, delays, positive=…)`.

    Names are `erde5`, with any deadline, `precision`, `recall`, `f1`, `f05`, `latency`, `speed` and
    `f_latency`; `p` is the parameter of the last two.

    >>> alert_measure("erde5", 0.1)([1, 0], [1, 0], [5, 0], positive=1)
    0.25
    """
    if name.startswith("erde"):
        return partial(metrics.erde, deadline=int(name.removeprefix("erde")), minimum_delay=0)
    late: dict[str, Callable[..., float]] = {
        "latency": partial(metrics.latency, minimum_delay=0),
        "speed": partial(metrics.speed, p=p, minimum_delay=0),
        "f_latency": partial(metrics.latency_weighted_f1, p=p, minimum_delay=0),
    }
    return late.get(name) or partial(_without_delays, name)


def _without_delays(
    name: str, y_true: Any, y_pred: Any, _delays: object, *, positive: object
) -> float:
    if name == "f05":
        return metrics.f_score(y_true, y_pred, positive=positive, beta=0.5)
    return float(getattr(metrics.precision_recall_f1(y_true, y_pred, positive=positive), name))


def bounds_by_deadline(
    truth: BoolArray, first: FloatArray, deadlines: Iterable[int]
) -> dict[int, ErdeBounds]:
    """Return the bounds of each ERDE, given the earliest possible delays of subjects."""
    options: dict[str, Any] = {"positive": True, "minimum_delay": 0}
    return {one: metrics.erde_bounds(truth, first, deadline=one, **options) for one in deadlines}


def first_delays(totals: IntArray, by: By) -> FloatArray:
    """Return the earliest possible delay of each subject; infinite without posts."""
    first = metrics.chunk_delays(1, totals) if by == "chunk" else np.ones(totals.size, np.int64)
    return np.asarray(np.where(totals > 0, first, np.inf))
