"""What explanations cost: the blocks of a post, and the snippet of a longer text.

A model with two labels explains posts of about 30 words; one with 20 labels explains texts of about
300 words and draws them with `to_html`. `confidence_many` reads the same texts in one batch. All
take turns, and the best of several runs counts, in time of the thread; a ratio is that to
`confidence_many`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from command import run_command
from ours import distinct_ngrams, paper_model, watchword
from process import fastest
from report import markdown_table, say
from zipf import ZipfText


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="explaining.py", description=__doc__)
    parser.add_argument("--ngrams", type=int, default=1_700_000, help="default: %(default)s")
    parser.add_argument("--posts", type=int, default=200, help="default: %(default)s")
    parser.add_argument("--texts", type=int, default=20, help="default: %(default)s")
    parser.add_argument("--repeats", type=int, default=9, help="default: %(default)s")
    parser.add_argument("--refine", action="store_true", help="refine the models first")
    return parser.parse_args()


def _measure(options: argparse.Namespace) -> int:
    posts_of = ZipfText(seed=1, labels=2)
    model = _taught(paper_model(), posts_of, options)
    posts = posts_of.posts(options.posts, post_words=30).texts
    jobs: dict[str, Callable[[], object]] = {
        "confidence_many": lambda: model.confidence_many(posts, threads=1),
        "explain": lambda: [None for post in posts if model.explain(post) is None],
        "explain, all blocks looked at": lambda: [
            _looked_at(model.explain(post)) for post in posts
        ],
    }
    print(f"{distinct_ngrams(model):,} n-grams, 2 labels, posts of about 30 words\n")
    _print_times(jobs, len(posts), options.repeats)
    texts_of = ZipfText(seed=2, labels=20)
    model = _taught(watchword().TauSS3(), texts_of, options)
    texts = texts_of.posts(options.texts, post_words=300).texts
    explained = [model.explain(text) for text in texts]
    size = sum(len(one.to_html().encode()) for one in explained) / len(texts)
    words = sum(len(text.split()) for text in texts) / len(texts)
    jobs = {
        "confidence_many": lambda: model.confidence_many(texts, threads=1),
        "explain": lambda: [model.explain(text) for text in texts],
        "to_html": lambda: [one.to_html() for one in explained],
    }
    print(f"\n{distinct_ngrams(model):,} n-grams, 20 labels, texts of {words:.0f} words; ", end="")
    print(f"to_html gives {size / 1e3:.1f} kB, {300 / words * size / 1e3:.1f} kB per 300 words\n")
    _print_times(jobs, len(texts), options.repeats)
    return 0


def _taught(model: Any, text: ZipfText, options: argparse.Namespace) -> Any:
    say(f"learning up to {options.ngrams:,} n-grams")
    for chunk in text.stream(post_words=30):
        model.learn_many(chunk.texts, chunk.labels)
        if distinct_ngrams(model) >= options.ngrams:
            break
    if options.refine:
        model.refine(chunk.texts, chunk.labels)
    return model


def _looked_at(explanation: Any) -> float:
    """Read the label and every contribution of every block."""
    total = 0.0 if explanation.label is None else explanation.value[0]
    for paragraph in explanation.blocks:
        for sentence in paragraph.blocks:
            for ngram in sentence.blocks:
                total += ngram.contribution[0]
    return total


def _print_times(jobs: dict[str, Callable[[], object]], texts: int, repeats: int) -> None:
    best = fastest(jobs, repeats)
    core = best["confidence_many"]
    rows = [[name, f"{1e6 * own / texts:,.1f}", f"{own / core:.0f}"] for name, own in best.items()]
    print(markdown_table(["", "µs a text", "ratio"], rows))


def main() -> int:
    options = _options()
    return run_command("explaining.py", lambda: _measure(options))


if __name__ == "__main__":
    sys.exit(main())
