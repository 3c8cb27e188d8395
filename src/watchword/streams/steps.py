"""What policies look at: subjects that have just been read a little further."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ScoreName = Literal["share", "softmax"]
Quantity = Literal["shares", "sums", "gains"]

QUANTITIES: dict[Quantity, str] = {
    "shares": "the share of the positive label after each post",
    "sums": "values that add up over posts",
    "gains": "what each post adds to the values",
}
"""What policies can look at, and scores can hold."""


@dataclass(frozen=True)
class Step:
    """What is known when some subjects have just been read a little further, a row for each.

    A subject that has several other labels is compared with the best of them.
    """

    posts: IntArray  #: posts read so far
    value: FloatArray  #: accumulated confidence for the positive label
    other: FloatArray  #: accumulated confidence for the best other label
    gain: FloatArray  #: what the latest post (or chunk) added to `value`
    other_gain: FloatArray  #: the most that it added to any other label
    round: int  #: rounds before this one; only for policies that compare subjects
    memory: FloatArray  #: what the policy noted, `Policy.remembers` columns; it may write there

    def score(self, name: ScoreName) -> FloatArray:
        """How much speaks for the positive label, from 0 to 1; 0 where nothing was said.

        >>> none = np.zeros(1)
        >>> step = Step(np.array([2]), np.array([0.9]), np.array([0.3]), none, none, 0, none)
        >>> step.score("share").tolist(), step.score("softmax").round(3).tolist()
        ([0.75], [0.574])
        """
        said = (self.value != 0) | (self.other != 0)  # of nothing there must be no alert
        if name == "softmax":
            difference = (self.value - self.other) / np.maximum(self.posts, 1)
            return np.asarray(
                np.where(said, 0.5 + 0.5 * np.tanh(difference / 2), 0.0)
            )  # cannot overflow
        return share_of(self.value, self.other)

    @staticmethod
    def needed_for(name: ScoreName) -> frozenset[Quantity]:
        """Return what a score is computed from; see `Policy.needs`."""
        return frozenset({"shares"} if name == "share" else {"sums"})

    def in_a_row(self, holds: BoolArray) -> FloatArray:
        """For how many steps this has held now, noted in the first column of the memory."""
        self.memory[:, 0] = np.where(holds, self.memory[:, 0] + 1, 0)
        return np.asarray(self.memory[:, 0])

    def with_memory(self, begin: int, end: int, *, copy: bool = False) -> Step:
        """Return the step as seen by a policy that has only these columns of the memory."""
        memory = self.memory[:, begin:end]
        return replace(self, memory=memory.copy() if copy else memory)


def share_of(value: FloatArray, other: FloatArray) -> FloatArray:
    """Value / (value + other); 0 where nothing was said.

    >>> share_of(np.array([0.9, 0.0]), np.array([0.3, 0.0])).tolist()
    [0.75, 0.0]
    """
    total = value + other
    return np.asarray(np.divide(value, total, out=np.zeros(total.shape), where=total > 0))
