"""A pool of connections that read: lent one at a time to a thread, and kept for later."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, Protocol, TypeVar

_MOST = 8  # connections that are kept for later


class _Connection(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=_Connection)


class ReaderPool(Generic[C]):
    """Connections to a store. Those in use are not limited; a few are kept when they return."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._idle: queue.LifoQueue[C] = queue.LifoQueue(_MOST)
        self._is_closed = False

    @contextmanager
    def lent(self) -> Iterator[C]:
        """Lend a connection; close it if an error leaves it in an unknown state."""
        connection = self._idle_one() or self._connect()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        if not self._is_closed:
            with suppress(queue.Full):
                self._idle.put_nowait(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close the connections that are not in use, and later those that are."""
        self._is_closed = True
        while (connection := self._idle_one()) is not None:
            connection.close()

    def _idle_one(self) -> C | None:
        """Return a kept connection that is still open; None if there is none."""
        with suppress(queue.Empty):
            while True:
                connection = self._idle.get_nowait()
                if not getattr(connection, "closed", False):  # as psycopg says after an outage
                    return connection
        return None
