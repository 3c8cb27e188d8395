"""Checks and conversion of arguments: texts, labels, numbers, choices; types shared by all."""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


#: `progress(items, total)` returns the items; `total` is their number.
Progress = Callable[[Iterable[Any], int], Iterable[Any]]


def tracked(items: Iterable[Any], total: int, progress: Progress | None) -> Iterable[Any]:
    """Return the items, wrapped by the callback if there is one."""
    return items if progress is None else progress(items, total)


Label = str | int
Target = Label | tuple[Label, ...]  # the label of a text, or its labels
Targets = Sequence[Label] | Sequence[Collection[Label]]  # one or several labels per text

_Choice = TypeVar("_Choice", bound=str)

_MOST = 2**32 - 1  # the core uses 32 bits
_MOST_THREADS = 256
# Texts and labels look swapped from this many on, if this share of labels is distinct, and if
# labels have this many words on average: names and addresses are long, but have fewer.
_LEAST_SWAPPED = 3
_DISTINCT = 0.9
_WORDS_OF_TEXTS = 3
# Thai to Tibetan, Burmese, Khmer, Chinese and Japanese: words of about two characters.
_UNSPACED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def as_texts(texts: Iterable[str]) -> list[str]:
    """Return the texts of any iterable as a list."""
    listed = as_list(texts, "texts")
    if _are_plain(listed):
        return listed
    for index, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"text {index} must be str, got {type(text).__name__}")
    return listed


def as_labelled_texts(
    texts: Iterable[str], labels: Iterable[Label | Collection[Label]]
) -> tuple[list[str], list[Any]]:
    """Return texts and labels as lists of the same length."""
    documents, truth = as_texts(texts), as_list(labels, "labels")
    if len(documents) != len(truth):
        raise ValueError(f"{len(documents)} texts but {len(truth)} labels")
    if _are_swapped(documents, truth):
        raise ValueError(
            f"labels look like texts: {len(set(truth))} of {len(truth)} are distinct, while the "
            "texts are shorter and repeat: are texts and labels swapped?"
        )
    return documents, truth


def _are_swapped(texts: Sequence[str], labels: Sequence[Any]) -> bool:
    """Return whether labels are sentences, nearly all distinct, and texts short and repeated."""
    if len(labels) < _LEAST_SWAPPED or not _are_plain(labels):
        return False
    distinct = set(labels)
    return (
        len(distinct) >= _DISTINCT * len(labels)
        and len(set(texts)) < len(distinct)
        and sum(map(len, labels)) > sum(map(len, texts))
        and sum(map(_word_count, distinct)) >= _WORDS_OF_TEXTS * len(distinct)
    )


def _word_count(text: str) -> float:
    """Return roughly the number of words, also where the script puts no spaces between them."""
    return len(text.split()) + len(_UNSPACED.findall(text)) / 2


def refuse_one_label(labels: Sequence[object]) -> None:
    """Raise `ValueError` if all texts have the same label or labels: nothing can be learnt.

    >>> refuse_one_label(["calm", "calm"])
    Traceback (most recent call last):
    ...
    ValueError: all 2 texts have the label 'calm': at least two labels are needed
    """
    if (problem := one_label_in(labels)) is not None:
        raise ValueError(f"{problem}: at least two labels are needed")


def one_label_in(labels: Sequence[object]) -> str | None:
    """Return a phrase that says so if all texts have the same label or labels."""
    distinct = set(as_label_sets(labels))
    if len(distinct) != 1:
        return None
    [same] = distinct
    named = "no label" if not same else f"the label{'s'[: len(same) > 1]} {reprs(sorted(same))}"
    counted = f"all {len(labels):,} texts have" if len(labels) > 1 else "the only text has"
    return f"{counted} {named}"


def _are_plain(values: Sequence[object]) -> bool:
    """Return whether all are `str` and nothing derived from it: there is nothing to convert."""
    return set(map(type, values)) <= {str}


def as_text(text: str) -> str:
    """Return the text, or raise `TypeError` if it is not a `str`."""
    if not isinstance(text, str):
        raise TypeError(f"text must be str, got {type(text).__name__}")
    return text


def as_labels(labels: Iterable[Label]) -> list[Label]:
    """Return the labels as plain `str` or `int`."""
    listed = as_list(labels, "labels")
    if _are_plain(listed):
        for label in set(listed):
            as_label(label)
        return listed
    return [as_label(label) for label in listed]


