"""Counterfactual changes of a text: the fewest n-grams without which another label would win.

The contributions of these occurrences are set to zero and everything else stays as read; the text
is not read again without them. If values are summarised by sums or means, the result is exact for
labels and for the paper's policy: no smaller set changes the decision. Otherwise a smaller set may
exist, and `Change.exact` is false. In a refined model, blocks are zeroed and the bias stays; the
result is exact for labels, but not for alerts, because posts add probabilities.

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
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np

from watchword._checks import BoolArray, FloatArray, IntArray, Label
from watchword._display import ToDict
from watchword.explain.weights import Weights, weigh
from watchword.model.engine import Engine, decide

Aim = Literal["label", "delay", "cancel"]

ROUNDING = 8 * np.finfo(np.float64).eps  # error per addition, a generous bound
_MOST_RIVALS = 20  # labels tried if the result is not exact


@dataclass(frozen=True)
class Occurrence(ToDict):
    """An occurrence of an n-gram: its offsets, its post (from 1), its contribution per label."""

    ngram: str
    start: int
    end: int
    contribution: tuple[float, ...]
    post: int | None = None


@dataclass(frozen=True)
class Change(ToDict):
    """The fewest occurrences that would have changed a decision; false if there are none.

    `aim` is `"label"` (another label of a text), `"delay"` (a later alert, or none) or `"cancel"`
    (no alert). `before` and `after` are labels, or delays of the alert with 0 for no alert. `exact`
    is true if provably no smaller set, or no set at all, changes the decision.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> print(model.what_would_change("A match about machine learning"))
    Without 1 of the 4 n-grams the label would be tech instead of sports. No fewer would do.
    """

    aim: Aim
    labels: tuple[Label, ...]
    before: Label
    after: Label
    possible: bool
    exact: bool
    occurrences: tuple[Occurrence, ...]
    total: int  #: number of occurrences with a nonzero value

    def __bool__(self) -> bool:
        return self.possible

    def __str__(self) -> str:
        if not self.possible:
            aims = {
                "label": "change the label",
                "delay": "delay the alert",
                "cancel": "cancel the alert",
            }
            if self.exact:
                return f"Removing n-grams cannot {aims[self.aim]}."
            return f"No set of n-grams was found whose removal would {aims[self.aim]}."
        few = f"{len(self.occurrences):,} of the {self.total:,} n-grams"
        without = f"Without {few if self.total > 1 else 'the only n-gram'}"
        if self.aim == "label":
            text = f"{without} the label would be {self.after} instead of {self.before}."
        elif self.after:
            text = (
                f"{without} the alert would come after {self.after:,} posts, not {self.before:,}."
            )
        else:
            text = f"{without} there would be no alert."
        return f"{text} {'No fewer' if self.exact else 'Perhaps fewer'} would do."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; `text` is the change in words."""
        return {"text": str(self)} | super().to_dict()


# A text and its label


def change_of_label(engine: Engine, text: str) -> Change:
    """Return the smallest change that would have given a text another label."""
    frozen = engine.replaced(engine.parameters)
    weights, labels, default = weigh(frozen, text), frozen.labels, frozen.default_label()

    def decided(places: IntArray) -> Label:
        values = weights.without(mask_of(places, len(weights.places)))
        return decide(labels, values.reshape(1, -1), default=lambda: default)[0]

    before = decided(np.zeros(0, np.int64))
    found = _found_for_label(
        weights,
        labels.index(before),
        lambda places: decided(places) != before,
        may_be_empty=weights.score is None and default != before,
    )
    after = before if found.places is None else decided(found.places)
    change = make_change("label", labels, before, found, [weights])
    return replace(change, after=after)


def _found_for_label(
    weights: Weights, winner: int, works: Works, *, may_be_empty: bool
) -> SmallestSet:
    others = [column for column in range(weights.values.shape[1]) if column != winner]
    every = np.flatnonzero(weights.values.any(axis=1))
    if not every.size:
        return SmallestSet(None, True)
    if weights.adds_up:
        goals = [goal for other in others if (goal := _overtaken(weights, winner, other))]
        found = smallest(goals, works)
    else:
        totals = weights.without(np.zeros(len(weights.places), np.bool_))
        others.sort(key=lambda column: -float(totals[column]))
        found = SmallestSet(None, False)
        for other in others[:_MOST_RIVALS]:
            gains = weights.values[:, winner] - weights.values[:, other]
            order = np.argsort(-gains, kind="stable")
            tried = fewest_in_order(order[gains[order] > 0], works)
            found = min(found, tried, key=lambda one: one.size)
    if may_be_empty and len(every) < found.size:
        # A text without values gets the default label, so zeroing every occurrence works.
        return SmallestSet(every, found.certain)
    return found


def _overtaken(weights: Weights, winner: int, other: int) -> Goal | None:
    """Return the goal that another label wins; in a tie, the label that is first in order wins."""
    ahead, behind = weights.contributions[:, winner], weights.contributions[:, other]
    gains = ahead - behind
    need, size = float(gains.sum()), float(np.abs(ahead).sum() + np.abs(behind).sum())
    if weights.score is not None:
        need = float(weights.score[winner] - weights.score[other])
        size += float(np.abs(weights.score[[winner, other]]).sum())
    elif other > winner and (weights.values[:, winner] >= weights.values[:, other]).all():
        return None  # no value of the other label is larger, so its sum can never be larger
    concerned = np.flatnonzero((ahead != 0) | (behind != 0))
    return Goal(concerned, gains[concerned], need, ROUNDING * (len(gains) + 8) * size)


# Shared by texts and subjects


def mask_of(places: IntArray, size: int) -> BoolArray:
    """Return a mask that is true at these indices."""
    mask = np.zeros(size, np.bool_)
    mask[places] = True
    return mask


def make_change(
    aim: Aim, labels: tuple[Label, ...], before: Label, found: SmallestSet, read: list[Weights]
) -> Change:
    """Return a change with n-grams and posts; the caller must replace `after`."""
    places = [] if found.places is None else sorted(found.places.tolist())
    return Change(
        aim=aim,
        labels=labels,
        before=before,
        after=before,
        possible=found.places is not None,
        exact=found.certain or len(places) == 1,  # no nonempty set is smaller than one
        occurrences=tuple(_occurrences(aim, places, read)),
        total=sum(int(weights.values.any(axis=1).sum()) for weights in read),
    )


def _occurrences(aim: Aim, places: list[int], read: list[Weights]) -> Iterator[Occurrence]:
    ends = np.cumsum([len(weights.places) for weights in read])
    for place in places:
        at = int(np.searchsorted(ends, place, side="right"))
        weights = read[at]
        inside = place - (int(ends[at]) - len(weights.places))
        start, end, ngram = weights.places[inside]
        contribution = tuple(weights.contributions[inside].tolist())
        post = None if aim == "label" else at + 1
        yield Occurrence(ngram, start, end, contribution, post)


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
