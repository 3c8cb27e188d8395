"""A program that runs clients and kills them at a chosen point, as by `kill -9`.

It reads a line of JSON per client and answers with one. Clients are forked, because starting Python
and importing the package takes far longer than the tasks.
"""

import json
import os
import pathlib
import signal
import sys

from databases import put_points_in_transactions
from erisk_tasks import QUICK, runs
from untyped import untyped
from watchword.erisk import journal, transport
from watchword.erisk.client import run_client


class Points:
    """Count the points at which a process may die, and kill it at one of them."""

    def __init__(self, last):
        self.last = last
        self.count = 0

    def passed(self):
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


def put_points_in(points):
    """Add points before, within and after every write to the disk and every request."""
    exchange = transport.Transport._exchange

    def marked_exchange(self, *arguments):
        points.passed()
        response = exchange(self, *arguments)
        points.passed()
        return response

    untyped(transport.Transport)._exchange = marked_exchange
    put_points_in_transactions(points.passed)


def telling(points, path):
    """Return a callback that appends reports to a file, with a point before and after each."""

    def on_round(report):
        points.passed()
        alerts = [[alert.subject for alert in run] for run in report.alerts]
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([report.number, alerts]) + "\n")
        points.passed()

    return on_round


def run(crew, order, answer):
    points = Points(order["last"])
    put_points_in(points)
    crew = crew[: order["runs"]]
    report = run_client(
        order["url"],
        order["token"],
        crew,
        journal=order["journal"],
        snapshot_every=2,
        on_round=telling(points, pathlib.Path(order["journal"] + ".told")),
        **QUICK,
    )
    os.write(answer, json.dumps({"points": points.count, "alerts": report.alerts}).encode())


def main():
    journal._HASHINGS = 10
    crew = runs(3)
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                run(crew, json.loads(line), writing)
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        with os.fdopen(reading, "rb") as answer:
            said = answer.read()
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        ended = {"killed": killed, "code": None if killed else os.waitstatus_to_exitcode(status)}
        print(json.dumps(ended | (json.loads(said) if said else {})), flush=True)


if __name__ == "__main__":
    main()
