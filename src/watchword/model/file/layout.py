"""Layout: the counts of a model as the arrays of a model file, and back (docs/model-file.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from watchword._checks import Label
from watchword.errors import ModelFormatError
from watchword.model.file.container import FIT, LABEL_KEYS, Arrays, refuse_unknown

_LEVEL_ARRAYS = ("words", "children", "rows", "labels", "counts")
_WEIGHTS = "weights"  # of corrections: the bits of floats
_FIT_NUMBERS = ("decay", "strength", "cost", "bias", "margins", "temperature")
_FIT_COUNTS = ("texts", "documents", "learnt", "unlearnt")
_FIT_KEYS = {*_FIT_NUMBERS, *_FIT_COUNTS, "biases"}
_ABSENT = ""  # the name of an array that is not in the file
_PRUNED_KEYS = {"ngrams", "counts", "was_pruned"}

_Unsigned = type[np.unsignedinteger[Any]]


def to_file(snapshot: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """Return the totals for the manifest, and the arrays by name."""
    arrays: Arrays = {
        "words.bytes": snapshot["word_bytes"],
        "words.offsets": _narrow(snapshot["word_offsets"], 4),
        "maxima": _narrow(snapshot["maxima"], 4),
    }
    levels = snapshot["levels"]
    refined = snapshot[FIT] is not None
    for length, level in enumerate(levels, start=1):
        for name in array_names(length, len(levels), refined=refined):
            width = 1 if name == "labels" else 4
            arrays[f"ngrams{length}.{name}"] = _narrow(level[name], width)
    return totals_to_file(snapshot), arrays


def totals_to_file(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return the totals of labels and pruning for the manifest."""
    fit = {} if snapshot[FIT] is None else {FIT: snapshot[FIT]}
    return fit | {
        "labels": [
            {"label": label, "documents": documents, "words": words}
            for label, documents, words in zip(
                snapshot["labels"], snapshot["documents"], snapshot["words"], strict=True
            )
        ],
        "pruned": {
            "ngrams": snapshot["pruned_ngrams"],
            "counts": snapshot["pruned_counts"],
            "was_pruned": snapshot["was_pruned"],
        },
        "words_since_prune": snapshot["words_since_prune"],
    }


def from_file(
    manifest: dict[str, Any], arrays: Arrays, max_ngram: int, *, source: str
) -> dict[str, Any]:
    """Return the snapshot from which the core builds its counts; the core checks the numbers."""
    refined = FIT in manifest
    refuse_unknown(arrays, _file_order(max_ngram, refined=refined), source)

    def array(name: str, dtype: _Unsigned) -> npt.NDArray[Any]:
        # The core needs aligned numbers.
        found = _array(arrays, name, dtype, source)
        return np.require(found, dtype, ["ALIGNED", "C_CONTIGUOUS"])

    snapshot = totals_from_file(manifest, source=source)
    return snapshot | _arranged(array, max_ngram, refined=refined)


def in_place(arrays: Arrays, max_ngram: int, *, refined: bool, source: str) -> dict[str, Any]:
    """Return the arrays in place, as bytes with the size of a number."""
    refuse_unknown(arrays, _file_order(max_ngram, refined=refined), source)

    def array(name: str, dtype: _Unsigned) -> tuple[npt.NDArray[np.uint8], int]:
        found = _array(arrays, name, dtype, source)
        return found.view(np.uint8), found.itemsize

    arranged = _arranged(array, max_ngram, refined=refined)
    arranged["maxima"] = np.require(arrays["maxima"], np.uint64, ["ALIGNED", "C_CONTIGUOUS"])
    return arranged


def _array(arrays: Arrays, name: str, dtype: _Unsigned, source: str) -> npt.NDArray[Any]:
    found = np.empty(0, dtype) if name == _ABSENT else arrays.get(name)
    if found is None:
        raise ModelFormatError(f"{source} is corrupt: array {name!r} is missing")
    if not np.can_cast(found.dtype, dtype):
        raise ModelFormatError(f"{source} is corrupt: array {name!r} is too wide")
    return found


