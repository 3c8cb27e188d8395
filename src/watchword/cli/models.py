"""watchword make, train, classify, inspect: synthetic data and models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from watchword import TauSS3
from watchword._checks import Label
from watchword._files import atomic_file
from watchword.cli.base import (
    FILE,
    Number,
    check_folder,
    emit,
    find_label,
    model_of,
    progress,
    show_records,
    show_table,
    verb,
    with_known_default,
    write_text,
)
from watchword.cli.options import (
    data_options,
    parameter_options,
    preset_options,
    table_option,
    threads_option,
)
from watchword.cli.search_options import Tuning, tuning_options
from watchword.cli.searching import end_as_interrupted, tuned
from watchword.cli.texts import Data
from watchword.data import Post, Subject, make_risk_streams, write_jsonl
from watchword.data.lines import name_of
from watchword.data.texts import Item, labelled
from watchword.errors import DataFormatError
from watchword.model.overview import ngram_worth

# watchword make


@verb(example="watchword make streams.jsonl --subjects 60 --seed 1")
@click.argument("file", type=FILE)
@click.option(
    "--subjects",
    type=click.IntRange(1, 1_000_000),
    default=200,
    show_default=True,
    help="Number of subjects.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option(
    "--prevalence",
    type=Number(0, 1),
    default=0.2,
    show_default=True,
    help="Share of subjects at risk.",
)
@click.option(
    "--posts",
    type=click.IntRange(min=1),
    nargs=2,
    default=(10, 40),
    show_default=True,
    metavar="FEWEST MOST",
    help="Range of the number of posts per subject.",
)
@click.option(
    "--by-time",
    is_flag=True,
    help="Write one post per line, in order of time, instead of one subject per line.",
)
def make(
    file: Path,
    subjects: int,
    seed: int,
    prevalence: float,
    posts: tuple[int, int],
    by_time: bool,
) -> None:
    """Write synthetic subjects, some of them at risk.

    The posts of subjects at risk show growing exhaustion. FILE is written as JSON lines with the
    true label as "label"; its name may end in .gz, except with --by-time. No data of real people is
    used.
    """
    made = make_risk_streams(subjects, seed=seed, prevalence=prevalence, posts_per_subject=posts)
    if by_time:
        with atomic_file(file) as target:
            target.writelines(_post_lines(made))
    else:
        write_jsonl(file, made)
    labels = Counter(str(subject.label) for subject in made)
    emit([{"file": str(file), "subjects": labels, "posts": sum(len(one.posts) for one in made)}])


def _post_lines(subjects: Sequence[Subject]) -> Iterator[bytes]:
    pairs = [(subject, post) for subject in subjects for post in subject.posts]

    def when(pair: tuple[Subject, Post]) -> str:
        return "" if pair[1].time is None else pair[1].time.isoformat()

    for subject, post in sorted(pairs, key=when):
        record = {"subject": subject.id, "label": subject.label, "time": when((subject, post))}
        record |= {"post_id": post.id, "title": post.title, "text": post.text}
        yield (json.dumps(record) + "\n").encode()


# watchword train


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww --max-ngram 3
    """
)
@click.argument("data", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=FILE, help="Model file to write.")
@click.option(
    "--add-to",
    type=FILE,
    metavar="MODEL",
    help="Model to continue training; its file is not changed unless it is also the output.",
)
@preset_options
@parameter_options
@click.option(
    "--prune",
    type=click.IntRange(min=1),
    metavar="TIMES",
    help="Drop n-grams with count ≤ TIMES under a label after training.",
)
@tuning_options
@data_options(bad_lines="error")
@threads_option
@table_option
def train(
    data: tuple[str, ...],
    output: Path,
    add_to: Path | None,
    preset: str | None,
    parameters: dict[str, Any],
    prune: int | None,
    tuning: Tuning | None,
    reading: Data,
    threads: int | None,
    table: bool,
) -> None:
    """Train a model on labelled texts or subjects.

    DATA are files of JSON lines ({"text": …, "label": …}, for posts also "subject"), CSV files,
    folders LABEL/ID.txt or LABEL/SUBJECT/POST.txt, or - for standard input. A post is learnt under
    the label of its subject. Prints a summary of the model.
    """
    if add_to is not None and preset is not None:
        raise click.UsageError(f"--add-to and --{preset} cannot be used together")
    for other, value in (("--add-to", add_to), ("--prune", prune)):
        if tuning is not None and value is not None:
            raise click.UsageError(f"--tune and {other} cannot be used together")
    check_folder(output)
    if add_to is not None:
        model = TauSS3.load(add_to).replace(**parameters)
    else:
        model = model_of(None, preset, parameters)
    if tuning is not None:
        model, found = tuned(model, data, reading, tuning, threads)
        model.save(output)
        reading.report()
        more = {"model": str(output), "learnt": found.texts, "tried": len(found.settings)}
        show_model(model, more | {found.measure: found.best.value}, table=table)
        end_as_interrupted(found, tuning.keep)
        return
    learnt = learn(model, labelled(reading.batches(data), reading.bad, like=model.labels), threads)
    if not learnt:
        raise reading.bad.nothing_in(", ".join(map(name_of, data)), "texts with labels")
    model = with_known_default(model, model.labels)
    if prune is not None:
        model.prune(prune, parameters.get("prune_shortest", 1))
    model.save(output)
    reading.report()
    show_model(model, {"model": str(output), "learnt": learnt}, table=table)


