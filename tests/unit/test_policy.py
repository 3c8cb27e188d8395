"""Policies: each rule on numbers computed by hand, and combinations."""

import json
import math
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from stream_samples import policies, population_policies, taught
from untyped import untyped
from watchword.model.native import StepFeature
from watchword.streams.policies import (
    FEATURES,
    POLICIES,
    After,
    AllOf,
    AnyOf,
    Step,
    policy_from_dict,
)
from watchword.streams.steps import ScoreName, log_ratio_of


def step(
    value,
    other=0.0,
    *,
    gain=0.0,
    other_gain=0.0,
    posts=1,
    number=0,
    memory=None,
    log_ratios=None,
):
    """Return a step of one subject, or of several if the values are lists."""
    values = np.atleast_1d(np.asarray(value, np.float64))
    others, gains, other_gains = (
        np.broadcast_to(np.asarray(each, np.float64), values.shape)
        for each in (other, gain, other_gain)
    )
    read = np.full(values.shape, posts)
    kept = np.zeros((values.size, 9)) if memory is None else memory
    sums = None if log_ratios is None else np.atleast_1d(np.asarray(log_ratios, np.float64))
    return Step(read, values, others, gains, other_gains, number, kept, sums)


def says(policy, *arguments, **options):
    return policy.alerts(step(*arguments, **options)).tolist()


def in_order(policy, gains):
    """Return the policy's decision after each (gain, other gain)."""
    found, value, other, memory = [], 0.0, 0.0, np.zeros((1, policy.remembers))
    for number, (gain, other_gain) in enumerate(gains):
        value, other = value + gain, other + other_gain
        now = step(value, other, gain=gain, other_gain=other_gain, posts=number + 1, memory=memory)
        found.append(bool(policy.alerts(now)[0]))
    return found


# Each rule


@pytest.mark.parametrize(
    ("value", "other", "alert"), [(3.0, 1.0, True), (2.5, 1.0, False), (2.6, 1.0, True)]
)
def test_overtakes_asks_for_more_than_ratio_times_other_plus_margin(value, other, alert):
    # 2 · 1 + .5 = 2.5, and that is not enough.
    assert says(ww.Overtakes("x", ratio=2, margin=0.5), value, other) == [alert]


def test_overtakes_by_itself_is_the_rule_of_the_paper():
    assert says(ww.Overtakes("x"), [1.0, 1.1, 0.0], [1.0, 1.0, 0.0]) == [False, True, False]


def test_a_negative_margin_allows_earlier_alerts():
    assert says(ww.Overtakes("x", margin=-0.5), [0.6, 0.5], 1.0) == [True, False]


@pytest.mark.parametrize("policy", [ww.Overtakes("x", margin=-0.5), ww.Weighs("x", threshold=-0.5)])
def test_no_alert_without_evidence(policy):
    assert says(policy, [0.0, 0.1], [0.0, 0.0]) == [False, True]


@pytest.mark.parametrize(
    ("gain", "other", "alert"),
    [(1.0, 0.25, True), (0.9, 0.25, False), (0.1, 0.0, True), (0.0, 0.0, False)],
)
def test_leaps_looks_at_the_latest_gain_only(gain, other, alert):
    assert says(ww.Leaps("x"), 0.0, 99.0, gain=gain, other_gain=other) == [alert]


def test_a_factor_of_0_still_needs_a_gain():
    assert says(ww.Leaps("x", factor=0), 1.0, gain=0.0, other_gain=1.0) == [False]
    assert says(ww.Leaps("x", factor=0), 1.0, gain=0.1, other_gain=9.0) == [True]


def test_reaches_compares_the_share():
    # 3 / (3 + 1) = .75 is enough.
    policy = ww.Reaches("x", threshold=0.75)
    assert says(policy, [3.0, 2.9, 0.0], [1.0, 1.0, 0.0]) == [True, False, False]


@pytest.mark.parametrize("score", get_args(ScoreName))
def test_score_without_evidence_reaches_no_threshold(score):
    policy = ww.Reaches("x", threshold=0.01, score=score)
    assert says(policy, 0.0, 0.0, log_ratios=0.0) == [False]


@pytest.mark.parametrize(("threshold", "alert"), [(0.73, True), (0.74, False)])
def test_reaches_compares_the_softmax_of_means_per_post(threshold, alert):
    # (5 − 3) / 2 posts = 1, and 1 / (1 + e^−1) = .731
    policy = ww.Reaches("x", threshold=threshold, score="softmax")
    assert says(policy, 5.0, 3.0, posts=2) == [alert]


