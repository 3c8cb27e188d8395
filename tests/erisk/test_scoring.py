"""The official measures of runs of any team, from files by chunk and from logs of rounds."""

import csv
import io
import json
import math

import numpy as np
import pytest

from erisk_files import write
from watchword.erisk import (
    ChunkDecision,
    CollectionWarning,
    RoundRun,
    RunIntervals,
    read_runs,
    score_runs,
    write_submissions,
)
from watchword.erisk.scoring import run_interval_lines
from watchword.errors import DataFormatError
from watchword.evaluation.metrics import Interval, randomization_test

TRUTH = {"ann": "positive", "bob": "positive", "cid": "negative", "dee": "negative"}


def log_of(path, rows):
    """Write a log of rounds as JSON lines from rows (nick, decision, score, round)."""
    names = ("nick", "decision", "score", "round", "run")
    return write(
        path, "".join(json.dumps(dict(zip(names, row, strict=False))) + "\n" for row in rows)
    )


def answers(rounds):
    """Return the rows of a log in which ann is alerted in round 2 and cid in round 4."""
    scores = {"ann": 0.9, "bob": 0.2, "cid": 0.7, "dee": 0.1}
    for number in range(rounds):
        for nick, score in scores.items():
            alert = (nick == "ann" and number >= 2) or (nick == "cid" and number == 4)
            yield nick, int(alert), score, number


def scored(path, **options):
    return score_runs(TRUTH, [path], **options).runs[0]


def cost(delay, deadline):
    return 1 - 1 / (1 + math.exp(delay - deadline))


def penalty(delay, p=0.0078):
    return -1 + 2 / (1 + math.exp(-p * (delay - 1)))


def test_measures_of_a_log_equal_the_official_formulas(tmp_path):
    found = scored(log_of(tmp_path / "ours.jsonl", answers(6))).measures
    assert found["precision"] == found["recall"] == found["f1"] == 0.5
    assert found["erde5"] == pytest.approx((cost(3, 5) + 1 + 0.5) / 4)
    assert found["erde50"] == pytest.approx((cost(3, 50) + 1 + 0.5) / 4)
    assert found["latency"] == 3
    assert found["speed"] == pytest.approx(1 - penalty(3))
    assert found["f_latency"] == pytest.approx(0.5 * (1 - penalty(3)))


def test_rankings_equal_the_official_formulas(tmp_path):
    found = scored(log_of(tmp_path / "ours.jsonl", answers(1))).measures
    assert found["precision_at_10_after_1"] == 0.2  # two positives of four subjects
    # ann is first, cid second, bob third: rel₁ + rel₃/log₂3 of the ideal rel₁ + rel₂/log₂2.
    ideal = 1 + 1 / math.log2(2)
    assert found["ndcg_at_10_after_1"] == pytest.approx((1 + 1 / math.log2(3)) / ideal)
    assert found["ndcg_at_100_after_1"] == found["ndcg_at_10_after_1"]


def test_a_ranking_uses_the_latest_score_of_the_first_rounds(tmp_path):
    rows = [("ann", 0, 0.1, 0), ("cid", 0, 0.5, 0), ("dee", 0, 0.4, 0)]
    rows += [("ann", 0, 0.9, 1), ("cid", 0, 0.0, 2)]
    found = scored(log_of(tmp_path / "ours.jsonl", rows), rankings=[1, 2, 3, 4])
    first, second, third = (ranking.ndcg_at_10 for ranking in found.rankings)
    assert first < second == third  # cid stays at 0.5 until round 2; round 4 was not reached


def test_rankings_after_the_last_round_are_left_out(tmp_path):
    found = scored(log_of(tmp_path / "ours.jsonl", answers(99)), rankings=[1, 99, 100])
    assert [ranking.rounds for ranking in found.rankings] == [1, 99]
    assert "ndcg_at_10_after_100" not in found.measures


def test_deadlines_and_the_latency_parameter_can_be_chosen(tmp_path):
    path = log_of(tmp_path / "ours.jsonl", answers(6))
    found = scored(path, deadlines=[5, 30], latency_p=0.0411).measures
    assert found["erde30"] == pytest.approx((cost(3, 30) + 1 + 0.5) / 4)
    assert found["speed"] == pytest.approx(1 - penalty(3, 0.0411))
    assert "erde50" not in found


