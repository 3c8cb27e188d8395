"""Refinement in the core equals refinement in plain Python."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from reference import Reference
from refine_reference import RefinedReference
from strategies import corpora, examples, parameters, texts
from watchword.model.parameters import PAPER
from watchword.model.refining import ONLINE_COST, Folds, RefineSettings, best_calibration

CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-4}  # the core has 32-bit weights


def refinable(draw_from=parameters):
    return draw_from(own_operators=False).map(lambda found: found | {"summary": "sum"})


def both(corpus, arguments):
    model, reference = ww.TauSS3(**arguments), Reference(**arguments)
    for text, label in corpus:
        model.learn_one(text, label)
        reference.learn(text, label)
    return model, reference


@examples(0.5)
@given(
    corpus=corpora(),
    arguments=refinable(),
    others=st.lists(texts(), max_size=3),
    passes=st.integers(1, 3),
    balanced=st.booleans(),
    seed=st.integers(0, 5),
)
def test_scores_equal_the_reference(corpus, arguments, others, passes, balanced, seed):
    model, reference = both(corpus, arguments)
    learnt, labels = [text for text, _ in corpus], [label for _, label in corpus]
    model.refine(learnt, labels, passes=passes, balanced=balanced, seed=seed)
    refined = RefinedReference(reference)
    refined.fit(learnt, [{label} for label in labels], passes=passes, balanced=balanced, seed=seed)
    read = [*learnt, *others]
    expected = np.array([refined.scores(text) for text in read])
    np.testing.assert_allclose(model.confidence_many(read), expected, **CLOSE)


@examples(0.5)
@given(corpus=corpora(), arguments=refinable())
def test_correction_on_the_fly_equals_the_reference(corpus, arguments):
    model = ww.TauSS3(**arguments)
    refined = RefinedReference(Reference(**arguments), cost=ONLINE_COST)
    for text, label in corpus:
        model.learn_one(text, label, correct=True)
        refined.learn(text, label)
    read = [text for text, _ in corpus]
    expected = np.array([refined.scores(text) for text in read])
    np.testing.assert_allclose(model.confidence_many(read), expected, **CLOSE)


@given(corpus=corpora(), arguments=refinable(), read=st.lists(texts(), min_size=1, max_size=3))
def test_parts_add_up_to_the_score(corpus, arguments, read):
    model, _ = both(corpus, arguments)
    model.refine([text for text, _ in corpus], [label for _, label in corpus])
    for text in read:
        found = model.explain(text)
        score = model.confidence_many([text])[0]
        ngrams = sum(
            (np.add(one.counted, one.corrected) for one in found.ngrams), np.array(found.bias)
        )
        blocks = sum(
            (np.array(paragraph.contribution) for paragraph in found.blocks), np.array(found.bias)
        )
        np.testing.assert_allclose(found.value, score, rtol=0, atol=1e-12)
        np.testing.assert_allclose(ngrams, score, rtol=0, atol=1e-9)
        np.testing.assert_allclose(blocks, score, rtol=0, atol=1e-9)


@given(corpus=corpora(), arguments=refinable(), read=st.lists(texts(), max_size=3))
def test_a_saved_model_scores_bit_for_bit_alike(corpus, arguments, read, tmp_path_factory):
    model, _ = both(corpus, arguments)
    learnt, labels = [text for text, _ in corpus], [label for _, label in corpus]
    model.refine(learnt, labels)
    path = tmp_path_factory.mktemp("refined") / "model.ww"
    model.save(path)
    for other in (ww.TauSS3.load(path), ww.TauSS3.load(path, mapped=True)):
        assert other.refinement == model.refinement
        assert other.fingerprint == model.fingerprint
        np.testing.assert_array_equal(
            other.confidence_many([*learnt, *read]), model.confidence_many([*learnt, *read])
        )
        assert other.to_bytes() == model.to_bytes()


@given(corpus=corpora(), arguments=refinable())
def test_the_number_of_threads_does_not_matter(corpus, arguments):
    learnt, labels = [text for text, _ in corpus] * 100, [label for _, label in corpus] * 100
    saved = set()
    for threads in (1, 2, 3):
        model = ww.TauSS3(**arguments)
        model.learn_many(learnt, labels)
        model.refine(learnt, labels, threads=threads, passes=1)
        saved.add(model.to_bytes())
    assert len(saved) == 1


@examples(0.5)
@given(corpus=corpora(min_labels=2), arguments=refinable(), data=st.data())
def test_unlearning_keeps_the_other_corrections(corpus, arguments, data):
    model, _ = both(corpus, arguments)
    model.refine([text for text, _ in corpus], [label for _, label in corpus])
    text, label = data.draw(st.sampled_from(corpus))
    model.unlearn_one(text, label)
    if not model.labels:
        return
    again = ww.TauSS3.from_bytes(model.to_bytes())
    read = [text for text, _ in corpus]
    np.testing.assert_array_equal(again.confidence_many(read), model.confidence_many(read))
    assert again.refinement == model.refinement
    assert model.refinement is not None
    assert model.refinement.unlearnt == 1


@examples(0.5)
@given(corpus=corpora(), arguments=refinable(), floor=st.integers(0, 2), data=st.data())
def test_pruning_drops_corrections_if_it_drops_anything(corpus, arguments, floor, data):
    model, _ = both(corpus, arguments)
    model.refine([text for text, _ in corpus], [label for _, label in corpus])
    before, read = model.refinement, [text for text, _ in corpus]
    scores = model.confidence_many(read)
    pruned = model.prune(floor, data.draw(st.integers(1, 3)))
    assert pruned.refinement_dropped == (pruned.ngrams > 0)
    if pruned.refinement_dropped:
        assert model.refinement is None
    else:
        assert model.refinement == before
        np.testing.assert_array_equal(model.confidence_many(read), scores)


@examples(0.5)
@given(corpus=corpora(), arguments=refinable(), data=st.data())
def test_corrections_stay_while_copies_of_texts_are_unlearnt_and_learnt_again(
    corpus, arguments, data
):
    model, _ = both(corpus * 2, arguments)
    learnt = [text for text, _ in corpus]
    model.refine(learnt, [label for _, label in corpus])
    before = model.confidence_many(learnt)
    order = data.draw(st.permutations(corpus))
    for text, label in order:
        model.unlearn_one(text, label)
        again = ww.TauSS3.from_bytes(model.to_bytes())
        np.testing.assert_array_equal(again.confidence_many(learnt), model.confidence_many(learnt))
    for text, label in order:
        model.learn_one(text, label)
    np.testing.assert_array_equal(model.confidence_many(learnt), before)


def random_corpus(seed, texts, *, informative):
    random = np.random.default_rng(seed)
    labels = random.choice(["a", "b", "c"], texts).tolist()
    corpus = []
    for label in labels:
        words = random.choice(list("uvwxyz"), 5).tolist()
        hint = random.choice([label, "b"]) if informative else random.choice(["a", "b", "c"])
        corpus.append((" ".join([*words, f"hint{hint}", *words[:2]]), label))
    return corpus


@pytest.mark.parametrize("counting", ["occurrences", "documents"])
@pytest.mark.parametrize("seed", range(3))
def test_temperature_and_lean_equal_the_reference(seed, counting):
    corpus = random_corpus(seed, 24, informative=True)
    model, reference = both(corpus, PAPER | {"counting": counting, "prior": 3})
    learnt, sets = [text for text, _ in corpus], [{label} for _, label in corpus]
    model.refine(learnt, [label for _, label in corpus], passes=2, seed=seed)
    scores, columns = [], []
    folds = Folds.drawn(len(learnt), seed)
    for fold, scored in enumerate(folds.scored):
        kept = [index for index, other in enumerate(folds.of_text) if other != fold]
        refined = RefinedReference(reference)
        refined.fit(
            [learnt[index] for index in kept], [sets[index] for index in kept], passes=2, seed=seed
        )
        scores += [refined.scores_without_itself(learnt[index], sets[index]) for index in scored]
        columns += [reference.labels.index(*sets[index]) for index in scored]
    sizes = np.log([sum(label in own for own in sets) for label in reference.labels])
    temperature, lean = best_calibration(np.array(scores), np.array(columns), sizes - sizes.mean())
    assert model.refinement is not None
    assert model.refinement.temperature == pytest.approx(temperature, rel=1e-3)
    assert len(scores) == len(learnt)
    refined = RefinedReference(reference)
    refined.fit(learnt, sets, passes=2, seed=seed)
    refined.take_back(lean, sets)
    expected = np.array([refined.scores(text) for text in learnt])
    np.testing.assert_allclose(model.confidence_many(learnt), expected, rtol=0, atol=2e-3)


@given(texts=st.lists(st.integers(0, 5), min_size=1, max_size=4), lean=st.floats(0, 1))
def test_the_lean_that_is_taken_back_equals_the_reference(texts, lean):
    corpus = [(f"word{n} all", f"label{n}") for n, own in enumerate(texts) for _ in range(own + 1)]
    model, reference = both(corpus, PAPER)
    fitted = [(f"word{n} all", f"label{n}") for n, own in enumerate(texts) for _ in range(own)]
    learnt, sets = [text for text, _ in fitted], [{label} for _, label in fitted]
    columns = [[model.labels.index(*own)] for own in sets]
    native = model._engine.native
    settings = RefineSettings().for_native()
    refiner = native.refiner(learnt, columns, [], [], settings, 1)
    refiner.begin(None)
    refiner.run_pass()
    assert native.adopt(refiner, 1.0, lean)
    refined = RefinedReference(reference)
    refined.fit(learnt, sets, passes=1)
    if sets:
        refined.take_back(lean, sets)
    read = [text for text, _ in corpus]
    expected = np.array([refined.scores(text) for text in read])
    np.testing.assert_allclose(model.confidence_many(read), expected, **CLOSE)


def unequal_corpus(seed, texts):
    """Long texts with many words of their own; one in five has the rare label."""
    random = np.random.default_rng(seed)
    corpus = []
    for index in range(texts):
        label = "rare" if index % 5 == 0 else "common"
        words = random.zipf(1.2, 150).tolist()
        hints = random.integers(0, 40, 12) + (0 if label == "rare" else 6)
        text = " ".join([*(f"w{word}" for word in words), *(f"hint{hint}" for hint in hints)])
        corpus.append((text, label))
    return corpus


def test_new_texts_of_a_rare_label_are_recognised():
    learnt, new = unequal_corpus(2, 400), unequal_corpus(3, 400)
    model = ww.TauSS3()
    model.learn_many([text for text, _ in learnt], [label for _, label in learnt])
    model.refine([text for text, _ in learnt], [label for _, label in learnt])
    found = model.predict_many([text for text, _ in new])
    assert found.count("rare") > 60  # of 80; 41 if the lean is left in


def test_the_temperature_is_fitted_to_texts_of_all_labels_though_they_are_sorted():
    folds = Folds.drawn(20_000, 0)
    (scored,) = folds.scored
    assert {folds.of_text[index] for index in scored} == {0}
    per_label = np.histogram(scored, bins=20, range=(0, 20_000))[0]
    assert per_label.min() > 0.5 * per_label.mean()


@pytest.mark.parametrize(
    ("texts", "scored"),
    [(19, []), (20, [10, 10]), (1_500, [750, 250]), (2_000, [1_000]), (2_001, [1_000])],
)
def test_at_most_a_thousand_held_out_texts_are_scored(texts, scored):
    assert [len(fold) for fold in Folds.drawn(texts, 0).scored] == scored


def test_no_text_takes_part_in_calibrating_itself():
    # Every text has a word of its own, which says nothing about others.
    corpus = random_corpus(0, 200, informative=False)
    learnt = [f"{text} own{index}" for index, (text, _) in enumerate(corpus)]
    labels = [label for _, label in corpus]
    model = ww.TauSS3()
    model.learn_many(learnt, labels)
    model.refine(learnt, labels)
    assert ww.evaluate(model, learnt, labels).accuracy > 0.9  # of what it has learnt
    unknown = model.probability_many(
        [f"{text} new" for text, _ in random_corpus(1, 50, informative=False)]
    )
    assert unknown.max() < 0.8


def test_correction_on_the_fly_after_a_fit_is_more_careful():
    corpus = [("red hot", "a"), ("cold blue", "b"), ("hot blue", "a"), ("red cold", "b")]
    model, reference = both(corpus, PAPER)
    model.refine([text for text, _ in corpus], [label for _, label in corpus])
    refined = RefinedReference(reference)
    refined.fit([text for text, _ in corpus], [{label} for _, label in corpus])
    model.learn_one("blue hot", "b", correct=True)
    refined.cost = ONLINE_COST
    refined.learn("blue hot", "b")
    read = [text for text, _ in corpus]
    expected = np.array([refined.scores(text) for text in read])
    np.testing.assert_allclose(model.confidence_many(read), expected, **CLOSE)
    assert model.refinement is not None
    assert model.refinement.cost == 1


def test_several_labels_per_text_equal_the_reference():
    corpus = [("red hot", ["a", "b"]), ("cold", ["c"]), ("hot cold", ["b", "c"]), ("odd", [])]
    model, reference = ww.TauSS3.paper(), Reference()
    for text, labels in corpus:
        for label in labels:
            model.learn_one(text, label)
            reference.learn(text, label)
    learnt, sets = [text for text, _ in corpus], [set(labels) for _, labels in corpus]
    model.refine(learnt, [sorted(own) for own in sets])
    refined = RefinedReference(reference)
    refined.fit(learnt, sets)
    expected = np.array([refined.scores(text) for text in learnt])
    np.testing.assert_allclose(model.confidence_many(learnt), expected, **CLOSE)
    assert model.predict_labels_one("red hot") == ("a", "b")


@pytest.mark.parametrize(
    ("corpus", "read"),
    [
        ([("one two", "only")], "one"),
        ([("", "empty"), ("word", "other")], "word"),
        ([("", "empty"), ("...", "other")], "word"),
        ([("same", "a"), ("same", "b")], "same"),
    ],
)
def test_extreme_corpora_give_finite_scores(corpus, read):
    model = ww.TauSS3()
    model.learn_many([text for text, _ in corpus], [label for _, label in corpus])
    model.refine([text for text, _ in corpus], [label for _, label in corpus])
    assert np.isfinite(model.confidence_many([read, "", "never seen"])).all()
    assert model.confidence_many(["never seen"]).tolist() == [[0.0] * len(model.labels)]
    assert model.predict_one("never seen") == model.default_label