def test_a_softmax_of_huge_values_does_not_overflow():
    policy = ww.Reaches("x", threshold=0.5, score="softmax")
    with np.errstate(all="raise", under="ignore"):
        assert says(policy, [1e300, 0.0], [0.0, 1e300]) == [True, False]


@pytest.mark.parametrize(
    ("value", "other", "score"), [(5.0, 2.0, 0.875), (2.0, 5.0, 0.125), (2.0, 2.0, 0.5)]
)
def test_the_difference_of_values_as_a_score(value, other, score):
    # ±3 / (1 + 3) = ±.75, and .5 ± .75 / 2
    assert step(value, other).score("difference").tolist() == [score]


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_larger_difference_has_a_larger_score(one, other):
    low, high = sorted([one, other])
    scores = step([low, high], [1.0, 1.0]).score("difference")
    assert 0 < scores[0] <= scores[1] < 1
    assert scores[0] < scores[1] or high - low <= 1e-3


def test_the_log_ratio_is_the_logarithm_of_the_gains_with_a_floor():
    found = log_ratio_of(np.array([0.29, 0.0, 0.0, 0.02]), np.array([0.09, 0.09, 0.0, 0.02]))
    assert found.tolist() == pytest.approx([math.log(3), math.log(0.1), 0.0, 0.0])


@pytest.mark.parametrize(("threshold", "alert"), [(0.73, True), (0.74, False)])
def test_reaches_compares_the_mean_of_log_ratios_per_post(threshold, alert):
    # 3 / 3 posts = 1, and 1 / (1 + e^−1) = .731
    policy = ww.Reaches("x", threshold=threshold, score="log_ratio")
    assert says(policy, 5.0, 3.0, posts=3, log_ratios=3.0) == [alert]


def test_in_a_log_ratio_a_long_post_counts_little_more_than_a_short_one():
    model = taught()
    short, long = "alone", " ".join(["garden"] * 50)
    posts = [ww.Post(short), ww.Post(short), ww.Post(long)]
    [person] = [ww.Subject("ann", posts, "at risk")]
    for score, alert in (("share", False), ("difference", False), ("log_ratio", True)):
        policy = ww.Reaches("at risk", threshold=0.55, score=untyped(score)).after(3)
        assert bool(ww.replay([person], model, policy).outcomes[0].label) == alert


def test_log_ratios_are_summed_only_for_policies_that_use_them():
    plain, summing = ww.Stays("x"), ww.Stays("x", score="log_ratio")
    assert [plain.columns, summing.columns] == [1, 2]
    assert [plain.remembers, summing.remembers] == [1, 1]
    assert (ww.Overtakes("x") | ww.Reaches("x", score="log_ratio").after(3)).columns == 1
    assert ww.Overtakes("x").ranked_by("log_ratio").columns == 1
    assert ww.Overtakes("x").ranked_by("difference").columns == 0


def test_a_custom_policy_can_ask_for_log_ratios():
    @dataclass(frozen=True)
    class Likely(ww.Policy):
        positive: str

        def alerts(self, step):
            return step.score("log_ratio") > 0.6

    class Summing(Likely):
        sums_log_ratios = True

    people = ww.make_risk_streams(6, seed=1)
    model = ww.TauSS3()
    ww.teach(model, people)
    with pytest.raises(ValueError, match="set `sums_log_ratios = True` in its class"):
        ww.replay(people, model, Likely("at risk"))
    with pytest.raises(ValueError, match="set `sums_log_ratios = True` in its class"):
        model.reader(Likely("at risk")).read("hello")
    found = ww.replay(people, model, Summing("at risk")).outcomes
    for person, outcome in zip(people, found, strict=True):
        reader = model.reader(Summing("at risk"))
        delays = [reader.read(post).delay for post in person.posts]
        assert delays[-1] == outcome.delay


# Ranking


@pytest.mark.parametrize(
    ("policy", "score"),
    [
        (ww.Overtakes("x"), None),
        (ww.Repeats("x").after(2), None),
        (ww.Weighs("x", log_ratio=1), None),
        (ww.Reaches("x", score="softmax"), "softmax"),
        (ww.Stays("x"), "share"),
        (ww.ReachesFalling("x", score="log_ratio").after(3), "log_ratio"),
        (ww.StandsOut("x"), "difference"),
        (ww.Overtakes("x") | ww.Reaches("x", score="difference"), "difference"),
        (ww.Reaches("x", score="difference").ranked_by("share"), "share"),
    ],
    ids=repr,
)
def test_subjects_are_ranked_by_the_score_of_the_policy(policy, score):
    assert policy.ranks_by == score


