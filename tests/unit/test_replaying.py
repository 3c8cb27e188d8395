"""Replays: measures, rankings and tables against numbers computed by hand."""

import csv
import io
import json
import math
from dataclasses import asdict

import numpy as np
import pytest

import watchword as ww
from stream_samples import taught
from untyped import untyped
from watchword.evaluation import metrics
from watchword.evaluation.metrics import ErdeBounds
from watchword.evaluation.replaying import replay, replay_scores
from watchword.evaluation.scores import Scores
from watchword.streams.histories import Series

HIGH = ww.Reaches(1, threshold=0.5)

# Four subjects, two of them positive. ann: an alert after 2 posts (right); bob: none (missed);
# cid: an alert at once (wrong); dan: none (right).
SHARES = {"ann": [0.2, 0.9], "bob": [0.1, 0.1, 0.4], "cid": [0.8], "dan": [0.3, 0.2, 0.1, 0.0]}
TRUTH = {"ann": 1, "bob": 1, "cid": 0, "dan": 0}


def scored(shares=SHARES, truth=TRUTH):
    arrays = [np.array(each, np.float64) for each in shares.values()]
    return Scores.from_shares(shares, [truth.get(name) for name in shares], arrays, positive=1)


def late(delay, deadline):
    return 1 - 1 / (1 + math.exp(delay - deadline))


def subject(name, posts, label=None, chunks=None):
    return ww.Subject(name, [ww.Post(post) for post in posts], label, chunks)


# Outcomes


def test_outcomes_hold_the_decision_about_each_subject():
    found = replay_scores(scored(), HIGH).outcomes
    assert [(one.subject, one.truth, one.label, one.delay, one.posts) for one in found] == [
        ("ann", 1, 1, 2, 2),
        ("bob", 1, None, 0, 3),
        ("cid", 0, 1, 1, 1),
        ("dan", 0, None, 0, 4),
    ]
    assert [one.score for one in found] == [0.9, 0.4, 0.8, 0.0]


def test_a_subject_without_posts_has_an_outcome():
    found = replay([subject("nobody", [])], taught(), ww.Overtakes("at risk"))
    [outcome] = found.outcomes
    assert (outcome.label, outcome.delay, outcome.posts, outcome.score) == (None, 0, 0, 0.0)


# Measures


def test_measures_are_those_worked_out_by_hand():
    found = replay_scores(scored(), HIGH).measures
    # One hit, one miss, one false alarm, which costs the share of positives.
    assert (found.subjects, found.positives, found.alerts) == (4, 2, 2)
    assert found.erde5 == pytest.approx((late(2, 5) + 1 + 0.5) / 4, abs=1e-15)
    assert found.erde50 == pytest.approx((late(2, 50) + 1 + 0.5) / 4, abs=1e-15)
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)
    assert found.median_delay == 2
    assert found.speed == pytest.approx(0.9961, abs=1e-6)  # 2 − 2/(1 + e^−.0078)
    assert found.f_latency == found.f1 * found.speed
    # By their last shares: ann .9, cid .8, bob .4, dan 0: precisions 1/1 and 2/3.
    assert found.average_precision == pytest.approx((1 + 2 / 3) / 2)


def test_bounds_are_never_alerting_and_alerting_positives_at_once():
    found = replay_scores(scored(), HIGH).measures
    assert found.erde5_bounds == ErdeBounds(
        never=0.5,
        at_once=untyped(pytest.approx((2 * late(1, 5) + 2 * 0.5) / 4)),
        best=untyped(pytest.approx(late(1, 5) / 2)),
    )
    assert found.erde50_bounds == ErdeBounds(
        never=0.5,
        at_once=untyped(pytest.approx(0.25)),
        best=untyped(pytest.approx(late(1, 50) / 2)),
    )


@pytest.mark.parametrize("by", ["post", "chunk"])
def test_alerting_everyone_at_once_is_measured_as_any_other_policy(by):
    people, model = ww.make_risk_streams(24, seed=1), ww.TauSS3()
    ww.teach(model, people[:12])
    everyone, trivial = (
        ww.replay(people[12:], model, ww.Reaches("at risk", threshold=threshold), by=by).measures
        for threshold in (0, 1)
    )
    assert everyone.alerts == 12
    assert trivial.erde5_bounds.at_once == everyone.erde5
    assert trivial.erde50_bounds.at_once == everyone.erde50
    assert trivial.at_once == {name: getattr(everyone, name) for name in trivial.at_once}
    assert set(trivial.at_once) == {
        *("precision", "recall", "f1", "f_latency", "speed", "median_delay")
    }


