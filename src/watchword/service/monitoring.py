"""Monitoring: metrics for Prometheus, and readiness, checked in a thread of its own.

The supervisor of several processes names a folder in the environment (`FOLDER`) before it starts
them. `prometheus_client` then keeps the values of each process in files of that folder, and the
process that is asked adds them up.

Requests to `/ready` only read the latest result, so they never wait for the store, its locks or a
disk. A local disk with hardly any free space counts as full. While commits succeed, nothing is
written. After a failed commit, and from time to time while no posts arrive, a fact is written:
a server that only reads cannot be noticed otherwise.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchword.errors import MissingExtraError, StoreError
from watchword.service.logs import logger
from watchword.service.sources import STATES, Sources

if TYPE_CHECKING:
    from watchword.service.runner import Service

try:
    from prometheus_client import (
        CollectorRegistry,
        Counter,
        Gauge,
        Histogram,
        disable_created_metrics,
        generate_latest,
    )
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
    from prometheus_client.metrics_core import GaugeMetricFamily, Metric
    from prometheus_client.multiprocess import MultiProcessCollector
    from prometheus_client.multiprocess import mark_process_dead as mark_process_dead
except ImportError as error:
    raise MissingExtraError.of("service", "metrics need prometheus_client") from error

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus_client when it is imported
_PREFIX = "watchword_"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

disable_created_metrics()  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Sample:
    """A gauge that is read when it is asked for: its name, help and value."""

    name: str
    help: str
    value: float | None


class _MetricSamples:
    """Samples as a collector; those without a value are left out."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = list(samples)

    def collect(self) -> Iterator[Metric]:
        """Yield the samples."""
        for sample in self._samples:
            if sample.value is not None:
                yield GaugeMetricFamily(_PREFIX + sample.name, sample.help, sample.value)


class Metrics:
    """Counters, gauges and times of requests; safe to use from several threads.

    >>> metrics = Metrics()
    >>> metrics.add("bad_lines", "Lines that were skipped.", 12, source="stdin")
    >>> print(metrics.text())
    # HELP watchword_bad_lines_total Lines that were skipped.
    # TYPE watchword_bad_lines_total counter
    watchword_bad_lines_total{source="stdin"} 12.0
    <BLANKLINE>
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._registry = CollectorRegistry()
        self._by_name: dict[str, Any] = {}
        self._children: dict[tuple[object, ...], Any] = {}  # by name and labels
        self._totals: dict[str, float] = {}

    def add(self, name: str, text: str, amount: float = 1, /, **labels: str) -> None:
        """Add to a counter, described by `text`."""
        self._child(Counter, name, text, labels).inc(amount)

    def raise_to(self, name: str, text: str, total: float, /) -> None:
        """Raise a counter of this process to a total that is counted elsewhere."""
        with self._lock:
            missing = total - self._totals.get(name, 0)
            self._totals[name] = total
        self.add(name, text, max(missing, 0))

    def put(
        self, name: str, text: str, value: float, /, *, over: str = "livesum", **labels: str
    ) -> None:
        """Set a gauge; `over` is how prometheus_client combines those of several processes."""
        self._child(Gauge, name, text, labels, multiprocess_mode=over).set(value)

    def observe(self, seconds: float, **labels: str) -> None:
        """Add the duration of a request to the histogram of its route."""
        text = "Time to answer a request."
        self._child(Histogram, "http_request_seconds", text, labels, buckets=_BOUNDS).observe(
            seconds
        )

    def text(self, samples: Iterable[Sample] = ()) -> str:
        """Return all metrics, and samples taken now; those without a value are left out."""
        registry = self._registry
        if FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        taken_now = CollectorRegistry()
        taken_now.register(_MetricSamples(samples))
        return (generate_latest(registry) + generate_latest(taken_now)).decode()

    def _child(self, kind: Any, name: str, text: str, labels: dict[str, str], **more: Any) -> Any:
        """Return the metric with these labels; the first use of a name defines the metric."""
        key = (name, *labels.items())
        child = self._children.get(key)  # quicker than the library finds it
        if child is None:
            with self._lock:
                metric = self._by_name.get(name)
                if metric is None:
                    names = sorted(labels)
                    metric = kind(_PREFIX + name, text, names, registry=self._registry, **more)
                    self._by_name[name] = metric
            child = self._children[key] = metric.labels(**labels) if labels else metric
        return child


def memory_bytes() -> int:
    """Return the memory that this process uses now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - read every second
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


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