def learn(model: TauSS3, batches: Iterable[Sequence[Item]], threads: int | None) -> int:
    """Train a model batch by batch; return the number of texts."""
    learnt = 0
    for batch in progress(batches, "learning", total=None):
        labels = [item.label for item in batch if item.label is not None]
        model.learn_many([item.text for item in batch], labels, threads=threads)
        learnt += len(batch)
    return learnt


# watchword classify


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
    reading: Data,
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
    batches = given if texts else reading.batches(data or ("-",))
    if accuracy:
        found = measure_accuracy(
            taught, labelled(batches, reading.bad, like=taught.labels), threads
        )
        show_records([found], table=table)
    else:
        for batch in batches:
            show_records(
                list(answers(taught, batch, several=several, threads=threads)), table=table
            )
    reading.report()


def answers(
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


def measure_accuracy(
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


# watchword inspect


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
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print the N n-grams of highest value per label.",
)
@click.option("--label", help="Show this label only.")
@click.option(
    "--length",
    type=click.IntRange(min=1),
    metavar="WORDS",
    help="With --top: n-grams of this length only.",
)
@click.option("--value", metavar="NGRAM", help="Print the value of an n-gram and its factors.")
@click.option("--next", "following", metavar="NGRAM", help="Print the words seen after an n-gram.")
@click.option(
    "--html",
    "page",
    metavar="FILE",
    help="Write an HTML page; may be combined with --top, --label or --value.",
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
    check_folder(None if page in (None, "-") else Path(page))
    taught = TauSS3.load(model)
    chosen = None if label is None else find_label(label, taught.labels, where="the model")
    labels = taught.labels if chosen is None else (chosen,)
    if page is not None:
        _write_page(taught, page, name=model.name, top=top, label=chosen, value=value)
    elif top is not None:
        show_records(
            [
                {"label": one} | ngram._asdict()
                for one in labels
                for ngram in taught.top_ngrams(one, top, length)
            ],
            table=table,
        )
    elif value is not None:
        values = taught.value(value)
        rows = [{"ngram": value, "label": one} | values[one]._asdict() for one in labels]
        show_records(rows, table=table)
    elif following is not None:
        words = taught.next_words(following, chosen)
        show_records([{"ngram": following} | word._asdict() for word in words], table=table)
    else:
        show_model(taught, {"model": str(model)}, table=table)


def _write_page(
    model: TauSS3,
    path: str,
    *,
    name: str,
    top: int | None,
    label: Label | None,
    value: str | None,
) -> None:
    labels = None if label is None else [label]
    if value is not None:
        page = ngram_worth(model, value).to_page(labels=labels)
    else:
        overview = model.overview(20 if top is None else top)
        page = overview.to_page(title=f"Overview of {name}", labels=labels)
    write_text(path, page)
    if path != "-":
        emit([{"html": path, "bytes": len(page.encode())}])


def show_model(model: TauSS3, more: Mapping[str, Any], *, table: bool) -> None:
    """Print a summary of a model."""
    statistics = model.statistics
    if table:
        rows = [
            {"label": label, "documents": count, "words": statistics.words[label]}
            for label, count in statistics.documents.items()
        ]
        show_table(rows)
        lengths = enumerate(statistics.ngrams, 1)
        show_table([{"words in n-gram": n, "n-grams": many} for n, many in lengths])
        given = {name: value for name, value in model.parameters.items() if value is not None}
        rest = {**more, "fingerprint": model.fingerprint, "pruned": statistics.pruned, **given}
        show_table([{"about": name, "value": str(value)} for name, value in rest.items()])
        return
    known = asdict(statistics)
    known["ngrams"] = list(statistics.ngrams)
    plain = {
        name: value if isinstance(value, str | int | float | dict | None) else repr(value)
        for name, value in model.parameters.items()
    }
    labels = {"labels": model.labels, "fingerprint": model.fingerprint}
    emit([{**more, **labels, **known, "parameters": plain}])
