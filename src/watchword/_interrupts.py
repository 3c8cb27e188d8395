"""Signals while the command `watchword` is starting: Ctrl-C ends it at once, and quietly.

Importing takes some tenths of a second, in which Python would answer Ctrl-C with a traceback. So
the package imports this module first. It does nothing unless the process was started as the
command: a program that uses the library keeps its own signals.

A hangup would end the service instead of loading its model again: it is held back for a while.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130  # what shells expect of a command that Ctrl-C ended


def _end_at_once(_number: int, _frame: FrameType | None) -> None:
    # An exception could be lost in a module that is being imported, or be printed by it.
    os._exit(INTERRUPTED)


def _is_command() -> bool:
    """Whether `python -m watchword` or the installed script runs, which imports the same module."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    if frame.f_code.co_name == "_run_module_as_main":  # of runpy, which is `-m`
        return frame.f_locals.get("mod_name") == "watchword"
    return "watchword.__main__" in frame.f_code.co_names


def end_quietly() -> None:
    """Let Ctrl-C end the process at once, if this is the command and Ctrl-C was not ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler and _is_command():
        signal.signal(signal.SIGINT, _end_at_once)


def hold_back_hangups() -> None:
    """Block SIGHUP, if this is the service, which unblocks it once it can handle it."""
    if sys.argv[1:3] == ["service", "run"] and hasattr(signal, "SIGHUP") and _is_command():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])


class interruptible:  # noqa: N801  (used like a function)
    """Let Ctrl-C raise `KeyboardInterrupt` as usual, where a caller handles it.

    Not a `contextmanager`: importing contextlib would take time before Ctrl-C is taken care of.
    """

    def __enter__(self) -> None:
        self._changed = signal.getsignal(signal.SIGINT) is _end_at_once
        if self._changed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        if self._changed:
            signal.signal(signal.SIGINT, _end_at_once)


end_quietly()
hold_back_hangups()
