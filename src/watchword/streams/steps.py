"""Steps: the input of policies, with the values of subjects after their latest posts.

Policies that combine other policies are in `policy.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from watchword._checks import BoolArray, FloatArray, IntArray, as_choice, as_number
from watchword.model.native import (
    Combine,
    NativeCombination,
    NativePolicy,
    NativeStep,
    Score,
    combined,
    log_ratios,
    scores,
)

CombineName = Literal["sum", "mean", "last", "ema", "max"]
COMBINES: tuple[CombineName, ...] = get_args(CombineName)
EMA_WEIGHT = 0.3


@dataclass(frozen=True)
class Combination:
    """The rule by which posts combine: how, and the weight of the latest post in `"ema"`.

    >>> gains = np.array([[0.2, 0.8], [0.9, 0.1], [0.4, 0.6]])
    >>> Combination("max").values_of(gains, 0)[:, 0].tolist()
    [0.2, 0.9, 0.9]
    """

    how: CombineName = "sum"
    ema_weight: float = EMA_WEIGHT

    def __post_init__(self) -> None:
        object.__setattr__(self, "how", as_choice("combine", self.how, COMBINES))
        ema_weight = as_number("ema_weight", self.ema_weight)
        if not 0 < ema_weight <= 1:
            raise ValueError(f"ema_weight must be in (0, 1], got {ema_weight:g}")
        object.__setattr__(self, "ema_weight", ema_weight)

    @property
    def provides(self) -> frozenset[Quantity]:
        """The quantities that policies can use; values are sums over posts only if added up."""
        return frozenset(QUANTITIES) if self.how == "sum" else SHARES | GAINS

    @property
    def native(self) -> NativeCombination:
        """The rule for the core."""
        return NativeCombination(Combine[self.how], self.ema_weight)

    def values_of(self, gains: FloatArray, column: int) -> FloatArray:
        """Return a subject's values after each post, given those of the posts by themselves.

        There is a row per post and a column per label; `column` is that of the positive label.
        """
        return combined(self.native, np.ascontiguousarray(gains), column)


SUM = Combination()


def gains_of(scores: FloatArray) -> FloatArray:
    """Return the values of posts for the positive label and for the other, given their scores.

    >>> gains_of(np.array([0.25, 1.0])).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    return np.stack([scores, 1.0 - scores], axis=1)


ScoreName = Literal["share", "softmax", "difference", "log_ratio"]
Quantity = Literal["shares", "sums", "gains"]

QUANTITIES: dict[Quantity, str] = {
    "shares": "the share of the positive label after each post",
    "sums": "the values accumulated over posts",
    "gains": "the values added by each post",
}
"""The quantities that policies may need and scores may provide."""

SHARES: frozenset[Quantity] = frozenset({"shares"})
SUMS: frozenset[Quantity] = frozenset({"sums"})
GAINS: frozenset[Quantity] = frozenset({"gains"})


@dataclass(frozen=True)
class Step:
    """The values of some subjects after their latest posts, one row per subject.

    With more than two labels, the positive label is compared with the best of the others.
    """

    posts: IntArray  #: number of posts read so far
    value: FloatArray  #: accumulated confidence for the positive label
    other: FloatArray  #: accumulated confidence for the best other label
    gain: FloatArray  #: confidence added to `value` by the latest post (or chunk)
    other_gain: FloatArray  #: largest confidence added to any other label by that post
    round: int  #: index of the round, from 0; only for population policies
    memory: FloatArray  #: the policy's memory, `Policy.remembers` columns, writable
    log_ratios: FloatArray | None = None  #: see `Policy.sums_log_ratios`; None without it

    def score(self, name: ScoreName) -> FloatArray:
        """Return a score for the positive label from 0 to 1; 0 without evidence.

        `"share"` is value / (value + other), `"softmax"` the softmax of the means per post,
        `"difference"` d = value − other as .5 + .5 · d / (1 + |d|), and `"log_ratio"` the logistic
        function of the mean of `log_ratio_of` over posts.

        >>> none, memory = np.zeros(1), np.zeros((1, 0))
        >>> step = Step(np.array([2]), np.array([0.9]), np.array([0.3]), none, none, 0, memory)
        >>> step.score("share").tolist(), step.score("softmax").round(3).tolist()
        ([0.75], [0.574])
        >>> step.score("difference").round(3).tolist()
        [0.688]
        """
        if name == "log_ratio" and self.log_ratios is None:
            raise ValueError(
                "log-ratios are not summed for this policy: set `sums_log_ratios = True` in its "
                "class"
            )
        return scores(Score[name], self.native(np.zeros((len(self.posts), 0))))

    @staticmethod
    def needed_for(name: ScoreName) -> frozenset[Quantity]:
        """Return the quantities that a score is computed from; see `Policy.needs`."""
        return _NEEDED[name]

    def in_a_row(self, holds: BoolArray) -> FloatArray:
        """Return for how many consecutive steps `holds` was true, counting in memory column 0."""
        self.memory[:, 0] = np.where(holds, self.memory[:, 0] + 1, 0)
        return np.asarray(self.memory[:, 0])

    def native(self, memory: FloatArray) -> NativeStep:
        """Return the step for the core, with this memory, which must be contiguous."""
        values = self.value, self.other, self.gain, self.other_gain
        return NativeStep(self.posts, *values, self.round, memory, self.log_ratios)


_NEEDED: dict[ScoreName, frozenset[Quantity]] = {
    "share": SHARES,
    "softmax": SUMS,
    "difference": SUMS,
    "log_ratio": GAINS,
}


def log_ratio_of(gain: FloatArray, other_gain: FloatArray) -> FloatArray:
    """Return how far each post favours the positive label: log((gain + ε) / (other_gain + ε)).

    ε is .01.

    >>> log_ratio_of(np.array([0.19, 0.0]), np.array([0.0, 0.0])).round(3).tolist()
    [2.996, 0.0]
    """
    return log_ratios(gain, other_gain)


def advance(policy: NativePolicy, step: Step, *, read: BoolArray, decided: BoolArray) -> BoolArray:
    """Return which subjects get an alert by the rules of the driver; update the memory.

    A row without a new post, or with an earlier alert, gets none. A row's memory, which must be
    contiguous, changes only if a post was read.
    """
    return policy.advance(step.native(step.memory), read, decided)
