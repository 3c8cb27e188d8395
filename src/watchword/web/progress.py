"""Progress of slow work on the server, and its cancellation."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any


class GivenUpError(Exception):
    """Work that was cancelled because its result is no longer needed."""


class SharedProgress:
    """A progress callback (see `watchword._progress`) whose state other threads can read.

    Slow work is done one at a time, so there is at most one state.

    >>> progress = SharedProgress()
    >>> for item in progress(["a", "b"], 2):
    ...     print(item, progress.state())
    a {'done': 0, 'total': 2}
    b {'done': 1, 'total': 2}
    >>> progress.state() is None
    True
    """

    def __init__(self) -> None:
        self._at: tuple[int, int] | None = None
        self._unwanted = threading.Event()

    def __call__(self, items: Iterable[Any], total: int) -> Iterator[Any]:
        """Yield the items, or raise `GivenUpError` after `give_up`."""
        try:
            for done, item in enumerate(items):
                self._at = done, total
                if self._unwanted.is_set():
                    raise GivenUpError
                yield item
        finally:
            self._at = None

    def state(self) -> dict[str, int] | None:
        """Return the number of items done and of all, or None while nothing is counted."""
        at = self._at
        return None if at is None else {"done": at[0], "total": at[1]}

    def begin(self) -> None:
        """Say that the result of the next work is wanted."""
        self._unwanted.clear()

    def give_up(self) -> None:
        """Say that the result of the current work is no longer wanted."""
        self._unwanted.set()
