"""The JSON interface of the page: reads requests, asks `Content`, answers. Errors are JSON, too."""

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
from watchword.web.connections import read_body
from watchword.web.content import Content
from watchword.web.documents import Chosen, DocumentShelf
from watchword.web.models import NotThereError, Settings
from watchword.web.people import SubjectShelf
from watchword.web.wire import to_json

logger = logging.getLogger("watchword.web")

BODY_LIMIT = 1 << 22  # bytes: a text of the largest size, whatever its characters
_GONE = 499  # nobody reads this answer any more

_Answer = Callable[[Request], Awaitable[Any]]
_Endpoint = Callable[[Request], Awaitable[Response]]


class Api:
    """The endpoints below /api."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._slow = anyio.CapacityLimiter(1)

    def routes(self) -> list[Route]:
        """Every address with what answers it."""
        numbered = "/api/subjects/{at}"
        return [
            Route("/api/about", _endpoint(self.about)),
            Route("/api/explain", _endpoint(self.explain), methods=["POST"]),
            Route("/api/change", _endpoint(self.change), methods=["POST"]),
            Route("/api/ngram", _endpoint(self.ngram)),
            Route("/api/glance/{column}", _endpoint(self.glance)),
            Route("/api/glance/{column}/{kind}.svg", _endpoint(self.picture)),
            Route("/api/documents", _endpoint(self.documents)),
            Route("/api/documents/{at}", _endpoint(self.document)),
            Route("/api/subjects", _endpoint(self.subjects)),
            Route(numbered, _endpoint(self.subject)),
            Route(numbered + "/posts/{number}", _endpoint(self.post)),
            Route(numbered + "/story", _endpoint(self.story)),
        ]

    async def about(self, _request: Request) -> Any:
        """The model and what there is to look at."""
        return await run_in_threadpool(self._content.about)

    async def explain(self, request: Request) -> Any:
        """A text that somebody types, painted: {"text": …, and any settings}."""
        text, settings = await self._text(request)
        if self._content.models.is_slow(text, settings):
            return await self._one_by_one(request, self._content.explain, text, settings)
        return await run_in_threadpool(self._content.explain, text, settings)

    async def change(self, request: Request) -> Any:
        """What would give a text another label: {"text": …, and any settings}."""
        text, settings = await self._text(request)
        return await self._one_by_one(request, self._content.change, text, settings)

    async def ngram(self, request: Request) -> Any:
        """What the n-gram in ?ngram=… is worth."""
        settings = self._settings(request.query_params)
        wanted = request.query_params.get("ngram", "")
        return await run_in_threadpool(self._content.ngram, wanted, settings)

    async def glance(self, request: Request) -> Any:
        """What the model knows of a label."""
        settings, column = self._settings(request.query_params), _place(request, "column")
        return await self._one_by_one(request, self._content.glance, column, settings)

    async def picture(self, request: Request) -> Any:
        """A cloud, bars or a distribution of values, for n-grams of ?length=… words."""
        given, named = request.query_params, request.path_params
        column, length = _place(request, "column"), _whole(given, "length")
        wanted = (named["kind"], column, length, self._settings(given))
        drawn = await self._one_by_one(request, self._content.picture, *wanted)
        return Response(drawn, media_type="image/svg+xml")

    async def documents(self, request: Request) -> Any:
        """A page of the documents that ?right=true&row=0&column=1&page=0 chooses."""
        chosen, settings = _chosen(request.query_params), self._settings(request.query_params)
        return await self._one_by_one(request, self._shelf().listing, settings, chosen)

    async def document(self, request: Request) -> Any:
        """One document, painted."""
        settings = self._settings(request.query_params)
        at = _place(request, "at")
        return await self._one_by_one(request, self._shelf().one, at, settings)

    async def subjects(self, request: Request) -> Any:
        """A page of subjects, chosen in the same way; ?policy={"policy": …} says when to alert."""
        given, people = request.query_params, self._people()
        settings, chosen = self._settings(given), _chosen(given)
        return await self._one_by_one(
            request, people.listing, settings, people.policy(given), chosen
        )

    async def subject(self, request: Request) -> Any:
        """One subject: values after every post, and the decision."""
        given, people = request.query_params, self._people()
        at, settings = _place(request, "at"), self._settings(given)
        return await self._one_by_one(request, people.one, at, settings, people.policy(given))

    async def story(self, request: Request) -> Any:
        """What tipped the decision about a subject, and what would have changed it."""
        given, people = request.query_params, self._people()
        at, settings = _place(request, "at"), self._settings(given)
        return await self._one_by_one(request, people.story, at, settings, people.policy(given))

    async def post(self, request: Request) -> Any:
        """One post of a subject, counted from 1, painted."""
        settings = self._settings(request.query_params)
        at, number = _place(request, "at"), _place(request, "number")
        people = self._people()
        if self._content.models.is_slow(people.text(at, number), settings):
            return await self._one_by_one(request, people.post, at, number, settings)
        return await run_in_threadpool(people.post, at, number, settings)

    async def _text(self, request: Request) -> tuple[str, Settings]:
        given = await _body(request)
        text = given.get("text")
        if not isinstance(text, str):
            raise ValueError("text must be a string")
        limit = self._content.models.text_limit
        if len(text) > limit:
            raise HTTPException(
                413, f"the text has {len(text)} characters; at most {limit} are painted"
            )
        return text, self._settings(given)

    def _settings(self, given: Mapping[str, Any]) -> Settings:
        return self._content.models.settings(given)

    def _shelf(self) -> DocumentShelf:
        if self._content.documents is None:
            raise NotThereError("there are no documents")
        return self._content.documents

    def _people(self) -> SubjectShelf:
        if self._content.subjects is None:
            raise NotThereError("there are no subjects")
        return self._content.subjects

    async def _one_by_one(self, request: Request, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do what may take long: one such request at a time, and none that was given up.

        Whoever drags a slider sends many of them, and is interested in the last.
        """
        async with self._slow:
            if await request.is_disconnected():
                raise HTTPException(_GONE, "given up")
            return await run_in_threadpool(work, *arguments)


