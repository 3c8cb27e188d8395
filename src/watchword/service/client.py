"""Requests of commands to a running service."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from watchword.errors import WatchwordError

_TIMEOUT = 600.0  # loading or replaying a large model takes a while


class RequestError(WatchwordError):
    """A running service could not be reached, or refused a request."""


def request(
    url: str, method: str, path: str, *, token: str | None, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Send a request to a service and return its answer; raise `RequestError` if it refuses."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host:
        raise RequestError(f"{url!r} is not like http://127.0.0.1:8000")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    sent = None if body is None else json.dumps(body).encode()
    try:
        with closing(kind(host, port, timeout=_TIMEOUT)) as connection:
            connection.request(method, parts.path.rstrip("/") + path, sent, headers)
            answer = connection.getresponse()
            content = answer.read()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise RequestError(f"no service responds at {url}: {error}") from None
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise RequestError(f"{url} is not a watchword service (status {answer.status})")
    if answer.status >= 400:
        reason = found.get("error", f"status {answer.status}")
        raise RequestError(f"the service refused the request: {reason}")
    return found
