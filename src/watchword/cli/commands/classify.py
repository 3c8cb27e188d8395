"""watchword classify: the labels of texts, with confidences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from watchword import TauSS3
from watchword._checks import Label
from watchword.cli.base import FILE, refuse_together, show_records, verb
from watchword.cli.files import DATA
from watchword.cli.loading import Loader
from watchword.cli.options import flag, option, reading_options
from watchword.cli.output import evaluate_batches
from watchword.data.texts import Texts, batched, labelled
from watchword.errors import DataFormatError
from watchword.evaluation import Evaluation
from watchword.model.engine import engine_of


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww
    watchword classify model.ww --text "I cannot sleep, so I work."
    """
)
@click.argument("model", type=FILE)
@click.argument("data", nargs=-1, type=DATA)
@option("--text", "Text to classify, instead of DATA; repeatable.", name="texts", multiple=True)
@flag("--several", "Predict all labels that stand out instead of one.")
@flag(
    "--probabilities",
    "Print probabilities instead of confidences: calibrated if the model is refined, "
    "otherwise each label's share of the total.",
)
@flag("--accuracy", "Print only the accuracy on labelled data.")
@reading_options()
def classify(
    model: Path,
    data: tuple[str, ...],
    texts: tuple[str, ...],
    several: bool,
    probabilities: bool,
    accuracy: bool,
    loader: Loader,
    threads: int | None,
    table: bool,
) -> None:
    """Predict the label of each text, with confidences.

    DATA is as for train, with or without labels [default: standard input]. Prints a line per text
    as soon as the text arrives. The confidences of a refined model are scores, which may be
    negative.
    """
    others = (("--several", several), ("--probabilities", probabilities))
    refuse_together(("--accuracy", accuracy), *others)
    refuse_together(("--text", texts), ("DATA", data))
    if accuracy and texts:
        raise click.UsageError("--accuracy needs labelled data (use DATA instead of --text)")
    taught = TauSS3.load(model)
    given = batched(((None, (text, None, None, None, None)) for text in texts), "--text")
    batches = given if texts else loader.batches(data or ("-",))
    if accuracy:
        needed = "--accuracy needs labelled data"
        known = labelled(batches, loader.bad, like=taught.labels, needed=needed)
        found = evaluate_batches(taught, known, threads)
        if found is None:
            raise DataFormatError("no text has a label (--accuracy needs labels)")
        show_records([_accuracy(found)], table=table)
    else:
        for batch in batches:
            answers = _answers(
                taught, batch, several=several, probabilities=probabilities, threads=threads
            )
            show_records(list(answers), table=table)
    loader.report()


def _answers(
    model: TauSS3, batch: Texts, *, several: bool, probabilities: bool, threads: int | None
) -> Iterator[dict[str, Any]]:
    """Yield a model's predictions for texts as records to print."""
    found = model.confidence_table(batch.texts, threads=threads)
    chosen: Sequence[Label | tuple[Label, ...]] = (
        model.decide_several(found) if several else model.decide(found)
    )
    name, shown = "confidence", found
    if probabilities:
        name, shown = "probability", engine_of(model).probability_of(found)
    rows = zip(batch.subjects, batch.ids, chosen, shown.values.tolist(), strict=True)
    for subject, identity, choice, row in rows:
        record: dict[str, Any] = {}
        if subject is not None:
            record["subject"] = subject
        if identity is not None:
            record["id"] = identity
        record["labels" if several else "label"] = choice
        yield record | {name: dict(zip(shown.labels, row, strict=True))}


def _accuracy(found: Evaluation) -> dict[str, Any]:
    """Return the accuracy of a model as a record, with the recall of each label in the data."""
    recall = {str(one.label): one.recall for one in found.per_label if one.support}
    if found.several:
        return {"texts": found.texts, "exact_match": found.exact_match, "recall": recall}
    record = {"texts": found.texts, "right": found.right, "accuracy": found.accuracy}
    return record | {"recall": recall}
