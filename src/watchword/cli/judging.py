"""watchword validate, and the part of evaluate that measures labels of texts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

import watchword
from watchword import TauSS3
from watchword._checks import Label
from watchword.cli.base import (
    FILE,
    check_folder,
    console,
    emit,
    model_of,
    progress,
    progress_of,
    show,
    verb,
    warn,
    with_known_default,
    write_text,
)
from watchword.cli.options import (
    data_options,
    dealing_options,
    parameter_options,
    preset_options,
    spreadsheet_option,
    table_option,
    threads_option,
)
from watchword.cli.texts import Data
from watchword.data.lines import name_of
from watchword.data.texts import Item, labelled
from watchword.evaluation import Evaluation
from watchword.evaluation.targets import in_order
from watchword.searching import Search

_TOLD = 5  # labels that a warning names

# Texts, for watchword evaluate


def judge_texts(
    model: TauSS3, source: str, reading: Data, *, posts: bool, threads: int | None
) -> Evaluation:
    """Evaluate the texts of a source batch by batch; accept posts only if asked for."""
    truth: list[Label] = []
    found: list[Label] = []
    batches = labelled(reading.batches((source,)), reading.bad, like=model.labels)
    for batch in progress(batches, "reading", total=None):
        if not posts:
            _refuse_subjects(batch)
        truth += [item.label for item in batch if item.label is not None]
        found += model.predict_many([item.text for item in batch], threads=threads)
    if not truth:
        raise reading.bad.nothing_in(name_of(source), "texts with labels")
    _warn_of_unknown(truth, model)
    return Evaluation.of(truth, found)


def _refuse_subjects(batch: Iterable[Item]) -> None:
    for item in batch:
        if item.subject is not None:
            raise click.UsageError(
                "Missing option '--positive': the data has subjects (use --positive LABEL to "
                "evaluate alerts, or --posts to evaluate every post as a text)"
            )


def _warn_of_unknown(truth: Iterable[Label], model: TauSS3) -> None:
    unknown = in_order(set(truth) - set(model.labels))
    if unknown:
        named = ", ".join(map(repr, unknown[:_TOLD])) + (", …" if len(unknown) > _TOLD else "")
        warn(f"Warning: the model does not know {named} and will never predict it")


def show_evaluation(
    found: Evaluation,
    *,
    table: bool,
    files: Sequence[str | None],
    spreadsheet_safe: bool,
    more: dict[str, Any] | None = None,
) -> None:
    """Write an evaluation to files, and print it unless one of them is standard output."""
    write_files(found, files, spreadsheet_safe=spreadsheet_safe)
    if "-" in files:
        return
    if table:
        show(console(), str(found))
    else:
        emit([(more or {}) | _record_of(found)])


def write_files(
    found: Evaluation | Search, files: Sequence[str | None], *, spreadsheet_safe: bool
) -> None:
    """Write a result to the given files (JSON, CSV, HTML)."""
    writers: tuple[Callable[[], str], ...] = (
        found.to_json,
        lambda: found.to_csv(spreadsheet_safe=spreadsheet_safe),
        lambda: found.to_page(),
    )
    for file, text in zip(files, writers, strict=True):
        if file is not None:
            write_text(file, text())


def _record_of(found: Evaluation) -> dict[str, Any]:
    # With one label per text, these equal accuracy.
    measures = {
        name: value
        for name, value in found.measures.items()
        if found.several or name not in ("hamming", "exact_match")
    }
    record: dict[str, Any] = {"texts": found.texts, **measures}
    if found.folds:
        record["spread"] = {name: found.spread(name)._asdict() for name in measures}
    return record | {"labels": [one.to_dict() for one in found.per_label]}


# watchword validate


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword validate streams.jsonl --max-ngram 2 --table
    """
)
@click.argument("data", nargs=-1, required=True)
@click.option("--like", type=FILE, metavar="MODEL", help="Model whose parameters are the defaults.")
@preset_options
@parameter_options
@dealing_options(folds=5)
@click.option(
    "--json", "json_file", metavar="FILE", help="Write the full result, with every fold, as JSON."
)
@click.option("--csv", "csv_file", metavar="FILE", help="Write a CSV file with a row per label.")
@spreadsheet_option
@click.option("--html", "html_file", metavar="FILE", help="Write an HTML page.")
@data_options(bad_lines="error")
@threads_option
@table_option
def validate(
    data: tuple[str, ...],
    like: Path | None,
    preset: str | None,
    parameters: dict[str, Any],
    folds: int,
    repeats: int,
    seed: int,
    group: str | None,
    json_file: str | None,
    csv_file: str | None,
    html_file: str | None,
    spreadsheet_safe: bool,
    reading: Data,
    threads: int | None,
    table: bool,
) -> None:
    """Measure accuracy by cross-validation.

    DATA contains texts or posts with labels, as for train. Texts are split into folds with about
    the same share of each label; each fold is predicted by a model trained on the others. Texts of
    one subject are always in the same fold. A FILE may be - for standard output.
    """
    check_files(json_file, csv_file, html_file)
    check_safe(csv_file, spreadsheet_safe=spreadsheet_safe)
    begun = model_of(like, preset, parameters)
    texts, labels, groups = grouped(data, reading, group)
    found = watchword.cross_validate(
        texts,
        labels,
        model=with_known_default(begun, labels),
        folds=folds,
        groups=groups,
        repeats=repeats,
        seed=seed,
        threads=threads,
        progress=progress_of("validating"),
    )
    reading.report()
    setting = {
        "folds": folds,
        "repeats": repeats,
        "groups": None if groups is None else len(set(groups)),
    }
    show_evaluation(
        found,
        table=table,
        files=(json_file, csv_file, html_file),
        spreadsheet_safe=spreadsheet_safe,
        more=setting,
    )


def check_files(*files: str | None) -> None:
    """Raise if the folder of an output file does not exist; - is standard output."""
    for file in files:
        check_folder(None if file in (None, "-") else Path(str(file)))


def check_safe(csv_file: str | None, *, spreadsheet_safe: bool) -> None:
    """Raise for `--spreadsheet-safe` without `--csv`."""
    if spreadsheet_safe and csv_file is None:
        raise click.UsageError("--spreadsheet-safe requires --csv")


def grouped(
    data: Sequence[str], reading: Data, group: str | None
) -> tuple[list[str], list[Label], list[Hashable] | None]:
    """Return all texts, their labels, and their groups.

    By default a group is a subject; a text without a subject is its own group.
    """
    if group is not None:
        reading.names["subject"] = group
    batches = labelled(reading.batches(data), reading.bad)
    items = [item for batch in batches for item in batch]
    if not items:
        raise reading.bad.nothing_in(", ".join(map(name_of, data)), "texts with labels")
    texts = [item.text for item in items]
    labels = [item.label for item in items if item.label is not None]
    if any(item.subject is not None for item in items):
        own: list[Hashable] = [
            at if one.subject is None else one.subject for at, one in enumerate(items)
        ]
        return texts, labels, own
    if group is not None:
        raise click.UsageError(f"no text has the field {group!r} of --group")
    return texts, labels, None
