"""Counts behind measures: of alerted subjects, and of true and predicted labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from watchword._checks import IntArray, Label


class AlertCounts(NamedTuple):
    """Numbers of subjects, and the measures that follow from them; 0 where a denominator is 0.

    Each but the first is a whole number or, for several sets of as many subjects, an array.

    >>> AlertCounts(subjects=10, positives=4, alerts=2, hits=1).recall
    0.25
    """

    subjects: int
    positives: Any
    alerts: Any
    hits: Any

    @property
    def precision(self) -> Any:
        """The share of alerted subjects that are positive."""
        return self.hits / _divisor(self.alerts)

    @property
    def recall(self) -> Any:
        """The share of positive subjects that are alerted."""
        return self.hits / _divisor(self.positives)

    @property
    def f1(self) -> Any:
        """The harmonic mean of precision and recall."""
        return 2 * self.hits / _divisor(self.positives + self.alerts)

    def mean_cost(self, false_positive: float, false_negative: float, late: Any) -> Any:
        """Return ERDE, given the costs of each mistake and of all late alerts together."""
        mistakes = false_positive * (self.alerts - self.hits)
        return (mistakes + false_negative * (self.positives - self.hits) + late) / self.subjects


def _divisor(count: Any) -> Any:
    """Return a count, or 1 if it is 0."""
    return count + (count == 0)


_MOST_LABELS = 10_000  # a confusion matrix of 800 MB

COLUMNS = ("label", "precision", "recall", "f1", "support", "predicted", "right")


@dataclass(frozen=True)
class LabelMeasures:
    """The measures of one label; 0 where the denominator is 0.

    `support` is the number of texts with the label, `predicted` the number of texts predicted to
    have it, and `right` the number of texts in both.

    >>> LabelMeasures("tech", support=4, predicted=2, right=1).recall
    0.25
    """

    label: Label
    support: int
    predicted: int
    right: int

    @property
    def precision(self) -> float:
        """The share of predicted texts that have the label."""
        return share(self.right, self.predicted)

    @property
    def recall(self) -> float:
        """The share of texts with the label that are predicted."""
        return share(self.right, self.support)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return share(2 * self.right, self.support + self.predicted)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {name: getattr(self, name) for name in COLUMNS}


def share(part: float, whole: float) -> float:
    """Return part / whole, or 0 if the whole is 0."""
    return part / whole if whole else 0.0


def in_order(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Return the distinct labels, sorted as a model sorts them.

    >>> in_order(["b", "a", "b"])
    ('a', 'b')
    """
    distinct = set(labels)
    if len({type(label) for label in distinct}) > 1:
        # An easy mistake: labels are text in the data but numbers in the model.
        texts = [label for label in distinct if isinstance(label, str)]
        numbers = [label for label in distinct if isinstance(label, int)]
        raise ValueError(
            f"labels must be all str or all int, got {min(numbers)!r} and {min(texts)!r}"
        )
    return tuple(sorted(distinct))


def cells_of(matrix: IntArray) -> list[list[int]]:
    """Return the nonzero cells of a matrix as [row, column, count].

    >>> cells_of(np.array([[2, 0], [1, 0]]))
    [[0, 0, 2], [1, 0, 1]]
    """
    rows, columns = np.nonzero(matrix)
    cells: list[list[int]] = np.stack([rows, columns, matrix[rows, columns]], axis=1).tolist()
    return cells


def empty_matrix(size: int) -> IntArray:
    """Return a confusion matrix of zeros for the given number of labels."""
    if size > _MOST_LABELS:
        raise ValueError(
            f"too many labels for a confusion matrix: {size:,} (at most {_MOST_LABELS:,}); pass "
            "each text's label to Evaluation.of as a collection, which needs no matrix"
        )
    return np.zeros((size, size), np.int64)


def matrix_of(truth: Sequence[Label], found: Sequence[Label], order: Sequence[Label]) -> IntArray:
    """Return the confusion matrix: true labels in rows, predicted labels in columns.

    >>> matrix_of(["a", "b"], ["a", "a"], ["a", "b"]).tolist()
    [[1, 0], [1, 0]]
    """
    index_of = {label: index for index, label in enumerate(order)}
    matrix = empty_matrix(len(order))
    indices = [[index_of[label] for label in labels] for labels in (truth, found)]
    np.add.at(matrix, tuple(np.array(column, np.intp) for column in indices), 1)
    return matrix


def measures_of(order: Sequence[Label], matrix: IntArray) -> tuple[LabelMeasures, ...]:
    """Return the measures of every label from a confusion matrix."""
    counts = (matrix.sum(axis=1), matrix.sum(axis=0), matrix.diagonal())
    columns = zip(order, *(one.tolist() for one in counts), strict=True)
    return tuple(LabelMeasures(*column) for column in columns)
