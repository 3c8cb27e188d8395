"""TauSS3.pyss3(): PySS3's way of reading, its ties and its pruning; values from PySS3 0.6.5."""

import pytest

import watchword as ww
from watchword.errors import IncompatibleModelsError
from watchword.model.engine import engine_of


def words_read(text):
    document = ww.model.read_terms(text, tokenization="pyss3")
    return [
        " ".join(term.word for term in sentence if term.word)
        for paragraph in document
        for sentence in paragraph
    ]


def first_sentence(model, text):
    return model.explain(text).blocks[0].blocks[0].blocks


def words_learnt(text):
    """Return the longest n-grams learnt, in order: one per run of words without a break."""
    batch = engine_of(ww.TauSS3.pyss3()).source.read([text], with_spans=True, learning=True)
    runs = [[]]
    for paragraph in batch.tree():
        for sentence in paragraph:
            for _, _, word in sentence:
                if word is None:
                    runs.append([])
                else:
                    runs[-1].append(word)
    return [" ".join(run) for run in runs if run]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't PANIC, Zoë!", "dont panic zoe"),
        ("don’t", "don t"),
        ("25 dogs", "nnbrr dogs"),
        ("25C is 77 F", "nnbrrt is nnbrrt"),
        ("25 Cats", "nnbrr cats"),
        ("25°C", "nnbrr c"),
        ("25ºC", "nnbrroc"),
        ("on 3/11/2026 or 3-11-26", "on nnbrrd or nnbrrd"),
        ("$ 5, 10 % and 1,5%", "mnnbrr nnbrrp and nnbrrp"),
        ("1/2/3C", "nnbrr nnbrr nnbrrt"),
        ("1,234,567", "nnbrr nnbrr"),
        ("1'000", "nnbrr"),
        ("abc12def", "abcnnbrrdef"),
        ("x$5", "xmnnbrr"),
        ("well-known e@mail ~ ok", "well known e mail ok"),
        ("½ ﬁsh", "nnbrr nnbrr fish"),
        ("٣ ²", "nnbrr nnbrr"),
        ("ΟΔΟΣ ΣΑΣ", "οδος σας"),
    ],
)
def test_words(text, words):
    assert words_read(text) == [words]


def test_text_to_read_is_cut_at_stops_and_lines_before_it_is_cleaned():
    assert words_read("It is 3.14\n25\nC, v1.") == ["it is nnbrr", "nnbrr", "nnbrr", "c vnnbrr"]


def test_text_to_learn_is_cleaned_as_a_whole():
    assert words_learnt("It is 3.14\n25\nC, v1.") == ["it is nnbrr nnbrrt", "vnnbrr"]


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("one\ntwo - three", ["one two three"]),
        ("one, two; three", ["one", "two", "three"]),
        ("see #this tag", ["see this tag"]),
        ("#one #two# three", ["one", "two", "three"]),
        ("no # tag", ["no", "tag"]),
        ("#19 #c", ["nnbrr", "c"]),
    ],
)
def test_breaks_in_text_to_learn(text, runs):
    assert words_learnt(text) == runs


def test_ngrams_are_read_across_commas():
    model = ww.TauSS3.pyss3(max_ngram=2)
    model.learn_many(["raised bed"] * 3 + ["road bike"] * 3, ["garden"] * 3 + ["cycling"] * 3)
    found = first_sentence(model, "A raised, bed.")
    blocks = [(block.ngram, block.start, block.end) for block in found]
    assert blocks == [("a", 0, 1), ("raised bed", 2, 13)]


def test_explanations_point_into_the_original_text():
    model = ww.TauSS3.pyss3()
    model.learn_many(["dont panic 5"] * 2, ["calm", "calm"])
    text = "Oh… DON'T pa\u0301nic: 2,5 % off"
    blocks = first_sentence(model, text)
    found = [(text[block.start : block.end], block.ngram) for block in blocks]
    assert found == [
        ("Oh", "oh"),
        ("DON'T", "dont"),
        ("pa\u0301nic", "panic"),
        ("2,5 %", "nnbrrp"),
        ("off", "off"),
    ]


def test_only_the_first_of_several_words_from_one_character_has_a_span():
    [[sentence]] = ww.model.read_terms("a ½ b", tokenization="pyss3")
    assert sentence == [(0, 1, "a"), (2, 3, "nnbrr"), (3, 3, "nnbrr"), (4, 5, "b")]


def test_a_loaded_model_reads_as_before(tmp_path):
    model = ww.TauSS3.pyss3()
    model.learn_many(["I don't know", "25 dogs"] * 2, ["a", "b"] * 2)
    model.save(tmp_path / "model.ww")
    for mapped in (False, True):
        loaded = ww.TauSS3.load(tmp_path / "model.ww", mapped=mapped)
        assert loaded.parameters["tokenization"] == "pyss3"
        assert loaded.predict_many(["dont", "99"]) == ["a", "b"]


