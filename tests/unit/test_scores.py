"""Scores over time, by post and by chunk, against the reference and by hand."""

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import stream_reference as reference
import watchword as ww
from stream_samples import (
    AS_POSTS,
    FEWER,
    LABELS,
    PLACES,
    STREAMS,
    SUBJECTS,
    as_subjects,
    policies,
    population_policies,
    taught,
    worlds,
    worth,
)
from untyped import untyped
from watchword.evaluation.scores import Scores, alerts_of, score_streams
from watchword.streams.histories import Histories, Series
from watchword.streams.steps import ScoreName, log_ratio_of

LONG_STREAMS = st.dictionaries(SUBJECTS, st.lists(PLACES, max_size=25), max_size=4)
SCORE_NAMES = get_args(ScoreName)
LONELY = "alone"  # worth something for "at risk", nothing for others


def own_sizes(count):
    """Draw ten chunk sizes that add up to a count."""
    ends = st.lists(st.integers(0, count), min_size=9, max_size=9).map(sorted)
    return ends.map(lambda at: [b - a for a, b in zip([0, *at], [*at, count], strict=True)])


@st.composite
def chunked(draw):
    """Draw subjects with their posts (as indices) and chunk sizes, None for the official rule."""
    streams = draw(LONG_STREAMS)
    sizes = {
        name: draw(st.one_of(st.none(), own_sizes(len(places)))) for name, places in streams.items()
    }
    subjects = [
        ww.Subject(name, [AS_POSTS[place] for place in places], chunks=sizes[name])
        for name, places in streams.items()
    ]
    return streams, sizes, subjects


def histories_by_chunk(model, streams, sizes):
    return {
        name: reference.by_chunk(
            [worth(model)[place] for place in places], model.labels, sizes[name]
        )
        for name, places in streams.items()
    }


def assert_same(series, history, positive):
    """Check that a series equals a history, bit for bit."""
    sums = [reference.against(step["sums"], positive) for step in history]
    gains = [reference.against(step["gains"], positive) for step in history]
    assert series.posts.tolist() == [step["posts"] for step in history]
    assert list(zip(series.value.tolist(), series.other.tolist(), strict=True)) == sums
    assert list(zip(series.gain.tolist(), series.other_gain.tolist(), strict=True)) == gains


def alone(name, posts, chunks=None, label=None):
    return ww.Subject(name, [ww.Post(post) for post in posts], label, chunks)


# By post


@given(st.sampled_from(LABELS), STREAMS, st.data())
def test_values_after_every_post_are_sums_of_what_posts_are_worth(labels, streams, data):
    model = taught(labels)
    positive = data.draw(st.sampled_from(labels))
    scores = score_streams(as_subjects(streams), model, positive)
    assert scores.subjects == tuple(streams)
    for series, places in zip(scores.series, streams.values(), strict=True):
        history = reference.by_post([worth(model)[place] for place in places])
        assert_same(series, history, positive)


def test_the_other_value_is_0_with_one_label():
    [series] = score_streams([alone("ann", [LONELY] * 2)], taught(("at risk",)), "at risk").series
    assert series.other.tolist() == series.other_gain.tolist() == [0.0, 0.0]
    assert series.value[1] == 2 * series.gain[0] > 0


def test_the_best_other_label_may_change_between_posts():
    model = taught(("at risk", "control", "sports"))
    [series] = score_streams([alone("ann", ["garden", "match", "match"])], model, "at risk").series
    garden = model.confidence_one("garden")["control"]
    match = model.confidence_one("match")["sports"]
    assert series.other.tolist() == [garden, max(garden, match), 2 * match]
    assert series.other_gain.tolist() == [garden, match, match]


# By chunk


@given(st.sampled_from(LABELS), chunked())
def test_values_after_every_chunk_are_sums_of_what_posts_are_worth(labels, given_subjects):
    model = taught(labels, exact=True)
    streams, sizes, subjects = given_subjects
    scores = score_streams(subjects, model, labels[0], by="chunk")
    histories = histories_by_chunk(model, streams, sizes)
    for name, series in zip(scores.subjects, scores.series, strict=True):
        assert_same(series, histories[name], labels[0])
    assert scores.totals.tolist() == [len(places) for places in streams.values()]


