"""Explanations of texts as HTML and in the terminal, drawn from `Explanation.to_dict()` alone.

Drawn from `Explanation.to_dict()` alone. A snippet has inline styles, so that it works wherever
HTML is shown; the style sheet of a page lets readers choose label and level without a script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from watchword._checks import Label, as_choice, as_whole
from watchword._display import visible
from watchword.errors import MissingExtraError
from watchword.explain.blocks import (
    LEVEL_NAMES,
    LEVELS,
    MOST_BLOCKS,
    Head,
    PaintedSpan,
    PaintLevel,
    PlainData,
    Rules,
    Total,
    as_chance,
    as_value,
    by_score,
    heading,
    label_lines,
)
from watchword.explain.markup import document, escaped, name_html, table_html
from watchword.explain.painting import ALL, Painter, TaggedRange, marked
from watchword.explain.palette import (
    FAINTEST,
    FAINTEST_COLOUR,
    INK,
    label_colour,
    label_ground,
    paint_style,
)
from watchword.model.explanation import Explanation
from watchword.model.parameters import SUMMARY_NAMES

if TYPE_CHECKING:
    from rich.text import Text

MOST_IN_SNIPPET = 5_000  # blocks, each with its own style and title
MOST_IN_NOTEBOOK = 100_000  # characters

_ROWS = 10


def explanation_html(
    explanation: Explanation | PlainData,
    label: Label | None = None,
    *,
    level: PaintLevel = "ngram",
    title: str | None = None,
    most: int | None = None,
    alert: Label | None = None,
    all_labels: bool = False,
    page: bool = False,
    scale: Mapping[str, float] | None = None,
) -> str:
    """Draw an explanation, or its `to_dict()`, as a snippet or as a page.

    See `Explanation.to_html` and `Explanation.to_page`. Snippets of several texts can have one
    `scale`, made by `scale_of`.
    """
    as_choice("level", level, LEVELS)
    usual = MOST_BLOCKS if page else MOST_IN_SNIPPET
    limit = as_whole("most", usual if most is None else most, 0)
    head = Head(explanation, label, alert=alert, all_labels=all_labels)
    if page:
        return _page(explanation, head, level, title, limit)
    return _snippet(explanation, head, level, title, limit, scale=scale)


def notebook_html(explanation: Explanation | PlainData) -> str:
    """Draw an explanation for a notebook; a long text is cut, to keep the notebook small.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_one("a match", "sports")
    >>> "only the first 100,000" in notebook_html(model.explain("A match. " * 20_000))
    True
    """
    head = Head(explanation)
    return _snippet(explanation, head, "ngram", None, MOST_IN_SNIPPET, MOST_IN_NOTEBOOK)


def _meaning(head: Head) -> str:
    operators = list(head.summary.values())
    own = [name for name in operators if name not in SUMMARY_NAMES]
    if own:
        return (
            "Colour shows what each block adds to the score or, where that is undefined because "
            f"{own[0]} summarises, the block's value."
        )
    if head.bias is not None:
        return (
            "Colour shows what each block adds to the score: its words' share of every n-gram "
            "that contains them. The contributions and the bias of the label add up to the "
            "score. Blocks that lower the score are not coloured."
        )
    meaning = (
        "Colour shows what each block adds to the score; the contributions add up to the score."
    )
    if "mean" in operators:
        meaning += " With means, a block adds its value divided by the number of blocks."
    if "max" in operators:
        meaning += " With maxima, only the block of highest value adds to the score."
    return meaning


def _page(
    explanation: Explanation | PlainData,
    head: Head,
    level: PaintLevel,
    title: str | None,
    most: int,
) -> str:
    alert = None if head.alert is None else head.labels[head.alert]
    painter = Painter(
        head.labels,
        head.value,
        head.label,
        level=level,
        most=most,
        alert=alert,
        all_labels=head.all_labels,
    )
    painted = painter.paint(explanation)
    name = title if title is not None else "Explanation of a text"
    body = f"""<main>
