"""MentalRiskES: messages, predictions and emissions, over real sockets."""

import contextlib
import json
import sys
import types
from typing import Any

import pytest

import watchword as ww
from erisk_files import write
from erisk_tasks import QUICK, TOKEN, ask, runs, scripted, subjects, take_part, taught
from faulty_server import Faults, running_faulty_server
from watchword.erisk import read_erisk, read_runs, score_runs
from watchword.erisk.client import run_client
from watchword.erisk.dialects import answers_in, as_messages, predictions_of
from watchword.erisk.practice_task import PracticeTask
from watchword.erisk.protocol import Answer, ServerError
from watchword.erisk.server import running_server
from watchword.erisk.transport import FIELDS, Emissions, TransientError, Transport
from watchword.errors import DataFormatError, StateError


@pytest.fixture(scope="module")
def model():
    return taught()


@pytest.fixture(autouse=True)
def without_codecarbon(monkeypatch):
    monkeypatch.setitem(sys.modules, "codecarbon", None)  # importing it fails


class Tracker:
    """A stand-in for codecarbon's tracker that counts its measurements."""

    def __init__(self, **options):
        self.options = options
        self.measured = 0
        self.is_running = False

    def start(self):
        assert not self.is_running
        self.is_running = True

    def stop(self):
        assert self.is_running
        self.is_running = False
        self.measured += 1

    @property
    def final_emissions_data(self):
        return types.SimpleNamespace(**dict.fromkeys(FIELDS, self.measured), run_id="x")


@pytest.fixture
def codecarbon(monkeypatch):
    module = types.ModuleType("codecarbon")
    module.__dict__["EmissionsTracker"] = Tracker
    monkeypatch.setitem(sys.modules, "codecarbon", module)


def message(nick, number, text="Hola.", **fields):
    return {"id_message": 7, "round": number, "nick": nick, "message": text} | fields


def official(rounds, first=0):
    """Return a script like the organisers' server for one run, and the bodies it received."""
    bodies: list[object] = []

    def answer(method, path, body):
        if method == "POST":
            assert path == f"/task1/submit/{TOKEN}/0"
            bodies.append(json.loads(body))
            return 200, {}, b"Predictions saved"
        assert path == f"/task1/getmessages/{TOKEN}"
        at = len(bodies)
        found = [
            message(nick, at + first, date="2020-01-01 10:00:00") for nick in rounds[at : at + 1]
        ]
        return 200, {}, json.dumps(found).encode()

    return answer, bodies


def test_the_client_sends_what_the_organisers_client_sends(model, tmp_path):
    answer, bodies = official(["ana", "ana"])
    with scripted(answer) as script:
        options = QUICK | {"journal": tmp_path / "j", "dialect": "messages"}
        report = run_client(f"{script.url}/task1", TOKEN, runs(1, model), **options)
    assert report.rounds == 2
    for body in bodies:
        assert isinstance(body, list)
        [text] = body
        sent = json.loads(text)
        assert sorted(sent) == ["emissions", "predictions"]
        assert list(sent["predictions"]) == ["ana"]
        assert sent["predictions"]["ana"] in (0, 1)
        assert sent["emissions"] == {}


def test_rounds_may_begin_with_1(model, tmp_path):
    answer, _ = official(["ana", "ana"], first=1)
    with scripted(answer) as script:
        options = QUICK | {"journal": tmp_path / "j", "dialect": "messages"}
        crew = runs(1, model)
        with pytest.raises(StateError, match=r"rounds begin with another number \(first_round\)"):
            run_client(f"{script.url}/task1", TOKEN, crew, **options)
        report = run_client(f"{script.url}/task1", TOKEN, crew, first_round=1, **options)
    assert report.rounds == 2


