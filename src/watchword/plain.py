"""Plain data on its way to JSON, and plain text on its way to a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not have.

    >>> finite({"latency": float("nan"), "delays": (1, 2.5)})
    {'latency': None, 'delays': [1, 2.5]}
    """
    if isinstance(value, Mapping):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def aligned(rows: Sequence[Sequence[str]], words: int = 1) -> list[str]:
    """Columns as wide as their widest cell; the first ones are words, to the left.

    >>> aligned([("F1", "0.5"), ("recall", "12")])
    ['F1      0.5', 'recall   12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
