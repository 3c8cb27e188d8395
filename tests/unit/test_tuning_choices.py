"""What tuning shows, chooses and warns about, compared with values computed by hand."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from watchword.evaluation import metrics, nested_tune
from watchword.evaluation.folds import folds_of, folds_of_scores
from watchword.evaluation.held_out import (
    AT_ONCE,
    NEVER,
    HeldOut,
    HeldOutDecisions,
    HeldOutFold,
    _draws,
    _generators,
)
from watchword.evaluation.objectives import MEASURES, MeasureLimits, Objective, sign_of

HIGH, LOW = 0.9, 0.1
RISK = ww.Reaches("at risk", 0.8)


def shares(**alerts):
    """Return scores of subjects with four posts.

    The numbers are posts at which the share is high, and stays high if the name begins with an a,
    for subjects at risk.
    """
    series = []
    for name, first in alerts.items():
        own = np.full(4, LOW)
        if first:
            own[first - 1 : None if name.startswith("a") else first] = HIGH
        series.append(own)
    truth = ["at risk" if name.startswith("a") else "control" for name in alerts]
    return ww.Scores.from_shares(list(alerts), truth, series, positive="at risk")


# With order="time", the first half of each label is in fold 1: a1, a2, c1 and c2.
SCORES = shares(a1=1, a2=2, c1=3, c2=0, a3=4, a4=0, c3=0, c4=0)
OPTIONS: dict[str, Any] = {"folds": 2, "order": "time"}


def lc(k, deadline):
    return 1 - 1 / (1 + math.exp(k - deadline))


def tuned(policies=RISK, scores=SCORES, **options):
    return ww.tune(scores, policies, **(OPTIONS | options))


# Measures


def test_all_measures_are_means_over_folds_and_the_delay_is_that_of_all_folds():
    found = tuned().best
    # Fold 1: alerts after 1 and 2 posts, one false alarm; fold 2: after 4 posts, one missed.
    erde5 = [(0.5 + lc(1, 5) + lc(2, 5)) / 4, (1 + lc(4, 5)) / 4]
    erde50 = [(0.5 + lc(1, 50) + lc(2, 50)) / 4, (1 + lc(4, 50)) / 4]
    speeds = [1 - math.tanh(0.0078 / 2) / 2, 1 - math.tanh(0.0078 * 3 / 2)]
    assert found.by_fold == pytest.approx(erde50, abs=1e-15)
    assert found.value == found.measures["erde50"]
    assert found.measures == pytest.approx(
        {
            "erde5": sum(erde5) / 2,
            "erde50": sum(erde50) / 2,
            "f1": (4 / 5 + 2 / 3) / 2,
            "f_latency": (4 / 5 * speeds[0] + 2 / 3 * speeds[1]) / 2,
            "precision": (2 / 3 + 1) / 2,
            "recall": (1 + 1 / 2) / 2,
            "median_delay": 2.0,
            "alert_rate": (3 / 4 + 1 / 4) / 2,
            "average_precision": 1.0,
        },
        abs=1e-12,
    )


@pytest.mark.parametrize("name", ["erde5", "erde50", *MEASURES])
def test_every_measure_can_be_optimised(name):
    policies = [RISK, RISK.after(2), RISK.after(4), ww.Reaches("at risk", 0.05)]
    found = tuned(policies, measure=name)
    values = [trial.measures[name] for trial in found.trials]
    assert values == [trial.value for trial in found.trials]
    assert values == sorted(values, reverse=sign_of(name) < 0)


def test_lower_is_better_for_costs_delays_and_alerts_only():
    lower = [name for name in ("erde5", "erde1000", *MEASURES) if sign_of(name) > 0]
    assert lower == ["erde5", "erde1000", "median_delay", "alert_rate"]


def test_deadlines_choose_the_costs_shown():
    found = tuned(deadlines=(30, 5), measure="erde7", at_most={"erde9": 1.0})
    assert list(found.best.measures)[:4] == ["erde5", "erde7", "erde9", "erde30"]
    assert found.best.measures["erde30"] == pytest.approx(
        ((0.5 + lc(1, 30) + lc(2, 30)) / 4 + (1 + lc(4, 30)) / 4) / 2
    )


def test_the_longest_deadlines_have_names():
    assert "ERDE4294967295" in str(tuned(deadlines=(5, 2**32 - 1)))


def test_the_latency_parameter_is_a_number_or_follows_the_median_of_posts():
    faster = tuned(latency_p=math.log(3) / 3).best.measures["f_latency"]
    assert faster == tuned(latency_p="median").best.measures["f_latency"]  # 4 posts each
    speeds = [1 - math.tanh(math.log(3) / 6) / 2, 1 - 0.5]
    assert faster == pytest.approx((4 / 5 * speeds[0] + 2 / 3 * speeds[1]) / 2)


def test_bounds_are_never_alerting_and_alerting_everyone_at_the_first_post():
    bounds = tuned().bounds
    assert list(bounds) == [NEVER, AT_ONCE]
    assert bounds[NEVER]["erde5"] == bounds[NEVER]["erde50"] == 0.5
    assert bounds[NEVER]["median_delay"] == math.inf
    assert bounds[AT_ONCE]["erde5"] == pytest.approx((1 + 2 * lc(1, 5)) / 4)
    assert bounds[AT_ONCE]["f1"] == pytest.approx(2 / 3)
    assert bounds[AT_ONCE]["precision"] == 0.5
    assert bounds[AT_ONCE]["median_delay"] == 1


def test_subjects_without_posts_cannot_be_alerted_at_the_first_post():
    people = [*ww.make_risk_streams(20, seed=2, prevalence=0.4), ww.Subject("silent", [], "x")]
    found = ww.tune(people, ww.Overtakes("at risk"), folds=2, refine=False)
    assert found.bounds[AT_ONCE]["alert_rate"] == pytest.approx(20 / 21)


# Weighted sums


def test_a_weighted_sum_is_minimised_with_one_minus_value_where_higher_is_better():
    found = tuned([RISK, RISK.after(3)], measure={"erde5": 0.5, "f1": 1})
    assert found.measure == "erde5=0.5,f1=1"
    for trial in found.trials:
        expected = 0.5 * trial.measures["erde5"] + 1 - trial.measures["f1"]
        assert trial.value == pytest.approx(expected)
        assert trial.value == pytest.approx(sum(trial.by_fold) / 2)
    assert found.trials[0].value < found.trials[1].value


def test_weights_decide_between_policies():
    # The first alerts everyone at once, the second at risk only, but late.
    scores = shares(a1=4, c1=0, a2=4, c2=0)
    early, late = ww.Reaches("at risk", 0.05), RISK
    weights = ({"median_delay": 1, "precision": 1}, {"median_delay": 0.01, "precision": 1})
    best = [tuned([early, late], scores, measure=one).best.policy for one in weights]
    assert best == [early, late]


@pytest.mark.parametrize(
    ("measure", "error", "message"),
    [
        ({}, ValueError, "measure must have at least one weight"),
        ({"erde5": 0}, ValueError, r"measure\['erde5'\] must be above 0, got 0"),
        ({"erde5": "x"}, TypeError, r"measure\['erde5'\] must be a number"),
        ({"speed": 1}, ValueError, "measure has the unknown measure 'speed'; known are 'erde5'"),
        ("erde5=1", ValueError, "measure must be a function or one of 'erde5'"),
    ],
)
def test_invalid_measures_are_refused(measure, error, message):
    with pytest.raises(error, match=message):
        tuned(measure=measure)


# Limits


def test_only_settings_within_the_limits_are_chosen():
    policies = [RISK.after(4), RISK.after(2), RISK, ww.Reaches("at risk", 0.05)]
    free = tuned(policies, measure="f1")
    assert free.best.policy == RISK.after(4)  # c1 is no longer a false alarm
    found = tuned(policies, measure="f1", at_most={"median_delay": 2}, at_least={"precision": 0.7})
    assert found.best.policy == RISK.after(2)
    assert [trial.meets_limits for trial in found.trials] == [True, True, False, False]
    assert {trial.policy for trial in found.trials} == set(policies)


def test_without_a_setting_within_the_limits_the_nearest_is_named():
    policies = [RISK.after(4), RISK.after(2)]
    with pytest.raises(ValueError, match="no setting has") as error:
        tuned(policies, at_most={"median_delay": 1}, at_least={"precision": 0.75})
    assert str(error.value) == (
        "no setting has median_delay at most 1 and precision at least 0.75; the nearest has "
        "median_delay 2 and precision 0.8333: reaches(threshold=0.8) after 2"
    )


def test_limits_of_a_setting_without_correct_alerts_are_exceeded():
    with pytest.raises(ValueError, match="the nearest has median_delay inf"):
        tuned(RISK.after(9), at_most={"median_delay": 3})


def test_excess_is_a_share_of_the_limit():
    limits = MeasureLimits.of({"median_delay": 10, "erde5": 0.0}, {"recall": 0.8})
    measures = {"median_delay": 15, "erde5": 0.25, "recall": 0.6}
    assert limits.excess(measures) == pytest.approx(0.5 + 0.25 + 0.25)
    assert limits.excess({"median_delay": 10, "erde5": 0, "recall": 0.8}) == 0


@pytest.mark.parametrize(
    ("limits", "error", "message"),
    [
        ({"at_most": {"delay": 3}}, ValueError, "at_most has the unknown measure 'delay'"),
        ({"at_least": {"f1": math.nan}}, ValueError, r"at_least\['f1'\] must be finite"),
        ({"at_most": 3}, TypeError, "at_most must map names of measures to numbers, got 3"),
    ],
)
def test_invalid_limits_are_refused(limits, error, message):
    with pytest.raises(error, match=message):
        tuned(**limits)


# One standard error


def test_the_earliest_within_one_standard_error_is_chosen():
    policies = [RISK.after(4), RISK.after(2), RISK]
    plain = tuned(policies, measure="f1")
    best = plain.best
    # F1 in the folds is 1 and 2/3: the mean is .8333, the standard error 1/6.
    assert best.by_fold == pytest.approx((1, 2 / 3))
    assert [trial.value for trial in plain.trials[1:]] == pytest.approx([11 / 15, 11 / 15])
    found = tuned(policies, measure="f1", one_standard_error=True)
    # Both have a median delay of 2; of equals, the better one, then the first.
    assert found.best.policy == RISK.after(2)
    assert found.trials[1:] == tuple(one for one in plain.trials if one != found.best)
    # Precision is 1 in both folds: the standard error is 0, and no other setting is near.
    exact = tuned(policies, measure="precision", one_standard_error=True)
    assert exact.best.policy == RISK.after(4)


def test_one_standard_error_prefers_fewer_policies_and_counted_models():
    both = RISK | RISK.after(3)
    assert tuned([both, RISK], one_standard_error=True).best.policy == RISK
    people = ww.make_risk_streams(40, seed=3, prevalence=0.4)
    always = ww.Overtakes("at risk", margin=-1000)
    found = ww.tune(people, always, one_standard_error=True)
    assert [trial.refined for trial in found.trials] == [False, True]


def test_one_standard_error_keeps_the_limits():
    policies = [RISK.after(4), RISK.after(2), ww.Reaches("at risk", 0.05)]
    found = tuned(policies, measure="erde50", at_least={"f1": 0.8}, one_standard_error=True)
    assert found.best.measures["f1"] >= 0.8


# Warnings


def warnings_of(policy, scores=SCORES, **options):
    return tuned(policy, scores, **options).warnings


def test_a_good_policy_has_no_warning():
    assert warnings_of(RISK, shares(a1=1, c1=0, a2=2, c2=0)) == ()


def test_alerting_nobody_is_warned_about():
    assert warnings_of(RISK.after(9)) == (
        "the policy alerts no subject",
        "the policy is worse than alerting everyone at the first post in erde5 0.5 against 0.259, "
        "erde50 0.5 against 0.25, f1 0 against 0.6667, f_latency 0 against 0.6667, "
        "precision 0 against 0.5",
    )


def test_alerting_everybody_is_warned_about():
    first, *more = warnings_of(ww.Reaches("at risk", 0.05))
    assert first == "the policy alerts every subject"
    assert more == []  # it is as good as the bound


def test_waiting_for_the_end_is_warned_about():
    scores = shares(a1=1, c1=0, a2=2, c2=0)
    [warning] = [one for one in warnings_of(RISK.after(4), scores) if "waits" in one]
    assert warning == (
        "the policy waits for the end of the streams: half of its alerts are raised after at "
        "least 100 % of a subject's posts"
    )
    assert not any("waits" in one for one in warnings_of(RISK.after(3), scores))


def test_alerts_about_subjects_with_one_post_are_not_late():
    one = [np.array([HIGH]), np.array([LOW])] * 2
    truth = ["at risk", "control"] * 2
    scores = ww.Scores.from_shares(list("abcd"), truth, one, positive="at risk")
    assert warnings_of(RISK, scores) == ()


def test_being_worse_than_never_alerting_is_warned_about():
    # Tuned for ERDE50 alone, waiting costs nothing; by ERDE5, it costs more than silence.
    people = [10 * [HIGH], 10 * [LOW]] * 2
    truth = ["at risk", "control"] * 2
    scores = ww.Scores.from_shares(list("abcd"), truth, map(np.array, people), positive="at risk")
    found = tuned(ww.Reaches("at risk", 0.05).after(9), scores, measure="erde50")
    assert any(
        one.startswith("the policy is worse than never alerting in erde5 0.7")
        for one in found.warnings
    )
    assert f"Warning: {found.warnings[0]}" in str(found).splitlines()


# Intervals


@st.composite
def decisions(draw):
    """Draw held-out subjects in two folds, each with both labels, and decisions about them."""
    folds, delays, ranks = [], [], []
    for number in range(2):
        size = draw(st.integers(2, 7))
        truth = np.array([True, False, *draw(st.lists(st.booleans(), max_size=5))])[:size]
        totals = np.array(draw(st.lists(st.integers(1, 6), min_size=7, max_size=7)))
        own = totals[: truth.size]
        alerts = draw(st.lists(st.integers(-1, 5), min_size=truth.size, max_size=truth.size))
        delays += [min(one + 1, int(most)) or -1 for one, most in zip(alerts, own, strict=True)]
        ranks += draw(st.lists(st.integers(0, 3), min_size=truth.size, max_size=truth.size))
        names = [f"s{number}{at}" for at in range(truth.size)]
        folds.append(HeldOutFold.of(names, truth, own, "post"))
    held = HeldOut(tuple(folds), (5, 2), 0.3)
    return held, HeldOutDecisions(np.array(delays), np.array(ranks, np.float64))


def measured_one_by_one(held, outcomes, rows):
    """Return the measures of resampled rows of each fold, with the functions of `metrics`."""
    table, caught, begin = [], [], 0
    for fold, own in zip(held.folds, rows, strict=True):
        delays = outcomes.delays[begin + own]
        truth, alerted, k = fold.truth[own], delays >= 0, np.maximum(delays, 1)
        options: dict[str, Any] = {"positive": True}
        cost = float(fold.truth.mean())
        found = metrics.precision_recall_f1(truth, alerted, **options)
        table.append(
            [
                *(
                    metrics.erde(
                        truth, alerted, k, deadline=one, cost_false_positive=cost, **options
                    )
                    for one in held.deadlines
                ),
                found.f1,
                metrics.latency_weighted_f1(truth, alerted, k, p=held.p, **options),
                found.precision,
                found.recall,
                0.0,
                alerted.mean(),
                metrics.average_precision(
                    outcomes.ranks[begin + own],
                    truth,
                    subjects=[fold.ids[at] for at in own],
                    **options,
                ),
            ]
        )
        caught += delays[truth & alerted].tolist()
        begin += fold.truth.size
    means = dict(zip(held.names, np.average(table, axis=0, weights=held.sizes), strict=True))
    return means | {"median_delay": np.median(caught) if caught else math.inf}


@given(decisions())
def test_measures_of_held_out_subjects_are_those_of_the_metrics(drawn):
    held, outcomes = drawn
    found, _ = held.measured(outcomes)
    rows = [np.arange(fold.truth.size) for fold in held.folds]
    assert found == pytest.approx(measured_one_by_one(held, outcomes, rows), abs=1e-12)


@given(decisions())
def test_resamples_are_measured_as_if_one_by_one(drawn):
    held, outcomes = drawn
    repeats = 5
    found = held._resampled(outcomes, 7, repeats)
    draws = [
        _draws(_generators(7, number), fold.truth, repeats)
        for number, fold in enumerate(held.folds)
    ]
    for at in range(repeats):
        rows = [np.repeat(np.arange(own.shape[1]), own[at]) for own in draws]
        expected = measured_one_by_one(held, outcomes, rows)
        for name, values in found.items():
            assert values[at] == pytest.approx(expected[name], abs=1e-12), name


def test_resamples_draw_positives_and_others_separately():
    truth = np.array([True] * 3 + [False] * 5)
    draws = _draws(_generators(1, 0), truth, 50)
    assert (draws[:, truth].sum(axis=1) == 3).all()
    assert (draws[:, ~truth].sum(axis=1) == 5).all()
    assert len(np.unique(draws, axis=0)) > 40


def test_intervals_do_not_depend_on_the_blocks_they_are_computed_in(monkeypatch):
    found = tuned().intervals(repeats=20)
    monkeypatch.setattr("watchword.evaluation.held_out._BLOCK", 24)
    assert tuned().intervals(repeats=20) == found


def test_intervals_surround_the_value_and_follow_the_seed():
    found = tuned(measure={"erde5": 1, "f1": 1}, scores=shares(a1=1, c1=2, a2=0, c2=0))
    between = found.intervals()
    own = between["erde5=1,f1=1"]
    assert own.value == pytest.approx(found.best.value)
    for name, one in between.items():
        assert one.low <= one.value <= one.high, name
    bigger = tuned([RISK, RISK.after(2)], scores=SCORES)
    second = bigger.intervals(bigger.trials[1], seed=3, repeats=50)
    assert second["f1"].value == bigger.trials[1].measures["f1"]
    assert second == bigger.intervals(bigger.trials[1], seed=3, repeats=50)


def test_plain_data_has_no_infinite_values():
    def reject(constant):
        raise AssertionError(f"{constant} is not JSON")

    never = ww.Reaches("at risk", 0.95)
    found = tuned([RISK, never], measure="median_delay")
    nested = nested_tune(SCORES, never, measure="median_delay", outer_folds=2, **OPTIONS)
    plain = json.loads(found.to_json(), parse_constant=reject)
    assert plain["trials"][1]["value"] is None
    assert plain["trials"][1]["by_fold"] == [None, None]
    assert found.to_csv().count("inf") == 0
    assert json.loads(nested.to_json(), parse_constant=reject)["promised"] is None


def test_an_interval_needs_one_of_the_first_trials():
    policies = [RISK.after(at) for at in range(1, 60)]
    found = tuned(policies)
    with pytest.raises(ValueError, match="trial must be one of the first 50 trials"):
        found.intervals(found.trials[55])
    with pytest.raises(ValueError, match=r"confidence_level must be in \(0, 1\), got 2"):
        found.intervals(confidence_level=2)


def test_delays_of_long_streams_do_not_overflow():
    series = [np.r_[np.full(199, LOW), HIGH], np.full(200, LOW)] * 2
    truth = ["at risk", "control"] * 2
    scores = ww.Scores.from_shares(list("abcd"), truth, series, positive="at risk")
    assert tuned(scores=scores).best.measures["median_delay"] == 200


# Nested cross-validation

PEOPLE = ww.make_risk_streams(24, seed=4, prevalence=0.4, posts_per_subject=(3, 9))
MARGINS = [ww.Overtakes("at risk", margin=margin) for margin in (0, 0.01, 0.05)]


@pytest.mark.parametrize("measure", ["erde5", "f1", {"erde5": 0.5, "recall": 0.5}])
@pytest.mark.parametrize("refine", [False, True])
def test_nested_tuning_is_tuning_without_the_subjects_measured(measure, refine):
    options: dict[str, Any] = {"measure": measure, "folds": 2, "refine": refine}
    found = nested_tune(PEOPLE, MARGINS, outer_folds=3, **options)
    parts = folds_of(PEOPLE, "at risk", folds=3, seed=0)
    values, sizes = [], []
    for part, own in zip(parts, found.tunings, strict=True):
        others = [PEOPLE[at] for at in range(len(PEOPLE)) if at not in part]
        tuning = ww.tune(others, MARGINS, **options)
        assert own == tuning
        model = tuning.model(others)
        measures = ww.replay([PEOPLE[at] for at in part], model, tuning.best.policy).measures
        assert measures is not None
        values.append(float(Objective.of(measure).value(measures.to_dict())))
        sizes.append(len(part))
    assert found.by_fold == pytest.approx(values, abs=1e-12)
    assert found.value == pytest.approx(np.average(values, weights=sizes))
    promised = [own.best.value for own in found.tunings]
    assert found.promised == pytest.approx(np.average(promised, weights=sizes))


def test_nested_tuning_takes_functions():
    def misses(y_true, y_pred, _delays, *, positive, posts):
        assert positive
        assert len(posts) == len(y_true)
        return int((y_true & ~y_pred).sum())

    found = nested_tune(PEOPLE, MARGINS, measure=misses, outer_folds=3, folds=2, refine=False)
    assert found.measure == "misses"
    assert found.value == pytest.approx(sum(found.by_fold) / 3)


def test_scores_are_tuned_in_nested_folds():
    names = {f"{kind}{at}": 1 + at % 4 if kind == "a" else 0 for at in range(6) for kind in "ac"}
    scores = shares(**names)
    policies = [RISK, RISK.after(3)]
    found = nested_tune(scores, policies, outer_folds=3, folds=2, measure="erde5")
    for part, own, value in zip(
        folds_of_scores(scores, folds=3), found.tunings, found.by_fold, strict=True
    ):
        measures = ww.replay_scores(scores.chosen(part), own.best.policy).measures
        assert measures is not None
        assert value == pytest.approx(measures.erde5)


def test_the_latency_parameter_of_nested_folds_is_that_of_all_subjects():
    options: dict[str, Any] = {
        "outer_folds": 2,
        "folds": 2,
        "refine": False,
        "measure": "f_latency",
    }
    p = metrics.latency_parameter([len(one.posts) for one in PEOPLE])
    one = nested_tune(PEOPLE, MARGINS, latency_p="median", **options)
    other = nested_tune(PEOPLE, MARGINS, latency_p=p, **options)
    assert one.value == other.value
    assert one.tunings == other.tunings


def test_nested_results_are_shown_and_plain():
    found = nested_tune(PEOPLE, MARGINS, outer_folds=3, folds=2, refine=False)
    lines = str(found).splitlines()
    assert lines[0] == (
        f"ERDE50 {found.value:.4f} on subjects that took no part in tuning; the tuned settings "
        f"promised {found.promised:.4f}"
    )
    assert lines[3].endswith("  all folds")
    assert [line.split("  ")[-1].split(":")[0] for line in lines[4:7]] == [
        "fold 1",
        "fold 2",
        "fold 3",
    ]
    assert repr(found) == f"<NestedTuning of 3 outer folds by erde50, value {found.value:.4f}>"
    data = json.loads(found.to_json())
    assert data == found.to_dict()
    assert data["value"] == found.value
    assert len(data["folds"]) == 3
