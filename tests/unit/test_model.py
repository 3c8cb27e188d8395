"""The methods of a model that have no test file of their own."""

import math
import random
import tracemalloc
from collections import Counter

import numpy as np
import pytest

import watchword as ww
from untyped import untyped
from watchword.model.engine import engine_of


def taught(corpus=None, **arguments):
    model = ww.TauSS3.paper(**arguments)
    corpus = corpus or {"sports": "the match", "tech": "machine learning is machine learning"}
    for label, text in corpus.items():
        model.learn_one(text, label)
    return model


# --- nothing learnt yet ---------------------------------------------------------------------------


READING = {
    "confidence_one": lambda model: model.confidence_one("a"),
    "confidence_many": lambda model: model.confidence_many([]),
    "confidence_table": lambda model: model.confidence_table(["a"]),
    "predict_one": lambda model: model.predict_one("a"),
    "predict_many": lambda model: model.predict_many([]),
    "predict_labels_one": lambda model: model.predict_labels_one("a"),
    "predict_labels_many": lambda model: model.predict_labels_many([]),
    "explain": lambda model: model.explain("a"),
    "value": lambda model: model.value("a"),
    "top_ngrams": lambda model: model.top_ngrams("x"),
    "next_words": lambda model: model.next_words("a"),
    "stop_words": lambda model: model.stop_words(),
    "default_label": lambda model: model.default_label,
}


@pytest.mark.parametrize("read", READING.values(), ids=READING)
@pytest.mark.parametrize("arguments", [{}, {"summary": sum}, {"default_label": "x"}], ids=str)
def test_an_empty_model_reads_nothing(read, arguments):
    with pytest.raises(ww.errors.EmptyModelError, match=r"^the model has not learnt anything yet"):
        read(ww.TauSS3(**arguments))


@pytest.mark.parametrize("read", READING.values(), ids=READING)
def test_a_model_that_unlearnt_everything_is_empty(read):
    model = taught({"x": "a b"})
    model.unlearn_one("a b", "x")
    with pytest.raises(ww.errors.EmptyModelError):
        read(model)


def test_an_empty_model_has_no_labels_and_no_counts():
    assert ww.TauSS3().labels == ()
    assert ww.TauSS3().counts() == {}


def test_learning_nothing_leaves_a_model_empty():
    model = ww.TauSS3()
    model.learn_many([], [])
    assert model.labels == ()


def test_reading_no_texts_gives_no_rows():
    model = taught()
    assert model.confidence_many([]).shape == (0, 2)
    assert model.predict_many([]) == []
    assert model.predict_labels_many([]) == []


# --- what it is -----------------------------------------------------------------------------------


def test_repr_of_an_empty_model():
    assert repr(ww.TauSS3()) == "<TauSS3, empty>"


def test_repr_names_the_labels():
    assert repr(taught()) == "<TauSS3 of 2 labels: 'sports', 'tech'>"


def test_repr_says_that_a_model_is_refined_and_when_that_is_stale():
    model = taught()
    model.refine(["a match"], ["sports"])
    assert repr(model) == "<TauSS3 of 2 labels: 'sports', 'tech'; refined>"
    model.learn_one("a match", "sports")
    assert repr(model) == "<TauSS3 of 2 labels: 'sports', 'tech'; refined, stale>"


def test_repr_of_many_labels_is_short():
    model = taught(dict.fromkeys(range(1000), "a"))
    assert repr(model) == "<TauSS3 of 1000 labels: 0, 1, 2, 3, 4, …>"


def test_the_defaults():
    told = ww.TauSS3().parameters
    assert (told["smoothness"], told["significance"], told["sanction"]) == (0.13, 0.7, 0.25)
    assert (told["prior"], told["ngram_scale"], told["counting"]) == (3, "label", "documents")
    assert (told["significance_function"], told["max_ngram"]) == ("ratio", 3)


def test_the_papers_parameters():
    parameters = ww.TauSS3.paper().parameters
    assert parameters["smoothness"] == 0.455
    assert parameters["significance"] == parameters["sanction"] == 1.0
    assert parameters["max_ngram"] == 3
    assert parameters["summary"] == "sum"


