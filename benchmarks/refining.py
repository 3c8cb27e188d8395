"""What refinement costs: `refining.py CORPUS`, beside counting alone and a linear SVM.

Contestants run one after the other in fresh processes with one thread, round after round; seconds
are those of the processor, so that a busy machine matters little. scikit-learn is installed into an
environment below `build/benchmarks`. README.md beside this file says what the columns mean.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from command import run_command
from compare import Run, machine, run_contestant
from contest import interpreters
from contestants import REFINING
from corpus import Corpus, read_corpus
from ours import watchword
from report import BenchmarkError, markdown_table, megabytes, rate, say

HERE = Path(__file__).resolve().parent
WORDS = 100  # of a post that is learnt and corrected for
POSTS = 500
STEPS = ("learn", "classify")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    return run_command("refining.py", lambda: _measure(options))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="refining.py", description=__doc__)
    parser.add_argument(
        "corpus", type=Path, metavar="CORPUS", help="folder with train.jsonl.gz and test.jsonl.gz"
    )
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="rounds (default: %(default)s)"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=HERE.parent / "build" / "benchmarks",
        metavar="FOLDER",
        help="where scikit-learn is kept (default: build/benchmarks)",
    )
    options = parser.parse_args(arguments)
    if options.repeat < 1:
        parser.error(f"--repeat must be at least 1, got {options.repeat}")
    return options


def _measure(options: argparse.Namespace) -> int:
    folder = options.corpus.resolve()
    corpus = read_corpus(folder)
    failures: dict[str, str] = {}
    packages = {name: "scikit-learn" if name == "linear-svm" else None for name in REFINING}
    pythons = interpreters(packages, options.cache.resolve(), failures)
    if failures:
        raise BenchmarkError("; ".join(failures.values()))
    runs: dict[str, list[Run]] = {name: [] for name in pythons}
    for turn in range(options.repeat):
        for name, python in pythons.items():
            say(f"{name}: run {turn + 1} of {options.repeat}")
            runs[name].append(run_contestant(python, name, folder))
    _print_runs(folder.name, corpus, runs)
    say("learning and correcting post by post")
    _print_online(corpus)
    print(f"\n{machine()}, processor time, the fastest of {options.repeat} rounds")
    return 0


def _print_runs(name: str, corpus: Corpus, runs: dict[str, list[Run]]) -> None:
    seconds = {
        key: {step: min(run["processor_seconds"][step] for run in own) for step in STEPS}
        for key, own in runs.items()
    }
    sizes = {
        key: statistics.median(run["growth_bytes"] for run in own) for key, own in runs.items()
    }
    header = ["", "learn", "words/s", "classify", "words/s", "memory", "peak", "accuracy"]
    table = []
    for key, own in runs.items():
        taken = seconds[key]
        peak = statistics.median(run["peak_growth_bytes"] for run in own)
        table.append(
            [
                f"{key} {own[0]['version']}",
                f"{taken['learn']:.2f} s",
                rate(corpus.train.words / taken["learn"]),
                f"{taken['classify']:.2f} s",
                rate(corpus.test.words / taken["classify"]),
                megabytes(sizes[key]),
                megabytes(peak),
                f"{own[0]['accuracy']:.4f}",
            ]
        )
    print(f"\n{name}: {corpus.train.words:,} words learnt, {corpus.test.words:,} classified\n")
    print(markdown_table(header, table), end="\n\n")
    for key, own in runs.items():
        print(f"- {key}: {own[0]['measured']}")
    counted, refined, svm = (seconds[key] for key in REFINING)
    learning = svm["learn"] / refined["learn"]
    classifying = counted["classify"] / refined["classify"]
    memory = sizes["watchword-refined"] / sizes["watchword-counted"]
    print(f"\nLearning and refining is {learning:.1f} times as fast as the linear SVM.")
    print(f"The refined model classifies at {classifying:.0%} of the speed of the counted one")
    print(f"and takes {memory:.2f} times its memory.")


def _print_online(corpus: Corpus) -> None:
    """Print what a post takes that is learnt with `correct=True`, one call for each."""
    train = corpus.train
    model = watchword().TauSS3()
    model.learn_many(train.texts, train.labels, threads=1)
    model.refine(train.texts, train.labels, threads=1)
    texts = zip(corpus.test.texts, corpus.test.labels, strict=True)
    words = [(text.split(), label) for text, label in texts]
    posts = [(" ".join(own[:WORDS]), label) for own, label in words if len(own) >= WORDS][:POSTS]
    if len(posts) < POSTS:
        print(f"\nToo few texts of {WORDS} words to learn post by post.")
        return
    taken = []
    for post, label in posts:
        start = time.process_time()
        model.learn_one(post, label, correct=True)
        taken.append(1000 * (time.process_time() - start))
    print(f"\nA post of {WORDS} words learnt with correct=True, {len(model.labels)} labels:")
    highest = statistics.quantiles(taken, n=20)[-1]
    print(f"median {statistics.median(taken):.3f} ms, 95 % of {POSTS} below {highest:.3f} ms.")


if __name__ == "__main__":
    sys.exit(main())
