"""PySS3's SS3Vectorizer, over watchword's."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

from watchword._checks import FloatArray
from watchword.pyss3.classifier import SS3
from watchword.pyss3.constants import IDX_UNKNOWN_CATEGORY, InvalidCategoryError
from watchword.pyss3.counts import native_names
from watchword.sklearn import vectorizer
from watchword.sklearn.vectorizer import Frequency, NgramWeight

__all__ = ["SS3Vectorizer"]


class SS3Vectorizer(vectorizer.SS3Vectorizer):
    """Turn documents into a sparse matrix of n-grams, weighted by values for a category.

    There is nothing to fit: the classifier must be trained. N-grams of all learnt lengths are
    columns, and documents are read by the classifier, not by scikit-learn's `CountVectorizer`.

    >>> clf = SS3()
    >>> clf.fit(["so much soup, hot soup", "a match, what a match"], ["food", "sports"])
    >>> SS3Vectorizer(clf, "food").transform(["soup, hot soup"]).toarray()
    array([[0., 0., 2.]])
    """

    def __init__(
        self,
        clf: SS3,
        cat: Hashable,
        ss3_weight: NgramWeight | Callable[[FloatArray], float] = "only_cat",
        tf_weight: Frequency | Callable[[FloatArray], FloatArray] = "raw_count",
        top_n: int | None = None,
    ) -> None:
        index = clf.get_category_index(cat)
        if index == IDX_UNKNOWN_CATEGORY:
            raise InvalidCategoryError
        label = native_names(clf.get_categories(all=True))[index]
        super().__init__(clf, label, ss3_weight, tf_weight, top_n, norm=None)
        self.clf = clf
        self.cat = cat

    def transform(self, raw_documents: Iterable[str]) -> csr_matrix:
        """Return a row per document and a column per n-gram."""
        self._fit_once()
        return super().transform(raw_documents)

    def fit_transform(self, raw_documents: Iterable[str], *_: object) -> csr_matrix:
        """Return a row per document and a column per n-gram."""
        return self.transform(raw_documents)

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the n-gram of each column."""
        self._fit_once()
        return super().get_feature_names_out(input_features)

    def _fit_once(self) -> None:
        if not hasattr(self, "vocabulary_"):
            self.fit(())
