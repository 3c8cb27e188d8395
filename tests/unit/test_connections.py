"""Limits of servers: connections, time and bytes; and how a server ends."""

import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from unittest.mock import Mock, call

import pytest

from command_line import write_lines
from erisk_tasks import TOKEN
from watchword.data import Post, Subject
from watchword.erisk import server as erisk
from watchword.web import app as web
from watchword.web.connections import ConnectionLimits, JoinedWrites
from watchword.web.listening import _QuietServer, as_token, listening, running_in_thread
from web_pages import content, model

PATIENT = ConnectionLimits(header_timeout=600, body_timeout=600)
ANN = Subject("ann", [Post("Hello.")], "risk")
HEAD = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
PAGE = ("/api/about", "/api/explain")
PRACTICE = (f"/getwritings/{TOKEN}", f"/submit/{TOKEN}/0")


class Serving:
    """A server with a path to get and one to post to."""

    def __init__(self, port, paths):
        self.port = port
        self.get, self.post = paths

    def connect(self, data=""):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(data.encode())
        return connection

    def request(self, *, head=HEAD):
        return f"GET {self.get} HTTP/1.1\r\n{head}\r\n"

    def upload(self, length, *, head=HEAD):
        return f"POST {self.post} HTTP/1.1\r\n{head}Content-Length: {length}\r\n\r\n"

    def answers(self):
        with self.connect(self.request(head=HEAD + "Connection: close\r\n")) as connection:
            return rest(connection).startswith(b"HTTP/1.1 200 ")


def rest(connection):
    """Return all bytes until the server closes the connection."""
    received = b""
    try:
        while piece := connection.recv(1 << 16):
            received += piece
    except ConnectionError:  # closed before everything was read
        pass
    return received


@contextmanager
def serving(app, limits, paths=("/", "/")):
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with running_in_thread(app, listener, limits=limits):
            yield Serving(port, paths)


@pytest.fixture(params=["page", "practice"])
def start(request):
    """Start the live page or the practice server with some limits."""
    if request.param == "page":
        return lambda limits: serving(web.make_app(content(), token=TOKEN), limits, PAGE)
    return lambda limits: serving(erisk.make_app([ANN], token=TOKEN), limits, PRACTICE)


def with_limits(**options):
    return ConnectionLimits(**{"header_timeout": 600, "body_timeout": 600} | options)


# Connections


