"""The service with many clients: what streams of events, webhooks and searches leave for posts.

The service, its store and the posts are those of service.py. Three questions: how many posts are
taken in while many streams of events send every alert, how many alerts a receiver of webhooks gets
beside others that fail or hang, and how long a single post waits while clients search all subjects.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import selectors
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

from command import run_command
from report import say
from service import CONNECTIONS, Report, Running, Traffic, fill, prepared, send_all, single

POSTS, ALERTS = 100, 1  # in a request
FAILING = 0.1  # share of deliveries that the flaky receiver refuses
HANGING = 8  # receivers that never answer
PATIENCE = 120  # seconds


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="service_crowd.py", description=__doc__)
    parser.add_argument("--subjects", type=int, default=1_000_000, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=10, help="for each (default: %(default)s)")
    parser.add_argument("--rate", type=int, default=200, help="of single posts (%(default)s/s)")
    parser.add_argument("--streams", type=int, default=50, help="of events (default: %(default)s)")
    parser.add_argument("--searches", type=int, default=8, help="at once (default: %(default)s)")
    parser.add_argument("--deliveries", type=int, default=1_000, help="default: %(default)s")
    parser.add_argument("--folder", help="for the store (default: a temporary one)")
    parser.set_defaults(store="sqlite", workers=1)
    return parser.parse_args()


# Streams of events


class EventStreams:
    """Streams of events whose alerts are counted."""

    def __init__(self, url: str, count: int) -> None:
        self._url = url
        self._address = urlsplit(url).hostname, urlsplit(url).port
        self._stopping = False
        self._selector = selectors.DefaultSelector()
        self._count = count
        self.alerts = 0
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> EventStreams:
        with urlopen(f"{self._url}/alerts?limit=1") as answer:
            last = json.load(answer)["last"]
        path = f"/alerts/events?since={last}".encode()
        for _ in range(self._count):
            stream = socket.create_connection(self._address)
            stream.sendall(b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % path)
            self._selector.register(stream, selectors.EVENT_READ, bytearray())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]

    def _read(self) -> None:
        mark = b"event: alert\n"
        while not self._stopping:
            for key, _ in self._selector.select(0.1):
                data = key.data + key.fileobj.recv(1 << 18)  # type: ignore[union-attr]
                self.alerts += data.count(mark)
                key.data[:] = data[-len(mark) + 1 :].lstrip(b"\n")


def _with_streams(running: Running, traffic: Traffic, report: Report, options: Any) -> None:
    """Send posts with and without streams of events, in turns."""
    rates: dict[int, list[float]] = {}
    for turn, streams in enumerate((0, options.streams, 0, options.streams)):
        count = max(20, int(options.seconds * 4_000 / POSTS))
        requests = [traffic.request_with_alerts(POSTS, ALERTS) for _ in range(count)]
        with EventStreams(running.url, streams) as crowd:
            time.sleep(1.0)
            began = time.perf_counter()
            title = f"{POSTS} posts with {ALERTS} alerts, {streams} event streams"
            send = lambda: send_all(running.url, iter(requests), CONNECTIONS[POSTS])  # noqa: B023, E731
            report.add(title, POSTS * count, send)
            rates.setdefault(streams, []).append(POSTS * count / (time.perf_counter() - began))
            expected = streams * ALERTS * count
            end = time.monotonic() + PATIENCE
            while crowd.alerts < expected and time.monotonic() < end:
                time.sleep(0.1)
        say(f"turn {turn + 1}: {crowd.alerts:,} of {expected:,} events of alerts were received")
    ratio = max(rates[options.streams]) / max(rates[0])
    print(f"posts a second with {options.streams} event streams: {ratio:.2f} of those without\n")


# Webhooks


class Receiver:
    """A receiver of webhooks that refuses a share of deliveries; it counts those it takes."""

    def __init__(self, failing: float = 0.0) -> None:
        self._failing = failing
        self._random = random.Random(3)
        self.taken = 0
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].split()[0]
        await reader.readexactly(int(length))
        fails = self._random.random() < self._failing
        self.taken += not fails
        status = b"500 No" if fails else b"200 OK"
        writer.write(b"HTTP/1.1 %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
        writer.close()


@contextlib.contextmanager
def _receiving(*receivers: Receiver) -> Iterator[None]:
    """Run receivers in a thread."""
    loop = asyncio.new_event_loop()

    async def start() -> None:
        for receiver in receivers:
            server = await asyncio.start_server(receiver.answer, "127.0.0.1", 0)
            receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def _deliver(running: Running, traffic: Traffic, alerts: int, receiver: Receiver) -> float:
    """Raise alerts; return how many of them a receiver takes per second."""
    before, began = receiver.taken, time.perf_counter()
    requests = [traffic.request_with_alerts(POSTS, POSTS) for _ in range(alerts // POSTS)]
    send_all(running.url, iter(requests), 1)
    while receiver.taken - before < alerts and time.perf_counter() - began < PATIENCE:
        time.sleep(0.01)
    return (receiver.taken - before) / (time.perf_counter() - began)


def _with_webhooks(running: Running, traffic: Traffic, store: str, options: Any) -> None:
    from watchword.service.store import open_store
    from watchword.service.webhooks import add_webhook

    steady, flaky = Receiver(), Receiver(FAILING)
    with contextlib.ExitStack() as stack, open_store(store) as webhooks:
        stack.enter_context(_receiving(steady, flaky))
        add_webhook(webhooks, steady.url)
        say("one receiver")
        alone = _deliver(running, traffic, options.deliveries, steady)
        add_webhook(webhooks, flaky.url)
        for _ in range(HANGING):
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            add_webhook(webhooks, f"http://127.0.0.1:{listener.getsockname()[1]}/")
        say(f"with one that fails and {HANGING} that hang")
        beside = _deliver(running, traffic, options.deliveries, steady)
        print(
            f"deliveries a second to one receiver: {alone:.0f} alone, {beside:.0f} beside one that "
            f"fails for {FAILING:.0%} and {HANGING} that hang; the failing one took "
            f"{flaky.taken:,} of {options.deliveries:,} by then\n"
        )


# Searches


def _with_searches(running: Running, traffic: Traffic, report: Report, options: Any) -> None:
    """Send single posts while clients search all subjects."""
    stopping = threading.Event()
    numbers = itertools.count()
    answered: list[float] = []

    def search() -> None:
        parts = urlsplit(running.url)
        while not stopping.is_set():
            began = time.perf_counter()
            with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as client:
                path = f"/subjects?query={next(numbers):05}&limit=10".encode()
                client.sendall(b"GET %b HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n" % path)
                while client.recv(1 << 16):
                    pass
            answered.append(time.perf_counter() - began)

    threads = [threading.Thread(target=search) for _ in range(options.searches)]
    for thread in threads:
        thread.start()
    time.sleep(1.0)
    single(running, traffic, report, options, f", {options.searches} searches")
    stopping.set()
    for thread in threads:
        thread.join()
    say(f"{len(answered)} searches, the longest of {max(answered):.1f} s")


def _measure(options: argparse.Namespace) -> int:
    with prepared(options) as (running, traffic, folder):
        report = Report(running)
        fill(running, traffic, report, options)
        single(running, traffic, report, options)
        if options.searches:
            _with_searches(running, traffic, report, options)
        if options.streams:
            _with_streams(running, traffic, report, options)
        if options.deliveries:
            _with_webhooks(running, traffic, str(folder / "watch.db"), options)
        report.print(options)
    return 0


def main() -> int:
    options = _options()
    return run_command("service_crowd.py", lambda: _measure(options))


if __name__ == "__main__":
    sys.exit(main())
