"""Commands with another classifier: its scores in a file, or a function named module:function."""

import json
import sys

import pytest

import watchword as ww
from command_line import call, failure, records, run, write_lines
from watchword.data import write_jsonl
from watchword.erisk.server import running_server
from watchword.evaluation import Scores, read_scores
from watchword.streams import FunctionModel

PEOPLE = ww.make_risk_streams(24, seed=3, prevalence=0.25, posts_per_subject=(4, 8))

MODULE = """
def sleepless(texts):
    return [min(1, 0.2 + 0.4 * text.lower().count("sleep")) for text in texts]

def failing(texts):
    raise RuntimeError("out of memory")

def one_too_many(texts):
    return [0.5] * (len(texts) + 1)
"""


def sleepless(texts):
    return [min(1, 0.2 + 0.4 * text.lower().count("sleep")) for text in texts]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own_scores", raising=False)
    (tmp_path / "own_scores.py").write_text(MODULE)
    write_jsonl("people.jsonl", PEOPLE)
    rows = [
        {"subject": one.id, "seq": at, "score": score, "label": one.label}
        for one in PEOPLE
        for at, score in enumerate(sleepless([post.content for post in one.posts]), 1)
    ]
    write_lines(tmp_path / "scores.jsonl", rows[::-1])
    return tmp_path


RISK = ("--positive", "at risk")
REACHES = ("--policy", "reaches(threshold=0.5)")


# evaluate --scores


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("combine", ["last", "mean", "ema", "sum", "max"])
def test_evaluate_scores_equals_python(combine):
    [told] = records("evaluate", "--scores", "scores.jsonl", *RISK, *REACHES, "--combine", combine)
    scores = read_scores("scores.jsonl", positive="at risk", combine=combine)
    found = ww.replay_scores(scores, ww.Reaches("at risk", threshold=0.5))
    assert found.measures is not None
    assert told["erde50"] == found.measures.erde50
    assert told["f1"] == found.measures.f1
    assert told["policy"] == "reaches"


@pytest.mark.usefixtures("here")
def test_scores_and_function_give_the_same_measures():
    [by_file] = records("evaluate", "--scores", "scores.jsonl", *RISK, *REACHES)
    [by_function] = records("evaluate", "own_scores:sleepless", "people.jsonl", *RISK, *REACHES)
    assert by_file == by_function


def test_evaluate_scores_has_all_outputs_of_evaluate(here):
    common = ("evaluate", "--scores", "scores.jsonl", *RISK, *REACHES)
    [told] = records(*common, "--intervals", "--deadlines", "5,30", "--json", "a.json")
    assert {"erde30", "erde30_bounds"} <= told.keys()
    assert told["intervals"].keys() == {"erde5", "erde30", "f1", "f_latency"}
    assert len(json.loads((here / "a.json").read_text())["subjects"]) == 24
    [by_chunk] = records(*common, "--by", "chunk", "--combine", "ema", "--ema-weight", "0.5")
    assert by_chunk["by"] == "chunk"
    assert "average precision" in call(*common, "--table").stdout
    assert call(*common, "--csv", "-").stdout.startswith("subject,truth,label,delay")


def test_labels_of_scores_may_be_numbers_or_missing(here):
    write_lines(
        here / "numbers.jsonl",
        [
            {"subject": "a", "seq": 1, "score": 0.9, "label": 1},
            {"subject": "b", "seq": 1, "score": 0},
        ],
    )
    [told] = records("evaluate", "--scores", "numbers.jsonl", "--positive", "1", *REACHES)
    assert (told["positive"], told["alerts"]) == (1, 1)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--scores", "scores.jsonl"], 2, "--scores requires --positive LABEL"),
        (
            ["m.ww", "people.jsonl", "--scores", "scores.jsonl", *RISK],
            2,
            "--scores and MODEL cannot",
        ),
        (["--scores", "scores.jsonl", *RISK, "--threads", "2"], 2, "--scores and --threads cannot"),
        (
            ["--scores", "scores.jsonl", *RISK, "--ema-weight", "0.5"],
            2,
            "--ema-weight requires --combine ema",
        ),
        (["--scores", "scores.jsonl", "--positive", "ill"], 1, "unknown label 'ill'; scores.jsonl"),
        (["--scores", "no.jsonl", *RISK], 1, "no.jsonl: No such file"),
        (["--scores", "people.jsonl", *RISK], 1, 'people.jsonl, line 1: "seq" is missing'),
        (["own_scores:sleepless", "people.jsonl"], 2, "--positive LABEL is required"),
        (["own_scores:sleepless"], 2, "Missing argument 'DATA'"),
        ([], 2, "Missing argument 'MODEL'"),
    ],
)
def test_mistakes_in_options_are_explained(arguments, code, message):
    assert message in failure("evaluate", *arguments, code=code)


# tune --scores