@pytest.mark.parametrize("dialect", ["messages", "messages_trial"])
def test_the_client_speaks_messages_with_the_practice_server(model, tmp_path, dialect):
    people, crew = subjects(), runs(3, model)
    with running_server(people, runs=3, positive="at risk", dialect=dialect) as server:
        report = take_part(server, crew, tmp_path / "journal", dialect=dialect)
        results = server.task.results()
    replayed = ww.replay(people, model, crew[0][1])
    assert report.alerts[0] == {one.subject: one.delay for one in replayed.outcomes if one.label}
    assert [one.alerts for one in results.runs] == list(report.alerts)


def test_at_most_three_runs_take_part(model, tmp_path):
    crew = runs(2, model) * 2
    with pytest.raises(ValueError, match="dialect 'messages' has at most 3 runs, got 4"):
        run_client("http://localhost:1", TOKEN, crew, journal=tmp_path / "j", dialect="messages")


# A server that sends each round once, and refuses requests while answers are missing


class LossyTransport(Transport):
    """A transport that loses some requests, or their responses, of a method."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.count = 0

    lost: tuple[str, str, int] = ("POST", "request", 3)

    def _exchange(self, address, body, what):
        method, lost, every = self.lost
        chosen = method == ("GET" if body is None else "POST")
        self.count += chosen
        if not (chosen and self.count % every == 0):
            return super()._exchange(address, body, what)
        if lost == "response":
            super()._exchange(address, body, what)
        raise TransientError(f"{what}: the {lost} was lost")


@pytest.mark.parametrize("lost", ["request", "response"])
def test_a_lost_answer_is_sent_again_when_the_next_round_is_refused(
    model, tmp_path, monkeypatch, lost
):
    monkeypatch.setattr(LossyTransport, "lost", ("POST", lost, 4))
    monkeypatch.setattr("watchword.erisk.client.Transport", LossyTransport)
    people, crew = subjects(), runs(3, model)
    with running_server(people, runs=3, dialect="messages", refuse_early=True) as server:
        report = take_part(server, crew, tmp_path / "journal", dialect="messages")
        results = server.task.results()
    assert results.finished
    assert [each.alerts for each in results.runs] == list(report.alerts)
    replayed = ww.replay(people, model, crew[0][1])
    assert report.alerts[0] == {one.subject: one.delay for one in replayed.outcomes if one.label}


def test_a_client_that_gave_up_sends_what_is_missing_when_it_is_started_again(model, tmp_path):
    people, crew = subjects(), runs(3, model)
    options = {"dialect": "messages", "retries": 0, "first_wait": 0.0}
    faults, stops = Faults(drop=0.1, error=0.1, seed=4), 0
    with running_faulty_server(
        people, faults, runs=3, dialect="messages", refuse_early=True
    ) as server:
        while not server.task.finished:
            with contextlib.suppress(ServerError):
                take_part(server, crew, tmp_path / "journal", **options)
            stops += 1
            assert stops < 100
        report = take_part(server, crew, tmp_path / "journal", dialect="messages")
        results = server.task.results()
    assert stops > 3
    assert [each.alerts for each in results.runs] == list(report.alerts)
    assert {each.rounds for each in results.runs} == {report.rounds}


def test_a_round_that_never_arrives_is_answered_with_the_decisions_so_far(
    model, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(LossyTransport, "lost", ("GET", "response", 4))
    monkeypatch.setattr("watchword.erisk.client.Transport", LossyTransport)
    people, crew = subjects(), runs(2, model)
    options = {"dialect": "messages", "snapshot_every": 1}
    with running_server(people, runs=2, dialect="messages", refuse_early=True) as server:
        report = take_part(server, crew, tmp_path / "journal", **options)
        results = server.task.results()
    assert results.finished
    assert report.rounds == server.task.last_round + 1
    assert "round 3 was sent, but never arrived" in caplog.text


def test_a_first_round_that_never_arrives_is_an_error(model, tmp_path):
    with running_server(subjects(), dialect="messages", refuse_early=True) as server:
        server.task.messages()  # to another client
        with pytest.raises(ServerError, match=r"400 .*1 answers to round 0 are missing"):
            take_part(server, runs(1, model), tmp_path / "journal", dialect="messages")


# Several tasks with the same rounds, as in 2023


def test_one_round_feeds_the_answers_to_several_tasks(model, tmp_path):
    people, crew = subjects(), runs(2, model)
    options: dict[str, Any] = {"dialect": "messages", "refuse_early": True}
    options |= {"tasks": ["task1a", "task1b"], "positive": "at risk"}
    with running_server(people, runs=2, **options) as server:
        urls = [f"{server.url}/task1a", f"{server.url}/task1b/"]
        report = take_part(server, crew, tmp_path / "journal", dialect="messages", submit_urls=urls)
        results = server.task.results()
    assert results.finished
    assert [(each.task, each.run) for each in results.runs] == [
        *(("task1a", run) for run in range(2)),
        *(("task1b", run) for run in range(2)),
    ]
    assert [each.alerts for each in results.runs] == [*report.alerts, *report.alerts]


def test_a_missing_task_can_be_named(model, tmp_path):
    options: dict[str, Any] = {"dialect": "messages", "tasks": ["task1a", "task1b"]}
    with (
        running_server(subjects(), refuse_early=True, **options) as server,
        pytest.raises(ServerError, match=r"404 .*the tasks are task1a or task1b"),
    ):
        take_part(server, runs(1, model), tmp_path / "a", dialect="messages")


@pytest.mark.usefixtures("codecarbon")
def test_emissions_of_each_run_are_sent_if_codecarbon_is_installed(model, tmp_path):
    answer, bodies = official(["ana", "ana"])
    with scripted(answer) as script:
        options = QUICK | {"journal": tmp_path / "j", "dialect": "messages"}
        run_client(f"{script.url}/task1", TOKEN, runs(1, model), **options)
    sent = [json.loads(body[0])["emissions"] for body in bodies if isinstance(body, list)]
    assert [sorted(each) for each in sent] == [sorted(FIELDS)] * 2
    assert [each["duration"] for each in sent] == [1, 2]


@pytest.mark.usefixtures("codecarbon")
def test_a_failing_tracker_does_not_end_the_task(monkeypatch, caplog):
    def fail(_self):
        raise RuntimeError("no sensor")

    monkeypatch.setattr(Tracker, "start", fail)
    tracker = Emissions()
    for _ in range(2):
        with tracker.measuring() as found:
            pass
        assert found == {}
    assert caplog.text.count("no longer measured: codecarbon failed (no sensor)") == 1


def test_missing_codecarbon_is_said_once(caplog):
    tracker = Emissions()
    with tracker.measuring() as found:
        pass
    assert found == {}
    assert "pip install codecarbon" in caplog.text


# Files


def write_task(root, *, gold):
    """Write a task as the organisers give it out: train by subject, test by round."""
    own = [{"id_message": at, "message": f"Hola {at}.", "date": DATES[at]} for at in range(2)]
    for name in ("subject1", "subject2", "subject10"):
        write(root / "train" / "data" / f"{name}.json", json.dumps(own))
    for number, present in (1, ["subject3", "subject4"]), (2, ["subject4"]):
        sent = [message(name, number, f"{name} {number}") for name in present]
        write(root / "test" / "data" / f"round_{number}.json", json.dumps(sent))
    for part, names in ("train", ["subject1", "subject2", "subject10"]), ("test", TESTED):
        for name, labels in gold.items():
            lines = [f"{who},{label}\n" for who, label in zip(names, labels, strict=False)]
            write(root / part / "gold" / name, "Subject,label\n" + "".join(lines))
    return root


DATES = ("2020-12-28 15:47:02+01:00", "2020-12-29 15:47:02+01:00")
TESTED = ["subject3", "subject4"]


def test_files_by_subject_are_read_with_the_binary_gold_beside_them(tmp_path):
    gold = {"gold_a.txt": ("1", "0", "0"), "gold_b.txt": ("0.7", "0.1", "0.4")}
    folder = write_task(tmp_path, gold=gold)
    subjects = read_erisk(folder, which="train")
    assert [(each.id, each.label) for each in subjects] == [
        ("subject1", "positive"),
        ("subject2", "negative"),
        ("subject10", "negative"),
    ]
    assert [post.text for post in subjects[0].posts] == ["Hola 0.", "Hola 1."]
    assert [post.time.isoformat(" ") for post in subjects[0].posts] == list(DATES)


def test_files_by_round_are_read_as_subjects(tmp_path):
    folder = write_task(tmp_path, gold={"gold_task1.txt": ("depression", "none", "anxiety")})
    subjects = read_erisk(folder, which="test")
    assert [(each.id, each.label) for each in subjects] == [
        ("subject3", "depression"),
        ("subject4", "negative"),
    ]
    assert [[post.text for post in each.posts] for each in subjects] == [
        ["subject3 1"],
        ["subject4 1", "subject4 2"],
    ]


def test_two_golds_with_classes_are_refused(tmp_path):
    folder = write_task(tmp_path, gold={"gold_a.txt": "101", "gold_c.txt": "011"})
    with pytest.raises(DataFormatError, match=r"several truth files .* gold_a\.txt, gold_c"):
        read_erisk(folder, which="train")


@pytest.mark.parametrize("dialect", ["writings", "discussions", "messages"])
def test_stored_rounds_of_a_server_are_read(tmp_path, dialect):
    people = subjects(4)
    task = PracticeTask(people, dialect=dialect)
    for number in range(task.last_round + 1):
        task.round = number
        write(tmp_path / f"round{number}.json", json.dumps(task.messages()))
    stored = {each.id: each for each in read_erisk(tmp_path)}
    for each in people:
        assert [post.content for post in stored[each.id].posts] == [p.content for p in each.posts]


def test_a_missing_file_of_a_round_is_an_error(tmp_path):
    for number in (0, 2):
        write(tmp_path / f"round_{number}.json", json.dumps([message("ana", number)]))
    with pytest.raises(DataFormatError, match="the file of round 1 is missing"):
        read_erisk(tmp_path)


# Messages


@pytest.mark.parametrize("end", [[], {}])
def test_an_empty_response_is_the_end(end):
    assert as_messages(end) is None


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([3], "a message must be an object"),
        ([{"nick": "a", "round": 0, "text": "Hola."}], "a message must have the field message"),
        ([{"nick": "a", "message": "Hola."}], "number must be a whole number"),
        ([message("a", 0), message("a", 0)], "several writings of one subject"),
        ("x", "expected a list of messages"),
    ],
)
def test_wrong_rounds_are_errors(data, error):
    with pytest.raises(DataFormatError, match=error):
        as_messages(data)


def test_predictions_survive_any_nick():
    answers = [Answer('a"\\\N{SLIGHTLY SMILING FACE}é', 1, 0.5), Answer("b", 0, 0.1)]
    found = answers_in(json.loads(predictions_of(answers, {"duration": 1.5})))
    assert [(one["nick"], one["decision"]) for one in found] == [
        (each.nick, each.decision) for each in answers
    ]


@pytest.mark.parametrize("body", [[], [3], ["x"], ["x", "y"], ["[]"], ['{"predictions": []}'], {}])
def test_the_practice_server_refuses_wrong_predictions(body):
    with running_server(subjects(2), token=TOKEN, dialect="messages") as server:
        ask(server.url, f"/getmessages/{TOKEN}")
        status, said = ask(server.url, f"/submit/{TOKEN}/0", body)
    assert status == 400
    assert said["error"]


def test_a_log_is_scored_with_the_deadlines_and_the_parameter_of_the_task(tmp_path):
    log = tmp_path / "ours.csv"
    log.write_text("nick,decision,score,round\nana,1,1,2\nana,0,0,0\nbea,0,0,0\n")
    [run] = read_runs(log)
    truth = {"ana": "positive", "bea": "negative"}
    found = score_runs(truth, [run], deadlines=[5, 30], latency_p=0.0411).runs[0]
    assert [name for name in found.measures if name.startswith("erde")] == ["erde5", "erde30"]
    assert found.measures["latency"] == 3
