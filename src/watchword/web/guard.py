"""Access control and security headers of the live page.

The page shows confidential texts, so it must not be readable for

- other hosts: a server on this machine answers only requests whose Host header names this machine,
  which stops DNS rebinding;
- other pages in the same browser: cross-site requests are refused;
- other users: requests need a token, first in the URL, then in a cookie.
"""

from __future__ import annotations

import hmac
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from watchword.web.answers import failure
from watchword.web.listening import as_token, is_own_machine

_COOKIE = "watchword-token"

HEADERS = {
    # Nothing but our own files, no inline scripts or styles, no frames around or inside.
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# Encoded once, not for every response.
_ENCODED = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_NAMES = frozenset(name for name, _ in _ENCODED)


class OriginGuard:
    """Middleware that refuses requests of other hosts and sites, and adds security headers.

    `public_url` is the address of a reverse proxy in front of the server. Subclasses decide who may
    see what: `admit`.
    """

    def __init__(self, app: ASGIApp, *, host: str, public_url: str | None = None) -> None:
        self._app = app
        self._only_own = is_own_machine(host)
        public = urlsplit(public_url or "")
        self._public = public.netloc or None
        self._is_https = public.scheme == "https"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                others = [pair for pair in message["headers"] if pair[0] not in _NAMES]
                message = {**message, "headers": others + _ENCODED}
            await send(message)

        answer = self._refusal(scope) or self._app
        await answer(scope, receive, send_with_headers)

    def admit(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the response to a request that is not admitted, or None to answer it."""
        raise NotImplementedError

    def welcome(self, scope: Scope, headers: Headers, cookie: str) -> Response:
        """Redirect to the URL without the token, and set a cookie: URLs get stored and shared.

        Browsers send the cookie through https only if that is how the page was opened.
        """
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        # A single slash: two would lead to another host.
        path = "/" + scope["path"].lstrip("/\\")
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        secure = self._is_https or headers.get("x-forwarded-proto", "").lower() == "https"
        name = _cookie_name(scope)
        answer.set_cookie(name, cookie, secure=secure, httponly=True, samesite="lax", path="/")
        return answer

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        own = headers.get("host", "")
        if self._only_own and not _is_own_name(own) and own != self._public:
            return failure(403, "unknown host name: open the page as localhost or 127.0.0.1")
        if not _is_from_our_page(scope, headers, self._public):
            return failure(403, "request from another site refused")
        return self.admit(scope, headers)


class Guard(OriginGuard):
    """Middleware that requires one token, if there is one."""

    def __init__(self, app: ASGIApp, *, host: str, token: str | None) -> None:
        super().__init__(app, host=host)
        self._token = None if token is None else as_token(token, host).encode()
        if self._token is None and not self._only_own:
            raise ValueError(f"{host} can be reached by other machines: a token is required")
        self._cookie = cookie_of(self._token or b"")

    def admit(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuse requests without the token; redirect one whose URL has it."""
        if self._token is None:
            return None
        if _same(token_in_url(scope), self._token):
            return self.welcome(scope, headers, self._cookie)
        cookie = self._cookie.encode()
        if _same(cookie_in(scope, headers), cookie) or _same(bearer_in(headers), self._token):
            return None
        return failure(401, "token missing or wrong: open the printed URL, which contains ?token=…")


def cookie_of(token: bytes) -> str:
    """Return the cookie of a token.

    Browsers store cookies and send them to all ports, so the cookie is not the token itself.
    """
    return hmac.new(token, b"cookie", "sha256").hexdigest()


def token_in_url(scope: Scope) -> str | None:
    """Return the token in the query of a request, if there is one."""
    return dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")


def _same(given: str | None, secret: bytes) -> bool:
    """Compare with the secret in constant time."""
    return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), secret)


def _is_from_our_page(scope: Scope, headers: Headers, public: str | None) -> bool:
    """Return whether a request is same-origin; only browsers send headers that say otherwise."""
    site = headers.get("sec-fetch-site", "none")
    navigates = headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"
    if site not in ("same-origin", "none") and not navigates:
        return False
    origin = headers.get("origin")
    if origin is None or scope["method"] in ("GET", "HEAD"):
        return True
    try:
        return urlsplit(origin).netloc in (headers.get("host", ""), public)
    except ValueError:
        return False


@lru_cache(maxsize=64)
def _is_own_name(host: str) -> bool:
    """Return whether a Host header names this machine."""
    return is_own_machine(_hostname(host))


def _hostname(host: str) -> str:
    """Return a Host header without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _cookie_name(scope: Scope) -> str:
    """Return the cookie's name, with the port: all ports of a host share cookies."""
    server = scope.get("server")
    return f"{_COOKIE}-{server[1]}" if server else _COOKIE


def cookie_in(scope: Scope, headers: Headers) -> str | None:
    """Return the cookie of a request, if there is one."""
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(_cookie_name(scope))
    except CookieError:
        return None
    return None if morsel is None else morsel.value


def bearer_in(headers: Headers) -> str | None:
    """Return the token in the header of a request, if there is one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return (token or None) if scheme.lower() == "bearer" else None
