"""Arrow columns in worker processes, passed to the core without conversion to `str`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from watchword._checks import Label
from watchword.errors import DataFormatError
from watchword.model.engine import Engine
from watchword.model.native import TermBatch
from watchword.model.results import ConfidenceTable
from watchword.model.text import TextSource


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


def _not_text(error: ValueError) -> DataFormatError:
    return DataFormatError(f"a text column contains invalid text: {error}")
