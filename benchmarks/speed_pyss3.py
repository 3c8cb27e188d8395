"""How fast `watchword.pyss3` is beside PySS3: `speed_pyss3.py CORPUS`.

Both run the same calls in processes of their own: `fit` and `predict` with 3-grams, then `learn` of
a document with `update=True` and `classify` of another, in turn. Processor time.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from command import run_command
from corpus import read_corpus
from peers import ask_peer, install_peer, peers_python
from process import Stopwatch
from pyss3_calls import answer
from report import markdown_table, say

HERE = Path(__file__).parent
LENGTH = 3


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("corpus", type=Path, metavar="CORPUS")
    parser.add_argument("--read", type=int, default=300, help="documents that PySS3 predicts")
    parser.add_argument("--learnt", type=int, default=3, help="documents that PySS3 learns in turn")
    parser.add_argument(
        "--cache", type=Path, default=HERE.parent / "build" / "benchmarks", metavar="FOLDER"
    )
    options = parser.parse_args(arguments)
    return run_command("speed_pyss3", lambda: _measure_both(options))


def _measure_both(options: argparse.Namespace) -> int:
    folder = options.corpus.resolve()
    python = peers_python(options.cache.resolve())
    install_peer(python, "pyss3")
    job = {"folder": str(folder), "read": options.read, "learnt": options.learnt}
    say("PySS3 fits, predicts and learns")
    theirs = _ask(str(python), "pyss3", job)
    say("watchword.pyss3 does the same")
    ours = _ask(sys.executable, "watchword.pyss3", job | {"read": None, "learnt": 200})
    rows = []
    for name in ("fit", "predict", "learn and classify"):
        mine, other = ours[name], theirs[name]
        rows.append([name, f"{other:,.3g} µs", f"{mine:,.3g} µs", f"{other / mine:,.0f}×"])
    words = read_corpus(folder).train.words
    print(f"\n{folder.name}: {words:,} words learnt, {LENGTH}-grams; processor time per word, ")
    print("of `learn(update=True)` with `classify` per pair of documents\n")
    print(markdown_table(["", "PySS3 0.6.5", "watchword.pyss3", "ratio"], rows))
    return 0


def _ask(python: str, module: str, job: dict[str, Any]) -> dict[str, float]:
    answered: dict[str, float] = ask_peer(
        [python, HERE / "speed_pyss3.py", "--answer", module], job, module
    )
    return answered


def measured(module: str, job: dict[str, Any]) -> dict[str, float]:
    """Microseconds of processor time, per word or per pair of documents."""
    package = importlib.import_module(module)
    package.set_verbosity(0)
    corpus = read_corpus(Path(job["folder"]))
    texts = corpus.test.texts[: job["read"]]
    watch = Stopwatch()
    model = package.SS3()
    with watch.step("fit"):
        model.fit(corpus.train.texts, corpus.train.labels, n_grams=LENGTH, leave_pbar=False)
    with watch.step("predict"):
        model.predict(texts, leave_pbar=False)
    pairs = list(zip(corpus.test.texts, corpus.test.labels, strict=True))[: job["learnt"] + 1]
    with watch.step("learn and classify"):
        for (text, label), (other, _) in pairwise(pairs):
            model.learn(text, label, n_grams=LENGTH, update=True)
            model.classify(other)
    units = {
        "fit": corpus.train.words,
        "predict": sum(len(text.split()) for text in texts),
        "learn and classify": len(pairs) - 1,
    }
    return {name: 1e6 * watch.processor[name] / many for name, many in units.items()}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        answer(lambda job: measured(sys.argv[2], job))
    else:
        sys.exit(main())
