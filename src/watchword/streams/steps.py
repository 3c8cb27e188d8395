"""Steps: the input of policies, with the values of subjects after their latest posts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from watchword._arrays import BoolArray, FloatArray, IntArray

ScoreName = Literal["share", "softmax"]
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

    def score(self, name: ScoreName) -> FloatArray:
        """Return a score for the positive label from 0 to 1; 0 without evidence.

        >>> none = np.zeros(1)
        >>> step = Step(np.array([2]), np.array([0.9]), np.array([0.3]), none, none, 0, none)
        >>> step.score("share").tolist(), step.score("softmax").round(3).tolist()
        ([0.75], [0.574])
        """
        has_evidence = (self.value != 0) | (self.other != 0)
        if name == "softmax":
            difference = (self.value - self.other) / np.maximum(self.posts, 1)
            softmax = 0.5 + 0.5 * np.tanh(difference / 2)  # in this form it cannot overflow
            return np.asarray(np.where(has_evidence, softmax, 0.0))
        return share_of(self.value, self.other)

    @staticmethod
    def needed_for(name: ScoreName) -> frozenset[Quantity]:
        """Return the quantities that a score is computed from; see `Policy.needs`."""
        return SHARES if name == "share" else SUMS

    def in_a_row(self, holds: BoolArray) -> FloatArray:
        """Return for how many consecutive steps `holds` was true, counting in memory column 0."""
        self.memory[:, 0] = np.where(holds, self.memory[:, 0] + 1, 0)
        return np.asarray(self.memory[:, 0])

    def with_memory(self, begin: int, end: int) -> Step:
        """Return the step as seen by a policy that has only these columns of the memory."""
        return replace(self, memory=self.memory[:, begin:end])


def share_of(value: FloatArray, other: FloatArray) -> FloatArray:
    """Return value / (value + other); 0 without evidence.

    >>> share_of(np.array([0.9, 0.0]), np.array([0.3, 0.0])).tolist()
    [0.75, 0.0]
    """
    total = value + other
    return np.asarray(np.divide(value, total, out=np.zeros(total.shape), where=total > 0))
