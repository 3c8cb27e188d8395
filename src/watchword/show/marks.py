"""Texts with marks as HTML, divided into parts so that browsers can lay out very long texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from watchword.show.markup import kept

# Browsers can skip the layout of parts that are out of sight; ten million characters in one
# element take minutes. A part ends at a line end if possible, else at a space, else anywhere.
PART = 8_000
_LINE_END, _BLANK, _ANYWHERE = re.compile("\n"), re.compile(r"\s"), re.compile("(?s:.)")
_ENDS = ((PART, 2 * PART, _LINE_END), (2 * PART, 4 * PART, _BLANK), (4 * PART, None, _ANYWHERE))

_PART_STYLE = "content-visibility:auto;contain-intrinsic-height:auto 90em;unicode-bidi:plaintext"
PARTS = {"class": '<div class="ww-part">', "inline": f'<div style="{_PART_STYLE}">'}


class TaggedRange(NamedTuple):
    """A range of text between two tags; `whole` if it must not be divided."""

    start: int
    end: int
    opening: str
    closing: str
    whole: bool = False


def marked(text: str, marks: Iterable[TaggedRange], *, styles: str = "class") -> str:
    """Return the markup of a text with marks; later marks may be inside earlier ones.

    Long texts are divided into parts; marks across a boundary are closed and opened again.

    >>> marked("to & fro", [TaggedRange(0, 8, "<i>", "</i>"), TaggedRange(3, 4, "<b>", "</b>")])
    '<i>to <b>&amp;</b> fro</i>'
    """
    if len(text) <= 4 * PART:
        return _TagWriter(text, "").write(marks)
    opening = PARTS[styles]
    return f"{opening}{_TagWriter(text, opening).write(marks)}</div>"


class _TagWriter:
    """The state of writing a text: the markup so far, open marks, and the start of the part."""

    def __init__(self, text: str, part: str) -> None:
        self._text, self._part = text, part
        self._pieces: list[str] = []
        self._open: list[TaggedRange] = []
        self._at = self._part_start = 0

    def write(self, marks: Iterable[TaggedRange]) -> str:
        for mark in marks:
            while self._open and self._open[-1].end <= mark.start:
                self._close()
            self._go_to(mark.start)
            if self._open and mark.end > self._open[-1].end:
                mark = mark._replace(end=self._open[-1].end)
            self._open.append(mark)
            self._pieces.append(mark.opening)
        while self._open:
            self._close()
        self._go_to(len(self._text))
        return "".join(self._pieces)

    def _close(self) -> None:
        self._go_to(self._open[-1].end)
        self._pieces.append(self._open.pop().closing)

    def _go_to(self, end: int) -> None:
        if self._part:
            self._divide(end)
        # Never moves back: whatever the marks, every character is written once.
        if end > self._at:
            self._pieces.append(kept(self._text[self._at : end]))
            self._at = end

    def _divide(self, end: int) -> None:
        """Write the parts of the text that end before `end`."""
        while end - self._part_start > PART and not (self._open and self._open[-1].whole):
            cut = self._next_cut(min(end, len(self._text) - 1))
            if cut is None:
                return
            self._pieces.append(kept(self._text[self._at : cut]))
            self._at = cut
            self._begin_part()

    def _next_cut(self, end: int) -> int | None:
        """Return the end of the current part if it is before `end`, else None."""
        for nearest, farthest, pattern in _ENDS:
            begin = max(self._at, self._part_start + nearest)
            stop = end if farthest is None else min(end, self._part_start + farthest)
            found = pattern.search(self._text, begin, stop) if begin < stop else None
            if found:
                return found.end()
        return None

    def _begin_part(self) -> None:
        self._part_start = self._at
        self._pieces += (mark.closing for mark in reversed(self._open))
        self._pieces += ("</div>", self._part)
        self._pieces += (mark.opening for mark in self._open)
