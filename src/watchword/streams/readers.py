"""Reading subjects post by post: one with a `Reader`, many with a `Watcher`; teaching posts.

Reading never changes the model. Readers and watchers keep what accumulates for each subject: one
sum of confidences per label, the number of posts, the policy's memory and the alert.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from watchword._checks import IntArray, Label, as_list, as_text, as_texts, as_threads
from watchword._files import AnyPath, atomic_file
from watchword.data import Post, Subject
from watchword.errors import StateError, UnknownSubjectError
from watchword.model.refining import POST_SETTINGS
from watchword.model.tau_ss3 import TauSS3
from watchword.streams import states
from watchword.streams.ledger import Ledger, Records
from watchword.streams.policies import Policy
from watchword.streams.sources import ScoreSource


def teach(
    model: TauSS3,
    subjects: Iterable[Subject],
    *,
    refine: bool = False,
    threads: int | None = None,
) -> None:
    """Teach a model all posts of subjects, each post as a document with its subject's label.

    With `refine`, then refine the model with these posts (`TauSS3.refine`), with a low cost of
    mistakes, because many posts say nothing about their label, and with equal weight of labels.

    A model that prunes periodically learns in one thread, in the order of the subjects.
    """
    texts: list[str] = []
    labels: list[Label] = []
    for subject in subjects:
        if subject.label is None:
            raise ValueError(f"subject {subject.id!r} has no label")
        texts += [post.content for post in subject.posts]
        labels += [subject.label] * len(subject.posts)
    workers = threads if model.parameters["prune_period"] is None else 1
    model.learn_many(texts, labels, threads=workers)
    if refine:
        model.refine(texts, labels, **POST_SETTINGS, threads=threads)


class Decision(NamedTuple):
    """The decision about a subject after some posts; true only if there is an alert.

    `label` is the positive label, or None without an alert. `delay` is the number of posts read
    when the alert was raised, 0 without an alert. `posts` is the number of posts read so far, and
    `confidence` their accumulated confidence per label. An alert is final.

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
        """Whether the latest post raised the alert."""
        return self.label is not None and self.delay == self.posts


