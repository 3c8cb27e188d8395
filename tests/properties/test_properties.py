"""Properties of every model, whatever it has learnt."""

import copy
import math
import pickle
import unicodedata

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import watchword as ww
from reference import Reference
from strategies import any_texts, corpora, examples, label_sets, parameters, texts, unicode_texts


def learnt(corpus, arguments=None):
    model = ww.TauSS3(**(arguments or {}))
    for text, label in corpus:
        model.learn_one(text, label)
    return model


def columns(corpus):
    return [text for text, _ in corpus], [label for _, label in corpus]


@st.composite
def split_corpora(draw, parts):
    """Return several corpora over one set of labels; some may be empty."""
    pair = st.tuples(any_texts(), st.sampled_from(draw(label_sets())))
    return [draw(st.lists(pair, max_size=4)) for _ in range(parts)]


COUNTING = st.sampled_from(["occurrences", "documents"])
SHAPING = ("max_ngram", "counting", "paragraphs", "tokenization")  # what decides the counts
NAMED = parameters(own_operators=False)  # what can be saved without help


# --- counts add -----------------------------------------------------------------------------------


@given(data=st.data(), corpus=corpora(any_texts()), arguments=NAMED)
def test_order_of_learning_is_irrelevant(data, corpus, arguments):
    shuffled = data.draw(st.permutations(corpus))
    assert learnt(shuffled, arguments).to_bytes() == learnt(corpus, arguments).to_bytes()


@given(halves=split_corpora(2), arguments=NAMED)
def test_merging_equals_learning_everything(halves, arguments):
    first, second = halves
    model = learnt(first, arguments)
    model.merge(learnt(second, arguments))
    assert model.to_bytes() == learnt(first + second, arguments).to_bytes()


@given(halves=split_corpora(2))
def test_merging_commutes(halves):
    first, second = map(learnt, halves)
    first.merge(learnt(halves[1]))
    second.merge(learnt(halves[0]))
    assert first.to_bytes() == second.to_bytes()


@given(thirds=split_corpora(3))
def test_merging_associates(thirds):
    left, middle, right = map(learnt, thirds)
    left.merge(middle)
    left.merge(right)
    middle.merge(right)
    other = learnt(thirds[0])
    other.merge(middle)
    assert left.to_bytes() == other.to_bytes()


@given(halves=split_corpora(2))
def test_merging_leaves_the_other_model_as_it_was(halves):
    first, second = map(learnt, halves)
    before = second.to_bytes()
    first.merge(second)
    for label in first.labels:
        first.learn_one("a b afterwards", label)
    assert second.to_bytes() == before


@given(corpus=corpora(any_texts()))
def test_merging_a_model_with_itself_doubles_its_counts(corpus):
    model = learnt(corpus)
    model.merge(model)
    assert model.to_bytes() == learnt(corpus * 2).to_bytes()


@given(corpus=corpora(any_texts()), counting=COUNTING, extra=any_texts(), data=st.data())
def test_unlearning_what_was_just_learnt_gives_back_the_model(corpus, counting, extra, data):
    label = data.draw(st.sampled_from(corpus))[1]
    model = learnt(corpus, {"counting": counting})
    before = model.to_bytes()
    model.learn_one(extra, label)
    model.unlearn_one(extra, label)
    assert model.to_bytes() == before


@given(corpus=corpora(any_texts(), max_labels=3), counting=COUNTING, extra=any_texts())
def test_unlearning_the_only_document_of_a_label_removes_the_label(corpus, counting, extra):
    label = 99 if isinstance(corpus[0][1], int) else "of its own"
    model = learnt(corpus, {"counting": counting})
    before = model.to_bytes()
    model.learn_one(extra, label)
    assert label in model.labels
    model.unlearn_one(extra, label)
    assert model.to_bytes() == before


