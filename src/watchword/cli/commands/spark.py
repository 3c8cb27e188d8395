"""watchword spark train, classify, watch: the commands for data on a cluster."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from watchword import TauSS3
from watchword.cli.base import COUNT, FILE, cli, emit, example_text, verb, warn
from watchword.cli.files import (
    CHECKPOINT,
    MODEL,
    SPARK_DECISIONS,
    ClusterOutput,
    ClusterPath,
    OutputPath,
)
from watchword.cli.loading import (
    FRAME_FORMATS,
    as_times,
    format_of,
    labelled_files,
    place,
    read,
    session,
    stream,
    with_titles,
)
from watchword.cli.options import (
    added,
    allow_changed_model_option,
    flag,
    option,
    parameter_options,
    policy_option,
    positive_option,
    prune_option,
    table_option,
)
from watchword.cli.output import show_model
from watchword.cli.policy_notation import policy_for
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

    Runs on this machine, on the cluster given by --master, or as configured by spark-submit.
    """


def _options(*chosen: str) -> Callable[[Any], Any]:
    """Add the options of all three commands: the session, the format, the column names."""
    contents = {"text": "texts", "label": "labels", "subject": "subjects"}
    contents["title"] = "titles, if any"
    columns = {
        name: option(f"--{name} COLUMN", f"Column with the {contents[name]}.", default=name)
        for name in chosen
    }
    return added(
        *columns.values(),
        option(
            "--format",
            "Format of the data.  [default: from the file name]",
            name="kind",
            type=click.Choice(FRAME_FORMATS),
        ),
        option("--master URL", "URL of the cluster.  [default: this machine]"),
        option(
            "--set KEY=VALUE",
            "Spark setting: spark.executor.memory=4g; repeatable.",
            name="settings",
            multiple=True,
            parse=_settings,
        ),
    )


