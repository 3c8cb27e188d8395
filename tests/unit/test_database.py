"""Databases: refused files, kills, locks, and errors that name the file."""

import contextlib
import errno
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import databases
from watchword._database import DatabaseKind, open_database, table, transaction
from watchword.errors import StateError

KIND = DatabaseKind(
    name="a test",
    application_id=77,
    version=3,
    tables=(
        table("parents", "id", "id INTEGER"),
        table(
            "children",
            "parent, number",
            "parent INTEGER REFERENCES parents ON DELETE CASCADE",
            "number INTEGER",
            "name TEXT CHECK (name <> '')",
            "weight REAL NULL",
        ),
    ),
    durable=True,
)
KINDS = [KIND, replace(KIND, durable=False)]
ADD = "INSERT INTO children SELECT 1, count(*), ?, ? FROM children"


@pytest.fixture(params=KINDS, ids=["durable", "fast"])
def kind(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kept"


def fill(path, kind=KIND, count=3):
    with open_database(path, kind) as database:
        with database.transaction() as changes:
            changes.execute("INSERT OR IGNORE INTO parents VALUES (1)")
        for number in range(count):
            with database.transaction() as changes:
                changes.execute(ADD, (f"name {number}", number / 2))


def children(path, kind=KIND):
    with open_database(path, kind) as database:
        return [tuple(row) for row in database.rows("SELECT name, weight FROM children")]


FILLED = [(f"name {number}", number / 2) for number in range(3)]


# What is there


def test_committed_rows_are_read_back(path, kind):
    fill(path, kind)
    assert children(path, kind) == FILLED


def test_a_closed_database_is_one_file_readable_by_its_owner_only(path, kind):
    fill(path, kind)
    assert [each.name for each in path.parent.iterdir()] == ["kept"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_alone_holds_all_committed_rows(path, tmp_path):
    with open_database(path, KIND) as database:
        with database.transaction() as changes:
            changes.execute("INSERT INTO parents VALUES (5)")
        copied = subprocess.run(["cp", str(path), str(tmp_path / "copy")], check=True)
        assert copied.returncode == 0
    with open_database(tmp_path / "copy", KIND) as database:
        assert [tuple(row) for row in database.rows("SELECT id FROM parents")] == [(5,)]


def test_an_empty_file_becomes_a_database(path, kind):
    path.touch()
    fill(path, kind)
    assert children(path, kind) == FILLED


def test_a_link_to_a_database_is_followed(path, tmp_path, kind):
    (tmp_path / "link").symlink_to(path)
    fill(tmp_path / "link", kind)
    assert children(path, kind) == FILLED


def test_deleted_content_leaves_the_file(path):
    with open_database(path, KIND) as database:
        with database.transaction() as changes:
            changes.execute("INSERT INTO parents VALUES (1)")
            changes.executemany(ADD, [("secret" * 100, 1.0)] * 1000)
        full = path.stat().st_size
        with database.transaction() as changes:
            changes.execute("DELETE FROM parents")
        database.shrink()
    assert b"secret" not in path.read_bytes()
    assert path.stat().st_size < full / 10


def test_an_interrupted_begin_leaves_no_transaction_open():
    class Interrupted(sqlite3.Connection):
        def execute(self, statement, *values):
            found = super().execute(statement, *values)
            if statement.startswith("BEGIN"):
                raise KeyboardInterrupt  # a signal is handled when the call returns
            return found

    connection = sqlite3.connect(":memory:", factory=Interrupted, isolation_level=None)
    with contextlib.closing(connection):
        with pytest.raises(KeyboardInterrupt), transaction(connection):
            pass
        assert not connection.in_transaction


# What is refused


@pytest.mark.parametrize(
    "content", [b"a,b\n1,2\n", b"{}", b"\n", b"\0" * 100, b"PK\x03\x04\0\0", b"x" * 10_000]
)
def test_files_of_other_programs_are_refused_and_unchanged(path, kind, content):
    path.write_bytes(content)
    with pytest.raises(StateError, match=r"kept is not a test: use another file$"):
        children(path, kind)
    assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == ["kept"]


def test_databases_of_other_programs_are_refused_and_unchanged(path, kind):
    databases.change(path, "CREATE TABLE parents (id INTEGER PRIMARY KEY)")
    before = path.read_bytes()
    with pytest.raises(StateError, match="is not a test"):
        children(path, kind)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"application_id": 78}, "is not a test"),
        ({"version": 4}, r"by another version of watchword \(format 4, expected 3\)"),
        ({"version": 2}, r"by another version of watchword \(format 2, expected 3\)"),
    ],
)
def test_other_kinds_and_versions_are_refused_and_unchanged(path, kind, other, message):
    fill(path, replace(kind, **other))
    before = path.read_bytes()
    with pytest.raises(StateError, match=message):
        children(path, kind)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE children",
        "CREATE TABLE more (a)",
        "ALTER TABLE children ADD COLUMN more",
        "CREATE VIEW more AS SELECT * FROM children",
        "CREATE TRIGGER more AFTER INSERT ON children BEGIN DELETE FROM children; END",
    ],
)
def test_unexpected_tables_are_corrupt(path, kind, statement):
    fill(path, kind)
    databases.change(path, statement)
    reason = "its tables are not those expected"
    with pytest.raises(StateError, match=rf"kept is damaged \({reason}\): restore"):
        children(path, kind)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE children SET parent = 2",
        "UPDATE children SET name = NULL",
        "UPDATE children SET parent = 'x'",
        "UPDATE children SET name = x'ff'",
        "UPDATE children SET name = ''",
        "UPDATE children SET weight = 'much'",
        "DELETE FROM parents",
    ],
)
def test_rows_that_break_a_constraint_are_corrupt(path, kind, statement):
    fill(path, kind)
    databases.change(path, statement)
    with pytest.raises(StateError, match="is damaged"):
        children(path, kind)


