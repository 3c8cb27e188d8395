"""Sources: threads that read posts and hand them to the service, batch by batch.

A source continues only after a batch has been committed. While the service cannot keep up or the
store is unavailable, it waits and retries the same batch; if that batch had been committed after
all, it changes nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, get_args

from watchword.data.lines import BadLines, Flaw, LineBatch
from watchword.data.texts import Texts, texts_in
from watchword.errors import BusyError, StoreUnavailableError, WatchwordError
from watchword.service.bodies import FieldCheck, FlawsTo, first_flaw, incoming
from watchword.service.logs import logger, say
from watchword.service.records import IncomingPost, Position, RejectedLine, moment, now

if TYPE_CHECKING:
    from watchword.service.monitoring import Metrics
    from watchword.service.runner import Service

_Result = TypeVar("_Result")
_SHORTEST_WAIT, _LONGEST_WAIT = 0.1, 5.0  # seconds
_REPORTED = 1000  # bad lines of a source that are logged one by one
_MISSING = "Rotated files whose lines were not read because they were not found."
_BAD_LINES = "Lines and entries that were skipped because they are invalid."

SourceState = Literal["reading", "unreadable", "unreachable", "failed", "ended"]
STATES: tuple[SourceState, ...] = get_args(SourceState)


class SourceError(WatchwordError):
    """A source could not be read to its end."""


class Stopped(BaseException):
    """Raised inside a source to stop it."""


class PostSource(Protocol):
    """A source of posts: a name for logs, and a function that reads until it is stopped."""

    name: str

    def read(self, into: Sink) -> None:
        """Read posts into a sink until the source ends or `Stopped` is raised."""

    def lag(self) -> tuple[str, int] | None:
        """Return a unit, and how much of the source is not read yet; None if that is unknown."""


class Sink:
    """The way from a source into the service, which is tried until it has taken the posts."""

    def __init__(self, service: Service, name: str, *, metrics: Metrics | None = None) -> None:
        self._service = service
        self._name = name
        self._metrics = metrics
        self._bad_lines = 0
        self.fields = FieldCheck(name)
        self._rejected: list[RejectedLine] = []
        self.stopping = threading.Event()
        self.state: SourceState = "reading"
        self.missing_files = 0  # rotated files that were not found

    def position(self, source: str) -> str | None:
        """Return the position of a source that was committed last."""
        return self._when_possible(lambda: self._service.position(source))

    def put(self, posts: Sequence[IncomingPost], position: Position | None) -> None:
        """Hand over posts, the position after them and the lines rejected since the last time.

        Return when they are committed.
        """
        rejected = tuple(self._rejected)
        if not (posts or rejected or position):
            return
        self._when_possible(lambda: self._service.submit(posts, position, rejected).result())
        self._rejected = []

    def _when_possible(self, action: Callable[[], _Result]) -> _Result:
        wait = _SHORTEST_WAIT
        while True:
            try:
                return action()
            except BusyError as error:  # noqa: PERF203
                self.pause(min(error.retry_after, _LONGEST_WAIT))
            except StoreUnavailableError as error:
                wait = self.hold("source waits for the store", str(error), wait)

    def texts(
        self,
        batch: LineBatch,
        identity: Callable[[int], str],
        place: Callable[[int], str] = "line {}".format,
    ) -> Texts:
        """Return the posts of a batch of lines; reject the other lines.

        Given the number of a line, `identity` identifies it, and `place` says where it is.
        """
        self.fields.look_at_lines(batch)

        def reject(flaw: Flaw, line: int | None) -> None:
            self.reject(flaw, identity(line or 0), "" if line is None else place(line))

        bad = FlawsTo(reject)
        return _without_flaws(texts_in(batch, bad, name=self._name), bad)

    def reject(self, flaw: Flaw, identity: str, place: str) -> None:
        """Report a line or entry, which is left out and put into the table of rejected ones."""
        self._bad_lines += 1
        self._rejected.append(RejectedLine(self._name, identity, flaw.private, moment(now())))
        if self._metrics is not None:
            self._metrics.add("bad_lines", _BAD_LINES, source=self._name)
        if self._bad_lines <= _REPORTED:
            fields = {"source": self._name, "place": place, "reason": flaw.private}
            say("line skipped", level=logging.WARNING, **fields)

    def miss(self, files: int, reason: str) -> None:
        """Report rotated files that were not found, so that their lines are not read."""
        self.missing_files += files
        if self._metrics is not None:
            self._metrics.add("files_missing", _MISSING, files, source=self._name)
        say(reason, level=logging.ERROR, source=self._name, files=files)

    def hold(self, event: str, reason: str, seconds: float) -> float:
        """Log why the source waits, and wait; return the seconds to wait the next time."""
        fields = {"source": self._name, "reason": reason, "seconds": seconds}
        say(event, level=logging.WARNING, **fields)
        self.pause(seconds)
        return min(2 * seconds, _LONGEST_WAIT)

    def pause(self, seconds: float) -> None:
        """Wait; raise `Stopped` if the service stops in the meantime."""
        if self.stopping.wait(seconds):
            raise Stopped

    def check(self) -> None:
        """Raise `Stopped` if the service stops."""
        if self.stopping.is_set():
            raise Stopped


def _without_flaws(texts: Texts, bad: BadLines) -> Texts:
    """Return the texts whose ids and times can be stored; a post needs no id of its own."""
    given = [one for one in texts.ids if one is not None]
    if first_flaw(texts.subjects, given, texts.times) is None:
        return texts
    kept = []
    for item in texts:
        found = first_flaw([item.subject], [] if item.id is None else [item.id], [item.time])
        if found is not None:
            bad.meet(found[1], name="", line=item.line)
        kept.append(found is None)
    return texts.only(kept)


def incoming_posts(texts: Texts, place: Callable[[int], str]) -> list[IncomingPost]:
    """Return texts as posts; those without an id get the place of their line as one.

    Several posts on one line are numbered.
    """
    if None not in texts.ids:
        return incoming(texts, texts.ids)
    ids: list[str | None] = []
    before: tuple[int | None, int] = (None, 0)
    for given, line in zip(texts.ids, texts.lines, strict=True):
        before = (line, before[1] + 1 if line == before[0] else 0)
        more = f".{before[1]}" if before[1] else ""
        ids.append(f"{place(line or 0)}{more}" if given is None else given)
    return incoming(texts, ids)


class Sources:
    """Runs sources in threads of their own as long as the context lasts."""

    def __init__(
        self, service: Service, sources: Iterable[PostSource], *, metrics: Metrics | None = None
    ) -> None:
        self._pairs = [(one, Sink(service, one.name, metrics=metrics)) for one in sources]
        self.failed: dict[str, str] = {}  #: sources that ended with an error, and the errors
        self._threads = [
            threading.Thread(target=self._run, args=pair, name=pair[0].name, daemon=True)
            for pair in self._pairs
        ]

    def __enter__(self) -> Sources:
        with ExitStack() as undo:
            undo.callback(self.__exit__)
            for thread in self._threads:
                thread.start()
            undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for _one, sink in self._pairs:
            sink.stopping.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    @property
    def missing_files(self) -> int:
        """The number of rotated files that were not found."""
        return sum(sink.missing_files for _, sink in self._pairs)

    def states(self) -> dict[str, SourceState]:
        """Return the state of each source."""
        return {source.name: sink.state for source, sink in self._pairs}

    def lags(self) -> dict[str, tuple[str, int]]:
        """Return the unit and the amount of what is not read yet, of sources that can tell."""
        readable = [source for source, sink in self._pairs if sink.state == "reading"]
        lags = {source.name: source.lag() for source in readable}
        return {name: lag for name, lag in lags.items() if lag is not None}

    def wait(self) -> None:
        """Wait until all sources have ended."""
        for thread in self._threads:
            thread.join()

    def raise_failure(self) -> None:
        """Raise `SourceError` for the first source that ended with an error."""
        for name, reason in self.failed.items():
            raise SourceError(f"{name} was not read to its end: {reason}")

    def _run(self, source: PostSource, sink: Sink) -> None:
        say("source started", source=source.name)
        try:
            source.read(sink)
            sink.state = "ended"
            say("source ended", source=source.name)
        except Stopped:
            sink.state = "ended"
            say("source stopped", source=source.name)
        except (WatchwordError, OSError) as error:
            sink.state = "failed"
            self.failed[source.name] = str(error)
            say("source failed", level=logging.ERROR, source=source.name, reason=str(error))
        except Exception as error:
            sink.state = "failed"
            self.failed[source.name] = type(error).__name__
            logger.exception("source failed")
