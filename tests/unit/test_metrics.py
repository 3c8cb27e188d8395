"""Measures of early detection, against values computed by hand or given in the specification."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchword.evaluation import metrics
from watchword.evaluation.metrics import (
    bootstrap_interval,
    chunk_delays,
    chunk_sizes,
    erde,
    erde_bounds,
    erde_percent,
    latency,
    latency_cost,
    latency_weighted_f1,
    ndcg_at,
    penalty,
    precision_at,
    precision_recall_f1,
    speed,
)

TASKS = [(52, 401, 12.97), (79, 820, 9.63), (41, 320, 12.81)]  # positives, subjects, never (%)

# Subjects: truly positive, alerted, delay.
SETS = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.integers(1, 3000)), min_size=1, max_size=40
).filter(lambda rows: any(row[0] for row in rows))


def columns(rows):
    return tuple(zip(*rows, strict=True))


def looped_erde(deadline, truth, alerts, delays):
    """Return ERDE by its definition, subject by subject."""
    total = 0.0
    for positive, alert, k in zip(truth, alerts, delays, strict=True):
        if alert and not positive:
            total += sum(truth) / len(truth)
        elif positive and not alert:
            total += 1
        elif positive and alert and k - deadline > 700:
            total += 1  # e^(k−o) would overflow
        elif positive and alert:
            total += 1 - 1 / (1 + math.exp(k - deadline))
    return total / len(truth)


# latency cost


@pytest.mark.parametrize("deadline", [1, 5, 50, 2000])
def test_latency_cost_at_the_deadline_is_a_half(deadline):
    assert latency_cost(deadline, deadline) == 0.5


def test_latency_cost_one_post_from_the_deadline():
    # 1/(1 + e) = .268941, e/(1 + e) = .731059
    assert latency_cost([4, 6], 5) == pytest.approx([0.268941, 0.731059], abs=1e-6)


def test_latency_cost_far_from_the_deadline_is_0_or_1_without_warnings():
    with np.errstate(all="raise"):
        assert latency_cost([1, 10**9], 10**6).tolist() == [0.0, 1.0]


# ERDE


@pytest.mark.parametrize(("positives", "subjects", "percent"), TASKS)
def test_never_alerting_costs_the_share_of_positives(positives, subjects, percent):
    truth = [1] * positives + [0] * (subjects - positives)
    value = erde(truth, [0] * subjects, [0] * subjects, deadline=5, positive=1)
    bounds = erde_bounds(truth, [1] * subjects, deadline=5, positive=1)
    assert round(100 * value, 2) == percent
    assert round(100 * bounds.never, 2) == percent


def test_alerting_everyone_costs_false_alarms_and_hardly_any_delay():
    # One positive of four: three false alarms at 1/4 each, and lc_5(1) = .0179862.
    bounds = erde_bounds([1, 0, 0, 0], [1, 1, 1, 1], deadline=5, positive=1)
    assert bounds.at_once == pytest.approx((0.0179862 + 3 / 4) / 4, abs=1e-7)


def test_subjects_without_posts_cannot_be_alerted_at_once():
    bounds = erde_bounds([1, 1, 0, 0], [1, math.inf, 1, math.inf], deadline=5, positive=1)
    assert bounds.at_once == pytest.approx((0.0179862 + 1 + 0.5) / 4, abs=1e-7)


def test_best_possible_alerts_the_positives_at_the_first_step():
    # lc_5(1) = 1/(1 + e^4) = .0179862, lc_5(6) = .7310586; two positives of four subjects
    bounds = erde_bounds([1, 1, 0, 0], [1, 6, 9, 9], deadline=5, positive=1)
    assert bounds.best == pytest.approx((0.0179862 + 0.7310586) / 4, abs=1e-7)


def test_bounds_in_percent_of_the_posts():
    # 1 of 5 posts is 20 %, the deadline
    bounds = erde_bounds([1, 0], [1, 1], deadline=20, positive=1, posts=[5, 7])
    assert bounds.best == 0.25


def test_alerting_all_subjects_at_the_first_post():
    # (1·.0179862 + 3·1/4) / 4
    value = erde([1, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], deadline=5, positive=1)
    assert value == pytest.approx(0.19199655, abs=1e-7)


def test_a_false_positive_costs_the_share_of_positives():
    # No delay, however long, changes it: (1 + 1/4) / 4
    value = erde([1, 0, 0, 0], [0, 1, 0, 0], [0, 900, 0, 0], deadline=5, positive=1)
    assert value == 0.3125


def test_costs_can_be_given():
    costs: dict[str, Any] = {
        "cost_false_positive": 0.1,
        "cost_false_negative": 2.0,
        "cost_true_positive": 3.0,
    }
    # (.1 + 2 + 3·.5 + 0) / 4
    value = erde([0, 1, 1, 0], [1, 0, 1, 0], [1, 0, 5, 0], deadline=5, positive=1, **costs)
    assert value == pytest.approx(0.9)


def test_erde_percent_takes_the_share_of_posts_read():
    # 50 of 100 posts: 50 %, cost ½; 5 of 5 posts: 100 %, cost 1 but for e^(−50)
    value = erde_percent([1, 1], [1, 1], [50, 5], [100, 5], deadline=50, positive=1)
    assert value == pytest.approx(0.75)


def test_labels_of_different_types_stay_apart():
    assert erde([1, "1"], ["1", "1"], [5, 5], deadline=5, positive="1") == 0.5  # (.5 + ½·1) / 2


def test_arrays_of_labels_are_read_like_lists():
    truth, alerts = np.array(["risk", "none"]), np.array(["risk", None], dtype=object)
    assert erde(truth, alerts, np.array([5, np.nan]), deadline=5, positive="risk") == 0.25


@given(SETS, st.integers(1, 100))
def test_erde_equals_a_loop_over_subjects(rows, deadline):
    value = erde(*columns(rows), deadline=deadline, positive=True)
    assert value == pytest.approx(looped_erde(deadline, *columns(rows)), abs=1e-12)


@given(SETS)
def test_erde_lies_between_0_and_the_largest_cost(rows):
    assert 0 <= erde(*columns(rows), deadline=5, positive=True) <= 1


@given(SETS, st.integers(0, 100))
def test_later_true_positives_are_never_cheaper(rows, later):
    truth, alerts, delays = columns(rows)
    early = erde(truth, alerts, delays, deadline=50, positive=True)
    late = erde(truth, alerts, [k + later for k in delays], deadline=50, positive=True)
    assert late >= early - 1e-12


@given(SETS, st.randoms(use_true_random=False))
def test_the_order_of_subjects_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    for measure in (partial(erde, deadline=5), latency_weighted_f1):
        expected = measure(*columns(rows), positive=True)
        assert measure(*columns(shuffled), positive=True) == pytest.approx(expected, abs=1e-12)


# delays


@pytest.mark.parametrize(
    ("posts", "first", "ninth", "tenth"),
    [(9, 0, 0, 9), (10, 1, 9, 10), (19, 1, 9, 19), (2000, 200, 1800, 2000)],
)
def test_chunk_delays(posts, first, ninth, tenth):
    assert chunk_delays([1, 9, 10], [posts] * 3).tolist() == [first, ninth, tenth]


def test_chunk_delays_divide_whole_numbers():
    assert chunk_delays([5], [19]).tolist() == [5]  # 9 if the division came last, 9.5 with floats


def test_one_chunk_may_be_given_for_all_subjects():
    assert chunk_delays(1, [9, 19, 2000]).tolist() == [0, 1, 200]


def test_the_last_chunk_holds_the_rest():
    assert chunk_sizes([9, 10, 19]).tolist() == [[0] * 9 + [9], [1] * 10, [1] * 9 + [10]]


def test_chunk_delays_of_0_pass_if_allowed():
    # Nine posts, alerted at chunk 1: lc_5(0) = 1/(1 + e^5) = .0066929
    delays = chunk_delays([1, 1], [9, 9])
    value = erde([1, 0], [1, 0], delays, deadline=5, positive=1, minimum_delay=0)
    assert value == pytest.approx(0.0066929 / 2, abs=1e-7)


# F₁, latency, speed


def test_precision_recall_and_f1():
    found = precision_recall_f1([1, 1, 1, 0, 0], [1, 0, 0, 1, 0], positive=1)
    assert (found.precision, found.recall, found.f1) == (1 / 2, 1 / 3, 0.4)


def test_precision_recall_and_f1_without_alerts_are_0():
    found = precision_recall_f1([1, 0], [0, 0], positive=1)
    assert (found.precision, found.recall, found.f1) == (0, 0, 0)


@pytest.mark.parametrize(
    ("k", "kept"),
    [(1, 1.0), (2, 0.996), (3, 0.992), (5, 0.984), (11, 0.961), (50, 0.811), (142, 0.5)],
)
def test_penalty_has_the_values_of_the_specification(k, kept):
    assert round(1 - float(penalty(k)), 3) == kept


def test_penalty_far_away_is_1_without_warnings():
    assert penalty([10**9]).tolist() == [1.0]


def test_latency_is_the_median_of_the_true_positives():
    assert latency([1, 1, 1, 0], [1, 1, 1, 1], [3, 40, 7, 1], positive=1) == 7


def test_speed_takes_the_median_of_penalties_not_the_penalty_of_the_median():
    # Penalties at 1 and 1001: 0 and tanh(3.9) = .999181
    assert speed([1, 1], [1, 1], [1, 1001], positive=1) == pytest.approx(1 - 0.999181 / 2, abs=1e-6)


def test_latency_weighted_f1_is_f1_times_speed():
    # P 1/2, R 1, F₁ 2/3; k = 50 keeps .811
    value = latency_weighted_f1([1, 0, 0], [1, 1, 0], [50, 1, 0], positive=1)
    assert round(value, 3) == round(2 / 3 * 0.8112, 3)


def test_without_true_positives_there_is_no_latency():
    outcome = [1, 0], [0, 1], [0, 3]
    assert math.isnan(latency(*outcome, positive=1))
    assert math.isnan(speed(*outcome, positive=1))
    assert latency_weighted_f1(*outcome, positive=1) == 0


# rankings


def test_precision_at_k():
    scores, truth = [0.1, 0.9, 0.5, 0.7], [1, 1, 0, 0]
    assert precision_at(scores, truth, 2, positive=1, subjects="abcd") == 0.5
    assert precision_at(scores, truth, 10, positive=1, subjects="abcd") == 0.2


def test_ndcg_by_hand():
    # Positives at ranks 1, 3, 4: 1 + 1/1.584963 + 1/2 = 2.130930; ideal 1 + 1 + .630930
    value = ndcg_at([4, 3, 2, 1], [1, 0, 1, 1], 4, positive=1, subjects="abcd")
    assert value == pytest.approx(2.130930 / 2.630930, abs=1e-6)


def test_ndcg_counts_only_the_first_k():
    # Ranks 1 and 2 weigh 1 each: 1 of an ideal 2
    assert ndcg_at([4, 3, 2, 1], [1, 0, 1, 1], 2, positive=1, subjects="abcd") == 0.5


def test_ties_are_broken_by_subject_id():
    for subjects, expected in ((["a", "b"], 1.0), (["b", "a"], 0.0), ([10, 9], 0.0)):
        assert precision_at([0.5, 0.5], [1, 0], 1, positive=1, subjects=subjects) == expected


# bootstrap

TRUTH = [1] * 10 + [0] * 30
GOOD = [1] * 8 + [0] * 31 + [1], [3] * 40
BAD = [1] * 4 + [0] * 26 + [1] * 10, [60] * 40


def test_bootstrap_is_reproducible_and_seeded():
    first, again, other = (
        bootstrap_interval(erde, TRUTH, GOOD, positive=1, seed=seed, deadline=50, repeats=200)
        for seed in (1, 1, 2)
    )
    assert first == again != other
    assert first.low < first.value < first.high


def test_bootstrap_value_is_that_of_the_whole_set():
    found = bootstrap_interval(erde, TRUTH, BAD, positive=1, seed=1, deadline=50, repeats=20)
    # 6 missed, 10 false alerts at 1/4, 4 at lc_50(60) = 1/(1 + e^(−10)) = .9999546
    assert found.value == pytest.approx((6 + 2.5 + 4 * 0.9999546) / 40, abs=1e-7)


def test_bootstrap_keeps_the_false_positive_cost_of_the_whole_set():
    seen = []

    def measure(truth, alerts, *, positive, cost_false_positive=None):
        assert positive is True
        assert truth.shape == alerts.shape
        seen.append(cost_false_positive)
        return 0.0

    bootstrap_interval(measure, TRUTH, GOOD[:1], positive=1, seed=1, repeats=20)
    assert set(seen) == {0.25}
    bootstrap_interval(
        partial(measure, cost_false_positive=0.5), TRUTH, GOOD[:1], positive=1, seed=1, repeats=1
    )
    assert seen[-1] == 0.5


def test_paired_difference_is_narrower_than_its_parts():
    options: dict[str, Any] = {"positive": 1, "seed": 3, "deadline": 50}
    both = bootstrap_interval(erde, TRUTH, BAD, baseline=GOOD, **options)
    bad, good = (bootstrap_interval(erde, TRUTH, side, **options) for side in (BAD, GOOD))
    assert both.value == pytest.approx(bad.value - good.value)
    assert both.low > 0
    assert both.high - both.low < (bad.high - bad.low) + (good.high - good.low)


def test_a_prediction_does_not_differ_from_itself():
    found = bootstrap_interval(
        latency_weighted_f1, TRUTH, GOOD, baseline=GOOD, positive=1, seed=3, repeats=50
    )
    assert (found.low, found.value, found.high) == (0, 0, 0)


def test_bootstrap_survives_resamples_without_positives():
    found = bootstrap_interval(latency, [1, 0], ([1, 0], [4, 0]), positive=1, seed=1, repeats=100)
    assert found.low == found.high == 4
    assert 0 < found.undefined < 100


# what is refused


@pytest.mark.parametrize(
    ("truth", "alerts", "delays", "message"),
    [
        ([1, 0], [1], [1, 1], "y_pred must have one value per subject"),
        ([1, 0], [1, 0], [1], "delays must have one value per subject"),
        ([], [], [], "at least one subject"),
        (["a", "b"], ["a", "b"], [1, 1], "no subject has the positive label 1"),
        ([1, 0], [1, 0], [0, 1], "at least 1, got 0"),
        ([1, 0], [1, 0], [-3, 1], "at least 1, got -3"),
        ([1, 0], [1, 0], [math.nan, 1], "delays must be finite, got nan"),
        ([1, math.nan], [1, 0], [1, 1], "y_true must not contain NaN"),
        ([1, 0], [1, math.nan], [1, 1], "y_pred must not contain NaN"),
    ],
)
def test_bad_sets_are_refused(truth, alerts, delays, message):
    for measure in (partial(erde, deadline=5), latency, speed, latency_weighted_f1):
        with pytest.raises(ValueError, match=message):
            measure(truth, alerts, delays, positive=1)


def test_bad_numbers_are_refused():
    for call in (
        lambda: chunk_delays([0], [10]),
        lambda: chunk_delays([11], [10]),
        lambda: chunk_delays([1.5], [10]),
        lambda: chunk_delays([1, 2], [10]),
        lambda: chunk_sizes([-1]),
        lambda: latency_cost([math.nan], 5),
        lambda: latency_cost([1], -5),
        lambda: erde_percent([1], [1], [3], [2], deadline=5, positive=1),
        lambda: precision_at([math.nan], [1], 1, positive=1, subjects="a"),
        lambda: ndcg_at([1], [1], 1, positive=1, subjects="ab"),
        lambda: ndcg_at([1], [1], 0, positive=1, subjects="a"),
        lambda: bootstrap_interval(
            erde, [1], ([1], [1]), positive=1, seed=1, confidence_level=95, deadline=5
        ),
    ):
        with pytest.raises(ValueError, match="must"):
            call()


def test_delays_without_an_alert_are_ignored():
    assert erde([1, 0], [1, 0], [5, -math.inf], deadline=5, positive=1) == 0.25


def test_a_hundred_thousand_subjects_are_measured_like_two():
    def measured(times):
        truth, alerts, delays = ["risk", "none"] * times, ["risk"] * 2 * times, [7] * 2 * times
        return [
            erde(truth, alerts, delays, deadline=50, positive="risk"),
            latency_weighted_f1(truth, alerts, delays, positive="risk"),
        ]

    assert measured(50_000) == pytest.approx(measured(1), abs=1e-12)


def test_every_public_function_has_an_example():
    functions = [f for name, f in vars(metrics).items() if name.islower() and name[0] != "_"]
    own = [f for f in functions if getattr(f, "__module__", None) == metrics.__name__]
    assert len(own) == 18
    assert all(">>>" in f.__doc__ for f in own)


# Average precision


def test_average_precision_is_the_mean_precision_at_the_positives():
    # Ranks of the positives: 1, 3, 6, so (1/1 + 2/3 + 3/6) / 3 = 13/18.
    scores, truth = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4], [1, 0, 1, 0, 0, 1]
    found = metrics.average_precision(scores, truth, positive=1, subjects="abcdef")
    assert found == pytest.approx(13 / 18)


def test_average_precision_breaks_ties_by_subject():
    assert metrics.average_precision([1, 1], [1, 0], positive=1, subjects="ba") == 0.5
    assert metrics.average_precision([1, 1], [1, 0], positive=1, subjects="ab") == 1.0


def test_average_precision_without_positives_is_not_a_number():
    truth = np.zeros(2, bool)
    found = metrics.average_precision([1, 2], truth, positive=True, subjects="ab")
    assert np.isnan(found)


# What is easily mistaken


def test_a_truth_of_another_type_has_no_positives():
    with pytest.raises(ValueError, match="no subject has the positive label 1"):
        erde(["1", "1", "0"], [1, 1, 0], [1, 1, 0], deadline=5, positive=1)


def test_before_the_first_post_is_no_earlier_than_at_it():
    assert penalty([0, 1]).tolist() == [0, 0]


def test_ties_are_in_the_order_of_ids_of_any_kind():
    truth, scores = [0, 0, 1], [0.5, 0.5, 0.5]
    assert precision_at(scores, truth, 1, positive=1, subjects=["b", "a\0", "a"]) == 1
    assert precision_at(scores, truth, 1, positive=1, subjects=[10, 9, "10a"]) == 0
    assert precision_at(scores, truth, 1, positive=1, subjects=["b", "c" * 10**6, "a"]) == 1
