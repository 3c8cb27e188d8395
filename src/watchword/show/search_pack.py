"""Compact data for the page of a search: distinct values once, counts as base64 of varints."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Any

from watchword._display import excerpt, finite, visible
from watchword.model.parameters import DEFAULTS
from watchword.show.blocks import PlainData
from watchword.show.evaluation_text import measure_name
from watchword.show.numbers import pack_wholes
from watchword.show.search_axes import Axis, is_number, measure_axis, parameter_axis, told_by

DIGITS = 4  # digits of measures
MOST_REPORTED = 500  # settings with counts in the page
MOST_COUNTS = 700_000  # characters of all counts together
_EXACT = 2**53  # largest whole number that is exact in a browser

_PRUNE = "prune"  # varied like a parameter, but applied after learning
_REFINED = "refined"  # likewise


@dataclass(frozen=True)
class Packed:
    """The data of a page: for its static part, and `data` for its script."""

    value: list[float | None]
    deviation: list[float | None]
    complete: list[bool]
    shown: list[list[str]]  # by parameter, by setting
    axes: list[Axis]
    heights: Axis
    reported: int
    data: dict[str, Any]


def pack_search(plain: PlainData) -> Packed:
    """Return the data that the page of a search shows.

    >>> plain = {"measure": "accuracy", "better": "more", "texts": 4, "folds": 2, "several": False,
    ...     "labels": ["a", "b"], "base": {}, "varied": ["prior"], "unfinished": 0, "settings": [
    ...     {"parameters": {"prior": 0.5}, "value": 0.75, "by_fold": [0.5, 1.0],
    ...      "confusion": [[0, 0, 2], [1, 0, 1], [1, 1, 1]], "per_label": [[2, 3, 2], [2, 1, 1]]}]}
    >>> pack_search(plain).data["names"]
    ['prior']
    """
    settings = plain["settings"]
    value = [_rounded(one["value"]) for one in settings]
    by_fold = [[_rounded(each) for each in one["by_fold"]] for one in settings]
    complete = [len(one) >= plain["folds"] for one in by_fold]
    columns = [_ParameterColumn(name, plain) for name in plain["varied"]]
    axes = [parameter_axis(column.values, column.shown) for column in columns]
    heights = measure_axis(value, less=plain["better"] == "less", digits=DIGITS)
    per_label, confusion = _counts(plain)
    deviation = [_deviation(one) for one in by_fold]
    base = {name: one for name, one in plain["base"].items() if name not in plain["varied"]}
    options = (_as_option(name, one) for name, one in _unusual(base))
    data = {
        "measure": visible(measure_name(plain["measure"])),
        "less": plain["better"] == "less",
        "several": bool(plain["several"]),
        "folds": plain["folds"],
        "labels": [visible(excerpt(label)) for label in plain["labels"]],
        "names": [visible(name) for name in plain["varied"]],
        "values": [column.distinct for column in columns],
        "at": [column.at for column in columns],
        "value": value,
        "deviation": deviation,
        "byFold": by_fold,
        "places": [axis.places for axis in axes],
        "ticks": [axis.ticks for axis in axes],
        "columns": [axis.columns for axis in axes],
        "first": _most_telling(axes, heights),
        "heights": heights.places,
        "heightTicks": heights.ticks,
        "perLabel": per_label,
        "confusion": confusion,
        "base": [visible(_as_arguments(base)), visible(" ".join(filter(None, options)))],
    }
    shown = [column.shown for column in columns]
    return Packed(value, deviation, complete, shown, axes, heights, len(per_label), data)


def _most_telling(axes: Sequence[Axis], heights: Axis) -> list[int]:
    """Return the initial parameters of the large plot: x axis (a scale, if any) and colour."""
    order = sorted(range(len(axes)), key=lambda at: -told_by(axes[at], heights))
    across = next((at for at in order if not axes[at].columns), order[0] if order else 0)
    return [across, *(at for at in order if at != across)][:2]


class _ParameterColumn:
    """The values of a parameter over all settings."""

    def __init__(self, name: str, plain: PlainData) -> None:
        fallback = plain["base"].get(name)
        self.values = [one["parameters"].get(name, fallback) for one in plain["settings"]]
        self.shown = [visible(shown_value(one)) for one in self.values]
        self.distinct: list[Any] = []
        self.at: list[int] = []
        known: dict[str, int] = {}
        for one, shown in zip(self.values, self.shown, strict=True):
            literal = repr(one)
            if literal not in known:
                known[literal] = len(self.distinct)
                self.distinct.append(_packed_value(name, one, shown))
            self.at.append(known[literal])


def _packed_value(name: str, value: Any, shown: str) -> Any:
    """Return a number, or a value as shown, as a Python argument and as a command-line option."""
    if is_number(value) and abs(value) <= _EXACT and name.isidentifier():
        return value
    return [shown, visible(_as_argument(name, value)), visible(_as_option(name, value))]


def shown_value(value: Any) -> str:
    """Return the value of a parameter for display.

    >>> shown_value(0.123456789), shown_value("xai"), shown_value({"sentence": "max"})
    ('0.1235', 'xai', 'sentence=max')
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ",".join(f"{name}={one}" for name, one in value.items())
    return excerpt(value)


