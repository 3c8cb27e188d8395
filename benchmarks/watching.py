"""Many subjects at once: how fast interleaved posts are read, and what a subject takes.

Subjects write posts of generated text in turn. A `Watcher` reads them in batches, as a stream would
bring them; `confidence_many`, the engine alone, reads the same batches. Both take turns, and the
best of several runs counts. The same posts as a file of JSON lines go through the loop of the
command `watchword watch`, from bytes to printed alerts, without its start; ratios are those to the
engine. The command also prints the reasons of each alert, which cost as much as many posts, so they
have a row of their own; it depends on the share of posts that raise an alert, here about 8 %. Then
each of many more subjects writes one post, and the growth of the process is divided by their
number; their ids were there before.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from command import run_command
from ours import watchword
from process import MemoryGrowth, fastest
from report import markdown_table, say
from zipf import ZipfText

BATCH = 8192


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="watching.py", description=__doc__)
    parser.add_argument(
        "--subjects", type=int, default=10_000, help="who write in turn (default: %(default)s)"
    )
    parser.add_argument(
        "--posts", type=int, default=100_000, help="that they write (default: %(default)s)"
    )
    parser.add_argument(
        "--post-words", type=int, default=30, help="mean length of a post (default: %(default)s)"
    )
    parser.add_argument(
        "--crowd",
        type=int,
        default=1_000_000,
        help="subjects whose memory is measured (default: %(default)s)",
    )
    parser.add_argument("--repeats", type=int, default=9, help="default: %(default)s")
    return parser.parse_args()


def _measure(options: argparse.Namespace) -> int:
    ww = watchword()
    text = ZipfText(seed=1, labels=2)
    taught, posts = (text.posts(options.posts, post_words=options.post_words) for _ in range(2))
    model = ww.TauSS3.paper()
    say(f"learning {taught.words:,} words")
    model.learn_many(taught.texts, taught.labels)
    policy = ww.Overtakes(model.labels[0])
    subjects = [f"subject {place % options.subjects}" for place in range(options.posts)]
    rows = []
    for threads in (1, 2):
        say(f"reading {posts.words:,} words in {threads} threads")
        engine, watcher = _seconds(model, policy, subjects, posts.texts, threads, options.repeats)
        rates = (f"{posts.words / seconds / 1e6:.2f} M" for seconds in (engine, watcher))
        rows.append([str(threads), *rates, f"{engine / watcher:.0%}"])
    print(f"{options.posts:,} posts of {options.subjects:,} subjects in turn; words a second\n")
    print(markdown_table(["threads", "confidence_many", "Watcher", "share"], rows))
    _print_command(model, policy, subjects, posts.texts, options.repeats)
    _print_memory(model, policy, options.crowd)
    return 0


def _seconds(
    model: Any, policy: Any, subjects: list[str], texts: list[str], threads: int, repeats: int
) -> tuple[float, float]:
    """The best times of the engine alone and of a watcher."""
    batches = [slice(begin, begin + BATCH) for begin in range(0, len(texts), BATCH)]
    work = [(subjects[batch], texts[batch]) for batch in batches]
    best = [float("inf"), float("inf")]
    for _ in range(repeats):
        watcher = model.watcher(policy)
        start = time.perf_counter()
        for _, own in work:
            model.confidence_many(own, threads=threads)
        between = time.perf_counter()
        for names, own in work:
            watcher.read_many(names, own, threads=threads)
        end = time.perf_counter()
        best = [min(best[0], between - start), min(best[1], end - between)]
    return best[0], best[1]


def _print_command(
    model: Any, policy: Any, subjects: list[str], texts: list[str], repeats: int
) -> None:
    say("the command, from JSON lines to printed alerts")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "posts.jsonl"
        pairs = zip(subjects, texts, strict=True)
        lines = [json.dumps({"subject": name, "text": text}) + "\n" for name, text in pairs]
        path.write_text("".join(lines))
        long_path = Path(folder) / "more.jsonl"
        long_path.write_text("".join(lines * 5))
        del lines
        jobs = {
            "confidence_many": lambda: _read_in_batches(model, texts),
            "JSON lines alone": lambda: _read_file(path),
            "watch": lambda: _watch(model, policy, path),
            "watch --all": lambda: _watch(model, policy, path, every_post=True),
            "watch, with reasons": lambda: _watch(model, policy, path, reasons=True),
        }
        best = fastest(jobs, repeats)
        growths = []
        for file in (path, long_path):
            growth = MemoryGrowth()
            _watch(model, policy, file)
            growths.append(growth.peak())
    core = best["confidence_many"]
    rows = [
        [name, f"{1e6 * own / len(texts):.2f}", f"{len(texts) / own:,.0f}", f"{own / core:.2f}"]
        for name, own in best.items()
    ]
    print("\nthe command in one thread, in time of the thread\n")
    print(markdown_table(["", "µs a post", "posts a second", "ratio"], rows))
    first, second = (f"{growth / 1e6:.1f} MB" for growth in growths)
    print(f"\nat its peak, watch takes {first} for these posts, {second} for five times as many")


def _read_in_batches(model: Any, texts: list[str]) -> None:
    for begin in range(0, len(texts), BATCH):
        model.confidence_many(texts[begin : begin + BATCH], threads=1)


def _read_file(path: Path) -> None:
    from watchword.cli.loading import Loader

    for _ in Loader().batches([str(path)]):
        pass


def _watch(
    model: Any, policy: Any, path: Path, *, every_post: bool = False, reasons: bool = False
) -> None:
    from watchword.cli.commands import watch
    from watchword.cli.loading import Loader
    from watchword.cli.output import Stops

    loader = Loader(bad_lines="skip")
    posts = watch.with_subjects(loader.batches([str(path)], streams=True), loader.bad)
    keeper = watch.Keeper(model.watcher(policy), None, every=60)
    with Path(os.devnull).open("w") as nothing, contextlib.redirect_stdout(nothing):
        watch.watch_posts(
            keeper,
            posts,
            stops=Stops(),
            show=watch.show_json,
            every_post=every_post,
            threads=1,
            explain=watch.explainer(model, policy) if reasons else None,
        )


def _print_memory(model: Any, policy: Any, crowd: int) -> None:
    say(f"{crowd:,} subjects, one post each")
    subjects = [f"subject {place}" for place in range(crowd)]
    watcher = model.watcher(policy)
    growth = MemoryGrowth()
    for begin in range(0, crowd, BATCH):
        names = subjects[begin : begin + BATCH]
        watcher.read_many(names, ["te na"] * len(names))
    now, peak = growth.now() / crowd, growth.peak() / crowd
    state = len(watcher.to_bytes()) - sum(map(len, subjects))
    print(f"\n{len(watcher):,} subjects, 2 labels; bytes each, without ids\n")
    row = [f"{now:.0f}", f"{peak:.0f}", f"{state / crowd:.0f}"]
    print(markdown_table(["now", "at the peak", "kept in a file"], [row]))


def main() -> int:
    options = _options()
    return run_command("watching.py", lambda: _measure(options))


if __name__ == "__main__":
    sys.exit(main())
