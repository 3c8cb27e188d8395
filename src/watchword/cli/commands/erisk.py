"""watchword erisk make, run: eRisk tasks from files."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import click

from watchword import TauSS3
from watchword.cli.base import (
    COUNT,
    FILE,
    FOLDER,
    cli,
    emit,
    example_text,
    progress_of,
    show,
    verb,
    write_text,
)
from watchword.cli.files import JSON_RESULT, SUBMISSION, FilledFolder, OutputPath, check_files
from watchword.cli.options import option, parameter_options, policy_option, threads_option
from watchword.cli.policy_notation import parse_policy
from watchword.erisk import TASKS, make_collection, make_discussions, run_task
from watchword.erisk.run_files import check_name, submission_files
from watchword.erisk.symptoms import make_rankings
from watchword.erisk.tables import POSITIVE
from watchword.model.parameters import DEFAULTS
from watchword.model.presets import PAPER_TASKS

_SYMPTOMS = "2023-symptoms"
_DISCUSSIONS = "2025-depression"  # without published results in the paper


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
@click.argument("folder", type=FilledFolder())
@option(
    "--task",
    "Task whose layout to write.",
    type=click.Choice([*TASKS, _SYMPTOMS, _DISCUSSIONS]),
    default="2017-depression",
)
@option(
    "--subjects",
    "Number of subjects in all sets.  [default: as in the real collection]",
    type=COUNT,
)
@option(
    "--most-writings",
    "Largest number of writings per subject; all subjects scale with it.",
    type=click.IntRange(min=10),
    default=2000,
)
@option("--seed", "Random seed.", type=int, default=0)
@option(
    "--release",
    "Release whose layout to write: the original release, or that of 2022.",
    type=click.Choice(["official", "2022"]),
    default="official",
)
def make(folder: Path, task: Any, subjects: int | None, seed: int, **options: Any) -> None:
    """Write a synthetic collection.

    The collection has the official layout, including its irregularities, to try `erisk run` without
    the real data. FOLDER must be new or empty. 2025-depression is a set of discussions, which
    --format erisk and --format erisk_context read; 2023-symptoms is judgements and runs for erisk
    symptoms.
    """
    if task == _SYMPTOMS:
        make_rankings(folder, seed=seed)
    elif task == _DISCUSSIONS:
        make_discussions(folder, subjects=100 if subjects is None else subjects, seed=seed)
    else:
        shown = progress_of("writing")
        make_collection(folder, task, subjects=subjects, seed=seed, progress=shown, **options)
    emit([{"folder": str(folder), "task": task}])


# watchword erisk run


@verb(
    group=erisk,
    example="""
    watchword erisk make collection --task 2018-anorexia --subjects 40 --most-writings 30
    watchword erisk run 2018-anorexia --data collection -o submission
    """,
)
@click.argument("task", type=click.Choice(list(TASKS)))
@option("--data", "Folder that contains the training and test sets.", type=FOLDER, required=True)
@option("--train", "Training set, if not found below --data.", type=FOLDER, multiple=True)
@option("--test", "Test set, if not found below --data.", type=FOLDER)
@option(
    "-o, --output FOLDER",
    "Folder for the ten files of the submission.  [default: TASK-NAME]",
    type=FilledFolder(),
)
@option("--name NAME", "Name of the run.", default="watchword")
@option("--model", "Model file to use instead of training a model.", type=FILE)
@policy_option
@partial(parameter_options, defaults=DEFAULTS | PAPER_TASKS)
@option(
    "--json FILE",
    "Write the full result as JSON; - is standard output.",
    name="json_file",
    type=OutputPath(JSON_RESULT),
)
@threads_option
@option(
    "--table/--record",
    "Print the published table with this run in it, or only this run as a JSON line.",
    default=True,
)
def run(
    task: Any,
    data: Path,
    train: tuple[Path, ...],
    output: Path | None,
    name: str,
    model: Path | None,
    policy: str,
    parameters: dict[str, Any],
    json_file: str | None,
    table: bool,
    **options: Any,
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
    folder = Path(f"{task}-{name}") if output is None else output
    context = click.get_current_context()
    check_files(context, more=submission_files(folder, name), kind=SUBMISSION)
    result = run_task(
        task,
        data,
        out=folder,
        name=name,
        model=TauSS3(**PAPER_TASKS | parameters) if model is None else TauSS3.load(model),
        policy=parse_policy(policy, POSITIVE),
        train=train or None,
        progress=progress_of("reading"),
        **options,
    )
    plain = result.to_dict()
    if json_file is not None:
        write_text(json_file, json.dumps(plain))
    if json_file == "-":
        return
    if table:
        show(str(result))
    else:
        emit([{name: plain[name] for name in ("task", "name", "is_synthetic", "score", "files")}])
