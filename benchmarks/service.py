"""The service under load: posts per second over HTTP, latencies, memory.

The service runs as a process of its own, with a store in SQLite or PostgreSQL; this program sends
generated posts of about 30 words as JSON lines and waits for the answers, which come after the
commit. First every one of many subjects writes a post, then random ones do, in requests of 1, 100
and 1,000 posts. Single posts are also sent at a fixed rate, and their latency counts from the time
at which they were due. The policy alerts for about one post in a thousand. With --posts more, the
memory of the service is read again and again. Other programs on the machine change the times; the
load is printed, and processor time per post beside the rate.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from command import run_command
from ours import watchword
from report import BenchmarkError, markdown_table, say
from zipf import ZipfText

POOL = 50_000
POST_WORDS = 30
CONNECTIONS = {1: 16, 100: 4, 1000: 3}
ALERTS = 0.001


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="service.py", description=__doc__)
    parser.add_argument(
        "--store", default="sqlite", help="sqlite, or postgresql://… of an empty database"
    )
    parser.add_argument("--subjects", type=int, default=1_000_000, help="default: %(default)s")
    parser.add_argument(
        "--seconds", type=float, default=20, help="for each size of requests (default: %(default)s)"
    )
    parser.add_argument(
        "--rate", type=int, default=500, help="of single posts per second (default: %(default)s)"
    )
    parser.add_argument(
        "--posts", type=int, default=0, help="to send while memory is read (default: none)"
    )
    parser.add_argument("--workers", type=int, default=1, help="with PostgreSQL")
    parser.add_argument("--folder", help="for the store (default: a temporary one)")
    return parser.parse_args()


class Traffic:
    """Posts as requests: random texts of a pool, ids that never repeat."""

    def __init__(self, texts: list[str], subjects: int, alerting: list[str]) -> None:
        self._texts = [json.dumps(text) for text in texts]
        self._alerting = [json.dumps(text) for text in alerting]
        self._subjects = subjects
        self._random = random.Random(1)
        self._number = itertools.count()
        self._new = 0

    def request(self, posts: int, subjects: list[int] | None = None) -> bytes:
        """Return a request with this many posts, of given subjects or of random ones."""
        chosen = subjects or self._random.choices(range(self._subjects), k=posts)
        return self._request(chosen, self._random.choices(self._texts, k=posts))

    def request_with_alerts(self, posts: int, alerts: int) -> bytes:
        """Return a request with posts of new subjects, some of which raise alerts."""
        begin = self._subjects + self._new
        self._new += posts
        texts = self._random.choices(self._texts, k=posts - alerts)
        texts += self._random.choices(self._alerting, k=alerts)
        return self._request(range(begin, begin + posts), texts)

    def _request(self, subjects: Sequence[int], texts: Sequence[str]) -> bytes:
        lines = [
            f'{{"subject":"subject {subject}","id":"{next(self._number)}","text":{text},'
            f'"time":"2026-05-01T12:{subject % 60:02}:00Z"}}\n'
            for subject, text in zip(subjects, texts, strict=True)
        ]
        body = "".join(lines).encode()
        head = (
            "POST /posts HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


class Client:
    """A connection that sends requests and waits for their answers."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = self._socket.makefile("rb")

    def send(self, request: bytes) -> None:
        """Send a request until it is accepted."""
        while True:
            self._socket.sendall(request)
            status = int(self._reader.readline().split()[1])
            length = 0
            while (line := self._reader.readline()) != b"\r\n":
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            answer = self._reader.read(length)
            if status == 200:
                return
            if status != 429:
                raise BenchmarkError(f"status {status}: {answer.decode()}")
            time.sleep(0.05)

    def close(self) -> None:
        self._socket.close()


class Running:
    """The process of the service, and what it used."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.process = process
        self.url = url

    def memory(self) -> float:
        """Return the resident memory of all processes in bytes."""
        sizes = [
            float(line.split()[1]) * 1024
            for pid in self._processes()
            for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if line.startswith("VmRSS:")
        ]
        if not sizes:
            raise BenchmarkError("memory cannot be read from /proc")
        return sum(sizes)

    def processor(self) -> float:
        """Return the seconds of processor time of all processes so far."""
        ticks = 0
        for pid in self._processes():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _processes(self) -> list[int]:
        own = self.process.pid
        listed = Path(f"/proc/{own}/task/{own}/children").read_text()
        return [own, *map(int, listed.split())]


@contextlib.contextmanager
def _running(folder: Path, policy: str, positive: str, options: Any) -> Iterator[Running]:
    store = str(folder / "watch.db") if options.store == "sqlite" else options.store
    command = [sys.executable, "-m", "watchword", "service", "run", "--no-token", "--port", "0"]
    command += ["--model", str(folder / "model.ww"), "--policy", policy, "--positive", positive]
    command += ["--store", store, "--rate", "1e9", "--log-level", "error"]
    command += ["--workers", str(options.workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise BenchmarkError("the service did not start")
            yield Running(process, json.loads(line)["url"])
        finally:
            process.terminate()


def send_all(url: str, requests: Iterator[bytes], connections: int) -> list[float]:
    """Send requests over several connections, each waiting for its answers; return latencies."""
    lock = threading.Lock()
    latencies: list[float] = []
    failures: list[BaseException] = []

    def work() -> None:
        client = Client(url)
        try:
            while True:
                with lock:
                    request = next(requests, None)
                if request is None:
                    return
                began = time.perf_counter()
                client.send(request)
                latencies.append(time.perf_counter() - began)
        except BaseException as error:
            failures.append(error)
        finally:
            client.close()

    in_threads(work, connections)
    if failures:
        raise failures[0]
    return latencies


def in_threads(work: Callable[[], None], count: int) -> None:
    """Run a function in several threads at once."""
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _percentile(latencies: list[float], share: float) -> str:
    ordered = sorted(latencies)
    return f"{1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]:.1f}"


class Report:
    """Rows of the table, one per kind of load."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self.rows: list[list[str]] = []

    def add(self, name: str, posts: int, send: Callable[[], list[float]]) -> None:
        """Measure a load and add its row."""
        say(name)
        processor, began = self._running.processor(), time.perf_counter()
        latencies = send()
        seconds = time.perf_counter() - began
        used = (self._running.processor() - processor) / posts
        self.rows.append(
            [
                name,
                f"{posts / seconds:,.0f}",
                f"{1e6 * used:.0f}",
                _percentile(latencies, 0.5),
                _percentile(latencies, 0.99),
                f"{self._running.memory() / 1e6:.0f}",
            ]
        )

    def print(self, options: Any) -> None:
        """Print the table."""
        store, load = options.store.partition(":")[0], os.getloadavg()[0]
        print(f"{options.subjects:,} subjects, store {store}, load of the machine {load:.1f}\n")
        head = ["requests", "posts a second", "CPU µs a post", "p50 ms", "p99 ms", "MB"]
        print(markdown_table(head, self.rows))