@pytest.mark.usefixtures("here")
def test_tune_scores_equals_python():
    combine = ("--combine", "ema", "--ema-weight", "0.5")
    common = (*combine, "--deadlines", "5,30", "--latency-p", "median")
    done = call("tune", "--scores", "scores.jsonl", *RISK, *common, "--top", "1")
    told = json.loads(done.stdout)
    scores = read_scores("scores.jsonl", positive="at risk", combine="ema", ema_weight=0.5)
    found = ww.tune(scores, ww.Thresholds("at risk"), deadlines=(5, 30), latency_p="median")
    assert told["measures"] == found.best.measures
    assert {"erde5", "erde30", "erde50"} <= told["measures"].keys()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["people.jsonl", "--scores", "scores.jsonl"], "--scores and DATA cannot be"),
        (["--scores", "scores.jsonl", "--max-ngram", "1,3"], "--scores and --max-ngram cannot"),
        (["--scores", "scores.jsonl", "-o", "model.ww"], "--scores and --output cannot"),
        (["--scores", "scores.jsonl", "--no-refine"], "--scores and --refine cannot"),
        (
            ["--scores", "scores.jsonl", "--ema-weight", "0.5"],
            "--ema-weight requires --combine ema",
        ),
        (["--scores", "scores.jsonl", "--combine", "ema", "--ema-weight", "2"], "in the range"),
        (["--scores", "scores.jsonl", "--combine", "ema", "--alpha", "0.5"], "and --alpha cannot"),
        (["people.jsonl", "--combine", "max"], "--combine requires --scores"),
        ([], "Missing argument 'DATA'"),
    ],
)
def test_mistakes_in_options_of_tune_are_explained(arguments, message):
    assert message in failure("tune", *RISK, *arguments, code=2)


@pytest.mark.usefixtures("here")
def test_policies_that_scores_do_not_determine_are_refused():
    policy = ("--policy", "reaches(score=softmax)")
    told = failure("evaluate", "--scores", "scores.jsonl", *RISK, *policy)
    assert "needs sums" in told
    assert records("evaluate", "--scores", "scores.jsonl", *RISK, *policy, "--combine", "sum")


# module:function


def test_watch_with_a_function_keeps_its_state(here):
    common = ("watch", "own_scores:sleepless", *RISK, *REACHES, "--combine", "max")
    lines = [
        json.dumps({"subject": one.id, "text": post.content})
        for one in PEOPLE
        for post in one.posts
    ]
    half = len(lines) // 2
    write_lines(here / "first.jsonl", map(json.loads, lines[:half]))
    write_lines(here / "second.jsonl", map(json.loads, lines[half:]))
    told = records(*common, "first.jsonl", "--state", "a.state")
    told += records(*common, "second.jsonl", "--state", "a.state")
    watcher = FunctionModel(sleepless, "at risk", combine="max").watcher(
        ww.Reaches("at risk", threshold=0.5)
    )
    alerts = watcher.read_many(
        [one.id for one in PEOPLE for _ in one.posts],
        [post.content for one in PEOPLE for post in one.posts],
    )
    assert [(one["subject"], one["delay"]) for one in told] == [
        (one.subject, one.delay) for one in alerts
    ]
    other = ("watch", "own_scores:sleepless", *RISK, *REACHES, "--combine", "last")
    assert "saved with another model" in failure(*other, "first.jsonl", "--state", "a.state")


def test_functions_are_found_in_the_current_folder(here):
    assert (here / "own_scores.py").exists()
    done = run("watch", "own_scores:sleepless", "people.jsonl", *RISK, *REACHES)
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("nowhere:sleepless", "there is no module 'nowhere'"),
        ("own_scores:other", "'own_scores' has no function 'other' (its functions: sleepless, "),
        ("own_scores:failing", "own_scores:failing raised RuntimeError: out of memory"),
        ("own_scores:one_too_many", "own_scores:one_too_many returned"),
        ("nowhere.ww", "nowhere.ww: No such file"),
    ],
)
def test_functions_that_cannot_be_used_are_explained(model, message):
    assert message in failure("watch", model, "people.jsonl", *RISK, *REACHES)


@pytest.mark.usefixtures("here")
def test_combinations_are_for_other_classifiers():
    records("train", "people.jsonl", "-o", "model.ww")
    told = failure("watch", "model.ww", "people.jsonl", *RISK, "--combine", "max", code=2)
    assert "--combine is for scores of other classifiers" in told


@pytest.mark.usefixtures("here")
def test_the_erisk_client_takes_part_with_a_function():
    records("train", "people.jsonl", "-o", "model.ww")
    with running_server(PEOPLE, positive="at risk", runs=2) as server:
        *alerts, end = records(
            "erisk", "client", server.url, server.token, *RISK, *REACHES, "--timeout", "20",
            "--model", "own_scores:sleepless", "--model", "model.ww", "--combine", "ema",
        )  # fmt: skip
    assert end["rounds"] == max(len(one.posts) for one in PEOPLE)
    scores = Scores.from_posts(
        [one.id for one in PEOPLE],
        [one.label for one in PEOPLE],
        [sleepless([post.content for post in one.posts]) for one in PEOPLE],
        positive="at risk",
        combine="ema",
    )
    replayed = ww.replay_scores(scores, ww.Reaches("at risk", threshold=0.5))
    expected = {one.subject: one.delay for one in replayed.outcomes if one.label is not None}
    assert {one["subject"]: one["delay"] for one in alerts if one["run"] == 0} == expected
