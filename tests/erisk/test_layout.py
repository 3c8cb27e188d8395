"""Collections of eRisk: all layouts, and everything that may be wrong in them."""

import re
from typing import Any

import pytest

from erisk_files import individual, texts, write, write_chunks, write_test_set
from untyped import untyped
from watchword.erisk import (
    CollectionWarning,
    find_collections,
    make_collection,
    make_subjects,
    read_collection,
    read_erisk,
)
from watchword.errors import DataFormatError

PEOPLE = {"subject2": (0, texts(23)), "subject10": (1, texts(9)), "subject7": (0, texts(10))}


@pytest.fixture
def the_set(tmp_path):
    return write_test_set(tmp_path / "test", PEOPLE)


def refuses(path, message, **how):
    with pytest.raises(DataFormatError, match=message) as caught:
        read_erisk(path, **how)
    return str(caught.value)


def test_a_test_set_is_read_chunk_by_chunk(the_set):
    first, second, third = read_erisk(the_set)
    assert [first.id, second.id, third.id] == ["subject2", "subject7", "subject10"]
    assert [first.label, second.label, third.label] == ["negative", "negative", "positive"]
    assert [post.text for post in first.posts] == texts(23)
    assert first.chunks == (2,) * 9 + (5,)
    assert second.chunks == (1,) * 10


def test_nine_posts_are_all_in_the_last_chunk(the_set):
    last = read_erisk(the_set)[-1]
    assert last.chunks == (0,) * 9 + (9,)
    assert [post.text for post in last.posts] == texts(9)


def test_files_of_empty_chunks_may_be_missing(the_set):
    for number in range(1, 10):
        (the_set / f"chunk{number}" / f"subject10_{number}.xml").unlink()
    assert read_erisk(the_set)[-1].chunks == (0,) * 9 + (9,)


def test_chunk_sizes_are_those_of_the_files(the_set):
    write(the_set / "chunk1" / "subject10_1.xml", individual("subject10", "early", "bird"))
    (the_set / "writings-per-subject-all-test.txt").unlink()
    last = read_erisk(the_set)[-1]
    assert last.chunks == (2,) + (0,) * 8 + (9,)
    assert [post.text for post in last.posts][:2] == ["early", "bird"]


def test_chunks_stay_in_order_even_if_their_dates_are_not(tmp_path):
    write_chunks(tmp_path, "subject1", texts(10))
    late = individual("subject1", "first of all", dates=["2019-01-01 00:00:00"])
    write(tmp_path / "chunk1" / "subject1_1.xml", late)
    assert read_erisk(tmp_path)[0].posts[0].text == "first of all"


def test_a_missing_file_of_a_chunk_is_named(the_set):
    (the_set / "chunk3" / "subject2_3.xml").unlink()
    refuses(the_set, r"subject2_3\.xml is missing")


@pytest.mark.parametrize(("posts", "chunk"), [(10, 4), (18, 10), (9, 10)])
def test_a_missing_chunk_file_is_named_even_with_few_posts(tmp_path, posts, chunk):
    write_chunks(tmp_path, "subject1", texts(posts))
    (tmp_path / f"chunk{chunk}" / f"subject1_{chunk}.xml").unlink()
    write_chunks(tmp_path, "subject2", texts(10))
    refuses(tmp_path, rf"subject1_{chunk}\.xml is missing")


def test_missing_chunks_are_named(the_set):
    for path in sorted((the_set / "chunk4").iterdir()):
        path.unlink()
    (the_set / "chunk4").rmdir()
    refuses(the_set, "test: chunk 4 is missing")


def test_duplicate_chunk_is_rejected(the_set):
    write(the_set / "chunk 1" / "subject2_1.xml", individual("subject2"))
    refuses(the_set, "duplicate chunk")


def test_eleventh_chunk_is_rejected(the_set):
    write(the_set / "chunk11" / "subject2_11.xml", individual("subject2"))
    refuses(the_set, "chunk11: duplicate chunk, or not one of 10 chunks")


def test_a_file_of_another_chunk_is_refused(the_set):
    write(the_set / "chunk2" / "subject2_7.xml", individual("subject2"))
    refuses(the_set, r"subject2_7\.xml: must be named SUBJECT_2\.xml")


