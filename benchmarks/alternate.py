"""Learn one post, classify one post, in turn: does the cost depend on the size of the model?

Measured on a model of about 1.6 million n-grams of generated text, and again when the same model
has grown to ten times as many. Between the two a copy is saved and loaded in a fresh process, and
posts are unlearnt. Times are those of the thread, so that other programs do not show in the
slowest posts.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command import run_command
from ours import distinct_ngrams, paper_model
from report import BenchmarkError, markdown_table, say
from zipf import Posts, ZipfText

# A process of its own, since loading must not profit from memory that is already there.
LOAD = """
import sys, time, watchword
start = time.perf_counter()
model = watchword.TauSS3.load(sys.argv[1])
loaded = time.perf_counter() - start
model.predict_one("te na")
print(loaded, time.perf_counter() - start)
"""


@dataclass(frozen=True)
class Alternation:
    """Milliseconds per post: means over all posts, then the median and percentiles of both."""

    ngrams: int
    learn: float
    classify: float
    median: float
    percentile_99: float
    percentile_99_9: float

    @property
    def both(self) -> float:
        return self.learn + self.classify


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="alternate.py", description=__doc__)
    parser.add_argument("--ngrams", type=int, default=1_600_000, help="default: %(default)s")
    parser.add_argument("--times", type=int, default=10, help="growth (default: %(default)s)")
    parser.add_argument("--posts", type=int, default=6_000, help="default: %(default)s")
    parser.add_argument(
        "--post-words", type=int, default=100, help="mean length of a post (default: %(default)s)"
    )
    parser.add_argument("--labels", type=int, default=4, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    options = parser.parse_args()
    for name in ("ngrams", "times", "post_words", "labels"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return options


def _measure(options: argparse.Namespace) -> int:
    model = paper_model()
    text = ZipfText(seed=options.seed, labels=options.labels)
    chunks = text.stream(post_words=options.post_words)
    _grow(model, chunks, options.ngrams)
    small = _alternate(model, text, options)
    load = _load_seconds(model)
    unlearning = _unlearn(model, text, options)
    _grow(model, chunks, options.ngrams * options.times)
    large = _alternate(model, text, options)

    print(f"{options.posts:,} posts of about {options.post_words} words learnt, ", end="")
    print(f"as many classified, {options.labels} labels; milliseconds per post\n")
    header = ["n-grams", "learn", "classify", "both", "median", "99 %", "99.9 %", "99.9 % / median"]
    rows = [[f"{at.ngrams:,}", *_columns(at)] for at in (small, large)]
    ratios = [large.learn / small.learn, large.classify / small.classify, large.both / small.both]
    rows.append(["ratio", *(f"{ratio:.2f}" for ratio in ratios), "", "", "", ""])
    print(markdown_table(header, rows))
    print(f"\n{unlearning}")
    loaded, first_read = load
    print(f"\nA saved model of {small.ngrams:,} n-grams loads in {loaded:.3f} s ", end="")
    print(f"({first_read:.3f} s up to the first answer), the file lying in the page cache")
    return 0


def _columns(at: Alternation) -> list[str]:
    times = (at.learn, at.classify, at.both, at.median, at.percentile_99, at.percentile_99_9)
    return [*(f"{ms:.4f}" for ms in times), f"{at.percentile_99_9 / at.median:.1f}"]


def _grow(model: Any, chunks: Iterator[Posts], ngrams: int) -> None:
    say(f"learning up to {ngrams:,} n-grams")
    words = 0
    for chunk in chunks:
        model.learn_many(chunk.texts, chunk.labels, threads=1)
        words += chunk.words
        if distinct_ngrams(model) >= ngrams:
            say(f"  reached after {words:,} more words")
            return


def _alternate(model: Any, text: ZipfText, options: argparse.Namespace) -> Alternation:
    say(f"alternating on {distinct_ngrams(model):,} n-grams")
    ngrams = distinct_ngrams(model)
    learnt = text.posts(options.posts, post_words=options.post_words)
    read = text.posts(options.posts, post_words=options.post_words)
    learning, classifying = [], []
    for learn_text, label, read_text in zip(learnt.texts, learnt.labels, read.texts, strict=True):
        start = time.thread_time_ns()
        model.learn_one(learn_text, label)
        between = time.thread_time_ns()
        model.predict_one(read_text)
        end = time.thread_time_ns()
        learning.append((between - start) / 1e6)
        classifying.append((end - between) / 1e6)
    both = sorted(sum(pair) for pair in zip(learning, classifying, strict=True))
    return Alternation(
        ngrams=ngrams,
        learn=statistics.fmean(learning),
        classify=statistics.fmean(classifying),
        median=statistics.median(both),
        percentile_99=both[int(0.99 * (len(both) - 1))],
        percentile_99_9=both[int(0.999 * (len(both) - 1))],
    )


def _unlearn(model: Any, text: ZipfText, options: argparse.Namespace) -> str:
    """Learn posts, unlearn each and classify another; say how long the two take together."""
    say(f"unlearning from {distinct_ngrams(model):,} n-grams")
    posts = text.posts(min(options.posts, 1_000), post_words=options.post_words)
    for post, label in zip(posts.texts, posts.labels, strict=True):
        model.learn_one(post, label)
    times = []
    for at, (post, label) in enumerate(zip(posts.texts, posts.labels, strict=True)):
        start = time.thread_time_ns()
        model.unlearn_one(post, label)
        model.predict_one(posts.texts[at - 1])
        times.append((time.thread_time_ns() - start) / 1e6)
    return (
        f"Unlearning a post and classifying another: {times[0]:.3f} ms the first time, "
        f"{statistics.median(times):.3f} ms (median), {max(times):.3f} ms (longest)"
    )


def _load_seconds(model: Any) -> tuple[float, float]:
    """The best of three fresh processes: seconds to load, and to the first classified text."""
    say("saving, and loading in a fresh process")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.watchword")
        model.save(path)
        say(f"  {path.stat().st_size / 1e6:.1f} MB on disk")
        runs = [_load_once(path) for _ in range(3)]
    return min(loaded for loaded, _ in runs), min(answered for _, answered in runs)


def _load_once(path: Path) -> tuple[float, float]:
    command = [sys.executable, "-c", LOAD, str(path)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        reason = finished.stderr.strip().splitlines() or ["no reason given"]
        raise BenchmarkError(f"the saved model does not load: {reason[-1]}")
    loaded, answered = finished.stdout.split()
    return float(loaded), float(answered)


def main() -> int:
    options = _options()
    return run_command("alternate.py", lambda: _measure(options))


if __name__ == "__main__":
    sys.exit(main())
