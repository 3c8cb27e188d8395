"""Submissions by chunk: ten files, written, read, and scored like the official scripts."""

import contextlib
import math

import pytest

from erisk_files import write
from watchword.erisk import (
    ChunkDecision,
    ChunkRun,
    CollectionWarning,
    read_counts,
    read_submissions,
    read_truth,
    score_runs,
    write_submissions,
)
from watchword.errors import DataFormatError

DECISIONS = {
    "ann": ChunkDecision("positive", 1),
    "bob": ChunkDecision("positive", 10),
    "cid": None,
    "dee": ChunkDecision("negative", 4),
}


def cost(delay, deadline):
    return 1 - 1 / (1 + math.exp(delay - deadline))


def test_ten_files_have_a_line_per_subject(tmp_path):
    files = write_submissions(tmp_path / "new" / "folder", DECISIONS, name="OURS-A")
    assert [path.name for path in files] == [f"OURS-A_{chunk}.txt" for chunk in range(1, 11)]
    assert files[0].read_bytes() == b"ann\t\t1\nbob\t\t0\ncid\t\t0\ndee\t\t0\n"


def test_a_decision_is_repeated_in_all_later_files(tmp_path):
    files = write_submissions(tmp_path, DECISIONS)
    rows = [[line[-1] for line in path.read_text().splitlines()] for path in files]
    ann, bob, cid, dee = ("".join(column) for column in zip(*rows, strict=True))
    assert ann == "1111111111"
    assert bob == "0000000001"
    assert dee == "0002222222"
    assert cid == "0000000002"  # no alert is a negative decision, given at the end


def test_submission_round_trip(tmp_path):
    write_submissions(tmp_path, DECISIONS, name="ours")
    ended = DECISIONS | {"cid": ChunkDecision("negative", 10)}
    assert read_submissions(tmp_path) == ("ours", ended)


@pytest.mark.parametrize("name", ["", "a/b", "../up", "a b", "a\n"])
def test_the_name_of_a_run_must_fit_a_file_name(tmp_path, name):
    with pytest.raises(ValueError, match="name must be"):
        write_submissions(tmp_path, DECISIONS, name=name)


def test_the_first_decision_is_final(tmp_path):
    for chunk in range(1, 11):
        value = {3: 1, 4: 2, 5: 0}.get(chunk, 0)
        write(tmp_path / f"THEIRS_{chunk}.txt", f"ann {value}\n\n")
    assert read_submissions(tmp_path)[1] == {"ann": ChunkDecision("positive", 3)}


def test_a_subject_without_a_decision_is_negative(tmp_path):
    for chunk in range(1, 11):
        write(tmp_path / f"THEIRS_{chunk}.txt", "ann 0\nbob 0\n")
    truth, counts = {"ann": "positive", "bob": "negative"}, {"ann": 20, "bob": 20}
    [score] = score_runs(truth, [tmp_path], counts=counts).runs
    assert (score.measures["erde5"], score.measures["recall"]) == (0.5, 0.0)


def scored(decisions, labels, counts):
    truth = {name: "positive" if label else "negative" for name, label in labels.items()}
    [score] = score_runs(truth, [ChunkRun("ours", decisions)], counts=counts).runs
    return score


@pytest.mark.parametrize(
    ("posts", "chunk", "delay"),
    [
        (9, 1, 0),
        (9, 9, 0),
        (9, 10, 9),
        (10, 3, 3),
        (19, 3, 3),
        (19, 9, 9),
        (19, 10, 19),
        (57, 1, 5),
    ],
)
def test_the_delay_follows_the_official_rule(posts, chunk, delay):
    decisions = {"ann": ChunkDecision("positive", chunk), "bob": None}
    score = scored(decisions, {"ann": 1, "bob": 0}, {"ann": posts, "bob": 30})
    assert score.measures["erde5"] == pytest.approx(cost(delay, 5) / 2)
    assert score.measures["erde50"] == pytest.approx(cost(delay, 50) / 2)


def test_a_false_alarm_costs_the_share_of_positives():
    decisions = dict.fromkeys("abcd") | {"d": ChunkDecision("positive", 2)}
    score = scored(decisions, {"a": 1, "b": 0, "c": 0, "d": 0}, dict.fromkeys("abcd", 30))
    assert score.measures["erde5"] == pytest.approx((1 + 0.25) / 4)


def test_bounds_are_never_alerting_and_all_positives_after_the_first_chunk():
    labels, counts = {"a": 1, "b": 1, "c": 0, "d": 0}, {"a": 9, "b": 84, "c": 50, "d": 50}
    score = scored(dict.fromkeys("abcd"), labels, counts)
    assert score.bounds["erde5"].never == score.measures["erde5"] == 0.5
    assert score.bounds["erde5"].best == pytest.approx((cost(0, 5) + cost(8, 5)) / 4)
    assert score.bounds["erde50"].best == pytest.approx((cost(0, 50) + cost(8, 50)) / 4)


