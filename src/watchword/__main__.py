"""The command `watchword`, also as `python -m watchword`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError:
        # The one place where there is nothing yet to print with.
        sys.stderr.write(
            "watchword's command line is not installed; install with: "
            "pip install 'watchword[cli]'\n"
        )
        return 1
    from watchword.cli import run

    return run()


if __name__ == "__main__":
    sys.exit(main())
