"""The eRisk client: whole tasks, their ends, faults, refusals, and the journal."""

import contextlib
import itertools
import json
import os
import random
import re
import socket
import stat
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest

import databases
from erisk_tasks import (
    QUICK,
    TOKEN,
    HastyTask,
    accepted,
    dropping,
    playing,
    runs,
    scripted,
    subjects,
    take_part,
    taught,
)
from faulty_server import Faults, running_faulty_server
from watchword.data import AT_RISK, Post, Subject
from watchword.erisk import journal as journals
from watchword.erisk.client import run_client
from watchword.erisk.client_runs import run_names
from watchword.erisk.journal import Journal, JournalIdentity, PastRound
from watchword.erisk.practice_task import PracticeTask
from watchword.erisk.protocol import Answer, Round, ServerError, Writing, as_round
from watchword.erisk.server import running_server
from watchword.erisk.transport import Backoff, Transport
from watchword.errors import DataFormatError, StateError
from watchword.evaluation.replaying import replay
from watchword.streams.policies import Overtakes, StandsOut


@pytest.fixture(scope="module")
def model():
    return taught()


@pytest.fixture(autouse=True)
def quick_hashing(monkeypatch):
    monkeypatch.setattr(journals, "_HASHINGS", 10)


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


def client(url, journal, crew, **options):
    return run_client(url, TOKEN, crew, journal=journal, **QUICK | options)


# Whole tasks


@pytest.mark.parametrize("count", [1, 2, 3])
def test_alerts_and_delays_equal_those_of_a_replay(model, journal, count):
    people, crew = subjects(), runs(count, model)
    with running_server(people, runs=count, positive=AT_RISK) as server:
        report = take_part(server, crew, journal)
        results = server.task.results()
    for run, (_, policy) in enumerate(crew):
        replayed = replay(people, model, policy, by="post")
        expected = {
            outcome.subject: outcome.delay
            for outcome in replayed.outcomes
            if outcome.label is not None
        }
        assert report.alerts[run] == results.runs[run].alerts == expected
    assert any(report.alerts)
    assert (results.finished, report.rounds, report.ended) == (
        True,
        server.task.last_round + 1,
        "empty",
    )


def test_measures_of_the_server_equal_those_of_a_replay(model, journal):
    people = subjects()
    with running_server(people, positive=AT_RISK) as server:
        take_part(server, runs(1, model), journal)
        found = server.task.results().runs[0].measures
    replayed = replay(people, model, Overtakes(AT_RISK), by="post")
    for name in ("erde5", "erde50", "precision", "recall", "f1", "speed", "f_latency"):
        assert getattr(found, name) == pytest.approx(getattr(replayed.measures, name)), name
    assert list(found.rankings[:1]) == replayed.ranking([1])


def test_a_policy_that_compares_subjects_works_over_the_server(model, journal):
    people = subjects(20, posts=(5, 8))
    with running_server(people, positive=AT_RISK) as server:
        report = take_part(server, [(model, StandsOut(AT_RISK, gamma=0.5))], journal)
    assert report.alerts[0]
    assert min(report.alerts[0].values()) > 3


def test_every_round_is_reported_with_its_new_alerts(model, journal):
    told = []
    with running_server(subjects(), runs=2) as server:
        report = take_part(server, runs(2, model), journal, on_round=told.append)
    assert [each.number for each in told] == list(range(report.rounds))
    for run, delays in enumerate(report.alerts):
        alerts = [(alert.subject, each.number + 1) for each in told for alert in each.alerts[run]]
        assert dict(alerts) == delays
        assert len(alerts) == len(delays)


def test_every_answer_covers_all_subjects(model, journal):
    bodies = []
    task = PracticeTask([Subject("ann", [Post("a")] * 3), Subject("bob", [Post("b")])])
    play = playing(task)

    def answer(method, path, body):
        if method == "POST":
            bodies.append([each["nick"] for each in json.loads(body)])
        return play(method, path, body)

    with scripted(answer) as server:
        client(server.url, journal, runs(1, model))
    assert bodies == [["ann", "bob"]] * 3


def test_the_url_may_have_a_path(model, journal):
    with scripted(playing(PracticeTask([Subject("ann", [Post("a")])]))) as server:
        client(f"{server.url}/challenge/", journal, runs(1, model))
    assert server.requests[0] == ("GET", f"/challenge/getwritings/{TOKEN}")


# How a task ends


def test_a_repeated_round_is_answered_once(model, journal):
    task = PracticeTask(subjects(), runs=2)
    complete = set()

    def spoil(method):
        """Repeat every round once before going on."""
        if method == "GET" and task._complete and task.round not in complete:
            complete.add(task.round)
            again = [each.to_dict() for each in task.writings(lagging=True)]
            return 200, {}, json.dumps(again).encode()
        return None

    with scripted(playing(task, spoil=spoil)) as server:
        report = client(server.url, journal, runs(2, model))
    assert (report.ended, task.finished) == ("empty", True)
    assert len(task.submissions) == 2 * report.rounds


def repeating(task):
    """Serve a task that repeats its last round at the end."""

    def spoil(method):
        if method == "GET" and task.finished:
            again = [each.to_dict() for each in task.writings(lagging=True)]
            return 200, {}, json.dumps(again).encode()
        return None

    return scripted(playing(task, spoil=spoil))


def test_a_task_ends_when_the_server_keeps_repeating_the_last_round(model, journal):
    task = PracticeTask(subjects())
    with repeating(task) as server:
        report = client(server.url, journal, runs(1, model), repeats=2)
    assert (report.ended, report.rounds) == ("repeated", task.last_round + 1)
    assert len(task.submissions) == report.rounds
    assert [method for method, _ in server.requests[-4:]] == ["POST", "GET", "GET", "GET"]


