"""Confusion matrices: an HTML table coloured as a heat map, for any page or snippet.

A page puts `CONFUSION_STYLE` into its style sheet and `confusion_html(…)` into its body.
Colours are classes, which a strict Content-Security-Policy allows.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from operator import itemgetter

from watchword._checks import Label
from watchword._display import excerpt
from watchword.show.markup import escaped, name_html
from watchword.show.palette import ALERT, COLOURS, STRONGEST, rgb, short

Cell = Sequence[int]  # row (truth), column (predicted), count

MOST_DRAWN = 40  # labels: larger matrices are hard to read
_MOST_LEVEL = 6  # labels: with more, column names are vertical
_STEPS = 20  # shades of a colour
_RIGHT, _WRONG = COLOURS[0], ALERT  # blue and orange, which colour-blind readers can tell apart
_CAPTION = "Texts by true label (rows) and predicted label (columns)"
_DOT = "·"  # for 0 in a large matrix, where zeros would hide the counts
_CORNER = "truth \\ predicted"


def confusion_html(
    labels: Sequence[Label], cells: Iterable[Cell], *, shown: Sequence[int] | None = None
) -> str:
    """Return the table; the colour of a cell is its share of the row.

    `cells` are [row, column, count] as in `Evaluation.to_dict()`, `shown` the indices of the labels
    to draw [default: all].

    >>> confusion_html(["a", "b"], [[0, 0, 3], [1, 0, 2], [1, 1, 2]]).count("<td")
    5
    """
    counts = {(row, column): count for row, column, count in cells}
    totals = [0] * len(labels)
    for (row, _), count in counts.items():
        totals[row] += count
    places = range(len(labels)) if shown is None else shown
    is_large = len(places) > _MOST_LEVEL
    zero = _DOT if is_large else "0"
    heads = "".join(f'<th scope="col">{name_html(labels[at])}</th>' for at in places)
    body = ""
    for row in places:
        pairs = [(row, column) for column in places]
        line = (_cell(labels, pair, counts.get(pair, 0), totals[row], zero) for pair in pairs)
        body += f'<tr><th scope="row">{name_html(labels[row])}</th>{"".join(line)}</tr>\n'
    turned = " ww-many" * is_large
    return (
        f'<table class="ww-confusion{turned}"><caption>{_CAPTION}</caption>'
        f"<thead><tr><td>{escaped(_CORNER)}</td>{heads}</tr></thead>\n<tbody>{body}</tbody></table>"
    )


def _cell(
    labels: Sequence[Label], place: tuple[int, int], count: int, total: int, zero: str
) -> str:
    row, column = place
    step = max(1, int(_STEPS * count / total + 0.5)) if count else 0
    kind = f"ww-{'r' if row == column else 'w'}{step}" if step else "ww-none"
    names = (excerpt(labels[row]), excerpt(labels[column]))
    title = escaped(f"{count:,} of {total:,} texts of {names[0]} predicted as {names[1]}")
    return f'<td class="{kind}" title="{title}">{f"{count:,}" if count else zero}</td>'


def most_mistaken(cells: Iterable[Cell], most: int) -> list[Cell]:
    """Return the most frequent mistakes; ties keep their order.

    >>> most_mistaken([[0, 0, 9], [0, 1, 2], [1, 0, 5]], 1)
    [[1, 0, 5]]
    """
    return heapq.nlargest(most, (cell for cell in cells if cell[0] != cell[1]), key=itemgetter(2))


def most_confused_labels(cells: Iterable[Cell], labels: int, most: int = MOST_DRAWN) -> list[int]:
    """Return the indices of the labels with the most mistakes, ascending; all if at most `most`.

    >>> most_confused_labels([[0, 0, 9], [1, 2, 2]], labels=3, most=2)
    [1, 2]
    """
    mistakes = [0] * labels
    for row, column, count in cells:
        if row != column:
            mistakes[row] += count
            mistakes[column] += count
    return sorted(heapq.nlargest(most, range(labels), key=lambda at: mistakes[at]))


def _style() -> str:
    rules = [
        ".ww-confusion { border-collapse: collapse; font-variant-numeric: tabular-nums; }",
        ".ww-confusion caption { text-align: start; font-weight: 600; padding: .3rem 0; }",
        ".ww-confusion :is(th, td) { border: 1px solid rgb(128 128 128 / .35);"
        " padding: .2rem .45rem; text-align: start; vertical-align: bottom; min-width: 0; }",
        ".ww-confusion tbody td { text-align: end; white-space: nowrap; }",
        ".ww-confusion th { max-width: 16rem; }",
        ".ww-confusion.ww-many thead th {"
        " writing-mode: vertical-rl; text-align: end; max-width: none; max-height: 14rem; }",
        ".ww-confusion .ww-none { opacity: .6; }",
        # In a large matrix, cells are small, and the names stay in sight while it is scrolled.
        ".ww-confusion.ww-many { font-size: .8rem; border-collapse: separate; border-spacing: 0; }",
        ".ww-confusion.ww-many :is(th, td) { border-width: 0 1px 1px 0; padding: .1rem .25rem; }",
        ".ww-confusion.ww-many tbody td { text-align: center; min-width: 1.7em; }",
        ".ww-confusion.ww-many tbody th { position: sticky; left: 0; z-index: 1;"
        " background: var(--paper, Canvas); white-space: nowrap; max-width: 11rem;"
        " overflow: hidden; text-overflow: ellipsis; }",
        ".ww-confusion tbody tr:hover th { background: color-mix(in srgb, currentColor 12%,"
        " var(--paper, Canvas)); }",
        ".ww-confusion tbody td:hover { outline: 2px solid currentColor; outline-offset: -2px; }",
    ]
    rules += [
        f".ww-confusion:has(tbody td:nth-child({at}):hover) thead th:nth-child({at})"
        " { background: rgb(128 128 128 / .25); }"
        for at in range(2, MOST_DRAWN + 2)
    ]
    rules += [
        f".ww-confusion .ww-{name}{step} "
        f"{{ background-color: rgb({rgb(colour)} / {short(STRONGEST * step / _STEPS)}); }}"
        for name, colour in (("r", _RIGHT), ("w", _WRONG))
        for step in range(1, _STEPS + 1)
    ]
    return "\n".join(["", *rules, ""])


CONFUSION_STYLE = _style()