def check_chunks(world, given_subjects):
    model, policy = world
    streams, sizes, subjects = given_subjects
    scores = score_streams(subjects, model, policy.positive, by="chunk")
    try:
        found = reference.replayed(policy.to_dict(), histories_by_chunk(model, streams, sizes))
    except reference.TooCloseError:
        reject()
    expected = {
        name: (True, reference.chunk_delay(chunk, len(streams[name]))) if chunk else (False, 0)
        for name, chunk in found.items()
    }
    alerted, delays = alerts_of(scores, policy)
    assert dict(zip(streams, zip(alerted, delays, strict=True), strict=True)) == expected


@FEWER
@given(worlds(policies, exact=True), chunked())
def test_alerts_by_chunk_fall_as_specified(world, given_subjects):
    check_chunks(world, given_subjects)


@FEWER
@given(worlds(population_policies, exact=True), chunked())
def test_alerts_of_policies_that_compare_subjects_fall_as_specified_by_chunk(world, given_subjects):
    check_chunks(world, given_subjects)


@pytest.mark.parametrize(
    ("count", "lonely", "delay"),
    [
        (9, 0, 9),  # chunks 1 to 9 are empty: all is read with the tenth
        (10, 0, 1),
        (25, 0, 2),  # chunk 1 of two posts
        (25, 4, 6),  # the fifth post is in chunk 3
        (25, 17, 18),  # the last post of chunk 9
        (25, 18, 25),  # chunk 10 has the other seven
        (25, 24, 25),
    ],
)
def test_delays_by_chunk_are_the_official_ones(count, lonely, delay):
    posts = ["" if number != lonely else LONELY for number in range(count)]
    scores = score_streams([alone("ann", posts)], taught(), "at risk", by="chunk")
    alerted, delays = alerts_of(scores, ww.Overtakes("at risk"))
    assert (alerted.tolist(), delays.tolist()) == ([True], [delay])


def test_an_early_alert_for_fewer_than_ten_posts_has_the_official_delay_of_0():
    subject = alone("ann", [LONELY] * 9, chunks=(1,) * 9 + (0,))
    scores = score_streams([subject], taught(), "at risk", by="chunk")
    alerted, delays = alerts_of(scores, ww.Overtakes("at risk"))
    assert (alerted.tolist(), delays.tolist()) == ([True], [0])


def test_chunks_of_a_collection_go_before_the_rule():
    subject = alone("ann", [LONELY] * 20, chunks=(0, 0, 5, 0, 0, 0, 0, 0, 0, 15))
    [series] = score_streams([subject], taught(), "at risk", by="chunk").series
    assert series.posts.tolist() == [0, 0, 5, 5, 5, 5, 5, 5, 5, 20]