@pytest.mark.parametrize("sent", ["", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_half_open_connections_leave_the_server_answering(start, sent):
    with start(with_limits(connections=8)) as server, ExitStack() as opened:
        for _ in range(50):
            opened.enter_context(server.connect(sent))
        assert server.answers()


def test_bodies_that_never_end_leave_the_server_answering(start):
    with start(with_limits(connections=8)) as server, ExitStack() as opened:
        for _ in range(50):
            opened.enter_context(server.connect(server.upload(100)))
        assert server.answers()


def test_the_connection_that_has_waited_longest_is_closed(start):
    with start(with_limits(connections=2)) as server:
        connections = [server.connect() for _ in range(3)]
        assert rest(connections[0]) == b""
        for each in connections[1:]:
            each.sendall(server.request(head=HEAD + "Connection: close\r\n").encode())
            assert rest(each).startswith(b"HTTP/1.1 200 ")
        for each in connections:
            each.close()


def test_idle_connections_are_closed_before_uploads(start):
    with start(with_limits(connections=2)) as server:
        uploading = server.connect(server.upload(2, head=HEAD + "Expect: 100-continue\r\n"))
        begun = b"HTTP/1.1 100 Continue\r\n\r\n"  # else all three could be new to the server
        assert uploading.recv(len(begun), socket.MSG_WAITALL) == begun
        idle, other = server.connect(), server.connect()
        assert rest(idle) == b""
        uploading.sendall(b"{}")
        assert uploading.recv(9) == b"HTTP/1.1 "
        for each in (uploading, idle, other):
            each.close()


def test_requests_in_progress_are_not_closed_for_new_connections():
    begun, release = threading.Event(), threading.Event()

    async def app(_scope, _receive, send):
        begun.set()
        await asyncio.to_thread(release.wait)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    with (
        serving(app, with_limits(connections=1)) as server,
        server.connect(server.request(head=HEAD + "Connection: close\r\n")) as first,
    ):
        begun.wait()
        with server.connect() as second:
            assert rest(second) == b""
        release.set()
        assert rest(first).startswith(b"HTTP/1.1 200 ")


def test_the_limit_of_open_files_limits_connections(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    assert (ConnectionLimits().affordable, ConnectionLimits(connections=9).affordable) == (64, 9)
    assert ConnectionLimits().backlog == 16


@pytest.mark.parametrize(
    "options", [{"connections": 0}, {"header_timeout": -1}, {"body_timeout": float("nan")}]
)
def test_impossible_limits_are_refused(options):
    with pytest.raises(ValueError, match=r"must (not )?be"):
        ConnectionLimits(**options)


# Time


@pytest.mark.parametrize("sent", ["", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_a_connection_without_a_whole_header_is_closed(start, sent):
    with start(with_limits(header_timeout=0.05)) as server, server.connect(sent) as connection:
        assert rest(connection) == b""


def test_a_header_sent_byte_by_byte_times_out(start):
    with (
        start(with_limits(header_timeout=0.3)) as server,
        server.connect("GET / HTTP/1.1\r\nX: ") as connection,
    ):
        connection.settimeout(0.02)
        while True:
            try:
                connection.sendall(b"x")
                assert connection.recv(1) == b""
                break
            except TimeoutError:
                continue
            except ConnectionError:
                break


def test_an_incomplete_body_times_out(start):
    with start(with_limits(body_timeout=0.05)) as server:
        with server.connect(server.upload(100) + "[") as connection:
            assert rest(connection) == b""
        assert server.answers()


def test_an_idle_connection_is_closed_after_its_answer(start):
    with (
        start(with_limits(header_timeout=3)) as server,
        server.connect(server.request()) as connection,
    ):
        assert rest(connection).startswith(b"HTTP/1.1 200 ")


def test_a_response_that_is_not_read_times_out():
    size = 1 << 26
    lost = threading.Event()

    async def app(_scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(size)})
        while (await receive())["type"] != "http.disconnect":
            pass
        lost.set()

    with (
        serving(app, with_limits(body_timeout=0.05, header_timeout=0.05)) as server,
        server.connect(server.request()) as connection,
    ):
        assert lost.wait(60)
        assert len(rest(connection)) < size


def test_several_requests_may_share_a_connection(start):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with start(PATIENT) as server, closing(HTTPConnection("127.0.0.1", server.port)) as connection:
        connection.connect()
        own = connection.sock.getsockname()
        for _ in range(3):
            connection.request("GET", server.get, headers=headers)
            answer = connection.getresponse()
            assert (answer.status, connection.sock.getsockname()) == (200, own)
            answer.read()


def test_requests_sent_at_once_are_answered_one_after_the_other(start):
    last = HEAD + "Connection: close\r\n"
    with start(PATIENT) as server:
        sent = server.request() * 2 + server.request(head=last)
        with server.connect(sent) as connection:
            assert rest(connection).count(b"HTTP/1.1 200 ") == 3


# Bytes


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        f"POST / HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n",
    ],
    ids=["header", "trailer"],
)
@pytest.mark.parametrize("field", ["One: " + "x" * 80_000, "Many: x\r\n" * 9_000])
def test_endless_headers_and_trailers_are_refused(start, head, field):
    with start(PATIENT) as server, server.connect(head) as connection:
        try:
            while True:  # until the server closes the connection
                connection.sendall(field.encode())
        except ConnectionError:
            pass
        assert server.answers()


@pytest.mark.parametrize("length", [10**9, 10**19])
def test_a_large_body_is_refused_before_it_is_sent(start, length):
    with start(PATIENT) as server, server.connect(server.upload(length)) as connection:
        assert connection.recv(13) == b"HTTP/1.1 413 "


def test_a_large_body_of_unknown_length_is_refused_while_it_arrives(start):
    head = HEAD + "Transfer-Encoding: chunked\r\n"
    with (
        start(PATIENT) as server,
        server.connect(f"POST {server.post} HTTP/1.1\r\n{head}\r\n") as connection,
    ):
        connection.sendall((b"10000\r\n" + b"[" * 0x10000 + b"\r\n") * 65)
        assert connection.recv(13) == b"HTTP/1.1 413 "


def test_the_longest_valid_answer_is_below_the_body_limit():
    people = [Subject("\U0001f600" * 60 + str(at), [Post("Hello.")]) for at in range(200)]
    answers = [{"nick": one.id, "decision": 0, "score": -1.2345678901234567e-300} for one in people]
    body = json.dumps(answers, indent=8)
    with serving(erisk.make_app(people, token=TOKEN), PATIENT, PRACTICE) as server:
        assert server.answers()
        with server.connect(server.upload(len(body)) + body) as connection:
            assert connection.recv(13) == b"HTTP/1.1 200 "


# Tokens


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "server.example"])
def test_exposed_servers_need_long_tokens(host):
    with pytest.raises(ValueError, match="at least 16 characters"):
        as_token("x" * 15, host)
    assert as_token("x" * 16, host) == "x" * 16


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_local_servers_accept_shorter_tokens(host):
    assert as_token("practice", host) == "practice"
    with pytest.raises(ValueError, match="8 to 200"):
        as_token("x", host)


def test_both_servers_reject_short_tokens_when_exposed():
    with pytest.raises(ValueError, match="at least 16 characters"):
        web.make_app(content(), host="0.0.0.0", token="practice")
    with pytest.raises(ValueError, match="at least 16 characters"):
        erisk.serve([ANN], host="0.0.0.0", port=0, token="practice")


# Whole programs


