"""watchword erisk client, server: eRisk tasks on a server."""

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
    ABOVE_ZERO,
    FILE,
    FiniteFloat,
    emit,
    end_torn_line,
    find_label,
    verb,
    warn,
)
from watchword.cli.commands.erisk import erisk
from watchword.cli.evaluation_options import combination_options
from watchword.cli.files import ANSWERS, DATA, OutputPath, UpdatedPath
from watchword.cli.loading import Loader, is_function, load_model
from watchword.cli.options import (
    data_options,
    flag,
    option,
    policies_option,
    server_options,
    threads_option,
)
from watchword.cli.output import term_as_interrupt
from watchword.cli.policy_notation import parse_policies
from watchword.erisk.dialects import NAMES
from watchword.streams import FunctionModel

if TYPE_CHECKING:
    from watchword.erisk.client import RoundReport

_TOKEN_VARIABLE = "WATCHWORD_ERISK_TOKEN"  # noqa: S105
_dialect_option = option(
    "--dialect",
    "Form of the rounds: writings (eRisk 2019 to 2024), discussions (2025, 2026), or "
    "messages (MentalRiskES).",
    type=click.Choice(NAMES),
    default=NAMES[0],
)


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
@option(
    "--model",
    "Model file, or module:function, your own function from a list of texts to scores "
    "from 0 to 1: one, or one per run.",
    name="models",
    type=FILE,
    multiple=True,
    required=True,
)
@combination_options
@option("--positive LABEL", "Label sent as decision 1.", required=True)
@policies_option(
    "Policy: one, or one per run. Lists of values make several: overtakes(margin=0|1) is two runs."
)
@option(
    "--journal",
    "Journal file to resume from; contains the subjects' writings.",
    type=UpdatedPath(),
    default="erisk.journal",
)
@_dialect_option
@option(
    "--submit-url URL",
    "URL before /submit/…, if it is another one; every run is sent to each of several.",
    name="submit_urls",
    multiple=True,
)
@option("--first-round", "Number of the first round.", type=click.IntRange(min=0), default=0)
@flag("--context", "Also read the texts of others in a discussion, after the subject's own text.")
@option(
    "--log FILE",
    "Append all answers as JSON lines, for erisk score.",
    type=OutputPath(ANSWERS, of=Path),
)
@option(
    "--timeout SECONDS",
    "Timeout for connecting, and for each response.",
    type=ABOVE_ZERO,
    default=300,
)
@option("--retries", "Number of retries per request.", type=click.IntRange(min=0), default=10)
@option(
    "--patience SECONDS",
    "Time limit for the retries of a request.",
    type=FiniteFloat(min=0),
    default=3600,
)
@threads_option  # fmt: skip
def client(
    url: str,
    token: str,
    models: tuple[Path, ...],
    combination: dict[str, Any],
    positive: str,
    policies: tuple[str, ...],
    journal: Path,
    log: Path | None,
    **options: Any,
) -> None:
    """Take part in a task on a server.

    Reads each round and submits decisions for up to five runs. Prints a line per alert once the
    server has accepted the round. After a stop or crash, run the same command with the same journal
    to resume; no round is answered twice. The token may also be given in the environment variable
    WATCHWORD_ERISK_TOKEN, which hides it from other users of the machine. As an argument, a token
    that begins with a dash goes last, after "--".
    """
    from watchword.erisk.client import run_client

    runs = _runs(models, positive, policies, combination)
    end_torn_line()
    if log is not None and log.is_file():
        with log.open("rb+") as file:  # without an unfinished line: its round is logged again
            file.truncate(file.read().rfind(b"\n") + 1)

    def on_round(report: RoundReport) -> None:
        if log is not None:
            lines = (
                json.dumps(each.to_dict() | {"round": report.number, "run": run}).encode() + b"\n"
                for run, answers in enumerate(report.answers)
                for each in answers
            )
            with log.open("ab") as file:
                file.write(b"".join(lines))
        for run, alerts in enumerate(report.alerts):
            alert = {"event": "alert", "round": report.number, "run": run}
            emit(
                alert | {"subject": one.subject, "label": one.label, "delay": one.delay}
                for one in alerts
            )

    try:
        done = run_client(url, token, runs, journal=journal, on_round=on_round, **options)
    except KeyboardInterrupt:
        warn(f"stopped; run the same command to resume from {journal}")
        raise
    alerts = [len(found) for found in done.alerts]
    emit([{"event": "end", "rounds": done.rounds, "ended": done.ended, "alerts": alerts}])


def _runs(
    models: Sequence[Path], positive: str, policies: Sequence[str], combination: dict[str, Any]
) -> list[tuple[TauSS3 | FunctionModel, Policy]]:
    """Pair models with policies; a single model or policy is used for all runs."""
    if combination and not any(map(is_function, models)):
        raise click.UsageError("--combine is for scores of other classifiers, not for model files")
    taught = [
        load_model(path, positive, combination if is_function(path) else {}) for path in models
    ]
    label = find_label(positive, taught[0].labels, where=str(models[0]))
    for model, path in zip(taught, models, strict=True):
        find_label(positive, model.labels, where=str(path))
    rules = [policy for text in policies for policy in parse_policies(text, label)]
    if len(rules) != len(taught) and 1 not in (len(rules), len(taught)):
        raise click.UsageError(
            f"{len(taught)} models but {len(rules)} policies (give one of them, or as many of each)"
        )
    several = zip(cycle(taught), rules) if len(taught) == 1 else zip(taught, cycle(rules))
    return list(several)


# watchword erisk server


@verb(
    group=erisk,
    example="""
    watchword make streams.jsonl --subjects 20
    watchword erisk server streams.jsonl --positive "at risk" --port 8765 &
    """,
)
@click.argument("data", type=DATA)
@option("--positive LABEL", "Label to measure alerts for after the last round.")
@option("--runs", "Number of runs.", type=click.IntRange(1, 5), default=1)
@_dialect_option
@server_options(_TOKEN_VARIABLE, user="the client", default="random; none on such a host")
@flag("--refuse-duplicates", "Respond with status 400 to a repeated submission.")
@flag(
    "--refuse-early",
    "Send each round once; respond with status 400 to further requests while answers are missing.",
)
@option(
    "--task NAME",
    "Task at /NAME/submit/…; several have the same rounds, and every run must answer in each.",
    name="tasks",
    multiple=True,
)
@data_options()
def server(
    data: str,
    positive: str | None,
    loader: Loader,
    **options: Any,
) -> None:
    """Run a practice server with your own subjects until Ctrl-C.

    DATA contains subjects, as for evaluate. Prints the URL and token at the start, and the results
    of the runs at the end.
    """
    from watchword.erisk.practice_task import PracticeTask
    from watchword.erisk.server import PracticeServer, serve

    subjects = loader.subjects(data)
    loader.report()
    labels = {subject.label: None for subject in subjects if subject.label is not None}
    label = None if positive is None else find_label(positive, labels, where="the data")

    tasks: list[PracticeTask] = []

    def on_ready(ready: PracticeServer) -> None:
        tasks.append(ready.task)
        rounds = ready.task.last_round + 1
        counts = {"subjects": len(subjects), "rounds": rounds}
        emit([{"url": ready.url, "token": ready.token, **counts}])

    # A signal that arrives before the server handles signals leaves its coroutine unawaited.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    with term_as_interrupt(), contextlib.suppress(KeyboardInterrupt):
        serve(subjects, positive=label, on_ready=on_ready, **options)
    emit(task.results().to_dict() for task in tasks)
