"""Middleware of the practice server that injects faults."""

from __future__ import annotations

import asyncio
import random

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from watchword.erisk.faults import KINDS, Faults
from watchword.web.connections import LimitedProtocol

LAGGING = "watchword.lagging"  # in the scope of a request: give the old round again
_CONNECTION = "watchword.connection"  # in the state of a request: its transport


class DroppableProtocol(LimitedProtocol):
    """The HTTP protocol of the servers, whose requests know the connection to close."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Add a connection to the state of its requests."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, _CONNECTION: self.transport}


class FaultInjection:
    """Middleware that makes some requests fail before, while or after they are handled."""

    def __init__(self, app: ASGIApp, faults: Faults) -> None:
        self._app = app
        self._faults = faults
        self._random = random.Random(faults.seed)  # noqa: S311

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
        else:
            await self._app({**scope, LAGGING: kind == "lag"}, receive, send)

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
