"""Replays, tunings and models in a notebook: a small table and a picture.

All numbers come as plain data. A snippet has its own few style rules, scoped by a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchword.show.blocks import PlainData
from watchword.show.chart import chart_svg
from watchword.show.markup import escaped, name_html, table_html

_STYLE = """
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
