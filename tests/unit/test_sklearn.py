"""The scikit-learn estimator: scikit-learn's checks without data, and our contract for text.

`check_estimator` skips almost everything for an estimator of texts, so the checks that need no data
are called one by one.
"""

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

import watchword as ww
from untyped import untyped
from watchword.sklearn import TauSS3Classifier

TEXTS = [
    "machine learning is fun",
    "deep machine learning",
    "the match was fun",
    "what a match, what a great goal",
    "bread and soup",
    "a soup of the day",
]
LABELS = ["tech", "tech", "sports", "sports", "food", "food"]
TWO_TEXTS, TWO_LABELS = TEXTS[:4], LABELS[:4]


@pytest.fixture
def fitted():
    return TauSS3Classifier().fit(TEXTS, LABELS)


@pytest.fixture
def counted():
    return TauSS3Classifier(refine=False).fit(TEXTS, LABELS)


def posts_of_three_kinds():
    """Return noisy texts with three labels of unequal size, in random order."""
    generator = np.random.default_rng(0)
    own = [[f"{kind}{number}" for number in range(12)] for kind in "abc"]
    every = [word for words in own for word in words]
    labels = generator.choice(3, 400, p=[0.6, 0.3, 0.1])
    texts = []
    for label in labels:
        words = [*generator.choice(own[label], 2), *generator.choice(every, 5)]
        texts.append(" ".join(words))
    return texts, [f"label {label}" for label in labels]


# scikit-learn's checks that need no data


DATA_FREE_CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


# The oldest supported scikit-learn has fewer.
@pytest.mark.parametrize(
    "name", [one for one in DATA_FREE_CHECKS if hasattr(estimator_checks, one)]
)
def test_data_free_check(name):
    getattr(estimator_checks, name)("TauSS3Classifier", TauSS3Classifier())


# Parameters


def test_parameters_and_defaults_are_those_of_the_model():
    of_model = inspect.signature(ww.TauSS3).parameters
    ours = dict(inspect.signature(TauSS3Classifier).parameters)
    assert ours.pop("n_jobs").default is None
    assert ours.pop("refine").default is True
    assert {name: one.default for name, one in ours.items()} == {
        name: one.default for name, one in of_model.items()
    }


def test_parameters_reach_the_model():
    classifier = TauSS3Classifier(smoothness=0.2, max_ngram=2, paragraphs="blank_lines")
    parameters = classifier.fit(TEXTS, LABELS).model_.parameters
    assert parameters["smoothness"] == 0.2
    assert parameters["max_ngram"] == 2
    assert parameters["paragraphs"] == "blank_lines"


def test_parameters_are_checked_in_fit_not_before():
    classifier = TauSS3Classifier(smoothness=3)
    with pytest.raises(ValueError, match=r"smoothness must be in \(0, 1\], got 3"):
        classifier.fit(TEXTS, LABELS)


def test_fit_leaves_parameters_untouched():
    summary: dict[Any, Any] = {"sentence": "max"}
    classifier = TauSS3Classifier(summary=summary)
    before = classifier.get_params()
    classifier.fit(TEXTS, LABELS)
    assert classifier.summary is summary
    assert classifier.get_params() == before


def test_fit_adds_only_attributes_with_an_underscore():
    classifier = TauSS3Classifier()
    before = set(vars(classifier))
    classifier.fit(TEXTS, LABELS)
    added = set(vars(classifier)) - before
    assert all(name.startswith("_") or name.endswith("_") for name in added)


