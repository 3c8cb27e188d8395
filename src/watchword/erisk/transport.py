"""HTTP requests of the client (timeouts, size limits, redirects, retries), and its emissions.

The token is part of every URL, so URLs appear in no message and are sent to no other host.
"""

from __future__ import annotations

import email.utils
import html
import http.client
import importlib
import json
import logging
import random
import re
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any
from urllib.parse import SplitResult, quote, quote_plus, unquote, urljoin, urlsplit

from watchword._checks import as_above_zero, as_not_negative, as_whole
from watchword.erisk.protocol import ServerError

logger = logging.getLogger("watchword.erisk")

_REDIRECTS = (301, 302, 307, 308)
_MOST_REDIRECTS = 3
_TRANSIENT = (408, 425, 429)  # and all ≥ 500
_PIECE = 1 << 16
_LOOKED_AT = 4096  # bytes to read of an error page
_SHOWN = 300  # characters of it to show
_LONGEST_WAIT = 4e9  # seconds; `time.sleep` has an upper limit
_PORTS = {"http": 80, "https": 443}
_ADVICE = {
    401: "check the token",
    403: "check the token, and whether the server is open to you now",
    404: "check the URL, the token and the number of runs",
    413: "the server does not accept answers of this size",
}


class TransientError(ServerError):
    """A failure that may succeed when retried."""

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds, as requested by the server


