"""watchword erisk make, run, score, symptoms: eRisk tasks from files, and the official measures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from watchword import TauSS3
from watchword.cli.base import (
    ABOVE_ZERO,
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
from watchword.cli.evaluation_options import whole_numbers
from watchword.cli.files import (
    CSV_RESULT,
    JSON_RESULT,
    SUBMISSION,
    TABLES,
    FilledFolder,
    InputPath,
    OutputPath,
    check_files,
)
from watchword.cli.options import (
    flag,
    option,
    parameter_options,
    policy_option,
    table_option,
    threads_option,
)
from watchword.cli.policy_notation import parse_policy
from watchword.erisk import (
    TASKS,
    Scoreboard,
    make_collection,
    make_discussions,
    run_task,
    score_runs,
)
from watchword.erisk.run_files import check_name, submission_files
from watchword.erisk.run_score import MEASURES, RunIntervals
from watchword.erisk.scoring import MENTALRISKES_P, run_interval_lines
from watchword.erisk.symptoms import (
    make_rankings,
    read_judgements,
    read_ranking,
    score_ranking,
    table_of,
)
from watchword.erisk.truth import POSITIVE
from watchword.evaluation.metrics import LATENCY_P
from watchword.evaluation.replaying import RANKING_ROUNDS
from watchword.model.parameters import DEFAULTS, PAPER_TASKS

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


_PLACE = InputPath(exists=True, of=Path)


@verb(
    group=erisk,
    example="""
    watchword erisk make collection --task 2018-anorexia --subjects 40 --most-writings 30
    watchword erisk run 2018-anorexia --data collection --name ours -o runs
    watchword erisk run 2018-anorexia --data collection --name eager --policy "leaps" -o runs
    watchword erisk score "collection/2018 anorexia/test" runs --table
    """,
)
@click.argument("truth", type=_PLACE)
@click.argument("runs", type=_PLACE, nargs=-1, required=True, metavar="RUN...")
@option(
    "--counts FILE",
    "File with the number of writings per subject, for runs by chunk.  [default: the file "
    "beside TRUTH]",
    type=FILE,
)
@option(
    "--rankings ROUNDS,…",
    "Numbers of rounds after which to measure the ranking.",
    default=",".join(map(str, RANKING_ROUNDS)),
    parse=whole_numbers,
)
@option(
    "--measures",
    "Measures of eRisk, MentalRiskES (supports several classes) or PAN 2012 (F0.5).",
    type=click.Choice(list(MEASURES)),
    default="erisk",
)
@option(
    "--deadlines POSTS,…",
    "Deadlines of ERDE.  [default: 5,50; mentalriskes: 5,30]",
    parse=whole_numbers,
)
@option(
    "--latency-p P",
    "Parameter p of the penalty in speed and F_latency.  "
    f"[default: {LATENCY_P}; mentalriskes: none]",
    type=ABOVE_ZERO,
)
@flag(
    "--intervals",
    "Add 95 % bootstrap intervals of the measures, and of the differences between runs.",
)
@option("--baseline NAME", "Run to compare with.  [default: the first run]")
@option("--csv FILE", "Write a CSV file with a row per run.", type=OutputPath(CSV_RESULT))
@option("--latex FILE", "Write the tables for LaTeX (booktabs).", type=OutputPath(TABLES))
@table_option
def score(
    truth: Path,
    runs: tuple[Path, ...],
    measures: Any,
    latency_p: float | None,
    intervals: bool,
    baseline: str | None,
    csv: str | None,
    latex: str | None,
    table: bool,
    **options: Any,
) -> None:
    """Compute the official measures for any team's runs.

    TRUTH is the golden truth (subject 0|1 per line), or a folder that contains it. RUN is a folder
    with the ten files of one or more runs (2017, 2018), or a log of rounds (2019 and later): JSON
    lines or CSV with nick, decision, score, round, and run if there are several. Rounds count from
    0. A FILE may be - for standard output.

    For MentalRiskES, TRUTH may be a CSV file with the columns Subject and label, and a decision the
    name of a class. For PAN 2012, TRUTH and RUN may be lists of ids (.txt), one per line.
    """
    if baseline is not None and not intervals:
        raise click.UsageError("--baseline requires --intervals")
    if measures == "mentalriskes" and latency_p is None:
        raise click.UsageError(f"--measures mentalriskes requires --latency-p: {MENTALRISKES_P}")
    found = score_runs(truth, runs, measures=measures, latency_p=latency_p, **options)
    own = found.intervals() if intervals else []
    between = found.differences(baseline) if intervals else []
    if csv is not None:
        write_text(csv, found.to_csv(own))
    if latex is not None:
        write_text(latex, found.to_latex(own, between))
    if "-" in (csv, latex):
        return
    if table:
        show("\n".join([str(found), *_lines(own, between)]))
    else:
        emit(_records(found, own, between))


def _lines(own: Sequence[RunIntervals], between: Sequence[RunIntervals]) -> list[str]:
    if not own:
        return []
    lines = ["", "95 % bootstrap intervals:", *run_interval_lines(own)]
    if between:
        title = f"Differences to {between[0].baseline}, paired (* excludes 0):"
        lines += ["", title, *run_interval_lines(between)]
    return lines


def _records(
    found: Scoreboard, own: Sequence[RunIntervals], between: Sequence[RunIntervals]
) -> list[dict[str, Any]]:
    records = found.to_dict()
    by_name = {run.name: run for run in between}
    for record, run in zip(records, own, strict=False):
        record["intervals"] = {name: asdict(each) for name, each in run.intervals.items()}
        if other := by_name.get(record["name"]):
            differences = {name: asdict(each) for name, each in other.intervals.items()}
            record["differences"] = {"baseline": other.baseline, **differences}
    return records


@verb(
    group=erisk,
    example="""
    watchword erisk make ranked --task 2023-symptoms
    watchword erisk symptoms ranked/judgements.txt ranked/good.txt ranked/poor.txt --table
    """,
)
@click.argument("judgements", type=_PLACE)
@click.argument("runs", type=_PLACE, nargs=-1, required=True, metavar="RUN...")
@table_option
def symptoms(judgements: Path, runs: tuple[Path, ...], table: bool) -> None:
    """Measure rankings of sentences for symptoms.

    JUDGEMENTS has lines of symptom, 0, sentence and relevance; RUN has lines of symptom, Q0,
    sentence, rank, score and name, as for trec_eval. Prints average precision, R-precision,
    precision at 10 and NDCG at 1000.
    """
    judged = read_judgements(judgements)
    found = [score_ranking(*read_ranking(path), judged) for path in runs]
    if table:
        show(table_of(found))
    else:
        emit(one.to_dict() for one in found)