def test_a_restart_after_a_repeated_last_round_sends_nothing(model, journal):
    task = PracticeTask(subjects())
    with repeating(task) as server:
        first = client(server.url, journal, runs(1, model), repeats=1)
        assert client(server.url, journal, runs(1, model), repeats=1) == first
    assert len(task.submissions) == first.rounds


@pytest.mark.parametrize("refuse_early", [False, True])
@pytest.mark.parametrize("snapshot_every", [1, 20])
def test_missing_runs_can_be_added_in_round_0(model, journal, refuse_early, snapshot_every):
    reports = []
    options = {"repeats": 1, "on_round": reports.append, "snapshot_every": snapshot_every}
    with running_server(subjects(), runs=3, refuse_early=refuse_early) as server:
        with pytest.raises(ServerError, match="all 2 runs: have you registered for more"):
            take_part(server, runs(2, model), journal, **options)
        report = take_part(server, runs(3, model), journal, **options)
        results = server.task.results()
    assert results.finished
    assert [each.alerts for each in results.runs] == list(report.alerts)
    assert [len(each.answers) for each in reports[:3]] == [2, 3, 3]
    assert [each.number for each in reports[:3]] == [0, 0, 1]
    assert not any(each.repeated for each in server.task.submissions)


def test_superfluous_runs_can_be_left_out_in_round_0(model, journal):
    with running_server(subjects(), runs=1) as server:
        with pytest.raises(ServerError, match=r"404 .*unknown run"):
            take_part(server, runs(3, model), journal)
        report = take_part(server, runs(1, model), journal)
        results = server.task.results()
    assert results.finished
    assert [each.alerts for each in results.runs] == list(report.alerts)


def test_a_run_is_not_exchanged_when_others_are_added(model, journal):
    with running_server(subjects(), runs=3) as server:
        with pytest.raises(ServerError, match="registered for more"):
            take_part(server, runs(2, model), journal, repeats=1)
        crew = [runs(2, model)[1], *runs(2, model)]
        with pytest.raises(StateError, match="run 0 was started with another model or policy"):
            take_part(server, crew, journal)


def test_a_server_that_keeps_repeating_round_0_waits_for_more_runs(model, journal):
    with (
        running_server(subjects(), runs=3) as server,
        pytest.raises(ServerError, match="all 2 runs: have you registered for more"),
    ):  # but the client has only two
        take_part(server, runs(2, model), journal, repeats=1)


def test_more_runs_than_registered_are_an_error(model, journal):
    with (
        running_server(subjects(), runs=1) as server,
        pytest.raises(ServerError, match="the number of runs"),
    ):
        take_part(server, runs(2, model), journal)


def test_a_task_without_writings_is_an_error(model, journal):
    with (
        scripted(lambda *_: (200, {}, b"[]")) as server,
        pytest.raises(ServerError, match="has not begun or is over"),
    ):
        client(server.url, journal, runs(1, model))


# Faults


def once(*spoilt, method=None):
    """Return a function that spoils the first requests (of a method)."""
    left = list(spoilt)

    def spoil(of):
        return left.pop(0) if left and method in (None, of) else None

    return spoil


FAILURES = {
    "dropped": (None, {}, b""),
    "error 500": (500, {}, b"oops"),
    "error 502": (502, {}, b"<html>bad gateway</html>"),
    "too many": (429, {}, b""),
    "cut": (200, {"Content-Length": 1000}, b"[{"),
}
BAD_ROUNDS = {
    "no JSON": b"<html>",
    "nothing": b"",
    "no list": b"{}",
    "no objects": b"[1]",
    "no nick": b'[{"number": 0}]',
    "no number": b'[{"nick": "ann", "content": "a"}]',
    "two rounds": b'[{"nick": "ann", "number": 0, "content": "a"},'
    b' {"nick": "bob", "number": 1, "content": "b"}]',
    "twice": b'[{"nick": "ann", "number": 0, "content": "a"},'
    b' {"nick": "ann", "number": 0, "content": "b"}]',
    "no text": b'[{"nick": "ann", "number": 0, "content": 7}]',
    "text of another name": b'[{"nick": "ann", "number": 0, "title": "", "text": "Hello."}]',
}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_failed_requests_are_retried(model, journal, failure, method):
    task = PracticeTask(subjects(), runs=2)
    with scripted(playing(task, spoil=once(failure, failure, method=method))) as server:
        report = client(server.url, journal, runs(2, model))
    assert task.finished
    assert len(task.submissions) == 2 * report.rounds


def test_an_accepted_answer_without_a_reply_is_not_sent_again(model, journal):
    task, told = PracticeTask(subjects(), runs=2), []
    play = playing(task)

    def answer(method, path, body):
        """Accept everything, but drop the replies to the last run."""
        answered = play(method, path, body)
        return (None, {}, b"") if path.endswith("/1") else answered

    with scripted(answer) as server:
        report = client(server.url, journal, runs(2, model), on_round=told.append)
    assert len(task.submissions) == 2 * report.rounds
    assert [each.number for each in told] == list(range(report.rounds))


@pytest.mark.parametrize("body", BAD_ROUNDS.values(), ids=BAD_ROUNDS)
def test_invalid_rounds_are_requested_again(model, journal, body):
    task = PracticeTask(subjects())
    with scripted(playing(task, spoil=once((200, {}, body)))) as server:
        client(server.url, journal, runs(1, model))
    assert task.finished


