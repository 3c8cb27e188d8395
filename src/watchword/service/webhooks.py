"""Webhooks: URLs that get alerts, their deliveries, and the signature of what they get.

An alert and its deliveries are stored in one transaction, so none is forgotten; `deliveries` sends
them, at least once. A receiver may get an alert twice and should remember its id.

    Watchword-Signature: t=1714566600,v1=HEX

HEX is the HMAC-SHA256, with the webhook's secret, of "1714566600." and the body.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from watchword.errors import WatchwordError
from watchword.service.records import moment, now

if TYPE_CHECKING:
    from watchword.service.store import Store

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
