"""Layouts: the meaning of the numbers in a state or a contribution.

A layout names the labels of the columns, the model and the policy. Rows refer to it, so that they
hold only numbers, and a batch of them is decoded at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from watchword._arrays import FloatArray
from watchword._checks import Label
from watchword.model.engine import Engine, engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.service.store import Session
from watchword.streams.notation import spell_policy
from watchword.streams.policies import Policy
from watchword.streams.states import policy_hash

_COLUMNS = "id, labels, policy, policy_hash, model"


@dataclass(frozen=True)
class Reading:
    """A model and a policy in use, and the number of the model's version."""

    model: TauSS3
    policy: Policy
    version: int

    @cached_property
    def engine(self) -> Engine:
        """The engine of the model."""
        return engine_of(self.model)

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
        self._ids: dict[tuple[str, str, str], int] = {}

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

    def id_of(self, session: Session, reading: Reading, labels: Sequence[Label]) -> int:
        """Return the id of the layout of a reading with these labels; create it if it is new.

        One that this transaction creates is looked up again next time: it may be rolled back.
        """
        content = reading.fingerprint, reading.policy_hash, json.dumps(list(labels))
        if content in self._ids:
            return self._ids[content]
        query = "SELECT id FROM layouts WHERE model = ? AND policy_hash = ? AND labels = ?"
        if found := session.run(query, *content):
            return self._ids.setdefault(content, found[0][0])
        session.run(
            "INSERT INTO layouts (model, policy_hash, labels, policy) VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            *content,
            reading.spelling,
        )
        return int(session.run(query, *content)[0][0])

    def forget_unsettled(self) -> None:
        """Forget layouts that a transaction read which was rolled back."""
        self._known.clear()
        self._ids.clear()


def aligned(blobs: Sequence[bytes], labels: Sequence[Label], wanted: Sequence[Label]) -> FloatArray:
    """Return the numbers per wanted label of blobs of one layout; 0 for labels they lack.

    >>> aligned([np.array([1.0, 2.0]).tobytes()], ["a", "b"], ["b", "c"]).tolist()
    [[2.0, 0.0]]
    """
    width = len(blobs[0]) // 8 if blobs else len(labels)
    values = np.frombuffer(b"".join(blobs), "<f8").reshape(len(blobs), width)
    if tuple(labels) == tuple(wanted):
        return values[:, : len(wanted)]
    whole = np.zeros((len(blobs), len(wanted)))
    for to, label in enumerate(wanted):
        if label in labels:
            whole[:, to] = values[:, labels.index(label)]
    return whole


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
