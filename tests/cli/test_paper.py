"""erisk paper, and tune --paper."""

import json

import pytest

import watchword as ww
from command_line import call, failure, records, run_on_terminal
from watchword.data import write_jsonl
from watchword.erisk import make_collection
from watchword.erisk.paper.study import WARNING
from watchword.model.presets import PAPER_GRID, PAPER_TASKS

SMALL = ("--task", "2018-anorexia", "--lengths", "1,3", "--no-search", "--repeats", 50)
FEW = ("--subjects", 40, "--most-writings", 20)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_data_output_and_files_say_that_collections_are_synthetic(here):
    done = call("erisk", "paper", *SMALL, *FEW)
    assert done.exit_code == 0, done.output
    assert WARNING in done.stdout
    assert WARNING in done.stderr
    assert WARNING in (here / "paper" / "report.md").read_text(encoding="utf-8")
    assert (here / "paper" / "synthetic.txt").exists()


def test_results_are_printed_beside_published_ones():
    shown = call("erisk", "paper", *SMALL, *FEW).stdout
    rows = [line.split() for line in shown.splitlines()]
    assert ["FHDO-BCSGD", "published", "12.15", "5.96", "–", "–", "–"] in rows
    assert {row[0] for row in rows if row[1:2] == ["synthetic"]} == {"SS3", "τ-SS3"}
    assert "τ-SS3 minus SS3, paired:" in shown


def test_results_can_be_printed_as_records():
    make_collection("made", "2018-anorexia", subjects=40, most_writings=20)
    study, end = records("erisk", "paper", *SMALL, "--data", "made", "--record")
    assert study["task"] == "2018-anorexia"
    assert study["warning"] == WARNING  # also if the folder given is synthetic
    assert list(study["lengths"]) == ["1", "3"]
    assert end == {"report": "paper/report.md"}


def test_figures_need_no_data(here):
    [told] = records("erisk", "paper", "--figures", "-o", "drawn")
    assert sorted(path.name for path in (here / "drawn").iterdir()) == [
        f"figure-{number}.svg" for number in range(1, 5)
    ]
    assert len(told["files"]) == 4


def test_a_terminal_shows_progress():
    arguments = ("erisk", "paper", *SMALL, *FEW, "-o", "shown")
    code, shown = run_on_terminal(*arguments)
    assert code == 0
    assert "2018-anorexia: learning" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--data", "nowhere"], 1, "nowhere"),
        (["--data", "nowhere", "--subjects", "40"], 2, "--subjects is for synthetic collections"),
        (["--lengths", "11"], 2, "11 is more than 10"),
        (["--lengths", "0"], 2, "'0' is not like"),
        (["--task", "2019-anorexia"], 2, "2019-anorexia"),
        ([*SMALL, *FEW, "--subject", "nobody"], 1, "subject 'nobody' is not in the test set"),
        (["--task", "2018-anorexia", *FEW], 1, "4 folds need at least 4 subjects"),
    ],
)
def test_errors_are_named(arguments, code, message):
    assert message in failure("erisk", "paper", *arguments, "-o", "new", code=code)


def test_a_folder_with_files_is_refused(here):
    (here / "paper").mkdir()
    (here / "paper" / "mine.txt").write_text("mine")
    assert "choose a new folder" in failure("erisk", "paper", *SMALL)


# tune --paper


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
