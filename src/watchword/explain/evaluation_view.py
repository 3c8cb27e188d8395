"""Evaluations as HTML and as text, and replays, tunings and models in a notebook.

A page puts `CONFUSION_STYLE` into its style sheet and `confusion_html(…)` into its body.
Colours are classes, which a strict Content-Security-Policy allows.

All numbers come as plain data. A snippet has its own few style rules, scoped by a class.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from watchword._checks import Label
from watchword._display import aligned, excerpt, many, visible
from watchword.explain.blocks import PlainData
from watchword.explain.chart import chart_svg
from watchword.explain.markup import (
    details_html,
    document,
    escaped,
    left_out_html,
    name_html,
    table_html,
)
from watchword.explain.palette import ALERT, COLOURS, STRONGEST, rgb, short

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


MOST_LABELS = 1_000  # rows in the table of labels of a page
MOST_IN_SNIPPET = 50
_MISTAKES = 20
_MOST_FOLDS = 100
_AVERAGES = ("macro", "micro", "weighted")

_STYLE = (
    """
.ww-evaluation :is(th, td) { text-align: start; vertical-align: top; padding: .2rem .6rem; }
.ww-evaluation .number { text-align: end; white-space: nowrap; font-variant-numeric: tabular-nums; }
.ww-evaluation .wide { overflow-x: auto; margin: .5rem 0; }
.ww-evaluation caption { text-align: start; font-weight: 600; }
.ww-evaluation bdi { overflow-wrap: anywhere; }
.ww-evaluation summary { cursor: pointer; padding: .3rem 0; }
@media print { .ww-evaluation details::details-content { content-visibility: visible; } }
"""
    + CONFUSION_STYLE
)


def evaluation_html(plain: PlainData, *, title: str, page: bool) -> str:
    """Return measures, their spread over folds, a table of labels and the confusion matrix.

    >>> from watchword.evaluation import Evaluation
    >>> plain = Evaluation.of(["a", "b"], ["a", "a"]).to_dict()
    >>> evaluation_html(plain, title="Two texts", page=True).startswith("<!doctype html>")
    True
    """
    heading = "h1" if page else "h3"
    parts = [f"<{heading}>{escaped(title)}</{heading}>", _summary(plain)]
    if plain["folds"]:
        parts.append(_folds(plain))
    parts.append(_label_table(plain, MOST_LABELS if page else MOST_IN_SNIPPET))
    if plain["confusion"] is not None:
        parts.append(_confusion(plain))
    body = "\n".join(parts)
    if page:
        return document(title, f'<main class="ww-evaluation">{body}</main>', _STYLE)
    return f'<div class="ww-evaluation"><style>{_STYLE}</style>{body}</div>'


def _summary(plain: PlainData) -> str:
    measures = plain["measures"]
    counted = f"{many(plain['texts'], 'text')}, {many(len(plain['labels']), 'label')}"
    if plain["folds"]:
        counted += f", {many(len(plain['folds']), 'fold')}"
    if plain["confusion"] is None:
        exact, hamming = measures["exact_match"], measures["hamming"]
        score = f"exact match <strong>{exact:.3f}</strong>, hamming loss {hamming:.3f}"
    else:
        score = f"accuracy <strong>{measures['accuracy']:.3f}</strong> ({_majority(plain)})"
    rows = [
        (kind, *(_number(measures[f"{kind}_{one}"]) for one in ("precision", "recall", "f1")))
        for kind in _AVERAGES
    ]
    heads = ["mean", "precision", "recall", "F1"]
    return f"<p>{counted}; {score}.</p>{table_html('Averages over labels', heads, rows)}"


def _majority(plain: PlainData) -> str:
    majority = plain["majority"]
    return f"always {name_html(majority['label'])}: {majority['measures']['accuracy']:.3f}"


def _folds(plain: PlainData) -> str:
    several = plain["confusion"] is None
    # Those that follow from the others are left out.
    equal = ("accuracy",) if several else ("exact_match", "hamming", "micro")
    rows = []
    for name, spread in plain["spread"].items():
        if not name.startswith(equal):
            values = [fold["measures"][name] for fold in plain["folds"]]
            numbers = (spread["mean"], spread["deviation"], min(values), max(values))
            rows.append((escaped(measure_name(name)), *map(_number, numbers)))
    heads = ["measure", "mean", "± sd", "lowest", "highest"]
    shown = ("exact_match" if several else "accuracy", "macro_f1", "weighted_f1")
    each = [
        (str(at), fold["texts"], *(_number(fold["measures"][name]) for name in shown))
        for at, fold in enumerate(plain["folds"][:_MOST_FOLDS], 1)
    ]
    table = table_html("Each fold", ["fold", "texts", *map(measure_name, shown)], each)
    return table_html("Over folds", heads, rows) + details_html("Each fold", table)


def _label_table(plain: PlainData, most: int) -> str:
    rows = []
    for one in plain["per_label"][:most]:
        numbers = (_number(one[name]) for name in ("precision", "recall", "f1"))
        rows.append((name_html(one["label"]), *numbers, one["support"], one["predicted"]))
    heads = ["label", "precision", "recall", "F1", "texts", "predicted"]
    rest = len(plain["per_label"]) - most
    return table_html("By label", heads, rows) + left_out_html(rest, "labels")


def _confusion(plain: PlainData) -> str:
    labels, cells = plain["labels"], plain["confusion"]
    shown = most_confused_labels(cells, len(labels))
    most = f"The {len(shown)} of {len(labels):,} labels with the most mistakes."
    more = f'<p class="quiet">{most}</p>' if len(shown) < len(labels) else ""
    matrix = confusion_html(labels, cells, shown=shown)
    return f'<div class="wide">{matrix}</div>{more}{_mistakes(labels, cells)}'


def _mistakes(labels: Sequence[Any], cells: Sequence[Sequence[int]]) -> str:
    found = most_mistaken(cells, _MISTAKES)
    if not found:
        return "<p>No mistakes.</p>"
    totals = Counter[int]()
    for row, _, count in cells:
        totals[row] += count
    rows = []
    for row, column, count in found:
        mistake = f"{name_html(labels[row])} as {name_html(labels[column])}"
        rows.append((mistake, count, f"{100 * count / totals[row]:.1f} %"))
    heads = ["mistake", "texts", "share of label"]
    table = table_html("Mistakes: truth as prediction", heads, rows)
    return details_html("Most frequent mistakes", table)


def _number(value: float) -> str:
    return f"{value:.3f}"


# Shown over folds, for one label per text and for several.
_MEASURES = ("accuracy", "macro_precision", "macro_recall", "macro_f1", "weighted_f1")
_MEASURES_OF_SEVERAL = ("exact_match", "hamming", "macro_f1", "micro_f1", "weighted_f1")

_MOST_ROWS = 50  # in the table
_MOST_COLUMNS = 10  # of a matrix; terminals are narrow
_MOST_MISTAKES = 10
_LONGEST_NAME = 30
_ONE_LINE = str.maketrans({"\n": "␤", "\t": "␉"})


def evaluation_text(plain: PlainData) -> str:
    r"""Return measures over folds, a table of labels, and the confusion matrix or top mistakes.

    >>> from watchword.evaluation import Evaluation
    >>> print(Evaluation.of(["tech", "tech", "sports"], ["tech", "sports", "sports"]))
    3 texts, 2 labels, accuracy 0.667, macro F1 0.667
    always predicting tech: accuracy 0.667, macro F1 0.400
    <BLANKLINE>
              precision  recall     F1  texts  predicted
    sports        0.500   1.000  0.667      1          2
    tech          1.000   0.500  0.667      2          1
    macro         0.750   0.750  0.667
    micro         0.667   0.667  0.667      3          3
    weighted      0.833   0.667  0.667
    <BLANKLINE>
    truth \ predicted  sports  tech
    sports                  1     0
    tech                    1     1
    """
    parts = [_heading(plain), *_folds_as_text(plain), _labels(plain)]
    if plain["confusion"] is not None:
        parts.append(_confusion_as_text(plain))
    return "\n\n".join(part for part in parts if part)


def measure_name(measure: str) -> str:
    """Return the display name of a measure.

    >>> measure_name("macro_f1"), measure_name("hamming")
    ('macro F1', 'hamming loss')
    """
    return measure.replace("_", " ").replace("f1", "F1").replace("hamming", "hamming loss")


def majority_text(plain: PlainData) -> str:
    """Return the measures of always predicting the most frequent label, in words."""
    majority = plain["majority"]
    name, measures = _name(majority["label"]), majority["measures"]
    accuracy, f1 = measures["accuracy"], measures["macro_f1"]
    return f"always predicting {name}: accuracy {accuracy:.3f}, macro F1 {f1:.3f}"


def _heading(plain: PlainData) -> str:
    counted = f"{many(plain['texts'], 'text')}, {many(len(plain['labels']), 'label')}"
    measures = plain["measures"]
    if plain["confusion"] is not None:
        found = f"accuracy {measures['accuracy']:.3f}, macro F1 {measures['macro_f1']:.3f}"
        return f"{counted}, {found}\n{majority_text(plain)}"
    exact, hamming = measures["exact_match"], measures["hamming"]
    return f"{counted}, exact match {exact:.3f}, hamming loss {hamming:.3f}"


def _folds_as_text(plain: PlainData) -> list[str]:
    if not plain["folds"]:
        return []
    names = _MEASURES_OF_SEVERAL if plain["confusion"] is None else _MEASURES
    rows = [("", "mean", "±")]
    for name in names:
        spread = plain["spread"][name]
        rows.append((measure_name(name), f"{spread['mean']:.3f}", f"{spread['deviation']:.3f}"))
    return [f"Over {many(len(plain['folds']), 'fold')}:\n" + "\n".join(aligned(rows))]


def _labels(plain: PlainData) -> str:
    rows: list[tuple[str, ...]] = [("", "precision", "recall", "F1", "texts", "predicted")]
    for one in plain["per_label"][:_MOST_ROWS]:
        numbers = (f"{one[name]:.3f}" for name in ("precision", "recall", "f1"))
        rows.append((_name(one["label"]), *numbers, f"{one['support']:,}", f"{one['predicted']:,}"))
    rest = len(plain["labels"]) - _MOST_ROWS
    if rest > 0:
        rows.append((f"({rest:,} more)", "", "", "", "", ""))
    totals = [sum(one[name] for one in plain["per_label"]) for name in ("support", "predicted")]
    for kind in ("macro", "micro", "weighted"):
        means = (plain["measures"][f"{kind}_{one}"] for one in ("precision", "recall", "f1"))
        counts = (f"{total:,}" if kind == "micro" else "" for total in totals)
        rows.append((kind, *(f"{mean:.3f}" for mean in means), *counts))
    return "\n".join(aligned(rows))


def _confusion_as_text(plain: PlainData) -> str:
    names = [_name(label) for label in plain["labels"]]
    if len(names) <= _MOST_COLUMNS:
        counts = {(row, column): count for row, column, count in plain["confusion"]}
        rows = [
            (name, *(f"{counts.get((at, column), 0):,}" for column in range(len(names))))
            for at, name in enumerate(names)
        ]
        return "\n".join(aligned([("truth \\ predicted", *names), *rows]))
    mistakes = most_mistaken(plain["confusion"], _MOST_MISTAKES)
    if not mistakes:
        return ""
    listed = [(names[row], names[column], f"{count:,}") for row, column, count in mistakes]
    return "Most frequent mistakes:\n" + "\n".join(
        aligned([("truth", "predicted", "texts"), *listed], words=2)
    )


def _name(label: object) -> str:
    return excerpt(visible(str(label)).translate(_ONE_LINE), _LONGEST_NAME)


_SNIPPET_STYLE = """
.ww-snippet table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.ww-snippet :is(th, td) { text-align: start; padding: .15rem .6rem; }
.ww-snippet .number { text-align: end; white-space: nowrap; }
.ww-snippet .wide { overflow-x: auto; }
.ww-snippet caption { text-align: start; }
.ww-snippet svg { max-width: 100%; height: auto; background: none; color: inherit; }
"""
_MOST_LABELS = 10


def result_html(
    head: str,
    table: Sequence[Sequence[str]] = (),
    *,
    caption: str = "",
    warnings: Sequence[str] = (),
    chart: PlainData | None = None,
) -> str:
    """Return a result: a table, whose first row is the head, warnings, and a chart."""
    shown = ""
    if table:
        heads, *rows = table
        cells = [(name_html(row[0]), *map(escaped, row[1:])) for row in rows]
        shown = table_html(escaped(caption), [*map(escaped, heads)], cells)
    warned = "".join(f"<p><strong>Warning:</strong> {escaped(one)}</p>" for one in warnings)
    return _snippet(f"<p>{escaped(head)}</p>{shown}{warned}", chart)


def model_html(head: str, rows: Sequence[tuple[Any, int, int]], pictures: Sequence[str]) -> str:
    """Return the labels of a model with their numbers of documents and words, and pictures.

    The pictures are of the best n-grams of the first labels.
    """
    shown = [(name_html(label), *counts) for label, *counts in rows[:_MOST_LABELS]]
    rest = len(rows) - len(shown)
    more = f"<p>and {rest:,} more labels</p>" if rest > 0 else ""
    table = table_html("", ["label", "documents", "words"], shown)
    figures = "".join(
        f"<p>Best n-grams of {name_html(label)}</p>{picture}"
        for (label, _, _), picture in zip(rows, pictures, strict=False)
    )
    return _snippet(f"<p>{escaped(head)}</p>{table}{more}{figures}", None)


def _snippet(body: str, chart: PlainData | None) -> str:
    picture = "" if chart is None else chart_svg(chart, alone=False)
    return f'<div class="ww-snippet"><style>{_STYLE}</style>{body}{picture}</div>'