def test_the_papers_parameters_may_be_overridden():
    assert ww.TauSS3.paper(max_ngram=2).parameters == {
        **ww.TauSS3.paper().parameters,
        "max_ngram": 2,
    }


def test_statistics():
    model = taught({"y": "a b. a", "x": "..."}, max_ngram=2)
    model.learn_one("b", "y")
    assert model.statistics == ww.model.ModelStatistics(
        documents={"x": 1, "y": 2},
        words={"x": 0, "y": 4},
        ngrams=(2, 1),
        pruned_ngrams=0,
        pruned_counts=0,
        pruned=False,
    )


def test_statistics_of_an_empty_model():
    assert ww.TauSS3(max_ngram=2).statistics == ww.model.ModelStatistics(
        {}, {}, (0, 0), 0, 0, False
    )


def test_statistics_after_pruning():
    model = taught({"x": "a b a", "y": "b"}, max_ngram=2)
    assert model.prune(floor=1) == ww.model.Pruned(ngrams=4, counts=4)  # b, a b, b a of x; b of y
    statistics = model.statistics
    assert statistics.ngrams == (1, 0)
    assert (statistics.pruned_ngrams, statistics.pruned_counts) == (4, 4)
    assert statistics.pruned
    assert statistics.words == {"x": 3, "y": 1}


# --- labels ---------------------------------------------------------------------------------------


def test_labels_are_sorted_whatever_the_order_of_learning():
    assert taught({"b": "a", "ä": "a", "B": "a"}).labels == ("B", "b", "ä")


def test_whole_numbers_as_labels_are_sorted_as_numbers():
    model = taught({10: "a b", -1: "c", 9: "d"})
    assert model.labels == (-1, 9, 10)
    assert model.predict_one("a b") == 10
    assert list(model.confidence_one("c")) == [-1, 9, 10]
    assert model.value("d")[9].count == 1


@pytest.mark.parametrize("label", [-(2**63), 2**63 - 1, 0])
def test_a_label_may_be_any_number_of_64_bits(label):
    model = taught({label: "a", 1: "b"})
    assert model.predict_one("a") == label


@pytest.mark.parametrize("label", ["", " ", "\0", "a\nb", "ß" * 10_000, "😀", "e\u0301"])
def test_a_label_may_be_any_text(label):
    model = taught({label: "a", "other": "b"})
    assert model.predict_one("a") == label


def test_labels_appear_at_any_time():
    model = taught({"x": "a b"})
    assert model.predict_many(["a", "c"]) == ["x", "x"]
    model.learn_one("c d", "a new one")
    assert model.labels == ("a new one", "x")
    assert model.predict_many(["a", "c"]) == ["x", "a new one"]
    assert model.confidence_many(["a"]).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("arguments", [{}, {"confidence_function": "norm_gv_xai"}], ids=str)
def test_thousands_of_labels(arguments):
    model = ww.TauSS3(**arguments)
    model.learn_many([f"word{at} of them" for at in range(2000)], range(2000))
    assert model.labels == tuple(range(2000))
    assert model.predict_many([f"one is word{at}" for at in (0, 999, 1999)]) == [0, 999, 1999]
    assert model.confidence_many(["of them"]).shape == (1, 2000)
    assert len(model.explain("word7").blocks[0].value) == 2000


def test_a_rejected_batch_leaves_none_of_its_labels():
    model = taught({"x": "a b"})
    before = model.to_bytes()
    with pytest.raises(TypeError, match="all str or all int"):
        model.learn_many(["c d"] * 3001, [*(f"label {at}" for at in range(3000)), 7])
    assert model.labels == ("x",)
    assert model.to_bytes() == before


def test_labels_that_come_and_go_leave_no_trace():
    model, draw = taught({"x": "a b"}), random.Random(1)
    before, learnt = model.to_bytes(), []
    for step in range(300):
        if learnt and draw.random() < 0.5:
            label = learnt.pop(draw.randrange(len(learnt)))
            model.unlearn_one(f"a {label}", label)
        else:
            learnt.append(f"label {draw.randrange(10**9)}")
            model.learn_one(f"a {learnt[-1]}", learnt[-1])
        assert model.labels == (*sorted(learnt), "x")
        if step % 3 == 0 and learnt:
            assert model.predict_one(learnt[0]) == learnt[0]
    for label in learnt:
        model.unlearn_one(f"a {label}", label)
    assert model.to_bytes() == before


