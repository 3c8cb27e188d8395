"""watchword erisk run, make, client, server: eRisk tasks, from files or a server."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from watchword import Policy, TauSS3
from watchword.cli.base import (
    FILE,
    FiniteFloat,
    check_folder,
    cli,
    console,
    emit,
    end_torn_line,
    example_text,
    find_label,
    progress_of,
    show,
    verb,
    warn,
    write_text,
)
from watchword.cli.loading import Loader
from watchword.cli.options import (
    data_options,
    paper_parameter_options,
    policies_option,
    policy_option,
    server_options,
    threads_option,
)
from watchword.cli.output import check_files
from watchword.cli.policy_notation import parse_policies, parse_policy
from watchword.cli.signals import term_as_interrupt
from watchword.erisk import TASKS, make_collection, make_discussions, run_task
from watchword.erisk.dialects import NAMES
from watchword.erisk.submission import POSITIVE, check_name
from watchword.erisk.symptoms import make_rankings
from watchword.model.presets import PAPER_TASKS

if TYPE_CHECKING:
    from watchword.erisk.client import RoundReport

_TOKEN_VARIABLE = "WATCHWORD_ERISK_TOKEN"  # noqa: S105
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
    help="Most writings of one subject; the numbers of all subjects scale with it.",
)
@click.option("--seed", type=int, default=0, help="Random seed.")
@click.option(
    "--release",
    type=click.Choice(["official", "2022"]),
    default="official",
    help="Release whose layout to write: the original one, or that of 2022.",
)
def make(
    folder: Path, task: Any, subjects: int | None, most_writings: int, seed: int, release: Any
) -> None:
    """Write a synthetic collection.

    The collection has the official layout, quirks included, for trying `erisk run` without the real
    data. FOLDER must be new or empty. 2025-depression is a set of discussions, which --format erisk
    and --format erisk_context read; 2023-symptoms is judgements and runs for erisk symptoms.
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
    Parameters, pruning and policy are the paper's unless given (--prune-floor 0 turns pruning off).
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


# watchword erisk client


@verb(
    group=erisk,
    example="""
    watchword make streams.jsonl --subjects 40
    watchword train streams.jsonl -o model.ww
    watchword make others.jsonl --subjects 20 --seed 1
    watchword erisk server others.jsonl --port 8765 --token practice &
    watchword erisk client http://127.0.0.1:8765 practice --model model.ww --positive "at risk"
    """,
)
@click.argument("url")
@click.argument("token", envvar=_TOKEN_VARIABLE)
@click.option(
    "--model",
    "models",
    type=FILE,
    multiple=True,
    required=True,
    help="Model file: one, or one per run.",
)
@click.option("--positive", required=True, metavar="LABEL", help="Label sent as decision 1.")
@policies_option(
    "Policy: one, or one per run. Lists of values make several: overtakes(margin=0|1) is two runs."
)
@click.option(
    "--journal",
    type=FILE,
    default="erisk.journal",
    help="Journal file to resume from; contains the subjects' writings.",
)
@click.option(
    "--dialect",
    type=click.Choice(NAMES),
    default=NAMES[0],
    help="Form of the rounds: writings (eRisk 2019 to 2024), discussions (2025, 2026), or "
    "messages (MentalRiskES).",
)
@click.option(
    "--first-round", type=click.IntRange(min=0), default=0, help="Number of the first round."
)
@click.option(
    "--context",
    is_flag=True,
    help="Also read what others wrote in a discussion, after the subject's own text.",
)
@click.option(
    "--log", type=FILE, metavar="FILE", help="Append all answers as JSON lines, for erisk score."
)
@click.option(
    "--timeout",
    type=FiniteFloat(min=0, min_open=True),
    default=300,
    metavar="SECONDS",
    help="Timeout for connecting, and for each response.",
)
@click.option(
    "--retries", type=click.IntRange(min=0), default=10, help="Number of retries per request."
)
@click.option(
    "--patience",
    type=FiniteFloat(min=0),
    default=3600,
    metavar="SECONDS",
    help="Time limit for the retries of a request.",
)
@threads_option  # fmt: skip
def client(
    url: str,
    token: str,
    models: tuple[Path, ...],
    positive: str,
    policies: tuple[str, ...],
    journal: Path,
    dialect: Any,
    first_round: int,
    context: bool,
    log: Path | None,
    timeout: float,
    retries: int,
    patience: float,
    threads: int | None,
) -> None:
    """Take part in a task on a server.

    Reads each round and submits decisions for up to five runs. Prints a line per alert once the
    server has accepted the round. After a stop or crash, run the same command with the same journal
    to resume; no round is answered twice. The token may also be given in the environment variable
    WATCHWORD_ERISK_TOKEN, which hides it from other users of the machine. As an argument, a token
    that begins with a dash goes last, after "--".
    """
    from watchword.erisk.client import run_client

    check_folder(log)
    runs = _runs(models, positive, policies)
    end_torn_line()
    if log is not None:
        _drop_torn_line(log)

    def on_round(report: RoundReport) -> None:
        if log is not None:
            with log.open("ab") as file:
                file.write(_log_lines(report))
        emit(
            {
                "event": "alert",
                "round": report.number,
                "run": number,
                "subject": decision.subject,
                "label": decision.label,
                "delay": decision.delay,
            }
            for number, alerts in enumerate(report.alerts)
            for decision in alerts
        )

    try:
        done = run_client(
            url,
            token,
            runs,
            journal=journal,
            dialect=dialect,
            first_round=first_round,
            context=context,
            timeout=timeout,
            retries=retries,
            patience=patience,
            threads=threads,
            on_round=on_round,
        )
    except KeyboardInterrupt:
        warn(f"stopped; run the same command to resume from {journal}")
        raise
    alerts = [len(found) for found in done.alerts]
    emit([{"event": "end", "rounds": done.rounds, "ended": done.ended, "alerts": alerts}])


