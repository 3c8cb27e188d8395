"""`SS3Vectorizer`: texts as sparse rows of weighted n-grams."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import watchword as ww
from watchword import pyss3
from watchword.pyss3 import SS3
from watchword.sklearn import SS3Vectorizer, TauSS3Classifier

TEXTS = ["fast chip", "a fast goal, a goal", "slow bread", "fast chip again", "bread and butter"]
LABELS = ["tech", "sports", "food", "tech", "food"]


def taught(**parameters):
    model = ww.TauSS3(**parameters)
    model.learn_many(TEXTS, LABELS)
    return model


def row(vectorizer, text):
    names = vectorizer.get_feature_names_out()
    matrix = vectorizer.transform([text])
    return {str(names[at]): value for at, value in zip(matrix.indices, matrix.data, strict=True)}


def test_an_entry_is_count_times_value():
    model = taught()
    vectorizer = SS3Vectorizer(model, "sports", norm=None).fit(TEXTS)
    value = {name: model.value(name)["sports"].cv for name in ("goal", "a goal", "fast goal")}
    found = row(vectorizer, "A goal! Another goal, a fast goal")
    for name, times in (("goal", 3), ("a goal", 1), ("fast goal", 1)):
        assert found[name] == pytest.approx(times * value[name])
    assert "another" not in found


def test_rows_have_length_one_by_default_as_linear_models_need():
    matrix = SS3Vectorizer(taught()).fit(TEXTS).transform([*TEXTS, "bread " * 99, "unknown"])
    lengths = np.sqrt(matrix.multiply(matrix).sum(axis=1))
    assert lengths.ravel().tolist()[0] == pytest.approx([1] * (len(TEXTS) + 1) + [0])


def test_the_vectorizer_of_pyss3_needs_no_fit():
    clf = SS3()
    clf.fit(TEXTS, LABELS)
    vectorizer = pyss3.SS3Vectorizer(clf, "food")
    assert row(vectorizer, "bread, bread")["bread"] == 2 * clf.cv("bread", "food")
    assert vectorizer.fit_transform(TEXTS).shape == clone(vectorizer).transform(TEXTS).shape
    with pytest.raises(pyss3.InvalidCategoryError):
        pyss3.SS3Vectorizer(clf, "music")


def test_n_grams_do_not_cross_breaks():
    vectorizer = SS3Vectorizer(taught(), "tech").fit(TEXTS)
    assert "fast chip" in row(vectorizer, "fast chip")
    assert "fast chip" not in row(vectorizer, "fast, chip")


@pytest.mark.parametrize(
    ("name", "subtracted"),
    [
        ("only_cat", lambda _: 0),
        ("diff_all", sum),
        ("diff_max", max),
        ("diff_mean", lambda others: sum(others) / len(others)),
        ("diff_median", lambda others: sorted(others)[0] / 2 + sorted(others)[1] / 2),
    ],
)
def test_weights_subtract_the_values_of_other_labels(name, subtracted):
    model = taught()
    options = {"ss3_weight": name, "tf_weight": "binary", "norm": None}
    vectorizer = SS3Vectorizer(model, "tech", **options).fit(TEXTS)
    for ngram, weight in row(vectorizer, "fast chip goal").items():
        values = {label: found.cv for label, found in model.value(ngram).items()}
        own = values.pop("tech")
        assert weight == pytest.approx(own - subtracted(list(values.values())))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("binary", [1, 1]),
        ("raw_count", [3, 1]),
        ("term_freq", [0.75, 0.25]),
        ("log_norm", [np.log(4), np.log(2)]),
        ("double_norm", [1, 0.5 + 0.5 / 3]),
        (np.sqrt, [np.sqrt(3), 1]),
    ],
)
def test_frequencies(name, expected):
    model = taught(max_ngram=1)
    vectorizer = SS3Vectorizer(model, "food", lambda _: 1.0, tf_weight=name, norm=None)
    found = row(vectorizer.fit(TEXTS), "bread bread bread chip unknown")
    assert [found["bread"], found["chip"]] == pytest.approx(expected)


def test_the_n_grams_of_highest_weight_are_kept():
    model = taught()
    every = SS3Vectorizer(model, "food").fit(TEXTS)
    best = SS3Vectorizer(model, "food", top_n=3).fit(TEXTS)
    assert len(best.vocabulary_) == 3
    assert sorted(best.weights_) == sorted(every.weights_)[-3:]
    assert best.transform(TEXTS).shape == (5, 3)


def test_without_a_label_each_n_gram_has_its_highest_value():
    model = taught()
    vectorizer = SS3Vectorizer(model).fit(TEXTS)
    for name, column in vectorizer.vocabulary_.items():
        highest = max(value.cv for value in model.value(name).values())
        assert vectorizer.weights_[column] == pytest.approx(highest)


def test_it_learns_in_a_pipeline():
    pipeline = make_pipeline(SS3Vectorizer(), LogisticRegression(C=100))
    assert pipeline.fit(TEXTS * 4, LABELS * 4).score(TEXTS, LABELS) == 1
    assert cross_val_score(clone(pipeline), TEXTS * 4, LABELS * 4, cv=2).mean() == 1


def test_an_empty_model_gives_its_parameters():
    vectorizer = SS3Vectorizer(ww.TauSS3.paper(max_ngram=1)).fit(TEXTS, LABELS)
    assert vectorizer.model_.parameters == ww.TauSS3.paper(max_ngram=1).parameters
    assert all(" " not in name for name in vectorizer.vocabulary_)


def test_a_fitted_classifier_gives_its_model():
    classifier = TauSS3Classifier(refine=False).fit(TEXTS, LABELS)
    assert SS3Vectorizer(classifier, "tech").fit(TEXTS).model_ is classifier.model_


def test_a_classifier_of_pyss3_gives_its_model():
    classifier = SS3()
    classifier.fit(TEXTS, LABELS, n_grams=2)
    vectorizer = SS3Vectorizer(classifier, "tech").fit(TEXTS)
    assert row(vectorizer, "chip")["chip"] == pytest.approx(classifier.cv("chip", "tech"))


def test_word_hooks_apply():
    model = taught(word_hook=lambda word: word[:3])
    assert "bre" in row(SS3Vectorizer(model, "food").fit(TEXTS), "breakfast")


def test_texts_without_known_words_are_empty_rows():
    matrix = SS3Vectorizer(taught()).fit(TEXTS).transform(["", "unknown", "chip"])
    assert matrix.getnnz(axis=1).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ss3_weight": "x"}, "ss3_weight must be"),
        ({"tf_weight": "x"}, "tf_weight must be"),
        ({"top_n": 0}, "top_n must"),
        ({"label": "x"}, "unknown label 'x'"),
        ({"model": 3}, "model must be a TauSS3"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises((TypeError, ValueError, ww.errors.UnknownLabelError), match=message):
        SS3Vectorizer(**({"model": taught()} | arguments)).fit(TEXTS, LABELS)


def test_learning_needs_labels():
    with pytest.raises(ValueError, match="SS3Vectorizer requires y"):
        SS3Vectorizer().fit(TEXTS)
