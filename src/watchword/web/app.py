"""The live page as a Starlette application: its JSON API, and requests to it without a server."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from watchword.errors import MissingExtraError, WatchwordError
from watchword.streams.policies import Policy
from watchword.web.content import Content
from watchword.web.documents import DocumentShelf, Selection
from watchword.web.files import static_files
from watchword.web.models import GivenUpError, NotThereError, Settings
from watchword.web.subjects import SubjectShelf

try:
    import anyio
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message

    from watchword.web.answers import failure, file_response, json_response
    from watchword.web.connections import read_body
    from watchword.web.guard import Guard
except ImportError as error:
    raise MissingExtraError.of("web", "the live page needs Starlette and uvicorn") from error

logger = logging.getLogger("watchword.web")

_LOOK = 0.2  # seconds between two looks whether a request was cancelled
_GONE = 499  # the client has closed the request


def make_app(content: Content, *, host: str = "127.0.0.1", token: str | None = None) -> ASGIApp:
    """Return the application of the live page, for a server listening on a host.

    With a token, requests must send it; a host reachable from other machines requires one.
    """
    app = Starlette(
        routes=[Route("/", _static), Route("/static/{name}", _static), *_api(content)],
        exception_handlers={HTTPException: _refusal, Exception: _refusal},
    )
    app.router.redirect_slashes = False
    return Guard(app, host=host, token=token)


class Reply(NamedTuple):
    """The status and body of a response."""

    status: int
    body: bytes


def get(app: ASGIApp, path: str) -> Reply:
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


async def _get(app: ASGIApp, path: str) -> Reply:
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
    return Reply(messages[0]["status"], body)


async def _static(request: Request) -> Response:
    return file_response(static_files(), request.path_params.get("name", "index.html"))


# The JSON API


@dataclass(frozen=True)
class _Ask:
    """A request for data: its parts, and ways to answer it."""

    content: Content
    request: Request
    given: Mapping[str, Any]  # the query or, of a POST, the object in the body
    one_at_a_time: anyio.CapacityLimiter

    @property
    def settings(self) -> Settings:
        return self.content.models.settings(self.given)

    @property
    def text(self) -> str:
        text = self.given.get("text")
        if not isinstance(text, str):
            raise ValueError("text must be a string")
        limit = self.content.models.text_limit
        if len(text) > limit:
            raise HTTPException(413, f"text has {len(text)} characters; the limit is {limit}")
        return text

    @property
    def documents(self) -> DocumentShelf:
        if self.content.documents is None:
            raise NotThereError("the page was started without documents")
        return self.content.documents

    @property
    def subjects(self) -> SubjectShelf:
        if self.content.subjects is None:
            raise NotThereError("the page was started without subjects")
        return self.content.subjects

    @property
    def policy(self) -> Policy:
        """The policy of ?policy={"policy": …} [default: the page's]."""
        return self.subjects.policy(self.given)

    @property
    def selection(self) -> Selection:
        """The filters of a list: ?right=true&row=0&column=1&page=0."""
        right = {"": None, "true": True, "false": False}
        wanted = self.given.get("right", "")
        if wanted not in right:
            raise ValueError(f"right must be true or false, got {wanted[:20]!r}")
        row, column, page = map(self.whole, ("row", "column", "page"))
        return Selection(right[wanted], row, column, page or 0)

    def whole(self, name: str) -> int | None:
        value = self.given.get(name, "")
        if value and not _is_whole(value):
            raise ValueError(f"{name} must be a whole number, got {value[:20]!r}")
        return int(value) if value else None

    def place(self, name: str) -> int:
        """Return a number in a path; Starlette's converter fails on numbers of very many digits."""
        value: str = self.request.path_params[name]
        if not _is_whole(value):
            raise NotThereError(f"{name} {value[:20]!r} not found")
        return int(value)

    async def slowly(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Run slow work: one request at a time, skipping requests that were cancelled.

        Dragging a slider sends many requests, and only the last one matters.
        """
        async with self.one_at_a_time:
            if await self.request.is_disconnected():
                raise GivenUpError
            self.content.progress.begin()
            failed: Exception | None = None
            async with anyio.create_task_group() as group:
                group.start_soon(self._give_up_if_cancelled)
                try:
                    found = await run_in_threadpool(work, *arguments)
                except Exception as error:  # from a task group it would come as a group
                    failed = error
                group.cancel_scope.cancel()
        if failed is not None:
            raise failed
        return found

    async def _give_up_if_cancelled(self) -> None:
        while not await self.request.is_disconnected():
            await anyio.sleep(_LOOK)
        self.content.progress.give_up()


_Handler = Callable[[_Ask], Awaitable[Any]]


def _api(content: Content) -> list[Route]:
    """Return the routes below /api. Settings and filters are in the query, or beside the text."""
    limiter = anyio.CapacityLimiter(1)
    quickly, models = run_in_threadpool, content.models

    def explain(ask: _Ask) -> Awaitable[Any]:
        text, settings = ask.text, ask.settings
        run = ask.slowly if models.is_slow(text, settings) else quickly
        return run(content.explain, text, settings)

    def picture(ask: _Ask) -> Awaitable[Any]:
        """Draw n-grams of ?length=… words; the label of the column ?alert=… is warm."""
        kind, column = ask.request.path_params["kind"], ask.place("column")
        wanted = kind, column, ask.whole("length"), ask.settings, ask.whole("alert")
        return ask.slowly(lambda: Response(content.picture(*wanted), media_type="image/svg+xml"))

    def post(ask: _Ask) -> Awaitable[Any]:
        shelf, settings = ask.subjects, ask.settings
        at, number = ask.place("at"), ask.place("number")
        run = ask.slowly if models.is_slow(shelf.text(at, number), settings) else quickly
        return run(shelf.post, at, number, settings)

    answers: dict[str, _Handler] = {
        "about": lambda _: quickly(content.about),
        "progress": lambda _: quickly(content.progress.state),
        "explain": explain,
        "change": lambda ask: ask.slowly(content.change, ask.text, ask.settings),
        "ngram": lambda ask: quickly(content.ngram, ask.given.get("ngram", ""), ask.settings),
        "overview/{column}": lambda ask: ask.slowly(
            content.overview, ask.place("column"), ask.settings
        ),
        "overview/{column}/{kind}.svg": picture,
        "documents": lambda ask: ask.slowly(ask.documents.listing, ask.settings, ask.selection),
        "documents/{at}": lambda ask: ask.slowly(ask.documents.one, ask.place("at"), ask.settings),
        "subjects": lambda ask: ask.slowly(
            ask.subjects.listing, ask.settings, ask.policy, ask.selection
        ),
        "subjects/{at}": lambda ask: ask.slowly(
            ask.subjects.one, ask.place("at"), ask.settings, ask.policy
        ),
        "subjects/{at}/posts/{number}": post,
        "subjects/{at}/story": lambda ask: ask.slowly(
            ask.subjects.story, ask.place("at"), ask.settings, ask.policy
        ),
    }

    def endpoint(answer: _Handler) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            try:
                given = await _body(request) if request.method == "POST" else request.query_params
                found = await answer(_Ask(content, request, given, limiter))
                return found if isinstance(found, Response) else json_response(found)
            except Exception as error:
                return await _refusal(request, error)

        return respond

    methods = {"explain": "POST", "change": "POST"}
    return [
        Route(f"/api/{path}", endpoint(answer), methods=[methods.get(path, "GET")])
        for path, answer in answers.items()
    ]


async def _refusal(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return failure(error.status_code, error.detail, error.headers)
    if isinstance(error, GivenUpError):
        return failure(_GONE, "request cancelled")
    if isinstance(error, NotThereError):
        return failure(404, str(error))
    if isinstance(error, WatchwordError | ValueError | TypeError | OverflowError):
        return failure(400, str(error))
    if isinstance(error, RecursionError):  # from the request: a policy of policies of …
        return failure(400, "the request is nested too deeply")
    logger.error("%s failed", request.url.path, exc_info=error)
    return failure(500, "internal error: see the server's log")


def _is_whole(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) < 10


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request, if it is not too large."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "Content-Type must be application/json")
    body = await read_body(request)
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the request body is not valid JSON") from None
    if not isinstance(given, dict):
        raise ValueError("the request body must be a JSON object")
    return given