class RefusedError(ServerError):
    """The server rejected a request with a status code 4xx."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _NothingRaised(urllib.request.HTTPErrorProcessor):
    """A processor that returns redirects and errors instead of following or raising them."""

    def http_response(
        self,
        request: urllib.request.Request,  # noqa: ARG002
        response: http.client.HTTPResponse,
    ) -> http.client.HTTPResponse:
        return response

    https_response = http_response


class Transport:
    """Single requests to one server with one token; raise `TransientError` or `ServerError`."""

    def __init__(self, url: str, token: str, *, timeout: float, size_limit: int) -> None:
        self.url = checked_url(url)
        if not isinstance(token, str) or not token.strip():
            raise ValueError("token must not be empty")
        self._token = quote(token.strip(), safe="")
        forms = _forms_of(token)
        self._forms = re.compile("|".join(map(re.escape, forms)), re.IGNORECASE)
        self._longest_form = len(forms[0])
        self._timeout = as_above_zero("timeout", timeout)
        self._size_limit = as_whole("size_limit", size_limit, 1)
        self._opener = urllib.request.build_opener(_NothingRaised)

    def get_round(self, path: str) -> bytes:
        """Request the current round from the path of a dialect."""
        return self._ask(f"{self.url}/{path}/{self._token}", None, path)

    def submit(
        self, run: int, body: bytes, path: str = "submit", *, url: str | None = None
    ) -> None:
        """Send a run's answers to a URL, or the server's; on return, it has accepted them.

        After `TransientError` the server may or may not have them; after `RefusedError` it has
        rejected them, but may have accepted an earlier copy.
        """
        base = self.url if url is None else url
        what = f"submit of run {run}" + ("" if base == self.url else f" to {base}")
        receipt = self._ask(f"{base}/{path}/{self._token}/{run}", body, what)
        if receipt.lstrip()[:1] == b"<":  # from a proxy while the server is down
            raise TransientError(
                f"{what}: the server answered with a page instead of a receipt "
                f"({self._said(receipt)})"
            )

    def masked(self, text: str) -> str:
        """Return a text of the server with the token masked, however it is encoded."""
        return self._forms.sub("***", text)

    def _said(self, body: bytes) -> str:
        """Return the masked beginning of an error page, which may repeat the URL with the token."""
        text = self.masked(body[:_LOOKED_AT].decode("utf-8", "replace"))
        if len(body) > _LOOKED_AT:  # the cut may split a token
            text = text[: -self._longest_form]
        return ascii(text.strip()[:_SHOWN])[1:-1]

    def _ask(self, address: str, body: bytes | None, what: str) -> bytes:
        for _ in range(_MOST_REDIRECTS + 1):
            response, content = self._exchange(address, body, what)
            if response.status not in _REDIRECTS:
                return self._checked(response, content, what)
            address = self._redirected(address, response, what)
        raise ServerError(f"{what}: too many redirects")

    def _checked(self, response: http.client.HTTPResponse, content: bytes, what: str) -> bytes:
        status = response.status
        if 200 <= status < 300:
            return content
        said = self._said(content)
        message = f"{what}: the server answered {status}" + (f" ({said})" if said else "")
        if status >= 500 or status in _TRANSIENT:
            raise TransientError(message, _retry_after(response.headers.get("Retry-After")))
        message = f"{message}; {_ADVICE[status]}" if status in _ADVICE else message
        if 400 <= status < 500:
            raise RefusedError(message, status)
        raise ServerError(message)

    def _redirected(self, address: str, response: http.client.HTTPResponse, what: str) -> str:
        origin = urlsplit(address)
        try:
            target = urlsplit(urljoin(address, response.headers.get("Location", "")))
            there, here = (target.scheme, _port(target)), (origin.scheme, _port(origin))
        except ValueError:
            raise ServerError(f"{what}: the server redirects to an invalid URL") from None
        elsewhere = ""
        if target.hostname != origin.hostname:
            elsewhere = f"host, {self.masked(target.hostname or '')!a}"
        elif target.scheme not in ("https", origin.scheme):
            raise ServerError(f"{what}: the server redirects to an unencrypted URL")
        elif there != here and (here, there) != (("http", 80), ("https", 443)):
            elsewhere = f"server, {there[0]} on port {there[1]}"
        if elsewhere:
            raise ServerError(
                f"{what}: the server redirects to another {elsewhere}, which would receive the "
                "token (if that is right, use its URL instead)"
            )
        found = target.geturl()
        if "@" in target.netloc or not all("!" <= sign <= "~" for sign in found):
            raise ServerError(f"{what}: the server redirects to an invalid URL")
        return found

    def _exchange(
        self, address: str, body: bytes | None, what: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Send one request; return the response and its body. Connection failures are transient."""
        headers = {"Accept": "application/json", "User-Agent": "watchword"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            request = urllib.request.Request(address, data=body, headers=headers)  # noqa: S310
            with self._opener.open(request, timeout=self._timeout) as answer:
                return answer, self._read(answer, what)
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise ServerError(
                    f"{what}: the server's certificate is not valid: {reason.verify_message}"
                ) from None
            raise TransientError(f"{what}: {_described(reason, self._timeout)}") from None
        except ValueError:  # after OSError, as some errors are both
            raise ServerError(f"{what}: invalid URL") from None

    def _read(self, answer: http.client.HTTPResponse, what: str) -> bytes:
        """Read the body; raise if it is too large, too slow or incomplete."""
        end = time.monotonic() + self._timeout
        expected = answer.length  # None if unknown
        most = self._size_limit + 1 if expected is None else expected
        pieces, size = [], 0
        # read1() returns the data received so far; read() would wait for all of it.
        while size != expected and (piece := answer.read1(min(_PIECE, most - size))):
            pieces.append(piece)
            size += len(piece)
            if size > self._size_limit:
                raise ServerError(
                    f"{what}: the server's answer is larger than {self._size_limit} bytes (if that "
                    "is right, raise size_limit)"
                )
            if time.monotonic() > end:
                raise TimeoutError
        if expected is not None and size < expected:  # read1() does not check
            raise http.client.IncompleteRead(b"", expected - size)
        return b"".join(pieces)


def side_by_side(requests: Sequence[Callable[[], None]]) -> list[Exception | None]:
    """Send requests at the same time; return the error of each, or None.

    The threads are daemons, so that an interrupt need not wait for a slow server.
    """
    errors: list[Exception | None] = [None] * len(requests)

    def send(at: int) -> None:
        try:
            requests[at]()
        except Exception as error:
            errors[at] = error

    threads = [
        threading.Thread(target=send, args=(at,), daemon=True) for at in range(len(requests))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


class Backoff:
    """Exponential backoff with jitter and a time limit."""

    def __init__(self, *, retries: int, patience: float, first_wait: float, seed: int) -> None:
        self.retries = as_whole("retries", retries, 0)
        self.patience = as_not_negative("patience", patience)
        self._first = as_not_negative("first_wait", first_wait)
        self._longest = max(60.0, self._first)
        self._random = random.Random(seed)  # noqa: S311

    def wait_after(self, failures: int) -> float:
        """Return the seconds to wait after a number of failures."""
        longest = min(self._first * 2.0 ** min(failures - 1, 30), self._longest)
        return longest * (0.5 + self._random.random() / 2)


class Attempts:
    """The attempts of one request."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._failures = 0
        self._end = time.monotonic() + backoff.patience

    def failed(self, error: TransientError) -> None:
        """Wait after a failure, or give up."""
        self._failures += 1
        wait = max(self._backoff.wait_after(self._failures), error.retry_after)
        enough = self._failures > self._backoff.retries
        if enough or time.monotonic() + wait > self._end:
            raise ServerError(
                f"gave up after {self._failures} attempts: {error} (run again with the same "
                "journal to resume)"
            ) from None
        logger.warning("%s; next attempt in %.1f seconds", error, wait)
        time.sleep(wait)


def checked_url(url: str) -> str:
    """Return the base URL of a task, without a trailing slash.

    >>> checked_url("http://127.0.0.1:8000/task/")
    'http://127.0.0.1:8000/task'
    """
    try:
        parts = urlsplit(url)
        fine = parts.scheme in _PORTS and parts.hostname and parts.port != 0
        (parts.hostname or "").encode("idna")  # as a connection would, with an error for "a..b"
    except (ValueError, AttributeError, TypeError):
        raise ValueError(f"url must be like https://host/task, got {url!r}") from None
    if not fine or parts.query or parts.fragment or any(sign.isspace() for sign in url.strip()):
        raise ValueError(f"url must be like https://host/task, got {url!r}")
    if parts.username or parts.password:
        raise ValueError("url must not contain a user name or password")
    return url.strip().rstrip("/")


def _retry_after(header: str | None) -> float:
    """Return the seconds of a `Retry-After` header, which may also be a date."""
    if header is None:
        return 0.0
    if header.strip().isdecimal() and len(header) < 10:
        return float(header)
    try:
        moment = email.utils.parsedate_to_datetime(header)
    except (ValueError, OverflowError, IndexError, TypeError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    seconds = (moment - datetime.now(timezone.utc)).total_seconds()
    return min(max(0.0, seconds), _LONGEST_WAIT)


def _forms_of(token: str) -> list[str]:
    """Return a token as given and as encoded in URLs, pages and JSON; longest first."""
    forms = {token, token.strip()}
    forms |= {unquote(form) for form in forms}
    forms |= {quote(form) for form in forms} | {quote_plus(form) for form in forms}
    forms |= {quote(form, safe="") for form in forms}  # some quoted twice
    forms |= {html.escape(form) for form in forms} | {json.dumps(form)[1:-1] for form in forms}
    forms |= {form.replace("/", "\\/") for form in forms}  # as some write JSON
    return sorted((form for form in forms if form.strip()), key=len, reverse=True)


def _port(address: SplitResult) -> int | None:
    return _PORTS.get(address.scheme) if address.port is None else address.port


def _described(reason: object, timeout: float) -> str:
    if isinstance(reason, TimeoutError):
        return f"no answer within {timeout:g} seconds"
    if isinstance(reason, http.client.IncompleteRead):
        return "the answer is incomplete"
    if isinstance(reason, http.client.HTTPException) and not isinstance(reason, OSError):
        return f"the answer is not valid HTTP ({type(reason).__name__})"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return str(reason) or type(reason).__name__


logger = logging.getLogger("watchword.erisk")

#: The fields that the organisers' client sends.
FIELDS = (
    "duration",
    "emissions",
    "cpu_energy",
    "gpu_energy",
    "ram_energy",
    "energy_consumed",
    "cpu_count",
    "gpu_count",
    "cpu_model",
    "gpu_model",
    "ram_total_size",
    "country_iso_code",
)


class Emissions:
    """Measures blocks of code; the result is empty without codecarbon, or if it fails."""

    def __init__(self, *, is_wanted: bool = True) -> None:
        self._tracker: Any = None
        if not is_wanted:
            return
        try:
            codecarbon: Any = importlib.import_module("codecarbon")
            self._tracker = codecarbon.EmissionsTracker(save_to_file=False, log_level="error")
        except ImportError:
            logger.warning("emissions are not measured: pip install codecarbon to submit them")
        except Exception as error:
            self._give_up(error)

    @contextmanager
    def measuring(self) -> Iterator[dict[str, Any]]:
        """Yield a dictionary that holds the emissions of the block after it."""
        found: dict[str, Any] = {}
        self._call("start")
        yield found
        self._call("stop")
        data = getattr(self._tracker, "final_emissions_data", None)
        found |= {name: getattr(data, name) for name in FIELDS if hasattr(data, name)}

    def _call(self, method: str) -> None:
        if self._tracker is None:
            return
        try:
            getattr(self._tracker, method)()
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Continue without measuring: a task must not fail for its emissions."""
        logger.warning("emissions are no longer measured: codecarbon failed (%s)", error)
        self._tracker = None
