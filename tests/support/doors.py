"""Services with an open door, and requests to them."""

import contextlib
import http.client
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import NamedTuple
from urllib.parse import urlsplit

from services import opened, saved_model
from watchword.service.serving import running_service

LINES = "application/x-ndjson"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Asker:
    """Sends requests to a running service."""

    def __init__(self, url, token=None, service=None):
        self.url = url
        self.token = token
        self.service = service
        self.tokens = {}

    def ask(self, method, path, body=None, *, kind="application/json", token="", **headers):
        """Send a request; `token` is that of the service unless another, or None, is given."""
        given = self.token if token == "" else token
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            sent["Content-Type"] = kind
            if not isinstance(body, bytes | str):
                body = json.dumps(body)
        if given is not None:
            sent["Authorization"] = f"Bearer {given}"
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, named, answer.read())

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, body, **options):
        return self.ask("POST", path, body, **options)

    @contextlib.contextmanager
    def events(self, path="/alerts/events", **headers):
        """Open a stream of events; yield a function that returns the next one with a name."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(connection):
            connection.request(
                "GET", path, headers=sent | {"Authorization": f"Bearer {self.token}"}
            )
            answer = connection.getresponse()
            assert answer.status == 200
            yield lambda name: _next_event(answer, name)


def _next_event(answer, name):
    fields, end = {}, time.monotonic() + 60
    while line := answer.readline():  # at the latest, a comment after some seconds
        assert time.monotonic() < end, f"no event {name!r}"
        key, _, value = line.decode().rstrip("\n").partition(": ")
        if not key:
            if fields.get("event") == name:
                return fields
            fields = {}
        fields[key] = value
    raise AssertionError("the stream has ended")


@contextlib.contextmanager
def open_door(folder, policy=None, *, url=None, model=None, options=None, **settings):
    """Open a service on a folder; yield what asks it."""
    path = saved_model(folder, model)
    store = url or str(folder / "watch.db")
    with (
        opened(store, path, policy, **(options or {})) as service,
        running_service(service, **settings) as running,
    ):
        yield Asker(running.url, running.token, service)


class Receiver(HTTPServer):
    """A receiver of webhooks, on a port of its own; `statuses` are its next answers.

    With an event in `wait`, it answers only after that.
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Receiving)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/alerts"
        self.statuses = []
        self.received = []
        self.wait = None
        self.changed = threading.Condition()

    def wait_for(self, count):
        """Wait until this many requests have come; return them: paths, headers and bodies."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.received) >= count, 60)
            return list(self.received)


class _Receiving(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        # Before the answer: its receiver may look at once.
        with self.server.changed:
            self.server.received.append((self.path, dict(self.headers), body))
            self.server.changed.notify_all()
        if self.server.wait is not None:
            self.server.wait.wait(60)
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def receiving():
    """Run a receiver of webhooks."""
    with Receiver() as receiver:
        thread = threading.Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
            thread.join()
