"""Evaluations: every measure against scikit-learn's, and their text, JSON, pages and plots."""

import csv
import io
import json
import pickle
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import watchword as ww
from painted import drawing
from untyped import untyped
from watchword.evaluation.labels import MEASURES, Evaluation, LabelMeasures
from watchword.explain.evaluation_view import CONFUSION_STYLE, confusion_html

LABELS = st.sampled_from(["a", "b", "c", "ü"]) | st.sampled_from(["rare", "very rare"])
PAIRS = st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=40)
NUMBER_PAIRS = st.lists(st.tuples(st.integers(-2, 3), st.integers(-2, 3)), min_size=1, max_size=40)
SETS = st.frozensets(LABELS, max_size=4)
SET_PAIRS = st.lists(st.tuples(SETS, SETS), min_size=1, max_size=40)
HOSTILE = [
    "<script>window.hacked=1</script>",
    '"><img src=x onerror=alert(1)>',
    "a\nb\x1b[31m",
    "$x$",
]


def of(pairs, **options):
    return Evaluation.of([one for one, _ in pairs], [other for _, other in pairs], **options)


def expected(truth, predicted, **options):
    """Return the measures by scikit-learn."""
    from sklearn import metrics

    found = {}
    for kind in ("macro", "micro", "weighted"):
        values = metrics.precision_recall_fscore_support(
            truth, predicted, average=kind, zero_division=0, **options
        )
        names = ("precision", "recall", "f1")
        found |= {f"{kind}_{name}": value for name, value in zip(names, values, strict=False)}
    found["accuracy"] = found["exact_match"] = metrics.accuracy_score(truth, predicted)
    return found | {"hamming": metrics.hamming_loss(truth, predicted)}


# Measures


@given(PAIRS | NUMBER_PAIRS)
def test_measures_of_one_label_are_those_of_scikit_learn(pairs):
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    truth, predicted = ([pair[at] for pair in pairs] for at in (0, 1))
    found = of(pairs)
    assert found.measures == pytest.approx(expected(truth, predicted), abs=1e-12)
    labels = list(found.labels)
    assert labels == sorted({*truth, *predicted})
    # With a single label it warns, and has 1 cell.
    if len(labels) > 1:
        matrix = confusion_matrix(truth, predicted, labels=labels)
        assert found.confusion.tolist() == matrix.tolist()
    each = precision_recall_fscore_support(truth, predicted, labels=labels, zero_division=0)
    rows = [(one.precision, one.recall, one.f1, one.support) for one in found.per_label]
    assert np.array(rows) == pytest.approx(np.array(each).T, abs=1e-12)


@given(SET_PAIRS)
def test_measures_of_several_labels_are_those_of_scikit_learn(pairs):
    from sklearn.preprocessing import MultiLabelBinarizer

    found = of(pairs)
    # One column would be taken for two classes.
    assume(len(found.labels) > 1)
    assert found.confusion is None
    binarizer = MultiLabelBinarizer(classes=list(found.labels))
    truth, predicted = (binarizer.fit_transform([pair[at] for pair in pairs]) for at in (0, 1))
    assert found.measures == pytest.approx(expected(truth, predicted), abs=1e-12)


def test_measures_by_hand():
    found = Evaluation.of(["a", "a", "a", "b"], ["a", "b", "b", "b"])
    assert found.per_label == (LabelMeasures("a", 3, 1, 1), LabelMeasures("b", 1, 3, 1))
    a, b = found.per_label
    assert (a.precision, a.recall, a.f1) == (1, 1 / 3, 1 / 2)
    assert (b.precision, b.recall, b.f1) == (1 / 3, 1, 1 / 2)
    assert found.accuracy == found.micro_f1 == 1 / 2
    assert found.macro_precision == pytest.approx(2 / 3)
    assert found.weighted_precision == pytest.approx((3 * 1 + 1 / 3) / 4)
    assert found.hamming == 1 / 2
    assert (found.texts, found.right) == (4, 2)


def test_measures_of_several_labels_by_hand():
    found = Evaluation.of([["a", "b"], ["c"], []], [("a",), {"c"}, ["a"]])
    assert (found.texts, found.right) == (3, 1)
    assert found.exact_match == found.accuracy == 1 / 3
    assert found.hamming == 2 / 9
    assert found.micro_precision == found.micro_recall == 2 / 3
    assert found.macro_f1 == pytest.approx((2 / 3 + 0 + 1) / 3)