<h1>{escaped(name)}</h1>
<div class="{painter.name}">
<p>{prediction_html(head)}</p>
{painter.controls()}
<p class="quiet">{escaped(_meaning(head))}
<span class="only-screen">Point at a block, or use the tab key, to see its numbers.</span>
{scale_html(painter)}</p>
{painted}
{strongest_tables(painter, head.bias)}
</div>
</main>"""
    return document(name, body, painter.css() + table_css(painter))


def prediction_html(head: Head) -> str:
    """Return the predicted label, of a refined model with its probability.

    Of a text without evidence, which is predicted to have the default label, it says so.
    """
    label = f"<bdi>{escaped(head.predicted)}</bdi>"
    if not head.has_evidence:
        return f"No evidence for any label; the default is {label}."
    chance = ""
    if head.probability is not None:
        chance = f" (probability {as_chance(head.probability[head.labels.index(head.predicted)])})"
    return f"Predicted: <strong>{label}</strong>{chance}"


def scale_html(painter: Painter) -> str:
    """Return what the strongest colour stands for, at the chosen level."""
    return "".join(_scale(painter, level) for level in LEVELS)


def _scale(painter: Painter, level: PaintLevel) -> str:
    highest = painter.rules.highest[level]
    note = f"The strongest colour stands for {as_value(highest)}." if highest else ""
    if painter.unmarked[level]:
        note += f" {_left_out(painter.unmarked[level], level)}"
    return f'<span class="on-{level}">{note}</span>'


def _left_out(many: int, level: str) -> str:
    return f"The {many:,} weakest {LEVEL_NAMES[level]} are not marked, but count in the score."


def table_css(painter: Painter) -> str:
    """Return the CSS that shows only the tables of the chosen label."""
    return "".join(
        f".{painter.name} .on-l{at}{{display:var(--on-l{at},none)}}\n"
        for at in (*painter.columns, ALL)
    )


def strongest_tables(painter: Painter, bias: Sequence[float] | None = None) -> str:
    """Return tables of the blocks that contribute most, for every label and level.

    `bias` is that of each label in a refined model.
    """
    tables = [
        (level, str(at), _table(painter, level, at, bias))
        for level in LEVELS
        for at in painter.columns
    ]
    tables += [(level, ALL, _table_of_all(painter, level)) for level in LEVELS]
    shown = "".join(
        f'<div class="on-{level}"><div class="on-l{at}">{table}</div></div>\n'
        for level, at, table in tables
    )
    return f"<h2>Largest contributions</h2>\n{shown}"


def _table_of_all(painter: Painter, level: PaintLevel) -> str:
    """Return a table of the blocks that contribute most to any label."""
    found = painter.rules.largest_of_all(level, painter.columns, _ROWS)
    if not found:
        return "<p>Nothing contributes to any label.</p>"
    parts = ("counted", "corrected") if found[0][1].rule is None else ()  # of a refined score
    cells = []
    for column, one in found:
        names = (name_html(one.words), name_html(painter.labels[column]))
        numbers = (_cell(one, name, column) for name in parts)
        cells.append((*names, one.times, one.total, *numbers))
    heads = [level.replace("ngram", "n-gram"), "for label", "times", "total", *parts]
    return table_html(f"{LEVEL_NAMES[level]} for all labels", heads, cells)


def _table(painter: Painter, level: PaintLevel, column: int, bias: Sequence[float] | None) -> str:
    rows = painter.rules.largest(level, column, _ROWS)
    label = f"<bdi>{escaped(painter.labels[column])}</bdi>"
    below = "" if bias is None else f'<p class="quiet">Bias: {as_value(bias[column])}</p>'
    if not rows:
        return f"<p>Nothing contributes to {label}.</p>{below}"
    numbers: tuple[str, ...] = ()
    if level == "ngram":
        refined = rows[0].rule is None
        numbers = ("counted", "corrected") if refined else ("value", "count", "lv", "sg", "sn")
    names = (level.replace("ngram", "n-gram"), "times", "total", *numbers)
    heads = ["count in the model" if name == "count" else name for name in names]
    cells = (
        (
            name_html(one.words),
            one.times,
            one.total,
            *(_cell(one, name, column) for name in numbers),
        )
        for one in rows
    )
    return table_html(f"{LEVEL_NAMES[level]} for {label}", heads, cells) + below


def _cell(one: Total, name: str, column: int) -> float:
    number: float = getattr(one, name) if one.rule is None else one.rule.block[name][column]
    return number


# Snippets


_SNIPPET_STYLE = (
    ".ww-snippet [tabindex]:focus::after{content:attr(title);display:block;white-space:pre-wrap;"
    "border:1px solid;padding:.2em .6em;margin:.2em 0;font-size:.85em}"
)


def _snippet(
    explanation: Explanation | PlainData,
    head: Head,
    level: PaintLevel,
    title: str | None,
    most: int,
    until: int | None = None,
    scale: Mapping[str, float] | None = None,
) -> str:
    rules = Rules(scale)
    places = rules.add(explanation, [level], until)
    kept = rules.strongest(places, most)
    painted = marked(head.text[:until], _inline_marks(kept, rules, head, level), styles="inline")
    notes = []
    if rules.highest[level]:
        notes.append(f"The strongest colour stands for {as_value(rules.highest[level])}.")
    if head.bias is not None:
        notes.append(f"The bias is {as_value(head.bias[head.column])}.")
    if unmarked := rules.count_unmarked(places, kept):
        notes.append(_left_out(unmarked[level], level))
    if until is not None and until < len(head.text):
        notes.append(
            f"Showing only the first {until:,} of {len(head.text):,} characters; "
            "to_page() shows all."
        )
    heading = f'<div style="font-weight:bold">{escaped(title)}</div>' if title is not None else ""
    return (
        f'<div class="ww-snippet" style="max-width:60em"><style>{_SNIPPET_STYLE}</style>{heading}'
        f'<div style="margin:.5em 0">{"".join(_legend(head))}</div>'
        f'<div class="ww-text" lang="" style="white-space:pre-wrap;overflow-wrap:anywhere;'
        f'unicode-bidi:plaintext;text-align:start;line-height:1.9">{painted}</div>'
        f'<div style="font-size:.85em;opacity:.8;margin:.5em 0">{escaped(_meaning(head))} '
        f"{' '.join(notes)}</div></div>"
    )


def _inline_marks(
    places: list[PaintedSpan], rules: Rules, head: Head, level: PaintLevel
) -> Iterator[TaggedRange]:
    names = list(map(escaped, head.labels))
    least = rules.highest[level] * FAINTEST_COLOUR
    openings: dict[int, str] = {}
    for start, end, number in places:
        if number not in openings:
            rule = rules.all[number]
            column, share = rules.paint(rule, head)
            paint, stop = "background:none", ""
            if share > 0:
                paint, stop = paint_style(share, column, head.alert), ' tabindex="0"'
            lines = label_lines(rule.block, names, head.columns, painted=column, least=least)
            tell = "\n".join([escaped(heading(rule.block)), *lines])
            openings[number] = f'<mark style="color:inherit;{paint}" title="{tell}"{stop}>'
        yield TaggedRange(start, end, openings[number], "</mark>", level == "ngram")


def _legend(head: Head) -> Iterator[str]:
    if not head.has_evidence:
        yield f"<span>{prediction_html(head)}</span>"
        return
    for at in by_score(head.columns, head.value):
        chosen = at == head.column and not head.all_labels
        colour = label_colour(at, head.alert)
        swatch = (
            f'<span style="display:inline-block;width:.8em;height:.8em;margin-right:.3em;'
            f'border:1px solid {colour};background:{colour}"></span>'
            if chosen or head.all_labels
            else ""
        )
        weight = "bold" if chosen else "normal"
        predicted = " (predicted)" * (head.labels[at] == head.predicted)
        chance = "" if head.probability is None else f", {as_chance(head.probability[at])}"
        yield (
            f'<span style="margin-right:1.2em;font-weight:{weight}">{swatch}'
            f"<bdi>{escaped(head.labels[at])}</bdi>{predicted} "
            f'<data value="{head.value[at]!r}">{as_value(head.value[at])}</data>{chance}'
            "</span> "
        )
    if len(head.columns) < len(head.labels):
        yield f"<span>and {len(head.labels) - len(head.columns):,} more with lower scores</span>"


def to_terminal(
    explanation: Explanation | Mapping[str, Any],
    label: Label | None = None,
    *,
    level: PaintLevel = "ngram",
    alert: Label | None = None,
    all_labels: bool = False,
) -> Text:
    """Paint a text's blocks by their contribution to a label's score [default: predicted label].

    The block with the largest contribution to any score has the strongest colour and the others are
    in proportion; blocks below a twentieth of it are not painted. With `all_labels`, each block has
    the colour of the label that it supports; `alert` is the label that has the warm colour. Takes
    an explanation or its `to_dict()` and returns a `rich.text.Text` to print with rich.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> painted = to_terminal(model.explain("So, machine learning!"))
    >>> painted.plain
    'So, machine learning!'
    >>> [painted.plain[span.start : span.end] for span in painted.spans]
    ['machine', 'learning']
    """
    try:
        from rich.style import Style
        from rich.text import Text
    except ImportError as error:
        raise MissingExtraError.of("cli", "painting in the terminal needs rich") from error
    as_choice("level", level, LEVELS)
    head, rules = Head(explanation, label, alert=alert, all_labels=all_labels), Rules()
    painted = Text(visible(head.text))
    for start, end, number in rules.add(explanation, [level]):
        column, share = rules.paint(rules.all[number], head)
        if share >= FAINTEST:  # white, on a dark terminal, would look strongest
            ground = label_ground(share, column, head.alert)
            painted.stylize(Style(color=INK, bgcolor=ground, bold=share >= 0.5), start, end)
    return painted


class Contribution(NamedTuple):
    """What all occurrences of an n-gram add to a label's score, and its value for the label.

    In a refined model, `counted` and `corrected` are the two parts of the total, and `value` is
    what each occurrence adds.
    """

    ngram: str
    value: float
    times: int
    total: float
    counted: float | None = None
    corrected: float | None = None


def largest_contributions(
    explanation: Explanation | Mapping[str, Any], label: Label | None = None, n: int = 10
) -> list[Contribution]:
    """Return the n-grams of a text that add most to a label's score [default: predicted label].

    N-grams that add nothing, or lower the score, are left out. In a refined model, n-grams overlap.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> found = largest_contributions(model.explain("So, a machine, machine learning!"), "tech")
    >>> [(one.ngram, one.times) for one in found]
    [('machine', 2), ('learning', 1)]
    """
    column, rules = Head(explanation, label).column, Rules()
    rules.add(explanation, ["ngram"])
    found = []
    for words, times, total, rule, *parts in rules.largest("ngram", column, n):
        value = total / times if rule is None else rule.block["value"][column]
        found.append(Contribution(words, value, times, total, *parts))
    return found