def test_models_that_read_differently_cannot_be_merged():
    model = ww.TauSS3.pyss3()
    other = ww.TauSS3(**model.parameters | {"tokenization": "unicode"})
    with pytest.raises(IncompatibleModelsError, match="differ in tokenization"):
        model.merge(other)


def test_a_document_learnt_can_be_unlearnt():
    model = ww.TauSS3.pyss3(max_ngram=3)
    text = "Costs $3.50.\nIsn't it 25\nC?"
    model.learn_one(text, "x")
    model.learn_one("Another one", "x")
    model.unlearn_one(text, "x")
    assert model.counts() == {
        "another": {"x": 1},
        "another one": {"x": 1},
        "one": {"x": 1},
    }


# --- values that PySS3 0.6.5 computes -------------------------------------------------------------

DOCUMENTS = [
    "Don't plant roses in a raised bed, it's 25 C outside.",
    "Plant the roses; water the raised bed",
    "My garden costs $20 a month. Roses!",
    "Ride the bike: 25% faster up the hill",
    "The bike costs $900, a new bike\nhelmet $45.50",
    "Don't ride uphill, ride the train",
]
LABELS = ["garden"] * 3 + ["cycling"] * 3
TEXTS = [
    "Don't ride the raised, bed",
    "It costs $3.50 at 30 C",
    "roses. roses\nbike, helmet 99%",
    "nothing here",
    "",
]


def test_values_after_learning():
    model = ww.TauSS3.pyss3(max_ngram=3)
    model.learn_many(DOCUMENTS, LABELS)
    assert model.labels == ("cycling", "garden")
    expected = [[1, 2.666437112718757], [0.8291082486075227, 0], [1, 2], [0, 0], [0, 0]]
    for row, values in zip(expected, model.confidence_many(TEXTS).tolist(), strict=True):
        assert values == pytest.approx(row, rel=1e-12, abs=1e-12)


def test_values_after_learning_joined_documents():
    model = ww.TauSS3.pyss3(max_ngram=3)
    model.learn_joined(DOCUMENTS * 6, LABELS * 6)
    expected = [
        [1, 2.666437112718757],
        [0, 0.6099516849811151],
        [2.21990336996223, 2],
        [0, 0],
        [0, 0],
    ]
    for row, values in zip(expected, model.confidence_many(TEXTS).tolist(), strict=True):
        assert values == pytest.approx(row, rel=1e-12, abs=1e-12)
    assert model.predict_many(TEXTS) == ["garden", "garden", "cycling", "garden", "garden"]
    assert model.statistics.documents == {"cycling": 18, "garden": 18}


# --- ties -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "ngrams"),
    [("a", ["so good"]), ("c", ["so", "good"])],
    ids=["the bigram's label is first", "the word's label is first"],
)
def test_the_first_label_wins_between_ngrams_of_equal_value(other, ngrams):
    model = ww.TauSS3.pyss3(max_ngram=2, confidence_function="norm_gv")
    model.learn_one("so good. so good. " + "garden. " * 200, other)
    model.learn_one("so. " * 9, "b")
    assert model.value("so")["b"].cv == model.value("so good")[other].cv == 1
    assert [block.ngram for block in first_sentence(model, "so good")] == ngrams


# --- pruning --------------------------------------------------------------------------------------


def test_runs_of_newlines_do_not_trigger_pruning():
    model = ww.TauSS3.pyss3(max_ngram=2, prune_period=2, prune_floor=1)
    model.learn_one("one two\n\n\none two\n\n\nthree", "x")
    # Five words were learnt before the stop at the end of the document: one prune, at its end.
    assert model.counts() == {
        "one": {"x": 2},
        "one two": {"x": 2},
        "three": {"x": 1},
        "two": {"x": 2},
    }


def test_a_stop_amid_newlines_triggers_pruning():
    model = ww.TauSS3.pyss3(max_ngram=2, prune_period=2, prune_floor=1)
    model.learn_one("one two\n\n.\n\none two\n\n\nthree", "x")
    assert "one two" not in model.counts()
    assert model.statistics.documents == {"x": 1}
    assert model.statistics.words == {"x": 5}


def test_maxima_survive_pruning():
    model = ww.TauSS3.pyss3(max_ngram=2, prune_period=None)
    model.learn_joined(["good day. good day. good day. good day."], ["x"])
    assert "good day" not in model.counts()
    for saved in (model, ww.TauSS3.from_bytes(model.to_bytes())):
        saved.learn_one("good day. good day.", "x")
        # (2 / 4)^.45: the largest count of a bigram was 4.
        assert saved.value("good day")["x"].lv == pytest.approx(0.5**0.45, rel=1e-12)
