"""Painted texts in HTML whose label and level can be switched by style sheet alone.

Blocks share rules: an n-gram that occurs a thousand times has one CSS rule with its values and its
description, and every occurrence is `<mark class="n7">`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from watchword._checks import Label, as_choice
from watchword.explain.blocks import (
    LEVEL_NAMES,
    LEVELS,
    MOST_BLOCKS,
    SHARE_DIGITS,
    Bar,
    Head,
    PaintedSpan,
    PaintLevel,
    PlainData,
    Rules,
    StyleRule,
    as_value,
    by_score,
    column_of,
    score_bars,
    shown_columns,
    telling,
)
from watchword.explain.markup import css_string, escaped, kept
from watchword.explain.palette import label_class, label_rgb, short
from watchword.model.explanation import Explanation

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


MOST_STOPS = 200  # n-grams of a text in the tab order

ALL = "a"  # stands for the index of a label in names of variables: all labels

_LETTERS: dict[str, str] = {"paragraph": "p", "sentence": "s", "ngram": "n"}
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Painter:
    """The markup of painted texts in a page, and the style sheet that paints them.

    All texts of one painter share their scale (the strongest block has the strongest colour) and
    the choice of label and level. Put their markup and that of `controls` into one element with the
    class `name`, and pass `css()`, called after the last text, to `document`. `alert` is the label
    that has the warm colour; with `all_labels`, blocks at first have the colours of the labels that
    they support.

    At each level of a text the `most` strongest blocks are marked, and the `stops` strongest
    n-grams are in the tab order.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> explanation = model.explain("A match!")
    >>> painter = Painter(explanation.labels, explanation.value, explanation.label, stops=0)
    >>> print(painter.paint(explanation))
    <div class="ww-text" lang=""><span class="p p0"><span class="s s1"><mark class="n2">A</mark> \
