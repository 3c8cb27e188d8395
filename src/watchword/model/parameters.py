"""What a model can be told: checked once, here, for constructor, file and `replace` alike."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Literal, cast

import numpy as np
import numpy.typing as npt

from watchword import _native
from watchword._checks import Label, as_choice, as_label, as_not_negative, as_number, as_whole
from watchword.model.functions import name_of

FloatArray = npt.NDArray[np.float64]
SummaryFunction = Callable[[FloatArray], FloatArray]
SummaryName = Literal["sum", "max", "mean"]
SummaryOperator = SummaryName | SummaryFunction
Level = Literal["sentence", "paragraph", "document"]
Summary = SummaryOperator | Mapping[Level, SummaryOperator]

LEVELS: tuple[Level, ...] = ("sentence", "paragraph", "document")
SUMMARY_NAMES: tuple[SummaryName, ...] = ("sum", "max", "mean")

# The core defines which choices there are.
_NATIVE_CHOICES: dict[str, type[enum.Enum]] = {
    "significance_function": _native.SignificanceFunction,
    "confidence_function": _native.ConfidenceFunction,
    "ngram_scale": _native.NgramScale,
    "reading": _native.ReadingRule,
    "counting": _native.Counting,
    "paragraphs": _native.Paragraphs,
}
_CHOICES = {name: tuple(kind.__members__) for name, kind in _NATIVE_CHOICES.items()}
_ONLY_IN_PYTHON = ("default_label",)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a model; see `watchword.TauSS3` for what each is.

    >>> Parameters(smoothness=3)
    Traceback (most recent call last):
    ...
    ValueError: smoothness must be in (0, 1], got 3
    """

    smoothness: float = 0.13
    significance: float = 0.7
    sanction: float = 0.25
    max_ngram: int = 3
    min_count: int = 1
    alpha: float = 0.0
    prior: float = 3.0
    ngram_scale: Literal["length", "words", "label"] = "label"
    significance_function: Literal["vanilla", "xai", "ratio"] = "ratio"
    confidence_function: Literal["gv", "norm_gv", "norm_gv_xai"] = "gv"
    reading: Literal["paper", "words_sum"] = "paper"
    summary: Summary = "sum"
    default_label: Label | None = None
    counting: Literal["occurrences", "documents"] = "documents"
    paragraphs: Literal["lines", "blank_lines"] = "lines"
    prune_period: int | None = None
    prune_floor: int = 10
    prune_shortest: int = 1

    def __post_init__(self) -> None:
        self._set("smoothness", as_number("smoothness", self.smoothness))
        if not 0 < self.smoothness <= 1:
            raise ValueError(f"smoothness must be in (0, 1], got {self.smoothness:g}")
        for name in ("significance", "sanction", "alpha", "prior"):
            self._set(name, as_not_negative(name, getattr(self, name)))
        limit = _native.max_ngram_limit
        self._set("max_ngram", as_whole("max_ngram", self.max_ngram, 1, limit))
        self._set("min_count", as_whole("min_count", self.min_count, 1))
        self._set("prune_floor", as_whole("prune_floor", self.prune_floor, 0))
        self._set("prune_shortest", as_whole("prune_shortest", self.prune_shortest, 1, limit))
        if self.prune_period is not None:
            self._set("prune_period", as_whole("prune_period", self.prune_period, 1))
        for name, choices in _CHOICES.items():
            self._set(name, as_choice(name, getattr(self, name), choices))
        self._set("summary", _per_level(self.summary))
        if self.default_label is not None:
            self._set("default_label", as_label(self.default_label))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def operators(self) -> dict[Level, SummaryOperator]:
        """The summary operator of each level."""
        return cast("dict[Level, SummaryOperator]", self.summary)  # since __post_init__

    @property
    def operator_names(self) -> dict[Level, str]:
        """The summary operator of each level as a file and an explanation name it."""
        return {
            level: name_of(operator) if callable(operator) else operator
            for level, operator in self.operators.items()
        }

    @property
    def has_own_operators(self) -> bool:
        """Whether some level is summarised by a function of the user's."""
        return any(callable(operator) for operator in self.operators.values())

    def for_native(self) -> _native.Parameters:
        """Return the parameters as the core has them; levels with the user's functions are sums."""
        native = _native.Parameters()
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == "summary":
                native.summary = [
                    _native.SummaryOperator["sum" if callable(operator) else operator]
                    for operator in self.operators.values()
                ]
            elif one.name in _NATIVE_CHOICES:
                setattr(native, one.name, _NATIVE_CHOICES[one.name][value])
            elif one.name not in _ONLY_IN_PYTHON:
                setattr(native, one.name, value)
        return native


def _per_level(summary: Summary) -> dict[Level, SummaryOperator]:
    if not isinstance(summary, Mapping):
        return dict.fromkeys(LEVELS, _operator(summary))
    unknown = [level for level in summary if level not in LEVELS]
    if unknown:
        raise ValueError(f"summary has levels {', '.join(LEVELS)}, got {unknown[0]!r}")
    return {level: _operator(summary.get(level, "sum")) for level in LEVELS}


def _operator(operator: SummaryOperator) -> SummaryOperator:
    if callable(operator) or (isinstance(operator, str) and operator in SUMMARY_NAMES):
        return operator
    names = ", ".join(map(repr, SUMMARY_NAMES))
    raise ValueError(f"summary must be one of {names} or a function, got {operator!r}")
