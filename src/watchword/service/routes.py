"""Handlers of all operations: parse the request, call the service, return plain data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from watchword.errors import (
    StoreError,
    StoreUnavailableError,
    UnknownAlertError,
    WatchwordError,
)
from watchword.service.board import board_files, story_for_page
from watchword.service.bodies import JSON, LINES, MEDIA_TYPES, BadBody, TooManyPosts, posts_in
from watchword.service.choices import VERDICTS
from watchword.service.events import Feed
from watchword.service.guard import is_still_allowed
from watchword.service.logs import say
from watchword.service.marks import MOST_NOTE
from watchword.service.metrics import MEDIA_TYPE, Metrics, Sample
from watchword.service.openapi import description
from watchword.service.operations import (
    ALERT_SORTS,
    LARGEST,
    MOST_LISTED,
    MOST_QUERY,
    SUBJECT_SORTS,
)
from watchword.service.records import IncomingPost, Receipt, plain
from watchword.service.requests import (
    Query,
    media_type_of,
    number_in,
    object_in,
    subject_in,
    whole_number,
)
from watchword.service.tokens import Holder
from watchword.web.answers import file_response, json_response
from watchword.web.connections import read_body
from watchword.web.wire import to_json

if TYPE_CHECKING:
    from watchword.service.runner import Service
    from watchword.service.sources import Sources

_Result = TypeVar("_Result")
_SMALL = 1 << 15  # bytes of a body that is parsed without a thread of its own


class Door:
    """The handlers of all operations, by their names."""

    def __init__(
        self,
        service: Service,
        *,
        metrics: Metrics,
        sources: Sources | None,
        body_limit: int,
        most_posts: int,
    ) -> None:
        self._service = service
        self.metrics = metrics
        self._sources = sources
        self._body_limit = body_limit
        self._most_posts = most_posts
        self._is_stopping = False
        self._feed = Feed(service, lambda: self._is_stopping)

    def stop(self) -> None:
        """End streams of events, and say that no more posts should be sent."""
        self._is_stopping = True

    # Posts

    async def add_posts(self, request: Request, _holder: Holder | None) -> Response:
        """Answer when the posts are committed."""
        media_type = media_type_of(request, MEDIA_TYPES)
        body = await read_body(request, self._body_limit)
        posts = await self._parsed(body, media_type)
        # A cancelled request must not cancel the commit, which others may share.
        receipt = await asyncio.shield(asyncio.wrap_future(self._service.submit(posts, None)))
        return Response(_receipt(receipt), media_type=JSON)

    async def _parsed(self, body: bytes, media_type: str) -> list[IncomingPost]:
        def parse() -> list[IncomingPost]:
            return posts_in(body, media_type, most=self._most_posts)

        try:
            return parse() if len(body) <= _SMALL else await to_thread.run_sync(parse)
        except BadBody as bad:
            raise _refused(400, str(bad), **bad.place) from None
        except TooManyPosts as error:
            raise HTTPException(413, str(error)) from None

    # Subjects

    async def list_subjects(self, request: Request, _holder: Holder | None) -> Response:
        """List subjects."""
        query = Query(request)
        sort = query.one_of("sort", SUBJECT_SORTS)
        own: dict[str, Any] = {
            "query": query.text("query", most=MOST_QUERY),
            "offset": query.whole("offset", 0),
        }
        own |= {"limit": query.whole("limit", 100, least=1, most=MOST_LISTED)}
        own |= {"undecided": True} if sort == "closest" else {"sort": sort}
        found = await _threaded(lambda: self._service.subjects(**own))
        return json_response({"subjects": plain(found)})

    async def get_subject(self, request: Request, _holder: Holder | None) -> Response:
        """Return a subject with a page of its history."""
        query, name = Query(request), subject_in(request)
        limit = query.whole("limit", 100, least=1, most=MOST_LISTED)
        before = query.whole("before", None, least=1)
        found = await _threaded(lambda: self._service.subject(name, before=before, limit=limit))
        return json_response(plain(_known(found, name)))

    async def forget_subject(self, request: Request, holder: Holder | None) -> Response:
        """Remove a subject everywhere."""
        name = subject_in(request)
        gone = await _threaded(lambda: _done(lambda: self._service.forget(name)))
        _known(gone or None, name)
        by = None if holder is None else holder.name
        say("subject forgotten", token=by, rows=gone.rows, unlearned=gone.unlearned)
        return json_response(plain(gone))

    async def get_story(self, request: Request, _holder: Holder | None) -> Response:
        """Return the story of a subject."""
        query, name = Query(request), subject_in(request)
        found = await _threaded(lambda: self._service.story(name))
        if found is None:
            _known(await _threaded(lambda: self._service.subject(name, limit=1)), name)
            raise HTTPException(409, "the texts of this subject are not stored")
        return json_response(story_for_page(found) if query.flag("painted") else found)

    # Alerts

    async def list_alerts(self, request: Request, _holder: Holder | None) -> Response:
        """List alerts."""
        query = Query(request)
        own = {
            "since": query.whole("since", 0),
            "before": query.whole("before", None, least=1),
            "limit": query.whole("limit", 100, least=1, most=MOST_LISTED),
            "label": query.text("label"),
            "query": query.text("query", most=MOST_QUERY),
            "sort": query.one_of("sort", ALERT_SORTS),
            "unmarked": query.flag("unmarked"),
        }
        label = own["label"]
        if label is not None:
            own["label"] = next(
                (x for x in self._service.reading.model.labels if str(x) == label), label
            )

        def read() -> tuple[Any, int]:
            return self._service.alerts(**own), self._service.last_alert()

        found, last = await _threaded(read)
        return json_response({"alerts": plain(found), "last": last})

    async def stream_alerts(self, request: Request, _holder: Holder | None) -> Response:
        """Send alerts as they are raised."""
        since = Query(request).whole("since", 0)
        last = request.headers.get("last-event-id")
        if last is not None:
            since = whole_number("Last-Event-ID", last, 0, LARGEST)
        headers = {"X-Accel-Buffering": "no"}  # proxies must not hold events back
        if request.method == "HEAD":  # which has no body, so its end would not be seen
            return Response(headers=headers, media_type="text/event-stream")
        events = self._feed.events(since, lambda: is_still_allowed(request, "read"))
        return StreamingResponse(events, headers=headers, media_type="text/event-stream")

    async def get_alert(self, request: Request, _holder: Holder | None) -> Response:
        """Return an alert."""
        number = number_in(request)
        return json_response(plain(await _threaded(lambda: self._service.alert(number))))

    async def mark_alert(self, request: Request, holder: Holder | None) -> Response:
        """Mark an alert."""
        number, given = number_in(request), await object_in(request)
        verdict, note, label = given.get("verdict"), given.get("note", ""), given.get("label")
        if verdict not in VERDICTS:
            raise HTTPException(400, f'"verdict" must be one of {", ".join(VERDICTS)}')
        if not isinstance(note, str) or len(note) > MOST_NOTE:
            raise HTTPException(400, f'"note" must be text of at most {MOST_NOTE} characters')
        if label is not None:
            label = self._known_label(label)
        by = "anyone" if holder is None else holder.name

        def write() -> Any:
            self._service.mark(number, verdict, note=note, by=by, label=label)
            return self._service.alert(number)

        found = await _threaded(lambda: _done(write))
        say("alert marked", alert=number, verdict=verdict, token=by)
        return json_response(plain(found))

    def _known_label(self, label: object) -> Any:
        for one in self._service.reading.model.labels:
            if type(label) in (str, int) and str(one) == str(label):
                return one
        raise HTTPException(409, '"label" must be a label of the model')

    async def export_marks(self, _request: Request, _holder: Holder | None) -> Response:
        """Return marks as training data."""
        found = await _threaded(lambda: list(self._service.training()))
        lines = b"".join(to_json(plain(one)) + b"\n" for one in found)
        return Response(lines, media_type=LINES)

    # Models

    async def list_models(self, _request: Request, _holder: Holder | None) -> Response:
        """List versions of the model."""
        return json_response({"models": plain(await _threaded(self._service.versions))})

    async def reload_model(self, request: Request, holder: Holder | None) -> Response:
        """Load the model again."""
        given = await object_in(request)
        path, mode = given.get("path"), given.get("mode", "keep")
        if path is not None and not isinstance(path, str):
            raise HTTPException(400, '"path" must be text')
        if mode not in ("keep", "replay"):
            raise HTTPException(400, '"mode" must be one of keep, replay')
        found = await _threaded(
            lambda: _done(lambda: self._service.reload(path, mode=mode).result())
        )
        return self._changed("model reloaded", found, holder)

    async def teach_model(self, request: Request, holder: Holder | None) -> Response:
        """Teach the model newly marked texts."""
        await object_in(request)
        found = await _threaded(lambda: _done(self._service.teach))
        return self._changed("model taught", found, holder)

    async def restore_model(self, request: Request, holder: Holder | None) -> Response:
        """Switch to an earlier or later version of the model."""
        number = number_in(request)
        await object_in(request)
        found = await _threaded(lambda: _done(lambda: self._service.restore(number)))
        return self._changed("model restored", found, holder)

    def _changed(self, event: str, version: Any, holder: Holder | None) -> Response:
        by = None if holder is None else holder.name
        say(event, version=version.number, model=version.model, token=by)
        return json_response(plain(version))

    # Operation

    async def get_statistics(self, _request: Request, _holder: Holder | None) -> Response:
        """Return totals."""
        return json_response(plain(await _threaded(self._service.statistics)))

    async def get_metrics(self, _request: Request, _holder: Holder | None) -> Response:
        """Return metrics."""
        samples = await _threaded(lambda: list(self._samples()))
        return Response(self.metrics.text(samples), media_type=MEDIA_TYPE)

    def _samples(self) -> Iterator[Sample]:
        try:
            now = self._service.statistics()
        except StoreError:
            yield Sample("store_up", "Whether the store responds.", 0)
            return
        yield Sample("store_up", "Whether the store responds.", 1)
        total = "counter"
        yield Sample("posts_accepted_total", "Posts accepted by this process.", now.accepted, total)
        yield Sample("posts_duplicate_total", "Duplicate posts.", now.duplicates, total)
        yield Sample("commits_failed_total", "Failed commits.", now.failures, total)
        yield Sample("posts", "Posts in the store.", now.posts)
        yield Sample("subjects", "Subjects in the store.", now.subjects)
        yield Sample("alerts", "Alerts in the store.", now.alerts)
        yield Sample("posts_queued", "Posts waiting to be committed.", now.queued)
        yield Sample("posts_waiting", "Posts waiting for the end of their round.", now.waiting)
        precision = "Share of right marks among right and wrong marks."
        yield Sample("precision", precision, now.marks.value)
        yield Sample("event_streams", "Open streams of alerts.", self._feed.streams)
        if now.last_commit is not None:
            at = now.last_commit.timestamp()
            yield Sample("last_commit_timestamp_seconds", "Time of the last commit.", at)

    async def get_description(self, _request: Request, _holder: Holder | None) -> Response:
        """Return the OpenAPI description."""
        return json_response(description())

    async def get_health(self, _request: Request, _holder: Holder | None) -> Response:
        """Return that the process is alive."""
        return json_response({"status": "ok", "reasons": []})

    async def get_readiness(self, _request: Request, _holder: Holder | None) -> Response:
        """Return whether posts can be taken."""
        reasons = await _threaded(self._reasons_not_ready)
        if reasons:
            return json_response(
                {"status": "not ready", "reasons": reasons, "error": reasons[0]}, 503
            )
        return json_response({"status": "ready", "reasons": []})

    def _reasons_not_ready(self) -> list[str]:
        # Anyone may ask: no paths, names or messages of the store.
        reasons = ["the service is stopping"] if self._is_stopping else []
        try:
            self._service.store.rows("SELECT 1")
        except StoreError:
            reasons.append("the store does not answer")
        if self._sources is not None and self._sources.failed:
            reasons.append("a source has failed")
        if self._sources is not None and self._sources.refused:
            reasons.append("a source is not readable yet")
        return reasons

    # The board

    async def get_board(self, _request: Request, _holder: Holder | None) -> Response:
        """Return the board."""
        return file_response(board_files(), "board.html")

    async def get_file(self, request: Request, _holder: Holder | None) -> Response:
        """Return a file used by the board."""
        return file_response(board_files(), request.path_params["name"])


# Answers


async def _threaded(work: Callable[[], _Result]) -> _Result:
    return await to_thread.run_sync(work)


def _done(work: Callable[[], _Result]) -> _Result:
    """Return the result of work; refuse with 409 what the service cannot do now."""
    try:
        return work()
    except (StoreUnavailableError, UnknownAlertError):
        raise
    except (WatchwordError, ValueError, OSError) as error:
        raise HTTPException(409, str(error)) from None


def _known(found: _Result | None, name: str) -> _Result:
    if found is None:
        raise HTTPException(404, f"unknown subject {name[:100]!r}")
    return found


def _refused(status: int, message: str, **place: int) -> HTTPException:
    error = HTTPException(status)
    error.detail = {"error": message, **place}  # type: ignore[assignment]
    return error


def _receipt(receipt: Receipt) -> bytes:
    alerts = ",".join(map(str, receipt.alerts))
    numbers = (receipt.accepted, receipt.duplicates, alerts)
    return b'{"accepted":%d,"duplicates":%d,"alerts":[%b]}' % (*numbers[:2], alerts.encode())
