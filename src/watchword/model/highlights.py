"""Highlights: the passages of a text that support a label, with some context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from watchword._checks import Label, as_choice, as_number, as_whole
from watchword._display import ToDict
from watchword.model.explanation import Block, Explanation

HighlightLevel = Literal["paragraph", "sentence", "ngram"]
HighlightOrder = Literal["value", "text"]


@dataclass(frozen=True)
class Highlight(ToDict):
    """A passage of a text, text[start:end], and what it contributes to the label's value."""

    text: str
    start: int
    end: int
    value: float


def highlights_of(
    explanation: Explanation,
    label: Label | None = None,
    *,
    level: HighlightLevel = "ngram",
    context: int = 3,
    least: float = 0.0,
    order: HighlightOrder = "value",
) -> list[Highlight]:
    """Return the passages of an explained text that support a label; see `TauSS3.highlights`."""
    as_choice("level", level, get_args(HighlightLevel))
    as_choice("order", order, get_args(HighlightOrder))
    around = as_whole("context", context, 0)
    floor = as_number("least", least)
    column = explanation.labels.index(explanation.label if label is None else label)
    blocks = list(_at_level(explanation.blocks, level))
    values = [
        (one.value if one.contribution is None else one.contribution)[column] for one in blocks
    ]
    spans: list[tuple[int, int]] = []  # first and last block of each passage
    reach = around if level == "ngram" else 0
    for index, value in enumerate(values):
        if value <= floor:
            continue
        first, last = max(index - reach, 0), min(index + reach, len(blocks) - 1)
        if level == "ngram" and spans and first <= spans[-1][1]:
            spans[-1] = spans[-1][0], last
        else:
            spans.append((first, last))
    found = []
    for first, last in spans:
        start, end = blocks[first].start, blocks[last].end
        found.append(
            Highlight(explanation.text[start:end], start, end, sum(values[first : last + 1]))
        )
    if order == "value":
        found.sort(key=lambda one: -one.value)
    return found


def _at_level(blocks: tuple[Block, ...], level: HighlightLevel) -> Iterator[Block]:
    for block in blocks:
        if block.kind == level:
            yield block
        else:
            yield from _at_level(block.blocks, level)