def test_unlearning_touches_no_label_but_its_own():
    model = ww.TauSS3(max_ngram=1)
    labels = [f"label {at}" for at in range(20_000)]
    model.learn_many(labels, labels)
    tracemalloc.start()
    try:
        model.unlearn_one(labels[500], labels[500])
        _, most_memory = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_memory < 20_000  # bytes: less than one for each label


# --- the default label ----------------------------------------------------------------------------


def test_the_label_with_most_words_is_predicted_without_evidence():
    model = taught({"few": "a b", "most": "c d e", "some": "f g"})
    assert model.default_label == "most"
    assert model.predict_many(["unheard", "", "a"]) == ["most", "most", "few"]


def test_the_first_of_labels_with_equally_many_words_is_the_default():
    assert taught({"z": "a b", "y": "c d"}).predict_one("unheard") == "y"


def test_a_given_default_is_predicted_without_evidence():
    model = taught({"few": "a b", "most": "c d e"}, default_label="few")
    assert model.default_label == "few"
    assert model.predict_many(["unheard", "c"]) == ["few", "most"]
    assert model.explain("unheard").label == "few"


def test_negative_confidences_are_evidence():
    below = {"default_label": "y", "summary": lambda rows: rows.sum(0) - 9}
    model = taught({"x": "a b", "y": "c d e"}, **below)
    assert model.predict_many(["a", "a b"]) == ["x", "x"]


@pytest.mark.parametrize("default", ["later", 3])
def test_an_unknown_default_label_is_an_error_only_when_needed(default):
    model = taught(default_label=default)
    assert model.predict_one("machine") == "tech"
    with pytest.raises(
        ww.errors.UnknownLabelError, match=f"^unknown label {default!r}; the model knows"
    ):
        model.predict_one("unheard")


def test_a_default_may_be_learnt_later():
    model = taught(default_label="later")
    model.learn_one("now", "later")
    assert model.predict_one("unheard") == "later"


def test_unknown_labels_are_named_with_the_known_ones():
    message = "^unknown label 'weather'; the model knows 'sports', 'tech'$"
    with pytest.raises(ww.errors.UnknownLabelError, match=message):
        taught().top_ngrams("weather")


def test_of_many_known_labels_a_few_are_named():
    with pytest.raises(
        ww.errors.UnknownLabelError, match=r"knows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …$"
    ):
        taught(dict.fromkeys(range(50), "a")).top_ngrams(99)


# --- reading and inspecting -----------------------------------------------------------------------


def test_a_confidence_table_names_its_columns():
    model = taught()
    labels, values = model.confidence_table(["the match", "learning"])
    assert labels == model.labels
    assert values.dtype == np.float64
    assert values.tolist() == model.confidence_many(["the match", "learning"]).tolist()


def test_several_labels_are_those_of_high_confidence():
    model = taught({"x": "a", "y": "b", "z": "c"})
    assert model.predict_labels_many(["a b", "c", "unheard"]) == [("x", "y"), ("z",), ()]


@pytest.mark.parametrize("value", [np.nan, 1.7e308, np.inf])
def test_decide_several_accepts_any_confidence(value):
    model = taught({"x": "a", "y": "b", "z": "c"})
    table = ww.model.ConfidenceTable(
        ("x", "y", "z"), np.array([[value, value, 0.0], [value, 2.0, 1.0]])
    )
    assert len(model.decide_several(table)) == 2


@pytest.mark.parametrize("significance", [1e-300, 1e-308, 1e-320, 5e-324])
def test_a_tiny_significance_is_its_limit(significance):
    texts = {"x": "a a b", "y": "a b b b"}
    steep, steeper = (taught(texts, significance=each) for each in (1e-200, significance))
    for word in "ab":
        assert steeper.value(word) == steep.value(word)
    assert np.isfinite(steeper.confidence_many(["a b"])).all()


