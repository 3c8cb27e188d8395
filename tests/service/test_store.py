"""The store: versions, other files, damage, and what happens when it is not there."""

import contextlib
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlencode

import pytest

from postgres import program
from services import opened, post, saved_model, send, vectors
from waiting import wait_until
from watchword.errors import MissingExtraError, StoreError, StoreUnavailableError
from watchword.service import sqlite_store
from watchword.service.alerts import marks_in
from watchword.service.postgres_store import PostgresStore
from watchword.service.sqlite_store import SqliteStore
from watchword.service.store import STEPS, connect, has_secret, open_store, shown_url

LATEST = max(STEPS)
NEXT = {**STEPS, LATEST + 1: ("ALTER TABLE positions ADD COLUMN remark {text} DEFAULT 'old'",)}


def store_of(url, steps):
    kind = PostgresStore if url.startswith("postgresql") else SqliteStore
    return contextlib.closing(kind(url, steps=steps))


@pytest.fixture
def model(tmp_path):
    return saved_model(tmp_path)


# Versions


def test_a_store_of_an_earlier_version_is_brought_up_to_date(store_url):
    with store_of(store_url, STEPS) as store:
        store.change("INSERT INTO positions (source, position) VALUES (?, ?)", b"a", b"1")
    with store_of(store_url, NEXT) as store:
        assert store.rows("SELECT remark FROM positions") == [("old",)]
        store.change(
            "INSERT INTO positions (source, position, remark) VALUES (?, ?, ?)", b"b", b"2", "new"
        )
    with store_of(store_url, NEXT) as store:
        assert len(store.rows("SELECT remark FROM positions")) == 2


def test_marks_of_a_store_with_one_mark_per_alert_are_kept(store_url):
    with store_of(store_url, {1: STEPS[1]}) as store:
        store.change(
            "INSERT INTO marks (alert, verdict, note, marked_by, label, at) "
            "VALUES (1, 'wrong', ?, ?, '\"control\"', 5)",
            *(b"no", b"eve"),
        )
    with store_of(store_url, STEPS) as store, store.reading() as session:
        [mark] = marks_in(session)
        assert (mark.alert, mark.verdict, mark.note, mark.by) == (1, "wrong", "no", "eve")
        assert session.run("SELECT is_latest FROM marks") == [(1,)]


def test_a_store_of_a_later_version_is_refused_and_left_alone(store_url):
    with store_of(store_url, NEXT):
        pass
    with (
        pytest.raises(
            StoreError,
            match=rf"later version of watchword \(schema {LATEST + 1}, this one knows {LATEST}",
        ),
        store_of(store_url, STEPS),
    ):
        pass
    with store_of(store_url, NEXT) as store:
        assert store.rows("SELECT count(*) FROM positions") == [(0,)]


def test_a_step_that_fails_changes_nothing(store_url):
    with store_of(store_url, STEPS):
        pass
    broken = {**NEXT, LATEST + 2: ("ALTER TABLE nothing ADD COLUMN remark {text}",)}
    with pytest.raises(StoreError), store_of(store_url, broken):
        pass
    with store_of(store_url, STEPS) as store:
        assert store.rows("SELECT count(*) FROM positions") == [(0,)]


# Other files


@pytest.mark.parametrize("content", [b"x", b"subject,text\n" * 100, b"\0" * 5000])
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="notes is not a watchword store: use another file"):
        connect(str(path))
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused(tmp_path):
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE people (name)")
    with pytest.raises(StoreError, match="is not a watchword store"):
        connect(str(path))


def test_a_schema_of_another_program_is_refused(postgres):
    import psycopg

    url = postgres.new_database()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA watchword")
        connection.execute("CREATE TABLE watchword.people (name TEXT)")
    with pytest.raises(StoreError, match="that is not a watchword store: use another database"):
        connect(url)


def test_a_folder_and_a_missing_folder_are_named(tmp_path):
    with pytest.raises(IsADirectoryError):
        connect(str(tmp_path))
    with pytest.raises(FileNotFoundError, match="no such folder"):
        connect(str(tmp_path / "no" / "watch.db"))