def test_the_client_gives_up_after_the_given_retries(model, journal):
    with (
        scripted(lambda *_: (500, {}, b"oops")) as server,
        pytest.raises(ServerError, match=r"gave up after 4 attempts: .* 500 \(oops\)"),
    ):
        client(server.url, journal, runs(1, model), retries=3)
    assert len(server.requests) == 4


def test_the_client_gives_up_when_waiting_exceeds_its_patience(model, journal):
    with (
        scripted(lambda *_: (503, {"Retry-After": "3600"}, b"")) as server,
        pytest.raises(ServerError, match="gave up after 1 attempts"),
    ):
        client(server.url, journal, runs(1, model), patience=60)


def test_an_unreachable_server_is_an_error(model, journal):
    with pytest.raises(ServerError, match="Connection refused"):
        client("http://127.0.0.1:1", journal, runs(1, model), retries=1)


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7", 7, 7),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 1),
        ("nonsense", 0, 1),
        ("9" * 30, 0, 1),
        ("Wed, 21 Oct 2015 99999999999999999999:28:00 GMT", 0, 1),
        ("Wed, 21 Oct 99999 07:28:00 GMT", 0, 1),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 1e9, 9e9),
        ("-5", 0, 1),
        (
            datetime(2099, 1, 1, tzinfo=timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT"),
            1e9,
            1e10,
        ),
    ],
)
def test_retry_after_sets_the_wait(model, journal, monkeypatch, header, least, most):
    waits = []
    # Only there: other threads of the process sleep, too.
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=waits.append)
    monkeypatch.setattr("watchword.erisk.transport.time", clock)
    task = PracticeTask(subjects())
    spoil = once((503, {"Retry-After": header}, b""))
    with scripted(playing(task, spoil=spoil)) as server:
        client(server.url, journal, runs(1, model), patience=1e11)
    assert least <= waits[0] <= most


def test_waits_grow_with_jitter_determined_by_the_seed():
    def waits(seed):
        backoff = Backoff(retries=9, patience=1, first_wait=1, seed=seed)
        return [backoff.wait_after(failures) for failures in range(1, 12)]

    assert waits(1) == waits(1) != waits(2)
    assert all(0.5 * 2**n <= wait <= 2**n for n, wait in enumerate(waits(1)[:6]))
    assert max(waits(1)) <= 60


def test_a_request_that_times_out_is_retried(model, journal):
    faults = Faults(slow=0.3, delay=1, seed=4)
    with running_faulty_server(subjects(5, posts=(1, 2)), faults) as server:
        # On a busy machine, replies that are not slow may come too late as well.
        take_part(server, runs(1, model), journal, timeout=0.4, retries=1000)
        assert server.task.finished


@pytest.mark.parametrize(
    ("status", "advice"),
    [(401, "check the token"), (403, "check the token"), (404, "check the URL")],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_client_errors_are_not_retried_and_say_what_to_check(
    model, journal, status, advice, method
):
    spoil = once((status, {}, b"no"), method=method)
    with (
        scripted(playing(PracticeTask(subjects()), spoil=spoil)) as server,
        pytest.raises(ServerError, match=rf"answered {status} \(no\); {advice}"),
    ):
        client(server.url, journal, runs(1, model))
    assert [each for each, _ in server.requests].count(method) == 1


def test_messages_do_not_contain_the_token(model, journal, caplog):
    said = f"no such page: /getwritings/{TOKEN}".encode()
    with (
        scripted(
            playing(PracticeTask(subjects()), spoil=once((500, {}, said), (404, {}, said)))
        ) as server,
        pytest.raises(ServerError, match="no such page") as caught,
    ):
        client(server.url, journal, runs(1, model))
    assert TOKEN not in str(caught.value)
    assert "500" in caplog.text
    assert TOKEN not in caplog.text


ODD_TOKEN = "Ab+/c d&é%41"
FORMS = {
    "as given": f"  {ODD_TOKEN} ",
    "stripped": ODD_TOKEN,
    "quoted": "Ab%2B%2Fc%20d%26%C3%A9%2541",
    "quoted in small letters": "Ab%2b%2fc%20d%26%c3%a9%2541",
    "quoted but for slashes": "Ab%2B/c%20d%26%C3%A9%2541",
    "quoted with plus": "Ab%2B%2Fc+d%26%C3%A9%2541",
    "unquoted": "Ab+/c d&éA",
    "in a page": "Ab+/c d&amp;é%41",
    "in JSON": "Ab+\\/c d&\\u00e9%41",
}


def refused(journal, crew, *answer, token=f"  {ODD_TOKEN} "):
    """Return the client's error message for a server that always sends this reply."""
    with scripted(lambda *_: answer) as server, pytest.raises(ServerError) as caught:
        run_client(server.url, token, crew, journal=journal, **QUICK | {"retries": 1})
    return str(caught.value)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("status", [404, 500])
def test_messages_contain_no_encoded_form_of_the_token(model, journal, caplog, form, status):
    said = refused(journal, runs(1, model), status, {}, f"page <{form}> not there".encode())
    assert re.search(r"page < *\*\*\* *> not there", said)
    assert "Ab" not in said + caplog.text


@pytest.mark.parametrize(
    "before", ["x" * 290, "x" * 4088, " " * 4088], ids=["300", "4096", "blank"]
)
def test_messages_contain_no_part_of_the_token_where_a_page_is_cut(model, journal, caplog, before):
    body = f"{before}{TOKEN} is unknown".encode()
    said = refused(journal, runs(1, model), 500, {}, body, token=TOKEN)
    assert TOKEN[:4] not in said + caplog.text


@pytest.mark.parametrize(
    "data",
    [
        f"unknown token {TOKEN}",
        f"no participant is registered: {TOKEN}",
        [TOKEN],
        [{"nick": "ann", "number": TOKEN}],
        [{"nick": TOKEN + "\ud800", "number": 0}],
        [{"nick": "ann", "number": 0, "content": [TOKEN]}],
    ],
)
def test_messages_about_invalid_rounds_do_not_contain_the_token(model, journal, caplog, data):
    said = refused(journal, runs(1, model), 200, {}, json.dumps(data).encode(), token=TOKEN)
    assert "getwritings: " in said
    assert TOKEN[:4] not in said + caplog.text


def test_messages_about_invalid_rounds_do_not_contain_a_numeric_token(model, journal, caplog):
    said = refused(journal, runs(1, model), 200, {}, b"-12345678", token="12345678")
    assert "got -***" in said
    assert "1234" not in said + caplog.text


@contextlib.contextmanager
def dripping(head, *, drops):
    """Serve a body byte by byte; yield the URL and the pieces sent so far."""
    sent = []

    def serve():
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):  # the client has gone
            connection.recv(65536)
            connection.sendall(head)
            for drop in drops:
                connection.sendall(drop)
                sent.append(drop)
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", sent
        finally:
            thread.join()


