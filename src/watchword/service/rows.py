"""Layouts: the meaning of stored numbers; and the subjects of a group as rows of a ledger.

A layout names the labels of the columns of a state or a contribution, the model and the policy.
Stored rows refer to it, so that they hold only numbers, and a batch of them is decoded at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from watchword._checks import FloatArray, IntArray, Label
from watchword.model.engine import Engine, engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.service.records import now
from watchword.service.store import Session, blobs, decoded, encoded, encoded_all
from watchword.service.stored_posts import PostIndex
from watchword.streams.ledger import Ledger
from watchword.streams.notation import spell_policy
from watchword.streams.policies import Policy
from watchword.streams.states import State, policy_hash

_COLUMNS = "id, labels, policy, policy_hash, model"


@dataclass(frozen=True)
class Detector:
    """A model and a policy in use, and the number of the model's version."""

    model: TauSS3
    policy: Policy
    version: int

    @cached_property
    def engine(self) -> Engine:
        """The engine of the model."""
        return engine_of(self.model)

    @cached_property
    def ledger(self) -> Ledger:
        """A ledger without rows, to make others of."""
        return Ledger(self.engine, self.policy)

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the model."""
        return self.model.fingerprint

    @cached_property
    def policy_hash(self) -> str:
        """The hash of the policy."""
        return policy_hash(self.policy)

    @cached_property
    def spelling(self) -> str:
        """The policy in the notation of the command line."""
        return spell_policy(self.policy)


@dataclass(frozen=True)
class Layout:
    """The labels of columns, and the policy and the model that they were read with."""

    id: int
    labels: tuple[Label, ...]
    policy: str
    policy_hash: str
    model: str

    def by_label(self, blob: bytes) -> dict[Label, float]:
        """Return the numbers of the labels in a state, sums or contribution."""
        return dict(zip(self.labels, np.frombuffer(blob, "<f8").tolist(), strict=False))


class Layouts:
    """The layouts of a store. There are few: one per model and policy."""

    def __init__(self) -> None:
        self._known: dict[int, Layout] = {}
        self._ids: dict[tuple[str, str, tuple[Label, ...]], int] = {}

    def get(self, session: Session, ids: Iterable[int]) -> dict[int, Layout]:
        """Return layouts by their ids."""
        found = {}
        for key in set(ids):
            own = self._known.get(key)
            if own is None:
                [row] = session.run(f"SELECT {_COLUMNS} FROM layouts WHERE id = ?", key)
                own = self._known[key] = Layout(row[0], tuple(json.loads(row[1])), *row[2:])
            found[key] = own
        return found

    def id_of(self, session: Session, detector: Detector, labels: Sequence[Label]) -> int:
        """Return the id of the layout of a detector with these labels; create it if it is new.

        One that this transaction creates is looked up again next time: it may be rolled back.
        """
        key = detector.fingerprint, detector.policy_hash, tuple(labels)
        if key in self._ids:
            return self._ids[key]
        content = detector.fingerprint, detector.policy_hash, json.dumps(list(labels))
        query = "SELECT id FROM layouts WHERE model = ? AND policy_hash = ? AND labels = ?"
        if found := session.run(query, *content):
            return self._ids.setdefault(key, found[0][0])
        session.run(
            "INSERT INTO layouts (model, policy_hash, labels, policy) VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            *content,
            detector.spelling,
        )
        return int(session.run(query, *content)[0][0])

    def forget_unsettled(self) -> None:
        """Forget layouts that a transaction read which was rolled back."""
        self._known.clear()
        self._ids.clear()


def cut(values: FloatArray) -> list[bytearray]:
    """Return each row of numbers as bytes, in the type that `blobs` explains.

    >>> [len(row) for row in cut(np.zeros((3, 2)))]
    [16, 16, 16]
    """
    raw = bytearray(np.ascontiguousarray(values, "<f8"))
    width = values.shape[1] * 8
    if not width:
        return [bytearray()] * len(values)
    return [raw[at : at + width] for at in range(0, len(raw), width)]


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

    def __init__(self, detector: Detector, layouts: Layouts, names: list[str]) -> None:
        count = len(names)
        self.detector = detector
        self.names = names
        self.arrived = now()  # the time of the group
        self.ids = [0] * count
        self.is_new = [True] * count
        self.posts: IntArray = np.zeros(count, np.int64)  # before the group
        self.first_times: list[int | None] = [None] * count
        self.last_times: list[int | None] = [None] * count
        self.index = PostIndex(count)
        self.stale: set[int] = set()  # rows whose memory is that of another policy
        self.ledger = detector.ledger.blank(count)
        self.layouts = layouts

    @classmethod
    def load(
        cls,
        session: Session,
        layouts: Layouts,
        detector: Detector,
        names: list[str],
        labels: tuple[Label, ...],
    ) -> SubjectRows:
        """Load the subjects of these names; those that the store lacks get ids."""
        rows = cls(detector, layouts, names)
        index = dict(zip(encoded_all(names), range(len(names)), strict=True))
        found = session.lock_subjects(COLUMNS, list(index))
        rows._fill(session, [(index[one[1]], one) for one in found], labels)
        new = [row for row, is_new in enumerate(rows.is_new) if is_new]
        for row, key in zip(new, session.new_ids("subjects", len(new)) if new else (), strict=True):
            rows.ids[row] = key
        return rows

    @classmethod
    def load_all(
        cls, session: Session, layouts: Layouts, detector: Detector, found: Sequence[Any]
    ) -> SubjectRows:
        """Load subjects that were found in the store, in their order."""
        rows = cls(detector, layouts, [decoded(one[1]) for one in found])
        rows._fill(session, list(enumerate(found)), detector.engine.labels)
        return rows

    def _fill(
        self, session: Session, found: list[tuple[int, Any]], labels: tuple[Label, ...]
    ) -> None:
        delays = np.zeros(len(self.names), np.uint32)
        by_layout: dict[int, tuple[list[int], list[bytes]]] = {}
        for row, (key, _, layout, posts, delay, first, last, state, recent, older) in found:
            self.ids[row], self.is_new[row] = key, False
            self.posts[row], delays[row] = posts, delay
            self.first_times[row], self.last_times[row] = first, last
            self.index.recent[row], self.index.older[row] = recent, older
            if layout != NO_LAYOUT:
                rows, states = by_layout.setdefault(layout, ([], []))
                rows.append(row)
                states.append(state)
        known = self.layouts.get(session, by_layout)
        every = [label for one in known.values() for label in one.labels]
        union = tuple(dict.fromkeys((*labels, *every)))
        sums = np.zeros((len(self.names), len(union)))
        memory = np.zeros((len(self.names), self.detector.policy.columns))
        for number, (rows, states) in by_layout.items():
            own = known[number]
            width = len(own.labels)
            values = np.frombuffer(b"".join(states), "<f8").reshape(len(states), -1)
            if own.labels == union[:width]:  # the usual case, and much quicker
                sums[rows, :width] = values[:, :width]
            else:
                sums[np.ix_(rows, list(map(union.index, own.labels)))] = values[:, :width]
            if own.policy_hash == self.detector.policy_hash:
                memory[rows] = values[:, width:]
            elif self.detector.policy.columns:
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
        blank = (NO_LAYOUT, 0, 0, 0.0, None, None, b"")
        index = zip(self.index.recent, self.index.older, self.ids, strict=True)
        new, known = [], []
        for own, name, is_new in zip(index, self.names, self.is_new, strict=True):
            if is_new:
                new.append((*blank, *own, encoded(name)))
            else:
                known.append(own)
        session.many(_INSERT, new)
        session.many("UPDATE subjects SET recent = ?, older = ? WHERE id = ?", known)

    def write(self, session: Session) -> None:
        """Write the rows that have new posts."""
        now = self.contents()
        changed = np.flatnonzero(now["posts"] != self.posts)
        if not changed.size:
            return
        layout = self.layouts.id_of(session, self.detector, self.ledger.labels)
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
        rows = changed.tolist()
        new = [(*values[row], encoded(self.names[row])) for row in rows if self.is_new[row]]
        session.many(_INSERT, new)
        session.many(_UPDATE, [values[row] for row in rows if not self.is_new[row]])