def test_invalid_utf_8_is_corrupt(path, kind):
    fill(path, kind)
    databases.change(path, "UPDATE children SET name = CAST(x'ff' AS TEXT)")
    with pytest.raises(StateError, match=r"is damaged .*UTF-8"):
        children(path, kind)


def test_rows_that_break_a_constraint_are_not_written(path, kind):
    fill(path, kind)
    with (
        open_database(path, kind) as database,
        pytest.raises(StateError, match="CHECK constraint failed"),
        database.transaction() as changes,
    ):
        changes.executemany(ADD, [("good", 1.0), (b"\xff", 1.0)])
    assert children(path, kind) == FILLED


def read_or_refuse(path, kind):
    """Return the rows, or None if the file is refused."""
    try:
        return children(path, kind)
    except StateError:
        return None


def test_bytes_damaged_anywhere_are_refused_by_name_or_in_one_row(path, tmp_path, kind):
    fill(path, kind)
    whole, chance, damaged = path.read_bytes(), random.Random(1), tmp_path / "damaged"
    refused = 0
    places = [*range(120), *chance.sample(range(len(whole)), 100)]
    places += [place for place in range(len(whole)) if whole[place] and chance.random() < 0.2]
    for place in places:
        data = bytearray(whole)
        data[place] ^= 1 << chance.randrange(8)
        damaged.write_bytes(data)
        found = read_or_refuse(damaged, kind)
        refused += found is None
        assert found is None or sum(a != b for a, b in zip(found, FILLED, strict=True)) <= 1
    assert refused > 50


def test_a_file_cut_anywhere_is_refused_by_name(path, tmp_path, kind):
    fill(path, kind)
    whole, cut = path.read_bytes(), tmp_path / "cut"
    for size in [*range(1, 600, 7), *range(600, len(whole), 411)]:
        cut.write_bytes(whole[:size])
        assert read_or_refuse(cut, kind) is None
        assert cut.read_bytes() == whole[:size]


def test_a_folder_is_refused(tmp_path, kind):
    with pytest.raises(IsADirectoryError):
        children(tmp_path, kind)


def test_a_missing_folder_is_refused(tmp_path, kind):
    with pytest.raises(FileNotFoundError):
        children(tmp_path / "no" / "kept", kind)


