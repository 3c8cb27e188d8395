"""Pictures of a model, drawn from `Overview.to_dict()`: bars, word clouds, distributions.

Nothing is drawn here and no font is loaded: the sizes of boxes come from `svg.text_width`, and the
caller makes each text as wide as its box.

Each is an SVG. Inside a page it has the page's colours; with `alone=True`, for a file, its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from watchword._checks import Label
from watchword._display import excerpt
from watchword.explain import svg
from watchword.explain.blocks import PlainData, as_value, column_of
from watchword.explain.palette import STRONGEST, label_colour
from watchword.explain.svg import clip, text_width

_CELL = 4  # grid on which boxes are laid out
_LINE_HEIGHT = 1.2  # height of a box, in font sizes
_GAP = 4.0  # between boxes
_LONGEST = 12  # largest width of a text, in the largest font size; wider ones are clipped


@dataclass(frozen=True)
class PlacedText:
    """A text and its box, from the upper left corner."""

    text: str
    size: float
    x: float
    y: float
    width: float
    height: float


def lay_out(
    texts: Sequence[str], shares: Sequence[float], *, smallest: float = 12, largest: float = 44
) -> tuple[list[PlacedText], float, float]:
    """Place the first text in the middle and each following one as near to it as possible.

    Sizes follow the shares (1: largest, 0: smallest). Returns the boxes in the order of the texts,
    and the width and height of the whole. The layout is deterministic.

    >>> placed, width, height = lay_out(["first", "second"], [1, 0.2])
    >>> [one.text for one in placed], placed[0].size
    (['first', 'second'], 44.0)
    """
    sized = []
    for text, share in zip(texts, shares, strict=True):
        size = smallest + (largest - smallest) * min(max(float(share), 0.0), 1.0)
        short = clip(text, size, largest * _LONGEST)
        # Combining marks alone have no width, but a box must have one.
        sized.append((short, size, max(text_width(short, size), 0.3 * size)))
    if not sized:
        return [], 0.0, 0.0
    cells = [
        (math.ceil((size * _LINE_HEIGHT + _GAP) / _CELL), math.ceil((width + _GAP) / _CELL))
        for _, size, width in sized
    ]
    corners = _corners(cells)
    top, left = np.min(corners, axis=0).tolist()
    bottom, right = (np.array(corners) + np.array(cells)).max(axis=0).tolist()
    placed = []
    boxes = zip(sized, corners, cells, strict=True)
    for (text, size, width), (row, column), (rows, columns) in boxes:
        height = size * _LINE_HEIGHT
        x = (column - left + columns / 2) * _CELL - width / 2
        y = (row - top + rows / 2) * _CELL - height / 2
        placed.append(PlacedText(text, size, x, y, width, height))
    return placed, float((right - left) * _CELL), float((bottom - top) * _CELL)


def _corners(boxes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the upper left cell of each box, given as (rows, columns), in a large enough grid."""
    area = sum(rows * columns for rows, columns in boxes)
    rows = 2 * max(math.isqrt(area), *(rows for rows, _ in boxes))
    columns = 2 * max(math.isqrt(area), *(columns for _, columns in boxes))
    while True:
        found = _corners_within(np.zeros((rows, columns), dtype=np.int32), boxes)
        if found is not None:
            return found
        rows, columns = 2 * rows, 2 * columns


def _corners_within(
    taken: npt.NDArray[np.int32], boxes: Sequence[tuple[int, int]]
) -> list[tuple[int, int]] | None:
    corners = []
    for rows, columns in boxes:
        # A summed-area table: the number of taken cells under a box at any position follows
        # from four of its entries.
        sums = np.zeros((taken.shape[0] + 1, taken.shape[1] + 1), dtype=np.int32)
        np.cumsum(np.cumsum(taken, axis=0), axis=1, out=sums[1:, 1:])
        under = sums[rows:, columns:] - sums[:-rows, columns:]
        under -= sums[rows:, :-columns] - sums[:-rows, :-columns]
        if not (under == 0).any():
            return None
        y = np.arange(under.shape[0]) - (under.shape[0] - 1) / 2
        x = np.arange(under.shape[1]) - (under.shape[1] - 1) / 2
        distance = np.where(under == 0, (y**2)[:, None] + (x**2)[None, :], np.inf)
        row, column = divmod(int(distance.argmin()), under.shape[1])
        taken[row : row + rows, column : column + columns] = 1
        corners.append((row, column))
    return corners


