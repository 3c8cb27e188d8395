"""`watchword.pyss3.SS3`: PySS3's methods with PySS3's numbers."""

import copy
import gzip
import importlib.util
import itertools
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import watchword as ww
from untyped import untyped
from watchword.pyss3 import (
    SS3,
    EmptyModelError,
    InvalidCategoryError,
    LeftOutError,
    set_verbosity,
)

ROOT = Path(__file__).parents[2]

# PySS3 0.6.5 computed these: `benchmarks/compare_pyss3.py --documents 150 --test 6 --record FILE`.
RECORDED = json.loads(gzip.decompress((ROOT / "tests" / "data" / "pyss3.json.gz").read_bytes()))


def module_of(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def answers():
    found = module_of("pyss3_calls").run("watchword.pyss3", RECORDED["job"])
    set_verbosity(1)
    return json.loads(json.dumps(found))


def differences(name, ours, theirs):
    """Yield what is not as recorded; numbers may differ by 1e-12."""
    if isinstance(theirs, dict):
        for key, value in theirs.items():
            yield from differences(f"{name} {key}", ours[key], value)
    elif isinstance(theirs, list) and len(ours) == len(theirs):
        for mine, value in zip(ours, theirs, strict=True):
            yield from differences(name, mine, value)
    elif isinstance(theirs, int | float):
        if abs(ours - theirs) > 1e-12 * max(1, abs(theirs)):
            yield name, ours, theirs
    elif ours != theirs:
        yield name, ours, theirs


@pytest.mark.parametrize("configuration", RECORDED["answers"])
def test_every_method_returns_what_pyss3_returned(answers, configuration):
    expected = RECORDED["answers"][configuration]
    assert not list(differences(configuration, answers[configuration], expected))


@pytest.fixture
def clf():
    clf = SS3()
    clf.fit(["hot soup, hot soup, the bread", "what a match, the match"], ["food", "sports"])
    return clf


# Learning


def test_numpy_labels_are_single_labels():
    clf = SS3()
    clf.fit(np.array(["hot soup, hot soup", "a match, a match"]), np.array([3, 1]))
    assert clf.get_categories() == [1, 3]
    assert clf.predict(np.array(["the soup"])) == [3]
    assert clf.get_category_index(np.int64(3)) == 1


def test_arrays_of_labels_are_several_labels():
    clf = SS3()
    clf.fit(["hot soup, hot soup", "a match, a match"], [np.array(["a", "b"]), np.array([])])
    assert clf.get_categories(all=True) == ["a", "b", "[others]"]
    assert clf.get_categories() == ["a", "b"]


def test_learn_with_fewer_ngrams_than_fit_counts_only_these():
    clf = SS3()
    clf.fit(["a long bike ride, " * 12, "hot soup"], ["bikes", "food"], n_grams=3)
    before = clf.lv("long bike ride", "bikes"), clf.lv("long bike", "bikes")
    clf.learn("a long bike ride, " * 12, "bikes", n_grams=1)
    assert before == (1.0, 1.0)
    assert clf.to_watchword().value("bike")["bikes"].count == 24
    assert clf.to_watchword().value("long bike")["bikes"].count == 12
    clf.learn("a long bike ride, " * 12, "bikes", n_grams=2)
    assert clf.to_watchword().value("long bike")["bikes"].count == 24
    assert clf.to_watchword().value("long bike ride")["bikes"].count == 12
    assert clf.get_ngrams_length() == 3


def test_pruning_while_learning_does_not_change_the_length_of_ngrams():
    clf = SS3()
    clf.__prun_trigger__, clf.__prun_floor__ = 8, 0  # often, and nothing is dropped
    clf.learn("a long bike ride, " * 12, "bikes", n_grams=3)
    clf.learn("a long bike ride, " * 12, "bikes", n_grams=2)
    counts = clf.to_watchword().counts()
    assert counts["long bike"] == {"bikes": 24}
    assert counts["long bike ride"] == {"bikes": 12}


def test_learn_with_more_ngrams_than_fit_counts_them_from_now_on():
    clf = SS3()
    clf.fit(["a long bike ride"], ["bikes"])
    clf.learn("a long bike ride, a long bike ride", "bikes", n_grams=3)
    assert clf.get_ngrams_length() == 3
    assert clf.to_watchword().counts()["long bike ride"] == {"bikes": 2}
    assert clf.to_watchword().counts()["bike"] == {"bikes": 3}


def test_fit_keeps_what_was_learnt_before(clf):
    clf.fit(["a train, a train"], ["travel"])
    assert clf.get_categories() == ["food", "sports", "travel"]
    assert clf.predict(["soup", "train"]) == ["food", "travel"]


def test_category_without_words_counts_as_a_category(clf):
    clf.learn("\n", "nothing")
    clf.learn("", "never")
    clf.learn(untyped(None), "never")
    clf.learn("soup", untyped(None))
    assert clf.get_categories() == ["food", "sports", "nothing"]
    assert clf.classify("soup", sort=False)[2] == 0
    assert clf.get_most_probable_category() == "food"


def test_values_are_up_to_date_without_update(clf):
    clf.learn("tram tram tram", "travel", update=False)
    assert clf.predict(["tram"]) == ["travel"]


def test_labels_of_several_types_are_learnt():
    clf = SS3()
    clf.fit(["hot soup, hot soup", "a match, a match"], ["food", 7])
    assert clf.get_categories() == [7, "food"]


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a"], ["x", "y"], "1 documents but 2 labels"),
        ([], [], "there are no documents"),
        (["a", "b"], ["x", None], "without a label"),
        ("ab", ["x", "y"], "single string"),
    ],
)
def test_fit_refuses_what_it_cannot_learn(texts, labels, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SS3().fit(texts, labels)


# Reading


def test_predictions_depend_on_the_documents_alone(clf):
    assert clf.predict(["soup", "match"]) == ["food", "sports"]
    assert clf.predict(["soupm", "atch"]) == ["food", "food"]
    assert clf.predict(["soupmatch"]) == ["food"]
    assert clf.predict(iter(["match"])) == ["sports"]


def test_json_of_an_empty_document_has_zeros(clf):
    assert clf.classify("", json=True) == {
        "pars": [],
        "cv": [0, 0],
        "wmv": [0, 0],
        "cvns": [(0, 0, 0), (1, 0, 0)],
        "ci": ["food", "sports"],
    }
    assert clf.extract_insight("") == []


def test_documents_may_be_bytes(clf):
    assert clf.classify_label("soup, Zoë".encode()) == "food"


def test_default_category_may_be_a_name(clf):
    assert clf.classify_label("?", def_cat="sports") == "sports"
    assert clf.predict(["?"], def_cat="sports", labels=False) == [1]
    assert clf.classify_multilabel("?", def_cat="sports") == ["sports"]
    with pytest.raises(InvalidCategoryError):
        clf.predict(["?"], def_cat="music")


def test_index_of_unknown_category_has_no_name(clf):
    assert clf.get_category_index("music") == -1
    assert clf.get_category_name(-1) == "[unknown]"
    assert clf.get_category_name([1]) == "sports"


def test_word_delimiter_is_a_pattern_of_its_own():
    clf = SS3()
    clf.set_block_delimiters(word="-")
    clf.learn("foo-bar baz, foo-bar baz", "x", prep=False, n_grams=2)
    assert clf.lv("foo-bar", "x") == 1
    assert clf.lv("baz", "x") == 1
    clf.set_block_delimiters(word="(-|/)")
    clf.learn("foo-bar/baz", "x", prep=False, n_grams=3)
    assert clf.to_watchword().counts()["foo bar baz"] == {"x": 1}
    with pytest.raises(ValueError, match="not a pattern"):
        clf.set_block_delimiters(sent="(")


def test_summary_operators_apply_to_predictions(clf):
    assert clf.predict_proba(["soup. soup"]) == [[2.0, 0.0]]
    clf.summary_op_sentences = lambda vectors: [
        max(column) for column in zip(*vectors, strict=True)
    ]
    assert clf.predict_proba(["soup. soup"]) == [[1.0, 0.0]]
    assert clf.classify("soup. soup", sort=False) == [1.0, 0.0]
    assert clf.classify("soup. soup", json=True)["cv"] == [1.0, 0.0]


@pytest.mark.parametrize("order", ["".join(one) for one in itertools.permutations("bcd")])
def test_of_equal_ngrams_the_one_of_the_first_category_is_taken(order):
    texts = {"b": "x y, x y, x y, " + "w, " * 40, "c": "x, x, x, x", "d": "y, y, y, y"}
    clf = SS3(cv_m="norm_gv", sg_m="vanilla")
    for label in order:
        clf.learn(texts[label], label, n_grams=2)
    # "x" is worth 1 to c, "x y" to b.
    [sentence] = clf.classify("x y", json=True)["pars"][0]["sents"]
    tokens = [word["token"] for word in sentence["words"] if word["token"]]
    assert tokens == (["x→y"] if order.index("b") < order.index("c") else ["x", "y"])


# Settings


def test_hyperparameters_have_letters_and_names(clf):
    clf.set_smoothness(0.3)
    clf.set_significance(1)
    clf.set_sanction(2)
    clf.set_alpha(0.1)
    assert clf.get_hyperparameters() == (0.3, 1.0, 2.0, 0.1)
    assert (clf.get_s(), clf.get_l(), clf.get_p(), clf.get_a()) == (0.3, 1.0, 2.0, 0.1)
    assert clf.get_smoothness() == SS3(s=0.3).get_s()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"s": -1}, "s must be in"),
        ({"l": -0.1}, "l must be at least 0"),
        ({"p": "x"}, "must be numbers"),
        ({"cv_m": "gvv"}, "cv_m must be one of"),
        ({"sg_m": "xia"}, "sg_m must be one of"),
    ],
)
def test_bad_settings_are_refused_at_once(arguments, message):
    with pytest.raises(ValueError, match=message):
        SS3(**arguments)


