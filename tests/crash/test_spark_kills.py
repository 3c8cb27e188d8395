"""watchword.spark.watch after SIGKILL: every vector bit for bit, every decision once.

Killed are the driver (with or without its Java process), executors, and the Python processes of
workers. Posts are duplicated, so that a batch that is read twice would show.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spark_cluster import command_of, descendants, environment
from spark_killable import POLICY, decisions
from spark_samples import (
    as_decision,
    expected,
    in_batches,
    people_and_model,
    posts_of,
    rows_in,
    start,
    states_in,
    write_batches,
)

KILLS = int(os.environ.get("WATCHWORD_SPARK_KILLS", "1"))  # per test; each takes half a minute
SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture
def folder(tmp_path):
    """Write a model, and a stream with enough batches to kill processes in between."""
    people, model, _ = people_and_model(tmp_path)
    posts = posts_of(people)
    # Two files become one batch if a kill falls between Spark's two logs: some are to spare.
    batches = in_batches(posts, 4 + KILLS)
    again = [batch + before[::4] for before, batch in zip([[], *batches], batches, strict=False)]
    write_batches(tmp_path / "posts", again)
    return tmp_path, model, posts


def committed(folder):
    """Return the number of committed batches."""
    commits = folder / "checkpoint" / "commits"
    return sum(name.name.isdigit() for name in commits.iterdir()) if commits.is_dir() else 0


def wait_for(folder, batches, is_over, seconds=300):
    """Wait for that many committed batches; return False if the query ends before."""
    end = time.monotonic() + seconds
    while committed(folder) < batches:
        if is_over():
            return False
        assert time.monotonic() < end, "the query stands still"
        time.sleep(0.05)
    return True


def kill(find):
    """Kill the processes found, which may start late or have ended already."""
    killed, end = 0, time.monotonic() + 60
    while not killed and time.monotonic() < end:
        for pid in find():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        time.sleep(0.05)
    return killed


def processes_of(driver, *, only_java):
    """Return a driver's processes: all, or only Java, whose end also ends Python."""
    below = descendants(driver)
    java = [pid for pid in below if "java" in command_of(pid)[:200]]
    return java if only_java else [driver, *below]


def python_workers(executors):
    below = [pid for executor in executors for pid in descendants(executor)]
    return [pid for pid in below if "pyspark" in command_of(pid)]


def check(spark, folder, model, posts):
    wanted, states = expected(model, POLICY, posts)
    rows = rows_in(spark, folder)
    assert len(rows) == len(wanted), "a decision is there twice, or not at all"
    assert {row["id"]: as_decision(row) for row in rows} == wanted
    assert states_in(spark, folder) == states


def test_the_driver_is_killed(spark, folder):
    path, model, posts = folder
    kills = 0
    for attempt in range(KILLS + 1):
        command = [sys.executable, str(SUPPORT / "spark_killable.py"), "local[2]", str(path)]
        driver = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        )
        try:
            if attempt < KILLS:
                assert wait_for(path, 1 + attempt, lambda: driver.poll() is not None)  # noqa: B023
                time.sleep(0.15 * attempt)  # not always at the same moment of a batch
                kills += kill(lambda: processes_of(driver.pid, only_java=attempt == 1)) > 0  # noqa: B023
            driver.wait()
        finally:
            if driver.poll() is None:
                kill(lambda: processes_of(driver.pid, only_java=False))  # noqa: B023
    assert driver.returncode == 0
    assert kills == KILLS
    check(spark, path, model, posts)


class Restarted:
    """A query that is restarted when it fails, as an operator would."""

    def __init__(self, spark, folder):
        self._spark, self._folder = spark, folder
        self._query = start(decisions(spark, folder), folder)

    def is_over(self):
        """Restart a failed query; return whether all posts were read."""
        if not self._query.isActive and self._query.exception() is not None:
            self._query = start(decisions(self._spark, self._folder), self._folder)
        return not self._query.isActive

    def finish(self):
        while not self.is_over():
            time.sleep(0.1)


@pytest.mark.parametrize("kind", ["executors", "Python workers"])
def test_processes_of_workers_are_killed(cluster, spark, folder, kind):
    path, model, posts = folder
    query, application = Restarted(spark, path), spark.sparkContext.applicationId
    kills = 0
    for attempt in range(KILLS):
        assert wait_for(path, 1 + attempt, query.is_over)
        time.sleep(0.15 * attempt)
        if kind == "executors":
            kills += kill(lambda: cluster.executors(application)[:1]) > 0
        else:
            kills += kill(lambda: python_workers(cluster.executors(application))) > 0
    query.finish()
    assert kills == KILLS
    check(spark, path, model, posts)
