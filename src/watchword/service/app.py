"""The service as an application: routes, errors and limits around its operations."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from watchword.errors import (
    BusyError,
    MissingExtraError,
    StoreError,
    StoreUnavailableError,
    UnknownAlertError,
    WatchwordError,
)
from watchword.service.choices import BODY_LIMIT, RATE
from watchword.service.logs import logger, say
from watchword.service.operations import OPERATIONS, Operation
from watchword.service.records import plain

try:
    from anyio import to_thread
    from starlette.applications import Starlette
    from starlette.convertors import StringConvertor, register_url_convertor
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp

    from watchword.service.guard import RateLimits, TokenGuard, holder_of
    from watchword.service.requests import call_of
    from watchword.service.routes import Door
    from watchword.web.answers import json_response
except ImportError as error:
    raise MissingExtraError.of("service", "the service needs Starlette and uvicorn") from error

if TYPE_CHECKING:
    from watchword.service.tokens import Keyring

_REQUESTS = "Answered requests."


class _Anything(StringConvertor):
    regex = "(?s:.*)"


register_url_convertor("anything", _Anything())


@dataclass(frozen=True)
class DoorLimits:
    """Limits on requests.

    Parameters
    ----------
    body
        largest body, in bytes.
    posts
        largest number of posts in one request.
    rate
        requests per second with one token; twice as many at once.
    """

    body: int = BODY_LIMIT
    posts: int = 10_000
    rate: float = RATE


def make_app(
    door: Door,
    *,
    keyring: Keyring | None,
    host: str = "127.0.0.1",
    rate: float = DoorLimits.rate,
    public_url: str | None = None,
) -> ASGIApp:
    """Return the application of a service, for a server listening on a host.

    Without a keyring, anyone on this machine may do everything. `rate` is a number of requests per
    second with one token.
    """
    rates = RateLimits(rate)
    app = Starlette(
        routes=[
            Route(one.route, _endpoint(one, door, rates), methods=[one.method])
            for one in OPERATIONS
        ],
        exception_handlers={HTTPException: _as_json, Exception: _as_json},
    )
    app.router.redirect_slashes = False
    return TokenGuard(app, host=host, keyring=keyring, public_url=public_url)


def _endpoint(
    operation: Operation, door: Door, rates: RateLimits
) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of an operation: checks the token, counts, and answers errors, too."""
    handler = getattr(door, operation.name)

    async def answer(request: Request) -> Response:
        began = time.perf_counter()
        sender: str | None = None
        try:
            if operation.scope is not None:
                sender = holder_of(request, operation.scope).name
                rates.take(sender)
            call = await call_of(operation, request, sender)
            if iscoroutinefunction(handler):
                response = _as_response(await handler(call))
            else:
                response = await to_thread.run_sync(lambda: _as_response(handler(call)))
        except Exception as error:
            response = _refusal(error, operation)
        seconds = time.perf_counter() - began
        status, labels = response.status_code, {"route": operation.path, "method": operation.method}
        door.metrics.add("http_requests", _REQUESTS, 1, **labels, status=str(status))
        door.metrics.observe(seconds, **labels)
        level = logging.DEBUG if status < 400 else logging.INFO
        if logger.isEnabledFor(level):
            fields = {**labels, "status": status, "seconds": round(seconds, 6), "token": sender}
            say("request", level=level, **fields)
        return response

    return answer


def _as_response(found: Any) -> Response:
    return found if isinstance(found, Response) else json_response(plain(found))


def _refusal(error: Exception, operation: Operation | None = None) -> Response:
    """Return the answer to a request that failed."""
    if isinstance(error, HTTPException):
        detail: Any = error.detail
        told = detail if isinstance(detail, dict) else {"error": detail}
        return json_response(told, error.status_code, error.headers)
    message = {"error": str(error)}
    if isinstance(error, BusyError):
        return json_response(message, 429, _retry(error.retry_after))
    if isinstance(error, StoreUnavailableError):
        return json_response(message, 503, _retry(error.retry_after))
    if isinstance(error, UnknownAlertError):
        return json_response(message, 404)
    can_be_refused = operation is not None and operation.may_conflict and operation.method != "GET"
    if can_be_refused and isinstance(error, WatchwordError | ValueError | OSError):
        return json_response(message, 409)
    if isinstance(error, StoreError):
        say("store failed", level=logging.ERROR, reason=str(error))
        return json_response(message, 503, _retry(5.0))
    logger.error("request failed", exc_info=error)
    return json_response({"error": "internal error: see the service's log"}, 500)


def _retry(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}


async def _as_json(_request: Request, error: Exception) -> Response:
    return _refusal(error)
