"""Access tokens and their scopes.

A token is 128 random bits, shown once. The store keeps SHA-256 hashes of it and of the cookie that
browsers get in its place, so that nothing in the store, or in a backup of it, gives access.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from watchword.errors import StoreUnavailableError, WatchwordError
from watchword.service.choices import SCOPES as SCOPES
from watchword.service.logs import logger
from watchword.service.records import moment, now
from watchword.web.guard import cookie_of
from watchword.web.listening import new_token

if TYPE_CHECKING:
    from watchword.service.store import Store

_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_SIZE = 32  # bytes of a hash


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
    return [Token(name, tuple(scopes.split()), moment(created)) for name, scopes, created in rows]


def remove_token(store: Store, name: str) -> None:
    """Remove a token; services that use the store refuse it within a second."""
    if not store.change("DELETE FROM tokens WHERE name = ? RETURNING name", name):
        known = ", ".join(repr(one.name) for one in tokens_in(store))
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
        holder = Holder(name, frozenset(scopes.split()))
        found |= {bytes(hashes[:_SIZE]): holder, bytes(hashes[_SIZE:]): holder}
    return found


def _hash(secret: str) -> bytes:
    # A plain hash is enough: 2**128 tokens cannot be tried.
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def allowed(holder: Holder, scope: str) -> bool:
    """Return whether a holder has a scope; administrators have all scopes.

    >>> allowed(Holder("ann", frozenset({"read"})), "write")
    False
    """
    return scope in holder.scopes or "admin" in holder.scopes
