"""Early detection on streams: τ-SS3 beside SS3, PySS3 and scikit-learn: `streams.py FOLDER …`.

Every contestant is tuned on the training subjects only, by the same cross-validation over
subjects, once for ERDE50 and once for F_latency, and then reads the test subjects. Each runs alone
in a process of its own; the peers are installed into an environment below `build/benchmarks`.
README.md beside this file says what is tuned and what the columns mean.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command import run_command
from contest import asked, interpreters, write_json
from report import BenchmarkError
from stream_job import Job
from stream_ours import folds_of, rows_of_values
from stream_report import print_stream

HERE = Path(__file__).resolve().parent
MEASURES = ("erde50", "f_latency")


@dataclass(frozen=True)
class Contestant:
    title: str
    script: str
    package: str | None = None  # to be installed for it


CONTESTANTS = {
    "tau-ss3": Contestant("τ-SS3 (3-grams)", "stream_ours.py"),
    "tau-ss3-learnt": Contestant("τ-SS3, learnt stopping", "stream_ours.py"),
    "tau-ss3-refined": Contestant("τ-SS3, refined", "stream_ours.py"),
    "tau-ss3-paper": Contestant("τ-SS3, the paper's values", "stream_ours.py"),
    "ss3": Contestant("SS3 (words)", "stream_ours.py"),
    "pyss3": Contestant("PySS3", "stream_pyss3.py", "pyss3"),
    "naive-bayes": Contestant("MultinomialNB", "stream_classifiers.py", "scikit-learn"),
    "logistic-regression": Contestant(
        "LogisticRegression", "stream_classifiers.py", "scikit-learn"
    ),
    "linear-svm": Contestant("LinearSVC", "stream_classifiers.py", "scikit-learn"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    return run_command("streams.py", lambda: _run_all(options))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="streams.py", description=__doc__)
    parser.add_argument(
        "streams",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help='folder with train.jsonl.gz and test.jsonl.gz, {"subject", "label", "text"} per line, '
        "labels positive and negative, the posts of a subject together and in order",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=list(CONTESTANTS),
        metavar="NAME",
        help=f"only this contestant; may be repeated ({', '.join(CONTESTANTS)})",
    )
    parser.add_argument(
        "--order",
        choices=("time", "random"),
        default="time",
        help="how subjects are dealt to folds (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every decision to FILE")
    parser.add_argument(
        "--cache",
        type=Path,
        default=HERE.parent / "build" / "benchmarks",
        metavar="FOLDER",
        help="where the peers are kept (default: build/benchmarks)",
    )
    return parser.parse_args(arguments)


def _run_all(options: argparse.Namespace) -> int:
    names = [name for name in CONTESTANTS if not options.only or name in options.only]
    jobs = [_job(folder.resolve(), options.order) for folder in options.streams]
    failures: dict[str, str] = {}
    packages = {name: CONTESTANTS[name].package for name in names}
    pythons = interpreters(packages, options.cache.resolve(), failures)
    results = []
    for job in jobs:
        rows: dict[str, dict[str, Any]] = {measure: {} for measure in MEASURES}
        for name, python in pythons.items():
            try:
                found = _rows(python, name, job)
            except BenchmarkError as error:
                failures[f"{name} on {job.folder.name}"] = str(error)
                continue
            for measure in MEASURES:
                rows[measure][CONTESTANTS[name].title] = found[measure]
        print_stream(job, rows)
        results.append({"stream": job.folder.name, "tuned_for": rows})
    if options.json:
        write_json(options.json, results)
    for name, reason in failures.items():
        print(f"streams.py: {name} was not measured: {reason}", file=sys.stderr)
    return 1 if failures else 0


def _job(folder: Path, order: str) -> Job:
    job = Job(folder, (), MEASURES)
    _ = job.test  # a wrong file is said before the first run
    job = Job(folder, folds_of(job.train, order), MEASURES, order)
    positives = f"{int(job.train.truth.sum())} and {int(job.test.truth.sum())} positive"
    job.say(f"{len(job.train.subjects)} and {len(job.test.subjects)} subjects, {positives}")
    return job


def _rows(python: Path, name: str, job: Job) -> dict[str, Any]:
    answered = asked(python, HERE / CONTESTANTS[name].script, name, job.to_json())
    rows = answered["rows"] if "rows" in answered else rows_of_values(answered, job)
    return {measure: row | {"version": answered["version"]} for measure, row in rows.items()}


if __name__ == "__main__":
    sys.exit(main())
