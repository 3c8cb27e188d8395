"""The paper's experiments: both models, lengths, the search and paired tests, on small sets."""

from dataclasses import replace
from typing import Any

import pytest

import watchword as ww
from paper.study import (
    MODELS,
    WARNING,
    StudySettings,
    study_tasks,
)
from watchword.erisk import CollectionWarning, find_sets, make_collection, run_task
from watchword.erisk.paper_tasks import learn, read_training
from watchword.errors import DataFormatError
from watchword.model.parameters import PAPER, PAPER_TASKS

TASK: Any = "2018-anorexia"
FEW = StudySettings(lengths=[1, 3], search=False, repeats=50)
GRID = {"smoothness": [0.3, 0.455], "significance": [1.0], "sanction": [1.0]}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("paper") / "made"
    make_collection(root, TASK, subjects=120, most_writings=150)
    return root


@pytest.fixture(scope="module")
def studied(made):
    [study] = study_tasks(made, [TASK], settings=replace(FEW, search=True, grid=GRID))
    return study


def test_sequences_of_words_beat_words_where_only_sequences_carry_signals(studied):
    words, sequences = studied.runs[:2]
    assert [words.name, sequences.name] == ["SS3", "τ-SS3"]
    assert [words.parameters["max_ngram"], sequences.parameters["max_ngram"]] == [1, 3]
    assert sequences.score.measures["erde50"] < words.score.measures["erde50"]
    assert sequences.score.measures["f1"] > words.score.measures["f1"]


def test_both_models_decide_as_those_of_a_task(made, studied):
    own = run_task(TASK, made)
    words = run_task(TASK, made, model=ww.TauSS3(**PAPER_TASKS | {"max_ngram": 1}))
    assert studied.runs[1].result.replay.outcomes == own.replay.outcomes
    assert studied.runs[0].result.replay.outcomes == words.replay.outcomes


@pytest.mark.parametrize("period", [1_000_000, 4_000])
def test_a_shorter_model_is_the_longer_one_without_its_longer_ngrams(made, period):
    training = [
        subject for place in find_sets(TASK, made).train for subject in read_training(place)
    ]
    options = PAPER_TASKS | {"prune_period": period}
    longest = ww.TauSS3(**options | {"max_ngram": 6})
    learn(longest, training)
    for length in (1, 3):
        own = ww.TauSS3(**options | {"max_ngram": length})
        learn(own, training)
        assert longest.replace(max_ngram=length).counts() == own.counts()
        assert own.statistics.pruned == (period < 1_000_000)


def test_lengths_have_the_scores_of_their_models(studied):
    assert list(studied.lengths) == [1, 3]
    for length, run in zip([1, 3], studied.runs, strict=False):
        assert replace(studied.lengths[length], name=run.name) == run.score


def test_pruning_is_that_of_the_paper(made):
    assert StudySettings().prune_period == 1_000_000
    assert PAPER_TASKS["prune_floor"] == 10
    assert PAPER_TASKS["prune_shortest"] == 1
    [early] = study_tasks(made, [TASK], settings=replace(FEW, prune_period=4_000))
    own = run_task(TASK, made, model=ww.TauSS3(**PAPER_TASKS | {"prune_period": 4_000}))
    assert early.learnt.pruned_ngrams > 0
    assert early.runs[1].result.replay.outcomes == own.replay.outcomes


def test_the_search_takes_the_values_of_lowest_erde50(made, studied):
    training = [
        subject for place in find_sets(TASK, made).train for subject in read_training(place)
    ]
    for at, (name, length) in enumerate(MODELS.items(), 2):
        again = ww.tune(
            training,
            ww.Overtakes("positive"),
            parameters=GRID,
            model=ww.TauSS3(**PAPER_TASKS | {"max_ngram": length}),
            folds=4,
            by="chunk",
            refine=False,
        )
        found = studied.found(name)
        assert found.value == again.best.value
        assert found.parameters == again.best.parameters | {"max_ngram": length}
        assert studied.runs[at].parameters == found.parameters
        assert studied.of_paper(name).parameters["smoothness"] == PAPER["smoothness"]


def test_a_pruning_model_is_tuned_alike_with_any_number_of_threads(made):
    training = read_training(find_sets(TASK, made).train[0])
    model = ww.TauSS3(**PAPER_TASKS | {"prune_period": 4_000})
    one, three = (
        ww.tune(training, ww.Overtakes("positive"), model=model, threads=threads)
        for threads in (1, 3)
    )
    assert one.trials == three.trials


def test_both_models_are_compared_in_pairs(studied):
    [plain, tuned] = studied.comparisons
    assert (plain.run, plain.baseline) == ("τ-SS3", "SS3")
    assert (tuned.run, tuned.baseline) == ("τ-SS3-tuned", "SS3-tuned")
    words, sequences = studied.runs[:2]
    difference = sequences.score.measures["erde50"] - words.score.measures["erde50"]
    assert plain.differences["erde50"].value == pytest.approx(difference)
    assert all(0 < p <= 1 for p in plain.p_values.values())


