"""The state of a subject in Spark, and how posts update it.

The state is one value per subject: the bytes of `Reader.to_bytes`, the hashes of the latest post
ids (8 bytes each, oldest first), and the highest order so far. Spark checks the columns when a
query resumes from a checkpoint; the bytes have their own version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from watchword.model.engine import engine_of
from watchword.spark.opening import ModelFile
from watchword.streams import states
from watchword.streams.ledger import Ledger
from watchword.streams.policies import Policy

STATE = "reader binary, seen binary, last long"
STATE_NAME = "subject"
_HASH = 8
_ROW = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Watching:
    """The settings for reading subjects, sent to workers."""

    model: ModelFile
    policy: Policy
    columns: tuple[str, ...]  # of a post besides its gains
    horizon: int | None  # latest post ids to remember; None: the order must increase
    alerts_only: bool
    allow_changed_model: bool

    @property
    def has_order(self) -> bool:
        """Whether a column orders the posts."""
        return "order" in self.columns


class SubjectProcessor:
    """A processor that reads the posts of one subject at a time.

    It implements the methods of pyspark's `StatefulProcessor`, which Spark calls by name.
    """

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._state: Any = None
        self._desk: Desk | None = None

    def init(self, handle: Any) -> None:
        """Declare the state of a subject."""
        self._state = handle.getValueState(STATE_NAME, STATE)

    def handleInputRows(self, key: Any, rows: Iterable[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803, ARG002
        """Read the new posts of a subject and yield the decision after each."""
        from pyspark.sql import Row

        if self._desk is None:
            self._desk = Desk(self._watching)
        found, kept = self._desk.read(self._state.get(), rows)
        self._state.update(kept)
        template = Row(*self._watching.columns, "posts", "delay", "sums")
        return (template(*each) for each in found)

    def handleExpiredTimer(self, *_: Any) -> Iterator[Any]:  # noqa: N802
        """Return no rows: no timers are used."""
        return iter(())

    def close(self) -> None:
        """Do nothing: no resources are open."""


Kept = tuple[bytes, bytes, int | None]


class Desk:
    """A reader of one subject at a time, with the data shared by all subjects computed once."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._engine = engine_of(watching.model.open())
        self._labels = self._engine.labels
        self._ledger = self._new_ledger()
        blank = states.to_bytes(self._ledger.state_of(0, 1))
        self._blank = states.from_bytes(blank)
        self._own = blank[: states.IDENTITY]  # header of all states of this model and policy

    def _new_ledger(self) -> Ledger:
        ledger = Ledger(self._engine, self._watching.policy)
        ledger.resize(1)
        return ledger

    def read(self, kept: Kept | None, rows: Iterable[Any]) -> tuple[list[tuple[Any, ...]], Kept]:
        """Return the decisions after each of these posts, and the new state of the subject."""
        reader, seen, last = (None, b"", None) if kept is None else kept
        ledger = self._ledger_of(None if reader is None else bytes(reader))
        marks = _Marks(self._watching, bytes(seen), last)
        found = list(self._decisions(ledger, marks, rows))
        state = states.to_bytes(ledger.state_of(0, 1))
        return found, (state, marks.to_bytes(), marks.last)

    def _ledger_of(self, reader: bytes | None) -> Ledger:
        """Return a ledger with the state of one subject."""
        ledger, state = self._ledger, self._blank
        if reader is not None:
            state, watching = states.from_bytes(reader), self._watching
            if reader[: states.IDENTITY] != self._own:
                allowed = watching.allow_changed_model
                states.check(state, self._engine, watching.policy, allow_changed_model=allowed)
            if state.labels != self._labels:
                # It gets extra columns that other subjects must not have.
                ledger = self._new_ledger()
        ledger.restore(state)
        return ledger

    def _decisions(
        self, ledger: Ledger, marks: _Marks, rows: Iterable[Any]
    ) -> Iterator[tuple[Any, ...]]:
        """Read posts in their order, without duplicates."""
        watching = self._watching
        placed = [(row["order"] if watching.has_order else 0, row) for row in rows]
        placed.sort(key=lambda pair: (pair[0], pair[1]["place"]))
        for place, row in placed:
            if marks.was_read(place, row):
                continue
            gains = np.frombuffer(row["gains"], "<f8").reshape(1, -1)
            every = not watching.alerts_only
            _, *records = ledger.read(_ROW, self._labels, gains, every=every)
            for delay, posts, sums in zip(*records, strict=True):
                values = [sums[label] for label in self._labels]
                yield (*(row[name] for name in watching.columns), posts, delay, values)


class _Marks:
    """A record of the posts of a subject that were read."""

    def __init__(self, watching: Watching, seen: bytes, last: int | None) -> None:
        self.last = last
        self._watching = watching
        self._seen = dict.fromkeys(_hashes(seen))  # in order of arrival

    def was_read(self, place: int, row: Any) -> bool:
        """Return whether the post was read before; record it otherwise."""
        watching, last = self._watching, self.last
        if watching.has_order:
            self.last = place if last is None else max(last, place)
        if watching.horizon is None:
            return watching.has_order and last is not None and place <= last
        mark = _hash(row["post_id"])
        if mark in self._seen:
            return True
        self._seen[mark] = None
        if len(self._seen) > watching.horizon:
            del self._seen[next(iter(self._seen))]
        return False

    def to_bytes(self) -> bytes:
        return b"".join(self._seen)


def _hash(post_id: object) -> bytes:
    return hashlib.blake2b(str(post_id).encode(), digest_size=_HASH).digest()


def _hashes(seen: bytes) -> Iterator[bytes]:
    return (seen[at : at + _HASH] for at in range(0, len(seen), _HASH))
