"""Running the service: the application with its errors and limits, sources and webhooks."""

from __future__ import annotations

import logging
import math
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from watchword.errors import (
    BusyError,
    MissingExtraError,
    StoreError,
    StoreUnavailableError,
    UnknownAlertError,
    WatchwordError,
)
from watchword.service.logs import logger, say
from watchword.service.monitoring import Metrics, Readiness
from watchword.service.records import MOST_CONNECTIONS, json_of
from watchword.service.sources import PostSource, Sources
from watchword.service.store import patiently

try:
    from anyio import to_thread
    from starlette.applications import Starlette
    from starlette.convertors import StringConvertor, register_url_convertor
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send

    from watchword.service.bodies import JSON
    from watchword.service.operations import Call, Operation, call_of
    from watchword.service.routes import OPERATIONS, ServiceHandlers
    from watchword.service.routes import RequestLimits as RequestLimits
    from watchword.service.tokens import (
        SCOPES,
        Keyring,
        Places,
        RateLimits,
        TokenGuard,
        add_token,
        failed_login,
        holder_of,
        remove_token,
        tokens_of_earlier_versions,
    )
    from watchword.service.webhooks import Dispatcher
    from watchword.web.answers import json_response
    from watchword.web.connections import ConnectionLimits
    from watchword.web.listening import (
        is_own_machine,
        listening,
        run_until_interrupted,
        running_in_thread,
        url_of,
    )
except ImportError as error:
    raise MissingExtraError.of("service", "the service needs Starlette and uvicorn") from error

if TYPE_CHECKING:
    from watchword.service.runner import Service


_Endpoint = Callable[[Request], Awaitable[Response]]


class _Anything(StringConvertor):
    regex = "(?s:.*)"


register_url_convertor("anything", _Anything())


def make_app(
    handlers: ServiceHandlers,
    *,
    keyring: Keyring | None,
    host: str = "127.0.0.1",
    public_url: str | None = None,
) -> ASGIApp:
    """Return the application of a service, for a server listening on a host.

    Without a keyring, anyone on this machine may do everything.
    """
    rates = RateLimits(handlers.limits.rate)
    places = Places(handlers.limits.at_once, handlers.limits.waiting)
    endpoints = [(one, _endpoint(one, handlers, rates, places)) for one in OPERATIONS]
    app = _Application(endpoints)
    return TokenGuard(app, host=host, keyring=keyring, public_url=public_url)


class _Application(Starlette):
    """Finds the endpoint of a request.

    Where the path alone says which one it is, this bypasses Starlette's layers: they take as long
    as reading a post.
    """

    def __init__(self, endpoints: Sequence[tuple[Operation, _Endpoint]]) -> None:
        super().__init__(
            routes=[Route(one.route, answer, methods=[one.method]) for one, answer in endpoints],
            exception_handlers={HTTPException: _as_json, Exception: _as_json},
        )
        self.router.redirect_slashes = False
        direct = [pair for pair in endpoints if "{" not in pair[0].path]
        self._by_path = {(one.method, one.path): answer for one, answer in direct}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        answer = self._by_path.get((scope["method"], scope["path"]))
        if answer is None:
            await super().__call__(scope, receive, send)
        else:
            response = await answer(Request(scope, receive, send))
            await response(scope, receive, send)


def _endpoint(
    operation: Operation, handlers: ServiceHandlers, rates: RateLimits, places: Places
) -> _Endpoint:
    """Return the endpoint of an operation: checks the token, counts, and answers errors, too."""
    handler = getattr(handlers, operation.name)

    async def response_to(call: Call) -> Response:
        if iscoroutinefunction(handler):
            return _as_response(await handler(call))
        run = partial(
            to_thread.run_sync,
            lambda: _as_response(handler(call)),
            limiter=getattr(handlers, operation.threads),
        )
        if operation.threads == "probes":
            return await run()
        async with places.taken(call.sender or ""):
            return await run()

    async def answer(request: Request) -> Response:
        began = time.perf_counter()
        sender: str | None = None
        try:
            if operation.scope is not None:
                sender = holder_of(request, operation.scope).name
                rates.take(sender)
            call = await call_of(operation, request, sender)
            response = await response_to(call)
        except Exception as error:
            response = _refusal(error, operation)
        seconds = time.perf_counter() - began
        status, labels = response.status_code, {"route": operation.path, "method": operation.method}
        handlers.metrics.add("http_requests", "Answered requests.", **labels, status=str(status))
        handlers.metrics.observe(seconds, **labels)
        if status == 401:
            say("login failed", level=logging.WARNING, **labels, **failed_login(request))
        level = logging.DEBUG if status < 400 else logging.INFO
        if logger.isEnabledFor(level):
            fields = {**labels, "status": status, "seconds": round(seconds, 6), "token": sender}
            say("request", level=level, **fields)
        return response

    return answer


def _as_response(found: Any) -> Response:
    if isinstance(found, Response):
        return found
    return Response(json_of(found), media_type=JSON)


def _refusal(error: Exception, operation: Operation | None = None) -> Response:
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


#: A service has more clients than a page, and answers after commits.
CONNECTIONS = ConnectionLimits(connections=MOST_CONNECTIONS, header_timeout=60.0)
_GRACE = 10.0  # seconds for requests in progress, which wait for commits