def test_the_first_alert_is_final_in_any_order_of_lines(tmp_path):
    rows = [("ann", 0, 0.1, 5), ("ann", 1, 0.9, 3), ("ann", 1, 0.9, 2), ("ann", 0, 0.1, 0)]
    [run] = read_runs(log_of(tmp_path / "ours.jsonl", rows))
    assert isinstance(run, RoundRun)
    assert run.alerts == {"ann": 3}


def test_csv_and_json_lines_are_read_alike(tmp_path):
    rows = list(answers(6))
    table = "".join(f"{nick};{decision};{score};{at}\n" for nick, decision, score, at in rows)
    text = write(tmp_path / "theirs.csv", f"nick;decision;score;round\n{table}")
    found = scored(text)
    assert found.measures == scored(log_of(tmp_path / "ours.jsonl", rows)).measures
    assert found.name == "theirs"


def test_a_log_may_hold_several_runs(tmp_path):
    rows = [(*row, run) for run in (0, 1) for row in answers(6)]
    board = score_runs(TRUTH, [log_of(tmp_path / "ours.jsonl", rows)])
    assert [run.name for run in board.runs] == ["ours-0", "ours-1"]
    assert board.runs[0].measures == board.runs[1].measures


def test_subjects_without_answers_are_never_alerted_and_rank_last(tmp_path):
    rows = [row for row in answers(6) if row[0] != "bob"]
    found = scored(log_of(tmp_path / "ours.jsonl", rows))
    assert found.measures["recall"] == 0.5
    assert found.bounds["erde5"].best == pytest.approx((cost(1, 5) + 1) / 4)
    ideal = 1 + 1 / math.log2(2)
    last = 1 / math.log2(4)
    assert found.measures["ndcg_at_10_after_1"] == pytest.approx((1 + last) / ideal)


def test_subjects_outside_the_truth_are_left_out_with_a_warning(tmp_path):
    path = log_of(tmp_path / "ours.jsonl", [*answers(6), ("eve", 1, 5.0, 0)])
    with pytest.warns(CollectionWarning, match="run ours: eve is not in the golden truth"):
        found = scored(path)
    assert found.subjects == 4
    assert found.alerts == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"decision": 1, "score": 0, "round": 0}', 'line 1: "nick" is missing'),
        (
            '{"nick": "a", "decision": 2, "score": 0, "round": 0}',
            '"decision" must be 0, 1 or the name of a class, got 2',
        ),
        ('{"nick": "a", "decision": 1, "round": 0}', '"score" is missing'),
        ('{"nick": "a", "decision": 1, "score": NaN, "round": 0}', "finite number, got nan"),
        ('{"nick": "a", "decision": 1, "score": 0, "round": -1}', "from 0 on, got -1"),
        ('{"nick": "a", "decision": true, "score": 0, "round": 0}', "finite number, got True"),
        ('{"nick": "a", "decision": 1, "score": 0, "round": 1}', "begins with round 1"),
        ("", "is empty: there are no decisions"),
    ],
)
def test_a_wrong_log_is_an_error(tmp_path, line, message):
    with pytest.raises(DataFormatError, match=message):
        read_runs(write(tmp_path / "ours.jsonl", line))


def test_two_scores_of_a_subject_in_one_round_are_an_error(tmp_path):
    rows = [("ann", 0, 0.1, 0), ("ann", 0, 0.1, 0), ("ann", 0, 0.2, 0)]
    with pytest.raises(DataFormatError, match="line 3: duplicate score of 'ann' in round 0"):
        read_runs(log_of(tmp_path / "ours.jsonl", rows))


# Files by chunk

COUNTS = {"ann": 59, "bob": 100, "cid": 20, "dee": 9}
DECISIONS = {
    "ann": ChunkDecision("positive", 3),
    "bob": None,
    "cid": ChunkDecision("positive", 10),
    "dee": ChunkDecision("negative", 1),
}


def test_files_by_chunk_have_the_measures_of_later_years_too(tmp_path):
    write_submissions(tmp_path, DECISIONS, name="ours")
    found = scored(tmp_path, counts=COUNTS)
    assert found.measures["latency"] == 15  # floor(59/10)·3
    assert found.measures["f_latency"] == pytest.approx(0.5 * (1 - penalty(15)))
    assert found.rankings == ()


def test_a_folder_may_hold_several_runs(tmp_path):
    write_submissions(tmp_path, DECISIONS, name="b")
    write_submissions(tmp_path, DECISIONS, name="a")
    board = score_runs(TRUTH, [tmp_path], counts=COUNTS)
    assert [run.name for run in board.runs] == ["a", "b"]


