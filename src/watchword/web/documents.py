"""Test documents on the live page: predictions, and the confusion matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from watchword._arrays import BoolArray, FloatArray, IntArray
from watchword._checks import Label, as_labels, as_list
from watchword.data import Document
from watchword.web.models import LatestUsed, Models, NotThereError, Settings, explained

PAGE = 50  # documents or subjects per page of a list
_PREVIEW = 160


class Selection(NamedTuple):
    """The filter of a list: right or wrong predictions, a cell of the confusion matrix, a page."""

    right: bool | None = None
    row: int | None = None
    column: int | None = None
    page: int = 0


class _Judged(NamedTuple):
    """A model's values and predictions for all documents."""

    values: FloatArray
    columns: IntArray  # of the predicted label


class DocumentShelf:
    """Documents, their labels where known, and the model's predictions."""

    def __init__(
        self,
        models: Models,
        texts: Iterable[str | Document],
        labels: Iterable[Label | None] | None = None,
    ) -> None:
        self._models = models
        self._documents = _documents(texts, labels)
        self._kept = LatestUsed()
        known = list(models.first.labels)
        others = {one.label for one in self._documents if one.label is not None} - set(known)
        #: The labels of the model, then those that only documents have.
        self.labels: list[Label] = known + sorted_labels(others)
        place = {label: at for at, label in enumerate(self.labels)}
        self._truth = np.array(
            [-1 if one.label is None else place[one.label] for one in self._documents], np.int64
        )

    def about(self) -> dict[str, Any]:
        """Return the number of documents and the labels of the confusion matrix."""
        labelled = int((self._truth >= 0).sum())
        return {"total": len(self._documents), "labelled": labelled, "labels": self.labels}

    def listing(self, settings: Settings, selection: Selection) -> dict[str, Any]:
        """Return a page of the selected documents, and the confusion matrix of all documents."""
        judged = self._judged(settings)
        right = judged.columns == self._truth
        entry = partial(self._entry, judged)
        return listed(selection, self._truth, judged.columns, right, entry)

    def one(self, at: int, settings: Settings) -> dict[str, Any]:
        """Return a document with its explanation."""
        document = self._at(at)
        judged = self._judged(settings)
        return self._entry(judged, at) | explained(self._models.under(settings), document.text)

    def _at(self, at: int) -> Document:
        if not 0 <= at < len(self._documents):
            raise NotThereError(
                f"document {at} not found: there are {len(self._documents)} documents"
            )
        return self._documents[at]

    def _entry(self, judged: _Judged, at: int) -> dict[str, Any]:
        document = self._documents[at]
        column = int(judged.columns[at])
        return {
            "at": at,
            "id": document.id,
            "begin": document.text[:_PREVIEW],
            "characters": len(document.text),
            "truth": document.label,
            "label": self.labels[column],
            "right": None if document.label is None else bool(self._truth[at] == column),
            "value": float(judged.values[at, column]),
        }

    def _judged(self, settings: Settings) -> _Judged:
        return self._kept.get(settings, lambda: self._judge(settings))

    def _judge(self, settings: Settings) -> _Judged:
        model = self._models.under(settings)
        texts = [document.text for document in self._documents]
        table = model.confidence_table(texts)
        place = {label: at for at, label in enumerate(table.labels)}
        decided = model.decide(table)
        columns = np.array([place[label] for label in decided], np.int64)
        return _Judged(table.values, columns)


def listed(
    selection: Selection,
    truth: IntArray,
    decided: IntArray,
    right: BoolArray,
    entry: Callable[[int], dict[str, Any]],
) -> dict[str, Any]:
    """Return a page of the selected documents or subjects, and the confusion matrix of all.

    `truth` and `decided` are the row and column of each in the matrix, with -1 for an unknown
    truth; `right` says which decisions are right where the truth is known.
    """
    known = truth >= 0
    mask = np.ones(truth.size, np.bool_)
    if selection.right is not None:
        mask &= known & (right == selection.right)
    if selection.row is not None:
        mask &= truth == selection.row
    if selection.column is not None:
        mask &= decided == selection.column
    rows = np.flatnonzero(mask)
    pages = max(1, -(-rows.size // PAGE))
    page = min(max(selection.page, 0), pages - 1)
    return {
        "total": int(rows.size),
        "page": page,
        "pages": pages,
        "rows": [entry(at) for at in rows[page * PAGE : (page + 1) * PAGE].tolist()],
        "cells": _confusion(truth[known], decided[known]),
        "right": int((right & known).sum()),
    }


def _confusion(truth: IntArray, decided: IntArray) -> list[list[int]]:
    """Count pairs of true label (row) and decision (column): [row, column, count]."""
    cells, counts = np.unique(np.stack([truth, decided]), axis=1, return_counts=True)
    return [[*cell, count] for cell, count in zip(cells.T.tolist(), counts.tolist(), strict=True)]


def sorted_labels(labels: Iterable[Label]) -> list[Label]:
    """Return labels sorted by their spelling; 1 and "1" are different labels."""
    return sorted(labels, key=lambda label: (str(label), repr(label)))


def _documents(
    texts: Iterable[str | Document], labels: Iterable[Label | None] | None
) -> list[Document]:
    documents = [
        one if isinstance(one, Document) else Document(one) for one in as_list(texts, "texts")
    ]
    for at, one in enumerate(documents):
        if not isinstance(one.text, str):
            raise TypeError(f"text {at} must be str, got {type(one.text).__name__}")
    if labels is None:
        return documents
    given = as_list(labels, "labels")
    if len(documents) != len(given):
        raise ValueError(f"{len(documents)} texts but {len(given)} labels")
    return [
        Document(one.text, None if label is None else as_labels([label])[0], one.id)
        for one, label in zip(documents, given, strict=True)
    ]
