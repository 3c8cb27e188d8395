"""How the scores of a subject's posts combine into the values of the subject.

Policies that combine other policies are in `policy.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from watchword._arrays import FloatArray
from watchword._checks import as_choice, as_number
from watchword.model.native import Combine, NativeCombination, combined
from watchword.streams.steps import GAINS, QUANTITIES, SHARES, Quantity

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
