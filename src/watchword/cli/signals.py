"""Graceful stopping: signals such as Ctrl-C take effect between units of work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

_Item = TypeVar("_Item")
# Ctrl-C, kill, and a closed terminal.
_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextmanager
def term_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, which background jobs of scripts do not receive."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _StopWaiting(BaseException):
    """Raised by a signal to stop waiting for input."""


class Stops:
    """Handles signals: ends `waiting` at once, but lets the current item finish.

    >>> with Stops() as stops:
    ...     for number in stops.until_stopped([1, 2, 3]):
    ...         signal.raise_signal(signal.SIGTERM)  # while at work
    ...         print(number)
    1
    >>> stops.exit_code
    143
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._waiting = False
        self._before: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """The exit code of a command ended by the received signal; 0 without one."""
        return 0 if self.signal is None else 128 + self.signal

    def __enter__(self) -> Stops:
        if threading.current_thread() is threading.main_thread():  # only it receives signals
            for number in _SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # ignored under nohup
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def until_stopped(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """Yield the items until they end or a signal arrives."""
        try:
            for item in items:
                yield item
                if self.signal is not None:
                    return
        except _StopWaiting:
            return

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let a signal interrupt the wait for the next item; work done inside would be lost."""
        self._waiting = True
        try:
            if self.signal is not None:
                raise _StopWaiting
            yield
        finally:
            self._waiting = False

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        again, self.signal = self.signal is not None, number
        if self._waiting:
            self._waiting = False
            raise _StopWaiting
        if again:  # a second signal: exit at once with what was last saved
            raise KeyboardInterrupt