def test_truth_and_counts_are_found_in_the_folder_of_a_test_set(tmp_path):
    write_submissions(tmp_path / "runs", DECISIONS, name="ours")
    numbers = {"positive": 1, "negative": 0}
    lines = "".join(f"{name} {numbers[label]}\n" for name, label in TRUTH.items())
    write(tmp_path / "test" / "risk-golden-truth-test.txt", lines)
    with pytest.raises(DataFormatError, match="run ours: delays in chunks need the number"):
        score_runs(tmp_path / "test", [tmp_path / "runs"])
    lines = "".join(f"{name}\t\t{count}\n" for name, count in COUNTS.items())
    write(tmp_path / "test" / "writings-per-subject-all-test.txt", lines)
    found = score_runs(tmp_path / "test", [tmp_path / "runs"])
    assert found.runs[0].measures == scored(tmp_path / "runs", counts=COUNTS).measures


def test_a_folder_without_a_run_is_an_error(tmp_path):
    with pytest.raises(DataFormatError, match="contains no run"):
        score_runs(TRUTH, [tmp_path], counts=COUNTS)


def test_two_runs_of_one_name_are_an_error(tmp_path):
    path = log_of(tmp_path / "ours.jsonl", answers(6))
    with pytest.raises(DataFormatError, match="two runs are named ours"):
        score_runs(TRUTH, [path, path])


def test_golden_truth_without_a_positive_subject_is_an_error(tmp_path):
    path = log_of(tmp_path / "ours.jsonl", answers(6))
    with pytest.raises(DataFormatError, match="no positive subject"):
        score_runs(dict.fromkeys(TRUTH, "negative"), [path])


# MentalRiskES: classes, accuracy, and means over classes

CLASSES = """Subject,label
ann,anxiety
bob,depression
cid,none
dee,none
"""


def class_log(path):
    """Write a log in which cid is wrongly anxious, and ann's second class does not count."""
    rows = [(nick, "none", 0, 0) for nick in TRUTH]
    rows += [("ann", "anxiety", 1, 1), ("bob", "depression", 1, 3), ("cid", "anxiety", 1, 2)]
    return log_of(path, [*rows, ("ann", "depression", 1, 4)])


def test_classes_are_measured_by_means_over_them(tmp_path):
    truth = write(tmp_path / "gold.csv", CLASSES)
    log = class_log(tmp_path / "ours.jsonl")
    [run] = score_runs(truth, [log], measures="mentalriskes", latency_p=0.0314).runs
    found = run.measures
    assert found["accuracy"] == 0.75
    assert found["macro_precision"] == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert found["macro_recall"] == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert found["macro_f1"] == pytest.approx((2 / 3 + 1 + 2 / 3) / 3)
    assert found["erde30"] == pytest.approx((cost(2, 30) + cost(4, 30) + 0.5) / 4)
    assert found["f_latency"] == pytest.approx(
        0.8 * (1 - (penalty(2, 0.0314) + penalty(4, 0.0314)) / 2)
    )
    assert list(found) == [
        *("accuracy", "macro_precision", "macro_recall", "macro_f1", "erde5", "erde30"),
        *("latency", "speed", "f_latency"),
    ]


def test_two_classes_are_measured_by_means_over_both(tmp_path):
    path = log_of(tmp_path / "ours.jsonl", answers(6))
    found = scored(path, measures="mentalriskes", latency_p=0.0411).measures
    assert found["accuracy"] == found["macro_f1"] == 0.5


def test_intervals_cover_means_over_classes(tmp_path):
    truth = write(tmp_path / "gold.csv", CLASSES)
    log = class_log(tmp_path / "ours.jsonl")
    board = score_runs(truth, [log], measures="mentalriskes", latency_p=0.0314)
    found = board.intervals(repeats=50)[0].intervals
    assert found["macro_f1"].low < found["macro_f1"].value == board.runs[0].measures["macro_f1"]
    assert "macro $F_1$" in board.to_latex()


def test_the_latency_parameter_of_mentalriskes_must_be_given(tmp_path):
    path = log_of(tmp_path / "ours.jsonl", answers(6))
    with pytest.raises(
        ValueError,
        match=r"latency_p is required for MentalRiskES: 0\.0411.* 0\.0199 \(2024, task 3\)",
    ):
        scored(path, measures="mentalriskes")


