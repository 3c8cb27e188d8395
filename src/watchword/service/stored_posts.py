"""Posts in the store, with their texts if stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from watchword.service.post_index import posts_of
from watchword.service.store import Session, decoded


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
        """The time of the post in microseconds; without one, when it arrived."""
        return self.arrived if self.time is None else self.time


_SELECT = (
    "SELECT id, subject, number, post_id, time, arrived, layout, contribution FROM posts WHERE"
)


def all_posts(session: Session, subject: int) -> list[StoredPost]:
    """Return the posts of a subject, waiting posts last."""
    found = session.where(f"{_SELECT} id {{keys}}", posts_of(session, [subject]))
    posts = [StoredPost(*row) for row in found]
    return sorted(posts, key=lambda post: (post.number is None, post.number or 0, post.key))


def read_posts(session: Session, subjects: Sequence[int]) -> list[StoredPost]:
    """Return the posts of subjects that have been read."""
    query = f"{_SELECT} number IS NOT NULL AND id {{keys}}"
    return [StoredPost(*row) for row in session.where(query, posts_of(session, subjects))]


def waiting_posts(session: Session) -> list[StoredPost]:
    """Return the posts of all subjects that wait for the end of a round, as they arrived."""
    return [StoredPost(*row) for row in session.run(f"{_SELECT} number IS NULL ORDER BY id")]


def in_order(posts: Sequence[StoredPost], by_time: bool | int) -> list[StoredPost]:
    """Return posts of a subject in the order of reading: by time, or as they were numbered."""
    return sorted(posts, key=lambda post: (post.at if by_time else 0, post.number))


def posts_until(
    session: Session, subject: int, post_id: str, delay: int, by_time: bool | int
) -> list[StoredPost]:
    """Return the posts of a subject up to an alert; `by_time` says how they had been read."""
    found = in_order(read_posts(session, [subject]), by_time=False)
    [own] = [post for post in found if post.id == post_id]
    if not by_time:
        return found[: found.index(own) + 1]
    # Only those that had arrived by then: the first ones by number.
    last = own.at, own.number
    return in_order([post for post in found if (post.at, post.number) <= last][:delay], True)


def texts_of(session: Session, posts: Sequence[StoredPost]) -> dict[int, str]:
    """Return the texts that are kept, by the row ids of posts, in their order."""
    keys = [post.key for post in posts]
    found: dict[int, bytes] = dict(
        session.where("SELECT post, text FROM texts WHERE post {keys}", keys)
    )
    return {key: decoded(found[key]) for key in keys if key in found}
