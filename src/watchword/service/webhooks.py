"""Webhooks: alerts sent to URLs, signed, with retries and dead letters.

Each receiver has a queue of its own, so that one that fails or hangs delays no other. A delivery
that fails is tried again at the times of `RETRIES`; after the last, it is a dead letter until the
operator retries it.

An alert and its deliveries are stored in one transaction, so none is forgotten; `deliveries` sends
them, at least once. A receiver may get an alert twice and should remember its id.

    Watchword-Signature: t=1714566600,v1=HEX

HEX is the HMAC-SHA256, with the webhook's secret, of "1714566600." and the body.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import httpx

from watchword.errors import StoreUnavailableError, WatchwordError
from watchword.service.logs import logger, say
from watchword.service.records import moment, now

if TYPE_CHECKING:
    from watchword.service.monitoring import Metrics
    from watchword.service.store import Row, Store

#: Seconds to wait after each failed attempt; after the last, a delivery is a dead letter.
RETRIES = (5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600)

_TIMEOUT = 10.0  # seconds to connect, and for each read and write
_LONGEST = 30.0  # seconds for a delivery
_GRACE = 5.0  # seconds for deliveries in progress at the end
_AT_ONCE = 20  # deliveries of a webhook that are read from the store at once
_FAILURES = 5  # deliveries in a row that may fail before a receiver gets a rest
_UNSETTLED = 1.0  # seconds for which outcomes wait to be stored together
_READ = 1024  # bytes of a response
_SECOND = 1_000_000  # microseconds
_IS_DUE = "state = 'due' AND (next_at <= ? OR next_at > ?)"


class _Attempt(NamedTuple):
    """The outcome of an attempt to deliver an alert; without a reason it was a success."""

    alert: int
    webhook: int
    attempts: int
    reason: str | None


class Dispatcher:
    """A thread that sends due deliveries; `wake` it when there is a new alert."""

    def __init__(
        self,
        store: Store,
        body_of: Callable[[int], bytes | None],
        *,
        metrics: Metrics | None = None,
        retries: Sequence[float] = RETRIES,
        every: float = 1.0,
    ) -> None:
        self._store = store
        self._body_of = body_of
        self._metrics = metrics
        self._retries = tuple(retries)
        self._every = every
        self._queues: dict[int, asyncio.Task[None]] = {}  # by webhook, while it has due deliveries
        self._is_stopping = False
        self._loop = asyncio.new_event_loop()
        self._woken = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def __enter__(self) -> Dispatcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_stopping = True
        self.wake()
        self._thread.join()

    def wake(self) -> None:
        """Look for deliveries now."""
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._woken.set)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._dispatch())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()

    async def _dispatch(self) -> None:
        """Give each webhook with due deliveries a queue, until the end."""
        async with new_client() as client:
            while not self._is_stopping:
                self._woken.clear()
                with _logged_failures():
                    for webhook in await asyncio.to_thread(self._due_webhooks):
                        if webhook[0] not in self._queues:
                            queue = asyncio.create_task(self._work(client, *webhook))
                            self._queues[webhook[0]] = queue
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), self._every)
            queues = set(self._queues.values())
            if queues:
                _, late = await asyncio.wait(queues, timeout=_GRACE)
                for queue in late:  # what was being sent may arrive twice
                    queue.cancel()
                await asyncio.gather(*late, return_exceptions=True)

    def _due_webhooks(self) -> list[Row]:
        query = "SELECT id, url, secret FROM webhooks w WHERE EXISTS "
        query += f"(SELECT 1 FROM deliveries WHERE webhook = w.id AND {_IS_DUE})"
        return self._store.rows(query, *self._times())

    def _times(self) -> tuple[int, int]:
        """Return now, and the time after which no retry is planned, unless the clock was ahead."""
        at = now()
        return at, at + int(max(self._retries, default=0) * _SECOND)

    async def _work(self, client: httpx.AsyncClient, number: int, url: str, secret: str) -> None:
        """Send the due deliveries of a webhook, one after the other."""
        is_over = False
        with _logged_failures():
            is_over = await self._send_due(client, number, url, secret)
        del self._queues[number]
        if is_over:
            self._woken.set()  # an alert may have come since

    async def _send_due(
        self, client: httpx.AsyncClient, number: int, url: str, secret: str
    ) -> bool:
        """Send deliveries until none is due or too many fail; return whether none is due."""
        failures = 0
        outcomes: list[_Attempt] = []
        try:
            while rows := await asyncio.to_thread(self._due_deliveries, number):
                settled_at = time.monotonic()
                for alert, attempts in rows:
                    if self._is_stopping or failures >= _FAILURES:
                        return False
                    body = await asyncio.to_thread(self._body_of, alert)  # None if forgotten
                    reason = None
                    if body is not None:
                        reason = await post_signed(client, url, secret, body, alert)
                    outcomes.append(_Attempt(alert, number, attempts + 1, reason))
                    failures = failures + 1 if reason else 0
                    if time.monotonic() - settled_at > _UNSETTLED:
                        await self._settle(outcomes)
                        settled_at = time.monotonic()
                await self._settle(outcomes)
        finally:
            await self._settle(outcomes)
        return True

    async def _settle(self, outcomes: list[_Attempt]) -> None:
        """Store outcomes in one transaction, and empty the list."""
        settled = outcomes.copy()
        outcomes.clear()
        if settled:
            await asyncio.to_thread(self._store_outcomes, settled)

    def _due_deliveries(self, webhook: int) -> list[Row]:
        """Return some alerts that are due, new ones first, and the number of attempts of each."""
        return self._store.rows(
            f"SELECT alert, attempts FROM deliveries WHERE webhook = ? AND {_IS_DUE} "
            "ORDER BY next_at, alert LIMIT ?",
            *(webhook, *self._times(), _AT_ONCE),
        )

    def _store_outcomes(self, outcomes: Sequence[_Attempt]) -> None:
        states = [self._state_after(outcome) for outcome in outcomes]
        with self._store.writing() as session:
            session.many(
                "UPDATE deliveries SET attempts = ?, state = ?, next_at = ?, error = ? "
                "WHERE alert = ? AND webhook = ?",
                [
                    (one.attempts, state, next_at, one.reason or "", one.alert, one.webhook)
                    for one, (state, next_at) in zip(outcomes, states, strict=True)
                ],
            )
        for outcome, (state, _) in zip(outcomes, states, strict=True):
            if self._metrics is not None:
                name = "failed" if state == "due" else state
                self._metrics.add("deliveries", "Attempts to deliver an alert.", outcome=name)
            if outcome.reason is not None:
                fields = {**outcome._asdict(), "retry": state == "due"}
                say("delivery failed", level=logging.WARNING, **fields)

    def _state_after(self, outcome: _Attempt) -> tuple[str, int]:
        """Return the state of a delivery after an attempt, and when it is due again."""
        if outcome.reason is None:
            return "done", now()
        if outcome.attempts <= len(self._retries):
            return "due", now() + int(self._retries[outcome.attempts - 1] * _SECOND)
        return "dead", now()


@contextmanager
def _logged_failures() -> Iterator[None]:
    """Log failures; what could not be delivered is tried again later."""
    try:
        yield
    except StoreUnavailableError as error:
        say("webhooks wait for the store", level=logging.WARNING, reason=str(error))
    except Exception:
        logger.exception("webhooks failed")


def new_client() -> httpx.AsyncClient:
    """Return a client that sends alerts where they are meant to go, and nothing else.

    Redirects would take an alert elsewhere, proxies of the environment too; cookies are refused.
    A connection serves one delivery: one that is kept may be closed by the receiver meanwhile.
    """
    return httpx.AsyncClient(
        headers={"User-Agent": "watchword"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
        trust_env=False,
        timeout=_TIMEOUT,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        verify=ssl.create_default_context(),
    )


async def post_signed(
    client: httpx.AsyncClient, url: str, secret: str, body: bytes, alert: int
) -> str | None:
    """Send an alert to a URL; return the error, or None. Only a status 2xx is a success."""
    headers = {
        "Content-Type": "application/json",
        "Watchword-Alert": str(alert),
        "Watchword-Signature": signature(secret, body, int(time.time())),
    }
    try:
        status = await asyncio.wait_for(_status_of(client, url, body, headers), _LONGEST)
    except asyncio.TimeoutError:
        return f"TimeoutError: the receiver took more than {_LONGEST:g} seconds"
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        cause = _os_error_in(error)
        return f"{type(cause).__name__}: {cause}"[:200]
    return None if 200 <= status < 300 else f"the receiver answered with status {status}"


async def _status_of(
    client: httpx.AsyncClient, url: str, body: bytes, headers: dict[str, str]
) -> int:
    """Return the status of a response after reading its beginning."""
    async with client.stream("POST", url, content=body, headers=headers) as response:
        size = 0
        async for chunk in response.aiter_raw():
            size += len(chunk)
            if size >= _READ:
                break
        return response.status_code


def _os_error_in(error: BaseException) -> BaseException:
    """Return the error of the system behind an error of the client, which says more."""
    cause = error
    while cause.__cause__ is not None or cause.__context__ is not None:
        cause = cause.__cause__ or cause.__context__ or cause
    return cause if isinstance(cause, OSError) else error


TOLERANCE = 300  # seconds by which the clocks of sender and receiver may differ


class WebhookError(WatchwordError):
    """A webhook cannot be added, removed or retried."""


@dataclass(frozen=True)
class Webhook:
    """A URL that gets alerts, and how many of its deliveries are due, done and dead."""

    id: int
    url: str
    created: datetime
    due: int = 0
    done: int = 0
    dead: int = 0


@dataclass(frozen=True)
class DeadLetter:
    """An alert that could not be delivered."""

    alert: int
    webhook: int
    attempts: int
    error: str


def signature(secret: str, body: bytes, at: int) -> str:
    """Return the value of the header that proves the origin and time of a body.

    >>> signature("secret", b"{}", 0)
    't=0,v1=4bbe8d39de1ffea42cffafb4727e02f761bef8ed2886b51575ce417d542e918f'
    """
    signed = hmac.new(secret.encode(), b"%d." % at + body, "sha256").hexdigest()
    return f"t={at},v1={signed}"


def is_signed(header: str, secret: str, body: bytes, *, now: float) -> bool:
    """Return whether a received body was signed with the secret within the last minutes.

    >>> is_signed(signature("secret", b"{}", 60), "secret", b"{}", now=90)
    True
    >>> is_signed(signature("secret", b"{}", 60), "other", b"{}", now=90)
    False
    """
    at = header.partition(",")[0].removeprefix("t=")
    if not (at.isascii() and at.isdigit() and len(at) < 16):
        return False
    expected = signature(secret, body, int(at))
    return hmac.compare_digest(header.encode("utf-8", "replace"), expected.encode()) and (
        abs(now - int(at)) <= TOLERANCE
    )


# What the operator does


def add_webhook(store: Store, url: str) -> tuple[int, str]:
    """Add a webhook for alerts from now on; return its id and its secret, shown only here."""
    _check_url(url)
    secret = secrets.token_hex(32)
    added = store.change(
        "INSERT INTO webhooks (url, secret, created) VALUES (?, ?, ?) "
        "ON CONFLICT (url) DO NOTHING RETURNING id",
        *(url, secret, now()),
    )
    if not added:
        raise WebhookError(f"the webhook {url!r} already exists: remove it first")
    return int(added[0][0]), secret


def webhooks_in(store: Store) -> list[Webhook]:
    """Return all webhooks, and the state of their deliveries."""
    rows = store.rows("SELECT webhook, state, COUNT(*) FROM deliveries GROUP BY webhook, state")
    counts: dict[int, dict[str, int]] = {}
    for webhook, state, count in rows:
        counts.setdefault(webhook, {})[state] = count
    found = store.rows("SELECT id, url, created FROM webhooks ORDER BY id")
    return [Webhook(id, url, moment(at), **counts.get(id, {})) for id, url, at in found]  # noqa: A001


def remove_webhook(store: Store, number: int) -> None:
    """Remove a webhook and its deliveries."""
    with store.writing() as session:
        if not session.run("DELETE FROM webhooks WHERE id = ? RETURNING id", number):
            raise WebhookError(f"webhook {number} not found")
        session.run("DELETE FROM deliveries WHERE webhook = ?", number)


def dead_letters(store: Store) -> list[DeadLetter]:
    """Return the deliveries that failed for good."""
    sql = "SELECT alert, webhook, attempts, error FROM deliveries WHERE state = 'dead' "
    rows = store.rows(sql + "ORDER BY alert, webhook")
    return [DeadLetter(*row) for row in rows]


def unsettled_deliveries(store: Store) -> tuple[int, int]:
    """Return how many deliveries are due, now or later, and how many failed for good."""
    query = "SELECT state, COUNT(*) FROM deliveries WHERE state IN ('due', 'dead') GROUP BY state"
    counts: dict[str, int] = dict(store.rows(query))
    return counts.get("due", 0), counts.get("dead", 0)


def retry_dead_letters(store: Store) -> int:
    """Make all dead letters due again, and return their number."""
    again = store.change(
        "UPDATE deliveries SET state = 'due', attempts = 0, next_at = 0 WHERE state = 'dead' "
        "RETURNING alert"
    )
    return len(again)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise WebhookError(f"{url!r} is not like https://host/path")
    if parts.username is not None or parts.fragment or not url.isascii() or " " in url:
        raise WebhookError(f"{url!r} must be ASCII, without a user name, a fragment or spaces")