def test_a_class_outside_the_truth_counts_as_a_further_class(tmp_path):
    truth = write(tmp_path / "gold.csv", CLASSES)
    rows = [("ann", "anxiety", 1, 0), ("bob", "depresion", 1, 0)]
    log = log_of(tmp_path / "ours.jsonl", [*rows, ("cid", 0, 0, 0), ("dee", 0, 0, 0)])
    with pytest.warns(CollectionWarning, match="ours: depresion is not a class of the golden"):
        board = score_runs(truth, [log], measures="mentalriskes", latency_p=0.0314)
    measures = board.runs[0].measures
    # The means are those of scikit-learn: over anxiety, depression, none and the misspelt class.
    assert measures["accuracy"] == 3 / 4
    assert measures["macro_recall"] == pytest.approx((1 + 0 + 1 + 0) / 4)
    assert measures["macro_f1"] == pytest.approx((1 + 0 + 1 + 0) / 4)
    assert score_runs(truth, [log]).runs[0].measures["recall"] == 1  # without classes, no warning


def test_named_classes_are_positive_for_golden_truth_of_two_classes(tmp_path):
    found = scored(class_log(tmp_path / "ours.jsonl")).measures
    assert (found["precision"], found["recall"]) == (2 / 3, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nick,class\nann,1\n", "with the columns Subject and label, got 'nick,class'"),
        ("Subject,label\nann,1\nann,1\n", "line 3: duplicate subject ann"),
        ("Subject,label\nann\n", "line 2: must have a subject and a label"),
        ("Subject,label\n", "contains no subject"),
    ],
)
def test_wrong_golden_truth_with_classes_is_an_error(tmp_path, text, message):
    with pytest.raises(DataFormatError, match=message):
        score_runs(write(tmp_path / "gold.csv", text), [])


# PAN 2012: lists of authors, F₀.₅


def test_lists_of_authors_are_measured_by_f05(tmp_path):
    predators = write(tmp_path / "predators.txt", "ann\nbob\ncid\ndee\n")
    theirs = write(tmp_path / "theirs.txt", "ann\nbob\neve\n")
    [run] = score_runs(predators, [theirs], measures="pan").runs
    assert run.name == "theirs"
    precision, recall = 2 / 3, 1 / 2
    f05 = 1.25 * precision * recall / (0.25 * precision + recall)
    assert run.measures == pytest.approx(
        {"precision": precision, "recall": recall, "f1": 4 / 7, "f05": f05}
    )


def test_logs_have_f05_too(tmp_path):
    found = scored(log_of(tmp_path / "ours.txt", answers(6)), measures="pan").measures
    assert found["f05"] == 0.5


def test_a_list_with_two_ids_in_a_line_is_an_error(tmp_path):
    path = write(tmp_path / "theirs.txt", "ann\nbob eve\n")
    with pytest.raises(DataFormatError, match="line 2: must be an id, got 'bob eve'"):
        scored(path, measures="pan")


# Several runs

PEOPLE = {f"s{at:02}": "positive" if at < 10 else "negative" for at in range(40)}


def made(name, delay):
    """Return a run that alerts for exactly the positives, after `delay` rounds."""
    alerts = {one: delay for one, label in PEOPLE.items() if label == "positive"}
    scores = {one: float(one in alerts) for one in PEOPLE}
    return RoundRun(name, delay, frozenset(PEOPLE), alerts, {1: scores})


BOARD = score_runs(PEOPLE, [made("soon", 1), made("late", 9), made("late & later_1", 90)])


def test_differences_are_paired():
    late, later = BOARD.differences(repeats=50)
    assert (late.name, late.baseline, later.baseline) == ("late", "soon", "soon")
    erde5 = late.intervals["erde5"]
    assert erde5.value == pytest.approx(
        BOARD.runs[1].measures["erde5"] - BOARD.runs[0].measures["erde5"]
    )
    assert 0 < erde5.low < erde5.value < erde5.high
    # Resamples change neither median, so the paired difference has no spread.
    latency = late.intervals["latency"]
    assert (latency.low, latency.value, latency.high) == (8, 8, 8)


def test_p_values_are_small_where_runs_differ_for_every_positive():
    found = BOARD.p_values(repeats=200)
    assert list(found) == ["late", "late & later_1"]
    assert found["late"]["erde5"] < 0.01
    assert found["late"]["f1"] == 1.0  # both runs alert for the same subjects
    assert not {"latency", "speed", "ndcg_at_10_after_1"} & found["late"].keys()


