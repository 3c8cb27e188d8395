"""watchword erisk make, run: eRisk tasks from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from watchword import TauSS3
from watchword.cli.base import (
    FILE,
    cli,
    console,
    emit,
    example_text,
    progress_of,
    show,
    verb,
    write_text,
)
from watchword.cli.options import (
    paper_parameter_options,
    policy_option,
    threads_option,
)
from watchword.cli.output import check_files
from watchword.cli.policy_notation import parse_policy
from watchword.erisk import TASKS, make_collection, make_discussions, run_task
from watchword.erisk.submission import check_name
from watchword.erisk.symptoms import make_rankings
from watchword.erisk.tables import POSITIVE
from watchword.model.presets import PAPER_TASKS

_SYMPTOMS = "2023-symptoms"
_DISCUSSIONS = "2025-depression"  # without published results in the paper
_FOLDER = click.Path(file_okay=False, path_type=Path)


@cli.group(
    epilog=example_text("""
    watchword erisk make collection --task 2018-anorexia --subjects 40 --most-writings 30
    watchword erisk run 2018-anorexia --data collection --table
    """)
)
def erisk() -> None:
    """Run eRisk tasks from files or against a server."""


# watchword erisk make


@verb(
    group=erisk,
    example="watchword erisk make folder --task 2017-depression --subjects 40 --most-writings 30",
)
@click.argument("folder", type=_FOLDER)
@click.option(
    "--task",
    type=click.Choice([*TASKS, _SYMPTOMS, _DISCUSSIONS]),
    default="2017-depression",
    help="Task whose layout to write.",
)
@click.option(
    "--subjects",
    type=click.IntRange(min=1),
    help="Number of subjects in all sets.  [default: as in the real collection]",
)
@click.option(
    "--most-writings",
    type=click.IntRange(min=10),
    default=2000,
    help="Largest number of writings per subject; all subjects scale with it.",
)
@click.option("--seed", type=int, default=0, help="Random seed.")
@click.option(
    "--release",
    type=click.Choice(["official", "2022"]),
    default="official",
    help="Release whose layout to write: the original release, or that of 2022.",
)
def make(
    folder: Path, task: Any, subjects: int | None, most_writings: int, seed: int, release: Any
) -> None:
    """Write a synthetic collection.

    The collection has the official layout, including its irregularities, to try `erisk run` without
    the real data. FOLDER must be new or empty. 2025-depression is a set of discussions, which
    --format erisk and --format erisk_context read; 2023-symptoms is judgements and runs for erisk
    symptoms.
    """
    if task in (_DISCUSSIONS, _SYMPTOMS):
        if task == _SYMPTOMS:
            make_rankings(folder, seed=seed)
        else:
            make_discussions(folder, subjects=100 if subjects is None else subjects, seed=seed)
        emit([{"folder": str(folder), "task": task}])
        return
    make_collection(
        folder,
        task,
        subjects=subjects,
        most_writings=most_writings,
        seed=seed,
        release=release,
        progress=progress_of("writing"),
    )
    emit([{"folder": str(folder), "task": task}])


# watchword erisk run


@verb(
    group=erisk,
    example="""
    watchword erisk make collection --task 2018-anorexia --subjects 40 --most-writings 30
    watchword erisk run 2018-anorexia --data collection --out submission
    """,
)
@click.argument("task", type=click.Choice(list(TASKS)))
@click.option(
    "--data", type=_FOLDER, required=True, help="Folder that contains the training and test sets."
)
@click.option(
    "--train", type=_FOLDER, multiple=True, help="Training set, if not found below --data."
)
@click.option("--test", type=_FOLDER, help="Test set, if not found below --data.")
@click.option(
    "--out", type=_FOLDER, help="Folder for the ten files of the submission.  [default: TASK-NAME]"
)
@click.option("--name", default="watchword", help="Name of the run.")
@click.option("--model", type=FILE, help="Model file to use instead of training a model.")
@policy_option
@paper_parameter_options
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    help="Write the full result as JSON; - is standard output.",
)
@threads_option
@click.option(
    "--table/--record",
    default=True,
    help="Print the published table with this run in it, or only this run as a JSON line.",
)
def run(
    task: Any,
    data: Path,
    train: tuple[Path, ...],
    test: Path | None,
    out: Path | None,
    name: str,
    model: Path | None,
    policy: str,
    parameters: dict[str, Any],
    json_file: str | None,
    threads: int | None,
    table: bool,
) -> None:
    """Run a task of the paper and compare with published results.

    Trains a model, decides chunk by chunk, and prints the result in the table of published results.
    The default parameters, pruning and policy are the paper's (--prune-floor 0 turns pruning off).
    Also writes the ten files of a submission.
    """
    if model is not None and parameters:
        raise click.UsageError(
            "--model cannot be combined with parameters: the model file has its own"
        )
    check_name(name)
    check_files(json_file)
    result = run_task(
        task,
        data,
        out=Path(f"{task}-{name}") if out is None else out,
        name=name,
        model=TauSS3(**PAPER_TASKS | parameters) if model is None else TauSS3.load(model),
        policy=parse_policy(policy, POSITIVE),
        train=train or None,
        test=test,
        threads=threads,
        progress=progress_of("reading"),
    )
    plain = result.to_dict()
    if json_file is not None:
        write_text(json_file, json.dumps(plain))
    if json_file == "-":
        return
    if table:
        show(console(), str(result))
    else:
        emit([{name: plain[name] for name in ("task", "name", "is_synthetic", "score", "files")}])
