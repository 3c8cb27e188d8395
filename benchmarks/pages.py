"""How large pages get and how long they take to make: `pages.py CORPUS`.

The model is taught the training texts, with the labels of the corpus and put together into two.
Then: the overview of the model, and the page of one long text (test texts, up to ten million
characters).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from command import run_command
from corpus import read_corpus
from memory import put_together
from ours import distinct_ngrams, paper_model
from report import markdown_table, say

CHARACTERS = 10_000_000


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="pages.py", description=__doc__)
    parser.add_argument(
        "corpus", type=Path, metavar="CORPUS", help="folder with train.jsonl.gz and test.jsonl.gz"
    )
    return parser.parse_args()


def _measure(options: argparse.Namespace) -> int:
    corpus = read_corpus(options.corpus)
    text = "\n\n".join(corpus.test.texts)[:CHARACTERS]
    rows = []
    for labels in (corpus.train.labels, put_together(corpus.train.labels, 2)):
        model = paper_model()
        say(f"learning {corpus.train.words:,} words")
        model.learn_many(corpus.train.texts, labels)
        name = f"{len(model.labels)} labels"
        rows.append(_row(f"{name}: overview", model, _overview))
        rows.append(_row(f"{name}: one text", model, lambda own: own.explain(text).to_page()))
    print(f"a text of {len(text):,} characters\n")
    print(markdown_table(["page", "n-grams in the model", "size", "made in"], rows))
    return 0


def _overview(model: Any) -> str:
    return str(model.overview().to_page())


def _row(name: str, model: Any, make: Any) -> list[str]:
    say(name)
    start = time.perf_counter()
    size = len(make(model).encode())
    return [name, f"{distinct_ngrams(model):,}", *_figures(size, time.perf_counter() - start)]


def _figures(size: int, seconds: float) -> list[str]:
    return [f"{size / 1e6:.2f} MB", f"{seconds:.1f} s"]


def main() -> int:
    options = _options()
    return run_command("pages.py", lambda: _measure(options))


if __name__ == "__main__":
    sys.exit(main())
