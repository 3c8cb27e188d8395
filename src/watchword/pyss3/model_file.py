"""PySS3's model files (`.ss3m`, JSON) as counts.

A file is data, and nothing in it is trusted: its structure is checked here, what it counts by the
core. Names of categories come from the list of categories, where they have kept their types.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from watchword._checks import as_choice, as_not_negative, as_share
from watchword._files import AnyPath, read_regular
from watchword.errors import ModelFormatError
from watchword.model.file.container import no_number
from watchword.pyss3.constants import CV_MODES, SG_MODES

_MOST_WORDS_PER_NGRAM = 64
_MOST_COUNT = 2**40 - 1
_SHOWN = 60  # characters of a bad entry in an error

NodeList = list[Any]  # [children, count, …]: PySS3's own values are not read
Children = dict[str, Any]


@dataclass
class SavedSettings:
    """Hyperparameters, modes, and whether documents have several labels."""

    values: dict[str, float]
    cv_mode: str
    sg_mode: str
    multilabel: bool = False


class PySS3Model(NamedTuple):
    """The contents of a file, with the counts as a snapshot."""

    categories: list[Any]
    settings: SavedSettings
    max_ngram: int
    snapshot: dict[str, Any]


class _EntryError(ValueError):
    """An entry of the file is not as it should be."""


def read_model(path: AnyPath) -> PySS3Model:
    """Read a model file of PySS3; raise `ModelFormatError` if it is none, or damaged."""
    written = read_regular(path, ModelFormatError)
    if not written:
        raise ModelFormatError(f"{path} is not a PySS3 model: it is empty")
    try:
        data = json.loads(written, parse_constant=no_number)
    except (ValueError, RecursionError) as error:  # invalid UTF-8 is a ValueError, too
        reason = "too deeply nested" if isinstance(error, RecursionError) else error
        raise ModelFormatError(f"{path} is not a PySS3 model: {reason}") from None
    if not isinstance(data, dict) or not isinstance(data.get("__categories__"), list):
        raise ModelFormatError(f'{path} is not a PySS3 model: it has no "__categories__"')
    try:
        return _model(data)
    except KeyError as error:
        raise ModelFormatError(f"{path} is corrupt: {error} is missing") from None
    except (_EntryError, TypeError, ValueError) as error:
        raise ModelFormatError(f"{path} is corrupt: {error}") from None


def _model(data: dict[str, Any]) -> PySS3Model:
    categories, roots = [], []
    for entry in data["__categories__"]:
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], dict)):
            _fail("a category", entry)
        name, root = entry
        if not isinstance(name, str | int | float):
            _fail("the name of a category", name)
        categories.append(name)
        roots.append(root)
    if len({(type(name), name) for name in categories}) < len(categories):
        raise _EntryError("duplicate category")
    maxima = _maxima(data["__max_fr__"], len(categories))
    longest = max([1, *map(len, maxima)])
    modes = data["__sg_mode__"] if "__sg_mode__" in data else data["__sn_mode__"]
    settings = SavedSettings(
        {"s": as_share("__s__", data["__s__"])}
        | {name: as_not_negative(f"__{name}__", data[f"__{name}__"]) for name in "lpa"},
        as_choice("__cv_mode__", data["__cv_mode__"], CV_MODES),
        as_choice("__sg_mode__", modes, SG_MODES),
        data.get("__multilabel__") is True,
    )
    snapshot = _snapshot(_words(data["__index_to_word__"]), roots, maxima, longest)
    return PySS3Model(categories, settings, longest, snapshot)


def _maxima(found: object, categories: int) -> list[list[int]]:
    if not isinstance(found, list) or len(found) != categories:
        raise _EntryError("__max_fr__ must have a list for each category")
    for one in found:
        if not isinstance(one, list) or len(one) > _MOST_WORDS_PER_NGRAM:
            _fail("an entry of __max_fr__", one)
        for count in one:
            _check_count(count)
    return found


def _words(found: object) -> list[str]:
    if not isinstance(found, dict):
        _fail("__index_to_word__", found)
    words = [""] * len(found)
    for key, word in found.items():
        if not isinstance(word, str) or not word or any(map(str.isspace, word)):
            _fail("a word", word)
        if not (key.isascii() and key.isdigit() and len(key) <= 10 and int(key) < len(words)):
            _fail("the id of a word", key)
        words[int(key)] = word
    if "" in words or len(set(words)) < len(words):
        raise _EntryError("duplicate word")
    return words


def _check_count(count: object) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST_COUNT:
        _fail("a count", count)


def _fail(what: str, entry: object) -> NoReturn:
    shown = str(entry)
    raise _EntryError(f"{what} is {shown[:_SHOWN]}{'…' if len(shown) > _SHOWN else ''}")


def _snapshot(
    words: list[str], roots: list[Children], maxima: list[list[int]], longest: int
) -> dict[str, Any]:
    """Return the trees of all categories as one, level by level, sorted as the core needs it.

    The core checks them; labels are indices of categories.
    """
    encoded = [word.encode() for word in words]
    order = sorted(range(len(words)), key=encoded.__getitem__)
    ranks = {str(at): rank for rank, at in enumerate(order)}
    # N-grams of the level above: the category and the children of each entry.
    above: list[list[tuple[int, Children]]] = [list(enumerate(roots))]
    levels: list[dict[str, Any]] = []
    totals = np.zeros(len(roots), np.uint64)
    for length in range(1, longest + 1):
        here: list[list[tuple[int, Children]]] = []
        last, starts, rows, labels, counts = [], [0], [0], [], []
        for entries in above:
            for rank, nodes in _children(entries, ranks):
                last.append(rank)
                labels += [category for category, _ in nodes]
                counts += [node[1] for _, node in nodes]
                rows.append(len(counts))
                here.append([(category, node[0]) for category, node in nodes])
            starts.append(len(last))
        if length > 1:
            levels[-1]["children"] = np.array(starts, np.uint64)
        elif len(last) < len(words):
            raise _EntryError("a word has no counts")
        else:
            np.add.at(totals, np.array(labels, np.uint32), np.array(counts, np.uint64))
        levels.append(
            {
                "words": np.array(last if length > 1 else [], np.uint32),
                "children": np.empty(0, np.uint64),
                "rows": np.array(rows, np.uint64),
                "labels": np.array(labels, np.uint32),
                "counts": np.array(counts, np.uint64),
            }
        )
        above = here
    if any(children for entries in above for _, children in entries):
        raise _EntryError("there are longer n-grams than __max_fr__ has")
    table = np.zeros((longest, len(maxima)), np.uint64)
    for category, own in enumerate(maxima):
        table[: len(own), category] = own
    in_order = [encoded[at] for at in order]
    return {
        "labels": list(range(len(maxima))),
        "documents": [1] * len(maxima),
        "words": totals.tolist(),
        "pruned_ngrams": 0,
        "pruned_counts": 0,
        "was_pruned": True,
        "words_since_prune": 0,
        "word_bytes": np.frombuffer(b"".join(in_order), np.uint8),
        "word_offsets": np.cumsum([0, *map(len, in_order)], dtype=np.uint64),
        "maxima": table.reshape(-1),
        "levels": levels,
        "fit": None,
    }


def _children(
    entries: list[tuple[int, Children]], ranks: dict[str, int]
) -> list[tuple[int, list[tuple[int, NodeList]]]]:
    """Return the words that follow an n-gram, with their nodes by category."""
    found: dict[int, list[tuple[int, NodeList]]] = {}
    for category, children in entries:
        for key, node in children.items():
            if key not in ranks:
                _fail("the id of a word", key)
            if not isinstance(node, list) or len(node) < 2 or not isinstance(node[0], dict):
                _fail("an n-gram", node)
            _check_count(node[1])
            found.setdefault(ranks[key], []).append((category, node))
    return sorted(found.items())
