"""Trails: values with any parameters equal those of reading, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import any_texts, corpora, parameters
from watchword import TauSS3
from watchword.model.engine import engine_of
from watchword.model.parameters import Parameters

SHAPING = ("max_ngram", "counting", "paragraphs", "tokenization")


def taught(corpus, *, prune=0, **own):
    model = TauSS3(**own)
    model.learn_many([text for text, _ in corpus], [label for _, label in corpus])
    if prune:
        model.prune(prune)
    return model


def followed(model, texts, *, largest_values=True, words=True):
    engine = engine_of(model)
    return engine.native.trails(engine.source.read(texts), largest_values, words)


def same(found, expected):
    labels, values = found
    assert tuple(labels) == expected.labels
    assert values.shape == expected.values.shape
    assert values.tobytes() == expected.values.tobytes()


@given(
    corpora(),
    st.lists(any_texts(), max_size=4),
    parameters(own_operators=False),
    st.lists(parameters(own_operators=False), min_size=1, max_size=3),
    st.sampled_from([0, 0, 1, 2]),
)
def test_values_are_those_of_reading(corpus, texts, own, others, prune):
    model = taught(corpus, prune=prune, **own)
    texts = texts + [text for text, _ in corpus[:2]]
    trails = followed(model, texts)
    for other in others:
        chosen = own | {name: value for name, value in other.items() if name not in SHAPING}
        expected = model.replace(**chosen).confidence_table(texts)
        same(trails.confidence(Parameters(**chosen).for_native()), expected)


@given(corpora(), parameters(own_operators=False), st.integers(1, 4), st.sampled_from([0, 1]))
def test_shorter_ngrams_equal_a_model_learnt_with_them(corpus, own, shorter, prune):
    model = taught(corpus, prune=prune, **(own | {"max_ngram": 4}))
    texts = ["", "unheard of", *(text for text, _ in corpus)]
    chosen = own | {"max_ngram": shorter}
    expected = taught(corpus, prune=prune, **chosen).confidence_table(texts)
    same(followed(model, texts).confidence(Parameters(**chosen).for_native()), expected)


@given(corpora(max_documents=20), st.integers(1, 30), st.integers(0, 2), st.integers(1, 3))
def test_pruning_while_learning_does_not_depend_on_the_longest_ngrams(corpus, period, floor, most):
    own = {"prune_period": period, "prune_floor": floor}
    texts = [text for text, _ in corpus]
    expected = taught(corpus, max_ngram=most, **own).confidence_table(texts)
    trails = followed(taught(corpus, max_ngram=3, **own), texts)
    same(trails.confidence(Parameters(max_ngram=most, **own).for_native()), expected)


def test_empty_documents_and_unknown_words():
    model = taught([("a b", "x"), ("b c", "y")])
    texts = ["", "   ", "unheard of", "...\n\n!", "a"]
    found = followed(model, texts).confidence(engine_of(model).parameters.for_native())
    same(found, model.confidence_table(texts))
    assert found[1][:4].tolist() == [[0, 0]] * 4


def test_no_documents_at_all():
    model = taught([("a b", "x")])
    _, values = followed(model, []).confidence(engine_of(model).parameters.for_native())
    assert values.shape == (0, 1)


def test_one_label():
    model = taught([("a b c", "x")])
    same(
        followed(model, ["a b"]).confidence(engine_of(model).parameters.for_native()),
        model.confidence_table(["a b"]),
    )


def test_trails_do_not_change_when_the_model_learns():
    model = taught([("a b", "x"), ("b c", "y")])
    parameters = engine_of(model).parameters.for_native()
    trails = followed(model, ["a b c"])
    before = trails.confidence(parameters)[1]
    model.learn_one("a b c", "y")
    assert np.array_equal(trails.confidence(parameters)[1], before)


@pytest.mark.parametrize(
    ("wanted", "needs"),
    [
        ({"max_ngram": 3}, {}),
        ({"confidence_function": "norm_gv"}, {"largest_values": False}),
        ({"confidence_function": "norm_gv_xai"}, {"words": False}),
    ],
)
def test_unsupported_parameters_are_refused(wanted, needs):
    trails = followed(taught([("a b", "x")], max_ngram=2), ["a"], **needs)
    with pytest.raises(ValueError, match="these trails were not made for such parameters"):
        trails.confidence(Parameters(**({"max_ngram": 2} | wanted)).for_native())