def test_a_p_value_is_the_share_of_exchanges_with_a_difference_as_large():
    # Two runs differ about one positive and one negative subject: by ERDE both ways, exchanging
    # one of the two decisions gives another difference, exchanging both the same one.
    truth = {"ann": "positive", "bob": "negative", "cid": "negative"}
    everyone = frozenset(truth)
    right = RoundRun("right", 1, everyone, {"ann": 1}, {})
    wrong = RoundRun("wrong", 1, everyone, {"bob": 1}, {})
    board = score_runs(truth, [right, wrong])
    assert board.p_values(repeats=4000)["wrong"]["erde50"] == pytest.approx(0.5, abs=0.03)


def test_rounding_errors_are_neither_starred_nor_significant():
    rounding = Interval(3e-17, 1e-17, 5e-17, 0)
    [line] = [
        line
        for line in run_interval_lines([RunIntervals("late", "soon", {"f1": rounding})])
        if line.startswith("F1")
    ]
    assert "*" not in line
    assert Interval(0.1, 1e-3, 0.2, 0).excludes_zero

    def noise(_truth, values):
        return float(values.sum())

    truth, values = np.arange(20) < 10, np.full(20, 1e-17)
    assert randomization_test(noise, truth, [values], [-values], seed=0, repeats=50) == 1


def test_any_run_can_be_the_baseline():
    found = BOARD.differences("late", repeats=5)
    assert [one.name for one in found] == ["soon", "late & later_1"]
    with pytest.raises(ValueError, match="baseline must be one of soon, late"):
        BOARD.differences("nobody")


def test_intervals_contain_the_value_and_cover_rankings():
    found = BOARD.intervals(repeats=50)[1].intervals
    assert list(found) == list(BOARD.runs[1].measures)
    assert found["erde5"].low < found["erde5"].value < found["erde5"].high
    assert found["precision_at_10_after_1"].value == 1


def test_measures_of_one_run_only_are_not_compared():
    other = RoundRun("silent", 1, frozenset(PEOPLE), {}, {})
    board = score_runs(PEOPLE, [made("soon", 1), other])
    [found] = board.differences(repeats=5)
    assert "ndcg_at_10_after_1" not in found.intervals
    assert board.runs[1].measures["latency"] is None
    assert "–" in str(board)


def test_the_table_has_a_row_per_run_and_the_bounds():
    lines = str(BOARD).splitlines()
    assert lines[0] == "40 subjects, 10 positive"
    assert [line.split()[0] for line in lines[2:6]] == ["run", "soon", "late", "late"]
    assert lines[6].startswith("(never alerting)")
    assert lines[6].split()[2:] == ["25.00", "25.00"]
    assert lines[7].startswith("(alerting everyone at once)")
    assert lines[8].startswith("(best possible)")
    assert lines[10].split() == ["run", "after", "rounds", "P@10", "NDCG@10", "NDCG@100"]


def test_csv_has_a_row_per_run():
    rows = list(csv.DictReader(io.StringIO(BOARD.to_csv())))
    assert [row["name"] for row in rows] == ["soon", "late", "late & later_1"]
    assert float(rows[1]["erde5"]) == BOARD.runs[1].measures["erde5"]
    assert float(rows[1]["ndcg_at_100_after_1"]) == 1.0


def test_latex_is_escaped_and_the_best_value_bold():
    found = BOARD.to_latex()
    assert r"late \& later\_1 & " in found
    assert r"ERDE$_{5}$ (\%)" in found
    soon = next(line for line in found.splitlines() if line.startswith("soon & "))
    assert r"\textbf{0.45}" in soon  # ERDE5 of 10/40 · lc₅(1), lower is better
    assert found.count(r"\begin{tabular}") == found.count(r"\end{tabular}") == 2


def test_latex_and_csv_have_the_intervals_that_they_are_given():
    own, between = BOARD.intervals(repeats=50), BOARD.differences(repeats=50)
    found = BOARD.to_latex(own, between)
    assert found.count(r"\begin{tabular}") == 4
    erde5 = own[0].intervals["erde5"]
    cell = f"{100 * erde5.value:.2f} [{100 * erde5.low:.2f}, {100 * erde5.high:.2f}]"
    assert rf"ERDE5 \% & {cell} & " in found
    assert r"latency & +8.0 [+8.0, +8.0]* & " in found
    [row, *_] = csv.DictReader(io.StringIO(BOARD.to_csv(own)))
    assert (float(row["erde5_low"]), float(row["erde5_high"])) == (erde5.low, erde5.high)
