"""The practice server: protocol, rejected answers, measures, and faults."""

import importlib
import math
import re
import socket
import sys
import threading

import pytest

from erisk_tasks import TOKEN, ask, subjects
from faulty_server import Faults, running_faulty_server
from watchword.data import AT_RISK, Post, Subject
from watchword.erisk.practice_task import PracticeTask
from watchword.erisk.server import make_app, running_server, serve
from watchword.errors import MissingExtraError
from watchword.evaluation import metrics

ANN = Subject("ann", [Post("Hello.", title="Hi"), Post("Bye.")], "risk")
BOB = Subject("bob", [Post("Good morning.")], "none")


def answers(decisions, scores=None):
    return [
        {"nick": nick, "decision": decision, "score": (scores or {}).get(nick, 0.5)}
        for nick, decision in decisions.items()
    ]


NOBODY = answers({"ann": 0, "bob": 0})


@pytest.fixture(scope="module")
def shared():
    """Start a server that stays at round 0."""
    with running_server([ANN, BOB], token=TOKEN, runs=2, positive="risk") as server:
        ask(server.url, f"/getwritings/{TOKEN}")
        yield server


# The task


def test_round_0_names_every_subject():
    assert [each.nick for each in PracticeTask([ANN, BOB]).writings()] == ["ann", "bob"]


def test_subjects_without_further_posts_drop_out():
    task = PracticeTask([ANN, BOB])
    task.writings()
    task.submit(0, NOBODY)
    assert [(each.nick, each.number) for each in task.writings()] == [("ann", 1)]


def test_the_next_round_waits_for_every_run():
    task = PracticeTask([ANN, BOB], runs=2)
    first = task.writings()
    task.submit(0, NOBODY)
    assert task.writings() == first
    task.submit(1, NOBODY)
    assert task.writings() != first


def test_a_finished_task_returns_an_empty_list():
    task = PracticeTask([BOB])
    task.writings()
    task.submit(0, answers({"bob": 0}))
    assert task.finished
    assert task.writings() == task.writings() == []


def test_the_same_answer_again_changes_nothing():
    task = PracticeTask([ANN, BOB], runs=2)
    task.writings()
    task.submit(0, NOBODY)
    task.submit(0, NOBODY)
    assert [each.repeated for each in task.submissions] == [False, True]
    assert task.results().runs[0].rounds == 1


def test_an_alert_stays_an_alert():
    task = PracticeTask([ANN, BOB], positive="risk")
    for decision in (1, 0):
        task.writings()
        task.submit(0, answers({"ann": decision, "bob": 0}))
    assert task.results().runs[0].alerts == {"ann": 1}


def test_delays_are_rounds_plus_one():
    task = PracticeTask([ANN, BOB], positive="risk")
    for decision in (0, 1):
        task.writings()
        task.submit(0, answers({"ann": decision, "bob": 0}))
    [result] = task.results().runs
    assert result.alerts == {"ann": 2}
    assert result.measures.latency == 2


def test_no_measures_without_labels():
    task = PracticeTask([ANN, BOB])
    task.writings()
    task.submit(0, NOBODY)
    assert task.results().positives is None
    assert task.results().runs[0].measures is None


def test_no_latency_without_true_positives():
    task = PracticeTask([ANN, BOB], positive="risk")
    task.writings()
    task.submit(0, NOBODY)
    measures = task.results().runs[0].measures
    assert (measures.latency, measures.speed, measures.f_latency) == (None, None, 0)
    assert measures.erde5 == 0.5


def test_rankings_cover_reached_rounds_and_the_last():
    ann = Subject("ann", [Post("a")] * 101, "risk")
    bob = Subject("bob", [Post("b")], "none")
    task = PracticeTask([ann, bob], positive="risk")
    for number in range(101):
        task.writings()
        task.submit(0, answers({"ann": 0, "bob": 0}, {"ann": number - 50, "bob": 0}))
    rankings = task.results().runs[0].measures.rankings
    assert [each.rounds for each in rankings] == [1, 100, 101]
    assert [each.ndcg_at_10 for each in rankings] == [1, 1, 1]  # ranks 1 and 2 count the same
    assert rankings[0].precision_at_10 == 0.1


