"""Arrow columns in worker processes, passed to the core without conversion to `str`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from watchword._checks import Label
from watchword.errors import DataFormatError
from watchword.model.engine import Engine
from watchword.model.native import TermBatch
from watchword.model.results import ConfidenceTable
from watchword.model.text import TextSource
from watchword.spark.needs import quoted


def terms_of(column: Any, source: TextSource, *, learning: bool = False) -> TermBatch:
    """Return the terms of a column of texts, as `TextSource.read` does."""
    import pyarrow as pa

    if not source.is_plain or column.type != pa.string():
        return source.read(texts_of(column), learning=learning)
    data, offsets = buffers_of(column)
    try:
        return source.read_utf8(data, offsets, learning=learning)
    except ValueError as error:
        raise _not_text(error) from None


def confidence_of(column: Any, engine: Engine) -> ConfidenceTable:
    """Return the confidence vectors of a column of texts, as `TauSS3.confidence_table` does."""
    if engine.parameters.has_own_operators:
        return engine.confidence(texts_of(column), 1)
    engine.refuse_if_unreadable()
    labels, values = engine.native.confidence_terms(terms_of(column, engine.source))
    return ConfidenceTable(tuple(labels), values)


def labels_of(column: Any) -> list[Label]:
    """Return the labels of a column; equal labels share one object."""
    coded = column.dictionary_encode()
    names = coded.dictionary.to_pylist()
    return [names[code] for code in coded.indices.to_numpy().tolist()]


def texts_of(column: Any) -> list[str]:
    """Return the texts of a column."""
    try:
        texts: list[str] = column.to_pylist()
    except UnicodeDecodeError as error:
        raise _not_text(error) from None
    return texts


def buffers_of(column: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """Return the bytes and offsets of a column of strings or bytes, without a copy."""
    _, offsets, data = column.buffers()
    size = len(column)
    if offsets is None or not size:
        return np.empty(0, np.uint8), np.zeros(1, np.int32)
    places = np.frombuffer(offsets, np.int32, size + 1, column.offset * 4)
    return np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8), places


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


def rows_batch(labels: Sequence[Label], kind: Any, keys: Sequence[bytes], counts: Any) -> Any:
    """Return rows of counts, with labels of an Arrow type."""
    import pyarrow as pa

    columns = [pa.array(labels, kind), pa.array(keys, pa.binary()), pa.array(counts, pa.int64())]
    return pa.record_batch(columns, ["label", "ngram", "count"])


def _not_text(error: ValueError) -> DataFormatError:
    return DataFormatError(f"a text column contains invalid text: {error}")
