"""Access tokens with scopes, the middleware that finds them, and limits of requests per token.

A token is 128 random bits, shown once. The store keeps SHA-256 hashes of it and of the cookie that
browsers get in its place, so that nothing in the store, or in a backup of it, gives access.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from watchword._checks import reprs
from watchword.errors import StoreUnavailableError, WatchwordError
from watchword.service.logs import logger
from watchword.service.records import SCOPES as SCOPES
from watchword.service.records import moment, now
from watchword.web.guard import OriginGuard, bearer_in, cookie_in, cookie_of, token_in_url
from watchword.web.listening import new_token

if TYPE_CHECKING:
    from starlette.requests import Request

    from watchword.service.store import Store

_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_SIZE = 32  # bytes of a hash
_FORMER = "write"  # a scope of earlier versions, which allowed to mark alerts as well as to feed


class TokenError(WatchwordError):
    """A token cannot be added or removed."""


@dataclass(frozen=True)
class Holder:
    """The sender of a request: the name of a token and its scopes."""

    name: str
    scopes: frozenset[str]


#: The sender of requests to a service that needs no tokens.
ANYONE = Holder("anyone", frozenset(SCOPES))


@dataclass(frozen=True)
class Token:
    """A token, as stored."""

    name: str
    scopes: tuple[str, ...]
    created: datetime


def add_token(store: Store, name: str, scopes: Iterable[str]) -> str:
    """Add a token to a store and return it: the only time that it can be seen."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("name must be 1 to 64 letters, digits or any of . _ @ -")
    given = set(scopes)
    if not given or given - set(SCOPES):
        raise ValueError(f"scopes must be some of {', '.join(SCOPES)}, got {sorted(given)}")
    secret = new_token()
    kept = " ".join(one for one in SCOPES if one in given)
    added = store.change(
        "INSERT INTO tokens (name, hash, scopes, created) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (name) DO NOTHING RETURNING name",
        *(name, _hash(secret) + _hash(cookie_of(secret.encode())), kept, now()),
    )
    if not added:
        raise TokenError(f"the token {name!r} already exists: remove it first")
    return secret


def tokens_in(store: Store) -> list[Token]:
    """Return all tokens of a store, without their secrets."""
    rows = store.rows("SELECT name, scopes, created FROM tokens ORDER BY name")
    return [Token(name, _scopes_in(scopes), moment(created)) for name, scopes, created in rows]


def _scopes_in(text: str) -> tuple[str, ...]:
    return tuple("feed" if scope == _FORMER else scope for scope in text.split())


def tokens_of_earlier_versions(store: Store) -> list[str]:
    """Return the names of tokens that were added with the scope `write`, which is now `feed`."""
    rows = store.rows("SELECT name, scopes FROM tokens ORDER BY name")
    return [name for name, scopes in rows if _FORMER in scopes.split()]


def remove_token(store: Store, name: str) -> None:
    """Remove a token; services that use the store refuse it within a second."""
    if not store.change("DELETE FROM tokens WHERE name = ? RETURNING name", name):
        known = reprs(one.name for one in tokens_in(store))
        raise TokenError(f"unknown token {name!r} (known: {known or 'none'})")


class Keyring:
    """The tokens of a store, read again every second: they may change at any time.

    Requests do not wait for the store. While it is unavailable, the tokens read last stay valid.
    """

    def __init__(self, store: Store, *, every: float = 1.0) -> None:
        self._store = store
        self._every = every
        self._holders = _holders(store)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tokens", daemon=True)

    def __enter__(self) -> Keyring:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def holder_of(self, secret: str) -> Holder | None:
        """Return the holder of this token, or of a cookie made from it."""
        return self._holders.get(_hash(secret))

    @property
    def is_empty(self) -> bool:
        """Whether there are no tokens, so that every request is refused."""
        return not self._holders

    def _run(self) -> None:
        while not self._stopping.wait(self._every):
            try:
                self._holders = _holders(self._store)
            except StoreUnavailableError:  # noqa: PERF203
                pass
            except Exception:  # a thread that ends would let removed tokens in forever
                logger.exception("tokens could not be read")


def _holders(store: Store) -> dict[bytes, Holder]:
    found: dict[bytes, Holder] = {}
    for name, hashes, scopes in store.rows("SELECT name, hash, scopes FROM tokens"):
        holder = Holder(name, frozenset(_scopes_in(scopes)))
        found |= {bytes(hashes[:_SIZE]): holder, bytes(hashes[_SIZE:]): holder}
    return found


def _hash(secret: str) -> bytes:
    # A plain hash is enough: 2**128 tokens cannot be tried.
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def allowed(holder: Holder, scope: str) -> bool:
    """Return whether a holder has a scope; administrators have all scopes.

    >>> allowed(Holder("ann", frozenset({"read"})), "mark")
    False
    """
    return scope in holder.scopes or "admin" in holder.scopes


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
            return self.welcome(scope, headers, cookie_of(given.encode()))
        secret = bearer_in(headers) or cookie_in(scope, headers) or given
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


def failed_login(request: Request) -> dict[str, str]:
    """Return who sent a request without a valid token, for the log.

    The address is that of a reverse proxy, if there is one; what that says of the client is added,
    but anybody may say it.
    """
    fields = {
        "address": "" if request.client is None else request.client.host,
        "reason": "wrong token" if _ASK in request.scope else "no token",
    }
    forwarded = request.headers.get("x-forwarded-for")
    return fields if forwarded is None else fields | {"forwarded_for": forwarded[:200]}


def is_still_allowed(request: Request, scope: str) -> bool:
    """Return whether the token of a request still has a scope; tokens may be removed."""
    holder = _holder_now(request)
    return holder is not None and allowed(holder, scope)


def _holder_now(request: Request) -> Holder | None:
    ask: Callable[[], Holder | None] = request.scope.get(_ASK, lambda: None)
    return ask()


class Places:
    """Limits how many requests of each token are answered at once; a few more wait their turn."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once = at_once
        self._most = at_once + waiting
        self._requests: dict[str, tuple[asyncio.Semaphore, int]] = {}  # by token, and their number

    @asynccontextmanager
    async def taken(self, name: str) -> AsyncIterator[None]:
        """Wait for a place; raise 429 if too many requests of the token wait."""
        turn, requests = self._requests.get(name) or (asyncio.Semaphore(self._at_once), 0)
        if requests >= self._most:
            message = f"{requests} requests with the token {name!r} are not answered yet"
            raise HTTPException(429, message, {"Retry-After": "1"})
        self._requests[name] = turn, requests + 1
        try:
            async with turn:
                yield
        finally:
            _, requests = self._requests.pop(name)
            if requests > 1:
                self._requests[name] = turn, requests - 1


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