def test_deadlines_and_the_latency_parameter_can_be_chosen():
    found = replay_scores(scored(), HIGH, deadlines=(3, 30), latency_p=0.5)
    measures = found.measures
    assert measures is not None
    assert list(measures.erde) == [3, 30]
    assert measures.erde[3] == pytest.approx((late(2, 3) + 1 + 0.5) / 4)
    assert measures.erde_bounds[30].never == 0.5
    speed = 1 - (-1 + 2 / (1 + math.exp(-0.5)))
    assert measures.speed == pytest.approx(speed)
    assert measures.f_latency == pytest.approx(speed / 2)
    assert "ERDE30" in str(found)
    plain = found.to_dict()["measures"]
    assert plain["erde3"] == measures.erde[3]
    assert plain["erde30_bounds"] == asdict(measures.erde_bounds[30])
    assert plain["latency_p"] == 0.5
    intervals = found.intervals(repeats=20)
    assert list(intervals) == ["erde3", "erde30", "f1", "f_latency"]
    assert intervals["f_latency"].value == measures.f_latency


def test_the_latency_parameter_can_follow_from_the_median_number_of_posts():
    measures = replay_scores(scored(), HIGH, latency_p="median").measures
    assert measures is not None
    assert measures.latency_p == pytest.approx(math.log(3) / 1.5)  # posts: 2, 3, 1, 4
    assert metrics.penalty(2.5, measures.latency_p) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latency_p": "mean"}, 'latency_p must be a number or "median"'),
        ({"latency_p": -1}, "latency_p must not be negative"),
        ({"deadlines": [0]}, "deadlines must be"),
    ],
)
def test_invalid_deadlines_and_parameters_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        replay_scores(scored(), HIGH, **options)


def test_the_median_rule_needs_more_than_one_post():
    with pytest.raises(ValueError, match="median number of posts must be above 1, got 1"):
        replay_scores(scored({"ann": [0.9], "dan": [0.1]}), HIGH, latency_p="median")


def test_bounds_by_chunk_go_by_the_official_delays():
    # 60 posts: the first chunk ends after 6 of them; 9 posts: by the rule after 0.
    people = [subject("ann", [""] * 60, "at risk"), subject("bob", [""] * 9, "at risk")]
    people.append(subject("cid", [""], "control"))
    found = replay(people, taught(), ww.Overtakes("at risk"), by="chunk").measures
    assert found.erde5_bounds.best == pytest.approx((late(6, 5) + late(0, 5)) / 3)


def test_alerts_by_chunk_after_0_posts_are_measured():
    people = [subject("ann", ["alone"] * 9, "at risk", chunks=(1,) * 9 + (0,))]
    people.append(subject("bob", [""], "control"))
    found = replay(people, taught(), ww.Overtakes("at risk"), by="chunk")
    assert found.outcomes[0].label == "at risk"
    assert found.outcomes[0].delay == 0
    assert found.measures.erde5 == pytest.approx(late(0, 5) / 2)
    assert found.measures.median_delay == 0


@pytest.mark.parametrize("truth", [{}, {**TRUTH, "dan": None}])
def test_without_the_whole_truth_there_are_no_measures(truth):
    found = replay_scores(scored(truth=truth), HIGH)
    assert found.measures is None
    assert str(found) == "4 subjects, 2 alerts; true labels unknown"
    assert found.to_dict()["measures"] is None
    assert found.to_dict()["ranking"] == []
    with pytest.raises(ValueError, match="a ranking needs the true label of every subject"):
        found.ranking()


def test_no_subjects_give_no_measures():
    found = replay([], taught(), ww.Overtakes("at risk"))
    assert found.measures is None
    assert found.outcomes == ()
    assert found.to_csv() == "subject,truth,label,delay,posts,score\n"
    assert json.loads(found.to_json())["subjects"] == []


def test_false_alarms_cost_nothing_without_positive_subjects():
    found = replay_scores(scored(truth=dict.fromkeys(TRUTH, 0)), HIGH)
    assert found.measures.erde5 == 0
    assert math.isnan(found.measures.median_delay)
    assert math.isnan(found.measures.average_precision)
    [first] = found.ranking()
    assert (first.precision_at_10, first.ndcg_at_10, first.ndcg_at_100) == (0, 0, 0)
    assert json.loads(found.to_json())["measures"]["median_delay"] is None