@pytest.fixture(params=["page", "practice"])
def command(request, tmp_path):
    """Return the command of a server and its paths."""
    own = ["--port", "0", "--token", TOKEN]
    if request.param == "page":
        model().save(tmp_path / "model.ww")
        return ["serve", str(tmp_path / "model.ww"), *own], PAGE
    data = write_lines(tmp_path / "posts.jsonl", [{"subject": "ann", "text": "Hello."}])
    return ["erisk", "server", str(data), *own], PRACTICE


@contextmanager
def program(arguments, **options):
    """Run a Python program, which is killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def interrupted(process):
    """Send Ctrl-C; return the exit code and standard error."""
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def test_more_connections_than_files_leave_the_server_answering(command):
    resource = pytest.importorskip("resource")
    verb, paths = command

    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))

    with program(["-m", "watchword", *verb], preexec_fn=few_files) as process:
        url = json.loads(process.stdout.readline())["url"]
        server = Serving(int(url.split(":")[2].partition("/")[0]), paths)
        with ExitStack() as opened:
            for at in range(200):
                opened.enter_context(server.connect("GET / HTTP/1.1\r\n" if at % 2 else ""))
            opened.enter_context(server.connect(server.upload(100)))
            assert server.answers()
            assert interrupted(process) == (0, "")


BUSY = """
import asyncio, sys
from watchword.web.listening import listening, run_until_interrupted

async def app(scope, receive, send):
    print("begun", flush=True)
    if scope["path"] == "/body":
        while (await receive())["type"] != "http.disconnect":
            pass
    await asyncio.sleep(600)

with listening("127.0.0.1", 0) as listener:
    print(listener.getsockname()[1], flush=True)
    run_until_interrupted(app, listener)
print("ended", flush=True)
"""


@pytest.mark.parametrize("times", [1, 2])
def test_no_traceback_on_ctrl_c_with_requests_in_progress(times):
    with program(["-c", BUSY]) as process:
        server = Serving(int(process.stdout.readline()), ("/", "/body"))
        with (
            server.connect(server.request()),
            server.connect(server.upload(9)),
            server.connect("GET / HTTP/1.1\r\n"),
        ):
            assert [process.stdout.readline() for _ in range(2)] == ["begun\n"] * 2
            for _ in range(times):
                process.send_signal(signal.SIGINT)
                time.sleep(0.2)  # within the time for the last answers
            assert process.communicate(timeout=60) == ("ended\n", "")
            assert process.returncode == 0


def test_no_traceback_on_a_client_that_disconnects(command):
    verb, paths = command
    with program(["-m", "watchword", *verb]) as process:
        url = json.loads(process.stdout.readline())["url"]
        server = Serving(int(url.split(":")[2].partition("/")[0]), paths)
        for sent in ("", "GET / HT", server.request(), server.upload(100) + "[", server.request()):
            server.connect(sent).close()
            with server.connect(sent) as connection:  # closed with a reset
                option = (1).to_bytes(4, sys.byteorder) + bytes(4)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
        assert server.answers()
        assert interrupted(process) == (0, "")


def test_nothing_is_logged_about_clients_that_do_not_speak_http(command):
    verb, paths = command
    chunked = f"POST / HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n"
    with program(["-m", "watchword", *verb]) as process:
        url = json.loads(process.stdout.readline())["url"]
        server = Serving(int(url.split(":")[2].partition("/")[0]), paths)
        for sent in (
            "\x16\x03\x01",
            "nonsense\r\n\r\n",
            server.request(head=HEAD + "Upgrade: websocket\r\nConnection: upgrade\r\n"),
            server.request() + "nonsense\r\n\r\n",
            chunked + "nonsense",
            chunked,
        ):
            with server.connect(sent + "\r\n") as connection:
                connection.recv(1)
                with suppress(ConnectionError):  # after the answer has begun
                    connection.sendall(b"nonsense\r\n\r\n")
        assert server.answers()
        assert interrupted(process) == (0, "")


def test_running_out_of_files_is_logged_once(caplog):
    server = _QuietServer.__new__(_QuietServer)
    error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    loop = asyncio.new_event_loop()
    try:
        for _ in range(100):
            server._handle(loop, {"message": "socket.accept()", "exception": error})
        assert [each.getMessage() for each in caplog.records] == [
            f"new connections have to wait: {error.strerror}"
        ]
        server._handle(loop, {"message": "other", "exception": ValueError("other")})
        assert caplog.records[-1].exc_info is not None
    finally:
        loop.close()


def test_what_is_written_in_one_step_is_sent_together():
    transport = Mock(is_closing=lambda: False)
    ends_of_steps = []
    joined = JoinedWrites(transport, Mock(call_soon=ends_of_steps.append))
    joined.write(b"header")
    joined.write(b"body")
    ends_of_steps.pop()()
    joined.write(b"last")
    joined.close()
    ends_of_steps.pop()()
    assert transport.mock_calls == [call.write(b"headerbody"), call.write(b"last"), call.close()]
