"""Who may ask, and what every answer says about itself.

The page shows what people wrote in confidence, so it must not be readable from elsewhere:

- other machines: without a token, only names of this machine are answered. A page elsewhere whose
  name suddenly leads to this machine (DNS rebinding) still sends its own name;
- other pages in the same browser: a request that a browser says comes from one is refused;
- others who can reach the server: they need a token, once in the address, then in a cookie.
"""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from watchword.web.listening import as_token, is_own_machine
from watchword.web.wire import to_json

_COOKIE = "watchword-token"
_BEARER = "Bearer "

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


class Guard:
    """Lets requests through that may come through, and adds the headers to every answer."""

    def __init__(self, app: ASGIApp, *, host: str, token: str | None) -> None:
        self._app = app
        self._only_own = is_own_machine(host)
        self._token = None if token is None else as_token(token, host).encode()
        if self._token is None and not self._only_own:
            raise ValueError(f"a page on {host} can be reached by others: it needs a token")
        # Browsers keep cookies in files and send them to all ports: the token itself is not there.
        self._cookie = hmac.new(self._token or b"", b"cookie", "sha256").hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._refusal(scope) or self._app
        await answer(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if self._only_own and not is_own_machine(_hostname(headers.get("host", ""))):
            return _refuse(403, "this page answers only to names of this machine")
        if not _is_from_our_page(scope, headers):
            return _refuse(403, "this request comes from another page")
        if self._token is None:
            return None
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")
        if _same(given, self._token):
            return self._welcome(scope)
        cookie = self._cookie.encode()
        if _same(_cookie(scope, headers), cookie) or _same(_bearer(headers), self._token):
            return None
        return _refuse(401, "a token is needed: open the address that was printed, with ?token=…")

    def _welcome(self, scope: Scope) -> Response:
        """The same address again, with a cookie for the token: addresses are kept and passed on."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        # One slash only: more would lead to another machine.
        path = "/" + scope["path"].lstrip("/\\")
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        name = _cookie_name(scope)
        answer.set_cookie(name, self._cookie, httponly=True, samesite="lax", path="/")
        return answer


def _same(given: str | None, secret: bytes) -> bool:
    """Whether this is the secret, in a time that does not tell how much of it is right."""
    return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), secret)


def _is_from_our_page(scope: Scope, headers: Headers) -> bool:
    """Whether a browser says so; other programs say nothing, and can do nothing that we fear."""
    site = headers.get("sec-fetch-site", "none")
    navigates = headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"
    if site not in ("same-origin", "none") and not navigates:
        return False
    origin = headers.get("origin")
    if origin is None or scope["method"] in ("GET", "HEAD"):
        return True
    try:
        return urlsplit(origin).netloc == headers.get("host", "")
    except ValueError:
        return False


def _hostname(host: str) -> str:
    """A Host header without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _cookie_name(scope: Scope) -> str:
    """Cookies are shared by all ports of a machine, so the port is in the name."""
    server = scope.get("server")
    return f"{_COOKIE}-{server[1]}" if server else _COOKIE


def _cookie(scope: Scope, headers: Headers) -> str | None:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(_cookie_name(scope))
    except CookieError:
        return None
    return None if morsel is None else morsel.value


def _bearer(headers: Headers) -> str | None:
    given = headers.get("authorization", "")
    return given.removeprefix(_BEARER) if given.startswith(_BEARER) else None


def _refuse(status: int, message: str) -> Response:
    return Response(to_json({"error": message}), status, media_type="application/json")
