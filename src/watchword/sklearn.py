"""τ-SS3 as a scikit-learn estimator, for pipelines, cross-validation and grid search.

`TauSS3Classifier` is a thin wrapper around `watchword.TauSS3`, which is available as `model_` for
explaining, inspecting and saving.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from watchword._arrays import FloatArray
from watchword._checks import Label
from watchword.errors import MissingExtraError
from watchword.model.engine import winners
from watchword.model.parameters import DEFAULTS, takes_parameters
from watchword.model.tau_ss3 import TauSS3

try:
    from joblib import effective_n_jobs  # type: ignore[import-untyped]
    from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped]
    from sklearn.utils import check_consistent_length  # type: ignore[import-untyped]
    from sklearn.utils.multiclass import (  # type: ignore[import-untyped]
        check_classification_targets,
        unique_labels,
    )
    from sklearn.utils.validation import (  # type: ignore[import-untyped]
        check_is_fitted,
        column_or_1d,
    )
except ImportError as error:
    raise MissingExtraError(
        "watchword.sklearn needs scikit-learn: pip install 'watchword[sklearn]'"
    ) from error

__all__ = ["TauSS3Classifier"]

_Array = npt.NDArray[Any]


# Arguments beside the parameters of the model.
_OTHERS = {
    "word_hook": "WordHook | None",
    "tokenizer": "Tokenizer | None",
    "n_jobs": "int | None",
}


@takes_parameters(**_OTHERS)
class TauSS3Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The τ-SS3 text classifier as a scikit-learn estimator.

    The parameters are those of `watchword.TauSS3`, checked in `fit`, and `n_jobs`. For the
    parameters of the paper, use `TauSS3Classifier(**watchword.model.presets.PAPER)`.

    Parameters
    ----------
    {parameters}
    word_hook, tokenizer
        as of `watchword.TauSS3`.
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

    classes_: _Array
    model_: TauSS3
    default_label: Hashable
    prune_period: int | None
    n_jobs: int | None
    _labels: tuple[Label, ...]  # the model's label of each class

    def __init__(self, **parameters: Any) -> None:
        for name, default in (DEFAULTS | dict.fromkeys(_OTHERS)).items():
            setattr(self, name, parameters.pop(name, default))
        for unknown in parameters:
            raise TypeError(f"TauSS3Classifier() got an unexpected keyword argument {unknown!r}")

    # Learning

    def fit(self, X: Iterable[str], y: npt.ArrayLike) -> TauSS3Classifier:  # noqa: N803
        """Learn these documents with a new model."""
        texts, targets = _documents(X, y)
        check_classification_targets(targets)
        classes = np.unique(targets)
        self._continue(None, classes, texts, targets)
        return self

    def partial_fit(
        self,
        X: Iterable[str],  # noqa: N803
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
    ) -> TauSS3Classifier:
        """Learn these documents in addition to earlier ones.

        The first call needs `classes`, the list of all classes that may occur. Parameters changed
        between calls take effect, except for those that change the counts (`tokenizer`, …), which
        raise `ValueError`.

        >>> classifier = TauSS3Classifier()
        >>> _ = classifier.partial_fit(["machine learning"], ["tech"], classes=["sports", "tech"])
        >>> _ = classifier.partial_fit(["what a match"], ["sports"])
        >>> str(classifier.predict(["the match"])[0])
        'sports'
        """
        fitted = hasattr(self, "model_")
        if classes is None and not fitted:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        texts, targets = _documents(X, y)
        settled = self.classes_ if classes is None else np.asarray(unique_labels(classes))
        if fitted and not np.array_equal(settled, self.classes_):
            raise ValueError(
                f"classes={settled.tolist()!r} is not the same as on the first call to "
                f"partial_fit: {self.classes_.tolist()!r}"
            )
        self._continue(self.model_ if fitted else None, settled, texts, targets)
        return self

    def _continue(
        self, model: TauSS3 | None, classes: _Array, texts: list[str], targets: _Array
    ) -> None:
        """Teach a model, and set the fitted attributes only if that succeeds."""
        threads = self._threads()
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
        learnt = [labels[index_of[target]] for target in targets.tolist()]
        model.learn_many(texts, learnt, threads=1 if self.prune_period is not None else threads)
        self.classes_, self._labels, self.model_ = classes, labels, model

    # Reading

    def predict(self, X: Iterable[str]) -> _Array:  # noqa: N803
        """Return the class of highest confidence, or the default class without evidence."""
        best = self._best(self._confidences(X))
        predicted: _Array = self.classes_[best]
        return predicted

    def _best(self, values: FloatArray) -> npt.NDArray[np.int64]:
        """Return the class index of each row of confidences."""
        best, silent = winners(values)
        if silent.any():
            best[silent] = self._default_index()
        return best

    def predict_proba(self, X: Iterable[str]) -> FloatArray:  # noqa: N803
        """Return the share of each class in the confidences; rows add up to 1.

        Shares are not calibrated probabilities; see `sklearn.calibration.CalibratedClassifierCV`.
        Without evidence, the default class has 1.

        >>> classifier = TauSS3Classifier().fit(["good morning", "good night"], ["am", "pm"])
        >>> classifier.predict_proba(["morning", "unheard"]).tolist()
        [[1.0, 0.0], [1.0, 0.0]]
        """
        known = self._confidences(X)
        values = np.maximum(known, 0.0)  # a summary function may go below 0
        nothing = np.flatnonzero(~values.any(axis=1))
        values[nothing, self._best(known)[nothing]] = 1.0
        values /= values.max(axis=1, keepdims=True)  # first, since the sum could overflow
        shares: FloatArray = values / values.sum(axis=1, keepdims=True)
        return shares

    def decision_function(self, X: Iterable[str]) -> FloatArray:  # noqa: N803
        """Return the confidences, with shape (texts, classes).

        With two classes, return the confidence of `classes_[1]` minus that of `classes_[0]`, with
        shape (texts,). A class without documents has confidence 0.
        """
        values = self._confidences(X)
        if len(self.classes_) == 2:
            difference: FloatArray = values[:, 1] - values[:, 0]
            return difference
        return values

    # Helpers

    def _confidences(self, raw: Iterable[str]) -> FloatArray:
        check_is_fitted(self, "model_")
        texts = _texts(raw)
        known, values = self.model_.confidence_table(texts, threads=self._threads())
        if known == self._labels:
            return values
        column = {label: index for index, label in enumerate(known)}
        full = np.zeros((len(texts), len(self._labels)))
        for index, label in enumerate(self._labels):
            if label in column:
                full[:, index] = values[:, column[label]]
        return full

    def _default_index(self) -> int:
        default = self.model_.parameters["default_label"]
        if default is None:
            default = self.model_.default_label
        return self._labels.index(default)

    def _settings(self, index_of: Mapping[object, int], labels: Sequence[Label]) -> dict[str, Any]:
        """Translate the parameters for `TauSS3`."""
        settings: dict[str, Any] = self.get_params(deep=False)
        del settings["n_jobs"]
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def _more_tags(self) -> dict[str, Any]:  # scikit-learn before 1.6
        return {"X_types": ["string"]}


def _documents(raw: Iterable[str], y: npt.ArrayLike | None) -> tuple[list[str], _Array]:
    if y is None:
        raise ValueError("TauSS3Classifier requires y to be passed, but the target y is None")
    texts = _texts(raw)
    targets: _Array = column_or_1d(np.asarray(y), warn=True)
    check_consistent_length(texts, targets)
    _refuse_missing("y", targets.tolist())
    return texts, targets


def _texts(raw: Iterable[str]) -> list[str]:
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
    _refuse_missing("X", listed)
    for index, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"X[{index}] must be str, got {type(text).__name__}")
    return listed


def _refuse_missing(name: str, entries: Sequence[object]) -> None:
    for index, entry in enumerate(entries):
        # pandas' markers by name: pandas is not imported here
        missing = entry is None or type(entry).__name__ in ("NAType", "NaTType")
        if missing or (isinstance(entry, float) and entry != entry):
            raise ValueError(f"{name}[{index}] is missing ({entry!r}): drop it or fill it in")


def _model_labels(classes: _Array) -> tuple[Label, ...]:
    """Return the model's label of each class: the classes if all str or all int, else indices."""
    listed = classes.tolist()
    for kind in (str, int):
        if all(type(one) is kind for one in listed):
            return tuple(listed)
    return tuple(range(len(listed)))