@dataclass(frozen=True)
class HttpSettings:
    """How a service takes requests.

    Parameters
    ----------
    host
        address of the listener; one that other machines can reach needs tokens.
    open_to_all_users
        require no tokens: every user of this machine may do everything.
    limits
        limits on requests.
    connections
        limits on connections.
    public_url
        address of a reverse proxy in front of the service, which needs tokens then.
    delivers
        whether this process sends alerts to webhooks; one process of a store is enough.
    """

    host: str = "127.0.0.1"
    open_to_all_users: bool = False
    limits: RequestLimits = field(default_factory=RequestLimits)
    connections: ConnectionLimits = CONNECTIONS
    public_url: str | None = None
    delivers: bool = True

    def __post_init__(self) -> None:
        if self.public_url is not None:
            parts = urlsplit(self.public_url)
            if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
                raise ValueError(
                    f"{self.public_url!r} must be like https://watch.example.org, without a path"
                )
            if self.open_to_all_users:
                raise ValueError(
                    f"{self.public_url} can be reached by other machines: tokens are required"
                )
        if self.open_to_all_users and not is_own_machine(self.host):
            raise ValueError(f"{self.host} can be reached by other machines: tokens are required")


@contextmanager
def opened_app(
    service: Service, settings: HttpSettings, sources: Sequence[PostSource] = ()
) -> Iterator[tuple[ASGIApp, ServiceHandlers, Sources]]:
    """Run sources and webhooks as long as the context lasts; yield the application with them."""
    metrics = Metrics()
    with ExitStack() as stack:
        keyring = None
        if not settings.open_to_all_users:
            keyring = stack.enter_context(patiently(lambda: Keyring(service.store)))
            if keyring.is_empty:
                say("no tokens: every request is refused (watchword service token add)")
            if outdated := tokens_of_earlier_versions(service.store):
                say(
                    "tokens with the former scope write may only feed posts: "
                    "add tokens with the scope mark for people who mark alerts",
                    level=logging.WARNING,
                    tokens=outdated,
                )
        if settings.delivers:
            bodies = Dispatcher(service.store, lambda one: _body(service, one), metrics=metrics)
            stack.enter_context(bodies)
            stack.callback(service.listen(lambda _: bodies.wake()))
        running = stack.enter_context(Sources(service, sources, metrics=metrics))
        readiness = stack.enter_context(Readiness(service, running, metrics))
        handlers = ServiceHandlers(
            service,
            metrics=metrics,
            readiness=readiness,
            limits=settings.limits,
            connections=settings.connections.affordable,
        )
        app = make_app(
            handlers, keyring=keyring, host=settings.host, public_url=settings.public_url
        )
        yield app, handlers, running


def _body(service: Service, alert: int) -> bytes | None:
    """Return an alert as JSON; None if it has been forgotten."""
    try:
        return json_of(service.alert(alert))
    except UnknownAlertError:
        return None


def serve_until_interrupted(
    service: Service,
    listener: socket.socket,
    settings: HttpSettings,
    *,
    sources: Sequence[PostSource] = (),
    on_ready: Callable[[], None] | None = None,
    until_sources_end: bool = False,
) -> None:
    """Answer requests and read sources until Ctrl-C or SIGTERM, then stop gracefully.

    The listener closes first, requests in progress are answered, sources end after the batch that
    they have handed over. With `until_sources_end`, stop when all sources have been read, and raise
    `SourceError` if one of them failed.
    """
    with opened_app(service, settings, sources) as (app, handlers, running):
        if on_ready is not None:
            on_ready()
        say("service started", url=url_of(listener))

        def stop() -> None:
            say("service stopping")
            handlers.stop()

        limits = settings.connections
        if until_sources_end:
            with running_in_thread(app, listener, limits=limits, grace=_GRACE, on_stop=stop):
                running.wait()
            running.raise_failure()
            return
        run_until_interrupted(app, listener, limits=limits, grace=_GRACE, on_stop=stop)


@dataclass(frozen=True)
class RunningService:
    """The URL of a running service, and a token with all scopes, if tokens are required."""

    url: str
    token: str | None = field(repr=False)


@contextmanager
def running_service(
    service: Service,
    *,
    port: int = 0,
    open_to_all_users: bool = False,
    sources: Sequence[PostSource] = (),
    **settings: Any,
) -> Iterator[RunningService]:
    """Answer requests in a background thread as long as the context lasts, on this machine only.

    For notebooks and tests, as `running_page` of the live page and `running_server` of the practice
    server; the command uses `serve_until_interrupted`.

    Without `open_to_all_users`, a token with all scopes is made, and removed at the end.
    """
    own = HttpSettings(open_to_all_users=open_to_all_users, **settings)
    name = f"running-{secrets.token_hex(4)}"
    token = None if open_to_all_users else add_token(service.store, name, SCOPES)
    try:
        with (
            opened_app(service, own, sources) as (app, handlers, _),
            listening(own.host, port) as listener,
            running_in_thread(app, listener, limits=own.connections, on_stop=handlers.stop),
        ):
            yield RunningService(url_of(listener), token)
    finally:
        if token is not None:
            remove_token(service.store, name)
