"""fit: a model of all texts of a frame, counted at once or level by level.

An n-gram occurs no more often under a label than the shorter n-grams inside it. An n-gram above the
floor therefore consists of n-grams above the floor, and no others need to be counted or shuffled.

Workers count their partitions in the core and return (label, n-gram, count); Spark sums, drops rare
n-grams if pruning is on, and sorts; the driver writes the sorted rows to a model file as they
arrive. Only kept n-grams reach the driver, and never all at once.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from watchword._checks import Label, as_whole
from watchword.errors import DataFormatError, UnlearnError
from watchword.model.engine import engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.spark.counting import (
    DOCUMENTS,
    CountingSettings,
    count_batches,
    count_level,
    rows_of,
    rows_schema,
)
from watchword.spark.needs import (
    check_shippable,
    check_workers,
    clear_errors,
    column,
    column_type,
    require,
    require_text,
)
from watchword.spark.scoring import rows_batch, seen_by_driver
from watchword.spark.writing import RowsError, SideTotals, add_up, fold, sorted_rows, write_sorted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SMALL = 1 << 16  # bytes of a shipped file


def write_levels(
    path: Path, frame: DataFrame, model: TauSS3, counting: CountingSettings, floor: int
) -> None:
    """Write the model of a frame with the n-grams above the floor."""
    shortest, ngrams, counts = model.parameters["prune_shortest"], 0, 0
    documents: dict[Any, int] = {}
    with tempfile.TemporaryDirectory(prefix="watchword-") as name, _emptied(Path(name).name):
        folder = Path(name)
        for length in range(1, counting.max_ngram + 1):
            rows = _level(frame, counting, length, _shipped(frame, folder, model, length))
            side = SideTotals()
            found = sorted_rows(fold(rows, floor, shortest), side)
            _keep(_part(folder, length), found, with_totals=length == 1)
            documents = documents or side.documents
            if documents != side.documents:
                raise DataFormatError(
                    "the frame returned other rows when it was read again, but levelwise needs "
                    "the same rows every time: save the frame first, or leave out levelwise"
                )
            ngrams += side.dropped_ngrams
            counts += side.dropped_counts
        write_sorted(
            path, _parts(folder, counting.max_ngram), parameters=model, pruned=(ngrams, counts)
        )


def _level(
    frame: DataFrame, counting: CountingSettings, length: int, kept: str | None
) -> DataFrame:
    """Return all n-grams of a length that can still be above the floor."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import SparkFiles

        if kept is None:
            yield from count_level(batches, counting, length=1, kept="")
            return
        seen = _Seen()
        path = SparkFiles.get(kept)
        yield from count_level(seen.passed(batches), counting, length=length, kept=path)
        yield from seen.rows()

    label = frame.schema["label"].dataType.simpleString()
    return add_up(frame.mapInArrow(count, rows_schema(label)), counting.max_ngram)


