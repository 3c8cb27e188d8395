"""Parameter searches as HTML: an interactive page, or a snippet for notebooks.

Drawn from `Search.to_dict()` alone. Without scripts the page has a plot for every parameter and a
table of the best settings; `search_*.js` make them interactive. A snippet is the same page in an
iframe, so that the scripts and styles of several snippets do not interfere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from watchword._display import excerpt, many
from watchword.show import svg
from watchword.show.blocks import PlainData
from watchword.show.confusion import CONFUSION_LOOK, CONFUSION_STYLE, MOST_DRAWN
from watchword.show.evaluation_text import measure_name
from watchword.show.markup import as_json, document, escaped, name_html
from watchword.show.search_axes import FULL, Axis
from watchword.show.search_pack import DIGITS, Packed, pack_search, python_line

_MOST_ROWS = 50  # rows of the table without scripts
_FRAME_HEIGHT = "46rem"

# A small plot: its size and margins.
_WIDTH, _HEIGHT = 240, 170
_LEFT, _TOP, _RIGHT, _BOTTOM = 38, 10, 6, 22
_TICK_SIZE = 10
_STAR = svg.path_of(
    (radius * math.sin(math.pi * at / 5), -radius * math.cos(math.pi * at / 5))
    for at, radius in enumerate((7, 3) * 5)
)


def search_html(plain: PlainData, *, title: str = "Parameter search") -> str:
    """Return the page in an iframe, for notebooks."""
    return _frame(search_page(plain, title=title), title)


def search_page(plain: PlainData, *, title: str = "Parameter search") -> str:
    """Return plots of the measure by parameter, a sortable table, and a report of a chosen setting.

    >>> plain = {"measure": "accuracy", "better": "more", "texts": 4, "folds": 2, "several": False,
    ...     "labels": ["a", "b"], "base": {}, "varied": ["prior"], "unfinished": 0, "settings": [
    ...     {"parameters": {"prior": 0.5}, "value": 0.75, "by_fold": [0.5, 1.0],
    ...      "confusion": [[0, 0, 2], [1, 0, 1], [1, 1, 1]], "per_label": [[2, 3, 2], [2, 1, 1]]}]}
    >>> search_page(plain).startswith("<!doctype html>")
    True
    """
    head = f"<h1>{escaped(title)}</h1>\n"
    if not plain["settings"]:
        nothing = f"<p>No setting was evaluated on all folds.{_unfinished(plain)}</p>"
        return document(title, f'<main class="ww-search">{head}{nothing}</main>', _style())
    packed = pack_search(plain)
    rest = len(plain["settings"]) - _MOST_ROWS
    more = f"{many(rest, 'more setting')}; enable JavaScript to see all." if rest > 0 else ""
    frame = [_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM]
    sizes = {"full": FULL, "digits": DIGITS, "mostDrawn": MOST_DRAWN, "small": frame, "star": _STAR}
    sizes["matrix"] = CONFUSION_LOOK
    parts = (_file(f"search_{name}.js") for name in ("values", "plots", "tables", "picked"))
    script = f'(() => {{\n"use strict";\n{"".join(parts)}}})();\n'
    body = f"""<main class="ww-search">
{head}{_summary(plain, packed)}
{_small_plots(plain, packed)}
{_LIVE}
<section class="ww-all" aria-labelledby="all-heading">
<h2 id="all-heading">All settings</h2>
<div class="ww-scroll" tabindex="0" role="group" aria-labelledby="all-heading">
<table id="settings">{_table(plain, packed)}</table></div>
<p id="more">{more}</p>
</section>
{_REPORT}
<div id="told" class="ww-told" role="status" hidden></div>
<script type="application/json" id="data">{as_json(packed.data | sizes)}</script>
</main>"""
    return document(title, body, _style(), script=script)


def _frame(whole: str, title: str) -> str:
    # The attribute is in single quotes: markup and JSON are full of double quotes.
    inside = whole.replace("&", "&amp;").replace("'", "&#39;")
    style = (
        f"display:block;width:100%;height:{_FRAME_HEIGHT};border:1px solid rgba(128,128,128,.4);"
        "border-radius:.4em;resize:vertical"
    )
    return (
        f'<iframe title="{escaped(title)}" sandbox="allow-scripts" referrerpolicy="no-referrer" '
        f"style=\"{style}\" srcdoc='{inside}'></iframe>"
    )


@cache
def _file(name: str) -> str:
    return files("watchword.show").joinpath(name).read_text(encoding="utf-8")


def _style() -> str:
    return CONFUSION_STYLE + _file("search.css")


# Parts filled by the script

_LIVE = """<p class="quiet ww-without">Enable JavaScript to select points, sort the table and
see the report of each setting.</p>
<section class="ww-look" id="live" aria-label="One setting" hidden>
<div class="ww-large" id="two">
<div class="ww-choices">
<label>x axis <select id="across"></select></label>
<label>colour <select id="colour"></select></label>
</div>
<div id="large"></div>
<div id="legend" class="ww-legend"></div>
</div>
<div class="ww-picked"><div id="picked-head" role="status"></div><div id="picked-rest"></div></div>
</section>"""
_REPORT = """<section id="report" aria-labelledby="report-heading" hidden>
<h2 id="report-heading"></h2>
<p class="quiet" id="left-out" hidden></p>
<div class="wide" id="labels"></div>
<div class="wide" id="matrix"></div>
</section>"""


# Words


def _summary(plain: PlainData, packed: Packed) -> str:
    settings, measure = plain["settings"], escaped(measure_name(plain["measure"]))
    best, spread = _value(packed.value[0]), packed.deviation[0]
    around = "" if spread is None else f' <span title="over folds">± {spread:.{DIGITS}f}</span>'
    dropped = packed.complete.count(False)
    summary = (
        f"{many(len(settings), 'setting')} of {_listed(plain['varied'])} on "
        f"{many(plain['texts'], 'text')} with {many(len(plain['labels']), 'label')}, in "
        f"{many(plain['folds'], 'fold')}."
    )
    if dropped:
        summary += f" {dropped:,} of them were stopped before the last fold."
    summary += _unfinished(plain)
    if packed.reported < len(settings):
        summary += (
            f" To keep the page small, only the best {packed.reported:,} settings have a report "
            "by label."
        )
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


def _value(value: float | None) -> str:
    return "–" if value is None else f"{value:.{DIGITS}f}"


# The table


def _table(plain: PlainData, packed: Packed) -> str:
    heads = ["#", measure_name(plain["measure"]), "±", "folds", *plain["varied"]]
    number = ' class="number"'
    columns = "".join(
        f'<th scope="col"{number * (at < 4)}>{name_html(head)}</th>'
        for at, head in enumerate(heads)
    )
    rows = "".join(
        _row(packed, at, len(plain["settings"][at]["by_fold"]))
        for at in range(min(_MOST_ROWS, len(plain["settings"])))
    )
    return f"<thead><tr>{columns}</tr></thead>\n<tbody>{rows}</tbody>"


def _row(packed: Packed, at: int, folds: int) -> str:
    kinds = ["ww-first"] * (at == 0) + ["ww-dropped"] * (not packed.complete[at])
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    numbers = (_value(packed.value[at]), _value(packed.deviation[at]), str(folds))
    cells = "".join(f'<td class="number">{one}</td>' for one in numbers)
    cells += "".join(f"<td>{name_html(shown[at])}</td>" for shown in packed.shown)
    return f'<tr{kind}><th scope="row" class="number">{at + 1}</th>{cells}</tr>\n'


# Small plots


def _small_plots(plain: PlainData, packed: Packed) -> str:
    figures = "".join(
        f"<figure><figcaption>{name_html(name)}</figcaption>{_plot(plain, packed, at)}</figure>\n"
        for at, name in enumerate(plain["varied"])
    )
    measure = escaped(measure_name(plain["measure"]))
    note = (
        f"Vertical axis: {measure}; {'lower' if plain['better'] == 'less' else 'higher'} is better."
    )
    if packed.heights.outside:
        far = many(packed.heights.outside, "setting")
        note += f" {far} far worse than the others drawn at the edge."
    key = '<span class="ww-key-best">★</span> best'
    if not all(packed.complete):
        key += ' <span class="ww-key ww-key-dropped"></span> stopped early'
    return f'<p class="quiet">{note} {key}</p>\n<div class="ww-plots">\n{figures}</div>'


def _plot(plain: PlainData, packed: Packed, at: int) -> str:
    axis = packed.axes[at]
    points = [
        (_across(x), _upwards(y), whole)
        for x, y, whole in zip(axis.places, packed.heights.places, packed.complete, strict=True)
        if x is not None and y is not None
    ]
    best = []
    if packed.heights.places[0] is not None:
        place = f"translate({svg.number(points[0][0])} {svg.number(points[0][1])})"
        best.append(svg.element("path", d=_STAR, class_="ww-best", transform=place))
    return svg.drawing(
        _WIDTH,
        _HEIGHT,
        *_grid(axis, packed.heights),
        _dots([(x, y) for x, y, whole in points if not whole], "ww-faint"),
        _dots([(x, y) for x, y, whole in points if whole], "c1"),
        *best,
        title=f"{measure_name(plain['measure'])} by {excerpt(plain['varied'][at])}",
        description=f"{many(len(points), 'setting')}; the table below has the same numbers.",
        role="group",
        data_plot=at,
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
