"""tune --paper: the search of the paper."""

import json

import pytest

import watchword as ww
from command_line import call, failure
from watchword.data import write_jsonl
from watchword.model.parameters import PAPER_GRID, PAPER_TASKS


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def people():
    people = ww.make_risk_streams(16, seed=3, prevalence=0.5, posts_per_subject=(10, 12))
    write_jsonl("people.jsonl", people)
    return people


def tuned(*arguments):
    """Return the settings that `tune --paper` prints; it may warn about the best one."""
    done = call("tune", "people.jsonl", "--positive", "at risk", "--paper", *arguments)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_tune_searches_as_the_paper_did(people):
    found = tuned("--top", 500)
    assert len(found) == 9 * 4 * 4
    assert {one["policy"] for one in found} == {"overtakes"}
    assert {one["refined"] for one in found} == {False}
    own = ww.tune(
        people,
        ww.Overtakes("at risk"),
        parameters=PAPER_GRID,
        model=ww.TauSS3(**PAPER_TASKS),
        by="chunk",
        refine=False,
    )
    assert found[0]["erde50"] == own.best.value
    assert found[0]["parameters"] == own.best.parameters


def test_options_take_precedence_over_those_of_the_paper(people):
    given = ("--smoothness", ".455", "--significance", "1", "--sanction", "1", "--by", "post")
    policy = ("--policy", "overtakes(margin=0|0.5)")
    found = tuned(*given, *policy)
    own = ww.tune(
        people,
        [ww.Overtakes("at risk", margin=margin) for margin in (0, 0.5)],
        model=ww.TauSS3(**PAPER_TASKS),
        refine=False,
    )
    assert [one["erde50"] for one in found] == [trial.value for trial in own.trials]


def test_the_search_of_the_paper_needs_texts(here):
    (here / "scores.jsonl").write_text("")
    told = failure("tune", "--scores", "scores.jsonl", "--positive", "a", "--paper", code=2)
    assert "--scores and --paper cannot be used together" in told
