"""Probabilities of refined models, on held-out texts, after every change of the model."""

import logging
import math

import numpy as np
import pytest

import watchword as ww


def made_up_texts(seed, number):
    """Return texts with common words and rare hints, three of four of which are right."""
    random = np.random.default_rng(seed)
    texts, labels = [], random.choice(["calm", "upset"], number).tolist()
    for label in labels:
        common = [f"word{at}" for at in random.zipf(1.3, 10)]
        hints = np.where(random.random(6) < 0.75, label, "calmupset".replace(label, ""))
        rare = [f"{hint}{at}" for hint, at in zip(hints, random.integers(0, 600, 6), strict=True)]
        texts.append(" ".join(random.permutation(common + rare)))
    return texts, labels


LEARNT = made_up_texts(0, 1500)
MORE = made_up_texts(1, 1500)
COIN = math.log(2)


def log_loss(model):
    """Return the log-loss of held-out texts."""
    texts, labels = made_up_texts(2, 400)
    columns = [model.labels.index(label) for label in labels]
    true = model.probability_many(texts)[np.arange(len(columns)), columns]
    return float(-np.log(np.maximum(true, 1e-15)).mean())


def refined(texts, labels):
    model = ww.TauSS3()
    model.learn_many(texts, labels)
    model.refine(texts, labels)
    return model


@pytest.mark.parametrize("floor", [1, 5, 8])
def test_a_pruned_model_is_not_more_certain_than_its_counts_allow(floor):
    model, counted = refined(*LEARNT), ww.TauSS3()
    counted.learn_many(*LEARNT)
    counted.prune(floor)
    assert model.prune(floor).refinement_dropped
    assert model.refinement is None
    assert log_loss(model) == log_loss(counted) < COIN


@pytest.mark.parametrize("floor", [1, 5, 8])
def test_a_model_refined_after_pruning_is_calibrated(floor):
    model = refined(*LEARNT)
    model.prune(floor)
    model.refine(*LEARNT)
    assert not model.refinement.is_stale
    assert log_loss(model) < COIN


def learnt_more(model):
    model.learn_many(*MORE)


def corrected(model):
    model.learn_many(*MORE, correct=True)


def unlearnt_half(model):
    for text, label in zip(*LEARNT, strict=True):
        if text < "m":
            model.unlearn_one(text, label)


def averaged(model):
    model.merge(refined(*MORE), refinement="average")


def merged(model):
    model.merge(refined(*MORE))


@pytest.mark.parametrize("change", [learnt_more, corrected, unlearnt_half, averaged, merged])
def test_probabilities_stay_calibrated_when_documents_come_and_go(change):
    model = refined(*LEARNT)
    before = log_loss(model)
    change(model)
    counted = model.replace()
    counted.drop_refinement()
    assert log_loss(model) < max(before + 0.03, log_loss(counted) + 1e-9)


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_ngram": 1},
        {"smoothness": 0.5},
        {"significance": 2.0},
        {"sanction": 1.0},
        {"alpha": 0.1},
    ],
)
def test_corrections_are_dropped_with_other_values(parameters):
    assert refined(*LEARNT).replace(**parameters).refinement is None


def test_a_model_that_prunes_while_it_learns_says_that_corrections_are_dropped(caplog):
    model = ww.TauSS3(prune_period=100, prune_floor=1)
    texts, labels = LEARNT[0][:6], LEARNT[1][:6]
    model.learn_many(texts, labels)
    model.refine(texts, labels)
    with caplog.at_level(logging.WARNING, "watchword"):
        model.learn_many(texts, labels)
    assert model.refinement is None
    assert "pruning while learning dropped the corrections" in caplog.text


def test_a_model_that_need_not_prune_yet_keeps_its_corrections(caplog):
    model = ww.TauSS3(prune_period=10_000, prune_floor=1)
    texts, labels = LEARNT[0][:6], LEARNT[1][:6]
    model.learn_many(texts, labels)
    model.refine(texts, labels)
    model.learn_many(texts, labels)
    assert model.refinement.learnt == 6
    assert not caplog.text
