"""Accuracy on corpora: τ-SS3 beside scikit-learn's linear models: `accuracy.py FOLDER …`.

Tuned contestants are tuned on the training part only, by the same cross-validation and with the
same lengths of n-grams, and then read the test part, once. With `--texts`, contestants that are not
tuned learn few texts and read others of the training part. Each runs alone in a process of its own;
scikit-learn is installed into an environment below `build/benchmarks`. README.md beside this file
says what is tuned and what the columns mean.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accuracy_job import Job
from accuracy_ours import folds_of
from accuracy_report import BASELINE, print_corpus, print_few
from command import run_command
from contest import asked, interpreters, write_json
from report import BenchmarkError

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Contestant:
    title: str
    script: str = "accuracy_peers.py"
    package: str | None = "scikit-learn"  # to be installed for it


CONTESTANTS = {
    "tau-ss3-refined": Contestant(BASELINE, "accuracy_ours.py", None),
    "tau-ss3-paper": Contestant("τ-SS3, the paper's values", "accuracy_ours.py", None),
    "tau-ss3-untuned": Contestant("τ-SS3, untuned", "accuracy_ours.py", None),
    "naive-bayes-untuned": Contestant("MultinomialNB, untuned"),
    "linear-svm-untuned": Contestant("LinearSVC, untuned"),
    "tau-ss3": Contestant("τ-SS3, tuned", "accuracy_ours.py", None),
    "naive-bayes": Contestant("MultinomialNB, tuned"),
    "linear-svm": Contestant("LinearSVC, tuned"),
    "logistic-regression": Contestant("LogisticRegression, tuned"),
}
# Those that few texts are given to.
FEW = ("tau-ss3-refined", "tau-ss3-untuned", "naive-bayes-untuned", "linear-svm-untuned")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    return run_command("accuracy.py", lambda: _run_all(options))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="accuracy.py", description=__doc__)
    parser.add_argument(
        "corpora",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help='folder with train.jsonl.gz and test.jsonl.gz, {"label", "text"} per line',
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=list(CONTESTANTS),
        metavar="NAME",
        help=f"only this contestant; may be repeated ({', '.join(CONTESTANTS)})",
    )
    parser.add_argument(
        "--trials",
        type=int,
        default=150,
        metavar="N",
        help="settings of τ-SS3 that are tried (default: %(default)s)",
    )
    parser.add_argument(
        "--texts",
        type=_sizes,
        default=(),
        metavar="N,N,…",
        help="learn only so many training texts and classify others of the training part",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=5,
        metavar="N",
        help="draws for each number of texts (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every answer to FILE")
    parser.add_argument(
        "--cache",
        type=Path,
        default=HERE.parent / "build" / "benchmarks",
        metavar="FOLDER",
        help="where the peers are kept (default: build/benchmarks)",
    )
    options = parser.parse_args(arguments)
    for name in ("trials", "seeds"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(options, name)}")
    if options.texts and (tuned := set(options.only or ()) - set(FEW)):
        parser.error(f"--texts is not for {', '.join(sorted(tuned))}")
    return options


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(int(size) for size in text.split(","))
    if min(sizes) < 1:
        raise ValueError(text)
    return sizes


def _run_all(options: argparse.Namespace) -> int:
    offered = FEW if options.texts else CONTESTANTS
    names = [name for name in offered if not options.only or name in options.only]
    jobs = [_job(folder.resolve(), options) for folder in options.corpora]
    failures: dict[str, str] = {}
    packages = {name: CONTESTANTS[name].package for name in names}
    pythons = interpreters(packages, options.cache.resolve(), failures)
    results = []
    for job in jobs:
        rows: dict[str, list[dict[str, Any]]] = {}
        for name, python in pythons.items():
            try:
                rows[CONTESTANTS[name].title] = _rows(python, name, job)
            except BenchmarkError as error:
                failures[f"{name} on {job.folder.name}"] = str(error)
        if options.texts:
            print_few(job, options.texts, rows)
        else:
            print_corpus(job, {title: own[0] for title, own in rows.items()})
        sys.stdout.flush()  # hours may lie between two corpora
        results.append({"corpus": job.folder.name, "rows": rows})
        if options.json:
            write_json(options.json, results)
    for name, reason in failures.items():
        print(f"accuracy.py: {name} was not measured: {reason}", file=sys.stderr)
    return 1 if failures else 0


def _job(folder: Path, options: argparse.Namespace) -> Job:
    corpus = Job(folder, (), options.trials).corpus  # a wrong file is said before the first run
    folds = folds_of(corpus.train.labels)
    rest = sorted(set(range(len(corpus.train.texts))) - set(folds[0]))
    samples = tuple(
        tuple(random.Random(seed).sample(rest, min(size, len(rest))))
        for size in options.texts
        for seed in range(options.seeds)
    )
    job = Job(folder, folds, options.trials, samples)
    job.say(f"{len(corpus.train.texts):,} training texts, {len(corpus.test.texts):,} test texts")
    return job


def _rows(python: Path, name: str, job: Job) -> list[dict[str, Any]]:
    job.say(name)
    answered: list[dict[str, Any]] = asked(
        python, HERE / CONTESTANTS[name].script, name, job.to_json()
    )
    return answered


if __name__ == "__main__":
    sys.exit(main())
