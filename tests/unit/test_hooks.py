"""Functions of the user: word hooks, tokenizers and summaries."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import watchword as ww
from untyped import untyped
from watchword.model.engine import engine_of


def stem(word):
    return word.removesuffix("s")


def without_stop_words(word):
    return None if word in ("the", "a") else word


def letters(text):
    return [(at, at + 1, one if one.isalnum() else None) for at, one in enumerate(text)]


def pairs(text):
    """Split a text into words of two characters, as one might for Chinese."""
    return [(at, at + 2, text[at : at + 2]) for at in range(0, len(text) - 1, 2)]


def taught(**arguments):
    model = ww.TauSS3(**arguments)
    model.learn_many(["The dogs bark", "a cat"], ["dog", "cat"])
    return model


# --- on words -------------------------------------------------------------------------------------


def test_words_are_learnt_as_the_hook_gives_them():
    assert {"dog", "the dog", "dog bark"} <= taught(word_hook=stem).counts().keys()


def test_words_are_read_as_the_hook_gives_them():
    assert taught(word_hook=stem).predict_one("dog") == "dog"


def test_words_are_looked_up_as_the_hook_gives_them():
    assert taught(word_hook=stem).value("Dogs")["dog"].count == 1


def test_the_hook_gets_folded_words():
    heard = []
    ww.TauSS3(word_hook=heard.append).learn_one("Café ÉTÉ", "x")
    assert heard == ["cafe", "ete"]


def test_the_hook_is_called_once_for_each_word():
    heard = []

    def listen(word):
        heard.append(word)
        return word

    model = ww.TauSS3(word_hook=listen)
    model.learn_many(["a b a", "b c"], ["x", "y"])
    model.predict_many(["a b c"] * 3)
    model.explain("c b A")
    model.value("a")
    assert sorted(heard) == ["a", "b", "c"]


def test_the_hook_is_called_once_with_many_threads():
    heard = []
    together = threading.Barrier(4)

    def listen(word):
        heard.append(word)
        return word

    model = ww.TauSS3(word_hook=listen)
    model.learn_one("a", "x")

    def read(_):
        together.wait()
        return model.confidence_one("b c d e f")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(4)))
    assert sorted(heard) == ["a", "b", "c", "d", "e", "f"]


def test_a_hook_may_use_its_own_model():
    model = ww.TauSS3(word_hook=lambda word: word if word == "a" else str(model.predict_one("a")))
    model.learn_one("a", "x")
    model.learn_one("b", "x")
    assert model.counts() == {"a": {"x": 1}, "x": {"x": 1}}


def test_a_hook_that_returns_none_makes_a_break():
    model = ww.TauSS3(word_hook=without_stop_words)
    model.learn_one("walk the dog home", "x")
    assert model.counts().keys() == {"walk", "dog", "home", "dog home"}


def test_words_dropped_by_a_hook_have_no_block_in_an_explanation():
    model = taught(word_hook=without_stop_words)
    [[sentence]] = [paragraph.blocks for paragraph in model.explain("the dogs").blocks]
    assert [ngram.ngram for ngram in sentence.blocks] == ["dogs"]


def test_spans_are_those_of_the_original_words():
    model = taught(word_hook=stem)
    [[sentence]] = [paragraph.blocks for paragraph in model.explain("So, DOGS!").blocks]
    assert [(n.start, n.end, n.ngram) for n in untyped(sentence.blocks)] == [
        (0, 2, "so"),
        (4, 8, "dog"),
    ]


@pytest.mark.parametrize("result", ["two words", "", "\u00a0", "line\n", 5, b"bytes", "\ud800"])
def test_invalid_words_from_a_hook_are_refused(result):
    model = ww.TauSS3(word_hook=lambda _: result)
    with pytest.raises(ww.errors.HookError, match=r"^word_hook\('hello'\) must return "):
        model.learn_one("hello", "x")
    assert model.labels == ()


def test_an_error_in_the_hook_changes_nothing():
    def fail_on_b(word):
        return {"a": "a"}[word]

    model = ww.TauSS3(word_hook=fail_on_b)
    with pytest.raises(KeyError):
        model.learn_many(["a", "b"], ["x", "y"])
    assert model.counts() == {}


def test_a_word_may_be_folded_into_another():
    model = ww.TauSS3(word_hook=lambda _: "same", max_ngram=2, counting="occurrences")
    model.learn_one("a b c", "x")
    assert model.counts() == {"same": {"x": 3}, "same same": {"x": 2}}


# --- for whole texts ------------------------------------------------------------------------------


def test_terms_are_those_of_the_tokenizer():
    model = ww.TauSS3(tokenizer=letters)
    model.learn_one("ab-C", "x")
    assert model.counts().keys() == {"a", "b", "C", "a b"}


def test_a_tokenizer_makes_words_where_there_are_no_blanks():
    model = ww.TauSS3(tokenizer=pairs)
    model.learn_many(["机器学习", "足球比赛"], ["tech", "sports"])
    assert model.predict_one("学习机器") == "tech"


def test_spans_of_the_tokenizer_are_those_of_the_explanation():
    model = ww.TauSS3(tokenizer=letters, max_ngram=1)
    model.learn_one("ab", "x")
    [[sentence]] = [paragraph.blocks for paragraph in model.explain("b-a").blocks]
    assert [(n.start, n.end, n.ngram) for n in untyped(sentence.blocks)] == [
        (0, 1, "b"),
        (2, 3, "a"),
    ]


def test_a_tokenizer_keeps_the_paragraphs_of_the_text():
    def words(text):
        return [(match.start(), match.end(), match.group()) for match in re.finditer(r"\w+", text)]

    model = ww.TauSS3(tokenizer=words)
    model.learn_one("a", "x")
    explanation = model.explain("one two\nthree")
    assert [(block.start, block.end) for block in explanation.blocks] == [(0, 7), (8, 13)]


def test_a_tokenizer_and_a_word_hook_work_together():
    model = ww.TauSS3(tokenizer=letters, word_hook=str.upper)
    model.learn_one("ab", "x")
    assert model.counts().keys() == {"A", "B", "A B"}


def test_a_tokenizer_may_be_a_generator():
    model = ww.TauSS3(tokenizer=lambda text: (term for term in letters(text)))
    model.learn_one("ab", "x")
    assert model.counts().keys() == {"a", "b", "a b"}


def test_offsets_may_be_numpy_integers():
    model = ww.TauSS3(tokenizer=lambda text: untyped([(np.int64(0), np.int64(len(text)), text)]))
    model.learn_one("ab", "x")
    assert model.counts() == {"ab": {"x": 1}}


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (None, "tokenizer must return an iterable of (start, end, word or None), got NoneType"),
        ("hello", "tokenizer must return an iterable of (start, end, word or None), got str"),
        (["hello"], "tokenizer must yield (start, end, word or None), got 'hello'"),
        ([(0, 5)], "tokenizer must yield (start, end, word or None), got (0, 5)"),
        ([(0.0, 5, "a")], "tokenizer must yield (start, end, word or None), got (0.0, 5, 'a')"),
        ([(0, 6, "a")], "tokenizer must yield spans inside the text, in order, got (0, 6)"),
        ([(-1, 2, "a")], "tokenizer must yield spans inside the text, in order, got (-1, 2)"),
        ([(3, 2, "a")], "tokenizer must yield spans inside the text, in order, got (3, 2)"),
        (
            [(2, 4, "a"), (3, 5, "b")],
            "tokenizer must yield spans inside the text, in order, got (3, 5)",
        ),
        ([(0, 5, "a b")], "tokenizer must return a word without whitespace, got 'a b'"),
        ([(0, 5, 1)], "tokenizer must return a str or None, got int"),
        ([(0, 5, "\udc00")], r"tokenizer must return valid Unicode, got '\udc00'"),
    ],
)
def test_invalid_terms_from_a_tokenizer_are_refused(terms, message):
    model = ww.TauSS3(tokenizer=lambda _: terms)
    with pytest.raises(ww.errors.HookError, match=f"^{re.escape(message)}$"):
        model.learn_one("hello", "x")
    assert model.labels == ()


# --- where they are missing -----------------------------------------------------------------------


USES = {
    "learn_one": lambda model: model.learn_one("", "dog"),
    "learn_many": lambda model: model.learn_many([], []),
    "unlearn_one": lambda model: model.unlearn_one("", "dog"),
    "confidence_one": lambda model: model.confidence_one(""),
    "confidence_many": lambda model: model.confidence_many([]),
    "predict_one": lambda model: model.predict_one(""),
    "predict_labels_one": lambda model: model.predict_labels_one(""),
    "explain": lambda model: model.explain(""),
}
FUNCTIONS = {"word_hook": stem, "tokenizer": letters, "summary": sum}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_model_without_its_function_neither_reads_nor_learns(name, use):
    model = ww.TauSS3.from_bytes(taught(**{name: FUNCTIONS[name]}).to_bytes())
    with pytest.raises(
        ww.errors.HookError, match=f"^the model needs the {name} .* pass it as .*{name}="
    ):
        use(model)


@pytest.mark.parametrize("name", ["word_hook", "tokenizer"])
def test_a_model_without_its_function_can_be_inspected(name):
    model = taught(**{name: FUNCTIONS[name]})
    again = ww.TauSS3.from_bytes(model.to_bytes())
    word = next(iter(model.counts()))
    assert again.value([word]) == model.value([word])
    assert again.top_ngrams("dog") == model.top_ngrams("dog")
    assert again.statistics == model.statistics


@pytest.mark.parametrize("name", ["word_hook", "tokenizer"])
def test_a_model_without_its_function_can_be_merged_into_one_that_has_it(name):
    arguments = {name: FUNCTIONS[name]}
    model, twice = taught(**arguments), taught(**arguments)
    model.merge(ww.TauSS3.from_bytes(model.to_bytes()))
    twice.learn_many(["The dogs bark", "a cat"], ["dog", "cat"])
    assert model.to_bytes() == twice.to_bytes()


def test_a_model_without_its_summary_reads_with_another():
    model = ww.TauSS3.from_bytes(taught(summary=sum).to_bytes()).replace(summary="max")
    assert model.to_bytes() == taught(summary="max").to_bytes()
    assert model.predict_one("cat") == "cat"


@pytest.mark.parametrize("name", ["word_hook", "tokenizer"])
def test_models_with_different_hooks_cannot_be_merged(name):
    model, other = taught(**{name: FUNCTIONS[name]}), taught()
    with pytest.raises(ww.errors.IncompatibleModelsError, match=f"differ in {name}$"):
        model.merge(other)
    with pytest.raises(ww.errors.IncompatibleModelsError, match=f"differ in {name}$"):
        other.merge(model)


class Cutter:
    """A stemmer as in libraries: an object with a method."""

    def __init__(self, letters):
        self.letters = letters

    def stem(self, word):
        return word[: self.letters]


def cut(word, letters):
    return word[:letters]


def cutting(letters):
    return lambda word: word[:letters]


def cutting_by_default(letters):
    return lambda word, *, own=letters: word[:own]


def test_functions_of_the_same_name_are_distinguished_by_merge():
    by_method, by_partial = lambda n: Cutter(n).stem, lambda n: partial(cut, letters=n)
    for make in (by_method, by_partial, cutting, cutting_by_default):
        model, alike, other = (taught(word_hook=make(letters)) for letters in (1, 1, 2))
        before = model.to_bytes()
        with pytest.raises(
            ww.errors.IncompatibleModelsError, match="but are not the same function"
        ):
            model.merge(other)
        assert model.to_bytes() == before
        model.merge(alike)
        assert model.statistics.documents == {"cat": 2, "dog": 2}


# --- to summarise ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("level", ["sentence", "paragraph", "document"])
def test_a_summary_must_be_finite(number, level):
    def summarise(rows):
        return np.full(rows.shape[1], number)

    model = taught(summary={level: summarise})
    for use in (model.confidence_one, model.explain, model.predict_one):
        with pytest.raises(
            ww.errors.HookError, match=r"^a summary function must return finite numbers"
        ):
            use("dogs")


@pytest.mark.parametrize("result", [None, 1.0, [1.0], [[1.0, 2.0]], [1.0, 2.0, 3.0]])
def test_a_summary_must_have_a_number_per_label(result):
    with pytest.raises(
        ww.errors.HookError, match=r"^a summary function must return the shape \(2,\)"
    ):
        taught(summary=lambda _: result).confidence_one("two dogs")


@pytest.mark.parametrize("result", ["ab", ["a", "b"], {}, [{}, {}]])
def test_a_summary_must_be_made_of_numbers(result):
    with pytest.raises(ww.errors.HookError, match=r"^a summary function must return numbers, got "):
        taught(summary=lambda _: result).confidence_one("dogs")


def test_a_summary_cannot_change_what_it_is_given():
    def zero(rows):
        rows[:] = 0
        return rows.sum(axis=0)

    model = taught(summary={"document": zero})
    assert any(model.explain("dogs").blocks[0].value)


def test_many_texts_are_summarised_in_one_state_of_the_model():
    def learn_while_reading(rows):
        model.learn_one("something new", f"label {len(model.labels)}")
        return rows.sum(axis=0)

    model = taught(summary={"document": learn_while_reading})
    labels, values = model.confidence_table(["dogs", "cat", "dogs"])
    assert labels == ("cat", "dog")
    assert values[0].tolist() == values[2].tolist()
    assert len(model.labels) == 5


def test_a_tree_of_terms_needs_spans():
    with pytest.raises(ValueError, match="without spans"):
        engine_of(ww.TauSS3()).source.read(["a b"]).tree()
