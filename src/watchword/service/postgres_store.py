"""The store in PostgreSQL, through psycopg 3: several processes may write to it at once.

Everything is in the schema `watchword` of the database. Subjects are locked row by row, in the
order of their ids, so that processes with different subjects do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from watchword._files import AnyPath
from watchword.errors import MissingExtraError, StoreError, StoreUnavailableError
from watchword.service.store import PERSONAL, POSTGRES_TYPES, STEPS, Row, Session, Store, shown_url

try:
    import psycopg
    from psycopg import errors
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError as error:
    raise MissingExtraError.of("postgres", "a store in PostgreSQL needs psycopg") from error

_LOCKS = 0x7777_0000  # of this program among the advisory locks of the database
_WRITTEN_BY = "written by transaction"  # name of a fact
_NAMES = {"schema": 1, "alerts": 2, "rounds": 3, "lessons": 4}
# Unless the URL has others: a server that can no longer be reached is noticed within half a minute.
_CONNECTION: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
_LOST = (
    psycopg.OperationalError,
    errors.IdleInTransactionSessionTimeout,
    # Of PostgreSQL 17, and unknown to earlier versions of psycopg.
    getattr(errors, "TransactionTimeout", errors.IdleInTransactionSessionTimeout),
)


class _PostgresSession(Session):
    for_update = " FOR UPDATE"

    def _placed(self, query: str) -> str:
        return query.replace("?", "%s")

    def where(self, query: str, keys: Sequence[Any]) -> list[Row]:
        return self.run(query.format(keys="= ANY(?)"), list(keys)) if keys else []

    def lock_subjects(self, columns: str, names: Sequence[bytes]) -> list[Row]:
        """Return these columns of the subjects, locked; create those that do not exist yet.

        Inserted subjects are sorted by name, locked ones by id, and a process that inserts holds
        no lock yet: so processes wait for each other, but never in a circle.
        """
        known = {row[0] for row in self.where("SELECT name FROM subjects WHERE name {keys}", names)}
        new = sorted(set(names) - known)
        if new:
            self.run(
                "INSERT INTO subjects (name, layout, posts, delay, score, state, recent, older) "
                "SELECT unnest(?::bytea[]), 0, 0, 0, 0, ''::bytea, ''::bytea, 0 "
                "ON CONFLICT DO NOTHING",
                new,
            )
        query = f"SELECT {columns} FROM subjects WHERE name = ANY(?) ORDER BY id FOR UPDATE"
        return self.run(query, list(names))

    def indexed(self, pairs: Sequence[tuple[int, int]]) -> list[Row]:
        return self.run(
            "SELECT p.subject, p.hash, p.post FROM unnest(?::bigint[], ?::bigint[]) AS k (s, h) "
            "JOIN post_index p ON p.subject = k.s AND p.hash = k.h",
            *([subject for subject, _ in pairs], [number for _, number in pairs]),
        )

    def new_ids(self, table: str, count: int) -> Sequence[int]:
        query = f"SELECT nextval(pg_get_serial_sequence('{table}', 'id'))"
        return sorted(key for (key,) in self.run(f"{query} FROM generate_series(1, ?)", count))

    def skip_ids(self, table: str, least: int) -> None:
        self.run(
            "SELECT setval(s.name, greatest(nextval(s.name), ?)) "
            "FROM (SELECT pg_get_serial_sequence(?, 'id')::regclass AS name) AS s",
            *(least, table),
        )

    def is_restored(self) -> bool:
        """Return whether another transaction wrote the fact than the one that it names.

        A dump has the value, but not the transaction.
        """
        query = "SELECT 1 FROM facts WHERE name = ? AND value <> xmin::text"
        return bool(self.run(query, _WRITTEN_BY))

    def mark_as_used(self) -> None:
        if self.is_restored() or not self.run("SELECT 1 FROM facts WHERE name = ?", _WRITTEN_BY):
            [(number,)] = self.run("SELECT (txid_current() & 4294967295)::text")
            self.set_fact(_WRITTEN_BY, number)

    def contains(self, column: str) -> str:
        return f"position(?::bytea IN {column}) > 0"

    def lock(self, name: str) -> None:
        self.run("SELECT pg_advisory_xact_lock(?)", _LOCKS + _NAMES[name])


class PostgresStore(Store):
    """A database of PostgreSQL."""

    is_shared = True
    _types = POSTGRES_TYPES

    def __init__(self, url: str, *, steps: Mapping[int, tuple[str, ...]] = STEPS) -> None:
        super().__init__(shown_url(url), steps)
        self._address = url
        with self._lock, self._named_errors():
            self._connected()

    def _open(self) -> psycopg.Connection[Row]:
        try:
            given = {**_CONNECTION, **conninfo_to_dict(self._address)}
            address = make_conninfo("", **given)
            connection = psycopg.connect(address, autocommit=True)
        except psycopg.ProgrammingError:  # whose message quotes the password
            raise StoreError(
                f"{self.url} is not a PostgreSQL URL: use postgresql://USER@HOST/NAME"
            ) from None
        connection.execute("SET search_path = watchword")
        connection.execute("SET TIME ZONE 'UTC'")
        return connection

    def _prepare(self, connection: psycopg.Connection[Row]) -> None:
        session = _PostgresSession(connection)
        with connection.transaction():
            session.lock("schema")
            connection.execute("CREATE SCHEMA IF NOT EXISTS watchword")
            query = "SELECT table_name FROM information_schema.tables WHERE table_schema = ?"
            tables = {name for (name,) in session.run(query, "watchword")}
            if tables and "facts" not in tables:
                raise StoreError(
                    f"{self.url} has a schema named watchword that is not a watchword store: "
                    "use another database"
                )
            version = 0
            if tables:
                try:
                    query = "SELECT value FROM facts WHERE name = 'version'"
                    version = int(session.run(query)[0][0])
                except (IndexError, ValueError):
                    raise StoreError(
                        f"{self.url} is damaged (its version is missing): restore a backup of it"
                    ) from None
            reached = self._migrated(session, version)
            if reached != version:
                session.set_fact("version", str(reached))

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Yield a session that sees one state of the store."""
        self._refuse_closed()
        with self._named_errors(), self._readers.lent() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield _PostgresSession(connection)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Yield a session whose changes are committed together at the end, or not at all."""
        with self._lock, self._named_errors():
            connection = self._connected()
            try:
                with connection.transaction():
                    yield _PostgresSession(connection)
            except _LOST:
                self._disconnect()
                raise

    def backup(self, path: AnyPath) -> None:
        """Refuse: PostgreSQL has a program for that."""
        raise StoreError(
            f"{self.url} is a PostgreSQL database: back it up with "
            f"pg_dump --schema=watchword --file={path}"
        )

    def scrub(self) -> None:
        """Let PostgreSQL reuse the space of deleted rows, while others write."""
        with self._named_errors(), self._readers.lent() as connection:
            for table in PERSONAL:
                connection.execute(f"VACUUM {table}")

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            self._is_closed = True
            self._readers.close()
            self._disconnect()

    def _disconnect(self) -> None:
        if self._writer is not None:
            with suppress(psycopg.Error):
                self._writer.close()
            self._writer = None

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Turn errors of PostgreSQL into errors that name the database and say what to do."""
        try:
            yield
        except (errors.DiskFull, errors.OutOfMemory, errors.ReadOnlySqlTransaction) as error:
            raise StoreUnavailableError(
                f"{self.url} cannot be written ({_first_line(error)}): free some space, or check "
                "the server",
                retry_after=5.0,
            ) from error
        except (
            errors.DeadlockDetected,
            errors.SerializationFailure,
            errors.LockNotAvailable,
            errors.UniqueViolation,  # of a subject that was forgotten and came back meanwhile
        ) as e:
            raise StoreUnavailableError(f"{self.url} is busy ({_first_line(e)})") from e
        except (errors.InsufficientPrivilege, errors.InvalidCatalogName) as error:
            raise StoreError(f"{self.url}: {_first_line(error)}") from error
        except _LOST as error:
            raise StoreUnavailableError(
                f"{self.url} cannot be reached ({_first_line(error)}): start the server, or "
                "check the address"
            ) from error
        except (errors.UndefinedTable, errors.UndefinedColumn) as error:
            raise StoreError(
                f"{self.url} is damaged ({_first_line(error)}): restore a backup of it"
            ) from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
