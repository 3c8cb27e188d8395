"""watchword tune: the best parameters and policy for alerts, by cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import watchword
from watchword.cli.base import (
    FILE,
    check_folder,
    find_label,
    progress_of,
    show_records,
    verb,
    write_text,
)
from watchword.cli.loading import Loader
from watchword.cli.options import (
    by_option,
    converted,
    data_options,
    list_options,
    policies_option,
    positive_option,
    table_option,
    threads_option,
)
from watchword.cli.output import check_files
from watchword.cli.policy_notation import (
    THRESHOLDS,
    check_thresholds,
    known_policies,
    parse_tried,
    spell_policy,
)
from watchword.evaluation.folds import ORDERS
from watchword.evaluation.tuning import alert_judge_of


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
    metavar="[erdeN|f1|f_latency|average_precision]",
    default="erde50",
    help="Measure to optimise; N is any deadline.",
)
@list_options
@click.option("--folds", type=click.IntRange(min=2), default=4, help="Number of folds.")
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    default="random",
    help="Split subjects into folds at random, or by time.",
)
@click.option("--seed", type=int, default=0, help="Random seed of the split.")
@by_option
@click.option(
    "--refine/--no-refine",
    default=True,
    help="Also try refined models with the best parameters.",
)
@click.option("-o", "--output", type=FILE, help="Write the best model, trained on all subjects.")
@click.option("--report", metavar="FILE", help="Write all settings and their values as JSON.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10,
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
    refine: bool,
    output: Path | None,
    report: str | None,
    top: int,
    loader: Loader,
    threads: int | None,
    table: bool,
) -> None:
    """Search for the best parameters and policy by cross-validation.

    DATA contains labelled subjects, as for evaluate. They are split into folds; each fold is
    evaluated by a model trained on the others, with every combination of parameters and policies,
    and by refined models with the best parameters.
    ERDE is a fraction; lower is better.
    """
    check_folder(output)
    check_files(report)
    subjects = loader.subjects(data)
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
        refine=refine,
        threads=threads,
        progress=progress_of("tuning"),
    )
    loader.report()
    if report is not None:
        write_text(report, found.to_json())
    if output is not None:
        found.model(subjects).save(output)
    if report != "-":
        show_records([_trial(measure, trial) for trial in found.trials[:top]], table=table)


def _as_measure(name: str) -> str:
    try:
        alert_judge_of(name)
    except ValueError:
        raise ValueError("like erde50, f1, f_latency or average_precision") from None
    return name


def _trial(measure: str, trial: watchword.evaluation.Trial) -> dict[str, Any]:
    return {
        measure: trial.value,
        "by_fold": trial.by_fold,
        "parameters": trial.parameters,
        "refined": trial.refined,
        "policy": spell_policy(trial.policy),
    }
