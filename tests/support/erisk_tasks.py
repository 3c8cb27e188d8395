"""Small eRisk tasks, scripted servers, and a proxy that drops replies."""

import contextlib
import json
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import watchword as ww
from watchword.data import AT_RISK, make_risk_streams
from watchword.erisk.client import run_client
from watchword.erisk.practice_task import PracticeTask
from watchword.streams.policies import Overtakes, Repeats, StandsOut

TOKEN = "very-secret-token"
QUICK: dict[str, Any] = {"timeout": 60.0, "first_wait": 0.001, "threads": 1}


def subjects(count=12, *, posts=(3, 7), seed=3):
    return make_risk_streams(count, seed=seed, prevalence=0.4, posts_per_subject=posts)


def taught(**parameters):
    model = ww.TauSS3.paper(**parameters)
    for subject in subjects(16, posts=(8, 12), seed=11):
        texts = [post.content for post in subject.posts]
        model.learn_many(texts, [subject.label] * len(texts), threads=1)
    return model


def runs(count=2, model=None):
    own = model or taught()
    policies = [Overtakes(AT_RISK), Repeats(AT_RISK, times=2), StandsOut(AT_RISK, gamma=1.0)]
    return [(own, policy) for policy in policies[:count]]


def take_part(server, crew, journal, **options):
    return run_client(server.url, server.token, crew, journal=journal, **QUICK | options)


def accepted(task):
    """Return the accepted answers: (round, run, digest of the answers).

    Within a round they are sorted by run, because runs are sent side by side.
    """
    found = [(each.round, each.run, each.digest) for each in task.submissions if not each.repeated]
    assert [one[0] for one in found] == sorted(one[0] for one in found)
    return sorted(found)


class HastyTask(PracticeTask):
    """A task that goes on once all runs have answered: a duplicate counts for the next round."""

    def submit(self, run, data, task=""):
        super().submit(run, data, task)
        if self._complete and not self.finished:
            self.round += 1


# HTTP without the client


def ask(url, path, body=None, *, headers=None):
    """Return the status and the JSON of a reply."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}{path}", data=data, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


class Script:
    """A server whose replies (status, headers, body) are a function of method, path and body.

    Without a status the connection is closed; the header Content-Length may be wrong.
    """

    def __init__(self, answer):
        self.answer = answer
        self.requests = []
        self.url = ""


@contextlib.contextmanager
def scripted(answer):
    script = Script(answer)

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length)
            script.requests.append((self.command, self.path))
            status, headers, content = script.answer(self.command, self.path, body)
            if status is None:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in ({"Content-Length": len(content)} | headers).items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False  # so that closing waits for them
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def dropping(url, drops):
    """Start a proxy that closes the connection instead of passing on some replies.

    `drops` is called with the method and the path of each request, after the server has replied.
    """

    def forward(method, path, body):
        data = body if method == "POST" else None
        request = urllib.request.Request(f"{url}{path}", data=data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                status, content = reply.status, reply.read()
        except urllib.error.HTTPError as error:
            with error:
                status, content = error.code, error.read()
        return (None, {}, b"") if drops(method, path) else (status, {}, content)

    return scripted(forward)


def playing(task, *, spoil=lambda _method: None):
    """Return a script that serves a task; `spoil` may reply instead."""

    def answer(method, path, body):
        spoilt = spoil(method)
        if spoilt is not None:
            return spoilt
        if method == "GET":
            writings = [writing.to_dict() for writing in task.writings()]
            return 200, {}, json.dumps(writings).encode()
        task.submit(int(path.rpartition("/")[2]), json.loads(body))
        return 200, {}, b"{}"

    return answer