def test_keywords_of_postgresql_are_not_taken_for_the_path_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(StoreError, match="use postgresql://USER@HOST/NAME") as error,
        open_store("host=localhost dbname=x password=topsecret"),
    ):
        pass
    assert "topsecret" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_an_unknown_kind_of_store_is_named():
    with pytest.raises(StoreError, match="unknown kind of store 'mysql'"):
        connect("mysql://localhost/x")


@pytest.mark.parametrize("url", ["//ann:secret@/x?host={}", "///x?host={}&password=secret&user=a"])
def test_a_missing_server_is_named_without_the_password(tmp_path, url):
    with pytest.raises(StoreUnavailableError, match="cannot be reached") as error:
        connect("postgresql:" + url.format(tmp_path))
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("url", ["//ann:secret@[::1/x", "//x?password=secret&nonsense=1"])
def test_an_invalid_address_is_refused_without_the_password(url):
    with pytest.raises(StoreError, match="is not a PostgreSQL URL") as error:
        connect(f"postgresql:{url}")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("password", ["sec/ret", "sec@ret", "sec?ret", "sec#ret"])
def test_a_password_that_is_not_encoded_is_refused_and_not_shown(password):
    with pytest.raises(StoreError, match="%40, %2F, %3F and %23") as error:
        connect(f"postgresql://ann:{password}@host/x")
    assert "sec" not in str(error.value)
    assert "ret" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("watch@home.db", "watch@home.db"),
        ("postgresql://ann@h1:1,h2:2/x?sslmode=require", None),
        ("postgresql://ann:sec:ret@h/x", "postgresql://ann@h/x"),
        ("postgresql://h:5432/x?password=p@ss", "postgresql://…"),
        ("postgresql:///x?p%61ssword=secret&port=1", "postgresql:///x?p%61ssword=…&port=1"),
        ("postgresql:///x?sslpassword=secret", "postgresql:///x?sslpassword=…"),
    ],
)
def test_addresses_are_shown_without_passwords(url, shown):
    assert shown_url(url) == (shown or url)
    assert has_secret(url) == (shown not in (None, url))


def test_a_connection_that_the_server_ends_is_opened_again(postgres):
    with open_store(postgres.new_database()) as store:
        with pytest.raises(StoreUnavailableError):
            stay_idle(store)
        assert store.rows("SELECT 1") == [(1,)]
        with store.writing() as session:
            assert session.run("SELECT 1") == [(1,)]


@pytest.mark.parametrize("name", ["IdleInTransactionSessionTimeout", "TransactionTimeout"])
def test_a_transaction_that_takes_too_long_for_the_server_can_be_tried_again(postgres, name):
    import psycopg

    store: Any
    with open_store(postgres.new_database()) as store:
        with (
            pytest.raises(StoreUnavailableError, match="cannot be reached"),
            store.writing() as own,
        ):
            raise getattr(psycopg.errors, name)("terminating connection due to a timeout")
        assert own.connection.closed
        assert store.rows("SELECT 1") == [(1,)]


def stay_idle(store: Any):
    """Begin a transaction, and go on only when the server has given it up."""
    with store.writing() as session:
        session.run("SET LOCAL idle_in_transaction_session_timeout = 1")
        socket = session.connection.fileno()
        wait_until(lambda: select.select([socket], [], [], 0)[0])
        session.run("SELECT 1")


@pytest.mark.parametrize(("own", "expected"), [({}, "10"), ({"keepalives_idle": 60}, "60")])
def test_a_server_that_is_cut_off_is_noticed_soon(postgres, own, expected):
    url = postgres.new_database()
    mark = "&" if "?" in url else "?"
    store: Any
    with open_store(f"{url}{mark}{urlencode(own)}") as store, store.writing() as session:
        used = session.connection.info.get_parameters()
        assert used["keepalives_idle"] == expected
        assert used["tcp_user_timeout"] == "25000"


def test_space_is_freed_while_others_write(postgres):
    with open_store(postgres.new_database()) as store:
        freeing = threading.Thread(target=store.scrub)
        with store.writing():
            freeing.start()
            freeing.join(60)
            assert not freeing.is_alive()


