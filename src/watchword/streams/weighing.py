"""A policy that weighs features of the history, and how much each of them counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from watchword._arrays import FloatArray
from watchword._checks import Label, as_number
from watchword.model.native import NativePolicy
from watchword.streams.histories import Histories
from watchword.streams.policy import BuiltInPolicy
from watchword.streams.steps import GAINS, SHARES, SUMS, Quantity, Step

FeatureName = Literal[
    "share", "log_ratio", "posts", "share_posts", "evidence", "gain",
]  # fmt: skip
FEATURES: tuple[FeatureName, ...] = get_args(FeatureName)

NEEDED_FOR: dict[FeatureName, frozenset[Quantity]] = {
    "share": SHARES,
    "log_ratio": Step.needed_for("log_ratio"),
    "posts": frozenset(),
    "share_posts": SHARES,
    "evidence": SUMS,
    "gain": GAINS,
}
"""The quantities that each feature is computed from."""


def _rule(*numbers: float) -> NativePolicy:
    return NativePolicy.weighs(np.array(numbers[:-1]), numbers[-1])


_CHECKS = dict.fromkeys((*FEATURES, "threshold"), as_number)


@dataclass(frozen=True, repr=False)
class Weighs(BuiltInPolicy, rule=_rule, **_CHECKS):
    """Alert if the weighted sum of features of the history is at least `threshold`.

    There is no alert without evidence for the label, whatever the threshold.

    A feature without a weight is not used. Weights are usually learnt from subjects with known
    labels: see `watchword.Learnt`. All features are 0 after
    a first post without evidence:

    - `share`: (value − other) / (value + other), from −1 to 1;
    - `log_ratio`: the score of this name, stretched to −1 to 1;
    - `posts`: the logarithm of the number of posts; `share_posts`: share · posts;
    - `evidence`: log(1 + value + other);
    - `gain`: as the share, of the latest post by itself.

    >>> Weighs("at risk", share=2, posts=0.5, threshold=1.5)
    Weighs(positive='at risk', share=2.0, posts=0.5, threshold=1.5)
    """

    positive: Label
    share: float = 1.0
    log_ratio: float = 0.0
    posts: float = 0.0
    share_posts: float = 0.0
    evidence: float = 0.0
    gain: float = 0.0
    threshold: float = 0.5

    def __repr__(self) -> str:
        """Return the policy without features that are not used."""
        used = {"share": self.share} | self.weights
        named = {"positive": self.positive} | used | {"threshold": self.threshold}
        return f"Weighs({', '.join(f'{name}={value!r}' for name, value in named.items())})"

    @property
    def weights(self) -> dict[FeatureName, float]:
        """The weight of each feature that is used."""
        return {name: weight for name in FEATURES if (weight := getattr(self, name))}

    @property
    def needs(self) -> frozenset[Quantity]:
        """The quantities that the features are computed from."""
        return frozenset[Quantity]().union(*(NEEDED_FOR[name] for name in self.weights))

    @property
    def sums_log_ratios(self) -> bool:
        """Whether the log-ratio has a weight."""
        return self.log_ratio != 0

    def contributions(self, histories: Histories) -> FloatArray:
        """Return weight · feature after each step of all subjects, a column for each of `weights`.

        >>> from watchword.streams.histories import Series
        >>> gains = np.array([[0.5, 0.5], [2.5, 0.5]])
        >>> policy = Weighs("at risk", share=3, gain=0.5)
        >>> policy.contributions(Histories([Series.from_gains(gains, 0)])).round(2).tolist()
        [[0.0, 0.0], [1.5, 0.33]]
        """
        used = [FEATURES.index(name) for name in self.weights]
        return np.asarray(histories.features[:, used] * np.array([*self.weights.values()]))
