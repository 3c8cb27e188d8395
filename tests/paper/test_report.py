"""The files of the paper's experiments: tables, pages and the report."""

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest

import watchword as ww
from hostile import HOSTILE_TEXT
from paper.report import PaperFolder, markdown_report, story_pair_page
from paper.study import WARNING, StoryPair, StudySettings, study_tasks
from story_pages import Page
from watchword.erisk import make_collection, score_runs

TASK: Any = "2018-anorexia"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("report") / "made"
    make_collection(root, TASK, subjects=160, most_writings=100)
    return root


@pytest.fixture(scope="module")
def study(made):
    grid = {"smoothness": [0.455], "significance": [1.0, 2.0], "sanction": [1.0]}
    settings = StudySettings(lengths=[1, 3], grid=grid, repeats=50)
    [found] = study_tasks(made, [TASK], settings=settings)
    return found


@pytest.fixture
def written(study, tmp_path):
    folder = PaperFolder(tmp_path / "paper")
    folder.add(study)
    folder.draw_figures()
    folder.finish()
    return folder.path


def test_all_files_are_there(written):
    assert sorted(path.name for path in written.iterdir()) == [
        "2018-anorexia-differences.csv",
        "2018-anorexia-differences.tex",
        "2018-anorexia-search.csv",
        "2018-anorexia-search.tex",
        "2018-anorexia-story.html",
        "2018-anorexia-trials.csv",
        "2018-anorexia.csv",
        "2018-anorexia.json",
        "2018-anorexia.tex",
        "figure-1.svg",
        "figure-2.svg",
        "figure-3.svg",
        "figure-4.svg",
        "lengths.csv",
        "lengths.tex",
        "report.md",
        "runs",
        "synthetic.txt",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "report.md",
        f"{TASK}.csv",
        f"{TASK}.tex",
        f"{TASK}.json",
        f"{TASK}-differences.csv",
        f"{TASK}-differences.tex",
        f"{TASK}-search.csv",
        f"{TASK}-search.tex",
        f"{TASK}-trials.csv",
        f"{TASK}-story.html",
    ],
)
def test_every_file_with_results_says_that_they_are_synthetic(written, name):
    assert WARNING in (written / name).read_text(encoding="utf-8")


def test_tables_of_lengths_say_that_they_are_synthetic(written):
    assert WARNING in (written / "lengths.tex").read_text(encoding="utf-8")
    rows = csv.DictReader(io.StringIO((written / "lengths.csv").read_text(encoding="utf-8")))
    assert {row["notice"] for row in rows} == {WARNING}