def test_measures_equal_those_of_the_metrics_module():
    people = subjects(20)
    task = PracticeTask(people, positive=AT_RISK)
    alerted = {subject.id: place % 4 for place, subject in enumerate(people) if place % 3}
    while writings := task.writings():
        after = writings[0].number
        task.submit(
            0, answers({each.id: int(alerted.get(each.id, 99) <= after) for each in people})
        )
    truth = [subject.label for subject in people]
    predicted = [AT_RISK if subject.id in alerted else None for subject in people]
    delays = [alerted.get(subject.id, 0) + 1 for subject in people]
    found = task.results().runs[0].measures
    for deadline, value in ((5, found.erde5), (50, found.erde50)):
        assert value == metrics.erde(truth, predicted, delays, deadline=deadline, positive=AT_RISK)
        bounds = metrics.erde_bounds(truth, [1] * len(truth), deadline=deadline, positive=AT_RISK)
        assert getattr(found, f"erde{deadline}_bounds") == bounds
    assert found.f_latency == metrics.latency_weighted_f1(
        truth, predicted, delays, positive=AT_RISK
    )


@pytest.mark.parametrize(
    ("people", "options", "message"),
    [
        ([], {}, "at least one subject"),
        ([Subject("eve", [])], {}, "at least one subject must have posts"),
        ([ANN, ANN], {}, "duplicate subject id 'ann'"),
        ([ANN], {"runs": 6}, "runs must be from 1 to 5"),
        ([ANN], {"positive": "riks"}, "no subject has the positive label 'riks'"),
        ([ANN, Subject("eve", [Post("a")])], {"positive": "risk"}, "'eve' has no label"),
    ],
)
def test_invalid_tasks_are_rejected(people, options, message):
    with pytest.raises(ValueError, match=message):
        PracticeTask(people, **options)


def test_subjects_without_posts_count_as_never_alerted():
    people = [ANN, Subject("bob", [Post("b")], "none"), Subject("eve", [], "risk")]
    task = PracticeTask(people, positive="risk")
    assert [writing.nick for writing in task.writings()] == ["ann", "bob"]
    answers = [
        {"nick": "ann", "decision": 1, "score": -3},
        {"nick": "bob", "decision": 0, "score": -4},
    ]
    task.submit(0, answers)
    results = task.results()
    assert (results.subjects, results.positives) == (3, 2)
    found = results.runs[0].measures
    assert (found.precision, found.recall) == (1, 0.5)
    assert found.erde50 == found.erde50_bounds.best == pytest.approx(1 / 3)
    assert found.rankings[0].ndcg_at_10 == pytest.approx((1 + 1 / math.log2(3)) / 2)


# Over HTTP


def test_a_writing_has_the_fields_of_the_protocol(shared):
    status, writings = ask(shared.url, f"/getwritings/{TOKEN}")
    assert status == 200
    assert writings[0] == {
        "id": 0,
        "number": 0,
        "nick": "ann",
        "redditor": 0,
        "title": "Hi",
        "content": "Hello.",
        "date": "",
    }


