"""Reading texts inside Spark's Python workers: Arrow batches in, values out.

This module does not need pyspark; workers receive frozen dataclasses of plain data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from watchword._arrays import FloatArray
from watchword._checks import Label
from watchword.errors import DataFormatError
from watchword.model.engine import engine_of
from watchword.spark.columns import confidence_of
from watchword.spark.needs import quoted
from watchword.spark.opening import ModelFile


@dataclass(frozen=True)
class Classifying:
    """A callable that turns a column of texts into labels and lists of confidences."""

    model: ModelFile
    text: str  # the column's name, for messages

    def __call__(self, texts: Any) -> Any:
        """Return a structure of both for every text."""
        import pyarrow as pa

        model = self.model.open()
        table = confidence_of(without_null(texts, self.text), engine_of(model))
        found = pa.array(model.decide(table), arrow_label_type(table.labels))
        return pa.StructArray.from_arrays([found, _lists(table.values)], ["label", "confidence"])


@dataclass(frozen=True)
class Scoring:
    """A callable that turns posts into their gains per label (8 bytes each), without the text."""

    model: ModelFile
    text: str
    kept: tuple[str, ...]  # columns to keep, the subject first
    named: tuple[str, ...] = ()  # the user's names of these and of the text, for messages

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the kept columns, the gains as bytes, and the position in the source."""
        import pyarrow as pa

        model, place = self.model.open(), _first_place()
        names = (*self.kept, self.text)
        called = dict(zip(names, self.named or names, strict=True))
        for batch in batches:
            *columns, texts = (refuse_null(batch, name, called[name]) for name in names)
            engine = engine_of(model)
            gains = engine.evidence_of(confidence_of(texts, engine)).values
            places = pa.array(np.arange(place, place + batch.num_rows, dtype=np.int64))
            place += batch.num_rows
            yield pa.RecordBatch.from_arrays(
                [*columns, _blobs(gains), places], [*self.kept, "gains", "place"]
            )


def _first_place() -> int:
    """Return the first position of this partition, above those of earlier partitions."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId() << 33


def refuse_null(batch: Any, name: str, called: str | None = None) -> Any:
    """Return a column of a batch; raise if it contains null. `called` is its name in messages."""
    return without_null(batch.column(batch.schema.get_field_index(name)), called or name)


def without_null(column: Any, name: str) -> Any:
    """Return the column; raise if it contains null."""
    if column.null_count:
        shown = name if name.isidentifier() else quoted(name)
        raise DataFormatError(
            f"column {name!r} contains null: drop these rows with "
            f'frame.where("{shown} is not null")'
        )
    return column


def arrow_label_type(labels: Sequence[Label]) -> Any:
    """Return the Arrow type of the labels of a model."""
    import pyarrow as pa

    return pa.int64() if isinstance(labels[0], int) else pa.string()


def _lists(values: FloatArray) -> Any:
    import pyarrow as pa

    rows, columns = values.shape
    offsets = np.arange(0, rows * columns + 1, columns, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.reshape(-1)))


def _blobs(values: FloatArray) -> Any:
    import pyarrow as pa

    rows, columns = values.shape
    offsets = np.arange(0, 8 * rows * columns + 1, 8 * columns, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(values.astype("<f8").tobytes())]
    return pa.Array.from_buffers(pa.binary(), rows, buffers)
