"""Reasons of alerts: the posts and n-grams behind one, and what would have changed it.

Whoever reads it needs neither the texts nor the model. A story (`story.py`) is live: it has both,
and looks up the n-grams of any post.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap
from operator import itemgetter
from typing import Any, Literal

import msgspec
import numpy as np

from watchword._checks import FloatArray, IntArray, Label, as_threads
from watchword._display import ToDict
from watchword.errors import HookError
from watchword.explain.change import (
    ROUNDING,
    Change,
    Goal,
    SmallestSet,
    cover,
    fewest_in_order,
    make_change,
    mask_of,
    smallest,
)
from watchword.explain.weights import Weights, differences, strongest, weigh, weigh_terms
from watchword.model.engine import Engine
from watchword.model.results import ConfidenceTable
from watchword.streams.histories import Histories, Series
from watchword.streams.policies import After, Overtakes, Policy, RankedBy

_MOST = 10  # entries per list


@dataclass(frozen=True)
class ReasonNgram(ToDict):
    """An n-gram: how often it occurs, and how far it favours the positive label over the rival.

    The difference is the sum of the counted and, in a refined model, the corrected part.
    """

    ngram: str
    times: int
    difference: float
    counted: float
    corrected: float


@dataclass(frozen=True)
class ReasonPost(ToDict):
    """A post, numbered from 1, and how far it favours the positive label over the rival."""

    number: int
    post_id: str | None
    time: str | None
    difference: float


@dataclass(frozen=True)
class AlertReasons(ToDict):
    """The strongest evidence for and against an alert, strongest first.

    `rival` is the best other label at the alert. The n-grams are those of the post that raised the
    alert (`ngrams_of` is "alerting post"), or of all posts up to it where their texts are known
    ("all posts"). `covers` is the number of posts whose n-grams were looked up.
    """

    rival: Label | None = None
    ngrams_of: Literal["alerting post", "all posts"] = "alerting post"
    covers: int = 0
    ngrams_for: tuple[ReasonNgram, ...] = ()
    ngrams_against: tuple[ReasonNgram, ...] = ()
    posts_for: tuple[ReasonPost, ...] = ()
    posts_against: tuple[ReasonPost, ...] = ()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AlertReasons:
        """Return the reasons that `to_dict` described.

        >>> AlertReasons.from_dict(AlertReasons("control", covers=1).to_dict()).covers
        1
        """
        return msgspec.convert(data, cls)


def alert_reasons(
    engine: Engine,
    texts: Sequence[str],
    *,
    positive: Label,
    sums: dict[Label, float],
    posts: Sequence[tuple[int, str | None, str | None, dict[Label, float]]] = (),
    every: bool = False,
    most: int = _MOST,
) -> AlertReasons:
    """Return why the sums of a subject led to an alert.

    `texts` are the text that raised the alert or, if `every`, those of all posts up to it. `posts`
    has the number, the id, the time and the contribution of each post.

    >>> import watchword as ww
    >>> from watchword.model.engine import engine_of
    >>> model = ww.TauSS3()
    >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
    >>> engine, sums = engine_of(model), {"at risk": 2.0, "control": 0.0}
    >>> reasons = alert_reasons(engine, ["I cannot sleep"], positive="at risk", sums=sums)
    >>> [(one.ngram, one.corrected) for one in reasons.ngrams_for], reasons.rival
    ([('cannot', 0.0), ('sleep', 0.0)], 'control')
    """
    rival = max((one for one in sums if one != positive), key=sums.__getitem__, default=None)
    ngrams = _ngrams(engine, texts, positive, rival)
    weighed = [
        (number, post, time, own.get(positive, 0.0) - own.get(rival, 0.0))  # type: ignore[arg-type]
        for number, post, time, own in posts
    ]
    ngrams_for, ngrams_against = strongest(ngrams, most, itemgetter(2))
    posts_for, posts_against = strongest(weighed, most, itemgetter(3))
    return AlertReasons(
        rival,
        "all posts" if every else "alerting post",
        len(texts),
        tuple(starmap(ReasonNgram, ngrams_for)),
        tuple(starmap(ReasonNgram, ngrams_against)),
        tuple(starmap(ReasonPost, posts_for)),
        tuple(starmap(ReasonPost, posts_against)),
    )


def _ngrams(
    engine: Engine, texts: Sequence[str], positive: Label, rival: Label | None
) -> list[tuple[str, int, float, float, float]]:
    """Return the fields of `ReasonNgram` for all n-grams of the texts.

    None with summary functions, whose values have no shares.
    """
    labels = engine.labels
    column = labels.index(positive)
    other = labels.index(rival) if rival in labels else None
    found: dict[str, list[Any]] = {}
    try:
        for text in texts:
            terms = weigh_terms(engine, text)
            parts = (terms.counted, terms.corrections)
            favoured = (differences(one, column, other).tolist() for one in parts)
            columns = zip(terms.ngrams, terms.times.tolist(), *favoured, strict=True)
            for ngram, times, counted, corrected in columns:
                own = found.setdefault(ngram, [0, 0.0, 0.0])
                own[0] += times
                own[1] += counted
                own[2] += corrected
    except HookError:
        return []
    return [
        (ngram, times, counted + corrected, counted, corrected)
        for ngram, (times, counted, corrected) in found.items()
    ]


@dataclass(frozen=True)
class History:
    """The posts of a subject under a policy, read by a frozen copy of the model."""

    engine: Engine
    policy: Policy
    contents: tuple[str, ...]
    labels: tuple[Label, ...]
    gains: FloatArray  #: confidence added by each post, one row per post, one column per label
    alert: int  #: delay of the alert, 0 without an alert
    is_given: bool = False  #: the alert was given by the caller, not found from these posts
    _weights: dict[int, Weights] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(
        cls, engine: Engine, policy: Policy, contents: list[str], *, alert: int | None = None
    ) -> History:
        """Read all posts; `alert` gives the delay if it cannot be found from one subject alone."""
        engine.known_label(policy.positive)
        frozen = engine.replaced(engine.parameters)  # shares the counts until the model learns
        labels, gains = frozen.evidence(contents, as_threads(None))
        column = labels.index(policy.positive)
        found = first_alert(gains, column, policy) if alert is None else alert
        return cls(frozen, policy, tuple(contents), labels, gains, found, alert is not None)

    @property
    def column(self) -> int:
        """The column of the positive label."""
        return self.labels.index(self.policy.positive)

    @property
    def sums(self) -> FloatArray:
        """The accumulated confidence after each post, bit for bit that of a `Reader`."""
        return np.cumsum(self.gains, axis=0)

    def weights(self, post: int) -> Weights:
        """Return the n-gram occurrences of a post (its index, from 0), computed on first use."""
        if post not in self._weights:
            self._weights[post] = weigh(self.engine, self.contents[post])
        return self._weights[post]

    def rival(self, posts: int) -> int | None:
        """Return the column of the best other label after the given number of posts."""
        others = [column for column in range(len(self.labels)) if column != self.column]
        if not others:
            return None
        last = self.sums[posts - 1] if posts else np.zeros(len(self.labels))
        return max(others, key=lambda column: float(last[column]))


def first_alert(gains: FloatArray, column: int, policy: Policy) -> int:
    """Return the delay of the alert, 0 without an alert."""
    alone = Histories([Series.from_gains(gains, column)])
    return int(alone.first_alerts(policy)[0]) + 1


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
