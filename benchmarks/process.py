"""What this process used: seconds of the wall clock and of the processor, resident memory."""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from report import BenchmarkError

# One thread per contestant: the numeric libraries below scikit-learn would take every core.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass
class Stopwatch:
    """Seconds per named step. Processor time tells whether a step really ran on one core."""

    wall: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        wall, processor = time.perf_counter(), time.process_time()
        yield
        self.wall[name] = time.perf_counter() - wall
        self.processor[name] = time.process_time() - processor


def fastest(jobs: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the least time of this thread that each job took, all run in turn."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.thread_time()
            job()
            best[name] = min(best[name], time.thread_time() - start)
    return best


def resident_memory() -> int:
    """Bytes of memory that the process holds now."""
    return int(_read("/proc/self/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_memory() -> int:
    """The most bytes that the process held since the start, or since the last `MemoryGrowth`."""
    for line in _read("/proc/self/status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise BenchmarkError("peak memory is not to be read from /proc/self/status here")


class MemoryGrowth:
    """How much the process grew since this object was made, now and at the highest point."""

    def __init__(self) -> None:
        gc.collect()
        _give_back_free_memory()
        # Without this the peak of reading the corpus would be blamed on the contestant. Some
        # containers refuse it; then the growth is overstated, never understated.
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self._start = resident_memory()

    def now(self) -> int:
        gc.collect()
        _give_back_free_memory()
        return resident_memory() - self._start

    def peak(self) -> int:
        return peak_memory() - self._start


def _give_back_free_memory() -> None:
    # What reading the corpus left free inside the heap would otherwise be filled by the model
    # and make it look smaller than it is; what the model freed is not its own any more. Only glibc
    # has this call.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        raise BenchmarkError(f"memory is read from {path}, which only Linux has") from None
