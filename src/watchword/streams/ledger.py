"""The ledger: each subject's sums per label, number of posts, policy memory and alert."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np

from watchword._checks import FloatArray, IntArray, Label
from watchword.model.engine import Engine
from watchword.model.native import Score, SubjectTable
from watchword.streams.policies import Policy, as_policy, check_needs
from watchword.streams.policy_base import compiled, ranking_score
from watchword.streams.sources import ScoreSource, combination_of, source_fingerprint
from watchword.streams.states import State, policy_hash

LedgerRow = tuple[int, int, dict[Label, float]]
"""The delay (0 without an alert), the number of posts and the sums per label of a subject."""

Records = tuple[list[int], list[int], list[int], list[dict[Label, float]]]
"""Indices into the given rows and, for each, the delay, the number of posts and the sums."""


class Ledger:
    """A table with one row per subject, kept by the core. Rows are appended and never removed."""

    def __init__(self, engine: ScoreSource, policy: Policy) -> None:
        self.policy = as_policy("policy", policy)
        engine.known_label(policy.positive)
        combination = combination_of(engine)
        self._has = combination.provides
        check_needs(policy, self._has)
        self._engine = engine
        rule, labels = compiled(policy), list(engine.labels)
        self._new_table = partial(
            SubjectTable,
            rule,
            policy.positive,
            labels,
            policy.sums_log_ratios,
            combination.native,
        )
        self._table = self._new_table()
        self._described: tuple[dict[str, Any], str] | None = None  # the policy, and its hash

    def blank(self, rows: int) -> Ledger:
        """Return a ledger of the same model and policy with rows of subjects without posts."""
        ledger = copy(self)
        ledger._table = self._new_table()
        ledger.resize(rows)
        return ledger

    @property
    def rounds(self) -> int:
        """The number of rounds read so far."""
        return self._table.rounds()

    def resize(self, rows: int) -> None:
        """Resize to the given number of rows; new rows are those of subjects without posts."""
        self._table.resize(rows)

    def records(self, rows: IntArray) -> Records:
        """Return the current records of these rows."""
        return self._table.records(rows)

    def scores(self) -> FloatArray:
        """Return the score of each row that ranks subjects."""
        return self._table.scores(Score[ranking_score(self.policy, self._has)])

    # Reading

    def read_text(self, row: int, text: str) -> LedgerRow:
        """Read one post of a row."""
        engine = self._engine
        if isinstance(engine, Engine) and engine.is_native:
            while (found := self._table.read_text(engine.native, row, text)) is None:
                engine.refuse_if_empty()
            return found
        labels, gains = engine.evidence([text], 1)
        _, [delay], [posts], [sums] = self.read(np.array([row]), labels, gains, every=True)
        return delay, posts, sums

    def read(
        self, rows: IntArray, labels: tuple[Label, ...], gains: FloatArray, *, every: bool
    ) -> Records:
        """Add posts in order, given the row of each; return the records after each.

        Without `every`, return only those of new alerts. If the policy raises, the post that it
        was called for and later posts of the same subject are not added.
        """
        return self._table.read(rows, list(labels), gains, every)

    def read_round(self, rows: IntArray, labels: tuple[Label, ...], gains: FloatArray) -> Records:
        """Add one post to each of these rows as one round; return the records of new alerts.

        Population policies compare all rows of the ledger.
        """
        return self._table.read_round(rows, list(labels), gains)

    # Keeping

    def state_of(self, begin: int, end: int) -> State:
        """Return the state of consecutive rows."""
        if self._described is None:
            self._described = self.policy.to_dict(), policy_hash(self.policy)
        policy, hashed = self._described
        return State(
            model=source_fingerprint(self._engine),
            policy=policy,
            policy_hash=hashed,
            labels=tuple(self._table.labels()),
            rounds=self.rounds,
            **self._table.rows(begin, end),
        )

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the columns of sums."""
        return tuple(self._table.labels())

    def contents(self, begin: int, end: int) -> dict[str, Any]:
        """Return the arrays posts, delays, sums and memory of consecutive rows."""
        return self._table.rows(begin, end)

    def restore(self, state: State) -> None:
        """Copy all rows of a checked state into the ledger."""
        self._table.restore(
            list(state.labels), state.rounds, state.posts, state.delays, state.sums, state.memory
        )
