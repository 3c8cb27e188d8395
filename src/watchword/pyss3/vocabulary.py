"""Word lists of categories: tables, word clouds and plots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from watchword._files import AnyPath, atomic_file
from watchword.explain import svg
from watchword.explain.chart import new_axes, plot_name
from watchword.explain.palette import COLOURS
from watchword.explain.pictures import PlacedText, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from watchword.pyss3.counts import RankedTerm

_INCH = 100  # pixels


def cloud_path(path: AnyPath | None, name: str, top_n: int, length: int) -> Path:
    """Return where to write a word cloud: the given path, or a name in the working directory."""
    if path is not None:
        return Path(path)
    kind = "" if length == 1 else f"({length_kind(length)})"
    return Path(f"wordcloud_top{top_n}_{file_name(name)}{kind}.svg")


def write_cloud(
    terms: Iterable[RankedTerm],
    path: Path,
    *,
    size: int,
    color: str | Sequence[str] | None,
    background: str,
    show: bool,
) -> Path | None:
    """Write a word cloud as SVG or PNG, by the end of the path; return None without terms."""
    ranked = list(terms)
    if not ranked:
        return None
    kind = path.suffix.lower()
    if kind not in (".svg", ".png"):
        raise ValueError(f"a word cloud is written as .svg or .png, got {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
    shares = [one.cv / ranked[0].cv for one in ranked]
    texts = [one.words.replace(" ", "+") for one in ranked]
    placed, width, height = lay_out(texts, shares)
    colours = COLOURS if color is None else (color,) if isinstance(color, str) else tuple(color)
    painted = [(box, colours[at % len(colours)]) for at, box in enumerate(placed)]
    scale = size / max(width, height)
    inches = width * scale / _INCH, height * scale / _INCH
    if kind == ".svg":
        drawn = [
            svg.text(
                box.x + box.width / 2,
                box.y + 0.9 * box.size,
                box.text,
                size=box.size,
                anchor="middle",
                fill=colour,
            )
            for box, colour in painted
        ]
        paper = svg.rectangle(0, 0, width, height, fill=background)
        picture = svg.drawing(width, height, paper, *drawn, title="Word cloud")
        with atomic_file(path) as file:
            file.write(picture.encode())
    else:
        ax = new_axes(*inches)
        _paint(ax, painted, width, height, scale, background)
        figure = ax.get_figure(root=True)
        with atomic_file(path) as file:
            figure.savefig(file, format="png", dpi=_INCH)  # type: ignore[union-attr]
    if show:
        _paint(shown_axes(*inches), painted, width, height, scale, background)
        show_plots()
    return path


def _paint(
    ax: Axes,
    painted: Sequence[tuple[PlacedText, str]],
    width: float,
    height: float,
    scale: float,
    background: str,
) -> None:
    ax.figure.set_facecolor(background)
    ax.set_axis_off()
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    for box, colour in painted:
        x, y = box.x + box.width / 2, box.y + box.height / 2
        points = box.size * scale * 72 / _INCH
        ax.text(x, y, plot_name(box.text), size=points, color=colour, ha="center", va="center")


def shown_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure that `show_plots` shows."""
    new_axes(1, 1)  # raises if matplotlib is missing
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height))[1]


def show_plots() -> None:
    """Show the figures of `shown_axes` in windows or in the notebook."""
    import matplotlib.pyplot as plt

    plt.show()


def length_kind(length: int) -> str:
    """Return the name of n-grams of a length."""
    return {1: "words", 2: "bigrams", 3: "trigrams"}.get(length, f"{length}-grams")


def file_name(name: str) -> str:
    """Return a category's name as part of a file name.

    >>> file_name("art/photo")
    'art_photo'
    """
    return re.sub(r'[/\\:*?"<>|\x00-\x1f]', "_", name)