def test_measures_with_a_zero_denominator_are_0():
    found = Evaluation.of([(), ()], [(), ()])
    assert found.labels == ()
    assert found.measures == dict.fromkeys(MEASURES, 0.0) | {"accuracy": 1.0, "exact_match": 1.0}


def test_labels_that_never_occur_can_be_added():
    found = Evaluation.of(["a"], ["a"], labels=["c", "b"])
    assert found.labels == ("a", "b", "c")
    assert found.macro_f1 == pytest.approx(1 / 3)


def test_labels_are_in_the_order_of_a_model():
    labels = ["ü", "Z", "a", "\U0001f600", "\uffff"]
    model = ww.TauSS3()
    model.learn_many(["word"] * 5, labels)
    assert Evaluation.of(labels, labels).labels == model.labels


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_has_a_name(name):
    found = Evaluation.of(["a", "b"], ["a", "a"])
    assert found.measure(name) == getattr(found, name) == found.measures[name]


def test_an_unknown_measure_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'macro_f1'.*got 'f1'"):
        Evaluation.of(["a"], ["a"]).measure("f1")


# What is refused


@pytest.mark.parametrize(
    ("truth", "predicted", "error", "message"),
    [
        (["a"], [], ValueError, "1 labels but 0 predictions"),
        ([], [], ValueError, "no texts"),
        (["a", ["b"]], ["a", "b"], TypeError, "labels must be one label per text or one coll"),
        ([["a"]], ["a"], TypeError, "the labels are collections, but the predictions are not"),
        (["a"], [["a"]], TypeError, "the predictions are collections, but the labels are not"),
        (["1"], [1], ValueError, "all str or all int, got 1 and '1'"),
        ([True], [True], TypeError, "str or int"),
        ("ab", "ab", TypeError, "single string"),
        ([1.5], [1.5], TypeError, "str or int"),
    ],
)
def test_of_rejects_bad_arguments(truth, predicted, error, message):
    with pytest.raises(error, match=message):
        Evaluation.of(truth, predicted)


def test_arrays_hold_labels_like_lists():
    lists = Evaluation.of(["a", "b"], ["a", "a"])
    assert Evaluation.of(untyped(np.array(["a", "b"])), untyped(np.array(["a", "a"]))) == lists
    assert Evaluation.of(untyped(np.array([1, 2])), [1, 1]).labels == (1, 2)


# Confusion