@given(corpus=corpora(any_texts()), counting=COUNTING, data=st.data())
def test_unlearning_everything_leaves_an_empty_model(corpus, counting, data):
    model = learnt(corpus, {"counting": counting})
    for text, label in data.draw(st.permutations(corpus)):
        model.unlearn_one(text, label)
    assert model.labels == ()
    assert model.to_bytes() == ww.TauSS3(counting=counting).to_bytes()


@given(corpus=corpora(), counting=COUNTING, data=st.data())
def test_unlearning_what_was_not_learnt_is_refused_and_changes_nothing(corpus, counting, data):
    text, label = data.draw(st.sampled_from(corpus))
    model = learnt(corpus, {"counting": counting})
    before = model.to_bytes()
    too_often = ["a b c " * 500] if counting == "occurrences" else []
    for refused in (text + " unheard", "unheard. " + text, *too_often):
        with pytest.raises(ww.errors.UnlearnError):
            model.unlearn_one(refused, label)
        assert model.to_bytes() == before


@given(corpus=corpora(any_texts()), text=any_texts())
def test_unlearning_from_an_unknown_label_is_refused_and_changes_nothing(corpus, text):
    model = learnt(corpus)
    before = model.to_bytes()
    with pytest.raises((ww.errors.UnlearnError, ww.errors.UnknownLabelError)):
        model.unlearn_one(text, 99 if isinstance(corpus[0][1], int) else "unknown")
    assert model.to_bytes() == before


@given(corpus=corpora())
def test_a_document_without_words_makes_its_label_known(corpus):
    label = 99 if isinstance(corpus[0][1], int) else "silent"
    model = learnt([*corpus, ("...", label)])
    assert label in model.labels
    assert model.statistics.documents[label] == 1


# --- many at once ---------------------------------------------------------------------------------


@given(corpus=corpora(any_texts()), arguments=NAMED)
def test_learning_many_equals_learning_one_by_one(corpus, arguments):
    model = ww.TauSS3(**arguments)
    model.learn_many(*columns(corpus))
    assert model.to_bytes() == learnt(corpus, arguments).to_bytes()


@examples(0.5)
@given(
    corpus=corpora(any_texts()),
    counting=COUNTING,
    repeat=st.sampled_from([1, 7, 40]),
    threads=st.integers(1, 5),
)
def test_threads_change_nothing_in_learning(corpus, counting, repeat, threads):
    model = ww.TauSS3(counting=counting)
    model.learn_many(*columns(corpus * repeat), threads=threads)
    assert model.to_bytes() == learnt(corpus * repeat, {"counting": counting}).to_bytes()


@examples(0.5)
@given(corpus=corpora(), arguments=parameters(), threads=st.integers(1, 5))
def test_threads_change_nothing_in_reading(corpus, arguments, threads):
    model = learnt(corpus, arguments)
    documents = columns(corpus)[0] * 9
    one_by_one = [list(model.confidence_one(text).values()) for text in documents]
    assert model.confidence_many(documents, threads=threads).tolist() == one_by_one
    expected = [model.predict_one(text) for text in documents]
    assert model.predict_many(documents, threads=threads) == expected
    several = [model.predict_labels_one(text) for text in documents]
    assert list(model.predict_labels_many(documents, threads=threads)) == several


def test_learning_many_takes_any_iterables():
    corpus = [("a b", "x"), ("c", "y")]
    model = ww.TauSS3()
    model.learn_many((text for text, _ in corpus), iter(["x", "y"]))
    assert model.to_bytes() == learnt(corpus).to_bytes()


# --- reading is pure ------------------------------------------------------------------------------


@given(corpus=corpora(), arguments=NAMED, text=any_texts())
def test_reading_leaves_the_model_as_it_was(corpus, arguments, text):
    model = learnt(corpus, arguments)
    before = model.to_bytes()
    first = model.confidence_one(text)
    model.confidence_many([text, text])
    model.predict_one(text)
    model.predict_many([text])
    model.predict_labels_one(text)
    model.explain(text).to_dict()
    model.value(["a", "unheard"])
    model.top_ngrams(model.labels[0])
    model.next_words(["a"])
    model.stop_words()
    model.counts().clear()
    model.parameters.clear()
    assert model.confidence_one(text) == first
    assert model.to_bytes() == before


