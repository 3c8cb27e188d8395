"""Does learning slow down, or stall, as the model grows?

Words per second at 3 and at 30 million words, and the median and the longest time of a call.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator

from command import run_command
from ours import distinct_ngrams, paper_model
from report import markdown_table, rate, say
from zipf import Posts, ZipfText

from watchword import TauSS3

CHUNK = 250_000


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="growth.py", description=__doc__)
    parser.add_argument("--first", type=int, default=3_000_000, help="default: %(default)s")
    parser.add_argument("--last", type=int, default=30_000_000, help="default: %(default)s")
    parser.add_argument(
        "--window",
        type=int,
        default=1_000_000,
        help="words before each point over which the rate is taken (default: %(default)s)",
    )
    parser.add_argument("--post-words", type=int, default=250, help="default: %(default)s")
    parser.add_argument(
        "--batch",
        type=int,
        default=100,
        help="posts learnt in one call; the longest call shows stalls (default: %(default)s)",
    )
    parser.add_argument("--labels", type=int, default=4, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    options = parser.parse_args()
    if not CHUNK <= options.window <= options.first <= options.last:
        parser.error(f"give {CHUNK:,} <= --window <= --first <= --last")
    if options.batch < 1:
        parser.error("give --batch 1 or more")
    return options


def _measure(options: argparse.Namespace) -> int:
    model = paper_model()
    text = ZipfText(seed=options.seed, labels=options.labels)
    points = [options.first, options.last]
    history: list[tuple[int, float]] = []
    words, seconds = 0, 0.0
    calls: list[float] = []
    rows, recent_rates, overall_rates = [], [], []
    for chunk in text.stream(post_words=options.post_words, chunk_words=CHUNK):
        # Only learning is timed; making the text is not.
        recent_calls = list(_learn(model, chunk, options))
        calls += recent_calls
        taken = sum(recent_calls)
        words, seconds = words + chunk.words, seconds + taken
        history.append((chunk.words, taken))
        if len(history) % 12 == 0:
            say(f"{words:,} words learnt")
        if words >= points[0]:
            recent_rates.append(_recent_rate(history, options.window))
            overall_rates.append(words / seconds)
            row = [f"{words:,}", f"{distinct_ngrams(model):,}"]
            latencies = [f"{1000 * of(calls):.2f}" for of in (statistics.median, max)]
            rows.append([*row, rate(recent_rates[-1]), rate(overall_rates[-1]), *latencies])
            points.pop(0)
            if not points:
                break
    recent, overall = (rates[-1] / rates[0] for rates in (recent_rates, overall_rates))
    rows.append(["ratio", "", f"{recent:.2f}", f"{overall:.2f}", "", ""])
    print(
        f"{options.labels} labels, posts of about {options.post_words} words, "
        f"{options.batch:,} in one call\n"
    )
    last = f"words/s over the last {options.window:,}"
    titles = ["words learnt", "n-grams", last, "words/s from the start"]
    print(markdown_table([*titles, "median call, ms", "longest call, ms"], rows))
    return 0


def _learn(model: TauSS3, posts: Posts, options: argparse.Namespace) -> Iterator[float]:
    """Learn posts in batches, and yield the seconds that each takes."""
    for begin in range(0, len(posts.texts), options.batch):
        batch = slice(begin, begin + options.batch)
        start = time.perf_counter()
        model.learn_many(posts.texts[batch], posts.labels[batch], threads=options.threads)
        yield time.perf_counter() - start


def _recent_rate(history: list[tuple[int, float]], window: int) -> float:
    words, seconds = 0, 0.0
    for chunk_words, chunk_seconds in reversed(history):
        words, seconds = words + chunk_words, seconds + chunk_seconds
        if words >= window:
            break
    return words / seconds


def main() -> int:
    options = _options()
    return run_command("growth.py", lambda: _measure(options))


if __name__ == "__main__":
    sys.exit(main())