@pytest.mark.parametrize("n_jobs", [0, "2", 1.5, True])
def test_bad_n_jobs_is_refused_in_fit(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be"):
        TauSS3Classifier(n_jobs=n_jobs).fit(TEXTS, LABELS)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_n_jobs_changes_nothing_but_time(n_jobs, fitted):
    classifier = TauSS3Classifier(n_jobs=n_jobs).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(
        classifier.decision_function(TEXTS), fitted.decision_function(TEXTS)
    )


def test_periodic_pruning_works_with_any_n_jobs():
    classifier = TauSS3Classifier(n_jobs=2, prune_period=4, prune_floor=1)
    assert classifier.fit(TEXTS, LABELS).model_.statistics.pruned


# fit, partial_fit


def test_fit_returns_itself():
    classifier = TauSS3Classifier()
    assert classifier.fit(TEXTS, LABELS) is classifier


def test_fit_sets_sorted_classes(fitted):
    assert fitted.classes_.tolist() == ["food", "sports", "tech"]


def test_fit_gives_the_model_that_learn_many_and_refine_give(fitted, counted):
    model = ww.TauSS3()
    model.learn_many(TEXTS, LABELS)
    assert counted.model_.to_bytes() == model.to_bytes()
    model.refine(TEXTS, LABELS)
    assert fitted.model_.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("other", [{"summary": "max"}, {"prune_period": 1000}])
def test_models_that_cannot_be_refined_are_counted(other):
    classifier = TauSS3Classifier(**other).fit(TEXTS, LABELS)
    assert classifier.model_.refinement is None
    classifier.partial_fit(["bread"], ["food"])
    assert classifier.model_.refinement is None


def test_refine_is_checked_in_fit():
    with pytest.raises(ValueError, match="refine must be True or False, got 'yes'"):
        TauSS3Classifier(refine=untyped("yes")).fit(TEXTS, LABELS)


def test_fit_discards_earlier_texts(fitted):
    fitted.fit(["good morning", "good night"], ["am", "pm"])
    assert fitted.classes_.tolist() == ["am", "pm"]
    assert "soup" not in fitted.model_.counts()


def test_a_fit_that_fails_leaves_the_old_model(fitted):
    before = fitted.model_.to_bytes()
    fitted.set_params(max_ngram=0)
    with pytest.raises(ValueError, match="max_ngram"):
        fitted.fit(["good morning", "good night"], ["am", "pm"])
    assert fitted.model_.to_bytes() == before
    assert fitted.classes_.tolist() == ["food", "sports", "tech"]


def test_fit_refuses_y_none():
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        TauSS3Classifier().fit(TEXTS, None)


def test_fit_refuses_a_single_class():
    with pytest.raises(ValueError, match="at least two classes, got 1 class: 'am'"):
        TauSS3Classifier().fit(["good morning", "morning"], ["am", "am"])


def test_partial_fit_refuses_a_single_class():
    with pytest.raises(ValueError, match="at least two classes, got 1 class: 'am'"):
        TauSS3Classifier().partial_fit(["good morning"], ["am"], classes=["am"])


def test_fit_notices_swapped_arguments():
    with pytest.raises(ValueError, match="are texts and labels swapped"):
        TauSS3Classifier().fit(
            ["am", "pm"] * 3, [f"what a fine hour, number {n}" for n in range(6)]
        )


def test_partial_fit_in_parts_equals_fit_if_not_refined(counted):
    classifier = TauSS3Classifier(refine=False)
    classifier.partial_fit(TEXTS[:2], LABELS[:2], classes=["tech", "food", "sports"])
    classifier.partial_fit(TEXTS[2:], LABELS[2:])
    assert classifier.model_.to_bytes() == counted.model_.to_bytes()
    assert classifier.classes_.tolist() == counted.classes_.tolist()


def test_partial_fit_corrects_after_each_text():
    classifier = TauSS3Classifier()
    classifier.partial_fit(TEXTS[:2], LABELS[:2], classes=["tech", "food", "sports"])
    classifier.partial_fit(TEXTS[2:], LABELS[2:])
    model = ww.TauSS3()
    model.learn_many(TEXTS, LABELS, correct=True)
    assert classifier.model_.to_bytes() == model.to_bytes()


def test_partial_fit_corrects_what_fit_refined(fitted):
    model = fitted.model_.replace()
    fitted.partial_fit(["bread of the day"], ["food"])
    model.learn_many(["bread of the day"], ["food"], correct=True)
    assert fitted.model_.to_bytes() == model.to_bytes()


def test_partial_fit_without_refine_drops_corrections(fitted, counted):
    fitted.set_params(refine=False).partial_fit(["bread"], ["food"])
    counted.partial_fit(["bread"], ["food"])
    assert fitted.model_.to_bytes() == counted.model_.to_bytes()


def test_partial_fit_needs_classes_at_first():
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        TauSS3Classifier().partial_fit(TEXTS, LABELS)


def test_partial_fit_accepts_the_same_classes_again(fitted):
    fitted.partial_fit(["bread"], ["food"], classes=["tech", "sports", "food"])
    assert fitted.model_.statistics.documents["food"] == 3


def test_partial_fit_refuses_other_classes(fitted):
    with pytest.raises(ValueError, match="not the same as on the first call"):
        fitted.partial_fit(["bread"], ["food"], classes=["food", "drink"])


def test_partial_fit_refuses_a_label_outside_the_classes(fitted):
    before = fitted.model_.to_bytes()
    with pytest.raises(ValueError, match=r"not among the classes.*: drink"):
        fitted.partial_fit(["bread", "juice"], ["food", "drink"])
    assert fitted.model_.to_bytes() == before


def test_partial_fit_continues_after_fit(fitted):
    fitted.partial_fit(["juice and bread"], ["food"])
    assert fitted.predict(["juice"]).tolist() == ["food"]


def test_partial_fit_takes_changed_parameters_over(counted):
    counted.set_params(smoothness=0.2).partial_fit(["bread"], ["food"])
    afresh = TauSS3Classifier(smoothness=0.2, refine=False)
    afresh.fit([*TEXTS, "bread"], [*LABELS, "food"])
    assert counted.model_.to_bytes() == afresh.model_.to_bytes()


def test_partial_fit_refuses_parameters_that_counts_depend_on(fitted):
    with pytest.raises(ValueError, match="paragraphs cannot be replaced"):
        fitted.set_params(paragraphs="blank_lines").partial_fit(["bread"], ["food"])


def test_partial_fit_with_many_classes_does_not_warn():
    classes = [f"class {number:02}" for number in range(60)]
    classifier = TauSS3Classifier().partial_fit(["bread"], ["class 07"], classes=classes)
    assert classifier.classes_.tolist() == classes


@pytest.mark.parametrize("refine", [False, True])
def test_a_class_without_document_is_never_predicted(refine):
    classifier = TauSS3Classifier(refine=refine)
    classifier.partial_fit(TEXTS[:4], LABELS[:4], classes=["food", "sports", "tech"])
    texts = ["a match", "machine learning", "a", "is"]
    values = classifier.decision_function(texts)
    assert values.shape == (4, 3)
    assert (values[:, 0] < 0).all()
    assert "food" not in classifier.predict(texts)
    assert classifier.predict_proba(texts)[:, 0].tolist() == [0, 0, 0, 0]
    assert classifier.predict(texts).tolist() == classifier.model_.predict_many(texts)


# predict, predict_proba, decision_function, score


def test_predict_equals_that_of_the_model(fitted):
    texts = [*TEXTS, "unheard", "", "a match in the machine"]
    assert fitted.predict(texts).tolist() == fitted.model_.predict_many(texts)


def test_probabilities_are_those_of_the_model(fitted):
    texts = [*TEXTS, "unheard", ""]
    expected = fitted.model_.probability_many(texts)
    np.testing.assert_allclose(fitted.predict_proba(texts), expected, rtol=1e-12)


def test_probabilities_of_a_counted_model_are_shares_of_the_confidences(counted):
    shares = counted.predict_proba(TEXTS)
    values = counted.model_.confidence_many(TEXTS)
    np.testing.assert_allclose(shares, values / values.sum(axis=1, keepdims=True), rtol=1e-12)


def test_probabilities_add_up_to_one(fitted):
    shares = fitted.predict_proba([*TEXTS, "unheard", "", "soup " * 10_000])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()


def test_the_label_with_most_words_is_certain_without_evidence(fitted):
    assert fitted.predict(["unheard"]).tolist() == ["sports"]
    assert fitted.predict_proba(["unheard"]).tolist() == [[0, 1, 0]]


def test_a_given_default_is_certain_without_evidence():
    classifier = TauSS3Classifier(default_label="tech").fit(TEXTS, LABELS)
    assert classifier.predict(["unheard"]).tolist() == ["tech"]
    assert classifier.predict_proba(["unheard"]).tolist() == [[0, 0, 1]]


def test_the_default_may_be_a_class_without_document():
    classifier = TauSS3Classifier(default_label="food")
    classifier.partial_fit(TWO_TEXTS, TWO_LABELS, classes=["food", "sports", "tech"])
    assert classifier.predict(["unheard"]).tolist() == ["food"]


def test_a_default_outside_the_classes_is_refused():
    with pytest.raises(ValueError, match="default_label must be one of the classes"):
        TauSS3Classifier(default_label="drink").fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="default_label must be one of the classes"):
        TauSS3Classifier(default_label=untyped(["tech"])).fit(TEXTS, LABELS)


