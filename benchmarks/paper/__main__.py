"""Reproduce the experiments and figures of the τ-SS3 paper.

Runs SS3 (words only) and τ-SS3 on the tasks with the paper's parameters, pruning and policy, tries
several lengths of n-grams and the paper's search, tests the differences, and prints everything
beside the published results. The folder --output gets tables (Markdown, CSV, LaTeX), the runs as
submissions, a subject's story under both models, and figures 1 to 4.

Without --data, the collections are synthetic, and the results say nothing about eRisk.
docs/paper.md describes what can be reproduced.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from paper.report import PaperFolder, report_lines
from paper.study import LENGTHS, MOST_WRITINGS, POST, SUBJECTS, WARNING, StudySettings, study_tasks
from watchword.cli.base import message_of, progress_of, show, warn
from watchword.cli.evaluation_options import whole_numbers
from watchword.erisk import TASKS
from watchword.errors import WatchwordError
from watchword.model.parameters import PAPER_TASKS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = command_parser()
    options = parser.parse_args(arguments)
    for name in ("subjects", "most_writings"):
        if getattr(options, name) is not None and options.data is not None:
            spelt = name.replace("_", "-")
            parser.error(f"--{spelt} is for synthetic collections, not for --data")
    try:
        if options.figures:
            _draw_figures(options.output)
        else:
            _run_studies(options)
    except (WatchwordError, ValueError, OSError) as error:
        print(f"paper: {message_of(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("paper: stopped", file=sys.stderr)
        return 130
    return 0


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    parser = argparse.ArgumentParser(
        "paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, help="folder with the collections (default: synthetic ones)"
    )
    parser.add_argument(
        *("-o", "--output"),
        default=Path("paper"),
        type=Path,
        help="new folder for tables, pages and figures (default: paper)",
    )
    parser.add_argument(
        "--task",
        dest="tasks",
        action="append",
        choices=list(TASKS),
        help="task to run; repeatable (default: all three)",
    )
    parser.add_argument(
        "--lengths",
        type=ngram_lengths,
        default=LENGTHS,
        metavar="WORDS,…",
        help="lengths of the longest n-grams to try, from 1 to 10 (default: all)",
    )
    parser.add_argument(
        "--search",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also search for σ, λ and ρ by cross-validation on the training set",
    )
    parser.add_argument(
        "--prune-period",
        type=int,
        default=PAPER_TASKS["prune_period"],
        metavar="WORDS",
        help="words between prunings of n-grams with count ≤ 10 (default: %(default)s)",
    )
    parser.add_argument(
        "--subject",
        metavar="ID",
        help="subject on the page for figure 5 (default: the paper's, else the positive subject "
        "whose post has the highest value)",
    )
    _add_numbers(parser)
    parser.add_argument(
        "--figures", action="store_true", help="only draw figures 1 to 4, which need no data"
    )
    return parser


def _add_numbers(parser: argparse.ArgumentParser) -> None:
    for name, default, text in (
        ("--post", POST, "last post to read for that page (default: %(default)s)"),
        ("--subjects", None, f"subjects per synthetic collection (default: {SUBJECTS})"),
        (
            "--most-writings",
            None,
            f"most writings per synthetic subject (default: {MOST_WRITINGS})",
        ),
        ("--repeats", 1000, "resamples in paired intervals and tests (default: %(default)s)"),
        ("--seed", 0, "seed of folds, paired tests and synthetic collections (default: 0)"),
        ("--threads", None, "threads (default: all cores)"),
    ):
        parser.add_argument(name, type=int, default=default, metavar="N", help=text)


def ngram_lengths(text: str) -> tuple[int, ...]:
    """Parse lengths of n-grams, separated by commas."""
    try:
        lengths = whole_numbers(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if max(lengths) > LENGTHS[-1]:
        raise argparse.ArgumentTypeError(f"{max(lengths)} is more than {LENGTHS[-1]}")
    return lengths


def _draw_figures(output: Path) -> None:
    folder = PaperFolder(output)
    paths = folder.draw_figures()
    folder.finish()
    show("\n".join(map(str, paths)))


def _run_studies(options: argparse.Namespace) -> None:
    settings = StudySettings(
        lengths=options.lengths,
        search=options.search,
        prune_period=options.prune_period,
        subject=options.subject,
        post=options.post,
        seed=options.seed,
        threads=options.threads,
        repeats=options.repeats,
    )
    folder = PaperFolder(options.output)
    if options.data is None:
        warn(f"Warning: no --data. {WARNING}")
    for study in study_tasks(
        options.data,
        options.tasks or tuple(TASKS),
        settings=settings,
        subjects=SUBJECTS if options.subjects is None else options.subjects,
        most_writings=MOST_WRITINGS if options.most_writings is None else options.most_writings,
        progress=progress_of,
    ):
        folder.add(study)
        show("\n".join([*report_lines(study), ""]))
    folder.draw_figures()
    show(f"Written: {folder.finish()}")


if __name__ == "__main__":
    sys.exit(main())
