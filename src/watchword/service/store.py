"""Stores: where the service keeps everything, in SQLite or PostgreSQL, behind one class.

Statements are plain SQL with `?` for values, the same for both. What differs is in `Session`: rows
by many keys, new ids, and locks.

Ids, names and texts are UTF-8 in binary columns, because JSON can carry characters that text
columns refuse (NUL, halves of surrogate pairs). Times are microseconds since 1970 in UTC.
docs/service-store.md describes the schema.
"""

from __future__ import annotations

import logging
import queue
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import unquote

from watchword._files import AnyPath
from watchword.errors import StoreError, StoreUnavailableError
from watchword.service.logs import say

Row = tuple[Any, ...]

MOST_ID_BYTES = 1_000  # of an id as UTF-8: an index of PostgreSQL takes 2,704
_Result = TypeVar("_Result")
_SHORTEST_WAIT, _LONGEST_WAIT = 0.1, 5.0  # seconds
_MOST_IDLE = 8  # connections that are kept for later


class Session(ABC):
    """A connection in use: within a transaction if it writes."""

    for_update = ""  #: ends a query that locks its rows

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def run(self, query: str, *values: Any) -> list[Row]:
        """Run a statement, with a value for each `?`, and return its rows."""
        cursor = self.connection.execute(self._placed(query), values)
        found: list[Row] = cursor.fetchall() if cursor.description else []
        return found

    def many(self, query: str, rows: Sequence[Row]) -> int:
        """Run a statement once per row of values; return the number of changed rows."""
        if not rows:
            return 0
        with closing(self.connection.cursor()) as cursor:
            cursor.executemany(self._placed(query), rows)
            return int(cursor.rowcount)

    def set_fact(self, name: str, value: str) -> None:
        """Write a fact about the store."""
        self.run(
            "INSERT INTO facts (name, value) VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            *(name, value),
        )

    def _placed(self, query: str) -> str:
        """Return a query with the placeholders of the database."""
        return query

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
    def skip_ids(self, table: str, least: int) -> None:
        """Let the ids of new rows of a table with a counter be at least this."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Return whether the store is a backup that was restored since `mark_as_used`."""

    @abstractmethod
    def mark_as_used(self) -> None:
        """Remember that this is no backup, or no longer."""

    @abstractmethod
    def contains(self, column: str) -> str:
        """Return the test whether a binary column contains a value."""

    def lock(self, name: str) -> None:  # noqa: B027
        """Wait for other processes in the same part of the program, until the transaction ends."""


class ReaderPool:
    """Connections that read, lent one at a time to a thread; a few are kept for later."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue(_MOST_IDLE)
        self._is_closed = False

    @contextmanager
    def lent(self) -> Iterator[Any]:
        """Lend a connection; close it if an error leaves it in an unknown state."""
        connection = self._idle_one() or self._connect()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        if not self._is_closed:
            with suppress(queue.Full):
                self._idle.put_nowait(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close the connections that are not in use, and later those that are."""
        self._is_closed = True
        while (connection := self._idle_one()) is not None:
            connection.close()

    def _idle_one(self) -> Any:
        """Return a kept connection that is still open; None if there is none."""
        with suppress(queue.Empty):
            while _is_lost(connection := self._idle.get_nowait()):
                pass
            return connection
        return None


def _is_lost(connection: Any) -> bool:
    return getattr(connection, "closed", False)  # as psycopg says after an outage


class Store(ABC):
    """An open store. Threads may share it: one writes at a time, several read."""

    is_shared: bool  #: whether other processes may write to it all the time
    _types: Mapping[str, str]  # of columns

    def __init__(self, url: str, steps: Mapping[int, tuple[str, ...]]) -> None:
        self.url = url
        self._steps = steps
        self._lock = threading.RLock()
        self._writer: Any = None  # the connection that writes
        self._readers = ReaderPool(self._reader)
        self._is_closed = False

    @abstractmethod
    def _open(self) -> Any:
        """Return a new connection."""

    @abstractmethod
    def _prepare(self, connection: Any) -> None:
        """Check the tables, and create or change them."""

    def _reader(self) -> Any:
        return self._open()

    def _connected(self) -> Any:
        """Return the connection that writes; connect and check the tables if there is none."""
        self._refuse_closed()
        if self._writer is None or _is_lost(self._writer):
            connection = self._open()
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._writer = connection
        return self._writer

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise StoreError(f"the store {self.url} is closed")

    def _migrated(self, session: Session, version: int) -> int:
        """Bring a store of a version, 0 if it is empty, to the latest one; return that.

        The caller holds one transaction around it. Raise `StoreError` for a later version.
        """
        latest = max(self._steps)
        if version > latest:
            raise StoreError(
                f"{self.url} was written by a later version of watchword (schema {version}, this "
                f"one knows {latest}): update watchword, or use another store"
            )
        for statement in self._statements(version):
            session.run(statement)
        return latest

    def _statements(self, version: int = 0) -> list[str]:
        """Return the statements that bring a store of a version to the latest one."""
        later = [number for number in sorted(self._steps) if number > version]
        return [one.format(**self._types) for number in later for one in self._steps[number]]

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

    def free_bytes(self) -> int | None:
        """Return the free space on the disk of the store; None if it is on another machine."""
        return None

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
    with closing(connect(url)) as store:
        yield store


