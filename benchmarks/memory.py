"""Bytes per distinct n-gram: how much the process grew by learning and classifying a corpus."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from command import run_command
from corpus import read_corpus
from ours import distinct_ngrams, paper_model
from process import MemoryGrowth
from report import BenchmarkError, markdown_table, megabytes, say


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="memory.py", description=__doc__)
    parser.add_argument(
        "corpus", type=Path, metavar="CORPUS", help="folder with train.jsonl.gz and test.jsonl.gz"
    )
    parser.add_argument(
        "--labels",
        type=int,
        metavar="N",
        help="put the corpus's labels together into N, in turn (default: as they are)",
    )
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="default: %(default)s")
    return parser.parse_args()


def _measure(options: argparse.Namespace) -> int:
    corpus = read_corpus(options.corpus)
    labels = corpus.train.labels
    if options.labels is not None:
        labels = put_together(labels, options.labels)
    model = paper_model()
    growth = MemoryGrowth()
    rows = []

    def note(stage: str) -> None:
        ngrams = distinct_ngrams(model)
        now, peak = growth.now(), growth.peak()
        per_ngram = [f"{now / ngrams:.1f}", f"{peak / ngrams:.1f}"]
        rows.append([stage, f"{ngrams:,}", megabytes(now), megabytes(peak), *per_ngram])

    say(f"learning {corpus.train.words:,} words")
    model.learn_many(corpus.train.texts, labels, threads=options.threads)
    note("after learning")
    say(f"classifying {corpus.test.words:,} words")
    predicted = model.predict_many(corpus.test.texts, threads=options.threads)
    note("after classifying too")
    print(f"{len(model.labels)} labels, {len(predicted):,} texts classified\n")
    header = ["growth of the process", "n-grams", "now", "peak", "bytes each", "at the peak"]
    print(markdown_table(header, rows))
    return 0


def put_together(labels: list[str], number: int) -> list[str]:
    names = sorted(set(labels))
    if not 1 <= number <= len(names):
        raise BenchmarkError(f"--labels must be 1 to {len(names)} for this corpus, got {number}")
    groups = {name: f"group {position % number}" for position, name in enumerate(names)}
    return [groups[label] for label in labels]


def main() -> int:
    options = _options()
    return run_command("memory.py", lambda: _measure(options))


if __name__ == "__main__":
    sys.exit(main())