def test_an_empty_chunk_adds_nothing():
    subject = alone("ann", [LONELY] * 2, chunks=(1, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    [series] = score_streams([subject], taught(), "at risk", by="chunk").series
    assert series.gain.tolist() == [series.gain[0], *[0.0] * 8, series.gain[0]]


def test_no_alert_in_a_chunk_without_posts():
    silent = ww.Subject("silent", [])
    short = ww.Subject("short", [ww.Post("garden")] * 9)  # all in the last chunk
    others = [ww.Subject(f"{at}", [ww.Post("garden")] * 20) for at in range(3)]
    model = taught()
    for policy in (ww.StandsOut("at risk"), ww.Reaches("at risk", threshold=0)):
        scores = score_streams([silent, short, *others], model, "at risk", by="chunk")
        alerted, _ = alerts_of(scores, policy)
        assert not alerted[0]
    [once] = [ww.Subject("once", [ww.Post("alone")], chunks=(1, *[0] * 9))]
    scores = score_streams([once], model, "at risk", by="chunk")
    alerted, _ = alerts_of(scores, ww.Stays("at risk", last=1, threshold=0))
    assert not alerted.any()


def test_a_chunk_with_equal_evidence_has_equal_gains():
    # Sums of different size: their differences would differ in the last digit.
    model = ww.TauSS3()
    model.learn_many(["alone alone tired x", "garden sun sun x"], ["at risk", "control"])
    subject = alone("ann", ["sun"] * 3 + ["tired garden"] * 8)
    [series] = score_streams([subject], model, "at risk", by="chunk").series
    assert series.gain[3:].tolist() == series.other_gain[3:].tolist()


def test_chunks_are_the_rounds_of_policies_that_compare_subjects():
    # Round > 2 is chunk 4 at the earliest, after 4 of 10 posts.
    subjects = [alone("ann", [LONELY] * 10), *(alone(name, ["sun"] * 10) for name in "bcd")]
    scores = score_streams(subjects, taught(), "at risk", by="chunk")
    alerted, delays = alerts_of(scores, ww.StandsOut("at risk"))
    assert alerted.tolist() == [True, False, False, False]
    assert delays.tolist() == [4, 0, 0, 0]


# Alerts


def test_subjects_without_posts_get_no_alert_at_any_index():
    subjects = [alone(f"nobody{at}", []) if at % 2 else alone(f"{at}", [LONELY]) for at in range(5)]
    for policy in (ww.Overtakes("at risk"), ww.Repeats("at risk", 1)):
        alerted, delays = alerts_of(score_streams(subjects, taught(), "at risk"), policy)
        assert alerted.tolist() == [True, False, True, False, True]
        assert delays.tolist() == [1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    "policy", [ww.Overtakes("at risk"), ww.Repeats("at risk"), ww.StandsOut("at risk")], ids=repr
)
@pytest.mark.parametrize("by", ["post", "chunk"])
def test_no_subjects_give_no_alerts(policy, by):
    alerted, delays = alerts_of(score_streams([], taught(), "at risk", by=by), policy)
    assert alerted.shape == delays.shape == (0,)


def test_finished_subjects_still_count_in_the_comparison():
    # Scores in round 4 (from 1): ann +4·a, four others −1·s. Without them ann would be alone, and
    # nobody is above the median of oneself.
    subjects = [alone("ann", [LONELY] * 4), *(alone(name, ["sun"]) for name in "bcde")]
    alerted, delays = alerts_of(
        score_streams(subjects, taught(), "at risk"), ww.StandsOut("at risk")
    )
    assert (alerted.tolist(), delays.tolist()) == ([True] + [False] * 4, [4, 0, 0, 0, 0])
    alerted, _ = alerts_of(
        score_streams(subjects[:1], taught(), "at risk"), ww.StandsOut("at risk")
    )
    assert not alerted.any()


# Shares of other classifiers


def test_shares_are_compared_as_they_are():
    shares = [np.array([0.2, 0.6, 0.9]), np.array([0.59999]), np.zeros(0)]
    scores = Scores.from_shares(["a", "b", "c"], [1, 0, None], shares, positive=1)
    alerted, delays = alerts_of(scores, ww.Reaches(1, threshold=0.6))
    assert (alerted.tolist(), delays.tolist()) == ([True, False, False], [2, 0, 0])
    assert scores.totals.tolist() == [3, 1, 0]
    assert np.isnan(scores.series[0].gain).all()
    assert np.isnan(scores.series[0].other_gain).all()


SHARES = Scores.from_shares(["a", "b"], [1, 0], [np.array([0.9, 0.2]), np.zeros(0)], positive=1)
SOFTMAX: dict[str, Any] = {"score": "softmax"}


@pytest.mark.parametrize(
    ("policy", "needed"),
    [
        (ww.Leaps(1), "gains"),
        (ww.Repeats(1), "gains"),
        (ww.Reaches(1, **SOFTMAX), "sums"),
        (ww.Stays(1, **SOFTMAX), "sums"),
        (ww.ReachesFalling(1, **SOFTMAX), "sums"),
        (ww.Reaches(1, 0.5, "difference"), "sums"),
        (ww.Reaches(1, 0.5, "log_ratio"), "gains"),
        (ww.Overtakes(1).ranked_by("difference"), "sums"),
    ],
    ids=repr,
)
def test_policies_that_need_more_than_shares_are_refused(policy, needed):
    for scores in (SHARES, SHARES.chosen([0])):
        for whole in (policy, policy.after(2), ww.Overtakes(1) | (policy & ww.Reaches(1)).after(2)):
            with pytest.raises(ValueError, match=f"{needed}.*have only shares") as refused:
                alerts_of(scores, whole)
            assert str(refused.value).startswith(f"{policy} needs {needed} ")
            assert "by default: Overtakes, Reaches, Stays, ReachesFalling, StandsOut" in str(
                refused.value
            )


@pytest.mark.parametrize(
    "policy",
    [
        ww.Overtakes(1, margin=0.5),
        ww.Reaches(1),
        ww.Stays(1, last=0),
        ww.ReachesFalling(1),
        ww.Overtakes(1).after(1) & ww.Reaches(1),
    ],
    ids=repr,
)
def test_other_policies_accept_shares(policy):
    assert alerts_of(SHARES, policy)[0].tolist() == [True, False]


def test_subjects_are_compared_by_their_shares():
    shares = [np.full(4, share) for share in (0.9, 0.2, 0.1, 0.1, 0.1)]
    scores = Scores.from_shares("abcde", [1, 0, 0, 0, 0], shares, positive=1)
    alerted, delays = alerts_of(scores, ww.StandsOut(1, gamma=4))
    assert alerted.tolist()[0]
    assert delays.tolist()[0] == 4


def test_custom_policy_can_need_shares_only():
    @dataclass(frozen=True)
    class Doubles(ww.Policy):
        positive: int

        def alerts(self, step):
            return step.value > 2 * step.other

    class Modest(Doubles):
        needs = frozenset({"shares"})

    with pytest.raises(ValueError, match="unless its property `needs` says less"):
        alerts_of(SHARES, Doubles(1))
    assert alerts_of(SHARES, Modest(1))[0].tolist() == [True, False]


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_share_reaches_exactly_the_thresholds_up_to_itself(share, threshold):
    scores = Scores.from_shares(["a"], [1], [np.array([share])], positive=1)
    alerted, _ = alerts_of(scores, ww.Reaches(1, threshold=threshold))
    assert alerted.tolist() == [share >= threshold]


def test_the_final_share_is_the_last_one():
    shares = [np.array([0.9, 0.25]), np.zeros(0), np.array([0.5])]
    scores = Scores.from_shares("abc", [1, 1, 0], shares, positive=1)
    assert scores.histories.scores("share").tolist() == [0.25, 0.0, 0.5]
    assert scores.histories.scores("share", posts=1).tolist() == [0.9, 0.0, 0.5]


def test_the_final_score_without_evidence_is_zero():
    silent = Histories([Series.from_gains(np.zeros((1, 2)), 0)])
    for name in SCORE_NAMES:
        assert silent.scores(name).tolist() == [0.0]


def test_log_ratios_of_chunks_are_sums_over_posts():
    gains = np.array([[0.3, 0.1], [0.0, 0.2], [0.5, 0.5], [0.7, 0.0]])
    posts = Series.from_gains(gains, 0)
    chunks = Series.from_gains(gains, 0, ends=np.array([0, 2, 2, 4]))
    assert posts.log_ratios.tolist() == np.cumsum(log_ratio_of(gains[:, 0], gains[:, 1])).tolist()
    assert chunks.log_ratios.tolist() == [0.0, *posts.log_ratios[[1, 1, 3]].tolist()]


def test_chosen_subjects_keep_their_values():
    subjects = [alone(name, [LONELY] * at, label=name) for at, name in enumerate("abc")]
    scores = score_streams(subjects, taught(), "at risk").chosen([2, 0])
    assert (scores.subjects, scores.truth) == (("c", "a"), ("c", "a"))
    assert scores.totals.tolist() == [2, 0]
    assert [series.value.size for series in scores.series] == [2, 0]


# Errors


def test_an_unknown_label_is_refused():
    with pytest.raises(ww.errors.UnknownLabelError, match="unknown label 'depressed'"):
        score_streams([alone("ann", [])], taught(), "depressed")


def test_steps_are_posts_or_chunks():
    with pytest.raises(ValueError, match="by must be one of 'post', 'chunk', got 'week'"):
        score_streams([], taught(), "at risk", by=untyped("week"))


def test_columns_of_scores_must_be_equally_long():
    with pytest.raises(ValueError, match="must have the same length"):
        Scores.from_shares(["a", "b"], [1, 0], [np.zeros(1)], positive=1)


# Scores of single posts from other classifiers

POSTS = [0.2, 0.9, 0.4]


def from_posts(posts, **options):
    return Scores.from_posts(["a"], [1], [posts], positive=1, **options)


@pytest.mark.parametrize(
    ("combine", "value", "other"),
    [
        ("last", [0.2, 0.9, 0.4], [0.8, 0.1, 0.6]),
        ("mean", [0.2, 0.55, 0.5], [0.8, 0.45, 0.5]),
        ("sum", [0.2, 1.1, 1.5], [0.8, 0.9, 1.5]),
        ("max", [0.2, 0.9, 0.9], [0.8, 0.1, 0.1]),
        # .3 · .9 + .7 · .2 = .41, then .3 · .4 + .7 · .41 = .407
        ("ema", [0.2, 0.41, 0.407], [0.8, 0.59, 0.593]),
    ],
)
def test_scores_of_posts_are_combined(combine, value, other):
    [series] = from_posts(POSTS, combine=combine).series
    assert series.value.tolist() == pytest.approx(value)
    assert series.other.tolist() == pytest.approx(other)
    assert series.gain.tolist() == POSTS
    assert series.other_gain.tolist() == pytest.approx([0.8, 0.1, 0.6])
    assert series.posts.tolist() == [1, 2, 3]
    assert series.log_ratios[0] == pytest.approx(np.log(0.21 / 0.81))


@pytest.mark.parametrize(
    ("combine", "share"), [("last", 0.4), ("mean", 0.5), ("sum", 0.5), ("max", 0.9), ("ema", 0.407)]
)
def test_the_share_is_the_combined_score(combine, share):
    scores = from_posts(POSTS, combine=combine)
    assert scores.histories.scores("share").tolist() == pytest.approx([share])


def test_a_moving_average_with_full_weight_is_the_last_score():
    last = from_posts(POSTS, combine="last").series[0].value
    assert from_posts(POSTS, combine="ema", ema_weight=1).series[0].value.tolist() == last.tolist()


@pytest.mark.parametrize("combine", ["last", "mean", "ema", "max"])
def test_policies_that_need_sums_are_refused_unless_scores_are_summed(combine):
    for score in ("softmax", "difference"):
        policy = ww.Reaches(1, 0.1, score)
        with pytest.raises(ValueError, match=r"needs sums .* but these scores have only gains, sh"):
            alerts_of(from_posts(POSTS, combine=combine), policy)
        assert alerts_of(from_posts(POSTS, combine="sum"), policy)[0].tolist() == [True]


def test_series_of_positive_posts_are_found_however_scores_are_combined():
    posts = [0.1, 0.6, 0.4, 0.7, 0.8]
    for combine in ("last", "mean", "sum", "max", "ema"):
        scores = from_posts(posts, combine=combine)
        assert alerts_of(scores, ww.Repeats(1, times=2))[1].tolist() == [5]
        assert alerts_of(scores, ww.Leaps(1, factor=4))[1].tolist() == [5]


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0, 1))
def test_the_highest_score_reaches_exactly_the_thresholds_up_to_itself(posts, threshold):
    scores = from_posts(posts, combine="max")
    first = next((at for at, one in enumerate(posts, 1) if one >= max(threshold, 1e-9)), 0)
    policy = ww.Reaches(1, threshold=max(threshold, 1e-9))
    assert alerts_of(scores, policy)[1].tolist() == [first]


