"""A Spark cluster on loopback: a master and two workers, each in its own process."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ports import free_port
from sanitizing import SANITIZED

HAS_SPARK = sys.version_info >= (3, 11)  # pyspark needs a later Python than the rest does

CORES = 4  # of each worker: half for the session of all tests, half for drivers that get killed
MEMORY = "4g"

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.cores.max": "4",
    "spark.executor.cores": "2",
    "spark.executor.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def configured(builder):
    """Return the session builder with the settings of all tests."""
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder


def environment():
    """Return the documented environment, without the caller's SPARK_ variables."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    return own | {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # The processes live for a minute: optimising compilation costs more than it saves.
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


class Cluster:
    """The processes of a master and two workers, with their descendants."""

    def __init__(self, folder):
        import pyspark

        self._command = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
        self._folder = folder
        self._processes = []
        port = free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self._start("master.Master", "--port", port, "--webui-port", 0)
        # Before the workers take ports.
        _wait_for(lambda: _listens(port), "the master of Spark")
        for name in ("one", "two"):
            work = folder / name
            self._start(
                "worker.Worker", "--cores", CORES, "--memory", MEMORY,
                "--work-dir", work, "--webui-port", 0, self.url,
            )  # fmt: skip

    def _start(self, kind, *arguments):
        log = (self._folder / f"{kind}-{len(self._processes)}.log").open("wb")
        self._processes.append(
            subprocess.Popen(
                [self._command, f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1",
                 *map(str, arguments)],
                stdout=log, stderr=subprocess.STDOUT, env=environment(), start_new_session=True,
            )
        )  # fmt: skip
        log.close()

    @property
    def workers(self):
        """The processes of the workers."""
        return [process.pid for process in self._processes[1:]]

    def executors(self, application):
        """Return the executor processes of an application."""
        found = [pid for worker in self.workers for pid in descendants(worker)]
        return [
            pid
            for pid in found
            if "CoarseGrainedExecutorBackend" in command_of(pid) and application in command_of(pid)
        ]

    def stop(self):
        for process in reversed(self._processes):
            for pid in [*descendants(process.pid), process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def descendants(pid):
    """Return all descendants of a process."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
    found = [pid]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found[1:]


def _listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _wait_for(is_true, what, seconds=60):
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, f"{what} did not start"
        time.sleep(0.2)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Start a standalone cluster for all tests."""
    if SANITIZED:
        pytest.skip("Spark does not run with the sanitizers")
    running = Cluster(tmp_path_factory.mktemp("spark"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def spark(cluster, tmp_path_factory):
    """Start one session on the cluster for all tests."""
    from pyspark.sql import SparkSession

    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment())
    builder = configured(SparkSession.builder.master(cluster.url).appName("tests"))
    warehouse = tmp_path_factory.mktemp("warehouse")
    session = builder.config("spark.sql.warehouse.dir", str(warehouse)).getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # failures that tests expect are long
    yield session
    session.stop()
    os.environ.clear()
    os.environ.update(before)