def test_precision_recall_and_f1_are_of_the_positive_label():
    decisions = dict.fromkeys("abcde")
    decisions |= {name: ChunkDecision("positive", 1) for name in "acd"}
    score = scored(decisions, {"a": 1, "b": 1, "c": 0, "d": 0, "e": 0}, dict.fromkeys("abcde", 30))
    assert score.measures["precision"] == pytest.approx(1 / 3)
    assert (score.measures["recall"], score.measures["f1"]) == (0.5, 0.4)


def test_the_order_of_subjects_does_not_matter():
    labels, counts = {"a": 1, "b": 0, "c": 1}, {"c": 30, "a": 90, "b": 11}
    decisions = {"b": None, "c": ChunkDecision("positive", 1), "a": None}
    again = dict(sorted(decisions.items()))
    assert scored(decisions, labels, counts) == scored(again, labels, counts)


def test_truth_and_counts_are_read_from_their_files(tmp_path):
    write_submissions(tmp_path, DECISIONS)
    truth = write(tmp_path / "truth.txt", "dee 0\nann\t1\nbob\t\t1\ncid  0\n\n")
    counts = write(tmp_path / "counts.txt", "ann\t\t30\nbob\t\t40\ncid\t\t9\ndee\t\t2000\n")
    [score] = score_runs(truth, [tmp_path], counts=counts).runs
    runs = [ChunkRun("watchword", DECISIONS)]
    assert [score] == list(score_runs(read_truth(truth), runs, counts=read_counts(counts)).runs)
    assert (score.name, score.subjects, score.positives) == ("watchword", 4, 2)


@pytest.fixture
def run(tmp_path):
    write_submissions(tmp_path, DECISIONS, name="ours")
    return tmp_path


def test_missing_files_are_named(run):
    (run / "ours_7.txt").unlink()
    with pytest.raises(DataFormatError, match=r"ours_7\.txt is missing"):
        read_submissions(run)


def test_several_runs_are_ambiguous(run):
    write_submissions(run, {"ann": None}, name="theirs")
    with pytest.raises(DataFormatError, match="several runs \\(choose one\\): ours, theirs"):
        read_submissions(run)
    assert read_submissions(run, name="ours")[1]["ann"] == DECISIONS["ann"]


def test_an_unknown_run_is_an_error(tmp_path):
    with pytest.raises(DataFormatError, match=r"NAME_1\.txt, .* and 5 more are missing"):
        read_submissions(tmp_path)
    with pytest.raises(DataFormatError, match="no such folder"):
        read_submissions(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ann 1\nbob 3\n", r"ours_2\.txt, line 2: must be 0, 1 or 2, got '3'"),
        ("ann 1\nann 1\n", r"ours_2\.txt, line 2: duplicate subject ann"),
        ("ann 1\nbob 0\ncid 0\n", r"ours_2\.txt: dee is missing, but in .*ours_1\.txt"),
        ("ann 1\nbob 0\ncid 0\ndee 0\neve 0\n", r"ours_2\.txt: eve is not in .*ours_1\.txt"),
    ],
)
def test_a_bad_file_is_named(run, content, message):
    write(run / "ours_2.txt", content)
    with pytest.raises(DataFormatError, match=message):
        read_submissions(run)


def test_a_run_must_have_the_subjects_of_the_truth_and_the_counts(run):
    truth = {"ann": "positive", "bob": "negative", "cid": "negative", "dee": "negative"}
    counts = dict.fromkeys(truth, 30)
    with pytest.raises(DataFormatError, match="eve is missing, but in the golden truth"):
        score_runs(truth | {"eve": "negative"}, [run], counts=counts | {"eve": 30})
    with pytest.raises(DataFormatError, match="ann is not in the counts"):
        score_runs(truth, [run], counts=dict.fromkeys(["bob", "cid", "dee"], 30))


@pytest.mark.parametrize("named", [(), ("run",), ("counts",), ("run", "counts")])
def test_truth_subjects_without_writings_count_as_never_alerted(tmp_path, named):
    truth = {"ann": "positive", "bob": "negative", "cid": "negative", "eve": "positive"}
    counts = {"ann": 30, "bob": 30, "cid": 30} | ({"eve": 0} if "counts" in named else {})
    decisions = {"ann": ChunkDecision("positive", 1), "bob": None, "cid": None}
    write_submissions(tmp_path, decisions | ({"eve": None} if "run" in named else {}))
    with contextlib.ExitStack() as stack:
        if len(named) < 2:
            message = "eve is in the golden truth, but without writings"
            stack.enter_context(pytest.warns(CollectionWarning, match=message))
        [score] = score_runs(truth, [tmp_path], counts=counts).runs
    assert (score.subjects, score.positives, score.measures["recall"]) == (4, 2, 0.5)
    assert score.measures["erde50"] == pytest.approx((cost(3, 50) + 1) / 4)
    assert score.bounds["erde50"].never == 0.5
    assert score.bounds["erde50"].best == score.measures["erde50"]


def test_hidden_files_are_ignored(tmp_path):
    write_submissions(tmp_path, DECISIONS, name="ours")
    for chunk in range(1, 11):
        write(tmp_path / f"._ours_{chunk}.txt", b"\0\5\x16\7")
    assert read_submissions(tmp_path)[0] == "ours"
