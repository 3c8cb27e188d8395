"""Parameter searches as HTML: a table, and a chart of values against each parameter.

Positions are whole numbers from 0 to `FULL`, which a chart of any size can scale.

Drawn from `Search.to_dict()` alone: a chart of the measure against each parameter, and a table of
the settings. A snippet is the same page in an iframe, so that its style does not interfere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import stdev
from typing import Any

from watchword._display import excerpt, finite, many, visible
from watchword.explain import svg
from watchword.explain.blocks import PlainData
from watchword.explain.evaluation_view import measure_name
from watchword.explain.markup import document, escaped, name_html
from watchword.model.parameters import DEFAULTS

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


DIGITS = 4  # digits of measures
MOST_ROWS = 500  # rows of the table
_FRAME_HEIGHT = "46rem"
_PRUNE = "prune"  # varied like a parameter, but applied after learning
_REFINED = "refined"  # likewise

# A chart: its size and margins.
_WIDTH, _HEIGHT = 240, 170
_LEFT, _TOP, _RIGHT, _BOTTOM = 38, 10, 6, 22
_TICK_SIZE = 10
_STAR = svg.path_of(
    (radius * math.sin(math.pi * at / 5), -radius * math.cos(math.pi * at / 5))
    for at, radius in enumerate((7, 3) * 5)
)


def search_html(plain: PlainData, *, title: str = "Parameter search") -> str:
    """Return the page in an iframe, for notebooks."""
    # The attribute is in single quotes: markup is full of double quotes.
    inside = search_page(plain, title=title).replace("&", "&amp;").replace("'", "&#39;")
    style = (
        f"display:block;width:100%;height:{_FRAME_HEIGHT};border:1px solid rgba(128,128,128,.4);"
        "border-radius:.4em;resize:vertical"
    )
    return (
        f'<iframe title="{escaped(title)}" sandbox referrerpolicy="no-referrer" '
        f"style=\"{style}\" srcdoc='{inside}'></iframe>"
    )


def search_page(plain: PlainData, *, title: str = "Parameter search") -> str:
    """Return a chart of the measure against each parameter, and a table of the settings.

    >>> plain = {"measure": "accuracy", "better": "more", "texts": 4, "folds": 2, "labels": ["a"],
    ...     "base": {}, "varied": ["prior"], "unfinished": 0, "settings": [
    ...     {"parameters": {"prior": 0.5}, "value": 0.75, "by_fold": [0.5, 1.0]}]}
    >>> search_page(plain).count("<svg")
    1
    """
    head = f"<h1>{escaped(title)}</h1>\n"
    if not plain["settings"]:
        nothing = f"<p>No setting was evaluated on all folds.{_unfinished(plain)}</p>"
        return document(title, f'<main class="ww-search">{head}{nothing}</main>', _style())
    rest = len(plain["settings"]) - MOST_ROWS
    more = f"<p>{many(rest, 'more setting')} in to_csv() and to_json().</p>\n" if rest > 0 else ""
    body = f"""<main class="ww-search">
{head}{_summary(plain)}
{_charts(plain)}
<section aria-labelledby="all-heading">
<h2 id="all-heading">Settings</h2>
<div class="ww-scroll" tabindex="0" role="group" aria-labelledby="all-heading">
<table id="settings">{_table(plain)}</table></div>
{more}</section>
</main>"""
    return document(title, body, _style())


@cache
def _style() -> str:
    return files("watchword.explain").joinpath("search.css").read_text(encoding="utf-8")


def _is_complete(setting: PlainData, plain: PlainData) -> bool:
    return bool(len(setting["by_fold"]) >= plain["folds"])


def _values_of(name: str, plain: PlainData) -> list[Any]:
    """Return the value of a parameter in each setting."""
    return [one["parameters"].get(name, plain["base"].get(name)) for one in plain["settings"]]


# Words


def _summary(plain: PlainData) -> str:
    settings, measure = plain["settings"], escaped(measure_name(plain["measure"]))
    best, spread = _number(settings[0]["value"]), _deviation(settings[0])
    around = f' <span title="over folds">± {spread}</span>' if spread else ""
    dropped = sum(not _is_complete(setting, plain) for setting in settings)
    summary = (
        f"{many(len(settings), 'setting')} of {_listed(plain['varied'])} on "
        f"{many(plain['texts'], 'text')} with {many(len(plain['labels']), 'label')}, in "
        f"{many(plain['folds'], 'fold')}."
    )
    if dropped:
        summary += f" {dropped:,} of them were stopped before the last fold."
    summary += _unfinished(plain)
    line = python_line(settings[0]["parameters"], plain["base"])
    return (
        f'<p class="ww-lead">Best {measure} <strong>{best}</strong>{around} with '
        f"<code>{escaped(line)}</code></p>\n<p>{summary}</p>"
    )


def _unfinished(plain: PlainData) -> str:
    left = plain["unfinished"]
    return f" {many(left, 'setting')} {'was' if left == 1 else 'were'} not reached." if left else ""


def _listed(names: Sequence[str]) -> str:
    marked = [f"<b>{name_html(name)}</b>" for name in names]
    if len(marked) < 2:
        return "".join(marked) or "no parameter"
    return f"{', '.join(marked[:-1])} and {marked[-1]}"


def _number(value: float | None) -> str:
    known: float | None = finite(value)
    return "–" if known is None else f"{known:.{DIGITS}f}"


def _deviation(setting: PlainData) -> str:
    """Return the standard deviation over folds; empty for a single fold."""
    known = [one for one in finite(setting["by_fold"]) if one is not None]
    return f"{stdev(known):.{DIGITS}f}" if len(known) > 1 else ""


# The table


def _table(plain: PlainData) -> str:
    heads = ["#", measure_name(plain["measure"]), "±", "folds", *plain["varied"]]
    number = ' class="number"'
    columns = "".join(
        f'<th scope="col"{number * (at < 4)}>{name_html(head)}</th>'
        for at, head in enumerate(heads)
    )
    rows = "".join(_row(plain, at) for at in range(min(MOST_ROWS, len(plain["settings"]))))
    return f"<thead><tr>{columns}</tr></thead>\n<tbody>{rows}</tbody>"


def _row(plain: PlainData, at: int) -> str:
    setting = plain["settings"][at]
    kinds = ["ww-first"] * (at == 0) + ["ww-dropped"] * (not _is_complete(setting, plain))
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    numbers = (_number(setting["value"]), _deviation(setting) or "–", len(setting["by_fold"]))
    cells = "".join(f'<td class="number">{one}</td>' for one in numbers)
    for name in plain["varied"]:
        value = setting["parameters"].get(name, plain["base"].get(name))
        cells += f"<td>{name_html(visible(shown_value(value)))}</td>"
    return f'<tr{kind}><th scope="row" class="number">{at + 1}</th>{cells}</tr>\n'


# The charts


def _charts(plain: PlainData) -> str:
    values = [finite(setting["value"]) for setting in plain["settings"]]
    heights = measure_axis(values, less=plain["better"] == "less", digits=DIGITS)
    figures = "".join(
        f"<figure><figcaption>{name_html(name)}</figcaption>{_chart(plain, name, heights)}"
        "</figure>\n"
        for name in plain["varied"]
    )
    measure = escaped(measure_name(plain["measure"]))
    note = (
        f"Vertical axis: {measure}; {'lower' if plain['better'] == 'less' else 'higher'} is better."
    )
    if heights.outside:
        far = many(heights.outside, "setting")
        note += f" {far} far worse than the others drawn at the edge."
    key = '<span class="ww-key-best">★</span> best'
    if not all(_is_complete(setting, plain) for setting in plain["settings"]):
        key += ' <span class="ww-key ww-key-dropped"></span> stopped early'
    return f'<p class="quiet">{note} {key}</p>\n<div class="ww-plots">\n{figures}</div>'


def _chart(plain: PlainData, name: str, heights: Axis) -> str:
    values = _values_of(name, plain)
    axis = parameter_axis(values, [visible(shown_value(one)) for one in values])
    points = [
        (_across(x), _upwards(y), _is_complete(setting, plain))
        for x, y, setting in zip(axis.places, heights.places, plain["settings"], strict=True)
        if x is not None and y is not None
    ]
    best = []
    if heights.places[0] is not None:
        place = f"translate({svg.number(points[0][0])} {svg.number(points[0][1])})"
        best.append(svg.element("path", d=_STAR, class_="ww-best", transform=place))
    return svg.drawing(
        _WIDTH,
        _HEIGHT,
        *_grid(axis, heights),
        _dots([(x, y) for x, y, whole in points if not whole], "ww-faint"),
        _dots([(x, y) for x, y, whole in points if whole], "c1"),
        *best,
        title=f"{measure_name(plain['measure'])} by {excerpt(name)}",
        description=f"{many(len(points), 'setting')}; the table below has the same numbers.",
    )


def _across(place: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * place / FULL


def _upwards(place: int) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - place / FULL)


def _dots(points: Sequence[tuple[float, float]], kind: str) -> svg.Markup:
    """Return all points as one path of zero-length lines, visible by their round caps."""
    path = "".join(f"M{svg.number(x, 1)} {svg.number(y, 1)}h0" for x, y in points)
    return svg.element("path", d=path, class_=f"ww-dots {kind}")


def _grid(axis: Axis, heights: Axis) -> Iterator[svg.Markup]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for place, name in heights.ticks:
        y = _upwards(place)
        yield svg.line(_LEFT, y, right, y, class_="ww-grid")
        yield svg.text(_LEFT - 5, y + 3.5, name, size=_TICK_SIZE, anchor="end")
    yield svg.line(_LEFT, bottom, right, bottom, class_="ww-axis")
    room = (right - _LEFT) / max(len(axis.ticks), 1) - 4
    # Names without room for three letters are left out.
    for place, name in axis.ticks if room >= 3 * _TICK_SIZE or not axis.columns else ():
        shown = svg.clip(name, _TICK_SIZE, room) if axis.columns else name
        x, y = _across(place), bottom + 14
        yield svg.text(x, y, shown, svg.tooltip(name), size=_TICK_SIZE, anchor="middle")


# Code that makes a model with these settings


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
