"""Labels, confidences and gains of the texts of a frame, read in Spark's Python workers.

`classify` is called on the driver; workers receive frozen dataclasses of plain data.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from watchword._checks import FloatArray, Label
from watchword.errors import DataFormatError, ModelFormatError
from watchword.model.engine import Engine, engine_of
from watchword.model.native import TermBatch
from watchword.model.parameters import Summary
from watchword.model.results import ConfidenceTable
from watchword.model.tau_ss3 import TauSS3
from watchword.model.text import TextSource, Tokenizer, WordHook, check_function
from watchword.spark.needs import (
    check_shippable,
    check_workers,
    column,
    quoted,
    require,
    require_free,
    require_text,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_open: dict[tuple[object, ...], TauSS3] = {}
_KEPT = 4  # models per process; a stream may switch to a new model


@dataclass(frozen=True)
class ModelFile:
    """A reference to a model file for workers: its path, and its identity."""

    path: str
    fingerprint: str | None = None
    functions: dict[str, Any] = field(default_factory=dict)  # arguments of `TauSS3.load`
    digest: str = ""  # of the functions; with other functions it is another model

    def open(self) -> TauSS3:
        """Return the model, shared by all calls in a process."""
        try:
            found = Path(self.path).stat()
        except OSError as error:
            raise ModelFormatError(
                f"a worker cannot read the model file {self.path} ({error.strerror}): put it under "
                "this path on every machine, on shared storage or as a copy"
            ) from None
        which = (found.st_ino, found.st_size, found.st_mtime_ns, self.fingerprint)
        key = (self.path, *which, self.digest)
        model = _open.get(key)
        if model is None:
            model = TauSS3.load(self.path, mapped=True, **self.functions)
            if self.fingerprint is not None and model.fingerprint != self.fingerprint:
                raise ModelFormatError(
                    f"a worker has another model file at {self.path} than the driver: "
                    "copy the same file to all machines"
                )
            if len(_open) >= _KEPT:
                _open.clear()
            _open[key] = model
        return model


def seen_by_driver(path: str | os.PathLike[str], **functions: object) -> tuple[ModelFile, TauSS3]:
    """Return the reference to a model file as seen by the driver, and the model in it.

    `functions` are those of `TauSS3.load`: `word_hook`, `tokenizer` and `summary`.
    """
    absolute = str(Path(path).expanduser().absolute())
    if not Path(absolute).is_file():
        raise ModelFormatError(f"model file {absolute} not found: the driver also needs it")
    for role, function in functions.items():
        if role != "summary":
            check_function(role, function)
        check_shippable(role, function)
    file = ModelFile(absolute, None, functions, _digest(*functions.values()))
    model = file.open()
    engine_of(model).refuse_if_unreadable()
    return replace(file, fingerprint=model.fingerprint), model


def _digest(*functions: object) -> str:
    """Return a digest of functions as sent to workers; empty without functions."""
    from pyspark import cloudpickle

    if all(function is None for function in functions):
        return ""
    dumps: Callable[[object], bytes] = cloudpickle.dumps
    return hashlib.sha256(dumps(functions)).hexdigest()


def classify(
    frame: DataFrame,
    model_path: str | os.PathLike[str],
    *,
    text: str = "text",
    label: str = "label",
    confidence: str = "confidence",
    word_hook: WordHook | None = None,
    tokenizer: Tokenizer | None = None,
    summary: Summary | None = None,
) -> DataFrame:
    """Return the frame with two more columns: the label and the confidences of each text.

    `label` and `confidence` are the names of the new columns; a confidence is a map from labels to
    numbers. Both equal those of `TauSS3.predict_many` and `confidence_many`. Streaming frames are
    supported. All workers must see the model file under the same path; each worker process opens it
    once, mapped into memory, so the processes of one machine share one copy. Pass functions that
    the model was trained with as to `TauSS3.load`.
    """
    require()
    from pyspark.sql import functions

    require_text(frame, "text", text)
    require_free(frame, "label", label)
    require_free(frame, "confidence", confidence)
    if label.lower() == confidence.lower():
        raise ValueError(f"label and confidence must be two columns, got {label!r} for both")
    file, model = seen_by_driver(
        model_path, word_hook=word_hook, tokenizer=tokenizer, summary=summary
    )
    check_workers(frame.sparkSession, file)
    labels = model.labels
    result = f"label {spark_label_type(labels)}, confidence array<double>"
    found = _reading(Classifying(file, text), result)(column(frame, text))
    values = functions.map_from_arrays(label_array(labels), found["confidence"])
    return frame.withColumns({label: found["label"], confidence: values})


def _reading(function: Classifying, result: str) -> Any:
    """Return an Arrow UDF of the text column: other columns stay in Spark, no text comes back."""
    import pyarrow as pa
    from pyspark.sql.pandas import functions

    def read(texts: Any) -> Any:
        return function(texts)

    # Spark infers the UDF type from these.
    read.__annotations__ = {"texts": pa.Array, "return": pa.Array}
    arrow_udf: Any = functions.arrow_udf  # its type stub has no structures
    return arrow_udf(read, result)


def spark_label_type(labels: tuple[Label, ...]) -> str:
    """Return the Spark type of a column of these labels."""
    return "long" if isinstance(labels[0], int) else "string"


def label_array(labels: tuple[Label, ...]) -> Column:
    """Return a column with the array of all labels in every row."""
    from pyspark.sql import functions

    kind = spark_label_type(labels)
    return functions.array(*(functions.lit(label).cast(kind) for label in labels))


# In workers


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
    kept: tuple[str, ...]  # columns to keep, the subject first
    named: tuple[str, ...]  # the user's names of these and of the text, for messages

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the kept columns, the gains as bytes, and the position in the source."""
        import pyarrow as pa

        engine, place = engine_of(self.model.open()), _first_place()
        called = dict(zip((*self.kept, "text"), self.named, strict=True))
        for batch in batches:
            *columns, texts = (refuse_null(batch, *names) for names in called.items())
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


def terms_of(column: Any, source: TextSource, *, learning: bool = False) -> TermBatch:
    """Return the terms of a column of texts, as `TextSource.read` does."""
    import pyarrow as pa

    if not source.is_plain or column.type != pa.string():
        return source.read(column_texts(column), learning=learning)
    data, offsets = buffers_of(column)
    try:
        return source.read_utf8(data, offsets, learning=learning)
    except ValueError as error:
        raise _not_text(error) from None


def confidence_of(column: Any, engine: Engine) -> ConfidenceTable:
    """Return the confidence vectors of a column of texts, as `TauSS3.confidence_table` does."""
    if engine.parameters.has_own_operators:
        return engine.confidence(column_texts(column), 1)
    engine.refuse_if_unreadable()
    labels, values = engine.native.confidence_terms(terms_of(column, engine.source))
    return ConfidenceTable(tuple(labels), values)


def labels_of(column: Any) -> list[Label]:
    """Return the labels of a column; equal labels share one object."""
    coded = column.dictionary_encode()
    names = coded.dictionary.to_pylist()
    return [names[code] for code in coded.indices.to_numpy().tolist()]


def column_texts(column: Any) -> list[str]:
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


def refuse_null(batch: Any, name: str, called: str) -> Any:
    """Return a column of a batch; raise if it contains null. `called` is its name in messages."""
    return without_null(batch.column(batch.schema.get_field_index(name)), called)


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
