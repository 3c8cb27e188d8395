"""Cross-validation: every text is predicted by a model that has not learnt it."""

from typing import Any

import pytest

import watchword as ww
from untyped import untyped
from watchword.evaluation.folds import deal
from watchword.evaluation.labels import Evaluation

PEOPLE = ww.make_risk_streams(12, seed=1, prevalence=0.5, posts_per_subject=(4, 8))
POSTS = [(post.content, one.label, one.id) for one in PEOPLE for post in one.posts]
TEXTS, LABELS, WRITERS = (list(column) for column in zip(*POSTS, strict=True))


def by_hand(labels, *, refine=None, **options):
    """Cross-validate fold by fold with a new model each."""
    several = not isinstance(labels[0], str)
    parts = []
    for fold in deal(labels, **options):
        model = ww.TauSS3(max_ngram=2, smoothness=0.3)
        for at in set(range(len(TEXTS))) - set(fold.held_out.tolist()):
            for label in labels[at] if several else [labels[at]]:
                model.learn_one(TEXTS[at], label)
        if refine is not None:
            others = fold.others(len(TEXTS)).tolist()
            model.refine([TEXTS[at] for at in others], [labels[at] for at in others], **refine)
        places = fold.held_out.tolist()
        predict = model.predict_labels_one if several else model.predict_one
        found: list[Any] = [predict(TEXTS[at]) for at in places]
        parts.append(Evaluation.of([labels[at] for at in places], found))
    return Evaluation.pooled(parts)


def cross_validate(labels=LABELS, **options):
    model = ww.TauSS3(max_ngram=2, smoothness=0.3)
    return ww.cross_validate(TEXTS, labels, model=model, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"folds": 3, "repeats": 2},
        {"folds": 2, "groups": WRITERS, "seed": 7},
    ],
)
def test_cross_validation_equals_folds_by_hand(options):
    assert cross_validate(**options) == by_hand(LABELS, **options)


def test_a_text_of_several_labels_is_learnt_under_each():
    labels = [{label, "short"} if len(text) < 120 else {label} for text, label, _ in POSTS]
    found = cross_validate(labels, folds=3)
    assert found == by_hand(labels, folds=3)
    assert found.several


@pytest.mark.parametrize("several", [False, True])
def test_models_are_refined_with_the_other_folds_only(several):
    labels = [{label} for label in LABELS] if several else LABELS
    assert cross_validate(labels, folds=3, refine=True) == by_hand(labels, folds=3, refine={})
    settings = {"cost": 0.1, "balanced": True}
    expected = by_hand(labels, folds=3, refine=settings)
    assert cross_validate(labels, folds=3, refine=settings) == expected


def test_every_text_counts_once_per_repeat():
    found = cross_validate(folds=4, repeats=3)
    assert found.texts == 3 * len(TEXTS)
    assert len(found.folds) == 12
    assert found.spread("accuracy").deviation > 0


def test_the_result_depends_on_the_seed_and_not_on_threads():
    once = cross_validate(seed=5, threads=1)
    assert once == cross_validate(seed=5, threads=3)
    assert once != cross_validate(seed=6)


def test_the_model_is_not_taught():
    model = ww.TauSS3()
    ww.cross_validate(TEXTS, LABELS, model=model)
    assert model.labels == ()


def test_counts_of_the_given_model_are_ignored():
    model = ww.TauSS3()
    model.learn_many(TEXTS, LABELS)
    assert ww.cross_validate(TEXTS, LABELS, model=model) == ww.cross_validate(TEXTS, LABELS)


def test_hooks_are_used():
    hook = ww.TauSS3(word_hook=lambda _: None)
    # Without any word, the answer is always the label with most words: none has any.
    found = ww.cross_validate(TEXTS, LABELS, model=hook)
    assert {sum(map(bool, fold.confusion.sum(axis=0))) for fold in found.folds} == {1}


def test_a_label_of_only_one_text_is_never_predicted():
    found = ww.cross_validate(["a", "b", "a", "b", "c"], ["x", "y", "x", "y", "z"], folds=2)
    assert found.labels == ("x", "y", "z")
    assert found.per_label[2].right == 0


def test_progress_is_called():
    calls = []

    def progress(items, total):
        for item in items:
            calls.append(total)
            yield item

    cross_validate(folds=3, repeats=2, progress=progress)
    assert calls == [6] * 6


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["a"], []), ValueError, "1 texts but 0 labels"),
        (([], []), ValueError, "5 folds need at least 5 texts"),
        (([1], ["a"]), TypeError, "text 0 must be str"),
        ((["a"] * 5, ["a", "b", "a", "b", 1]), ValueError, "all str or all int"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        ww.cross_validate(*arguments)


def test_only_a_model_gives_parameters():
    with pytest.raises(TypeError, match="must be a TauSS3, got dict"):
        ww.cross_validate(TEXTS, LABELS, model=untyped({}))


@pytest.mark.parametrize("label", ["calm", ["calm", "at risk"]])
def test_texts_of_one_label_are_refused(label):
    with pytest.raises(ValueError, match=r"all 4 texts have the label.*at least two labels"):
        ww.cross_validate(["a b", "c", "d", "e f"], [label] * 4, folds=2)


def test_texts_with_and_without_a_label_can_be_told_apart():
    found = ww.cross_validate(["a b", "c", "a d", "c f"] * 2, [["calm"], []] * 4, folds=2)
    assert found.texts == 8
