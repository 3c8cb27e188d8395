"""Measures of alerts by name.

Delays of 0, which the official rule gives to chunks of subjects with few posts, are accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from watchword.evaluation import metrics


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
