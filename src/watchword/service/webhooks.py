"""Webhooks: alerts sent to URLs, at least once, signed, with retries and dead letters.

An alert and its deliveries are stored in one transaction, so none is forgotten. A delivery that
fails is tried again at the times of `RETRIES`; after the last, it is a dead letter until the
operator retries it. A receiver may get an alert twice and should remember its id.

    Watchword-Signature: t=1714566600,v1=HEX

HEX is the HMAC-SHA256, with the webhook's secret, of "1714566600." and the body.
"""

from __future__ import annotations

import hmac
import http.client
import logging
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from watchword.errors import StoreUnavailableError, WatchwordError
from watchword.service.logs import logger, say
from watchword.service.records import moment, now

if TYPE_CHECKING:
    from watchword.service.metrics import Metrics
    from watchword.service.store import Row, Store

#: Seconds to wait after each failed attempt; after the last, a delivery is a dead letter.
RETRIES = (5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600)
TOLERANCE = 300  # seconds by which the clocks of sender and receiver may differ

_TIMEOUT = 10.0  # seconds for each read and write
_LONGEST = 30.0  # seconds for a delivery
_AT_ONCE = 20  # deliveries of a webhook that are read from the store at once
_HANDLERS = 4
_READ = 1024  # bytes of a response
_SECOND = 1_000_000  # microseconds
_IS_DUE = "state = 'due' AND (next_at <= ? OR next_at > ?)"


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
    _checked(url)
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


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise WebhookError(f"{url!r} is not like https://host/path")
    if parts.username is not None or parts.fragment or not url.isascii() or " " in url:
        raise WebhookError(f"{url!r} must be ASCII, without a user name, a fragment or spaces")
    return parts


# Delivering


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
        self._busy: set[int] = set()  # webhooks that a thread is sending to
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def __enter__(self) -> Dispatcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._woken.set()
        self._thread.join()

    def wake(self) -> None:
        """Look for deliveries now."""
        self._woken.set()

    def _run(self) -> None:
        with ThreadPoolExecutor(_HANDLERS, thread_name_prefix="webhook") as pool:
            while not self._stopping.is_set():
                self._woken.clear()
                with self._named_failures():
                    due = self._store.rows(
                        "SELECT id, url, secret FROM webhooks WHERE id IN "
                        f"(SELECT webhook FROM deliveries WHERE {_IS_DUE})",
                        *self._times(),
                    )
                    for webhook in due:
                        if webhook[0] not in self._busy:
                            self._busy.add(webhook[0])
                            pool.submit(self._work, webhook)
                self._woken.wait(self._every)

    def _times(self) -> tuple[int, int]:
        """Return now, and the time after which no retry is planned, unless the clock was ahead."""
        at = now()
        return at, at + int(max(self._retries, default=0) * _SECOND)

    def _work(self, webhook: Row) -> None:
        """Deliver to one webhook, so that a slow one does not delay others or get alerts twice."""
        more = False
        with self._named_failures():
            more = self._deliver_due(*webhook)
        self._busy.discard(webhook[0])
        if more:
            self._woken.set()

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        """Log failures; failed deliveries are retried later."""
        try:
            yield
        except StoreUnavailableError as error:
            say("webhooks wait for the store", level=logging.WARNING, reason=str(error))
        except Exception:
            logger.exception("webhooks failed")

    def _deliver_due(self, number: int, url: str, secret: str) -> bool:
        """Send the due deliveries of a webhook, until one fails; return whether more may be due."""
        rows = self._store.rows(
            f"SELECT alert, attempts FROM deliveries WHERE webhook = ? AND {_IS_DUE} "
            "ORDER BY alert LIMIT ?",
            *(number, *self._times(), _AT_ONCE),
        )
        for alert, attempts in rows:
            if self._stopping.is_set():
                return False
            body = self._body_of(alert)
            reason = None if body is None else post_signed(url, secret, body, alert)
            self._settle(alert, number, attempts + 1, reason)
            if reason is not None:
                return False
        return len(rows) == _AT_ONCE

    def _settle(self, alert: int, webhook: int, attempts: int, reason: str | None) -> None:
        """Store the outcome of an attempt; without a reason it was a success."""
        if reason is None:
            state, wait = "done", 0.0
        elif attempts <= len(self._retries):
            state, wait = "due", self._retries[attempts - 1]
        else:
            state, wait = "dead", 0.0
        self._store.change(
            "UPDATE deliveries SET attempts = ?, state = ?, next_at = ?, error = ? "
            "WHERE alert = ? AND webhook = ?",
            *(attempts, state, now() + int(wait * _SECOND), reason or "", alert, webhook),
        )
        if self._metrics is not None:
            outcome = "failed" if state == "due" else state
            self._metrics.add("deliveries", "Attempts to deliver an alert.", outcome=outcome)
        if reason is not None:
            fields = {"alert": alert, "webhook": webhook, "attempts": attempts, "reason": reason}
            say("delivery failed", level=logging.WARNING, **fields, retry=state == "due")


def post_signed(url: str, secret: str, body: bytes, alert: int) -> str | None:
    """Send an alert to a URL; return the error, or None.

    Only a status 2xx is a success. Redirects are not followed: they would take the alert elsewhere.
    """
    parts = _checked(url)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "watchword",
        "Watchword-Alert": str(alert),
        "Watchword-Signature": signature(secret, body, int(time.time())),
    }
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        with closing(_connection(parts)) as connection, _cut_when_late(connection):
            connection.request("POST", target, body, headers)
            response = connection.getresponse()
            response.read(_READ)
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"[:200]
    if 200 <= response.status < 300:
        return None
    return f"the receiver answered with status {response.status}"


def _connection(parts: SplitResult) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, parts.port, timeout=_TIMEOUT, context=context)
    return http.client.HTTPConnection(host, parts.port, timeout=_TIMEOUT)


@contextmanager
def _cut_when_late(connection: http.client.HTTPConnection) -> Iterator[None]:
    """Connect, and end slow responses, even if every single read is quick enough.

    Before it has connected and agreed on keys, its socket cannot be reached from here: until then,
    only the time-out of each read and write applies.
    """
    is_late = threading.Event()
    found: list[socket.socket] = []

    def cut() -> None:
        is_late.set()
        for one in found:
            with suppress(OSError):
                socket.socket.shutdown(one, socket.SHUT_RDWR)

    timer = threading.Timer(_LONGEST, cut)
    timer.daemon = True
    timer.start()
    try:
        connection.connect()
        found.append(connection.sock)
        if is_late.is_set():
            raise TimeoutError
        yield
        if is_late.is_set():  # an answer that is cut looks like one that has ended
            raise TimeoutError
    except (OSError, http.client.HTTPException):
        if is_late.is_set():
            raise TimeoutError(f"the receiver took more than {_LONGEST:g} seconds") from None
        raise
    finally:
        timer.cancel()
