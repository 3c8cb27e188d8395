"""watchword watch, evaluate, tune: alerts on streams of posts, and the evaluation of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import watchword
from watchword import Policy, Subject, TauSS3
from watchword._checks import Label
from watchword.cli.base import (
    FILE,
    Number,
    check_folder,
    console,
    emit,
    end_torn_line,
    find_label,
    progress_of,
    show,
    show_records,
    verb,
    write_text,
)
from watchword.cli.judging import check_files, check_safe, judge_texts, show_evaluation
from watchword.cli.options import (
    by_option,
    converted,
    data_options,
    list_options,
    policies_option,
    policy_option,
    positive_option,
    spreadsheet_option,
    table_option,
    threads_option,
)
from watchword.cli.policies import (
    THRESHOLDS,
    check_thresholds,
    known_policies,
    parse_policy,
    parse_tried,
    spell_policy,
)
from watchword.cli.signals import Stops
from watchword.cli.texts import Data
from watchword.cli.watching import (
    Keeper,
    after_first,
    show_json,
    show_rows,
    watch_posts,
    with_subjects,
)
from watchword.data.lines import Wait
from watchword.errors import UnknownLabelError
from watchword.evaluation import Evaluation, Replay
from watchword.evaluation.tuning import check_measure

# watchword watch


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww
    watchword make new.jsonl --subjects 20 --seed 1 --by-time
    watchword watch model.ww new.jsonl --positive "at risk" --state watch.state
    """
)
@click.argument("model", type=FILE)
@click.argument("data", nargs=-1)
@positive_option
@policy_option
@click.option("--state", type=FILE, help="State file to resume from, if it exists, and to save to.")
@click.option(
    "--save-every",
    type=Number(min=0),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Time between saves of the state.",
)
@click.option(
    "--from-start",
    is_flag=True,
    help="Skip the posts that the state has already read; the input starts from the beginning.",
)
@click.option(
    "--allow-changed-model", is_flag=True, help="Accept a state saved with another model."
)
@click.option("--all", "every_post", is_flag=True, help="Print the decision after every post.")
@click.option("--final", is_flag=True, help="Print a line per subject at the end.")
@data_options(bad_lines="skip")
@threads_option
@table_option
def watch(
    model: Path,
    data: tuple[str, ...],
    positive: str,
    policy: str,
    state: Path | None,
    save_every: float,
    from_start: bool,
    allow_changed_model: bool,
    every_post: bool,
    final: bool,
    reading: Data,
    threads: int | None,
    table: bool,
) -> None:
    """Read posts as they arrive and print alerts at once.

    DATA are files of JSON lines {"subject": …, "text": …}, or CSV files [default: standard input].
    Each subject gets at most one alert. With --state no alert is lost: alerts are printed before
    the state is saved, so after a crash some may be printed again.
    """
    taught, rule = _model_and_policy(model, positive, policy)
    if rule.is_population:
        raise click.UsageError(
            f"{policy!r} compares all subjects of a round, but watch reads posts one by one "
            "(use another policy, or watchword evaluate)"
        )
    check_folder(state)
    if from_start and state is None:
        raise click.UsageError("--from-start requires --state")
    idle = max(save_every, 1.0) if state is not None else None
    stops = Stops()
    batches = reading.batches(data or ("-",), streams=True, wait=Wait(stops.waiting, idle))
    posts = with_subjects(batches, reading.bad)
    shown = show_rows if table else show_json
    opened = Keeper.open(
        taught, rule, path=state, every=save_every, allow_changed_model=allow_changed_model
    )
    with opened as keeper, stops:
        end_torn_line()
        watch_posts(
            keeper,
            after_first(posts, keeper.posts) if from_start else posts,
            stops=stops,
            show=shown,
            every_post=every_post,
            threads=threads,
        )
        if final:
            shown("final", keeper.watcher.decisions())
    reading.report()
    if stops.exit_code:
        raise click.exceptions.Exit(stops.exit_code)


def _model_and_policy(path: Path, positive: str, policy: str) -> tuple[TauSS3, Policy]:
    model = TauSS3.load(path)
    label = find_label(positive, model.labels, where="the model")
    return model, parse_policy(policy, label)


