"""Counting documents instead of occurrences, with counts computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from model_files import parts, with_parts
from reference import CannotUnlearnError, Reference
from strategies import corpora, texts


def taught(*documents, **arguments):
    model = ww.TauSS3(**{"max_ngram": 2, "counting": "documents", **arguments})
    for document in documents:
        model.learn_one(document, "x")
    return model


def test_repeating_an_ngram_in_a_document_counts_once():
    assert taught("so so so. so good").counts() == {
        "good": {"x": 1},
        "so": {"x": 1},
        "so good": {"x": 1},
        "so so": {"x": 1},
    }


def test_every_document_counts():
    counts = taught("so so", "so good so", "good").counts()
    assert counts["so"] == {"x": 2}
    assert counts["good"] == {"x": 2}
    assert counts["so good"] == counts["good so"] == counts["so so"] == {"x": 1}


def test_a_batch_of_documents_is_not_one_document():
    model = ww.TauSS3(max_ngram=2, counting="documents")
    model.learn_many(["a b a b", "a b", "a b a b"], ["x", "x", "y"])
    assert model.counts()["a b"] == {"x": 2, "y": 1}


def test_an_extension_of_what_was_repeated_still_counts():
    counts = taught("a b c. a b d. a b c", max_ngram=3).counts()
    assert counts["a b"] == counts["a b c"] == counts["a b d"] == {"x": 1}


def test_words_of_a_label_are_the_distinct_ones_of_each_document():
    model = taught("so so so good", "so so")
    assert model.statistics.words == {"x": 3}
    assert model.statistics.documents == {"x": 2}


def test_labels_are_compared_by_documents():
    model = ww.TauSS3.paper(max_ngram=1, counting="documents", smoothness=1)
    model.learn_many(["a a a a a b", "a b", "b"], ["x", "x", "x"])
    value = model.value("a")["x"]
    assert value.count == 2
    assert value.lv == pytest.approx(2 / 3)


def test_the_words_of_a_hook_count_once():
    model = taught("One one TWO", word_hook=lambda word: word[0])
    assert model.counts() == {"o": {"x": 1}, "o o": {"x": 1}, "o t": {"x": 1}, "t": {"x": 1}}


def test_next_words_are_counted_by_documents():
    model = taught("a b a b a c", "a b")
    assert model.next_words("a") == [("b", 2, pytest.approx(2 / 3)), ("c", 1, pytest.approx(1 / 3))]


def test_periodic_pruning_counts_the_words_that_were_read():
    model = taught("a a a a a a", prune_period=6, prune_floor=1)
    assert model.statistics.pruned
    assert model.counts() == {}


def test_the_default_counts_documents_and_the_paper_occurrences():
    assert ww.TauSS3().parameters["counting"] == "documents"
    assert ww.TauSS3.paper().parameters["counting"] == "occurrences"


def test_models_that_count_differently_cannot_be_merged():
    model = taught("a b")
    with pytest.raises(ww.errors.IncompatibleModelsError, match=r"differ in counting$"):
        model.merge(taught("a b", counting="occurrences"))
    assert model.counts()["a"] == {"x": 1}


def test_a_loaded_model_goes_on_counting_documents():
    model = ww.TauSS3.from_bytes(taught("a a").to_bytes())
    model.learn_one("a a b", "x")
    assert model.to_bytes() == taught("a a", "a a b").to_bytes()


# --- unlearning -----------------------------------------------------------------------------------


def test_unlearning_takes_a_document_back_once():
    model = taught("so so so good", "so good good")
    model.unlearn_one("so so so good", "x")
    assert model.to_bytes() == taught("so good good").to_bytes()


def test_extensions_may_together_be_in_more_documents_than_what_they_extend():
    model = taught("a b. a c. a d", "a b", "e")
    assert ww.TauSS3.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()
    model.unlearn_one("a b", "x")
    assert model.to_bytes() == taught("a b. a c. a d", "e").to_bytes()


CANNOT_HAVE_BEEN_LEARNT = {
    "of no known word": (["a b", "c"], "d"),
    "of an n-gram more": (["a b", "b. a"], "b a"),
    "whose words go on in n-grams that would be left": (["a b", "c"], "a"),
    "whose words end n-grams that would be left": (["a b", "c"], "b"),
    "that lacks what every document has": (["a b", "a c"], "b"),
    "that is not the only one left": (["a. b"], "a"),
    "without words where every document has the same": (["a", "a b"], "..."),
}


@pytest.mark.parametrize(
    ("documents", "refused"), CANNOT_HAVE_BEEN_LEARNT.values(), ids=CANNOT_HAVE_BEEN_LEARNT
)
def test_unlearning_a_document_that_was_not_learnt_is_refused(documents, refused):
    model = taught(*documents)
    before = model.to_bytes()
    with pytest.raises(ww.errors.UnlearnError):
        model.unlearn_one(refused, "x")
    assert model.to_bytes() == before


@given(corpus=corpora(texts(4), max_labels=1), text=texts(4), max_ngram=st.integers(1, 3))
def test_unlearning_leaves_a_valid_model(corpus, text, max_ngram):
    arguments = {"max_ngram": max_ngram, "counting": "documents"}
    model, oracle = ww.TauSS3.paper(**arguments), Reference(**arguments)
    for document, label in corpus:
        model.learn_one(document, label)
        oracle.learn(document, label)
    try:
        model.unlearn_one(text, corpus[0][1])
    except ww.errors.UnlearnError:
        return
    oracle.unlearn(text, corpus[0][1])  # what the oracle refuses, the model must refuse
    assert model.counts() == oracle.counts()
    assert ww.TauSS3.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_the_reference_refuses_to_unlearn_unknown_documents():
    oracle = Reference(counting="documents")
    oracle.learn("a a", "x")
    oracle.learn("a b", "x")
    oracle.unlearn("a. a a", "x")
    with pytest.raises(CannotUnlearnError):
        oracle.unlearn("a", "x")


# --- files ----------------------------------------------------------------------------------------


def damaged(model, change):
    with pytest.raises(ww.errors.ModelFormatError, match="corrupt") as caught:
        ww.TauSS3.from_bytes(with_parts(model.to_bytes(), change))
    return str(caught.value)


def test_a_file_without_the_parameter_counted_occurrences():
    def change(manifest, _):
        del manifest["parameters"]["counting"]

    model = taught("so so", counting="occurrences")
    again = ww.TauSS3.from_bytes(with_parts(model.to_bytes(), change))
    assert again.parameters["counting"] == "occurrences"
    assert again.to_bytes() == model.to_bytes()


def test_a_file_says_how_it_was_counted():
    manifest, _ = parts(taught("so so").to_bytes())
    assert manifest["parameters"]["counting"] == "documents"


def test_an_ngram_in_more_documents_than_its_words_is_refused():
    def change(_, arrays):
        arrays["ngrams2.counts"][0] = 3
        arrays["maxima"][1] = 3

    message = damaged(taught("a b", "a b", "c", "c"), change)
    assert "more frequent than their words" in message


def test_a_word_in_more_documents_than_there_are_is_refused():
    def change(manifest, arrays):
        arrays["ngrams1.counts"][0] = arrays["maxima"][0] = manifest["labels"][0]["words"] = 3

    assert "more documents" in damaged(taught("a", "a"), change)


def test_document_counts_are_refused_as_occurrences():
    def change(manifest, _):
        manifest["parameters"]["counting"] = "occurrences"

    assert "more frequent than their words" in damaged(taught("a b. a c"), change)
