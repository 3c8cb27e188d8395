"""The command line: commands parse arguments, call a library function and print.

The command `watchword NAME` is in `commands/NAME.py` (some commands of a group in
`commands/NAME_COMMAND.py`): a function decorated with `@verb(example="watchword …")`, in a module
imported here. The group handles errors, exit codes and
`--debug`.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback

from watchword.cli.base import Teller, cli, warn
from watchword.cli.commands import (  # noqa: F401  (each adds its command to `cli`)
    classify,
    convert,
    demo,
    erisk,
    erisk_paper,
    erisk_score,
    erisk_server,
    evaluate,
    explain,
    inspect,
    make,
    report,
    search,
    serve,
    service,
    service_requests,
    service_store,
    spark,
    train,
    tune,
    validate,
    watch,
)

__all__ = ["cli", "run"]


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