# One process at a time

PROGRAM = """
import sys, test_database
kind = test_database.KINDS[int(sys.argv[2])]
with test_database.open_database(sys.argv[1], kind):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_has_ended(path, kind):
    command = [sys.executable, "-c", PROGRAM, str(path), str(KINDS.index(kind))]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])
    }
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as other:
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(StateError, match="kept is in use by another process: wait"):
            children(path, kind)
        other.kill()
    assert children(path, kind) == []


def test_a_second_opening_in_one_process_is_refused(path, kind):
    with (
        open_database(path, kind),
        pytest.raises(StateError, match="in use"),
        open_database(path, kind),
    ):
        pass
    assert children(path, kind) == []


# Killed

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def in_killed_process(work):
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            work()
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def die():
    os.kill(os.getpid(), signal.SIGKILL)


@needs_fork
def test_a_kill_after_a_commit_loses_nothing(path, kind):
    def work():
        with open_database(path, kind) as database:
            with database.transaction() as changes:
                changes.execute("INSERT INTO parents VALUES (1)")
                changes.execute(ADD, ("last", 9.0))
            die()

    in_killed_process(work)
    assert children(path, kind) == [("last", 9.0)]
    assert [each.name for each in path.parent.iterdir()] == ["kept"]


@needs_fork
def test_a_kill_within_a_transaction_rolls_it_back(path, kind):
    fill(path, kind)
    before = path.stat().st_size

    def work():
        with open_database(path, kind) as database, database.transaction() as changes:
            changes.execute("PRAGMA cache_size = 10")  # pages: the others go to the disk at once
            changes.executemany(ADD, [("x" * 1000, 1.0)] * 500)
            die()

    in_killed_process(work)
    log = path.with_name("kept-journal" if kind.durable else "kept-wal")
    assert log.stat().st_size > 100_000 or path.stat().st_size > before + 100_000
    assert children(path, kind) == FILLED
    assert [each.name for each in path.parent.iterdir()] == ["kept"]


@needs_fork
@pytest.mark.parametrize("statement", range(12))
def test_a_database_killed_while_created_is_created_by_the_next_process(path, kind, statement):
    def work():
        count = 0

        def trace(_statement):
            nonlocal count
            count += 1
            if count > statement:
                die()

        connect = sqlite3.connect

        def traced(*arguments, **options):
            connection = connect(*arguments, **options)
            connection.set_trace_callback(trace)
            return connection

        sqlite3.connect = traced
        fill(path, kind, count=20)

    in_killed_process(work)
    fill(path, kind)
    assert children(path, kind)[-3:] == FILLED


# Disks


def test_a_full_disk_is_reported_and_keeps_committed_rows(path, kind):
    fill(path, kind)
    with open_database(path, kind) as database:
        database.rows("PRAGMA max_page_count = 5")
        with (
            pytest.raises(OSError, match="No space left on device: free some space") as error,
            database.transaction() as changes,
        ):
            changes.executemany(ADD, [("x" * 1000, 1.0)] * 500)
        assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(path))
        with database.transaction() as changes:
            changes.execute(ADD, ("more", 0.0))
    assert children(path, kind) == [*FILLED, ("more", 0.0)]


def test_a_read_only_database_is_an_error_with_its_name(path, kind, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with open_database(path, kind) as database:
        database.rows("PRAGMA query_only = ON")
        with (
            pytest.raises(PermissionError, match="Permission denied: allow writing to it") as error,
            database.transaction() as changes,
        ):
            changes.execute("INSERT INTO parents VALUES (1)")
    assert error.value.filename == str(path)


def test_an_interrupted_transaction_is_rolled_back(path, kind):
    fill(path, kind)

    def interrupted():
        yield ("never", 0.0)
        raise KeyboardInterrupt

    with open_database(path, kind) as database:
        with pytest.raises(KeyboardInterrupt), database.transaction() as changes:
            changes.executemany(ADD, interrupted())
        with database.transaction() as changes:
            changes.execute(ADD, ("more", 0.0))
    assert children(path, kind) == [*FILLED, ("more", 0.0)]
