"""Reading subjects post by post: one with a `Reader`, many at once with a `Watcher`.

The model is never changed by reading. What accumulates is here: per subject one sum of confidences
per label, the number of posts, what its policy notes, and when the alert fell.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from watchword._checks import Label, as_list, as_texts, as_threads
from watchword._files import atomic_file
from watchword.data import Post
from watchword.errors import StateError, UnknownSubjectError
from watchword.model.engine import Engine
from watchword.streams import states
from watchword.streams.ledger import Ledger
from watchword.streams.policies import Policy
from watchword.streams.steps import IntArray


class Decision(NamedTuple):
    """What is decided about a subject after some posts; true only if there is an alert.

    `label` is None as long as there is no alert. `delay` is the number of posts read when it fell,
    0 if there is none yet; `posts` is how many were read by now, and `confidence` what they
    have added up to. Once an alert has fallen it stays.

    >>> bool(Decision(None, 0, 3, {"at risk": 0.1, "control": 2.5}))
    False
    """

    label: Label | None
    delay: int
    posts: int
    confidence: dict[Label, float]
    subject: str | None = None

    def __bool__(self) -> bool:
        return self.label is not None

    @property
    def is_new(self) -> bool:
        """Whether the alert fell at the latest post."""
        return self.label is not None and self.delay == self.posts


class Reader:
    """Reads the posts of one subject. Made by `TauSS3.reader`.

    >>> import watchword as ww
    >>> model = ww.TauSS3()
    >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
    >>> reader = model.reader(ww.Overtakes("at risk"))
    >>> for post in ["A lovely day", "Cannot rest", "Again I cannot sleep"]:
    ...     if decision := reader.read(post):
    ...         print(decision.label, "after", decision.delay, "posts")
    at risk after 3 posts
    """

    def __init__(
        self,
        engine: Engine,
        policy: Policy,
        *,
        state: bytes | str | None = None,
        allow_changed_model: bool = False,
    ) -> None:
        self._engine = engine
        self._ledger = Ledger(engine, policy)
        if policy.is_population:
            raise ValueError(
                f"{policy!r} compares all subjects of a round: use a Watcher and its read_round"
            )
        self._ledger.resize(1)
        if state is not None:
            kept = states.from_json(state) if isinstance(state, str) else states.from_bytes(state)
            states.check(kept, engine, policy, allow_changed_model=allow_changed_model)
            self._ledger.restore(kept)

    @property
    def policy(self) -> Policy:
        """What decides."""
        return self._ledger.policy

    @property
    def decision(self) -> Decision:
        """What is decided by now."""
        return _decisions(self._ledger, np.zeros(1, np.int64), [None])[0]

    def read(self, post: str | Post) -> Decision:
        """Read one post more; the cost is the post's, not the history's."""
        labels, values = self._engine.confidence(_contents([post]), 1)
        self._ledger.advance(np.zeros(1, np.int64), labels, values)
        return self.decision

    def to_bytes(self) -> bytes:
        """All that `TauSS3.reader(policy, state=…)` needs to go on, here or elsewhere.

        Small: 46 bytes, 13 and its name for each label, 8 for each number that the policy notes.
        """
        return states.to_bytes(self._ledger.state_of(0, self._engine))

    def to_json(self) -> str:
        """The same as `to_bytes`, for eyes and other programs."""
        return states.to_json(self._ledger.state_of(0, self._engine))


class Watcher:
    """Reads the posts of many subjects, in whatever order they arrive. Made by `TauSS3.watcher`.

    It is meant for one thread; posts read together are read by several inside. With two labels a
    subject takes about 120 bytes and its id.

    >>> import watchword as ww
    >>> model = ww.TauSS3()
    >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
    >>> watcher = model.watcher(ww.Overtakes("at risk"))
    >>> alerts = watcher.read_many(["ann", "bob", "ann"], ["hello", "my garden", "I cannot sleep"])
    >>> [(alert.subject, alert.delay) for alert in alerts]
    [('ann', 2)]
    """

    def __init__(
        self,
        engine: Engine,
        policy: Policy,
        *,
        state: bytes | memoryview | None = None,
        allow_changed_model: bool = False,
    ) -> None:
        self._engine = engine
        self._ledger = Ledger(engine, policy)
        self._rows: dict[str, int] = {}
        if state is not None:
            kept, subjects = states.watcher_from_bytes(state)
            states.check(kept, engine, policy, allow_changed_model=allow_changed_model)
            self._rows = {subject: row for row, subject in enumerate(subjects)}
            if len(self._rows) != len(subjects):
                raise StateError("the state is damaged: a subject stands in it twice")
            self._ledger.resize(len(subjects))
            self._ledger.restore(kept)

    @property
    def policy(self) -> Policy:
        """What decides."""
        return self._ledger.policy

    @property
    def subjects(self) -> tuple[str, ...]:
        """All subjects, in the order in which they appeared."""
        return tuple(self._rows)

    @property
    def rounds(self) -> int:
        """How many rounds were read with `read_round`."""
        return self._ledger.rounds

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, subject: object) -> bool:
        return subject in self._rows

    def add(self, subject: str) -> None:
        """Take note of a subject of whom nothing was read yet; nothing happens if it is known."""
        self._rows_of([subject])

    def read(self, subject: str, post: str | Post) -> Decision:
        """Read one post of a subject."""
        self.read_many([subject], [post], threads=1)
        return self.decision(subject)

    def read_many(
        self,
        subjects: Iterable[str],
        posts: Iterable[str | Post],
        *,
        threads: int | None = None,
    ) -> list[Decision]:
        """Read posts, each with its subject, in this order; the new alerts, in order.

        The result is that of `read` on each; a few thousand at a time are read much faster.
        """
        if self.policy.is_population:
            raise ValueError(
                f"{self.policy!r} compares all subjects of a round: call read_round instead"
            )
        names = as_list(subjects, "subjects")
        contents = _contents(as_list(posts, "posts"))
        if len(names) != len(contents):
            raise ValueError(f"{len(names)} subjects but {len(contents)} posts")
        labels, values = self._engine.confidence(contents, as_threads(threads))
        rows = self._rows_of(names)
        alerts: dict[int, Decision] = {}
        for turn in _turns(rows):
            new = self._ledger.advance(rows[turn], labels, values[turn])
            places = np.arange(len(names))[turn][new]
            decided = _decisions(
                self._ledger, rows[places], [names[place] for place in places.tolist()]
            )
            alerts.update(zip(places.tolist(), decided, strict=True))
        return [alerts[place] for place in sorted(alerts)]

    def read_round(
        self, posts: Mapping[str, str | Post], *, threads: int | None = None
    ) -> list[Decision]:
        """Read a round: at most one post of each subject; the new alerts.

        Policies that compare subjects see all that were ever named, those without a post in this
        round too, which get no alert in it.
        """
        names, contents = list(posts), _contents(list(posts.values()))
        labels, values = self._engine.confidence(contents, as_threads(threads))
        rows = self._rows_of(names)
        alerted = self._ledger.advance_round(rows, labels, values)
        found = np.flatnonzero(alerted)
        return _decisions(self._ledger, rows[found], [names[place] for place in found.tolist()])

    def decision(self, subject: str) -> Decision:
        """What is decided about a subject by now."""
        row = self._rows.get(subject)
        if row is None:
            raise UnknownSubjectError(f"nothing was read of subject {subject!r}")
        return _decisions(self._ledger, np.array([row]), [subject])[0]

    def decisions(self) -> list[Decision]:
        """What is decided about every subject by now."""
        return _decisions(self._ledger, np.arange(len(self._rows)), self._rows)

    def scores(self) -> dict[str, float]:
        """How much more speaks for the positive label than for the best other, per subject."""
        scores = self._ledger.scores()[: len(self._rows)]
        return dict(zip(self._rows, scores.tolist(), strict=True))

    def to_bytes(self) -> bytes:
        """All that `TauSS3.watcher(policy, state=…)` needs to go on, here or elsewhere."""
        every = self._ledger.state_of(slice(0, len(self._rows)), self._engine)
        return states.watcher_to_bytes(every, list(self._rows))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_bytes` to a file, whole or not at all, which only its owner can read."""
        with atomic_file(path, mode=0o600) as file:
            file.write(self.to_bytes())

    def _rows_of(self, names: list[Any]) -> IntArray:
        """The rows of subjects, new ones for those that are."""
        rows = self._rows
        try:
            return np.fromiter(map(rows.__getitem__, names), np.int64, len(names))
        except (KeyError, TypeError):  # a new one, or something that cannot even be looked up
            for kind in set(map(type, names)):
                if not issubclass(kind, str):
                    raise TypeError(
                        f"the id of a subject must be str, got {kind.__name__}"
                    ) from None
        found = [rows.setdefault(name, len(rows)) for name in names]
        self._ledger.resize(len(rows))
        return np.array(found, np.int64)


def _turns(rows: IntArray) -> list[IntArray] | list[slice]:
    """The places of a batch in turns without a row twice: all first posts, then all second."""
    if rows.size and rows.max() < 8 * rows.size and np.bincount(rows).max() == 1:
        return [slice(None)]  # a view: nothing is copied
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if rows.size else order
    if begins.size == rows.size:
        return [slice(None)]  # a view: nothing is copied
    repeats = np.diff(np.r_[begins, rows.size])
    turn = np.arange(rows.size) - np.repeat(begins, repeats)
    by_turn = order[np.argsort(turn, kind="stable")]
    ends = np.cumsum(np.bincount(turn))
    return np.split(by_turn, ends[:-1])


def _contents(posts: list[Any]) -> list[str]:
    if set(map(type, posts)) <= {str}:  # the usual case, and worth being fast
        return posts
    return as_texts([post.content if isinstance(post, Post) else post for post in posts])


def _decisions(ledger: Ledger, rows: IntArray, subjects: Iterable[str | None]) -> list[Decision]:
    positive = ledger.policy.positive
    posts, delays, sums = ledger.records(rows)
    labels = [positive if delay else None for delay in delays]
    return list(map(Decision, labels, delays, posts, sums, subjects))
