"""The command `watchword service run` as a process: signals, logs, workers, usage."""

import contextlib
import http.client
import json
import os
import re
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest

import watchword as ww
from command_line import failure, next_line, records, started
from doors import LINES, Asker
from services import OTHER, RISK, opened, saved_model, small_model, watched
from waiting import wait_until
from watchword.service.records import IncomingPost

slow = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    saved_model(tmp_path)
    return tmp_path


def service_run(folder, *more):
    return started(*run_arguments("--no-token", "--port", "0", *more), cwd=folder)


def run_arguments(*more):
    return ["service", "run", "--model", "model.ww", "--positive", RISK, *more]


def line(subject, number, text="a lovely garden"):
    return json.dumps({"subject": subject, "id": str(number), "text": text}) + "\n"


def has_open(process, name):
    """Return whether a process has opened a file with this name."""
    with contextlib.suppress(OSError):  # it is opening and closing files
        files = Path(f"/proc/{process.pid}/fd").iterdir()
        return any(one.readlink().name == name for one in files)
    return False


def logged(process):
    """Return what a process that has ended logged."""
    return [json.loads(line) for line in process.stderr.read().splitlines()]


@slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_service_after_what_it_has_taken(folder, number):
    with service_run(folder) as process:
        asker = Asker(next_line(process)["url"])
        body = "".join(line("ann", at) for at in range(2000))
        answers = []
        sending = threading.Thread(
            target=lambda: answers.append(asker.post("/posts", body, kind=LINES))
        )
        with asker.events() as next_event:
            next_event("statistics")
            sending.start()
            wait_until(lambda: asker.get("/statistics").json["accepted"] or answers)
            process.send_signal(number)
            assert process.wait(60) == 0
        sending.join()
        events = [one["event"] for one in logged(process)]
    assert answers[0].json["accepted"] == 2000
    assert events[-2:] == ["service stopping", "service stopped"]
    with opened(str(folder / "watchword.db"), folder / "model.ww") as service:
        assert service.subject("ann").posts == 2000


@slow
def test_a_hangup_loads_the_model_again(folder):
    with service_run(folder) as process:
        asker = Asker(next_line(process)["url"])
        before = asker.get("/statistics").json["model"]
        other = small_model()
        other.learn_one("another day", OTHER)
        other.save(folder / "model.ww")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: asker.get("/statistics").json["model"] == other.fingerprint)
        assert before != other.fingerprint
        (folder / "model.ww").write_bytes(b"nonsense")
        process.send_signal(signal.SIGHUP)
        told = [json.loads(process.stderr.readline())]
        while "not reloaded" not in told[-1]["event"]:
            told.append(json.loads(process.stderr.readline()))
        assert asker.post("/posts", line("ann", 1)).status == 200
        process.terminate()
        assert process.wait(60) == 0
    assert "model reloaded" in [one["event"] for one in told]
    assert told[-1]["level"] == "error"


@slow
def test_a_hangup_while_the_service_opens_does_not_end_it(folder):
    with opened(str(folder / "watchword.db"), folder / "model.ww"):
        pass
    with contextlib.closing(sqlite3.connect(folder / "watchword.db")) as other:
        other.execute("BEGIN IMMEDIATE")  # it cannot be opened meanwhile
        with service_run(folder) as process:
            wait_until(lambda: has_open(process, "watchword.db"))
            process.send_signal(signal.SIGHUP)
            other.rollback()
            asker = Asker(next_line(process)["url"])
            assert asker.get("/ready").status == 200


@slow
def test_a_hangup_does_not_end_workers_that_have_just_been_started(folder, postgres):
    with service_run(folder, "--store", postgres.new_database(), "--workers", "2") as process:
        wait_until(lambda: len(children(process.pid)) == 2)
        own = children(process.pid)
        process.send_signal(signal.SIGHUP)
        told = []
        while told.count("model reloaded") < 2:
            told.append(json.loads(process.stderr.readline())["event"])
            assert told[-1] != "worker ended"
        assert children(process.pid) == own


def command_lines(process):
    """Return the command lines of a process and its children, as ps shows them."""
    return [
        Path(f"/proc/{pid}/cmdline").read_text() for pid in (process.pid, *children(process.pid))
    ]


