"""Parameter searches as HTML: a page, or a snippet for notebooks.

Drawn from `Search.to_dict()` alone: a chart of the measure against each parameter, and a table of
the settings. A snippet is the same page in an iframe, so that its style does not interfere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from statistics import stdev
from typing import Any

from watchword._display import excerpt, finite, many, visible
from watchword.model.parameters import DEFAULTS
from watchword.show import svg
from watchword.show.blocks import PlainData
from watchword.show.evaluation_text import measure_name
from watchword.show.markup import document, escaped, name_html
from watchword.show.search_axes import FULL, Axis, measure_axis, parameter_axis

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
    return files("watchword.show").joinpath("search.css").read_text(encoding="utf-8")


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
