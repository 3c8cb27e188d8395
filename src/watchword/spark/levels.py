"""Counting level by level: single words, then pairs of words that were kept, and so on.

An n-gram occurs no more often under a label than the shorter n-grams inside it. An n-gram above the
floor therefore consists of n-grams above the floor, and no others need to be counted or shuffled.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchword._checks import Label
from watchword.errors import DataFormatError
from watchword.model.tau_ss3 import TauSS3
from watchword.spark.counting import DOCUMENTS, CountingSettings, count_level, rows_schema
from watchword.spark.scoring import rows_batch
from watchword.spark.sorting import SideTotals, add_up, fold, sorted_rows
from watchword.spark.writing import write_sorted

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
