"""What a benchmark says: progress on standard error, tables on standard output."""

from __future__ import annotations

import sys
from collections.abc import Sequence


class BenchmarkError(Exception):
    """Something the user can act on; its message is shown in one line, without a traceback."""


def say(message: str) -> None:
    """Tells the waiting user what happens now; standard output stays free for the result."""
    print(message, file=sys.stderr, flush=True)


def rate(words_per_second: float) -> str:
    return f"{words_per_second:,.0f}"


def megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def difference(value: float, low: float, high: float, digits: int) -> str:
    """A difference with its interval, in which no rounding error makes a zero negative."""
    numbers = (0.0 if abs(x) < 1e-12 else x for x in (value, low, high))
    return "{} [{}, {}]".format(*(f"{x:+.{digits}f}" for x in numbers))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that reads well in a terminal and can be pasted into a document as it is."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        first = cells[0].ljust(widths[0])
        others = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "| " + " | ".join([first, *others]) + " |"

    rule = "|" + "-" * (widths[0] + 2) + "|"
    rule += "".join("-" * (width + 1) + ":|" for width in widths[1:])
    return "\n".join([line(header), rule, *map(line, rows)])
