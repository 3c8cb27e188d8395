"""The board and its live data: server-sent events, and the page to review alerts.

A stream begins after an id and sends every alert with a larger one, oldest first. A browser that
was disconnected sends the id of the last alert that it got, and misses none.

New alerts are read and written as JSON once for all streams. A stream that is further behind reads
them from the store until it has caught up.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, to_thread

from watchword.errors import BusyError, StoreError, StoreUnavailableError
from watchword.explain.blocks import scale_of
from watchword.service.alerts import MOST_NOTE
from watchword.service.logs import say
from watchword.service.records import json_of
from watchword.web.files import StaticFile, files_of, static_files
from watchword.web.models import compact

if TYPE_CHECKING:
    from watchword.service.runner import Service

_PAGE = 100  # alerts per look
_POLL = 0.25  # seconds
_STATISTICS = 4  # looks between two statistics
_PING = 60  # looks without an event after which a comment shows that the stream is alive
_KEPT = 5.0  # seconds for which new alerts are kept; not longer, because they may be forgotten
_CATCHING_UP = 2  # pages that are read from the store at the same time

_Events = Sequence[tuple[int, bytes]]  # ids of alerts, oldest first, and their events


class NewAlerts:
    """The events of the latest alerts, for all streams: those after the id `begin`."""

    def __init__(self, begin: int) -> None:
        self.begin = self.end = begin
        self._events: deque[tuple[int, bytes, float]] = deque()

    def add(self, events: _Events) -> None:
        """Add the events of further alerts; drop old ones."""
        now = time.monotonic()
        for number, data in events:
            self._events.append((number, data, now))
            self.end = number
        while self._events and self._events[0][2] < now - _KEPT:
            self.begin = self._events.popleft()[0]

    def after(self, number: int) -> _Events:
        """Return the events of alerts after an id, which is not below `begin`."""
        events: list[tuple[int, bytes]] = []
        for own, data, _ in reversed(self._events):
            if own <= number:
                break
            events.append((own, data))
        return events[::-1]


class Feed:
    """What all streams share: new alerts and the statistics."""

    def __init__(
        self, service: Service, is_stopping: Callable[[], bool], *, most: int, most_of_all: int
    ) -> None:
        self._service = service
        self._is_stopping = is_stopping
        self._most = most
        self._most_of_all = most_of_all
        self._open: Counter[str] = Counter()  # streams by token
        self._statistics: bytes | None = None  # as an event
        self._watching: asyncio.Task[None] | None = None
        self._new: NewAlerts | None = None  # none before the first look
        self._catching_up = asyncio.Semaphore(_CATCHING_UP)
        self._pages: dict[
            int, asyncio.Task[_Events]
        ] = {}  # that are being read, by what they follow

    @property
    def streams(self) -> int:
        """The number of open streams."""
        return self._open.total()

    def admit(self, sender: str) -> None:
        """Count a new stream of a token; raise `BusyError` if there are too many."""
        own, every = self._open[sender], self.streams
        if own >= self._most or every >= self._most_of_all:
            which = f"{own} with the token {sender!r}" if own >= self._most else f"{every} in all"
            message = f"too many streams of events are open ({which}): close one of them"
            raise BusyError(message, retry_after=5.0)
        self._open[sender] += 1

    def leave(self, sender: str) -> None:
        """Count a stream as closed."""
        self._open[sender] -= 1
        self._open += Counter()  # forgets tokens without streams

    async def events(self, after: int, is_allowed: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Yield events until the client leaves or loses its token, or the service stops."""
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        yield b"retry: 1000\n\n"
        quiet, shown = 0, None
        while is_allowed() and not self._is_stopping():
            alerts = await self._after(after)
            chunks = [data for _, data in alerts]
            if self._statistics is not shown:
                shown = self._statistics
                chunks.append(shown or b"")
            quiet = 0 if chunks else quiet + 1
            if quiet > _PING:
                quiet = 0
                chunks.append(b": still here\n\n")
            if chunks:
                yield b"".join(chunks)
            if alerts:
                after = alerts[-1][0]
            else:
                await asyncio.sleep(_POLL)

    @cached_property
    def _in_thread(self) -> Callable[..., Any]:
        """Run a function in one of the threads of the streams."""
        return partial(to_thread.run_sync, limiter=CapacityLimiter(1 + _CATCHING_UP))

    async def _after(self, number: int) -> _Events:
        """Return the events of the next alerts after an id; none if there are none yet."""
        new = self._new
        if new is None or number >= new.end:
            return ()
        if number >= new.begin:
            return new.after(number)
        page = self._pages.get(number)
        if page is None:
            page = self._pages[number] = asyncio.create_task(self._page(number))
        return await asyncio.shield(page)  # others may wait for it, too

    async def _page(self, after: int) -> _Events:
        """Return events from the store, for all streams that are equally far behind."""
        events: _Events = ()
        try:
            async with self._catching_up:
                with suppress(StoreError):
                    events = await self._in_thread(self._read, after)
        finally:
            del self._pages[after]
        return events

    def _read(self, after: int) -> _Events:
        alerts = self._service.alerts(since=after, limit=_PAGE, sort="oldest")
        return [(one.id, event("alert", json_of(one), identity=one.id)) for one in alerts]

    async def _watch(self) -> None:
        """Look for new alerts and statistics as long as there are streams."""
        looks = 0
        while self.streams and not self._is_stopping():
            is_behind = False
            try:
                if self._new is None:
                    self._new = NewAlerts(await self._in_thread(self._service.last_alert))
                events = await self._in_thread(self._read, self._new.end)
                self._new.add(events)
                is_behind = len(events) == _PAGE
                if looks % _STATISTICS == 0:
                    await self._look_at_statistics()
            except StoreError as error:
                if not isinstance(error, StoreUnavailableError):
                    say("events wait for the store", level=logging.ERROR, reason=str(error))
            looks += 1
            await asyncio.sleep(0 if is_behind else _POLL)
        self._new = None  # which would miss alerts from now on

    async def _look_at_statistics(self) -> None:
        statistics = await self._in_thread(self._service.statistics)
        shown = event("statistics", json_of(statistics))
        if shown != self._statistics:
            self._statistics = shown


