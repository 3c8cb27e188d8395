"""Counting level by level: single words, then pairs of words that were kept, and so on.

An n-gram occurs no more often under a label than the shorter ones inside it. So one that is above
the floor consists of such ones, and no other needs to be counted, shuffled or dropped.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchword.model import TauSS3
from watchword.spark.counting import Counting, count_level
from watchword.spark.sorting import Dropped, add_up, fold, sorted_rows
from watchword.spark.writing import write_sorted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write_levels(
    path: Path, frame: DataFrame, model: TauSS3, counting: Counting, floor: int
) -> None:
    """Write the model of a frame whose n-grams are above the floor."""
    dropped, shortest = Dropped(), model.parameters["prune_shortest"]
    with tempfile.TemporaryDirectory(prefix="watchword-") as name:
        folder = Path(name)
        for length in range(1, counting.max_ngram + 1):
            rows = _level(frame, counting, length, _shipped(frame, folder, model, length))
            now = Dropped()
            _keep(_part(folder, length), sorted_rows(fold(rows, floor, shortest), now))
            dropped.ngrams += now.ngrams
            dropped.counts += now.counts
        write_sorted(
            path,
            _parts(folder, counting.max_ngram),
            parameters=model,
            pruned=(dropped.ngrams, dropped.counts),
        )


def _level(frame: DataFrame, counting: Counting, length: int, kept: str | None) -> DataFrame:
    """All n-grams of a length that can still be above the floor."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import SparkFiles

        path = "" if kept is None else SparkFiles.get(kept)
        return count_level(batches, counting, length=length, kept=path)

    label = frame.schema[counting.label].dataType.simpleString()
    return add_up(
        frame.mapInArrow(count, f"label {label}, ngram binary, count long"), counting.max_ngram
    )


def _shipped(frame: DataFrame, folder: Path, model: TauSS3, length: int) -> str | None:
    """Send what was kept of shorter n-grams to all workers; the name that they know it by."""
    if length == 1:
        return None
    path = folder / f"{folder.name}-{length - 1}.ww"
    shorter = model.parameters | {"max_ngram": length - 1}
    functions = {"word_hook": None, "tokenizer": None, "summary": "sum"}  # it is only looked up in
    write_sorted(
        path, _parts(folder, length - 1), parameters=TauSS3(**shorter | functions), pruned=(0, 0)
    )
    frame.sparkSession.addArtifacts(str(path), file=True)
    return path.name


def _part(folder: Path, length: int) -> Path:
    return folder / f"{length}.arrow"


def _keep(path: Path, batches: Iterator[Any]) -> None:
    import pyarrow as pa

    with path.open("wb") as file:
        writer = None
        for batch in batches:
            writer = writer or pa.ipc.new_stream(file, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()


def _parts(folder: Path, length: int) -> Iterator[Any]:
    """All rows of n-grams up to a length: shorter ones come first in the order of keys."""
    import pyarrow as pa

    for each in range(1, length + 1):
        path = _part(folder, each)
        if path.stat().st_size:
            with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
                yield from stream
