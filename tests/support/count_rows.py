"""Rows of counts, added and sorted in plain Python as Spark would."""

from collections import Counter

import pyarrow as pa

import watchword as ww
from watchword.spark.counting import DOCUMENTS, FIRST_WORD

NAMES = ["label", "ngram", "count"]


def frame(documents, size=3):
    """Return batches of at most `size` rows (text, label), with an unused column."""
    for begin in range(0, len(documents), size):
        texts, labels = zip(*documents[begin : begin + size], strict=True)
        yield pa.record_batch([labels, list(range(len(texts))), texts], ["label", "n", "text"])


def added(batches):
    """Return the sum of every (key, label), sorted."""
    sums = Counter()
    for batch in batches:
        assert batch.schema.names == NAMES
        for row in batch.to_pylist():
            sums[row["ngram"], row["label"]] += row["count"]
    return {key: sums[key] for key in sorted(sums)}


def floored(sums, floor, shortest=1):
    """Return the counts above the floor, and the numbers of dropped n-grams and counts."""
    first = max(FIRST_WORD, bytes([shortest]))
    gone = {key: count for key, count in sums.items() if key[0] >= first and count <= floor}
    kept = {key: count for key, count in sums.items() if key not in gone}
    return kept, (len(gone), sum(gone.values()))


def batches_of(sums, size=5):
    """Return record batches of sorted rows."""
    rows = [(label, key, count) for (key, label), count in sums.items() if count]
    for begin in range(0, len(rows), size):
        labels, keys, counts = zip(*rows[begin : begin + size], strict=True)
        columns = [pa.array(labels), pa.array(keys, pa.binary()), pa.array(counts, pa.int64())]
        yield pa.record_batch(columns, names=NAMES)


def documents_of(sums):
    return {label: count for (key, label), count in sums.items() if key == DOCUMENTS}


def learnt(documents, **parameters):
    model = ww.TauSS3(**parameters)
    model.learn_many(*zip(*documents, strict=True))
    return model


def controls(word):
    """Return a word with the two bytes that keys use as separators."""
    return {"a": "\0", "b": "\x01", "c": "\0\x01\x02"}.get(word, f"{word}\0")