def _arranged(
    array: Callable[[str, _Unsigned], Any], max_ngram: int, *, refined: bool
) -> dict[str, Any]:
    """Return the arrays by their names in the core."""
    levels = []
    for length in range(1, max_ngram + 1):
        present = array_names(length, max_ngram, refined=refined)
        level = {}
        for name in (*_LEVEL_ARRAYS, *([_WEIGHTS] if refined else [])):
            dtype = np.uint32 if name in ("words", "labels", _WEIGHTS) else np.uint64
            level[name] = array(f"ngrams{length}.{name}" if name in present else _ABSENT, dtype)
        levels.append(level)
    return {
        "word_bytes": array("words.bytes", np.uint8),
        "word_offsets": array("words.offsets", np.uint64),
        "maxima": array("maxima", np.uint64),
        "levels": levels,
    }


def as_written(
    described: dict[str, Any], arrays: Arrays, max_ngram: int, labels: int, *, refined: bool
) -> dict[str, Any] | None:
    """Return the manifest's description of the arrays if `to_file` would write the same, or None.

    It would if every array has its narrowest type, which can be checked almost without reading
    the arrays.
    """
    maxima = arrays["maxima"].reshape(max_ngram, labels).max(axis=1, initial=0).tolist()
    same = {}
    for name in _file_order(max_ngram, refined=refined):
        array, kind = arrays[name], name.rpartition(".")[2]
        least = 1 if kind in ("labels", "bytes") else 4
        if kind in ("offsets", "children", "rows"):
            largest = int(array[-1])
        elif kind == "counts":
            largest = maxima[int(name.removeprefix("ngrams").removesuffix(".counts")) - 1]
        elif kind == "labels" and labels > 256:
            largest = int(array.max(initial=0))
        else:
            largest = max(maxima) if kind == "maxima" else 0
        if array.dtype != narrowest(largest, least):
            return None
        entry = described[name]
        same[name] = {key: entry.get(key) for key in ("dtype", "shape", "sha256")}
    return same


def totals_from_file(manifest: dict[str, Any], *, source: str) -> dict[str, Any]:
    """Return the totals of labels and pruning from the manifest."""
    try:
        totals = [
            (_label(entry["label"]), _count(entry["documents"]), _count(entry["words"]))
            for entry in manifest["labels"]
        ]
        pruned = manifest["pruned"]
        snapshot: dict[str, Any] = {
            "labels": [label for label, _, _ in totals],
            "documents": [documents for _, documents, _ in totals],
            "words": [words for _, _, words in totals],
            "pruned_ngrams": _count(pruned["ngrams"]),
            "pruned_counts": _count(pruned["counts"]),
            "was_pruned": pruned["was_pruned"],
            "words_since_prune": _count(manifest["words_since_prune"]),
            FIT: _fit(manifest.get(FIT)),
        }
        if not isinstance(snapshot["was_pruned"], bool):
            raise TypeError(f"was_pruned {snapshot['was_pruned']!r}")
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFormatError(f"{source} is corrupt: bad entry in the manifest: {error}") from None
    refuse_unknown(pruned, _PRUNED_KEYS, source)
    refuse_unknown(manifest.get(FIT, {}), _FIT_KEYS, source)
    for entry in manifest["labels"]:
        refuse_unknown(entry, LABEL_KEYS, source)
    if len({type(label) for label in snapshot["labels"]}) > 1:
        raise ModelFormatError(f"{source} is corrupt: its labels are of several types")
    return snapshot


def relabelled(snapshot: dict[str, Any], labels: Sequence[Label]) -> dict[str, Any]:
    """Return a snapshot with other labels, given in the order of its own, and sorted by them."""
    order = sorted(range(len(labels)), key=lambda at: labels[at])
    place = np.empty(len(labels), np.uint32)
    place[order] = np.arange(len(labels), dtype=np.uint32)
    levels = []
    for level in snapshot["levels"]:
        moved = place[level["labels"]]
        owner = np.repeat(np.arange(len(level["rows"]) - 1), np.diff(level["rows"]).astype(np.intp))
        by_row = np.lexsort((moved, owner))
        levels.append(level | {"labels": moved[by_row], "counts": level["counts"][by_row]})
    return snapshot | {
        "labels": [labels[at] for at in order],
        "documents": [snapshot["documents"][at] for at in order],
        "words": [snapshot["words"][at] for at in order],
        "maxima": snapshot["maxima"].reshape(-1, len(labels))[:, order].reshape(-1),
        "levels": levels,
    }


