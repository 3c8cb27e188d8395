"""Test documents on the live page: predictions, and the confusion matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from watchword._checks import (
    BoolArray,
    FloatArray,
    IntArray,
    Label,
    Progress,
    Target,
    as_label,
    as_labels,
    as_list,
    tracked,
)
from watchword.data import Document
from watchword.model.results import ConfidenceTable
from watchword.model.tau_ss3 import TauSS3
from watchword.web.models import LatestUsed, Models, Settings, explained, found_at

PAGE = 50  # documents or subjects per page of a list
_PREVIEW = 160
_BLOCK = 100  # documents read between two steps of progress


class Selection(NamedTuple):
    """The filter of a list: right or wrong predictions, a cell of the confusion matrix, a page."""

    right: bool | None = None
    row: int | None = None
    column: int | None = None
    page: int = 0


class _DocumentResults(NamedTuple):
    """A model's values and predictions for all documents.

    Each pair of a true label and a predicted one has the index of its document (`owners`).
    """

    values: FloatArray
    columns: IntArray  # of the strongest predicted label
    predicted: list[tuple[Label, ...]]
    owners: IntArray
    rows: IntArray  # of the true labels; -1 if unknown
    decided: IntArray
    right: BoolArray


class DocumentShelf:
    """Documents, their labels where known, and the model's predictions.

    If documents have several labels each, several are predicted. In the confusion matrix, a true
    label that was missed is counted under the strongest predicted one.
    """

    def __init__(
        self,
        models: Models,
        texts: Iterable[str | Document],
        labels: Iterable[Target | None] | None = None,
        *,
        progress: Progress | None = None,
    ) -> None:
        self._models = models
        self._progress = progress
        self._documents = _documents(texts, labels)
        self._kept = LatestUsed()
        known = list(models.first.labels)
        self._several = any(isinstance(one.label, tuple) for one in self._documents)
        self._truth = [_labels_of(one) for one in self._documents]  # empty if unknown
        others = {label for own in self._truth for label in own} - set(known)
        #: The labels of the model, then those that only documents have.
        self.labels: list[Label] = known + sorted_labels(others)

    def about(self) -> dict[str, Any]:
        """Return the number of documents and the labels of the confusion matrix."""
        labelled = sum(one.label is not None for one in self._documents)
        return {"total": len(self._documents), "labelled": labelled, "labels": self.labels}

    def listing(self, settings: Settings, selection: Selection) -> dict[str, Any]:
        """Return a page of the selected documents, and the confusion matrix of all documents."""
        judged = self._judged(settings)
        entry = partial(self._entry, judged)
        pairs = judged.rows, judged.decided
        return listed_documents(selection, *pairs, judged.right, entry, owners=judged.owners)

    def one(self, at: int, settings: Settings) -> dict[str, Any]:
        """Return a document with its explanation."""
        document = found_at(self._documents, at, "document")
        judged = self._judged(settings)
        return self._entry(judged, at) | explained(self._models.under(settings), document.text)

    def _entry(self, judged: _DocumentResults, at: int) -> dict[str, Any]:
        document = self._documents[at]
        column = int(judged.columns[at])
        return {
            "at": at,
            "id": document.id,
            "begin": document.text[:_PREVIEW],
            "characters": len(document.text),
            "truth": document.label,
            "label": list(judged.predicted[at]) if self._several else self.labels[column],
            "right": None if document.label is None else bool(judged.right[at]),
            "value": float(judged.values[at, column]),
        }

    def _judged(self, settings: Settings) -> _DocumentResults:
        return self._kept.get(settings, lambda: self._judge(settings))

    def _read(self, model: TauSS3, texts: list[str]) -> ConfidenceTable:
        """Return the confidences of texts, read block by block so that progress can be shown."""
        begins = range(0, max(len(texts), 1), _BLOCK)
        counted = tracked(begins, len(begins), self._progress)
        tables = [model.confidence_table(texts[begin : begin + _BLOCK]) for begin in counted]
        values = np.concatenate([table.values for table in tables])
        return ConfidenceTable(tables[0].labels, values)

    def _judge(self, settings: Settings) -> _DocumentResults:
        model = self._models.under(settings)
        texts = [document.text for document in self._documents]
        table = self._read(model, texts)
        place = {label: at for at, label in enumerate(table.labels)}
        decided = model.decide(table)
        predicted: list[tuple[Label, ...]] = [(one,) for one in decided]
        if self._several:
            predicted = model.decide_several(table)
        place |= {label: at for at, label in enumerate(self.labels)}
        pairs = [
            (at, place[label], place[label if label in predicted[at] else decided[at]])
            for at, own in enumerate(self._truth)
            for label in own
        ]
        unknown = [(at, -1, place[decided[at]]) for at, own in enumerate(self._truth) if not own]
        owners, rows, columns = np.array(pairs + unknown, np.int64).reshape(-1, 3).T
        right = [set(own) == set(found) for own, found in zip(self._truth, predicted, strict=True)]
        strongest = np.array([place[label] for label in decided], np.int64)
        outcome = np.array(right, np.bool_)
        return _DocumentResults(table.values, strongest, predicted, owners, rows, columns, outcome)


def listed_documents(
    selection: Selection,
    truth: IntArray,
    decided: IntArray,
    right: BoolArray,
    entry: Callable[[int], dict[str, Any]],
    *,
    owners: IntArray | None = None,
) -> dict[str, Any]:
    """Return a page of the selected documents or subjects, and the confusion matrix of all.

    `truth` and `decided` are the row and column of each in the matrix, with -1 for an unknown
    truth; `right` says which decisions are right where the truth is known. With `owners`, each is
    the index of the document that a row and a column belong to: one with several labels has more.
    """
    if owners is None:
        owners = np.arange(truth.size)
    is_known = truth >= 0
    chosen = np.ones(truth.size, np.bool_)
    if selection.row is not None:
        chosen &= truth == selection.row
    if selection.column is not None:
        chosen &= decided == selection.column
    mask, known = np.zeros((2, right.size), np.bool_)
    mask[owners[chosen]] = True
    known[owners[is_known]] = True
    if selection.right is not None:
        mask &= known & (right == selection.right)
    rows = np.flatnonzero(mask)
    pages = max(1, -(-rows.size // PAGE))
    page = min(max(selection.page, 0), pages - 1)
    return {
        "total": int(rows.size),
        "page": page,
        "pages": pages,
        "rows": [entry(at) for at in rows[page * PAGE : (page + 1) * PAGE].tolist()],
        "cells": _confusion(truth[is_known], decided[is_known]),
        "right": int((right & known).sum()),
    }


def _confusion(truth: IntArray, decided: IntArray) -> list[list[int]]:
    """Count pairs of true label (row) and decision (column): [row, column, count]."""
    cells, counts = np.unique(np.stack([truth, decided]), axis=1, return_counts=True)
    return [[*cell, count] for cell, count in zip(cells.T.tolist(), counts.tolist(), strict=True)]


def _labels_of(document: Document) -> tuple[Label, ...]:
    if document.label is None:
        return ()
    return document.label if isinstance(document.label, tuple) else (document.label,)


def sorted_labels(labels: Iterable[Label]) -> list[Label]:
    """Return labels sorted by their spelling; 1 and "1" are different labels."""
    return sorted(labels, key=lambda label: (str(label), repr(label)))


def _documents(
    texts: Iterable[str | Document], labels: Iterable[Target | None] | None
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
        Document(one.text, _as_target(label), one.id)
        for one, label in zip(documents, given, strict=True)
    ]


def _as_target(label: object) -> Target | None:
    if isinstance(label, list | tuple | set | frozenset):
        return tuple(as_labels(label))
    return None if label is None else as_label(label)
