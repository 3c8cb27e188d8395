"""Posts in the store, with their texts if stored, and the index of a subject's posts.

The index has the newest posts in the subject's row, and older ones in a table. An index over all
posts would change one more page of the store for every post, because most subjects write seldom and
their entries are far apart. The row of the subject changes anyway. When it holds many posts, they
move to the table `post_index` together, into few pages.

An entry is a hash of the post's id and the row id of the post. Hashes may collide: a search
for a post also compares the ids.

The row has room for some more entries, zeros, so that most posts leave its length as it is: a row
that grows may not fit into its page any more, and SQLite then changes the pages beside it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from watchword.service.store import Row, Session, decoded

_MOST_RECENT = 32  # posts in the row of a subject
_ENTRY = np.dtype([("hash", "<i8"), ("post", "<i8")])
_SIZE = _ENTRY.itemsize
_ROOM = 4 * _SIZE  # the length of entries in a row is a multiple of it

_INSERT = "INSERT INTO post_index (subject, hash, post) VALUES (?, ?, ?)"


def hashed(post_ids: Sequence[bytes]) -> list[bytes]:
    """Return the hash of each post id.

    >>> [len(one) for one in hashed([b"1", b"a longer id"])]
    [8, 8]
    """
    return [blake2b(one, digest_size=8).digest() for one in post_ids]


class PostIndex:
    """The posts of the subjects of a group, a row per subject."""

    def __init__(self, count: int) -> None:
        self.recent = [b""] * count  # entries in the rows of subjects, oldest first
        self.older = [0] * count  # number of entries in the table

    def find(
        self,
        session: Session,
        subjects: Sequence[int],
        rows: Sequence[int],
        hashes: Sequence[bytes],
    ) -> dict[int, list[int]]:
        """Return the row ids of the posts with the same subject and hash, where there are any.

        `subjects` has the row id of each subject, `rows` and `hashes` one element per post; the
        result is by the indices of these.
        """
        found: dict[int, list[int]] = {}
        asked: dict[tuple[int, int], list[int]] = {}
        recent, older = self.recent, self.older
        for at, (row, own) in enumerate(zip(rows, hashes, strict=True)):
            if own in recent[row]:
                entries = np.frombuffer(recent[row], _ENTRY)
                is_same = (entries["hash"] == _number(own)) & (entries["post"] > 0)
                same = entries["post"][is_same].tolist()
                if same:  # the bytes may also match across two entries
                    found[at] = same
            if older[row]:
                asked.setdefault((subjects[row], _number(own)), []).append(at)
        for subject, number, post in session.indexed(list(asked)) if asked else ():
            for at in asked[subject, number]:
                found.setdefault(at, []).append(post)
        return found

    def add(
        self,
        session: Session,
        subjects: Sequence[int],
        rows: Sequence[int],
        hashes: Sequence[bytes],
        posts: Sequence[int],
    ) -> None:
        """Enter new posts, given as for `find` with their row ids."""
        recent = self.recent
        for row, own, post in zip(rows, hashes, posts, strict=True):
            entries = _without_room(recent[row]) + own + post.to_bytes(8, "little")
            recent[row] = entries.ljust(-(-len(entries) // _ROOM) * _ROOM, b"\0")
        most = _MOST_RECENT * _SIZE
        moved = []
        for row in dict.fromkeys(row for row in rows if len(recent[row]) > most):
            entries = _without_room(recent[row])
            if len(entries) > most:
                old = np.frombuffer(entries, _ENTRY).tolist()
                moved += [(subjects[row], number, post) for number, post in old]
                recent[row] = b""
                self.older[row] += len(old)
        session.many(_INSERT, moved)


def post_ids_of(session: Session, subjects: Sequence[int]) -> list[int]:
    """Return the row ids of all posts of subjects, given by their row ids, in order of arrival."""
    older = session.where("SELECT post FROM post_index WHERE subject {keys}", subjects)
    found = [post for (post,) in older]
    for (recent,) in session.where("SELECT recent FROM subjects WHERE id {keys}", subjects):
        found += np.frombuffer(_without_room(recent), _ENTRY)["post"].tolist()
    return sorted(found)


def _without_room(recent: bytes) -> bytes:
    """Return the entries of a row. None of them is all zeros, because no post has the row id 0."""
    return recent[: -(-len(recent.rstrip(b"\0")) // _SIZE) * _SIZE]


def _number(digest: bytes) -> int:
    return int.from_bytes(digest, "little", signed=True)


_AHEAD = 60_000_000  # microseconds that the clock of a sender may be ahead


def reading_time(time: int | None, arrived: int) -> int:
    """Return the time by which a post is read: its own, or that of its arrival.

    The latter if it has none, or one in the future: all later posts would be late.

    >>> reading_time(7, 10), reading_time(None, 10), reading_time(4_000_000_000_000_000, 10)
    (7, 10, 10)
    """
    return arrived if time is None or time > arrived + _AHEAD else time


class StoredPost(NamedTuple):
    """A row of the posts; `number` is the place in the order of reading, None while it waits."""

    key: int
    subject: int
    number: Any
    encoded_id: bytes
    time: int | None
    arrived: int
    layout: int
    contribution: bytes

    @property
    def id(self) -> str:
        """The id of the post."""
        return decoded(self.encoded_id)

    @property
    def at(self) -> int:
        """The time by which the post is read, in microseconds."""
        return reading_time(self.time, self.arrived)


_SELECT = (
    "SELECT id, subject, number, post_id, time, arrived, layout, contribution FROM posts WHERE"
)


def posts_by_id(session: Session, ids: Sequence[int]) -> list[StoredPost]:
    """Return posts by their row ids, in their order."""
    posts = {row[0]: StoredPost(*row) for row in session.where(f"{_SELECT} id {{keys}}", ids)}
    return [posts[key] for key in ids]


def read_posts(session: Session, subjects: Sequence[int]) -> list[StoredPost]:
    """Return the posts of subjects that have been read."""
    query = f"{_SELECT} number IS NOT NULL AND id {{keys}}"
    return [StoredPost(*row) for row in session.where(query, post_ids_of(session, subjects))]


def waiting_posts(session: Session) -> list[StoredPost]:
    """Return the posts of all subjects that wait for the end of a round, as they arrived."""
    return [StoredPost(*row) for row in session.run(f"{_SELECT} number IS NULL ORDER BY id")]


def reading_order(posts: Sequence[StoredPost], by_time: bool | int) -> list[StoredPost]:
    """Return posts of a subject in the order of reading: by time, or as they were numbered."""
    return sorted(posts, key=lambda post: (post.at if by_time else 0, post.number))


def reading_ids(session: Session, subject: int, posts: int, *, by_time: bool) -> list[int]:
    """Return the row ids of the posts of a subject that have been read, in the order of reading.

    `posts` is their number; by arrival, the ids are in this order, and those of waiting posts last.
    """
    ids = post_ids_of(session, [subject])
    return [row[2] for row in _times_of(session, ids)] if by_time else ids[:posts]


def _times_of(session: Session, ids: Sequence[int]) -> list[Row]:
    """Return the time, the number, the row id and the id of posts that were read, by time."""
    query = "SELECT coalesce(time, arrived), number, id, post_id FROM posts "
    return sorted(session.where(f"{query} WHERE number IS NOT NULL AND id {{keys}}", ids))


def posts_until(
    session: Session,
    subject: int,
    post_id: bytes,
    delay: int,
    by_time: bool | int,
    *,
    most: int | None = None,
) -> list[StoredPost]:
    """Return the posts of a subject up to an alert; with `most`, only the latest of them.

    `by_time` says how they had been read.
    """
    ids = post_ids_of(session, [subject])
    if by_time:
        rows = _times_of(session, ids)
        [(at, number, *_)] = [row for row in rows if bytes(row[3]) == bytes(post_id)]
        # Only those that had arrived by then: the first ones by number.
        earlier = [row for row in rows if row[:2] <= (at, number)]
        chosen = sorted(earlier, key=itemgetter(1))[:delay]
        ids = [row[2] for row in sorted(chosen)]
    else:
        ids = ids[:delay]
    return posts_by_id(session, ids if most is None else ids[-most:])


def texts_of(session: Session, posts: Sequence[StoredPost]) -> dict[int, str]:
    """Return the texts that are kept, by the row ids of posts, in their order."""
    keys = [post.key for post in posts]
    found: dict[int, bytes] = dict(
        session.where("SELECT post, text FROM texts WHERE post {keys}", keys)
    )
    return {key: decoded(found[key]) for key in keys if key in found}
