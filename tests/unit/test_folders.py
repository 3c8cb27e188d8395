"""Subjects from folders of texts."""

import pytest

from data_files import ANN, HELLO, failure, saved, texts
from untyped import untyped
from watchword.data import Post, Subject, read_folder, read_texts


def test_a_file_of_a_label_is_a_subject_with_one_post_per_line(tmp_path):
    saved(tmp_path, "\ufeffHello.\r\n\r\n  Good night. \n", "at risk/ann.txt")
    saved(tmp_path, "", "control/bob.TXT")
    expected = [
        Subject("ann", [Post("Hello."), Post("Good night.")], "at risk"),
        Subject("bob", [], "control"),
    ]
    assert read_folder(tmp_path) == read_folder(str(tmp_path)) == expected


def test_posts_of_a_file_may_be_paragraphs(tmp_path):
    saved(tmp_path, "\n\nOne,\ntwo.\n \t\nThree.", "control/ann.txt")
    [subject] = read_folder(tmp_path, posts="blank_lines")
    assert texts(subject) == ["One,\ntwo.", "Three."]


def test_unknown_ways_to_split_posts_are_refused(tmp_path):
    with pytest.raises(ValueError, match="posts must be one of 'lines', 'blank_lines'"):
        read_folder(tmp_path, posts=untyped("pages"))


def test_a_folder_of_a_label_is_a_subject_with_one_post_per_file(tmp_path):
    for name in ("10", "9", "1b", "1a", "0009"):
        saved(tmp_path, f"Post {name},\nas it is.\n", f"control/ann/{name}.txt")
    [subject] = read_folder(tmp_path)
    assert [post.id for post in subject.posts] == ["1a", "1b", "0009", "9", "10"]
    assert subject.posts[0].text == "Post 1a,\nas it is."


def test_subjects_come_in_the_natural_order_of_labels_and_names(tmp_path):
    for name in ("c/subject10", "c/subject9", "B/subject8", "a/x"):
        saved(tmp_path, "Hello.", f"{name}.txt")
    assert [one.id for one in read_folder(tmp_path)] == ["x", "subject8", "subject9", "subject10"]


def test_without_folders_of_labels_files_are_subjects_without_label(tmp_path):
    saved(tmp_path, "Hello.", "ann.txt")
    assert read_folder(tmp_path) == [ANN]


def test_hidden_files_and_other_types_are_not_read(tmp_path):
    for name in (
        "README.txt",
        ".git/a.txt",
        "__MACOSX/control/._ann.txt",
        "__MACOSX/ann.txt",
        "control/__MACOSX/ann.txt",
        "control/.ann.txt",
        "control/ann.xml",
        ".hidden.txt",
    ):
        saved(tmp_path, "Hello.", name)
    saved(tmp_path, "Hello.", "control/bob.txt")
    assert [subject.id for subject in read_folder(tmp_path)] == ["bob"]


@pytest.mark.parametrize("other", ["at risk/ann.txt", "control/ann/1.txt"])
def test_a_subject_in_two_places_is_an_error(tmp_path, other):
    saved(tmp_path, "Hello.", "control/ann.txt")
    saved(tmp_path, "Hello.", other)
    assert "duplicate subject 'ann'" in failure(read_folder, tmp_path)
    assert len(read_folder(tmp_path, bad_lines="skip")) == 1


def test_a_bad_line_of_a_file_is_reported_with_its_number(tmp_path):
    path = saved(tmp_path, b"Hello.\ncaf\xe9\nGood night.", "control/ann.txt")
    assert failure(read_folder, tmp_path).startswith(f"{path}, line 2: not UTF-8")
    told = []
    [subject] = read_folder(tmp_path, bad_lines="skip", on_bad_line=told.append)
    assert texts(subject) == ["Hello.", "Good night."]
    assert len(told) == 1


def test_a_paragraph_with_a_bad_line_is_left_out_whole(tmp_path):
    saved(tmp_path, b"One,\n\xff\ntwo.\n\nThree.", "control/ann.txt")
    [subject] = read_folder(tmp_path, posts="blank_lines", bad_lines="skip")
    assert texts(subject) == ["Three."]


def test_an_unreadable_post_is_reported_with_its_file(tmp_path):
    saved(tmp_path, "Hello.", "control/ann/1.txt")
    path = saved(tmp_path, b"\xff", "control/ann/2.txt")
    assert failure(read_folder, tmp_path).startswith(f"{path}: not UTF-8")
    assert texts(read_folder(tmp_path, bad_lines="skip")[0]) == ["Hello."]


def test_folders_inside_of_subjects_are_an_error(tmp_path):
    saved(tmp_path, "Hello.", "control/ann/deep/1.txt")
    assert "expected a .txt file, found a folder" in failure(read_folder, tmp_path)


@pytest.mark.parametrize("read", [read_folder, read_texts])
def test_a_folder_without_texts_is_an_error(tmp_path, read):
    saved(tmp_path, "Hello.", "control/ann.doc")
    assert f"{tmp_path} is empty" in failure(read, tmp_path)


def test_a_file_is_not_a_folder(tmp_path):
    assert "is a file, not a folder" in failure(read_folder, saved(tmp_path, HELLO))
