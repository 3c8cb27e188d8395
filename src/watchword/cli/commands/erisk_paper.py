"""watchword erisk paper: the experiments and figures of the τ-SS3 paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from watchword.cli.base import COUNT, FOLDER, emit, progress_of, show, verb, warn
from watchword.cli.commands.erisk import erisk
from watchword.cli.files import FilledFolder
from watchword.cli.options import flag, option, threads_option
from watchword.cli.stream_options import whole_numbers
from watchword.erisk import TASKS
from watchword.erisk.paper.report import PaperFolder, report_lines
from watchword.erisk.paper.study import (
    LENGTHS,
    MOST_WRITINGS,
    POST,
    SUBJECTS,
    WARNING,
    StudySettings,
    study_tasks,
)
from watchword.model.presets import PAPER_TASKS


@verb(
    group=erisk,
    example="""
    watchword erisk paper --task 2018-anorexia --subjects 60 --most-writings 30 --no-search
    watchword erisk paper --figures -o figures
    """,
)
@option(
    "--data", "Folder that contains the collections.  [default: synthetic collections]", type=FOLDER
)
@option(
    "-o, --output FOLDER",
    "New folder for tables, pages and figures.",
    type=FilledFolder(),
    default=Path("paper"),
)
@option(
    "--task",
    "Task to run; repeatable.  [default: all three]",
    name="tasks",
    type=click.Choice(list(TASKS)),
    multiple=True,
)
@option(
    "--lengths WORDS,…",
    "Lengths of the longest n-grams to try, from 1 to 10.",
    default=",".join(map(str, LENGTHS)),
    parse=whole_numbers,
)
@option(
    "--search/--no-search",
    "Also search for σ, λ and ρ by cross-validation on the training set.",
    default=True,
)
@option(
    "--prune-period WORDS",
    "Words between prunings of n-grams with count ≤ 10.",
    type=COUNT,
    default=PAPER_TASKS["prune_period"],
)
@option(
    "--subject ID",
    "Subject on the page for figure 5.  [default: the paper's subject, else the positive "
    "subject whose post has the highest value]",
)
@option("--post", "Last post to read for that page.", type=COUNT, default=POST)
@flag("--figures", "Only draw figures 1 to 4, which need no data.")
@option(
    "--subjects", f"Number of subjects per synthetic collection.  [default: {SUBJECTS}]", type=COUNT
)
@option(
    "--most-writings",
    f"Largest number of writings per synthetic subject.  [default: {MOST_WRITINGS}]",
    type=click.IntRange(min=10),
)
@option("--repeats", "Number of resamples in paired intervals and tests.", type=COUNT, default=1000)
@option(
    "--seed",
    "Random seed of folds, paired tests and synthetic collections.",
    type=click.IntRange(min=0),
    default=0,
)
@threads_option
@option("--table/--record", "Print the tables, or a JSON line for each task.", default=True)
def paper(
    data: Path | None,
    output: Path,
    tasks: tuple[Any, ...],
    lengths: tuple[int, ...],
    figures: bool,
    subjects: int | None,
    most_writings: int | None,
    table: bool,
    **options: Any,
) -> None:
    """Reproduce the experiments and figures of the τ-SS3 paper.

    Runs SS3 (words only) and τ-SS3 on the tasks with the paper's parameters, pruning and policy,
    tries several lengths of n-grams and the paper's search, tests the differences, and prints
    everything beside the published results. The folder --output gets tables (Markdown, CSV, LaTeX),
    the runs as submissions, a subject's story under both models, and figures 1 to 4.

    Without --data, the collections are synthetic, and the results say nothing about eRisk.
    docs/paper.md describes what can be reproduced.
    """
    made = {"--subjects": subjects, "--most-writings": most_writings}
    for name, value in made.items():
        if value is not None and data is not None:
            raise click.UsageError(f"{name} is for synthetic collections, not for --data")
    if max(lengths) > LENGTHS[-1]:
        raise click.BadParameter(
            f"{max(lengths)} is more than {LENGTHS[-1]}", param_hint="--lengths"
        )
    folder = PaperFolder(output)
    if figures:
        drawn = folder.draw_figures()
        folder.finish()
        emit([{"files": [str(path) for path in drawn]}])
        return
    if data is None:
        warn(f"Warning: no --data. {WARNING}")
    for study in study_tasks(
        data,
        tasks or tuple(TASKS),
        settings=StudySettings(lengths=lengths, **options),
        subjects=SUBJECTS if subjects is None else subjects,
        most_writings=MOST_WRITINGS if most_writings is None else most_writings,
        progress=progress_of,
    ):
        folder.add(study)
        if table:
            show("\n".join([*report_lines(study), ""]))
        else:
            emit([study.to_dict()])
    folder.draw_figures()
    report = folder.finish()
    if table:
        show(f"Written: {report}")
    else:
        emit([{"report": str(report)}])
