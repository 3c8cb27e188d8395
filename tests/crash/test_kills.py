"""Commands killed at any time: nothing is lost, repeated or left behind.

`make kill KILLS=200` kills every command that often; the suite does it a few times.
"""

import contextlib
import json
import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

import watchword as ww
from erisk_tasks import HastyTask, accepted
from killing import KILLS, killable
from watchword.erisk.practice_task import PracticeTask
from watchword.erisk.server import make_app
from watchword.web.listening import listening, running_in_thread, url_of

TOKEN = "a-token-of-some-length"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    with killable("command_killable.py", tmp_path_factory.mktemp("errors")) as program:
        yield program


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Write the input of the commands."""
    folder = tmp_path_factory.mktemp("data")
    people, others = (ww.make_risk_streams(40, seed=seed) for seed in (1, 2))
    ww.write_jsonl(folder / "people.jsonl", people)
    ww.write_jsonl(folder / "others.jsonl", others)
    model = ww.TauSS3()
    ww.teach(model, people)
    model.save(folder / "model.ww")
    shutil.copy(Path(__file__).parents[1] / "data" / "old.ss3m", folder)
    posts = [
        {"subject": one.id, "text": post.text, "time": str(post.time)}
        for one in others
        for post in one.posts
    ]
    posts.sort(key=lambda one: one["time"])
    parts = 12
    for part in range(parts):
        lines = [json.dumps(one) + "\n" for one in posts[part::parts]]
        (folder / f"posts{part:02}.jsonl").write_text("".join(lines), encoding="utf-8")
    ww.erisk.make_collection(folder / "collection", "2018-anorexia", subjects=24, most_writings=12)
    return folder


def records_in(output):
    """Return the records of an output, without those cut off by a kill."""
    records = []
    for line in output.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(ValueError):
            records.append(json.loads(line))
    return records


class Case:
    """A command that writes to a folder, and the checks of the folder."""

    keeps: tuple[str, ...] = ()  # files that stay: states, locks, journals
    arguments: Sequence[Any]

    def __init__(self, data):
        self.data = data

    def prepare(self, folder):
        """Prepare the folder for a new run."""

    def check_killed(self, folder):
        """Check the folder after a kill."""

    def result(self, folder, _output):
        """Return the result of a finished command, to compare with one that was not killed."""
        return self.files(folder)

    def files(self, folder):
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name not in self.keeps
        }


class Train(Case):
    """Train a model in place: no text may be learnt twice."""

    def __init__(self, data):
        super().__init__(data)
        before = ww.TauSS3.load(data / "model.ww")
        after = ww.TauSS3.load(data / "model.ww")
        ww.teach(after, ww.read_subjects(data / "others.jsonl"))
        self.before, self.after = before.fingerprint, after.fingerprint
        self.arguments = ["train", data / "others.jsonl", "--add-to", "m.ww", "-o", "m.ww"]

    def prepare(self, folder):
        shutil.copy(self.data / "model.ww", folder / "m.ww")

    def check_killed(self, folder):
        found = ww.TauSS3.load(folder / "m.ww").fingerprint
        assert found in (self.before, self.after)
        if found == self.after:  # written, then killed: taught again, it would know all twice
            self.prepare(folder)


class Watch(Case):
    """Read posts and save a state; alerts are appended to the output."""

    keeps = ("state", "state.lock")

    def __init__(self, data):
        super().__init__(data)
        posts = sorted(data.glob("posts*.jsonl"))
        self.arguments = ["watch", data / "model.ww", *posts, "--positive", "at risk"]
        self.arguments += ["--state", "state", "--save-every", "0", "--from-start", "--final"]
        self.arguments += ["--policy", "overtakes(margin=0.05)"]

    def result(self, folder, output):
        lines = records_in(output)
        alerts = {json.dumps(one) for one in lines if one["event"] == "alert"}
        final = {json.dumps(one) for one in lines if one["event"] == "final"}
        return self.files(folder), alerts, final, (folder / "state").read_bytes()


class Search(Case):
    keeps = ("kept",)

    def __init__(self, data):
        super().__init__(data)
        self.arguments = ["search", data / "people.jsonl", "--try", "smoothness=0.1..0.9"]
        self.arguments += ["--trials", 12, "--folds", 2, "--keep", "kept", "--json", "found.json"]
        self.arguments += ["-o", "best.ww", "--csv", "found.csv"]


class Client(Case):
    """Answer a server that takes a duplicate for the answer of the next round."""

    keeps = ("journal",)

    def __init__(self, data, app, url):
        super().__init__(data)
        self._app, self._url, self._tasks = app, url, 0
        some = ww.read_subjects(data / "others.jsonl")[:12]
        self._people = [replace(one, posts=one.posts[-6:]) for one in some]

    def prepare(self, _folder):
        self._tasks += 1
        # The first is for the command that is not killed.
        kind = PracticeTask if self._tasks == 1 else HastyTask
        self.task = kind(self._people, runs=2)
        self._app.mount(f"/{self._tasks}", make_app(self.task, token=TOKEN))
        self.arguments = ["erisk", "client", f"{self._url}/{self._tasks}", TOKEN]
        self.arguments += ["--model", self.data / "model.ww", "--positive", "at risk"]
        self.arguments += ["--policy", "overtakes(margin=0|0.05)", "--journal", "journal"]

    def result(self, folder, output):
        lines = records_in(output)
        alerts = {json.dumps(one) for one in lines if one["event"] == "alert"}
        return self.files(folder), alerts, accepted(self.task)


def simple(*arguments):
    """Return a command that writes files and keeps no state; `@` is the folder of data."""

    def made(data):
        case = Case(data)
        case.arguments = [one.replace("@", str(data)) for one in arguments]
        return case

    return made


class EriskMake(Case):
    """Make a collection in a folder that must not exist."""

    arguments: tuple[str, ...] = ("erisk", "make", "made", "--task", "2018-anorexia")
    arguments += ("--subjects", "12", "--most-writings", "12")
    whole = None

    def check_killed(self, folder):
        if (folder / "made").exists():
            assert self.files(folder / "made") == self.whole
            shutil.rmtree(folder / "made")

    def result(self, folder, _output):
        self.whole = self.whole or self.files(folder / "made")
        return self.files(folder)


CASES = {
    "make": simple("make", "made.jsonl", "--subjects", "40"),
    "train": Train,
    "convert": simple("convert", "@/old.ss3m", "new.ww"),
    "watch": Watch,
    "search": Search,
    "tune": simple(
        *("tune", "@/people.jsonl", "--positive", "at risk", "--policy", "overtakes(margin=0|0.1)"),
        *("--folds", "2", "-o", "best.ww", "--json", "report.json"),
    ),
    "report": simple(
        *("report", "@/model.ww", "@/others.jsonl", "--positive", "at risk", "-o", "page.html"),
        *("--stories", "5"),
    ),
    "erisk make": EriskMake,
    "erisk run": simple(
        *("erisk", "run", "2018-anorexia", "--data", "@/collection", "--output", "out"),
        *("--json", "result.json"),
    ),
    "erisk client": Client,
}


@pytest.mark.parametrize("verb", CASES)
def test_a_killed_command_loses_and_repeats_nothing_and_leaves_no_files(
    verb, commands, data, tmp_path
):
    chance = random.Random(f"kill {verb}")
    app = Starlette()
    with listening("127.0.0.1", 0) as listener, running_in_thread(app, listener):
        case = CASES[verb](data, app, url_of(listener)) if verb == "erisk client" else None
        case = case or CASES[verb](data)
        folder, output = tmp_path / "work", tmp_path / "output"

        def begin():
            shutil.rmtree(folder, ignore_errors=True)
            output.unlink(missing_ok=True)
            folder.mkdir()
            case.prepare(folder)

        def run(**kill):
            return commands.run(folder, case.arguments, output=output, **kill)

        begin()
        undisturbed = run()
        expected = case.result(folder, output)
        left = sorted(path.name for path in folder.iterdir())
        begin()
        kills = 0
        while kills < KILLS:
            told = commands.run_for_a_while(
                chance, undisturbed, folder, case.arguments, output=output
            )
            if told["code"]:
                kills += 1
                case.check_killed(folder)
            if not told["code"] or kills == KILLS:
                if told["code"]:
                    assert run()["code"] == 0
                assert case.result(folder, output) == expected
                assert sorted(path.name for path in folder.iterdir()) == left
                begin()