def test_file_of_another_subject_is_rejected(the_set):
    write(the_set / "chunk2" / "subject2_2.xml", individual("subject3", "a", "b"))
    refuses(the_set, r"subject2_2\.xml: subject 'subject3', but .*subject2_1\.xml has 'subject2'")


def test_duplicate_subject_id_is_rejected(tmp_path):
    write(tmp_path / "a.xml", individual("ann", "a"))
    write(tmp_path / "b.xml", individual("ann", "b"))
    refuses(tmp_path, "duplicate subject id 'ann'")


def test_subject_id_defaults_to_the_file_name(tmp_path):
    write(tmp_path / "ann.xml", individual("", "Hello."))
    assert read_erisk(tmp_path)[0].id == "ann"


def test_damaged_files_are_named(the_set):
    path = write(the_set / "chunk2" / "subject2_2.xml", "<INDIVIDUAL><ID>subject2</ID>")
    assert str(path) in refuses(the_set, "truncated")


def test_without_golden_truth_labels_are_unknown(tmp_path):
    write_test_set(tmp_path, PEOPLE, truth=False)
    assert {subject.label for subject in read_erisk(tmp_path)} == {None}


TRUTH = "risk-golden-truth-test.txt"


@pytest.mark.parametrize(
    "content",
    [
        "subject2 0\nsubject10\t1\nsubject7\t\t0\n\n\n",
        "  subject10   1\r\nsubject7 0\r\n\t\r\nsubject2\t0",
        "\ufeffsubject7 0\rsubject2 0\rsubject10 1\r",
    ],
)
def test_truth_may_have_any_separators_and_blank_lines(the_set, content):
    write(the_set / TRUTH, content)
    assert [subject.label for subject in read_erisk(the_set)] == ["negative"] * 2 + ["positive"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("subject2 0\n\nsubject2 0\n", r"line 3: duplicate subject subject2$"),
        ("subject2 0\nsubject2 1\n", r"line 2: duplicate subject subject2 with another value"),
        ("subject2 0\nsubject10 2\n", r"line 2: must be 0 or 1, got '2'"),
        ("subject2\n", r"line 1: must be a subject and 0 or 1, got 'subject2'"),
        ("subject2 0 1\n", r"line 1: must be a subject and 0 or 1"),
        ("\n\n", r"contains no subject"),
        (b"subject2 0\n\xff\xfe\n", r"line 2: not UTF-8"),
    ],
)
def test_bad_truth_is_refused_with_file_and_line(the_set, content, message):
    write(the_set / TRUTH, content)
    refuses(the_set, rf"risk-golden-truth-test\.txt.*{message}")


@pytest.mark.parametrize("which", [None, "test"])
def test_truth_subjects_without_writings_are_read_without_posts(the_set, which):
    with (the_set / TRUTH).open("a") as file:
        file.write("subject9 1\nsubject1 0\n")
    with pytest.warns(
        CollectionWarning,
        match="truth-test.txt: subject9, subject1 are listed, but without writing",
    ):
        subjects = read_erisk(the_set, which=which)
    assert [(one.id, one.label, len(one.posts)) for one in subjects] == [
        ("subject1", "negative", 0),
        ("subject2", "negative", 23),
        ("subject7", "negative", 10),
        ("subject9", "positive", 0),
        ("subject10", "positive", 9),
    ]
    assert subjects[0].chunks == (0,) * 10


def test_counted_subjects_without_files_are_rejected(the_set):
    for name, line in ((TRUTH, "subject99 1\n"), (COUNTS, "subject99\t\t12\n")):
        with (the_set / name).open("a") as file:
            file.write(line)
    with pytest.warns(CollectionWarning, match="subject99 is listed, but without writings"):
        refuses(the_set, "subject99 is listed with writings, but without files")


