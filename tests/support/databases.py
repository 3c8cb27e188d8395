"""SQLite files: reading, changes without checks, and points at which a writer may die."""

import contextlib
import sqlite3

from untyped import untyped
from watchword import _database


def rows(path, query, *values):
    """Return the rows of a query on a database that no process has open."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, values).fetchall()


def content(path):
    """Return the content of a database as SQL."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def change(path, statement, *values):
    """Change a database without checks of types and references."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement, values)


def put_points_in_transactions(passed):
    """Call a function before, within and after every transaction."""
    transaction = _database.Database.transaction

    @contextlib.contextmanager
    def marked(self):
        passed()
        with transaction(self) as changes:
            yield changes
            passed()
        passed()

    untyped(_database.Database).transaction = marked