class _Seen:
    """A count of documents per label, to detect a frame that changes between reads."""

    def __init__(self) -> None:
        self._counts: Counter[Label] = Counter()
        self._kind: Any = None

    def passed(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            column = batch.column(batch.schema.get_field_index("label"))
            self._kind = column.type
            for pair in column.value_counts().to_pylist():
                self._counts[pair["values"]] += pair["counts"]
            yield batch

    def rows(self) -> Iterator[Any]:
        if self._counts:
            labels, counts = list(self._counts), list(self._counts.values())
            yield rows_batch(labels, self._kind, [DOCUMENTS] * len(labels), counts)


def _shipped(frame: DataFrame, folder: Path, model: TauSS3, length: int) -> str | None:
    """Send the kept shorter n-grams to all workers; return the name of the file."""
    if length == 1:
        return None
    path = _shipping_folder() / f"{folder.name}-{length - 1}.ww"
    shorter = model.parameters | {"max_ngram": length - 1}
    functions = {"word_hook": None, "tokenizer": None, "summary": "sum"}  # used for lookups only
    write_sorted(
        path, _parts(folder, length - 1), parameters=TauSS3(**shorter | functions), pruned=(0, 0)
    )
    frame.sparkSession.addArtifacts(str(path), file=True)
    return path.name


@lru_cache(maxsize=1)
def _shipping_folder() -> Path:
    """Return the folder of shipped files, which exists until this process ends.

    An executor that starts later, to replace one that died, fetches all files ever sent, and fails
    if one is missing.
    """
    folder = Path(tempfile.mkdtemp(prefix="watchword-sent-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def _emptied(name: str) -> Iterator[None]:
    """Empty the files sent under this name afterwards; the files themselves must stay."""
    try:
        yield
    finally:
        for path in _shipping_folder().glob(f"{name}-*.ww"):
            # A small file may never have been fetched: without texts, no task has run.
            if path.stat().st_size > _SMALL:
                path.write_bytes(b"")


def _part(folder: Path, length: int) -> Path:
    return folder / f"{length}.arrow"


def _keep(path: Path, batches: Iterator[Any], *, with_totals: bool) -> None:
    import pyarrow as pa

    with path.open("wb") as file:
        writer = None
        for place, batch in enumerate(batches):
            if place == 0 and not with_totals:
                continue
            writer = writer or pa.ipc.new_stream(file, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()


def _parts(folder: Path, length: int) -> Iterator[Any]:
    """Yield all rows of n-grams up to a length; shorter ones come first in key order."""
    import pyarrow as pa

    for each in range(1, length + 1):
        path = _part(folder, each)
        if path.stat().st_size:
            with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
                yield from stream


class _CountingJob(NamedTuple):
    """A counting job: the rows to count, and the parameters of the resulting model."""

    frame: DataFrame
    model: TauSS3  # empty
    counting: CountingSettings
    base: DataFrame | None  # rows of the model to add to
    floor: int | None


def fit(
    frame: DataFrame,
    *,
    text: str = "text",
    label: str = "label",
    prune: int | None = None,
    add_to: TauSS3 | str | os.PathLike[str] | None = None,
    levelwise: bool = False,
    most_ngrams: int = CountingSettings.most_ngrams,
    **parameters: Any,
) -> TauSS3:
    """Return a model trained on all texts of a frame, as `TauSS3.learn_many` does.

    Parameters
    ----------
    frame
        any frame with a text and a label per row.
    text, label
        the names of these columns; labels are strings or integers.
    prune
        drop n-grams with this count or less under a label after counting, as `TauSS3.prune` does;
        n-grams shorter than the parameter `prune_shortest` stay. By default all are kept.
    add_to
        an unpruned model, or a model file that workers can read, to continue from.
    levelwise
        with `prune`: count single words first, then only pairs of kept words, and so on. The counts
        are the same and far less is shuffled, but the frame is read once per n-gram length and must
        give the same rows every time. The model's pruning statistics cover only the n-grams that
        were counted.
    most_ngrams
        the number of n-grams that a worker holds before it returns them, at about 40 bytes each.
    parameters
        parameters of `TauSS3`; `**model.parameters` copies those of a model. Pruning while learning
        (`prune_period`) is rejected: its result depends on the order of texts.

    The model is written to a temporary file on the driver. If it does not fit into the driver's
    memory, use `fit_file`.
    """
    job = _job(frame, text, label, prune, add_to, most_ngrams, parameters)
    return _model_of(job, levelwise=levelwise)


def fit_file(
    frame: DataFrame,
    path: str | os.PathLike[str],
    *,
    text: str = "text",
    label: str = "label",
    prune: int | None = None,
    add_to: TauSS3 | str | os.PathLike[str] | None = None,
    levelwise: bool = False,
    most_ngrams: int = CountingSettings.most_ngrams,
    **parameters: Any,
) -> None:
    """Write the model of `fit` to a file on the driver, atomically.

    Only the vocabulary of the model is held in memory. The file equals that of `TauSS3.save`.
    """
    job = _job(frame, text, label, prune, add_to, most_ngrams, parameters)
    _write(Path(path), job, levelwise=levelwise)


def unlearn(
    frame: DataFrame,
    model: TauSS3 | str | os.PathLike[str],
    *,
    text: str = "text",
    label: str = "label",
    most_ngrams: int = CountingSettings.most_ngrams,
) -> TauSS3:
    """Return the model without the texts of a frame, as if it had never learnt them.

    Raise `UnlearnError` if not all of them can have been learnt, and `PrunedModelError` if the
    model was pruned. The given model is not changed.
    """
    return _model_of(_job(frame, text, label, None, model, most_ngrams, {}, sign=-1))


def _job(
    frame: DataFrame,
    text: str,
    label: str,
    floor: int | None,
    add_to: TauSS3 | str | os.PathLike[str] | None,
    most_ngrams: int,
    parameters: dict[str, Any],
    *,
    sign: int = 1,
) -> _CountingJob:
    require()
    require_text(frame, "text", text)
    if frame.isStreaming:
        raise DataFormatError(
            "cannot learn from a streaming frame, which has no end: pass a static frame"
        )
    if floor is not None:
        floor = as_whole("prune", floor, 0)
    model, base = _begun(frame, add_to, parameters)
    own = model.parameters
    if own["prune_period"] is not None:
        raise ValueError(
            "prune_period must be None: pruning while learning depends on the order of texts, "
            "and a cluster has none; use prune, which drops rare n-grams once, after counting"
        )
    for role in ("word_hook", "tokenizer"):
        check_shippable(role, own[role])
    counting = CountingSettings(
        text=text,
        label=label,
        **{one.name: own[one.name] for one in fields(CountingSettings) if one.name in own},
        most_ngrams=as_whole("most_ngrams", most_ngrams, 1),
        sign=sign,
    )
    chosen = frame.select(column(frame, text).alias("text"), _label_column(frame, label))
    check_workers(frame.sparkSession)
    return _CountingJob(chosen, model, counting, base, floor)


def _begun(
    frame: DataFrame, add_to: TauSS3 | str | os.PathLike[str] | None, parameters: dict[str, Any]
) -> tuple[TauSS3, DataFrame | None]:
    """Return an empty model with all parameters, and the rows of the model to add to."""
    import pyarrow as pa

    if add_to is None:
        return TauSS3(**parameters), None
    session = frame.sparkSession
    if isinstance(add_to, TauSS3):
        known, batches = add_to, list(rows_of(add_to))
        rows = session.createDataFrame(pa.Table.from_batches(batches)) if batches else None
    else:
        functions = {name: parameters.get(name) for name in ("word_hook", "tokenizer", "summary")}
        file, known = seen_by_driver(add_to, **functions)
        engine_of(known).refuse_if_pruned("counting on from this model")
        kind = "long" if isinstance(known.labels[0], int) else "string"
        rows = session.range(0, 1, 1, 1).mapInArrow(
            lambda batches: (
                row for batch in batches if batch.num_rows for row in rows_of(file.open())
            ),
            rows_schema(kind),
        )
    if known.refinement is not None:
        raise ValueError(
            "cannot add to a refined model: Spark counts, but does not fit corrections; call "
            "drop_refinement() first, and refine() the result"
        )
    own = known.replace(**parameters).parameters
    return TauSS3(**own), rows


def _label_column(frame: DataFrame, label: str) -> Any:
    """Return the label column as strings or 64-bit integers."""
    from pyspark.sql.types import IntegralType, StringType

    kind = column_type(frame, "label", label)
    if isinstance(kind, IntegralType):
        return column(frame, label).cast("long").alias("label")
    if isinstance(kind, StringType):
        return column(frame, label).alias("label")
    raise DataFormatError(
        f"column {label!r} for label must hold strings or whole numbers, "
        f"but is {kind.simpleString()}"
    )


def _write(path: Path, job: _CountingJob, *, levelwise: bool) -> None:
    with clear_errors():
        if levelwise:
            if job.floor is None or job.base is not None:
                raise ValueError("levelwise requires prune, and cannot be combined with add_to")
            write_levels(path, job.frame, job.model, job.counting, job.floor)
            return
        side = SideTotals()
        rows = sorted_rows(_counted(job), side)
        if job.counting.sign < 0:
            rows = _without_negatives(rows)
        dropped = None if job.floor is None else side.dropped
        try:
            write_sorted(path, rows, parameters=job.model, pruned=dropped)
        except RowsError as error:
            if job.counting.sign > 0:
                raise
            raise UnlearnError(
                "cannot unlearn this frame: not all of its texts were learnt"
            ) from error


def _counted(job: _CountingJob) -> DataFrame:
    """Return the summed rows; with pruning, without those that are dropped."""
    how, label = job.counting, job.frame.schema["label"].dataType
    schema = rows_schema(label.simpleString())
    rows = job.frame.mapInArrow(lambda batches: count_batches(batches, how), schema)
    if job.base is not None:
        if job.base.schema["label"].dataType != rows.schema["label"].dataType:
            raise DataFormatError(
                f"column {how.label!r} has labels of another type than the model: all must be "
                "strings, or all whole numbers"
            )
        rows = rows.unionByName(job.base)
    summed = add_up(rows, how.max_ngram)
    if job.floor is None:
        return summed
    return fold(summed, job.floor, job.model.parameters["prune_shortest"])


def _without_negatives(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow.compute as pc

    for batch in batches:
        counts = batch.column("count")
        if batch.num_rows and pc.min(counts).as_py() < 0:
            row = batch.filter(pc.less(counts, 0)).slice(0, 1).to_pylist()[0]
            raise UnlearnError(
                f"cannot unlearn this frame from {row['label']!r}: not all of its texts were learnt"
            )
        yield batch


def _model_of(job: _CountingJob, *, levelwise: bool = False) -> TauSS3:
    """Return the model of a job, by way of a temporary file."""
    own = job.model.parameters
    functions = {name: own[name] for name in ("word_hook", "tokenizer", "summary")}
    with tempfile.TemporaryDirectory(prefix="watchword-") as folder:
        path = Path(folder) / "model.ww"
        _write(path, job, levelwise=levelwise)
        return TauSS3.load(path, **functions)