def test_empty_classifier_says_so():
    clf = SS3()
    for ask in (clf.predict, clf.predict_proba):
        with pytest.raises(EmptyModelError, match="hasn't been trained"):
            ask(["a"])
    with pytest.raises(EmptyModelError):
        clf.classify("a")
    assert clf.get_ngrams_length() == 0
    assert clf.get_categories() == []


def test_unknown_category_is_refused(clf):
    for ask in (clf.cv, clf.lv, clf.get_next_words):
        with pytest.raises(InvalidCategoryError, match="music"):
            ask("soup", "music")


def test_what_is_left_out_says_what_to_use_instead(clf):
    with pytest.raises(LeftOutError, match=r"cv\(\).*docs/moving-from-pyss3.md"):
        clf.get_word(0)
    assert not hasattr(clf, "get_word_index")
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        clf.foo  # noqa: B018


def test_names_of_pyss3_in_the_native_interface_lead_to_the_page():
    with pytest.raises(AttributeError, match=r"docs/moving-from-pyss3.md"):
        untyped(ww).SS3  # noqa: B018
    with pytest.raises(TypeError, match=r"'smoothness'.*docs/moving-from-pyss3.md"):
        ww.TauSS3(**untyped({"s": 0.3}))
    assert (ROOT / "docs" / "moving-from-pyss3.md").exists()


