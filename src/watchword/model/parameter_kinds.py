"""Kinds of parameters: how each is checked, described and passed to the core."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from watchword._arrays import FloatArray
from watchword._checks import (
    Label,
    as_choice,
    as_label,
    as_not_negative,
    as_number,
    as_whole,
    reprs,
)

SummaryFunction = Callable[[FloatArray], FloatArray]
SummaryName = Literal["sum", "max", "mean"]
SummaryOperator = SummaryName | SummaryFunction
Level = Literal["sentence", "paragraph", "document"]
Summary = SummaryOperator | Mapping[Level, SummaryOperator]

LEVELS: tuple[Level, ...] = ("sentence", "paragraph", "document")
SUMMARY_NAMES: tuple[SummaryName, ...] = get_args(SummaryName)

REQUIRED = object()  # in every model file


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A row of the table.

    `help` is the text of the command line, and with `details` that of the docstring. `paper` and
    `pyss3` are the values of the presets, `earlier` the value in model files written before the
    parameter existed. A parameter that `shapes_counts` takes effect while learning; one without
    `affects_values` leaves the value of every n-gram as it is, so that corrections fitted with
    another value of it still hold. `title` is its name on the live page, which shows it only if it
    has one; `slider` is the range of its slider.
    """

    help: str
    details: str = ""
    paper: Any = None
    pyss3: Any = None
    earlier: Any = REQUIRED
    shapes_counts: bool = False
    affects_values: bool = True
    metavar: str = "NUMBER"
    title: str | None = None
    slider: tuple[float, float, float] | None = None  # lowest, highest, step
    name: str = ""  # set in `parameters.TABLE`
    default: Any = None  # set in `parameters.TABLE`

    @property
    def range(self) -> str:
        """The range of valid values, in words."""
        return ""

    @property
    def description(self) -> str:
        """The help text, the details and, of numbers, the range."""
        text = f"{self.help} {self.details}".rstrip()
        return f"{text} Range: {self.range}." if isinstance(self, Number | Whole) else text

    def check(self, value: Any) -> Any:
        """Return the value as a model stores it, or raise an error that names the parameter."""
        raise NotImplementedError

    def to_native(self, value: Any) -> Any:
        """Return the value as the core stores it."""
        return value


@dataclass(frozen=True, kw_only=True)
class Number(Parameter):
    """A finite number that is not negative, with bounds where given."""

    above_zero: bool = False
    most: float | None = None

    @property
    def range(self) -> str:
        """The range of valid values, in words."""
        low = "(0" if self.above_zero else "[0"
        return f"{low}, {'∞)' if self.most is None else f'{self.most:g}]'}"

    def check(self, value: Any) -> float:
        """Return a `float`."""
        if self.most is None and not self.above_zero:
            return as_not_negative(self.name, value)
        number = as_number(self.name, value)
        if number < 0 or (self.above_zero and number == 0) or number > (self.most or number):
            raise ValueError(f"{self.name} must be in {self.range}, got {number:g}")
        return number


@dataclass(frozen=True, kw_only=True)
class Whole(Parameter):
    """A whole number, or None where that is the default."""

    least: int
    most: int | None = None

    @property
    def range(self) -> str:
        """The range of valid values, in words."""
        return f"{self.least} to {self.most}" if self.most else f"{self.least} or more"

    def check(self, value: Any) -> int | None:
        """Return an `int`, or None."""
        if value is None and self.default is None:
            return None
        limits = (self.least,) if self.most is None else (self.least, self.most)
        return as_whole(self.name, value, *limits)


@dataclass(frozen=True, kw_only=True)
class Choice(Parameter):
    """One of several names, which the core defines."""

    of: type[enum.Enum]
    titles: Mapping[str, str] = field(default_factory=dict)  # on the live page, where they differ

    @property
    def choices(self) -> tuple[str, ...]:
        """The valid names."""
        return tuple(self.of.__members__)

    @property
    def range(self) -> str:
        """The valid names."""
        return ", ".join(self.choices)

    def check(self, value: Any) -> Any:
        """Return one of the names."""
        return as_choice(self.name, value, self.choices)

    def to_native(self, value: Any) -> Any:
        """Return the member of the core's enumeration."""
        return self.of[value]


@dataclass(frozen=True, kw_only=True)
class SummaryOperators(Choice):
    """An operator for each level."""

    def check(self, value: Any) -> dict[Level, SummaryOperator]:
        """Return the operator of each level."""
        if not isinstance(value, Mapping):
            return dict.fromkeys(LEVELS, self._operator(value))
        unknown = [level for level in value if level not in LEVELS]
        if unknown:
            raise ValueError(f"{self.name} has levels {', '.join(LEVELS)}, got {unknown[0]!r}")
        return {level: self._operator(value.get(level, "sum")) for level in LEVELS}

    def _operator(self, operator: Any) -> SummaryOperator:
        if callable(operator):
            return cast("SummaryFunction", operator)
        for known in SUMMARY_NAMES:
            if isinstance(operator, str) and operator == known:
                return known
        names = reprs(SUMMARY_NAMES)
        raise ValueError(f"{self.name} must be one of {names} or a function, got {operator!r}")

    def to_native(self, value: Any) -> Any:
        """Return the operator of each level; the user's functions are not the core's: sums."""
        return [self.of["sum" if callable(one) else one] for one in value.values()]


@dataclass(frozen=True, kw_only=True)
class DefaultLabel(Parameter):
    """A label, or None."""

    metavar: str = "LABEL"

    def check(self, value: Any) -> Label | None:
        """Return a plain `str` or `int`, or None."""
        return None if value is None else as_label(value)
