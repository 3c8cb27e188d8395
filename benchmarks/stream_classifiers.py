"""scikit-learn's classifiers on streams: features, training documents and policy are tuned.

`python stream_classifiers.py NAME < JOB` prints what was decided about the test subjects. The
process runs where scikit-learn is installed, which need not be where watchword is.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from process import Stopwatch
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC
from stream_features import (
    COUNTS,
    DOCUMENTS,
    POSTS,
    TFIDF,
    WEIGHTINGS,
    Growing,
    Linear,
    check_rereading,
)
from stream_job import Job, Row, answer
from stream_parts import Part
from stream_threshold import Threshold, alert_delays, best_threshold

FloatArray = NDArray[np.float64]

NGRAMS = (1, 3)
_ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0)
_WEIGHTS = (None, "balanced")
# Rows of counts are tens of times longer than rows of tf-idf, which have length 1.
_STRENGTHS = {
    "logistic-regression": {COUNTS: (0.01, 0.1, 1.0, 10.0), TFIDF: (0.1, 1.0, 10.0, 100.0)},
    "linear-svm": {COUNTS: (0.001, 0.01, 0.1, 1.0), TFIDF: (0.01, 0.1, 1.0, 10.0)},
}
NAMES = ("naive-bayes", "logistic-regression", "linear-svm")


@dataclass(frozen=True)
class Features:
    ngrams: int
    weighting: str
    documents: str

    def __str__(self) -> str:
        words = "words" if self.ngrams == 1 else f"1- to {self.ngrams}-grams"
        return f"{self.weighting} of {words}, taught with {self.documents}"


@dataclass(frozen=True)
class Choice:
    """What came out best for one measure."""

    features: Features
    options: dict[str, Any]
    policy: Threshold


def options_for(name: str, features: Features) -> list[dict[str, Any]]:
    """The classifier's own parameters to try."""
    if name == "naive-bayes":
        return [{"alpha": alpha} for alpha in _ALPHAS]
    strengths, weights = _STRENGTHS[name][TFIDF], _WEIGHTS
    if features.weighting == COUNTS:
        # Of long documents, slow to fit and far behind; of n-grams, slower still.
        if features.documents != POSTS or features.ngrams > 1:
            return []
        strengths = _STRENGTHS[name][COUNTS]
    elif features.ngrams > 1:
        strengths = strengths[1:]
        if features.documents == POSTS:  # minutes per fit: one that did well with words
            strengths, weights = strengths[1:2], _WEIGHTS[:1]
    return [{"C": one, "class_weight": other} for one, other in product(strengths, weights)]


def fitted(name: str, options: dict[str, Any], rows: Any, truth: Any) -> tuple[FloatArray, float]:
    """Weights and bias: log-odds of naive Bayes and logistic regression, distance of the SVM."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if name == "naive-bayes":
            bayes = MultinomialNB(**options).fit(rows, truth)
            words, prior = bayes.feature_log_prob_, bayes.class_log_prior_
            return words[1] - words[0], float(prior[1] - prior[0])
        kinds = {
            "logistic-regression": LogisticRegression(max_iter=300, **options),
            "linear-svm": LinearSVC(random_state=0, max_iter=2000, **options),
        }
        model = kinds[name].fit(rows, truth)
    return model.coef_[0], float(model.intercept_[0])


def train(
    name: str,
    growing: Growing,
    part: Part,
    places: Sequence[int],
    features: Features,
    options: list[dict[str, Any]],
) -> Linear:
    """One model per options, taught with the subjects at these places."""
    rows, scale, owners = growing.training_rows(places, features.documents)
    kept = np.flatnonzero(scale)  # naive Bayes would count dropped terms in its smoothing
    models = [fitted(name, each, rows[:, kept], part.truth[owners]) for each in options]
    weights = np.zeros((scale.size, len(models)))
    weights[kept] = np.stack([own for own, _ in models], axis=1)
    biases = np.array([bias for _, bias in models])
    return Linear(scale, weights, biases, features.weighting != COUNTS)


def _vectorizer(ngrams: int) -> CountVectorizer:
    return CountVectorizer(ngram_range=(1, ngrams), min_df=2)


def tune(name: str, job: Job) -> dict[str, Choice]:
    """The best features, options and policy for every measure, on held-out training subjects."""
    train_part = job.train
    sizes = np.diff(train_part.starts)
    best: dict[str, Choice] = {}
    for features, growing in _all_features(train_part):
        options = options_for(name, features)
        if not options:
            continue
        job.say(f"{name}: {features}")
        scores = np.empty((len(train_part.texts), len(options)))
        for fold in job.folds:
            others = sorted(set(range(len(sizes))) - set(fold))
            models = train(name, growing, train_part, others, features, options)
            scores[train_part.posts_of(fold)] = growing.scores(fold, models)
        for column, each in enumerate(options):
            for measure in job.measures:
                policy = best_threshold(
                    scores[:, column], sizes, train_part.truth, job.folds, measure
                )
                if measure not in best or policy.value < best[measure].policy.value:
                    best[measure] = Choice(features, each, policy)
    return best


def _all_features(part: Part) -> Iterator[tuple[Features, Growing]]:
    for ngrams in NGRAMS:
        counts = _vectorizer(ngrams).fit_transform(part.texts)
        for weighting in WEIGHTINGS:
            growing = Growing(part, counts, weighting)
            for documents in DOCUMENTS:
                yield Features(ngrams, weighting, documents), growing


def decide(name: str, job: Job, choice: Choice, watch: Stopwatch) -> Row:
    """Trains with all training subjects and reads the test subjects."""
    features = choice.features
    with watch.step("train"):
        vectorizer = _vectorizer(features.ngrams)
        counts = vectorizer.fit_transform(job.train.texts)
        growing = Growing(job.train, counts, features.weighting)
        everybody = range(len(job.train.subjects))
        models = train(name, growing, job.train, everybody, features, [choice.options])
    with watch.step("read"):
        counts = vectorizer.transform(job.test.texts)
        test = Growing(job.test, counts, features.weighting)
        values = test.scores(range(len(job.test.subjects)), models)
        scores = values[:, 0]
        sizes, policy = np.diff(job.test.starts), choice.policy
        threshold = np.array([policy.threshold])
        delays = alert_delays(scores, sizes, threshold, policy.first_post)[:, 0]
    check_rereading(job.test, counts, features.weighting, models, values)
    final = scores[job.test.starts[1:] - 1]
    own = ", ".join(f"{key}={value}" for key, value in choice.options.items())
    unit = "distance" if name == "linear-svm" else "log-odds"
    setting = f"{features}; {own}; {unit} ≥ {policy.threshold:.4g} from post {policy.first_post} on"
    return Row(setting, abs(policy.value), delays.tolist(), final.tolist())


def run(name: str, job: Job) -> dict[str, Any]:
    watch = Stopwatch()
    with watch.step("tune"):
        choices = tune(name, job)
    rows = {}
    for measure, choice in choices.items():
        row = decide(name, job, choice, watch)
        seconds = {
            "learn": watch.processor["tune"] + watch.processor["train"],
            "read": watch.processor["read"],
        }
        rows[measure] = row.to_dict() | {"seconds": seconds}
    return {"version": metadata.version("scikit-learn"), "rows": rows}


if __name__ == "__main__":
    answer(run, NAMES)