# --- keeping --------------------------------------------------------------------------------------


def through_file(model, folder):
    model.save(folder / "model")
    return ww.TauSS3.load(folder / "model")


COPIES = {
    "bytes": lambda model, _folder: ww.TauSS3.from_bytes(model.to_bytes()),
    "file": through_file,
    "pickle": lambda model, _folder: pickle.loads(pickle.dumps(model)),
    "copy": lambda model, _folder: copy.copy(model),
    "deepcopy": lambda model, _folder: copy.deepcopy(model),
}


@pytest.mark.parametrize("way", COPIES)
@examples(0.4)
@given(corpus=corpora(any_texts()), arguments=NAMED, text=any_texts())
def test_a_stored_or_copied_model_is_the_same(tmp_path_factory, way, corpus, arguments, text):
    model = learnt(corpus, arguments)
    kept = COPIES[way](model, tmp_path_factory.mktemp("kept"))
    assert kept.to_bytes() == model.to_bytes()
    assert kept.labels == model.labels
    assert kept.parameters == model.parameters
    assert kept.statistics == model.statistics
    assert kept.counts() == model.counts()
    assert kept.confidence_one(text) == model.confidence_one(text)


@pytest.mark.parametrize("way", COPIES)
@examples(0.2)
@given(corpus=corpora())
def test_a_stored_or_copied_model_is_independent(tmp_path_factory, way, corpus):
    model = learnt(corpus)
    before = model.to_bytes()
    kept = COPIES[way](model, tmp_path_factory.mktemp("kept"))
    kept.learn_one("a new text", corpus[0][1])
    assert kept.to_bytes() == learnt([*corpus, ("a new text", corpus[0][1])]).to_bytes()
    assert model.to_bytes() == before


@pytest.mark.parametrize("way", COPIES)
def test_an_empty_model_can_be_stored_and_copied(tmp_path, way):
    model = ww.TauSS3(max_ngram=2)
    assert COPIES[way](model, tmp_path).to_bytes() == model.to_bytes()


# --- spans ----------------------------------------------------------------------------------------


@examples(2)
@given(text=unicode_texts(), paragraphs=st.sampled_from(["lines", "blank_lines"]))
def test_only_blanks_lie_outside_the_terms(text, paragraphs):
    covered = set()
    for sentences in ww.model.read_terms(text, paragraphs=paragraphs):
        for terms in sentences:
            for term in terms:
                covered.update(range(term.start, term.end))
    outside = [text[at] for at in range(len(text)) if at not in covered]
    assert all(character.isspace() for character in outside)


@examples(2)
@given(text=unicode_texts(), paragraphs=st.sampled_from(["lines", "blank_lines"]))
def test_terms_are_in_order_and_disjoint(text, paragraphs):
    document = ww.model.read_terms(text, paragraphs=paragraphs)
    terms = [term for sentences in document for terms in sentences for term in terms]
    at = 0
    for term in terms:
        assert at <= term.start < term.end <= len(text)
        at = term.end


def assert_nested(blocks, start, end, *, empty):
    for block in blocks:
        assert start <= block.start <= block.end <= end
        assert block.start < block.end or empty
        start = block.end
        if block.kind != "ngram":
            assert block.blocks
            assert_nested(block.blocks, block.start, block.end, empty=empty)


