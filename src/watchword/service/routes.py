"""ServiceHandlers of all operations: parse the request, call the service, return plain data."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from watchword._files import AnyPath
from watchword.errors import StoreError
from watchword.service.alerts import SORTS as ALERT_SORTS
from watchword.service.board import Feed, board_files, story_for_page
from watchword.service.bodies import LINES, MEDIA_TYPES, BadBody, FieldCheck, posts_in
from watchword.service.logs import say
from watchword.service.monitoring import MEDIA_TYPE, Metrics, Sample
from watchword.service.operations import (
    IN_PATH,
    LARGEST,
    LIMIT,
    OFFSET,
    POSTS,
    QUERY,
    SINCE,
    ApiParameter,
    Call,
    EmptyRequest,
    MarkRequest,
    Operation,
    ReloadRequest,
    flag,
    media_type_of,
    one_of,
    whole,
    whole_number,
)
from watchword.service.records import (
    BODY_LIMIT,
    MODEL_LIMIT,
    MOST_CONNECTIONS,
    RATE,
    SCOPES,
    IncomingPost,
    ModelVersion,
    Receipt,
    TokenView,
    as_json_data,
)
from watchword.service.subjects import SORTS as SUBJECT_SORTS
from watchword.service.tokens import allowed, holder_of, is_still_allowed
from watchword.service.webhooks import unsettled_deliveries
from watchword.web.answers import file_response, json_response
from watchword.web.connections import read_body
from watchword.web.models import to_json

if TYPE_CHECKING:
    from watchword.service.monitoring import Readiness
    from watchword.service.runner import Service

OPERATIONS: list[Operation] = []  # in the order in which paths are matched

_Result = TypeVar("_Result")
_Handler = TypeVar("_Handler", bound=Callable[..., Any])
_READERS, _SEARCHES, _PARSERS = 8, 2, 4  # threads
_SMALL = 1 << 15  # bytes of a body that is parsed without a thread of its own


def operation(
    route: str, scope: str | None, returns: str, *query: ApiParameter, **more: Any
) -> Callable[[_Handler], _Handler]:
    """Make an operation of a handler; its docstring is the summary."""
    method, path = route.split()
    parameters = *(one for one in IN_PATH if f"{{{one.name}}}" in path), *query

    def added(handler: _Handler) -> _Handler:
        name, summary = handler.__name__, handler.__doc__ or ""
        own = Operation(name, method, path, scope, summary, returns, parameters, **more)
        OPERATIONS.append(own)
        return handler

    return added


@dataclass(frozen=True)
class RequestLimits:
    """Limits on requests.

    Parameters
    ----------
    body
        largest body, in bytes.
    posts
        largest number of posts in one request.
    rate
        requests per second with one token; twice as many at once.
    streams
        open streams of events with one token.
    at_once
        requests with one token, other than posts, that are answered at once.
    waiting
        further ones that may wait.
    model
        largest model file that a request may name, in bytes.
    model_folders
        folders of such files, beside the folder of the service's model.
    """

    body: int = BODY_LIMIT
    posts: int = 10_000
    rate: float = RATE
    streams: int = 100
    at_once: int = 4
    waiting: int = 50
    model: int = MODEL_LIMIT
    model_folders: tuple[AnyPath, ...] = ()


class ServiceHandlers:
    """The handlers of all operations, by their names."""

    def __init__(
        self,
        service: Service,
        *,
        metrics: Metrics,
        readiness: Readiness,
        limits: RequestLimits,
        connections: int = MOST_CONNECTIONS,
    ) -> None:
        self._service = service
        self.metrics = metrics
        self._readiness = readiness
        self.limits = limits
        self._field_checks: dict[str, FieldCheck] = {}
        self._is_stopping = False
        self._feed = Feed(
            service,
            lambda: self._is_stopping,
            most=limits.streams,
            most_of_all=max(1, connections // 2),  # the others are for posts and probes
        )

    # Threads, which belong to the loop that first uses them: searches that take all of theirs
    # delay neither posts nor metrics.

    @cached_property
    def readers(self) -> CapacityLimiter:
        """Threads for handlers."""
        return CapacityLimiter(_READERS)

    @cached_property
    def searches(self) -> CapacityLimiter:
        """Threads for handlers that look at all subjects: few, because each keeps a core busy."""
        return CapacityLimiter(_SEARCHES)

    @cached_property
    def probes(self) -> CapacityLimiter:
        """Threads for handlers of monitoring."""
        return CapacityLimiter(1)

    @cached_property
    def _parsers(self) -> CapacityLimiter:
        return CapacityLimiter(_PARSERS)

    def stop(self) -> None:
        """End streams of events, and say that no more posts should be sent."""
        self._is_stopping = True

    # Posts

    @operation("POST /posts", "feed", "Receipt", body=POSTS)
    async def add_posts(self, call: Call) -> Any:
        """Add posts; responds once they are committed."""
        media_type = media_type_of(call.request, MEDIA_TYPES)
        body = await read_body(call.request, self.limits.body)
        posts = await self._parsed(body, media_type, call.sender or "")
        return await _settled(self._service.submit(posts, None))

    async def _parsed(self, body: bytes, media_type: str, sender: str) -> list[IncomingPost]:
        check = self._field_checks.get(sender)
        if check is None:
            check = self._field_checks.setdefault(sender, FieldCheck(f"token {sender}"))
        parse = partial(posts_in, body, media_type, most=self.limits.posts, check=check)
        try:
            return (
                parse()
                if len(body) <= _SMALL
                else await to_thread.run_sync(parse, limiter=self._parsers)
            )
        except BadBody as bad:
            error = HTTPException(bad.status)
            error.detail = {"error": str(bad), **bad.place}  # type: ignore[assignment]
            raise error from None

    # Subjects

    @operation(
        "GET /subjects",
        "read",
        "Subjects",
        one_of("sort", "Sort order.", ("closest", *SUBJECT_SORTS)),
        QUERY,
        LIMIT,
        OFFSET,
        threads="searches",
    )
    def list_subjects(self, call: Call) -> Any:
        """List subjects, by default those closest to an alert first."""
        sort = call.values.pop("sort")
        how = {"undecided": True} if sort == "closest" else {"sort": sort}
        return {"subjects": self._service.subjects(**call.values, **how)}

    @operation(
        "GET /subjects/{id}",
        "read",
        "SubjectView",
        LIMIT,
        whole("before", "Only posts numbered below this.", least=1),
    )
    def get_subject(self, call: Call) -> Any:
        """Return a subject: its state, and its latest posts with their contributions."""
        name = call.values.pop("id")
        return _known(self._service.subject(name, **call.values), name)

    @operation("DELETE /subjects/{id}", "admin", "Forgotten", may_conflict=True)
    def forget_subject(self, call: Call) -> Any:
        """Delete a subject's data, including what the model learnt from it."""
        name = call.values["id"]
        gone = _known(self._service.forget(name) or None, name)
        say("subject forgotten", token=call.sender, rows=gone.rows, unlearnt=gone.unlearnt)
        return gone

    @operation(
        "GET /stories/{id}",
        "read",
        "Story",
        flag("painted", "Return explanations in the board's compact form."),
        may_conflict=True,
    )
    def get_story(self, call: Call) -> Any:
        """Return the story of a subject whose texts are stored."""
        name = call.values["id"]
        found = self._service.story(name)
        if found is None:
            _known(self._service.subject(name, limit=1), name)
            raise HTTPException(409, "the texts of this subject are not stored")
        return json_response(story_for_page(found) if call.values["painted"] else found)

    # Alerts

    @operation(
        "GET /alerts",
        "read",
        "Alerts",
        SINCE,
        whole("before", "Only alerts with smaller ids.", least=1),
        one_of("sort", "Sort order.", ALERT_SORTS),
        LIMIT,
        ApiParameter("label", {"type": "string"}, "Only alerts for this label."),
        QUERY,
        flag("unmarked", "Only alerts without a mark."),
    )
    def list_alerts(self, call: Call) -> Any:
        """List alerts with their reasons and marks."""
        asked = call.values
        labels = {str(label): label for label in reversed(self._service.detector.model.labels)}
        asked["label"] = labels.get(asked["label"], asked["label"])
        return {"alerts": self._service.alerts(**asked), "last": self._service.last_alert()}

    @operation("GET /alerts/events", "read", "Events", SINCE, media_type="text/event-stream")
    async def stream_alerts(self, call: Call) -> Any:
        """Send alerts as they are raised, as server-sent events; resume with Last-Event-ID."""
        request, since = call.request, call.values["since"]
        last = request.headers.get("last-event-id")
        if last is not None:
            since = whole_number("Last-Event-ID", last, 0, LARGEST)
        headers = {"X-Accel-Buffering": "no"}  # proxies must not hold events back
        if request.method == "HEAD":  # which has no body, so its end would not be seen
            return Response(headers=headers, media_type="text/event-stream")
        sender = call.sender or ""
        self._feed.admit(sender)
        events = self._feed.events(since, lambda: is_still_allowed(request, "read"))
        return _Stream(events, partial(self._feed.leave, sender), headers=headers)

    @operation("GET /alerts/{number}", "read", "Alert")
    def get_alert(self, call: Call) -> Any:
        """Return an alert with its reasons and its mark."""
        return self._service.alert(call.values["number"])

    @operation("GET /alerts/{number}/marks", "read", "Marks")
    def list_marks(self, call: Call) -> Any:
        """List all marks of an alert, oldest first; the last one counts."""
        return {"marks": self._service.marks(call.values["number"])}

    @operation("POST /alerts/{number}/mark", "mark", "Mark", body=MarkRequest, may_conflict=True)
    def mark_alert(self, call: Call) -> Any:
        """Mark an alert as right, wrong or unsure; earlier marks are kept."""
        number, marked, sender = call.values["number"], call.body, call.sender
        label = None if marked.label is None else self._known_label(marked.label)
        mark = self._service.mark(
            number, marked.verdict, note=marked.note, by=sender or "", label=label
        )
        say("alert marked", alert=number, verdict=marked.verdict, token=sender)
        return mark  # not the alert: a token that may mark need not be able to read

    def _known_label(self, label: object) -> Any:
        for one in self._service.detector.model.labels:
            if str(one) == str(label):
                return one
        raise HTTPException(409, '"label" must be a label of the model')

    @operation("GET /marks", "read", "Lines", media_type=LINES)
    def export_marks(self, _call: Call) -> Any:
        """Export marked texts as training data, one JSON object per line."""
        lines = b"".join(to_json(as_json_data(one)) + b"\n" for one in self._service.training())
        return Response(lines, media_type=LINES)

    @operation("GET /statistics", "read", "Statistics")
    def get_statistics(self, _call: Call) -> Any:
        """Return totals, running precision, arrivals and the policy."""
        return self._service.statistics()

    # Models

    @operation("GET /admin/models", "admin", "Models")
    def list_models(self, _call: Call) -> Any:
        """List all versions of the model."""
        return {"models": self._service.versions()}

    @operation("POST /admin/reload", "admin", "ModelVersion", body=ReloadRequest, may_conflict=True)
    def reload_model(self, call: Call) -> Any:
        """Reload the model file in the background, and switch to it."""
        path, limits = call.body.path, self.limits
        if path is not None:
            path = self._service.model_file(
                path, folders=limits.model_folders, most_bytes=limits.model
            )
        version = self._service.reload(path, mode=call.body.mode).result()
        return self._changed("model reloaded", version, call)

    @operation("POST /admin/teach", "admin", "ModelVersion", body=EmptyRequest, may_conflict=True)
    def teach_model(self, call: Call) -> Any:
        """Teach the model newly marked texts, as a new version."""
        return self._changed("model taught", self._service.teach(), call)

    @operation(
        "POST /admin/models/{number}/activate",
        "admin",
        "ModelVersion",
        body=EmptyRequest,
        may_conflict=True,
    )
    def activate_model(self, call: Call) -> Any:
        """Switch to an earlier or later version of the model."""
        found = self._service.activate(call.values["number"])
        return self._changed("model activated", found, call)

    def _changed(self, event: str, version: ModelVersion, call: Call) -> ModelVersion:
        say(event, version=version.number, model=version.model, token=call.sender)
        return version

    # Operation

    @operation("GET /metrics", "read", "Text", media_type="text/plain", threads="probes")
    def get_metrics(self, _call: Call) -> Any:
        """Return metrics for Prometheus."""
        self._readiness.measure()
        self.metrics.put("event_streams", "Open streams of alerts.", self._feed.streams)
        return Response(self.metrics.text(self._samples()), media_type=MEDIA_TYPE)

    def _samples(self) -> Iterator[Sample]:
        """Yield what the store has, which is the same in all processes."""
        try:
            now = self._service.statistics()
            due, dead = unsettled_deliveries(self._service.store)
        except StoreError:
            yield Sample("store_up", "Whether the store responds.", 0)
            return
        for name, text, value in (
            ("store_up", "Whether the store responds.", 1),
            ("posts", "Posts in the store.", now.posts),
            ("subjects", "Subjects in the store.", now.subjects),
            ("alerts", "Alerts in the store.", now.alerts),
            ("posts_waiting", "Posts waiting for the end of their round.", now.waiting),
            ("precision", "Share of right marks among right and wrong marks.", now.marks.value),
            ("deliveries_due", "Deliveries to webhooks that are still to be made.", due),
            ("deliveries_dead", "Deliveries to webhooks that failed for good.", dead),
        ):
            yield Sample(name, text, value)

    @operation("GET /openapi.json", "read", "Description")
    async def get_description(self, _call: Call) -> Any:
        """Return this description."""
        from watchword.service.openapi import description

        return json_response(description())

    @operation("GET /token", "read", "TokenView")
    async def get_token(self, call: Call) -> Any:
        """Return the name and the scopes of the token that the request was sent with."""
        holder = holder_of(call.request, "read")
        return TokenView(holder.name, tuple(scope for scope in SCOPES if allowed(holder, scope)))

    @operation("GET /", "read", "Text", media_type="text/html")
    async def get_board(self, _call: Call) -> Any:
        """Return the board (HTML)."""
        return file_response(board_files(), "board.html")

    @operation("GET /static/{name}", "read", "Text", media_type="*/*")
    async def get_file(self, call: Call) -> Any:
        """Return a file used by the board."""
        return file_response(board_files(), call.values["name"])

    @operation("GET /health", None, "Health")
    async def get_health(self, _call: Call) -> Any:
        """Return whether the process is alive."""
        return {"status": "ok", "reasons": []}

    @operation("GET /ready", None, "Health")
    async def get_readiness(self, _call: Call) -> Any:
        """Return whether posts can be accepted and stored, and all sources are read."""
        reasons = ["the service is stopping"] if self._is_stopping else []
        reasons += self._readiness.reasons()
        told = {"reasons": reasons, "warnings": self._readiness.warnings()}
        if not reasons:
            return {"status": "ready"} | told
        return json_response({"status": "not ready"} | told | {"error": reasons[0]}, 503)


class _Stream(StreamingResponse):
    """A stream of events, and a function to call at its end."""

    media_type = "text/event-stream"

    def __init__(
        self, events: AsyncIterator[bytes], at_end: Callable[[], None], headers: dict[str, str]
    ) -> None:
        super().__init__(events, headers=headers)
        self._at_end = at_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._at_end()


def _settled(receipt: Future[Receipt]) -> asyncio.Future[Receipt]:
    """Return a future that is done when a batch is, for this loop.

    A cancelled request does not cancel the commit, which others may share.
    """
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[Receipt] = loop.create_future()

    def settle() -> None:
        if waiting.done():
            return
        error = receipt.exception()
        if error is None:
            waiting.set_result(receipt.result())
        else:
            waiting.set_exception(error)

    def notify(_: Future[Receipt]) -> None:
        with suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(settle)

    receipt.add_done_callback(notify)
    return waiting


def _known(found: _Result | None, name: str) -> _Result:
    if found is None:
        raise HTTPException(404, f"unknown subject {name[:100]!r}")
    return found
