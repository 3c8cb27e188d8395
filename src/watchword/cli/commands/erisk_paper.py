"""watchword erisk paper: the experiments and figures of the τ-SS3 paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from watchword.cli.base import console, emit, progress_of, show, verb, warn
from watchword.cli.commands.erisk import erisk
from watchword.cli.options import threads_option
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

_FOLDER = click.Path(file_okay=False, path_type=Path)


@verb(
    group=erisk,
    example="""
    watchword erisk paper --task 2018-anorexia --subjects 60 --most-writings 30 --no-search
    watchword erisk paper --figures --out figures
    """,
)
@click.option(
    "--data",
    type=_FOLDER,
    help="Folder that contains the collections.  [default: synthetic collections]",
)
@click.option(
    "--out", type=_FOLDER, default=Path("paper"), help="New folder for tables, pages and figures."
)
@click.option(
    "--task",
    "tasks",
    type=click.Choice(list(TASKS)),
    multiple=True,
    help="Task to run; repeatable.  [default: all three]",
)
@click.option(
    "--lengths",
    default=",".join(map(str, LENGTHS)),
    callback=whole_numbers,
    metavar="WORDS,…",
    help="Lengths of the longest n-grams to try, from 1 to 10.",
)
@click.option(
    "--search/--no-search",
    default=True,
    help="Also search for σ, λ and ρ by cross-validation on the training set.",
)
@click.option(
    "--prune-period",
    type=click.IntRange(min=1),
    default=PAPER_TASKS["prune_period"],
    metavar="WORDS",
    help="Words between prunings of n-grams with count ≤ 10.",
)
@click.option(
    "--subject",
    metavar="ID",
    help="Subject on the page for figure 5.  [default: the paper's subject, else the positive "
    "subject whose post has the highest value]",
)
@click.option(
    "--post", type=click.IntRange(min=1), default=POST, help="Last post to read for that page."
)
@click.option("--figures", is_flag=True, help="Only draw figures 1 to 4, which need no data.")
@click.option(
    "--subjects",
    type=click.IntRange(min=1),
    help=f"Number of subjects per synthetic collection.  [default: {SUBJECTS}]",
)
@click.option(
    "--most-writings",
    type=click.IntRange(min=10),
    help=f"Largest number of writings per synthetic subject.  [default: {MOST_WRITINGS}]",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1000,
    help="Number of resamples in paired intervals and tests.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    help="Random seed of folds, paired tests and synthetic collections.",
)
@threads_option
@click.option(
    "--table/--record", default=True, help="Print the tables, or a JSON line for each task."
)
def paper(
    data: Path | None,
    out: Path,
    tasks: tuple[Any, ...],
    lengths: tuple[int, ...],
    search: bool,
    prune_period: int,
    subject: str | None,
    post: int,
    figures: bool,
    subjects: int | None,
    most_writings: int | None,
    repeats: int,
    seed: int,
    threads: int | None,
    table: bool,
) -> None:
    """Reproduce the experiments of the τ-SS3 paper, and draw its figures.

    Runs SS3 (words only) and τ-SS3 on the tasks with the paper's parameters, pruning and policy,
    tries several lengths of n-grams and the paper's search, tests the differences, and prints
    everything beside the published results. The folder --out gets tables (Markdown, CSV, LaTeX),
    the runs as submissions, a subject's story under both models, and figures 1 to 4.

    Without --data, the collections are synthetic, and the results say nothing about eRisk.
    docs/paper.md describes what can be reproduced.
    """
    made = {"--subjects": subjects, "--most-writings": most_writings}
    for option, value in made.items():
        if value is not None and data is not None:
            raise click.UsageError(f"{option} is for synthetic collections, not for --data")
    if max(lengths) > LENGTHS[-1]:
        raise click.BadParameter(
            f"{max(lengths)} is more than {LENGTHS[-1]}", param_hint="--lengths"
        )
    folder = PaperFolder(out)
    if figures:
        drawn = folder.draw_figures()
        folder.finish()
        emit([{"files": [str(path) for path in drawn]}])
        return
    if data is None:
        warn(f"Warning: no --data. {WARNING}")
    settings = StudySettings(
        lengths=lengths,
        search=search,
        prune_period=prune_period,
        subject=subject,
        post=post,
        seed=seed,
        threads=threads,
        repeats=repeats,
    )
    for study in study_tasks(
        data,
        tasks or tuple(TASKS),
        settings=settings,
        subjects=SUBJECTS if subjects is None else subjects,
        most_writings=MOST_WRITINGS if most_writings is None else most_writings,
        progress=progress_of,
    ):
        folder.add(study)
        if table:
            show(console(), "\n".join([*report_lines(study), ""]))
        else:
            emit([study.to_dict()])
    folder.draw_figures()
    report = folder.finish()
    if table:
        show(console(), f"Written: {report}")
    else:
        emit([{"report": str(report)}])
