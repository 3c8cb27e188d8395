"""Changes that would delay or cancel an alert; `watchword.reasons.change` defines them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from watchword._arrays import FloatArray, IntArray
from watchword.model.results import ConfidenceTable
from watchword.reasons.change import ROUNDING, Change, make_change, mask_of
from watchword.reasons.history import History, first_alert
from watchword.reasons.smallest import Goal, SmallestSet, cover, fewest_in_order, smallest
from watchword.reasons.weights import Weights, differences
from watchword.streams.policies import After, Overtakes, Policy, RankedBy

_MOST_RIVALS = 8  # strongest other labels that are tried to prevent an alert
_MOST_PREFIXES = 16  # prefixes of the history used for the lower bound


def change_of_alert(history: History, aim: Literal["delay", "cancel"]) -> Change:
    """Return the smallest change that would have delayed or cancelled the alert."""
    if not history.alert:
        raise ValueError("there is no alert to delay or cancel")
    if history.is_given:
        raise ValueError(
            f"the alert of {history.policy!r} cannot be recomputed from this subject's posts alone"
        )
    last = history.alert if aim == "delay" else len(history.contents)
    read = [history.weights(post) for post in range(last)]
    zeroing = _Zeroing(history, read, history.alert if aim == "delay" else None)
    rule = paper_rule(history.policy)
    # Posts of a refined model add probabilities, which no n-gram has a fixed share of.
    adds_up = not history.engine.is_refined and all(weights.adds_up for weights in read)
    if rule is not None and adds_up:
        exact = _Exact(history, zeroing, *rule)
        found = exact.delayed() if aim == "delay" else exact.cancelled()
    else:
        found = _roughly(history, zeroing)
    change = make_change(aim, history.labels, history.alert, found, read)
    after = history.alert if found.places is None else zeroing.alert(found.places)
    return replace(change, after=after)


class _Zeroing:
    """All occurrences of some posts; finds the alert that remains with some of them zeroed."""

    def __init__(self, history: History, read: list[Weights], not_before: int | None) -> None:
        self._history, self._read, self._not_before = history, read, not_before
        sizes = [len(weights.places) for weights in read]
        self._ends = np.cumsum(np.array(sizes, np.int64))
        self.posts: IntArray = np.repeat(np.arange(len(read)), sizes)
        parts = [weights.contributions for weights in read]
        self.contributions: FloatArray = np.concatenate(parts)

    def alert(self, places: IntArray) -> int:
        """Return the delay of the alert with these occurrences zeroed, 0 without an alert."""
        gains = self._history.gains.copy()
        zeroed = mask_of(places, len(self.posts))
        for post in np.unique(self.posts[places]).tolist():
            end = int(self._ends[post])
            weights = self._read[post]
            values = weights.without(zeroed[end - len(weights.places) : end])
            table = ConfidenceTable(self._history.labels, values.reshape(1, -1))
            gains[post] = self._history.engine.evidence_of(table).values[0]
        return first_alert(gains, self._history.column, self._history.policy)

    def works(self, places: IntArray) -> bool:
        """Return whether zeroing these occurrences delays the alert enough, or cancels it."""
        alert = self.alert(places)
        return not alert or (self._not_before is not None and alert > self._not_before)


class _Exact:
    """The exact solution for the paper's policy: alert where value > ratio · other + margin."""

    def __init__(self, history: History, zeroing: _Zeroing, rule: Overtakes, after: int) -> None:
        self._history, self._zeroing, self._rule = history, zeroing, rule
        self._first = after - 1
        # Without other labels, the value is compared with 0: the last column.
        self._sums = np.pad(history.sums, ((0, 0), (0, 1)))
        self._contributions = np.pad(zeroing.contributions, ((0, 0), (0, 1)))
        labels = range(len(history.labels))
        self._rivals = [column for column in labels if column != history.column] or [-1]

    def delayed(self) -> SmallestSet:
        """Return the fewest occurrences without which no alert is raised up to the same post."""
        last = self._history.alert - 1
        goals = self._goals(last)
        found = smallest(goals, self._zeroing.works)
        if found.places is None and any(goal.is_firm for goal in goals):
            # Zeroing led to an earlier alert instead, so every post must be considered.
            found = self._covered(last, _least(goals))
        return found

    def cancelled(self) -> SmallestSet:
        """Return the fewest occurrences without which no alert is raised at any post."""
        excess = self._excess()
        posts = np.argsort(-excess, kind="stable")[:_MOST_PREFIXES]
        alerting = [int(post) for post in posts if excess[post] > 0]
        least = max(_least(self._goals(post)) for post in alerting)
        if np.isinf(least):
            return SmallestSet(None, True)  # at some post, not even zeroing all of them is enough
        return self._covered(len(self._sums) - 1, least)

    def _excess(self) -> FloatArray:
        """Return by how much the value exceeds the rule's threshold after each post."""
        values, others = self._sums[:, self._history.column], self._sums[:, self._rivals]
        excess = values - self._rule.ratio * others.max(axis=1) - self._rule.margin
        excess[: self._first] = -np.inf
        return np.asarray(excess)

    def _gains(self, rival: int) -> FloatArray:
        own = self._contributions
        return np.asarray(own[:, self._history.column] - self._rule.ratio * own[:, rival])

    def _tolerance(self, post: int, rival: int) -> float:
        row, rule = self._sums[post], self._rule
        size = float(row[self._history.column]) + rule.ratio * float(row[rival]) + abs(rule.margin)
        added = int(np.searchsorted(self._zeroing.posts, post, side="right")) + post
        return float(ROUNDING * (added + 8) * size)

    def _difference(self, post: int, rival: int, removed: FloatArray | float = 0.0) -> float:
        row, rule = self._sums[post] - removed, self._rule
        return float(row[self._history.column]) - rule.ratio * float(row[rival]) - rule.margin

    def _goals(self, post: int) -> list[Goal]:
        """Return, for each other label, the goal that it prevents the alert at this post."""
        written = int(np.searchsorted(self._zeroing.posts, post, side="right"))
        goals = []
        for rival in self._rivals:
            gains = self._gains(rival)[:written]
            columns = [self._history.column, rival]
            concerned = np.flatnonzero(self._contributions[:written, columns].any(axis=1))
            need, tolerance = self._difference(post, rival), self._tolerance(post, rival)
            goals.append(Goal(concerned, gains[concerned], need, tolerance))
        return goals

    def _covered(self, last: int, least: float) -> SmallestSet:
        """Return occurrences without which one other label prevents the alert up to `last`."""
        best = SmallestSet(None, False)
        take = partial(cover, amounts=self._contributions, posts=self._zeroing.posts, last=last)
        at = self._history.alert - 1
        nearest = sorted(self._rivals, key=lambda rival: self._difference(at, rival))
        for rival in nearest[:_MOST_RIVALS]:
            gains = self._gains(rival)
            if len(self._rivals) == 1:
                relaxed = take(gains, misses=self._misses(rival, -1))
                if relaxed is None:
                    return SmallestSet(None, True)
                least = max(least, len(relaxed))
            for misses in (self._misses_any(), *(self._misses(rival, at) for at in (-1, 0, 1))):
                places = take(gains, misses=misses)
                if places is not None and len(places) < best.size and self._zeroing.works(places):
                    best = SmallestSet(places, len(places) <= least)
        return best

    def _misses(self, rival: int, strictness: int) -> Callable[[int, FloatArray], bool]:
        """Return a check whether this label alone fails to prevent the alert.

        A strictness of 1 or -1 moves the threshold by the rounding tolerance.
        """

        def misses(post: int, removed: FloatArray) -> bool:
            if post < self._first:
                return False
            allowed = -strictness * self._tolerance(post, rival) if strictness else 0.0
            return self._difference(post, rival, removed) > allowed

        return misses

    def _misses_any(self) -> Callable[[int, FloatArray], bool]:
        """Return a check whether no label prevents the alert."""
        column, rule = self._history.column, self._rule

        def misses(post: int, removed: FloatArray) -> bool:
            row = self._sums[post] - removed
            best = float(row[self._rivals].max())
            return post >= self._first and row[column] - rule.ratio * best > rule.margin

        return misses


def _least(goals: list[Goal]) -> float:
    return min((goal.sizes.start for goal in goals if goal.sizes), default=np.inf)


def _roughly(history: History, zeroing: _Zeroing) -> SmallestSet:
    """Zero the occurrences with the largest gains, of all posts or of the last post first.

    An approximation for policies without an exact solution.
    """
    contributions = zeroing.contributions
    gains = differences(contributions, history.column, history.rival(history.alert))
    order = np.argsort(-gains, kind="stable")
    order = order[gains[order] > 0]
    decisive = zeroing.posts[order] == history.alert - 1
    orders = [order, np.concatenate([order[decisive], order[~decisive]])]
    return min((fewest_in_order(one, zeroing.works) for one in orders), key=lambda one: one.size)


def paper_rule(policy: Policy) -> tuple[Overtakes, int] | None:
    """Return the paper's rule and the first post at which it applies; None for other policies.

    A negative margin is excluded: the exact solution does not cover the condition value > 0.
    """
    after = 1
    while isinstance(policy, After | RankedBy):
        if isinstance(policy, After):
            after = max(after, policy.posts)
        policy = policy.of
    return (policy, after) if type(policy) is Overtakes and policy.margin >= 0 else None