@pytest.mark.parametrize(
    ("header", "drop"),
    [
        (b"Content-Length: 400", b" "),
        (b"Transfer-Encoding: chunked", b"1\r\n \r\n"),
        (b"Connection: close", b" "),
    ],
    ids=["length", "chunked", "until closed"],
)
def test_the_timeout_covers_a_body_sent_byte_by_byte(model, journal, header, drop):
    head = b"HTTP/1.1 200 OK\r\n" + header + b"\r\n\r\n"
    with (
        dripping(head, drops=[drop] * 400) as (url, sent),
        pytest.raises(ServerError, match=r"no answer within 0\.3 seconds"),
    ):
        client(url, journal, runs(1, model), timeout=0.3, retries=0)
    assert len(sent) < 400


def test_a_body_in_pieces_is_read_completely():
    drops = [b"[1,", b" 2", b"]"]
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
    with dripping(head, drops=drops) as (url, _):
        found = Transport(url, TOKEN, timeout=60, size_limit=100).get_round("getwritings")
    assert found == b"[1, 2]"


@pytest.mark.parametrize("count", [1, 2])
def test_an_html_reply_does_not_count_as_received(model, journal, count):
    task = PracticeTask(subjects(), runs=count)
    pages = [(200, {"Content-Type": "text/html"}, b"\n<html>Maintenance</html>")]
    spoil = lambda method: pages.pop() if method == "POST" and pages else None  # noqa: E731
    with scripted(playing(task, spoil=spoil)) as server:
        report = client(server.url, journal, runs(count, model))
    assert report.ended == "empty"
    assert task.finished


def test_replies_above_the_size_limit_are_rejected(model, journal):
    with (
        scripted(lambda *_: (200, {}, b"[" + b" " * 5000 + b"]")) as server,
        pytest.raises(ServerError, match="larger than 1000 bytes"),
    ):
        client(server.url, journal, runs(1, model), size_limit=1000)


def test_redirects_on_the_same_host_keep_method_and_body(model, journal):
    task = PracticeTask(subjects())
    play = playing(task)

    def answer(method, path, body):
        if not path.startswith("/new"):
            return 301, {"Location": f"/new{path}"}, b""
        return play(method, path, body)

    with scripted(answer) as server:
        client(server.url, journal, runs(1, model))
    assert task.finished


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("http://localhost:9/x", "another host, 'localhost'"),
        ("//evil.example/x", "another host, 'evil.example'"),
        ("ftp://127.0.0.1/x", "unencrypted"),
        ("/", "too many redirects"),
        ("http://127.0.0.1:9/x", "another server, http on port 9"),
        ("http://127.0.0.1/x", "another server, http on port 80"),
        ("https://127.0.0.1/x", "another server, https on port 443"),
        ("http://[", "invalid URL"),
        ("http://127.0.0.1:99999/", "invalid URL"),
        ("/\xe4", "invalid URL"),
        ("/a b", "invalid URL"),
        (f"//{TOKEN}.example/", r"another host, '\*\*\*\.example'"),
    ],
)
def test_redirects_to_other_servers_are_refused(model, journal, location, message):
    with (
        scripted(lambda *_: (302, {"Location": location}, b"")) as server,
        pytest.raises(ServerError, match=message),
    ):
        client(server.url, journal, runs(1, model))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host/task",
        "ftp://host",
        "http://",
        "http://u:p@host",
        "http://h/?a",
        "http://a b",
        "http://a..b/",
        f"http://{'a' * 64}/",
        None,
    ],
)
def test_invalid_urls_are_rejected(url):
    with pytest.raises(ValueError, match="url must"):
        Transport(url, TOKEN, timeout=1, size_limit=1)


def test_a_url_with_other_characters_than_ascii_is_an_error():
    transport = Transport("http://127.0.0.1:1/\xe4", TOKEN, timeout=1, size_limit=1)
    with pytest.raises(ServerError, match="invalid URL"):
        transport.get_round("getwritings")


