"""Search for the fewest occurrences whose zeroing reaches a goal.

Zeroing an occurrence subtracts its gain from a difference; a goal is reached when the difference is
gone. For one goal, the smallest set consists of the largest gains. For a chain of goals, one after
each post, where only occurrences up to that post can be zeroed, a greedy pass is optimal: go from
the first post to the last, and take the largest remaining gain whenever a goal is missed. Any other
choice can be exchanged for a larger gain, which serves this goal and all later ones.

Values are floating-point numbers, added in the core's order. Near a tie, rounding decides, so every
result is verified. It is certain that no smaller set works only if rounding cannot matter, or if
all sets near the tie were tried.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from watchword._arrays import FloatArray, IntArray

Works = Callable[[IntArray], bool]

_MOST_SETS = 500  # sets tried near a tie
_MOST_SIZES = 50  # set sizes tried near a tie


@dataclass(frozen=True)
class SmallestSet:
    """The indices that reach a goal, or None; `certain` if no smaller set reaches it."""

    places: IntArray | None
    certain: bool

    @property
    def size(self) -> float:
        """The number of indices, infinite for None."""
        return np.inf if self.places is None else len(self.places)


class Goal:
    """A goal: zero gains that add up to `need`, within the rounding `tolerance`.

    `places` are the indices of the relevant occurrences, `gains` what zeroing each of them gains.
    """

    def __init__(self, places: IntArray, gains: FloatArray, need: float, tolerance: float) -> None:
        order = np.argsort(-gains, kind="stable")
        self._places, self._gains = places[order], gains[order]  # the largest gain first
        self._reached = np.cumsum(self._gains)
        self._least = need - tolerance
        possible = np.flatnonzero(self._reached >= self._least)
        firm = np.flatnonzero(self._reached >= need + tolerance)
        #: Whether the goal can be reached regardless of rounding.
        self.is_firm = firm.size > 0
        #: The possible set sizes: from possible with lucky rounding to certain.
        self.sizes = range(0)
        if possible.size:
            last = firm[0] if self.is_firm else possible[-1]
            self.sizes = range(int(possible[0]) + 1, int(last) + 2)

    def largest(self, size: int) -> IntArray:
        """Return the indices of the `size` largest gains; of equals, the first."""
        return self._places[:size]

    def others(self, size: int) -> Iterator[IntArray] | None:
        """Return all other sets of this size near the tie, or None if there are too many."""
        slack = self._reached[size - 1] - self._least
        next_one = self._gains[size] if size < len(self._gains) else -np.inf
        near_low = self._gains >= self._gains[size - 1] - slack
        must = np.flatnonzero(self._gains > next_one + slack)
        free = np.flatnonzero(near_low & (self._gains <= next_one + slack))
        missing = size - len(must)
        # n items have at least n subsets of a size, except for sizes 0 and n.
        many = len(free) > _MOST_SETS and 0 < missing < len(free)
        if many or comb(len(free), missing) > _MOST_SETS:
            return None
        return (
            self._places[np.r_[must, chosen].astype(np.int64)]
            for chosen in combinations(free.tolist(), missing)
        )


def smallest(goals: Sequence[Goal], works: Works) -> SmallestSet:
    """Return the fewest indices that reach one of several goals."""
    near = [goal for goal in goals if goal.sizes]
    if not near:
        return SmallestSet(None, True)
    first = min(goal.sizes.start for goal in near)
    last = max(goal.sizes.stop for goal in near)
    certain = True
    for size in range(first, min(last, first + _MOST_SIZES)):
        # A firm goal was reached, but the set did not work: the goals do not cover everything.
        certain = certain and not any(goal.is_firm and goal.sizes.stop <= size for goal in near)
        at_hand = [goal for goal in near if size in goal.sizes]
        for goal in at_hand:
            if works(places := goal.largest(size)):
                return SmallestSet(places, certain)
        for goal in at_hand:
            others = goal.others(size)
            if others is None:
                certain = False
                continue
            for places in others:
                if works(places):
                    return SmallestSet(places, certain)
    proven = last - first <= _MOST_SIZES and not any(goal.is_firm for goal in near)
    return SmallestSet(None, certain and proven)


def cover(
    gains: FloatArray,
    amounts: FloatArray,
    posts: IntArray,
    *,
    last: int,
    misses: Callable[[int, FloatArray], bool],
) -> IntArray | None:
    """Return the indices taken by a greedy pass over posts, or None if a goal cannot be reached.

    Wherever a goal is missed, the largest remaining gains are taken. `misses` is called with the
    post and the sum of the amounts (one per label) taken so far.
    """
    taken: list[int] = []
    removed = np.zeros(amounts.shape[1])
    waiting: list[tuple[float, int]] = []
    order = np.argsort(posts, kind="stable")
    at = 0
    for post in range(last + 1):
        while at < len(order) and posts[order[at]] <= post:
            place = int(order[at])
            if gains[place] > 0:
                heapq.heappush(waiting, (-float(gains[place]), place))
            at += 1
        while misses(post, removed):
            if not waiting:
                return None
            taken.append(heapq.heappop(waiting)[1])
            removed += amounts[taken[-1]]
    return np.array(taken, np.int64)


def fewest_in_order(order: IntArray, works: Works) -> SmallestSet:
    """Return the shortest prefix of an order that works, by binary search, without a proof."""
    low, high = 0, 1
    while high < len(order) and not works(order[:high]):
        low, high = high, 2 * high
    high = min(high, len(order))
    if not works(order[:high]):
        return SmallestSet(None, False)
    while high - low > 1:
        middle = (low + high) // 2
        if works(order[:middle]):
            high = middle
        else:
            low = middle
    return SmallestSet(order[:high], False)
