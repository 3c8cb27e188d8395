"""watchword tune: the best parameters and policy for alerts, by cross-validation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import watchword
from watchword import Overtakes, Subject, TauSS3
from watchword._checks import Label
from watchword.cli.base import (
    COUNT,
    emit,
    find_label,
    is_given,
    progress_of,
    refuse_together,
    show,
    verb,
    warn,
    write_text,
)
from watchword.cli.evaluation_options import (
    by_option,
    check_without_data,
    combination_options,
    deadlines_option,
    latency_option,
    scores_option,
)
from watchword.cli.files import DATA, JSON_RESULT, MODEL, POLICY, OutputPath
from watchword.cli.loading import Loader, load_scores
from watchword.cli.options import (
    flag,
    list_options,
    numbers_by_name,
    option,
    policies_option,
    positive_option,
    reading_options,
)
from watchword.cli.output import picture_option, write_pictures
from watchword.cli.policy_notation import THRESHOLDS, check_tried, known_policies, parse_tried
from watchword.evaluation import NestedTuning, Scores, Trial, Tuning, nested_tune
from watchword.evaluation.folds import ORDERS
from watchword.evaluation.objectives import MEASURES, MeasureLimits, Objective
from watchword.evaluation.replay_charts import TUNING_CHARTS
from watchword.evaluation.tuning_result import plain_intervals
from watchword.model.parameters import PAPER_GRID, PAPER_TASKS, TABLE
from watchword.streams.notation import spell_policy

_INTERVALS = 10  # settings printed with intervals


def _measure(text: str) -> str | dict[str, float]:
    """Return a measure or the weights of several."""
    weights = numbers_by_name(text, "erde5=.5,erde50=.5") if "=" in text else {text: 1.0}
    try:
        Objective.of(weights)
    except ValueError as error:
        raise ValueError(str(error).removeprefix("measure has the ")) from None
    return weights if "=" in text else text


def _limits(given: Sequence[str]) -> dict[str, float]:
    """Return the limits of measures."""
    found = numbers_by_name(",".join(given), "median_delay=10") if given else {}
    try:
        MeasureLimits.of(found, {})
    except ValueError as error:
        raise ValueError(str(error).removeprefix("at_most has the ")) from None
    return found


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword tune streams.jsonl --positive "at risk" --max-ngram 1,3 --policy "leaps(factor=2|4)"
    watchword tune streams.jsonl --positive "at risk" --measure f1 --at-most median_delay=10 --table
    watchword tune streams.jsonl --positive "at risk" --paper --smoothness .455 --table
    """
)
@click.argument("data", required=False, type=DATA)
@scores_option
@combination_options
@positive_option
@policies_option(
    "Policies to try, with lists of values: overtakes(ratio=1|2, margin=0|1|3); repeatable. "
    f"Known: {known_policies()}; thresholds: policies with thresholds that fit the data; "
    "learnt: policies that learn when to stop; or a file ending with .json.",
    default=THRESHOLDS,
    check=check_tried,
)
@option(
    "--measure MEASURE",
    f"Measure to optimise: erdeN with any deadline N, {', '.join(MEASURES)}; or a weighted "
    "sum to minimise, such as erde5=.5,erde50=.5.",
    parse=_measure,
    default="erde50",
)
@option(
    "--at-most MEASURE=VALUE",
    "Choose only settings with at most this value; repeatable.",
    multiple=True,
    parse=_limits,
)
@option(
    "--at-least MEASURE=VALUE",
    "Choose only settings with at least this value; repeatable.",
    multiple=True,
    parse=_limits,
)
@flag("--one-standard-error", "Choose the earliest setting within one standard error of the best.")
@deadlines_option
@latency_option
@list_options
@flag(
    "--paper",
    "Search as in the paper, unless other options are given: its parameters, pruning and "
    "policy, decisions by chunk, and a grid of values of σ, λ and ρ.",
)
@option("--folds", "Number of folds.", type=click.IntRange(min=2), default=4)
@option(
    "--outer-folds N",
    "Also measure the tuned settings on new subjects, by nested cross-validation with N outer "
    "folds.",
    type=click.IntRange(min=2),
)
@option(
    "--order",
    "Split subjects into folds at random, or by time.",
    type=click.Choice(ORDERS),
    default="random",
)
@option("--seed", "Random seed of the split.", type=click.IntRange(min=0), default=0)
@by_option
@option("--refine/--no-refine", "Also try refined models with the best parameters.", default=True)
@option(
    "-o, --output",
    "Write the best model, trained on all subjects.",
    type=OutputPath(MODEL, of=Path),
)
@option(
    "--save-policy FILE",
    "Write the best policy as JSON; --policy accepts file names that end with .json.",
    type=OutputPath(POLICY),
)
@option(
    "--json FILE",
    "Write all settings and their values as JSON.",
    name="json_file",
    type=OutputPath(JSON_RESULT),
)
@option("--top N", "Number of settings to print, best first.", type=COUNT, default=10)
@picture_option(TUNING_CHARTS)
@reading_options()
def tune(
    data: str | None,
    scores: Path | None,
    combination: dict[str, Any],
    positive: str,
    policies: tuple[str, ...],
    parameters: dict[str, list[Any]],
    paper: bool,
    outer_folds: int | None,
    output: Path | None,
    save_policy: str | None,
    json_file: str | None,
    top: int,
    pictures: list[tuple[str, str]],
    loader: Loader,
    table: bool,
    **options: Any,
) -> None:
    """Search for the best parameters and alert policy for subjects.

    DATA contains labelled subjects with their streams of posts, as for evaluate. They are split
    into folds; each fold is evaluated by a model trained on the others, with every combination of
    parameters and policies, and by refined models with the best parameters. A refined model is
    chosen only if it is clearly better: by more than twice the standard error of the difference
    over folds.
    ERDE is a fraction. Lower values of ERDE, median_delay and alert_rate are better; of the other
    measures, higher values are. In a weighted sum, those other measures count as 1 - value.

    With --scores, policies are tried on precomputed scores from another classifier, which must not
    have learnt the labels of the same subjects.
    """
    subjects: list[Subject] | Scores
    if scores is not None:
        subjects = _load_scores(scores, combination)
        parameters, label = {}, subjects.positive
    else:
        subjects, label = _load_subjects(loader, data, positive, combination)
    tried = parse_tried(policies, label)
    if paper:
        tried = tried if is_given("policies") else [Overtakes(label)]
        usual = {"by": "chunk", "refine": False}
        options |= {name: value for name, value in usual.items() if not is_given(name)}
        parameters = {name: list(values) for name, values in PAPER_GRID.items()} | parameters
    options |= {"model": TauSS3(**PAPER_TASKS) if paper else None, "parameters": parameters}
    found = watchword.tune(subjects, tried, **options, progress=progress_of("tuning"))
    nested = None
    if outer_folds is not None:
        nested = nested_tune(
            subjects, tried, **options, outer_folds=outer_folds, progress=progress_of("nested")
        )
    loader.report()
    if save_policy is not None:
        write_text(save_policy, json.dumps(found.best.policy.to_dict()))
    if json_file is not None:
        whole = found.to_dict() | ({} if nested is None else {"nested": nested.to_dict()})
        write_text(json_file, json.dumps(whole, default=repr))
    if output is not None and not isinstance(subjects, Scores):
        found.model(subjects).save(output)
    if "-" not in (json_file, save_policy):
        _show(found, nested, top, table=table)
    for warning in found.warnings:
        warn(f"Warning: {warning}")
    write_pictures(found, pictures)


