"""watchword evaluate, validate, report: measures of labels and of alerts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import click

import watchword
from watchword import Subject, TauSS3
from watchword._checks import Label, reprs
from watchword.cli.base import (
    FILE,
    emit,
    is_given,
    model_of,
    progress_of,
    refuse_together,
    show,
    verb,
    warn,
    with_known_default,
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
from watchword.cli.files import DATA, PAGE, OutputPath
from watchword.cli.loading import Loader, is_function, load_model, load_scores
from watchword.cli.options import (
    data_options,
    flag,
    fold_options,
    like_option,
    option,
    parameter_options,
    policy_option,
    positive_option,
    preset_options,
    reading_options,
    refine_choice,
    refine_option,
    threads_option,
)
from watchword.cli.output import (
    ResultFiles,
    evaluate_batches,
    picture_option,
    result_options,
    show_evaluation,
    write_pictures,
)
from watchword.cli.policy_notation import parse_policy, policy_for
from watchword.data.lines import name_of
from watchword.data.texts import Texts, labelled
from watchword.errors import UnknownLabelError
from watchword.evaluation import Evaluation, Replay
from watchword.evaluation.objectives import as_percent
from watchword.evaluation.replay_charts import REPLAY_CHARTS
from watchword.model.refining import POST_SETTINGS
from watchword.streams.notation import spell_policy


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword make others.jsonl --subjects 60 --seed 1
    watchword train streams.jsonl -o model.ww
    watchword evaluate model.ww others.jsonl --positive "at risk" --table
    watchword evaluate model.ww others.jsonl --posts --table
    watchword evaluate model.ww others.jsonl --positive "at risk" --picture delays=delays.svg
    """
)
@click.argument("model", type=FILE, required=False)
@click.argument("data", required=False, type=DATA)
@option("--positive LABEL", "Label to alert for.")
@scores_option
@combination_options
@policy_option
@by_option
@deadlines_option
@latency_option
@flag("--posts", "Evaluate every post as a text, ignoring subjects.")
@flag("--intervals", "With --positive: add 95 % bootstrap intervals of the measures.")
@result_options(
    json="Write the full result, with values over time, as JSON.",
    csv="Write a CSV file with a row per subject, or per label.",
    html="For texts: write an HTML page.",
)
@picture_option([kind for kind in REPLAY_CHARTS if kind != "policies"])  # of one policy
@reading_options()
def evaluate(
    model: Path | None,
    data: str | None,
    positive: str | None,
    scores: Path | None,
    combination: dict[str, Any],
    policy: str,
    by: Any,
    posts: bool,
    intervals: bool,
    files: ResultFiles,
    pictures: list[tuple[str, str]],
    loader: Loader,
    threads: int | None,
    table: bool,
    **options: Any,
) -> None:
    """Measure the labels of texts, or the alerts about subjects.

    For labelled texts: accuracy, precision, recall, F1. With --positive, labelled subjects are
    replayed and their alerts measured, beside never alerting, alerting everyone at the first post,
    and the best possible ERDE. ERDE is a fraction unless a % sign follows it. DATA is a file of
    JSON lines or CSV, a folder, or - for standard input, as for train; use data that the model was
    not trained on. A FILE may be - for standard output.

    With --positive, MODEL may also be module:function, your own function from a list of texts to
    scores from 0 to 1. With --scores, precomputed scores are evaluated.
    """
    _check_inputs(model, data, scores)
    _check_options(positive, posts=posts, html=files.html is not None)
    if scores is not None:
        known = load_scores(scores, cast("str", positive), combination, by)
        rule = parse_policy(policy, known.positive)
        found = watchword.replay_scores(known, rule, **options)
        _show_replay(found, files, intervals, table)
        write_pictures(found, pictures)
        return
    model, data = cast("Path", model), cast("str", data)
    if positive is None:
        taught = _load_classifier(model, combination)
        evaluation = _evaluate_texts(taught, data, loader, posts=posts, threads=threads)
        loader.report()
        show_evaluation(evaluation, files, table=table)
        return
    reads = None if is_function(model) else load_model(model, positive, combination)
    subjects = loader.subjects(data)
    if reads is None:
        truth = {one.label: None for one in subjects if one.label is not None}
        reads = load_model(model, positive, combination, labels=list(truth))
    rule = policy_for(policy, positive, reads.labels)
    _check_truth(subjects, rule.positive)
    found = watchword.replay(subjects, reads, rule, by=by, threads=threads, **options)
    loader.report()
    _show_replay(found, files, intervals, table)
    write_pictures(found, pictures)


