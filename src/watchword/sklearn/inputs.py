"""Checks of X and y, as scikit-learn words them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils import check_consistent_length  # type: ignore[import-untyped]
from sklearn.utils.validation import column_or_1d  # type: ignore[import-untyped]

Array = npt.NDArray[Any]


class TextInput(BaseEstimator):  # type: ignore[misc]
    """An estimator whose X is a one-dimensional sequence of texts."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def _more_tags(self) -> dict[str, Any]:  # scikit-learn before 1.6
        return {"X_types": ["string"]}


def as_documents(
    estimator: str, raw: Iterable[str], y: npt.ArrayLike | None
) -> tuple[list[str], Array]:
    """Return X and y of an estimator, checked."""
    if y is None:
        raise ValueError(f"{estimator} requires y to be passed, but the target y is None")
    texts = as_text_list(raw)
    targets: Array = column_or_1d(np.asarray(y), warn=True)
    check_consistent_length(texts, targets)
    refuse_missing_entries("y", targets.tolist())
    return texts, targets


def as_text_list(raw: Iterable[str]) -> list[str]:
    """Return X as a list of str."""
    if isinstance(raw, str | bytes):
        raise ValueError(
            "Iterable over raw text documents expected, string object received."
        )  # the message of scikit-learn's vectorizers
    shape = getattr(raw, "shape", None)
    if shape is not None and len(shape) != 1:
        raise ValueError(
            f"X must have one dimension, one text per entry, got shape {tuple(shape)}: "
            "pass a single column, such as X[:, 0] or frame['text']"
        )
    if isinstance(raw, Mapping) or not isinstance(raw, Iterable):
        raise TypeError(f"X must be a sequence of texts, got {type(raw).__name__}")
    listed: list[Any] = raw.tolist() if isinstance(raw, np.ndarray) else list(raw)
    if not listed:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    refuse_missing_entries("X", listed)
    for index, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"X[{index}] must be str, got {type(text).__name__}")
    return listed


def refuse_missing_entries(name: str, entries: Sequence[object]) -> None:
    """Raise an error that names the first missing entry, if there is one."""
    for index, entry in enumerate(entries):
        # pandas' markers by name: pandas is not imported here
        missing = entry is None or type(entry).__name__ in ("NAType", "NaTType")
        if missing or (isinstance(entry, float) and entry != entry):
            raise ValueError(f"{name}[{index}] is missing ({entry!r}): drop it or fill it in")
