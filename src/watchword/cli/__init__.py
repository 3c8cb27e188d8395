"""The commands of the command line: each parses arguments, calls a library function and prints.

A new command is a function decorated with `@verb(example="watchword …")` in a module imported here;
the group handles errors, exit codes and `--debug`.
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
        if reconfigure is not None:  # a character that cannot be encoded must not end the run
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
    """Discard unwritten output, so that an error already reported is not reported again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