def test_ranked_by_changes_no_alert():
    policy = ww.Overtakes("x", margin=1)
    assert says(policy.ranked_by("difference"), [1.5, 0.5]) == says(policy, [1.5, 0.5])


# Series of posts


def test_stays_needs_the_current_score_and_the_last_ones():
    gains = [(1, 0), (1, 0), (0, 1), (0, 1), (2, 0), (1, 0), (1, 0)]
    # Shares: 1, 1, .67, .5, .67, .71, .75
    found = in_order(ww.Stays("x", threshold=0.6, last=2), gains)
    assert found == [False, False, True, False, False, False, True]


def test_stays_with_no_last_ones_is_reaches():
    gains = [(0, 1), (3, 0), (0, 9)]
    assert in_order(ww.Stays("x", 0.6, last=0), gains) == in_order(ww.Reaches("x", 0.6), gains)


def test_repeats_counts_posts_in_a_row():
    gains = [(1, 0), (2, 1), (1, 1), (1, 0), (1, 0.5), (0.1, 0), (0, 0), (1, 0)]
    found = in_order(ww.Repeats("x", times=3), gains)
    assert found == [False, False, False, False, False, True, False, False]


def test_a_falling_threshold_is_that_of_the_formula():
    policy = ww.ReachesFalling("x", start=0.9, end=0.6, wait=2, scale=10)
    expected = [0.6 + 0.3 * math.exp(-(posts - 2) / 10) for posts in (3, 12, 40)]
    assert policy.threshold_after(np.array([3, 12, 40])) == pytest.approx(expected, abs=1e-12)
    # After 12 posts .6 + .3/e = .7104
    assert says(policy, [0.711, 0.710], [0.289, 0.290], posts=12) == [True, False]


def test_a_falling_threshold_waits():
    policy = ww.ReachesFalling("x", start=0, end=0, wait=3)
    assert [says(policy, 1.0, posts=posts) for posts in (3, 4)] == [[False], [True]]


def test_stands_out_is_above_the_median_and_gamma_times_the_mad():
    # Scores 0 1 2 3 10: median 2, distances 2 1 0 1 8, their median 1.
    scores = [0.0, 1.0, 2.0, 3.0, 10.0]
    last = [False] * 4 + [True]
    assert says(ww.StandsOut("x", gamma=2), scores, number=3) == last
    assert says(ww.StandsOut("x", gamma=7.9), scores, number=3) == last
    assert says(ww.StandsOut("x", gamma=8), scores, number=3) == [False] * 5
    assert says(ww.StandsOut("x", gamma=0.9), scores, number=3) == [False] * 3 + [True] * 2


def test_stands_out_compares_positive_minus_other():
    # Scores −1, 0, 0, 3: median 0, MAD .5
    policy = ww.StandsOut("x", gamma=2)
    assert says(policy, [1.0, 1.0, 5.0, 4.0], [2.0, 1.0, 5.0, 1.0], number=9) == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(("number", "alert"), [(0, False), (2, False), (3, True)])
def test_stands_out_raises_no_alert_before_the_fourth_round(number, alert):
    assert says(ww.StandsOut("x"), [9.0, 0.0, 0.0], number=number) == [alert, False, False]


def test_stands_out_without_subjects_raises_no_alert():
    assert says(ww.StandsOut("x"), np.zeros(0), number=5) == []


def test_weighs_compares_the_weighted_sum_of_features_with_the_threshold():
    # Share (3 − 1) / (3 + 1) = .5, posts log 4 = 1.386: 2 · .5 + .25 · 1.386 = 1.347
    for threshold, alert in ((1.34, True), (1.35, False)):
        policy = ww.Weighs("x", share=2, posts=0.25, threshold=threshold)
        assert says(policy, 3.0, 1.0, posts=4) == [alert]


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("share", 1 / 3),
        ("log_ratio", math.tanh(1 / 2)),  # 3 in 3 posts
        ("posts", math.log(3)),
        ("share_posts", math.log(3) / 3),
        ("evidence", math.log(4)),
        ("gain", 3 / 5),  # (.8 − .2) / (.8 + .2)
    ],
)
def test_each_feature_by_itself(name, feature):
    for threshold, alert in ((feature - 1e-9, True), (feature + 1e-9, False)):
        policy = ww.Weighs("x", **{"share": 0, name: 1, "threshold": threshold})
        now = {"gain": 0.8, "other_gain": 0.2, "posts": 3, "log_ratios": 3.0}
        assert says(policy, 2.0, 1.0, **now) == [alert]


