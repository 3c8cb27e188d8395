"""PySS3's way of reading text: the core against its patterns in plain Python."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from pyss3_reference import clean_terms, read_terms
from reference import Reference
from strategies import any_texts, corpora, examples, pyss3_texts, texts, unicode_texts

ALL_TEXTS = st.one_of(pyss3_texts(), pyss3_texts(), unicode_texts())
PARAGRAPHS = st.sampled_from(["lines", "blank_lines"])


def learnt_counts(text, max_ngram=3):
    model = ww.TauSS3.pyss3(max_ngram=max_ngram)
    model.learn_one(text, "x")
    return {ngram: count["x"] for ngram, count in model.counts().items()}


def ngrams_of(terms, max_ngram=3):
    """Return how often each n-gram occurs between breaks."""
    counts, run = {}, []
    for term in terms:
        run = [] if term.word is None else [*run, term.word]
        for begin in range(max(0, len(run) - max_ngram), len(run)):
            ngram = " ".join(run[begin:])
            counts[ngram] = counts.get(ngram, 0) + 1
    return counts


@examples(4)
@given(text=ALL_TEXTS)
def test_ngrams_learnt(text):
    assert learnt_counts(text) == ngrams_of(clean_terms(text))


@examples(4)
@given(text=ALL_TEXTS, paragraphs=PARAGRAPHS)
def test_terms_read(text, paragraphs):
    found = ww.model.read_terms(text, paragraphs=paragraphs, tokenization="pyss3")
    assert found == read_terms(text, paragraphs)


@given(text=pyss3_texts())
def test_other_characters_do_not_change_how_ascii_is_read(text):
    ascii_only = re.sub("[^\0-\x7f]", "", text)
    alone = ww.model.read_terms(ascii_only, tokenization="pyss3")
    beside = ww.model.read_terms(ascii_only + "\nж", tokenization="pyss3")
    assert beside == [*alone, [[(len(ascii_only) + 1, len(ascii_only) + 2, "ж")]]]


@given(text=st.one_of(pyss3_texts(), texts()))
def test_spans_lie_in_the_text_in_order(text):
    end = 0
    for paragraph in ww.model.read_terms(text, tokenization="pyss3"):
        for sentence in paragraph:
            for term in sentence:
                assert end <= term.start <= term.end <= len(text)
                end = term.end


@given(
    corpus=corpora(st.one_of(any_texts(), pyss3_texts())),
    text=st.one_of(texts(), pyss3_texts()),
    period=st.sampled_from([None, 1, 3, 10]),
    floor=st.integers(0, 3),
    shortest=st.integers(1, 3),
    max_ngram=st.integers(1, 3),
    counting=st.sampled_from(["occurrences", "occurrences", "documents"]),
)
def test_joined_documents(corpus, text, period, floor, shortest, max_ngram, counting):
    parameters = ww.TauSS3.pyss3(max_ngram=max_ngram).parameters | {
        "prune_period": period,
        "prune_floor": floor,
        "prune_shortest": shortest,
        "counting": counting,
    }
    model = ww.TauSS3(**parameters)
    del parameters["tokenizer"]
    oracle = Reference(**parameters)
    model.learn_joined([text for text, _ in corpus], [label for _, label in corpus])
    oracle.learn_joined(corpus)
    for _ in range(2):  # learning goes on after pruning, with what is left of the maxima
        assert model.counts() == oracle.counts()
        assert model.statistics.documents == dict(oracle.documents)
        expected = pytest.approx(oracle.confidence(text), rel=1e-12, abs=1e-12)
        assert model.confidence_one(text) == expected
        model = ww.TauSS3.from_bytes(model.to_bytes())
        assert model.confidence_one(text) == expected
        for document, label in corpus[:2]:
            model.learn_one(document, label)
            oracle.learn(document, label)
