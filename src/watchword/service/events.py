"""Server-sent events: alerts as they are raised, and statistics once a second.

A stream begins after an id and sends every alert with a larger one, oldest first. A browser that
was disconnected sends the id of the last alert that it got, and misses none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from watchword.errors import StoreError, StoreUnavailableError
from watchword.service.logs import say
from watchword.service.records import json_of

if TYPE_CHECKING:
    from watchword.service.runner import Service

_PAGE = 100  # alerts per look
_POLL = 0.25  # seconds
_STATISTICS = 4  # looks between two statistics
_PING = 60  # looks without an event after which a comment shows that the stream is alive


class Feed:
    """Data shared by all streams: the statistics are computed once for all of them."""

    def __init__(self, service: Service, is_stopping: Callable[[], bool]) -> None:
        self._service = service
        self._is_stopping = is_stopping
        self.streams = 0  #: open ones
        self._statistics: bytes | None = None
        self._watching: asyncio.Task[None] | None = None
        self._latest = 0

    async def events(self, after: int, is_allowed: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Yield events until the client leaves or loses its token, or the service stops."""
        self.streams += 1
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        try:
            yield b"retry: 1000\n\n"
            quiet, shown = 0, None
            while is_allowed() and not self._is_stopping():
                found = await self._alerts(after) if self._latest > after else []
                for one in found:
                    after = one.id
                    yield event("alert", json_of(one), identity=after)
                if self._statistics is not shown:
                    shown = self._statistics
                    yield event("statistics", shown or b"{}")
                    quiet = 0
                quiet += 1
                if quiet > _PING:
                    quiet = 0
                    yield b": still here\n\n"
                if not found:
                    await asyncio.sleep(_POLL)
        finally:
            self.streams -= 1

    async def _alerts(self, after: int) -> list[Any]:
        def read() -> list[Any]:
            with suppress(StoreError):
                return self._service.alerts(since=after, limit=_PAGE, sort="oldest")
            return []

        return await to_thread.run_sync(read)

    async def _watch(self) -> None:
        """Look for new alerts and statistics as long as there are streams."""
        looks = 0
        while self.streams and not self._is_stopping():
            try:
                self._latest = await to_thread.run_sync(self._service.last_alert)
                if looks % _STATISTICS == 0:
                    found = await to_thread.run_sync(self._service.statistics)
                    plainly = json_of(found)
                    if plainly != self._statistics:
                        self._statistics = plainly
            except StoreError as error:
                if not isinstance(error, StoreUnavailableError):
                    say("events wait for the store", level=logging.ERROR, reason=str(error))
            looks += 1
            await asyncio.sleep(_POLL)


def event(name: str, data: bytes, *, identity: int | None = None) -> bytes:
    r"""Return an event; `data` is one line.

    >>> event("alert", b"{}", identity=7)
    b'id: 7\nevent: alert\ndata: {}\n\n'
    """
    head = b"" if identity is None else b"id: %d\n" % identity
    return head + b"event: %b\ndata: %b\n\n" % (name.encode(), data)