@pytest.mark.parametrize(
    ("url", "location", "followed"),
    [
        ("http://host/task", "https://host/x", True),
        ("http://host:80/task", "https://host:443/x", True),
        ("https://host/task", "https://HOST:443/x", True),
        ("https://host/task", "http://host/x", False),
        ("http://host/task", "http://host:443/x", False),
        ("http://host:8000/task", "https://host:8443/x", False),
        ("http://host/task", "http://me@host/x", False),
    ],
)
def test_redirects_may_only_change_http_to_https(monkeypatch, url, location, followed):
    asked = []

    def exchange(_self, address, _body, _what):
        headers, status = {"Location": location}, 200 if asked else 302
        asked.append(address)
        return SimpleNamespace(status=status, headers=headers), b"[]"

    monkeypatch.setattr(Transport, "_exchange", exchange)
    with contextlib.nullcontext() if followed else pytest.raises(ServerError, match="redirects to"):
        Transport(url, TOKEN, timeout=1, size_limit=1).get_round("getwritings")
    assert asked[1:] == ([location] if followed else [])


@pytest.mark.parametrize(
    "options",
    [{"timeout": 0}, {"retries": -1}, {"patience": -1}, {"snapshot_every": 0}, {"size_limit": 0}],
)
def test_invalid_settings_are_rejected(model, journal, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        client("http://127.0.0.1:1", journal, runs(1, model), **options)
    assert not journal.exists()


@pytest.mark.parametrize(
    ("count", "message"), [(0, "runs must"), (6, "dialect 'writings' has at most 5 runs, got 6")]
)
def test_one_to_five_runs_are_allowed(model, journal, count, message):
    with pytest.raises(ValueError, match=message):
        client("http://127.0.0.1:1", journal, runs(1, model) * count)


# Rounds and writings


def test_unusual_fields_of_a_writing_are_accepted():
    data = [{"nick": "ann", "number": "3", "title": None, "content": "a\ud800b", "more": [1]}]
    [writing] = as_round(data).writings
    assert (writing.number, writing.title, writing.content) == (3, "", "a\ufffdb")


@pytest.mark.parametrize(
    ("date", "time"),
    [
        ("2019-01-02T03:04:05", datetime(2019, 1, 2, 3, 4, 5)),
        (" 2019-01-02 03:04:05 ", datetime(2019, 1, 2, 3, 4, 5)),
        ("2023-03-08T17:26:33.000+00:00", datetime(2023, 3, 8, 17, 26, 33, tzinfo=timezone.utc)),
        ("2023-03-08T17:26:33Z", datetime(2023, 3, 8, 17, 26, 33, tzinfo=timezone.utc)),
        ("2023-03-08 17:26:33 UTC", datetime(2023, 3, 8, 17, 26, 33, tzinfo=timezone.utc)),
        ("2023-03-08T17:26:33+0000", datetime(2023, 3, 8, 17, 26, 33, tzinfo=timezone.utc)),
        ("20230308T172633", None),  # which only later Pythons read
        ("2023-W10-3", None),
        ("yesterday", None),
    ],
)
def test_unreadable_dates_are_left_out(date, time):
    assert Writing("ann", 0, date=date).post.time == time


@pytest.mark.parametrize("number", [-1, True, 1.5, "x", None, 2**40])
def test_invalid_round_numbers_are_rejected(number):
    with pytest.raises(DataFormatError, match="number must be"):
        as_round([{"nick": "ann", "number": number, "content": "a"}])


def writings(**fields):
    return [{"nick": nick, "number": 0, "content": "a"} | fields for nick in ("ann", "bob")]


@pytest.mark.parametrize(
    ("fields", "warning"),
    [
        ({"content": "", "title": None}, "round 0 has no text of any subject"),
        ({"date": "last week"}, "round 0: 2 of 2 dates are unreadable, such as 'last week'"),
        ({"date": 1714566615, "content": "", "title": "a"}, ""),
    ],
)
def test_a_round_without_texts_or_readable_dates_is_a_warning(
    model, journal, caplog, fields, warning
):
    def answer(method, _path, _body):
        sent = method == "POST" or len(server.requests) > 2
        return 200, {}, b"[]" if sent else json.dumps(writings(**fields)).encode()

    with scripted(answer) as server:
        assert client(server.url, journal, runs(1, model)).rounds == 1
    assert caplog.text.count(warning) == 1 if warning else not caplog.text


def test_the_digest_of_a_round_ignores_the_order_of_writings():
    ann, bob = Writing("ann", 0, content="a"), Writing("bob", 0, content="b")
    assert Round(0, (ann, bob)).digest == Round(0, (bob, ann)).digest
    assert Round(0, (ann, bob)).digest != Round(0, (ann,)).digest


# Servers that refuse duplicates


@pytest.fixture(scope="module")
def three(model, tmp_path_factory):
    """Return three runs, with the accepted answers and the report of a task without faults."""
    crew, task = runs(3, model), PracticeTask(subjects(), runs=3)
    with running_server(task) as server:
        report = take_part(server, crew, tmp_path_factory.mktemp("three") / "journal")
    return crew, accepted(task), report


def drops_of(*positions, at=1):
    """Drop the first reply to each of some runs in one round."""
    seen = dict.fromkeys(positions, 0)

    def drops(_method, path):
        run = path.rpartition("/")[2]
        if run not in map(str, positions):
            return False
        seen[int(run)] += 1
        return seen[int(run)] == at + 1

    return drops


POSITIONS = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("kind", [PracticeTask, HastyTask])
@pytest.mark.parametrize("positions", POSITIONS)
def test_a_second_sending_refused_with_400_counts_as_received(three, journal, positions, kind):
    crew, expected, whole = three
    task = kind(subjects(), runs=3, refuse_duplicates=True)
    with (
        running_server(task, token=TOKEN) as server,
        dropping(server.url, drops_of(*positions)) as proxy,
    ):
        report = client(proxy.url, journal, crew)
    assert (report, accepted(task), task.finished) == (whole, expected, True)


@pytest.mark.parametrize("kind", [PracticeTask, HastyTask])
@pytest.mark.parametrize("positions", POSITIONS)
def test_a_restart_after_a_lost_reply_finishes_the_task(three, journal, positions, kind):
    crew, expected, whole = three
    task = kind(subjects(), runs=3, refuse_duplicates=True)
    with (
        running_server(task, token=TOKEN) as server,
        dropping(server.url, drops_of(*positions)) as proxy,
    ):
        with pytest.raises(ServerError, match="gave up after 1 attempts"):
            client(proxy.url, journal, crew, retries=0)
        report = client(proxy.url, journal, crew, retries=0)
    assert (report, accepted(task), task.finished) == (whole, expected, True)


def test_an_answer_is_not_sent_to_the_next_round_after_a_refusal(model, journal):
    crew, people = runs(2, model), subjects()
    calm, task = PracticeTask(people, runs=2), HastyTask(people, runs=2)
    with running_server(calm, token=TOKEN) as server:
        take_part(server, crew, journal.with_name("calm"))
    # Run 0 is lost, then refused without having arrived; of run 1 the reply is lost.
    faults: dict[str, list[Any]] = {"0": [(None, {}, b""), (400, {}, b"no")], "1": [None]}
    play = playing(task)

    def answer(method, path, body):
        due = faults.get(path.rpartition("/")[2])
        if not due:
            return play(method, path, body)
        instead = due.pop(0)
        if instead is None:
            play(method, path, body)
        return instead or (None, {}, b"")

    with scripted(answer) as script:
        for message in ("gave up", "still sends round 0 and rejects"):
            with pytest.raises(ServerError, match=message):
                client(script.url, journal, crew, retries=0, repeats=1)
        client(script.url, journal, crew, retries=0)
    assert task.finished
    assert accepted(task) == accepted(calm)


def test_all_runs_of_a_round_are_first_sent_side_by_side(model, journal):
    task, crew = PracticeTask(subjects(3, posts=(2, 2)), runs=3), runs(3, model)
    play, together = playing(task), threading.Barrier(3)

    def answer(method, path, body):
        if method == "POST":
            together.wait(timeout=60)  # breaks if the next run waits for the reply to this one
        return play(method, path, body)

    with scripted(answer) as script:
        report = client(script.url, journal, crew)
    assert report.rounds == 2
    assert task.finished


def test_runs_that_were_accepted_beside_a_failed_one_are_not_sent_again(model, journal):
    task = PracticeTask(subjects(3, posts=(2, 2)), runs=3)
    play, of_run_1 = playing(task), itertools.count()

    def answer(method, path, body):
        is_lost = path.endswith("/1") and next(of_run_1) == 0
        return (None, {}, b"") if is_lost else play(method, path, body)

    with scripted(answer) as script:
        client(script.url, journal, runs(3, model))
    sent = [path[-1] for method, path in script.requests if method == "POST"]
    assert sorted(sent) == ["0", "0", "1", "1", "1", "2", "2"]


def test_a_first_sending_refused_with_400_is_an_error(model, journal):
    with scripted(lambda method, *_: (200, {}, ROUND) if method == "GET" else (400, {}, b"no")) as (
        script
    ):
        for _ in range(2):  # a restart sends it for the first time again
            with pytest.raises(
                ServerError, match=r"^submit of run 0: the server answered 400 \(no"
            ):
                client(script.url, journal, runs(2, model))
    sent = [path for method, path in script.requests if method == "POST"]
    assert sorted(sent) == [f"/submit/{TOKEN}/{run}" for run in (0, 0, 1, 1)]


def test_a_lost_answer_that_is_then_refused_is_an_error(model, journal):
    """Simulate a server that never received run 0, refuses it, and repeats the round."""
    posts = itertools.count()

    def answer(method, path, _body):
        if method == "GET":
            return 200, {}, ROUND
        if path.endswith("/1"):
            return 200, {}, b"{}"
        return (None, {}, b"") if next(posts) == 0 else (400, {}, b"no")

    with scripted(answer) as script:
        for _ in range(2):
            with pytest.raises(
                ServerError, match=r"still sends round 0 and rejects .*submit of run 0.*400 \(no\)"
            ):
                client(script.url, journal, runs(2, model), repeats=2)
    sent = [path[-1] for method, path in script.requests if method == "POST"]
    assert (sorted(sent[:2]), sent[2:]) == (["0", "1"], ["0", "0"])


ROUND = b'[{"nick": "ann", "number": 0, "title": "", "content": "Hello."}]'


# The journal


def interrupted(server, crew, journal, after, **options):
    """Take part until a round is done, then stop as after Ctrl-C."""

    def stop(report):
        if report.number == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_part(server, crew, journal, on_round=stop, **options)


@pytest.mark.parametrize("snapshot_every", [1, 2, 100])
def test_an_interrupted_client_resumes_from_its_journal(model, tmp_path, snapshot_every):
    people, crew = subjects(posts=(6, 6)), runs(3, model)
    with running_server(people, runs=3) as server:
        whole = take_part(server, crew, tmp_path / "whole")
        expected = accepted(server.task)
    with running_server(people, runs=3) as server:
        stopped, options = tmp_path / "stopped", {"snapshot_every": snapshot_every}
        for after in (0, 1, 3):
            interrupted(server, crew, stopped, after, **options)
        report = take_part(server, crew, stopped, **options)
        assert accepted(server.task) == expected
    assert report == whole


def test_a_round_whose_callback_failed_is_reported_again(model, journal):
    told = []
    with running_server(subjects(posts=(6, 6)), runs=2) as server:
        interrupted(server, runs(2, model), journal, 2)
        take_part(server, runs(2, model), journal, on_round=told.append)
    assert [each.number for each in told] == [2, 3, 4, 5]


def test_a_reported_round_is_not_reported_again(model, journal):
    told = []
    with running_server(subjects(posts=(6, 6))) as server:
        take_part(server, runs(1, model), journal)
        take_part(server, runs(1, model), journal, on_round=told.append)
    assert told == []


def test_snapshots_keep_the_journal_small(model, tmp_path):
    people = subjects(posts=(20, 20))
    sizes = []
    for every in (1, 100):
        with running_server(people) as server:
            take_part(server, runs(1, model), tmp_path / f"{every}", snapshot_every=every)
        sizes.append((tmp_path / f"{every}").stat().st_size)
    assert sizes[0] < sizes[1] / 2
    assert people[0].posts[-1].text.encode() not in (tmp_path / "1").read_bytes()
    assert people[0].posts[-1].text.encode() in (tmp_path / "100").read_bytes()


def test_the_journal_does_not_contain_the_token(model, journal):
    with running_server(subjects(), token=TOKEN) as server:
        take_part(server, runs(1, model), journal)
    assert TOKEN.encode() not in journal.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="no modes of files here")
