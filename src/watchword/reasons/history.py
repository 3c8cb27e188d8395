"""The history of one subject as numbers: the gains of each post, their sums and the alert."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from watchword._arrays import FloatArray
from watchword._checks import Label, as_threads
from watchword.model.engine import Engine
from watchword.reasons.weights import Weights, weigh
from watchword.streams.histories import Histories, Series
from watchword.streams.policies import Policy


@dataclass(frozen=True)
class History:
    """The posts of a subject under a policy, read by a frozen copy of the model."""

    engine: Engine
    policy: Policy
    contents: tuple[str, ...]
    labels: tuple[Label, ...]
    gains: FloatArray  #: confidence added by each post, one row per post, one column per label
    alert: int  #: delay of the alert, 0 without an alert
    is_given: bool = False  #: the alert was given by the caller, not found from these posts
    _weights: dict[int, Weights] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(
        cls, engine: Engine, policy: Policy, contents: list[str], *, alert: int | None = None
    ) -> History:
        """Read all posts; `alert` gives the delay if it cannot be found from one subject alone."""
        engine.known_label(policy.positive)
        frozen = engine.replaced(engine.parameters)  # shares the counts until the model learns
        labels, gains = frozen.evidence(contents, as_threads(None))
        column = labels.index(policy.positive)
        found = first_alert(gains, column, policy) if alert is None else alert
        return cls(frozen, policy, tuple(contents), labels, gains, found, alert is not None)

    @property
    def column(self) -> int:
        """The column of the positive label."""
        return self.labels.index(self.policy.positive)

    @property
    def sums(self) -> FloatArray:
        """The accumulated confidence after each post, bit for bit that of a `Reader`."""
        return np.cumsum(self.gains, axis=0)

    def weights(self, post: int) -> Weights:
        """Return the n-gram occurrences of a post (its index, from 0), computed on first use."""
        if post not in self._weights:
            self._weights[post] = weigh(self.engine, self.contents[post])
        return self._weights[post]

    def rival(self, posts: int) -> int | None:
        """Return the column of the best other label after the given number of posts."""
        others = [column for column in range(len(self.labels)) if column != self.column]
        if not others:
            return None
        last = self.sums[posts - 1] if posts else np.zeros(len(self.labels))
        return max(others, key=lambda column: float(last[column]))


def first_alert(gains: FloatArray, column: int, policy: Policy) -> int:
    """Return the delay of the alert, 0 without an alert."""
    alone = Histories([Series.from_gains(gains, column)])
    return int(alone.first_alerts(policy)[0]) + 1
