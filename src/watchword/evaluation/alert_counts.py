"""Alert counts: the numbers of positive, alerted and correctly alerted subjects."""

from __future__ import annotations

from typing import Any, NamedTuple


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
