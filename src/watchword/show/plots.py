"""Drawings with matplotlib (`watchword[plot]`): charts and evaluations, from plain data alone."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from watchword._display import excerpt
from watchword.errors import MissingExtraError
from watchword.show import svg
from watchword.show.blocks import PlainData
from watchword.show.chart import colour_of, limits_of
from watchword.show.palette import label_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        _bars(plain, names, ax)
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


def _bars(plain: PlainData, names: Sequence[str], ax: Axes) -> None:
    values = [one["f1"] for one in plain["per_label"]]
    ax.barh(range(len(names)), values, color=label_colour(0))
    if len(names) <= _MOST_NAMES:
        ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel("F₁")