def test_truth_of_two_parts_is_used_for_the_part_that_is_read(tmp_path):
    write(tmp_path / "train_ann.xml", individual("train_ann", "Hello."))
    write(tmp_path / "test_bob.xml", individual("test_bob", "Hello."))
    truth = "train_ann 0\ntest_bob 1\ntest_eve 1\n"
    write(tmp_path / "golden_truth.txt", truth)
    assert [one.id for one in read_erisk(tmp_path, which="train")] == ["train_ann"]
    with pytest.warns(CollectionWarning, match="test_eve is listed"):
        assert len(read_erisk(tmp_path, which="test")) == 2


# 2019 and later


def write_files(folder, *names):
    for name in names:
        write(folder / f"{name}.xml", individual(name, "Hello."))
    return folder


def labels_of(subjects):
    return {subject.id: subject.label for subject in subjects}


LABELS = {"ann": "positive", "bob": "negative"}


@pytest.mark.parametrize("folder", ["erisk2021_training_data/data", "test_data/datos"])
@pytest.mark.parametrize("named", [0, 1, 2])
def test_truth_one_level_above_the_files_is_used(tmp_path, monkeypatch, folder, named):
    files = write_files(tmp_path / folder, "ann", "bob")
    write(files.parent / "golden_truth.txt", "ann 1\nbob 0\n")
    monkeypatch.chdir([tmp_path, files.parent, files][named])
    assert labels_of(read_erisk(".")) == LABELS


def test_truth_above_the_chunks_is_used(tmp_path):
    write_chunks(tmp_path / "test", "ann", texts(10))
    write(tmp_path / "risk_golden_truth.txt", "ann 1\n")
    assert labels_of(read_erisk(tmp_path)) == {"ann": "positive"}


def test_paths_distinguish_training_from_test_data(tmp_path):
    write_files(tmp_path / "erisk2021_training_data" / "data", "ann", "bob")
    write(tmp_path / "erisk2021_training_data" / "golden_truth.txt", "ann 1\nbob 0\n")
    write_files(tmp_path / "test_data" / "datos", "cid")
    write(tmp_path / "test_data" / "golden_truth.txt", "cid 1\n")
    refuses(tmp_path, "several collections")
    assert labels_of(read_erisk(tmp_path, which="train")) == LABELS
    assert labels_of(read_erisk(tmp_path, which="test")) == {"cid": "positive"}


def test_truth_above_two_folders_applies_to_both(tmp_path):
    write_files(tmp_path / "train", "ann", "bob")
    write_chunks(tmp_path / "test", "cid", texts(10))
    write(tmp_path / "golden_truth.txt", "ann 1\nbob 0\ncid 0\neve 1\n")
    with pytest.warns(CollectionWarning, match="golden_truth.txt: eve is listed, but without"):
        found = read_erisk(tmp_path / "train")
    assert labels_of(found) == LABELS | {"eve": "positive"}


def test_truth_above_the_files_must_name_every_subject(tmp_path):
    write_files(tmp_path / "data", "ann", "bob")
    write(tmp_path / "golden_truth.txt", "ann 1\n")
    refuses(tmp_path, "golden_truth.txt: bob is missing, but with files")


def test_the_truth_file_that_names_the_subjects_is_used(tmp_path):
    write_files(tmp_path / "data", "ann", "bob")
    write(tmp_path / "golden_truth_1.txt", "ann 1\nbob 0\n")
    write(tmp_path / "golden_truth_2.txt", "cid 1\n")
    assert labels_of(read_erisk(tmp_path)) == LABELS
    write(tmp_path / "golden_truth_2.txt", "ann 0\nbob 0\n")
    refuses(tmp_path, "several truth files about")


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("data/truth.txt", "ann 1\nbob 0\n"),
        ("golden_truth.csv", "ann,1\nbob,0\n"),
        ("golden_truth.txt", "cid 1\n"),
        ("golden_truth.txt", "subject label\nann 1\n"),
        ("labels/golden_truth.txt", "ann 1\nbob 0\n"),
        ("labels/risk-golden-truth.txt", "somebody 1\n"),
    ],
)
def test_unused_truth_nearby_is_a_warning(tmp_path, place, content):
    files = write_files(tmp_path / "data", "ann", "bob")
    write(tmp_path / place, content)
    name = re.escape(place.rpartition("/")[2])
    with pytest.warns(CollectionWarning, match=f"{name}: looks like golden truth, but is not used"):
        found = read_erisk(files)
    assert labels_of(found) == {"ann": None, "bob": None}