def _load_classifier(model: Path, combination: dict[str, Any]) -> TauSS3:
    """Load the model of labels, or raise a usage error if only alerts can be evaluated."""
    if is_function(model):
        raise click.UsageError(
            f"{str(model)!r} is a function of scores: --positive LABEL is required"
        )
    if combination:
        raise click.UsageError("--combine requires --positive LABEL")
    return TauSS3.load(model)


def _show_replay(found: Replay, files: ResultFiles, intervals: bool, table: bool) -> None:
    files.write(found)
    if files.include_output:
        return
    between = _intervals_of(found) if intervals else {}
    if table:
        show("\n".join([str(found), *_interval_lines(between)]))
    else:
        emit([_record_of(found) | ({"intervals": between} if between else {})])


def _interval_lines(between: dict[str, tuple[float, float]]) -> list[str]:
    lines = ["", "95 % bootstrap intervals:"] if between else []
    for name, ends in between.items():
        is_cost = name.startswith("erde")
        low, high = (as_percent(end) if is_cost else f"{end:.3f}" for end in ends)
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
        known = reprs(labels)
        raise UnknownLabelError(f"no subject has the label {positive!r}; the data has {known}")


def _check_inputs(model: Path | None, data: str | None, scores: Path | None) -> None:
    """Raise a usage error unless there are a model and data, or scores."""
    if scores is None:
        for name, value in (("MODEL", model), ("DATA", data)):
            if value is None:
                raise click.UsageError(f"Missing argument '{name}'.")
        return
    refuse_together(("--scores", scores), ("MODEL", model))
    if click.get_current_context().params["positive"] is None:
        raise click.UsageError("--scores requires --positive LABEL")
    check_without_data()


def _check_options(positive: str | None, *, posts: bool, html: bool) -> None:
    if positive is None:
        for name in ("policy", "by", "deadlines", "latency_p", "intervals", "pictures"):
            if is_given(name):
                option = "picture" if name == "pictures" else name.replace("_", "-")
                raise click.UsageError(f"--{option} requires --positive LABEL")
        return
    refuse_together(("--posts", posts), ("--positive", positive))
    if html:
        raise click.UsageError(
            "--html cannot be combined with --positive (use watchword report for alerts)"
        )


def _record_of(found: Replay) -> dict[str, Any]:
    setting = {"policy": spell_policy(found.policy), "positive": found.scores.positive}
    setting["by"] = found.scores.by
    if found.measures is None:
        alerts = sum(outcome.label is not None for outcome in found.outcomes)
        return {**setting, "subjects": len(found.outcomes), "alerts": alerts}
    return {**setting, **found.measures.to_dict()}


# Texts

_NAMED = 5  # labels that a warning names


def _evaluate_texts(
    model: TauSS3, source: str, loader: Loader, *, posts: bool, threads: int | None
) -> Evaluation:
    """Evaluate the texts of a source batch by batch; accept posts only if asked for."""
    needed = "texts without a label cannot be evaluated"
    batches = labelled(loader.batches((source,)), loader.bad, like=model.labels, needed=needed)
    found = evaluate_batches(model, batches if posts else _without_subjects(batches), threads)
    if found is None:
        raise loader.bad.nothing_in(name_of(source), "texts with labels")
    _warn_of_unknown(found.labels, model)
    return found


def _without_subjects(batches: Iterable[Texts]) -> Iterator[Texts]:
    """Yield the batches; raise a usage error if a text has a subject."""
    for batch in batches:
        if batch.has_posts:
            raise click.UsageError(
                "Missing option '--positive': the data has subjects (use --positive LABEL to "
                "evaluate alerts, or --posts to evaluate every post as a text)"
            )
        yield batch


