"""The live page as a Starlette application, and requests to it without a server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from watchword.errors import MissingExtraError
from watchword.web.content import Content
from watchword.web.files import static_files

try:
    import anyio
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message

    from watchword.web.answers import failure, file_response
    from watchword.web.api import Api
    from watchword.web.guard import Guard
except ImportError as error:
    raise MissingExtraError.of("web", "the live page needs Starlette and uvicorn") from error


def make_app(content: Content, *, host: str = "127.0.0.1", token: str | None = None) -> ASGIApp:
    """Return the application of the live page, for a server listening on a host.

    With a token, requests must send it; a host reachable from other machines requires one.
    """
    app = Starlette(
        routes=[Route("/", _index), Route("/static/{name}", _static), *Api(content).routes()],
        exception_handlers={HTTPException: _as_json, Exception: _as_json},
    )
    app.router.redirect_slashes = False
    return Guard(app, host=host, token=token)


class Answer(NamedTuple):
    """The status and body of a response."""

    status: int
    body: bytes


def get(app: ASGIApp, path: str) -> Answer:
    """Request a path of an application as a local browser would, without a socket.

    >>> from watchword import TauSS3
    >>> model = TauSS3()
    >>> model.learn_one("machine learning", "tech")
    >>> status, body = get(make_app(Content(model)), "/api/ngram?ngram=Machine")
    >>> status, body[:30]
    (200, b'{"ngram":"Machine","values":[{')
    """
    with ThreadPoolExecutor(1) as pool:  # this thread may already run a loop, as in a notebook
        return pool.submit(anyio.run, _get, app, path).result()


async def _get(app: ASGIApp, path: str) -> Answer:
    parts = urlsplit(path)
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(parts.path),
        "raw_path": parts.path.encode("utf-8", "replace"),
        "query_string": parts.query.encode("utf-8", "replace"),
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1")],
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 0),
    }
    messages: list[Message] = []

    async def receive() -> Message:
        if not messages:
            return {"type": "http.request", "body": b"", "more_body": False}
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in messages)
    return Answer(messages[0]["status"], body)


async def _index(_request: Request) -> Response:
    return file_response(static_files(), "index.html")


async def _static(request: Request) -> Response:
    return file_response(static_files(), request.path_params["name"])


async def _as_json(_request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return failure(error.status_code, error.detail)
    return failure(500, "internal error: see the server's log")