def test_labels_of_different_types_are_different():
    found = replay_scores(scored(truth=dict.fromkeys(TRUTH, "1")), HIGH)
    assert found.measures.positives == 0


def test_replaying_is_scoring_and_judging():
    people = ww.make_risk_streams(20, seed=1, posts_per_subject=(3, 6))
    model = ww.TauSS3.paper()
    ww.teach(model, people[10:])
    policy = ww.Overtakes("at risk", margin=0.2)
    one = replay(people[:10], model, policy)
    other = replay_scores(ww.score_streams(people[:10], model, "at risk"), policy)
    assert one.outcomes == other.outcomes
    assert one.measures == other.measures
    assert one.measures.alerts > 0


# Rankings


def ranked(count=12, positives=(0, 3)):
    """Return a replay of subjects a, b, c … with falling scores and 120 posts each."""
    names = [chr(ord("a") + at) for at in range(count)]
    shares = {name: np.full(120, 0.9 - 0.05 * at) for at, name in enumerate(names)}
    truth = {name: int(at in positives) for at, name in enumerate(names)}
    return replay_scores(scored(shares, truth), HIGH)


def test_rows_of_a_ranking_are_those_worked_out_by_hand():
    rows = ranked().ranking()
    assert [row.rounds for row in rows] == [1, 100]  # nobody has 500 posts
    # Positives at ranks 1 and 4: DCG = 1 + 1/log2(4) = 1.5, the best ranking has 1 + 1/log2(2) = 2.
    for row in rows:
        assert row.precision_at_10 == 0.2
        assert row.ndcg_at_10 == pytest.approx(0.75)
        assert row.ndcg_at_100 == pytest.approx(0.75)


def test_rankings_are_measured_at_10_and_100():
    [row] = ranked(positives=(11,)).ranking([1])
    assert row.precision_at_10 == row.ndcg_at_10 == 0
    assert row.ndcg_at_100 == pytest.approx(1 / math.log2(12))


def test_a_ranking_uses_the_latest_score_by_then():
    shares = {"ann": [0.1, 0.9], "bob": [0.6]}
    found = replay_scores(scored(shares, {"ann": 1, "bob": 0}), HIGH)
    first, second = found.ranking([1, 2])
    assert first.ndcg_at_10 == 1.0  # second of two; the formula gives the first two ranks the same
    shares["cid"] = [0.5]
    found = replay_scores(scored(shares, {"ann": 1, "bob": 0, "cid": 0}), HIGH)
    first, second = found.ranking([1, 2])
    assert first.ndcg_at_10 == pytest.approx(1 / math.log2(3))
    assert second.ndcg_at_10 == 1.0


def test_subjects_without_posts_are_ranked_last():
    people = [
        subject("ann", [], "at risk"),
        subject("bob", ["garden"], "control"),
        subject("cid", ["sun"], "control"),
    ]
    found = replay(people, taught(), ww.Overtakes("at risk"))
    [row] = found.ranking()
    assert row.ndcg_at_100 == pytest.approx(1 / math.log2(3))
    assert found.measures.average_precision == pytest.approx(1 / 3)


POLICIES = [
    ww.Overtakes("at risk", margin=0.2),
    ww.Repeats("at risk", times=2),
    ww.StandsOut("at risk", gamma=0.5),
    ww.Leaps("at risk"),
]


@pytest.mark.parametrize("by", ["post", "chunk"])
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_subjects_without_posts_change_only_the_denominators(policy, by):
    people = ww.make_risk_streams(40, seed=1, posts_per_subject=(5, 20))
    model = ww.TauSS3.paper()
    ww.teach(model, people[20:])
    silent = [subject("eve", [], "at risk"), subject("fay", [], "control")]
    before = replay(people[:20], model, policy, by=by)
    after = replay([silent[0], *people[:20], silent[1]], model, policy, by=by)
    assert after.outcomes[1:-1] == before.outcomes
    assert [one.label for one in (after.outcomes[0], after.outcomes[-1])] == [None, None]
    one, other = before.measures, after.measures
    assert one.alerts == other.alerts > 0
    assert (other.subjects, other.positives) == (one.subjects + 2, one.positives + 1)
    assert other.recall == pytest.approx(one.recall * one.positives / (one.positives + 1))
    assert (other.precision, other.median_delay, other.speed) == (
        one.precision,
        one.median_delay,
        one.speed,
    )
    share = other.positives / other.subjects
    wrong = round(one.alerts * (1 - one.precision))
    late = one.subjects * one.erde50 - wrong * one.positives / one.subjects
    assert other.erde50 == pytest.approx((late + wrong * share + 1) / other.subjects)
    assert other.erde50_bounds.never == share
    best = one.erde50_bounds.best * one.subjects
    assert other.erde50_bounds.best == pytest.approx((best + 1) / other.subjects)


