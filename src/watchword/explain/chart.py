"""Charts drawn from plain data alone: as SVG, or with matplotlib.

Curves differ in colour; dashed lines are those of other labels. A legend is above the axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from watchword._display import excerpt
from watchword.errors import MissingExtraError
from watchword.explain import svg
from watchword.explain.blocks import PlainData
from watchword.explain.palette import label_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 640.0, 360.0
_RIGHT, _BOTTOM = 16.0, 48.0
_ROW = 44.0  # height of a row of a chart with names
_KEY = 26.0  # width of a line in the legend
_SIZE, _SMALL = 13, 12
_MOST_NAME = 260.0  # room for the names of rows
_RADIUS = 4.0

Point = tuple[float, float]


def chart_svg(plain: PlainData, *, alone: bool = True) -> svg.Markup:
    """Draw a chart; inside a page it has the page's colours, with `alone` its own.

    >>> from watchword.evaluation.charts import Chart, Curve
    >>> chart = Chart("Squares", "x", "x²", (Curve("x²", (0, 1, 2), (0, 1, 4)),))
    >>> chart_svg(chart.to_dict()).count("<path ")
    1
    """
    frame = _ChartFrame(plain)
    drawn = [*_legend(plain, frame), *_axes(plain, frame), *_rules(plain, frame)]
    for curve in plain["curves"]:
        drawn += _DRAWN[curve["drawn"]](curve, frame)
    drawn += _marks(plain, frame)
    return svg.drawing(
        _WIDTH,
        frame.height,
        *drawn,
        title=plain["title"],
        description=plain["description"],
        css=svg.STYLE if alone else "",
    )


def limits_of(plain: PlainData) -> tuple[Point, Point]:
    """Return the ranges of both axes: the given ones, or those of everything that is drawn."""
    x, y = [], []
    for curve in plain["curves"]:
        x += [*curve["x"], *(end for ends in curve["ends"] for end in ends)]
        y += [*curve["y"], *curve["base"]]
    x += [mark["x"] for mark in plain["marks"]]
    y += [mark["y"] for mark in plain["marks"]]
    for rule in plain["rules"]:
        (y if rule["horizontal"] else x).append(rule["at"])
    rows = (-0.5, len(plain["rows"]) - 0.5) if plain["rows"] else None
    # Bars and rows of measures begin at 0.
    is_bars = any(curve["drawn"] == "bars" for curve in plain["curves"])
    across = plain["x_range"] or _spread([0.0, *x] if rows else x)
    return across, rows or plain["y_range"] or _spread([0.0, *y] if is_bars else y)


def _spread(values: Sequence[float]) -> Point:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


class _ChartFrame:
    """The coordinates of numbers in the picture."""

    def __init__(self, plain: PlainData) -> None:
        (self.x0, self.x1), (self.y0, self.y1) = limits_of(plain)
        self.rows: Sequence[str] = plain["rows"]
        self.bar_width: float = plain["bar_width"]
        names = max((svg.text_width(name, _SMALL) for name in self.rows), default=0.0)
        self.left = min(names, _MOST_NAME) + 16 if self.rows else 62.0
        self.right = _WIDTH - _RIGHT
        self.keys = _placed_keys(plain, self.left, self.right)
        above = any(not rule["horizontal"] for rule in plain["rules"])
        self.top = (self.keys[-1][1] + 14 if self.keys else 10) + (18 if above else 0)
        self.height = self.top + _BOTTOM + _ROW * len(self.rows) if self.rows else _HEIGHT
        self.bottom = self.height - _BOTTOM

    def x(self, value: float) -> float:
        return self.left + (value - self.x0) / (self.x1 - self.x0) * (self.right - self.left)

    def y(self, value: float) -> float:
        share = (value - self.y0) / (self.y1 - self.y0)
        if self.rows:  # from top to bottom
            share = 1 - share
        return self.bottom - share * (self.bottom - self.top)

    def points(self, curve: PlainData) -> list[Point]:
        return [(self.x(x), self.y(y)) for x, y in zip(curve["x"], curve["y"], strict=True)]


# Legend and axes


def _placed_keys(plain: PlainData, left: float, right: float) -> list[tuple[float, float, str]]:
    """Return where the names of the legend begin, in as many lines as they need."""
    keys: list[tuple[float, float, str]] = []
    x, y = left, 20.0
    for curve in plain["curves"]:
        name = svg.clip(curve["name"], _SMALL, right - left - _KEY - 6)
        room = _KEY + 6 + svg.text_width(name, _SMALL) + 16
        if keys and x + room > right:
            x, y = left, y + 19
        keys.append((x, y, name))
        x += room
    return keys


def _legend(plain: PlainData, frame: _ChartFrame) -> Iterator[svg.Markup]:
    for curve, (x, y, name) in zip(plain["curves"], frame.keys, strict=True):
        middle = y - 4
        if curve["drawn"] == "bars":
            yield svg.rectangle(x + 8, middle - 6, 12, 12, fill=colour_of(curve))
        elif curve["drawn"] == "dots":
            yield _dot(x + _KEY / 2, middle, curve)
        else:
            yield svg.line(x, middle, x + _KEY, middle, **_stroke(curve))
        yield svg.text(x + _KEY + 6, y, name, size=_SMALL)


def _axes(plain: PlainData, frame: _ChartFrame) -> Iterator[svg.Markup]:
    if frame.rows:
        for at, name in enumerate(frame.rows):
            y = frame.y(at)
            yield svg.line(frame.left, y, frame.right, y, stroke_opacity=0.12)
            shown = (svg.clip(name, _SMALL, _MOST_NAME), svg.tooltip(name))
            yield svg.text(frame.left - 8, y + 4, *shown, size=_SMALL, anchor="end")
    else:
        for value in svg.ticks(frame.y0, frame.y1, 5):
            y = frame.y(value)
            yield svg.line(frame.left, y, frame.right, y, stroke_opacity=0.15)
            number = svg.number(value, 5)
            yield svg.text(frame.left - 7, y + 4, number, size=_SMALL, anchor="end")
    across = svg.ticks(frame.x0, frame.x1, 7)
    if plain["curves"] and all(float(x).is_integer() for x in plain["curves"][0]["x"][:100]):
        across = [one for one in across if float(one).is_integer()]  # posts are whole
    for value in across:
        x = frame.x(value)
        yield svg.line(x, frame.bottom, x, frame.bottom + 5)
        number = svg.number(value, 5)
        yield svg.text(x, frame.bottom + 19, number, size=_SMALL, anchor="middle")
    middle = (frame.left + frame.right) / 2
    yield svg.line(frame.left, frame.bottom, frame.right, frame.bottom)
    yield svg.text(middle, frame.height - 9, plain["x_label"], size=_SIZE, anchor="middle")
    if plain["y_label"]:
        x, y = 16, (frame.top + frame.bottom) / 2
        turned = f"rotate(-90 {svg.number(x)} {svg.number(y)})"
        yield svg.text(x, y, plain["y_label"], size=_SIZE, anchor="middle", transform=turned)


def _rules(plain: PlainData, frame: _ChartFrame) -> Iterator[svg.Markup]:
    for rule in plain["rules"]:
        if rule["horizontal"]:
            y = frame.y(rule["at"])
            yield svg.line(frame.left, y, frame.right, y, stroke_dasharray="3 4")
            yield svg.text(frame.right, y - 5, rule["name"], size=_SMALL, anchor="end")
            continue
        x = frame.x(rule["at"])
        room = svg.text_width(rule["name"], _SMALL) / 2
        middle = min(max(x, frame.left + room), frame.right - room)
        yield svg.line(x, frame.top - 4, x, frame.bottom, stroke_dasharray="3 4")
        yield svg.text(middle, frame.top - 8, rule["name"], size=_SMALL, anchor="middle")


# Curves


def colour_of(curve: PlainData) -> str:
    """Return the colour of a curve or mark: that of alerts, or one by its index."""
    at = curve["colour"]
    return label_colour(at, alert=at if at < 0 else None)


def _stroke(curve: PlainData) -> dict[str, Any]:
    dash = "7 4" if curve["dashed"] else None
    return {"stroke": colour_of(curve), "stroke_width": 2.2, "stroke_dasharray": dash}


def _line(curve: PlainData, frame: _ChartFrame) -> list[svg.Markup]:
    path = svg.path_of(_thinned(frame.points(curve)))
    return [svg.element("path", d=path, fill="none", stroke_linejoin="round", **_stroke(curve))]


def _thinned(points: Sequence[Point]) -> list[Point]:
    """Return the points without those that are too close to see."""
    kept: list[Point] = []
    for at, point in enumerate(points):
        if at in (0, len(points) - 1) or point[0] - kept[-1][0] >= 1.0:
            kept.append(point)
    return kept


def _steps(curve: PlainData, frame: _ChartFrame) -> list[svg.Markup]:
    points = frame.points(curve)
    corners = points[:1]
    for (_, level), (x, y) in pairwise(points):
        corners += [(x, level), (x, y)]
    path = svg.path_of(corners)
    return [svg.element("path", d=path, fill="none", **_stroke(curve))]


def _dots(curve: PlainData, frame: _ChartFrame) -> list[svg.Markup]:
    drawn = []
    for (low, high), y in zip(curve["ends"], curve["y"], strict=False):
        height = frame.y(y)
        ends = (frame.x(low), height, frame.x(high), height)
        drawn.append(svg.line(*ends, stroke=colour_of(curve), stroke_width=2))
    if not curve["faint"]:
        return drawn + [_dot(x, y, curve) for x, y in frame.points(curve)]
    # One path of points, visible by their round caps: there may be hundreds.
    places = dict.fromkeys(f"M{x:.0f} {y:.0f}h0" for x, y in frame.points(curve))
    path = svg.element(
        "path",
        d="".join(places),
        fill="none",
        stroke=colour_of(curve),
        stroke_width=4,
        stroke_linecap="round",
        stroke_opacity=0.5,
    )
    return [*drawn, path]


def _dot(x: float, y: float, curve: PlainData) -> svg.Markup:
    opacity = 0.5 if curve["faint"] else None
    return svg.element("circle", cx=x, cy=y, r=_RADIUS, fill=colour_of(curve), fill_opacity=opacity)


def _bars(curve: PlainData, frame: _ChartFrame) -> list[svg.Markup]:
    drawn = []
    for x, top, base in zip(curve["x"], curve["y"], curve["base"], strict=True):
        if top > base:
            left, right = frame.x(x), frame.x(x + frame.bar_width)
            high, low = frame.y(top), frame.y(base)
            first = x + 0.5
            last = first + frame.bar_width - 1
            posts = f"{first:g}" if last == first else f"{first:g} to {last:g}"
            told = svg.tooltip(f"{curve['name']}; {posts} posts: {top - base:g}")
            box = (left + 0.5, high, max(right - left - 1, 0.5), low - high)
            drawn.append(svg.rectangle(*box, told, fill=colour_of(curve)))
    return drawn


_DRAWN = {"line": _line, "steps": _steps, "dots": _dots, "bars": _bars}


def _marks(plain: PlainData, frame: _ChartFrame) -> Iterator[svg.Markup]:
    for mark in plain["marks"]:
        x, y = frame.x(mark["x"]), frame.y(mark["y"])
        colour, ring = colour_of(mark), "currentColor"
        yield svg.element(
            "circle", cx=x, cy=y, r=_RADIUS + 2, fill=colour, stroke=ring, stroke_width=2
        )
        if mark["name"]:
            room = svg.text_width(mark["name"], _SIZE) + 12
            at_end = x + room > frame.right
            place = (x - 11 if at_end else x + 11, y + 20 if y < frame.top + 30 else y - 8)
            anchor = "end" if at_end else "start"
            yield svg.text(*place, mark["name"], size=_SIZE, anchor=anchor, font_weight="bold")


_LONG_NAME = 22  # characters of a name, of which only two fit side by side
_MOST_NUMBERS = 20  # labels: with more, cells have no room for numbers
_MOST_NAMES = 60  # labels: with more, axes have no room for names
_LONGEST_NAME = 24


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure of this size, in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError.of("plot", "plotting needs matplotlib") from error
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def plot_name(name: object) -> str:
    """Return a label or id for a plot; matplotlib would read $ as the start of a formula."""
    return svg.clean(name).replace("$", r"\$")


# Charts


def plot_chart(plain: PlainData, ax: Axes | None = None) -> Axes:
    """Draw a chart on `ax` [default: new axes]; there is no title, which belongs to a caption."""
    rows = plain["rows"]
    ax = new_axes(6.4, 1.4 + 0.5 * len(rows) if rows else 3.6) if ax is None else ax
    for curve in plain["curves"]:
        _curve(plain, curve, ax)
    for mark in plain["marks"]:
        colour = colour_of(mark)
        edge_style: dict[str, Any] = {"markeredgecolor": "black", "markeredgewidth": 1.2}
        ax.plot([mark["x"]], [mark["y"]], "o", color=colour, markersize=8, zorder=4, **edge_style)
        if mark["name"]:
            # Below: many marks are close to the upper end.
            place: dict[str, Any] = {"xytext": (7, -14), "textcoords": "offset points"}
            name = plot_name(mark["name"])
            ax.annotate(name, (mark["x"], mark["y"]), fontweight="bold", **place)
    dotted: dict[str, Any] = {"color": "0.25", "linestyle": ":", "linewidth": 1.2}
    for rule in plain["rules"]:
        draw = ax.axhline if rule["horizontal"] else ax.axvline
        draw(rule["at"], label=plot_name(rule["name"]), **dotted)
    across, upwards = limits_of(plain)
    if plain["x_range"] is not None or rows:
        edge = 0.02 * (across[1] - across[0]) if rows else 0.0
        ax.set_xlim(across[0] - edge, across[1] + edge)
    if rows:
        ax.set_yticks(range(len(rows)), [plot_name(name) for name in rows])
        ax.set_ylim(upwards[1], upwards[0])
    elif plain["y_range"] is not None:
        ax.set_ylim(upwards[0], upwards[1] * 1.03)
    ax.set_xlabel(plot_name(plain["x_label"]))
    ax.set_ylabel(plot_name(plain["y_label"]))
    if plain["curves"]:
        # Above the axes, where it hides nothing.
        above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1)}
        longest = max(len(curve["name"]) for curve in plain["curves"])
        above["ncols"] = 3 if longest < _LONG_NAME else 2
        ax.legend(fontsize="small", frameon=False, borderaxespad=0.3, **above)
    return ax


def figure_bytes(plain: PlainData, kind: str) -> bytes:
    """Return a chart as the bytes of a PNG or PDF file, the same every time."""
    figure: Any = plot_chart(plain).figure
    file = BytesIO()
    dated = {"CreationDate": None} if kind == "pdf" else {}
    figure.savefig(file, format=kind, dpi=200, metadata=dated)
    return file.getvalue()


def _curve(plain: PlainData, curve: PlainData, ax: Axes) -> None:
    name, colour = plot_name(curve["name"]), colour_of(curve)
    x, y = curve["x"], curve["y"]
    if curve["drawn"] == "bars":
        heights = [top - base for top, base in zip(y, curve["base"], strict=True)]
        style: dict[str, Any] = {"width": plain["bar_width"], "align": "edge", "edgecolor": "white"}
        ax.bar(x, heights, bottom=curve["base"], label=name, color=colour, **style)
    elif curve["drawn"] == "dots":
        if curve["ends"]:
            low = [value - ends[0] for value, ends in zip(x, curve["ends"], strict=True)]
            high = [ends[1] - value for value, ends in zip(x, curve["ends"], strict=True)]
            errors = [[max(one, 0.0) for one in low], [max(one, 0.0) for one in high]]
            ax.errorbar(x, y, xerr=errors, fmt="o", color=colour, label=name, capsize=2)
        else:
            opacity = 0.4 if curve["faint"] else 1.0
            ax.plot(x, y, "o", color=colour, label=name, markersize=3, alpha=opacity)
    else:
        line = "dashed" if curve["dashed"] else "solid"
        steps = "steps-post" if curve["drawn"] == "steps" else "default"
        ax.plot(x, y, label=name, color=colour, linewidth=1.8, linestyle=line, drawstyle=steps)


# Evaluations


def plot_evaluation(plain: PlainData, ax: Axes | None = None) -> Axes:
    """Plot the confusion matrix as shares of rows, or each label's F₁ for multi-label texts."""
    size = min(4 + 0.35 * len(plain["labels"]), 16)
    ax = new_axes(size + 1, size) if ax is None else ax
    names = [plot_name(excerpt(label, _LONGEST_NAME)) for label in plain["labels"]]
    if plain["confusion"] is None:
        _plot_bars(plain, names, ax)
    else:
        _matrix(plain, names, ax)
    return ax


def _matrix(plain: PlainData, names: Sequence[str], ax: Axes) -> None:
    counts = np.zeros((len(names), len(names)), np.int64)
    for row, column, count in plain["confusion"]:
        counts[row, column] = count
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    if len(names) <= _MOST_NUMBERS:
        for row, column in np.ndindex(counts.shape):
            ink = "white" if shares[row, column] > 0.5 else "black"
            ax.text(column, row, f"{counts[row, column]:,}", ha="center", va="center", color=ink)
    if len(names) <= _MOST_NAMES:
        places = range(len(names))
        ax.set_xticks(places, names, rotation=90 if len(names) > 5 else 0)
        ax.set_yticks(places, names)
    ax.set_xlabel("predicted")
    ax.set_ylabel("truth")


def _plot_bars(plain: PlainData, names: Sequence[str], ax: Axes) -> None:
    values = [one["f1"] for one in plain["per_label"]]
    ax.barh(range(len(names)), values, color=label_colour(0))
    if len(names) <= _MOST_NAMES:
        ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel("F₁")
