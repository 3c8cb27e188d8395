"""watchword classify: the labels of texts, with confidences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from watchword import TauSS3
from watchword._checks import Label
from watchword.cli.base import FILE, progress, show_records, verb
from watchword.cli.loading import Loader
from watchword.cli.options import data_options, table_option, threads_option
from watchword.data.texts import Item, labelled
from watchword.errors import DataFormatError


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww
    watchword classify model.ww --text "I cannot sleep, so I work."
    """
)
@click.argument("model", type=FILE)
@click.argument("data", nargs=-1)
@click.option(
    "--text", "texts", multiple=True, help="Text to classify, instead of DATA; repeatable."
)
@click.option("--several", is_flag=True, help="Predict all labels that stand out instead of one.")
@click.option("--accuracy", is_flag=True, help="Print only the accuracy on labelled data.")
@data_options(bad_lines="error")
@threads_option
@table_option
def classify(
    model: Path,
    data: tuple[str, ...],
    texts: tuple[str, ...],
    several: bool,
    accuracy: bool,
    loader: Loader,
    threads: int | None,
    table: bool,
) -> None:
    """Predict the label of each text, with confidences.

    DATA is as for train, with or without labels [default: standard input]. Prints a line per text
    as soon as the text arrives.
    """
    if accuracy and several:
        raise click.UsageError("--accuracy and --several cannot be used together")
    if texts and data:
        raise click.UsageError("--text and DATA cannot be used together")
    taught = TauSS3.load(model)
    given = [[Item(text, None, None, None, "--text", None) for text in texts]]
    batches = given if texts else loader.batches(data or ("-",))
    if accuracy:
        found = _accuracy(taught, labelled(batches, loader.bad, like=taught.labels), threads)
        show_records([found], table=table)
    else:
        for batch in batches:
            show_records(
                list(_answers(taught, batch, several=several, threads=threads)), table=table
            )
    loader.report()


def _answers(
    model: TauSS3, items: Sequence[Item], *, several: bool, threads: int | None
) -> Iterator[dict[str, Any]]:
    """Yield a model's predictions for texts as records to print."""
    texts = [item.text for item in items]
    found = model.confidence_table(texts, threads=threads)
    chosen: Sequence[Label | tuple[Label, ...]] = (
        model.decide_several(found) if several else model.decide(found)
    )
    for item, choice, row in zip(items, chosen, found.values.tolist(), strict=True):
        record: dict[str, Any] = {}
        if item.subject is not None:
            record["subject"] = item.subject
        if item.id is not None:
            record["id"] = item.id
        record["labels" if several else "label"] = choice
        yield record | {"confidence": dict(zip(found.labels, row, strict=True))}


def _accuracy(
    model: TauSS3, batches: Iterable[Sequence[Item]], threads: int | None
) -> dict[str, Any]:
    """Return a model's accuracy on labelled texts, with the recall of each label."""
    right: Counter[Label] = Counter()
    every: Counter[Label] = Counter()
    for batch in progress(batches, "reading", total=None):
        predicted = model.predict_many([item.text for item in batch], threads=threads)
        for item, label in zip(batch, predicted, strict=True):
            if item.label is not None:
                every[item.label] += 1
                right[item.label] += label == item.label
    if not every:
        raise DataFormatError("no text has a label (--accuracy needs labels)")
    recall = {str(label): right[label] / count for label, count in every.items()}
    share = right.total() / every.total()
    return {"texts": every.total(), "right": right.total(), "accuracy": share, "recall": recall}