class Reader:
    """Reads the posts of one subject. Created by `TauSS3.reader` or `FunctionModel.reader`.

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
        engine: ScoreSource,
        policy: Policy,
        *,
        state: bytes | str | None = None,
        allow_changed_model: bool = False,
    ) -> None:
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
        """The policy that decides when to alert."""
        return self._ledger.policy

    @property
    def decision(self) -> Decision:
        """The current decision."""
        return _decisions(self._ledger, self._ledger.records(np.zeros(1, np.int64)), [None])[0]

    def read(self, post: str | Post) -> Decision:
        """Read one more post; the cost does not depend on the length of the history."""
        delay, posts, sums = self._ledger.read_text(0, _content(post))
        return Decision(self.policy.positive if delay else None, delay, posts, sums)

    def to_bytes(self) -> bytes:
        """Return the state as bytes; `TauSS3.reader(policy, state=…)` resumes from them.

        The size is 46 bytes, plus 13 and its name for each label, plus 8 for each number in the
        policy's memory.
        """
        return states.to_bytes(self._ledger.state_of(0, 1))

    def to_json(self) -> str:
        """Return the state as JSON; `TauSS3.reader(policy, state=…)` resumes from it."""
        return states.to_json(self._ledger.state_of(0, 1))


class Watcher:
    """Reads the posts of many subjects, in any order.

    Created by `TauSS3.watcher` or `FunctionModel.watcher`.

    A watcher is not thread-safe; `read_many`, `read_each` and `read_round` use several threads
    internally. With two labels, a subject takes about 100 bytes plus its id.

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
        engine: ScoreSource,
        policy: Policy,
        *,
        state: bytes | memoryview | None = None,
        allow_changed_model: bool = False,
    ) -> None:
        self._engine = engine
        self._ledger = Ledger(engine, policy)
        self._is_population = policy.is_population  # once: it is asked for every post
        self._rows: dict[str, int] = {}
        if state is not None:
            kept, subjects = states.watcher_from_bytes(state)
            states.check(kept, engine, policy, allow_changed_model=allow_changed_model)
            self._rows = {subject: row for row, subject in enumerate(subjects)}
            if len(self._rows) != len(subjects):
                raise StateError("the state is corrupt: duplicate subject id")
            self._ledger.resize(len(subjects))
            self._ledger.restore(kept)

    @property
    def policy(self) -> Policy:
        """The policy that decides when to alert."""
        return self._ledger.policy

    @property
    def subjects(self) -> tuple[str, ...]:
        """All subject ids, in order of appearance."""
        return tuple(self._rows)

    @property
    def rounds(self) -> int:
        """The number of rounds read with `read_round`."""
        return self._ledger.rounds

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, subject: object) -> bool:
        return subject in self._rows

    def add(self, subject: str) -> None:
        """Add a subject without posts; do nothing if it is already known."""
        self._rows_of([subject])

    def read(self, subject: str, post: str | Post) -> Decision:
        """Read one post of a subject and return the decision."""
        if not self._engine.is_native:  # what reads the post may fail: before the subject is added
            return self._read([subject], [post], 1, every=True)[1][0]
        self._refuse_population()
        content = _content(post)
        row = self._rows.get(subject) if isinstance(subject, str) else None
        if row is None:
            self._engine.refuse_if_unreadable()  # before the subject is added
            row = int(self._rows_of([subject])[0])
        delay, posts, sums = self._ledger.read_text(row, content)
        return Decision(self.policy.positive if delay else None, delay, posts, sums, subject)

    def read_many(
        self,
        subjects: Iterable[str],
        posts: Iterable[str | Post],
        *,
        threads: int | None = None,
    ) -> list[Decision]:
        """Read posts in order, each with its subject, and return the new alerts in order.

        Equivalent to calling `read` for each post, but much faster for a few thousand at a time.
        """
        return self._read(subjects, posts, threads, every=False)[1]

    def read_indexed(
        self,
        subjects: Iterable[str],
        posts: Iterable[str | Post],
        *,
        threads: int | None = None,
    ) -> list[tuple[int, Decision]]:
        """Read posts like `read_many`, and return the index of its post with each new alert.

        >>> import watchword as ww
        >>> model = ww.TauSS3()
        >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
        >>> watcher = model.watcher(ww.Overtakes("at risk"))
        >>> found = watcher.read_indexed(["ann", "bob"], ["lovely", "cannot sleep"])
        >>> [(index, alert.subject) for index, alert in found]
        [(1, 'bob')]
        """
        return list(zip(*self._read(subjects, posts, threads, every=False), strict=True))

    def read_each(
        self,
        subjects: Iterable[str],
        posts: Iterable[str | Post],
        *,
        threads: int | None = None,
    ) -> list[Decision]:
        """Read posts in order, each with its subject, and return the decision after each post.

        Equivalent to calling `read` for each post, but much faster for a few thousand at a time.

        >>> import watchword as ww
        >>> model = ww.TauSS3()
        >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
        >>> watcher = model.watcher(ww.Overtakes("at risk"))
        >>> [bool(one) for one in watcher.read_each(["ann"] * 3, ["hello", "cannot", "a garden"])]
        [False, True, True]
        """
        return self._read(subjects, posts, threads, every=True)[1]

    def _read(
        self,
        subjects: Iterable[str],
        posts: Iterable[str | Post],
        threads: int | None,
        *,
        every: bool,
    ) -> tuple[list[int], list[Decision]]:
        """Read posts; return the decisions after each or, without `every`, those of new alerts.

        With each decision comes the index of its post.
        """
        names = as_list(subjects, "subjects")
        self._refuse_population()
        contents = _contents(as_list(posts, "posts"))
        if len(names) != len(contents):
            raise ValueError(f"{len(names)} subjects but {len(contents)} posts")
        labels, values = self._engine.evidence(contents, as_threads(threads))
        records = self._ledger.read(self._rows_of(names), labels, values, every=every)
        return records[0], _decisions(self._ledger, records, names)

    def read_round(
        self, posts: Mapping[str, str | Post], *, threads: int | None = None
    ) -> list[Decision]:
        """Read one round, at most one post per subject, and return the new alerts.

        Population policies compare all known subjects. Subjects without a post in this round still
        count in the comparison, but get no alert.
        """
        names, contents = list(posts), _contents(list(posts.values()))
        labels, values = self._engine.evidence(contents, as_threads(threads))
        rows = self._rows_of(names)
        return _decisions(self._ledger, self._ledger.read_round(rows, labels, values), names)

    def decision(self, subject: str) -> Decision:
        """Return the current decision about a subject."""
        row = self._rows.get(subject)
        if row is None:
            raise UnknownSubjectError(f"unknown subject {subject!r}: no posts were read")
        return _decisions(self._ledger, self._ledger.records(np.array([row])), [subject])[0]

    def decisions(self) -> list[Decision]:
        """Return the current decisions about all subjects."""
        rows = np.arange(len(self._rows))
        return _decisions(self._ledger, self._ledger.records(rows), list(self._rows))

    def scores(self) -> dict[str, float]:
        """Return the score of each subject that ranks them: that of the policy, else the share.

        See `Policy.ranks_by`.
        """
        scores = self._ledger.scores()[: len(self._rows)]
        return dict(zip(self._rows, scores.tolist(), strict=True))

    def to_bytes(self) -> bytes:
        """Return the state as bytes; `TauSS3.watcher(policy, state=…)` resumes from them."""
        every = self._ledger.state_of(0, len(self._rows))
        return states.watcher_to_bytes(every, list(self._rows))

    def save(self, path: AnyPath) -> None:
        """Write `to_bytes` to a file, atomically; only its owner can read it."""
        with atomic_file(path, mode=0o600) as file:
            file.write(self.to_bytes())

    def _rows_of(self, names: list[Any]) -> IntArray:
        """Return the row index of each subject, adding rows for new ones."""
        rows = self._rows
        try:
            return np.fromiter(map(rows.__getitem__, names), np.int64, len(names))
        except (KeyError, TypeError):  # a new subject, or an id that is not hashable
            for kind in set(map(type, names)):
                if not issubclass(kind, str):
                    raise TypeError(f"a subject id must be str, got {kind.__name__}") from None
        found = [rows.setdefault(name, len(rows)) for name in names]
        self._ledger.resize(len(rows))
        return np.array(found, np.int64)

    def _refuse_population(self) -> None:
        if self._is_population:
            raise ValueError(
                f"{self.policy!r} compares all subjects of a round: call read_round instead"
            )


def _content(post: str | Post) -> str:
    return as_text(post.content if isinstance(post, Post) else post)


def _contents(posts: list[Any]) -> list[str]:
    if set(map(type, posts)) <= {str}:  # fast path for the usual case
        return posts
    return as_texts([post.content if isinstance(post, Post) else post for post in posts])


def _decisions(ledger: Ledger, records: Records, subjects: Sequence[str | None]) -> list[Decision]:
    """Return the decisions of these records, given the subjects that their indices refer to."""
    positive = ledger.policy.positive
    indices, delays, posts, sums = records
    labels = [positive if delay else None for delay in delays]
    # Without a loop in Python: streams with many alerts spend their time here.
    return list(map(Decision, labels, delays, posts, sums, map(subjects.__getitem__, indices)))