MOST_IN_CLOUD = 100
_DESCRIBED = 10  # n-grams in the description for screen readers; tables list all


def bars_svg(
    plain: PlainData,
    label: Label,
    *,
    length: int | None = None,
    alert: Label | None = None,
    alone: bool = False,
) -> str:
    """Draw the n-grams of highest value for a label as bars, on one scale for all labels.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> bars_svg(model.overview().to_dict(), "tech", length=2).count("<rect ")
    1
    """
    at = _position(plain, label)
    ngrams = _top(plain, at, length)
    highest = max((one["value"] for each in plain["labels"] for one in each["top"]), default=1.0)
    size, row, width, most_text, number_width = 13, 22, 440, 190, 44
    names = [svg.clip(one["ngram"], size, most_text) for one in ngrams]
    left = max((svg.text_width(name, size) for name in names), default=0) + 8
    longest = width - left - number_width
    drawn = []
    for rank, (name, one) in enumerate(zip(names, ngrams, strict=True)):
        top, bar = rank * row, max(longest * one["value"] / highest, 1)
        tooltip, fill = svg.tooltip(_tooltip(one)), _colour(at, label, alert)
        drawn += [
            svg.text(left - 6, top + 16, name, tooltip, size=size, anchor="end"),
            svg.rectangle(left, top + 4, bar, row - 6, tooltip, fill=fill, rx=2),
            svg.text(left + bar + 5, top + 16, as_value(one["value"]), size=12),
        ]
    return _drawing(
        width,
        max(len(ngrams), 1) * row + 2,
        *drawn,
        title=f"{_kind(length)} of highest value for {excerpt(label)}",
        description=_described(ngrams),
        alone=alone,
    )


def cloud_svg(
    plain: PlainData,
    label: Label,
    *,
    length: int | None = None,
    alert: Label | None = None,
    alone: bool = False,
) -> str:
    """Draw the n-grams of highest value for a label as a word cloud, sized by value.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> cloud_svg(model.overview().to_dict(), "tech").count("<text ")
    3
    """
    at = _position(plain, label)
    ngrams = _top(plain, at, length)[:MOST_IN_CLOUD]
    highest = max((one["value"] for one in ngrams), default=1.0)
    shares = [one["value"] / highest for one in ngrams]
    words = [one["ngram"] for one in ngrams]
    placed, width, height = lay_out(words, shares, smallest=11, largest=28)
    drawn = []
    for box, one, share in zip(placed, ngrams, shares, strict=True):
        ground = svg.rectangle(
            box.x - 2,
            box.y,
            box.width + 4,
            box.height,
            rx=3,
            fill=_colour(at, label, alert),
            fill_opacity=STRONGEST * share,
        )
        drawn.append(svg.group(svg.tooltip(_tooltip(one)), ground, _boxed_text(box)))
    return _drawing(
        max(width, 1),
        max(height, 1),
        *drawn,
        title=f"Word cloud: {_kind(length)} of highest value for {excerpt(label)}",
        description=_described(ngrams),
        alone=alone,
    )


def _colour(at: int, label: Label, alert: Label | None) -> str:
    """Return a label's colour: the warm one if it is the label that alerts are raised for."""
    return label_colour(at, at if alert is not None and label == alert else None)


def _boxed_text(box: PlacedText) -> str:
    place: dict[str, Any] = {"x": box.x + box.width / 2, "y": box.y + 0.9 * box.size}
    # Text of unknown width is stretched or squeezed to its box.
    if not svg.is_measured(box.text):
        place |= {"textLength": box.width, "lengthAdjust": "spacingAndGlyphs"}
    return svg.text(content=box.text, size=box.size, anchor="middle", **place)


