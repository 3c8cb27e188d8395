"""What every command here does the same way: a one-line error, and no traceback for Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable

from report import BenchmarkError


def run_command(name: str, body: Callable[[], int]) -> int:
    try:
        return body()
    except BenchmarkError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: stopped", file=sys.stderr)
        return 130
