"""watchword validate, and what evaluate does with texts: how right labels are."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

import watchword
from watchword import Evaluation, TauSS3
from watchword.checks import Label
from watchword.cli.base import (
    FILE,
    check_folder,
    console,
    emit,
    find_label,
    progress,
    progress_of,
    show,
    verb,
    warn,
    write_text,
)
from watchword.cli.options import data_options, parameter_options, table_option, threads_option
from watchword.cli.texts import Data, Item, labelled
from watchword.lines import name_of
from watchword.targets import in_order

_TOLD = 5  # labels that a warning names

# Texts, for watchword evaluate


def judge_texts(
    model: TauSS3, source: str, reading: Data, *, posts: bool, threads: int | None
) -> Evaluation:
    """Judge the texts of a source, never in memory together; posts only if that was asked for."""
    truth: list[Label] = []
    found: list[Label] = []
    batches = labelled(reading.batches((source,)), reading.bad)
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
    more: dict[str, Any] | None = None,
) -> None:
    """Write it to files (JSON, CSV, HTML), and print it unless one of them is the output."""
    writers = (found.to_json, found.to_csv, lambda: found.to_html(page=True))
    for file, text in zip(files, writers, strict=True):
        if file is not None:
            write_text(file, text())
    if "-" in files:
        return
    if table:
        show(console(), str(found))
    else:
        emit([(more or {}) | _record_of(found)])


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
@click.option("--paper", is_flag=True, help="Begin with the parameters of the paper.")
@parameter_options
@click.option(
    "--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Parts of the data."
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="How often to deal all texts to parts.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Other seed, other parts.",
)
@click.option(
    "--group",
    metavar="FIELD",
    help="Keep texts together that are equal in this field; by default those of a subject.",
)
@click.option(
    "--json", "json_file", metavar="FILE", help="Write all there is, every fold included."
)
@click.option("--csv", "csv_file", metavar="FILE", help="Write a line for every label.")
@click.option("--html", "html_file", metavar="FILE", help="Write a page to look at.")
@data_options(bad_lines="error")
@threads_option
@table_option
def validate(
    data: tuple[str, ...],
    like: Path | None,
    paper: bool,
    parameters: dict[str, Any],
    folds: int,
    repeats: int,
    seed: int,
    group: str | None,
    json_file: str | None,
    csv_file: str | None,
    html_file: str | None,
    reading: Data,
    threads: int | None,
    table: bool,
) -> None:
    """Measure how right labels would be, by cross-validation.

    DATA are texts with labels, or posts, as for train. They are dealt to parts with about the same
    share of each label; each part is judged by what was learnt from the others. What one subject
    wrote is never on both sides. A FILE may be - for standard output.
    """
    if like is not None and paper:
        raise click.UsageError("--like and --paper cannot go together")
    for file in (json_file, csv_file, html_file):
        check_folder(None if file in (None, "-") else Path(str(file)))
    begun = _model_of(like, paper, parameters)
    items, groups = _grouped(data, reading, group)
    labels = [item.label for item in items if item.label is not None]
    found = watchword.cross_validate(
        [item.text for item in items],
        labels,
        model=_with_known_default(begun, labels),
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
    show_evaluation(found, table=table, files=(json_file, csv_file, html_file), more=setting)


def _model_of(like: Path | None, paper: bool, parameters: dict[str, Any]) -> TauSS3:
    if paper:
        return TauSS3.paper(**parameters)
    return TauSS3(**((TauSS3.load(like).parameters if like is not None else {}) | parameters))


def _with_known_default(model: TauSS3, labels: Iterable[Label]) -> TauSS3:
    """The default label as data spells it; on a command line numbers are text, too."""
    given = model.parameters["default_label"]
    if given is None:
        return model
    return model.replace(default_label=find_label(str(given), set(labels), where="the data"))


def _grouped(
    data: Sequence[str], reading: Data, group: str | None
) -> tuple[list[Item], list[Hashable] | None]:
    """All texts, and what must stay together: posts of a subject; a text of nobody is alone."""
    if group is not None:
        reading.names["subject"] = group
    batches = labelled(reading.batches(data), reading.bad)
    items = [item for batch in batches for item in batch]
    if not items:
        raise reading.bad.nothing_in(", ".join(map(name_of, data)), "texts with labels")
    if any(item.subject is not None for item in items):
        return items, [at if one.subject is None else one.subject for at, one in enumerate(items)]
    if group is not None:
        raise click.UsageError(f"no text has a field {group!r} to group by")
    return items, None