def as_label(label: object) -> Label:
    """Return the label as a plain `str` or `int`.

    >>> as_label(np.int64(3))
    3
    """
    if isinstance(label, str):
        try:
            label.encode()
        except UnicodeEncodeError:
            raise ValueError(f"a label must be valid Unicode, got {label!r}") from None
        return str.__str__(label)  # str(label) would return the name of an enum member
    if isinstance(label, bool | np.bool_):
        raise TypeError(f"a label must be str or int, got {label!r}")
    try:
        number = operator.index(label)  # type: ignore[arg-type]
    except TypeError:
        kind = type(label).__name__
        raise TypeError(f"a label must be str or int, got {kind}: {label!r}") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"a label must fit into 64 bits, got {number}")
    return number


def are_several(labels: Sequence[object], what: str = "labels") -> bool:
    """Return whether each text has a collection of labels instead of one label.

    >>> are_several(["a", "b"]), are_several([("a",), ()])
    (False, True)
    """
    kinds = {
        issubclass(kind, Collection) and not issubclass(kind, str | bytes)
        for kind in set(map(type, labels))
    }
    if len(kinds) > 1:
        raise TypeError(f"{what} must be one label per text or one collection per text, not both")
    return True in kinds


def as_label_sets(labels: Sequence[object], what: str = "labels") -> list[frozenset[Label]]:
    """Return the labels of each text as a set, also for texts with one label each.

    >>> as_label_sets(["a"]), as_label_sets([["b", "b"]])
    ([frozenset({'a'})], [frozenset({'b'})])
    """
    if are_several(labels, what):
        return [frozenset(as_labels(one)) for one in labels]  # type: ignore[arg-type]
    return [frozenset((as_label(one),)) for one in labels]


def as_separator(separator: str | None) -> str | None:
    """Return the text between labels, or None for one label per text."""
    if separator is None or (isinstance(separator, str) and separator):
        return separator
    raise ValueError(f"label_separator must be text that is not empty, got {separator!r}")


def as_threads(threads: int | None) -> int:
    """Return the number of threads; None means all cores available to the process."""
    if threads is not None:
        return min(as_whole("threads", threads, 1), _MOST_THREADS)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def as_number(name: str, value: object) -> float:
    """Return a finite number as a `float`."""
    plain = hasattr(value, "__float__") and not isinstance(value, bool | np.bool_ | np.ndarray)
    try:
        number = float(value) if plain else None  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        number = None
    if number is None:
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return number


def as_not_negative(name: str, value: object) -> float:
    """Return a finite number that is not negative."""
    number = as_number(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, got {number:g}")
    return number


def as_share(name: str, value: object) -> float:
    """Return a number from 0 to 1."""
    number = as_number(name, value)
    if not 0 <= number <= 1:
        raise ValueError(f"{name} must be in [0, 1], got {number:g}")
    return number


def as_above_zero(name: str, value: object) -> float:
    """Return a finite number above 0."""
    number = as_number(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be above 0, got {number:g}")
    return number


def as_whole(name: str, value: object, least: int, most: int = _MOST) -> int:
    """Return a whole number in this range as an `int`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if not least <= number <= most:
        wanted = f"from {least} to {most}" if most < _MOST or number > most else f"at least {least}"
        raise ValueError(f"{name} must be {wanted}, got {number}")
    return number


def as_choice(name: str, value: object, choices: tuple[_Choice, ...]) -> _Choice:
    """Return the value, or raise `ValueError` if it is not one of the choices.

    >>> as_choice("reading", "backwards", ("paper", "words_sum"))
    Traceback (most recent call last):
    ...
    ValueError: reading must be one of 'paper', 'words_sum', got 'backwards'
    """
    if isinstance(value, str) and value in choices:
        return choices[choices.index(value)]
    raise ValueError(f"{name} must be one of {reprs(choices)}, got {value!r}")


def reprs(values: Iterable[object], most: int | None = None) -> str:
    """Return the values as in code for a message: all, or the first ones and an ellipsis.

    >>> reprs(["ann", 3]), reprs(["ann", "bob", "cid"], most=2)
    ("'ann', 3", "'ann', 'bob', …")
    """
    known = list(values)
    shown = known[:most]
    return ", ".join(map(repr, shown)) + (", …" if len(shown) < len(known) else "")


def as_list(values: Iterable[Any], what: str) -> list[Any]:
    """Return the items of a sequence, an array, a Series or a generator as a list."""
    if isinstance(values, str | bytes):
        raise TypeError(f"expected many {what}, got a single string: put it into a list")
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        raise TypeError(f"{what} must have one dimension, got shape {shape}")
    # Iterating over a mapping would yield its keys.
    if isinstance(values, Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{what} must be an iterable, got {type(values).__name__}")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)