def _warn_of_unknown(labels: Sequence[Label], model: TauSS3) -> None:
    unknown = [label for label in labels if label not in model.labels]
    if unknown:
        named = reprs(unknown, most=_NAMED)
        warn(f"Warning: the model does not know {named} and will never predict it")


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword validate streams.jsonl --max-ngram 2 --table
    """
)
@click.argument("data", nargs=-1, required=True, type=DATA)
@like_option
@preset_options
@parameter_options
@refine_option
@fold_options(folds=5)
@result_options(
    json="Write the full result, with every fold, as JSON.",
    csv="Write a CSV file with a row per label.",
)
@reading_options()
def validate(
    data: tuple[str, ...],
    like: Path | None,
    preset: str | None,
    parameters: dict[str, Any],
    refine: bool | None,
    group: str | None,
    files: ResultFiles,
    loader: Loader,
    table: bool,
    **options: Any,
) -> None:
    """Measure accuracy by cross-validation.

    DATA contains texts or posts with labels, as for train. Texts are split into folds with about
    the same share of each label; each fold is predicted by a model trained on the others. Texts of
    one subject are always in the same fold. Models are refined as in train. A FILE may be - for
    standard output.
    """
    begun = model_of(like, preset, parameters)
    chosen = refine_choice(refine, begun, preset, {})
    texts, labels, groups = loader.labelled_texts(data, group, folds=options["folds"])
    has_posts = groups is not None and group is None
    if chosen is None:
        chosen = not has_posts
    found = watchword.cross_validate(
        texts,
        labels,
        model=with_known_default(begun, labels),
        groups=groups,
        refine=POST_SETTINGS if chosen and has_posts else chosen,
        progress=progress_of("validating"),
        **options,
    )
    loader.report()
    setting = {name: options[name] for name in ("folds", "repeats")}
    setting |= {"groups": None if groups is None else len(set(groups)), "refined": chosen}
    show_evaluation(found, files, table=table, more=setting)


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword make others.jsonl --subjects 60 --seed 1
    watchword train streams.jsonl -o model.ww
    watchword report model.ww others.jsonl --positive "at risk" -o report.html
    """
)
@click.argument("model", type=FILE)
@click.argument("data", type=DATA)
@positive_option
@policy_option
@by_option
@deadlines_option
@latency_option
@option("-o, --output", "HTML file to write.", required=True, type=OutputPath(PAGE, of=Path))
@option(
    "--stories N",
    "Number of subjects to show in full, wrong decisions first.",
    type=click.IntRange(min=0),
    default=100,
)
@option(
    "--texts N",
    "Number of posts to show per subject; 0 shows n-grams only.",
    type=click.IntRange(min=0),
    default=2,
)
@option("--title", "Title of the page.")
@data_options()
@threads_option
def report(
    model: Path,
    data: str,
    positive: str,
    policy: str,
    output: Path,
    stories: int,
    texts: int,
    title: str | None,
    loader: Loader,
    **options: Any,
) -> None:
    """Write an evaluation as one HTML page.

    DATA contains subjects, as for evaluate. The page is self-contained and needs no network. It
    shows the measures with their bounds, a table of all subjects (wrong decisions first), and for
    some subjects the timeline, the reasons for the decision and changes that would reverse it.
    """
    from watchword.explain.report import report_data, report_html

    taught = TauSS3.load(model)
    rule = policy_for(policy, positive, taught.labels)
    subjects = loader.subjects(data)
    loader.report()
    found = watchword.replay(subjects, taught, rule, **options)
    plain = report_data(
        found, taught, subjects, stories=stories, texts=texts, progress=progress_of("telling")
    )
    page = report_html(plain, **({} if title is None else {"title": title}))
    write_text(str(output), page)
    written = {"file": str(output), "bytes": output.stat().st_size}
    counts = {"subjects": len(subjects), "stories": len(plain["stories"])}
    emit([{**written, **counts, "decisions": plain["outcomes"]}])
