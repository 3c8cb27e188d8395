"""Clients killed at any point, with faulty servers: every round is answered once."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.applications import Starlette

import databases
from erisk_tasks import TOKEN, HastyTask, accepted, dropping, runs, subjects, take_part
from faulty_server import Faults, running_faulty_server
from watchword.erisk import journal as journals
from watchword.erisk.practice_task import PracticeTask
from watchword.erisk.server import make_app
from watchword.web.listening import listening, running_in_thread, url_of

POINTS = 95  # moments at which the client could die in this task: see the test that counts them
PEOPLE = subjects(6, posts=(2, 3))
MORE_PEOPLE = subjects(12, posts=(3, 6))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
]


class Killable:
    """The program that kills clients, and a server with as many tasks as needed."""

    def __init__(self, program, app, url):
        self._program = program
        self._app = app
        self._url = url
        self._tasks = 0

    def begin(self, task):
        """Start a task and return its URL."""
        self._tasks += 1
        self._app.mount(f"/{self._tasks}", make_app(task, token=TOKEN))
        return f"{self._url}/{self._tasks}"

    def run(self, url, journal, last=0, *, runs=2):
        """Run a client that is killed at some point, or never."""
        order = {"url": url, "token": TOKEN, "journal": str(journal), "last": last, "runs": runs}
        self._program.stdin.write(json.dumps(order) + "\n")
        self._program.stdin.flush()
        return json.loads(self._program.stdout.readline())


@pytest.fixture(scope="module")
def killable():
    command = [
        sys.executable,
        "-W",
        "ignore",
        str(Path(__file__).parents[1] / "support" / "erisk_killable.py"),
    ]
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    app = Starlette()
    program = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | one_thread,
    )
    with program, listening("127.0.0.1", 0) as listener, running_in_thread(app, listener):
        yield Killable(program, app, url_of(listener))
        program.stdin.close()


@pytest.fixture(scope="module")
def undisturbed(killable, tmp_path_factory):
    """Return the end, the accepted answers and the reports of a client that is not killed."""
    task = PracticeTask(PEOPLE, runs=2)
    journal = tmp_path_factory.mktemp("undisturbed") / "journal"
    ended = killable.run(killable.begin(task), journal)
    assert (ended["code"], task.finished, len(task.submissions)) == (0, True, 6)
    return ended, accepted(task), told(journal)


def test_all_points_are_tried(undisturbed):
    assert undisturbed[0]["points"] == POINTS


@pytest.mark.parametrize("point", range(1, POINTS + 1))
def test_killed_anywhere_every_round_is_answered_once(killable, undisturbed, tmp_path, point):
    task, journal = HastyTask(PEOPLE, runs=2), tmp_path / "journal"
    url = killable.begin(task)
    assert killable.run(url, journal, point)["killed"]
    known = acknowledged(journal)
    ended = killable.run(url, journal)
    assert ended["code"] == 0
    assert ended["alerts"] == undisturbed[0]["alerts"]
    assert accepted(task) == undisturbed[1]
    again = {(each.round, each.run) for each in task.submissions if each.repeated}
    assert len(again) <= 1
    assert all(run == 0 for _, run in again)  # never the last, after which the server goes on
    assert not known & again


@pytest.mark.parametrize("point", range(1, POINTS + 1, 2))
def test_killed_anywhere_a_server_that_refuses_duplicates_gets_every_answer(
    killable, undisturbed, tmp_path, point
):
    task = HastyTask(PEOPLE, runs=2, refuse_duplicates=True)
    url, journal = killable.begin(task), tmp_path / "journal"
    assert killable.run(url, journal, point)["killed"]
    ended = killable.run(url, journal)
    assert (ended["code"], ended["alerts"]) == (0, undisturbed[0]["alerts"])
    assert accepted(task) == undisturbed[1]


# A life must be long enough to send all runs again: with at most 15 points there is no progress.
@pytest.mark.parametrize("life", [17, 23, 29])
@pytest.mark.parametrize("position", range(3))
def test_killed_again_and_again_behind_a_proxy_that_drops_replies(
    killable, tmp_path, position, life
):
    calm = PracticeTask(MORE_PEOPLE, runs=3)
    expected = killable.run(killable.begin(calm), tmp_path / "calm", runs=3)
    task = HastyTask(MORE_PEOPLE, runs=3, refuse_duplicates=True)
    url = killable.begin(task)
    replies = itertools.count()

    def drops(_method, path):
        """Drop every other reply to one of the runs."""
        return path.endswith(f"/{position}") and next(replies) % 2 == 0

    with dropping(url, drops) as proxy:
        lives = [killable.run(proxy.url, tmp_path / "journal", life, runs=3)]
        while lives[-1]["killed"]:
            assert len(lives) < 80
            lives.append(killable.run(proxy.url, tmp_path / "journal", life, runs=3))
    assert len(lives) > 2
    assert lives[-1]["alerts"] == expected["alerts"]
    assert accepted(task) == accepted(calm)


@pytest.mark.parametrize("point", range(2, POINTS + 1, 3))
def test_killed_anywhere_every_round_is_reported_at_least_once(
    killable, undisturbed, tmp_path, point
):
    journal = tmp_path / "journal"
    url = killable.begin(HastyTask(PEOPLE, runs=2))
    assert killable.run(url, journal, point)["killed"]
    assert killable.run(url, journal)["code"] == 0
    reports = told(journal)
    again = [number for number, report in enumerate(reports[1:]) if report == reports[number]]
    assert len(again) <= 1
    for number in again:
        del reports[number]
    assert reports == undisturbed[2]
    assert [number for number, _ in reports] == [0, 1, 2]


def told(journal):
    """Return the reports of a client over all its restarts."""
    lines = journal.with_name(journal.name + ".told").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def acknowledged(journal):
    """Return the (round, run) of acknowledged answers in a journal; all go to one URL."""
    if not databases.rows(journal, "SELECT 1 FROM sqlite_master WHERE name = 'sendings'"):
        return set()
    query = "SELECT round, destination FROM sendings WHERE acknowledged"
    return set(databases.rows(journal, query))


@pytest.mark.parametrize("life", [8, 11, 29])
def test_killed_again_and_again_every_round_is_answered_once(killable, tmp_path, life):
    calm = PracticeTask(MORE_PEOPLE, runs=3)
    expected = killable.run(killable.begin(calm), tmp_path / "calm", runs=3)
    task = HastyTask(MORE_PEOPLE, runs=3)
    url = killable.begin(task)
    lives = [killable.run(url, tmp_path / "journal", life, runs=3)]
    while lives[-1]["killed"]:
        assert len(lives) < 50
        lives.append(killable.run(url, tmp_path / "journal", life, runs=3))
    assert len(lives) > 2
    assert all(expected["alerts"])
    assert lives[-1]["alerts"] == expected["alerts"]
    assert accepted(task) == accepted(calm)


@pytest.fixture(scope="module")
def crew():
    return runs(2)


@pytest.mark.parametrize("refuse_duplicates", [False, True])
@pytest.mark.parametrize("task", [PracticeTask, HastyTask])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["drop", "lose", "cut", "error", "garbage", "lag", "everything"])
def test_whatever_the_server_does_every_round_is_answered_once(
    undisturbed, crew, tmp_path, monkeypatch, kind, seed, task, refuse_duplicates
):
    monkeypatch.setattr(journals, "_HASHINGS", 10)
    every = ["drop", "lose", "cut", "error", "garbage", "lag"]
    chances = dict.fromkeys(every, 0.08) if kind == "everything" else {kind: 0.4}
    played = task(PEOPLE, runs=2, refuse_duplicates=refuse_duplicates)
    faults = Faults(**chances, seed=seed)
    with running_faulty_server(played, faults, token=TOKEN) as server:
        report = take_part(server, crew, tmp_path / "journal", retries=50, repeats=30)
    assert played.finished
    assert accepted(played) == undisturbed[1]
    assert list(report.alerts) == undisturbed[0]["alerts"]
