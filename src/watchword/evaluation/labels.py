"""Evaluation of a text classifier: measures, a table of labels and the confusion matrix."""

from __future__ import annotations

import json
import operator
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from watchword._checks import (
    IntArray,
    Label,
    Targets,
    are_several,
    as_label,
    as_label_sets,
    as_labelled_texts,
    as_labels,
    as_list,
    as_whole,
    one_label_in,
    reprs,
)
from watchword._display import csv_of, view
from watchword.evaluation.counts import (
    COLUMNS,
    LabelMeasures,
    cells_of,
    empty_matrix,
    in_order,
    matrix_of,
    measures_of,
    share,
)
from watchword.model.tau_ss3 import TauSS3

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MEASURES", "Evaluation", "LabelMeasures", "Spread", "evaluate"]

MEASURES = (
    "accuracy",
    "macro_precision",
    "macro_recall",
    "macro_f1",
    "micro_precision",
    "micro_recall",
    "micro_f1",
    "weighted_precision",
    "weighted_recall",
    "weighted_f1",
    "hamming",
    "exact_match",
)
"""The names that `Evaluation.measure` accepts; higher is better, except for `"hamming"`."""

_MOST_TEXTS = 2**53  # the largest number that JSON readers keep exactly


class Spread(NamedTuple):
    """A measure over folds: its mean and its standard deviation (n − 1; 0 for a single fold)."""

    mean: float
    deviation: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The quality of predictions. `print` shows a table, a notebook draws charts.

    `labels` are all true and predicted labels, sorted; `per_label` has a row for each. `confusion`
    counts texts by true label (rows) and predicted label (columns); it is None if texts may have
    several labels. `right` of the `texts` were predicted exactly. After cross-validation, `folds`
    has the evaluation of each fold, and all measures cover the folds together.

    >>> found = Evaluation.of(["tech", "tech", "sports"], ["tech", "sports", "sports"])
    >>> found.confusion.tolist(), found.labels
    ([[1, 0], [1, 1]], ('sports', 'tech'))
    >>> round(found.macro_f1, 3), found.per_label[1].recall
    (0.667, 0.5)
    """

    labels: tuple[Label, ...]
    confusion: IntArray | None
    per_label: tuple[LabelMeasures, ...]
    texts: int
    right: int
    folds: tuple[Evaluation, ...] = ()

    @classmethod
    def of(
        cls, truth: Targets, predicted: Targets, *, labels: Iterable[Label] | None = None
    ) -> Evaluation:
        """Compare true and predicted labels, or collections of labels, of texts.

        `labels` adds labels that occur in neither; they count as 0 in macro averages.

        >>> Evaluation.of([{"a", "b"}, set()], [{"a"}, set()]).exact_match
        0.5
        """
        actual, found = as_list(truth, "labels"), as_list(predicted, "predictions")
        if len(actual) != len(found):
            raise ValueError(f"{len(actual)} labels but {len(found)} predictions")
        if not actual:
            raise ValueError("there are no texts to evaluate")
        several = are_several(actual)
        if several != are_several(found, "predictions"):
            one, many = ("predictions", "labels") if several else ("labels", "predictions")
            raise TypeError(f"the {many} are collections, but the {one} are not")
        more = () if labels is None else as_labels(labels)
        if several:
            return _of_sets(as_label_sets(actual), as_label_sets(found), more)
        actual, found = as_labels(actual), as_labels(found)
        order = in_order([*actual, *found, *more])
        return _of_matrix(order, matrix_of(actual, found, order))

    @classmethod
    def of_confusion(cls, labels: Iterable[Label], confusion: npt.ArrayLike) -> Evaluation:
        """Return the evaluation with this confusion matrix, its axes in the order of `labels`.

        >>> Evaluation.of_confusion(["b", "a"], [[3, 1], [0, 4]]).confusion.tolist()
        [[4, 0], [1, 3]]
        """
        named = as_labels(labels)
        given = np.asarray(confusion)
        if given.shape != (len(named), len(named)):
            raise ValueError(
                f"a confusion matrix of {len(named)} labels must have the shape "
                f"{(len(named), len(named))}, got {given.shape}"
            )
        if given.dtype.kind not in "iu" or (given < 0).any():
            raise ValueError("a confusion matrix must hold whole numbers of at least 0")
        order = in_order(named)
        if len(order) < len(named):
            raise ValueError("labels must not contain duplicates")
        indices = [named.index(label) for label in order]
        return _of_matrix(order, given.astype(np.int64)[np.ix_(indices, indices)])

    @classmethod
    def pooled(cls, parts: Iterable[Evaluation]) -> Evaluation:
        """Return one evaluation of the texts of several, which become its `folds`.

        >>> part = Evaluation.of(["a", "b"], ["a", "a"])
        >>> whole = Evaluation.pooled([part, part])
        >>> whole.texts, len(whole.folds)
        (4, 2)
        """
        folds = tuple(parts)
        if not folds:
            raise ValueError("there are no evaluations to pool")
        if len({part.confusion is None for part in folds}) > 1:
            raise ValueError("evaluations of one and of several labels per text cannot be pooled")
        order = in_order(label for part in folds for label in part.labels)
        if folds[0].confusion is not None:
            return replace(_of_matrix(order, _summed(folds, order)), folds=folds)
        totals = {label: np.zeros(3, np.int64) for label in order}
        for row in (row for part in folds for row in part.per_label):
            totals[row.label] += row.support, row.predicted, row.right
        rows = tuple(LabelMeasures(label, *total.tolist()) for label, total in totals.items())
        texts, right = sum(part.texts for part in folds), sum(part.right for part in folds)
        return cls(order, None, rows, texts, right, folds)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Evaluation):
            return NotImplemented
        return self._key() == other._key() and self.folds == other.folds

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        cells = None if self.confusion is None else self.confusion.tobytes()
        return self.per_label, cells, self.texts, self.right

    # Measures

    @property
    def several(self) -> bool:
        """Whether texts may have several labels."""
        return self.confusion is None

    @property
    def majority(self) -> tuple[Label, Evaluation] | None:
        """The most frequent label, and the evaluation of always predicting it.

        None if texts may have several labels.

        >>> label, trivial = Evaluation.of(["a", "b", "b"], ["a", "a", "b"]).majority
        >>> label, round(trivial.accuracy, 3), trivial.macro_f1
        ('b', 0.667, 0.4)
        """
        if self.confusion is None:
            return None
        best = int(self.confusion.sum(axis=1).argmax())
        matrix = empty_matrix(len(self.labels))
        matrix[:, best] = self.confusion.sum(axis=1)
        return self.labels[best], _of_matrix(self.labels, matrix)

    @property
    def accuracy(self) -> float:
        """The share of texts whose label, or set of labels, was predicted exactly."""
        return share(self.right, self.texts)

    @property
    def exact_match(self) -> float:
        """The accuracy, by its usual name where texts have several labels."""
        return self.accuracy

    @property
    def hamming(self) -> float:
        """The Hamming loss: the share of wrong pairs of text and label, or of wrong texts."""
        if self.confusion is not None:
            return share(self.texts - self.right, self.texts)
        wrong = sum(one.support + one.predicted - 2 * one.right for one in self.per_label)
        return share(wrong, self.texts * len(self.labels))

    @property
    def macro_precision(self) -> float:
        """The mean precision of all labels."""
        return self._macro("precision")

    @property
    def macro_recall(self) -> float:
        """The mean recall of all labels."""
        return self._macro("recall")

    @property
    def macro_f1(self) -> float:
        """The mean F₁ of all labels."""
        return self._macro("f1")

    @property
    def micro_precision(self) -> float:
        """The precision over all predicted labels together."""
        return self._together().precision

    @property
    def micro_recall(self) -> float:
        """The recall over all true labels together."""
        return self._together().recall

    @property
    def micro_f1(self) -> float:
        """The harmonic mean of micro precision and recall; equals accuracy with single labels."""
        return self._together().f1

    @property
    def weighted_precision(self) -> float:
        """The mean precision of all labels, weighted by support."""
        return self._weighted("precision")

    @property
    def weighted_recall(self) -> float:
        """The mean recall of all labels, weighted by support."""
        return self._weighted("recall")

    @property
    def weighted_f1(self) -> float:
        """The mean F₁ of all labels, weighted by support."""
        return self._weighted("f1")

    def measure(self, name: str) -> float:
        """Return a measure by name, one of `MEASURES`.

        >>> Evaluation.of(["a", "b"], ["a", "a"]).measure("accuracy")
        0.5
        """
        return float(getattr(self, _known(name)))

    @property
    def measures(self) -> dict[str, float]:
        """All measures by name."""
        return {name: self.measure(name) for name in MEASURES}

    def spread(self, name: str) -> Spread:
        """Return the mean and standard deviation of a measure over the folds."""
        values = [fold.measure(_known(name)) for fold in self.folds]
        if not values:
            raise ValueError("the evaluation has no folds: use cross_validate")
        return Spread(fmean(values), stdev(values) if len(values) > 1 else 0.0)

    def _macro(self, name: str) -> float:
        return fmean(getattr(one, name) for one in self.per_label) if self.per_label else 0.0

    def _weighted(self, name: str) -> float:
        total = sum(one.support * getattr(one, name) for one in self.per_label)
        return share(total, sum(one.support for one in self.per_label))

    def _together(self) -> LabelMeasures:
        counts = ("support", "predicted", "right")
        return LabelMeasures(
            "all labels", *(sum(getattr(one, name) for one in self.per_label) for name in counts)
        )

    # Output

    def __str__(self) -> str:
        evaluation_text: Callable[..., str] = view("evaluation_text")
        return evaluation_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; the confusion matrix as nonzero cells [row, column, count]."""
        cells = None if self.confusion is None else cells_of(self.confusion)
        majority = None
        if self.majority is not None:
            label, trivial = self.majority
            majority = {"label": label, "measures": trivial.measures}
        return {
            "labels": list(self.labels),
            "texts": self.texts,
            "right": self.right,
            "measures": self.measures,
            "majority": majority,
            "per_label": [one.to_dict() for one in self.per_label],
            "confusion": cells,
            "spread": {name: self.spread(name)._asdict() for name in MEASURES if self.folds},
            "folds": [fold.to_dict() for fold in self.folds],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Evaluation:
        """Return the evaluation from the output of `to_dict`, recomputing measures from counts."""
        try:
            return _from_plain(plain)
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise ValueError(f"not the output of Evaluation.to_dict ({reason})") from None

    def to_json(self) -> str:
        """Return `to_dict` as JSON, in ASCII."""
        return json.dumps(self.to_dict())

    def to_csv(self, *, spreadsheet_safe: bool = False) -> str:
        """Return a line per label: label, precision, recall, f1, support, predicted, right.

        With `spreadsheet_safe`, text that a spreadsheet would run as a formula gets a leading
        apostrophe.
        """
        rows = [one.to_dict() for one in self.per_label]
        return csv_of(rows, list(COLUMNS), spreadsheet_safe=spreadsheet_safe)

    def to_html(self, *, title: str = "Evaluation") -> str:
        """Return the measures, a table of labels and the confusion matrix as a snippet of HTML."""
        evaluation_html: Callable[..., str] = view("evaluation_html")
        return evaluation_html(self.to_dict(), title=title, page=False)

    def to_page(self, *, title: str = "Evaluation") -> str:
        """Return the same as a self-contained page."""
        evaluation_html: Callable[..., str] = view("evaluation_html")
        return evaluation_html(self.to_dict(), title=title, page=True)

    def _repr_html_(self) -> str:
        return self.to_html()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the confusion matrix with matplotlib on the given or new axes.

        Colours show shares of a row, numbers count texts. If texts have several labels, draw the
        F₁ of each label instead.
        """
        plot_evaluation: Callable[..., Axes] = view("plot_evaluation")
        return plot_evaluation(self.to_dict(), ax)


def evaluate(
    model: TauSS3, texts: Iterable[str], labels: Targets, *, threads: int | None = None
) -> Evaluation:
    """Evaluate a model on texts with known labels.

    Use texts that the model has not learnt. `labels` has one label per text, or one collection of
    labels per text: several labels are then predicted (`predict_labels_many`). A `UserWarning` is
    issued if all texts have the same label.

    >>> model = TauSS3()
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> evaluate(model, ["deep learning", "the match", "fun"], ["tech", "sports", "tech"]).right
    2
    """
    if not isinstance(model, TauSS3):
        hint = ": pass its model_" if hasattr(model, "model_") else ""
        raise TypeError(f"model must be a TauSS3, got {type(model).__name__}{hint}")
    documents, truth = as_labelled_texts(texts, labels)
    if not truth:
        raise ValueError("there are no texts to evaluate")
    found = compared(model, documents, truth, threads)
    warn_of_one_label(truth)
    return found


def warn_of_one_label(labels: Sequence[object]) -> None:
    """Issue a `UserWarning` if all texts have the same label."""
    if (problem := one_label_in(labels)) is not None:
        warnings.warn(f"{problem}: mistakes about other labels cannot show", stacklevel=3)


def compared(
    model: TauSS3, texts: Sequence[str], labels: Targets, threads: int | None
) -> Evaluation:
    """Return the evaluation of a model on texts, without checks."""
    read = model.predict_labels_many if are_several(labels) else model.predict_many
    return Evaluation.of(labels, read(texts, threads=threads))


# Counting


def _known(name: str) -> str:
    if name not in MEASURES:
        raise ValueError(f"a measure must be one of {reprs(MEASURES)}, got {name!r}")
    return name


def _of_matrix(order: tuple[Label, ...], matrix: IntArray) -> Evaluation:
    matrix.setflags(write=False)
    return Evaluation(
        order, matrix, measures_of(order, matrix), int(matrix.sum()), int(matrix.trace())
    )


def _of_sets(
    truth: list[frozenset[Label]], found: list[frozenset[Label]], more: Collection[Label]
) -> Evaluation:
    lists = (truth, found, [actual & given for actual, given in zip(truth, found, strict=True)])
    counts = [Counter(chain.from_iterable(sets)) for sets in lists]
    order = in_order([*counts[0], *counts[1], *more])
    rows = tuple(LabelMeasures(label, *(one[label] for one in counts)) for label in order)
    return Evaluation(order, None, rows, len(truth), sum(map(operator.eq, truth, found)))


def _summed(parts: Sequence[Evaluation], order: tuple[Label, ...]) -> IntArray:
    index_of = {label: index for index, label in enumerate(order)}
    total = empty_matrix(len(order))
    for part in parts:
        indices = [index_of[label] for label in part.labels]
        if part.confusion is not None:
            total[np.ix_(indices, indices)] += part.confusion
    return total


def _from_plain(plain: Mapping[str, Any]) -> Evaluation:
    folds = tuple(_from_plain(fold) for fold in plain["folds"])
    labels = as_labels(plain["labels"])
    if plain["confusion"] is not None:
        matrix = empty_matrix(len(labels))
        for row, column, count in plain["confusion"]:
            cell = (as_whole("a row", row, 0), as_whole("a column", column, 0))
            matrix[cell] += as_whole("a count", count, 0, _MOST_TEXTS)
        return replace(Evaluation.of_confusion(labels, matrix), folds=folds)
    names = ("support", "predicted", "right")
    texts, right = (as_whole(name, plain[name], 0, _MOST_TEXTS) for name in ("texts", "right"))
    rows = {
        as_label(one["label"]): [as_whole(name, one[name], 0, texts) for name in names]
        for one in plain["per_label"]
    }
    order = in_order(labels)
    measures = tuple(LabelMeasures(label, *rows[label]) for label in order)
    return Evaluation(order, None, measures, texts, right, folds)