def _settings(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    for key, sign, _ in pairs:
        if not (key and sign):
            raise ValueError(f"{key!r} is not KEY=VALUE")
    return {key: setting for key, _, setting in pairs}


# watchword spark train


@verb(
    group=spark,
    example="""
    watchword make streams.jsonl --subjects 60 --by-time
    watchword spark train streams.jsonl -o model.ww --prune 2
    """,
)
@click.argument("data", nargs=-1, required=True, type=ClusterPath())
@option(
    "-o, --output",
    "Model file to write.",
    required=True,
    type=OutputPath(MODEL, of=Path, updates="add_to"),
)
@option("--add-to MODEL", "Model to continue training.", type=FILE)
@prune_option
@flag("--levelwise", "With --prune: shuffle less data, but read the input several times.")
@_options("text", "label", "title")
@parameter_options
@table_option
def train(
    data: tuple[str, ...],
    output: Path,
    levelwise: bool,
    text: str,
    label: str,
    title: str,
    kind: str | None,
    master: str | None,
    settings: dict[str, str],
    parameters: dict[str, Any],
    table: bool,
    **options: Any,
) -> None:
    """Train a model on labelled texts.

    DATA are files or folders of Parquet or JSON lines with a text and a label per row, or text
    files LABEL/ID.txt. The counts equal those of `watchword train`. The driver writes the model.
    """
    if levelwise and options["prune"] is None:
        raise click.UsageError("--levelwise requires --prune")
    for name in ("prune_period", "prune_floor"):
        if name in parameters:
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"{flag} prunes while learning, which depends on the order of texts; Spark has no "
                "order (use --prune instead)"
            )
    given = format_of(data, kind)
    with session(master, settings) as running:
        from watchword.spark import fit_file

        if given == "text":
            frame, text = labelled_files(running, data, label), "text"
        else:
            frame = with_titles(read(running, data, given), text, title)
        options |= {"text": text, "label": label, "levelwise": levelwise}
        fit_file(frame, output, **options, **parameters)
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
@click.argument("data", nargs=-1, required=True, type=ClusterPath())
@option(
    "-o, --output FOLDER",
    "Folder to write; .json for JSON lines.",
    required=True,
    type=ClusterOutput(None),
)
@option("--confidence COLUMN", "Column to add with the confidences.", default="confidence")
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

    DATA are files or folders of Parquet or JSON lines, or text files with one text per line.
    --label is the name of the column to add. FOLDER must not exist.
    """
    given = format_of(data, kind)
    with session(master, settings) as running:
        from watchword import spark as on_spark

        frame = read(running, data, given)
        require_text(frame, "text", text)
        kept = frame.withColumn(_ORIGINAL, column(frame, text))
        found = on_spark.classify(
            with_titles(kept, text, title), model, text=text, label=label, confidence=confidence
        )
        found = found.withColumn(text, found[_ORIGINAL]).drop(_ORIGINAL)
        kind = _output_format(output)
        with _removed_on_failure(output):
            found.write.format(kind).save(place(output))
        written = running.read.schema(found.schema).format(kind).load(place(output))
        counted = written.groupBy(quoted(label)).count().collect()
        counts = {row[label]: row["count"] for row in counted}
    emit([{"output": output, "labels": counts}])


@contextmanager
def _removed_on_failure(output: str) -> Iterator[None]:
    """Remove an incomplete output if the write fails."""
    try:
        yield
    except BaseException:
        if "://" not in output:
            shutil.rmtree(output, ignore_errors=True)
        raise


def _output_format(output: str) -> str:
    return "json" if output.endswith((".json", ".jsonl")) else "parquet"


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
@click.argument("data", type=ClusterPath())
@positive_option
@policy_option
@option(
    "--checkpoint FOLDER",
    "Folder of the checkpoint to write and resume from.",
    required=True,
    type=ClusterOutput(CHECKPOINT),
)
@option(
    "-o, --output FOLDER",
    "Folder to write; .json for JSON lines.",
    required=True,
    type=ClusterOutput(SPARK_DECISIONS),
)
@option("--post-id COLUMN", "Column with a unique post id, to skip duplicates.")
@option("--order COLUMN", "Column to order posts by.")
@option("--horizon", "Number of post ids to remember per subject.", type=COUNT, default=64)
@flag("--all", "Write the decision after every post.", name="every_post")
@flag("--follow", "Keep watching for new files until stopped.")
@allow_changed_model_option
@_options("subject", "text", "title")
def watch(
    model: Path,
    data: str,
    positive: str,
    policy: str,
    checkpoint: str,
    output: str,
    order: str | None,
    every_post: bool,
    follow: bool,
    text: str,
    title: str,
    kind: str | None,
    master: str | None,
    settings: dict[str, str],
    **options: Any,
) -> None:
    """Read a stream of posts and write alerts.

    DATA is a file of Parquet or JSON lines, or a folder that receives such files. The checkpoint
    records progress: after a crash, the same command resumes from it. Read with Spark, the output
    has every decision exactly once. For other sources, such as Kafka, see docs/spark.md.
    """
    given = format_of((data,), kind)
    if given == "text":
        raise click.UsageError("text files have no subjects (use Parquet or JSON lines)")
    rule = policy_for(policy, positive, TauSS3.load(model, mapped=True).labels)
    if "://" not in output + checkpoint:
        _check_together(Path(output), Path(checkpoint))
    with session(master, settings) as running:
        from watchword import spark as on_spark

        columns = read(running, (data,), given)
        posts = as_times(stream(running, data, given, columns), order)
        posts = with_titles(posts, text, title)
        options |= {"text": text, "order": order, "alerts_only": not every_post}
        decided = on_spark.watch(posts, model, rule, **options)
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
    """Raise for an output of another checkpoint: Spark would treat its decisions as written."""
    written = (output / "_spark_metadata").is_dir()
    begun, committed = (
        (checkpoint / name).is_dir() and any((checkpoint / name).iterdir())
        for name in ("offsets", "commits")
    )
    if written and not begun:
        raise click.UsageError(
            f"{output} was written with another checkpoint than {checkpoint} (use that checkpoint "
            "or another output)"
        )
    if committed and not written:
        raise click.UsageError(
            f"the checkpoint {checkpoint} belongs to another output than {output} (use that output "
            "or another checkpoint)"
        )


def _wait(query: Any) -> None:
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        warn("stopping")
        query.stop()
