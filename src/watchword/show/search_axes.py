"""The axes of a search's charts.

Positions are whole numbers from 0 to `FULL`, which a chart of any size can scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from watchword.show import svg

FULL = 1000

_FEW = 8  # distinct numbers: up to this many are drawn as columns
_WIDE = 10  # ratio of largest to smallest number from which the scale is logarithmic
_MARGIN = 0.04  # share of an axis kept free at both ends
_ZERO = 0.1  # share of a logarithmic axis reserved for 0
_GOLDEN = 0.6180339887  # golden ratio: deterministic, even jitter within a column
_SPREAD = 0.62  # of jitter, in widths of a column
_MOST_TICKS = 7
_LARGEST = 1e300  # larger whole numbers may not convert to float
_CLIPPED_FROM = 8  # settings: with fewer, none is clipped to the edge


@dataclass(frozen=True)
class Axis:
    """The position of every setting (None: not drawn) and the ticks of the axis."""

    places: list[int | None]
    ticks: list[tuple[int, str]]
    columns: bool = False  # whether there is a column for each value
    outside: int = 0  # settings clipped to the edge


def measure_axis(values: Sequence[float | None], *, less: bool = False, digits: int = 4) -> Axis:
    """Return the axis of a measure, with most of the room for the better settings.

    A few very bad settings would compress all others, so they are clipped to the edge.

    >>> measure_axis([0.8, 0.7, 0.6]).places
    [960, 500, 40]
    """
    known = sorted((one for one in values if one is not None), reverse=not less)
    if not known:
        return Axis([None] * len(values), [])
    best, worst = known[0], known[-1]
    if len(known) >= _CLIPPED_FROM:
        reach = 2 * (known[3 * len(known) // 4] - best) or worst - best
        worst = min(worst, best + reach) if less else max(worst, best + reach)
    low, high = min(best, worst), max(best, worst)
    if high - low < 10.0**-digits:
        low, high = low - 10.0**-digits, high + 10.0**-digits
    places: list[int | None] = []
    outside = 0
    for one in values:
        if one is None:
            places.append(None)
        elif low <= one <= high:
            places.append(_inside((one - low) / (high - low)))
        else:
            places.append(0 if one < low else FULL)
            outside += 1
    # Rounding may put a tick slightly outside: it would be off the axis.
    marks = [one for one in svg.ticks(low, high, 5) if low <= one <= high]
    ticks = [(_inside((one - low) / (high - low)), f"{one:g}") for one in marks]
    return Axis(places, ticks, outside=outside)


def parameter_axis(values: Sequence[Any], spelt: Sequence[str]) -> Axis:
    """Return the axis of a parameter: columns for names and few numbers, a scale for many numbers.

    `spelt` are the values as shown; equal spellings share a column.

    >>> parameter_axis(["xai", "vanilla"], ["xai", "vanilla"]).ticks
    [(250, 'vanilla'), (750, 'xai')]
    >>> parameter_axis([10.0**at for at in range(9)], list("abcdefghi")).places[::4]
    [40, 500, 960]
    """
    if len(set(spelt)) > _FEW and all(_is_number(one) for one in values):
        return _scale([float(one) for one in values])
    return _columns(values, spelt)


def _is_number(value: object) -> bool:
    """Return whether the value of a parameter can be drawn on a numeric scale."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -_LARGEST < value < _LARGEST


def _inside(share: float) -> int:
    return round(FULL * (_MARGIN + share * (1 - 2 * _MARGIN)))


def _columns(values: Sequence[Any], spelt: Sequence[str]) -> Axis:
    numbers = {text: one for one, text in zip(values, spelt, strict=True) if _is_number(one)}
    order = sorted(set(spelt), key=lambda text: (text not in numbers, numbers.get(text, 0), text))
    column = {text: at for at, text in enumerate(order)}
    width = FULL / len(order) if order else FULL
    jitters = (((at + 1) * _GOLDEN % 1 - 0.5) * _SPREAD for at in range(len(spelt)))
    centres = (column[text] + 0.5 for text in spelt)
    places = [round((at + jitter) * width) for at, jitter in zip(centres, jitters, strict=True)]
    ticks = [(round((at + 0.5) * width), text) for at, text in enumerate(order)]
    return Axis([*places], ticks, columns=True)


def _scale(values: Sequence[float]) -> Axis:
    positive = [one for one in values if one > 0]
    wide = bool(positive) and max(positive) >= _WIDE * min(positive)
    if wide and min(values) >= 0:
        return _logarithmic(values, min(positive), max(positive))
    low, high = min(values), max(values)
    marks = svg.ticks(low, high, 6)
    ticks = [(_inside((one - low) / (high - low)), f"{one:g}") for one in marks]
    return Axis([_inside((one - low) / (high - low)) for one in values], ticks)


def _logarithmic(values: Sequence[float], low: float, high: float) -> Axis:
    zero = _ZERO if min(values) == 0 else 0.0

    def place(one: float) -> int:
        share = math.log(one / low) / math.log(high / low) if one > 0 else 0.0
        return _inside(zero + (1 - zero) * share if one > 0 else 0.0)

    ticks = [(place(one), f"{one:g}") for one in _powers(low, high)]
    return Axis([place(one) for one in values], ([(place(0), "0")] if zero else []) + ticks)


def _powers(low: float, high: float) -> list[float]:
    """Return round numbers about evenly spaced on a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [factor * 10.0**power for power in decades for factor in factors]
        found = [one for one in found if low * 0.999 <= one <= high * 1.001]
        if len(found) <= _MOST_TICKS:
            return found
    return found[:: math.ceil(len(found) / _MOST_TICKS)]
