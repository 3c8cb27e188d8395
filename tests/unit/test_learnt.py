"""Learnt stopping: weights by hand, folds kept apart, and what cannot be learnt from."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import watchword as ww
from untyped import untyped
from watchword.evaluation import nested_tune
from watchword.evaluation.fitted_policies import (
    Learnt,
    Samples,
    fit_weights,
    weight_table,
    worth_of,
)
from watchword.evaluation.folds import folds_of
from watchword.evaluation.metrics import LATENCY_P
from watchword.evaluation.objectives import Objective
from watchword.evaluation.scores import Scores, alerts_of
from watchword.streams.policies import FEATURES, RankedBy, Weighs, policy_from_dict

PEOPLE = ww.make_risk_streams(40, seed=4, prevalence=0.4, posts_per_subject=(3, 9))
SMALL: dict[str, Any] = {"strengths": (1.0,), "first_posts": (1, 2)}
erde50 = worth_of(Objective.of("erde50"), LATENCY_P)


def held_out(people=PEOPLE, by="post", refine=False):
    """Return the scores of each fold, by models that were taught with the others."""
    found = []
    for part in folds_of(people, "at risk", folds=4):
        model = ww.TauSS3()
        others = [one for at, one in enumerate(people) if at not in part]
        ww.teach(model, others, refine=refine)
        held = [people[at] for at in part]
        found.append(ww.score_streams(held, model, "at risk", by=by))
    return found


def weighing(policy):
    """Return the part of a policy that weighs features."""
    return policy if isinstance(policy, Weighs) else weighing(policy.parts[0])


def samples(features, truth, *, shares=None, worth=None):
    ones = np.ones(len(truth))
    return Samples(
        np.array(features, np.float64),
        np.array(truth, np.bool_),
        ones if shares is None else np.array(shares),
        ones if worth is None else np.array(worth),
    )


# Weights


def test_weights_minimise_the_penalised_loss():
    rng = np.random.default_rng(3)
    truth = rng.random(60) < 0.4
    given = samples(
        rng.normal(size=(60, 3)) * [1, 5, 0.1] + truth[:, np.newaxis],
        truth,
        shares=rng.random(60),
        worth=rng.random(60),
    )
    found = np.array(fit_weights(given, 2.0))

    shares = given.shares
    cost = shares[truth].sum() / shares.sum()
    counts = shares * np.where(truth, given.worth, cost)
    mean = np.average(given.features, axis=0, weights=shares)
    deviation = np.sqrt(np.average((given.features - mean) ** 2, axis=0, weights=shares))
    scaled = (given.features - mean) / deviation

    def loss(weights):
        # The intercept is not penalised: the best one is found by halving an interval.
        low, high = -50.0, 50.0
        for _ in range(100):
            middle = (low + high) / 2
            chances = 1 / (1 + np.exp(-(scaled @ weights + middle)))
            low, high = (middle, high) if counts @ (truth - chances) > 0 else (low, middle)
        odds = scaled @ weights + low
        return counts @ np.log1p(np.exp(np.where(truth, -odds, odds))) + weights @ weights

    best = loss(found * deviation)
    for at in range(3):
        for change in (-1e-3, 1e-3):
            assert loss(found * deviation + change * np.eye(3)[at]) > best


def test_a_feature_that_tells_positives_apart_has_a_positive_weight():
    given = samples([[1, 0], [2, 1], [3, 1], [4, 0]], [False, False, True, True])
    telling, other = fit_weights(given, 1.0)
    assert telling > 0.1
    assert abs(other) < telling / 3


def test_a_constant_feature_has_no_weight():
    given = samples([[1, 0.3], [2, 0.3], [3, 0.3]], [False, False, True])
    assert fit_weights(given, 1.0)[1] == 0


def test_a_stronger_penalty_gives_smaller_weights():
    given = samples([[0], [1], [2], [3]], [False, True, False, True])
    weak, strong = (abs(fit_weights(given, strength)[0]) for strength in (0.1, 10))
    assert strong < weak / 2


def test_separable_features_do_not_diverge():
    given = samples([[0], [0], [1], [1]], [False, False, True, True])
    assert 0 < fit_weights(given, 1e-3)[0] < 1e3


@pytest.mark.parametrize("truth", [[True, True], [False, False]])
def test_subjects_of_one_kind_are_refused(truth):
    with pytest.raises(ValueError, match="all positive or all not"):
        fit_weights(samples([[0], [1]], truth), 1.0)


# What alerts are worth


@pytest.mark.parametrize(
    ("measure", "worth"),
    [
        ("erde5", [1 / (1 + math.exp(-4)), 0.5, 0.0]),
        ("f_latency", [1.0, 1 - math.tanh(0.0078 * 2), 1 - math.tanh(0.0078 * 499.5)]),
        ("f1", [1.0, 1.0, 1.0]),
        ({"erde5": 3, "recall": 1}, [0.75 / (1 + math.exp(-4)) + 0.25, 0.625, 0.25]),
        (ww.latency_weighted_f1, [1.0, 1.0, 1.0]),
    ],
)
def test_an_alert_is_worth_what_the_measure_says(measure, worth):
    found = worth_of(Objective.of(measure), LATENCY_P)(np.array([1, 5, 1000]))
    assert found.tolist() == pytest.approx(worth)


def test_late_posts_count_less_for_a_measure_with_a_deadline():
    scores = held_out()
    learnt = Learnt("at risk", features=("share", "posts"), **SMALL)
    by_deadline, by_f1 = (
        weighing(learnt.fitted(scores, worth_of(Objective.of(one), LATENCY_P)).policies[0])
        for one in ("erde5", "f1")
    )
    assert by_deadline.posts < by_f1.posts


# Folds


def test_policies_for_a_fold_are_fitted_without_it():
    scores = held_out()
    flipped = ["at risk" if label == "control" else "control" for label in scores[0].truth]
    others = [replace(scores[0], truth=tuple(flipped)), *scores[1:]]
    learnt = Learnt("at risk", **SMALL)
    one, other = learnt.fitted(scores, erde50), learnt.fitted(others, erde50)
    alone = [weighing(policy) for policy in one.by_fold[0]]
    assert alone == [weighing(policy) for policy in other.by_fold[0]]
    assert one.by_fold[1] != other.by_fold[1]
    assert one.policies != other.policies


def test_folds_have_a_policy_for_each_of_the_final_ones():
    fit = Learnt("at risk", **SMALL).fitted(held_out(), erde50)
    assert {len(each) for each in fit.by_fold} == {len(fit.policies)}
    assert len(fit.policies) == 2 * 50
    for at in (0, 63, 99):
        assert {each[at].parts[0].positive for each in fit.by_fold} == {"at risk"}
        assert {untyped(each[at]).posts for each in fit.by_fold} == {1 if at < 50 else 2}


def test_the_same_scores_give_the_same_policies():
    learnt = Learnt("at risk", **SMALL)
    assert learnt.fitted(held_out(), erde50) == learnt.fitted(held_out(), erde50)


def test_tune_judges_each_fold_by_the_policy_fitted_without_it():
    scores = held_out()
    learnt = Learnt("at risk", **SMALL)
    tuning = ww.tune(PEOPLE, learnt, refine=False)
    fit = learnt.fitted(scores, erde50)
    at = fit.policies.index(tuning.best.policy)
    for fold, (own, policies) in enumerate(zip(scores, fit.by_fold, strict=True)):
        alerted, delays = alerts_of(own, policies[at])
        truth = [label == "at risk" for label in own.truth]
        value = ww.erde(truth, alerted, delays, deadline=50, positive=True)
        assert tuning.best.by_fold[fold] == pytest.approx(value)


def test_subjects_without_posts_change_no_weight():
    silent = [ww.Subject(f"silent{at}", [], "control") for at in range(4)]
    learnt = Learnt("at risk", **SMALL)
    one, other = (learnt.fitted(held_out(who), erde50) for who in (PEOPLE, [*PEOPLE, *silent]))
    assert one.policies == other.policies


# Use


def test_a_learnt_policy_is_chosen_only_if_it_is_better():
    tried: list[Any] = [ww.Overtakes("at risk", margin=0.05), Learnt("at risk", **SMALL)]
    both = ww.tune(PEOPLE, tried, refine=False, measure="f_latency")
    alone = [ww.tune(PEOPLE, one, refine=False, measure="f_latency").best.value for one in tried]
    assert both.best.value == max(alone)


def test_a_learnt_policy_works_in_readers_and_watchers_as_in_replays():
    learnt = Learnt("at risk", features=("share", "log_ratio", "evidence", "gain"), **SMALL)
    tuning = ww.tune(PEOPLE, learnt, refine=False)
    model, policy = tuning.model(PEOPLE), tuning.best.policy
    assert policy_from_dict(policy.to_dict()) == policy
    found = ww.replay(PEOPLE, model, policy).outcomes
    watcher = model.watcher(policy)
    for person, outcome in zip(PEOPLE, found, strict=True):
        watcher.read_many([person.id] * len(person.posts), person.posts)
        watcher = model.watcher(policy, state=watcher.to_bytes())
        reader = model.reader(policy)
        for post in person.posts:
            reader.read(post)
        assert reader.decision.delay == watcher.decision(person.id).delay == outcome.delay


def test_nested_cross_validation_learns_a_policy_for_each_outer_fold():
    learnt = Learnt("at risk", **SMALL)
    nested = nested_tune(PEOPLE, learnt, outer_folds=2, folds=2, refine=False)
    one, other = (weighing(tuning.best.policy) for tuning in nested.tunings)
    assert one.weights != other.weights


def test_a_table_of_weights_is_in_the_order_of_their_effects():
    shares = [np.array([0.9, 0.9]), np.array([0.3, 0.1])]
    scores = Scores.from_shares(["a", "b"], [1, 0], shares, positive=1)
    policy = Weighs(1, share=-1, posts=0.1, share_posts=0.01)
    table = weight_table(policy, scores)
    assert [one.feature for one in table] == ["share", "posts", "share_posts"]
    for one in table:
        assert one.effect == pytest.approx(one.weight * one.deviation)
    # log 2 in a third of the weight of posts, else 0
    assert table[1].deviation == pytest.approx(math.log(2) * math.sqrt(2 / 9))


@pytest.mark.parametrize("refine", [False, True])
def test_policies_are_learnt_for_counted_and_refined_models(refine):
    fit = Learnt("at risk", **SMALL).fitted(held_out(refine=refine), erde50)
    assert any(weighing(policy).share > 0 for policy in fit.policies)


def test_policies_are_learnt_by_chunk_where_chunks_may_be_empty():
    tuning = ww.tune(PEOPLE, Learnt("at risk", **SMALL), by="chunk", refine=False)
    assert weighing(tuning.best.policy).weights


def test_the_score_that_ranks_best_ranks_subjects():
    people = [
        ww.Subject(str(at), [ww.Post("x")] * 5, "yes" if at % 2 else "no") for at in range(40)
    ]
    rng = np.random.default_rng(1)
    # Positives have weaker evidence in more posts: the share misleads, the log-ratio does not.
    values = [rng.random(5) * (1 if at % 2 else 0.1) for at in range(40)]
    others = [np.array([9.0 if at % 2 else 0.0, 0, 0, 0, 0]) + 0.05 for at in range(40)]
    scores = Scores.from_values(
        [one.id for one in people],
        [one.label for one in people],
        [np.cumsum(each) for each in values],
        [np.cumsum(each) for each in others],
        positive="yes",
    )
    policy = ww.tune(scores, Learnt("yes", **SMALL)).best.policy
    assert isinstance(policy, RankedBy)
    assert policy.score == "log_ratio"


# Scores of other classifiers


def probabilities():
    rng = np.random.default_rng(5)
    names = [f"subject{at}" for at in range(24)]
    truth = ["yes" if at % 3 == 0 else "no" for at in range(24)]
    chances = [np.clip(rng.normal(0.6 if at % 3 == 0 else 0.4, 0.2, 8), 0, 1) for at in range(24)]
    return names, truth, chances


def test_only_features_that_the_scores_provide_are_used():
    names, truth, chances = probabilities()
    shares = Scores.from_shares(names, truth, chances, positive="yes")
    means = Scores.from_posts(names, truth, chances, positive="yes", combine="mean")
    sums = Scores.from_posts(names, truth, chances, positive="yes", combine="sum")
    tune = partial(ww.tune, policies=Learnt("yes", **SMALL))
    of_shares, of_means, of_sums = (
        set(weighing(tune(one).best.policy).weights) for one in (shares, means, sums)
    )
    assert of_shares == {"share", "posts", "share_posts"}
    assert of_means == of_shares | {"log_ratio", "gain"}
    assert of_sums == of_means | {"evidence"}


def test_a_feature_that_the_scores_lack_is_refused():
    names, truth, chances = probabilities()
    shares = Scores.from_shares(names, truth, chances, positive="yes")
    learnt = Learnt("yes", features=("log_ratio", "share"))
    with pytest.raises(
        ValueError, match=r"log_ratio cannot be computed .* have only shares; available"
    ):
        ww.tune(shares, learnt)


def test_scores_without_any_difference_give_policies_that_decide_by_nothing():
    names, truth, _ = probabilities()
    same = Scores.from_shares(names, truth, [np.full(1, 0.5)] * len(names), positive="yes")
    tuning = ww.tune(same, Learnt("yes", **SMALL))
    assert weighing(tuning.best.policy).weights == {}


# Arguments


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"features": ()}, ValueError, "features must not be empty"),
        ({"features": ("length",)}, ValueError, "features must be one of 'share', 'log_ratio'"),
        ({"features": "share"}, TypeError, "features must be a list of features"),
        ({"strengths": ()}, ValueError, "strengths must not be empty"),
        ({"strengths": (0,)}, ValueError, "strengths must be above 0"),
        ({"strengths": 3}, TypeError, "strengths must be a list of numbers"),
        ({"first_posts": (0,)}, ValueError, "first_posts must be at least 1"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, error, message):
    with pytest.raises(error, match=message):
        Learnt("at risk", **untyped(arguments))


def test_features_are_kept_in_their_order():
    assert Learnt("x", features=FEATURES[::-1]).features == FEATURES
