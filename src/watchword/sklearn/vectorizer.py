"""A vectorizer whose weights are the values of a τ-SS3 model."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]
from sklearn.base import TransformerMixin  # type: ignore[import-untyped]
from sklearn.preprocessing import normalize  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from watchword._checks import FloatArray, Label, as_choice, as_labels, as_whole
from watchword.model.engine import engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.sklearn.classifier import TextInput, as_documents, as_text_list

NgramWeight = Literal["only_cat", "diff_all", "diff_max", "diff_median", "diff_mean"]
Frequency = Literal["binary", "raw_count", "term_freq", "log_norm", "double_norm"]
RowNorm = Literal["l2", "l1", "max"]

# What is subtracted from the value for the label: a summary of the values for the other labels.
_SUBTRACTED: dict[str, Callable[..., Any]] = {
    "diff_all": np.sum,
    "diff_max": np.max,
    "diff_median": np.median,
    "diff_mean": np.mean,
}

# The counts of the n-grams in a text.
_FREQUENCIES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "binary": np.ones_like,
    "raw_count": lambda counts: counts,
    "term_freq": lambda counts: counts / counts.sum(),
    "log_norm": np.log1p,
    "double_norm": lambda counts: 0.5 + 0.5 * counts / counts.max(),
}


class SS3Vectorizer(TransformerMixin, TextInput):  # type: ignore[misc]
    """Turn texts into a sparse matrix of n-grams, weighted by a model's values for a label.

    An entry is the frequency of the n-gram in the text times the weight of the n-gram; rows are
    scaled to the same length.

    Parameters
    ----------
    model
        a `watchword.TauSS3`, a `watchword.pyss3.SS3`, or an estimator with a model as `model_`.
        A trained model is used as it is; an empty one only supplies parameters for `fit`; None
        means the defaults.
    label
        the label whose values are weights; None for the label of highest value of each n-gram.
    ss3_weight
        `"only_cat"`: the value v of the n-gram for the label; `"diff_all"`, `"diff_max"`,
        `"diff_median"`, `"diff_mean"`: v minus the sum, maximum, median or mean of its values for
        the other labels; or a function of an array with the values for all labels, that for the
        label first, and returning a number.
    tf_weight
        with f as the count of the n-gram in the text, `"binary"`: 1; `"raw_count"`: f;
        `"term_freq"`: f / Σf; `"log_norm"`: log(1 + f); `"double_norm"`: .5 + .5 f / max f; or a
        function from the counts in a text to an array of the same length.
    top_n
        keep only the n-grams of highest weight; None for all with a value above 0.
    norm
        scale each row to length 1 in this norm, which linear models need: `"l2"`, `"l1"`, `"max"`;
        None for rows as they are.

    Attributes
    ----------
    model_
        the `watchword.TauSS3` that the values come from.
    vocabulary_
        the column of each n-gram.
    weights_
        the weight of each n-gram.

    >>> texts = ["machine learning", "deep learning", "the match was fun", "what a match"]
    >>> vectorizer = SS3Vectorizer(label="tech", top_n=2)
    >>> matrix = vectorizer.fit_transform(texts, ["tech", "tech", "sports", "sports"])
    >>> matrix.shape, [str(name) for name in vectorizer.get_feature_names_out()]
    ((4, 2), ['deep', 'learning'])
    """

    model_: TauSS3
    vocabulary_: dict[str, int]
    weights_: FloatArray

    def __init__(
        self,
        model: Any = None,
        label: Label | None = None,
        ss3_weight: NgramWeight | Callable[[FloatArray], float] = "only_cat",
        tf_weight: Frequency | Callable[[FloatArray], FloatArray] = "raw_count",
        top_n: int | None = None,
        norm: RowNorm | None = "l2",
    ) -> None:
        self.model = model
        self.label = label
        self.ss3_weight = ss3_weight
        self.tf_weight = tf_weight
        self.top_n = top_n
        self.norm = norm

    def fit(self, X: Iterable[str], y: npt.ArrayLike | None = None) -> SS3Vectorizer:  # noqa: N803
        """Learn these documents, unless the model has learnt; choose the n-grams and weigh them."""
        if not callable(self.ss3_weight):
            as_choice("ss3_weight", self.ss3_weight, ("only_cat", *_SUBTRACTED))
        if not callable(self.tf_weight):
            as_choice("tf_weight", self.tf_weight, tuple(_FREQUENCIES))
        if self.norm is not None:
            as_choice("norm", self.norm, ("l2", "l1", "max"))
        given = getattr(self.model, "model_", self.model)
        if hasattr(given, "to_watchword"):  # watchword.pyss3.SS3
            given = given.to_watchword()
        if not (given is None or isinstance(given, TauSS3)):
            raise TypeError(f"model must be a TauSS3 or a fitted estimator, got {self.model!r}")
        if given is not None and given.labels:
            model = given
        else:
            texts, targets = as_documents("SS3Vectorizer", X, y)
            model = TauSS3() if given is None else TauSS3(**given.parameters)
            model.learn_many(texts, as_labels(targets.tolist()))
        names, values = _values(model)
        weights = self._weights(model, values)
        kept = np.flatnonzero(values.max(axis=1, initial=0.0) > 0)
        if self.top_n is not None:
            best = np.argsort(-weights[kept], kind="stable")[: as_whole("top_n", self.top_n, 1)]
            kept = np.sort(kept[best])
        self.model_ = model
        self.vocabulary_ = {names[index]: column for column, index in enumerate(kept.tolist())}
        self.weights_ = weights[kept]
        return self

    def transform(self, X: Iterable[str]) -> csr_matrix:  # noqa: N803
        """Return a row per text and a column per n-gram."""
        check_is_fitted(self)
        frequency = self.tf_weight if callable(self.tf_weight) else _FREQUENCIES[self.tf_weight]
        indices: list[int] = []
        entries: list[FloatArray] = []
        ends = [0]
        for text in as_text_list(X):
            found = Counter(
                column
                for ngram in _ngrams(self.model_, text)
                if (column := self.vocabulary_.get(ngram)) is not None
            )
            columns = sorted(found)
            if columns:
                counts = np.array([found[column] for column in columns], dtype=np.float64)
                entries.append(np.asarray(frequency(counts)) * self.weights_[columns])
                indices += columns
            ends.append(len(indices))
        data = np.concatenate([np.zeros(0), *entries])
        matrix = csr_matrix((data, indices, ends), shape=(len(ends) - 1, len(self.vocabulary_)))
        if self.norm is None or not matrix.shape[0]:
            return matrix
        return normalize(matrix, norm=self.norm, copy=False)

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:  # noqa: ARG002
        """Return the n-gram of each column; `input_features` is ignored."""
        check_is_fitted(self)
        return np.array(list(self.vocabulary_), dtype=object)

    def _weights(self, model: TauSS3, values: FloatArray) -> FloatArray:
        """Return the weight of each n-gram: rows of `values`, one column per label."""
        rows = np.arange(len(values))
        if self.label is None:
            own = values.argmax(axis=1) if len(values) else rows
        else:
            own = np.full(len(values), model.labels.index(engine_of(model).known_label(self.label)))
        mask = np.ones(values.shape, np.bool_)
        mask[rows, own] = False
        others = values[mask].reshape(len(values), values.shape[1] - 1)
        if callable(self.ss3_weight):
            ordered = np.column_stack([values[rows, own], others])
            return np.array([self.ss3_weight(row) for row in ordered], dtype=np.float64)
        if self.ss3_weight == "only_cat" or not others.shape[1]:
            return np.asarray(values[rows, own])
        return np.asarray(values[rows, own] - _SUBTRACTED[self.ss3_weight](others, axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.model is None
        return tags


def _values(model: TauSS3) -> tuple[list[str], FloatArray]:
    """Return all n-grams of a model, sorted, and their values: a row each, a column per label."""
    names = sorted(model.counts())
    row_of = {name: row for row, name in enumerate(names)}
    values = np.zeros((len(names), len(model.labels)))
    for column, label in enumerate(model.labels):
        for ranked in model.top_ngrams(label, len(names)):
            values[row_of[ranked.ngram], column] = ranked.value
    return names, values


def _ngrams(model: TauSS3, text: str) -> Iterator[str]:
    """Yield all n-grams of a text up to the model's length; none contains a break."""
    engine = engine_of(model)
    longest = engine.parameters.max_ngram
    for paragraph in engine.source.read([text], with_spans=True).tree():
        for sentence in paragraph:
            before = deque[str](maxlen=longest)
            for _, _, word in sentence:
                if word is None:
                    before.clear()
                    continue
                before.append(word)
                for start in range(len(before)):
                    yield " ".join(islice(before, start, None))