def test_subjects_without_posts_go_through_json_csv_and_intervals():
    people = [*ww.make_risk_streams(20, seed=1), subject("eve", [], "at risk")]
    model = ww.TauSS3.paper()
    ww.teach(model, people)
    found = replay(people, model, ww.Overtakes("at risk"), by="chunk")
    assert json.loads(found.to_json())["subjects"][-1]["steps"] == []
    assert found.to_csv().splitlines()[-1] == "eve,at risk,,0,0,0.0"
    assert found.intervals(repeats=20)["f1"].value == found.measures.f1


def values_of(*people):
    """Return scores from the gains of posts, one list of pairs per person."""
    series = tuple(Series.from_gains(np.array(gains, np.float64), 0) for gains in people)
    names = tuple(f"person {at}" for at in range(len(people)))
    truth = tuple(int(at == 0) for at in range(len(people)))
    totals = np.array([len(gains) for gains in people])
    return Scores(names, truth, 1, "post", series, totals)


@pytest.mark.parametrize(
    ("policy", "best"),
    [
        (ww.Overtakes(1), "share"),
        (ww.Reaches(1, score="difference").after(2), "difference"),
        (ww.Overtakes(1).ranked_by("difference"), "difference"),
        (ww.StandsOut(1), "difference"),
        (ww.Stays(1, score="log_ratio"), "log_ratio"),
    ],
    ids=repr,
)
def test_subjects_are_ranked_by_the_score_of_the_policy(policy, best):
    # By share .75, .8 and .51; by difference .5, .3 and .2; by log-ratio, the last one leads.
    steady, brief, hidden = [[0.3, 0.1]] * 2, [[0.4, 0.1]], [[1.0, 0.0], [1.0, 0.0], [3.0, 4.8]]
    first = {"share": brief, "difference": steady, "log_ratio": hidden}.pop(best)
    rest = [one for one in (steady, brief, hidden) if one is not first]
    found = replay_scores(values_of(first, *rest), policy)
    assert found.measures.average_precision == 1
    assert found.outcomes[0].score == max(one.score for one in found.outcomes)
    [last] = found.ranking([len(hidden)])
    assert last.ndcg_at_10 == 1


def test_without_sums_a_policy_of_differences_ranks_by_the_share():
    found = replay_scores(scored(), ww.StandsOut(1))
    assert [one.score for one in found.outcomes] == [0.9, 0.4, 0.8, 0.0]


def test_ties_in_a_ranking_go_by_id():
    shares = {name: [0.5] for name in "cba"}
    found = replay_scores(scored(shares, {"a": 0, "b": 0, "c": 1}), HIGH)
    assert found.ranking([1])[0].ndcg_at_10 == pytest.approx(1 / math.log2(3))


# Reports


def test_the_table_shows_measures_with_their_bounds():
    assert str(replay_scores(scored(), HIGH)) == "\n".join(
        [
            "4 subjects, 2 positive, 2 alerts",
            "                            never alert  alert everyone at once  best possible",
            "ERDE5              38.69 %      50.00 %                 25.90 %         0.90 %",
            "ERDE50             37.50 %      50.00 %                 25.00 %         0.00 %",
            "precision            0.500                                0.500",
            "recall               0.500                                1.000",
            "F1                   0.500                                0.667",
            "F_latency            0.498                                0.667",
            "speed                0.996                                1.000",
            "median delay         2.000                                1.000",
            "average precision    0.833",
        ]
    )


def test_undefined_measure_is_shown_as_none():
    lines = str(replay_scores(scored(), ww.Reaches(1, threshold=1))).splitlines()
    assert [line.split() for line in lines[-3:-1]] == [
        ["speed", "none", "1.000"],
        ["median", "delay", "none", "1.000"],
    ]


def test_csv_has_a_line_per_subject():
    assert replay_scores(scored(), HIGH).to_csv().splitlines() == [
        "subject,truth,label,delay,posts,score",
        "ann,1,1,2,2,0.9",
        "bob,1,,0,3,0.4",
        "cid,0,1,1,1,0.8",
        "dan,0,,0,4,0.0",
    ]


