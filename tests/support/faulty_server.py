"""A practice server that makes some requests fail before, while or after they are handled."""

import asyncio
import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from watchword.erisk.server import PracticeServer, make_app
from watchword.web.connections import LimitedProtocol
from watchword.web.listening import listening, running_in_thread, url_of


@dataclass(frozen=True)
class Faults:
    """The probability of each fault per request.

    >>> Faults(drop=0.1, error=0.2, seed=7).error
    0.2
    """

    drop: float = 0.0  #: close the connection before the request is read
    lose: float = 0.0  #: handle the request, but close the connection before the response
    cut: float = 0.0  #: handle the request; send half of the response
    error: float = 0.0  #: status 500; the request is not handled
    busy: float = 0.0  #: status 503 with `Retry-After: 1`; the request is not handled
    garbage: float = 0.0  #: an HTML page with status 200 instead of a round
    lag: float = 0.0  #: send a round that all runs have answered once more
    slow: float = 0.0  #: handle the request at once, but respond `delay` seconds later
    delay: float = 5.0  #: delay of slow responses, in seconds
    seed: int = 0  #: random seed

    def __post_init__(self) -> None:
        assert sum(getattr(self, name) for name in KINDS) <= 1


KINDS: tuple[str, ...] = tuple(
    each.name for each in fields(Faults) if each.name not in ("delay", "seed")
)

_CONNECTION = "watchword.connection"  # in the state of a request: its transport


class DroppableProtocol(LimitedProtocol):
    """The HTTP protocol of the servers, whose requests know the connection to close."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Add a connection to the state of its requests."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, _CONNECTION: self.transport}


class FaultInjection:
    """Middleware that makes some requests fail before, while or after they are handled."""

    def __init__(self, app: Starlette, faults: Faults) -> None:
        self._app = app
        self._faults = faults
        self._random = random.Random(faults.seed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, with a fault drawn at random."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        kind = self._draw()
        if kind in ("drop", "error", "busy"):
            await self._refuse(kind, scope, receive, send)
        elif kind in ("lose", "cut", "garbage", "slow"):
            await self._spoil(kind, scope, receive, send)
        elif kind == "lag" and scope["method"] == "GET":
            messages = self._app.state.task.messages(lagging=True)
            await JSONResponse(messages)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _draw(self) -> str | None:
        drawn = self._random.random()
        for kind in KINDS:
            drawn -= getattr(self._faults, kind)
            if drawn < 0:
                return kind
        return None

    async def _refuse(self, kind: str, scope: Scope, receive: Receive, send: Send) -> None:
        if kind == "drop" and await _close(scope, receive):
            return
        status = 500 if kind == "error" else 503
        headers = {"retry-after": "1"} if kind == "busy" else {}
        response = Response("Something went wrong, on purpose.", status, headers)
        await response(scope, receive, send)

    async def _spoil(self, kind: str, scope: Scope, receive: Receive, send: Send) -> None:
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, keep)
        body = b"".join(each.get("body", b"") for each in messages)
        if kind == "slow":
            await asyncio.sleep(self._faults.delay)
        elif kind == "garbage" and scope["method"] == "GET":
            page = Response("<p>Maintenance</p>", headers={"content-type": "text/html"})
            await page(scope, receive, send)
            return
        if kind in ("slow", "garbage"):
            for message in messages:
                await send(message)
            return
        if kind == "cut":
            await send(messages[0])
            half = body[: len(body) // 2]
            await send({"type": "http.response.body", "body": half, "more_body": True})
        await _close(scope, receive)


async def _close(scope: Scope, receive: Receive) -> bool:
    """Close the connection after the data already sent; return False if it is unknown."""
    transport = scope.get("state", {}).get(_CONNECTION)
    if transport is None:
        return False
    transport.close()
    while (await receive())["type"] != "http.disconnect":
        pass
    return True


@contextlib.contextmanager
def running_faulty_server(
    subjects: Any, faults: Faults, *, token: str = "a-token-of-some-length", **options: Any
) -> Iterator[PracticeServer]:
    """Run a practice server with faults in a background thread; options are those of `make_app`."""
    app = make_app(subjects, token=token, **options)
    injecting = FaultInjection(app, faults)
    with (
        listening("127.0.0.1", 0) as listener,
        running_in_thread(injecting, listener, protocol=DroppableProtocol),
    ):
        yield PracticeServer(url_of(listener), token, app.state.task)