# watchword evaluate


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword make others.jsonl --subjects 60 --seed 1
    watchword train streams.jsonl -o model.ww
    watchword evaluate model.ww others.jsonl --positive "at risk" --table
    watchword evaluate model.ww others.jsonl --posts --table
    """
)
@click.argument("model", type=FILE)
@click.argument("data")
@click.option("--positive", metavar="LABEL", help="Label to alert for.")
@policy_option
@by_option
@click.option("--posts", is_flag=True, help="Evaluate every post as a text, ignoring subjects.")
@click.option(
    "--intervals",
    is_flag=True,
    help="With --positive: add 95 % bootstrap intervals of the measures.",
)
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    help="Write the full result, with values over time, as JSON.",
)
@click.option(
    "--csv",
    "csv_file",
    metavar="FILE",
    help="Write a CSV file with a row per subject, or per label.",
)
@spreadsheet_option
@click.option("--html", "html_file", metavar="FILE", help="For texts: write an HTML page.")
@data_options(bad_lines="error")
@threads_option
@table_option
@click.pass_context
def evaluate(
    ctx: click.Context,
    model: Path,
    data: str,
    positive: str | None,
    policy: str,
    by: Any,
    posts: bool,
    intervals: bool,
    json_file: str | None,
    csv_file: str | None,
    spreadsheet_safe: bool,
    html_file: str | None,
    reading: Data,
    threads: int | None,
    table: bool,
) -> None:
    """Measure the labels of texts, or the alerts about subjects.

    For labelled texts: accuracy, precision, recall, F1. With --positive, labelled subjects are
    replayed and their alerts measured: ERDE, as a fraction, with the ERDE of never alerting and the
    best possible ERDE. DATA is a file of JSON lines or CSV, a folder, or - for standard input, as
    for train; use data that the model was not trained on. A FILE may be - for standard output.
    """
    _check_evaluate(ctx, positive, posts=posts, html_file=html_file)
    check_files(json_file, csv_file, html_file)
    check_safe(csv_file, spreadsheet_safe=spreadsheet_safe)
    found: Replay | Evaluation
    if positive is None:
        found = judge_texts(TauSS3.load(model), data, reading, posts=posts, threads=threads)
    else:
        taught, rule = _model_and_policy(model, positive, policy)
        subjects = reading.subjects(data)
        _check_truth(subjects, rule.positive)
        found = watchword.replay(subjects, taught, rule, by=by, threads=threads)
    reading.report()
    if isinstance(found, Evaluation):
        files = (json_file, csv_file, html_file)
        show_evaluation(found, table=table, files=files, spreadsheet_safe=spreadsheet_safe)
        return
    if json_file is not None:
        write_text(json_file, found.to_json())
    if csv_file is not None:
        write_text(csv_file, found.to_csv(spreadsheet_safe=spreadsheet_safe))
    if "-" in (json_file, csv_file):
        return
    between = _intervals_of(found) if intervals else {}
    if table:
        show(console(), "\n".join([str(found), *_interval_lines(between)]))
    else:
        emit([_record_of(found) | ({"intervals": between} if between else {})])


def _interval_lines(between: dict[str, tuple[float, float]]) -> list[str]:
    lines = ["", "95 % bootstrap intervals:"] if between else []
    for name, ends in between.items():
        is_cost = name.startswith("erde")
        low, high = (f"{100 * end:.2f} %" if is_cost else f"{end:.3f}" for end in ends)
        lines.append(f"{name.upper() if is_cost else name.capitalize()} from {low} to {high}")
    return lines


def _intervals_of(found: Replay) -> dict[str, tuple[float, float]]:
    if found.measures is None:
        raise click.UsageError("--intervals needs a label for every subject")
    return {name: (one.low, one.high) for name, one in found.intervals().items()}


def _check_truth(subjects: Sequence[Subject], positive: Label) -> None:
    """Raise if no subject has the positive label: all measures would be perfect."""
    labels = {subject.label: None for subject in subjects}
    if labels and None not in labels and positive not in labels:
        known = ", ".join(map(repr, labels))
        raise UnknownLabelError(f"no subject has the label {positive!r}; the data has {known}")


def _check_evaluate(
    ctx: click.Context, positive: str | None, *, posts: bool, html_file: str | None
) -> None:
    given = click.core.ParameterSource.COMMANDLINE
    if positive is None:
        for name in ("policy", "by", "intervals"):
            if ctx.get_parameter_source(name) is given:
                raise click.UsageError(f"--{name} requires --positive LABEL")
    elif posts:
        raise click.UsageError("--posts and --positive cannot be used together")
    elif html_file is not None:
        raise click.UsageError(
            "--html cannot be combined with --positive (use watchword report for alerts)"
        )


def _record_of(found: Replay) -> dict[str, Any]:
    setting = {"policy": spell_policy(found.policy), "positive": found.scores.positive}
    setting["by"] = found.scores.by
    if found.measures is None:
        alerts = sum(outcome.label is not None for outcome in found.outcomes)
        return {**setting, "subjects": len(found.outcomes), "alerts": alerts}
    return {**setting, **asdict(found.measures)}


# watchword tune


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword tune streams.jsonl --positive "at risk" --max-ngram 1,3 --policy "leaps(factor=2|4)"
    """
)
@click.argument("data")
@positive_option
@policies_option(
    "Policies to try, with lists of values: overtakes(ratio=1|2, margin=0|1|3); repeatable. "
    f"Known: {known_policies()}; and thresholds: policies with thresholds that fit the data.",
    default=THRESHOLDS,
    check=check_thresholds,
)
@click.option(
    "--measure",
    callback=lambda ctx, param, value: converted(_as_measure, value, ctx, param),
    metavar="[erdeN|f1|f_latency]",
    default="erde50",
    show_default=True,
    help="Measure to optimise; N is any deadline.",
)
@list_options
@click.option(
    "--folds", type=click.IntRange(min=2), default=4, show_default=True, help="Number of folds."
)
@click.option(
    "--order",
    type=click.Choice(["random", "time"]),
    default="random",
    show_default=True,
    help="Split subjects into folds at random, or by time.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed of the split.")