@given(corpus=corpora(), arguments=parameters(), text=any_texts())
@example(corpus=[("", "x")], arguments={"tokenization": "pyss3"}, text="\ufdfa")
def test_spans_of_blocks_are_nested_ordered_and_disjoint(corpus, arguments, text):
    blocks = learnt(corpus, arguments).explain(text).blocks
    # PySS3 turns one character into several words, as U+FDFA, of which only the first has a span.
    assert_nested(blocks, 0, len(text), empty=arguments.get("tokenization") == "pyss3")


@given(corpus=corpora(), paragraphs=st.sampled_from(["lines", "blank_lines"]), text=any_texts())
def test_every_word_lies_in_exactly_one_ngram(corpus, paragraphs, text):
    model = learnt(corpus, {"paragraphs": paragraphs})
    words = [
        term
        for sentences in ww.model.read_terms(text, paragraphs=paragraphs)
        for terms in sentences
        for term in terms
        if term.word is not None
    ]
    ngrams = [
        ngram
        for paragraph in model.explain(text).blocks
        for sentence in paragraph.blocks
        for ngram in sentence.blocks
    ]
    for ngram in ngrams:
        inside = [term for term in words if ngram.start <= term.start and term.end <= ngram.end]
        assert ngram.ngram == " ".join(term.word for term in inside)
        assert (ngram.start, ngram.end) == (inside[0].start, inside[-1].end)
    assert sum(ngram.ngram.count(" ") + 1 for ngram in ngrams) == len(words)


# --- parts add up ---------------------------------------------------------------------------------


def total(blocks, labels):
    """Add the contributions of n-grams to sentences, paragraphs and the document."""
    added = [0.0] * labels
    for block in blocks:
        part = block.contribution if block.kind == "ngram" else total(block.blocks, labels)
        for column, value in enumerate(part):
            added[column] += value
    return added


@given(corpus=corpora(), arguments=NAMED, text=texts(), data=st.data())
def test_contributions_add_up_exactly_with_sum_and_maximum(corpus, arguments, text, data):
    operator = st.sampled_from(["sum", "max"])
    levels = ("sentence", "paragraph", "document")
    arguments |= {"summary": {level: data.draw(operator) for level in levels}}
    model = learnt(corpus, arguments)
    explanation = model.explain(text)
    assert total(explanation.blocks, len(model.labels)) == list(explanation.value)


@given(corpus=corpora(), arguments=NAMED, text=texts())
def test_contributions_add_up_with_any_named_operator(corpus, arguments, text):
    model = learnt(corpus, arguments)
    explanation = model.explain(text)
    added = total(explanation.blocks, len(model.labels))
    for part, whole in zip(added, explanation.value, strict=True):
        assert math.isclose(part, whole, rel_tol=1e-12, abs_tol=1e-12)


def test_operator_of_the_user_gets_rows_of_labels():
    shapes = []

    def record(rows):
        assert rows.dtype == np.float64
        shapes.append(rows.shape)
        return rows.sum(axis=0)

    model = learnt([("a b", "x"), ("c", "y")], {"summary": record})
    model.confidence_one("a. c c.\nb")
    # n-grams of three sentences, sentences of two paragraphs, paragraphs of the document
    assert sorted(shapes) == sorted([(1, 2), (2, 2), (1, 2), (2, 2), (1, 2), (2, 2)])


# --- other parameters, same counts ----------------------------------------------------------------


@given(corpus=corpora(), first=NAMED, second=NAMED, text=texts())
def test_replacing_parameters_equals_a_fresh_model(corpus, first, second, text):
    second |= {name: first[name] for name in SHAPING}
    model = learnt(corpus, first)
    model.confidence_one(text)
    replaced = model.replace(**second)
    fresh = learnt(corpus, second)
    assert replaced.to_bytes() == fresh.to_bytes()
    assert replaced.confidence_one(text) == fresh.confidence_one(text)
    assert model.to_bytes() == learnt(corpus, first).to_bytes()


