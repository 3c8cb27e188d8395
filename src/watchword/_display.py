"""Plain data as JSON and CSV, and tables of plain text."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any


def finite(value: Any) -> Any:
    """Return the value with None in place of NaN and infinity, which JSON does not have.

    >>> finite({"latency": float("nan"), "delays": (1, 2.5)})
    {'latency': None, 'delays': [1, 2.5]}
    """
    if isinstance(value, Mapping):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def aligned(rows: Sequence[Sequence[str]], words: int = 1) -> list[str]:
    """Return lines of aligned columns; the first `words` columns are left-aligned.

    >>> aligned([("F1", "0.5"), ("recall", "12")])
    ['F1      0.5', 'recall   12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if column < words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def csv_of(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str] | None = None,
    *,
    spreadsheet_safe: bool = False,
) -> str:
    r"""Return rows as CSV with a header; None is an empty cell.

    `columns` defaults to the keys of the first row. With `spreadsheet_safe`, text that a
    spreadsheet would run as a formula gets a leading apostrophe; numbers are unchanged.

    >>> csv_of([{"subject": "=1+1", "score": -0.5}], spreadsheet_safe=True)
    "subject,score\n'=1+1,-0.5\n"
    """
    names = list(columns or rows[0])
    cells = [names, *([row[name] for name in names] for row in rows)]
    if spreadsheet_safe:
        cells = [[_not_run(cell) for cell in row] for row in cells]
    return "".join(map(_csv_line, cells))


# First characters of formulas; East Asian versions of spreadsheets also accept the wide forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def _not_run(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def _csv_line(cells: Sequence[Any]) -> str:
    buffer = io.StringIO()
    # The writer quotes only the characters of its own line terminator, and an id may contain both.
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue().removesuffix("\r\n") + "\n"
