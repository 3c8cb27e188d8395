"""Metrics for Prometheus, added up over the processes of a service if there are several.

The supervisor of several processes names a folder in the environment (`FOLDER`) before it starts
them. `prometheus_client` then keeps the values of each process in files of that folder, and the
process that is asked adds them up.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from watchword.errors import MissingExtraError

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