def distribution_svg(
    plain: PlainData, label: Label, length: int, *, alert: Label | None = None, alone: bool = False
) -> str:
    """Draw a histogram of the values of all n-grams of a length for a label, counts on a log scale.

    Both scales are the same for all labels and lengths. N-grams of value 0 are not drawn.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> distribution_svg(model.overview().to_dict(), "tech", 1).count("<rect ")
    1
    """
    at = _position(plain, label)
    own = _of_length(plain, at, length)
    every = [each for one in plain["labels"] for each in one["lengths"]]
    bins = max((len(each["distribution"]) for each in every), default=0) or 1
    most = max((max(each["distribution"], default=0) for each in every), default=0) or 1
    chart = _HistogramAxes(bins * plain["bin_width"], most)
    drawn = list(chart.axes())
    for number, many in enumerate(own["distribution"]):
        if many:
            low, high = (edge * plain["bin_width"] for edge in (number, number + 1))
            description = f"{many:,} with a value above {as_value(low)} up to {as_value(high)}"
            drawn.append(chart.bar(low, high, many, description, _colour(at, label, alert)))
    valued = own["ngrams"] - own["worthless"]
    return _drawing(
        chart.width,
        chart.height,
        *drawn,
        title=f"Values of {_kind(length)} for {excerpt(label)}",
        description=f"{valued:,} have a value above 0, {own['worthless']:,} have value 0.",
        alone=alone,
    )


class _HistogramAxes:
    """Axes: values on x, numbers of n-grams on a logarithmic y."""

    width, height = 260, 150
    left, right, top, bottom = 44, 8, 8, 34

    def __init__(self, highest: float, most: int) -> None:
        self.highest, self.most = highest, most

    def x(self, value: float) -> float:
        return self.left + (self.width - self.left - self.right) * value / self.highest

    def y(self, many: float) -> float:
        room = self.height - self.top - self.bottom
        # The axis begins at one half, so that a single n-gram has a visible bar.
        share = math.log(2 * many) / math.log(2 * self.most) if self.most > 1 else many
        return self.top + room * (1 - share)

    def axes(self) -> Iterator[svg.Markup]:
        ground, end = self.height - self.bottom, self.width - self.right
        powers = [10**power for power in range(len(str(self.most)))]
        every = math.ceil(len(powers) / 5)
        for many in powers[::every]:
            y = self.y(many)
            yield svg.line(self.left, y, end, y, stroke_opacity=0.15)
            yield svg.text(self.left - 5, y + 4, f"{many:,}", size=11, anchor="end")
        for value in svg.ticks(0, self.highest, 4):
            shown = svg.number(value, 6)
            yield svg.text(self.x(value), ground + 14, shown, size=11, anchor="middle")
        yield svg.line(self.left, ground, end, ground)
        yield svg.text((self.left + end) / 2, self.height - 4, "value", size=11, anchor="middle")

    def bar(self, low: float, high: float, many: int, description: str, colour: str) -> svg.Markup:
        x, y = self.x(low), self.y(many)
        width = max(self.x(high) - x - 1, 0.5)
        ground = self.height - self.bottom
        return svg.rectangle(x, y, width, ground - y, svg.tooltip(description), fill=colour)


def _drawing(
    width: float, height: float, *drawn: str, title: str, description: str, alone: bool
) -> svg.Markup:
    if not alone:
        return svg.drawing(width, height, *drawn, title=title, description=description)
    edge = 12
    inside = svg.group(*drawn, transform=f"translate({edge} {edge})")
    style = {"description": description, "css": svg.STYLE}
    return svg.drawing(width + 2 * edge, height + 2 * edge, inside, title=title, **style)


def _position(plain: PlainData, label: Label) -> int:
    return column_of([one["label"] for one in plain["labels"]], label)


def _of_length(plain: PlainData, at: int, length: int) -> PlainData:
    lengths: list[PlainData] = plain["labels"][at]["lengths"]
    if not 1 <= length <= len(lengths):
        raise ValueError(f"length must be from 1 to {len(lengths)}, got {length}")
    return lengths[length - 1]


def _top(plain: PlainData, at: int, length: int | None) -> Sequence[PlainData]:
    source = plain["labels"][at] if length is None else _of_length(plain, at, length)
    top: Sequence[PlainData] = source["top"]
    return top


def _kind(length: int | None) -> str:
    if length is None:
        return "n-grams"
    return "words" if length == 1 else f"n-grams of {length} words"


def _tooltip(one: PlainData) -> str:
    return f"{excerpt(one['ngram'])}: {as_value(one['value'])}, count {one['count']:,}"


def _described(ngrams: Sequence[PlainData]) -> str:
    if not ngrams:
        return "None."
    listed = "; ".join(
        f"{excerpt(one['ngram'])} {as_value(one['value'])}" for one in ngrams[:_DESCRIBED]
    )
    rest = len(ngrams) - _DESCRIBED
    return listed + (f"; and {rest:,} more." if rest > 0 else ".")
