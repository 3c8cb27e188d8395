"""Progress callbacks: functions that wrap an iterable to show how far its user has got."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

#: `progress(items, total)` returns the items; `total` is their number.
Progress = Callable[[Iterable[Any], int], Iterable[Any]]


def tracked(items: Iterable[Any], total: int, progress: Progress | None) -> Iterable[Any]:
    """Return the items, wrapped by the callback if there is one."""
    return items if progress is None else progress(items, total)
