"""A program that runs commands and kills them, after a delay or when they touch a file.

It reads a line of JSON per command and answers with one. Commands are forked, because starting
Python and importing the package takes far longer than most commands.
"""

import json
import os
import select
import signal
import sys
import time

import watchword.cli
import watchword.erisk.client
import watchword.erisk.journal
from databases import put_points_in_transactions

# Audit events that Python raises before it touches a file, a folder or a lock.
EVENTS: tuple[str, ...] = (
    "open",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.truncate",
    "fcntl.flock",
)
EVENTS += ("sqlite3.connect", "sqlite3.connect/handle")


class Points:
    """Count the accesses to files and kill the process at one of them."""

    def __init__(self, last):
        self.last = last
        self.count = 0

    def __call__(self, event, _arguments):
        if event in EVENTS:
            self.passed()

    def passed(self):
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


def run(order, answer):
    watchword.erisk.journal._HASHINGS = 10
    points = prepared(order)
    sys.argv = ["watchword", *order["arguments"]]
    put_points_in_transactions(points.passed)
    code = watchword.cli.run()
    os.write(answer, b"%d" % points.count)
    return code


def prepared(order):
    """Enter the folder, redirect the output, and return the points at which to die."""
    os.chdir(order["folder"])
    for number, (name, flags) in enumerate(
        [
            (os.devnull, os.O_RDONLY),
            (order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
            (order["errors"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ]
    ):
        os.dup2(os.open(name, flags, 0o600), number)
    points = Points(order["point"])
    sys.addaudithook(points)
    return points


def main(run=run):
    """Fork a process for each order, and kill it if the order says so."""
    for line in sys.stdin:
        order = json.loads(line)
        reading, writing = os.pipe()
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            os.close(reading)
            code = 70
            try:
                code = run(order, writing)
            finally:
                os._exit(code)
        os.close(writing)
        if order["delay"] is not None and not select.select([reading], [], [], order["delay"])[0]:
            os.kill(child, signal.SIGKILL)  # waited for below: its number is not reused
        with os.fdopen(reading, "rb") as answer:
            points = answer.read()
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        told = {"code": code, "seconds": time.monotonic() - began, "points": int(points or 0)}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
