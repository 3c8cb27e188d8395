"""Targets: the labels of texts, one or several per text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from watchword._checks import Label, Targets, as_list, as_texts


def as_labelled_texts(texts: Iterable[str], labels: Targets) -> tuple[list[str], list[Any]]:
    """Return texts and labels as lists of the same length."""
    documents, truth = as_texts(texts), as_list(labels, "labels")
    if len(documents) != len(truth):
        raise ValueError(f"{len(documents)} texts but {len(truth)} labels")
    return documents, truth


def in_order(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Return the distinct labels, sorted as a model sorts them.

    >>> in_order(["b", "a", "b"])
    ('a', 'b')
    """
    distinct = set(labels)
    if len({type(label) for label in distinct}) > 1:
        # An easy mistake: labels are text in the data but numbers in the model.
        texts = [label for label in distinct if isinstance(label, str)]
        numbers = [label for label in distinct if isinstance(label, int)]
        raise ValueError(
            f"labels must be all str or all int, got {min(numbers)!r} and {min(texts)!r}"
        )
    return tuple(sorted(distinct))
