"""Metrics in the text format of Prometheus."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_MetricLabels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Sample:
    """A metric that is read when it is asked for: its name, help, type and value."""

    name: str
    help: str
    value: float | None
    kind: str = "gauge"


class Metrics:
    """Counters and times of requests; safe to use from several threads.

    >>> metrics = Metrics()
    >>> metrics.add("bad_lines", "Lines that were skipped.", 1234567, source="stdin")
    >>> print(metrics.text())
    # HELP watchword_bad_lines_total Lines that were skipped.
    # TYPE watchword_bad_lines_total counter
    watchword_bad_lines_total{source="stdin"} 1234567
    <BLANKLINE>
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[tuple[str, str], dict[_MetricLabels, int]] = {}
        self._times: dict[_MetricLabels, tuple[list[int], list[float]]] = defaultdict(
            lambda: ([0] * (len(_BOUNDS) + 1), [0.0])
        )

    def add(self, name: str, text: str, amount: int = 1, /, **labels: str) -> None:
        """Add to a counter, described by `text`."""
        key = tuple(sorted(labels.items()))
        with self._lock:
            own = self._counters.setdefault((name, text), {})
            own[key] = own.get(key, 0) + amount

    def observe(self, seconds: float, **labels: str) -> None:
        """Add the duration of a request to the histogram of its route."""
        key = tuple(sorted(labels.items()))
        with self._lock:
            buckets, total = self._times[key]
            buckets[bisect_left(_BOUNDS, seconds)] += 1
            total[0] += seconds

    def text(self, samples: Iterable[Sample] = ()) -> str:
        """Return all metrics, and samples taken now; those without a value are left out."""
        lines: list[str] = []
        with self._lock:
            for (name, text), values in sorted(self._counters.items()):
                own = f"watchword_{name}_total"
                lines += _head(own, text, "counter")
                lines += [f"{own}{_braces(key)} {value!r}" for key, value in values.items()]
            if self._times:
                lines += self._histogram()
        for sample in samples:
            if sample.value is not None:
                own = f"watchword_{sample.name}"
                lines += [*_head(own, sample.help, sample.kind), f"{own} {sample.value!r}"]
        return "\n".join([*lines, ""])

    def _histogram(self) -> list[str]:
        own = "watchword_http_request_seconds"
        lines = _head(own, "Time to answer a request.", "histogram")
        for key, (buckets, [total]) in sorted(self._times.items()):
            count = 0
            for bound, entries in zip((*map(str, _BOUNDS), "+Inf"), buckets, strict=True):
                count += entries
                lines.append(f"{own}_bucket{_braces((*key, ('le', bound)))} {count}")
            lines.append(f"{own}_sum{_braces(key)} {total!r}")
            lines.append(f"{own}_count{_braces(key)} {count}")
        return lines


def _head(name: str, text: str, kind: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _braces(labels: Iterable[tuple[str, str]]) -> str:
    shown = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels)
    return f"{{{shown}}}" if shown else ""


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