def test_pruning_that_removes_nothing_changes_nothing():
    model = taught({"x": "a b"})
    before = model.to_bytes()
    assert model.prune(0) == ww.model.Pruned(ngrams=0, counts=0)
    assert model.to_bytes() == before
    model.unlearn_one("a b", "x")
    assert model.labels == ()


def test_next_words_are_those_that_were_seen_most_frequent_first():
    model = taught({"x": "a b. a b. a c", "y": "a c. a c. a d"})
    assert model.next_words("A") == [
        ww.model.NextWord("c", 3, 0.5),
        ww.model.NextWord("b", 2, 2 / 6),
        ww.model.NextWord("d", 1, 1 / 6),
    ]


def test_next_words_under_one_label():
    model = taught({"x": "a b. a b. a c", "y": "a d"})
    assert model.next_words(["a"], "x") == [
        ww.model.NextWord("b", 2, 2 / 3),
        ww.model.NextWord("c", 1, 1 / 3),
    ]


def test_next_words_after_several_words():
    model = taught({"x": "a b c. b d"})
    assert model.next_words("a b") == [ww.model.NextWord("c", 1, 1.0)]


@pytest.mark.parametrize("ngram", ["unheard", "b a", "a b c", "a b c d e f"])
def test_after_the_longest_and_unknown_ngrams_there_are_no_next_words(ngram):
    assert taught({"x": "a b c"}).next_words(ngram) == []


def test_next_words_of_equal_count_are_sorted_by_spelling():
    assert [w.word for w in taught({"x": "a c. a b. a d"}).next_words("a")] == ["b", "c", "d"]


def test_stop_words_have_low_values_and_are_sorted_by_frequency():
    model = taught({"x": "the of the dog", "y": "the of the cat"})
    assert model.stop_words() == ["the", "of"]


def test_top_ngrams_of_one_length():
    model = taught({"x": "a b c", "y": "d"})
    assert [entry.ngram for entry in model.top_ngrams("x", length=2)] == ["a b", "b c"]


def test_zero_top_ngrams_are_allowed():
    assert taught().top_ngrams("tech", n=0) == []


def test_an_unknown_ngram_has_value_0():
    value = taught().value("unheard of")["tech"]
    assert (value.count, value.lv, value.sg, value.gv, value.cv) == (0, 0.0, 0.0, 0.0, 0.0)


def test_an_ngram_longer_than_any_is_unknown():
    assert taught().value(["a"] * 100)["tech"].count == 0


# --- texts of all kinds ---------------------------------------------------------------------------


LARGE = 30_000_000


