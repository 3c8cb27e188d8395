"""Documents to learn or to classify, from files of any kind."""

import pytest

from data_files import failure, line, saved
from watchword.data import Document, read_subjects, read_texts


def test_documents_are_lines_of_json(tmp_path):
    lines = '{"text": "a", "label": "x", "id": 1}\n{"text": "b", "label": 2}\n{"text": "c"}'
    expected = [Document("a", "x", "1"), Document("b", 2), Document("c")]
    assert read_texts(saved(tmp_path, lines)) == expected


def test_documents_are_rows_of_a_table(tmp_path):
    path = saved(tmp_path, 'label;text;id\nx;"a\nb";7\n;c;\n', "texts.csv")
    assert read_texts(path) == [Document("a\nb", "x", "7"), Document("c")]


def test_a_table_of_documents_may_have_a_single_column():
    assert read_texts(["text", "a", '"b,c"'], kind="csv") == [Document("a"), Document("b,c")]


def test_documents_are_files_in_folders_of_labels(tmp_path):
    saved(tmp_path, "One\n\ntwo.\n", "x/10.txt")
    saved(tmp_path, "Three.", "x/9.txt")
    saved(tmp_path, "Four.", "y/1.txt")
    expected = [("Three.", "x", "9"), ("One\n\ntwo.", "x", "10"), ("Four.", "y", "1")]
    assert read_texts(tmp_path) == [Document(*one) for one in expected]


def test_documents_without_folders_of_labels_have_none(tmp_path):
    saved(tmp_path, "Hello.", "a.txt")
    assert read_texts(tmp_path) == [Document("Hello.", id="a")]


def test_fields_of_documents_can_be_renamed():
    lines = ['{"body": "a", "class": "x", "key": "k"}']
    assert read_texts(lines, text="body", label="class", id="key") == [Document("a", "x", "k")]


def test_posts_of_subjects_are_documents_too():
    assert read_texts([line(label="x", post_id="p")]) == [Document("Hello.", "x", "p")]


@pytest.mark.parametrize("bad", ['{"label": "x"}', '{"text": null}', '{"text": "a", "label": {}}'])
def test_bad_documents_are_reported_with_their_line_or_skipped(bad):
    told = []
    lines = ['{"text": "a"}', bad]
    assert failure(read_texts, lines).startswith("input, line 2: ")
    assert read_texts(lines, bad_lines="skip", on_bad_line=told.append) == [Document("a")]
    assert len(told) == 1


def test_bad_files_among_documents_are_reported_or_skipped(tmp_path):
    saved(tmp_path, b"\xff", "x/1.txt")
    saved(tmp_path, "deep", "x/folder/1.txt")
    saved(tmp_path, "Hello.", "x/2.txt")
    assert "1.txt: not UTF-8" in failure(read_texts, tmp_path)
    told = []
    found = read_texts(tmp_path, bad_lines="skip", on_bad_line=told.append)
    assert found == [Document("Hello.", "x", "2")]
    assert len(told) == 2


def test_only_a_path_is_a_folder():
    with pytest.raises(TypeError, match="path of a folder"):
        read_texts([], kind="folder")


def test_files_named_after_labels_have_a_document_per_line(tmp_path):
    saved(tmp_path, "the match\n\n  a goal \r\n", "sports.txt")
    saved(tmp_path, "a chip", "tech.txt")
    saved(tmp_path, "not read", "notes.md")
    assert read_texts(tmp_path, kind="label_files") == [
        Document("the match", "sports"),
        Document("a goal", "sports"),
        Document("a chip", "tech"),
    ]


def test_bad_lines_of_label_files_are_reported_or_skipped(tmp_path):
    saved(tmp_path, b"good\n\xff\n", "x.txt")
    saved(tmp_path, "deep", "y/1.txt")
    assert "x.txt, line 2: not UTF-8" in failure(
        lambda path: read_texts(path, kind="label_files"), tmp_path
    )
    told = []
    found = read_texts(tmp_path, kind="label_files", bad_lines="skip", on_bad_line=told.append)
    assert found == [Document("good", "x")]
    assert len(told) == 2


def test_label_files_have_no_subjects(tmp_path):
    with pytest.raises(ValueError, match="call read_texts"):
        read_subjects(tmp_path, kind="label_files")


# Several labels


def test_several_labels_are_an_array():
    lines = ['{"text": "a", "labels": ["x", "y", "x"]}', '{"text": "b", "label": ["y"]}']
    assert read_texts(lines) == [Document("a", ("x", "y")), Document("b", ("y",))]


def test_several_labels_are_text_with_a_separator(tmp_path):
    path = saved(tmp_path, "text,label\na,x; y\nb,y\nc,\n", "texts.csv")
    expected = [Document("a", ("x", "y")), Document("b", ("y",)), Document("c")]
    assert read_texts(path, label_separator=";") == expected


def test_a_separator_must_not_be_empty():
    with pytest.raises(ValueError, match="label_separator must be text"):
        read_texts(["text,label", "a,b"], kind="csv", label_separator="")


def test_each_of_several_labels_is_checked():
    assert "a label must be text" in failure(read_texts, ['{"text": "a", "labels": ["x", 1.5]}'])
