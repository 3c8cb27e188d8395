"""Requests of commands to a running service."""

from __future__ import annotations

import json
from typing import Any

from watchword.errors import MissingExtraError, WatchwordError

try:
    import httpx
except ImportError as error:
    raise MissingExtraError.of("service", "requests to the service need httpx") from error

_TIMEOUT = 600.0  # loading or replaying a large model takes a while


class RequestError(WatchwordError):
    """A running service could not be reached, or refused a request."""


def request(
    url: str, method: str, path: str, *, token: str | None, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Send a request to a service and return its answer; raise `RequestError` if it refuses."""
    try:
        base = httpx.URL(url)
    except httpx.InvalidURL:
        base = httpx.URL("")
    if base.scheme not in ("http", "https") or not base.host:
        raise RequestError(f"{url!r} is not like http://127.0.0.1:8000")
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    content = None if body is None else json.dumps(body).encode()
    try:
        with httpx.Client(timeout=_TIMEOUT, trust_env=False) as client:
            target = url.rstrip("/") + path
            answer = client.request(method, target, content=content, headers=headers)
    except (OSError, ValueError, httpx.HTTPError) as error:
        raise RequestError(f"no service responds at {url}: {error}") from None
    try:
        found = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise RequestError(f"{url} is not a watchword service (status {answer.status_code})")
    if answer.status_code >= 400:
        reason = found.get("error", f"status {answer.status_code}")
        raise RequestError(f"the service refused the request: {reason}")
    return found
