"""Handlers of all operations: parse the request, call the service, return plain data.

The stream of alerts begins after an id and sends every alert with a larger one, oldest first. A
browser that was disconnected sends the id of the last alert that it got, and misses none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from watchword.errors import StoreError, StoreUnavailableError
from watchword.service.alerts import MOST_NOTE
from watchword.service.board import board_files, story_for_page
from watchword.service.bodies import LINES, MEDIA_TYPES, BadBody, TooManyPosts, posts_in
from watchword.service.choices import RELOAD_MODES, VERDICTS
from watchword.service.logs import say
from watchword.service.metrics import MEDIA_TYPE, Metrics, Sample
from watchword.service.openapi import description
from watchword.service.operations import LARGEST
from watchword.service.records import IncomingPost, ModelVersion, plain
from watchword.service.requests import Call, media_type_of, whole_number
from watchword.service.tokens import is_still_allowed
from watchword.web.answers import file_response, json_response
from watchword.web.connections import read_body
from watchword.web.wire import to_json

if TYPE_CHECKING:
    from watchword.service.runner import Service
    from watchword.service.sources import Sources

_PAGE = 100  # alerts per look
_POLL = 0.25  # seconds
_STATISTICS = 4  # looks between two statistics
_PING = 60  # looks without an event after which a comment shows that the stream is alive


class Feed:
    """Data shared by all streams: the statistics are computed once for all of them."""

    def __init__(self, service: Service, is_stopping: Callable[[], bool]) -> None:
        self._service = service
        self._is_stopping = is_stopping
        self.streams = 0  #: open ones
        self._statistics: bytes | None = None
        self._watching: asyncio.Task[None] | None = None
        self._latest = 0

    async def events(self, after: int, is_allowed: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Yield events until the client leaves or loses its token, or the service stops."""
        self.streams += 1
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        try:
            yield b"retry: 1000\n\n"
            quiet, shown = 0, None
            while is_allowed() and not self._is_stopping():
                found = await self._alerts(after) if self._latest > after else []
                for one in found:
                    after = one.id
                    yield event("alert", to_json(plain(one)), identity=after)
                if self._statistics is not shown:
                    shown = self._statistics
                    yield event("statistics", shown or b"{}")
                    quiet = 0
                quiet += 1
                if quiet > _PING:
                    quiet = 0
                    yield b": still here\n\n"
                if not found:
                    await asyncio.sleep(_POLL)
        finally:
            self.streams -= 1

    async def _alerts(self, after: int) -> list[Any]:
        def read() -> list[Any]:
            return list(self._service.alerts(since=after, limit=_PAGE, sort="oldest"))

        try:
            return await to_thread.run_sync(read)
        except StoreError:
            return []

    async def _watch(self) -> None:
        """Look for new alerts and statistics as long as there are streams."""
        looks = 0
        while self.streams and not self._is_stopping():
            try:
                self._latest = await to_thread.run_sync(self._service.last_alert)
                if looks % _STATISTICS == 0:
                    found = await to_thread.run_sync(self._service.statistics)
                    plainly = to_json(plain(found))
                    if plainly != self._statistics:
                        self._statistics = plainly
            except StoreError as error:
                if not isinstance(error, StoreUnavailableError):
                    say("events wait for the store", level=logging.ERROR, reason=str(error))
            looks += 1
            await asyncio.sleep(_POLL)


