"""Texts with several labels on the command line."""

import json

import pytest

from command_line import failure, records

TOPICS = [
    ("a fast goal and a fast chip", ["sports", "tech"]),
    ("the match was lost, a late goal", ["sports"]),
    ("a new chip, a new laptop", ["tech"]),
    ("bread and butter", ["food"]),
    ("a match of chips and laptops", ["sports", "tech"]),
    ("fresh bread", ["food"]),
] * 4


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"text": text, "labels": labels}) for text, labels in TOPICS]
    (tmp_path / "topics.jsonl").write_text("\n".join(lines) + "\n")
    rows = [f'"{text}",{"|".join(labels)}' for text, labels in TOPICS]
    (tmp_path / "topics.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    return tmp_path


def test_train_counts_a_text_as_a_document_of_each_label():
    [found] = records("train", "topics.jsonl", "-o", "model.ww")
    assert found["learnt"] == 24
    assert found["documents"] == {"food": 8, "sports": 12, "tech": 12}


def test_a_table_has_several_labels_in_a_cell(here):
    records("train", "topics.jsonl", "-o", "a.ww")
    records("train", "topics.csv", "--label-separator", "|", "-o", "b.ww")
    assert (here / "a.ww").read_bytes() == (here / "b.ww").read_bytes()


@pytest.mark.parametrize("command", ["validate", "evaluate"])
def test_several_labels_are_evaluated(command):
    arguments = ["topics.jsonl"]
    if command == "evaluate":
        records("train", "topics.jsonl", "-o", "model.ww")
        arguments = ["model.ww", "topics.jsonl"]
    [found] = records(command, *arguments)
    assert found["exact_match"] > 0.5
    assert 0 <= found["hamming"] < 0.3
    assert {one["label"] for one in found["labels"]} == {"food", "sports", "tech"}


def test_classify_says_how_many_texts_match_exactly():
    records("train", "topics.jsonl", "-o", "model.ww")
    [found] = records("classify", "model.ww", "topics.jsonl", "--accuracy")
    assert found["texts"] == 24
    assert found["exact_match"] > 0.5


def test_search_tries_settings_for_several_labels():
    found = records("search", "topics.jsonl", "--try", "smoothness=0.1,0.5", "--folds", "2")
    assert found


def test_the_page_lists_several_labels():
    records("train", "topics.jsonl", "-o", "model.ww")
    [found] = records("serve", "model.ww", "topics.jsonl", "--get", "/api/documents")
    assert found["total"] == 24
    [first] = [row for row in found["rows"] if row["at"] == 0]
    assert first["truth"] == ["sports", "tech"]
    assert sorted(first["label"]) == ["sports", "tech"]
    assert first["right"]
    assert sum(count for _, _, count in found["cells"]) == 32  # true labels


def test_an_empty_separator_is_refused():
    said = failure("train", "topics.csv", "--label-separator", "", "-o", "model.ww", code=2)
    assert "--label-separator must not be empty" in said