<mark class="n3">match</mark>!</span></span></div>
    """

    def __init__(
        self,
        labels: Sequence[Label],
        scores: Sequence[float],
        label: Label,
        *,
        level: PaintLevel = "ngram",
        name: str = "ww",
        most: int = MOST_BLOCKS,
        stops: int = MOST_STOPS,
        alert: Label | None = None,
        all_labels: bool = False,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"name must be lower-case words joined by hyphens, as 'post-7', got {name!r}"
            )
        self.labels, self.scores = list(labels), list(scores)
        self.level, self.name = as_choice("level", level, LEVELS), name
        self.column = column_of(self.labels, label)
        self.columns = shown_columns(self.scores, self.column)
        self.alert = None if alert is None else column_of(self.labels, alert)
        self.all_labels = all_labels
        self.rules = Rules()
        self.unmarked: Counter[str] = Counter()
        self._most, self._stops = most, stops

    def paint(self, explanation: Explanation | PlainData) -> str:
        """Return the markup of a text with its blocks marked; call it once for each text."""
        head = Head(explanation)
        if head.labels != self.labels:
            raise ValueError(f"explanation must have the labels {self.labels}, got {head.labels}")
        places = self.rules.add(explanation)
        before = {number for number, rule in enumerate(self.rules.all) if rule.described}
        painted = marked(head.text, self._marks(places))
        descriptions = "".join(
            f'<p id="{self.name}-n{number}">{escaped(self._telling(rule))}</p>'
            for number, rule in enumerate(self.rules.all)
            if rule.described and number not in before
        )
        hidden = f"<div hidden>{descriptions}</div>" if descriptions else ""
        return f'<div class="ww-text" lang="">{painted}</div>{hidden}'

    def controls(self) -> str:
        """Return radio buttons for label and level; labels have their scores."""
        ordered, checked = by_score(self.columns, self.scores), " checked" * self.all_labels
        bars = score_bars([self.scores[at] for at in ordered])
        choices = "".join(map(self._label_choice, ordered, bars))
        rest = len(self.labels) - len(self.columns)
        more = f'<span class="quiet">and {rest:,} more with lower scores</span>' if rest else ""
        levels = "".join(
            f'<label><input type="radio" name="{self.name}-level" id="{self.name}-{level}"'
            f"{' checked' * (level == self.level)}> {LEVEL_NAMES[level]}</label>"
            for level in reversed(LEVELS)
        )
        return (
            f'<div class="ww-controls"><fieldset class="ww-labels"><legend>Label and score</legend>'
            f'<label><input type="radio" name="{self.name}-label" id="{self.name}-l{ALL}"{checked}>'
            f" all labels</label>{choices}{more}</fieldset>"
            f"<fieldset><legend>Level</legend>{levels}</fieldset></div>"
        )

    def css(self) -> str:
        """Return the style sheet for the texts painted so far."""
        scope = f".{self.name}"
        lines = [scope + self._level_rule(self.level)]
        lines += self._painted_for(scope, ALL if self.all_labels else self.column)
        for level in LEVELS:
            chosen = f"{scope}:has(#{self.name}-{level}:checked)"
            lines.append(chosen + self._level_rule(level))
        choices: list[int | str] = [*self.columns, ALL]
        for column in choices:
            chosen = f"{scope}:has(#{self.name}-l{column}:checked)"
            lines += self._painted_for(chosen, column)
        lines += (
            f"{scope} .{_LETTERS[rule.kind]}{number}{{{self._declarations(rule)}}}"
            for number, rule in enumerate(self.rules.all)
            if rule.marked
        )
        return "\n".join(lines) + "\n"

    def _marks(self, places: list[PaintedSpan]) -> Iterator[TaggedRange]:
        rules = self.rules
        kept = rules.strongest(places, self._most)
        self.unmarked += rules.count_unmarked(places, kept)
        ngrams = [place for place in kept if rules.all[place[2]].kind == "ngram"]
        stops = set(rules.strongest(ngrams, self._stops))
        for start, end, number in kept:
            rule = rules.all[number]
            rule.marked = True
            if rule.kind != "ngram":
                letter = _LETTERS[rule.kind]
                yield TaggedRange(
                    start, end, f'<span class="{letter} {letter}{number}">', "</span>"
                )
                continue
            stop = rule.strength > 0 and (start, end, number) in stops
            rule.described = rule.described or stop
            focus = f' tabindex="0" aria-describedby="{self.name}-n{number}"' * stop
            opening = f'<mark class="n{number}"{focus}>'
            yield TaggedRange(start, end, opening, "</mark>", whole=True)

    def _declarations(self, rule: StyleRule) -> str:
        letter, shares = _LETTERS[rule.kind], self.rules.shares(rule)
        painted = (
            f"--{letter}{column}:{short(shares[column], SHARE_DIGITS)};"
            for column in self.columns
            if shares[column] > 0
        )
        speaks, own = self.rules.speaks_for(rule), ""
        if speaks is not None:
            share = short(shares[speaks], SHARE_DIGITS)
            own = f"--{letter}{ALL}:{share};--{letter}c:{label_rgb(speaks, self.alert)};"
        return f"{''.join(painted)}{own}--t:{css_string(self._telling(rule))}"

    def _telling(self, rule: StyleRule) -> str:
        return telling(rule.block, self.labels, self.columns)

    def _level_rule(self, chosen: str) -> str:
        settings = (
            f"--{level}:{int(level == chosen)};--on-{level}:{_display(level == chosen)}"
            for level in LEVELS
        )
        return f"{{{';'.join(settings)}}}"

    def _painted_for(self, scope: str, chosen: int | str) -> list[str]:
        """Return the rules that paint for a label, or for all."""
        shown = ";".join(f"--on-l{at}:{_display(at == chosen)}" for at in (*self.columns, ALL))
        rgb = f"--rgb:{label_rgb(chosen, self.alert)};" if isinstance(chosen, int) else ""
        selectors = {"paragraph": ".p", "sentence": ".s", "ngram": "mark"}
        return [
            f"{scope}{{{rgb}{shown}}}",
            *(
                f"{scope} {selector}{{--share:var(--{_LETTERS[level]}{chosen},0)"
                f"{f';--rgb:var(--{_LETTERS[level]}c)' * (chosen == ALL)}}}"
                for level, selector in selectors.items()
            ),
        ]

    def _label_choice(self, column: int, bar: Bar) -> str:
        score = self.scores[column]
        start = f' x="{short(100 * bar.start, 1)}"' * (bar.start > 0)
        width = short(100 * bar.width, 1)
        below = ' class="ww-below"' * (score < 0)
        checked = " checked" * (column == self.column and not self.all_labels)
        return (
            f'<label><input type="radio" name="{self.name}-label" id="{self.name}-l{column}"'
            f'{checked}><svg class="{label_class(column, self.alert)}" viewBox="0 0 100 10" '
            f'preserveAspectRatio="none" aria-hidden="true"><rect class="ww-ground" width="100" '
            f'height="10"/><rect{below}{start} width="{width}" height="10"/></svg>'
            f'<bdi>{escaped(self.labels[column])}</bdi> <data value="{score!r}">{as_value(score)}'
            f"</data></label>"
        )


def _display(chosen: bool) -> str:
    return "block" if chosen else "none"
