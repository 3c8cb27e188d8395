"""What policies look at, computed once per model and tried with any number of policies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from watchword._checks import Label, as_choice, as_label
from watchword.data import Subject
from watchword.errors import UnknownLabelError
from watchword.evaluation.metrics import chunk_delays, chunk_sizes
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.ledger import best_other, checked_alerts
from watchword.streams.policies import POLICIES, BoolArray, FloatArray, IntArray, Policy, Step
from watchword.streams.policy import field_names
from watchword.streams.steps import QUANTITIES, Quantity

By = Literal["post", "chunk"]


@dataclass(frozen=True, eq=False)
class Series:
    """A subject's values after every step (post or chunk)."""

    posts: IntArray  #: posts read by then
    value: FloatArray  #: accumulated confidence for the positive label
    other: FloatArray  #: accumulated confidence for the best other label
    gain: FloatArray  #: what the step added to `value`
    other_gain: FloatArray  #: the most that it added to any other label

    @property
    def share(self) -> float:
        """The last value / (value + other), .5 where nothing was said."""
        if not self.value.size or self.value[-1] + self.other[-1] <= 0:
            return 0.5
        return float(self.value[-1] / (self.value[-1] + self.other[-1]))


@dataclass(frozen=True, eq=False)
class Scores:
    """Subjects with their values over time.

    >>> falling = np.array([0.9, 0.4, 0.2])
    >>> scores = Scores.from_shares(["ann"], ["control"], [falling], positive="at risk")
    >>> scores.series[0].other.tolist()
    [0.09999999999999998, 0.6, 0.8]
    """

    subjects: tuple[str, ...]
    truth: tuple[Label | None, ...]
    positive: Label
    by: By
    series: tuple[Series, ...]
    totals: IntArray  #: posts of each subject in all
    has: frozenset[Quantity] = frozenset(QUANTITIES)  #: what policies can look at

    @classmethod
    def from_shares(
        cls,
        subjects: Iterable[str],
        truth: Iterable[Label | None],
        shares: Iterable[FloatArray],
        *,
        positive: Label,
    ) -> Scores:
        """Return the scores of another classifier: the share of the positive label after each post.

        `Reaches` with its score `"share"` then compares just these shares with its threshold, and
        the margin of `Overtakes` is compared with share − (1 − share). Policies that need gains or
        sums (`Policy.needs`) are refused: shares do not tell how much a post says.
        """
        series = [_series_of_shares(each) for each in shares]
        totals = np.array([each.value.size for each in series], np.int64)
        return cls(
            tuple(subjects),
            tuple(truth),
            as_label(positive),
            "post",
            tuple(series),
            totals,
            frozenset({"shares"}),
        )

    def __post_init__(self) -> None:
        sizes = {len(self.subjects), len(self.truth), len(self.series), len(self.totals)}
        if len(sizes) > 1:
            raise ValueError("subjects, truth, series and totals must be equally many")

    @cached_property
    def columns(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Posts, value, other, gain and other_gain of all subjects, one after the other."""
        posts = np.concatenate([one.posts for one in self.series] or [np.zeros(0, np.int64)])
        rows = [(one.value, one.other, one.gain, one.other_gain) for one in self.series]
        parts = zip(*rows, strict=True) if rows else [()] * 4
        value, other, gain, other_gain = (np.concatenate(part or [np.zeros(0)]) for part in parts)
        return posts, value, other, gain, other_gain

    def chosen(self, places: Sequence[int]) -> Scores:
        """Return the scores of the subjects at these places only."""
        return replace(
            self,
            subjects=tuple(self.subjects[place] for place in places),
            truth=tuple(self.truth[place] for place in places),
            series=tuple(self.series[place] for place in places),
            totals=self.totals[np.asarray(places, np.int64)],
        )


def score_streams(
    subjects: Iterable[Subject],
    model: TauSS3,
    positive: Label,
    *,
    by: By = "post",
    threads: int | None = None,
) -> Scores:
    """Read all posts of subjects with a model, in one go."""
    as_choice("by", by, ("post", "chunk"))
    everybody = list(subjects)
    sizes = np.array([len(subject.posts) for subject in everybody], np.int64)
    contents = [post.content for subject in everybody for post in subject.posts]
    labels, values = model.confidence_table(contents, threads=threads)
    if positive not in labels:
        raise UnknownLabelError(f"unknown label {positive!r}; the model knows {labels}")
    column = labels.index(as_label(positive))
    ends = np.cumsum(sizes)
    series = []
    for subject, begin, end in zip(everybody, ends - sizes, ends, strict=True):
        read = np.arange(1, end - begin + 1) if by == "post" else _chunk_ends(subject)
        series.append(_series(values[begin:end], read, column))
    return Scores(
        tuple(subject.id for subject in everybody),
        tuple(subject.label for subject in everybody),
        as_label(positive),
        by,
        tuple(series),
        sizes,
    )


def alerts_of(scores: Scores, policy: Policy) -> tuple[BoolArray, IntArray]:
    """Who gets an alert, and after how many posts (0 for the others).

    For chunks these are the official delays, which are 0 for fewer than ten posts.
    """
    steps = first_alerts(scores, policy)
    alerted = steps >= 0
    if scores.by == "chunk":
        delays = chunk_delays(np.maximum(steps, 0) + 1, scores.totals)
    else:
        delays = steps + 1
    return alerted, np.where(alerted, delays, 0)


def first_alerts(scores: Scores, policy: Policy) -> IntArray:
    """Return the step, from 0, at which each subject's alert falls; -1 if none does.

    Raises `ValueError` if the policy needs what the scores do not have.
    """
    _check_needs(scores, policy)
    if policy.remembers or policy.is_population:
        return _alerts_step_by_step(scores, policy)
    lengths = np.array([series.value.size for series in scores.series], np.int64)
    found = np.full(lengths.size, -1, np.int64)
    if not lengths.any():
        return found
    step = Step(*scores.columns, round=0, memory=np.zeros((int(lengths.sum()), 0)))
    begins = np.cumsum(lengths) - lengths
    before = np.r_[0, step.posts[:-1]]
    before[begins[lengths > 0]] = 0
    # Where a chunk is empty nothing was read, and there is no alert.
    places = np.flatnonzero(checked_alerts(policy, step) & (step.posts > before))
    # Subjects without steps begin where the next one does, which is the one that is meant.
    owners = np.searchsorted(begins, places, side="right") - 1
    alerted, first = np.unique(owners, return_index=True)
    found[alerted] = places[first] - begins[alerted]
    return found


def _check_needs(scores: Scores, policy: Policy) -> None:
    missing = policy.needs - scores.has
    if not missing:
        return
    for part in policy.parts:
        _check_needs(scores, part)  # its own message is more to the point
    lacking = " and ".join(f"{name} ({QUANTITIES[name]})" for name in sorted(missing))
    own = ", unless its property `needs` says less" if type(policy).needs is Policy.needs else ""
    kinds: list[Any] = [kind for kind in POLICIES.values() if "positive" in field_names(kind)]
    usable = [kind.__name__ for kind in kinds if kind(scores.positive).needs <= scores.has]
    raise ValueError(
        f"{policy} needs {lacking}{own}, but these scores have only "
        f"{', '.join(sorted(scores.has))}; policies that work with them by default: "
        f"{', '.join(usable)}"
    )


def _alerts_step_by_step(scores: Scores, policy: Policy) -> IntArray:
    """The same for policies that take notes or compare: all subjects make a step together."""
    count = len(scores.subjects)
    lengths = np.array([series.value.size for series in scores.series], np.int64)
    present = int((lengths > 0).sum())  # subjects without posts are never compared with
    order = np.argsort(-lengths, kind="stable")  # so that those still reading are always the first
    flat = _Steps([scores.series[row] for row in order], lengths[order])
    memory = np.zeros((count, policy.remembers))
    first = np.full(count, -1, np.int64)
    current = np.zeros((4, count))  # value, other, gain, other_gain
    posts = np.zeros(count, np.int64)
    for number in range(int(lengths.max(initial=0))):
        reading = flat.reading(number)
        read = flat.posts(number) > posts[:reading]
        posts[:reading] = flat.posts(number)
        current[:2, :reading] = flat.sums(number)
        current[2:] = 0
        current[2:, :reading] = flat.gains(number)
        seen = present if policy.is_population else reading
        value, other, gain, other_gain = current[:, :seen]
        noted = memory[:seen].copy()
        step = Step(posts[:seen], value, other, gain, other_gain, number, noted)
        alerted = checked_alerts(policy, step)[:reading] & read & (first[:reading] < 0)
        first[:reading][alerted] = number
        # A series of posts does not end in a chunk without a post, nor grow.
        memory[:reading][read] = noted[:reading][read]
    found = np.empty(count, np.int64)
    found[order] = first
    return found


class _Steps:
    """Series, longest first, turned over: all first steps, then all second steps, and so on."""

    def __init__(self, series: list[Series], lengths: IntArray) -> None:
        longest = int(lengths.max(initial=0))
        reading = np.searchsorted(-lengths, -np.arange(longest), side="left")
        self._reading = reading
        self._begins = np.r_[0, np.cumsum(reading)]
        total = int(lengths.sum())
        at = np.concatenate(
            [self._begins[: each.value.size] + row for row, each in enumerate(series)]
            or [np.zeros(0, np.int64)]
        ).astype(np.int64)
        self._posts = np.zeros(total, np.int64)
        self._values = np.zeros((4, total))
        if total:
            self._posts[at] = np.concatenate([each.posts for each in series])
            columns = [(s.value, s.other, s.gain, s.other_gain) for s in series]
            for row, parts in enumerate(zip(*columns, strict=True)):
                self._values[row, at] = np.concatenate(parts)

    def reading(self, number: int) -> int:
        return int(self._reading[number])

    def posts(self, number: int) -> IntArray:
        return np.asarray(self._posts[self._begins[number] : self._begins[number + 1]])

    def sums(self, number: int) -> FloatArray:
        return np.asarray(self._values[:2, self._begins[number] : self._begins[number + 1]])

    def gains(self, number: int) -> FloatArray:
        return np.asarray(self._values[2:, self._begins[number] : self._begins[number + 1]])


def _series(gains: FloatArray, read: IntArray, column: int) -> Series:
    """The values of one subject after these numbers of posts."""
    sums = np.concatenate([np.zeros((1, gains.shape[1])), np.cumsum(gains, axis=0)])[read]
    if not np.array_equal(read, np.arange(1, len(gains) + 1)):
        gains = _gains_between(gains, read)
    return Series(
        posts=read,
        value=sums[:, column],
        other=best_other(sums, column),
        gain=gains[:, column],
        other_gain=best_other(gains, column),
    )


def _gains_between(gains: FloatArray, read: IntArray) -> FloatArray:
    """What each chunk added; not the difference of sums, whose last digits are noise."""
    begins = np.r_[0, read[:-1]]
    added, full = np.zeros((read.size, gains.shape[1])), read > begins
    if full.any():
        added[full] = np.add.reduceat(gains, begins[full], axis=0)
    return added


def _series_of_shares(given: FloatArray) -> Series:
    shares = np.asarray(given, np.float64)
    if shares.ndim != 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"shares must be numbers from 0 to 1, one per post, got {given!r}")
    others, unknown = 1.0 - shares, np.full(shares.size, np.nan)
    return Series(
        posts=np.arange(1, shares.size + 1),
        value=shares,
        other=others,
        gain=unknown,
        other_gain=unknown,
    )


def _chunk_ends(subject: Subject) -> IntArray:
    if not subject.posts:  # no step, as by post
        return np.zeros(0, np.int64)
    sizes = chunk_sizes(len(subject.posts)) if subject.chunks is None else subject.chunks
    return np.cumsum(np.asarray(sizes, np.int64))