def test_own_and_published_rows_are_in_the_table(study, written):
    text = (written / f"{TASK}.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    own = {row["run"]: float(row["erde50"]) for row in rows if row["source"] == "synthetic"}
    published = {row["run"]: float(row["erde50"]) for row in rows if row["source"] == "published"}
    assert own == {run.name: run.score.measures["erde50"] for run in study.runs}
    assert published["τ-SS3"] == 0.0626
    assert published["FHDO-BCSGD"] == 0.0596
    bounds = ["(never alerting)", "(alerting everyone at once)", "(best possible)"]
    assert [row["run"] for row in rows][-3:] == bounds


def test_synthetic_runs_are_not_sorted_among_published_ones(written):
    lines = (written / "report.md").read_text(encoding="utf-8").splitlines()
    cells = [line.split("|") for line in lines if line.startswith("|")]
    sources = [row[2].strip() for row in cells if row[2] in (" published ", " synthetic ")]
    assert sources == sorted(sources, reverse=True)


def test_latex_has_the_greek_letter_and_bold_for_own_runs_only(written):
    lines = (written / f"{TASK}.tex").read_text(encoding="utf-8").splitlines()
    assert any(line.startswith(r"$\tau$-SS3 & synthetic & ") for line in lines)
    assert not any(r"\textbf" in line for line in lines if "published" in line)
    assert sum(line.count("&") for line in lines if line.startswith("SS3 & published")) == 6


def test_differences_are_a_table_for_spreadsheets_and_latex(study, written):
    text = (written / f"{TASK}-differences.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    [erde50] = [row for row in rows if (row["run"], row["measure"]) == ("τ-SS3", "erde50")]
    interval = study.comparisons[0].differences["erde50"]
    assert float(erde50["low"]) == interval.low
    assert float(erde50["p"]) == study.comparisons[0].p_values["erde50"]
    latex = (written / f"{TASK}-differences.tex").read_text(encoding="utf-8")
    assert latex.count(r"\begin{tabular}") == len(study.comparisons)
    assert f" & {100 * interval.value:+.2f} & " in latex


def test_the_result_of_the_search_is_a_table_for_spreadsheets_and_latex(study, written):
    text = (written / f"{TASK}-search.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["model"], row["source"]) for row in rows] == [
        *[("SS3", "best"), ("SS3", "paper")],
        *[("τ-SS3", "best"), ("τ-SS3", "paper")],
    ]
    assert float(rows[2]["erde50"]) == study.found("τ-SS3").value
    latex = (written / f"{TASK}-search.tex").read_text(encoding="utf-8")
    assert r"$\sigma$, $\lambda$, $\rho$" in latex
    assert r"$\tau$-SS3 & 0.455, 1, 1 & paper & " in latex


def test_runs_are_written_as_submissions(study, made, written):
    board = score_runs(made / "2018 anorexia" / "test", [written / "runs" / TASK])
    values = {run.name: 100 * run.measures["erde50"] for run in board.runs}
    assert values == pytest.approx(
        {run.name.replace("τ", "tau"): 100 * run.score.measures["erde50"] for run in study.runs}
    )


def test_the_report_has_lengths_search_and_tests(study):
    text = markdown_report([study])
    assert "### τ-SS3 minus SS3" in text
    assert "| 3 | " in text.partition("### Length of n-grams")[2]
    assert "| τ-SS3 | 0.455, 1, 1 | paper |" in text
    assert "nothing was pruned" in text


def test_the_report_names_the_period_of_pruning(study):
    assert "dropped every 1,000,000 words" in markdown_report([study])
    assert "dropped every 500 words" in markdown_report([replace(study, prune_period=500)])


def test_json_is_valid_without_infinities(written):
    def refuse(constant):
        raise AssertionError(constant)

    text = (written / f"{TASK}.json").read_text(encoding="utf-8")
    assert json.loads(text, parse_constant=refuse)["is_synthetic"] is True


def test_a_folder_with_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="choose a new folder"):
        PaperFolder(tmp_path)


def test_an_unfinished_folder_says_so_and_is_used_again(study, tmp_path):
    PaperFolder(tmp_path / "paper").add(study)
    assert "not finished" in (tmp_path / "paper" / "unfinished-paper.txt").read_text()
    again = PaperFolder(tmp_path / "paper")
    again.add(study)
    assert again.finish().exists()
    assert not (tmp_path / "paper" / "unfinished-paper.txt").exists()
    with pytest.raises(FileExistsError, match="choose a new folder"):
        PaperFolder(tmp_path / "paper")


# Figure 5


def test_the_page_shows_the_post_at_both_levels_under_both_models(study):
    page = Page(story_pair_page(study))
    text = study.pair.subject.posts[-1].content
    assert page.texts == [text] * 4
    assert (
        len({known["class"] for tag, known in page.tags if "ww-panel" in known.get("class", "")})
        == 4
    )


def test_the_page_tells_sequences_that_only_one_model_recognises(study):
    words, sequences = (
        {block.ngram for block in story.posts[-1].explanation.blocks[0].blocks[0].blocks}
        for story in study.pair.stories.values()
    )
    assert not any(" " in ngram for ngram in words)
    assert any(" " in ngram for ngram in sequences)


def test_ids_on_the_page_are_unique(study):
    page = Page(story_pair_page(study))
    assert len(page.ids) == len(set(page.ids))


def test_hostile_ids_and_texts_stay_text_on_the_page(study):
    hostile = ww.Subject(HOSTILE_TEXT, [ww.Post(HOSTILE_TEXT, title=HOSTILE_TEXT)], "positive")
    model = ww.TauSS3()
    model.learn_many([HOSTILE_TEXT, "garden"], ["positive", "negative"])
    story = model.story(hostile, ww.Overtakes("positive"))
    pair = StoryPair(hostile, {"SS3": story, "τ-SS3": story})
    markup = story_pair_page(replace(study, pair=pair))
    markup.encode()
    page = Page(markup)
    assert not {tag for tag, _ in page.tags} & {"script", "i", "iframe", "img"}
    assert not [name for _, known in page.tags for name in known if name.startswith("on")]
    assert "default-src 'none'" in markup


def test_a_study_without_positive_posts_has_no_page(study):
    with pytest.raises(ValueError, match="no positive subject"):
        story_pair_page(replace(study, pair=None))