def test_the_best_class_is_certain_if_all_values_are_negative():
    classifier = TauSS3Classifier(summary=lambda rows: rows.sum(0) - 99, default_label="food")
    classifier.fit(TEXTS, LABELS)
    best = classifier.decision_function(TEXTS).argmax(axis=1)
    assert classifier.predict(TEXTS).tolist() == classifier.classes_[best].tolist()
    assert classifier.predict_proba(TEXTS).argmax(axis=1).tolist() == best.tolist()


def test_negative_values_of_a_summary_function_get_no_share():
    def shifted(values):
        return values.sum(axis=0) - 0.002

    classifier = TauSS3Classifier(summary={"document": shifted}).fit(TEXTS, LABELS)
    shares = classifier.predict_proba(["a match"])
    assert shares.tolist() == [[0, 1, 0]]


def test_decision_function_has_a_column_per_class(fitted):
    values = fitted.decision_function(TEXTS)
    assert values.shape == (6, 3)
    np.testing.assert_array_equal(values, fitted.model_.confidence_many(TEXTS))


def test_decision_function_of_a_counted_model_is_the_lead_of_a_share(counted):
    margins = counted.decision_function([*TEXTS, "unheard"])
    shares = counted.predict_proba([*TEXTS, "unheard"])
    for row, own in zip(margins[:-1], shares, strict=False):
        expected = [own[at] - max(np.delete(own, at)) for at in range(3)]
        np.testing.assert_allclose(row, expected, rtol=1e-12)
    assert ((margins[:-1] > 0).sum(axis=1) == 1).all()
    assert margins[-1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("refine", [False, True])
def test_decision_function_of_two_classes_is_their_difference(refine):
    classifier = TauSS3Classifier(refine=refine).fit(TWO_TEXTS, TWO_LABELS)
    values = classifier.model_.confidence_many(TWO_TEXTS)
    if not refine:
        values /= values.sum(axis=1, keepdims=True)
    difference = classifier.decision_function(TWO_TEXTS)
    np.testing.assert_allclose(difference, values[:, 1] - values[:, 0], rtol=1e-12)
    assert (difference > 0).tolist() == [label == "tech" for label in TWO_LABELS]


@pytest.mark.parametrize("refine", [False, True])
def test_calibration_does_not_cost_accuracy(refine):
    texts, labels = posts_of_three_kinds()
    classifier = TauSS3Classifier(refine=refine)
    calibrated = CalibratedClassifierCV(clone(classifier), cv=3).fit(texts[:240], labels[:240])
    classifier.fit(texts[:240], labels[:240])
    before, after = (one.score(texts[240:], labels[240:]) for one in (classifier, calibrated))
    assert after >= before - 0.02


def test_decision_function_of_two_classes_one_without_document():
    classifier = TauSS3Classifier()
    classifier.partial_fit(["machine learning"], ["tech"], classes=["sports", "tech"])
    assert classifier.decision_function(["machine", "match"]).shape == (2,)


def test_score_is_the_accuracy(fitted):
    assert fitted.score(["the match", "soup"], ["sports", "tech"]) == 0.5


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_reading_before_fit_is_not_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(TauSS3Classifier(), method)(TEXTS)


# What X may be


@pytest.mark.parametrize(
    "hold",
    [
        list,
        tuple,
        iter,
        np.array,
        lambda texts: np.array(texts, dtype=object),
        lambda texts: [np.str_(text) for text in texts],
        pd.Series,
        lambda texts: pd.Series(texts, index=range(100, 100 + len(texts))),
        lambda texts: pd.Series(texts, dtype="object"),
        lambda texts: pd.Series(texts, dtype="string"),
        pl.Series,
    ],
    ids=[
        "list",
        "tuple",
        "iterator",
        "str-array",
        "object-array",
        "numpy-str",
        "pandas",
        "pandas-index",
        "pandas-object",
        "pandas-string",
        "polars",
    ],
)
def test_texts_may_be_any_sequence(hold, fitted):
    classifier = TauSS3Classifier().fit(hold(TEXTS), LABELS)
    assert classifier.model_.to_bytes() == fitted.model_.to_bytes()
    assert classifier.predict(hold(TEXTS)).tolist() == fitted.predict(TEXTS).tolist()


METHODS = ["fit", "partial_fit", "predict", "predict_proba", "decision_function"]


def call(method, texts, labels=None):
    """Call a method of a fitted classifier; learning methods also get labels."""
    classifier = TauSS3Classifier().fit(TEXTS, LABELS)
    more = () if method.startswith(("predict", "decision")) else (labels or LABELS[: len(texts)],)
    return getattr(classifier, method)(texts, *more)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("single", ["machine learning", b"machine learning", np.str_("machine")])
def test_a_single_string_gets_the_vectorizers_error(method, single):
    with pytest.raises(ValueError, match="Iterable over raw text documents expected, string"):
        call(method, single, ["tech"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "table",
    [
        np.array(TEXTS).reshape(-1, 1),
        np.array(TEXTS, dtype=object).reshape(3, 2),
        np.array("one text"),
        pd.DataFrame({"text": TEXTS}),
        pl.DataFrame({"text": TEXTS}),
    ],
    ids=["column", "matrix", "scalar", "pandas", "polars"],
)
def test_tables_are_refused(method, table):
    with pytest.raises(ValueError, match="X must have one dimension"):
        call(method, table, LABELS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT])
def test_a_missing_text_is_named(method, missing):
    with pytest.raises(ValueError, match=r"X\[1\] is missing"):
        call(method, ["soup", missing, "bread"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("other", [b"soup", 7, ["soup"]], ids=["bytes", "int", "list"])
def test_a_non_text_is_named(method, other):
    with pytest.raises(TypeError, match=r"X\[1\] must be str, got (bytes|int|list)"):
        call(method, ["soup", other])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("nothing", [[], np.array([], dtype=object), pd.Series([], dtype=object)])
def test_no_texts_at_all_are_refused(method, nothing):
    with pytest.raises(ValueError, match=r"0 sample\(s\) while a minimum of 1 is required"):
        call(method, nothing, ["food"])


@pytest.mark.parametrize("other", [7, None, {"soup": "food"}])
def test_non_sequences_are_refused(other):
    with pytest.raises(TypeError, match="X must be a sequence of texts"):
        TauSS3Classifier().fit(other, ["food"])


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_inconsistent_lengths_are_refused(method):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        call(method, TEXTS, LABELS[:-1])


# What y may be


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [("no", "yes", str), (0, 1, int), (-5, 7, int), (False, True, bool), (0.0, 2.0, float)],
)
def test_classes_may_be_of_any_type(first, second, kind):
    labels = [second if label == "tech" else first for label in TWO_LABELS]
    classifier = TauSS3Classifier(default_label=second).fit(TWO_TEXTS, labels)
    predicted = classifier.predict([*TWO_TEXTS, "unheard"])
    assert classifier.classes_.tolist() == [first, second]
    assert predicted.tolist() == [*labels, second]
    assert {type(label) for label in predicted.tolist()} == {kind}


@pytest.mark.parametrize(
    ("labels", "own"), [(TWO_LABELS, True), ([True, True, False, False], False)]
)
def test_labels_of_the_model_are_the_classes_where_it_can_have_them(labels, own):
    model = TauSS3Classifier().fit(TWO_TEXTS, labels).model_
    assert model.labels == (tuple(sorted(set(labels))) if own else (0, 1))


@pytest.mark.parametrize(
    "hold",
    [
        np.array,
        lambda labels: np.array(labels, dtype=object),
        pd.Series,
        lambda labels: pd.Series(labels, dtype="category"),
        pl.Series,
        tuple,
    ],
    ids=["array", "object-array", "pandas", "category", "polars", "tuple"],
)
def test_labels_may_be_any_sequence(hold, fitted):
    classifier = TauSS3Classifier().fit(TEXTS, hold(LABELS))
    assert classifier.model_.to_bytes() == fitted.model_.to_bytes()
    assert classifier.score(TEXTS, hold(LABELS)) == 1


def test_partial_fit_of_bool_classes_keeps_their_places():
    classifier = TauSS3Classifier()
    classifier.partial_fit(["a match"], [True], classes=[False, True])
    classifier.partial_fit(["soup"], [False])
    assert classifier.predict(["match", "soup"]).tolist() == [True, False]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_label_is_named(missing):
    labels = np.array(["food", "food", missing], dtype=object)
    with pytest.raises(ValueError, match=r"y\[2\] is missing"):
        TauSS3Classifier().fit(["soup", "bread", "juice"], labels)


def test_continuous_targets_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        TauSS3Classifier().fit(["soup", "bread"], [0.25, 0.5])


def test_a_column_of_labels_warns_like_scikit_learn():
    with pytest.warns(DataConversionWarning):
        TauSS3Classifier().fit(TEXTS, np.array(LABELS).reshape(-1, 1))


def test_several_columns_of_labels_are_refused():
    with pytest.raises(ValueError, match="1d array"):
        TauSS3Classifier().fit(TEXTS, np.array([LABELS, LABELS]).T)


# Among other estimators


def test_it_is_a_classifier_of_strings():
    assert is_classifier(TauSS3Classifier())
    if hasattr(BaseEstimator, "__sklearn_tags__"):
        tags = TauSS3Classifier().__sklearn_tags__().input_tags
        assert (tags.string, tags.one_d_array, tags.two_d_array) == (True, True, False)


def test_there_are_no_features_to_count(fitted):
    assert not hasattr(fitted, "n_features_in_")


def test_clone_is_unfitted_with_equal_parameters(fitted):
    copied = clone(fitted.set_params(smoothness=0.2, word_hook=str.upper))
    assert copied.get_params() == fitted.get_params()
    assert not hasattr(copied, "model_")


def lower_all(texts):
    return [text.lower() for text in texts]


def test_pipeline():
    pipeline = make_pipeline(FunctionTransformer(lower_all), TauSS3Classifier())
    pipeline.fit([text.upper() for text in TEXTS], LABELS)
    assert pipeline.predict(["THE MATCH"]).tolist() == ["sports"]
    assert pipeline.score(TEXTS, LABELS) == 1


SPLITTABLE = [list, np.array, pd.Series]
if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 5):
    SPLITTABLE.append(pl.Series)  # scikit-learn 1.4 itself cannot split it


@pytest.mark.parametrize("hold", SPLITTABLE)
def test_cross_val_score(hold):
    scores = cross_val_score(TauSS3Classifier(), hold(TEXTS * 4), hold(LABELS * 4), cv=4)
    assert scores.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr"])
def test_grid_search(scoring):
    search = GridSearchCV(
        Pipeline([("classify", TauSS3Classifier())]),
        {"classify__smoothness": [0.2, 0.455], "classify__max_ngram": [1, 2]},
        scoring=scoring,
        cv=2,
        error_score="raise",
    )
    search.fit(TEXTS * 4, LABELS * 4)
    assert search.predict(["soup"]).tolist() == ["food"]
    assert len(search.cv_results_["params"]) == 4


def test_roc_auc_of_two_classes_uses_the_decision_function():
    scores = cross_val_score(
        TauSS3Classifier(), TWO_TEXTS * 4, TWO_LABELS * 4, scoring="roc_auc", cv=4
    )
    assert scores.tolist() == [1, 1, 1, 1]


def by_pickle(classifier, _folder):
    return pickle.loads(pickle.dumps(classifier))


def by_joblib(classifier, folder):
    joblib.dump(classifier, folder / "classifier")
    return joblib.load(folder / "classifier")


def by_deepcopy(classifier, _folder):
    return copy.deepcopy(classifier)


@pytest.mark.parametrize("way", [by_pickle, by_joblib, by_deepcopy])
def test_copies_predict_alike_and_can_learn(way, fitted, tmp_path):
    fitted.set_params(word_hook=str.upper).fit(TEXTS, LABELS)
    copied = way(fitted, tmp_path)
    assert copied.predict_proba(TEXTS).tolist() == fitted.predict_proba(TEXTS).tolist()
    copied.partial_fit(["juice"], ["food"])
    assert copied.predict(["juice"]).tolist() == ["food"]
    assert fitted.predict(["juice"]).tolist() == ["sports"]


def test_missing_scikit_learn_says_how_to_install_it():
    program = """
import sys
sys.modules["sklearn"] = None
import watchword
try:
    import watchword.sklearn
except watchword.errors.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install 'watchword[sklearn]'" in done.stdout
