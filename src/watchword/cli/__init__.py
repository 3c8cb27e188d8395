"""The command line: commands parse arguments, call a library function and print.

A command is a function in `commands/`, in the module of its subject, decorated with
`@verb(example="watchword …")`. The group handles errors, exit codes and `--debug`.
"""

from __future__ import annotations

import importlib
import logging
import os
import pkgutil
import sys
import traceback

from watchword.cli import commands
from watchword.cli.base import LogPrinter, cli, warn

__all__ = ["cli", "run"]

for _module in pkgutil.iter_modules(commands.__path__):  # each adds its command to `cli`
    importlib.import_module(f"{commands.__name__}.{_module.name}")


def run() -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # a character that cannot be encoded must not end the run
            reconfigure(errors="backslashreplace")
    logging.getLogger("watchword").addHandler(LogPrinter(logging.WARNING))
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
