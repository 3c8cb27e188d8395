"""A cache that keeps results for a few times as long as they took to compute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_SHARE = 10  # a result is kept for this many times as long as it took
_SHORTEST = 0.5  # seconds for which it is worth keeping


class BriefCache:
    """Results by request; threads may share them.

    >>> cache = BriefCache()
    >>> cache.get("posts", lambda: 3)  # quick, so it is computed again next time
    3
    >>> cache.get("posts", lambda: 4)
    4
    """

    def __init__(self) -> None:
        self._kept: dict[object, tuple[float, Any]] = {}
        self._cleared = 0
        self._lock = threading.Lock()
        self._turns: dict[object, tuple[threading.Lock, int]] = {}  # and the threads that wait

    def get(self, asked: object, compute: Callable[[], _Result]) -> _Result:
        """Return the kept result, or compute it; threads that ask the same wait for one of them."""
        with self._lock:
            turn, users = self._turns.get(asked, (threading.Lock(), 0))
            self._turns[asked] = turn, users + 1
        try:
            with turn:
                return self._get(asked, compute)
        finally:
            with self._lock:
                _, users = self._turns.pop(asked)
                if users > 1:
                    self._turns[asked] = turn, users - 1

    def _get(self, asked: object, compute: Callable[[], _Result]) -> _Result:
        kept_until, found = self._kept.get(asked, (0.0, None))
        began, cleared = time.monotonic(), self._cleared
        if began < kept_until:
            return found  # type: ignore[no-any-return]
        found = compute()
        now = time.monotonic()
        kept_until = now + (now - began) * _SHARE
        self._kept = {one: kept for one, kept in self._kept.items() if kept[0] > now}
        if kept_until - now > _SHORTEST and cleared == self._cleared:
            self._kept[asked] = kept_until, found
        return found

    def clear(self) -> None:
        """Drop all results, also those that are being computed."""
        self._cleared += 1
        self._kept = {}
