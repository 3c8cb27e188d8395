"""Plain data on its way to JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
