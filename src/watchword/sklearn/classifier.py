"""τ-SS3 as a scikit-learn estimator, for pipelines, cross-validation and grid search.

`TauSS3Classifier` is a thin wrapper around `watchword.TauSS3`, which is available as `model_` for
explaining, inspecting and saving.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.base import (  # type: ignore[import-untyped]
    BaseEstimator,
    ClassifierMixin,
)
from sklearn.utils import check_consistent_length  # type: ignore[import-untyped]
from sklearn.utils.multiclass import (  # type: ignore[import-untyped]
    check_classification_targets,
    unique_labels,
)
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    check_is_fitted,
    column_or_1d,
)

from watchword._checks import FloatArray, Label
from watchword.model.engine import engine_of, winners
from watchword.model.native import shares as shares_of
from watchword.model.parameters import DEFAULTS, takes_parameters
from watchword.model.results import ConfidenceTable
from watchword.model.tau_ss3 import TauSS3

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


# Arguments beside the parameters of the model: types and defaults.
_OTHERS = {
    "word_hook": ("WordHook | None", None),
    "tokenizer": ("Tokenizer | None", None),
    "refine": ("bool", True),
    "n_jobs": ("int | None", None),
}


@takes_parameters(**_OTHERS)
class TauSS3Classifier(ClassifierMixin, TextInput):  # type: ignore[misc]
    """The τ-SS3 text classifier as a scikit-learn estimator.

    The parameters are those of `watchword.TauSS3`, checked in `fit`, `refine` and `n_jobs`. For the
    model of the paper, use `TauSS3Classifier(**watchword.model.parameters.PAPER, refine=False)`.

    Parameters
    ----------
    {parameters}
    word_hook, tokenizer
        as of `watchword.TauSS3`.
    refine
        whether to correct the counted values: `fit` refines the model with all texts
        (`TauSS3.refine`), and `partial_fit` corrects it in one step per text, so that the order of
        texts matters (`TauSS3.learn_many(correct=True)`). Without, and with `prune_period` or a
        `summary` other than `"sum"`, texts are only counted.
    n_jobs
        number of threads for learning and reading: None for one (or the value of
        `joblib.parallel_config`), -1 for all cores. The result does not depend on it. With
        `prune_period`, learning uses one thread, because pruning depends on the order of documents.

    Attributes
    ----------
    classes_
        the classes, sorted; also the order of columns.
    model_
        the fitted `watchword.TauSS3`. Its labels are the classes if these are str or int, otherwise
        (bool, float) their indices in `classes_`.

    X is a one-dimensional sequence of texts: a list, a tuple, an array, a Series. There is no
    `n_features_in_`, because texts have no columns.

    >>> classifier = TauSS3Classifier(max_ngram=2)
    >>> texts = ["machine learning", "deep learning", "the match was fun", "what a match"]
    >>> classifier.fit(texts, ["tech", "tech", "sports", "sports"])
    TauSS3Classifier(max_ngram=2)
    >>> [str(label) for label in classifier.predict(["a fun match", "learning machines"])]
    ['sports', 'tech']
    >>> classifier.model_.labels
    ('sports', 'tech')
    """

    classes_: Array
    model_: TauSS3
    default_label: Hashable
    prune_period: int | None
    refine: bool
    n_jobs: int | None
    _labels: tuple[Label, ...]  # the model's label of each class

    def __init__(self, **parameters: Any) -> None:
        others = {name: default for name, (_, default) in _OTHERS.items()}
        for name, default in (DEFAULTS | others).items():
            setattr(self, name, parameters.pop(name, default))
        for unknown in parameters:
            raise TypeError(f"TauSS3Classifier() got an unexpected keyword argument {unknown!r}")

    # Learning

    def fit(self, X: Iterable[str], y: npt.ArrayLike) -> TauSS3Classifier:  # noqa: N803
        """Learn these documents with a new model, and refine it."""
        texts, targets = as_documents("TauSS3Classifier", X, y)
        check_classification_targets(targets)
        classes = np.unique(targets)
        model, labels, targeted = self._prepared(None, classes, targets)
        threads = self._threads()
        # Pruning depends on the order of documents.
        model.learn_many(texts, targeted, threads=threads if self.prune_period is None else 1)
        if self._refines(model):
            model.refine(texts, targeted, threads=threads)
        self.classes_, self._labels, self.model_ = classes, labels, model
        return self

    def partial_fit(
        self,
        X: Iterable[str],  # noqa: N803
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
    ) -> TauSS3Classifier:
        """Learn these documents in addition to earlier ones.

        The first call needs `classes`, the list of all classes that may occur. With `refine`, the
        model corrects itself after each document, from where `fit` or earlier calls left it; the
        probabilities are calibrated by `fit` only. Parameters changed between calls take effect:
        new values of n-grams begin without corrections. Those that change the counts (`tokenizer`,
        …) raise `ValueError`.

        >>> classifier = TauSS3Classifier()
        >>> _ = classifier.partial_fit(["machine learning"], ["tech"], classes=["sports", "tech"])
        >>> _ = classifier.partial_fit(["what a match"], ["sports"])
        >>> str(classifier.predict(["the match"])[0])
        'sports'
        """
        fitted = hasattr(self, "model_")
        if classes is None and not fitted:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        texts, targets = as_documents("TauSS3Classifier", X, y)
        settled = self.classes_ if classes is None else np.asarray(unique_labels(classes))
        if fitted and not np.array_equal(settled, self.classes_):
            raise ValueError(
                f"classes={settled.tolist()!r} is not the same as on the first call to "
                f"partial_fit: {self.classes_.tolist()!r}"
            )
        known = self.model_ if fitted else None
        model, labels, targeted = self._prepared(known, settled, targets)
        if self._refines(model):
            model.learn_many(texts, targeted, correct=True)
        else:
            model.drop_refinement()
            threads = self._threads() if self.prune_period is None else 1
            model.learn_many(texts, targeted, threads=threads)
        self.classes_, self._labels, self.model_ = settled, labels, model
        return self

    def _prepared(
        self, model: TauSS3 | None, classes: Array, targets: Array
    ) -> tuple[TauSS3, tuple[Label, ...], list[Label]]:
        """Return the model to teach, its label of each class, and its label of each target."""
        self._threads()  # checks n_jobs
        if len(classes) < 2:
            raise ValueError(
                f"TauSS3Classifier needs texts of at least two classes, got 1 class: "
                f"{classes.tolist()[0]!r}"
            )
        labels = _model_labels(classes)
        index_of = {known: index for index, known in enumerate(classes.tolist())}
        settings = self._settings(index_of, labels)
        blank = TauSS3(**settings)  # also checks the parameters
        if model is None:
            model = blank
        elif model.parameters != blank.parameters:
            model = model.replace(**settings)
        unknown = sorted({str(target) for target in targets.tolist() if target not in index_of})
        if unknown:
            raise ValueError(
                f"y has labels that are not among the classes {classes.tolist()!r}: "
                + ", ".join(unknown)
            )
        return model, labels, [labels[index_of[target]] for target in targets.tolist()]

    def _refines(self, model: TauSS3) -> bool:
        """Return whether a model is to be refined, and can be."""
        if not isinstance(self.refine, bool | np.bool_):
            raise ValueError(f"refine must be True or False, got {self.refine!r}")
        return bool(self.refine) and engine_of(model).parameters.suits_refining

    # Reading

    def predict(self, X: Iterable[str]) -> Array:  # noqa: N803
        """Return the class of highest confidence, or the default class without evidence."""
        best = self._best(self._full(self._read(X)))
        predicted: Array = self.classes_[best]
        return predicted

    def _best(self, values: FloatArray) -> npt.NDArray[np.int64]:
        """Return the class index of each row of confidences."""
        best, silent = winners(values)
        if silent.any():
            default = self.model_.parameters["default_label"]
            default = self.model_.default_label if default is None else default
            best[silent] = self._labels.index(default)
        return best

    def predict_proba(self, X: Iterable[str]) -> FloatArray:  # noqa: N803
        """Return the probability of each class; rows add up to 1.

        Probabilities are calibrated by `fit` (with at least 20 texts). Those of a model that is not
        refined are the shares of the classes in the confidences, which are not calibrated; see
        `sklearn.calibration.CalibratedClassifierCV`. Without evidence, the default class has 1.

        >>> classifier = TauSS3Classifier().fit(["good morning", "good night"], ["am", "pm"])
        >>> classifier.predict_proba(["morning", "unheard"]).round(2).tolist()
        [[0.85, 0.15], [1.0, 0.0]]
        """
        table = self._read(X)
        evidence = engine_of(self.model_).evidence_of(table)
        shares = self._columns(table.labels, shares_of(evidence.values))
        nothing = np.flatnonzero(~shares.any(axis=1))
        shares[nothing, self._best(self._full(table))[nothing]] = 1.0
        return shares

    def decision_function(self, X: Iterable[str]) -> FloatArray:  # noqa: N803
        """Return a signed margin of each class, with shape (texts, classes).

        Of a refined model, the scores; otherwise the share of a class in the confidences minus the
        largest share of another class. With two classes, return the difference between
        `classes_[1]` and `classes_[0]`, with shape (texts,). All are 0 without evidence.
        """
        values = self._full(self._read(X))
        if self.model_.refinement is None:
            values = _shares_of_all(values)
        if len(self.classes_) == 2:
            difference: FloatArray = values[:, 1] - values[:, 0]
            return difference
        if self.model_.refinement is None and len(self.classes_) > 2:
            values = values - _largest_other(values)
        return values

    # Helpers

    def _read(self, raw: Iterable[str]) -> ConfidenceTable:
        check_is_fitted(self, "model_")
        return self.model_.confidence_table(as_text_list(raw), threads=self._threads())

    def _full(self, table: ConfidenceTable) -> FloatArray:
        """Return the confidences by class: of a class without documents 0, or refined, the least.

        Refined scores are near −1 for labels that a text does not have.
        """
        full = self._columns(table.labels, table.values)
        if self.model_.refinement is not None and len(table.labels) < len(self._labels):
            unknown = np.array([label not in table.labels for label in self._labels])
            spoken = table.values.any(axis=1)
            least = np.minimum(table.values.min(axis=1, initial=0.0), -1.0)
            full[np.ix_(spoken, unknown)] = least[spoken, None]
        return full

    def _columns(self, known: Sequence[Label], values: FloatArray) -> FloatArray:
        """Return values by label as values by class, with 0 for classes without documents."""
        if tuple(known) == self._labels:
            return values
        full = np.zeros((len(values), len(self._labels)))
        full[:, [self._labels.index(label) for label in known]] = values
        return full

    def _settings(self, index_of: Mapping[object, int], labels: Sequence[Label]) -> dict[str, Any]:
        """Translate the parameters for `TauSS3`."""
        settings: dict[str, Any] = self.get_params(deep=False)
        del settings["n_jobs"], settings["refine"]
        if self.default_label is not None:
            if not isinstance(self.default_label, Hashable) or self.default_label not in index_of:
                raise ValueError(
                    f"default_label must be one of the classes {list(index_of)!r}, "
                    f"got {self.default_label!r}"
                )
            settings["default_label"] = labels[index_of[self.default_label]]
        return settings

    def _threads(self) -> int:
        n_jobs = self.n_jobs
        if n_jobs is not None and (
            isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0
        ):
            raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")
        return int(effective_n_jobs(n_jobs))


def _shares_of_all(values: FloatArray) -> FloatArray:
    """Return the share of each class in the sum of a row's sizes; 0 without evidence.

    A summary function may go below 0, which is kept, so that the order of classes is.
    """
    largest = np.abs(values).max(axis=1, keepdims=True, initial=0.0)
    scaled = values / np.where(largest > 0, largest, 1.0)  # first, since the sum could overflow
    total = np.abs(scaled).sum(axis=1, keepdims=True)
    shares: FloatArray = scaled / np.where(total > 0, total, 1.0)
    return shares


def _largest_other(values: FloatArray) -> FloatArray:
    """Return for each class the largest value of another class.

    >>> _largest_other(np.array([[1.0, 3.0, 2.0]])).tolist()
    [[3.0, 2.0, 3.0]]
    """
    others = np.repeat(values.max(axis=1, keepdims=True), values.shape[1], axis=1)
    rows = np.arange(len(values))
    others[rows, values.argmax(axis=1)] = np.partition(values, -2, axis=1)[:, -2]
    return others


def _model_labels(classes: Array) -> tuple[Label, ...]:
    """Return the model's label of each class: the classes if all str or all int, else indices."""
    listed = classes.tolist()
    for kind in (str, int):
        if all(type(one) is kind for one in listed):
            return tuple(listed)
    return tuple(range(len(listed)))