def event(name: str, data: bytes, *, identity: int | None = None) -> bytes:
    r"""Return an event; `data` is one line.

    >>> event("alert", b"{}", identity=7)
    b'id: 7\nevent: alert\ndata: {}\n\n'
    """
    head = b"" if identity is None else b"id: %d\n" % identity
    return head + b"event: %b\ndata: %b\n\n" % (name.encode(), data)


PAGE = "board.html"

# Files of the live page that the board shares.
_SHARED = (
    "asking.js",
    "charts.js",
    "icon.svg",
    "paint.css",
    "paint.js",
    "palette.css",
    "parts.js",
    "style.css",
)


@cache
def board_files() -> dict[str, StaticFile]:
    """Return all files of the board by name; `PAGE` is the page itself.

    >>> board_files()[PAGE].content[:15]
    b'<!doctype html>'
    >>> "palette.css" in board_files()
    True
    """
    shared = static_files()
    own = files_of("watchword.service")
    page = own[PAGE]
    own[PAGE] = page._replace(content=page.content.replace(b"MOST_NOTE", b"%d" % MOST_NOTE))
    return {name: shared[name] for name in _SHARED} | own


def story_for_page(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plain story with its explanations in the wire format, all with one scale.

    >>> import watchword as ww
    >>> model = ww.TauSS3()
    >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
    >>> story = model.story(["lovely", "I cannot sleep"], ww.Overtakes("at risk"))
    >>> sorted(story_for_page(story.to_dict())["shown"][0]["explanation"])
    ['blocks', 'highest', 'label', 'labels', 'rules', 'summary', 'text', 'value']
    """
    scale = scale_of(one["explanation"] for one in plain["shown"])
    shown = [one | {"explanation": compact(one["explanation"], scale)} for one in plain["shown"]]
    return {**plain, "shown": shown}