def test_a_confusion_may_come_in_any_order():
    found = Evaluation.of_confusion(["b", "c", "a"], [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert found.labels == ("a", "b", "c")
    assert found.confusion.tolist() == [[9, 7, 8], [3, 1, 2], [6, 4, 5]]
    assert (found.texts, found.right) == (45, 15)


@given(PAIRS)
def test_confusion_matrix_determines_the_evaluation(pairs):
    found = of(pairs)
    assert Evaluation.of_confusion(found.labels, found.confusion) == found


@pytest.mark.parametrize(
    ("labels", "matrix", "message"),
    [
        (["a"], [[1, 2]], "shape"),
        (["a"], [[-1]], "at least 0"),
        (["a"], [[0.5]], "whole numbers"),
        (["a", "a"], [[1, 0], [0, 1]], "duplicates"),
    ],
)
def test_an_impossible_confusion_is_refused(labels, matrix, message):
    with pytest.raises(ValueError, match=message):
        Evaluation.of_confusion(labels, matrix)


def test_a_confusion_cannot_be_changed():
    given_matrix = np.array([[1, 0], [0, 1]])
    found = Evaluation.of_confusion(["a", "b"], given_matrix)
    given_matrix[0, 0] = 7
    assert found.confusion[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        found.confusion[0, 0] = 2


def test_too_many_labels_for_a_matrix_are_evaluated_without_one():
    labels = list(range(10_001))
    with pytest.raises(ValueError, match="too many labels for a confusion matrix: 10,001"):
        Evaluation.of(labels, labels)
    assert Evaluation.of([(one,) for one in labels], [(one,) for one in labels]).accuracy == 1


# Several evaluations


@given(st.lists(PAIRS, min_size=1, max_size=4))
def test_pooling_equals_evaluating_all_texts_at_once(parts):
    pooled = Evaluation.pooled(map(of, parts))
    whole = of([pair for part in parts for pair in part])
    assert (pooled.labels, pooled.per_label) == (whole.labels, whole.per_label)
    assert pooled.confusion.tolist() == whole.confusion.tolist()
    assert len(pooled.folds) == len(parts)


@given(st.lists(SET_PAIRS, min_size=1, max_size=4))
def test_pooling_of_several_labels_equals_evaluating_all_texts_at_once(parts):
    pooled = Evaluation.pooled(map(of, parts))
    assert pooled.measures == of([pair for part in parts for pair in part]).measures


def test_evaluations_of_different_kinds_cannot_be_pooled():
    with pytest.raises(ValueError, match="cannot be pooled"):
        Evaluation.pooled([of([("a", "a")]), of([(("a",), ("a",))])])
    with pytest.raises(ValueError, match="no evaluations"):
        Evaluation.pooled([])


def test_the_spread_is_over_folds():
    pooled = Evaluation.pooled([of([("a", "a")]), of([("a", "b")]), of([("a", "a"), ("b", "a")])])
    assert pooled.spread("accuracy") == pytest.approx((0.5, 0.5))
    assert Evaluation.pooled([of([("a", "a")])]).spread("accuracy") == (1, 0)
    with pytest.raises(ValueError, match="no folds"):
        of([("a", "a")]).spread("accuracy")
    with pytest.raises(ValueError, match="must be one of"):
        pooled.spread("f1")


# Keeping


def kept(found):
    return Evaluation.from_dict(json.loads(found.to_json()))


@given(st.lists(PAIRS, min_size=1, max_size=3) | st.lists(SET_PAIRS, min_size=1, max_size=3))
def test_json_keeps_everything(parts):
    for found in (of(parts[0]), Evaluation.pooled(map(of, parts))):
        assert kept(found) == found
        assert hash(kept(found)) == hash(found)
        assert kept(found).measures == found.measures


def test_numbers_stay_numbers():
    assert kept(of([(1, 2)])).labels == (1, 2)


def test_evaluations_of_different_predictions_differ():
    whole = of([("a", "b"), ("b", "a"), ("c", "c")])
    turned = of([("a", "b"), ("b", "c"), ("c", "a")])
    assert whole != turned
    assert whole == of([("c", "c"), ("b", "a"), ("a", "b")])
    assert whole != Evaluation.pooled([whole])
    assert whole != "something else"
    assert pickle.loads(pickle.dumps(whole)) == whole


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain.pop("labels"),
        lambda plain: plain.update(confusion=[[0, 9, 1]]),
        lambda plain: plain.update(confusion=[[0, 0, -1]]),
        lambda plain: plain.update(confusion=[[0, -1, 1]]),
        lambda plain: plain.update(confusion=[0]),
        lambda plain: plain.update(labels=["a", 1]),
        lambda plain: plain.update(confusion=None, per_label=[]),
        lambda plain: plain.update(confusion=None, texts=0),
        lambda plain: plain.update(folds=[1]),
    ],
)
def test_invalid_plain_data_is_refused(change):
    plain = of([("a", "a"), ("b", "b")]).to_dict()
    change(plain)
    with pytest.raises(ValueError, match=r".+"):
        Evaluation.from_dict(plain)


def test_the_confusion_is_sparse_in_plain_data():
    assert of([("a", "a"), ("b", "a"), ("b", "a")]).to_dict()["confusion"] == [[0, 0, 1], [1, 0, 2]]


def test_csv_has_a_line_per_label():
    found = Evaluation.of(["a,\nb", "c"], ["a,\nb", "a,\nb"])
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [row["label"] for row in rows] == ["a,\nb", "c"]
    assert float(rows[0]["precision"]) == 0.5
    assert (rows[1]["support"], rows[1]["predicted"], rows[1]["right"]) == ("1", "0", "0")


# The terminal


def test_the_printed_table_has_measures_and_confusions():
    shown = str(Evaluation.of(["a", "a", "b"], ["a", "b", "b"]))
    assert shown.startswith("3 texts, 2 labels, accuracy 0.667, macro F1 0.667\n")
    assert "truth \\ predicted  a  b" in shown


def test_always_predicting_the_most_frequent_label_is_shown():
    found = Evaluation.of(["a", "b", "b", "b"], ["a", "a", "a", "b"])
    label, trivial = found.majority
    assert (label, trivial) == ("b", Evaluation.of(["a", "b", "b", "b"], ["b"] * 4))
    assert str(found).splitlines()[1] == "always predicting b: accuracy 0.750, macro F1 0.429"
    assert "always <bdi>b</bdi>: 0.750" in found.to_html()
    assert found.to_dict()["majority"]["measures"] == trivial.measures


def test_texts_with_several_labels_have_no_majority():
    assert Evaluation.of([["a"], ["a", "b"]], [["a"], []]).majority is None


def test_folds_are_printed_with_their_spread():
    lines = str(Evaluation.pooled([of([("a", "a")]), of([("a", "b")])])).splitlines()
    assert "Over 2 folds:" in lines
    assert "accuracy         0.500  0.707" in lines


def test_several_labels_are_printed_without_a_matrix():
    shown = str(Evaluation.pooled([of([(("a", "b"), ("a",))])]))
    assert shown.startswith("1 text, 2 labels, exact match 0.000, hamming loss 0.500\n")
    assert "truth" not in shown


def test_many_labels_are_printed_by_their_mistakes():
    labels = [f"label {at:03}" for at in range(80)]
    shown = str(Evaluation.of(labels, [*labels[:-1], labels[0]]))
    assert "(30 more)" in shown
    assert shown.splitlines()[-1].split() == ["label", "079", "label", "000", "1"]
    assert "mistakes" not in str(Evaluation.of(labels, labels))


def test_control_characters_in_labels_are_not_printed():
    shown = str(Evaluation.of(HOSTILE, HOSTILE))
    assert "\x1b" not in shown
    assert "a␤b␛[31m" in shown


# Pages


class Page(HTMLParser):
    """The elements of a page, as a browser would parse them."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


SINGLE = Evaluation.of([*HOSTILE, "a"] * 3, [*HOSTILE[1:], "a", "a"] * 3)
SEVERAL = Evaluation.of([set(HOSTILE), {"a"}], [{"a"}, {"a"}])


@pytest.mark.parametrize("page", [False, True])
@pytest.mark.parametrize(
    "found", [SINGLE, SEVERAL, Evaluation.pooled([SINGLE, SINGLE]), Evaluation.pooled([SEVERAL])]
)
def test_labels_are_text_on_a_page(found, page):
    drawn = Page(drawing(found, page)(title=HOSTILE[0]))
    tags = {tag for tag, _ in drawn.tags}
    assert not tags & {"script", "img"}
    names = {name for _, attributes in drawn.tags for name in attributes}
    assert not any(name.startswith("on") or name == "style" for name in names)
    for label in HOSTILE[:2]:
        assert label in drawn.text


def test_a_snippet_brings_its_style_along_and_is_what_notebooks_show():
    snippet = SINGLE._repr_html_()
    assert snippet.startswith('<div class="ww-evaluation"><style>')
    assert CONFUSION_STYLE in snippet
    assert SINGLE.to_page().startswith("<!doctype html>")


def test_cells_are_coloured_by_their_share_of_the_row():
    drawn = Page(confusion_html(["a", "b"], [[0, 0, 3], [0, 1, 1], [1, 1, 4]]))
    cells = [attributes for tag, attributes in drawn.tags if tag == "td" and attributes]
    assert [cell["class"] for cell in cells] == ["ww-r15", "ww-w5", "ww-none", "ww-r20"]
    assert cells[1]["title"] == "1 of 4 texts of a predicted as b"


def test_in_a_large_matrix_zeros_are_dots():
    labels = list("abcdefgh")
    drawn = confusion_html(labels, [[at, at, 5] for at in range(8)])
    assert drawn.count(">·</td>") == 8 * 7
    assert ">0</td>" not in drawn
    assert confusion_html(["a", "b"], [[0, 0, 3]]).count(">0</td>") == 3


def test_of_many_labels_those_with_most_mistakes_are_drawn():
    labels = [f"label {at:03}" for at in range(60)]
    html = Evaluation.of(labels, [*labels[:-1], labels[0]]).to_page()
    matrix = html[html.index('<table class="ww-confusion') :]
    assert "label 059" in matrix
    assert "label 058" not in matrix
    assert "The 40 of 60 labels with the most mistakes." in html


def test_a_page_of_very_many_labels_is_bounded():
    labels = [f"label {at:04}" for at in range(1500)]
    found = Evaluation.of(labels, labels)
    assert "500 more labels are not shown" in found.to_page()
    assert "1,450 more labels are not shown" in found.to_html()


def test_the_cells_of_a_matrix_have_colours(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(SINGLE.to_page(), encoding="utf-8")
    page = browser.open(path.as_uri(), wait=False)
    assert page.locator("td.ww-r20").first.evaluate(
        "element => getComputedStyle(element).backgroundColor"
    ) not in ("rgba(0, 0, 0, 0)", "transparent")


def test_a_page_fits_a_phone(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(Evaluation.pooled([SINGLE, SINGLE]).to_page(), encoding="utf-8")
    page = browser.open(path.as_uri(), wait=False, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


# matplotlib


def test_matplotlib_draws_the_confusion():
    pytest.importorskip("matplotlib")
    axes = SINGLE.plot()
    assert [text.get_text() for text in axes.texts] == [str(n) for n in SINGLE.confusion.ravel()]
    assert axes.images[0].get_array().sum() == pytest.approx(len(SINGLE.labels))
    axes.figure.canvas.draw()  # a label is no formula


def test_matplotlib_draws_several_labels_as_bars():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    assert SEVERAL.plot(axes) is axes
    assert [untyped(bar).get_width() for bar in axes.patches] == [
        one.f1 for one in SEVERAL.per_label
    ]
    figure.canvas.draw()


def test_matplotlib_draws_very_many_labels():
    pytest.importorskip("matplotlib")
    labels = [str(at) for at in range(200)]
    axes = Evaluation.of(labels, labels).plot()
    assert len(axes.texts) == 0
    Evaluation.of([(one,) for one in labels], [(one,) for one in labels]).plot()


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ww.errors.MissingExtraError, match=r"watchword\[plot\]"):
        SINGLE.plot()


# evaluate

TEXTS = ["machine learning", "a match", "learning", "the match", "unheard"]
TRUTH = ["tech", "sports", "tech", "tech", "sports"]


def taught(**parameters):
    model = ww.TauSS3(**parameters)
    model.learn_many(["machine learning is fun", "the match was fun"], ["tech", "sports"])
    return model


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_evaluate_compares_predictions_with_labels(threads):
    model = taught()
    found = ww.evaluate(model, TEXTS, TRUTH, threads=threads)
    assert found == Evaluation.of(TRUTH, model.predict_many(TEXTS))
    assert found.confusion is not None


def test_evaluate_asks_for_several_labels_if_texts_have_several():
    model = taught()
    truth = [{label} for label in TRUTH]
    found = ww.evaluate(model, TEXTS, truth)
    assert found == Evaluation.of(truth, model.predict_labels_many(TEXTS))


def test_evaluate_accepts_iterables():
    whole = ww.evaluate(taught(), TEXTS, TRUTH)
    assert ww.evaluate(taught(), iter(TEXTS), untyped(np.array(TRUTH))) == whole


@pytest.mark.parametrize(
    ("model", "texts", "labels", "error", "message"),
    [
        (taught(), ["a"], [], ValueError, "1 texts but 0 labels"),
        (taught(), [], [], ValueError, "no texts"),
        (taught(), [1], ["a"], TypeError, "text 0 must be str"),
        (taught(), ["a"], [1], ValueError, "all str or all int"),
        (ww.TauSS3(), ["a"], ["a"], ww.errors.EmptyModelError, "learnt"),
        ("model", ["a"], ["a"], TypeError, "must be a TauSS3, got str"),
    ],
)
def test_evaluate_rejects_bad_arguments(model, texts, labels, error, message):
    with pytest.raises(error, match=message):
        ww.evaluate(model, texts, labels)


def test_evaluate_says_how_to_evaluate_a_classifier():
    from watchword.sklearn import TauSS3Classifier

    classifier = TauSS3Classifier().fit(TEXTS, TRUTH)
    with pytest.raises(TypeError, match="pass its model_"):
        ww.evaluate(classifier, TEXTS, TRUTH)
    judged = ww.evaluate(classifier.model_, TEXTS, TRUTH)
    assert judged == Evaluation.of(TRUTH, untyped(classifier.predict(TEXTS)))


def test_evaluating_on_one_label_warns():
    model = ww.TauSS3()
    model.learn_many(["a fine day", "a bad day"], ["calm", "at risk"])
    with pytest.warns(UserWarning, match="all 2 texts have the label 'calm': mistakes about other"):
        found = ww.evaluate(model, ["fine", "a fine day"], ["calm", "calm"])
    assert found.accuracy == 1
