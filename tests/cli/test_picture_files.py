"""Pictures on the command line: charts of evaluate and tune in files."""

import sys

import pytest

import watchword as ww
from command_line import call, failure, records
from watchword.data import write_jsonl
from watchword.evaluation.replay_charts import ReplayChart, TuningChart

RISK = ("--positive", "at risk")
PEOPLE = ww.make_risk_streams(60, seed=3)
HELD_OUT = PEOPLE[40:]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = ww.TauSS3()
    ww.teach(model, PEOPLE[:40])
    model.save("model.ww")
    write_jsonl("known.jsonl", PEOPLE[:40])
    write_jsonl("new.jsonl", HELD_OUT)
    return tmp_path


def test_evaluate_draws_every_chart_as_python_does(here):
    kinds: tuple[ReplayChart, ...] = ("thresholds", "frontier", "delays", "subjects")
    drawn = [part for kind in kinds for part in ("--picture", f"{kind}={kind}.svg")]
    records("evaluate", "model.ww", "new.jsonl", *RISK, "--deadlines", "5,30", *drawn)
    model = ww.TauSS3.load("model.ww")
    found = ww.replay(HELD_OUT, model, ww.Overtakes("at risk"), deadlines=(5, 30))
    for kind in kinds:
        assert (here / f"{kind}.svg").read_text() == found.chart(kind).svg()


def test_tune_draws_every_chart_as_python_does(here):
    kinds: tuple[TuningChart, ...] = ("policies", "frontier", "thresholds", "delays")
    drawn = [part for kind in kinds for part in ("--picture", f"{kind}={kind}.svg")]
    policy = ("--policy", "overtakes(margin=0|0.05|0.5)", "--policy", "repeats")
    done = call("tune", "known.jsonl", *RISK, *policy, "--no-refine", *drawn)
    assert done.exit_code == 0, done.output
    policies = [*ww.grid(ww.Overtakes, "at risk", margin=[0, 0.05, 0.5]), ww.Repeats("at risk")]
    found = ww.tune(PEOPLE[:40], policies, refine=False)
    for kind in kinds:
        assert (here / f"{kind}.svg").read_text() == found.chart(kind).svg()


def test_pictures_are_drawn_with_matplotlib_by_the_name_of_the_file(here):
    pytest.importorskip("matplotlib")
    drawn = ("--picture", "delays=delays.png", "--picture", "delays=DELAYS.PDF")
    records("evaluate", "model.ww", "new.jsonl", *RISK, *drawn)
    assert (here / "delays.png").read_bytes().startswith(b"\x89PNG")
    assert (here / "DELAYS.PDF").read_bytes().startswith(b"%PDF")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            [*RISK, "--picture", "delay=a.svg"],
            2,
            "known are thresholds, frontier, delays, subjects",
        ),
        ([*RISK, "--picture", "a.svg"], 2, "not like thresholds=picture.svg"),
        ([*RISK, "--picture", "delays=a.gif"], 2, "must end with .svg, .png or .pdf"),
        ([*RISK, "--picture", "delays=none/a.svg"], 2, "folder 'none' does not exist"),
        (["--posts", "--picture", "delays=a.svg"], 2, "--picture requires --positive LABEL"),
        (
            [*RISK, "--policy", "repeats", "--picture", "thresholds=a.svg"],
            1,
            "repeats has no threshold",
        ),
    ],
)
def test_mistakes_in_pictures_are_explained(arguments, code, message):
    assert message in failure("evaluate", "model.ww", "new.jsonl", *arguments, code=code)


def test_a_picture_that_cannot_be_drawn_leaves_the_other_results(here):
    drawn = ("--picture", "thresholds=a.svg", "--no-refine", "-o", "best.ww")
    done = call("tune", "known.jsonl", *RISK, "--policy", "repeats", *drawn)
    assert done.exit_code == 1
    assert "repeats has no threshold" in done.stderr
    assert '"policy": "repeats"' in done.stdout
    assert (here / "best.ww").exists()


@pytest.mark.usefixtures("here")
def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    told = failure("evaluate", "model.ww", "new.jsonl", *RISK, "--picture", "delays=a.png")
    assert "pip install 'watchword[plot]'" in told
