"""Painting explanations in the terminal."""

import io
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import watchword as ww
from painted import blocks_at, shares_at, with_shares
from untyped import untyped
from watchword._display import visible
from watchword.explain.blocks import LEVELS
from watchword.explain.palette import label_ground
from watchword.explain.text_view import largest_contributions, to_terminal

MODEL = ww.TauSS3(prior=70)
MODEL.learn_many(
    ["machine learning " * 3, "learning to rest", "the machine rests", "a match"],
    ["tech", "calm", "calm", "sports"],
)

HOSTILE = "red \x1b[31malert\x07 \x9b2J back\b \u202emachine learning\u2066 \ud800 \x00\x7f\r\nend"


def printed(text, **options):
    output = io.StringIO()
    settings: dict[str, Any] = {"force_terminal": True, "color_system": "truecolor", "width": 200}
    Console(file=output, **settings | options).print(text)
    return output.getvalue()


def spans(painted):
    return {painted.plain[span.start : span.end]: span.style for span in painted.spans}


@pytest.mark.parametrize("text", ["Machine  learning\n\n\ta match!", "", "  ", "Zoë’s ½ 中文 🎈"])
def test_text_is_kept_character_for_character(text):
    assert to_terminal(MODEL.explain(text)).plain == text


@given(st.text())
def test_any_text_keeps_its_offsets(text):
    shown = to_terminal(MODEL.explain(text)).plain
    assert len(shown) == len(text)
    assert all(a == b or visible(a) == b for a, b in zip(text, shown, strict=True))


def test_with_all_labels_blocks_have_the_colours_of_the_labels_they_speak_for():
    explanation = MODEL.explain("machine learning. a match")
    painted = to_terminal(explanation, all_labels=True, alert="tech")
    blocks = blocks_at(with_shares(explanation), "ngram")
    grounds = [
        label_ground(block["share"][block["speaks"]], block["speaks"], alert)
        for block in blocks
        if block["speaks"] is not None
        for alert in [explanation.labels.index("tech")]
    ]
    assert len(set(grounds)) > 1
    assert [untyped(span.style).bgcolor.name for span in painted.spans] == grounds


def test_an_ngram_is_one_block():
    painted = to_terminal(MODEL.explain("So machine learning, yes"), "tech")
    assert list(spans(painted)) == ["machine learning"]


@pytest.mark.parametrize("summary", ["sum", "max", "mean"])
@pytest.mark.parametrize("level", LEVELS)
def test_blocks_have_the_colours_of_a_notebook(level, summary):
    explanation = MODEL.replace(summary=summary).explain("machine learning. rest, match\nto learn")
    shares = shares_at(with_shares(explanation), level)
    for column, label in enumerate(explanation.labels):
        painted = to_terminal(explanation, label, level=level)
        grounds = [label_ground(own[column], column) for own in shares if own[column] >= 0.05]
        assert [untyped(span.style).bgcolor.name for span in painted.spans] == grounds


@pytest.mark.parametrize(
    ("level", "blocks"),
    [
        ("ngram", ["machine learning", "learning"]),
        ("sentence", ["Machine learning.", "Learning!"]),
        ("paragraph", ["Machine learning. A match.", "Learning!"]),
    ],
)
def test_each_level_can_be_painted(level, blocks):
    explanation = MODEL.explain("Machine learning. A match.\nLearning!")
    painted = to_terminal(explanation, "tech", level=level)
    assert [block.casefold() for block in spans(painted)] == [block.casefold() for block in blocks]


def test_an_unknown_level_is_named():
    with pytest.raises(ValueError, match="level must be one of"):
        to_terminal(MODEL.explain("a match"), level=untyped("word"))


def test_blocks_without_contribution_are_not_painted():
    assert spans(to_terminal(MODEL.explain("unheard, a match"), "tech")) == {}


def test_by_default_the_predicted_label_is_painted():
    explanation = MODEL.explain("machine learning and a match")
    assert to_terminal(explanation) == to_terminal(explanation, explanation.label)


def test_plain_data_is_accepted():
    explanation = MODEL.explain("machine learning")
    assert to_terminal(explanation.to_dict()).spans == to_terminal(explanation).spans


def test_an_unknown_label_is_named():
    with pytest.raises(
        ww.errors.UnknownLabelError, match="unknown label 'food'; the explanation has"
    ):
        to_terminal(MODEL.explain("soup"), "food")


def test_square_brackets_are_text_not_markup():
    assert "[red]a match[/red]" in printed(
        to_terminal(MODEL.explain("[red]a match[/red]")), color_system=None
    )


def test_hostile_characters_never_reach_the_terminal():
    shown = printed(to_terminal(MODEL.explain(HOSTILE)), color_system=None)
    assert set(shown) & {chr(code) for code in [*range(0x20), *range(0x7F, 0xA0)]} == {"\n"}
    assert not set(shown) & {"\u202e", "\u2066", "\ud800"}


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2069, 0xDFFF])
def test_each_hostile_character_becomes_one_visible_character(code):
    shown = visible(chr(code))
    assert len(shown) == 1
    assert shown.isprintable() or shown in "\n\t"


def test_painting_continues_after_hostile_characters():
    painted = to_terminal(MODEL.explain(HOSTILE), "tech")
    assert list(spans(painted)) == ["machine learning"]


def test_colours_only_on_a_terminal():
    painted = to_terminal(MODEL.explain("machine learning"))
    assert "\x1b[" in printed(painted)
    assert printed(painted, force_terminal=False, color_system=None) == "machine learning\n"


def test_without_colour_strong_ngrams_are_bold():
    painted = to_terminal(MODEL.explain("machine learning"))
    assert printed(painted, no_color=True).startswith("\x1b[1m")


def test_largest_contributions_are_listed_once_and_in_order():
    listed = largest_contributions(MODEL.explain("a match, match, machine learning"), "sports")
    assert [(one.ngram, one.times) for one in listed] == [("match", 2), ("a", 1)]
    assert len(largest_contributions(MODEL.explain("a match"), "sports", 1)) == 1


def test_an_ngram_that_adds_nothing_to_the_score_is_no_contribution():
    model = MODEL.replace(summary="max")
    listed = largest_contributions(model.explain("machine learning, machine"), "tech")
    assert [(one.times, one.total) for one in listed] == [(1, listed[0].value)]


def test_missing_rich_says_how_to_install_it():
    program = """
import sys
sys.modules["rich"] = None
import watchword, watchword.explain.text_view
model = watchword.TauSS3()
model.learn_one("a match", "sports")
try:
    watchword.explain.text_view.to_terminal(model.explain("a match"))
except watchword.errors.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install 'watchword[cli]'" in done.stdout