def test_equal_runs_do_not_differ_significantly(made):
    [study] = study_tasks(made, [TASK], settings=replace(FEW, search=True, grid=GRID | PAPER_ONLY))
    for name in MODELS:
        assert study.found(name).parameters == study.of_paper(name).parameters
    assert study.comparisons[0].p_values == study.comparisons[1].p_values


PAPER_ONLY = {"smoothness": [0.455]}


def test_synthetic_collections_are_named_as_such(studied):
    assert studied.is_synthetic
    assert studied.warning == WARNING == studied.to_dict()["warning"]


def test_without_data_all_tasks_have_collections_of_their_own():
    few = replace(FEW, lengths=[1])
    studies = list(study_tasks(settings=few, subjects=60, most_writings=20))
    assert [study.task.name for study in studies] == [
        "2017-depression",
        "2018-depression",
        "2018-anorexia",
    ]
    assert all(study.is_synthetic for study in studies)


def test_collections_follow_the_seed():
    first, again, other = (
        next(
            study_tasks(
                None, [TASK], settings=replace(FEW, seed=seed), subjects=20, most_writings=10
            )
        )
        for seed in (1, 1, 2)
    )
    assert first.to_dict() == again.to_dict()
    assert first.to_dict() != other.to_dict()


def test_another_test_set_than_the_official_one_is_named(made, tmp_path):
    for file in made.rglob("*"):
        if file.is_file() and file.name != "synthetic.txt":
            target = tmp_path / file.relative_to(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    [study] = study_tasks(tmp_path, [TASK], settings=FEW)
    assert not study.is_synthetic
    assert "not the official test set" in study.warning


def test_a_test_set_without_truth_is_an_error(made, tmp_path):
    for file in made.rglob("*"):
        if file.is_file() and "truth-test" not in file.name:
            target = tmp_path / file.relative_to(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    with (
        pytest.warns(CollectionWarning, match="looks like golden truth"),
        pytest.raises(DataFormatError, match="no golden truth"),
    ):
        list(study_tasks(tmp_path, [TASK], settings=FEW))


# Figure 5


def test_the_story_ends_with_the_post_of_the_figure(studied):
    pair = studied.pair
    assert pair.post == 60
    assert pair.subject.label == "positive"
    assert list(pair.stories) == ["SS3", "τ-SS3"]
    assert all(len(story.posts) == 60 for story in pair.stories.values())


def test_the_subject_of_the_paper_is_taken_if_it_is_there(made, tmp_path):
    test = find_sets(TASK, made).test.collection.path
    people = sorted({file.name.partition("_")[0] for file in test.rglob("subject*.xml")})
    for file in made.rglob("*"):
        if file.is_file():
            text = file.read_text(encoding="utf-8").replace(f"{people[0]}<", "subject9579<")
            text = text.replace(f"{people[0]} ", "subject9579 ").replace(
                f"{people[0]}\t", "subject9579\t"
            )
            name = file.name.replace(f"{people[0]}_", "subject9579_")
            target = tmp_path / file.relative_to(made).with_name(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    [study] = study_tasks(tmp_path, [TASK], settings=replace(FEW, post=3))
    assert study.pair.subject.id == "subject9579"


def test_a_subject_and_a_post_can_be_chosen(made, studied):
    wanted = studied.pair.subject.id
    [study] = study_tasks(made, [TASK], settings=replace(FEW, subject=wanted, post=5))
    assert (study.pair.subject.id, study.pair.post) == (wanted, 5)


def test_an_unknown_subject_is_named(made):
    with pytest.raises(ValueError, match="subject 'nobody' is not in the test set"):
        list(study_tasks(made, [TASK], settings=replace(FEW, subject="nobody")))


def test_without_enough_posts_the_longest_positive_history_is_told(made):
    [study] = study_tasks(made, [TASK], settings=replace(FEW, post=5000))
    assert 60 <= study.pair.post < 5000


# Arguments


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"lengths": [0]}, "lengths"),
        ({"lengths": [11]}, "lengths"),
        ({"post": 0}, "post"),
        ({"seed": -1}, "seed"),
        ({"repeats": 0}, "repeats"),
        ({"grid": {"smoothness": [0.455]}}, "grid\\['significance'\\] must contain"),
        ({"grid": GRID | {"smoothness": [0.3]}}, "must contain the paper's value, 0.455"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        StudySettings(**wrong)


def test_unknown_and_missing_tasks_are_refused():
    with pytest.raises(ValueError, match="task must be one of"):
        list(study_tasks(None, ["2019-anorexia"]))  # type: ignore[list-item]
    with pytest.raises(ValueError, match="at least one task"):
        list(study_tasks(None, []))
