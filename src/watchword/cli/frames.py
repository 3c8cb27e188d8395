"""Spark sessions, and data frames for the data named on the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from watchword.errors import DataFormatError
from watchword.spark.needs import clear_errors, column, require, require_java, require_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FRAME_FORMATS = ("parquet", "json", "text")

_SUFFIXES = {".parquet": "parquet", ".json": "json", ".jsonl": "json", ".txt": "text"}


@contextmanager
def session(master: str | None, settings: dict[str, str]) -> Iterator[SparkSession]:
    """Yield a session; stop it at the end unless it was already running."""
    require()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is None and "SPARK_REMOTE" not in os.environ:
        require_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # The command prints an error in one line; Spark would log a hundred lines before it.
    builder = SparkSession.builder.appName("watchword").config("spark.log.level", "FATAL")
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    if master is not None:
        builder = builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with clear_errors():
        session = builder.getOrCreate() if running is None else running
        try:
            yield session
        finally:
            if running is None:
                session.stop()


# Data


def format_of(data: tuple[str, ...], given: str | None) -> str:
    """Return the format of the data: the one given, or the one its file name implies."""
    if given is not None:
        return given
    name = data[0].removesuffix(".gz").rstrip("/*")
    found = _SUFFIXES.get(Path(name).suffix)
    if found is None and Path(name).is_dir():
        inside = [_SUFFIXES.get(path.suffix) for path in sorted(Path(name).iterdir())]
        found = next((one for one in inside if one is not None), None)
    if found is None:
        raise click.UsageError(f"unknown format of {data[0]!r} (use --format)")
    return found


def place(path: str) -> str:
    """Return an absolute path; Java may have another working directory. URLs stay unchanged."""
    return path if "://" in path else str(Path(path).absolute())


def read(session: SparkSession, data: tuple[str, ...], kind: str, **options: bool) -> DataFrame:
    """Read all data as a static frame."""
    from pyspark.errors import AnalysisException

    places = [place(path) for path in data]
    try:
        found = session.read.options(**options).format(kind).load(places)
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error):
            raise DataFormatError(f"{', '.join(data)}: no such file or folder") from None
        raise DataFormatError(f"{', '.join(data)} cannot be read as {kind}") from error
    return found.withColumnRenamed("value", "text") if kind == "text" else found


def labelled_files(session: SparkSession, data: tuple[str, ...], label: str) -> DataFrame:
    """Read files LABEL/ID.txt as rows of text and label."""
    from pyspark.sql import functions

    path = functions.regexp_replace(functions.col("_metadata.file_path"), r"\+", "%2B")
    parts = functions.split(functions.url_decode(path), "/")
    found = read(session, data, "text", wholetext=True, recursiveFileLookup=True)
    return found.select(functions.col("text"), functions.element_at(parts, -2).alias(label))


def with_titles(frame: DataFrame, text: str, title: str) -> DataFrame:
    """Return the frame with titles prepended to the texts, as the other commands read posts."""
    from pyspark.sql import functions

    require_text(frame, "text", text)
    if title not in frame.columns:
        return frame
    require_text(frame, "title", title)
    above, below = column(frame, title), column(frame, text)
    whole = functions.when(
        functions.length(above) > 0, functions.concat_ws("\n\n", above, below)
    ).otherwise(below)
    return frame.withColumn(text, functions.when(below.isNotNull(), whole))


def as_times(frame: DataFrame, name: str | None) -> DataFrame:
    """Return the frame with a column of text or naive times converted to timestamps."""
    from pyspark.sql.types import StringType, TimestampNTZType

    if name not in frame.columns:
        return frame
    if not isinstance(frame.schema[name].dataType, (StringType, TimestampNTZType)):
        return frame
    return frame.withColumn(name, column(frame, name).cast("timestamp"))


def stream(session: SparkSession, data: str, kind: str, columns: DataFrame) -> DataFrame:
    """Stream the files of a folder, or one file, with columns of these types."""
    reader = session.readStream.schema(columns.schema).format(kind)
    where = Path(data)
    if "://" not in data and where.is_file():  # Spark streams folders only
        return reader.option("pathGlobFilter", where.name).load(place(str(where.parent)))
    return reader.load(place(data))
