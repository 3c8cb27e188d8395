"""Passages of a text that support a label."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww

WORDS = ["cannot", "sleep", "tired", "lovely", "garden", "x", "y", "."]
TEXT = "One two three. I cannot sleep at night, four five six seven eight nine tired now.\n\nTen."


def taught(**parameters):
    model = ww.TauSS3(**parameters)
    model.learn_many(["cannot sleep", "tired", "lovely garden"], ["at risk", "at risk", "control"])
    return model


def test_a_passage_is_an_n_gram_with_its_context():
    found = taught().highlights(TEXT, "at risk", context=1, order="text")
    assert [one.text for one in found] == ["I cannot sleep at", "nine tired now"]
    assert all(TEXT[one.start : one.end] == one.text for one in found)


def test_overlapping_passages_are_joined():
    found = taught().highlights(TEXT, "at risk", context=5)
    assert [one.text for one in found] == [TEXT[: -len(".")].strip()]


def test_the_strongest_passage_comes_first():
    values = [one.value for one in taught().highlights(TEXT, "at risk", context=0)]
    assert len(values) > 1
    assert values == sorted(values, reverse=True)


def test_passages_may_be_sentences_or_paragraphs():
    model = taught()
    sentences = model.highlights(TEXT, "at risk", level="sentence")
    assert [one.text for one in sentences] == [TEXT[15:81]]
    paragraphs = model.highlights(TEXT, "at risk", level="paragraph")
    assert len(paragraphs) == 1
    assert paragraphs[0].text.startswith("One two")


def test_passages_below_the_least_value_are_left_out():
    assert taught().highlights(TEXT, "at risk", least=100) == []


def test_a_text_without_evidence_has_no_highlights():
    assert taught().highlights("", "at risk") == []
    assert taught().highlights("something else", "control") == []


def test_the_label_is_the_predicted_one_by_default():
    model = taught()
    assert model.highlights(TEXT) == model.highlights(TEXT, "at risk")


@pytest.mark.parametrize("refined", [False, True])
@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_without_context_the_values_add_up_to_the_positive_contributions(refined, words):
    model = taught()
    if refined:
        texts = ["cannot sleep", "tired", "lovely garden"]
        model.refine(texts, ["at risk", "at risk", "control"])
    text = " ".join(words)
    explained = model.explain(text)
    column = explained.labels.index("at risk")
    sentences = [one for paragraph in explained.blocks for one in paragraph.blocks]
    blocks = [ngram.contribution[column] for one in sentences for ngram in one.blocks]
    total = sum(one.value for one in model.highlights(text, "at risk", context=0))
    assert total == pytest.approx(sum(one for one in blocks if one > 0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": "x"}, "unknown label 'x'"),
        ({"level": "word"}, "level must be"),
        ({"order": "up"}, "order must be"),
        ({"context": -1}, "context must"),
        ({"least": "much"}, "least must be a number"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises((ValueError, TypeError, ww.errors.UnknownLabelError), match=message):
        taught().highlights(TEXT, **arguments)
