"""Arguments of the model: refused ones with their messages, and unusual ones that are accepted."""

import enum
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import watchword as ww
from untyped import untyped

TEXTS = ["machine learning", "the match", "deep learning"]
LABELS = ["tech", "sports", "tech"]


@pytest.fixture
def model():
    taught = ww.TauSS3()
    taught.learn_many(TEXTS, LABELS)
    return taught


def says(message):
    return f"^{re.escape(message)}$"


# --- parameters -----------------------------------------------------------------------------------


NUMBERS = ["smoothness", "significance", "sanction", "alpha"]
WHOLE_NUMBERS = ["max_ngram", "min_count", "prune_period", "prune_floor", "prune_shortest"]
CHOICES = [
    "significance_function",
    "confidence_function",
    "ngram_scale",
    "reading",
    "counting",
    "paragraphs",
]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["1", b"1", None, True, [0.5], np.array([0.5]), 1j])
def test_non_numbers_are_refused(name, value):
    with pytest.raises(TypeError, match=f"^{name} must be a number, got "):
        ww.TauSS3(**{name: value})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400])
def test_numbers_must_be_finite(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be finite, got "):
        ww.TauSS3(**{name: value})


@pytest.mark.parametrize("name", ["significance", "sanction", "alpha"])
def test_negative_numbers_are_refused(name):
    with pytest.raises(ValueError, match=says(f"{name} must not be negative, got -0.5")):
        ww.TauSS3(**{name: untyped(-0.5)})


@pytest.mark.parametrize("value", [0, -1, 3])
def test_smoothness_lies_between_0_and_1(value):
    with pytest.raises(ValueError, match=says(f"smoothness must be in (0, 1], got {value}")):
        ww.TauSS3(smoothness=value)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_may_come_from_numpy(name):
    value = ww.TauSS3(**{name: untyped(np.float32(0.5))}).parameters[name]
    assert value == 0.5
    assert type(value) is float


@pytest.mark.parametrize("name", WHOLE_NUMBERS)
@pytest.mark.parametrize("value", ["3", 2.0, True, [3]])
def test_non_integers_are_refused(name, value):
    with pytest.raises(TypeError, match=f"^{name} must be a whole number, got "):
        ww.TauSS3(**{name: value})


@pytest.mark.parametrize("name", WHOLE_NUMBERS)
def test_integers_below_their_minimum_are_refused(name):
    with pytest.raises(ValueError, match=f"^{name} must be (at least|from) [01].*, got -1$"):
        ww.TauSS3(**{name: untyped(-1)})


@pytest.mark.parametrize("name", WHOLE_NUMBERS)
def test_whole_numbers_may_come_from_numpy(name):
    value = ww.TauSS3(**{name: untyped(np.uint8(2))}).parameters[name]
    assert value == 2
    assert type(value) is int


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("value", ["?", None, 1, [], np.array([1, 2]), np.array(["paper", "gv"])])
def test_unknown_choices_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be one of '"):
        ww.TauSS3(**{name: value})


@pytest.mark.parametrize("value", ["median", None, 1, ["sum"], np.array([1, 2])])
def test_unknown_summaries_are_refused(value):
    message = "^summary must be one of 'sum', 'max', 'mean' or a function, got "
    with pytest.raises(ValueError, match=message):
        ww.TauSS3(summary=value)
    with pytest.raises(ValueError, match=message):
        ww.TauSS3(summary={"sentence": value})


@pytest.mark.parametrize("level", [1, "chapter", ("sentence",)])
def test_unknown_levels_of_a_summary_are_refused(level):
    message = f"summary has levels sentence, paragraph, document, got {level!r}"
    with pytest.raises(ValueError, match=says(message)):
        ww.TauSS3(summary={"sentence": "sum", level: "sum"})


def replace(**parameters):
    return ww.TauSS3().replace(**parameters)


@pytest.mark.parametrize("make", [ww.TauSS3, ww.TauSS3.paper, replace])
def test_an_unknown_parameter_is_named(make):
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'smothness'"):
        make(smothness=0.5)


@pytest.mark.parametrize("name", ["word_hook", "tokenizer"])
def test_a_hook_must_be_a_function(name):
    with pytest.raises(TypeError, match=says(f"{name} must be a function, got 5")):
        ww.TauSS3(**{name: untyped(5)})
    with pytest.raises(TypeError, match=says(f"{name} must be a function, got 5")):
        ww.TauSS3.from_bytes(ww.TauSS3().to_bytes(), **{name: untyped(5)})


def test_a_bad_summary_is_not_blamed_on_the_file(model):
    with pytest.raises(ValueError, match=r"^summary must be"):
        ww.TauSS3.from_bytes(model.to_bytes(), summary=untyped("median"))


@pytest.mark.parametrize("name", ["counting", "paragraphs", "word_hook", "tokenizer"])
def test_parameters_that_change_counts_cannot_be_replaced(model, name):
    other: dict[str, Any] = {"counting": "occurrences"}
    other |= {"paragraphs": "blank_lines", "word_hook": str.upper, "tokenizer": str.split}
    with pytest.raises(ValueError, match=f"^{name} cannot be replaced"):
        model.replace(**{name: other[name]})


def test_replace_accepts_unchanged_parameters_of_counts(model):
    assert model.replace(**model.parameters).to_bytes() == model.to_bytes()


def test_replace_cannot_lengthen_ngrams(model):
    with pytest.raises(ValueError, match=r"^max_ngram can be replaced by 3 at most, got 4"):
        model.replace(max_ngram=4)


def test_parameters_do_not_alias_the_model():
    model = ww.TauSS3(summary={"sentence": "max"})
    model.parameters["summary"]["sentence"] = "mean"
    assert model.parameters["summary"]["sentence"] == "max"


# --- texts ----------------------------------------------------------------------------------------


HOLDERS = {
    "list": list,
    "tuple": tuple,
    "generator": lambda values: (value for value in values),
    "array": np.array,
    "array_of_objects": lambda values: np.array(values, dtype=object),
    "numpy_strings": lambda values: [np.str_(value) for value in values],
    "pandas": pd.Series,
    "pandas_from_7_on": lambda values: pd.Series(values, index=range(7, 7 + len(values))),
    "polars": pl.Series,
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_texts_and_labels_may_be_any_iterable(model, hold):
    other = ww.TauSS3()
    other.learn_many(hold(TEXTS), hold(LABELS))
    assert other.to_bytes() == model.to_bytes()
    assert other.predict_many(hold(TEXTS)) == LABELS


@pytest.mark.parametrize("kind", [np.int8, np.uint64, int])
def test_labels_may_be_integers_of_any_type(kind):
    model = ww.TauSS3()
    model.learn_many(TEXTS, np.array([1, 0, 1], dtype=kind))
    assert model.labels == (0, 1)
    assert {type(label) for label in model.labels} == {int}


def test_a_label_from_an_enumeration_is_its_value():
    class Topic(str, enum.Enum):
        TECH = "tech"

    model = ww.TauSS3()
    model.learn_one("machine learning", Topic.TECH)
    assert model.labels == ("tech",)
    assert model.top_ngrams(Topic.TECH, n=1)


MANY = {
    "learn_many": lambda model, texts: model.learn_many(texts, LABELS),
    "predict_many": lambda model, texts: model.predict_many(texts),
    "confidence_many": lambda model, texts: model.confidence_many(texts),
    "confidence_table": lambda model, texts: model.confidence_table(texts),
    "predict_labels_many": lambda model, texts: model.predict_labels_many(texts),
}
each_of_many = pytest.mark.parametrize("use", MANY.values(), ids=MANY)


@each_of_many
@pytest.mark.parametrize("other", [None, b"bytes", 3, float("nan"), ["nested"]])
def test_a_non_text_is_named_by_its_index(model, use, other):
    before = model.to_bytes()
    message = says(f"text 2 must be str, got {type(other).__name__}")
    with pytest.raises(TypeError, match=message):
        use(model, ["a", "b", other])
    assert model.to_bytes() == before


@each_of_many
@pytest.mark.parametrize("single", ["text", b"text", np.str_("text")])
def test_a_single_string_is_not_many_texts(model, use, single):
    with pytest.raises(TypeError, match=r"^expected many texts, got a single string"):
        use(model, single)


@each_of_many
@pytest.mark.parametrize("other", [None, 3, {"a": 1}])
def test_non_iterables_of_texts_are_refused(model, use, other):
    with pytest.raises(TypeError, match=r"^texts must be an iterable, got "):
        use(model, other)


@each_of_many
@pytest.mark.parametrize(
    "table",
    [np.array([["a", "b"]]), np.array("a"), pd.DataFrame({"a": ["b"]}), pl.DataFrame({"a": ["b"]})],
    ids=["array", "scalar", "pandas", "polars"],
)
def test_tables_are_refused(model, use, table):
    with pytest.raises(TypeError, match=r"^texts must have one dimension, got shape "):
        use(model, table)


ONE = {
    "learn_one": lambda model, text: model.learn_one(text, "tech"),
    "unlearn_one": lambda model, text: model.unlearn_one(text, "tech"),
    "predict_one": lambda model, text: model.predict_one(text),
    "predict_labels_one": lambda model, text: model.predict_labels_one(text),
    "confidence_one": lambda model, text: model.confidence_one(text),
    "explain": lambda model, text: model.explain(text),
    "read_terms": lambda _, text: ww.model.read_terms(text),
}


@pytest.mark.parametrize("use", ONE.values(), ids=ONE)
@pytest.mark.parametrize("other", [None, b"bytes", 3, ["text"]])
def test_non_texts_are_refused(model, use, other):
    with pytest.raises(TypeError, match=says(f"text must be str, got {type(other).__name__}")):
        use(model, other)


@pytest.mark.parametrize("paragraphs", ["pages", None, 1])
def test_read_terms_accepts_two_kinds_of_paragraphs(paragraphs):
    with pytest.raises(ValueError, match=r"^paragraphs must be one of "):
        ww.model.read_terms("a", paragraphs=paragraphs)


# --- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", ["xyz", b"xyz"])
def test_a_single_string_is_not_many_labels(model, labels):
    with pytest.raises(TypeError, match=r"^expected many labels, got a single string"):
        model.learn_many(["a", "b", "c"], labels)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_texts_and_labels_must_be_equally_many(model, count):
    with pytest.raises(ValueError, match=says(f"3 texts but {count} labels")):
        model.learn_many(TEXTS, ["tech"] * count)


@pytest.mark.parametrize("label", [None, True, np.True_, 1.0, b"tech"])
def test_non_labels_are_refused(model, label):
    with pytest.raises(TypeError, match=r"^a label must be str or int, got "):
        model.learn_many(["a", "b"], ["tech", label])


@pytest.mark.parametrize("label", ["\ud800", 2**63, -(2**63) - 1])
def test_invalid_labels_are_refused(model, label):
    with pytest.raises(ValueError, match=r"^a label must "):
        model.learn_one("a", label)


def test_labels_of_one_model_are_of_one_type(model):
    before = model.to_bytes()
    with pytest.raises(TypeError, match=r"^the labels of one model must be all str or all int$"):
        model.learn_many(["a", "b"], ["tech", 1])
    with pytest.raises(TypeError, match=r"^the labels of one model must be all str or all int$"):
        model.learn_one("a", 1)
    assert model.to_bytes() == before


def test_models_with_labels_of_two_types_cannot_be_merged(model):
    other = ww.TauSS3()
    other.learn_one("a", 1)
    with pytest.raises(TypeError, match=r"^the labels of one model must be all str or all int$"):
        model.merge(other)


def test_only_models_can_be_merged(model):
    with pytest.raises(TypeError, match=says("can only merge another TauSS3, got dict")):
        model.merge({})


# --- numbers passed to methods --------------------------------------------------------------------


@pytest.mark.parametrize("threads", [np.int64(2), np.uint8(1), 1, 10**6])
def test_threads_may_be_any_whole_number(model, threads):
    assert model.predict_many(TEXTS, threads=threads) == LABELS


@pytest.mark.parametrize("threads", ["2", 2.0, True])
def test_threads_must_be_a_whole_number(model, threads):
    with pytest.raises(TypeError, match=f"^threads must be a whole number, got {threads!r}"):
        model.predict_many(TEXTS, threads=threads)


@pytest.mark.parametrize("arguments", [{}, {"summary": sum}, {"word_hook": str.upper}])
def test_threads_are_checked_even_where_they_are_unused(arguments):
    model = ww.TauSS3(**arguments)
    model.learn_many(TEXTS, LABELS)
    with pytest.raises(ValueError, match=says("threads must be at least 1, got 0")):
        model.predict_many(TEXTS, threads=0)
    with pytest.raises(ValueError, match=says("threads must be at least 1, got 0")):
        model.learn_many(TEXTS, LABELS, threads=0)


@pytest.mark.parametrize("n", [-1, -(10**30)])
def test_the_number_of_top_ngrams_must_not_be_negative(model, n):
    with pytest.raises(ValueError, match=says(f"n must be at least 0, got {n}")):
        model.top_ngrams("tech", n=n)


@pytest.mark.parametrize("n", [2.5, "2", None, True])
def test_the_number_of_top_ngrams_must_be_an_integer(model, n):
    with pytest.raises(TypeError, match=r"^n must be a whole number, got "):
        model.top_ngrams("tech", n=n)


@pytest.mark.parametrize("length", [0, -1, 4])
def test_the_length_of_top_ngrams_must_have_been_learnt(model, length):
    with pytest.raises(ValueError, match=says(f"length must be from 1 to 3, got {length}")):
        model.top_ngrams("tech", length=length)


def test_top_ngrams_take_numbers_from_numpy(model):
    expected = model.top_ngrams("tech", n=2, length=1)
    assert model.top_ngrams("tech", n=np.int16(2), length=np.int64(1)) == expected


@pytest.mark.parametrize("threshold", ["x", None, True])
def test_the_threshold_of_stop_words_is_a_number(model, threshold):
    with pytest.raises(TypeError, match=r"^threshold must be a number, got "):
        model.stop_words(threshold)


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), -0.1])
def test_the_threshold_of_stop_words_is_finite_and_not_negative(model, threshold):
    with pytest.raises(ValueError, match=r"^threshold must "):
        model.stop_words(threshold)


