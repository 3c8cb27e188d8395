"""watchword validate, and what evaluate does with texts: how right labels are."""

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
    """Judge the texts of a source, never in memory together; posts only if that was asked for."""
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
                "Missing option '--positive': the data has subjects, so say which label alerts are "
                "about; or judge every post alone with --posts"
            )


def _warn_of_unknown(truth: Iterable[Label], model: TauSS3) -> None:
    unknown = in_order(set(truth) - set(model.labels))
    if unknown:
        named = ", ".join(map(repr, unknown[:_TOLD])) + (", …" if len(unknown) > _TOLD else "")
        warn(f"Warning: the model was not taught {named}, so it never answers that")


def show_evaluation(
    found: Evaluation,
    *,
    table: bool,
    files: Sequence[str | None],
    spreadsheet_safe: bool,
    more: dict[str, Any] | None = None,
) -> None:
    """Write it to files (JSON, CSV, HTML), and print it unless one of them is the output."""
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
    """Write it to those of the three files (JSON, CSV, HTML) that were named."""
    writers: tuple[Callable[[], str], ...] = (
        found.to_json,
        lambda: found.to_csv(spreadsheet_safe=spreadsheet_safe),
        lambda: found.to_html(page=True),
    )
    for file, text in zip(files, writers, strict=True):
        if file is not None:
            write_text(file, text())


def _record_of(found: Evaluation) -> dict[str, Any]:
    # With one label per text, these say what accuracy says.
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
@click.option("--like", type=FILE, metavar="MODEL", help="Begin with the parameters of this model.")
@preset_options
@parameter_options
@dealing_options(folds=5)
@click.option(
    "--json", "json_file", metavar="FILE", help="Write all there is, every fold included."
)
@click.option("--csv", "csv_file", metavar="FILE", help="Write a line for every label.")
@spreadsheet_option
@click.option("--html", "html_file", metavar="FILE", help="Write a page to look at.")
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
    """Measure how right labels would be, by cross-validation.

    DATA are texts with labels, or posts, as for train. They are dealt to parts with about the same
    share of each label; each part is judged by what was learnt from the others. What one subject
    wrote is never on both sides. A FILE may be - for standard output.
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
    """Refuse files in folders that are not there; - is standard output."""
    for file in files:
        check_folder(None if file in (None, "-") else Path(str(file)))


def check_safe(csv_file: str | None, *, spreadsheet_safe: bool) -> None:
    """Refuse `--spreadsheet-safe` where no CSV is written."""
    if spreadsheet_safe and csv_file is None:
        raise click.UsageError("--spreadsheet-safe goes with --csv")


def grouped(
    data: Sequence[str], reading: Data, group: str | None
) -> tuple[list[str], list[Label], list[Hashable] | None]:
    """All texts, their labels, and what must stay together.

    That is what a subject wrote; a text of nobody is alone.
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
        raise click.UsageError(f"no text has a field {group!r} to group by")
    return texts, labels, None
