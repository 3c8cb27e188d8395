"""The policy driver: the only code that calls policies and applies their answers.

Readers and watchers advance subjects by one post; replays, tuning and stories run through whole
histories. Both follow the same rules, implemented in `advance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from watchword.streams.policy import Policy, checked_alerts
from watchword.streams.steps import BoolArray, FloatArray, IntArray, Step, share_of


def best_other(values: FloatArray, column: int) -> FloatArray:
    """Return the largest value in the other columns, or 0 if there is only one column."""
    columns = values.shape[-1]
    if columns == 1:
        return np.zeros(values.shape[:-1])
    if columns == 2:
        return values[..., 1 - column]
    return np.asarray(np.delete(values, column, axis=-1).max(axis=-1))


def advance(
    policy: Policy, step: Step, *, read: BoolArray, decided: BoolArray
) -> tuple[BoolArray, FloatArray]:
    """Apply a policy to a step; return a mask of the new alerts and the updated memory.

    A row without a new post, or with an earlier alert, gets no alert. A row's memory changes only
    if a post was read. `step.memory` holds the policy's memory from before the step.
    """
    before = step.memory
    noted = replace(step, memory=before.copy())
    alerts = checked_alerts(policy, noted) & read & ~decided
    if noted.memory.shape[1] and not read.all():
        noted.memory[~read] = before[~read]
    return alerts, noted.memory


@dataclass(frozen=True, eq=False)
class Series:
    """A subject's values after each step (a post or a chunk)."""

    posts: IntArray  #: number of posts read so far
    value: FloatArray  #: accumulated confidence for the positive label
    other: FloatArray  #: accumulated confidence for the best other label
    gain: FloatArray  #: confidence added to `value` by the step
    other_gain: FloatArray  #: largest confidence added to any other label by the step

    @classmethod
    def from_gains(cls, gains: FloatArray, column: int, *, ends: IntArray | None = None) -> Series:
        """Accumulate the confidence of a subject's posts, one row per post, one column per label.

        With `ends`, each step is a chunk, and `ends` holds the number of posts read after each.
        """
        sums = np.cumsum(gains, axis=0)
        if ends is None:
            ends = np.arange(1, len(gains) + 1)
        elif not np.array_equal(ends, np.arange(1, len(gains) + 1)):
            sums = np.concatenate([np.zeros((1, gains.shape[1])), sums])[ends]
            gains = _gains_between(gains, ends)
        return cls(
            posts=ends,
            value=sums[:, column],
            other=best_other(sums, column),
            gain=gains[:, column],
            other_gain=best_other(gains, column),
        )

    @property
    def share(self) -> float:
        """The ratio value / (value + other) after the last step; 0 without evidence."""
        return float(share_of(self.value[-1:], self.other[-1:])[0]) if self.value.size else 0.0


@dataclass(frozen=True, eq=False)
class Histories:
    """The series of several subjects; finds the step at which a policy alerts for each."""

    series: Sequence[Series]

    @cached_property
    def lengths(self) -> IntArray:
        """The number of steps of each subject."""
        return np.array([one.value.size for one in self.series], np.int64)

    @cached_property
    def columns(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Posts, value, other, gain and other_gain of all subjects, concatenated."""
        posts = np.concatenate([one.posts for one in self.series] or [np.zeros(0, np.int64)])
        rows = [(one.value, one.other, one.gain, one.other_gain) for one in self.series]
        parts = zip(*rows, strict=True) if rows else [()] * 4
        value, other, gain, other_gain = (np.concatenate(part or [np.zeros(0)]) for part in parts)
        return posts, value, other, gain, other_gain

    def first_alerts(self, policy: Policy) -> IntArray:
        """Return the index of the step at which each subject is alerted; -1 without an alert."""
        if policy.remembers or policy.is_population:
            return self._first_alerts_step_by_step(policy)
        lengths = self.lengths
        found = np.full(lengths.size, -1, np.int64)
        if not lengths.any():
            return found
        # A policy without memory can be applied to all steps at once.
        step = Step(*self.columns, round=0, memory=np.zeros((int(lengths.sum()), 0)))
        begins = np.cumsum(lengths) - lengths
        before = np.r_[0, step.posts[:-1]]
        before[begins[lengths > 0]] = 0
        read = step.posts > before
        alerts, _ = advance(policy, step, read=read, decided=np.zeros(read.size, np.bool_))
        indices = np.flatnonzero(alerts)
        # A subject without steps begins where the next one does; side="right" finds the next one.
        owners = np.searchsorted(begins, indices, side="right") - 1
        alerted, first = np.unique(owners, return_index=True)
        found[alerted] = indices[first] - begins[alerted]
        return found

    def _first_alerts_step_by_step(self, policy: Policy) -> IntArray:
        """Advance all subjects step by step, for policies with memory or population policies."""
        count, lengths = len(self.series), self.lengths
        present = int((lengths > 0).sum())  # subjects without posts are left out of comparisons
        order = np.argsort(-lengths, kind="stable")  # longest first
        steps = _Steps([self.series[row] for row in order], lengths[order])
        memory = np.zeros((count, policy.remembers))
        first = np.full(count, -1, np.int64)
        current = np.zeros((4, count))  # value, other, gain, other_gain
        posts = np.zeros(count, np.int64)
        for number in range(int(lengths.max(initial=0))):
            size = steps.size(number)
            if not (first[:size] < 0).any():
                break  # the first alert is final, and no other subject has further steps
            seen = present if policy.is_population else size
            read = np.zeros(seen, np.bool_)
            read[:size] = steps.posts(number) > posts[:size]
            posts[:size] = steps.posts(number)
            current[:2, :size] = steps.sums(number)
            current[2:] = 0
            current[2:, :size] = steps.gains(number)
            value, other, gain, other_gain = current[:, :seen]
            step = Step(posts[:seen], value, other, gain, other_gain, number, memory[:seen])
            alerts, memory[:seen] = advance(policy, step, read=read, decided=first[:seen] >= 0)
            first[:seen][alerts] = number
        found = np.empty(count, np.int64)
        found[order] = first
        return found


class _Steps:
    """Series, longest first, transposed: all first steps, then all second steps, and so on."""

    def __init__(self, series: list[Series], lengths: IntArray) -> None:
        longest = int(lengths.max(initial=0))
        self._sizes = np.searchsorted(-lengths, -np.arange(longest), side="left")
        self._begins = np.r_[0, np.cumsum(self._sizes)]
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

    def size(self, number: int) -> int:
        """Return the number of subjects that have this step."""
        return int(self._sizes[number])

    def posts(self, number: int) -> IntArray:
        return np.asarray(self._posts[self._begins[number] : self._begins[number + 1]])

    def sums(self, number: int) -> FloatArray:
        return np.asarray(self._values[:2, self._begins[number] : self._begins[number + 1]])

    def gains(self, number: int) -> FloatArray:
        return np.asarray(self._values[2:, self._begins[number] : self._begins[number + 1]])


def _gains_between(gains: FloatArray, ends: IntArray) -> FloatArray:
    """Return the gains of each chunk, summed over its posts.

    Differences of the accumulated sums would carry rounding errors.
    """
    begins = np.r_[0, ends[:-1]]
    added, full = np.zeros((ends.size, gains.shape[1])), ends > begins
    if full.any():
        added[full] = np.add.reduceat(gains, begins[full], axis=0)
    return added
