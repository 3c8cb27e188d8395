"""A PostgreSQL server on a Unix socket, started by the tests, and databases in it."""

import contextlib
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from waiting import wait_until

_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # the server may be killed here, but not the machine
    "shared_buffers": "32MB",
    "max_connections": "60",
    "log_min_messages": "fatal",
}
_numbers = itertools.count(1)


def program(name):
    """Return the path of a program of PostgreSQL, which Debian does not put on the PATH."""
    found = sorted(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))
    return found[-1] if found else shutil.which(name) or name


class Server:
    """A server that may be stopped and started again."""

    def __init__(self):
        # Not in pytest's folder: the server may run as another user, who must be able to enter.
        self.folder = Path(tempfile.mkdtemp(prefix="ww-postgres-", dir="/tmp"))
        self.user = "postgres"
        self._prefix = []
        if os.geteuid() == 0:  # the server refuses to run as root
            owner = pwd.getpwnam("postgres")
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
            self._prefix = ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}"]
            self._prefix += ["--clear-groups"]
        self._process = None
        data = self.folder / "data"
        self._run("initdb", "-D", data, "-U", self.user, "-A", "trust", "-E", "UTF8", "--no-sync")

    def _run(self, name, *arguments):
        command = [*self._prefix, program(name), *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder)

    def start(self):
        command = [*self._prefix, program("postgres"), "-D", self.folder / "data"]
        command += ["-k", self.folder, *(f"-c{name}={one}" for name, one in _SETTINGS.items())]
        self._process = subprocess.Popen(
            command,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def _wait(self):
        import psycopg

        wait_until(lambda: self._answers(psycopg), "the server does not answer")

    def _answers(self, psycopg):
        assert self._process.poll() is None, "the server ended"
        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self):
        """Stop the server at once, as a crash would."""
        if self._process is not None:
            self._run("pg_ctl", "stop", "-D", self.folder / "data", "-m", "immediate", "-s")
            self._process.wait()
            self._process = None

    def url(self, database):
        return f"postgresql:///{database}?host={self.folder}&user={self.user}"

    def new_database(self):
        """Create an empty database and return its address."""
        import psycopg

        name = f"test{next(_numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres():
    """A running server."""
    server = Server()
    with contextlib.ExitStack() as stack:
        stack.callback(server.remove)
        server.start()
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request, tmp_path):
    """The address of a new store of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "watch.db")
    return request.getfixturevalue("postgres").new_database()