@contextlib.contextmanager
def prepared(options: Any) -> Iterator[tuple[Running, Traffic, Path]]:
    """Run a service with a fresh model; yield it, posts for it, and its folder."""
    ww = watchword()
    text = ZipfText(seed=1, labels=2)
    taught, pool = (text.posts(POOL, post_words=POST_WORDS) for _ in range(2))
    model = ww.TauSS3()
    say(f"learning {taught.words:,} words")
    model.learn_many(taught.texts, taught.labels)
    confidence = model.confidence_many(pool.texts)
    differences = confidence[:, 0] - confidence[:, 1]
    margin = float(np.quantile(differences, 1 - ALERTS))
    alerting = [pool.texts[at] for at in np.flatnonzero(differences > 1.01 * margin)]
    traffic = Traffic(pool.texts, options.subjects, alerting)
    policy = f"overtakes(margin={margin:.6f})"
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        model.save(Path(name) / "model.ww")
        with _running(Path(name), policy, model.labels[0], options) as running:
            yield running, traffic, Path(name)


def _measure(options: argparse.Namespace) -> int:
    with prepared(options) as (running, traffic, _):
        report = Report(running)
        fill(running, traffic, report, options)
        _load(running, traffic, report, options)
        single(running, traffic, report, options)
        report.print(options)
        _print_memory(running, traffic, options)
    return 0


def fill(running: Running, traffic: Traffic, report: Report, options: Any) -> None:
    """Let every subject write a post."""
    size = 1000
    everyone = list(range(options.subjects))
    random.Random(2).shuffle(everyone)
    parts = (everyone[begin : begin + size] for begin in range(0, options.subjects, size))
    requests = (traffic.request(len(part), part) for part in parts)
    title = "1,000 posts, each of a new subject"
    report.add(title, options.subjects, lambda: send_all(running.url, requests, CONNECTIONS[1000]))


def _load(running: Running, traffic: Traffic, report: Report, options: Any) -> None:
    for size, guess in ((1000, 25_000), (100, 15_000), (1, 1_500)):
        count = max(50, int(options.seconds * guess / size))
        say(f"making {count:,} requests")
        requests = [traffic.request(size) for _ in range(count)]
        plural = "posts" if size > 1 else "post"
        title = f"{size:,} {plural}, {CONNECTIONS[size]} connections"
        report.add(
            title,
            size * count,
            lambda: send_all(running.url, iter(requests), CONNECTIONS[size]),  # noqa: B023
        )


def single(
    running: Running, traffic: Traffic, report: Report, options: Any, beside: str = ""
) -> None:
    """Send single posts at a fixed rate; `beside` says in the table what else happens."""
    count = int(options.rate * options.seconds)
    requests = [traffic.request(1) for _ in range(count)]

    def send() -> list[float]:
        due = itertools.count()
        began = time.perf_counter() + 0.5
        latencies: list[float] = []

        def work() -> None:
            client = Client(running.url)
            while (number := next(due)) < count:
                at = began + number / options.rate
                time.sleep(max(0.0, at - time.perf_counter()))
                client.send(requests[number])
                latencies.append(time.perf_counter() - at)
            client.close()

        in_threads(work, 32)
        return latencies

    report.add(f"1 post, {options.rate} a second{beside}", count, send)


def _print_memory(running: Running, traffic: Traffic, options: Any) -> None:
    if not options.posts:
        return
    rows = [["0", f"{running.memory() / 1e6:.0f}"]]
    steps = 10
    for step in range(1, steps + 1):
        say(f"memory: {step} of {steps}")
        requests = (traffic.request(1000) for _ in range(options.posts // 1000 // steps))
        send_all(running.url, requests, CONNECTIONS[1000])
        rows.append([f"{options.posts * step // steps:,}", f"{running.memory() / 1e6:.0f}"])
    print(f"\n{markdown_table(['further posts', 'MB'], rows)}")


def main() -> int:
    options = _options()
    return run_command("service.py", lambda: _measure(options))


if __name__ == "__main__":
    sys.exit(main())