def _load_subjects(
    loader: Loader, data: str | None, positive: str, combination: dict[str, Any]
) -> tuple[list[Subject], Label]:
    """Read the subjects of a source, and find the positive label among theirs."""
    if data is None:
        raise click.UsageError("Missing argument 'DATA'.")
    if combination:
        raise click.UsageError("--combine requires --scores")
    subjects = loader.subjects(data)
    labels = {subject.label: None for subject in subjects if subject.label is not None}
    return subjects, find_label(positive, labels, where="the data")


def _load_scores(scores: Path, combination: dict[str, Any]) -> Scores:
    """Read scores, or raise a usage error if an option is for models."""
    given = click.get_current_context().params
    refuse_together(("--scores", scores), ("DATA", given["data"]))
    models = [one.name.replace("_", "-") for one in TABLE if one.name in given]
    check_without_data(*models, "refine", "output", "paper")
    return load_scores(scores, given["positive"], combination, given["by"])


# Output


def _show(found: Tuning, nested: NestedTuning | None, top: int, *, table: bool) -> None:
    if table:
        show("\n".join(found.lines(top)))
        if nested is not None:
            show(f"\nNested cross-validation: {nested}")
        return
    records = [_record(found, trial) for trial in found.trials[:top]]
    for record, trial in zip(records, found.trials[:_INTERVALS], strict=False):
        record["intervals"] = plain_intervals(found.intervals(trial))
    records[0]["warnings"] = list(found.warnings)
    if nested is not None:
        folds = [_setting(tuning.best) for tuning in nested.tunings]
        records.append({"nested": nested.to_dict() | {"folds": folds}})
    emit(records)


def _record(found: Tuning, trial: Trial) -> dict[str, Any]:
    return {
        found.measure: trial.value,
        "by_fold": trial.by_fold,
        "measures": trial.measures,
        **_setting(trial),
    }


def _setting(trial: Trial) -> dict[str, Any]:
    setting = {"parameters": trial.parameters, "refined": trial.refined}
    return setting | {"policy": spell_policy(trial.policy)}
