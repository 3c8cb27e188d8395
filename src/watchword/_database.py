"""SQLite databases for logs that must survive a crash.

A database belongs to one process at a time: SQLite locks the file itself, and the lock ends with
the process. A transaction that a killed process left unfinished is rolled back when the database
is opened again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchword._files import AnyPath, in_use, writing_to
from watchword.errors import StateError

if TYPE_CHECKING:  # `import watchword` does not load SQLite
    import sqlite3

OWNER_ONLY = 0o600


@dataclass(frozen=True)
class DatabaseKind:
    """A kind of database: its version, its tables, and how safely it is written.

    If `durable`, a commit survives a power failure, and the file alone holds all that was
    committed. If not, a commit survives the end of the process, a power failure may undo the
    latest commits, and they may be in `NAME-wal` until the database is closed; a commit takes
    microseconds instead of milliseconds.
    """

    name: str  #: with an article, as in "a journal"
    application_id: int
    version: int
    tables: tuple[str, ...]
    durable: bool


def table(name: str, key: str, *columns: str) -> str:
    """Return the definition of a table whose columns hold values of one type each.

    A column looks like "name TEXT", "weight REAL NULL", "parent INTEGER REFERENCES parents". The
    table is what SQLite calls STRICT since version 3.37, for earlier versions, too.
    """
    typed = []
    for each in columns:
        column, kind, *rules = each.lower().split()
        types = f"'{kind}', 'null'" if "null" in rules else f"'{kind}'"
        typed.append(f"{each} CHECK (typeof({column}) IN ({types}))")
    return f"CREATE TABLE {name} ({', '.join(typed)}, PRIMARY KEY ({key})) WITHOUT ROWID"


class Database:
    """An open database whose errors name the file."""

    def __init__(self, connection: sqlite3.Connection, path: AnyPath, kind: DatabaseKind) -> None:
        self.path = path
        self._connection = connection
        self._kind = kind

    def rows(self, query: str, *values: object) -> list[Any]:
        """Return the rows that a query finds, each a `sqlite3.Row`."""
        with _named_errors(self.path, self._kind):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection for changes that are made together or not at all."""
        with _named_errors(self.path, self._kind), transaction(self._connection):
            yield self._connection

    def shrink(self) -> None:
        """Return the space of deleted rows to the disk, and overwrite what they held."""
        with _named_errors(self.path, self._kind):
            self._connection.execute("VACUUM")

    def damaged(self, reason: object) -> StateError:
        """Return the error for content that no program of this package wrote."""
        return _damaged(self.path, reason)


def existing(path: AnyPath, other: Exception) -> str:
    """Return the path of a file without links; create the file, for its owner only, if missing.

    Raise `other` for a file that cannot be a database, but which SQLite would overwrite.
    """
    target = os.path.realpath(path)
    if Path(target).is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    with suppress(FileExistsError):  # never open an existing file: closing it would drop its lock
        os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    if Path(target).stat().st_size == 1:  # empty to SQLite
        raise other
    return target


@contextmanager
def open_database(path: AnyPath, kind: DatabaseKind) -> Iterator[Database]:
    """Open a database, or create it if there is no file or an empty one.

    Raise `StateError` for a file that is something else, of another version, damaged, or in use,
    and leave it as it is; raise `OSError` for one that cannot be written.
    """
    import sqlite3

    target = existing(path, _other_kind(path, kind))
    with _named_errors(path, kind):
        connection = sqlite3.connect(target, timeout=0, isolation_level=None)
    with closing(connection):
        with _named_errors(path, kind):
            _prepare(connection, path, kind)
        connection.row_factory = sqlite3.Row
        yield Database(connection, path, kind)


