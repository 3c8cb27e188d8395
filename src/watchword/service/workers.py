"""Several processes for one service: they share the listening socket and the store.

The first worker also reads the sources and delivers to webhooks. A worker that ends by itself is
started again, after a wait if it ended at once. The processes share a folder with their metrics.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from watchword.errors import WatchwordError
from watchword.service.logs import say
from watchword.service.monitoring import FOLDER as METRICS_FOLDER
from watchword.service.monitoring import mark_process_dead

_SOON = 5.0  # seconds: a worker that ends within them cannot work
_MOST_FAILURES = 3  # of workers in a row, unless one has worked before
_LONGEST_WAIT = 30.0  # seconds before another start
_AGAIN = 30.0  # seconds after which a worker is asked to stop again
_CHECK = 0.2  # seconds between looks at the workers


class WorkersError(WatchwordError):
    """The workers end as soon as they are started."""


@dataclass(frozen=True)
class Worker:
    """The place of a worker: its number, the listening socket, and a pipe from its parent."""

    number: int
    listener: int
    lifeline: int

    @classmethod
    def parse(cls, text: str) -> Worker:
        """Parse what `spelt` returns."""
        return cls(*map(int, text.split(",")))

    def spelt(self) -> str:
        """Return it as an argument of a command.

        >>> Worker.parse(Worker(0, 3, 4).spelt())
        Worker(number=0, listener=3, lifeline=4)
        """
        return f"{self.number},{self.listener},{self.lifeline}"

    def socket(self) -> socket.socket:
        """Return the listening socket."""
        return socket.socket(fileno=self.listener)

    def end_with_parent(self) -> None:
        """Stop this process when its parent is gone, however that ended."""

        def wait() -> None:
            os.read(self.lifeline, 1)
            while True:  # a signal that comes during an import may be lost
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(_AGAIN)

        threading.Thread(target=wait, name="parent", daemon=True).start()


class Supervisor:
    """Starts workers as commands, forwards signals, and restarts workers that exit."""

    def __init__(self, command: Sequence[str], listener: socket.socket, workers: int) -> None:
        self._command = list(command)
        self._listener = listener
        self._count = workers
        self._ours, self._theirs = -1, -1
        self._running: dict[int, tuple[subprocess.Popen[bytes], float]] = {}
        self._failures = 0
        self._has_worked = False
        self._start_at = 0.0
        self._metrics = ""  # the folder with the metrics of all workers
        self._stopping = False

    def run(self) -> None:
        """Run the workers until SIGTERM or Ctrl-C, then let them stop gracefully."""
        self._theirs, self._ours = os.pipe()
        handlers = {
            signal.SIGTERM: self._stop,
            signal.SIGINT: self._stop,
            signal.SIGHUP: self._pass_on,
        }
        before = {number: signal.signal(number, one) for number, one in handlers.items()}
        try:
            self._metrics = tempfile.mkdtemp(prefix="watchword-metrics-")
            while not self._stopping:
                self._start_missing()
                time.sleep(_CHECK)
                self._check()
        finally:
            self._end()
            shutil.rmtree(self._metrics, ignore_errors=True)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._ours)
            os.close(self._theirs)

    def _start_missing(self) -> None:
        if time.monotonic() < self._start_at:
            return
        for number in range(self._count):
            if number not in self._running and not self._stopping:
                with _hangups_held_back():
                    self._start(number)

    def _start(self, number: int) -> None:
        own = Worker(number, self._listener.fileno(), self._theirs)
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "watchword", *self._command, "--worker", own.spelt()],
            pass_fds=(own.listener, own.lifeline),
            stdin=None if number == 0 else subprocess.DEVNULL,
            env={**os.environ, METRICS_FOLDER: self._metrics},
        )
        self._running[number] = process, time.monotonic()

    def _check(self) -> None:
        now = time.monotonic()
        for number, (process, since) in list(self._running.items()):
            self._has_worked |= now - since > _SOON
            code = process.poll()
            if code is None or self._stopping:
                continue
            del self._running[number]
            mark_process_dead(process.pid, self._metrics)  # type: ignore[no-untyped-call]
            say("worker ended", level=logging.ERROR, worker=number, code=code)
            if now - since > _SOON or code < 0:  # it was killed
                self._failures = 0
                continue
            self._failures += 1
            if self._failures >= _MOST_FAILURES and not self._has_worked:
                raise WorkersError("the workers exit at once: see the log")
            self._start_at = now + min(2.0 ** min(self._failures - 1, 10), _LONGEST_WAIT)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        for process, _ in self._running.values():
            if process.poll() is None:
                process.send_signal(number)

    def _end(self) -> None:
        self._pass_on(signal.SIGTERM, None)
        for process, _ in self._running.values():
            while True:
                try:
                    process.wait(_AGAIN)
                    break
                except subprocess.TimeoutExpired:
                    process.terminate()


@contextmanager
def _hangups_held_back() -> Iterator[None]:
    """Block SIGHUP here and in a worker that is started meanwhile, which unblocks it itself.

    It would end a worker that has no handler yet, and it is passed on to those that are known.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
