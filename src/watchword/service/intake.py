"""Intake: posts become states, contributions and alerts, in one transaction per group of batches.

Nothing is kept between two groups, so the memory does not grow with the number of subjects, and
several processes may share a store. Each subject of a group gets a row of a ledger, with the state
that the store has; then the posts are read as a `Watcher` would, and all rows are written back.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import attrgetter

import numpy as np

from watchword._checks import FloatArray, IntArray, Label
from watchword.service.alerts import Raised, write_alerts
from watchword.service.records import (
    IncomingPost,
    Position,
    ReadingOrder,
    Receipt,
    RejectedLine,
    micros,
    moment,
    now,
)
from watchword.service.replays import replayed
from watchword.service.rows import Detector, Layouts, SubjectRows, cut
from watchword.service.store import (
    MOST_ID_BYTES,
    Session,
    Store,
    blobs,
    decoded,
    encoded,
    encoded_all,
)
from watchword.service.stored_posts import hashed, reading_time

INSERT_POSTS = (
    "INSERT INTO posts (id, subject, post_id, number, time, arrived, layout, contribution) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_MOST_REJECTED = 10_000  # rows: of a source of garbage, the newest are enough


@dataclass(frozen=True)
class PostBatch:
    """Posts that belong together, the position of their source after them, and their receipt."""

    posts: Sequence[IncomingPost]
    position: Position | None = None
    rejected: Sequence[RejectedLine] = ()
    receipt: Future[Receipt] = field(default_factory=Future)


@dataclass(frozen=True)
class Group:
    """Batches that are committed together, with the evidence of all their posts."""

    batches: Sequence[PostBatch]
    posts: list[IncomingPost]
    detector: Detector
    labels: tuple[Label, ...]
    gains: FloatArray

    @classmethod
    def score(cls, batches: Sequence[PostBatch], detector: Detector, *, threads: int = 1) -> Group:
        """Compute the evidence; this is slow and does not need the store."""
        posts = [post for batch in batches for post in batch.posts]
        table = detector.engine.evidence(list(map(attrgetter("text"), posts)), threads)
        return cls(batches, posts, detector, table.labels, table.values)


@dataclass(frozen=True)
class IntakeSettings:
    """Settings of how posts are read."""

    order: ReadingOrder = "arrival"
    store_texts: bool = False
    in_rounds: bool = False


@dataclass
class _Taken:
    """The posts of a group that are new, in the order in which they are read."""

    order: list[int]  # indices into the posts of the group
    rows: list[int]  # row of each
    names: list[str]  # of the rows
    ids: list[bytes]
    hashes: list[bytes]  # of the ids
    times: list[int | None]
    repeated: set[int] = field(default_factory=set)  # indices of posts that are there already


class Intake:
    """Takes posts in, exactly once."""

    def __init__(self, store: Store, settings: IntakeSettings) -> None:
        self._store = store
        self._settings = settings
        self.layouts = Layouts()

    def accept(self, group: Group) -> list[Receipt]:
        """Read a group of batches in one transaction; return the result of each batch."""
        try:
            with self._store.writing() as session:
                taken, raised = self._read(session, group)
        except BaseException:
            self.layouts.forget_unsettled()
            raise
        return _receipts(group, taken.repeated, raised)

    def _read(self, session: Session, group: Group) -> tuple[_Taken, dict[int, int]]:
        """Write a group; return its posts and the alert of each post that raised one."""
        by_time, in_rounds = self._settings.order == "time", self._settings.in_rounds
        arrived = now()
        taken = _taken(group.posts, arrived if by_time else None)
        rows = SubjectRows.load(session, self.layouts, group.detector, taken.names, group.labels)
        rows.arrived = arrived
        _drop_seen(session, taken, rows)
        gains = group.gains[np.array(taken.order, np.int64)]
        numbers: Sequence[int | None] = [None] * len(taken.order)
        raised: list[Raised] = []
        if not in_rounds:
            numbers, raised = self._advance(session, group, taken, rows, gains)
        if numbers:
            self._write_posts(session, group, taken, rows, gains, numbers)
        if in_rounds:
            rows.write_unread(session)
        else:
            rows.write(session)
        kept = self._settings.store_texts
        alerts = write_alerts(session, rows, raised, texts_kept=kept, by_time=by_time)
        session.many(
            "INSERT INTO positions (source, position) VALUES (?, ?) "
            "ON CONFLICT (source) DO UPDATE SET position = excluded.position",
            [
                (encoded(one.position.source), encoded(one.position.position))
                for one in group.batches
                if one.position is not None
            ],
        )
        _write_rejected(session, [line for batch in group.batches for line in batch.rejected])
        return taken, alerts

    def _advance(
        self, session: Session, group: Group, taken: _Taken, rows: SubjectRows, gains: FloatArray
    ) -> tuple[list[int], list[Raised]]:
        """Read the posts; return the number of each and the new alerts."""
        where = np.array(taken.rows, np.int64)
        numbers = _numbers(taken.rows, rows.posts)
        known = [reading_time(time, rows.arrived) for time in taken.times]
        by_time = self._settings.order == "time"
        late: set[int] = set()  # rows with a post that is earlier than one read before
        if by_time:
            before = [rows.last_times[row] for row in taken.rows]
            dated = zip(taken.rows, known, before, strict=True)
            late = {row for row, at, last in dated if last is not None and at < last}
        rows.see_times(taken.rows, known)

        def entry(at: int, delay: int = 0, sums: dict[Label, float] | None = None) -> Raised:
            row, index, time = taken.rows[at], taken.order[at], taken.times[at]
            post = group.posts[index]
            return Raised(row, post.id, time, known[at], post.text, index, delay, sums or {})

        if late or rows.stale:
            newest = dict(zip(taken.rows, taken.order, strict=True))
            raised = replayed(
                session,
                rows,
                group=(where, group.labels, gains),
                posts=list(map(entry, range(len(where)))),
                numbers=numbers,
                late=late,
                by_time=by_time,
            )
            # A replay may move the alert to an earlier post; it is then reported in the receipt of
            # the late post.
            return numbers, [
                one if one.index is not None else replace(one, index=newest[one.row])
                for one in raised
            ]
        found, delays, _, sums = rows.ledger.read(where, group.labels, gains, every=False)
        return numbers, list(map(entry, found, delays, sums))

    def _write_posts(
        self,
        session: Session,
        group: Group,
        taken: _Taken,
        rows: SubjectRows,
        gains: FloatArray,
        numbers: Sequence[int | None],
    ) -> None:
        """Write posts, with their texts where these are kept or needed when the round closes.

        The subjects' index of posts is written with their rows.
        """
        layout = self.layouts.id_of(session, group.detector, group.labels)
        ids = session.new_ids("posts", len(numbers))
        rows.index.add(session, rows.ids, taken.rows, taken.hashes, ids)
        values = zip(
            ids,
            [rows.ids[row] for row in taken.rows],
            blobs(taken.ids),
            numbers,
            taken.times,
            repeat(rows.arrived, len(numbers)),
            repeat(layout, len(numbers)),
            cut(gains),
            strict=True,
        )
        session.many(INSERT_POSTS, list(values))
        if self._settings.store_texts or self._settings.in_rounds:
            session.many(
                "INSERT INTO texts (post, arrived, text) VALUES (?, ?, ?)",
                [
                    (key, rows.arrived, encoded(group.posts[at].text))
                    for key, at in zip(ids, taken.order, strict=True)
                ],
            )


def check_posts(posts: Sequence[IncomingPost]) -> None:
    """Raise `TypeError` or `ValueError` for posts that cannot be kept.

    >>> check_posts([IncomingPost("ann", "", "hello")])
    Traceback (most recent call last):
    ValueError: post 1: the id is empty
    """
    if set(map(type, posts)) <= {IncomingPost} and _are_usual(posts):
        return
    for number, post in enumerate(posts, 1):
        _check_post(number, post)


def _are_usual(posts: Sequence[IncomingPost]) -> bool:
    """Return whether there is nothing to refuse, for posts with short ids: a quick check."""
    names = [*map(attrgetter("subject"), posts), *map(attrgetter("id"), posts)]
    if not {*map(type, names), *map(type, map(attrgetter("text"), posts))} <= {str}:
        return False
    sizes = list(map(len, names))
    return not sizes or (min(sizes) > 0 and max(sizes) * 4 <= MOST_ID_BYTES)


def _check_post(number: int, post: IncomingPost) -> None:
    if type(post) is not IncomingPost:
        raise TypeError(f"post {number}: expected an IncomingPost, got {type(post).__name__}")
    for name, value in (("subject", post.subject), ("id", post.id)):
        if not isinstance(value, str):
            raise TypeError(f"post {number}: the {name} must be a str, got {value!r}")
        if not value:
            raise ValueError(f"post {number}: the {name} is empty")
        if len(encoded(value)) > MOST_ID_BYTES:
            raise ValueError(f"post {number}: the {name} is longer than {MOST_ID_BYTES:,} bytes")
    if not isinstance(post.text, str):
        raise TypeError(f"post {number}: the text must be a str, got {post.text!r}")


def _taken(posts: list[IncomingPost], arrived: int | None) -> _Taken:
    """Return the posts without repetitions within the group; rows are numbered by appearance.

    With `arrived`, they are sorted by the time by which they are read.
    """
    subjects, ids = list(map(attrgetter("subject"), posts)), list(map(attrgetter("id"), posts))
    times = [None if post.time is None else micros(post.time) for post in posts]
    order, repeated = list(range(len(posts))), set()
    pairs = list(zip(subjects, ids, strict=True))
    if len(set(pairs)) < len(pairs):
        first: dict[tuple[str, str], int] = {}
        repeated = {at for at, pair in enumerate(pairs) if first.setdefault(pair, at) != at}
        order = [at for at in order if at not in repeated]
    if arrived is not None:
        known = [reading_time(time, arrived) for time in times]
        order.sort(key=known.__getitem__)
    if order != list(range(len(posts))):
        subjects, ids = [subjects[at] for at in order], [ids[at] for at in order]
        times = [times[at] for at in order]
    names = list(dict.fromkeys(subjects))
    index = dict(zip(names, range(len(names)), strict=True))
    rows = [index[one] for one in subjects]
    keys = encoded_all(ids)
    return _Taken(order, rows, names, keys, hashed(keys), times, repeated)


def _drop_seen(session: Session, taken: _Taken, rows: SubjectRows) -> None:
    """Leave out the posts that the store has already."""
    found = rows.index.find(session, rows.ids, taken.rows, taken.hashes)
    if not found:
        return
    same = sorted({post for posts in found.values() for post in posts})
    ids: dict[int, bytes] = dict(
        session.where("SELECT id, post_id FROM posts WHERE id {keys}", same)
    )
    seen = {
        at
        for at, posts in found.items()
        if any(bytes(ids[post]) == taken.ids[at] for post in posts)
    }
    taken.repeated |= {taken.order[at] for at in seen}
    kept = [at for at in range(len(taken.order)) if at not in seen]
    taken.order = [taken.order[at] for at in kept]
    taken.rows = [taken.rows[at] for at in kept]
    taken.ids = [taken.ids[at] for at in kept]
    taken.hashes = [taken.hashes[at] for at in kept]
    taken.times = [taken.times[at] for at in kept]


def _numbers(rows: Sequence[int], posts: IntArray) -> list[int]:
    """Return the number of each post among those of its subject, in the order of arrival."""
    counts: list[int] = posts.tolist()
    numbers = []
    for row in rows:
        counts[row] += 1
        numbers.append(counts[row])
    return numbers


def _receipts(group: Group, repeated: set[int], raised: dict[int, int]) -> list[Receipt]:
    receipts, begin = [], 0
    for batch in group.batches:
        end = begin + len(batch.posts)
        duplicates = sum(begin <= at < end for at in repeated) if repeated else 0
        alerts: tuple[int, ...] = ()
        if raised:
            alerts = tuple(sorted(key for at, key in raised.items() if begin <= at < end))
        receipts.append(Receipt(end - begin - duplicates, duplicates, alerts))
        begin = end
    return receipts


def _write_rejected(session: Session, rejected: Sequence[RejectedLine]) -> None:
    """Write rejected lines, and remove the oldest rows beyond the limit."""
    if not rejected:
        return
    session.many(
        "INSERT INTO rejected (source, line, reason, at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (source, line) DO NOTHING",
        [
            (encoded(line.source), encoded(line.line), line.reason, micros(line.at))
            for line in rejected[-_MOST_REJECTED:]
        ],
    )
    session.run(
        "DELETE FROM rejected WHERE id <= (SELECT max(id) FROM rejected) - ?", _MOST_REJECTED
    )


def rejected_lines(store: Store) -> list[RejectedLine]:
    """Return the rejected lines that are kept, oldest first."""
    rows = store.rows("SELECT source, line, reason, at FROM rejected ORDER BY id")
    return [
        RejectedLine(decoded(source), decoded(line), reason, moment(at))
        for source, line, reason, at in rows
    ]
