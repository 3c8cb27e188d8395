"""Models as compact data for static/offline.js: n-grams with their computed values.

N-grams of equal length and equal counts have equal values, so they share one row of values: a large
model has few distinct rows. Whole numbers are written as varints, values as doubles, so that
comparisons of values come out as in the core, to the last bit. A refined model also has one
correction for each n-gram and label, and these are not shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from watchword._checks import Label
from watchword.model.engine import engine_of
from watchword.show.numbers import as_base64, pack_wholes

if TYPE_CHECKING:
    from watchword.model.tau_ss3 import TauSS3

_LARGEST_EXACT = 2**53  # numbers in a browser are doubles
_UNKNOWN = (" ",)  # words contain no spaces

NgramWords = tuple[str, ...]
LevelArrays = dict[str, npt.NDArray[Any]]


def pack_model(model: TauSS3) -> dict[str, Any]:
    """Return the data needed to explain texts with this model, as JSON values."""
    engine = engine_of(model)
    parameters, snapshot = engine.parameters, engine.snapshot()
    offsets, data = snapshot["word_offsets"].tolist(), snapshot["word_bytes"].tobytes()
    words = [data[begin:end].decode() for begin, end in pairwise(offsets)]
    rows = _ValueRows(sharing=not parameters.weighs_words)
    levels: list[dict[str, str]] = []
    above: LevelArrays = {}
    spelt: list[NgramWords] = [()]
    for length, level in enumerate(snapshot["levels"], start=1):
        spelt = [(word,) for word in words] if length == 1 else _longer(spelt, above, level, words)
        levels.append(_packed_level(level, above, rows.numbers_of(level, spelt)))
        above = level
    refined = {} if snapshot["fit"] is None else {"fit": _packed_fit(snapshot, rows)}
    return refined | {
        "labels": [_plain(label) for label in model.labels],
        "default_label": model.labels.index(model.default_label),
        "summary": parameters.operator_names,
        "alpha": parameters.alpha,
        "reading": parameters.reading,
        "paragraphs": parameters.paragraphs,
        "words": "\n".join(words),
        "levels": levels,
        "rows": _packed_rows(model, rows.examples),
    }


class _ValueRows:
    """The distinct rows of values, numbered; row 0 is that of an unknown word."""

    def __init__(self, *, sharing: bool) -> None:
        self._sharing = sharing
        self._numbers: dict[Hashable, int] = {}
        self.examples: list[NgramWords] = [_UNKNOWN]
        self.totals: list[int] = [0]  # the counts of a row, added up

    def numbers_of(self, level: LevelArrays, spelt: list[NgramWords]) -> list[int]:
        numbers = []
        labels, counts = level["labels"], level["counts"]
        for ngram, (begin, end) in zip(spelt, pairwise(level["rows"].tolist()), strict=True):
            key: Hashable = ngram
            if self._sharing or len(ngram) == 1:
                key = len(ngram), labels[begin:end].tobytes(), counts[begin:end].tobytes()
            number = self._numbers.setdefault(key, len(self.examples))
            if number == len(self.examples):
                self.examples.append(ngram)
                self.totals.append(int(counts[begin:end].sum()))
            numbers.append(number)
        return numbers


def _longer(
    above: list[NgramWords], parents: LevelArrays, level: LevelArrays, words: list[str]
) -> list[NgramWords]:
    """Return the words of a level's n-grams, from those one word shorter."""
    parent_of = np.repeat(np.arange(len(above)), _sizes(parents["children"]))
    last_words = level["words"].tolist()
    return [
        (*above[parent], words[word])
        for parent, word in zip(parent_of.tolist(), last_words, strict=True)
    ]


def _packed_level(level: LevelArrays, above: LevelArrays, rows: list[int]) -> dict[str, str]:
    packed = {"rows": pack_wholes(rows)}
    if level["children"].size:
        packed["children"] = pack_wholes(_sizes(level["children"]))
    if above:
        # Siblings ascend: each after the first is written as the difference to the previous one.
        words = level["words"].astype(np.int64)
        steps = np.diff(words, prepend=0)
        firsts = above["children"][:-1][_sizes(above["children"]) > 0].astype(np.intp)
        steps[firsts] = words[firsts]
        packed["words"] = pack_wholes(steps)
    if "weights" in level:
        packed["weights"] = as_base64(level["weights"].astype("<u4"))  # the bits of floats
    return packed


def _packed_fit(snapshot: dict[str, Any], rows: _ValueRows) -> dict[str, Any]:
    """Return what refined scores need beside the weights; src/core/refine.h has the equations."""
    fit, documents = snapshot["fit"], sum(snapshot["documents"])
    rarity = np.log((1 + documents) / (1 + np.minimum(documents, rows.totals))) + 1
    lengths = np.array([len(ngram) for ngram in rows.examples])
    scale = fit["strength"] * fit["texts"] / fit["margins"] if fit["margins"] > 0 else 0.0
    return {
        "scale": scale,
        "biases": list(fit["biases"]),
        "rarity": _pack_numbers(rarity * fit["decay"] ** (lengths - 1), "<f8"),
    }


def _packed_rows(model: TauSS3, examples: list[NgramWords]) -> dict[str, str]:
    """Return each row's values for the labels where its n-grams occurred, and sn elsewhere."""
    sizes, labels, elsewhere, entries = [], [], [], []
    for ngram in examples:
        values = list(model.value(ngram).values())
        present = [position for position, value in enumerate(values) if value.count > 0]
        sizes.append(len(present))
        labels += present
        entries += [values[position] for position in present]
        elsewhere.append(next((value.sn for value in values if value.count == 0), 0.0))
    return {
        "sizes": pack_wholes(sizes),
        "labels": pack_wholes(labels),
        "counts": pack_wholes([entry.count for entry in entries]),
        "cv": _pack_numbers((entry.cv for entry in entries), "<f8"),
        # These are only shown, not used in computations.
        "lv": _pack_numbers((entry.lv for entry in entries), "<f4"),
        "sg": _pack_numbers((entry.sg for entry in entries), "<f4"),
        "sn": _pack_numbers((entry.sn for entry in entries), "<f4"),
        "elsewhere": _pack_numbers(elsewhere, "<f4"),
    }


def _plain(label: Label) -> Label:
    return str(label) if isinstance(label, int) and abs(label) > _LARGEST_EXACT else label


def _sizes(starts: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    places = starts.astype(np.intp)
    return places[1:] - places[:-1]


def _pack_numbers(values: Iterable[float], dtype: str) -> str:
    return as_base64(np.array(list(values), dtype=dtype))
