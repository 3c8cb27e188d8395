"""The store in an SQLite file: write-ahead log, every commit on the disk.

One connection writes, others read at the same time. Other processes, such as commands of the
operator, may open the same file: SQLite locks it for each transaction.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from watchword._database import (
    FAILURES,
    OWNER_ONLY,
    REFUSALS,
    claimed,
    existing,
    has_tables,
    transaction,
)
from watchword._files import AnyPath, FileIdentity, file_identity, scratch_folder, writing_to
from watchword.errors import StoreError, StoreUnavailableError
from watchword.service.store import (
    APPLICATION_ID,
    SQLITE_TYPES,
    STEPS,
    Row,
    Session,
    Store,
    blobs,
)

_PAGE = 1_024  # small: a post changes two pages that hardly any other post of a group changes
# Of the connection that writes. Not larger: a commit that moved rows between pages looks at every
# page of the cache (in pcache1TruncateUnsafe, as long as the file has less than 1 GiB), which takes
# milliseconds if these are hundreds of thousands. The system keeps the rest of the file in memory.
_CACHE_KIB = 32 * 1024
_READER_CACHE_KIB = 8 * 1024
_LOG = 32 * 1024 * 1024  # bytes in the log when its content moves to the file
_RETRY = 1.0  # seconds after which a log that could not start again is moved again
_LONGEST_LOG = 8 * _LOG  # a log of this length is moved by the next commit
_MOST_KEYS = 1_024  # per statement
_TIMEOUT = 5.0  # seconds to wait for another process
_IS_BACKUP = "is a backup"  # name of a fact
_LOGS = ("-wal", "-shm")  # added to the name of the file: the log and its index


class _SqliteSession(Session):
    def where(self, query: str, keys: Sequence[Any]) -> list[Row]:
        found: list[Row] = []
        for begin in range(0, len(keys), _MOST_KEYS):
            part = list(keys[begin : begin + _MOST_KEYS])
            # Few different statements, so that they stay prepared.
            size = 1 << (len(part) - 1).bit_length()
            part += part[-1:] * (size - len(part))
            test = f"IN ({','.join('?' * size)})"
            found += self.connection.execute(query.format(keys=test), part).fetchall()
        return found

    def lock_subjects(self, columns: str, names: Sequence[bytes]) -> list[Row]:
        # Sorted, because SQLite sorts the keys, too, which is then quicker.
        query = f"SELECT {columns} FROM subjects WHERE name {{keys}}"
        return self.where(query, blobs(sorted(names)))

    def indexed(self, pairs: Sequence[tuple[int, int]]) -> list[Row]:
        query = "SELECT subject, hash, post FROM post_index WHERE subject = ? AND hash = ?"
        run = self.connection.execute  # not `self.run`: there is a pair for each post
        return [row for pair in pairs for row in run(query, pair)]

    def new_ids(self, table: str, count: int) -> Sequence[int]:
        [(last,)] = self.run(f"SELECT coalesce(max(id), 0) FROM {table}")
        return range(last + 1, last + 1 + count)

    def skip_ids(self, table: str, least: int) -> None:
        self.run(
            "UPDATE sqlite_sequence SET seq = ? WHERE name = ? AND seq < ?", least, table, least
        )
        self.run(
            "INSERT INTO sqlite_sequence (name, seq) SELECT ?, ? "
            "WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)",
            *(table, least, table),
        )

    def is_restored(self) -> bool:
        return bool(self.run("SELECT 1 FROM facts WHERE name = ?", _IS_BACKUP))

    def mark_as_used(self) -> None:
        self.run("DELETE FROM facts WHERE name = ?", _IS_BACKUP)

    def contains(self, column: str) -> str:
        return f"instr({column}, ?) > 0"


class SqliteStore(Store):
    """An SQLite file. Created with its folder's permissions, readable by its owner only."""

    is_shared = False
    _types = SQLITE_TYPES

    def __init__(self, path: AnyPath, *, steps: Mapping[int, tuple[str, ...]] = STEPS) -> None:
        super().__init__(os.fspath(path), steps)
        parent = Path(os.path.realpath(path)).parent
        if not parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such folder", str(parent))
        self._target = existing(path, self._other_kind())
        self._log_must_go = False
        self._identity: FileIdentity | None = None  # of the file, once it is open
        self._logs: dict[str, FileIdentity | None] = {}  # of its log, while connected
        self._mover = _LogMover(self._target, self._lock)
        with self._named_errors(), self._lock:
            self._connected()
            self._identity = _identity(self._target)

    def _open(self) -> sqlite3.Connection:
        return _connection(self._target)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA page_size = {_PAGE}")
        connection.execute("PRAGMA secure_delete = ON")
        with transaction(connection, "IMMEDIATE"):
            version = claimed(connection, APPLICATION_ID, self._other_kind()) or 0
            reached = self._migrated(_SqliteSession(connection), version)
            if reached != version:
                connection.execute(f"PRAGMA user_version = {reached}")
            if not has_tables(connection, self._statements()):
                raise self._damaged("its tables are not those expected")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA journal_size_limit = 0")  # no remains in the log
        connection.execute("PRAGMA temp_store = MEMORY")
        # A new file has its log only from now on; SQLite keeps it until the last connection closes.
        connection.execute("PRAGMA user_version").fetchone()
        self._logs = {end: _identity(self._target + end) for end in _LOGS}

    def _refuse_another_file(self) -> None:
        """Raise an error if the file or its log is gone: SQLite would write to an unnamed one."""
        for end, known in {"": self._identity, **self._logs}.items():
            if known not in (None, _identity(self._target + end)):
                raise StoreUnavailableError(
                    f"{self.url}{end} was removed or replaced while it was in use: put the same "
                    "file back, or restart the service",
                    retry_after=5.0,
                )

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Yield a session that sees one state of the store."""
        self._refuse_closed()
        self._refuse_another_file()
        with self._named_errors(), self._readers.lent() as connection, transaction(connection):
            yield _SqliteSession(connection)

    def _reader(self) -> sqlite3.Connection:
        connection = self._open()
        connection.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
        connection.execute("PRAGMA query_only = ON")
        return connection

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Yield a session whose changes are committed together at the end, or not at all."""
        with self._lock, self._named_errors():
            self._refuse_another_file()
            connection = self._connected()
            if connection.in_transaction:
                raise RuntimeError("a transaction is under way in this thread")
            with transaction(connection, "IMMEDIATE"):
                yield _SqliteSession(connection)
            if self._log_must_go:
                self._empty_log(connection, seconds=0)
            self._mover.look(connection)

    def backup(self, path: AnyPath) -> None:
        """Write a copy of the store as it is now to a file, while it is in use."""
        if Path(path).exists() and os.path.realpath(path) == self._target:
            raise ValueError(f"{os.fspath(path)} is the store itself: use another file")
        self._refuse_another_file()
        is_device = Path(path).exists() and not Path(path).is_file()  # or a pipe
        scratch = TemporaryDirectory() if is_device else scratch_folder(path, mode=0o700)
        with writing_to(path), self._named_errors(), scratch as folder:
            whole = Path(folder, "copy")
            os.close(os.open(whole, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_ONLY))
            copying = closing(sqlite3.connect(whole, isolation_level=None))
            with closing(self._open()) as source, copying as copy:
                source.backup(copy)  # in one step: in several, each commit would start it again
                _SqliteSession(copy).set_fact(_IS_BACKUP, "")
                copy.execute("PRAGMA journal_mode = DELETE")
            if is_device:
                with whole.open("rb") as copied, Path(path).open("wb") as device:
                    shutil.copyfileobj(copied, device)
            else:
                whole.replace(os.path.realpath(path))

    def scrub(self) -> None:
        """Overwrite the remains of deleted rows, also in the log.

        While a reader holds an earlier state, the log cannot be emptied; then the next commits try
        again, without waiting.
        """
        with self._lock, self._named_errors():
            self._empty_log(self._connected(), seconds=_TIMEOUT)

    def _empty_log(self, connection: sqlite3.Connection, seconds: float) -> None:
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")
        [(is_busy, *_)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * _TIMEOUT)}")
        self._log_must_go = bool(is_busy)

    def free_bytes(self) -> int | None:
        """Return the free space on the disk of the file; None if that is unknown."""
        with suppress(OSError, AttributeError):  # Windows has no statvfs
            disk = os.statvfs(Path(self._target).parent)
            # A part of a disk may be reserved for root.
            return disk.f_frsize * (disk.f_bavail if os.geteuid() else disk.f_bfree)
        return None

    def close(self) -> None:
        """Close all connections; the log moves into the file."""
        self._mover.close()
        with self._lock:
            self._is_closed = True
            self._readers.close()
            self._logs = {}
            if self._writer is not None:
                with self._named_errors():
                    self._writer.close()
                self._writer = None

    # Errors

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into errors that name the file and say what to do."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except UnicodeDecodeError as error:  # of a message that quotes damaged text
            raise self._damaged(error.reason) from error
        except (sqlite3.IntegrityError, sqlite3.InterfaceError) as error:
            raise self._damaged(error) from error
        except sqlite3.Error as error:
            raise self._named(str(error)) from error

    def _named(self, message: str) -> StoreError:
        # By message: error codes are there only since Python 3.11.
        if "locked" in message or message == "database is busy":
            return StoreUnavailableError(
                f"{self.url} is locked by another process: try again, or stop that process"
            )
        if message in FAILURES:
            return StoreUnavailableError(
                f"{self.url} cannot be written ({message}): free some space, or check the disk",
                retry_after=5.0,
            )
        if message in REFUSALS:
            self._disconnect()
            return StoreUnavailableError(
                f"{self.url} cannot be written ({message}): allow writing to it and its folder",
                retry_after=5.0,
            )
        if message == "file is not a database":
            return self._other_kind()
        self._disconnect()
        return self._damaged(message)

    def _disconnect(self) -> None:
        """Close the connection that writes, so that the next use opens the file again.

        Not while another thread writes: it will notice itself what is wrong, if anything.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._logs = {}  # which SQLite removes with the last connection
            if self._writer is not None:
                with suppress(sqlite3.Error):
                    self._writer.close()
                self._writer = None
        finally:
            self._lock.release()

    def _other_kind(self) -> StoreError:
        return StoreError(f"{self.url} is not a watchword store: use another file")

    def _damaged(self, reason: object) -> StoreError:
        return StoreError(f"{self.url} is damaged ({reason}): restore a backup of it")


class _LogMover:
    """Moves the content of the log into the file while posts are written.

    SQLite would do so within a commit, which would then take some tenths of a second. A thread
    moves the current content; then, while no commit runs, the little that was added since: the log
    can only start again once it is empty.
    """

    def __init__(self, target: str, lock: threading.RLock) -> None:
        self._target = target
        self._log = f"{target}-wal"
        self._lock = lock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="watchword-log")
        self._moving: Future[None] | None = None
        self._due = _LOG  # length at which the log is moved next
        self._due_at = 0.0  # or the time

    def look(self, connection: sqlite3.Connection) -> None:
        """Begin to move the log if it is long; called after a commit."""
        try:
            size = os.stat(self._log).st_size  # noqa: PTH116 - after every commit, so quickly
        except OSError:
            return
        if size <= _LOG:
            self._due = _LOG
        elif size > self._due or time.monotonic() > self._due_at:
            # While reads go on, the log cannot start again. Moving it after every commit would
            # then hold up all of them.
            self._due, self._due_at = size + _LOG, time.monotonic() + _RETRY
            if size > _LONGEST_LOG:
                _move(connection)
            elif self._moving is None or self._moving.done():
                with suppress(RuntimeError):  # the store is being closed
                    self._moving = self._thread.submit(self._work)

    def _work(self) -> None:
        with suppress(sqlite3.Error), closing(_connection(self._target)) as connection:
            _move(connection)
            with self._lock:
                _move(connection)

    def close(self) -> None:
        self._thread.shutdown()


def _move(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _connection(target: str) -> sqlite3.Connection:
    """Open a file, but create none."""
    return sqlite3.connect(
        f"{Path(target).as_uri()}?mode=rw",
        uri=True,
        timeout=_TIMEOUT,
        isolation_level=None,
        check_same_thread=False,
    )


def _identity(target: str) -> FileIdentity | None:
    """Return the identity of the file at a path; None if there is none."""
    try:
        status = os.stat(target)  # noqa: PTH116 - for every transaction, so quickly
    except OSError:
        return None
    return file_identity(status)