def test_a_whole_task_over_http():
    with running_server([ANN, BOB], token=TOKEN, positive="risk") as server:
        for expected in (["ann", "bob"], ["ann"]):
            _, writings = ask(server.url, f"/getwritings/{TOKEN}")
            assert [writing["nick"] for writing in writings] == expected
            status, said = ask(server.url, f"/submit/{TOKEN}/0", NOBODY)
            assert (status, said["run"]) == (200, 0)
        assert ask(server.url, f"/getwritings/{TOKEN}") == (200, [])
        status, results = ask(server.url, f"/results/{TOKEN}")
    assert (status, results["finished"], results["rounds"]) == (200, True, 2)
    assert results["runs"][0]["measures"]["erde5"] == 0.5


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[{", "invalid JSON"),
        (b"\xff", "invalid JSON"),
        (b"[" * 4000, "nested too deeply"),
        ({"nick": "ann"}, "expected a list"),
        (["ann"], "must be an object"),
        (answers({"ann": 0}), "no answer about 'bob'"),
        (NOBODY + answers({"bob": 0}), "duplicate answer about 'bob'"),
        (answers({"ann": 0, "bob": 0, "eve": 0}), "unknown subject 'eve'"),
        (answers({"ann": 0, "bob": 2}), "must be 0 or 1, got 2"),
        (answers({"ann": 0, "bob": True}), "must be 0 or 1, got True"),
        (answers({"ann": 0, "bob": "1"}), "must be 0 or 1, got '1'"),
        (answers({"ann": 0, "bob": None}), "must be 0 or 1, got None"),
        (answers({"ann": 0, "bob": 0}, {"bob": math.nan}), "finite, got nan"),
        (answers({"ann": 0, "bob": 0}, {"bob": math.inf}), "finite, got inf"),
        (answers({"ann": 0, "bob": 0}, {"bob": 10**400}), "finite, got a huge number"),
        (answers({"ann": 0, "bob": 0}, {"bob": "1"}), "must be a number, got '1'"),
        (answers({"ann": 0, "bob": 0}, {"bob": [1]}), "must be a number, got a list"),
        ([{"nick": "\ud800", "decision": 0, "score": 0}], "valid Unicode"),
        ([{"nick": 7, "decision": 0, "score": 0}], "nick must be a string, got 7"),
    ],
)
def test_invalid_answers_are_rejected_with_a_reason(shared, body, message):
    status, said = ask(shared.url, f"/submit/{TOKEN}/0", body)
    assert status == 400
    assert message in said["error"]


@pytest.mark.parametrize("run", ["2", "-1", "x", "00", "٠"])
def test_unknown_runs_are_rejected(shared, run):
    quoted = run.encode().hex("%")
    status, said = ask(shared.url, f"/submit/{TOKEN}/%{quoted}", NOBODY)
    assert status == 404
    assert "runs are 0 to 1" in said["error"]


@pytest.mark.parametrize("path", ["getwritings/wrong", "submit/wrong/0", "results/wrong"])
def test_a_wrong_token_is_refused(shared, path):
    body = NOBODY if path.startswith("submit") else None
    assert ask(shared.url, f"/{path}", body) == (401, {"error": "unknown token"})


def test_unknown_paths_return_json(shared):
    assert ask(shared.url, "/") == (404, {"error": "Not Found"})


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "nonsense"])
def test_submissions_accept_any_content_type(kind):
    with running_server([ANN, BOB], token=TOKEN) as server:
        ask(server.url, f"/getwritings/{TOKEN}")
        headers = {"Content-Type": kind}
        assert ask(server.url, f"/submit/{TOKEN}/0", NOBODY, headers=headers)[0] == 200


def test_another_answer_to_the_same_round_is_refused():
    with running_server([ANN, BOB], token=TOKEN, runs=2) as server:
        ask(server.url, f"/getwritings/{TOKEN}")
        ask(server.url, f"/submit/{TOKEN}/0", NOBODY)
        status, said = ask(server.url, f"/submit/{TOKEN}/0", answers({"ann": 1, "bob": 0}))
    assert status == 409
    assert "already answered round 0" in said["error"]


def test_answers_before_round_0_are_rejected():
    with running_server([ANN, BOB], token=TOKEN) as server:
        assert ask(server.url, f"/submit/{TOKEN}/0", NOBODY)[0] == 409


def test_a_body_that_is_too_large_is_refused():
    task = PracticeTask([ANN])
    app = make_app(task, token=TOKEN, body_limit=100)
    messages, pieces = [], iter([b"[" * 60] * 3)

    async def receive():
        return {"type": "http.request", "body": next(pieces), "more_body": True}

    async def send(message):
        messages.append(message)

    path = f"/submit/{TOKEN}/0"
    scope = {"type": "http", "method": "POST", "path": path, "headers": [], "query_string": b""}
    with pytest.raises(StopIteration):
        app(scope, receive, send).send(None)
    assert messages[0]["status"] == 413
    assert len(list(pieces)) == 1  # the rest was not even read


