"""The ledger: each subject's sums per label, number of posts, policy memory and alert."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from watchword._arrays import BoolArray, FloatArray, IntArray
from watchword._checks import Label
from watchword.errors import StateError
from watchword.model.engine import Engine
from watchword.model.file.codec import fingerprint_of
from watchword.streams.driver import advance, best_other
from watchword.streams.policies import Policy, Step, as_policy
from watchword.streams.policy import ranking_score
from watchword.streams.states import State, policy_hash
from watchword.streams.steps import log_ratio_of

_MOST_POSTS = 2**32 - 1


class Ledger:
    """A table with one row per subject. Rows are appended and never removed."""

    def __init__(self, engine: Engine, policy: Policy) -> None:
        self.policy = as_policy("policy", policy)
        engine.known_label(policy.positive)
        self.rounds = 0
        self._labels = engine.labels
        self._described: tuple[dict[str, Any], str] | None = None  # the policy, and its hash
        self._size = 0
        self._sums: FloatArray = np.zeros((0, len(self._labels)))
        self._memory: FloatArray = np.zeros((0, policy.columns))
        self._posts: NDArray[np.uint32] = np.zeros(0, np.uint32)
        self._delays: NDArray[np.uint32] = np.zeros(0, np.uint32)

    # Rows

    def resize(self, rows: int) -> None:
        """Resize to the given number of rows; new rows are those of subjects without posts."""
        capacity = len(self._posts)
        if rows > capacity:
            # Grow by a quarter: appending is cheap on average, and little memory is wasted.
            added = max(rows, capacity + capacity // 4 + 1) - capacity
            self._sums = _longer(self._sums, added)
            self._memory = _longer(self._memory, added)
            self._posts = _longer(self._posts, added)
            self._delays = _longer(self._delays, added)
        self._size = rows

    def records(self, rows: IntArray) -> tuple[list[int], list[int], Iterator[dict[Label, float]]]:
        """Return the posts, delays (0 without an alert) and sums per label of these rows."""
        # Without a loop in Python: streams with many alerts spend their time here.
        sums = map(dict, map(zip, repeat(self._labels), self._sums[rows].tolist()))
        return self._posts[rows].tolist(), self._delays[rows].tolist(), sums

    def scores(self) -> FloatArray:
        """Return the score of each row that ranks subjects."""
        rows = slice(0, self._size)
        none = np.zeros((self._size, len(self._labels)))
        posts = self._posts[rows].astype(np.int64)
        step = self._step(posts, self._sums[rows], none, self._memory[rows])
        return step.score(ranking_score(self.policy))

    # Reading

    def advance(self, rows: IntArray, labels: tuple[Label, ...], gains: FloatArray) -> BoolArray:
        """Add one post to each of these distinct rows; return a mask of the new alerts."""
        return self._advance(rows, self._aligned(labels, gains), np.ones(rows.size, np.bool_))

    def advance_round(
        self, rows: IntArray, labels: tuple[Label, ...], gains: FloatArray
    ) -> BoolArray:
        """Add one post to each of these rows as one round; return a mask of the new alerts.

        Population policies compare all rows of the ledger.
        """
        if self.rounds >= _MOST_POSTS:
            raise StateError(
                f"the state is full: {_MOST_POSTS} rounds have been read; start a new watcher"
            )
        gains = self._aligned(labels, gains)
        if self.policy.is_population:
            all_rows, read = np.arange(self._size), np.zeros(self._size, np.bool_)
            read[rows] = True
            spread = np.zeros((self._size, gains.shape[1]))
            spread[rows] = gains
            alerted = self._advance(all_rows, spread, read)[rows]
        else:
            alerted = self._advance(rows, gains, np.ones(rows.size, np.bool_))
        self.rounds += 1
        return alerted

    def _aligned(self, labels: tuple[Label, ...], gains: FloatArray) -> FloatArray:
        """Return the gains in the ledger's column order, adding columns for new labels."""
        if labels == self._labels:
            return gains
        if set(labels) <= set(self._labels):  # all columns exist: only the gains are rearranged
            return _rearranged(gains, labels, self._labels)
        # A model may learn or forget labels between two posts; the sums read so far are kept.
        every = (*labels, *(label for label in self._labels if label not in labels))
        self._sums = _rearranged(self._sums, self._labels, every)
        self._labels = every
        return _rearranged(gains, labels, every)

    def _advance(self, rows: IntArray, gains: FloatArray, read: BoolArray) -> BoolArray:
        """Add gains, and one post where `read`; change nothing if the policy raises."""
        sums = self._sums[rows] + gains
        posts = self._posts[rows].astype(np.int64) + read
        if posts.max(initial=0) > _MOST_POSTS:
            raise StateError(
                f"the state is full: {_MOST_POSTS} posts of a subject have been read; "
                "start a new state"
            )
        step = self._step(posts, sums, gains, self._memory[rows])
        new, memory = advance(self.policy, step, read=read, decided=self._delays[rows] != 0)
        if step.log_ratios is not None:
            memory = np.column_stack([memory, step.log_ratios])
        self._sums[rows], self._posts[rows], self._memory[rows] = sums, posts, memory
        self._delays[rows[new]] = posts[new]
        return new

    def _step(
        self, posts: IntArray, sums: FloatArray, gains: FloatArray, memory: FloatArray
    ) -> Step:
        """Return a step from sums that include the gains, and the memory from before them."""
        column = self._labels.index(self.policy.positive)
        gain, other_gain = gains[:, column], best_other(gains, column)
        log_ratios = None
        if self.policy.sums_log_ratios:
            log_ratios = memory[:, -1] + log_ratio_of(gain, other_gain)
        return Step(
            posts=posts,
            value=sums[:, column],
            other=best_other(sums, column),
            gain=gain,
            other_gain=other_gain,
            round=self.rounds,
            memory=memory[:, : self.policy.remembers],
            log_ratios=log_ratios,
        )

    # Keeping

    def state_of(self, rows: int | slice, engine: Engine) -> State:
        """Return the state of some rows."""
        chosen = slice(rows, rows + 1) if isinstance(rows, int) else rows
        if self._described is None:
            self._described = self.policy.to_dict(), policy_hash(self.policy)
        policy, hashed = self._described
        return State(
            model=fingerprint_of(engine),
            policy=policy,
            policy_hash=hashed,
            labels=self._labels,
            rounds=self.rounds,
            posts=self._posts[chosen],
            delays=self._delays[chosen],
            sums=self._sums[chosen],
            memory=self._memory[chosen],
        )

    def restore(self, state: State) -> None:
        """Copy all rows of a checked state into the ledger."""
        self.rounds = state.rounds
        rows = len(state.posts)
        self._posts[:rows], self._delays[:rows] = state.posts, state.delays
        self._memory[:rows] = state.memory
        missing = [label for label in self._labels if label not in state.labels]
        every = (*state.labels, *missing)
        self._sums = _rearranged(self._sums, self._labels, every)
        self._labels = every
        self._sums[:rows, : len(state.labels)] = state.sums


def _longer(array: NDArray[Any], added: int) -> NDArray[Any]:
    return np.concatenate([array, np.zeros((added, *array.shape[1:]), array.dtype)])


def _rearranged(
    values: FloatArray, labels: tuple[Label, ...], wanted: tuple[Label, ...]
) -> FloatArray:
    """Return the columns in the order of `wanted`, with zeros for labels that are not there."""
    moved = np.zeros((values.shape[0], len(wanted)))
    for column, label in enumerate(labels):
        moved[:, wanted.index(label)] = values[:, column]
    return moved
