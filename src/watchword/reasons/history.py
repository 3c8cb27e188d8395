"""What a subject wrote, as numbers: what every post added, the sums, and when an alert falls."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from watchword._checks import Label, as_threads
from watchword.evaluation.scores import Scores, Series, first_alerts
from watchword.model.engine import Engine
from watchword.reasons.weights import Weights, weigh
from watchword.streams.ledger import best_other, checked_alerts
from watchword.streams.policies import Policy
from watchword.streams.steps import FloatArray, Step


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
    """After how many posts the alert falls, 0 if it never does."""
    sums = np.cumsum(gains, axis=0)
    count = len(gains)
    if policy.remembers:
        return _first_of_steps(gains, sums, column, policy)
    series = Series(
        posts=np.arange(1, count + 1),
        value=sums[:, column],
        other=best_other(sums, column),
        gain=gains[:, column],
        other_gain=best_other(gains, column),
    )
    totals = np.array([count], np.int64)
    alone = Scores(("",), (None,), policy.positive, "post", (series,), totals)
    return int(first_alerts(alone, policy)[0]) + 1


def _first_of_steps(gains: FloatArray, sums: FloatArray, column: int, policy: Policy) -> int:
    """The same for policies that take notes, post by post and no further than the alert."""
    memory = np.zeros((1, policy.remembers))
    value, gain = sums[:, column], gains[:, column]
    other, other_gain = best_other(sums, column), best_other(gains, column)
    for at in range(len(gains)):
        now = slice(at, at + 1)
        step = Step(
            posts=np.array([at + 1]),
            value=value[now],
            other=other[now],
            gain=gain[now],
            other_gain=other_gain[now],
            round=0,
            memory=memory,
        )
        if checked_alerts(policy, step)[0]:
            return at + 1
    return 0