def event(name: str, data: bytes, *, identity: int | None = None) -> bytes:
    r"""Return an event; `data` is one line.

    >>> event("alert", b"{}", identity=7)
    b'id: 7\nevent: alert\ndata: {}\n\n'
    """
    head = b"" if identity is None else b"id: %d\n" % identity
    return head + b"event: %b\ndata: %b\n\n" % (name.encode(), data)


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

    async def add_posts(self, call: Call) -> Any:
        """Answer when the posts are committed."""
        media_type = media_type_of(call.request, MEDIA_TYPES)
        body = await read_body(call.request, self._body_limit)
        posts = await self._parsed(body, media_type)
        # A cancelled request must not cancel the commit, which others may share.
        return await asyncio.shield(asyncio.wrap_future(self._service.submit(posts, None)))

    async def _parsed(self, body: bytes, media_type: str) -> list[IncomingPost]:
        def parse() -> list[IncomingPost]:
            return posts_in(body, media_type, most=self._most_posts)

        try:
            return parse() if len(body) <= _SMALL else await to_thread.run_sync(parse)
        except BadBody as bad:
            error = HTTPException(400)
            error.detail = {"error": str(bad), **bad.place}  # type: ignore[assignment]
            raise error from None
        except TooManyPosts as error:
            raise HTTPException(413, str(error)) from None

    # Subjects

    def list_subjects(self, call: Call) -> Any:
        """List subjects."""
        sort = call.values.pop("sort")
        how = {"undecided": True} if sort == "closest" else {"sort": sort}
        return {"subjects": self._service.subjects(**call.values, **how)}

    def get_subject(self, call: Call) -> Any:
        """Return a subject with a page of its history."""
        name = call.values.pop("id")
        return _known(self._service.subject(name, **call.values), name)

    def forget_subject(self, call: Call) -> Any:
        """Remove a subject everywhere."""
        name = call.values["id"]
        gone = _known(self._service.forget(name) or None, name)
        say("subject forgotten", token=call.sender, rows=gone.rows, unlearned=gone.unlearned)
        return gone

    def get_story(self, call: Call) -> Any:
        """Return the story of a subject."""
        name = call.values["id"]
        found = self._service.story(name)
        if found is None:
            _known(self._service.subject(name, limit=1), name)
            raise HTTPException(409, "the texts of this subject are not stored")
        return json_response(story_for_page(found) if call.values["painted"] else found)

    # Alerts

    def list_alerts(self, call: Call) -> Any:
        """List alerts."""
        asked = call.values
        labels = {str(label): label for label in reversed(self._service.reading.model.labels)}
        asked["label"] = labels.get(asked["label"], asked["label"])
        return {"alerts": self._service.alerts(**asked), "last": self._service.last_alert()}

    async def stream_alerts(self, call: Call) -> Any:
        """Send alerts as they are raised."""
        request, since = call.request, call.values["since"]
        last = request.headers.get("last-event-id")
        if last is not None:
            since = whole_number("Last-Event-ID", last, 0, LARGEST)
        headers = {"X-Accel-Buffering": "no"}  # proxies must not hold events back
        if request.method == "HEAD":  # which has no body, so its end would not be seen
            return Response(headers=headers, media_type="text/event-stream")
        events = self._feed.events(since, lambda: is_still_allowed(request, "read"))
        return StreamingResponse(events, headers=headers, media_type="text/event-stream")

    def get_alert(self, call: Call) -> Any:
        """Return an alert."""
        return self._service.alert(call.values["number"])

    def mark_alert(self, call: Call) -> Any:
        """Mark an alert."""
        number, given = call.values["number"], call.body
        verdict, note, label = given.get("verdict"), given.get("note", ""), given.get("label")
        if verdict not in VERDICTS:
            raise HTTPException(400, f'"verdict" must be one of {", ".join(VERDICTS)}')
        if not isinstance(note, str) or len(note) > MOST_NOTE:
            raise HTTPException(400, f'"note" must be text of at most {MOST_NOTE} characters')
        if label is not None:
            label = self._known_label(label)
        self._service.mark(number, verdict, note=note, by=call.sender or "", label=label)
        found = self._service.alert(number)
        say("alert marked", alert=number, verdict=verdict, token=call.sender)
        return found

    def _known_label(self, label: object) -> Any:
        for one in self._service.reading.model.labels:
            if type(label) in (str, int) and str(one) == str(label):
                return one
        raise HTTPException(409, '"label" must be a label of the model')

    def export_marks(self, _call: Call) -> Any:
        """Return marks as training data."""
        lines = b"".join(to_json(plain(one)) + b"\n" for one in self._service.training())
        return Response(lines, media_type=LINES)

    # Models

    def list_models(self, _call: Call) -> Any:
        """List versions of the model."""
        return {"models": self._service.versions()}

    def reload_model(self, call: Call) -> Any:
        """Load the model again."""
        path, mode = call.body.get("path"), call.body.get("mode", "keep")
        if path is not None and not isinstance(path, str):
            raise HTTPException(400, '"path" must be text')
        if mode not in RELOAD_MODES:
            raise HTTPException(400, f'"mode" must be one of {", ".join(RELOAD_MODES)}')
        return self._changed("model reloaded", self._service.reload(path, mode=mode).result(), call)

    def teach_model(self, call: Call) -> Any:
        """Teach the model newly marked texts."""
        return self._changed("model taught", self._service.teach(), call)

    def restore_model(self, call: Call) -> Any:
        """Switch to an earlier or later version of the model."""
        found = self._service.restore(call.values["number"])
        return self._changed("model restored", found, call)

    def _changed(self, event: str, version: ModelVersion, call: Call) -> ModelVersion:
        say(event, version=version.number, model=version.model, token=call.sender)
        return version

    # Operation

    def get_statistics(self, _call: Call) -> Any:
        """Return totals."""
        return self._service.statistics()

    def get_metrics(self, _call: Call) -> Any:
        """Return metrics."""
        return Response(self.metrics.text(self._samples()), media_type=MEDIA_TYPE)

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

    async def get_description(self, _call: Call) -> Any:
        """Return the OpenAPI description."""
        return json_response(description())

    async def get_health(self, _call: Call) -> Any:
        """Return that the process is alive."""
        return {"status": "ok", "reasons": []}

    def get_readiness(self, _call: Call) -> Any:
        """Return whether posts can be taken."""
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
        if not reasons:
            return {"status": "ready", "reasons": []}
        return json_response({"status": "not ready", "reasons": reasons, "error": reasons[0]}, 503)

    # The board

    async def get_board(self, _call: Call) -> Any:
        """Return the board."""
        return file_response(board_files(), "board.html")

    async def get_file(self, call: Call) -> Any:
        """Return a file used by the board."""
        return file_response(board_files(), call.values["name"])


def _known(found: _Result | None, name: str) -> _Result:
    if found is None:
        raise HTTPException(404, f"unknown subject {name[:100]!r}")
    return found
