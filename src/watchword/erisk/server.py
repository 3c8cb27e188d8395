"""A practice server for the eRisk protocol (2019 and later) that measures every run.

It keeps everything in memory, serves one team, and is meant for local use.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from socket import socket
from typing import Any

from watchword._checks import Label, as_whole
from watchword.data.subjects import Subject
from watchword.erisk.dialects import DIALECTS, DialectName
from watchword.erisk.practice_task import (
    ConflictError,
    DuplicateError,
    EarlyError,
    PracticeTask,
    TaskResults,
)
from watchword.erisk.protocol import parse_json
from watchword.errors import DataFormatError, MissingExtraError

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from watchword.web.connections import read_body
    from watchword.web.listening import (
        as_token,
        is_own_machine,
        listening,
        new_token,
        run_until_interrupted,
        running_in_thread,
        url_of,
    )
except ImportError as error:
    raise MissingExtraError.of("web", "the practice server needs Starlette and uvicorn") from error

__all__ = ["PracticeServer", "make_app", "running_server", "serve"]


def make_app(
    subjects: Sequence[Subject] | PracticeTask,
    *,
    token: str,
    runs: int = 1,
    positive: Label | None = None,
    dialect: DialectName = "writings",
    tasks: Sequence[str] = (),
    refuse_duplicates: bool = False,
    refuse_early: bool = False,
    body_limit: int | None = None,
    on_round: Callable[[int], None] | None = None,
    host: str = "127.0.0.1",
) -> Starlette:
    """Return the practice server as a Starlette application; `app.state.task` is its task.

    Parameters
    ----------
    subjects
        the subjects to serve; subjects without posts are not sent, and count as never alerted.
    token
        the access token of clients: 8 to 200 letters, digits or any of . _ ~ -, and at least 16
        if other machines can connect.
    runs
        the number of runs that must answer before the next round is sent.
    positive
        the label to alert for; None for unlabelled subjects, without measures.
    dialect
        the form of the rounds: `"writings"` (eRisk 2019 to 2024), `"discussions"` (2025, 2026),
        which include the context of posts, or `"messages"` (MentalRiskES).
    tasks
        names of tasks with the same rounds, such as `["task1a", "task1b"]` (MentalRiskES 2023):
        every run must answer in each, at `/task1a/submit/…`.
    refuse_duplicates
        whether to reject a repeated answer with status 400, as some servers do.
    refuse_early
        whether to send each round once, and reject further requests with status 400 until all
        answers are there, as the server of MentalRiskES does.
    body_limit
        the largest submission, in bytes; by default enough for answers about all subjects.
    on_round
        called with the number of every round that all runs have answered.
    host
        the host that the server will listen on.
    """
    options: dict[str, Any] = {"runs": runs, "positive": positive, "dialect": dialect}
    options |= {"refuse_duplicates": refuse_duplicates, "refuse_early": refuse_early}
    options |= {"tasks": tasks, "on_round": on_round}
    task = subjects if isinstance(subjects, PracticeTask) else PracticeTask(subjects, **options)
    limit = _enough_bytes(task) if body_limit is None else as_whole("body_limit", body_limit, 2)
    handlers = _Handlers(task, as_token(token, host), limit)
    app = Starlette(
        routes=[
            *(Route(f"/{one.path}/{{token}}", handlers.get_round) for one in DIALECTS.values()),
            *(
                Route(f"{base}/{path}/{{token}}/{{run}}", handlers.submit, methods=["POST"])
                for path in dict.fromkeys(one.submit_path for one in DIALECTS.values())
                for base in ("", "/{task}")
            ),
            Route("/results/{token}", handlers.results),
        ],
        exception_handlers={HTTPException: _as_json},
    )
    app.state.task = task
    return app


@dataclass(frozen=True)
class PracticeServer:
    """A running practice server: its URL, its token and its task."""

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
    dialect: DialectName = "writings",
    tasks: Sequence[str] = (),
    refuse_duplicates: bool = False,
    refuse_early: bool = False,
) -> Iterator[PracticeServer]:
    """Run a practice server in a background thread, on this machine only.

    >>> import urllib.request
    >>> from watchword.data import Post
    >>> with running_server([Subject("ann", [Post("Hello.")])], token="practice") as server:
    ...     with urllib.request.urlopen(f"{server.url}/getwritings/practice") as answer:
    ...         print(answer.read().decode())  # doctest: +ELLIPSIS
    [{"nick":"ann","number":0,"title":"","content":"Hello.","date":"","id":0,"redditor":0}]
    """
    task: dict[str, Any] = {"runs": runs, "positive": positive, "dialect": dialect}
    task |= {"tasks": tasks, "refuse_duplicates": refuse_duplicates, "refuse_early": refuse_early}
    with (
        _listening(subjects, token, "127.0.0.1", port, **task) as (server, app, listener),
        running_in_thread(app, listener),
    ):
        yield server


def serve(
    subjects: Sequence[Subject],
    *,
    positive: Label | None = None,
    runs: int = 1,
    token: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    dialect: DialectName = "writings",
    tasks: Sequence[str] = (),
    refuse_duplicates: bool = False,
    refuse_early: bool = False,
    on_ready: Callable[[PracticeServer], None] | None = None,
    on_round: Callable[[int], None] | None = None,
) -> TaskResults:
    """Run a practice server until it is interrupted (Ctrl-C), and return the results so far.

    Without a token, a random one is generated and passed to `on_ready` with the server. A server
    that other machines can reach needs a token of your own with at least 16 characters, to protect
    the writings.
    """
    if token is None and not is_own_machine(host):
        raise ValueError(f"a server on {host} can be reached by other machines (set a token)")
    task: dict[str, Any] = {"runs": runs, "positive": positive, "on_round": on_round}
    task |= {"tasks": tasks, "refuse_duplicates": refuse_duplicates, "refuse_early": refuse_early}
    task["dialect"] = dialect
    with _listening(subjects, token, host, port, **task) as (server, app, listener):
        if on_ready is not None:
            on_ready(server)
        run_until_interrupted(app, listener)
    return server.task.results()


@contextmanager
def _listening(
    subjects: Sequence[Subject] | PracticeTask,
    token: str | None,
    host: str,
    port: int,
    **task: Any,
) -> Iterator[tuple[PracticeServer, Starlette, socket]]:
    """Yield a practice server that listens, but does not run yet; `task` has further options."""
    known = new_token() if token is None else token
    app = make_app(subjects, token=known, host=host, **task)
    with listening(host, port) as listener:
        yield PracticeServer(url_of(listener), known, app.state.task), app, listener


class _Handlers:
    def __init__(self, task: PracticeTask, token: str, body_limit: int) -> None:
        self._task = task
        self._token = token.encode()
        self._body_limit = body_limit

    async def get_round(self, request: Request) -> Response:
        self._check_token(request)
        path = self._task.dialect.path
        if request.url.path.split("/")[-2] != path:  # from the end: the app may be mounted
            raise HTTPException(404, f"this task is served at /{path}/TOKEN")
        try:
            return JSONResponse(self._task.messages())
        except EarlyError as error:
            raise HTTPException(400, str(error)) from None

    async def submit(self, request: Request) -> Response:
        self._check_token(request)
        given, task = request.path_params["run"], request.path_params.get("task", "")
        if task not in (self._task.tasks or ("",)):
            tasks = " or ".join(self._task.tasks) or "none"
            raise HTTPException(404, f"unknown task {task[:20]!a} (the tasks are {tasks})")
        if given not in map(str, range(self._task.runs)):
            raise HTTPException(
                404, f"unknown run {given[:20]!a} (runs are 0 to {self._task.runs - 1})"
            )
        body = await read_body(request, self._body_limit)
        try:
            answers = self._task.dialect.decode_answers(parse_json(body))
            self._task.submit(int(given), answers, task)
        except (DataFormatError, DuplicateError) as error:
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


async def _as_json(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


def _enough_bytes(task: PracticeTask) -> int:
    """Return a size above that of any valid list of answers.

    A character takes at most 14 bytes in JSON (two escapes for one outside the basic plane, each
    with its backslash escaped in messages), and the rest of an answer fewer than 256, indented and
    with all digits of its score.
    """
    return 4096 + sum(14 * len(name) + 256 for name in task.names)