def connect(url: str) -> Store:
    """Return an open store; the caller closes it."""
    if _KEYWORDS.match(url):  # the other form that PostgreSQL knows, and not a path
        raise StoreError("keywords cannot name a store: use postgresql://USER@HOST/NAME")
    path = sqlite_path(url)
    if path is not None:
        from watchword.service.sqlite_store import SqliteStore

        return SqliteStore(path)
    scheme = url.partition("://")[0]
    if scheme in ("postgresql", "postgres"):
        from watchword.service.postgres_store import PostgresStore

        if URL.fullmatch(url) is None:
            raise StoreError(
                f"{shown_url(url)} is not a PostgreSQL URL: use postgresql://USER@HOST/NAME, and "
                "write @, /, ? and # in a password as %40, %2F, %3F and %23"
            )
        return PostgresStore(url)
    raise StoreError(
        f"unknown kind of store {scheme!r}: use a file path, or postgresql://USER@HOST/NAME"
    )


def patiently(action: Callable[[], _Result]) -> _Result:
    """Return the result of an action, which is repeated until the store is available."""
    wait = _SHORTEST_WAIT
    while True:
        try:
            return action()
        except StoreUnavailableError as error:  # noqa: PERF203
            fields = {"reason": str(error), "seconds": wait}
            say("service waits for the store", level=logging.WARNING, **fields)
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)


def sqlite_path(url: str) -> str | None:
    """Return the path of an SQLite store, None for another store.

    >>> sqlite_path("watch.db"), sqlite_path("sqlite:////var/watch.db")
    ('watch.db', '/var/watch.db')
    """
    scheme, separator, path = url.partition("://")
    if not separator:
        return url
    if scheme != "sqlite":
        return None
    return path.removeprefix("/") if path.startswith("//") else path


#: Addresses whose parts cannot be mistaken: names and passwords have no @, /, ? or #.
URL = re.compile(
    r"(?P<scheme>[^:/?#]+)://(?:(?P<user>[^:@/?#]*)(?::(?P<password>[^@/?#]*))?@)?"
    r"(?P<place>[^@?#]*)(?:\?(?P<query>[^@#]*))?"
)
_KEYWORDS = re.compile(r"\s*(host|hostaddr|port|dbname|user|password|passfile|service)\s*=")
_SECRET = re.compile("pass|secret|token|scram", re.IGNORECASE)  # in names of parameters


def shown_url(url: str) -> str:
    """Return the address of a store or of a stream without anything secret.

    >>> shown_url("postgresql://ann:secret@localhost/watch")
    'postgresql://ann@localhost/watch'
    >>> shown_url("postgresql:///watch?user=ann&password=secret&port=5433")
    'postgresql:///watch?user=ann&password=…&port=5433'
    >>> shown_url("postgresql://ann:sec/ret@localhost/watch")  # the slash should be %2F
    'postgresql://…'
    """
    scheme, separator, _ = url.partition("://")
    if not separator or scheme == "sqlite":
        return url
    match = URL.fullmatch(url)
    if match is None:
        return f"{scheme}://…"
    user = "" if match["user"] is None else f"{match['user']}@"
    pairs = [pair.partition("=") for pair in match["query"].split("&")] if match["query"] else []
    shown = [
        f"{name}{equals}{'…' if _SECRET.search(unquote(name)) else value}"
        for name, equals, value in pairs
    ]
    return f"{scheme}://{user}{match['place']}" + (f"?{'&'.join(shown)}" if shown else "")


def has_secret(url: str) -> bool:
    """Return whether an address has, or may have, something that `shown_url` leaves out.

    >>> has_secret("postgresql://ann@localhost/watch"), has_secret("redis://:secret@localhost/posts")
    (False, True)
    """
    return shown_url(url) != url


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


APPLICATION_ID = 0x77777374  # "wwst"

SQLITE_TYPES = {
    "key": "INTEGER PRIMARY KEY",
    "counter": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "whole": "INTEGER",
    "real": "REAL",
    "bytes": "BLOB",
    "text": "TEXT",
    "clustered": " WITHOUT ROWID",
}
POSTGRES_TYPES = {
    "key": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    "counter": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    "whole": "BIGINT",
    "real": "DOUBLE PRECISION",
    "bytes": "BYTEA",
    "text": "TEXT",
    "clustered": "",
}