def _log_lines(report: RoundReport) -> bytes:
    """Return the answers of a round as JSON lines."""
    return b"".join(
        json.dumps(each.to_dict() | {"round": report.number, "run": run}).encode() + b"\n"
        for run, answers in enumerate(report.answers)
        for each in answers
    )


def _drop_torn_line(log: Path) -> None:
    """Remove the unfinished last line of a log; its round will be logged again."""
    with contextlib.suppress(FileNotFoundError), log.open("rb+") as file:
        file.truncate(file.read().rfind(b"\n") + 1)


def _runs(
    models: Sequence[Path], positive: str, policies: Sequence[str]
) -> list[tuple[TauSS3, Policy]]:
    """Pair models with policies; a single model or policy is used for all runs."""
    taught = [TauSS3.load(path) for path in models]
    label = find_label(positive, taught[0].labels, where=str(models[0]))
    for model, path in zip(taught, models, strict=True):
        find_label(positive, model.labels, where=str(path))
    rules = [policy for text in policies for policy in parse_policies(text, label)]
    if len(rules) != len(taught) and 1 not in (len(rules), len(taught)):
        raise click.UsageError(
            f"{len(taught)} models but {len(rules)} policies (give one of either, or equally many)"
        )
    several = zip(cycle(taught), rules) if len(taught) == 1 else zip(taught, cycle(rules))
    return list(several)


# watchword erisk server

_FAULTS = ("drop", "lose", "cut", "error", "busy", "garbage", "lag", "slow")


def _shares(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> dict[str, float] | None:
    if value is None:
        return None
    shares = {}
    for part in value.split(","):
        name, _, share = part.strip().partition("=")
        try:
            shares[name] = float(share)
        except ValueError:
            raise click.BadParameter(f"{part!r} is not like drop=0.1", ctx, param) from None
        if name not in _FAULTS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(_FAULTS)}", ctx, param)
    return shares


@verb(
    group=erisk,
    example="""
    watchword make streams.jsonl --subjects 20
    watchword erisk server streams.jsonl --positive "at risk" --port 8765 &
    """,
)
@click.argument("data")
@click.option(
    "--positive", metavar="LABEL", help="Label to measure alerts for when all rounds are done."
)
@click.option("--runs", type=click.IntRange(1, 5), default=1, help="Number of runs.")
@click.option(
    "--dialect",
    type=click.Choice(NAMES),
    default=NAMES[0],
    help="Form of the rounds: writings (eRisk 2019 to 2024), discussions (2025, 2026), or "
    "messages (MentalRiskES).",
)
@server_options(_TOKEN_VARIABLE, user="the client")
@click.option(
    "--faults",
    metavar="FAULT=SHARE,…",
    callback=_shares,
    help=f"Share of responses with a fault: {', '.join(_FAULTS)}.",
)
@click.option("--seed", type=int, default=0, help="Random seed of the faults.")
@click.option(
    "--refuse-duplicates", is_flag=True, help="Respond with status 400 to a repeated submission."
)
@data_options(bad_lines="error")
def server(
    data: str,
    positive: str | None,
    runs: int,
    dialect: Any,
    host: str,
    port: int,
    token: str | None,
    faults: dict[str, Any] | None,
    seed: int,
    refuse_duplicates: bool,
    loader: Loader,
) -> None:
    """Run a practice server with your own subjects until Ctrl-C.

    DATA contains subjects, as for evaluate. Prints the URL and token at the start, and the results
    of the runs at the end.
    """
    from watchword.erisk.practice_task import PracticeTask
    from watchword.erisk.server import Faults, PracticeServer, serve

    subjects = loader.subjects(data)
    loader.report()
    labels = {subject.label: None for subject in subjects if subject.label is not None}
    label = None if positive is None else find_label(positive, labels, where="the data")

    tasks: list[PracticeTask] = []

    def on_ready(ready: PracticeServer) -> None:
        tasks.append(ready.task)
        rounds = ready.task.last_round + 1
        emit(
            [{"url": ready.url, "token": ready.token, "subjects": len(subjects), "rounds": rounds}]
        )

    troubles = None if faults is None else Faults(**faults, seed=seed)
    # A signal that arrives before the server handles signals leaves its coroutine unawaited.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    with term_as_interrupt(), contextlib.suppress(KeyboardInterrupt):
        serve(
            subjects,
            positive=label,
            runs=runs,
            dialect=dialect,
            token=token,
            host=host,
            port=port,
            faults=troubles,
            refuse_duplicates=refuse_duplicates,
            on_ready=on_ready,
        )
    emit(task.results().to_dict() for task in tasks)
