"""The subjects of a group as rows of a ledger: loaded from the store and written back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from watchword._arrays import FloatArray, IntArray
from watchword._checks import Label
from watchword.service.layouts import Layouts, Reading, aligned, cut
from watchword.service.records import now
from watchword.service.store import Session, blobs, decoded, encoded, encoded_all
from watchword.service.stored_posts import PostIndex
from watchword.streams.ledger import Ledger
from watchword.streams.states import State

_Value = TypeVar("_Value")

COLUMNS = "id, name, layout, posts, delay, first_time, last_time, state, recent, older"
NO_LAYOUT = 0  # of a subject without posts, whose state is empty

_INSERT = (
    "INSERT INTO subjects (layout, posts, delay, score, first_time, last_time, state, recent, "
    "older, id, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE = (
    "UPDATE subjects SET layout = ?, posts = ?, delay = ?, score = ?, first_time = ?, "
    "last_time = ?, state = ?, recent = ?, older = ? WHERE id = ?"
)


class SubjectRows:
    """A ledger with a row per subject, and what the store knows about each."""

    def __init__(self, reading: Reading, layouts: Layouts, names: list[str]) -> None:
        count = len(names)
        self.reading = reading
        self.names = names
        self.arrived = now()  # the time of the group
        self.ids = [0] * count
        self.is_new = [True] * count
        self.posts: IntArray = np.zeros(count, np.int64)  # before the group
        self.first_times: list[int | None] = [None] * count
        self.last_times: list[int | None] = [None] * count
        self.index = PostIndex(count)
        self.stale: set[int] = set()  # rows whose memory is that of another policy
        self.ledger = Ledger(reading.engine, reading.policy)
        self.ledger.resize(count)
        self.layouts = layouts

    @classmethod
    def load(
        cls,
        session: Session,
        layouts: Layouts,
        reading: Reading,
        names: list[str],
        labels: tuple[Label, ...],
    ) -> SubjectRows:
        """Load the subjects of these names; those that the store lacks get ids."""
        rows = cls(reading, layouts, names)
        index = dict(zip(encoded_all(names), range(len(names)), strict=True))
        found = session.lock_subjects(COLUMNS, list(index))
        rows._fill(session, [(index[one[1]], one) for one in found], labels)
        new = [row for row, is_new in enumerate(rows.is_new) if is_new]
        for row, key in zip(new, session.new_ids("subjects", len(new)) if new else (), strict=True):
            rows.ids[row] = key
        return rows

    @classmethod
    def load_all(
        cls, session: Session, layouts: Layouts, reading: Reading, found: Sequence[Any]
    ) -> SubjectRows:
        """Load subjects that were found in the store, in their order."""
        rows = cls(reading, layouts, [decoded(one[1]) for one in found])
        rows._fill(session, list(enumerate(found)), reading.engine.labels)
        return rows

    def _fill(
        self, session: Session, found: list[tuple[int, Any]], labels: tuple[Label, ...]
    ) -> None:
        """Copy states into the ledger."""
        delays = np.zeros(len(self.names), np.uint32)
        by_layout: dict[int, tuple[list[int], list[bytes]]] = {}
        if found:
            where = [row for row, _ in found]
            keys, _, layouts, posts, own_delays, firsts, lasts, states, recent, older = zip(
                *(one for _, one in found), strict=True
            )
            for own, column in (
                (self.ids, keys),
                (self.first_times, firsts),
                (self.last_times, lasts),
                (self.index.recent, recent),
                (self.index.older, older),
            ):
                _scatter(own, where, column)
            _scatter(self.is_new, where, repeat(False))
            self.posts[where], delays[where] = posts, own_delays
            if len(set(layouts)) == 1:
                by_layout = {layouts[0]: (where, list(states))}
            else:
                for row, layout, state in zip(where, layouts, states, strict=True):
                    rows, blobs = by_layout.setdefault(layout, ([], []))
                    rows.append(row)
                    blobs.append(state)
            by_layout.pop(NO_LAYOUT, None)
        known = self.layouts.get(session, by_layout)
        every = [label for one in known.values() for label in one.labels]
        union = tuple(dict.fromkeys((*labels, *every)))
        sums = np.zeros((len(self.names), len(union)))
        memory = np.zeros((len(self.names), self.reading.policy.columns))
        for key, (rows, blobs) in by_layout.items():
            layout = known[key]
            sums[rows] = aligned(blobs, layout.labels, union)
            if layout.policy_hash == self.reading.policy_hash:
                memory[rows] = _memory(blobs, len(layout.labels))
            elif self.reading.policy.columns:
                self.stale.update(rows)
        content = {"posts": self.posts.astype(np.uint32), "delays": delays}
        self.restore(content | {"sums": sums, "memory": memory}, union)

    def restore(
        self, content: dict[str, Any], labels: tuple[Label, ...] | None = None, *, rounds: int = 0
    ) -> None:
        """Replace all rows of the ledger, by default with the labels that it has."""
        known = self.ledger.labels if labels is None else labels
        self.ledger.restore(State("", None, "", known, rounds, **content))

    def contents(self) -> dict[str, Any]:
        """Return the arrays of the ledger."""
        return self.ledger.contents(0, len(self.names))

    def see_times(self, rows: Sequence[int], times: Iterable[int]) -> None:
        """Widen the time between the first and the last post of each row."""
        firsts, lasts = self.first_times, self.last_times
        for row, at in zip(rows, times, strict=True):
            first, last = firsts[row], lasts[row]
            if first is None or at < first:
                firsts[row] = at
            if last is None or at > last:
                lasts[row] = at

    def write_unread(self, session: Session) -> None:
        """Write subjects whose new posts wait to be read: these are only entered in the index."""
        every = zip(
            self.index.recent, self.index.older, self.ids, self.names, self.is_new, strict=True
        )
        new, known = [], []
        for recent, older, key, name, is_new in every:
            if is_new:
                blank = (NO_LAYOUT, 0, 0, 0.0, None, None, b"")
                new.append((*blank, recent, older, key, encoded(name)))
            else:
                known.append((recent, older, key))
        session.many(_INSERT, new)
        session.many("UPDATE subjects SET recent = ?, older = ? WHERE id = ?", known)

    def write(self, session: Session) -> None:
        """Write the rows that have new posts."""
        now = self.contents()
        changed = np.flatnonzero(now["posts"] != self.posts)
        if not changed.size:
            return
        layout = self.layouts.id_of(session, self.reading, self.ledger.labels)
        values = list(
            zip(
                [layout] * len(self.names),
                now["posts"].tolist(),
                now["delays"].tolist(),
                self.ledger.scores().tolist(),
                self.first_times,
                self.last_times,
                cut(np.concatenate([now["sums"], now["memory"]], axis=1)),
                blobs(self.index.recent),
                self.index.older,
                self.ids,
                strict=True,
            )
        )
        if changed.size < len(self.names):
            values = [values[row] for row in changed.tolist()]
            is_new = [self.is_new[row] for row in changed.tolist()]
            names = [self.names[row] for row in changed.tolist()]
        else:
            is_new, names = self.is_new, self.names
        if True in is_new:
            session.many(
                _INSERT,
                [
                    (*own, encoded(name))
                    for own, name, new in zip(values, names, is_new, strict=True)
                    if new
                ],
            )
            values = [own for own, new in zip(values, is_new, strict=True) if not new]
        session.many(_UPDATE, values)


def _scatter(column: list[_Value], rows: Sequence[int], values: Iterable[_Value]) -> None:
    """Set the values of some rows."""
    for row, value in zip(rows, values, strict=False):
        column[row] = value


def _memory(blobs: list[bytes], labels: int) -> FloatArray:
    values = np.frombuffer(b"".join(blobs), "<f8").reshape(len(blobs), -1)
    return values[:, labels:]
