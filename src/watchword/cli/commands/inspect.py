"""watchword inspect, convert: what a model holds, and a model of PySS3 as one of watchword."""

from __future__ import annotations

from pathlib import Path

import click

from watchword import TauSS3
from watchword._checks import Label
from watchword.cli.base import (
    COUNT,
    FILE,
    emit,
    find_label,
    show_records,
    verb,
    write_text,
)
from watchword.cli.files import MODEL, PAGE, OutputPath
from watchword.cli.options import option, table_option
from watchword.cli.output import show_model
from watchword.model import Value
from watchword.model.overview import ngram_worth
from watchword.pyss3 import SS3


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww
    watchword inspect model.ww
    watchword inspect model.ww --top 3 --label "at risk" --length 3 --table
    watchword inspect model.ww --value "cannot sleep" --table
    watchword inspect model.ww --html model.html
    """
)
@click.argument("model", type=FILE)
@option("--top N", "Print the N n-grams of highest value per label.", type=COUNT)
@option("--label LABEL", "Show this label only.")
@option("--length WORDS", "With --top: n-grams of this length only.", type=COUNT)
@option("--value NGRAM", "Print the value of an n-gram and its factors.")
@option("--next NGRAM", "Print the words seen after an n-gram.", name="following")
@option(
    "--html FILE",
    "Write an HTML page; may be combined with --top, --label or --value.",
    name="page",
    type=OutputPath(PAGE),
)
@table_option
def inspect(
    model: Path,
    top: int | None,
    label: str | None,
    length: int | None,
    value: str | None,
    following: str | None,
    page: str | None,
    table: bool,
) -> None:
    """Show a model: its labels, sizes and parameters, or its n-grams."""
    if sum(one is not None for one in (top, value, following)) > 1:
        raise click.UsageError("--top, --value and --next cannot be used together")
    if length is not None and top is None:
        raise click.UsageError("--length requires --top")
    if page is not None and (following is not None or length is not None):
        raise click.UsageError("--html cannot be combined with --next or --length")
    taught = TauSS3.load(model)
    chosen = None if label is None else find_label(label, taught.labels, where="the model")
    labels = taught.labels if chosen is None else (chosen,)
    if page is not None:
        drawn = None if chosen is None else [chosen]
        if value is not None:
            _check_known(taught, value)
            html = ngram_worth(taught, value).to_page(labels=drawn)
        else:
            overview = taught.overview(20 if top is None else top)
            html = overview.to_page(title=f"Overview of {model.name}", labels=drawn)
        write_text(page, html)
        if page != "-":
            emit([{"html": page, "bytes": len(html.encode())}])
    elif top is not None:
        pairs = [(one, ngram) for one in labels for ngram in taught.top_ngrams(one, top, length)]
        show_records([{"label": one} | ngram._asdict() for one, ngram in pairs], table=table)
    elif value is not None:
        values = _check_known(taught, value)
        rows = [{"ngram": value, "label": one} | values[one]._asdict() for one in labels]
        show_records(rows, table=table)
    elif following is not None:
        _check_known(taught, following)
        words = taught.next_words(following, chosen)
        show_records([{"ngram": following} | word._asdict() for word in words], table=table)
    else:
        show_model(taught, {"model": str(model)}, table=table)


def _check_known(model: TauSS3, ngram: str) -> dict[Label, Value]:
    """Return the values of an n-gram, or raise if the model has not learnt it."""
    values = model.value(ngram)
    if not any(value.count for value in values.values()):
        raise ValueError(f"the model has no n-gram {ngram!r}: it was not learnt, or was pruned")
    return values


@verb(example="watchword convert old.ss3m new.ww")
@click.argument("old", type=FILE)
@click.argument("new", type=OutputPath(MODEL, of=Path))
@table_option
def convert(old: Path, new: Path, table: bool) -> None:
    """Convert a PySS3 model (OLD.ss3m) to a watchword model (NEW.ww).

    The new model reads text as PySS3 does and has the same values. Labels are the names of the
    categories, converted to text if their types differ.
    """
    model = SS3.from_file(old).to_watchword()
    model.save(new)
    show_model(model, {"model": str(new)}, table=table)