# Code that makes a model with these settings


def python_line(parameters: PlainData, base: PlainData) -> str:
    """Return the Python expression that makes the model, without defaults.

    >>> python_line({"smoothness": 0.2}, {"max_ngram": 3, "reading": "words_sum"})
    "TauSS3(smoothness=0.2, reading='words_sum')"
    >>> python_line({"smoothness": 0.2, "prune": 5}, {})
    'TauSS3(smoothness=0.2)  # after learning: model.prune(5)'
    >>> python_line({"smoothness": 0.2, "refined": True}, {})
    'TauSS3(smoothness=0.2)  # after learning: model.refine(texts, labels)'
    """
    later = (_PRUNE, _REFINED)
    given = [_as_argument(name, one) for name, one in parameters.items() if name not in later]
    rest = _as_arguments({name: one for name, one in base.items() if name not in parameters})
    floor = parameters.get(_PRUNE)
    after = f"  # after learning: model.prune({floor})" if floor else ""
    if parameters.get(_REFINED):  # never with pruning
        after = "  # after learning: model.refine(texts, labels)"
    return f"TauSS3({', '.join(one for one in (*given, rest) if one)}){after}"


def _as_arguments(base: PlainData) -> str:
    return ", ".join(_as_argument(name, one) for name, one in _unusual(base))


def _unusual(base: PlainData) -> Iterable[tuple[str, Any]]:
    for name, value in base.items():
        usual = DEFAULTS.get(name)
        everywhere = isinstance(value, Mapping) and set(value.values()) == {usual}
        if value != usual and not everywhere:
            yield name, value


def _as_argument(name: str, value: Any) -> str:
    plain = dict(value) if isinstance(value, Mapping) else value
    return f"{name}={plain!r}" if str(name).isidentifier() else f"**{{{name!r}: {plain!r}}}"


def _as_option(name: str, value: Any) -> str:
    """Return a command-line option; empty for None, which no option can express."""
    if value is None:
        return ""
    if name == _REFINED:
        return "--refine" if value else "--no-refine"
    if isinstance(value, Mapping):
        value = ",".join(f"{level}={one}" for level, one in value.items())
    return f"{shlex.quote('--' + name.replace('_', '-'))} {shlex.quote(str(value))}"


# Numbers


def _rounded(value: float | None) -> float | None:
    known: float | None = finite(value)
    return None if known is None else round(known, DIGITS + 1)


def _deviation(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return round(stdev(known), DIGITS + 1) if len(known) > 1 else None


def _counts(plain: PlainData) -> tuple[list[str], list[str] | None]:
    """Return the counts per label and the confusion of the best settings, as many as fit."""
    size = len(plain["labels"])
    per_label: list[str] = []
    confusion: list[str] = []
    room = MOST_COUNTS
    for one in plain["settings"][:MOST_REPORTED]:
        rows = pack_wholes([number for row in one["per_label"] for number in row])
        cells = "" if one["confusion"] is None else pack_wholes(list(_gaps(one["confusion"], size)))
        room -= len(rows) + len(cells)
        if room < 0 and per_label:  # the best setting is always included
            break
        per_label.append(rows)
        confusion.append(cells)
    return per_label, None if plain["several"] else confusion


def _gaps(cells: Iterable[Sequence[int]], size: int) -> Iterable[int]:
    """Yield twice the count of each cell, plus 1 and then the gap if empty cells precede it."""
    before = -1
    for place, count in sorted((row * size + column, count) for row, column, count in cells):
        gap = place - before - 1
        yield 2 * count + (gap > 0)
        if gap:
            yield gap
        before = place
