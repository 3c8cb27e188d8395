"""What a subject wrote, as numbers: what every post added, the sums, and when an alert falls."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from watchword._checks import Label, as_threads
from watchword.model.engine import Engine
from watchword.reasons.weights import Weights, weigh
from watchword.streams.driver import Histories, Series
from watchword.streams.policies import Policy
from watchword.streams.steps import FloatArray


@dataclass(frozen=True)
class History:
    """The posts of a subject under a policy, read by a model that nobody changes meanwhile."""

    engine: Engine
    policy: Policy
    contents: tuple[str, ...]
    labels: tuple[Label, ...]
    gains: FloatArray  #: what each post adds, a row per post, a column per label
    alert: int  #: after how many posts the alert falls; 0: never
    is_given: bool = False  #: the alert was told, not found: the policy saw more than this
    _weights: dict[int, Weights] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(
        cls, engine: Engine, policy: Policy, contents: list[str], *, alert: int | None = None
    ) -> History:
        """Read all posts; `alert`: when it fell, where that cannot be found from one subject."""
        engine.known_label(policy.positive)
        frozen = engine.replaced(engine.parameters)  # shares the counts until somebody learns
        labels, gains = frozen.confidence(contents, as_threads(None))
        column = labels.index(policy.positive)
        found = first_alert(gains, column, policy) if alert is None else alert
        return cls(frozen, policy, tuple(contents), labels, gains, found, alert is not None)

    @property
    def column(self) -> int:
        """Where the positive label is."""
        return self.labels.index(self.policy.positive)

    @property
    def sums(self) -> FloatArray:
        """The accumulated confidences after each post, to the bit those of a `Reader`."""
        return np.cumsum(self.gains, axis=0)

    def weights(self, post: int) -> Weights:
        """The n-grams of a post (counted from 0), read when first asked for."""
        if post not in self._weights:
            self._weights[post] = weigh(self.engine, self.contents[post])
        return self._weights[post]

    def rival(self, posts: int) -> int | None:
        """The column of the best other label after so many posts."""
        others = [column for column in range(len(self.labels)) if column != self.column]
        if not others:
            return None
        last = self.sums[posts - 1] if posts else np.zeros(len(self.labels))
        return max(others, key=lambda column: float(last[column]))


def first_alert(gains: FloatArray, column: int, policy: Policy) -> int:
    """Return after how many posts the alert falls, 0 if it never does."""
    alone = Histories([Series.from_gains(gains, column)])
    return int(alone.first_alerts(policy)[0]) + 1
