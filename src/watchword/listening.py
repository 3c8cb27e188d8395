"""Listening: an application on a port, until it is interrupted or in a thread of its own."""

from __future__ import annotations

import errno
import html
import ipaddress
import os
import secrets
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from watchword.errors import MissingExtraError

try:
    import uvicorn
    from starlette.types import ASGIApp
except ImportError as error:
    raise MissingExtraError(
        "a server needs Starlette and uvicorn: pip install 'watchword[web]'"
    ) from error


def is_own_machine(host: str) -> bool:
    """Whether only this machine can reach what listens there.

    >>> [is_own_machine(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0")]
    [True, True, True, False]
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def new_token() -> str:
    """A word that only those know who are told.

    Hexadecimal, because it is passed on as an argument of commands too, where a word that begins
    with a dash would be an option.

    >>> len(new_token())
    32
    """
    return secrets.token_hex(16)


def listening(host: str, port: int) -> closing[socket.socket]:
    """Take a port; 0 is any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return closing(socket.create_server((host, port), family=family))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        told = f"port {port} of {host} is in use: take another, or 0 for any free one"
        raise OSError(error.errno, told) from None


def url_of(listener: socket.socket) -> str:
    """Where something listens, as an address to open."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # everywhere, so here, too  # noqa: S104
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def way_to(url: str) -> Iterator[str]:
    """The address of a file that leads to a page, as long as the context lasts.

    All users of a machine see what a browser is started with, so a token must not be there; the
    file only its owner can read.
    """
    handle, name = tempfile.mkstemp(prefix="watchword-", suffix=".html")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            target = html.escape(url)
            file.write('<!doctype html>\n<meta charset="utf-8">\n<title>watchword</title>\n')
            file.write(f'<meta http-equiv="refresh" content="0; url={target}">\n')
            file.write(f'<p><a href="{target}">To the page</a></p>\n')
        yield Path(name).as_uri()
    finally:
        Path(name).unlink(missing_ok=True)


def run_until_interrupted(app: ASGIApp, listener: socket.socket, *, http: Any = "h11") -> None:
    """Answer until Ctrl-C; `http` is the protocol that uvicorn speaks."""
    try:
        uvicorn.Server(_settings(app, http)).run([listener])
    except KeyboardInterrupt:  # uvicorn has closed everything and passes it on
        return


@contextmanager
def running_in_thread(
    app: ASGIApp, listener: socket.socket, *, http: Any = "h11"
) -> Iterator[None]:
    """Answer as long as the context lasts."""
    server = uvicorn.Server(_settings(app, http))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _settings(app: ASGIApp, http: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=http,
        ws="none",
        lifespan="off",
        access_log=False,  # addresses may hold the token
        log_config=None,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
