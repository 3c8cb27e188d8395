"""Learning, unlearning, merging, pruning and reading in any order."""

import contextlib
import copy
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from strategies import examples, texts

LABELS = st.sampled_from(["x", "y", "z"])
DOCUMENTS = st.tuples(texts(), LABELS)
FEW = st.lists(DOCUMENTS, max_size=4)
SHAPES = st.fixed_dictionaries(
    {
        "counting": st.sampled_from(["occurrences", "documents"]),
        "max_ngram": st.sampled_from([3, 1, 2, 4]),
        "ngram_scale": st.sampled_from(["length", "words", "label"]),
    }
)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("learn one"), DOCUMENTS),
        st.tuples(st.just("learn many"), FEW),
        st.tuples(st.just("merge"), FEW),
        st.tuples(st.just("copy"), DOCUMENTS),
        st.tuples(st.just("unlearn"), st.integers(0)),
        st.tuples(st.just("unlearn"), st.integers(0)),
        st.tuples(st.just("unlearn a part"), st.integers(0)),
        st.tuples(st.just("read"), texts()),
        st.tuples(st.just("save and load"), st.none()),
    ),
    max_size=20,
)


def learnt(documents, shape):
    model = ww.TauSS3(**shape)
    for text, label in documents:
        model.learn_one(text, label)
    return model


def assert_same_model(model, expected, readings):
    assert model.to_bytes() == expected.to_bytes()
    if not model.labels:
        return
    for ngram in model.counts():
        assert model.value(ngram) == expected.value(ngram)
    for text in readings:
        assert model.confidence_one(text) == expected.confidence_one(text)