SENTENCES = [f"sentence number {at} of a corpus" for at in range(8)]
KINDS = ["tech", "sports"] * 4


@pytest.mark.parametrize("verb", ["learn_many", "refine"])
def test_swapped_texts_and_labels_are_noticed(model, verb):
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"8 of 8 are distinct.*are texts and labels swapped"):
        getattr(model, verb)(KINDS, SENTENCES)
    assert model.to_bytes() == before


def test_swapped_texts_without_spaces_are_noticed(model):
    titles = [f"沪深两市今日收盘上涨第{at}次" for at in range(8)]
    with pytest.raises(ValueError, match="are texts and labels swapped"):
        model.learn_many(["财经", "体育"] * 4, titles)


@pytest.mark.parametrize("function", [ww.cross_validate, ww.search])
def test_cross_validation_notices_swapped_texts_and_labels(function):
    with pytest.raises(ValueError, match="are texts and labels swapped"):
        function(KINDS, SENTENCES, folds=2)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (SENTENCES, [f"a long title of the text {at}" for at in range(8)]),
        (["yes", "no"], ["a label of many words", "another label of many words"]),
        (["yes", "no"] * 4, [f"l{at}" for at in range(8)]),
        (["yes", "no"] * 4, [f"https://example.org/profiles/{at}" for at in range(8)]),
        (["yes", "no"] * 4, [f"Chapter {at:012}" for at in range(8)]),
        (["yes", "no"] * 4, ["a label of many words", "another label of many words"] * 4),
        (KINDS, [[sentence] for sentence in SENTENCES]),
    ],
    ids=[
        "longer texts",
        "two",
        "short labels",
        "addresses",
        "names",
        "repeated labels",
        "several labels",
    ],
)
def test_unusual_labels_are_learnt(texts, labels):
    model = ww.TauSS3()
    model.learn_many(texts, labels)
    assert sum(model.statistics.documents.values()) == len(texts)


@pytest.mark.parametrize(("name", "value"), [("floor", -1), ("shortest", 0)])
def test_pruning_names_the_argument_that_is_wrong(model, name, value):
    with pytest.raises(ValueError, match=f"^{name} must be "):
        model.prune(**{name: value})


# --- n-grams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ngram", ["", "...", "a, b", [], ["a", None], ["\ud800"], [""], b"ab"])
def test_invalid_ngrams_are_refused(model, ngram):
    with pytest.raises(ValueError, match=r"^not an n-gram of words: "):
        model.value(ngram)
    with pytest.raises(ValueError, match=r"^not an n-gram of words: "):
        model.next_words(ngram)


@pytest.mark.parametrize("ngram", [None, 5, {"a"}])
def test_ngrams_of_other_types_are_refused(model, ngram):
    with pytest.raises(TypeError, match=r"^an n-gram must be a str or a sequence of str, got "):
        model.value(ngram)


@pytest.mark.parametrize("hold", [list, tuple, np.array])
def test_the_words_of_an_ngram_may_be_any_iterable(model, hold):
    assert model.value(hold(["machine", "learning"]))["tech"].count == 1
