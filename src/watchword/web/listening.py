"""Servers: an application on a port, until interrupted or in a thread."""

from __future__ import annotations

import asyncio
import errno
import html
import ipaddress
import logging
import os
import re
import secrets
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from watchword.errors import MissingExtraError

try:
    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send

    from watchword.web.connections import ConnectionLimits, LimitedProtocol
except ImportError as error:
    raise MissingExtraError.of("web", "a server needs Starlette and uvicorn") from error


EXPOSED_TOKEN_LENGTH = 16  # minimum length where other machines can connect
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{8,200}")
_QUEUE = 1024  # connections that the system queues until they are accepted
_GRACE = 1.0  # seconds for the last requests at shutdown
_logger = logging.getLogger("watchword.server")


def is_own_machine(host: str) -> bool:
    """Return whether a host is reachable only from this machine.

    >>> [is_own_machine(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0")]
    [True, True, True, False]
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def new_token() -> str:
    """Return a random access token.

    It is hexadecimal because tokens are also command-line arguments, where a leading dash would
    make an option.

    >>> len(new_token())
    32
    """
    return secrets.token_hex(16)


def as_token(token: str, host: str) -> str:
    """Return the token if it fits into a URL and is long enough for a server on this host.

    >>> as_token("practice", "127.0.0.1")
    'practice'
    >>> as_token("practice", "0.0.0.0")
    Traceback (most recent call last):
    ...
    ValueError: token must have at least 16 characters on 0.0.0.0, which other machines can reach
    """
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise ValueError("token must be 8 to 200 letters, digits or any of . _ ~ -")
    if len(token) < EXPOSED_TOKEN_LENGTH and not is_own_machine(host):
        raise ValueError(
            f"token must have at least {EXPOSED_TOKEN_LENGTH} characters on {host}, "
            "which other machines can reach"
        )
    return token


def listening(host: str, port: int) -> closing[socket.socket]:
    """Listen on a port; 0 is any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
        # Connections inherit it; asyncio sets it only where the protocol is named. Without it, the
        # body of a response waits until the client has acknowledged the header, up to 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return closing(listener)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        message = f"port {port} on {host} is in use: choose another, or 0 for any free port"
        raise OSError(error.errno, message) from None


def url_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # all interfaces, including loopback  # noqa: S104
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def way_to(url: str) -> Iterator[str]:
    """Yield the URL of a temporary file that redirects to a page.

    All users of a machine can see the arguments of a process, so the token must not be among the
    browser's; only its owner can read the file.
    """
    handle, name = tempfile.mkstemp(prefix="watchword-", suffix=".html")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            target = html.escape(url)
            file.write('<!doctype html>\n<meta charset="utf-8">\n<title>watchword</title>\n')
            file.write(f'<meta http-equiv="refresh" content="0; url={target}">\n')
            file.write(f'<p><a href="{target}">Open the page</a></p>\n')
        yield Path(name).as_uri()
    finally:
        Path(name).unlink(missing_ok=True)


def run_until_interrupted(
    app: ASGIApp,
    listener: socket.socket,
    *,
    protocol: type[LimitedProtocol] = LimitedProtocol,
    limits: ConnectionLimits | None = None,
    grace: float = _GRACE,
    on_stop: Callable[[], None] | None = None,
) -> None:
    """Serve until Ctrl-C.

    Then `on_stop` is called, and requests in progress have `grace` seconds to be answered.
    """
    try:
        _QuietServer(app, protocol, limits, grace, on_stop).run([listener])
    except KeyboardInterrupt:  # uvicorn has shut down and raises it again
        return


@contextmanager
def running_in_thread(
    app: ASGIApp,
    listener: socket.socket,
    *,
    protocol: type[LimitedProtocol] = LimitedProtocol,
    limits: ConnectionLimits | None = None,
    grace: float = _GRACE,
    on_stop: Callable[[], None] | None = None,
) -> Iterator[None]:
    """Serve as long as the context lasts; see `run_until_interrupted`."""
    server = _QuietServer(app, protocol, limits, grace, on_stop)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


class _QuietServer(uvicorn.Server):
    """uvicorn's server, without tracebacks for problems that are not bugs."""

    _told = False

    def __init__(
        self,
        app: ASGIApp,
        protocol: type[LimitedProtocol],
        limits: ConnectionLimits | None,
        grace: float,
        on_stop: Callable[[], None] | None,
    ) -> None:
        limits = ConnectionLimits() if limits is None else limits
        http: Any = partial(protocol, limits=limits)
        config = uvicorn.Config(
            _cancellable(app),
            http=http,
            ws="none",
            lifespan="off",
            access_log=False,  # URLs may contain the token
            log_config=None,
            log_level="error",  # clients that do not speak HTTP are not worth a warning
            proxy_headers=False,
            server_header=False,
            backlog=limits.backlog,
            timeout_graceful_shutdown=int(grace) + 4,  # for what cannot be cancelled
        )
        super().__init__(config)
        self._grace = grace
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._handle)
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_QUEUE)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._on_stop is not None:
            self._on_stop()
        # uvicorn would log cancelled requests as errors.
        asyncio.get_running_loop().call_later(self._grace, self._cancel)
        await super().shutdown(sockets)
        self._cancel()  # after a second Ctrl-C, uvicorn does not wait
        await asyncio.sleep(0)

    def _cancel(self) -> None:
        for connection in list(self.server_state.connections):
            if isinstance(connection, LimitedProtocol):
                connection.drop()
        for task in list(self.server_state.tasks):
            task.cancel()

    def _handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of the event loop; warn only once about too many open files."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif not self._told:
            self._told = True
            _logger.warning("new connections have to wait: %s", error.strerror)


def _cancellable(app: ASGIApp) -> ASGIApp:
    """Wrap an application so that cancelled requests leave no traceback."""

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            return  # only at shutdown, after the connection was closed

    return run