def lengthened(snapshot: dict[str, Any], max_ngram: int) -> dict[str, Any]:
    """Return a snapshot with room for longer n-grams."""
    levels = [dict(level) for level in snapshot["levels"]]
    while len(levels) < max_ngram:
        levels[-1]["children"] = np.zeros(len(levels[-1]["rows"]), np.uint64)
        nothing = {"rows": np.zeros(1, np.uint64), "children": np.empty(0, np.uint64)}
        counted = {"counts": np.empty(0, np.uint64), "labels": np.empty(0, np.uint32)}
        levels.append({"words": np.empty(0, np.uint32), **nothing, **counted})
    maxima = np.zeros(max_ngram * len(snapshot["labels"]), np.uint64)
    maxima[: snapshot["maxima"].size] = snapshot["maxima"]
    return snapshot | {"levels": levels, "maxima": maxima}


def counts_by_ngram(snapshot: dict[str, Any]) -> dict[str, dict[Label, int]]:
    """Return every n-gram with its counts, sorted by spelling."""
    return dict(sorted(_ngrams_and_counts(snapshot), key=itemgetter(0)))


def _ngrams_and_counts(snapshot: dict[str, Any]) -> Iterator[tuple[str, dict[Label, int]]]:
    offsets, data = snapshot["word_offsets"].tolist(), snapshot["word_bytes"].tobytes()
    words = [data[a:b].decode() for a, b in pairwise(offsets)]
    labels = snapshot["labels"]
    above: list[str] = []
    for length, level in enumerate(snapshot["levels"], start=1):
        if length == 1:
            here = words
        else:
            children = snapshot["levels"][length - 2]["children"]
            parents = np.repeat(np.arange(len(above)), np.diff(children).astype(np.intp))
            here = [
                f"{above[parent]} {words[word]}"
                for parent, word in zip(parents.tolist(), level["words"].tolist(), strict=True)
            ]
        rows = level["rows"].tolist()
        own_labels, own_counts = level["labels"].tolist(), level["counts"].tolist()
        for index, ngram in enumerate(here):
            entries = range(rows[index], rows[index + 1])
            yield ngram, {labels[own_labels[entry]]: own_counts[entry] for entry in entries}
        above = here


def array_names(length: int, max_ngram: int, *, refined: bool = False) -> list[str]:
    """Return the names of a length's arrays.

    Single words need no array of last words; the longest n-grams have no children; only refined
    models have weights.
    """
    absent = {"words"} if length == 1 else set()
    if length == max_ngram:
        absent.add("children")
    names = [name for name in _LEVEL_ARRAYS if name not in absent]
    return [*names, _WEIGHTS] if refined else names


def _file_order(max_ngram: int, *, refined: bool) -> list[str]:
    """Return the names of all arrays in file order."""
    longer = (
        f"ngrams{length}.{name}"
        for length in range(1, max_ngram + 1)
        for name in array_names(length, max_ngram, refined=refined)
    )
    return ["words.bytes", "words.offsets", "maxima", *longer]


def _narrow(array: npt.NDArray[Any], least_width: int) -> npt.NDArray[Any]:
    """Return the array in its narrowest unsigned type of at least `least_width` bytes."""
    largest = int(array.max()) if array.size else 0
    return array.astype(narrowest(largest, least_width), copy=False)


def narrowest(largest: int, least_width: int) -> np.dtype[Any]:
    """Return the narrowest unsigned type of at least `least_width` bytes that holds a number.

    >>> narrowest(300, 1).str
    '<u2'
    """
    for width in (1, 2, 4, 8):
        if width >= least_width and largest < 1 << (8 * width):
            return np.dtype(f"<u{width}" if width > 1 else "|u1")
    raise AssertionError("no unsigned type is wider than 64 bits")


def _label(label: object) -> Label:
    if isinstance(label, str):
        return label
    if isinstance(label, int) and not isinstance(label, bool) and -(2**63) <= label < 2**63:
        return label
    raise ValueError(f"label {label!r}")


def _fit(fit: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the numbers of corrections; the core checks their ranges."""
    if fit is None:
        return None
    if not isinstance(fit["biases"], list):
        raise TypeError(f"biases {fit['biases']!r}")
    return (
        {name: _number(fit[name]) for name in _FIT_NUMBERS}
        | {name: _count(fit[name]) for name in _FIT_COUNTS}
        | {"biases": [_number(bias) for bias in fit["biases"]]}
    )


def _number(number: object) -> float:
    if isinstance(number, int | float) and not isinstance(number, bool):
        return float(number)
    raise ValueError(f"number {number!r}")


def _count(count: object) -> int:
    if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**63:
        return count
    raise ValueError(f"count {count!r}")
