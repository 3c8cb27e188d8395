"""A practice server: speaks the protocol of eRisk (2019 and later) and measures every run.

It keeps everything in memory, serves one team, and is meant for one's own machine.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from watchword.checks import Label, as_whole
from watchword.erisk.protocol import parse_json
from watchword.erisk.task import ConflictError, PracticeTask, TaskResults
from watchword.errors import DataFormatError, MissingExtraError
from watchword.subjects import Subject

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from watchword.erisk.faults import LAGGING, DroppableProtocol, FaultInjection, Faults
    from watchword.listening import (
        is_own_machine,
        listening,
        new_token,
        run_until_interrupted,
        running_in_thread,
        url_of,
    )
except ImportError as error:
    raise MissingExtraError(
        "the practice server needs Starlette and uvicorn: pip install 'watchword[web]'"
    ) from error

__all__ = ["Faults", "PracticeServer", "make_app", "running_server", "serve"]

BODY_LIMIT = 1 << 26  # bytes of a submission; five thousand subjects take less than one million
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{1,200}")


def make_app(
    subjects: Sequence[Subject] | PracticeTask,
    *,
    token: str,
    runs: int = 1,
    positive: Label | None = None,
    faults: Faults | None = None,
    body_limit: int = BODY_LIMIT,
    on_round: Callable[[int], None] | None = None,
) -> Starlette:
    """The practice server as an application of Starlette; `app.state.task` is its task.

    Parameters
    ----------
    subjects
        who writes; every subject needs at least one post.
    token
        what a client must know.
    runs
        how many runs must answer before the next round is given out.
    positive
        the label that alerts are for; None if the truth is not known: then nothing is measured.
    faults
        what should go wrong, and how often.
    body_limit
        the largest submission, in bytes.
    on_round
        called with the number of every round that all runs have answered.
    """
    task = (
        subjects
        if isinstance(subjects, PracticeTask)
        else PracticeTask(subjects, runs=runs, positive=positive, on_round=on_round)
    )
    handlers = _Handlers(task, _as_token(token), as_whole("body_limit", body_limit, 2))
    middleware = [] if faults is None else [Middleware(FaultInjection, faults=faults)]
    app = Starlette(
        routes=[
            Route("/getwritings/{token}", handlers.get_writings),
            Route("/submit/{token}/{run}", handlers.submit, methods=["POST"]),
            Route("/results/{token}", handlers.results),
        ],
        middleware=middleware,
        exception_handlers={HTTPException: _as_json},
    )
    app.state.task = task
    return app


@dataclass(frozen=True)
class PracticeServer:
    """A practice server that runs: where it is, what it wants to hear, how the task stands."""

    url: str
    token: str = field(repr=False)
    task: PracticeTask


@contextmanager
def running_server(
    subjects: Sequence[Subject] | PracticeTask,
    *,
    positive: Label | None = None,
    runs: int = 1,
    token: str | None = None,
    port: int = 0,
    faults: Faults | None = None,
) -> Iterator[PracticeServer]:
    """Run a practice server in a thread of its own, on this machine only.

    >>> import urllib.request
    >>> from watchword.datasets import Post
    >>> with running_server([Subject("ann", [Post("Hello.")])], token="secret") as server:
    ...     with urllib.request.urlopen(f"{server.url}/getwritings/secret") as answer:
    ...         print(answer.read().decode())  # doctest: +ELLIPSIS
    [{"id":0,"number":0,"nick":"ann","redditor":0,"title":"","content":"Hello.","date":""}]
    """
    known = new_token() if token is None else token
    app = make_app(subjects, token=known, runs=runs, positive=positive, faults=faults)
    with (
        listening("127.0.0.1", port) as listener,
        running_in_thread(app, listener, http=_protocol(faults)),
    ):
        yield PracticeServer(url_of(listener), known, app.state.task)


def serve(
    subjects: Sequence[Subject],
    *,
    positive: Label | None = None,
    runs: int = 1,
    token: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    faults: Faults | None = None,
    on_ready: Callable[[PracticeServer], None] | None = None,
    on_round: Callable[[int], None] | None = None,
) -> TaskResults:
    """Run a practice server until it is interrupted (Ctrl-C); how the runs did by then.

    Without a token a random one is made; `on_ready` is told. A server that other machines can
    reach needs a token of your own, because what it gives out was written by people.
    """
    if token is None and not is_own_machine(host):
        raise ValueError(f"a server on {host} can be reached by others: give it a token")
    known = new_token() if token is None else token
    app = make_app(
        subjects, token=known, runs=runs, positive=positive, faults=faults, on_round=on_round
    )
    task: PracticeTask = app.state.task
    with listening(host, port) as listener:
        if on_ready is not None:
            on_ready(PracticeServer(url_of(listener), known, task))
        run_until_interrupted(app, listener, http=_protocol(faults))
    return task.results()


class _Handlers:
    def __init__(self, task: PracticeTask, token: str, body_limit: int) -> None:
        self._task = task
        self._token = token.encode()
        self._body_limit = body_limit

    async def get_writings(self, request: Request) -> Response:
        self._check_token(request)
        writings = self._task.writings(lagging=bool(request.scope.get(LAGGING)))
        return JSONResponse([writing.to_dict() for writing in writings])

    async def submit(self, request: Request) -> Response:
        self._check_token(request)
        given = request.path_params["run"]
        if given not in map(str, range(self._task.runs)):
            raise HTTPException(
                404, f"there is no run {given[:20]!a}, only 0 to {self._task.runs - 1}"
            )
        body = await self._body(request)
        try:
            self._task.submit(int(given), parse_json(body))
        except DataFormatError as error:
            raise HTTPException(400, str(error)) from None
        except ConflictError as error:
            raise HTTPException(409, str(error)) from None
        return JSONResponse({"round": self._task.round, "run": int(given)})

    async def results(self, request: Request) -> Response:
        self._check_token(request)
        return JSONResponse(self._task.results().to_dict())

    def _check_token(self, request: Request) -> None:
        given = request.path_params["token"].encode("utf-8", "replace")
        if not hmac.compare_digest(given, self._token):
            raise HTTPException(401, "unknown token")

    async def _body(self, request: Request) -> bytes:
        """The body, whatever it says it is, as long as it is not too large."""
        pieces, size = [], 0
        try:
            async for piece in request.stream():
                size += len(piece)
                if size > self._body_limit:
                    raise HTTPException(413, f"more than {self._body_limit} bytes")
                pieces.append(piece)
        except ClientDisconnect:
            raise HTTPException(400, "the request broke off") from None
        return b"".join(pieces)


async def _as_json(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


def _protocol(faults: Faults | None) -> Any:
    """What uvicorn speaks HTTP with: only faults need one that can drop connections."""
    return "h11" if faults is None else DroppableProtocol


def _as_token(token: str) -> str:
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise ValueError("token must be 1 to 200 letters, digits or any of . _ ~ -")
    return token
