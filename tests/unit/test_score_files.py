"""Scores of posts read from JSON lines."""

import gzip
import json

import pytest

from watchword.errors import DataFormatError
from watchword.evaluation import read_scores


def lines_of(*rows):
    """Return JSON lines of rows (subject, seq, score) or (subject, seq, score, label)."""
    names = ("subject", "seq", "score", "label")
    return [json.dumps(dict(zip(names, row, strict=False))) for row in rows]


GOOD = lines_of(("ann", 1, 0.25, "at risk"), ("bob", 1, 1, "control"), ("ann", 2, 0.75))


def test_posts_of_a_subject_are_ordered_by_number():
    shuffled = lines_of(("ann", 3, 0.3), ("bob", 1, 0.5), ("ann", 1, 0.1), ("ann", 2, 0.2))
    scores = read_scores(shuffled, positive="at risk", combine="last")
    assert scores.subjects == ("ann", "bob")
    assert [series.value.tolist() for series in scores.series] == [[0.1, 0.2, 0.3], [0.5]]
    assert scores.totals.tolist() == [3, 1]


def test_labels_of_subjects_may_be_on_any_line():
    rows = lines_of(("ann", 0, 0.5), ("ann", 1, 0.5, 1), ("bob", 0, 0.5, 0), ("cyd", 0, 0.5))
    assert read_scores(rows, positive=1).truth == (1, 0, None)


def test_posts_may_be_numbered_from_zero():
    scores = read_scores(lines_of(("ann", 0, 0.1), ("ann", 1, 0.2)), positive=1, combine="last")
    assert scores.series[0].value.tolist() == [0.1, 0.2]


def test_compressed_files_are_read(tmp_path):
    path = tmp_path / "scores.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(GOOD).encode()))
    assert read_scores(path, positive="at risk").series[0].value.tolist() == [0.25, 0.5]


def test_blank_lines_are_ignored():
    assert read_scores([*GOOD[:1], "", *GOOD[1:]], positive="at risk").subjects == ("ann", "bob")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"subject": "ann", "seq": 2', "not JSON"),
        ('["ann", 2, 0.5]', "expected an object"),
        ('{"seq": 2, "score": 0.5}', '"subject" is missing'),
        ('{"subject": "ann", "score": 0.5}', '"seq" is missing'),
        ('{"subject": "ann", "seq": 2}', '"score" is missing'),
        ('{"subject": "ann", "seq": "2", "score": 0.5}', '"seq" must be a whole number'),
        ('{"subject": "ann", "seq": -1, "score": 0.5}', '"seq" must be a whole number'),
        ('{"subject": "ann", "seq": 1.5, "score": 0.5}', '"seq" must be a whole number'),
        ('{"subject": "ann", "seq": true, "score": 0.5}', '"seq" must be a whole number'),
        ('{"subject": "ann", "seq": 2, "score": "high"}', '"score" must be a number from 0 to 1'),
        ('{"subject": "ann", "seq": 2, "score": true}', '"score" must be a number from 0 to 1'),
        ('{"subject": "ann", "seq": 2, "score": NaN}', '"score" must be a number from 0 to 1'),
        ('{"subject": "ann", "seq": 2, "score": -2.5}', "through the logistic function"),
        ('{"subject": "ann", "seq": 2, "score": 1.01}', "through the logistic function"),
        ('{"subject": "ann", "seq": 2, "score": 1, "label": 2.5}', "a label must be text or"),
        ('{"subject": "ann", "seq": 1, "score": 0.5}', "duplicate post 1 .*'ann', also on line 1"),
        (
            '{"subject": "ann", "seq": 2, "score": 0.5, "label": "control"}',
            "'ann' has the label 'control' here and 'at risk' on line 1",
        ),
    ],
)
def test_a_bad_line_is_named_by_its_number(line, message):
    with pytest.raises(DataFormatError, match=f"line 2: .*{message}"):
        read_scores([GOOD[0], line], positive="at risk")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("ann", 1, 0.5), ("ann", 3, 0.5)], "'ann' has no post 2, though it has a post 3"),
        ([("ann", 0, 0.5), ("bob", 1, 0.5)], "'bob' has no post 0, though it has a post 1"),
        ([("ann", 7, 0.5), ("ann", 8, 0.5)], "'ann' has no post 1, though it has a post 8"),
    ],
)
def test_a_gap_in_the_numbers_of_posts_is_an_error(rows, message):
    with pytest.raises(DataFormatError, match=message):
        read_scores(lines_of(*rows), positive="at risk")


def test_a_file_without_lines_is_an_error():
    with pytest.raises(DataFormatError, match="there are no scores in it"):
        read_scores([], positive="at risk")
