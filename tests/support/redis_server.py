"""A Redis server on a free port, started by the tests; it may be stopped and started again."""

import contextlib
import itertools
import subprocess

import pytest
import redis

from ports import free_port
from waiting import wait_until

_numbers = itertools.count(1)


class RedisServer:
    """A server whose data survives its end."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self._process = None

    def start(self):
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--dir", str(self.folder), "--appendonly", "yes", "--save", ""]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(self._answers, "the server does not answer")

    def _answers(self):
        assert self._process.poll() is None, "the server ended"
        with contextlib.suppress(redis.ConnectionError), self.client() as client:
            return bool(client.ping())
        return False

    def stop(self):
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def client(self):
        return redis.Redis(port=self.port)

    def new_stream(self):
        """Return the name of a stream that does not exist yet, and its URL."""
        name = f"posts{next(_numbers)}"
        return name, f"redis://127.0.0.1:{self.port}/0/{name}"


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory):
    """A running server."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    try:
        server.start()
        yield server
    finally:
        server.stop()