@by_option
@click.option("-o", "--output", type=FILE, help="Write the best model, trained on all subjects.")
@click.option("--report", metavar="FILE", help="Write all settings and their values as JSON.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Number of settings to print, best first.",
)
@data_options(bad_lines="error")
@threads_option
@table_option
def tune(
    data: str,
    positive: str,
    policies: tuple[str, ...],
    measure: str,
    parameters: dict[str, list[Any]],
    folds: int,
    order: Any,
    seed: int,
    by: Any,
    output: Path | None,
    report: str | None,
    top: int,
    reading: Data,
    threads: int | None,
    table: bool,
) -> None:
    """Search for the best parameters and policy by cross-validation.

    DATA contains labelled subjects, as for evaluate. They are split into folds; each fold is
    evaluated by a model trained on the others, with every combination of parameters and policies.
    ERDE is a fraction; lower is better.
    """
    check_folder(output)
    check_files(report)
    subjects = reading.subjects(data)
    labels = {subject.label: None for subject in subjects if subject.label is not None}
    label = find_label(positive, labels, where="the data")
    found = watchword.tune(
        subjects,
        parse_tried(policies, label),
        measure=measure,
        parameters=parameters,
        folds=folds,
        by=by,
        order=order,
        seed=seed,
        threads=threads,
        progress=progress_of("tuning"),
    )
    reading.report()
    if report is not None:
        write_text(report, found.to_json())
    if output is not None:
        found.model(subjects).save(output)
    if report != "-":
        show_records([_trial(measure, trial) for trial in found.trials[:top]], table=table)


def _as_measure(name: str) -> str:
    try:
        check_measure(name)
    except ValueError:
        raise ValueError("like erde50, f1 or f_latency") from None
    return name


def _trial(measure: str, trial: watchword.evaluation.Trial) -> dict[str, Any]:
    return {
        measure: trial.value,
        "by_fold": trial.by_fold,
        "parameters": trial.parameters,
        "policy": spell_policy(trial.policy),
    }