def unlearn_a_part(model, documents, at):
    """Unlearn half of a document, which is mostly refused; if it is not, learn it again."""
    text, label = documents[at]
    part = text[: len(text) // 2]
    before = model.to_bytes()
    try:
        model.unlearn_one(part, label)
    except ww.errors.UnlearnError:
        assert model.to_bytes() == before
        return
    # Other documents have it too, so what is left must still be a model.
    assert ww.TauSS3.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()
    model.learn_one(part, label)
    assert model.to_bytes() == before


@examples(2)
@given(
    shape=SHAPES, changes=CHANGES, floor=st.integers(0, 2), readings=st.lists(texts(), max_size=3)
)
def test_any_changes_give_the_model_learnt_from_what_is_left(shape, changes, floor, readings):
    model, documents = ww.TauSS3(**shape), []
    for change, what in changes:
        if change == "learn one":
            model.learn_one(*what)
            documents.append(what)
        elif change == "learn many":
            model.learn_many([text for text, _ in what], [label for _, label in what], threads=2)
            documents.extend(what)
        elif change == "merge":
            model.merge(learnt(what, shape))
            documents.extend(what)
        elif change == "unlearn" and documents:
            model.unlearn_one(*documents.pop(what % len(documents)))
        elif change == "unlearn a part" and documents:
            unlearn_a_part(model, documents, what % len(documents))
        elif change == "copy":
            # Both share their counts until one of them changes, or tries to.
            shared = copy.copy(model)
            if model.labels:
                model.confidence_one(what[0])
            if refusal(model, *what) is None:
                model = shared
            del shared
        elif change == "read" and model.labels:
            assert model.confidence_one(what) == learnt(documents, shape).confidence_one(what)
        elif change == "save and load":
            model = ww.TauSS3.from_bytes(model.to_bytes())
    expected = learnt(documents, shape)
    assert_same_model(model, expected, readings)
    model.prune(floor)
    expected.prune(floor)
    assert_same_model(model, expected, readings)


# --- a model too large to be looked through for every document ------------------------------------


def made_up_documents(number, seed):
    """Return short documents of frequent and rare words that are often cut by full stops."""
    source = random.Random(seed)
    documents = []
    for at in range(number):
        words = [f"w{int(20000 ** source.random())}" for _ in range(source.randint(1, 12))]
        text = "".join(word + source.choice([" ", " ", " ", ". "]) for word in words)
        documents.append((text, "xyz"[at % 3]))
    return documents


@pytest.mark.parametrize("counting", ["documents", "occurrences"])
@pytest.mark.parametrize("max_ngram", [1, 2, 4])
def test_unlearning_many_documents_of_a_large_model(counting, max_ngram):
    shape = {"counting": counting, "max_ngram": max_ngram}
    documents = made_up_documents(2500, seed=1)
    new = made_up_documents(100, seed=2)
    model = learnt(documents, shape)
    for at, document in enumerate(new):
        model.unlearn_one(*documents.pop(7 * at % len(documents)))
        model.confidence_one(document[0])
        model.learn_one(*document)
        documents.append(document)
    assert_same_model(model, learnt(documents, shape), [text for text, _ in new[:20]])


def refusal(model, text, label):
    """Unlearn a document; return why that is refused, or None."""
    try:
        model.unlearn_one(text, label)
    except ww.errors.UnlearnError as error:
        return str(error)
    return None


@examples(3)
@given(shape=SHAPES, documents=st.lists(DOCUMENTS, max_size=8), data=st.data())
def test_a_model_accepts_what_a_loaded_copy_accepts(shape, documents, data):
    # The model knows the documents that it has learnt; the copy has only counts to go by.
    model = learnt(documents, shape)
    attempts = st.one_of(DOCUMENTS, st.sampled_from(documents)) if documents else DOCUMENTS
    for text, label in data.draw(st.lists(attempts, max_size=8)):
        part = text[: data.draw(st.sampled_from([len(text), len(text) // 2]))]
        loaded = ww.TauSS3.from_bytes(model.to_bytes())
        assert refusal(model, part, label) == refusal(loaded, part, label)
        assert model.to_bytes() == loaded.to_bytes()


@pytest.mark.parametrize(("part", "text"), [("a a b", "a a a a b"), ("b", "a a b")])
def test_a_document_is_not_taken_for_one_that_begins_by_repeating_its_first_word(part, text):
    # The words and the label that were seen first have the id 0.
    model = learnt([(text, "x"), ("c d e a b", "x")], {"counting": "documents"})
    assert refusal(model, part, "x") is not None


@pytest.mark.parametrize("counting", ["documents", "occurrences"])
@pytest.mark.parametrize("check", [True, False])
def test_a_large_model_unlearns_document_by_document_until_it_is_empty(counting, check):
    shape = {"counting": counting}
    documents = made_up_documents(1200, seed=8)
    model = learnt(documents, shape)
    if not check:
        model = ww.TauSS3.from_bytes(model.to_bytes())
    random.Random(9).shuffle(documents)
    while documents:
        model.unlearn_one(*documents.pop(), check=check)
        if documents and len(documents) % 100 == 0:
            model.learn_one(*documents[0])
            model.unlearn_one(*documents[0], check=check)
            assert_same_model(model, learnt(documents, shape), [])
    assert model.labels == ()


@examples(3)
@given(
    shape=SHAPES,
    documents=st.lists(DOCUMENTS, min_size=1, max_size=8),
    unlearnt=st.lists(DOCUMENTS, max_size=8),
    later=st.lists(DOCUMENTS, max_size=4),
    floor=st.integers(0, 2),
)
def test_a_broken_promise_gives_a_sound_model_or_an_error(shape, documents, unlearnt, later, floor):
    model = ww.TauSS3.from_bytes(learnt(documents, shape).to_bytes())
    for text, label in [(text[: len(text) // 2], label) for text, label in documents] + unlearnt:
        with contextlib.suppress(ww.errors.UnlearnError):
            model.unlearn_one(text, label, check=False)
    other = learnt(later, shape)
    other.merge(model)
    other.replace(max_ngram=1).learn_many([text for text, _ in later], [one for _, one in later])
    for changed in (model, other):
        for text, label in later:
            changed.learn_one(text, label)
            if changed.labels:
                changed.explain(text)
        try:
            sound = ww.TauSS3.from_bytes(changed.to_bytes())
        except ww.errors.UnlearnError:
            changed.prune(floor)
            continue
        assert sound.to_bytes() == changed.to_bytes()
        changed.prune(floor)


@pytest.mark.slow
@pytest.mark.parametrize("counting", ["documents", "occurrences"])
def test_the_same_documents_are_refused_before_and_after_many_were_unlearnt(counting):
    documents = made_up_documents(2500, seed=3)
    model = learnt(documents, {"counting": counting})
    for _ in range(20):
        model.unlearn_one(*documents.pop())
    source = random.Random(4)
    reasons = []
    for _ in range(150):
        text, label = source.choice(documents)
        words = text.split()
        start = source.randrange(len(words))
        part = " ".join(words[start : source.randint(start + 1, len(words))])
        fresh = ww.TauSS3.from_bytes(model.to_bytes())  # looks through all its n-grams
        reasons.append(refusal(model, part, label))
        assert refusal(fresh, part, label) == reasons[-1]
        assert model.to_bytes() == fresh.to_bytes()
        if reasons[-1] is None:
            model.learn_one(part, label)
    assert 10 < reasons.count(None) < 140


def assert_same_scores(model, expected, read):
    assert model.refinement == expected.refinement
    np.testing.assert_array_equal(model.confidence_many(read), expected.confidence_many(read))


@pytest.mark.parametrize("counting", ["documents", "occurrences"])
def test_a_refined_model_scores_like_a_loaded_one_while_most_documents_are_unlearnt(counting):
    shape = {"counting": counting}
    documents = made_up_documents(1000, seed=5)
    new = made_up_documents(1000, seed=6)
    read = [text for text, _ in documents[:100] + new[:100]]
    model = learnt(documents, shape)
    model.refine([text for text, _ in documents], [label for _, label in documents])
    source = random.Random(7)
    for at in range(900):
        if at % 10 == 0:
            model.learn_one(*new[at], correct=True)
            documents.append(new[at])
        document = documents.pop(source.randrange(len(documents)))
        if at < 15 or at % 100 == 0:
            # The loaded copy has ids without gaps, and no index of n-grams.
            loaded = ww.TauSS3.from_bytes(model.to_bytes())
            assert_same_scores(model, loaded, read)
            loaded.unlearn_one(*document)
            model.unlearn_one(*document)
            assert_same_scores(model, loaded, read)
            assert model.to_bytes() == loaded.to_bytes()
        else:
            model.unlearn_one(*document)
    assert_same_scores(model, ww.TauSS3.from_bytes(model.to_bytes()), read)
    model.drop_refinement()
    for _ in range(50):
        model.unlearn_one(*documents.pop())
    assert_same_model(model, learnt(documents, shape), read)


def changed_by_learning(model):
    model.learn_one("w1 w2", "x")


def changed_by_unlearning(model):
    model.unlearn_one(*made_up_documents(1, seed=10)[0])


def changed_by_merging(model):
    model.merge(model.replace(alpha=0.0), refinement="average")


@pytest.mark.parametrize("change", [changed_by_learning, changed_by_unlearning, changed_by_merging])
def test_corrections_stay_with_their_ngrams_while_longer_ones_are_dropped(change):
    documents = made_up_documents(500, seed=10)
    model = learnt(documents, {"max_ngram": 3}).replace(max_ngram=2)
    read, labels = [text for text, _ in documents], [label for _, label in documents]
    model.refine(read, labels)
    loaded = ww.TauSS3.from_bytes(model.to_bytes())
    change(model)
    change(loaded)
    assert_same_scores(model, loaded, read)
    assert model.to_bytes() == loaded.to_bytes()
