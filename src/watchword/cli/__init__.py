"""The verbs of the command line: each parses arguments, calls a plain function, and prints.

A new verb is a function under `@verb(example="watchword …")` in a module that is imported here;
errors, exit codes and `--debug` are taken care of by the group.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback

from watchword.cli import (
    demo,
    erisk,
    explaining,
    judging,
    models,
    searching,
    serving,
    spark,
    streams,
)
from watchword.cli.base import Teller, cli, warn

__all__ = [
    "cli",
    "demo",
    "erisk",
    "explaining",
    "judging",
    "models",
    "run",
    "searching",
    "serving",
    "spark",
    "streams",
]


def run() -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # what an output cannot encode must not end a run
            reconfigure(errors="backslashreplace")
    logging.getLogger("watchword").addHandler(Teller(logging.WARNING))
    try:
        cli.main(prog_name="watchword")
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except Exception:  # with --debug
        warn(traceback.format_exc().rstrip())
        code = 1
    _forget_output()
    return code


def _forget_output() -> None:
    """Drop what a full disk has not taken: told already, it would be told again at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
