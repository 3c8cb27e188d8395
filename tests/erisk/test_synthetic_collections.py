"""Made-up collections: size, reproducibility, and the quirks of the official ones."""

import hashlib
from collections import Counter
from typing import Any

import pytest

from watchword.erisk import TASKS, make_collection, make_subjects
from watchword.erisk.synthetic import plan_sets

SMALL: dict[str, Any] = {"subjects": 20, "most_writings": 25}


def digest(folder):
    """Return a digest of the names and contents of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    content = b"".join(
        path.relative_to(folder).as_posix().encode() + path.read_bytes() for path in files
    )
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("name", TASKS)
def test_full_size_equals_that_of_the_official_sets(name):
    task = TASKS[name]
    sets = plan_sets(task, subjects=None, most_writings=2000, seed=0)
    for made, size in zip(sets, [*task.train, task.test], strict=True):
        labels = Counter(person.label for person in made.people)
        writings = Counter()
        for person in made.people:
            writings[person.label] += person.writings
        assert (labels["positive"], labels["negative"]) == (size.positives, size.negatives)
        assert writings["positive"] == size.positive_writings
        assert writings["negative"] == size.negative_writings


def test_2017_has_887_subjects_and_531394_writings():
    sets = plan_sets(TASKS["2017-depression"], subjects=None, most_writings=2000, seed=0)
    people = [person for made in sets for person in made.people]
    assert (len(people), sum(person.writings for person in people)) == (887, 531_394)
    lengths = [person.writings for person in people]
    assert min(lengths) == 9
    assert 1900 < max(lengths) <= 2000


def test_a_smaller_size_is_exact_and_has_both_labels():
    for count in (8, 9, 100):
        sets = plan_sets(TASKS["2017-depression"], subjects=count, most_writings=30, seed=0)
        assert sum(len(made.people) for made in sets) == count
        assert all(
            {person.label for person in made.people} == {"positive", "negative"} for made in sets
        )
        assert all(9 <= person.writings <= 30 for made in sets for person in made.people)


def test_names_are_unique():
    sets = plan_sets(TASKS["2018-depression"], subjects=None, most_writings=2000, seed=1)
    people = [person for made in sets for person in made.people]
    assert len({person.id for person in people}) == len(people)
    assert len({person.seed for person in people}) == len(people)


def test_the_same_seed_makes_the_same_files(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        make_collection(tmp_path / name, "2017-depression", seed=seed, **SMALL)
    assert digest(tmp_path / "a") == digest(tmp_path / "b") != digest(tmp_path / "c")


def test_synthetic_subjects_are_deterministic():
    first, *_ = plan_sets(TASKS["2017-depression"], subjects=None, most_writings=2000, seed=7)
    shown = [(one.id, one.label, one.writings) for one in first.people[:3]]
    assert shown == [
        ("train_subject1791", "positive", 525),
        ("train_subject3030", "negative", 369),
        ("train_subject1991", "positive", 812),
    ]


def test_the_folder_layout_is_the_official_one(tmp_path):
    make_collection(tmp_path / "depression", "2018-depression", **SMALL)
    make_collection(tmp_path / "anorexia", "2018-anorexia", **SMALL)
    there = {
        path.parent.relative_to(tmp_path).as_posix()
        for path in tmp_path.rglob("*.xml")
        if path.parent.name in ("chunk 1", "chunk1") or "chunk" not in path.parent.name
    }
    assert there == {
        "depression/2017/train/positive_examples_anonymous_chunks/chunk 1",
        "depression/2017/train/negative_examples_anonymous_chunks/chunk 1",
        "depression/2017/train/positive_examples_anonymous",
        "depression/2017/train/negative_examples_anonymous",
        "depression/2017/test/chunk 1",
        "depression/2018 depression/test/chunk1",
        "anorexia/2018 anorexia/train/positive_examples/chunk1",
        "anorexia/2018 anorexia/train/negative_examples/chunk1",
        "anorexia/2018 anorexia/test/chunk1",
    }


def test_truth_and_count_files_have_the_official_names(tmp_path):
    make_collection(tmp_path / "made", "2018-depression", **SMALL)
    tables = {path.relative_to(tmp_path / "made").as_posix() for path in tmp_path.rglob("*.txt")}
    assert {name for name in tables if not name.endswith("synthetic.txt")} == {
        "2017/train/risk_golden_truth.txt",
        "2017/test/test_golden_truth.txt",
        "2017/test/writings_all_test_users.txt",
        "2018 depression/test/risk-golden-truth-test.txt",
        "2018 depression/test/writings-per-subject-all-test.txt",
    }


def test_quirks_of_the_official_files_are_reproduced(tmp_path):
    make_collection(tmp_path / "made", "2017-depression", subjects=60, most_writings=60)
    test = tmp_path / "made" / "2017" / "test"
    truth = (test / "test_golden_truth.txt").read_text()
    assert truth.endswith("\n\n\n")
    assert "\t\t" in truth
    assert any(" " in line for line in truth.splitlines())
    everything = "".join(path.read_text("utf-8") for path in test.rglob("*.xml"))
    for quirk in (" #8217;", "&#8217;", "’", " amp;", "&amp;", " lt;", " <", "<TITLE>  </TITLE>"):
        assert quirk in everything


def test_depression_files_have_the_newest_first(tmp_path):
    make_collection(tmp_path / "made", "2017-depression", **SMALL)
    whole = tmp_path / "made" / "2017" / "train" / "negative_examples_anonymous"
    dates = [
        line for line in next(whole.iterdir()).read_text("utf-8").splitlines() if "DATE" in line
    ]
    assert dates == sorted(dates, reverse=True)


def test_word_order_distinguishes_the_labels():
    people = list(make_subjects("2017-depression", "train", subjects=60, most_writings=60, seed=1))
    risky, harmless = "I cannot sleep, so I work.", "I cannot work, so I sleep."
    counts = Counter()
    for subject in people:
        for post in subject.posts:
            counts[subject.label, "risky"] += risky in post.text
            counts[subject.label, "harmless"] += harmless in post.text
    assert counts["negative", "risky"] == 0
    assert counts["negative", "harmless"] > 0
    assert counts["positive", "risky"] > 0


def test_non_empty_folder_is_rejected(tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(FileExistsError, match="already exists"):
        make_collection(tmp_path, "2017-depression", **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_interrupted_collection_leaves_no_files(tmp_path):
    def progress(items, _):
        yield items[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_collection(tmp_path / "made", "2017-depression", **SMALL, progress=progress)
    assert not list(tmp_path.iterdir())


def test_existing_empty_folder_is_used(tmp_path):
    make_collection(tmp_path, "2018-anorexia", **SMALL)
    assert (tmp_path / "2018 anorexia").is_dir()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"task": "2019-anorexia"}, "task must be one of 2017-depression"),
        ({"subjects": 7}, "subjects must be"),
        ({"most_writings": 9}, "most_writings must be"),
        ({"most_writings": 2001}, "most_writings must be"),
        ({"seed": -1}, "seed must be"),
        ({"release": "2023"}, "release must be one of"),
        ({"task": "2018-anorexia", "release": "2022"}, "no anorexia sets"),
    ],
)
def test_bad_arguments_are_refused(tmp_path, how, message):
    arguments = {"task": "2017-depression"} | SMALL | how
    with pytest.raises(ValueError, match=message):
        make_collection(tmp_path / "made", **arguments)
    assert not list(tmp_path.iterdir())