# Files and pictures


def test_classifiers_can_be_copied_and_pickled(clf):
    for twin in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        twin.learn("tram tram", "travel")
        assert twin.get_categories() == ["food", "sports", "travel"]
    assert clf.get_categories() == ["food", "sports"]


def test_vocabulary_is_written_with_safe_names(tmp_path):
    clf = SS3()
    clf.learn("hot soup, hot soup", "a/b", n_grams=2)
    clf.learn("cold tea, cold tea", "tea", n_grams=2)
    clf.save_vocab(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "ss3_vocab_a_b(bigrams).csv",
        "ss3_vocab_a_b(words).csv",
        "ss3_vocab_tea(bigrams).csv",
        "ss3_vocab_tea(words).csv",
    ]
    assert (tmp_path / "ss3_vocab_a_b(words).csv").read_text().splitlines() == [
        "term,fr,gv,cv",
        "hot,2,1.000000,1.000000",
        "soup,2,1.000000,1.000000",
    ]


def test_word_cloud_is_an_svg_or_a_png(tmp_path, clf, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert clf.save_wordcloud("food") == Path("wordcloud_top100_food.svg")
    drawn = Path("wordcloud_top100_food.svg").read_text(encoding="utf-8")
    assert ">soup</text>" in drawn
    clf.save_wordcloud("food", path="cloud.png", size=200, color="tomato")
    assert Path("cloud.png").read_bytes().startswith(b"\x89PNG")
    assert clf.save_wordcloud("food", n_grams=4) is None
    with pytest.raises(ValueError, match="svg or"):
        clf.save_wordcloud("food", path="cloud.jpg")


def test_plots_are_shown(clf, monkeypatch):
    import matplotlib.pyplot as plt

    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf().axes[0].get_title()))
    clf.plot_value_distribution("food")
    assert shown == ["Word Value Distribution (food)"]
    plt.close("all")


WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(["scipy", "sklearn", "matplotlib", "tqdm", "pandas"]))
from watchword.pyss3 import SS3
from watchword.pyss3.util import Dataset, Evaluation, span
from watchword.errors import MissingExtraError
clf = SS3()
x, y = ["hot soup, hot soup", "a match, a match"] * 4, ["food", "sports"] * 4
clf.fit(x, y, n_grams=2)
assert Evaluation.test(clf, x, y, plot=False) == 1
assert Evaluation.kfold_cross_validation(clf, x, y, plot=False, metric="f1-score") == 1
assert Evaluation.grid_search(clf, x, y, s=span(0.2, 0.8, 3), k_fold=2)
assert clf.save_wordcloud("food", path=sys.argv[1])
try:
    clf.plot_value_distribution("food")
except MissingExtraError as error:
    print(error)
"""


def test_nothing_but_numpy_is_needed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path / "cloud.svg")],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("plotting needs matplotlib: pip install 'watchword[plot]'\n")