@slow
def test_passwords_are_not_shown_by_ps_or_in_logs(folder, postgres, redis_server):
    store = postgres.new_database().replace("///", f"//{postgres.user}:topsecret@/")
    name, stream = redis_server.new_stream()
    (folder / "stream").write_text(f"{stream}?password=topsecret\n")
    variables = {
        "WATCHWORD_SERVICE_STORE": store,
        "WATCHWORD_SERVICE_REDIS_FILE": str(folder / "stream"),
    }
    arguments = run_arguments("--no-token", "--port", "0", "--workers", "2", "--log-level", "debug")
    with started(*arguments, cwd=folder, **variables) as process:
        told = next_line(process)
        asker = Asker(told["url"])
        wait_until(lambda: len(children(process.pid)) == 2)
        wait_until(lambda: stored(asker, IncomingPost("ann", "1", "Hello.")))
        assert "topsecret" not in "".join(command_lines(process))
        assert told["store"].startswith(f"postgresql://{postgres.user}@/")
        process.terminate()
        assert process.wait(60) == 0
        logs = process.stderr.read().decode()
    assert f"redis:127.0.0.1:{redis_server.port}/0/{name}" in logs
    assert "topsecret" not in logs


@pytest.mark.parametrize(
    ("option", "url"),
    [
        ("--store", "postgresql://ann:topsecret@localhost/x"),
        ("--store", "postgresql:///x?password=topsecret"),
        ("--redis", "redis://:topsecret@localhost/0/posts"),
        ("--redis", "redis://localhost/0/posts?password=topsecret"),
    ],
)
def test_passwords_on_the_command_line_are_refused(folder, option, url):
    path = str(folder / "model.ww")
    arguments = ["service", "run", "--model", path, "--positive", RISK, option, url]
    message = failure(*arguments, code=2)
    assert "every user of this machine can see the password" in message
    assert f"WATCHWORD_SERVICE_{option[2:].upper()}_FILE" in message
    assert "topsecret" not in message


def test_a_store_is_named_by_a_variable_or_a_file(tmp_path, monkeypatch):
    (tmp_path / "address").write_text(f"{tmp_path / 'other.db'}\n")
    monkeypatch.setenv("WATCHWORD_SERVICE_STORE_FILE", str(tmp_path / "address"))
    records("service", "token", "add", "feed", "--scope", "feed")
    assert (tmp_path / "other.db").exists()
    monkeypatch.setenv("WATCHWORD_SERVICE_STORE", str(tmp_path / "first.db"))
    records("service", "token", "add", "feed", "--scope", "feed")
    assert (tmp_path / "first.db").exists()
    monkeypatch.delenv("WATCHWORD_SERVICE_STORE")
    monkeypatch.setenv("WATCHWORD_SERVICE_STORE_FILE", str(tmp_path / "nothing"))
    assert "WATCHWORD_SERVICE_STORE_FILE" in failure("service", "token", "list", code=2)


@slow
def test_posts_come_from_standard_input_too(folder):
    with service_run(folder, "--follow", "-") as process:
        asker = Asker(next_line(process)["url"])
        process.stdin.write(line("ann", 1).encode() + b"nonsense\n" + line("bob", 1).encode())
        process.stdin.flush()
        wait_until(lambda: asker.get("/statistics").json["accepted"] == 2)
        process.stdin.close()
        assert asker.get("/ready").status == 200


@slow
def test_a_source_that_cannot_be_read_fails_the_command(folder):
    arguments = run_arguments("--no-token", "--port", "0", "--once", "--follow", "posts.jsonl")
    with started(*arguments, cwd=folder) as process:
        assert process.wait(60) == 1
        assert b"posts.jsonl was not read to its end" in process.stderr.read()


@slow
def test_workers_share_a_store_and_are_started_again(folder, postgres):
    url = postgres.new_database()
    more = ["--store", url, "--workers", "2", "--rate", "100000"]
    posts = {
        name: [
            IncomingPost(name, str(at), "cannot sleep again lovely day"[at % 9 :])
            for at in range(40)
        ]
        for name in ("ann", "bob", "carl")
    }
    with service_run(folder, *more) as process:
        asker = Asker(next_line(process)["url"])
        wait_until(lambda: is_up(asker))

        def send(own):
            for one in own:
                while not stored(asker, one):
                    time.sleep(0.05)

        threads = [threading.Thread(target=send, args=(own,)) for own in posts.values()]
        for thread in threads:
            thread.start()
        [worker, *_] = children(process.pid)
        os.kill(worker, signal.SIGKILL)
        for thread in threads:
            thread.join()
        wait_until(lambda: len(children(process.pid)) == 2)
        ended = children(process.pid)
        process.terminate()
        assert process.wait(60) == 0
        assert not any(map(is_alive, ended))
        assert "worker ended" in [one["event"] for one in logged(process)]
    expected = watched(
        small_model(), ww.Overtakes(RISK), [one for own in posts.values() for one in own]
    )
    with opened(url, folder / "model.ww") as service:
        for name, own in expected.items():
            view = service.subject(name)
            assert (view.posts, view.delay, view.confidence) == own
        assert len(service.alerts()) == sum(1 for _, delay, _ in expected.values() if delay)