@pytest.mark.parametrize("snapshot_every", [1, 100])
def test_only_the_owner_may_read_the_journal(model, journal, snapshot_every):
    with running_server(subjects()) as server:
        take_part(server, runs(1, model), journal, snapshot_every=snapshot_every)
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600


@pytest.fixture
def begun(model, journal):
    """Serve a task of which the client has answered two rounds with a journal."""
    with running_server(subjects(posts=(6, 6)), token=TOKEN) as server:
        interrupted(server, runs(1, model), journal, 1)
        yield server


@pytest.mark.usefixtures("begun")
def test_a_journal_of_another_server_is_refused(model, journal):
    with pytest.raises(StateError, match="belongs to another server, http://127"):
        client("http://127.0.0.1:1", journal, runs(1, model))


def test_a_journal_of_another_token_is_refused(model, journal, begun):
    with pytest.raises(StateError, match="was made with another token"):
        run_client(begun.url, "other", runs(1, model), journal=journal)


def test_a_journal_of_another_model_is_refused(journal, begun):
    crew = runs(1, taught(smoothness=0.5))
    with pytest.raises(StateError, match="run 0 was started with another model or policy"):
        take_part(begun, crew, journal)


def test_a_journal_of_another_policy_is_refused(model, journal, begun):
    with pytest.raises(StateError, match="run 0 was started with another model or policy"):
        take_part(begun, [(model, Overtakes(AT_RISK, margin=1))], journal)


