r"""Counting inside Spark's Python workers: batches of Arrow in, rows of counts out.

A row is a label, an n-gram and a count. The n-gram is a key whose bytes sort in the order of model
files: one byte for its number of words, then the words in UTF-8 separated by zeros (zeros and ones
inside a word, which only a user's function can produce, become `\x01\x01` and `\x01\x02`). The
totals of a label are rows with the keys `DOCUMENTS` and `WORDS`, which sort before all n-grams. The
rows of all partitions are summed by label and key and sorted; `watchword.spark.writing` writes them
to a model file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from watchword._checks import Label
from watchword.errors import DataFormatError
from watchword.model.engine import Engine, engine_of
from watchword.model.native import LevelCounter, TermBatch
from watchword.model.parameters import Parameters
from watchword.model.tau_ss3 import TauSS3
from watchword.model.text import TextSource, Tokenizer, WordHook
from watchword.spark.scoring import (
    ModelFile,
    arrow_label_type,
    labels_of,
    refuse_null,
    rows_batch,
    terms_of,
)

DOCUMENTS = b"\x00d"
WORDS = b"\x00w"
FIRST_WORD = b"\x01"  # the smallest key of an n-gram

# Rows per batch, and bytes to read (approximately) between checks of the memory in use.
_BATCH_ROWS = 1 << 16
_SLICE_BYTES = 1 << 22

CountRows = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class CountingSettings:
    """The settings of counting: text processing and memory limits.

    Batches have the columns `text` and `label`; the fields hold the user's names for them.
    """

    text: str  # its name in messages
    label: str
    max_ngram: int = Parameters.max_ngram
    counting: str = Parameters.counting
    paragraphs: str = Parameters.paragraphs
    tokenization: str = Parameters.tokenization
    word_hook: WordHook | None = None
    tokenizer: Tokenizer | None = None
    most_ngrams: int = 1 << 22  # held at once, at about 40 bytes each
    sign: int = 1  # -1 takes documents back

    @property
    def source(self) -> TextSource:
        """The source that splits texts into words."""
        return TextSource(
            self.paragraphs, self.tokenization, word_hook=self.word_hook, tokenizer=self.tokenizer
        )


def count_batches(batches: Iterator[Any], how: CountingSettings) -> Iterator[Any]:
    """Yield the n-grams of all texts as rows of counts; an n-gram may occur in several rows."""
    own: dict[str, Any] = {
        name: getattr(how, name) for name in ("max_ngram", "counting", "paragraphs", "tokenization")
    }
    engine = Engine.empty(Parameters(**own), how.source)
    kind = None
    for terms, labels, kind in _slices(batches, how):
        engine.native.learn_terms(terms, labels)
        if engine.native.size() >= how.most_ngrams:
            yield from _drained(engine, kind, how.sign)
    if kind is not None:
        yield from _drained(engine, kind, how.sign)


def count_level(
    batches: Iterator[Any], how: CountingSettings, *, length: int, kept: str | os.PathLike[str]
) -> Iterator[Any]:
    """Yield the n-grams of exactly this length that can still be frequent, as rows of counts.

    These are the n-grams whose first and last `length` - 1 words are n-grams of the model file
    `kept` under the same label. Single words need no such file; their rows include label totals.
    """
    if length == 1:
        yield from count_batches(batches, replace(how, max_ngram=1))
        return
    model = ModelFile(os.fspath(kept)).open()
    counter = LevelCounter(engine_of(model).native, length)
    labels_known = list(model.labels)
    kind = None
    for terms, labels, kind in _slices(batches, how):
        try:
            counter.add(terms, labels)
        except ValueError:
            raise DataFormatError(
                f"column {how.label!r} has labels that were missing when words were counted: "
                "the frame must return the same rows every time; save it first"
            ) from None
        if counter.size() >= how.most_ngrams:
            yield from _batches(counter.take, labels_known, kind, how.sign)
    if kind is not None:
        yield from _batches(counter.take, labels_known, kind, how.sign)


def rows_of(model: TauSS3 | str | os.PathLike[str]) -> Iterator[Any]:
    """Yield the counts of a model or model file as rows, to continue counting from."""
    if not isinstance(model, TauSS3):
        model = TauSS3.load(model, mapped=True)
    engine = engine_of(model)
    engine.verify()
    engine.refuse_if_pruned("counting on from this model")
    if model.labels:
        kind = arrow_label_type(model.labels)
        yield _totals(engine, kind, 1)
        yield from _batches(engine.native.rows().next, list(model.labels), kind, 1)


def rows_schema(label: str) -> str:
    """Return the schema of rows of counts in Spark, given the type of labels."""
    return f"label {label}, ngram binary, count long"


def label_type(kind: Any) -> Any:
    """Return the Arrow type of these labels in rows: string, or 64-bit integer."""
    import pyarrow as pa

    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_integer(kind):
        return pa.int64()
    raise DataFormatError(f"labels must be strings or whole numbers, but are {kind}")


def _slices(
    batches: Iterator[Any], how: CountingSettings
) -> Iterator[tuple[TermBatch, list[Label], Any]]:
    """Yield terms and labels in slices of bounded size, with the Arrow type of the labels."""
    source = how.source
    for batch in batches:
        labels, texts = (refuse_null(batch, name, getattr(how, name)) for name in ("label", "text"))
        kind = label_type(labels.type)
        for begin, rows in _bounded(texts):
            terms = terms_of(texts.slice(begin, rows), source, learning=True)
            yield terms, labels_of(labels.slice(begin, rows)), kind


def _bounded(texts: Any) -> Iterator[tuple[int, int]]:
    """Yield the offset and length of slices of bounded size; a single text may be very long."""
    import pyarrow.compute as pc

    ends = np.cumsum(pc.binary_length(texts).to_numpy(zero_copy_only=False), dtype=np.int64)
    begin = read = 0
    while begin < len(texts):
        end = min(int(np.searchsorted(ends, read + _SLICE_BYTES)) + 1, len(texts))
        yield begin, end - begin
        begin, read = end, int(ends[end - 1])


def _drained(engine: Engine, kind: Any, sign: int) -> Iterator[Any]:
    """Yield all counts so far as rows, and remove them from the model."""
    labels = list(engine.labels)
    yield _totals(engine, kind, sign)
    yield from _batches(engine.native.drain().next, labels, kind, sign)


def _totals(engine: Engine, kind: Any, sign: int) -> Any:
    totals = engine.native.totals()
    labels = totals["labels"]
    keys = [DOCUMENTS] * len(labels) + [WORDS] * len(labels)
    counts = [sign * count for count in totals["documents"] + totals["words"]]
    return rows_batch(labels * 2, kind, keys, counts)


def _batches(
    take: Callable[[int], CountRows], labels: list[Label], kind: Any, sign: int
) -> Iterator[Any]:
    """Yield batches from the core until it has no more."""
    import pyarrow as pa

    names = pa.array(labels, kind)
    while True:
        rows = take(_BATCH_ROWS)
        size = len(rows["counts"])
        if not size:
            return
        coded = pa.DictionaryArray.from_arrays(pa.array(rows["labels"]), names)
        buffers = [None, pa.py_buffer(rows["offsets"]), pa.py_buffer(rows["keys"])]
        columns = [
            coded.dictionary_decode(),
            pa.Array.from_buffers(pa.binary(), size, buffers),
            pa.array(sign * rows["counts"]),
        ]
        yield pa.record_batch(columns, names=["label", "ngram", "count"])
