"""The JSON API of the live page: requests, responses and errors around `Content`."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from watchword.errors import WatchwordError
from watchword.web.answers import failure, json_response
from watchword.web.connections import read_body
from watchword.web.content import Content
from watchword.web.documents import DocumentShelf, Selection
from watchword.web.models import NotThereError, Settings
from watchword.web.progress import GivenUpError
from watchword.web.subjects import SubjectShelf

logger = logging.getLogger("watchword.web")

_LOOK = 0.2  # seconds between two looks whether a request was cancelled
_GONE = 499  # the client has closed the request

_Answer = Callable[[Request], Awaitable[Any]]
_Endpoint = Callable[[Request], Awaitable[Response]]


class Api:
    """The endpoints below /api."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._slow = anyio.CapacityLimiter(1)

    def routes(self) -> list[Route]:
        """Return the route of every endpoint."""
        numbered = "/api/subjects/{at}"
        return [
            Route("/api/about", _endpoint(self.about)),
            Route("/api/progress", _endpoint(self.progress)),
            Route("/api/explain", _endpoint(self.explain), methods=["POST"]),
            Route("/api/change", _endpoint(self.change), methods=["POST"]),
            Route("/api/ngram", _endpoint(self.ngram)),
            Route("/api/overview/{column}", _endpoint(self.overview)),
            Route("/api/overview/{column}/{kind}.svg", _endpoint(self.picture)),
            Route("/api/documents", _endpoint(self.documents)),
            Route("/api/documents/{at}", _endpoint(self.document)),
            Route("/api/subjects", _endpoint(self.subjects)),
            Route(numbered, _endpoint(self.subject)),
            Route(numbered + "/posts/{number}", _endpoint(self.post)),
            Route(numbered + "/story", _endpoint(self.story)),
        ]

    async def about(self, _request: Request) -> Any:
        """Describe the model, documents and subjects."""
        return await run_in_threadpool(self._content.about)

    async def progress(self, _request: Request) -> Any:
        """Return how far the current slow request has got; null if that is not known."""
        return self._content.progress.state()

    async def explain(self, request: Request) -> Any:
        """Explain a text: {"text": …, and any settings}."""
        text, settings = await self._text(request)
        if self._content.models.is_slow(text, settings):
            return await self._one_by_one(request, self._content.explain, text, settings)
        return await run_in_threadpool(self._content.explain, text, settings)

    async def change(self, request: Request) -> Any:
        """Find the n-grams that decide a text's label: {"text": …, and any settings}."""
        text, settings = await self._text(request)
        return await self._one_by_one(request, self._content.change, text, settings)

    async def ngram(self, request: Request) -> Any:
        """Return the values of the n-gram in ?ngram=…."""
        settings = self._settings(request.query_params)
        wanted = request.query_params.get("ngram", "")
        return await run_in_threadpool(self._content.ngram, wanted, settings)

    async def overview(self, request: Request) -> Any:
        """Return a label's n-grams of highest value."""
        settings, column = self._settings(request.query_params), _place(request, "column")
        return await self._one_by_one(request, self._content.overview, column, settings)

    async def picture(self, request: Request) -> Any:
        """Draw a word cloud, bars or a distribution of values, for n-grams of ?length=… words.

        ?alert=… is the column of the label that has the warm colour.
        """
        given, named = request.query_params, request.path_params
        column, length = _place(request, "column"), _whole(given, "length")
        wanted = (named["kind"], column, length, self._settings(given), _whole(given, "alert"))
        drawn = await self._one_by_one(request, self._content.picture, *wanted)
        return Response(drawn, media_type="image/svg+xml")

    async def documents(self, request: Request) -> Any:
        """List documents filtered by ?right=true&row=0&column=1&page=0."""
        selection, settings = _selection(request.query_params), self._settings(request.query_params)
        return await self._one_by_one(request, self._document_shelf().listing, settings, selection)

    async def document(self, request: Request) -> Any:
        """Return one document with its explanation."""
        settings = self._settings(request.query_params)
        at = _place(request, "at")
        return await self._one_by_one(request, self._document_shelf().one, at, settings)

    async def subjects(self, request: Request) -> Any:
        """List subjects with the same filters, decided by ?policy={"policy": …}."""
        given, shelf = request.query_params, self._subject_shelf()
        settings, selection = self._settings(given), _selection(given)
        return await self._one_by_one(
            request, shelf.listing, settings, shelf.policy(given), selection
        )

    async def subject(self, request: Request) -> Any:
        """Return one subject: values after every post, and the decision."""
        given, shelf = request.query_params, self._subject_shelf()
        at, settings = _place(request, "at"), self._settings(given)
        return await self._one_by_one(request, shelf.one, at, settings, shelf.policy(given))

    async def story(self, request: Request) -> Any:
        """Return what tipped the decision about a subject, and what would have changed it."""
        given, shelf = request.query_params, self._subject_shelf()
        at, settings = _place(request, "at"), self._settings(given)
        return await self._one_by_one(request, shelf.story, at, settings, shelf.policy(given))

    async def post(self, request: Request) -> Any:
        """Return one post of a subject, counted from 1, with its explanation."""
        settings = self._settings(request.query_params)
        at, number = _place(request, "at"), _place(request, "number")
        shelf = self._subject_shelf()
        if self._content.models.is_slow(shelf.text(at, number), settings):
            return await self._one_by_one(request, shelf.post, at, number, settings)
        return await run_in_threadpool(shelf.post, at, number, settings)

    async def _text(self, request: Request) -> tuple[str, Settings]:
        given = await _body(request)
        text = given.get("text")
        if not isinstance(text, str):
            raise ValueError("text must be a string")
        limit = self._content.models.text_limit
        if len(text) > limit:
            raise HTTPException(413, f"text has {len(text)} characters; the limit is {limit}")
        return text, self._settings(given)

    def _settings(self, given: Mapping[str, Any]) -> Settings:
        return self._content.models.settings(given)

    def _document_shelf(self) -> DocumentShelf:
        if self._content.documents is None:
            raise NotThereError("the page was started without documents")
        return self._content.documents

    def _subject_shelf(self) -> SubjectShelf:
        if self._content.subjects is None:
            raise NotThereError("the page was started without subjects")
        return self._content.subjects

    async def _one_by_one(self, request: Request, work: Callable[..., Any], *arguments: Any) -> Any:
        """Run slow work: one request at a time, skipping requests that were cancelled.

        Dragging a slider sends many requests, and only the last one matters.
        """
        async with self._slow:
            if await request.is_disconnected():
                raise HTTPException(_GONE, "request cancelled")
            self._content.progress.begin()
            failed: Exception | None = None
            async with anyio.create_task_group() as group:
                group.start_soon(self._give_up_if_cancelled, request)
                try:
                    found = await run_in_threadpool(work, *arguments)
                except Exception as error:  # from a task group it would come as a group
                    failed = error
                group.cancel_scope.cancel()
        if failed is not None:
            raise failed
        return found

    async def _give_up_if_cancelled(self, request: Request) -> None:
        while not await request.is_disconnected():
            await anyio.sleep(_LOOK)
        self._content.progress.give_up()