def test_no_warning_about_the_truth_of_a_sibling_set(tmp_path):
    write_test_set(tmp_path / "train", PEOPLE)
    write_files(tmp_path / "test", "ann")
    assert labels_of(read_erisk(tmp_path / "test")) == {"ann": None}


def test_macos_archive_metadata_is_ignored(tmp_path):
    write_files(tmp_path / "data", "ann", "bob")
    write(tmp_path / "golden_truth.txt", "ann 1\nbob 0\n")
    write(tmp_path / "._golden_truth.txt", b"\0\5\x16\7")
    for path in ("__MACOSX/data/._ann.xml", "__MACOSX/data/ann.xml", "data/__MACOSX/cid.xml"):
        write(tmp_path / path, individual("ann", "a"))
    write(tmp_path / "__MACOSX" / "golden_truth.txt", "ann 0\nbob 0\n")
    write(tmp_path / "data" / "._bob.xml", b"\0\5\x16\7")
    assert labels_of(read_erisk(tmp_path)) == LABELS
    [only] = find_collections(tmp_path)
    assert only.path == tmp_path / "data"


def cases(folder, **people):
    """Write `2017_cases/pos/…` for subjects given as `ann="2017 pos"`."""
    for name, place in people.items():
        year, kind = place.split()
        write_files(folder / f"{year}_cases" / kind, name)
    return folder


def test_cases_of_two_years_are_one_training_set(tmp_path):
    cases(tmp_path, train_ann="2017 pos", test_bob="2017 neg", cid="2018 pos", dan="2018 neg")
    write(tmp_path / "__MACOSX" / "2017_cases" / "pos" / "eve.xml", individual("eve"))
    expected = {
        "cid": "positive",
        "dan": "negative",
        "test_bob": "negative",
        "train_ann": "positive",
    }
    assert labels_of(read_erisk(tmp_path)) == expected
    assert labels_of(read_erisk(tmp_path, which="train")) == expected
    refuses(tmp_path, "no test eRisk collection", which="test")


def test_cases_of_two_years_next_to_test_data(tmp_path):
    cases(tmp_path / "training_data", ann="2017 pos", bob="2017 neg")
    cases(tmp_path / "training_data", cid="2018 pos", dan="2018 neg")
    write_files(tmp_path / "test_data" / "datos", "eve")
    write(tmp_path / "test_data" / "risk_golden_truth.txt", "eve 1\n")
    assert len(read_erisk(tmp_path, which="train")) == 4
    assert labels_of(read_erisk(tmp_path, which="test")) == {"eve": "positive"}


@pytest.mark.parametrize("kind", ["pos", "neg"])
def test_a_subject_in_the_cases_of_two_years_is_rejected(tmp_path, kind):
    cases(tmp_path, ann="2017 pos", bob="2017 neg", cid="2018 pos", dan="2018 neg")
    cases(tmp_path, ann=f"2018 {kind}")
    refuses(tmp_path, "duplicate of the subject in")


def test_files_without_truth_are_named(the_set):
    write(the_set / TRUTH, "subject2 0\nsubject7 0\n")
    refuses(the_set, "truth-test.txt: subject10 is missing, but with files")


def test_two_files_of_truth_are_refused(the_set):
    write(the_set / "test_golden_truth.txt", "subject2 0\n")
    refuses(the_set, "several truth files")


# Texts


def test_a_collection_whose_texts_have_another_name_is_a_warning(tmp_path):
    for name in ("ann", "bob"):
        content = individual(name, *texts(3), title="Hello").replace("TEXT>", "BODY>")
        write(tmp_path / f"{name}.xml", content)
    with pytest.warns(CollectionWarning, match="no post of any subject has text beside its title"):
        read_erisk(tmp_path)


# Dates