_FIRST = (
    "CREATE TABLE facts (name {text} PRIMARY KEY, value {text} NOT NULL)",
    "CREATE TABLE layouts (id {key}, labels {text} NOT NULL, policy {text} NOT NULL, "
    "policy_hash {text} NOT NULL, model {text} NOT NULL)",
    "CREATE UNIQUE INDEX layouts_by_content ON layouts (model, policy_hash, labels)",
    "CREATE TABLE subjects (id {key}, name {bytes} NOT NULL UNIQUE, layout {whole} NOT NULL, "
    "posts {whole} NOT NULL, delay {whole} NOT NULL, score {real} NOT NULL, "
    "first_time {whole}, last_time {whole}, state {bytes} NOT NULL, "
    "recent {bytes} NOT NULL, older {whole} NOT NULL)",
    "CREATE TABLE posts (id {key}, subject {whole} NOT NULL, post_id {bytes} NOT NULL, "
    "number {whole}, time {whole}, arrived {whole} NOT NULL, layout {whole} NOT NULL, "
    "contribution {bytes} NOT NULL)",
    "CREATE TABLE post_index (subject {whole} NOT NULL, hash {whole} NOT NULL, "
    "post {whole} NOT NULL, PRIMARY KEY (subject, hash, post)){clustered}",
    "CREATE INDEX posts_waiting ON posts (id) WHERE number IS NULL",
    "CREATE TABLE texts (post {whole} PRIMARY KEY, arrived {whole} NOT NULL, "
    "text {bytes} NOT NULL)",
    "CREATE INDEX texts_by_arrival ON texts (arrived)",
    "CREATE TABLE alerts (id {counter}, subject {whole} NOT NULL UNIQUE, layout {whole} NOT NULL, "
    "label {text} NOT NULL, post_id {bytes} NOT NULL, post_time {whole}, "
    "raised_at {whole} NOT NULL, delay {whole} NOT NULL, by_time {whole} NOT NULL, "
    "score {real} NOT NULL, "
    "sums {bytes} NOT NULL, reasons {text} NOT NULL)",
    "CREATE TABLE marks (alert {whole} PRIMARY KEY, verdict {text} NOT NULL, "
    "note {bytes} NOT NULL, marked_by {bytes} NOT NULL, label {text}, at {whole} NOT NULL)",
    "CREATE TABLE versions (id {counter}, parent {whole}, path {text} NOT NULL, "
    "model {text} NOT NULL, at {whole} NOT NULL)",
    "CREATE TABLE lessons (id {counter}, version {whole} NOT NULL, alert {whole} NOT NULL, "
    "subject {whole} NOT NULL, label {text} NOT NULL, text {bytes} NOT NULL, at {whole} NOT NULL)",
    "CREATE INDEX lessons_by_subject ON lessons (subject)",
    "CREATE TABLE positions (source {bytes} PRIMARY KEY, position {bytes} NOT NULL)",
    "CREATE TABLE tokens (name {text} PRIMARY KEY, hash {bytes} NOT NULL, scopes {text} NOT NULL, "
    "created {whole} NOT NULL)",
    "CREATE TABLE webhooks (id {counter}, url {text} NOT NULL UNIQUE, secret {text} NOT NULL, "
    "created {whole} NOT NULL)",
    "CREATE TABLE deliveries (alert {whole} NOT NULL, webhook {whole} NOT NULL, "
    "attempts {whole} NOT NULL, next_at {whole} NOT NULL, state {text} NOT NULL, "
    "error {text} NOT NULL, PRIMARY KEY (alert, webhook))",
    "CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state = 'due'",
)

# A row for every mark, of which the latest one of an alert counts.
_MARKS = (
    "ALTER TABLE marks RENAME TO single_marks",
    "CREATE TABLE marks (id {counter}, alert {whole} NOT NULL, is_latest {whole} NOT NULL, "
    "verdict {text} NOT NULL, note {bytes} NOT NULL, marked_by {bytes} NOT NULL, label {text}, "
    "at {whole} NOT NULL)",
    "INSERT INTO marks (alert, is_latest, verdict, note, marked_by, label, at) "
    "SELECT alert, 1, verdict, note, marked_by, label, at FROM single_marks ORDER BY at",
    "DROP TABLE single_marks",
    "CREATE INDEX marks_by_alert ON marks (alert)",
    "CREATE UNIQUE INDEX latest_marks ON marks (alert) WHERE is_latest = 1",
)

# The due deliveries of one webhook, in the order in which they are sent.
_DELIVERIES = (
    "DROP INDEX deliveries_due",
    "CREATE INDEX deliveries_due ON deliveries (webhook, next_at, alert) WHERE state = 'due'",
)

_REJECTED = (
    "CREATE TABLE rejected (id {counter}, source {bytes} NOT NULL, line {bytes} NOT NULL, "
    "reason {text} NOT NULL, at {whole} NOT NULL)",
    "CREATE UNIQUE INDEX rejected_by_line ON rejected (source, line)",
)

#: Statements that lead from the version before to each version.
STEPS: Mapping[int, tuple[str, ...]] = {1: _FIRST, 2: (*_MARKS, *_DELIVERIES, *_REJECTED)}

#: The tables that hold something about a subject.
PERSONAL = ("texts", "posts", "post_index", "deliveries", "marks", "alerts", "lessons", "subjects")