@pytest.mark.parametrize(
    "name", ['a "quoted" one', "a,b", "line\nend", "line\rend", "a\r\nb", "zoë"]
)
def test_any_id_survives_in_csv(name):
    text = replay_scores(scored({name: [0.5], "ann": [0.1]}, {}), HIGH).to_csv()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["subject"] for row in rows] == [name, "ann"]


def test_plain_data_holds_everything():
    found = replay_scores(scored(), HIGH)
    data = found.to_dict()
    assert list(data) == ["policy", "by", "positive", "measures", "ranking", "subjects"]
    assert data["policy"] == HIGH.to_dict()
    assert (data["by"], data["positive"]) == ("post", 1)
    assert data["measures"]["erde5_bounds"]["never"] == 0.5
    assert data["measures"]["f1"] == 0.5
    # After a post: cid, dan, ann, bob. (1/log2(3) + 1/log2(4)) / 2 = .5655
    [row] = data["ranking"]
    assert (row["rounds"], row["precision_at_10"]) == (1, 0.2)
    assert row["ndcg_at_10"] == row["ndcg_at_100"] == pytest.approx(0.5655, abs=1e-4)
    ann = data["subjects"][0]
    assert ann["subject"] == "ann"
    assert ann["steps"] == [1, 2]
    assert ann["value"] == [0.2, 0.9]
    assert ann["other"] == pytest.approx([0.8, 0.1])
    assert ann["delay"] == 2


@pytest.mark.parametrize("threshold", [0.5, 1.0])  # with true positives and without
def test_json_is_the_plain_data(threshold):
    found = replay_scores(scored(), ww.Reaches(1, threshold=threshold))

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    assert json.loads(found.to_json(), parse_constant=refuse) == found.to_dict()


# Errors


def test_scores_for_another_label_are_refused():
    with pytest.raises(
        ValueError, match="the scores are for the label 1, but the policy is Overtakes"
    ):
        replay_scores(scored(), ww.Overtakes("1"))


@pytest.mark.parametrize("policy", ["overtakes", None, ww.Overtakes])
def test_non_policy_is_rejected(policy):
    with pytest.raises(TypeError, match="policy must be a Policy, such as Overtakes"):
        replay([], taught(), policy)
    with pytest.raises(TypeError, match="policy must be a Policy, such as Overtakes"):
        replay_scores(scored(), policy)


def test_an_unknown_label_is_refused():
    with pytest.raises(ww.errors.UnknownLabelError):
        replay([], taught(), ww.Overtakes("depressed"))


def test_intervals_are_those_of_the_measures():
    people = ww.make_risk_streams(40, seed=5, prevalence=0.3)
    model = taught()
    found = replay(people, model, ww.Overtakes("at risk"))
    truth = [one.label == "at risk" for one in people]
    alerts = [outcome.label is not None for outcome in found.outcomes]
    delays = [outcome.delay for outcome in found.outcomes]
    given = found.intervals(seed=3, repeats=50, confidence_level=0.8)
    assert list(given) == ["erde5", "erde50", "f1", "f_latency"]
    for name, one in given.items():
        assert one.value == getattr(found.measures, name)
        assert one.low <= one.value <= one.high
    assert given["erde50"] == metrics.bootstrap_interval(
        metrics.erde, truth, (alerts, delays), positive=True, seed=3, repeats=50,
        confidence_level=0.8, deadline=50,
    )  # fmt: skip
    unknown = [ww.Subject(one.id, one.posts) for one in people]
    with pytest.raises(ValueError, match="need the true label"):
        replay(unknown, model, ww.Overtakes("at risk")).intervals()
    others = [one for one in people if one.label != "at risk"]
    with pytest.raises(ValueError, match="intervals need a subject with the label 'at risk'"):
        replay(others, model, ww.Overtakes("at risk")).intervals()


def test_a_deadline_given_twice_counts_once():
    assert list(replay_scores(scored(), HIGH, deadlines=[7, 7]).measures.erde) == [7]


def test_a_replay_and_a_tuning_are_short_in_a_notebook():
    subjects = ww.make_risk_streams(20, seed=1)
    model = ww.TauSS3()
    ww.teach(model, subjects)
    policy = ww.Overtakes("at risk")
    found = ww.replay(subjects, model, policy)
    alerts = sum(outcome.label is not None for outcome in found.outcomes)
    assert repr(found) == f"<Replay of 20 subjects, {alerts} alerts, policy {policy!r}>"
    tuning = ww.tune(subjects, [policy], refine=False)
    assert repr(tuning).startswith("<Tuning of 1 trial by erde50, best ")
