"""Figures 1 to 4 of the paper: what models learn and read of its examples, and the drawings."""

import xml.etree.ElementTree as ET

import pytest

import watchword as ww
from hostile import HOSTILE_TEXT
from paper.figures import (
    DOCUMENT,
    FIGURES,
    FIRST_DOCUMENT,
    SENTENCE,
    SPORTS,
    TECHNOLOGY,
    automaton,
    draw_figures,
    example_model,
    learning_steps,
    ngrams_of,
    reading_steps,
)
from paper.hierarchy import hierarchy_svg
from paper.trees import Node, Tree

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture):
    return ["".join(one.itertext()) for one in ET.fromstring(picture).iter(f"{SVG}text")]


def test_words_alone_mistake_the_document_for_sports():
    explanation = example_model(1).explain(DOCUMENT)
    assert explanation.label == SPORTS
    assert all(" " not in one.ngram for one in ngrams_of(explanation))


def test_sequences_of_words_find_technology():
    explanation = example_model().explain(DOCUMENT)
    long = [one.ngram for one in ngrams_of(explanation) if " " in one.ngram]
    assert explanation.label == TECHNOLOGY
    assert long == ["machine learning", "video game", "self driving cars"]


def test_the_trees_and_cursors_are_those_of_the_caption():
    steps = learning_steps(FIRST_DOCUMENT)[1:]
    spelt = [
        (
            step.read,
            sorted(" ".join(ngram) for ngram in step.updated),
            {name: " ".join(node) for name, node in step.cursors.items()},
        )
        for step in steps
    ]
    assert spelt == [
        ("Mobile APIs,", ["apis", "mobile apis"], {"a": ""}),
        ("Mobile APIs, for", ["for"], {"a": "for", "b": ""}),
        (
            "Mobile APIs, for mobile",
            ["for mobile", "mobile"],
            {"a": "for mobile", "b": "mobile", "c": ""},
        ),
        (
            "Mobile APIs, for mobile developers",
            ["developers", "for mobile developers", "mobile developers"],
            {"b": "mobile developers", "c": "developers"},
        ),
    ]
    assert [len(step.counts) for step in steps] == [3, 4, 5, 8]
    assert steps[2].counts["mobile",] == 2


def test_the_last_tree_is_that_of_a_model():
    model = ww.TauSS3.paper()
    model.learn_one(FIRST_DOCUMENT, "any")
    last = learning_steps(FIRST_DOCUMENT)[-1]
    assert {" ".join(ngram): count for ngram, count in last.counts.items()} == {
        ngram: own["any"] for ngram, own in model.counts().items()
    }


def test_there_are_never_more_cursors_than_the_longest_ngram():
    steps = learning_steps("one two three four five six", max_ngram=2)
    assert max(len(step.cursors) for step in steps) == 2


def test_the_automaton_is_fed_three_words_and_two_are_recognised():
    first, second = reading_steps(example_model(), SENTENCE, TECHNOLOGY)[:2]
    assert [ngram for ngram, _ in first.states] == [("machine",), ("machine", "learning")]
    assert first.fed == 3
    assert first.chosen == max(first.states, key=lambda state: state[1])[0]
    assert (second.begin, second.chosen) == (2, ("is",))


def test_states_of_the_automaton_have_the_counts_and_values_of_the_model():
    model = example_model()
    for ngram, (count, value) in automaton(model, TECHNOLOGY, SENTENCE).items():
        own = model.value(ngram)[TECHNOLOGY]
        assert (count, value) == (own.count, own.cv)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_well_formed_and_described(name):
    root = ET.fromstring(draw_figures()[name])
    assert root.find(f"{SVG}title").text
    assert root.find(f"{SVG}desc").text


def test_figures_1_and_2_show_what_was_recognised():
    pictures = draw_figures()
    assert "game" in texts(pictures["figure-1.svg"])
    assert "→ sports" in texts(pictures["figure-1.svg"])
    assert "self → driving → cars" in texts(pictures["figure-2.svg"])
    assert "→ technology" in texts(pictures["figure-2.svg"])


def test_figure_3_has_a_node_for_every_count_of_four_trees():
    shown = texts(draw_figures()["figure-3.svg"])
    assert sum(text.isdigit() for text in shown) == 3 + 4 + 5 + 8
    assert [text for text in shown if text.startswith("◂")].count("◂a") == 3


def test_hostile_words_and_labels_stay_text_in_drawings():
    label = HOSTILE_TEXT.replace("\ud800", "")
    model = ww.TauSS3()
    model.learn_many([f"alone {HOSTILE_TEXT}", "garden"], [label, "<i>other</i>"])
    picture = hierarchy_svg(model.explain(f"Alone. {HOSTILE_TEXT}"), title=HOSTILE_TEXT)
    tree = "".join(
        Tree({("a",): Node(HOSTILE_TEXT, HOSTILE_TEXT)}, cursors={"<b>": ("a",)}).draw(0, 0)
    )
    for drawn in (picture, f"<svg>{tree}</svg>"):
        tags = {one.tag.removeprefix(SVG) for one in ET.fromstring(drawn).iter()}
        assert not tags & {"script", "i", "b"}
