"""Access control of the service: tokens with scopes, and a limit of requests per token."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from watchword.service.tokens import ANYONE, Holder, Keyring, allowed
from watchword.web.guard import OriginGuard, bearer_in, cookie_in, cookie_of, token_in_url, welcome

if TYPE_CHECKING:
    from starlette.requests import Request

_ASK = "watchword.holder"  # a function that returns the holder of the token as of now
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


class TokenGuard(OriginGuard):
    """Middleware that finds the holder of a request's token; routes check its scopes.

    Without a keyring anybody on this machine may do everything.
    """

    def __init__(
        self, app: ASGIApp, *, host: str, keyring: Keyring | None, public_url: str | None = None
    ) -> None:
        super().__init__(app, host=host, public_url=public_url)
        if keyring is None and not self._only_own:
            raise ValueError(f"{host} can be reached by other machines: tokens are required")
        self._keyring = keyring

    def admit(self, scope: Scope, headers: Headers) -> Response | None:
        """Remember the token's holder; redirect a request whose URL has a token."""
        if self._keyring is None:
            scope[_ASK] = lambda: ANYONE
            return None
        given = token_in_url(scope) if scope["method"] == "GET" else None
        if given is not None and self._keyring.holder_of(given) is not None:
            return welcome(scope, cookie_of(given.encode()))
        bearer = bearer_in(headers)
        secret = cookie_in(scope, headers) if bearer is None else bearer
        if secret is not None:
            scope[_ASK] = partial(self._keyring.holder_of, secret)
        return None


def holder_of(request: Request, scope: str) -> Holder:
    """Return the token's holder; raise 401 without a valid token, 403 without the scope."""
    holder = _holder_now(request)
    if holder is None:
        raise HTTPException(
            401, "token missing or wrong: send it as Authorization: Bearer TOKEN", _CHALLENGE
        )
    if not allowed(holder, scope):
        raise HTTPException(403, f"the token {holder.name!r} does not allow this: it needs {scope}")
    return holder


def is_still_allowed(request: Request, scope: str) -> bool:
    """Return whether the token of a request still has a scope; tokens may be removed."""
    holder = _holder_now(request)
    return holder is not None and allowed(holder, scope)


def _holder_now(request: Request) -> Holder | None:
    ask: Callable[[], Holder | None] = request.scope.get(_ASK, lambda: None)
    return ask()


class RateLimits:
    """Limits how often each token may send requests: `rate` per second, twice that at once.

    >>> rates = RateLimits(0.1)
    >>> rates.take("feed")
    >>> rates.take("feed")
    Traceback (most recent call last):
    ...
    starlette.exceptions.HTTPException: 429: more than 0.1 requests per second with the token 'feed'
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> None:
        """Count a request; raise 429 if the token has sent too many."""
        now, most = time.monotonic(), max(1.0, 2 * self._rate)
        left, at = self._left.get(name, (most, now))
        left = min(most, left + (now - at) * self._rate)
        if left < 1:
            wait = math.ceil((1 - left) / self._rate)
            raise HTTPException(
                429,
                f"more than {self._rate:g} requests per second with the token {name!r}",
                {"Retry-After": str(wait)},
            )
        self._left[name] = (left - 1, now)