@pytest.mark.parametrize("token", ["", "a b", "a/b", "é", None])
def test_tokens_invalid_in_a_url_are_rejected(token):
    with pytest.raises(ValueError, match="token must be"):
        make_app([ANN], token=token)


def test_without_the_extra_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in ("watchword.erisk.server", "watchword.web.listening"):
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r"pip install 'watchword\[web\]'"):
        importlib.import_module("watchword.erisk.server")


# serve


def test_server_on_another_host_needs_a_token():
    with pytest.raises(ValueError, match=r"0\.0\.0\.0 can be reached by other machines"):
        serve([ANN], host="0.0.0.0")


def test_serve_generates_a_token_and_calls_on_ready(monkeypatch):
    def stop_at_once(_server, sockets):
        assert [each.getsockname()[0] for each in sockets] == ["127.0.0.1"]
        raise KeyboardInterrupt

    monkeypatch.setattr("uvicorn.Server.run", stop_at_once)
    told = []
    results = serve([ANN], port=0, on_ready=told.append)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", told[0].url)
    assert re.fullmatch("[0-9a-f]{32}", told[0].token)  # no option, wherever it is passed on
    assert told[0].token not in repr(told[0])
    assert not results.finished


def test_on_round_is_called_for_every_round():
    told = []
    task = PracticeTask([ANN, BOB], runs=2, on_round=told.append)
    while task.writings():
        task.submit(0, NOBODY)
        task.submit(1, NOBODY)
    assert told == [0, 1]


# Faults


def raw(server):
    """Return the bytes of the reply to a GET."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        header = "Host: x\r\nConnection: close"
        connection.sendall(f"GET /getwritings/{TOKEN} HTTP/1.1\r\n{header}\r\n\r\n".encode())
        received = b""
        while piece := connection.recv(65536):
            received += piece
        return received


def with_fault(**faults):
    return running_faulty_server([ANN, BOB], Faults(**faults), token=TOKEN)


@pytest.mark.parametrize("kind", ["drop", "lose"])
def test_dropped_connection_sends_no_response(kind):
    with with_fault(**{kind: 1.0}) as server:
        assert raw(server) == b""


def test_a_cut_reply_is_half_a_reply():
    with with_fault(cut=1.0) as server:
        head, _, body = raw(server).partition(b"\r\n\r\n")
    promised = int(re.search(rb"content-length: (\d+)", head)[1])
    assert len(body) == promised // 2


@pytest.mark.parametrize(("kind", "status"), [("error", b" 500 "), ("busy", b" 503 ")])
def test_injected_errors_have_their_status(kind, status):
    with with_fault(**{kind: 1.0}) as server:
        head = raw(server).partition(b"\r\n\r\n")[0]
    assert status in head
    assert (b"retry-after: 1" in head) == (kind == "busy")


def test_garbage_replies_are_not_json():
    with with_fault(garbage=1.0) as server:
        assert raw(server).endswith(b"<p>Maintenance</p>")


def test_a_lagging_server_repeats_an_answered_round():
    task = PracticeTask([ANN, BOB])
    first = task.writings()
    task.submit(0, NOBODY)
    assert task.writings(lagging=True) == first
    assert task.writings() != first


def test_slow_replies_are_complete():
    with with_fault(slow=1.0, delay=0.01) as server:
        assert len(ask(server.url, f"/getwritings/{TOKEN}")[1]) == 2


def test_the_same_seed_gives_the_same_faults():
    def statuses(seed):
        with with_fault(error=0.5, seed=seed) as server:
            return [raw(server)[:12] for _ in range(20)]

    first = statuses(1)
    assert first == statuses(1)
    assert first != statuses(2)


def test_no_thread_is_left_running():
    before = set(threading.enumerate())  # some of them may end meanwhile
    with running_server([ANN], token=TOKEN):
        assert set(threading.enumerate()) - before
    assert not set(threading.enumerate()) - before
