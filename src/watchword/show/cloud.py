"""The layout of word clouds: texts around the middle, without overlaps.

Nothing is drawn here and no font is loaded: the sizes of boxes come from `svg.text_width`, and the
caller makes each text as wide as its box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from watchword.show.svg import clip, text_width

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
