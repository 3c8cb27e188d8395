"""Measures of alerts by name, and objectives of tuning: directions, weighted sums, limits.

Delays of 0, which the official rule gives to chunks of subjects with few posts, are accepted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from watchword._checks import BoolArray, FloatArray, IntArray, as_above_zero, as_number, reprs
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


AlertMeasure = str | Mapping[str, float] | Callable[..., float]


class _MeasureRow(NamedTuple):
    sign: int  # 1 if lower values are better, -1 if higher values are
    head: str  # at the head of a column
    text: str  # in a text
    digits: int = 3  # digits after the decimal point


_TABLE = {
    "f1": _MeasureRow(-1, "F1", "F₁"),
    "f_latency": _MeasureRow(-1, "F_latency", "F_latency"),
    "precision": _MeasureRow(-1, "precision", "precision"),
    "recall": _MeasureRow(-1, "recall", "recall"),
    "median_delay": _MeasureRow(1, "delay", "median delay", digits=1),
    "alert_rate": _MeasureRow(1, "alerted", "alert rate"),
    "average_precision": _MeasureRow(-1, "AP", "average precision"),
}
MEASURES = tuple(_TABLE)  #: the names of measures, besides ERDE with its deadlines
_ERDE = re.compile(r"erde([1-9]\d{0,9})", re.ASCII)


def deadline_of(name: str) -> int | None:
    """Return the deadline in the name of an ERDE, or None for another measure.

    >>> deadline_of("erde50"), deadline_of("f1")
    (50, None)
    """
    found = _ERDE.fullmatch(name)
    return int(found[1]) if found else None


def sign_of(name: str) -> int:
    """Return 1 if lower values of a measure are better, and -1 if higher values are.

    Lower is better for ERDE, `median_delay` and `alert_rate`, higher for all others.

    >>> sign_of("erde5"), sign_of("recall")
    (1, -1)
    """
    return 1 if deadline_of(name) else _TABLE[name].sign


def is_measure(name: object) -> bool:
    """Return whether this is the name of a measure."""
    return isinstance(name, str) and (name in _TABLE or deadline_of(name) is not None)


def erde_names(deadlines: Iterable[int]) -> list[str]:
    """Return the name of ERDE with each deadline.

    >>> erde_names([5, 50])
    ['erde5', 'erde50']
    """
    return [f"erde{deadline}" for deadline in deadlines]


def head_of(name: str) -> str:
    """Return the name of a measure at the head of a column.

    >>> head_of("erde50"), head_of("average_precision"), head_of("my_own")
    ('ERDE50', 'AP', 'my_own')
    """
    if deadline_of(name):
        return name.upper()
    return _TABLE[name].head if name in _TABLE else name


def text_of(name: str) -> str:
    """Return the name of a measure in a text.

    >>> text_of("erde50"), text_of("f1"), text_of("median_delay")
    ('ERDE₅₀', 'F₁', 'median delay')
    """
    if deadline := deadline_of(name):
        return "ERDE" + "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(deadline))
    return _TABLE[name].text if name in _TABLE else name


def shown_number(name: str, value: float | None) -> str:
    """Return the value of a measure as text.

    >>> shown_number("erde5", 0.12345), shown_number("median_delay", 4), shown_number("f1", 0.5)
    ('0.1235', '4.0', '0.500')
    """
    if value is None:
        return ""
    if not math.isfinite(value):
        return "none"
    return f"{value:.{_TABLE[name].digits if name in _TABLE else 4}f}"


def as_percent(fraction: float, digits: int = 2) -> str:
    """Return a fraction, such as ERDE, in percent with the sign.

    >>> as_percent(0.26789)
    '26.79 %'
    """
    return f"{100 * fraction:.{digits}f} %"


@dataclass(frozen=True)
class Objective:
    """The value that `tune` optimises: a measure, a weighted sum of measures, or a function.

    A weighted sum is minimised. A measure of which higher values are better enters it as 1 − value.
    A function is also minimised.

    >>> both = Objective.of({"erde5": 0.5, "f1": 0.5})
    >>> both.name, both.sign
    ('erde5=0.5,f1=0.5', 1)
    >>> float(both.value({"erde5": 0.25, "f1": 0.5}))
    0.375
    """

    name: str
    weights: Mapping[str, float] | None = None  #: of measures, for a weighted sum
    function: Callable[..., float] | None = None

    @classmethod
    def of(cls, measure: AlertMeasure) -> Objective:
        """Return the objective that a `measure` argument names, or raise `ValueError`."""
        if isinstance(measure, str) and is_measure(measure):
            return cls(measure)
        if isinstance(measure, Mapping):
            weights = _checked("measure", measure, as_above_zero)
            if not weights:
                raise ValueError("measure must have at least one weight")
            return cls(notation_of(weights), weights)
        if callable(measure):
            return cls(getattr(measure, "__name__", "measure"), function=measure)
        raise ValueError(
            "measure must be a function or one of 'erde5', 'erde50' (or another deadline), "
            f"{reprs(MEASURES)}, or weights of these, got {measure!r}"
        )

    @property
    def sign(self) -> int:
        """1 if lower values are better, and -1 if higher values are."""
        return sign_of(self.name) if self.weights is None and self.function is None else 1

    @property
    def names(self) -> tuple[str, ...]:
        """The measures it consists of; none for a function."""
        if self.function is not None:
            return ()
        return (self.name,) if self.weights is None else tuple(self.weights)

    def value(self, measures: Mapping[str, Any]) -> FloatArray:
        """Return its value, given those of all measures, as numbers or arrays."""
        if self.weights is None:
            return np.asarray(measures[self.name])
        terms = [
            weight * (np.asarray(measures[name]) if sign_of(name) > 0 else 1 - measures[name])
            for name, weight in self.weights.items()
        ]
        return np.asarray(sum(terms))

    def row(
        self, names: Iterable[str], value: float | None, measures: Mapping[str, float]
    ) -> dict[str, float | None]:
        """Return the optimised value and all other measures by name, for a table.

        Without a value, as for a bound, it is computed from the measures if they are all there.
        """
        known = value is None and bool(self.names) and set(self.names) <= set(measures)
        first = float(self.value(measures)) if known else value
        return {self.name: first} | {
            name: measures.get(name) for name in names if name != self.name
        }


@dataclass(frozen=True)
class MeasureLimits:
    """Limits of measures that a setting must keep.

    >>> limits = MeasureLimits.of({"median_delay": 10}, {"precision": 0.8})
    >>> print(limits)
    median_delay at most 10 and precision at least 0.8
    >>> limits.excess({"median_delay": 15, "precision": 0.9})
    0.5
    """

    at_most: Mapping[str, float]
    at_least: Mapping[str, float]

    @classmethod
    def of(
        cls, at_most: Mapping[str, float] | None, at_least: Mapping[str, float] | None
    ) -> MeasureLimits:
        """Return the limits given to `tune`, or raise `ValueError`."""
        return cls(
            _checked("at_most", at_most or {}, as_number),
            _checked("at_least", at_least or {}, as_number),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The measures with a limit."""
        return tuple(dict.fromkeys([*self.at_most, *self.at_least]))

    def excess(self, measures: Mapping[str, float]) -> float:
        """Return how far the limits are exceeded, as shares of the limits; 0 if all are kept."""
        over = [(measures[name] - limit, limit) for name, limit in self.at_most.items()]
        over += [(limit - measures[name], limit) for name, limit in self.at_least.items()]
        return sum(max(excess, 0.0) / (abs(limit) or 1.0) for excess, limit in over)

    def __str__(self) -> str:
        limits = [f"{name} at most {limit:g}" for name, limit in self.at_most.items()]
        limits += [f"{name} at least {limit:g}" for name, limit in self.at_least.items()]
        return " and ".join(limits)


def notation_of(weights: Mapping[str, float]) -> str:
    """Return weights or limits in the notation of the command line.

    >>> notation_of({"erde5": 0.5, "erde50": 1})
    'erde5=0.5,erde50=1'
    """
    return ",".join(f"{name}={value:g}" for name, value in weights.items())


def _checked(
    argument: str, given: Mapping[str, float], check: Callable[[str, object], float]
) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise TypeError(f"{argument} must map names of measures to numbers, got {given!r}")
    for name in given:
        if not is_measure(name):
            raise ValueError(
                f"{argument} has the unknown measure {name!r}; known are 'erde5', 'erde50' (or "
                f"another deadline), {reprs(MEASURES)}"
            )
    return {name: check(f"{argument}[{name!r}]", value) for name, value in given.items()}
