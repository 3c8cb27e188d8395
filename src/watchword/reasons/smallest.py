"""The fewest occurrences whose zeroing reaches a goal, and whether that is certain.

Zeroing an occurrence takes its gain off a difference that stands between us and a goal. For one
goal, the fewest that do are the largest. For a chain of goals, one after each post, where only what
was written by then can be zeroed, it is enough to go from the first to the last and to take the
largest left whenever a goal is missed: whatever another choice took before, a larger one does as
well, now and later.

Values are floating-point numbers, added up in the core's order. Near a tie, rounding decides, so
whatever is found is tried out; and it is certain that fewer do not do only where no rounding
could matter, or where all of the few sets that come near were tried.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from watchword.streams.steps import FloatArray, IntArray

Works = Callable[[IntArray], bool]

_MOST_SETS = 500  # that are tried out near a tie
_MOST_SIZES = 50  # that may all be near a tie


@dataclass(frozen=True)
class Found:
    """The places that reach a goal, None if none do; `certain`: no fewer do."""

    places: IntArray | None
    certain: bool

    @property
    def size(self) -> float:
        """How many, more than any number if none do."""
        return np.inf if self.places is None else len(self.places)


@dataclass(frozen=True)
class Goal:
    """Gains must be zeroed that add up to `need`, with the exactness that rounding allows."""

    places: IntArray  #: occurrences that have anything to do with it
    gains: FloatArray  #: what zeroing each of these brings
    need: float
    tolerance: float

    @cached_property
    def _order(self) -> IntArray:
        return np.asarray(np.argsort(-self.gains, kind="stable"))

    @cached_property
    def _sorted(self) -> FloatArray:
        return np.asarray(self.gains[self._order])

    @cached_property
    def _reached(self) -> FloatArray:
        return np.cumsum(self._sorted)

    @cached_property
    def sizes(self) -> range:
        """How many it may take: from where rounding might do it to where it must be done."""
        possible = np.flatnonzero(self._reached >= self.need - self.tolerance)
        if not possible.size:
            return range(0)
        last = self._firm[0] if self.is_firm else possible[-1]
        return range(int(possible[0]) + 1, int(last) + 2)

    @cached_property
    def _firm(self) -> IntArray:
        return np.flatnonzero(self._reached >= self.need + self.tolerance)

    @property
    def is_firm(self) -> bool:
        """Whether it can be reached whatever the rounding."""
        return bool(self._firm.size)

    def largest(self, size: int) -> IntArray:
        """So many of the largest gains; the earlier of equals."""
        return np.asarray(self.places[self._order[:size]])

    def others(self, size: int) -> Iterator[IntArray] | None:
        """All other sets of this size that come near; None if they are too many."""
        slack = self._reached[size - 1] - (self.need - self.tolerance)
        next_one = self._sorted[size] if size < len(self._sorted) else -np.inf
        near_low = self._sorted >= self._sorted[size - 1] - slack
        must = np.flatnonzero(self._sorted > next_one + slack)
        free = np.flatnonzero(near_low & (self._sorted <= next_one + slack))
        missing = size - len(must)
        # Of many, there are at least as many sets, unless it is all or none of them.
        many = len(free) > _MOST_SETS and 0 < missing < len(free)
        if many or comb(len(free), missing) > _MOST_SETS:
            return None
        return (
            np.asarray(self.places[self._order[np.r_[must, chosen].astype(np.int64)]])
            for chosen in combinations(free.tolist(), missing)
        )


def smallest(goals: Sequence[Goal], works: Works) -> Found:
    """The fewest places that reach one of several goals."""
    near = [goal for goal in goals if goal.sizes]
    if not near:
        return Found(None, True)
    first = min(goal.sizes.start for goal in near)
    last = max(goal.sizes.stop for goal in near)
    certain = True
    for size in range(first, min(last, first + _MOST_SIZES)):
        # A goal that was surely reached, in vain: something else is in the way.
        certain = certain and not any(goal.is_firm and goal.sizes.stop <= size for goal in near)
        at_hand = [goal for goal in near if size in goal.sizes]
        for goal in at_hand:
            if works(places := goal.largest(size)):
                return Found(places, certain)
        for goal in at_hand:
            others = goal.others(size)
            if others is None:
                certain = False
                continue
            for places in others:
                if works(places):
                    return Found(places, certain)
    proven = last - first <= _MOST_SIZES and not any(goal.is_firm for goal in near)
    return Found(None, certain and proven)


def cover(
    gains: FloatArray,
    amounts: FloatArray,
    posts: IntArray,
    *,
    last: int,
    misses: Callable[[int, FloatArray], bool],
) -> IntArray | None:
    """Go from post to post and take the largest gains left wherever the goal is missed.

    `misses` is told the post and the sum of the amounts (one per label) that were taken so far.
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


def fewest_in_order(order: IntArray, works: Works) -> Found:
    """So many of the first of an order as it takes, found by doubling and halving; no proof."""
    low, high = 0, 1
    while high < len(order) and not works(order[:high]):
        low, high = high, 2 * high
    high = min(high, len(order))
    if not works(order[:high]):
        return Found(None, False)
    while high - low > 1:
        middle = (low + high) // 2
        if works(order[:middle]):
            high = middle
        else:
            low = middle
    return Found(order[:high], False)