def test_unreadable_dates_are_one_warning_for_a_collection(tmp_path):
    for name in ("ann", "bob"):
        dates = ("yesterday", "05.01.2016", "2016-01-05T10:00:00Z")
        write(tmp_path / f"{name}.xml", individual(name, *texts(3), dates=dates))
    with pytest.warns(
        CollectionWarning, match="4 of 6 dates are unreadable, such as 'yesterday'"
    ) as caught:
        ann, _ = read_erisk(tmp_path)
    assert len(caught) == 1
    assert [post.time is None for post in ann.posts] == [True, True, False]


def test_dates_that_contradict_the_order_of_chunks_are_a_warning(tmp_path):
    for number in range(1, 11):
        content = individual("ann", f"text {number}", dates=[f"2016-01-{11 - number:02}"])
        write(tmp_path / f"chunk{number}" / f"ann_{number}.xml", content)
    with pytest.warns(CollectionWarning, match="the dates contradict the order: in 1 of 1 subj"):
        [ann] = read_erisk(tmp_path)
    assert [post.text for post in ann.posts] == [f"text {number}" for number in range(1, 11)]


COUNTS = "writings-per-subject-all-test.txt"


def test_differing_post_counts_are_a_warning(the_set):
    write(the_set / COUNTS, "subject2\t\t24\nsubject10\t\t9\nsubject7\t\t10\n")
    with pytest.warns(
        CollectionWarning, match=r"1 of 3 subjects .* subject2 with 23 instead of 24"
    ):
        subjects = read_erisk(the_set)
    assert len(subjects[0].posts) == 23


def test_a_subject_without_a_count_is_refused(the_set):
    write(the_set / COUNTS, "subject2\t\t23\nsubject10\t\t9\n")
    refuses(the_set, "all-test.txt: subject7 is missing, but with files")


def test_counts_must_be_numbers(the_set):
    write(the_set / COUNTS, "subject2\t\tmany\n")
    refuses(the_set, r"all-test\.txt, line 1: must be a number of writings, got 'many'")


def training_set(folder, *, chunked=True):
    for label in ("positive", "negative"):
        name = f"train_subject_{label}"
        write(folder / f"{label}_examples_anonymous" / f"{name}.xml", individual(name, *texts(5)))
        if chunked:
            write_chunks(
                folder / f"{label}_examples_anonymous_chunks", name, texts(12), chunk="chunk {}"
            )
    return folder


def test_labels_of_a_training_set_are_those_of_its_folders(tmp_path):
    subjects = read_erisk(training_set(tmp_path))
    assert [(subject.id, subject.label) for subject in subjects] == [
        ("train_subject_negative", "negative"),
        ("train_subject_positive", "positive"),
    ]
    assert subjects[0].chunks == (1,) * 9 + (3,)


def test_whole_histories_are_read_without_chunks(tmp_path):
    first, _ = read_erisk(training_set(tmp_path, chunked=False))
    assert len(first.posts) == 5
    assert first.chunks is None


def test_truth_that_contradicts_the_folders_is_refused(tmp_path):
    training_set(tmp_path)
    truth = "train_subject_negative 1\ntrain_subject_positive 1\n"
    write(tmp_path / "risk_golden_truth.txt", truth)
    refuses(tmp_path, "train_subject_negative is positive, but among the negative files")


def test_a_training_set_needs_both_labels(tmp_path):
    write_chunks(tmp_path / "positive_examples", "subject1", texts(12))
    refuses(tmp_path, "negative examples are missing")


def test_only_one_label_in_chunks_is_rejected(tmp_path):
    write_chunks(tmp_path / "positive_examples", "subject1", texts(12))
    write(tmp_path / "negative_examples" / "subject2.xml", individual("subject2", "a"))
    refuses(tmp_path, "only the examples of one label are in chunks")


def test_a_subject_with_both_labels_is_refused(tmp_path):
    for label in ("positive", "negative"):
        write_chunks(tmp_path / f"{label}_examples", "subject1", texts(12))
    refuses(tmp_path, r"subject1_1\.xml: duplicate of the subject in")