def test_runs_cannot_be_added_after_round_0(model, journal, begun):
    with pytest.raises(StateError, match="has 1 runs, got 2: runs can be added or left out only"):
        take_part(begun, runs(2, model), journal)


def test_a_restarted_task_is_detected(model, journal, begun):
    begun.task.__init__(subjects(posts=(6, 6)))
    with pytest.raises(StateError, match=r"at round 0, expected round 2; was the task restarted"):
        take_part(begun, runs(1, model), journal)


def test_a_server_ahead_of_the_journal_is_detected(model, journal, begun):
    begun.task.round += 2
    with pytest.raises(StateError, match="does another client use this token"):
        take_part(begun, runs(1, model), journal)


def test_a_task_that_began_without_the_journal_is_detected(model, tmp_path, begun):
    with pytest.raises(StateError, match="expected round 0"):
        take_part(begun, runs(1, model), tmp_path / "new")


def test_another_task_at_the_same_round_is_detected(model, journal, begun):
    begun.task.__init__(subjects(posts=(6, 6), seed=99))
    begun.task.round = 1
    with pytest.raises(StateError, match="round 1 differs from the round in the journal"):
        take_part(begun, runs(1, model), journal)


def test_a_server_that_advances_without_our_answers_is_detected(model, journal):
    with running_server(subjects(posts=(6, 6)), token=TOKEN, runs=2) as server:
        with Journal.open(journal, identity_of(server, runs(2, model))) as opened:
            opened.received(Round(0, tuple(server.task.writings())))
        for run in (0, 1):  # another client
            nobody = [{"nick": each.id, "decision": 0, "score": 0} for each in subjects()]
            server.task.submit(run, nobody)
        with pytest.raises(
            ServerError, match="went on to round 1 without the answers of runs 0, 1"
        ):
            take_part(server, runs(2, model), journal)


def identity_of(server, crew):
    return JournalIdentity(server.url, server.token, run_names(crew, context=False))


@pytest.mark.parametrize("cut", [1, 100, 4096, 10_000])
def test_a_truncated_journal_is_refused(model, journal, begun, cut):
    whole = journal.read_bytes()[:-cut]
    journal.write_bytes(whole)
    with pytest.raises(StateError, match="journal is damaged"):
        take_part(begun, runs(1, model), journal)
    assert journal.read_bytes() == whole


def test_bytes_appended_to_a_journal_are_ignored(model, journal, begun):
    journal.write_bytes(journal.read_bytes() + b"1234")
    take_part(begun, runs(1, model), journal)
    assert begun.task.finished
    assert len(accepted(begun.task)) == 6


def test_a_flipped_bit_in_a_journal_is_refused_or_harmless(model, journal, begun):
    whole, chance = journal.read_bytes(), random.Random(3)
    identity, refused = identity_of(begun, runs(1, model)), 0
    with Journal.open(journal, identity) as opened:
        past = opened.past
    written = [place for place, byte in enumerate(whole) if byte]
    for place in chance.sample(written, 200):
        data = bytearray(whole)
        data[place] ^= 1 << chance.randrange(8)
        journal.write_bytes(data)
        try:
            with Journal.open(journal, identity) as opened:
                found = opened.past
        except StateError:
            refused += 1
            continue
        # The texts are as they were; answers are compared with those of a second reading.
        assert [each.round.digest for each in found.rounds] == [
            each.round.digest for each in past.rounds
        ]
    assert refused > 100


