"""Paired significance tests between two systems that were measured on the same subjects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from watchword._arrays import BoolArray
from watchword._checks import as_whole
from watchword.evaluation.metrics import ROUNDING


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
