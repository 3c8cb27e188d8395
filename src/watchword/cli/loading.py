"""Loading of what a command line names: models, texts, subjects, scores, Spark's frames."""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from watchword import TauSS3
from watchword._checks import Label
from watchword._display import many
from watchword.cli.base import find_label, message_of, warn
from watchword.data import Subject, read_folder, read_subjects
from watchword.data.folders import (
    folder_documents,
    has_subject_folders,
    is_clutter,
    label_file_documents,
)
from watchword.data.lines import BadLines, BadLinesChoice, Wait, name_of
from watchword.data.tables import kind_of
from watchword.data.texts import (
    TextRow,
    Texts,
    as_targets,
    batched,
    labelled,
    posts_of,
    read_batches,
)
from watchword.errors import DataFormatError
from watchword.evaluation import Scores
from watchword.evaluation.scores import By, read_post_scores
from watchword.spark.needs import clear_errors, column, require, require_java, require_text
from watchword.streams import FunctionModel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Format = Literal["jsonl", "csv", "folder", "label_files", "erisk", "erisk_context"]
FORMATS: tuple[Format, ...] = get_args(Format)

# As long as a line: users of the command line cannot raise Python's own limit.
csv.field_size_limit(1 << 28)

_REPORTED = 1000  # skipped lines that are reported one by one


_FUNCTION = re.compile(r"[\w.]+:[\w.]+")


def is_function(model: Path) -> bool:
    """Return whether a model is named like `module:function`, and not a file.

    >>> is_function(Path("own.scores:score")), is_function(Path("model.ww"))
    (True, False)
    """
    return _FUNCTION.fullmatch(str(model)) is not None and not model.exists()


def load_model(
    model: Path, positive: str, combination: dict[str, Any], *, labels: Sequence[Label] = ()
) -> TauSS3 | FunctionModel:
    """Load a model file or, for the positive label, a function named like `module:function`.

    `labels` are those of the data, which may be numbers.
    """
    if not is_function(model):
        if combination:
            raise click.UsageError(
                f"--combine is for scores of other classifiers, but {str(model)!r} is a model file"
            )
        return TauSS3.load(model)
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as `python -m` does
    label = find_label(positive, labels, where="the data") if labels else positive
    return FunctionModel.load(str(model), label, **combination)


def load_scores(path: Path, positive: str, combination: dict[str, Any], by: By) -> Scores:
    """Read the scores of posts by another classifier."""
    found = read_post_scores(str(path))
    labels = {label: None for label in found.truth if label is not None}
    label = find_label(positive, labels, where=str(path)) if labels else positive
    return Scores.from_posts(*found, positive=label, by=by, **combination)


@dataclass
class Loader:
    """Reads data by the options of a command, and counts the lines that were skipped."""

    format: Format | None = None
    names: dict[str, str] = field(default_factory=dict)
    bad_lines: BadLinesChoice = "error"
    label_separator: str | None = None
    skipped: int = 0

    def __post_init__(self) -> None:
        if self.label_separator == "":
            raise click.UsageError("--label-separator must not be empty")
        self.bad = BadLines(self.bad_lines, self._skip)

    def _skip(self, error: DataFormatError) -> None:
        self.skipped += 1
        if self.skipped <= _REPORTED:
            warn(f"skipped: {message_of(error)}")

    def report(self) -> None:
        """Print how many lines were skipped, if any."""
        if self.skipped:
            warn(f"skipped: {many(self.skipped, 'line')} in total")

    def format_of(self, source: str) -> Format:
        """Return the format of a source: the chosen one, or what its name says."""
        return self.format or kind_of(source)

    def subjects(self, source: str) -> list[Subject]:
        """Return all subjects of a source."""
        kind = self.format_of(source)
        options: dict[str, Any] = {"bad_lines": self.bad_lines, "on_bad_line": self._skip}
        if kind == "erisk" or kind == "erisk_context":
            return _erisk(source, kind)
        if kind == "label_files":
            raise click.UsageError("--format label_files has texts without subjects")
        if kind == "folder":
            try:
                return read_folder(source, **options)
            except DataFormatError as error:
                raise self._hinted(source, error) from None
        return read_subjects(source, kind=kind, **options, **self.names)

    def batches(
        self, sources: Sequence[str], *, streams: bool = False, wait: Wait | None = None
    ) -> Iterator[Texts]:
        """Yield all texts of sources as they arrive; with `streams`, the posts of subjects.

        Texts before an error are yielded before it is raised. See `Wait` for `wait`.
        """
        for source in sources:
            kind = self.format_of(source)
            if kind == "erisk" or kind == "erisk_context":
                yield from batched(posts_of(_erisk(source, kind)), source)
            elif kind == "folder" or kind == "label_files":
                yield from batched(self._folder(source, kind, streams=streams), source)
            else:
                yield from read_batches(
                    source,
                    self.names,
                    self.bad,
                    is_table=kind == "csv",
                    label_separator=self.label_separator,
                    wait=wait,
                )

    def labelled_texts(
        self, sources: Sequence[str], group: str | None, *, folds: int = 1
    ) -> tuple[list[str], list[Any], list[Hashable] | None]:
        """Return all texts, their labels, and their groups: values of the field `group`.

        The labels are one per text, or a tuple per text. By default a group is a subject; a text
        without a subject is its own group. Raises `ValueError` for fewer groups than `folds`.
        """
        if group is not None:
            self.names["subject"] = group
        items = list(chain.from_iterable(labelled(self.batches(sources), self.bad)))
        if not items:
            raise self.bad.nothing_in(", ".join(map(name_of, sources)), "texts with labels")
        texts = [item.text for item in items]
        labels = as_targets([item.label for item in items])
        if any(item.subject is not None for item in items):
            own: list[Hashable] = [
                index if one.subject is None else one.subject for index, one in enumerate(items)
            ]
            if (found := len(set(own))) < folds:
                kind = "subjects" if group is None else f"values of the field {group!r}"
                raise ValueError(f"{folds} folds need at least {folds} {kind}, got {found}")
            return texts, labels, own
        if group is not None:
            raise click.UsageError(f"no text has the field {group!r} of --group")
        return texts, labels, None

    def _folder(
        self, source: str, kind: Format, *, streams: bool
    ) -> Iterator[tuple[None, TextRow]]:
        if streams or (kind == "folder" and has_subject_folders(source)):
            yield from posts_of(self.subjects(source))
            return
        read = folder_documents if kind == "folder" else label_file_documents
        is_empty = kind == "folder"
        for document in read(source, self.bad):
            is_empty = False
            yield None, (document.text, document.label, document.id, None, None)
        if is_empty:
            empty = DataFormatError(f"there are no texts (.txt) in {source}")
            raise self._hinted(source, empty)

    def _hinted(self, source: str, error: DataFormatError) -> DataFormatError:
        """Return the error of a folder, with a hint if it may be a collection of eRisk."""
        found = chain.from_iterable(Path(source).rglob(name) for name in ("*.xml", "*.json"))
        files = (path.relative_to(source) for path in found)
        if self.format is None and any(not any(map(is_clutter, file.parts)) for file in files):
            return DataFormatError(
                f"{error.message}; for a collection of eRisk or MentalRiskES, use --format erisk"
            )
        return error


def _erisk(source: str, kind: Format) -> list[Subject]:
    """Read a collection of eRisk, with or without what others wrote to the subjects."""
    from watchword.erisk import read_erisk

    found = read_erisk(source)
    return [one.with_context() for one in found] if kind == "erisk_context" else found


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
