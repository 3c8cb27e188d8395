"""Readiness: whether posts can be stored and all sources are read, checked in a thread of its own.

Requests to `/ready` only read the latest result, so they never wait for the store, its locks or a
disk. A local disk with hardly any free space counts as full. While commits succeed, nothing is
written. After a failed commit, and from time to time while no posts arrive, a fact is written:
a server that only reads cannot be noticed otherwise.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from watchword.errors import StoreError
from watchword.service.logs import logger
from watchword.service.metrics import Metrics, memory_bytes
from watchword.service.sources import STATES, Sources

if TYPE_CHECKING:
    from watchword.service.runner import Service

_EVERY = 1.0  # seconds between checks
_IDLE = 10.0  # seconds without a commit after which a fact is written
_LATE = 15.0  # seconds after which a check that has not ended counts as failed
_LEAST_SPACE = 1 << 20  # bytes: a small fact fits into a disk that has no room for posts

_NO_ANSWER = "the store does not answer"
_NOT_WRITABLE = "posts cannot be stored"
_SOURCE_REASONS = {
    "failed": "a source has failed",
    "unreadable": "a source is not readable yet",
    "unreachable": "a source cannot be reached",
}


class Readiness:
    """Checks a service every second, as long as the context lasts, and updates its gauges."""

    def __init__(
        self, service: Service, sources: Sources | None, metrics: Metrics, *, every: float = _EVERY
    ) -> None:
        self._service = service
        self._sources = sources
        self._metrics = metrics
        self._every = every
        self._problem: str | None = None
        self._checked_at = time.monotonic()
        self._written_at = time.monotonic()
        self._failures = 0  # failed commits before the latest write that succeeded
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="readiness", daemon=True)

    def __enter__(self) -> Readiness:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def reasons(self) -> list[str]:
        """Return why the service is not ready, without paths, names or messages of the store."""
        reasons = []
        if self._problem is not None:
            reasons.append(self._problem)
        elif time.monotonic() - self._checked_at > _LATE:
            reasons.append(_NO_ANSWER)
        elif self._is_failing():
            reasons.append(_NOT_WRITABLE)
        states = set() if self._sources is None else set(self._sources.states().values())
        return reasons + [reason for state, reason in _SOURCE_REASONS.items() if state in states]

    def warnings(self) -> list[str]:
        """Return what an operator should look at although posts are accepted."""
        if self._sources is None or not self._sources.missing_files:
            return []
        return ["a rotated file was not found: its lines were not read"]

    def _is_failing(self) -> bool:
        """Return whether the latest commit failed, and no write has succeeded since."""
        writer = self._service.writer
        return writer.is_failing and writer.failures > self._failures

    def _run(self) -> None:
        while True:
            try:
                self._problem = self._problem_of_store()
                self.measure()
            except Exception:  # a thread that ends would always say the same
                self._problem = _NO_ANSWER
                logger.exception("the state of the service could not be checked")
            self._checked_at = time.monotonic()
            if self._stopping.wait(self._every):
                return

    def _problem_of_store(self) -> str | None:
        try:
            self._service.store.rows("SELECT 1")
        except StoreError:
            return _NO_ANSWER
        space = self._service.store.free_bytes()
        if space is not None and space < _LEAST_SPACE:
            return _NOT_WRITABLE
        last_commit = self._service.writer.last_commit or 0.0
        is_idle = time.time() - last_commit > _IDLE and time.monotonic() > self._written_at + _IDLE
        if not (is_idle or self._is_failing() or self._problem is not None):
            return None
        failures = self._service.writer.failures
        try:
            with self._service.store.writing() as session:
                session.set_fact("checked", str(int(time.time())))
        except StoreError:
            return _NOT_WRITABLE
        self._failures, self._written_at = failures, time.monotonic()
        return None

    def measure(self) -> None:
        """Update the gauges of this process and its sources."""
        put, writer = self._metrics.put, self._service.writer
        self._metrics.raise_to("posts_accepted", "Posts accepted since the start.", writer.accepted)
        self._metrics.raise_to("posts_duplicate", "Duplicate posts.", writer.duplicates)
        self._metrics.raise_to("commits_failed", "Failed commits.", writer.failures)
        put("posts_queued", "Posts waiting to be committed.", writer.queued)
        put("memory_bytes", "Memory in use.", memory_bytes(), over="liveall")
        if writer.last_commit is not None:
            text = "Time of the last commit."
            put("last_commit_timestamp_seconds", text, writer.last_commit, over="max")
        if self._sources is None:
            return
        for name, state in self._sources.states().items():
            text = "1 for the state that a source is in, 0 for the others."
            for other in STATES:
                labels = {"source": name, "state": other}
                put("source_state", text, other == state, over="livemax", **labels)
        for name, (unit, amount) in self._sources.lags().items():
            text = f"What a source has that is not read yet, in {unit}."
            put(f"source_lag_{unit}", text, amount, over="livemax", source=name)