@pytest.mark.parametrize("posts", [[1.5], [-0.1], [np.nan], [[0.5]], 0.5])
def test_scores_of_posts_must_be_probabilities(posts):
    with pytest.raises(ValueError, match="scores must be numbers from 0 to 1, one per post"):
        from_posts(posts)


def test_a_combination_must_be_known():
    with pytest.raises(ValueError, match="combine must be one of 'sum', 'mean', 'last', 'ema'"):
        from_posts(POSTS, combine="median")
    with pytest.raises(ValueError, match=r"ema_weight must be in \(0, 1\], got 0"):
        from_posts(POSTS, combine="ema", ema_weight=0)


# Values accumulated by other classifiers


def test_values_of_another_classifier_serve_every_policy():
    value, other = [0.1, 0.5, 1.5], [0.3, 0.4, 0.4]
    scores = Scores.from_values(["a"], [1], [value], [other], positive=1)
    [series] = scores.series
    assert (series.value.tolist(), series.other.tolist()) == (value, other)
    assert series.gain.tolist() == pytest.approx([0.1, 0.4, 1.0])
    assert series.other_gain.tolist() == pytest.approx([0.3, 0.1, 0.0])
    found = {
        ww.Overtakes(1): 2,
        ww.Overtakes(1, margin=1): 3,
        ww.Reaches(1, threshold=0.7): 3,
        ww.Reaches(1, 0.6, "difference"): 3,  # .5 + .5 · 1.1 / 2.1 = .762; before .545
        ww.Reaches(1, 0.51, "softmax"): 2,  # 1 / (1 + e^-.05) = .512
        ww.Leaps(1, factor=3): 2,
        ww.Repeats(1, times=2): 3,
    }
    assert {policy: alerts_of(scores, policy)[1].tolist()[0] for policy in found} == found


@pytest.mark.parametrize(
    ("value", "other", "message"),
    [
        ([0.5, 0.4], [0, 0], "values must be numbers from 0 on that never fall"),
        ([-0.5], [0], "values must be numbers from 0 on"),
        ([0.5], [np.inf], "others must be numbers from 0 on"),
        ([0.5], [0.1, 0.2], "must have the same number of posts"),
    ],
)
def test_accumulated_values_must_be_sums(value, other, message):
    with pytest.raises(ValueError, match=message):
        Scores.from_values(["a"], [1], [value], [other], positive=1)