def test_a_huge_text():
    text = "one two three four, " * (LARGE // 20)
    model = ww.TauSS3(counting="occurrences")
    model.learn_one(text, "x")
    model.learn_one("five", "y")
    assert model.statistics.words["x"] == LARGE // 5
    assert model.value("two three")["x"].count == LARGE // 20
    values = model.confidence_one(text)
    assert values["x"] > 0
    assert values["y"] == 0
    assert model.predict_one(text) == "x"


def test_a_huge_text_of_wide_characters():
    text = "Größe 😀 " * (LARGE // 32)
    model = ww.TauSS3(counting="occurrences")
    model.learn_one(text, "x")
    assert model.counts() == {"grosse": {"x": LARGE // 32}}


def test_a_huge_word():
    word = "x" * 5_000_000
    model = ww.TauSS3(counting="occurrences")
    model.learn_one(f"{word} {word.upper()}", "x")
    model.learn_one(word[:-1], "y")
    assert model.value([word])["x"].count == 2
    assert model.predict_one(word) == "x"
    assert ww.TauSS3.from_bytes(model.to_bytes()).value([word])["x"].count == 2


def test_a_text_without_any_word():
    model = taught({"x": "... !!! \n\n --- " * 1000, "y": "a"})
    assert model.statistics.words["x"] == 0
    assert model.explain(" .\n!").blocks == ()


TEXTS = {
    "nothing": ("", []),
    "nul": ("a\0b", ["a", "b"]),
    "lone_surrogates": ("a\ud800b \udfffc", ["a", "b", "c"]),
    "emoji": ("I ❤\ufe0f 👩\u200d💻 you", ["i", "you"]),
    "hebrew": ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
    "arabic": ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
    "chinese": ("你好。世界", ["你好", "世界"]),
    "japanese": ("これは テスト", ["これは", "テスト"]),
    "korean": ("안녕 세상", None),
    "thai": ("สวัสดี", None),
    "bengali": ("র\u200d\u09cdযাব আছে", ["র\u09cdযাব", "আছে"]),
    "joiners": ("co\xad\xadop a\u200c\u200db c\u200d d\xad\xad", ["coop", "ab", "c", "d"]),
    "hindi": ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
    "cyrillic": ("Привет, МИР", ["привет", "мир"]),
    "german": ("STRASSE Straße", ["strasse", "strasse"]),
    "turkish": ("İstanbul", ["istanbul"]),
    "greek": ("ΣΊΣΥΦΟΣ", ["σισυφοσ"]),
    "full_width": ("ＡＢＣ １２", ["abc", "12"]),
    "ligatures": ("ﬁne", ["fine"]),
    "controls": ("a\x1b[31mb\x7f", ["a", "31mb"]),
    "byte_order_mark": ("\ufeffhello", ["hello"]),
    "combining_only": ("\u0301\u0301", []),
}


@pytest.mark.parametrize(("text", "words"), TEXTS.values(), ids=TEXTS)
def test_any_text_is_learnt_and_read(text, words):
    model = ww.TauSS3(max_ngram=2)
    model.learn_many([text, "something else"], ["x", "y"])
    learnt = {ngram for ngram, counts in model.counts().items() if "x" in counts}
    if words is not None:
        assert {ngram for ngram in learnt if " " not in ngram} == set(words)
    assert model.predict_one(text) == ("x" if learnt else "y")
    assert model.explain(text).text == text
    assert ww.TauSS3.from_bytes(model.to_bytes()).counts() == model.counts()
    model.unlearn_one(text, "x")
    assert model.labels == ("y",)


def test_the_longest_ngrams_a_model_can_have():
    words = [f"w{at}" for at in range(100)]
    model = taught({"x": " ".join(words), "y": "other"}, max_ngram=64)
    assert model.statistics.ngrams == tuple([101] + [101 - length for length in range(2, 65)])
    assert model.value(words[:64])["x"].count == 1
    assert model.value(words[:65])["x"].count == 0
    assert model.confidence_one(" ".join(words))["x"] > 0
    explained = model.explain(" ".join(words)).blocks[0].blocks[0].blocks
    assert sum(len(ngram.ngram.split()) for ngram in explained) == 100


def test_longer_ngrams_than_the_longest_are_refused():
    with pytest.raises(ValueError, match=r"^max_ngram must be from 1 to 64, got 65$"):
        ww.TauSS3(max_ngram=65)


def test_values_are_finite_whatever_the_parameters():
    extremes = {"smoothness": 1e-300, "significance": 1e300, "sanction": 1e300, "alpha": 1e300}
    for name, value in extremes.items():
        model = taught({"x": "a a b", "y": "a c", "z": "b"}, **{name: value})
        for ngram in ("a", "b", "c", "a b"):
            values = model.value(ngram).values()
            assert all(math.isfinite(number) for entry in values for number in entry)


def test_two_words_may_be_repeated_millions_of_times():
    model = ww.TauSS3(max_ngram=3, counting="occurrences")
    times = 9_000_000  # more occurrences in one shard than a shard can have n-grams
    model.learn_one("a " * times, "x")
    assert model.counts() == {
        "a": {"x": times},
        "a a": {"x": times - 1},
        "a a a": {"x": times - 2},
    }


def test_values_follow_from_counts_and_the_largest_counts_alone():
    model = ww.TauSS3.paper(max_ngram=1)
    model.learn_many(["a a a b", "a c c"], ["x", "y"])
    other = ww.TauSS3.paper(max_ngram=1)
    other.learn_many(["a d e a. f a", "g g h a"], ["x", "y"])
    assert model.value("a") == other.value("a")
    assert model.value("a")["x"].count == 3
    assert model.value("a")["x"].lv == 1
    assert model.value("a")["y"].lv == pytest.approx(0.5**0.455)


@pytest.mark.slow
def test_counts_stay_right_while_large_tables_grow():
    source = random.Random(5)
    documents = [[f"w{source.randrange(3000)}" for _ in range(1000)] for _ in range(500)]
    model = ww.TauSS3(max_ngram=3, counting="occurrences")
    expected = Counter()
    for words in documents:
        model.learn_one(" ".join(words), "x")
        for length in (1, 2, 3):
            expected.update(zip(*(words[at:] for at in range(length)), strict=False))
    lengths = Counter(len(ngram) for ngram in expected)
    assert model.statistics.ngrams == (lengths[1], lengths[2], lengths[3])
    for ngram in source.sample(list(expected), 3000):
        assert model.value(ngram)["x"].count == expected[ngram]
    for words in documents[:100]:
        model.unlearn_one(" ".join(words), "x")
    again = ww.TauSS3(max_ngram=3, counting="occurrences")
    again.learn_many([" ".join(words) for words in documents[100:]], ["x"] * 400, threads=2)
    assert model.to_bytes() == again.to_bytes()


def test_words_that_come_and_go_in_a_large_vocabulary_leave_no_trace():
    model, draw = ww.TauSS3(max_ngram=1), random.Random(2)
    texts = [
        " ".join(f"{letter}{at}" for at in range(first, first + 100))
        for letter in ("w", "a_long_word_")
        for first in range(0, 12_000, 100)
    ]
    kept = texts[::6]
    model.learn_many(texts, ["x"] * len(texts))
    for _ in range(2):
        gone = [text for text in texts if text not in kept]
        draw.shuffle(gone)
        for text in gone:
            model.unlearn_one(text, "x")
        alone = ww.TauSS3(max_ngram=1)
        alone.learn_many(kept, ["x"] * len(kept))
        assert model.to_bytes() == alone.to_bytes()
        model.learn_many(gone, ["x"] * len(gone))
        assert model.statistics.ngrams == (24_000,)


def test_words_of_a_rejected_text_are_forgotten():
    model = taught({"x": "a b"})
    before, native = model.to_bytes(), engine_of(model).native
    size = native.size()
    for attempt in range(50):
        text = " ".join(f"w{attempt}x{at}" for at in range(100))
        with pytest.raises(OverflowError, match="2\\^40"):
            native.learn([text], ["x"], 1, [2**40])
    assert native.size() <= size + 100  # the ids of words that are gone are used again
    assert model.to_bytes() == before


def test_terms_that_were_learnt_cannot_be_used_again():
    engine = engine_of(taught())
    terms = engine.source.read(["a b"], learning=True)
    engine.native.learn_terms(terms, ["x"])
    for use in (
        lambda: engine.native.learn_terms(terms, ["x"]),
        lambda: engine.native.unlearn(terms, "x", True),
        lambda: engine.native.confidence_terms(terms),
        lambda: terms.part([0]),
        lambda: terms.symbols,
    ):
        with pytest.raises(ValueError, match="these terms were learnt"):
            use()


def test_terms_need_one_label_for_each_document():
    engine = engine_of(taught())
    terms = engine.source.read(["a b", "c d"], learning=True)
    with pytest.raises(ValueError, match="one label"):
        engine.native.learn_terms(terms, ["x"])


def test_a_text_too_long_to_explain_is_refused():
    model = taught()
    assert model.explain("the match" + " " * 999_991).blocks
    with pytest.raises(ww.errors.TextTooLongError, match="1,000,001 characters is too long"):
        model.explain("the match" + " " * 999_992)


def test_a_copy_that_refused_to_unlearn_outlives_its_original():
    model = taught({"x": "a b c", "y": "b c d"})
    copy = model.replace(max_ngram=2)
    before = copy.value("a b"), copy.confidence_one("a b c")
    with pytest.raises(ww.errors.UnlearnError):
        copy.unlearn_one("c a", "x")
    del model
    assert (copy.value("a b"), copy.confidence_one("a b c")) == before


# --- several labels per document ------------------------------------------------------------------


def test_a_document_with_several_labels_counts_as_a_document_of_each():
    several, single = ww.TauSS3(), ww.TauSS3()
    several.learn_many(["a b", "b c", "d"], [["x", "y"], ("y",), []])
    single.learn_many(["a b", "a b", "b c"], ["x", "y", "y"])
    assert several.counts() == single.counts()
    assert several.statistics == single.statistics


def test_learn_one_takes_several_labels_and_corrects_for_all_of_them_at_once():
    model = ww.TauSS3()
    for text, labels in [("a b", {"x", "y"}), ("c d", {"z"}), ("a e", {"x"})] * 10:
        model.learn_one(text, labels, correct=True)
    values = model.confidence_one("a b")
    assert values["x"] > values["z"]
    assert values["y"] > values["z"]
    assert model.statistics.documents == {"x": 20, "y": 10, "z": 10}
    assert not model.refinement.is_stale


def test_a_document_without_labels_is_corrected_for_but_not_counted():
    model = ww.TauSS3()
    model.learn_many(["a b", "c d"], ["x", "y"], correct=True)
    before = model.confidence_one("a b")["x"]
    model.learn_one("a b", [], correct=True)
    assert model.statistics.documents == {"x": 1, "y": 1}
    assert model.confidence_one("a b")["x"] < before
    assert max(model.explain("a b").ngrams[0].counted) > 0


@pytest.mark.parametrize("correct", [False, True])
def test_no_document_is_learnt_if_labels_are_of_two_types(correct):
    model = ww.TauSS3()
    with pytest.raises(TypeError, match="must be all str or all int"):
        model.learn_many(["a", "b"], [["x"], [1]], correct=correct)
    assert model.labels == ()


def test_corrections_exclude_periodic_pruning():
    model = ww.TauSS3(prune_period=1000)
    with pytest.raises(ValueError, match="use prune_period=None"):
        model.learn_one("a", "x", correct=True)
    assert model.labels == ()


def test_labels_must_be_one_or_several_for_all_documents():
    with pytest.raises(TypeError, match="one label per text or one collection per text, not both"):
        ww.TauSS3().learn_many(["a", "b"], ["x", ["y"]])


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("fit", "learn_many"),
        ("partial_fit", "learn_many"),
        ("predict", "predict_many"),
        ("predict_proba", "probability_many"),
        ("decision_function", "confidence_many"),
        ("score", "evaluate"),
        ("transform", "SS3Vectorizer"),
        ("classes_", "labels"),
        ("set_params", "replace"),
        ("predict_proba_one", "probability_one"),
        ("train", "learn_many"),
        ("save_model", "save"),
    ],
)
def test_names_of_other_libraries_say_what_to_use(name, instead):
    with pytest.raises(AttributeError, match=f"no attribute '{name}': use .*{instead}"):
        getattr(ww.TauSS3(), name)


@pytest.mark.parametrize("name", ["fit", "predict", "predict_proba", "decision_function", "score"])
def test_names_of_scikit_learn_lead_to_its_classifier(name):
    with pytest.raises(AttributeError, match=r"watchword\.sklearn\.TauSS3Classifier"):
        getattr(ww.TauSS3(), name)


def test_the_hint_for_score_is_a_call_that_works():
    model = ww.TauSS3()
    texts, labels = ["a fast goal", "a fast chip"], ["sports", "tech"]
    model.learn_many(texts, labels)
    with pytest.raises(AttributeError, match=r"use watchword\.evaluate\(model, texts, labels\);"):
        _ = untyped(model).score
    assert ww.evaluate(model, texts, labels).accuracy == 1.0


def test_other_unknown_names_are_plain_attribute_errors():
    with pytest.raises(AttributeError, match=r"'TauSS3' object has no attribute 'colour'$"):
        _ = untyped(ww.TauSS3()).colour
    assert not hasattr(ww.TauSS3(), "fit")
