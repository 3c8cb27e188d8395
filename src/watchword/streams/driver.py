"""The policy driver: the only code that calls policies and applies their answers.

Readers and watchers advance subjects by one post; replays, tuning and stories run through whole
histories. Both follow the same rules, implemented in `advance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from watchword._arrays import BoolArray, FloatArray, IntArray
from watchword.streams.policy import Policy, checked_alerts
from watchword.streams.steps import Step, share_of


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
    def posts(self) -> IntArray:
        """The numbers of posts of all subjects after each of their steps, concatenated."""
        return np.concatenate([np.zeros(0, np.int64), *(one.posts for one in self.series)])

    @cached_property
    def values(self) -> FloatArray:
        """The rows value, other, gain and other_gain of all subjects, concatenated."""
        rows = [np.stack([s.value, s.other, s.gain, s.other_gain]) for s in self.series]
        return np.concatenate([np.zeros((4, 0)), *rows], axis=1)

    @cached_property
    def _by_step(self) -> tuple[IntArray, list[int], IntArray, FloatArray]:
        """The row of each subject, longest series first, and by step: sizes, posts and values.

        All first steps come first, then all second steps, and so on. A step has the first rows.
        """
        lengths = self.lengths
        rows = np.empty_like(lengths)
        rows[np.argsort(-lengths, kind="stable")] = np.arange(lengths.size)
        numbers = np.arange(self.posts.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        order = np.lexsort((np.repeat(rows, lengths), numbers))
        return rows, np.bincount(numbers).tolist(), self.posts[order], self.values[:, order]

    def first_alerts(self, policy: Policy) -> IntArray:
        """Return the index of the step at which each subject is alerted; -1 without an alert."""
        if policy.remembers or policy.is_population:
            return self._first_alerts_step_by_step(policy)
        lengths = self.lengths
        found = np.full(lengths.size, -1, np.int64)
        if not lengths.any():
            return found
        # A policy without memory can be applied to all steps at once.
        value, other, gain, other_gain = self.values
        memory = np.zeros((self.posts.size, 0))
        step = Step(self.posts, value, other, gain, other_gain, 0, memory)
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
        count = len(self.series)
        present = int((self.lengths > 0).sum())  # subjects without posts are not compared with
        rows, sizes, all_posts, all_values = self._by_step
        memory = np.zeros((count, policy.remembers))
        first = np.full(count, -1, np.int64)
        current = np.zeros((4, count))  # value, other, gain, other_gain
        posts = np.zeros(count, np.int64)
        end = 0
        for number, size in enumerate(sizes):
            begin, end = end, end + size
            if not (first[:size] < 0).any():
                break  # the first alert is final, and no other subject has further steps
            seen = present if policy.is_population else size
            read = np.zeros(seen, np.bool_)
            read[:size] = all_posts[begin:end] > posts[:size]
            posts[:size] = all_posts[begin:end]
            current[2:] = 0
            current[:, :size] = all_values[:, begin:end]
            value, other, gain, other_gain = current[:, :seen]
            step = Step(posts[:seen], value, other, gain, other_gain, number, memory[:seen])
            alerts, memory[:seen] = advance(policy, step, read=read, decided=first[:seen] >= 0)
            first[:seen][alerts] = number
        return first[rows]


def _gains_between(gains: FloatArray, ends: IntArray) -> FloatArray:
    """Return the gains of each chunk, summed over its posts.

    Differences of the accumulated sums would carry rounding errors.
    """
    begins = np.r_[0, ends[:-1]]
    added, full = np.zeros((ends.size, gains.shape[1])), ends > begins
    if full.any():
        added[full] = np.add.reduceat(gains, begins[full], axis=0)
    return added