def test_without_psycopg_the_line_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "watchword.service.postgres_store")
    with pytest.raises(MissingExtraError, match=r"pip install 'watchword\[postgres\]'"):
        connect("postgresql:///x")


def test_a_damaged_file_is_named_and_no_post_is_acknowledged(tmp_path, model):
    path = tmp_path / "watch.db"
    with opened(str(path), model) as service:
        send(service, *(post(f"s{number}", 1) for number in range(2_000)))
    whole = bytearray(path.read_bytes())
    whole[20_000:] = b"\xff" * (len(whole) - 20_000)
    path.write_bytes(whole)
    with (
        pytest.raises(StoreError, match=r"watch.db is damaged \(.*\): restore a backup"),
        opened(str(path), model) as service,
    ):
        send(service, *(post(f"s{number}", 2) for number in range(2_000)))


def test_other_tables_are_damage(tmp_path):
    path = tmp_path / "watch.db"
    with open_store(str(path)):
        pass
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("DROP TABLE marks")
    with pytest.raises(StoreError, match="is damaged"):
        connect(str(path))


def test_only_its_owner_may_read_the_file(tmp_path):
    path = tmp_path / "watch.db"
    with open_store(str(path)):
        assert path.stat().st_mode & 0o777 == 0o600


# A store that is not there for a while


def refused(service, *posts):
    """Send posts that cannot be stored now; return the message."""
    with pytest.raises(StoreUnavailableError) as error:
        send(service, *posts)
    assert error.value.retry_after > 0
    return str(error.value)


def test_a_locked_file_is_named_and_the_service_lives_on(tmp_path, model, monkeypatch):
    monkeypatch.setattr(sqlite_store, "_TIMEOUT", 0.05)
    path = tmp_path / "watch.db"
    with opened(str(path), model) as service:
        send(service, post("ann", 1))
        before = vectors(service)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert "watch.db is locked by another process" in refused(service, post("ann", 2))
            assert vectors(service) == before  # reading goes on
            other.execute("ROLLBACK")
        assert send(service, post("ann", 2)).accepted == 1
        assert service.statistics().failures == 1


def test_a_file_that_was_removed_takes_no_more_posts_until_it_is_back(tmp_path, model):
    path, away = tmp_path / "watch.db", tmp_path / "away.db"
    with opened(str(path), model) as service:
        send(service, post("ann", 1))
        path.rename(away)
        assert "watch.db was removed or replaced" in refused(service, post("ann", 2))
        assert not path.exists()
        away.rename(path)
        assert send(service, post("ann", 2)).accepted == 1


def test_a_file_that_was_replaced_takes_no_more_posts(tmp_path, model):
    path, copy = tmp_path / "watch.db", tmp_path / "copy.db"
    with opened(str(path), model) as service:
        send(service, post("ann", 1))
        service.store.backup(copy)
        copy.replace(path)
        assert "watch.db was removed or replaced" in refused(service, post("ann", 2))


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_log_that_was_removed_takes_no_more_posts_until_it_is_back(tmp_path, model, end):
    log, away = tmp_path / f"watch.db{end}", tmp_path / "away"
    with opened(str(tmp_path / "watch.db"), model) as service:
        send(service, post("ann", 1))
        log.rename(away)
        assert f"watch.db{end} was removed or replaced" in refused(service, post("ann", 2))
        with pytest.raises(StoreUnavailableError):
            service.alerts()
        with pytest.raises(StoreUnavailableError):
            service.store.backup(tmp_path / "copy.db")
        assert not log.exists()
        away.rename(log)
        assert send(service, post("ann", 2)).accepted == 1


def test_a_restart_keeps_the_posts_of_a_log_that_was_removed(tmp_path, model):
    path = str(tmp_path / "watch.db")
    with opened(path, model) as service:
        send(service, post("ann", 1))
        (tmp_path / "watch.db-wal").unlink()
        (tmp_path / "watch.db-shm").unlink()
        refused(service, post("ann", 2))
    with opened(path, model) as service:
        assert send(service, post("ann", 1), post("ann", 2)).accepted == 1