IDENTITY = JournalIdentity("http://127.0.0.1:9", "token", ("one", "two"))
ROUNDS = [Round(number, (Writing("ann", number, content="Hello."),)) for number in range(2)]


@pytest.fixture
def kept(journal):
    """Write a journal with a state and a round that was answered, sent and reported."""
    with Journal.open(journal, IDENTITY) as opened:
        opened.received(ROUNDS[0])
        opened.shorten(0, ROUNDS[0].digest, [b"state 0", b"state 1"])
        opened.received(ROUNDS[1])
        opened.answered(1, {run: [Answer("ann", 0, 0.5)] for run in (0, 1)})
        for run in (0, 1):
            opened.sending(1, run)
            opened.acknowledged(1, run)
        opened.reported(1)
    return journal


def test_a_journal_returns_what_was_recorded(kept):
    with Journal.open(kept, IDENTITY) as opened:
        past = opened.past
    assert (past.number, past.digest, past.watchers) == (
        0,
        ROUNDS[0].digest,
        [b"state 0", b"state 1"],
    )
    assert past.rounds == [
        PastRound(ROUNDS[1], [[Answer("ann", 0, 0.5)]] * 2, {0, 1}, {0, 1}, True)
    ]


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        *((f"DELETE FROM {table}", ()) for table in ("runs", "rounds", "writings", "answers")),
        *((f"DELETE FROM {table} WHERE run = 1", ()) for table in ("runs", "answers")),
        ("DELETE FROM sendings WHERE destination = 1", ()),
        *(("UPDATE journal SET round = ?", (one,)) for one in (-2, -1, 1, 2**62, 0.5, "x")),
        *(("UPDATE journal SET salt = ?", (one,)) for one in (1, "x")),
        *(("UPDATE runs SET watcher = ?", (one,)) for one in (None, 1, "x")),
        *(("UPDATE rounds SET number = ?", (one,)) for one in (0, 2, -1, 2**31, 2**63 - 1)),
        *(("UPDATE rounds SET digest = ?", (one,)) for one in ("", "x", 5, b"x")),
        ("UPDATE rounds SET reported = ?", ("x",)),
        *(("UPDATE writings SET content = ?", (one,)) for one in ("Hello!", "[" * 10**5, b"")),
        *(("UPDATE writings SET nick = ?", (one,)) for one in ("", "bob", b"ann")),
        *(("UPDATE writings SET round = ?", (one,)) for one in (0, "x")),
        (
            "INSERT INTO writings "
            "SELECT round, 7, nick, title, content, date, id, context FROM writings",
            (),
        ),
        *(("UPDATE writings SET context = ?", (one,)) for one in ("x", "{}", "[1]", '["x"]', b"")),
        *(("UPDATE answers SET decision = ?", (one,)) for one in (2, -1, "x", 0.5)),
        *(("UPDATE answers SET score = ?", (one,)) for one in (float("inf"), "x", b"x")),
        *(("UPDATE answers SET nick = ? WHERE run = 1", (one,)) for one in ("", "bob")),
        ("UPDATE answers SET run = 5 WHERE run = 1", ()),
        ("INSERT INTO answers SELECT round, run, 7, nick, decision, score FROM answers", ()),
        *(("UPDATE sendings SET acknowledged = ?", (one,)) for one in (0, 0.5, "x")),
        ("UPDATE sendings SET destination = 5 WHERE destination = 1", ()),
        ("INSERT INTO journal SELECT 2, url, salt, token, round, digest FROM journal", ()),
        ("PRAGMA user_version = 1", ()),
    ],
)  # fmt: skip
def test_a_valid_database_with_impossible_content_is_refused(kept, statement, values):
    databases.change(kept, statement, *values)
    before = databases.content(kept)
    with pytest.raises(StateError), Journal.open(kept, IDENTITY):
        pass
    assert databases.content(kept) == before


def test_decisions_that_differ_on_resume_are_detected(model, journal, begun):
    databases.change(journal, "UPDATE answers SET decision = 1 - decision WHERE round = 0")
    with pytest.raises(StateError, match="round 0, read again, gives different decisions"):
        take_part(begun, runs(1, model), journal)


@pytest.mark.parametrize("content", [b"hello\n", b"hello", b"\0" * 100, b"{}\n"])
def test_other_files_are_refused_as_journals_and_unchanged(model, journal, content):
    journal.write_bytes(content)
    with pytest.raises(StateError, match="not a journal"):
        client("http://127.0.0.1:1", journal, runs(1, model))
    assert journal.read_bytes() == content


def test_an_empty_file_becomes_a_journal(model, journal):
    journal.touch()
    with running_server(subjects()) as server:
        take_part(server, runs(1, model), journal)
        assert server.task.finished


def test_two_clients_cannot_share_a_journal(model, journal):
    crew = runs(1, model)

    def second(_report):
        with pytest.raises(StateError, match="in use by another process"):
            take_part(server, crew, journal)

    with running_server(subjects()) as server:
        take_part(server, crew, journal, on_round=second, snapshot_every=2)
        assert server.task.finished


def test_the_client_imports_no_extra_dependencies():
    program = """
import sys
import watchword.erisk.client
print(*sorted({"starlette", "uvicorn", "click", "httpx", "requests"} & set(sys.modules)))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