def _endpoint(answer: _Answer) -> _Endpoint:
    """Turn what an endpoint gives or raises into a response."""

    @functools.wraps(answer)
    async def respond(request: Request) -> Response:
        try:
            found = await answer(request)
            if isinstance(found, Response):
                return found
            return Response(to_json(found), media_type="application/json")
        except HTTPException as error:
            return failure(error.status_code, error.detail)
        except NotThereError as error:
            return failure(404, str(error))
        except (WatchwordError, ValueError, TypeError, OverflowError) as error:
            return failure(400, str(error))
        except RecursionError:  # only what was sent can be so deep: a policy of policies
            return failure(400, "this is nested too deeply")
        except Exception:
            logger.exception("%s failed", request.url.path)
            return failure(500, "something went wrong; the log of the server says what")

    return respond


def failure(status: int, message: str) -> Response:
    """An error as JSON."""
    return Response(to_json({"error": message}), status, media_type="application/json")


def _chosen(given: Mapping[str, str]) -> Chosen:
    right = {"": None, "true": True, "false": False}
    wanted = given.get("right", "")
    if wanted not in right:
        raise ValueError(f"right must be true or false, got {wanted[:20]!r}")
    row, column, page = (_whole(given, name) for name in ("row", "column", "page"))
    return Chosen(right[wanted], row, column, page or 0)


def _whole(given: Mapping[str, str], name: str) -> int | None:
    value = given.get(name, "")
    if not value:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise ValueError(f"{name} must be a whole number, got {value[:20]!r}")
    return int(value)


def _place(request: Request, name: str) -> int:
    """A number in an address. Starlette's own fails where Python refuses so many digits."""
    value: str = request.path_params[name]
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise NotThereError(f"there is no {value[:20]!r}")
    return int(value)


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object that was sent, if it is not too large."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "send application/json")
    body = await read_body(request, BODY_LIMIT)
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("this is no JSON") from None
    if not isinstance(given, dict):
        raise ValueError("expected an object")
    return given