def _prepare(connection: sqlite3.Connection, path: AnyPath, kind: DatabaseKind) -> None:
    """Lock a database until it is closed, check it, and create what is missing."""
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    with transaction(connection, "EXCLUSIVE"):
        version = claimed(connection, kind.application_id, _other_kind(path, kind))
        if version is None:
            for definition in kind.tables:
                connection.execute(definition)
        elif version != kind.version:
            raise StateError(
                f"{os.fspath(path)} was written by another version of watchword (format {version}, "
                f"expected {kind.version}): use another file"
            )
        else:
            _check(connection, path, kind)
        # Written each time: a file that cannot be written is refused before anything is done,
        # and SQLite then owns, and removes in the end, the log that a killed process left.
        connection.execute(f"PRAGMA user_version = {kind.version}")
    connection.execute(f"PRAGMA journal_mode = {'DELETE' if kind.durable else 'WAL'}")
    connection.execute(f"PRAGMA synchronous = {'FULL' if kind.durable else 'NORMAL'}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_size_limit = 0")  # no remains of texts in the log


def _check(connection: sqlite3.Connection, path: AnyPath, kind: DatabaseKind) -> None:
    """Check tables, pages, types of values and references between tables."""
    if not has_tables(connection, kind.tables):
        raise _damaged(path, "its tables are not those expected")
    [found] = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise _damaged(path, found.splitlines()[-1])  # after one with a heading
    for name, *_ in connection.execute("PRAGMA foreign_key_check"):
        raise _damaged(path, f"a row of {name} refers to one that is missing")


def claimed(connection: sqlite3.Connection, application_id: int, other: Exception) -> int | None:
    """Return the version of a database; None if it was empty, and now has this application id.

    Raise `other` for a database with another one.
    """
    version: int
    [found] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if found == version == 0 and not _schema_of(connection):
        connection.execute(f"PRAGMA application_id = {application_id}")
        return None
    if found != application_id:
        raise other
    return version


def has_tables(connection: sqlite3.Connection, definitions: Iterable[str]) -> bool:
    """Return whether a database has exactly these tables and indices."""
    import sqlite3

    with closing(sqlite3.connect(":memory:")) as expected:
        expected.executescript(";".join(definitions))
        return _schema_of(connection) == _schema_of(expected)


def _schema_of(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Return the tables and indices of a database, with their definitions.

    Those that SQLite makes for itself are left out.
    """
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    found = connection.execute(query).fetchall()
    return [one for one in found if not one[1].startswith("sqlite_")]


@contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "") -> Iterator[None]:
    """Commit the changes made in the context together at its end, or none after an error."""
    try:
        connection.execute(f"BEGIN {kind}")
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(connection.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        raise


# Errors


@contextmanager
def _named_errors(path: AnyPath, kind: DatabaseKind) -> Iterator[None]:
    """Turn errors of SQLite into errors that name the file and say what to do."""
    import sqlite3

    try:
        yield
    except UnicodeDecodeError as error:  # of a message that quotes damaged text
        raise _damaged(path, error.reason) from error
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.Error as error:
        # By message: error codes are there only since Python 3.11.
        message = str(error)
        if message == "database is locked":
            raise in_use(path) from None
        if message == "file is not a database":
            raise _other_kind(path, kind) from None
        if message in FAILURES:
            with writing_to(path):
                raise OSError(FAILURES[message], message) from error
        if message in REFUSALS and not _may_write(path):
            advice = "Permission denied: allow writing to it and its folder, or use another file"
            raise PermissionError(errno.EACCES, advice, os.fspath(path)) from error
        raise _damaged(path, message) from error


#: Messages of SQLite about the disk, and about a file that it may not open or write.
FAILURES = {"database or disk is full": errno.ENOSPC, "disk I/O error": errno.EIO}
REFUSALS = ("attempt to write a readonly database", "unable to open database file")


def _may_write(path: AnyPath) -> bool:
    """Return whether a refusal to write is not about permissions, but a damaged header."""
    target = Path(os.path.realpath(path))
    return os.access(target, os.W_OK) and os.access(target.parent, os.W_OK)


def _other_kind(path: AnyPath, kind: DatabaseKind) -> StateError:
    return StateError(f"{os.fspath(path)} is not {kind.name}: use another file")


def _damaged(path: AnyPath, reason: object) -> StateError:
    return StateError(
        f"{os.fspath(path)} is damaged ({reason}): restore a copy of it, or use another file"
    )