def test_weighs_needs_what_its_features_use_and_sums_log_ratios_if_they_count():
    assert ww.Weighs("x").needs == {"shares"}
    assert ww.Weighs("x", evidence=1, gain=1).needs == {"shares", "sums", "gains"}
    assert ww.Weighs("x", share=0, posts=1).needs == frozenset()
    assert [ww.Weighs("x").columns, ww.Weighs("x", log_ratio=1).columns] == [0, 1]


def test_features_have_the_same_names_and_order_in_the_core():
    named = [feature.name for feature in sorted(StepFeature, key=lambda each: each.value)]
    assert named == list(FEATURES)
    assert [field.name for field in fields(ww.Weighs)] == ["positive", *FEATURES, "threshold"]


# Combinations


def test_after_holds_alerts_back():
    policy = ww.Overtakes("x").after(3)
    assert in_order(policy, [(1, 0)] * 4) == [False, False, True, True]


def test_notes_are_taken_before_an_alert_may_fall():
    assert in_order(ww.Repeats("x", 4).after(3), [(1, 0)] * 5) == [False] * 3 + [True] * 2


def test_policies_combine_with_or_and_and():
    high, leaps = ww.Overtakes("x", margin=2), ww.Leaps("x")
    gains = [(1, 0), (2, 1), (9, 9), (0, 0)]  # values 1 3 12 12, others 0 1 10 10
    assert in_order(high, gains) == [False, False, False, False]
    assert in_order(leaps, gains) == [True, False, False, False]
    low = ww.Overtakes("x", margin=0.5)
    assert in_order(low, gains) == [True, True, True, True]
    assert in_order(high | leaps, gains) == [True, False, False, False]
    assert in_order(low & leaps, gains) == [True, False, False, False]
    assert in_order(low | leaps, gains) == [True, True, True, True]


def test_each_of_several_takes_its_own_notes_at_every_post():
    # If the second were asked only where the first agrees, it would not have counted to 3.
    never = ww.Overtakes("x", margin=100)
    assert in_order(never | ww.Repeats("x", 3), [(1, 0)] * 3) == [False, False, True]
    both = ww.Repeats("x", 2) & ww.Stays("x", 0.9, last=2)
    assert both.remembers == 2
    gains = [(1, 0), (0, 0), (1, 0), (1, 0)]  # repeats: 1 0 1 2, stays: 1 2 3 4
    assert in_order(both, gains) == [False, False, False, True]


def test_chains_are_one_policy():
    a, b, c = ww.Overtakes("x"), ww.Leaps("x"), ww.Repeats("x")
    assert (a | b | c) == (a | (b | c)) == AnyOf((a, b, c))
    assert (a & b & c).policies == (a, b, c)
    assert ((a & b) | c).policies == (AllOf((a, b)), c)


def test_combinations_are_for_the_label_of_their_parts():
    policy = (ww.Overtakes(3) | ww.Leaps(3)).after(2)
    assert policy.positive == 3


def test_a_combination_compares_subjects_if_one_part_does():
    outstanding = ww.StandsOut("x")
    assert (ww.Overtakes("x") | outstanding.after(3)).is_population
    assert not (ww.Overtakes("x") | ww.Leaps("x").after(3)).is_population


@pytest.mark.parametrize("other", ["y", 1])
def test_policies_for_different_labels_are_not_combined(other):
    with pytest.raises(ValueError, match="policies for different labels cannot be combined"):
        ww.Overtakes("1") & ww.Overtakes(other)


def test_a_policy_is_not_combined_with_something_else():
    with pytest.raises(TypeError, match="must be a Policy"):
        ww.Overtakes("x") | untyped("y")
    with pytest.raises(ValueError, match="must not be empty"):
        AnyOf(())