@given(corpus=corpora(), text=texts())
def test_replacing_does_not_alias(corpus, text):
    label = corpus[0][1]
    model = learnt(corpus)
    replaced = model.replace(smoothness=0.2)
    model.learn_one(text + " more", label)
    assert replaced.to_bytes() == learnt(corpus, {"smoothness": 0.2}).to_bytes()
    replaced.learn_one("other " + text, label)
    assert model.to_bytes() == learnt([*corpus, (text + " more", label)]).to_bytes()


# --- pruning --------------------------------------------------------------------------------------


@given(
    corpus=corpora(max_documents=20),
    period=st.integers(1, 40),
    floor=st.integers(0, 3),
    shortest=st.integers(1, 3),
    counting=COUNTING,
)
def test_periodic_pruning_happens_between_documents(corpus, period, floor, shortest, counting):
    arguments = {"prune_period": period, "prune_floor": floor, "prune_shortest": shortest}
    arguments["counting"] = counting
    one_by_one, oracle = learnt(corpus, arguments), Reference(**arguments)
    for text, label in corpus:
        oracle.learn(text, label)
    assert one_by_one.counts() == oracle.counts()
    statistics = one_by_one.statistics
    assert statistics.pruned_ngrams == oracle.pruned_ngrams
    assert statistics.pruned_counts == oracle.pruned_counts
    at_once = ww.TauSS3(**arguments)
    at_once.learn_many(*columns(corpus))
    assert at_once.to_bytes() == one_by_one.to_bytes()


@given(corpus=corpora(), floor=st.integers(0, 3), shortest=st.integers(1, 3))
def test_pruning_keeps_the_prefixes_in_each_label(corpus, floor, shortest):
    model = learnt(corpus)
    model.prune(floor=floor, shortest=shortest)
    counts = model.counts()
    for ngram, labels in counts.items():
        words = ngram.split(" ")
        for length in range(1, len(words)):
            assert labels.keys() <= counts[" ".join(words[:length])].keys()


@given(corpus=corpora())
def test_pruning_keeps_the_labels(corpus):
    model = learnt(corpus)
    labels = model.labels
    model.prune(floor=10**6)
    assert model.labels == labels
    assert model.counts() == {}


def test_unlearning_from_a_pruned_model_is_refused():
    model = learnt([("a b", "x"), ("a", "x")])
    model.prune(floor=1)
    before = model.to_bytes()
    with pytest.raises(ww.errors.PrunedModelError):
        model.unlearn_one("a", "x")
    assert model.to_bytes() == before


def test_threads_with_periodic_pruning_are_refused():
    model = ww.TauSS3(prune_period=10)
    with pytest.raises((ValueError, ww.WatchwordError)):
        model.learn_many(["a", "b"], ["x", "y"], threads=2)


# --- composed and decomposed ----------------------------------------------------------------------


ACCENTED = st.text("aeé\u00f1ÅỆőçż가각힣ノガ .'", max_size=12)


def words_of(text):
    return [
        [[term.word for term in terms] for terms in sentences]
        for sentences in ww.model.read_terms(text)
    ]


@given(text=ACCENTED)
def test_composed_and_decomposed_text_read_the_same(text):
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert words_of(composed) == words_of(decomposed)


@given(text=ACCENTED, other=ACCENTED)
def test_composed_and_decomposed_text_teach_the_same(text, other):
    assume(text.strip())
    models = [
        learnt([(unicodedata.normalize(form, text), "x"), (other, "y")]) for form in ("NFC", "NFD")
    ]
    assert models[0].to_bytes() == models[1].to_bytes()


def test_a_model_made_from_an_empty_one_learns_by_itself():
    empty = ww.TauSS3(max_ngram=3)
    other = empty.replace(smoothness=0.3, max_ngram=2)
    other.learn_one("a b c", "x")
    assert empty.labels == ()
    assert other.counts() == {
        "a": {"x": 1},
        "a b": {"x": 1},
        "b": {"x": 1},
        "b c": {"x": 1},
        "c": {"x": 1},
    }
