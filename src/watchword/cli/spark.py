"""watchword spark train, classify, watch: the same on a cluster, for data beyond one machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from watchword import TauSS3
from watchword.cli.base import FILE, check_folder, cli, emit, example_text, find_label, verb, warn
from watchword.cli.frames import (
    FORMATS,
    as_times,
    kind_of,
    labelled_files,
    place,
    read,
    session,
    stream,
    with_titles,
)
from watchword.cli.models import show_model
from watchword.cli.options import parameter_options, policy_option, positive_option, table_option
from watchword.cli.policies import parse_policy
from watchword.spark.needs import column, quoted, require_text

_ORIGINAL = "watchword original"  # the column of texts without their titles


@cli.group(
    epilog=example_text(
        """
        watchword make streams.jsonl --subjects 60 --by-time
        watchword spark train streams.jsonl -o model.ww
        """
    )
)
def spark() -> None:
    """Train, classify and watch on Apache Spark.

    On this machine, on a cluster that --master names, or as spark-submit says.
    """


def _options(*chosen: str) -> Callable[[Any], Any]:
    """What all three verbs have: the session, the format, the names of columns."""
    told = {"text": "the texts", "label": "the labels", "subject": "who wrote it"}
    told["title"] = "titles, if there is one"
    columns = {
        name: click.option(
            f"--{name}",
            default=name,
            show_default=True,
            metavar="COLUMN",
            help=f"The column with {told[name]}.",
        )
        for name in chosen
    }
    others = [
        click.option(
            "--format",
            "kind",
            type=click.Choice(FORMATS),
            help="What the data is, where the name does not say it.",
        ),
        click.option("--master", metavar="URL", help="The cluster; by default this machine."),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            callback=_settings,
            help="A setting of Spark: spark.executor.memory=4g.",
        ),
    ]

    def add(function: Any) -> Any:
        for option in reversed([*columns.values(), *others]):
            function = option(function)
        return function

    return add


def _settings(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    pairs = [each.partition("=") for each in value]
    for key, sign, _ in pairs:
        if not (key and sign):
            raise click.BadParameter(f"{key!r} is not KEY=VALUE", ctx=ctx, param=param)
    return {key: setting for key, _, setting in pairs}


# watchword spark train


@verb(
    group=spark,
    example="""
    watchword make streams.jsonl --subjects 60 --by-time
    watchword spark train streams.jsonl -o model.ww --prune 2
    """,
)
@click.argument("data", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=FILE, help="The model file to write.")
@click.option("--add-to", type=FILE, metavar="MODEL", help="Go on teaching this model.")
@click.option(
    "--prune",
    type=click.IntRange(min=1),
    metavar="TIMES",
    help="Drop n-grams with count ≤ TIMES under a label, once all are counted.",
)
@click.option("--levelwise", is_flag=True, help="With --prune: shuffle less, read the data again.")
@_options("text", "label", "title")
@parameter_options
@table_option
def train(
    data: tuple[str, ...],
    output: Path,
    add_to: Path | None,
    prune: int | None,
    levelwise: bool,
    text: str,
    label: str,
    title: str,
    kind: str | None,
    master: str | None,
    settings: dict[str, str],
    parameters: dict[str, Any],
    table: bool,
) -> None:
    """Learn from labelled texts.

    DATA are files or folders of Parquet or JSON lines with a text and a label per row, or text
    files LABEL/ID.txt. Counts are those of `watchword train`. The model is written by the driver.
    """
    check_folder(output)
    if levelwise and prune is None:
        raise click.UsageError("--levelwise goes with --prune")
    for name in ("prune_period", "prune_floor"):
        if name in parameters:
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"{flag} prunes while learning, which depends on the order of texts, and a cluster "
                "has none: give --prune instead"
            )
    given = kind_of(data, kind)
    with session(master, settings) as running:
        from watchword.spark import fit_file

        if given == "text":
            frame, text = labelled_files(running, data, label), "text"
        else:
            frame = with_titles(read(running, data, given), text, title)
        fit_file(
            frame,
            output,
            text=text,
            label=label,
            prune=prune,
            add_to=add_to,
            levelwise=levelwise,
            **parameters,
        )
    show_model(TauSS3.load(output, mapped=True), {"model": str(output)}, table=table)


# watchword spark classify


@verb(
    group=spark,
    example="""
    watchword make streams.jsonl --subjects 60 --by-time
    watchword train streams.jsonl -o model.ww
    watchword spark classify model.ww streams.jsonl --label guess -o labels.parquet
    """,
)
@click.argument("model", type=FILE)
@click.argument("data", nargs=-1, required=True)
@click.option(
    "-o", "--output", required=True, metavar="FOLDER", help="Where to write; .json for JSON lines."
)
@click.option("--confidence", default="confidence", show_default=True, help="The column to add.")
@_options("text", "label", "title")
def classify(
    model: Path,
    data: tuple[str, ...],
    output: str,
    confidence: str,
    text: str,
    label: str,
    title: str,
    kind: str | None,
    master: str | None,
    settings: dict[str, str],
) -> None:
    """Add a label and confidences to every row.

    DATA are files or folders of Parquet or JSON lines, or text files with a text per line. --label
    names the column to add. FOLDER must not exist yet.
    """
    given = kind_of(data, kind)
    with session(master, settings) as running:
        from watchword import spark as on_spark

        frame = read(running, data, given)
        require_text(frame, "text", text)
        kept = frame.withColumn(_ORIGINAL, column(frame, text))
        found = on_spark.classify(
            with_titles(kept, text, title), model, text=text, label=label, confidence=confidence
        )
        found = found.withColumn(text, found[_ORIGINAL]).drop(_ORIGINAL)
        _refuse_existing(output)
        kind = _output_format(output)
        with _removed_on_failure(output):
            found.write.format(kind).save(place(output))
        written = running.read.schema(found.schema).format(kind).load(place(output))
        counted = written.groupBy(quoted(label)).count().collect()
        counts = {row[label]: row["count"] for row in counted}
    emit([{"output": output, "labels": counts}])


@contextmanager
def _removed_on_failure(output: str) -> Iterator[None]:
    """Leave nothing of an output that was not there before and is not whole."""
    try:
        yield
    except BaseException:
        if "://" not in output:
            shutil.rmtree(output, ignore_errors=True)
        raise


def _output_format(output: str) -> str:
    return "json" if output.endswith((".json", ".jsonl")) else "parquet"


def _refuse_existing(output: str) -> None:
    if Path(output).exists():
        raise click.UsageError(f"{output!r} exists already: name another folder")


# watchword spark watch


@verb(
    group=spark,
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww
    watchword make arriving.jsonl --subjects 20 --seed 1 --by-time
    watchword spark watch model.ww arriving.jsonl --positive "at risk" --post-id post_id --order time --checkpoint checkpoint -o alerts.json
    """,  # noqa: E501
)
@click.argument("model", type=FILE)
@click.argument("data")
@positive_option
@policy_option
@click.option("--checkpoint", required=True, metavar="FOLDER", help="To go on from, and to keep.")
@click.option(
    "-o", "--output", required=True, metavar="FOLDER", help="Where to write; .json for JSON lines."
)
@click.option("--post-id", metavar="COLUMN", help="The column that tells posts apart.")
@click.option("--order", metavar="COLUMN", help="The column that posts are in the order of.")
@click.option(
    "--horizon",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="How many ids of posts are remembered per subject.",
)
@click.option("--all", "every_post", is_flag=True, help="Write what is decided after every post.")
@click.option("--follow", is_flag=True, help="Go on when new files come, until stopped.")
@click.option(
    "--allow-changed-model", is_flag=True, help="Go on with the state of another model's reading."
)
@_options("subject", "text", "title")
def watch(
    model: Path,
    data: str,
    positive: str,
    policy: str,
    checkpoint: str,
    output: str,
    post_id: str | None,
    order: str | None,
    horizon: int,
    every_post: bool,
    follow: bool,
    allow_changed_model: bool,
    subject: str,
    text: str,
    title: str,
    kind: str | None,
    master: str | None,
    settings: dict[str, str],
) -> None:
    """Read a stream of posts, and write alerts.

    DATA is a folder that gets files of Parquet or JSON lines, or such files. What was read is in
    the checkpoint: the same command goes on from there, whatever was killed, and every decision is
    in the output once, as Spark reads it. For other sources, Kafka say, see docs/spark.md.
    """
    given = kind_of((data,), kind)
    if given == "text":
        raise click.UsageError("lines of text do not say who wrote them: give Parquet or JSON")
    rule = parse_policy(policy, find_label(positive, _labels(model), where="the model"))
    if "://" not in output + checkpoint:
        _check_together(Path(output), Path(checkpoint))
    with session(master, settings) as running:
        from watchword import spark as on_spark

        columns = read(running, (data,), given)
        posts = as_times(stream(running, data, given, columns), order)
        posts = with_titles(posts, text, title)
        decided = on_spark.watch(
            posts,
            model,
            rule,
            subject=subject,
            text=text,
            post_id=post_id,
            order=order,
            horizon=horizon,
            alerts_only=not every_post,
            allow_changed_model=allow_changed_model,
        )
        writer = decided.writeStream.format(_output_format(output))
        if not follow:
            writer = writer.trigger(availableNow=True)
        query = writer.option("checkpointLocation", place(checkpoint)).start(place(output))
        _wait(query)
        posts = sum(one["numInputRows"] for one in query.recentProgress)
        reader = running.read.schema(decided.schema).format(_output_format(output))
        alerts = reader.load(place(output)).where("is_new").count()
    emit([{"output": output, "posts": posts, "alerts": alerts}])


def _check_together(output: Path, checkpoint: Path) -> None:
    """Refuse an output of another checkpoint: Spark would take its decisions for written."""
    written = (output / "_spark_metadata").is_dir()
    begun, committed = (
        (checkpoint / name).is_dir() and any((checkpoint / name).iterdir())
        for name in ("offsets", "commits")
    )
    if written and not begun:
        raise click.UsageError(
            f"{output} was written with another checkpoint than {checkpoint}: give that one, or "
            "another output"
        )
    if committed and not written:
        raise click.UsageError(
            f"the checkpoint {checkpoint} was begun with another output than {output}: give that "
            "one, or another checkpoint"
        )


def _labels(model: Path) -> tuple[Any, ...]:
    return TauSS3.load(model, mapped=True).labels


def _wait(query: Any) -> None:
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        warn("stopping")
        query.stop()
