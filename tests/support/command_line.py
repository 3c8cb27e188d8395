"""The command line as users run it: in this process, in another process, on a terminal."""

import contextlib
import json
import os
import select
import subprocess
import sys

from click.testing import CliRunner

from watchword.cli import cli

# The caller's environment must not change the output or provide a token.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS")
    and not name.startswith("WATCHWORD")
}


def call(*arguments, input=None):  # noqa: A002
    """Run a command in this process."""
    return CliRunner().invoke(cli, [str(each) for each in arguments], input=input)


def records(*arguments, input=None):  # noqa: A002
    """Return the records that a command prints; it must succeed and print nothing else."""
    done = call(*arguments, input=input)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def failure(*arguments, input=None, code=1):  # noqa: A002
    """Return the message of a command that must fail."""
    done = call(*arguments, input=input)
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done.stderr


def run(*arguments, stdin=None, stdout=subprocess.PIPE, **variables):
    """Run a command in its own process, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "watchword", *map(str, arguments)],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=ENVIRONMENT | {"PYTHONIOENCODING": "utf-8"} | variables,
        check=False,
    )


def run_on_terminal(*arguments, **variables):
    """Run a command on a pseudo-terminal; return its exit code and all output."""
    import pty  # not everywhere

    ours, theirs = pty.openpty()
    terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environment = ENVIRONMENT | terminal | variables
    command = [sys.executable, "-m", "watchword", *map(str, arguments)]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # Linux's way to say: the other side has closed
                break
            if not chunk:
                break
            seen += chunk
    os.close(ours)
    return process.returncode, seen.decode()


@contextlib.contextmanager
def started(*arguments, cwd=None, **variables):
    """Start a command and yield the process, with pipes to its input and outputs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "watchword", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT | {"PYTHONUNBUFFERED": ""} | variables,
        cwd=cwd,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                pipe.close()


def next_line(process, seconds=60):
    """Return the next record that a running command prints."""
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    assert ready, "nothing was printed"
    return json.loads(process.stdout.readline())


def say(process, *records):
    """Write records as JSON lines to the input of a running command."""
    for record in records:
        process.stdin.write(json.dumps(record).encode() + b"\n")
    process.stdin.flush()


def write_lines(path, records):
    """Write records to a file as JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
