"""Evaluations as HTML: a snippet or a whole page, drawn from `Evaluation.to_dict()` alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from watchword._display import many
from watchword.show.blocks import PlainData
from watchword.show.confusion import (
    CONFUSION_STYLE,
    confusion_html,
    most_confused_labels,
    most_mistaken,
)
from watchword.show.evaluation_text import measure_name
from watchword.show.markup import (
    details_html,
    document,
    escaped,
    left_out_html,
    name_html,
    table_html,
)

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
