"""The three tasks end to end, on small collections."""

import re
import shutil
from dataclasses import replace
from typing import Any

import pytest

import watchword as ww
from erisk_files import individual, texts, write, write_chunks, write_test_set
from watchword.erisk import (
    TASKS,
    CollectionWarning,
    find_sets,
    make_collection,
    read_erisk,
    run_task,
    score_runs,
)
from watchword.errors import DataFormatError
from watchword.model.parameters import PAPER_TASKS

SMALL: dict[str, Any] = {"subjects": 250, "most_writings": 80}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make the collections of all tasks in one folder."""
    root = tmp_path_factory.mktemp("erisk")
    make_collection(root / "depression", "2018-depression", **SMALL)
    make_collection(root / "anorexia", "2018-anorexia", **SMALL)
    return root


@pytest.mark.parametrize("task", TASKS)
def test_a_task_runs_from_files_to_table(made, tmp_path, task):
    result = run_task(task, made, out=tmp_path, name="ours")
    bounds = result.score.bounds["erde50"]
    assert (
        bounds.best <= result.score.measures["erde50"] < 0.75 * bounds.never
    )  # what was planted is found
    assert len(result.files) == 10
    assert "> ours " in str(result)


@pytest.mark.parametrize("task", TASKS)
def test_submission_files_score_like_the_result(made, tmp_path, task):
    result = run_task(task, made, out=tmp_path / "run")
    test = find_sets(task, made).test.collection
    [score] = score_runs(test.truth, [tmp_path / "run"], counts=test.counts).runs
    assert score == result.score


def test_the_score_equals_that_of_the_replay(made):
    result = run_task("2017-depression", made)
    measures = result.replay.measures
    found = result.score.measures
    assert found["erde5"] == pytest.approx(measures.erde5)
    assert found["erde50"] == pytest.approx(measures.erde50)
    assert result.score.bounds["erde50"].never == pytest.approx(measures.erde50_bounds.never)
    assert result.score.bounds["erde50"].best == pytest.approx(measures.erde50_bounds.best)
    assert (found["precision"], found["f1"]) == (measures.precision, measures.f1)
    assert result.files == ()


def test_model_and_policy_default_to_those_of_the_paper(made):
    own = run_task("2017-depression", made)
    same = run_task(
        "2017-depression",
        made,
        model=ww.TauSS3(
            smoothness=0.455,
            significance=1,
            sanction=1,
            max_ngram=3,
            prior=0,
            ngram_scale="length",
            significance_function="vanilla",
            counting="occurrences",
            prune_period=1_000_000,
            prune_floor=10,
        ),
        policy=ww.Overtakes("positive"),
    )
    assert own.score == same.score
    assert own.replay.outcomes == same.replay.outcomes


@pytest.fixture
def pruning(monkeypatch):
    """Shorten the pruning period of the presets, so that small collections reach it."""
    monkeypatch.setitem(PAPER_TASKS, "prune_period", 5000)


@pytest.mark.usefixtures("pruning")
def test_a_task_prunes_as_it_learns(made):
    pruned = run_task("2017-depression", made)
    plain = run_task("2017-depression", made, model=ww.TauSS3.paper())
    assert pruned.replay.outcomes != plain.replay.outcomes


@pytest.mark.usefixtures("pruning")
def test_pruning_does_not_depend_on_threads_or_the_layout(made, tmp_path):
    make_collection(tmp_path / "again", "2018-depression", **SMALL, release="2022")
    expected = run_task("2018-depression", made)
    assert run_task("2018-depression", made, threads=3).replay.outcomes == expected.replay.outcomes
    assert run_task("2018-depression", tmp_path / "again").score == expected.score


def test_a_test_set_may_name_people_without_writings(made, tmp_path):
    shutil.copytree(made / "anorexia", tmp_path / "copy")
    test = tmp_path / "copy" / "2018 anorexia" / "test"
    before = run_task("2018-anorexia", tmp_path / "copy").score
    with (test / "risk-golden-truth-test.txt").open("a") as file:
        file.write("subject3958 1\n")
    with pytest.warns(CollectionWarning, match="subject3958 is listed, but without writings"):
        result = run_task("2018-anorexia", tmp_path / "copy", out=tmp_path / "run")
    after = result.score
    assert (after.subjects, after.positives) == (before.subjects + 1, before.positives + 1)
    share = before.positives / after.positives
    assert after.measures["recall"] == before.measures["recall"] * share
    assert after.measures["precision"] == before.measures["precision"]
    assert result.files[-1].read_text().count("subject3958\t\t2\n") == 1
    with pytest.warns(CollectionWarning, match="subject3958 is in the golden truth"):
        [again] = score_runs(test, [tmp_path / "run"]).runs
    assert again == after


def test_a_training_set_may_be_cases_of_two_years(made, tmp_path):
    make_collection(tmp_path / "cases", "2018-depression", **SMALL, release="2022")
    test = made / "anorexia" / "2018 anorexia" / "test"
    result = run_task("2018-depression", made, train=[tmp_path / "cases"], test=test)
    assert result.score.subjects > 0


def test_trained_model_is_used_without_training(made):
    model = ww.TauSS3.paper()
    for subject in read_erisk(made / "depression" / "2017" / "train"):
        model.learn_many(
            [post.content for post in subject.posts], [subject.label] * len(subject.posts)
        )
    before = model.statistics
    result = run_task("2017-depression", made, model=model)
    assert model.statistics == before
    assert result.score == run_task("2017-depression", made).score


def test_2018_learns_the_whole_of_2017(made):
    sets = find_sets("2018-depression", made)
    assert [place.collection.path.relative_to(made).as_posix() for place in sets.train] == [
        "depression/2017/train",
        "depression/2017/test",
    ]
    assert sets.test.collection.path == made / "depression" / "2018 depression" / "test"


def test_run_reads_cases_of_2022(made, tmp_path):
    make_collection(tmp_path / "again", "2018-depression", **SMALL, release="2022")
    for task in ("2017-depression", "2018-depression"):
        assert run_task(task, tmp_path / "again").score == run_task(task, made).score


def test_run_is_sorted_into_the_table_by_erde50(made):
    result = run_task("2017-depression", made)
    for value, place in ((7.0, 0), (8.0, 1), (99.0, 11)):
        measures = {**result.score.measures, "erde50": value / 100}
        lines = str(replace(result, score=replace(result.score, measures=measures))).splitlines()
        assert [line[0] for line in lines[4:16]].index(">") == place


def test_a_table_has_the_rows_of_the_paper_and_both_bounds(made):
    table = str(run_task("2017-depression", made))
    assert re.search(r"^  τ-SS3 +12\.6 +7\.70  0\.43  0\.77  0\.55$", table, re.MULTILINE)
    assert re.search(r"^  LyRE +13\.74 +13\.74$", table, re.MULTILINE)
    assert re.search(r"^  \(never alerting\) +\d+\.\d\d +\d+\.\d\d$", table, re.MULTILINE)
    assert re.search(r"^  \(best possible\) +\d+\.\d\d +\d+\.\d\d$", table, re.MULTILINE)


def test_table_of_a_synthetic_set_says_so(made):
    assert "synthetic: do not compare" in str(run_task("2018-anorexia", made))


def test_a_table_of_another_test_set_says_so(made, tmp_path):
    shutil.copytree(made / "anorexia", tmp_path / "copy")
    (tmp_path / "copy" / "2018 anorexia" / "test" / "synthetic.txt").unlink()
    assert "the official test set, which has 320 subjects, 41 positive" in str(
        run_task("2018-anorexia", tmp_path / "copy")
    )


def test_a_result_is_plain_data(made):
    plain = run_task("2018-anorexia", made).to_dict()
    assert plain["task"] == "2018-anorexia"
    assert plain["published"][0]["name"] == "FHDO-BCSGD"
    assert plain["published"][0]["erde5"] == 0.1215  # a fraction, as in the score
    assert 0 <= plain["score"]["erde5"] <= 1
    assert plain["policy"]["policy"] == "Overtakes"
    assert set(plain["subjects"][0]) >= {"subject", "truth", "label", "delay"}


@pytest.fixture
def taught():
    """Return a model that decides by one word."""
    model = ww.TauSS3()
    model.learn_many(["bad bad bad", "good good good"], ["positive", "negative"])
    return model


def test_delays_use_the_official_post_counts(tmp_path, taught):
    people = {"subject1": (1, ["good", "bad bad", *texts(18, "good")]), "subject2": (0, texts(20))}
    write_test_set(tmp_path / "test", people)
    counts = "subject1\t\t60\nsubject2\t\t20\n"
    write(tmp_path / "test" / "writings-per-subject-all-test.txt", counts)
    with pytest.warns(CollectionWarning, match="subject1 with 20 instead of 60"):
        result = run_task(
            "2018-depression", tmp_path, train=[], test=tmp_path / "test", model=taught
        )
    expected = (1 - 1 / (1 + 2.718281828459045)) / 2
    assert result.score.measures["erde5"] == pytest.approx(expected)


def test_an_early_alert_of_a_subject_with_few_posts_is_in_the_file_of_its_chunk(tmp_path, taught):
    for chunk in range(1, 11):
        text = "bad" if chunk == 4 else "so so"
        posts = [text] if chunk % 2 == 0 else []
        write(
            tmp_path / "test" / f"chunk{chunk}" / f"subject1_{chunk}.xml",
            individual("subject1", *posts),
        )
    files = run_task(
        "2018-depression", tmp_path, train=[], test=tmp_path / "test", model=taught, out=tmp_path
    ).files
    assert "".join(path.read_text()[-2] for path in files) == "0001111111"


def test_submissions_without_truth_have_no_score(made, tmp_path, taught):
    write_test_set(tmp_path / "test", {"subject1": (1, texts(20, "bad"))}, truth=False)
    result = run_task(
        "2018-depression", made, test=tmp_path / "test", model=taught, out=tmp_path / "run"
    )
    assert result.score is None
    assert len(result.files) == 10
    assert "true labels unknown" in str(result)
    assert result.to_dict()["score"] is None


def test_a_training_set_without_truth_is_an_error(made, tmp_path):
    write_test_set(tmp_path / "set", {"subject1": (1, texts(20))}, truth=False)
    with pytest.raises(DataFormatError, match="no golden truth"):
        run_task("2018-anorexia", made, train=[tmp_path / "set"])


def test_a_policy_about_another_label_is_refused(made):
    with pytest.raises(ValueError, match="the policy must alert for 'positive'"):
        run_task("2018-anorexia", made, policy=ww.Overtakes("at risk"))


def test_missing_sets_are_named(tmp_path):
    write_test_set(tmp_path, {"test_subject1": (1, texts(20))}, chunk="chunk {}")
    with pytest.raises(DataFormatError, match="contains no 2017 train set"):
        run_task("2017-depression", tmp_path)


def test_test_set_of_another_task_is_not_used(tmp_path):
    for label in ("positive", "negative"):
        write_chunks(tmp_path / "train" / f"{label}_examples", f"subject_{label}", texts(12))
    write_test_set(tmp_path / "task 1 - depression", {"subject1": (1, texts(20))})
    with pytest.raises(DataFormatError, match="contains no 2018 test set"):
        find_sets("2018-anorexia", tmp_path)
    write_test_set(tmp_path / "2018 test", {"subject2": (1, texts(20))})
    assert find_sets("2018-anorexia", tmp_path).test.collection.path == tmp_path / "2018 test"


def test_a_damaged_set_of_another_task_does_not_matter(made, tmp_path):
    shutil.copytree(made / "anorexia", tmp_path / "anorexia")
    write(tmp_path / "2018 depression" / "chunk1" / "subject1_1.xml", individual("subject1"))
    (tmp_path / "empty" / "chunk 1").mkdir(parents=True)
    assert find_sets("2018-anorexia", tmp_path).test.collection.layout == "test"


def test_two_sets_of_one_kind_are_ambiguous(made, tmp_path):
    for name in ("one", "two"):
        shutil.copytree(made / "anorexia", tmp_path / name)
    with pytest.raises(DataFormatError, match="several anorexia train sets"):
        find_sets("2018-anorexia", tmp_path)
    assert find_sets("2018-anorexia", tmp_path / "two").test.collection.layout == "test"


def test_a_named_folder_must_have_one_set(made, tmp_path):
    with pytest.raises(DataFormatError, match="contains several collections"):
        find_sets("2018-anorexia", made, test=made)
    with pytest.raises(DataFormatError, match="contains no eRisk collection"):
        find_sets("2018-anorexia", made, test=tmp_path)


def test_progress_is_called_for_reading_and_learning(made):
    totals = []

    def progress(items, total):
        totals.append(total)
        return items

    run_task("2018-anorexia", made, progress=progress)
    assert len(totals) == 3  # reading, learning, reading
    assert totals[0] + totals[2] == SMALL["subjects"]


def test_published_tables_equal_those_of_the_paper():
    rows = {name: len(task.table) for name, task in TASKS.items()}
    assert rows == {"2017-depression": 11, "2018-depression": 19, "2018-anorexia": 16}
    for task in TASKS.values():
        assert [row.erde50 for row in task.table] == sorted(row.erde50 for row in task.table)
        ours = next(row for row in task.table if row.name == "τ-SS3")
        theirs = next(row for row in task.table if row.name == "SS3")
        assert ours.erde50 < theirs.erde50


def test_never_alerting_costs_the_published_value():
    shares = [100 * task.test.positives / task.test.subjects for task in TASKS.values()]
    assert [round(share, 2) for share in shares] == [12.97, 9.63, 12.81]
