"""What a model can be told: checked once, here, for constructor, file and `replace` alike."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from watchword import _native

Label = str | int
FloatArray = npt.NDArray[np.float64]
SummaryFunction = Callable[[FloatArray], FloatArray]
SummaryOperator = Literal["sum", "max", "mean"] | SummaryFunction
Level = Literal["sentence", "paragraph", "document"]

LEVELS: tuple[Level, ...] = ("sentence", "paragraph", "document")
SUMMARY_NAMES = ("sum", "max", "mean")

_CHOICES = {
    "significance_function": ("vanilla", "xai"),
    "confidence_function": ("gv", "norm_gv", "norm_gv_xai"),
    "reading": ("paper", "words_sum"),
    "paragraphs": ("lines", "blank_lines"),
}


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a model; see `watchword.TauSS3` for what each is.

    >>> Parameters(smoothness=3)
    Traceback (most recent call last):
    ...
    ValueError: smoothness must be in (0, 1], got 3
    """

    smoothness: float = 0.455
    significance: float = 1.0
    sanction: float = 1.0
    max_ngram: int = 3
    min_count: int = 1
    alpha: float = 0.0
    significance_function: Literal["vanilla", "xai"] = "vanilla"
    confidence_function: Literal["gv", "norm_gv", "norm_gv_xai"] = "gv"
    reading: Literal["paper", "words_sum"] = "paper"
    summary: SummaryOperator | Mapping[Level, SummaryOperator] = field(default="sum")
    default_label: Label | None = None
    paragraphs: Literal["lines", "blank_lines"] = "lines"
    prune_period: int | None = None
    prune_floor: int = 10
    prune_shortest: int = 1

    def __post_init__(self) -> None:
        self._set("smoothness", _number("smoothness", self.smoothness))
        if not 0 < self.smoothness <= 1:
            raise ValueError(f"smoothness must be in (0, 1], got {self.smoothness:g}")
        for name in ("significance", "sanction", "alpha"):
            value = _number(name, getattr(self, name))
            if value < 0:
                raise ValueError(f"{name} must not be negative, got {value:g}")
            self._set(name, value)
        limit = _native.max_ngram_limit
        self._set("max_ngram", _whole("max_ngram", self.max_ngram, 1, limit))
        self._set("min_count", _whole("min_count", self.min_count, 1))
        self._set("prune_floor", _whole("prune_floor", self.prune_floor, 0))
        self._set("prune_shortest", _whole("prune_shortest", self.prune_shortest, 1, limit))
        if self.prune_period is not None:
            self._set("prune_period", _whole("prune_period", self.prune_period, 1))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                listed = ", ".join(map(repr, choices))
                raise ValueError(f"{name} must be one of {listed}, got {getattr(self, name)!r}")
        self._set("summary", _per_level(self.summary))
        if self.default_label is not None:
            self._set("default_label", as_label(self.default_label))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def operators(self) -> dict[Level, SummaryOperator]:
        """The summary operator of each level."""
        assert isinstance(self.summary, dict)
        return self.summary

    @property
    def has_own_operators(self) -> bool:
        """Whether some level is summarised by a function of the user's."""
        return any(callable(operator) for operator in self.operators.values())

    def for_native(self) -> dict[str, Any]:
        """As the core wants them; levels with a function of the user's are summed there."""
        native = {one.name: getattr(self, one.name) for one in fields(self)}
        native["significance_function"] = _native.SignificanceFunction[self.significance_function]
        native["confidence_function"] = _native.ConfidenceFunction[self.confidence_function]
        native["reading"] = _native.ReadingRule[self.reading]
        native["paragraphs"] = _native.Paragraphs[self.paragraphs]
        native["summary"] = [
            _native.SummaryOperator["sum" if callable(operator) else operator]
            for operator in self.operators.values()
        ]
        return native


def as_label(label: object) -> Label:
    """The label as a plain `str` or `int`."""
    if isinstance(label, str):
        try:
            label.encode()
        except UnicodeEncodeError:
            raise ValueError(f"a label must be valid Unicode, got {label!r}") from None
        return str(label)
    if isinstance(label, bool | np.bool_):
        raise TypeError(f"a label must be str or int, got {label!r}")
    try:
        number = operator.index(label)  # type: ignore[arg-type]
    except TypeError:
        kind = type(label).__name__
        raise TypeError(f"a label must be str or int, got {kind}: {label!r}") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"a label must fit into 64 bits, got {number}")
    return number


def _number(name: str, value: object) -> float:
    if isinstance(value, bool | str):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return number


def _whole(name: str, value: object, least: int, most: int = 2**32 - 1) -> int:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if not least <= number <= most:
        raise ValueError(f"{name} must be from {least} to {most}, got {number}")
    return number


def _per_level(
    summary: SummaryOperator | Mapping[Level, SummaryOperator],
) -> dict[Level, SummaryOperator]:
    operators: dict[Level, SummaryOperator]
    if isinstance(summary, Mapping):
        unknown = set(summary) - set(LEVELS)
        if unknown:
            raise ValueError(f"summary has levels {', '.join(LEVELS)}, got {sorted(unknown)!r}")
        operators = {level: summary.get(level, "sum") for level in LEVELS}
    else:
        operators = dict.fromkeys(LEVELS, summary)
    for one in operators.values():
        if not callable(one) and one not in SUMMARY_NAMES:
            names = ", ".join(map(repr, SUMMARY_NAMES))
            raise ValueError(f"summary must be one of {names} or a function, got {one!r}")
    return operators
