"""What a model that stays in its file saves, and what that costs.

Several processes open the same file, read into memory or mapped, and read the same posts. Memory is
what a process has more than before it opened the file, where pages that processes share are shared
out among them (Pss, as Linux tells it), when all of them have read. Words are per processor second:
in the first pass over the posts, and in the best of all.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, NamedTuple

from command import run_command
from ours import distinct_ngrams, paper_model, watchword
from report import BenchmarkError, markdown_table, megabytes, rate, say
from zipf import Posts, ZipfText


class Opened(NamedTuple):
    """What one process saw."""

    seconds: float
    memory: int
    first: float
    best: float


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mapped.py", description=__doc__)
    parser.add_argument("--words", type=int, default=10_000_000, help="learnt, all n-grams kept")
    parser.add_argument("--read", type=int, default=1_000_000, help="words of the posts read")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--passes", type=int, default=5)
    return parser.parse_args()


def _taught(words: int, path: Path) -> int:
    model = paper_model()
    for posts in ZipfText(seed=1).stream(post_words=100):
        model.learn_many(posts.texts, posts.labels)
        words -= posts.words
        if words <= 0:
            break
    model.save(path)
    return distinct_ngrams(model)


def _memory() -> int:
    try:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    except OSError:
        raise BenchmarkError(
            "memory is read from /proc/self/smaps_rollup: this needs Linux"
        ) from None
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _open(path: Path, mapped: bool, posts: Posts, passes: int, all_have: Barrier, out: Any) -> None:
    ww = watchword()
    before = _memory()
    began = time.perf_counter()
    model = ww.TauSS3.load(path, mapped=mapped)
    seconds = time.perf_counter() - began
    rates = []
    for _ in range(passes):
        used = time.process_time()
        model.confidence_many(posts.texts, threads=1)
        rates.append(posts.words / (time.process_time() - used))
    all_have.wait()
    memory = _memory() - before
    all_have.wait()
    out.put(Opened(seconds, memory, rates[0], max(rates)))


def _run(path: Path, mapped: bool, posts: Posts, options: argparse.Namespace) -> list[Opened]:
    context = multiprocessing.get_context("spawn")
    all_have, out = context.Barrier(options.processes), context.Queue()
    arguments = (path, mapped, posts, options.passes, all_have, out)
    processes = [
        context.Process(target=_open, args=arguments, daemon=True) for _ in range(options.processes)
    ]
    for process in processes:
        process.start()
    opened = [out.get() for _ in processes]
    for process in processes:
        process.join()
    return opened


def main() -> int:
    options = _options()
    _memory()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.ww"
        say(f"learning {options.words:,} words")
        ngrams = _taught(options.words, path)
        posts = ZipfText(seed=2).posts(options.read // 100, post_words=100)
        rows = []
        for name, mapped in (("read into memory", False), ("mapped", True)):
            say(name)
            opened = _run(path, mapped, posts, options)
            rows.append(
                [
                    name,
                    f"{1000 * min(one.seconds for one in opened):,.1f} ms",
                    megabytes(sum(one.memory for one in opened)),
                    rate(max(one.first for one in opened)),
                    rate(max(one.best for one in opened)),
                ]
            )
        size = path.stat().st_size
    print(f"{ngrams:,} n-grams, a file of {megabytes(size)}, {options.processes} processes\n")
    memory = f"memory of all {options.processes}"
    print(markdown_table(["", "opening", memory, "words/s, first", "words/s, best"], rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(run_command("mapped.py", main))
