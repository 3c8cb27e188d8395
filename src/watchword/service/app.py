"""The service as an application: routes, errors and limits around its operations."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchword.errors import (
    BusyError,
    MissingExtraError,
    StoreError,
    StoreUnavailableError,
    UnknownAlertError,
)
from watchword.service.choices import BODY_LIMIT, RATE
from watchword.service.logs import logger, say
from watchword.service.metrics import Metrics
from watchword.service.operations import OPERATIONS, Operation

try:
    from starlette.applications import Starlette
    from starlette.convertors import StringConvertor, register_url_convertor
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp

    from watchword.service.guard import RateLimits, TokenGuard, holder_of
    from watchword.service.routes import Door
    from watchword.service.tokens import Holder
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
    answers = _Answers(RateLimits(rate), door.metrics)
    app = Starlette(
        routes=[
            Route(one.route, answers.endpoint(one, getattr(door, one.name)), methods=[one.method])
            for one in OPERATIONS
        ],
        exception_handlers={HTTPException: _as_json, Exception: _as_json},
    )
    app.router.redirect_slashes = False
    return TokenGuard(app, host=host, keyring=keyring, public_url=public_url)


Handler = Callable[[Request, Holder | None], Awaitable[Response]]


class _Answers:
    """Wraps handlers: checks the token, counts, and turns errors into answers."""

    def __init__(self, rates: RateLimits, metrics: Metrics) -> None:
        self._rates = rates
        self._metrics = metrics

    def endpoint(
        self, operation: Operation, handler: Handler
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint of an operation."""

        async def answer(request: Request) -> Response:
            began = time.perf_counter()
            holder: Holder | None = None
            try:
                if operation.scope is not None:
                    holder = holder_of(request, operation.scope)
                    self._rates.take(holder.name)
                _check_query(operation, request)
                response = await handler(request, holder)
            except Exception as error:
                response = _refusal(error)
            seconds = time.perf_counter() - began
            self._note(operation, holder, response.status_code, seconds)
            return response

        return answer

    def _note(
        self, operation: Operation, holder: Holder | None, status: int, seconds: float
    ) -> None:
        labels = {"route": operation.path, "method": operation.method}
        self._metrics.add("http_requests", _REQUESTS, 1, **labels, status=str(status))
        self._metrics.observe(seconds, **labels)
        level = logging.DEBUG if status < 400 else logging.INFO
        if logger.isEnabledFor(level):
            by = None if holder is None else holder.name
            fields = {**labels, "status": status, "seconds": round(seconds, 6), "token": by}
            say("request", level=level, **fields)


def _check_query(operation: Operation, request: Request) -> None:
    """Refuse parameters that the operation does not have: they may be misspelt."""
    for name in request.query_params:
        if name not in operation.query:
            known = ", ".join(operation.query) or "none"
            raise HTTPException(400, f"unknown parameter {name[:100]!r} (known: {known})")


def _refusal(error: Exception) -> Response:
    """Return the answer to a request that failed."""
    if isinstance(error, HTTPException):
        detail: Any = error.detail
        plain = detail if isinstance(detail, dict) else {"error": detail}
        return json_response(plain, error.status_code, error.headers)
    if isinstance(error, BusyError):
        return json_response({"error": str(error)}, 429, _retry(error.retry_after))
    if isinstance(error, StoreUnavailableError):
        return json_response({"error": str(error)}, 503, _retry(error.retry_after))
    if isinstance(error, StoreError):
        say("store failed", level=logging.ERROR, reason=str(error))
        return json_response({"error": str(error)}, 503, _retry(5.0))
    if isinstance(error, UnknownAlertError):
        return json_response({"error": str(error)}, 404)
    logger.error("request failed", exc_info=error)
    return json_response({"error": "internal error: see the service's log"}, 500)


def _retry(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}


async def _as_json(_request: Request, error: Exception) -> Response:
    return _refusal(error)