def test_a_log_that_was_emptied_or_made_anew_is_no_other_file(tmp_path):
    store: Any
    with open_store(str(tmp_path / "watch.db")) as store:
        store.change("INSERT INTO facts (name, value) VALUES ('a', '1')")
        store.scrub()
        store.change("UPDATE facts SET value = '2' WHERE name = 'a'")
        store._disconnect()
        assert not (tmp_path / "watch.db-wal").exists()
        store.change("UPDATE facts SET value = '3' WHERE name = 'a'")
        assert store.rows("SELECT value FROM facts WHERE name = 'a'") == [("3",)]


def test_whoever_cannot_read_breaks_no_transaction_of_others(tmp_path, monkeypatch):
    with open_store(str(tmp_path / "watch.db")) as store, ThreadPoolExecutor(1) as other:
        with store.writing() as session:
            session.run("INSERT INTO facts (name, value) VALUES ('a', 'b')")
            refusal = sqlite3.OperationalError("unable to open database file")
            monkeypatch.setattr(sqlite_store, "_connection", Mock(side_effect=refusal))
            with pytest.raises(StoreUnavailableError):
                other.submit(store.rows, "SELECT 1").result(60)
            monkeypatch.undo()
        assert store.rows("SELECT value FROM facts WHERE name = 'a'") == [("b",)]


def test_a_full_disk_is_named_and_the_service_lives_on(tmp_path, model):
    path = tmp_path / "watch.db"
    many = [post(f"subject {number}", 1) for number in range(3_000)]
    with opened(str(path), model) as service:
        send(service, post("ann", 1))
        with service.store._lock:
            service.store._writer.execute("PRAGMA max_page_count = 60")
        assert "database or disk is full" in refused(service, *many)
        assert [one.id for one in service.subjects()] == ["ann"]
        with service.store._lock:
            service.store._writer.execute("PRAGMA max_page_count = 1000000")
        assert send(service, *many, post("ann", 1)).accepted == 3_000


@pytest.mark.slow
def test_a_limit_on_the_size_of_files_is_named_and_the_service_lives_on(tmp_path, model):
    many = [post(f"subject {number}", 1) for number in range(3_000)]
    with opened(str(tmp_path / "watch.db"), model) as service:
        send(service, post("ann", 1))
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
            assert "cannot be written" in refused(service, *many)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)
        assert send(service, *many, post("ann", 1)).accepted == 3_000


def test_a_server_that_goes_away_and_returns_loses_and_repeats_nothing(own_postgres, model):
    with opened(own_postgres.new_database(), model) as service:
        send(service, post("ann", 1), post("bob", 1, "lovely"))
        before = vectors(service)
        own_postgres.stop()
        assert "cannot be reached" in refused(service, post("ann", 2))
        with pytest.raises(StoreUnavailableError):
            service.alerts()
        own_postgres.start()
        assert vectors(service) == before
        assert send(service, post("ann", 1), post("ann", 2)).accepted == 1


@pytest.fixture
def own_postgres():
    """A server that a test may stop."""
    from postgres import Server

    server = Server()
    server.start()
    yield server
    server.remove()


