"""What texts are labelled with: one label each, or several."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from watchword._checks import Label, as_label, as_labels

Targets = Sequence[Label] | Sequence[Collection[Label]]


def are_several(labels: Sequence[object], what: str = "labels") -> bool:
    """Whether texts have collections of labels, not one label each.

    >>> are_several(["a", "b"]), are_several([("a",), ()])
    (False, True)
    """
    kinds = {isinstance(one, Collection) and not isinstance(one, str | bytes) for one in labels}
    if len(kinds) > 1:
        raise TypeError(f"{what} must be one label per text or one collection per text, not both")
    return True in kinds


def as_label_sets(labels: Sequence[object], what: str = "labels") -> list[frozenset[Label]]:
    """The labels of each text, those of texts with one label each included.

    >>> as_label_sets(["a"]), as_label_sets([["b", "b"]])
    ([frozenset({'a'})], [frozenset({'b'})])
    """
    if are_several(labels, what):
        return [frozenset(as_labels(one)) for one in labels]  # type: ignore[arg-type]
    return [frozenset((as_label(one),)) for one in labels]


def in_order(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Labels sorted as a model sorts them, each once.

    >>> in_order(["b", "a", "b"])
    ('a', 'b')
    """
    distinct = set(labels)
    if len({type(label) for label in distinct}) > 1:
        # A mistake that is easily made: numbers as text in the data, as numbers in the model.
        texts = [label for label in distinct if isinstance(label, str)]
        numbers = [label for label in distinct if isinstance(label, int)]
        raise ValueError(
            f"labels must be all str or all int, got {min(numbers)!r} and {min(texts)!r}"
        )
    return tuple(sorted(distinct))
