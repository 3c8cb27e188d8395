"""Charts as plain data: everything a picture shows, to be drawn as SVG or with matplotlib."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from watchword._display import finite
from watchword._files import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALERT = -1  #: the colour of alerts, instead of an index
SUFFIXES = (".svg", ".png", ".pdf")  #: the kinds of files that a chart can be saved to


@dataclass(frozen=True)
class Curve:
    """Points of a chart that belong together, with a name for the legend.

    `drawn` says how: a line, a line of steps, dots, or bars from `base` to y, each beginning at x.
    `ends` are the ends of an interval of x for each dot. `colour` is an index of the palette, or
    `ALERT`, the colour of alerts; a faint curve is background.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    drawn: Literal["line", "steps", "dots", "bars"] = "line"
    colour: int = 0
    dashed: bool = False
    faint: bool = False
    base: tuple[float, ...] = ()
    ends: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class ChartPoint:
    """A point of a chart that stands out, such as an alert or the chosen setting."""

    x: float
    y: float
    name: str = ""
    colour: int = ALERT


@dataclass(frozen=True)
class ChartLine:
    """A vertical line through a chart, with a name; or a horizontal one."""

    at: float
    name: str
    horizontal: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart as plain data; displayed as a picture in a notebook.

    `save` writes it as SVG, PNG or PDF, `svg` returns it as markup, and `plot` draws it with
    matplotlib. If there are `rows`, they are the names of y = 0, 1, …, from top to bottom.

    >>> chart = Chart("Squares", "x", "x²", (Curve("x²", (0, 1, 2), (0, 1, 4)),))
    >>> chart.svg().startswith("<svg ")
    True
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    marks: tuple[ChartPoint, ...] = ()
    rules: tuple[ChartLine, ...] = ()
    rows: tuple[str, ...] = ()
    description: str = ""  #: what it shows in words, for screen readers
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    bar_width: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: strings, numbers, lists and dictionaries only."""
        plain: dict[str, Any] = finite(asdict(self))
        return plain

    def svg(self, *, alone: bool = True) -> str:
        """Return the picture as SVG.

        Inside a page it has the page's colours; with `alone`, for a file, its own.
        """
        from watchword.show.chart import chart_svg

        return chart_svg(self.to_dict(), alone=alone)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the chart with matplotlib (`watchword[plot]`) on the given or new axes."""
        from watchword.show.plots import plot_chart

        return plot_chart(self.to_dict(), ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, or replace it: `.svg`, with matplotlib `.png` or `.pdf`."""
        suffix = suffix_of(path)
        if suffix == ".svg":
            data = self.svg().encode()
        else:
            from watchword.show.plots import figure_bytes

            data = figure_bytes(self.to_dict(), suffix[1:])
        with atomic_file(path) as file:
            file.write(data)

    def _repr_html_(self) -> str:
        return self.svg(alone=False)


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a picture's file, or raise `ValueError`.

    >>> suffix_of("delays.PDF")
    '.pdf'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{os.fspath(path)!r} must end with {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        )
    return suffix


def as_points(values: Iterable[float]) -> tuple[float, ...]:
    """Return numbers as a tuple of floats."""
    return tuple(float(one) for one in values)
