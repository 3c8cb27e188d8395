"""How often labels were there, were predicted, and both: what measures are computed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from watchword._checks import Label

IntArray = npt.NDArray[np.int64]

_MOST_LABELS = 10_000  # whose confusion matrix has 800 MB

COLUMNS = ("label", "precision", "recall", "f1", "support", "predicted", "right")


@dataclass(frozen=True)
class LabelMeasures:
    """How well one label was found; 0 where nothing can be divided.

    `support` texts have it, `predicted` texts got it, `right` texts both.

    >>> LabelMeasures("tech", support=4, predicted=2, right=1).recall
    0.25
    """

    label: Label
    support: int
    predicted: int
    right: int

    @property
    def precision(self) -> float:
        """The share of those who got it that have it."""
        return share(self.right, self.predicted)

    @property
    def recall(self) -> float:
        """The share of those who have it that got it."""
        return share(self.right, self.support)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return share(2 * self.right, self.support + self.predicted)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in COLUMNS}


def share(part: float, whole: float) -> float:
    """A part of a whole; 0 of nothing, as precision and recall are wont to be."""
    return part / whole if whole else 0.0


class LabelCounts(NamedTuple):
    """By label: how many texts have it, got it, and both."""

    support: Counter[Label]
    predicted: Counter[Label]
    right: Counter[Label]

    def add(self, rows: Iterable[LabelMeasures]) -> None:
        """Count the texts of another evaluation, too."""
        for row in rows:
            for counter, count in zip(self, (row.support, row.predicted, row.right), strict=True):
                counter[row.label] += count

    def rows(self, order: Sequence[Label]) -> tuple[LabelMeasures, ...]:
        """The same label by label."""
        return tuple(LabelMeasures(label, *(one[label] for one in self)) for label in order)


def cells_of(matrix: IntArray) -> list[list[int]]:
    """The cells of a matrix as [row, column, count], without what is 0.

    >>> cells_of(np.array([[2, 0], [1, 0]]))
    [[0, 0, 2], [1, 0, 1]]
    """
    rows, columns = np.nonzero(matrix)
    cells: list[list[int]] = np.stack([rows, columns, matrix[rows, columns]], axis=1).tolist()
    return cells


def empty_matrix(size: int) -> IntArray:
    """A confusion matrix of so many labels, before anything is counted."""
    if size > _MOST_LABELS:
        raise ValueError(
            f"a confusion matrix of {size:,} labels is too large (up to {_MOST_LABELS:,}): give "
            "Evaluation.of a collection of one label per text, which needs none"
        )
    return np.zeros((size, size), np.int64)


def matrix_of(truth: Sequence[Label], found: Sequence[Label], order: Sequence[Label]) -> IntArray:
    """How many texts have a label (rows) and got one (columns).

    >>> matrix_of(["a", "b"], ["a", "a"], ["a", "b"]).tolist()
    [[1, 0], [1, 0]]
    """
    place = {label: at for at, label in enumerate(order)}
    matrix = empty_matrix(len(order))
    places = [[place[label] for label in labels] for labels in (truth, found)]
    np.add.at(matrix, tuple(np.array(at, np.intp) for at in places), 1)
    return matrix


def rows_of(order: Sequence[Label], matrix: IntArray) -> tuple[LabelMeasures, ...]:
    """What a confusion matrix says of every label."""
    counts = (matrix.sum(axis=1), matrix.sum(axis=0), matrix.diagonal())
    columns = zip(order, *(one.tolist() for one in counts), strict=True)
    return tuple(LabelMeasures(*column) for column in columns)
