"""How fast the service takes posts in, without HTTP: from `Service.submit` to the receipt.

First each of many subjects writes a post, so that the store is full of them; then random subjects
write, in batches of several sizes. Several batches are under way at once, as with several
clients. Seconds of CPU are those of the whole process, with the threads that weigh and write.
At the end, the growth of the process while the last posts were read.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ours import watchword
from process import MemoryGrowth
from report import markdown_table, say
from zipf import ZipfText

UNDER_WAY = {1: 64, 100: 16}
FILLING = 4_000


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="service_intake.py", description=__doc__)
    parser.add_argument(
        "--subjects", type=int, default=1_000_000, help="in the store (default: %(default)s)"
    )
    parser.add_argument(
        "--posts", type=int, default=200_000, help="per size of batch (default: %(default)s)"
    )
    parser.add_argument(
        "--batches", type=int, nargs="+", default=[1, 100, 1000], help="default: 1 100 1000"
    )
    parser.add_argument(
        "--learn", type=int, default=100_000, help="posts for the model (default: %(default)s)"
    )
    parser.add_argument("--store", help="address of an empty store (default: a new SQLite file)")
    parser.add_argument("--threads", type=int, default=1, help="that weigh (default: %(default)s)")
    return parser.parse_args()


def _measure(options: argparse.Namespace, folder: Path) -> int:
    ww = watchword()
    from watchword.service.records import IncomingPost
    from watchword.service.runner import Service

    text = ZipfText(seed=1, labels=2)
    taught, posts = (text.posts(options.learn, post_words=30) for _ in range(2))
    model = ww.TauSS3()
    say(f"learning {taught.words:,} words")
    model.learn_many(taught.texts, taught.labels)
    model.save(folder / "model.ww")
    chance, texts = random.Random(2), posts.texts
    policy = ww.Overtakes(model.labels[0], margin=50.0)
    store = options.store or str(folder / "watch.db")

    def made(size: int, count: int) -> Iterator[list[Any]]:
        numbers = iter(range(10**12))
        run = f"{size}-{time.time_ns()}-"
        for begin in range(0, count, size):
            yield [
                IncomingPost(
                    f"subject{chance.randrange(options.subjects)}",
                    f"{run}{next(numbers)}",
                    texts[(begin + at) % len(texts)],
                )
                for at in range(min(size, count - begin))
            ]

    rows = []
    with Service.open(store, folder / "model.ww", policy, threads=options.threads) as service:
        names = iter(range(options.subjects))
        filling = [
            [IncomingPost(f"subject{at}", "first", texts[at % len(texts)]) for at in part]
            for part in iter(lambda: [at for at, _ in zip(names, range(FILLING), strict=False)], [])
        ]
        say(f"filling the store with {options.subjects:,} subjects")
        rows.append(["filling", *_fed(service, filling, 4)])
        del filling
        for size in options.batches:
            count = max(size, options.posts // (10 if size == 1 else 1))
            say(f"batches of {size}")
            batches = list(made(size, count))
            growth = MemoryGrowth()
            rows.append([str(size), *_fed(service, batches, UNDER_WAY.get(size, 8))])
            rows[-1][-1] = f"{growth.now() / 2**20:.0f}"
    print(markdown_table(["batch", "posts/s", "CPU µs/post", "p50 ms", "p99 ms", "MiB"], rows))
    print(f"\nload of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0


def _fed(service: Any, batches: list[list[Any]], under_way: int) -> list[str]:
    """Send batches, some at a time; return posts/s, CPU per post and times until the receipt."""
    waiting: deque[tuple[float, Any]] = deque()
    taken = []

    def receive() -> None:
        began, future = waiting.popleft()
        future.result()
        taken.append(time.perf_counter() - began)

    posts = sum(map(len, batches))
    began, cpu = time.perf_counter(), time.process_time()
    for batch in batches:
        waiting.append((time.perf_counter(), service.submit(batch)))
        if len(waiting) >= under_way:
            receive()
    while waiting:
        receive()
    seconds, used = time.perf_counter() - began, time.process_time() - cpu
    taken.sort()
    half, most = taken[len(taken) // 2], taken[int(len(taken) * 0.99)]
    per_post = used / posts * 1e6
    return [
        f"{posts / seconds:,.0f}",
        *(f"{per_post:.1f}", f"{half * 1000:.1f}", f"{most * 1000:.1f}", ""),
    ]


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        return _measure(options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