# Parameters


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ww.Overtakes("x", ratio=-1), "ratio must not be negative, got -1"),
        (lambda: ww.Overtakes("x", margin=math.nan), "margin must be finite"),
        (lambda: ww.Leaps("x", factor=-0.1), "factor must not be negative"),
        (lambda: ww.Reaches("x", threshold=1.1), r"threshold must be in \[0, 1\], got 1.1"),
        (lambda: ww.Reaches("x", threshold=math.inf), "threshold must be finite"),
        (lambda: ww.Reaches("x", score=untyped("mean")), "score must be one of 'share', 'softmax'"),
        (lambda: ww.Overtakes("x").ranked_by(untyped("mean")), "score must be one of 'share'"),
        (lambda: ww.Stays("x", threshold=-1), r"threshold must be in \[0, 1\]"),
        (lambda: ww.Stays("x", last=-1), "last must be at least 0, got -1"),
        (lambda: ww.Repeats("x", times=0), "times must be at least 1, got 0"),
        (lambda: ww.ReachesFalling("x", start=2), r"start must be in \[0, 1\]"),
        (lambda: ww.ReachesFalling("x", end=-1), r"end must be in \[0, 1\]"),
        (lambda: ww.ReachesFalling("x", wait=-1), "wait must be at least 0"),
        (lambda: ww.ReachesFalling("x", scale=0), "scale must be above 0, got 0"),
        (lambda: ww.StandsOut("x", gamma=-2), "gamma must not be negative"),
        (lambda: ww.Weighs("x", gain=math.nan), "gain must be finite"),
        (lambda: ww.Overtakes("x").after(0), "posts must be at least 1, got 0"),
        (lambda: ww.Overtakes("\ud800"), "a label must be valid Unicode"),
    ],
)
def test_bad_values_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ww.Overtakes(None), "a label must be str or int"),
        (lambda: ww.Overtakes(True), "a label must be str or int"),
        (lambda: ww.Overtakes("x", ratio=untyped("1")), "ratio must be a number"),
        (lambda: ww.Stays("x", last=untyped(1.5)), "last must be a whole number"),
        (lambda: ww.Repeats("x", times=True), "times must be a whole number"),
        (lambda: ww.Overtakes("x").after(untyped(2.0)), "posts must be a whole number"),
        (lambda: After(untyped("x"), 3), "of must be a Policy"),
    ],
)
def test_values_of_the_wrong_kind_are_refused(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_values_of_numpy_become_plain():
    policy = ww.Stays(*untyped((np.int64(3), np.float32(0.5), np.int64(4))))
    assert policy == ww.Stays(3, 0.5, 4)
    assert [type(each) for each in (policy.positive, policy.threshold, policy.last)] == [
        int,
        float,
        int,
    ]


def test_policies_are_frozen_and_can_be_keys():
    policy = ww.Overtakes("x") | ww.Leaps("x").after(2)
    assert {policy: 1}[ww.Overtakes("x") | ww.Leaps("x").after(2)] == 1
    with pytest.raises(FrozenInstanceError):
        untyped(policy).policies = ()


# Plain data


@given(st.one_of(policies("at risk"), population_policies(7)))
def test_a_policy_round_trips_as_plain_data(policy):
    assert policy_from_dict(json.loads(json.dumps(policy.to_dict()))) == policy


def test_all_policies_are_registered_by_name():
    public = {name for name in vars(ww) if isinstance(vars(ww)[name], type)}
    kinds = {name for name in public if issubclass(vars(ww)[name], ww.Policy)} - {"Policy"}
    assert kinds <= set(POLICIES)
    assert set(POLICIES) - kinds <= {"After"}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"policy": "Guesses", "positive": "x"},
        {"policy": ["Overtakes"], "positive": "x"},
        {"policy": None},
        "Overtakes",
        None,
        {"policy": "After", "of": "x", "posts": 3},
        {"policy": "AnyOf", "policies": [{"policy": "Overtakes", "positive": "x"}, 3]},
    ],
)
def test_invalid_policy_description_is_rejected(data):
    with pytest.raises(ValueError, match="not a policy description"):
        policy_from_dict(data)


def test_unknown_field_of_a_policy_is_named():
    with pytest.raises(ValueError, match="Leaps has no parameter margin, ratio"):
        policy_from_dict({"policy": "Leaps", "positive": "x", "ratio": 1, "margin": 2})


def test_a_description_with_withdrawn_features_is_refused_and_names_those_that_remain():
    old = ww.Weighs("x").to_dict() | {"rise": 0.0, "softmax": 1.0}
    with pytest.raises(ValueError, match=r"no parameter rise, softmax \(known: positive, share, "):
        policy_from_dict(old)


@dataclass(frozen=True)
class Doubles(ww.Policy):
    positive: str
    times: int = 2

    def alerts(self, step):
        return step.value > self.times * step.other


def test_a_custom_policy_combines_with_built_in_ones():
    assert says(Doubles("x") & ww.Overtakes("x", margin=3), [4.0, 3.0], [0.5, 0.5]) == [True, False]
    assert Doubles("x").after(2).to_dict() == {
        "policy": "After",
        "of": {"policy": "Doubles", "positive": "x", "times": 2},
        "posts": 2,
    }
