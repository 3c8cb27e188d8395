"""Rows of counts inside Spark: summed, pruned, sorted, written as a model file.

Rows are those of `watchword.spark.counting`. The driver receives them as Arrow data, one partition
at a time: Spark's own rows would cost more than all the other steps.

Rows are those of `watchword.spark.counting`, summed, sorted by n-gram and then by label, from any
source: this module needs Arrow but not Spark. Arrays grow in files next to the target and are
combined at the end (docs/model-file.md, "As a stream"); only the vocabulary is held in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from watchword._checks import Label
from watchword._files import atomic_file, scratch_folder
from watchword.errors import DataFormatError
from watchword.model.engine import engine_of
from watchword.model.file import codec, container, layout
from watchword.model.native import Assembler, RowsFailure, max_count
from watchword.model.tau_ss3 import TauSS3
from watchword.spark.counting import DOCUMENTS, FIRST_WORD, WORDS, label_type
from watchword.spark.scoring import buffers_of, rows_batch

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


PrunedCounts = tuple[int, int]


class RowsError(DataFormatError):
    """Rows of counts that do not form a valid model."""


_PIECE = 1 << 20  # numbers to narrow at a time
_WIDE = {"words": "<u4", "labels": "<u4", "ranks": "<u4", "word_bytes": "|u1"}  # others: <u8


def write_sorted(
    path: str | os.PathLike[str],
    batches: Iterable[Any],
    *,
    parameters: TauSS3,
    pruned: PrunedCounts | Callable[[], PrunedCounts] | None = None,
) -> None:
    """Write the model file of rows of counts: the same bytes as `TauSS3.save`.

    `batches` are Arrow record batches of `label`, `ngram`, `count`, sorted by n-gram, then label.
    `parameters` is an empty model with the parameters. `pruned` marks the model as pruned: the
    numbers of dropped n-grams (per label) and counts, or a function called for them at the end.
    """
    try:
        with (
            atomic_file(path) as file,
            scratch_folder(path) as folder,
            closing(_GrowingModel(folder, parameters)) as writing,
        ):
            writing.add_all(batches)
            manifest, arrays = writing.finish(pruned() if callable(pruned) else pruned)
            container.write_model(file, manifest, arrays)
    except RowsFailure as error:
        raise RowsError(f"invalid rows of counts: {error}") from None


class _GrowingArray:
    """An array that grows in a file."""

    def __init__(self, path: Path, dtype: str) -> None:
        self._path = path
        self._file = path.open("wb")
        self._dtype = np.dtype(dtype)
        self.size = 0
        self.largest = 0

    def append(self, values: npt.NDArray[Any]) -> None:
        if values.size:
            self._file.write(values.astype(self._dtype, copy=False).data)
            self.size += values.size
            self.largest = max(self.largest, int(values.max()))

    def close(self) -> None:
        self._file.close()

    def mapped(self) -> npt.NDArray[Any]:
        """Return the array, mapped; nothing can be appended afterwards."""
        self.close()
        return _mapped(self._path, self._dtype, self.size)

    def narrowed(self, least_width: int) -> npt.NDArray[Any]:
        """Return the array in the narrowest type; nothing can be appended afterwards."""
        array = self.mapped()
        dtype = layout.narrowest(self.largest, least_width)
        if array.dtype == dtype:
            return array
        narrow = self._path.with_suffix(".narrow")
        with narrow.open("wb") as file:
            for begin in range(0, array.size, _PIECE):
                file.write(array[begin : begin + _PIECE].astype(dtype).data)
        del array
        self._path.unlink()
        return _mapped(narrow, dtype, self.size)


def _mapped(path: Path, dtype: np.dtype[Any], size: int) -> npt.NDArray[Any]:
    return np.memmap(path, dtype, "r", shape=(size,)) if size else np.empty(0, dtype)


class _GrowingModel:
    """The growing arrays of one model."""

    def __init__(self, folder: Path, parameters: TauSS3) -> None:
        self._folder = folder
        self._engine = engine_of(parameters)
        self._max_ngram = self._engine.parameters.max_ngram
        self._columns: dict[str, _GrowingArray] = {}
        self._totals: dict[bytes, dict[Label, int]] = {DOCUMENTS: {}, WORDS: {}}
        self._label_type: Any = None  # of Arrow
        self._labels: Any = None  # and all labels in it
        self._core: Assembler | None = None
        self._above = np.empty(0, np.uint32)

    def close(self) -> None:
        for column in self._columns.values():
            column.close()

    # Rows

    def add_all(self, batches: Iterable[Any]) -> None:
        for batch in batches:
            for rows in _by_length(batch):
                self._add(rows)

    def _add(self, batch: Any) -> None:
        keys, offsets = _key_buffers(batch.column("ngram"))
        first = keys[offsets[0]]
        if first < FIRST_WORD[0]:
            self._add_totals(batch)
            return
        if first > self._max_ngram:
            raise RowsFailure(f"an n-gram has {first} words, but max_ngram is {self._max_ngram}")
        core = self._begun()
        while core.length() < first:
            self._end_length(core)
        labels = _positions(batch.column("label"), self._labels)
        counts = np.ascontiguousarray(
            batch.column("count").to_numpy(zero_copy_only=False), np.int64
        )
        self._append(core.length(), core.add(keys, offsets, labels, counts, self._above))

    def _add_totals(self, batch: Any) -> None:
        if self._core is not None:
            raise RowsFailure("not sorted, totals must come before n-grams")
        for row in batch.to_pylist():
            known = self._totals.get(row["ngram"])
            if known is None:
                raise RowsFailure(f"unknown key {row['ngram']!r}")
            if known and row["label"] <= next(reversed(known)):
                raise RowsFailure("labels are not sorted, or repeat")
            known[row["label"]] = row["count"]
        self._label_type = label_type(batch.column("label").type)

    def _begun(self) -> Assembler:
        """Return the assembler of the core, which needs the labels first."""
        if self._core is None:
            import pyarrow as pa

            names = list(self._totals[DOCUMENTS])
            if not names or not self._totals[WORDS].keys() <= self._totals[DOCUMENTS].keys():
                raise RowsFailure("the number of documents of a label is missing")
            self._labels = pa.array(names, self._label_type)
            self._core = Assembler(self._max_ngram, len(names))
        return self._core

    def _end_length(self, core: Assembler) -> None:
        length = core.length()
        if length > 1:  # the offset of the first children; the core gives their ends
            self._column(length - 1, "children")
        self._append(length, core.end_length(self._above))
        if 1 < length < self._max_ngram:
            self._above = self._column(length, "ranks").mapped()

    def _append(self, length: int, parts: dict[str, npt.NDArray[Any]]) -> None:
        for name, values in parts.items():
            if values.size:
                self._column(length - 1 if name == "children" else length, name).append(values)

    def _column(self, length: int, name: str) -> _GrowingArray:
        label = f"{name}{length}"
        if label not in self._columns:
            column = _GrowingArray(self._folder / label, _WIDE.get(name, "<u8"))
            self._columns[label] = column
            if name == "children":
                column.append(np.zeros(1, np.uint64))
        return self._columns[label]

    # The file

    def finish(self, pruned: PrunedCounts | None) -> tuple[dict[str, Any], container.Arrays]:
        """Return the manifest and the arrays, which stay in their files."""
        maxima = np.empty(0, np.uint64)
        if self._totals[DOCUMENTS]:
            core = self._begun()
            while core.length() <= self._max_ngram:
                self._end_length(core)
            maxima = core.maxima()
        else:  # nothing was learnt
            for length in range(1, self._max_ngram + 1):
                self._column(length, "rows").append(np.zeros(1, np.uint64))
                self._column(length, "children")
            self._column(1, "word_offsets").append(np.zeros(1, np.uint64))
        arrays: container.Arrays = {
            "words.bytes": self._column(1, "word_bytes").mapped(),
            "words.offsets": self._column(1, "word_offsets").narrowed(4),
            "maxima": maxima.astype(layout.narrowest(int(maxima.max(initial=0)), 4)),
        }
        for length in range(1, self._max_ngram + 1):
            for name in layout.array_names(length, self._max_ngram):
                column = self._column(length, name)
                arrays[f"ngrams{length}.{name}"] = column.narrowed(1 if name == "labels" else 4)
        ngrams, counts = pruned or (0, 0)
        return {
            "labels": list(self._label_entries()),
            "pruned": {"ngrams": ngrams, "counts": counts, "was_pruned": ngrams > 0},
            "words_since_prune": 0,
        } | codec.settings_of(self._engine), arrays

    def _label_entries(self) -> Iterator[dict[str, Any]]:
        for label, documents in self._totals[DOCUMENTS].items():
            words = self._totals[WORDS].get(label, 0)  # rows with count 0 may be missing
            if not 1 <= documents <= max_count:
                raise RowsFailure(f"label {label!r} has {documents} documents")
            if not 0 <= words <= max_count:
                raise RowsFailure(f"label {label!r} has {words} words")
            yield {"label": label, "documents": documents, "words": words}


def _by_length(batch: Any) -> Iterator[Any]:
    """Yield the parts of a batch with n-grams of equal length; the core handles empty keys."""
    if batch.num_rows == 0:
        return
    keys, offsets = _key_buffers(batch.column("ngram"))
    if (np.diff(offsets) < 1).any():
        raise RowsFailure("an n-gram is missing")
    lengths = keys[offsets[:-1]]
    changes = (np.flatnonzero(np.diff(lengths)) + 1).tolist()
    for begin, end in zip([0, *changes], [*changes, batch.num_rows], strict=True):
        yield batch.slice(begin, end - begin)


def _key_buffers(column: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """Return the bytes and offsets of a binary Arrow column."""
    import pyarrow as pa

    if column.type != pa.binary():
        column = column.cast(pa.binary())
    if column.null_count:
        raise RowsFailure("an n-gram is missing")
    return buffers_of(column)


def _positions(column: Any, labels: Any) -> npt.NDArray[np.int32]:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(column.cast(labels.type), value_set=labels)
    filled = pc.fill_null(found, pa.scalar(-1, pa.int32()))
    return np.ascontiguousarray(filled.to_numpy(), np.int32)
