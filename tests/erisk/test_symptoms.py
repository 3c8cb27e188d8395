"""Symptom ranking: runs and judgements in the forms of TREC, measured by hand."""

import math

import pytest

from command_line import call, failure, records
from erisk_files import write
from watchword.erisk.symptoms import make_rankings, read_judgements, read_ranking, score_ranking
from watchword.errors import DataFormatError

# Symptom 1 has three relevant sentences (one was not ranked), symptom 2 has one.
JUDGED = "1 0 a 1\n1 0 b 0\n1 0 c 1\n1 0 z 1\n2 0 a 1\n2 0 d 0\n"
RANKED = "1 Q0 a 1 9.5 ours\n1 Q0 b 2 8 ours\n1 Q0 c 3 7e0 ours\n1\tQ0\tx\t4\t1\tours\n"


@pytest.fixture
def files(tmp_path):
    return write(tmp_path / "qrels.txt", JUDGED), write(tmp_path / "run.txt", RANKED)


def test_measures_are_those_worked_out_by_hand(files):
    judged, (name, ranked) = read_judgements(files[0]), read_ranking(files[1])
    found = score_ranking(name, ranked, judged)
    first = found.by_symptom["1"]
    assert name == "ours"
    assert first.average_precision == pytest.approx((1 / 1 + 2 / 3) / 3)
    assert first.r_precision == pytest.approx(2 / 3)
    assert first.precision_at_10 == pytest.approx(0.2)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert first.ndcg_at_1000 == pytest.approx((1 + 1 / math.log2(4)) / ideal)


def test_symptoms_that_a_run_does_not_rank_count_as_0(files):
    judged, (name, ranked) = read_judgements(files[0]), read_ranking(files[1])
    found = score_ranking(name, ranked, judged)
    assert found.by_symptom["2"].average_precision == 0
    assert found.mean.precision_at_10 == pytest.approx(0.1)


def test_sentences_are_sorted_by_score_and_ties_by_id_in_reverse():
    judged = {"1": {"a": 1, "b": 0, "c": 0}}
    scores = {"1": {"a": 1.0, "b": 1.0, "c": 0.5}}
    assert score_ranking("x", scores, judged).mean.average_precision == 0.5


def test_sentences_beyond_1000_do_not_count_in_ndcg():
    ranked = {"1": {f"s{at}": -float(at) for at in range(1001)}}
    found = score_ranking("x", ranked, {"1": {"s1000": 1}}).mean
    assert found.ndcg_at_1000 == 0
    assert found.average_precision == pytest.approx(1 / 1001)


def test_judgements_of_the_organisers_have_commas_and_a_header(tmp_path):
    path = write(tmp_path / "majority.csv", "query,q0,docid,rel\n1,0,s_1_2_3,1\n1,0,s_1_2_4,0\n")
    assert read_judgements(path) == {"1": {"s_1_2_3": 1, "s_1_2_4": 0}}


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_judgements, "1 0 a\n", "line 1: must have 4 columns"),
        (read_judgements, "1 0 a x\n", "line 1: relevance must be a number, got 'x'"),
        (read_judgements, "1 0 a 1\n1 0 a 1\n", "line 2: duplicate sentence a of symptom 1"),
        (read_judgements, "\n", "contains no judgement"),
        (read_ranking, "1 Q0 a 1 0.5\n", "must have 6 columns"),
        (read_ranking, "1 Q0 a 1 nan ours\n", "must be a finite number"),
        (read_ranking, "1 Q0 a 1 1 ours\n1 Q0 a 2 0 ours\n", "duplicate sentence a"),
        (read_ranking, "", "contains no ranked sentence"),
    ],
)
def test_wrong_files_are_errors(tmp_path, read, content, message):
    with pytest.raises(DataFormatError, match=message):
        read(write(tmp_path / "file.txt", content))


def test_the_command_measures_runs(files):
    [found] = records("erisk", "symptoms", *files)
    assert found["name"] == "ours"
    assert found["r_precision"] == pytest.approx(1 / 3)
    assert found["symptoms"]["1"]["precision_at_10"] == pytest.approx(0.2)
    table = call("erisk", "symptoms", *files, "--table").output
    assert table.splitlines()[0].split() == ["AP", "R-PREC", "P@10", "NDCG@1000"]
    assert "contains no judgement" in failure("erisk", "symptoms", write(files[0], ""), files[1])


def test_synthetic_rankings_are_readable_and_depend_on_the_seed(tmp_path):
    for name, seed in ("a", 1), ("b", 1), ("c", 2):
        make_rankings(tmp_path / name, sentences=20, seed=seed)
    texts = [(tmp_path / name / "good.txt").read_text() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]
    judged = read_judgements(tmp_path / "a" / "judgements.txt")
    good, poor = (
        score_ranking(*read_ranking(tmp_path / "a" / f"{name}.txt"), judged)
        for name in ("good", "poor")
    )
    assert len(judged) == 21
    assert good.mean.average_precision > poor.mean.average_precision
