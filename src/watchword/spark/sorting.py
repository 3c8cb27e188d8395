"""Rows of counts inside Spark: summed, pruned, sorted, and sent to the driver.

Rows are those of `watchword.spark.counting`. The driver receives them as Arrow data, one partition
at a time: Spark's own rows would cost more than all the other steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watchword.spark.counting import DOCUMENTS, FIRST_WORD, WORDS
from watchword.spark.scoring import rows_batch

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_DROPPED = b"\x00p"  # key of the row with the number of dropped rows and their counts
_PIECE_ROWS = 1 << 17


@dataclass
class SideTotals:
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


def sorted_rows(rows: DataFrame, side: SideTotals) -> Iterator[Any]:
    """Yield record batches sorted by n-gram, then label; store totals in `aside`."""
    totals: list[Any] | None = []
    for batch in _pieces(rows.orderBy("ngram", "label")):
        first = _first_ngram(batch)
        if totals is not None and first:
            totals.append(batch.slice(0, first))
        if first < batch.num_rows:
            if totals is not None:
                yield from _known(totals, side)
                totals = None
            yield batch.slice(first).select(["label", "ngram", "count"])
    if totals:
        yield from _known(totals, side)


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


def _known(totals: list[Any], side: SideTotals) -> Iterator[Any]:
    """Yield the totals of labels with at least one document."""
    import pyarrow as pa

    table = pa.Table.from_batches(totals)
    found: dict[bytes, dict[Any, int]] = {DOCUMENTS: {}, WORDS: {}}
    for row in table.to_pylist():
        if row["ngram"] == _DROPPED:
            side.dropped_ngrams, side.dropped_counts = row["rows"], row["count"]
        else:
            found[row["ngram"]][row["label"]] = row["count"]
    side.documents = {label: count for label, count in found[DOCUMENTS].items() if count}
    left = [
        (label, key, counts[label])
        for key, counts in found.items()
        for label in side.documents
        if label in counts
    ]
    labels, keys, counts = zip(*left, strict=True) if left else ((), (), ())
    yield rows_batch(labels, table.schema.field("label").type, keys, counts)
