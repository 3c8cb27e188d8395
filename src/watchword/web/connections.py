"""Limits for servers: number of connections, timeouts, and sizes of headers and bodies.

uvicorn waits forever for the rest of a request, accepts connections until the process runs out of
file descriptors, and takes headers of any size.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal

from starlette.exceptions import HTTPException
from starlette.requests import Request
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from watchword._checks import as_not_negative, as_whole

try:
    import resource
except ImportError:  # Windows, where sockets are not file descriptors
    resource = None  # type: ignore[assignment]

_HEADER_LIMIT = 1 << 16  # bytes of a request without its body
BODY_LIMIT = 1 << 22  # bytes: enough for a text of the largest size in any script


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits on connections; the defaults suit a page for a few people.

    Parameters
    ----------
    connections
        largest number of open connections. A further one closes the connection that has waited
        longest for its client; while all are being answered, the new connection is refused.
    header_timeout
        seconds for a client to send the header of a request, from connecting or from the previous
        response.
    body_timeout
        seconds for a client to send the body of a request, and to receive a response.

    >>> ConnectionLimits(connections=8).header_timeout
    10.0
    """

    connections: int = 128
    header_timeout: float = 10.0
    body_timeout: float = 60.0

    def __post_init__(self) -> None:
        as_whole("connections", self.connections, 1)
        as_not_negative("header_timeout", self.header_timeout)
        as_not_negative("body_timeout", self.body_timeout)

    @property
    def affordable(self) -> int:
        """The number of connections, or fewer if the process may open few files.

        A quarter of the files is reserved for the rest of the process, and half for connections
        accepted before older ones are closed.
        """
        if resource is None:
            return self.connections
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files == resource.RLIM_INFINITY:
            return self.connections
        return max(1, min(self.connections, files // 4))

    @property
    def backlog(self) -> int:
        """Number of connections to accept at once.

        asyncio reads from a connection within three rounds of its loop. As fewer than `affordable`
        connections are accepted in that time, none is closed before its first request is read.
        """
        return max(1, self.affordable // 4)


class JoinedWrites:
    """A transport that sends what is written in one step of the loop together.

    uvicorn writes the header and the body of a response one after the other: two packets, and two
    calls of the system, which cost more than the rest of a small response.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Send data at the end of this step."""
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)

    def close(self) -> None:
        """Close the connection after what was written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        pieces, self._pieces = self._pieces, []
        if pieces and not self.is_closing():
            self._transport.write(b"".join(pieces))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with `ConnectionLimits`."""

    def __init__(self, *arguments: Any, limits: ConnectionLimits, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._limits = limits
        self._most = limits.affordable
        self._phase: tuple[str, object] | None = None
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._writing_paused = False
        self._part: Literal["header", "body"] | None = "header"  # that arrives; None if all has
        self._received = 0  # bytes of the request
        self._body_received = 0

    @property
    def awaits_client(self) -> bool:
        """Whether the connection waits for its client to send or receive data."""
        return self._phase is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for a connection, or refuse it."""
        joined: Any = JoinedWrites(transport, self.loop)
        super().connection_made(joined)
        if len(self.connections) > self._most:
            self._longest_waiting().drop()
        if not transport.is_closing():
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        self._received += len(data)
        super().data_received(data)
        # Chunks of a body have frames: eight bytes for each byte of it at most.
        is_large = self._received - 9 * self._body_received > _HEADER_LIMIT
        if is_large and self._part is not None and not self.transport.is_closing():
            self.send_400_response("Header too large.")
        self._watch()

    def on_message_begin(self) -> None:
        """Begin to count the bytes of a request."""
        super().on_message_begin()
        self._received = self._body_received = 0

    def on_headers_complete(self) -> None:
        """Start to answer a request; its body follows."""
        super().on_headers_complete()
        self._part = "body"

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._body_received += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request is complete, which may have been answered before."""
        super().on_message_complete()
        self._part = None if self._is_busy else "header"

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid HTTP; uvicorn alone would send this amid a response."""
        is_amid = self._is_busy and self.cycle.response_started
        if self._is_busy:
            self.cycle.disconnected = True  # the application's response is not sent as well
            self.cycle.message_event.set()
        if is_amid:
            self.drop()
        else:
            super().send_400_response(msg)

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the client to receive the response."""
        super().on_response_complete()
        if self._part is None and not self._is_busy:
            self._part = "header"
        self._watch()

    def pause_writing(self) -> None:
        """Wait for the client to receive sent data."""
        super().pause_writing()
        self._writing_paused = True
        self._watch()

    def resume_writing(self) -> None:
        """Resume sending."""
        super().resume_writing()
        self._writing_paused = False
        self._watch()

    def shutdown(self) -> None:
        """Close the connection at once, or after the response in progress."""
        if self.awaits_client:
            self.drop()
        else:
            super().shutdown()

    def drop(self) -> None:
        """Close the connection at once; unsent data is lost."""
        self.connections.discard(self)
        self.transport.abort()

    def _longest_waiting(self) -> LimitedProtocol:
        """Return the connection to close in favour of this one; itself if all others are busy."""
        waiting = [
            each
            for each in self.connections
            if isinstance(each, LimitedProtocol) and each.awaits_client
        ]
        # A request whose body is arriving is worth more than an idle connection.
        return min(waiting, key=lambda each: (each._is_busy, each._since), default=self)

    @property
    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _watch(self) -> None:
        """Start the timer of a new phase of waiting; within a phase it keeps running."""
        phase = self._current_phase()
        if phase == self._phase:
            return
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if phase is not None:
            self._since = self.loop.time()
            limits = self._limits
            seconds = limits.header_timeout if phase[0] == "header" else limits.body_timeout
            self._timer = self.loop.call_later(seconds, self.drop)

    def _current_phase(self) -> tuple[str, object] | None:
        """Return what the client must do, and for which request; None while the server works."""
        if self.transport.is_closing() or self._writing_paused:
            return "answer", self.cycle
        return None if self._part is None else (self._part, self.cycle)


async def read_body(request: Request, limit: int = BODY_LIMIT) -> bytes:
    """Return the body of a request, refusing bodies larger than the limit before reading them.

    Raises `HTTPException`: 413 for a body that is too large, 400 if the client disconnects.
    """
    too_large = HTTPException(413, f"the body has more than {limit} bytes")
    announced = request.headers.get("content-length", "")[:20]  # int() refuses very long numbers
    if announced.isascii() and announced.isdigit() and int(announced) > limit:
        raise too_large
    pieces, size, is_complete = [], 0, False
    while not is_complete:
        message = await request.receive()  # not `stream()`, which costs more than a small body
        if message["type"] == "http.disconnect":
            raise HTTPException(400, "the client disconnected before the end of the body")
        is_complete = not message.get("more_body", False)
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > limit:
            raise too_large
    return b"".join(pieces)
