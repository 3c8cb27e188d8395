"""The blocks of an explanation, for whoever draws them: which, how strong, and what to tell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from watchword._checks import Label
from watchword.errors import UnknownLabelError
from watchword.model.explanation import Block, Explanation

PaintLevel = Literal["paragraph", "sentence", "ngram"]
Plain = Mapping[str, Any]

LEVELS: tuple[PaintLevel, ...] = ("paragraph", "sentence", "ngram")
LEVEL_NAMES = {"paragraph": "paragraphs", "sentence": "sentences", "ngram": "n-grams"}

MOST_BLOCKS = 50_000  # of each level: with more, browsers become slow
MOST_LABELS = 20  # that are told about, those of highest score


def blocks_of(explanation: Explanation | Plain) -> Iterator[Plain]:
    """All blocks as plain data, each before those inside it."""
    if isinstance(explanation, Explanation):
        # One after the other: all blocks of a long text as plain data at once are large.
        for paragraph in explanation.blocks:
            yield from _plain_blocks(paragraph)
    else:
        for plain in explanation["blocks"]:
            yield from _with_inner(plain)


def _plain_blocks(block: Block) -> Iterator[Plain]:
    yield replace(block, blocks=()).to_dict() if block.blocks else block.to_dict()
    for inner in block.blocks:
        yield from _plain_blocks(inner)


def _with_inner(block: Plain) -> Iterator[Plain]:
    yield block
    for inner in block.get("blocks", ()):
        yield from _with_inner(inner)


def worth(block: Plain) -> list[float]:
    """What is painted: what reaches the score or, where nobody can tell, the block's own value."""
    value: list[float] = block["value"]
    part: list[float] | None = block["contribution"]
    return value if part is None else part


def column_of(labels: Sequence[Label], label: Label) -> int:
    """The place of a label among these."""
    if label not in labels:
        listed = ", ".join(map(repr, labels))
        raise UnknownLabelError(f"unknown label {label!r}; the explanation has {listed}")
    return list(labels).index(label)


def shown_columns(scores: Sequence[float], column: int) -> list[int]:
    """The labels to tell about, in order: those of highest score, and the one in this column."""
    best = sorted(range(len(scores)), key=lambda at: (at != column, -scores[at], at))
    return sorted(best[:MOST_LABELS])


def by_score(columns: Sequence[int], scores: Sequence[float]) -> list[int]:
    """These labels, that of highest score first."""
    return sorted(columns, key=lambda at: (-scores[at], at))


class Quota:
    """Lets the strongest of many pass, in their order; of equals the first."""

    def __init__(self, strengths: Sequence[float], most: int) -> None:
        self.bound = -math.inf  # what is stronger passes, and so many of what is equal
        self._equals = 0
        if len(strengths) > most:
            strongest = sorted(strengths, reverse=True)[:most]
            self.bound = strongest[-1] if strongest else math.inf
            self._equals = strongest.count(self.bound)

    def takes(self, strength: float) -> bool:
        """Whether this one passes."""
        if strength == self.bound and self._equals:
            self._equals -= 1
            return True
        return strength > self.bound


def as_value(number: float) -> str:
    """A value for the eye.

    >>> as_value(1.73349), as_value(0.00004), as_value(0)
    ('1.733', '4e-05', '0')
    """
    if number == 0:
        return "0"
    return f"{number:.3f}" if abs(number) >= 0.001 else f"{number:.1g}"


def telling(block: Plain, labels: Sequence[Label], columns: Sequence[int]) -> str:
    """What there is to tell about a block, a line for each label that has anything to say."""
    is_ngram = block["kind"] == "ngram"
    value = block["value"]
    known = [at for at in columns if (block["count"] if is_ngram else value)[at]]
    lines = [block["ngram"] if is_ngram else f"this {block['kind']}"]
    lines += (
        f"{labels[at]} {_numbers(block, at)}" for at in sorted(known, key=lambda at: -value[at])
    )
    silent = [str(labels[at]) for at in columns if at not in known]
    if silent:
        named = ", ".join(silent[:5]) + (f" and {len(silent) - 5} more" if silent[5:] else "")
        lines.append(f"{named} 0{' (never seen there)' if is_ngram else ''}")
    return "\n".join(lines)


def _numbers(block: Plain, at: int) -> str:
    value, part = block["value"][at], block["contribution"]
    numbers = as_value(value)
    if part is not None and part[at] != value:
        numbers += f", of which {as_value(part[at])} reaches the score"
    if block["kind"] == "ngram":
        made_of = (f"{name} {as_value(block[name][at])}" for name in ("lv", "sg", "sn"))
        numbers += f" (count {block['count'][at]:,}; {', '.join(made_of)})"
    return numbers