def is_up(asker):
    try:
        return asker.get("/ready").status == 200
    except OSError:
        return False


def stored(asker, one):
    try:
        return asker.post("/posts", line(one.subject, one.id, one.text)).status == 200
    except (OSError, http.client.HTTPException):
        return False


def children(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(one) for one in listed.split()]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@slow
def test_workers_end_with_their_parent(folder, postgres):
    with service_run(folder, "--store", postgres.new_database(), "--workers", "2") as process:
        asker = Asker(next_line(process)["url"])
        wait_until(lambda: is_up(asker))
        own = children(process.pid)
        process.kill()
        process.wait()
        wait_until(lambda: not any(map(is_alive, own)))


@pytest.fixture
def own_postgres():
    """A server that the test may stop."""
    from postgres import Server

    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.remove()


def wait_for_event(process, event):
    """Read what a process logs until it logs an event."""
    for logged_line in process.stderr:
        if json.loads(logged_line)["event"] == event:
            return
    raise AssertionError(f"the process ended without {event!r}")


@slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_service_waits_for_a_store_that_is_down_at_the_start(folder, own_postgres, workers):
    url = own_postgres.new_database()
    own_postgres.stop()
    with service_run(folder, "--store", url, "--workers", workers) as process:
        for _ in range(5):
            wait_for_event(process, "service waits for the store")
        own_postgres.start()
        asker = Asker(next_line(process)["url"])
        assert stored(asker, IncomingPost("ann", "1", "a lovely garden"))
        process.terminate()
        assert process.wait(60) == 0


@slow
def test_a_service_that_waits_for_its_store_can_be_stopped(folder, own_postgres):
    url = own_postgres.new_database()
    own_postgres.stop()
    with service_run(folder, "--store", url) as process:
        wait_for_event(process, "service waits for the store")
        process.terminate()
        assert process.wait(60) == 0


@slow
def test_workers_that_end_again_and_again_in_an_outage_are_started_again(folder, own_postgres):
    with service_run(folder, "--store", own_postgres.new_database(), "--workers", "2") as process:
        asker = Asker(next_line(process)["url"])
        wait_until(lambda: is_up(asker))
        own_postgres.stop()
        for _ in range(4):
            wait_until(lambda: children(process.pid))
            os.kill(children(process.pid)[0], signal.SIGKILL)
            wait_for_event(process, "worker ended")
        own_postgres.start()
        wait_until(lambda: is_up(asker))
        process.terminate()
        assert process.wait(60) == 0


@slow
def test_metrics_of_workers_are_added_up(folder, postgres):
    def metric(pattern):
        text = asker.get("/metrics").body.decode()
        return re.findall(rf"^watchword_{pattern}$", text, re.MULTILINE)

    with service_run(folder, "--store", postgres.new_database(), "--workers", "2") as process:
        asker = Asker(next_line(process)["url"])
        wait_until(lambda: is_up(asker))
        for number in range(20):
            asker.post("/posts", line("ann", number))
        wait_until(lambda: metric("posts_accepted_total (.*)") == ["20.0"])
        pids = set(map(str, children(process.pid)))
        wait_until(lambda: set(metric(r'memory_bytes\{pid="(\d+)"\} .*')) == pids)
        process.terminate()
        assert process.wait(60) == 0


# Usage


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "2"], "--workers requires a shared store"),
        (["--keep-texts", "3"], "--keep-texts requires --store-texts"),
        (["--no-token", "--host", "0.0.0.0"], "0.0.0.0 can be reached by other machines"),
        (["--no-token", "--public-url", "https://a.org"], "a.org can be reached by other machines"),
        (["--public-url", "a.org"], "must be like https://watch.example.org"),
        (["--redis", "redis://host"], "is not like redis://host:6379/0/stream"),
        (["--once"], "--once requires --follow"),
        (["--follow", "a", "--follow", "./a"], "duplicate file or stream"),
        (["--policy", "stands_out"], "use --round SECONDS"),
        (["--order", "time", "--round", "60"], "--order time and --round cannot be used together"),
    ],
)
def test_wrong_usage_is_refused(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    assert message in failure(*run_arguments(*arguments), code=2)


def test_a_store_of_another_kind_is_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "watchword.db").write_bytes(b"something else entirely, and long enough" * 100)
    assert "is not a watchword store" in failure(*run_arguments("--port", "0"))


def test_a_command_says_when_no_service_answers():
    assert "no service responds" in failure("service", "reload", "--url", "http://127.0.0.1:1")
