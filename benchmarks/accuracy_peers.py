"""scikit-learn's classifiers on corpora: as they come with words, or features and strength tuned.

`python accuracy_peers.py NAME < JOB` prints the labels of the test texts. The process runs where
scikit-learn is installed, which need not be where watchword is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from itertools import product
from typing import Any

import numpy as np
from accuracy_job import Row, Task, answer
from process import Stopwatch
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

WORD = r"\w+(?:['’]\w+)*"  # close to what is a word for watchword
ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
# The values of C, and the one that the length of n-grams is chosen with.
STRENGTHS = {
    "linear-svm": (0.1, 0.3, 1.0, 3.0, 10.0),
    "logistic-regression": (1.0, 3.0, 10.0, 30.0, 100.0),
}
FIRST_STRENGTH = {"linear-svm": 1.0, "logistic-regression": 10.0}
LENGTHS = {"naive-bayes": (1, 2, 3), "linear-svm": (1, 2, 3), "logistic-regression": (1, 2)}
# Logistic regression fits all labels at once, with many copies of its weights: beyond these, a
# length of n-grams is left out, because a single fit would take minutes and gigabytes.
MOST_WEIGHTS = 10_000_000
NAMES = (*LENGTHS, "naive-bayes-untuned", "linear-svm-untuned")

Transform = Callable[[Any], Any]


@dataclass(frozen=True)
class Setting:
    """N-grams up to a length; α and whether to count texts, or C."""

    length: int
    strength: float
    binary: bool = False
    sublinear: bool = True

    def spelt(self, name: str) -> str:
        words = "words" if self.length == 1 else f"1- to {self.length}-grams"
        if name.startswith("naive-bayes"):
            kind, strength = "binary counts" if self.binary else "counts", "alpha"
        else:
            kind, strength = "sublinear tf-idf" if self.sublinear else "tf-idf", "C"
        return f"{kind} of {words}, {strength}={self.strength:g}"

    def is_at_an_end(self, name: str) -> bool:
        """Whether a value beyond those that are tried might be better still."""
        tried = STRENGTHS.get(name, ALPHAS)
        return self.strength in (tried[0], tried[-1])


class Texts:
    """The training texts as counts of n-grams, made once for each length."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.truth = np.array(task.corpus.train.labels)

    @cache  # noqa: B019 (one of these at a time is large)
    def counts(self, length: int) -> tuple[CountVectorizer, Any]:
        vectorizer = CountVectorizer(token_pattern=WORD, ngram_range=(1, length), dtype=np.float64)
        return vectorizer, vectorizer.fit_transform(self.task.corpus.train.texts)

    def weights(self, length: int) -> int:
        """The number of weights of a linear model that fits all labels at once."""
        labels = len(np.unique(self.truth))
        return self.counts(length)[1].shape[1] * (labels if labels > 2 else 1)

    def folds(self, length: int) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Rows and labels to learn, rows and labels that are held out.

        A column that no row to learn has is dropped, as if only these had been vectorized: it would
        count in the smoothing of naive Bayes and in the length of a row.
        """
        _, rows = self.counts(length)
        for fold in self.task.folds:
            held_out = np.zeros(self.truth.size, np.bool_)
            held_out[list(fold)] = True
            learnt = rows[np.flatnonzero(~held_out)]
            known = np.flatnonzero(learnt.getnnz(axis=0))
            others = rows[np.flatnonzero(held_out)][:, known]
            yield learnt[:, known], self.truth[~held_out], others, self.truth[held_out]


def weighted(name: str, setting: Setting, counts: Any) -> Transform:
    """What turns counts into features, fitted to the counts to learn from."""
    if name.startswith("naive-bayes"):
        return _as_binary if setting.binary else lambda rows: rows
    return TfidfTransformer(sublinear_tf=setting.sublinear).fit(counts).transform


def _as_binary(rows: Any) -> Any:
    found = rows.copy()
    found.data[:] = 1
    return found


def fitted(name: str, setting: Setting, features: Any, truth: Any) -> Any:
    if name.startswith("naive-bayes"):
        return MultinomialNB(alpha=setting.strength).fit(features, truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if name == "logistic-regression":
            return LogisticRegression(C=setting.strength).fit(features, truth)
        return LinearSVC(C=setting.strength, random_state=0).fit(features, truth)


def judged(name: str, texts: Texts, length: int, settings: list[Setting]) -> dict[Setting, float]:
    """The accuracy of settings of one length over all folds together."""
    right = dict.fromkeys(settings, 0)
    for learnt, truth, others, wanted in texts.folds(length):
        # Settings that differ in strength alone stand together and share their features.
        for place, setting in enumerate(settings):
            if place == 0 or setting.binary != settings[place - 1].binary:
                transform = weighted(name, setting, learnt)
                features, held_out = transform(learnt), transform(others)
            model = fitted(name, setting, features, truth)
            right[setting] += int((model.predict(held_out) == wanted).sum())
    return {setting: count / texts.truth.size for setting, count in right.items()}


def tuned(name: str, texts: Texts) -> tuple[Setting, float]:
    """The best setting, and its accuracy in cross-validation."""
    values: dict[Setting, float] = {}
    for length in LENGTHS[name]:
        if name == "logistic-regression" and length > 1 and texts.weights(length) > MOST_WEIGHTS:
            texts.task.say(f"{name}: too many weights for n-grams up to {length}")
            break
        texts.task.say(f"{name}: n-grams up to {length}")
        if name == "naive-bayes":
            settings = [
                Setting(length, alpha, binary) for binary, alpha in product((False, True), ALPHAS)
            ]
        else:
            settings = [Setting(length, FIRST_STRENGTH[name])]
        values |= judged(name, texts, length, settings)
    if name in STRENGTHS:
        length = max(values, key=values.__getitem__).length
        texts.task.say(f"{name}: its C, with n-grams up to {length}")
        first = FIRST_STRENGTH[name]
        others = [Setting(length, one) for one in STRENGTHS[name] if one != first]
        values |= judged(name, texts, length, others)
    best = max(values, key=values.__getitem__)
    return best, values[best]


def run(name: str, task: Task) -> Row:
    watch = Stopwatch()
    texts = Texts(task)
    with watch.step("learn"):
        if name.endswith("-untuned"):
            setting, value = Setting(1, 1.0, sublinear=False), None
        else:
            setting, value = tuned(name, texts)
        vectorizer, counts = texts.counts(setting.length)
        transform = weighted(name, setting, counts)
        model = fitted(name, setting, transform(counts), texts.truth)
    with watch.step("read"):
        features = transform(vectorizer.transform(task.corpus.test.texts))
        predicted = model.predict(features).tolist()
    spelt = setting.spelt(name)
    if value is not None and setting.is_at_an_end(name):
        spelt += " (the first or last that was tried)"
    version = metadata.version("scikit-learn")
    if not hasattr(model, "predict_proba"):
        return Row(version, spelt, value, predicted, watch.processor)
    labels, probabilities = model.classes_.tolist(), model.predict_proba(features).tolist()
    return Row(version, spelt, value, predicted, watch.processor, labels, probabilities)


if __name__ == "__main__":
    answer(run, NAMES)