def _endpoint(answer: _Answer) -> _Endpoint:
    """Turn the result of an endpoint, or its exception, into a response."""

    @functools.wraps(answer)
    async def respond(request: Request) -> Response:
        try:
            found = await answer(request)
            if isinstance(found, Response):
                return found
            return json_response(found)
        except HTTPException as error:
            return failure(error.status_code, error.detail)
        except GivenUpError:
            return failure(_GONE, "request cancelled")
        except NotThereError as error:
            return failure(404, str(error))
        except (WatchwordError, ValueError, TypeError, OverflowError) as error:
            return failure(400, str(error))
        except RecursionError:  # from the request: a policy of policies of …
            return failure(400, "the request is nested too deeply")
        except Exception:
            logger.exception("%s failed", request.url.path)
            return failure(500, "internal error: see the server's log")

    return respond


def _selection(given: Mapping[str, str]) -> Selection:
    right = {"": None, "true": True, "false": False}
    wanted = given.get("right", "")
    if wanted not in right:
        raise ValueError(f"right must be true or false, got {wanted[:20]!r}")
    row, column, page = (_whole(given, name) for name in ("row", "column", "page"))
    return Selection(right[wanted], row, column, page or 0)


def _whole(given: Mapping[str, str], name: str) -> int | None:
    value = given.get(name, "")
    if not value:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise ValueError(f"{name} must be a whole number, got {value[:20]!r}")
    return int(value)


def _place(request: Request, name: str) -> int:
    """Return a number in a path; Starlette's converter fails on numbers of very many digits."""
    value: str = request.path_params[name]
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise NotThereError(f"{name} {value[:20]!r} not found")
    return int(value)


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