def test_cases_of_2022_are_read_and_chosen_by_name(tmp_path):
    for kind, name in (
        ("neg", "train_subject1"),
        ("pos", "test_subject2"),
        ("neg", "test_subject3"),
    ):
        write(tmp_path / "2017_cases" / kind / f"{name}.xml", individual(name, "a", "b"))
    subjects = read_erisk(tmp_path)
    assert [(one.id, one.label) for one in subjects] == [
        ("test_subject2", "positive"),
        ("test_subject3", "negative"),
        ("train_subject1", "negative"),
    ]
    assert [one.id for one in read_erisk(tmp_path, which="train")] == ["train_subject1"]


def test_a_folder_of_files_is_a_collection(tmp_path):
    write(tmp_path / "ann.xml", individual("ann", "Hello.", "Bye."))
    write(tmp_path / "._ann.xml", b"what some systems leave behind")
    write(tmp_path / "readme.txt", "something else")
    write(tmp_path / "risk_golden_truth.txt", "ann 1\n")
    [subject] = read_erisk(tmp_path)
    assert (subject.label, subject.chunks, len(subject.posts)) == ("positive", None, 2)


def test_which_must_name_something_there(tmp_path):
    write(tmp_path / "ann.xml", individual("ann", "Hello."))
    refuses(tmp_path, "contains no file test_", which="test")


def test_a_folder_without_collections_is_an_error(tmp_path):
    refuses(tmp_path, "contains no eRisk collection")
    refuses(tmp_path / "nowhere", "nowhere: no such folder")
    write(tmp_path / "chunk1" / "readme.txt", "no files of subjects")
    refuses(tmp_path, "are missing")


def test_chunks_without_files_are_an_error(tmp_path):
    for number in range(1, 11):
        (tmp_path / f"chunk{number}").mkdir()
    refuses(tmp_path, "contains no files of subjects")


def test_several_collections_need_the_option_which(tmp_path):
    training_set(tmp_path / "2017" / "train")
    write_test_set(tmp_path / "2017" / "test", PEOPLE)
    names = refuses(tmp_path, "several collections \\(choose one\\)")
    assert str(tmp_path / "2017" / "train") in names
    assert len(read_erisk(tmp_path, which="train")) == 2
    assert len(read_erisk(tmp_path, which="test")) == 3


def test_which_must_be_train_or_test(tmp_path):
    with pytest.raises(ValueError, match="which must be one of 'train', 'test'"):
        read_erisk(tmp_path, which=untyped("dev"))


def test_progress_is_called_for_every_subject(the_set):
    seen = []

    def progress(items, total):
        for item in items:
            seen.append((item, total))
            yield item

    read_erisk(the_set, progress=progress)
    assert seen == [("subject2", 3), ("subject7", 3), ("subject10", 3)]


SMALL: dict[str, Any] = {"subjects": 20, "most_writings": 25, "seed": 4}


def by_id(subjects):
    return sorted(subjects, key=lambda subject: subject.id)


@pytest.mark.parametrize("task", ["2017-depression", "2018-anorexia"])
@pytest.mark.parametrize("which", ["train", "test"])
def test_made_collection_round_trip(tmp_path, task, which):
    make_collection(tmp_path / "made", task, **SMALL)
    found = read_erisk(tmp_path / "made", which=which)
    assert by_id(found) == by_id(make_subjects(task, which, **SMALL))


def test_all_three_sets_of_2018_are_read(tmp_path):
    make_collection(tmp_path / "made", "2018-depression", **SMALL)
    found = [read_collection(one) for one in find_collections(tmp_path / "made")]
    sizes = [len(subjects) for subjects in found]
    assert (len(found), sum(sizes)) == (3, SMALL["subjects"])
    everybody = [
        one
        for which in ("train", "test")
        for one in make_subjects("2018-depression", which, **SMALL)
    ]
    assert by_id(one for subjects in found for one in subjects) == by_id(everybody)


def test_made_cases_of_2022_are_read(tmp_path):
    make_collection(tmp_path / "made", "2018-depression", **SMALL, release="2022")
    first, second = find_collections(tmp_path / "made")
    assert re.fullmatch("201[78]_cases", first.path.name)
    test = [
        (one.id, one.label, one.posts)
        for one in by_id(make_subjects("2018-depression", "test", **SMALL))
    ]
    assert [(one.id, one.label, one.posts) for one in by_id(read_collection(second))] == test
