"""Stores: where the service keeps everything, in SQLite or PostgreSQL, behind one class.

Statements are plain SQL with `?` for values, the same for both. What differs is in `Session`: rows
by many keys, new ids, and locks.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from watchword._files import AnyPath
from watchword.errors import StoreError

Row = tuple[Any, ...]

MOST_ID_BYTES = 1_000  # of an id as UTF-8: an index of PostgreSQL takes 2,704


class Session(ABC):
    """A connection in use: within a transaction if it writes."""

    for_update = ""  #: ends a query that locks its rows

    @abstractmethod
    def run(self, query: str, *values: Any) -> list[Row]:
        """Run a statement, with a value for each `?`, and return its rows."""

    @abstractmethod
    def many(self, query: str, rows: Sequence[Row]) -> int:
        """Run a statement once per row of values; return the number of changed rows."""

    @abstractmethod
    def where(self, query: str, keys: Sequence[Any]) -> list[Row]:
        """Return the rows of a query that ends in `{keys}`: a test for any of many keys."""

    @abstractmethod
    def lock_subjects(self, columns: str, names: Sequence[bytes]) -> list[Row]:
        """Return these columns of the subjects that exist, locked until the transaction ends.

        A store that several processes write to creates those that do not exist yet.
        """

    @abstractmethod
    def indexed(self, pairs: Sequence[tuple[int, int]]) -> list[Row]:
        """Return the rows of `post_index` for pairs of a subject and a hash."""

    @abstractmethod
    def new_ids(self, table: str, count: int) -> Sequence[int]:
        """Return unused ids for new rows of a table."""

    @abstractmethod
    def contains(self, column: str) -> str:
        """Return the test whether a binary column contains a value."""

    def lock(self, name: str) -> None:  # noqa: B027
        """Wait for other processes in the same part of the program, until the transaction ends."""


class Store(ABC):
    """An open store. Threads may share it: one writes at a time, several read."""

    url: str
    is_shared: bool  #: whether other processes may write to it all the time

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """Yield a session that sees one state of the store."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """Give a session whose changes are committed together at the end, or not at all.

        Raise `StoreUnavailableError` if that fails and may work later.
        """

    @abstractmethod
    def backup(self, path: AnyPath) -> None:
        """Write a copy of the store as it is now to a file, while it is in use."""

    @abstractmethod
    def scrub(self) -> None:
        """Overwrite the remains of deleted rows on the disk, as far as the store can."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    def rows(self, query: str, *values: Any) -> list[Row]:
        """Return the rows of a query."""
        with self.reading() as session:
            return session.run(query, *values)

    def change(self, query: str, *values: Any) -> list[Row]:
        """Run one statement in its own transaction, and return its rows."""
        with self.writing() as session:
            return session.run(query, *values)


@contextmanager
def open_store(url: str) -> Iterator[Store]:
    """Open a store, or create it: `postgresql://…`, or the path of an SQLite file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_store(f"{folder}/watch.db") as store:
    ...     store.rows("SELECT count(*) FROM subjects")
    [(0,)]
    """
    store = connect(url)
    try:
        yield store
    finally:
        store.close()


def connect(url: str) -> Store:
    """Return an open store; the caller closes it."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme == "sqlite":
        from watchword.service.sqlite_store import SqliteStore

        path = rest.removeprefix("/") if separator and rest.startswith("//") else rest
        return SqliteStore(path if separator else url)
    if scheme in ("postgresql", "postgres"):
        from watchword.service.postgres_store import PostgresStore

        return PostgresStore(url)
    raise StoreError(
        f"unknown kind of store {scheme!r}: use a file path, or postgresql://USER@HOST/NAME"
    )


def shown_url(url: str) -> str:
    """Return the address of a store without a password.

    >>> shown_url("postgresql://ann:secret@localhost/watch")
    'postgresql://ann@localhost/watch'
    >>> shown_url("postgresql:///watch?user=ann&password=secret&port=5433")
    'postgresql:///watch?user=ann&password=…&port=5433'
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url
    user, at, place = rest.rpartition("@")
    shown = f"{scheme}://{user.partition(':')[0]}{at}{place}"
    return re.sub(r"(?i)([?&](?:ssl)?password=)[^&]*", r"\1…", shown)


def encoded(text: str) -> bytes:
    r"""Return an id or a text as the store keeps it.

    >>> encoded("\ud800").decode("utf-8", "surrogatepass") == "\ud800"
    True
    """
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    """Return what `encoded` encoded."""
    return bytes(data).decode("utf-8", "surrogatepass")


def blobs(column: Iterable[bytes]) -> list[bytearray]:
    """Return the values of a binary column in the type that is written fastest.

    For every other type of bytes, the module sqlite3 looks for an adapter, and finds none.

    >>> blobs([b"a"])
    [bytearray(b'a')]
    """
    return list(map(bytearray, column))


def encoded_all(texts: Sequence[str]) -> list[bytes]:
    r"""Return ids or texts as the store keeps them.

    >>> encoded_all(["a", "é"])
    [b'a', b'\xc3\xa9']
    """
    try:
        return [text.encode() for text in texts]
    except UnicodeEncodeError:
        return [encoded(text) for text in texts]
