"""Rows of counts inside Spark: summed, pruned, sorted, and sent to the driver.

Rows are those of `watchword.spark.counting`. The driver receives them as Arrow data, one partition
at a time: Spark's own rows would cost more than all the other steps.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchword._checks import Label
from watchword.errors import DataFormatError
from watchword.model.tau_ss3 import TauSS3
from watchword.spark.counting import (
    DOCUMENTS,
    FIRST_WORD,
    WORDS,
    Counting,
    count_level,
    rows_schema,
)
from watchword.spark.scoring import rows_batch
from watchword.spark.writing import write_sorted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_DROPPED = b"\x00p"  # key of the row with the number of dropped rows and their counts
_PIECE_ROWS = 1 << 17


@dataclass
class Aside:
    """Totals that accompany the rows of n-grams."""

    dropped_ngrams: int = 0  # by a floor; counted per label
    dropped_counts: int = 0
    documents: dict[Any, int] = field(default_factory=dict)  # by label

    def dropped(self) -> tuple[int, int]:
        """Return the numbers of dropped n-grams and counts."""
        return self.dropped_ngrams, self.dropped_counts


def add_up(rows: DataFrame, max_ngram: int) -> DataFrame:
    """Sum the rows per label and n-gram, without n-grams of count 0."""
    from pyspark.sql import functions

    if max_ngram < 255:  # the model to add to may have longer n-grams
        rows = rows.where(functions.col("ngram") < _key(bytes([max_ngram + 1])))
    summed = rows.groupBy("label", "ngram").agg(functions.sum("count").alias("count"))
    return summed.where((functions.col("count") != 0) | (functions.col("ngram") < _key(FIRST_WORD)))


def fold(summed: DataFrame, floor: int, shortest: int) -> DataFrame:
    """Return the rows above the floor, and one row with the totals of the dropped ones.

    This takes one pass: dropped rows are summed under one key, next to the kept rows.
    """
    from pyspark.sql import functions

    ngram, count = functions.col("ngram"), functions.col("count")
    rare = (ngram >= _key(bytes([shortest]))) & (count <= floor)
    return (
        summed.select(
            functions.when(~rare, functions.col("label")).alias("label"),
            functions.when(rare, _key(_DROPPED)).otherwise(ngram).alias("ngram"),
            count,
        )
        .groupBy("label", "ngram")
        .agg(functions.sum("count").alias("count"), functions.count("count").alias("rows"))
    )


def sorted_rows(rows: DataFrame, aside: Aside) -> Iterator[Any]:
    """Yield record batches sorted by n-gram, then label; store totals in `aside`."""
    totals: list[Any] | None = []
    for batch in _pieces(rows.orderBy("ngram", "label")):
        first = _first_ngram(batch)
        if totals is not None and first:
            totals.append(batch.slice(0, first))
        if first < batch.num_rows:
            if totals is not None:
                yield from _known(totals, aside)
                totals = None
            yield batch.slice(first).select(["label", "ngram", "count"])
    if totals:
        yield from _known(totals, aside)


def _key(key: bytes) -> Column:
    from pyspark.sql import functions

    return functions.lit(bytearray(key))


def _pieces(rows: DataFrame) -> Iterator[Any]:
    """Yield the rows as Arrow data, one partition after the other."""
    import pyarrow as pa

    for row in rows.mapInArrow(_packed, "piece binary").toLocalIterator(prefetchPartitions=True):
        with pa.ipc.open_stream(pa.py_buffer(bytes(row["piece"]))) as piece:
            yield from piece


def _packed(batches: Iterator[Any]) -> Iterator[Any]:
    """Pack many rows into one in the Arrow IPC format (in a worker)."""
    held: list[Any] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.num_rows
        if size >= _PIECE_ROWS:
            yield _piece(held)
            held, size = [], 0
    if size:
        yield _piece(held)


def _piece(batches: list[Any]) -> Any:
    import pyarrow as pa

    table = pa.Table.from_batches(batches).combine_chunks()
    buffer = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(buffer, table.schema, options=options) as file:
        file.write_table(table)
    return pa.record_batch([pa.array([buffer.getvalue().to_pybytes()], pa.binary())], ["piece"])


def _first_ngram(batch: Any) -> int:
    """Return the number of rows of totals before the first n-gram."""
    import pyarrow as pa
    import pyarrow.compute as pc

    below = pc.less(batch.column("ngram"), pa.scalar(FIRST_WORD, pa.binary()))
    return int(pc.sum(below).as_py() or 0)


def _known(totals: list[Any], aside: Aside) -> Iterator[Any]:
    """Yield the totals of labels with at least one document."""
    import pyarrow as pa

    table = pa.Table.from_batches(totals)
    found: dict[bytes, dict[Any, int]] = {DOCUMENTS: {}, WORDS: {}}
    for row in table.to_pylist():
        if row["ngram"] == _DROPPED:
            aside.dropped_ngrams, aside.dropped_counts = row["rows"], row["count"]
        else:
            found[row["ngram"]][row["label"]] = row["count"]
    aside.documents = {label: count for label, count in found[DOCUMENTS].items() if count}
    left = [
        (label, key, counts[label])
        for key, counts in found.items()
        for label in aside.documents
        if label in counts
    ]
    labels, keys, counts = zip(*left, strict=True) if left else ((), (), ())
    yield rows_batch(labels, table.schema.field("label").type, keys, counts)


_SMALL = 1 << 16  # bytes of a shipped file


def write_levels(
    path: Path, frame: DataFrame, model: TauSS3, counting: Counting, floor: int
) -> None:
    """Write the model of a frame with the n-grams above the floor."""
    shortest, ngrams, counts = model.parameters["prune_shortest"], 0, 0
    documents: dict[Any, int] = {}
    with tempfile.TemporaryDirectory(prefix="watchword-") as name, _emptied(Path(name).name):
        folder = Path(name)
        for length in range(1, counting.max_ngram + 1):
            rows = _level(frame, counting, length, _shipped(frame, folder, model, length))
            aside = Aside()
            found = sorted_rows(fold(rows, floor, shortest), aside)
            _keep(_part(folder, length), found, with_totals=length == 1)
            documents = documents or aside.documents
            if documents != aside.documents:
                raise DataFormatError(
                    "the frame returned other rows when it was read again, but levelwise needs "
                    "the same rows every time: save the frame first, or leave out levelwise"
                )
            ngrams += aside.dropped_ngrams
            counts += aside.dropped_counts
        write_sorted(
            path, _parts(folder, counting.max_ngram), parameters=model, pruned=(ngrams, counts)
        )


def _level(frame: DataFrame, counting: Counting, length: int, kept: str | None) -> DataFrame:
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