def test_the_log_is_emptied_after_forgetting_as_soon_as_nobody_reads(tmp_path, model, monkeypatch):
    monkeypatch.setattr(sqlite_store, "_TIMEOUT", 0.1)
    log = tmp_path / "watch.db-wal"
    with opened(str(tmp_path / "watch.db"), model) as service:
        send(service, post("ann", 1))
        with contextlib.closing(sqlite3.connect(tmp_path / "watch.db")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM subjects").fetchall()
            service.forget("ann")
            assert log.stat().st_size
        send(service, post("bob", 1))
        assert not log.stat().st_size


def test_the_log_moves_into_the_file_while_posts_are_written(tmp_path, model, monkeypatch):
    monkeypatch.setattr(sqlite_store, "_LOG", 100_000)
    monkeypatch.setattr(sqlite_store, "_LONGEST_LOG", 2_000_000)
    path = tmp_path / "watch.db"
    with opened(str(path), model) as service:
        largest = 0
        for number in range(60):
            send(service, *(post(f"subject {at}", number) for at in range(200)))
            largest = max(largest, (tmp_path / "watch.db-wal").stat().st_size)
        written = path.stat().st_size
        assert all(own[0] == 60 for own in vectors(service).values())
    assert written > 500_000
    assert largest < 4_000_000


# Backups


def test_a_backup_is_a_whole_store_of_one_moment(tmp_path, model):
    copy = tmp_path / "copy.db"
    with opened(str(tmp_path / "watch.db"), model) as service:
        send(service, *(post(f"s{number}", 1) for number in range(500)))
        stop = threading.Event()

        def feed():
            number = 2
            while not stop.is_set():
                send(service, *(post(f"s{at}", number) for at in range(50)))
                number += 1

        feeding = threading.Thread(target=feed)
        feeding.start()
        try:
            service.store.backup(copy)
        finally:
            stop.set()
            feeding.join()
        later = vectors(service)
    with opened(str(copy), model) as service:
        found = vectors(service)
        assert len(found) == 500
        assert all(own[0] <= later[name][0] for name, own in found.items())
        assert service.store.rows("PRAGMA integrity_check") == [("ok",)]
        posts = service.store.rows("SELECT count(*) FROM posts")[0][0]
        assert posts == sum(own[0] for own in found.values())  # of one moment
    assert copy.stat().st_mode & 0o777 == 0o600


def raise_alerts(url, model, *subjects, **options):
    """Open a service, raise an alert about each subject, and return the ids."""
    with opened(url, model, **options) as service:
        return [send(service, post(subject, 1)).alerts[0] for subject in subjects]


def test_a_restored_backup_never_uses_ids_of_alerts_again(tmp_path, model):
    path, copy = tmp_path / "watch.db", tmp_path / "copy.db"
    with opened(str(path), model) as service:
        send(service, post("ann", 1))
        service.store.backup(copy)
        send(service, post("bob", 1), post("cid", 1))
        used = [alert.id for alert in service.alerts()]
    for _ in range(2):  # the same backup may be restored more than once
        shutil.copyfile(copy, path)
        for number in raise_alerts(str(path), model, "dan", "eve"):
            assert number > max(used)
            used.append(number)
    assert raise_alerts(str(path), model, "fay") == [used[-1] + 1]  # only restoring skips ids


def test_a_backup_without_alerts_skips_their_ids_as_well(tmp_path, model):
    path, copy = str(tmp_path / "watch.db"), tmp_path / "copy.db"
    with opened(path, model) as service:
        service.store.backup(copy)
    used = raise_alerts(path, model, "ann", "bob")
    assert raise_alerts(str(copy), model, "cid") > used


def test_an_operator_can_say_that_a_store_was_restored(store_url, model):
    used = raise_alerts(store_url, model, "ann", "bob")
    [number] = raise_alerts(store_url, model, "cid", is_restored=True)
    assert number > max(used) + 1
    assert raise_alerts(store_url, model, "dan") == [number + 1]


def test_a_restored_dump_never_uses_ids_of_alerts_again(postgres, model):
    url = postgres.new_database()
    used = raise_alerts(url, model, "ann")
    dump = subprocess.run(
        [program("pg_dump"), "--format=custom", url], check=True, capture_output=True
    ).stdout
    used += raise_alerts(url, model, "bob", "cid")
    for _ in range(2):
        command = [program("pg_restore"), "--clean", "--dbname", url]
        subprocess.run(command, input=dump, check=True)
        for number in raise_alerts(url, model, "dan", "eve"):
            assert number > max(used)
            used.append(number)
    assert raise_alerts(url, model, "fay") == [used[-1] + 1]


def test_a_backup_onto_the_store_itself_is_refused(tmp_path):
    path = str(tmp_path / "watch.db")
    with open_store(path) as store, pytest.raises(ValueError, match="is the store itself"):
        store.backup(path)


def test_the_backup_of_postgresql_names_its_command(postgres):
    with (
        open_store(postgres.new_database()) as store,
        pytest.raises(StoreError, match="pg_dump --schema=watchword --file=x"),
    ):
        store.backup("x")
