"""Running the service: HTTP server, sources and webhooks around a `Service`."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from watchword.errors import UnknownAlertError
from watchword.service.app import DoorLimits, make_app
from watchword.service.choices import MOST_CONNECTIONS
from watchword.service.logs import say
from watchword.service.metrics import Metrics
from watchword.service.records import plain
from watchword.service.routes import Door
from watchword.service.sources import Source, Sources
from watchword.service.tokens import SCOPES, Keyring, add_token, remove_token
from watchword.service.webhooks import Dispatcher
from watchword.web.connections import Limits
from watchword.web.listening import (
    is_own_machine,
    listening,
    run_until_interrupted,
    running_in_thread,
    url_of,
)
from watchword.web.wire import to_json

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from watchword.service.runner import Service

#: A service has more clients than a page, and answers after commits.
CONNECTIONS = Limits(connections=MOST_CONNECTIONS, header_timeout=60.0)
_GRACE = 10.0  # seconds for requests in progress, which wait for commits


@dataclass(frozen=True)
class DoorSettings:
    """How the door of a service is set up.

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
    limits: DoorLimits = field(default_factory=DoorLimits)
    connections: Limits = CONNECTIONS
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


@dataclass(frozen=True)
class OpenDoor:
    """The application of a service, and the function that ends its streams of events."""

    app: ASGIApp
    sources: Sources
    stop: Callable[[], None]


@contextmanager
def opened_door(
    service: Service, settings: DoorSettings, sources: Sequence[Source] = ()
) -> Iterator[OpenDoor]:
    """Run sources and webhooks, and yield the application, as long as the context lasts."""
    metrics = Metrics()
    with ExitStack() as stack:
        keyring = None
        if not settings.open_to_all_users:
            keyring = stack.enter_context(Keyring(service.store))
            if keyring.is_empty:
                say("no tokens: every request is refused (watchword service token add)")
        if settings.delivers:
            bodies = Dispatcher(service.store, lambda one: _body(service, one), metrics=metrics)
            stack.enter_context(bodies)
            stack.callback(service.listen(lambda _: bodies.wake()))
        running = stack.enter_context(Sources(service, sources, metrics=metrics))
        limits = settings.limits
        door = Door(
            service,
            metrics=metrics,
            sources=running,
            body_limit=limits.body,
            most_posts=limits.posts,
        )
        app = make_app(
            door,
            keyring=keyring,
            host=settings.host,
            rate=limits.rate,
            public_url=settings.public_url,
        )
        yield OpenDoor(app, running, door.stop)


def _body(service: Service, alert: int) -> bytes | None:
    """Return an alert as JSON; None if it has been forgotten."""
    try:
        return to_json(plain(service.alert(alert)))
    except UnknownAlertError:
        return None


def serve_until_interrupted(
    service: Service,
    listener: socket.socket,
    settings: DoorSettings,
    *,
    sources: Sequence[Source] = (),
    on_ready: Callable[[], None] | None = None,
    until_sources_end: bool = False,
) -> None:
    """Answer requests and read sources until Ctrl-C or SIGTERM, then stop gracefully.

    The listener closes first, requests in progress are answered, sources end after the batch that
    they have handed over. With `until_sources_end`, stop when all sources have been read, and raise
    `SourceError` if one of them failed.
    """
    with opened_door(service, settings, sources) as door:
        if on_ready is not None:
            on_ready()
        say("service started", url=url_of(listener))

        def stop() -> None:
            say("service stopping")
            door.stop()

        limits = settings.connections
        if until_sources_end:
            with running_in_thread(door.app, listener, limits=limits, grace=_GRACE, on_stop=stop):
                door.sources.wait()
            door.sources.raise_failure()
            return
        run_until_interrupted(door.app, listener, limits=limits, grace=_GRACE, on_stop=stop)


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
    sources: Sequence[Source] = (),
    **settings: Any,
) -> Iterator[RunningService]:
    """Answer requests in a background thread as long as the context lasts, on this machine only.

    For notebooks and tests, as `running_page` of the live page and `running_server` of the practice
    server; the command uses `serve_until_interrupted`.

    Without `open_to_all_users`, a token with all scopes is made, and removed at the end.
    """
    own = DoorSettings(open_to_all_users=open_to_all_users, **settings)
    name = f"running-{secrets.token_hex(4)}"
    token = None if open_to_all_users else add_token(service.store, name, SCOPES)
    try:
        with (
            opened_door(service, own, sources) as door,
            listening(own.host, port) as listener,
            running_in_thread(door.app, listener, limits=own.connections, on_stop=door.stop),
        ):
            yield RunningService(url_of(listener), token)
    finally:
        if token is not None:
            remove_token(service.store, name)
