"""Whole histories of subjects, of one (`Series`) and of many (`Histories`), read with a policy.

Only the driver, `advance` in `src/core/policy.cpp`, applies policies. Readers and watchers advance
subjects by one post in the core; replays, tuning and stories run through whole histories here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from watchword._checks import BoolArray, FloatArray, IntArray
from watchword.model.native import feature_table
from watchword.streams.policy_base import Policy, compiled
from watchword.streams.steps import SUM, Combination, ScoreName, Step, advance, log_ratio_of


def best_other(values: FloatArray, column: int) -> FloatArray:
    """Return the largest value in the other columns, or 0 if there is only one column."""
    columns = values.shape[-1]
    if columns == 1:
        return np.zeros(values.shape[:-1])
    if columns == 2:
        return values[..., 1 - column]
    return np.asarray(np.delete(values, column, axis=-1).max(axis=-1))


@dataclass(frozen=True, eq=False)
class Series:
    """A subject's values after each step (a post or a chunk)."""

    posts: IntArray  #: number of posts read so far
    value: FloatArray  #: accumulated confidence for the positive label
    other: FloatArray  #: accumulated confidence for the best other label
    gain: FloatArray  #: confidence added to `value` by the step
    other_gain: FloatArray  #: largest confidence added to any other label by the step
    log_ratios: FloatArray  #: sum over posts of their log-ratios, see `log_ratio_of`

    @classmethod
    def from_gains(
        cls,
        gains: FloatArray,
        column: int,
        *,
        ends: IntArray | None = None,
        combination: Combination = SUM,
    ) -> Series:
        """Accumulate the confidence of a subject's posts, one row per post, one column per label.

        With `ends`, each step is a chunk, and `ends` holds the number of posts read after each.
        """
        sums = combination.values_of(gains, column)
        log_ratios = np.cumsum(log_ratio_of(gains[:, column], best_other(gains, column)))
        if ends is None:
            ends = np.arange(1, len(gains) + 1)
        elif not np.array_equal(ends, np.arange(1, len(gains) + 1)):
            sums = np.concatenate([np.zeros((1, gains.shape[1])), sums])[ends]
            log_ratios = np.r_[0.0, log_ratios][ends]
            gains = _gains_between(gains, ends)
        return cls(
            posts=ends,
            value=sums[:, column],
            other=best_other(sums, column),
            gain=gains[:, column],
            other_gain=best_other(gains, column),
            log_ratios=log_ratios,
        )


class Histories:
    """The series of several subjects; finds the step at which a policy alerts for each."""

    def __init__(self, series: Sequence[Series]) -> None:
        self.lengths: IntArray = np.array([one.value.size for one in series], np.int64)
        #: The numbers of posts of all subjects after each of their steps, concatenated.
        self.posts = np.concatenate([np.zeros(0, np.int64), *(one.posts for one in series)])
        rows = [[s.value, s.other, s.gain, s.other_gain, s.log_ratios] for s in series]
        self._values = np.concatenate([np.zeros((5, 0)), *map(np.stack, rows)], axis=1)
        #: All steps of all subjects as one, without memory.
        self.steps = _step_of(self.posts, self._values, 0, np.zeros((self.posts.size, 0)))

    @cached_property
    def features(self) -> FloatArray:
        """The features of `Weighs` after each step of all subjects, a column for each."""
        return feature_table(self.steps.native(self.steps.memory))

    @cached_property
    def is_read(self) -> BoolArray:
        """Where a step of `steps` has new posts: chunks may be empty."""
        begins = (np.cumsum(self.lengths) - self.lengths)[self.lengths > 0]
        before = np.r_[0, self.posts[:-1]]
        before[begins] = 0
        return np.asarray(self.posts > before)

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
        return rows, np.bincount(numbers).tolist(), self.posts[order], self._values[:, order]

    def first_alerts(self, policy: Policy) -> IntArray:
        """Return the index of the step at which each subject is alerted; -1 without an alert."""
        if policy.remembers or policy.is_population:
            return self._first_alerts_step_by_step(policy)
        if not self.posts.size:
            return np.full(self.lengths.size, -1, np.int64)
        # A policy without memory can be applied to all steps at once.
        read = self.is_read
        step, undecided = _seen_by(policy, self.steps), np.zeros(read.size, np.bool_)
        alerts = advance(compiled(policy), step, read=read, decided=undecided)
        indices = np.append(np.flatnonzero(alerts), read.size)
        begins = np.cumsum(self.lengths) - self.lengths
        first = indices[np.searchsorted(indices, begins)] - begins
        return np.where(first < self.lengths, first, -1)

    def _first_alerts_step_by_step(self, policy: Policy) -> IntArray:
        """Advance all subjects step by step, for policies with memory or population policies."""
        rule = compiled(policy)
        count = self.lengths.size
        present = int((self.lengths > 0).sum())  # subjects without posts are not compared with
        rows, sizes, all_posts, all_values = self._by_step
        memory = np.zeros((count, policy.remembers))
        first = np.full(count, -1, np.int64)
        current = np.zeros((5, count))  # value, other, gain, other_gain, log_ratios
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
            current[2:4] = 0
            current[:, :size] = all_values[:, begin:end]
            step = _step_of(posts[:seen], current[:, :seen], number, memory[:seen])
            step = _seen_by(policy, step)
            alerts = advance(rule, step, read=read, decided=first[:seen] >= 0)
            first[:seen][alerts] = number
        return first[rows]

    def scores(self, name: ScoreName, *, posts: int | None = None) -> FloatArray:
        """Return each subject's score after its last step, or the last with at most `posts`.

        The score of a subject without steps is 0.
        """
        lengths = self.lengths
        counted = lengths
        if posts is not None:
            owners = np.repeat(np.arange(lengths.size), lengths)
            counted = np.bincount(owners[self.posts <= posts], minlength=lengths.size)
        found = np.zeros(lengths.size)
        last = (np.cumsum(lengths) - lengths + counted - 1)[counted > 0]
        step = _step_of(self.posts[last], self._values[:, last], 0, np.zeros((last.size, 0)))
        found[counted > 0] = step.score(name)
        return found


def _step_of(posts: IntArray, values: FloatArray, number: int, memory: FloatArray) -> Step:
    """Return a step from the rows of `Histories._values`."""
    value, other, gain, other_gain, log_ratios = values
    return Step(posts, value, other, gain, other_gain, number, memory, log_ratios)


def _seen_by(policy: Policy, step: Step) -> Step:
    """Return the step as a reader passes it to the policy."""
    return step if policy.sums_log_ratios else replace(step, log_ratios=None)


def _gains_between(gains: FloatArray, ends: IntArray) -> FloatArray:
    """Return the gains of each chunk, summed over its posts.

    Differences of the accumulated sums would carry rounding errors.
    """
    begins = np.r_[0, ends[:-1]]
    added, full = np.zeros((ends.size, gains.shape[1])), ends > begins
    if full.any():
        added[full] = np.add.reduceat(gains, begins[full], axis=0)
    return added
