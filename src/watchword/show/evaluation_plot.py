"""Evaluations with matplotlib (`watchword[plot]`), drawn from `Evaluation.to_dict()` alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from watchword._display import excerpt
from watchword.show.blocks import Plain
from watchword.show.palette import label_colour
from watchword.show.plotting import new_axes, plot_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_evaluation"]

_MOST_NUMBERS = 20  # labels: with more, cells have no room for numbers
_MOST_NAMES = 60  # labels: with more, axes have no room for names
_LONGEST_NAME = 24


def plot_evaluation(plain: Plain, ax: Axes | None = None) -> Axes:
    """Plot the confusion matrix as shares of rows, or each label's F₁ for multi-label texts."""
    size = min(4 + 0.35 * len(plain["labels"]), 16)
    ax = new_axes(size + 1, size) if ax is None else ax
    names = [plot_name(excerpt(label, _LONGEST_NAME)) for label in plain["labels"]]
    if plain["confusion"] is None:
        _bars(plain, names, ax)
    else:
        _matrix(plain, names, ax)
    return ax


def _matrix(plain: Plain, names: Sequence[str], ax: Axes) -> None:
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


def _bars(plain: Plain, names: Sequence[str], ax: Axes) -> None:
    values = [one["f1"] for one in plain["per_label"]]
    ax.barh(range(len(names)), values, color=label_colour(0))
    if len(names) <= _MOST_NAMES:
        ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel("F₁")
