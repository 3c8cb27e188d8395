"""What a tree of processes used: Python, the Java of Spark, and the Python workers below it."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAUSE = 2.0  # seconds between two looks at the memory, which cost something themselves


@dataclass
class Used:
    """What happened while something ran."""

    wall: float = 0.0
    processor: float = 0.0
    peak: int = 0  # bytes, shared pages counted once
    shuffled: int = 0  # bytes
    shuffled_rows: int = 0
    looking: float = 0.0  # processor seconds of measuring, which are not counted above


class Meter:
    """Measures this process and all that it started; shuffles from Spark's log of events."""

    def __init__(self, events: Path) -> None:
        self._events = events

    @contextmanager
    def measure(self) -> Iterator[Used]:
        used, over = Used(), threading.Event()
        watching = threading.Thread(target=_watch_memory, args=(used, over))
        processor, shuffled = _processor_seconds(), self._shuffled()
        watching.start()
        start = time.perf_counter()
        try:
            yield used
        finally:
            used.wall = time.perf_counter() - start
            over.set()
            watching.join()
            used.processor = _processor_seconds() - processor - used.looking
            time.sleep(1)  # the log comes a little later
            size, rows = self._shuffled()
            used.shuffled, used.shuffled_rows = size - shuffled[0], rows - shuffled[1]

    def _shuffled(self) -> tuple[int, int]:
        size = rows = 0
        for path in self._events.rglob("*"):
            if path.is_file() and not path.name.startswith((".", "appstatus")):
                with path.open(encoding="utf-8") as lines:
                    for line in lines:
                        if '"SparkListenerTaskEnd"' in line:
                            with suppress(ValueError, KeyError):
                                found = json.loads(line)["Task Metrics"]["Shuffle Write Metrics"]
                                size += found["Shuffle Bytes Written"]
                                rows += found["Shuffle Records Written"]
        return size, rows


def _processor_seconds() -> float:
    """Of all that lives now, with what its ended children have used."""
    ticks = 0
    for pid in _tree():
        with suppress(OSError, ValueError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS


def _watch_memory(used: Used, over: threading.Event) -> None:
    while not over.wait(_PAUSE):
        used.peak = max(used.peak, _proportional_memory())
        used.looking = time.thread_time()


def _proportional_memory() -> int:
    total = 0
    for pid in _tree():
        with suppress(OSError, ValueError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total


def _tree() -> list[int]:
    """This process and everything below it."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
    found = [os.getpid()]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found
