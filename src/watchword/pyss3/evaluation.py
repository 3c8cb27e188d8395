"""PySS3's class Evaluation, with watchword's measures and pages.

Nothing is cached on disk: results are those of the documents and the classifier given. The last
ones of each method, default category and tag are kept in memory for `get_best_hyperparameters`,
`show_best`, `plot` and `remove`.
"""

from __future__ import annotations

import webbrowser
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, product
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, NamedTuple

import numpy as np

from watchword._checks import IntArray, as_list, as_whole, reprs
from watchword._files import AnyPath, atomic_file
from watchword.evaluation import folds as own_folds
from watchword.evaluation.counts import cells_of
from watchword.evaluation.labels import Evaluation as Measured
from watchword.explain.chart import plot_evaluation
from watchword.pyss3.classifier import SS3, are_collections
from watchword.pyss3.constants import (
    STR_MOST_PROBABLE,
    STR_UNKNOWN,
    STR_UNKNOWN_CATEGORY,
    EmptyModelError,
    verbosity,
)
from watchword.pyss3.settings import plain_label
from watchword.pyss3.vocabulary import show_plots, shown_axes
from watchword.searching.result import Search, SearchedSetting

Values = tuple[float, float, float, float]  # s, l, p, a

_DIGITS = 4  # PySS3 compares rounded values, so that the first of nearly equal ones is the best
_NAMES = {"precision": "precision", "recall": "recall", "f1-score": "f1"}
_AVERAGES = {"macro avg": "macro", "micro avg": "micro", "weighted avg": "weighted"}
_OF_SEVERAL = ("hamming-loss", "exact-match")


@dataclass
class _Results:
    """The results of one evaluation: for each setting, one per fold."""

    name: str
    categories: list[str]
    multilabel: bool
    documents: int
    results: dict[Values, list[Measured]] = field(default_factory=dict)

    def value(self, values: Values, metric: str | None, target: object) -> float:
        """Return the mean of a measure over folds, rounded as in PySS3."""
        of_fold = [self.measured(one, metric, target) for one in self.results[values]]
        return round(fmean(round(one, _DIGITS) for one in of_fold), _DIGITS)

    def measured(self, found: Measured, metric: str | None, target: object) -> float:
        """Return a measure by PySS3's names."""
        metric = metric or ("hamming-loss" if self.multilabel else "accuracy")
        if metric == "hamming-loss":
            return found.hamming
        if metric in ("accuracy", "exact-match"):
            return found.accuracy
        name = _NAMES[metric]
        if target in _AVERAGES:
            return found.measure(f"{_AVERAGES[str(target)]}_{name}")
        of_label = {row.label: getattr(row, name) for row in found.per_label}
        return float(of_label.get(str(target), 0))

    def check(self, metric: str | None, target: object) -> None:
        """Raise an error if there is no such measure, or not of this target."""
        if metric == "hamming-loss" and not self.multilabel:
            raise ValueError("'hamming-loss' is only for documents with several labels")
        if metric is not None and metric not in ("accuracy", *_NAMES, *_OF_SEVERAL):
            listed = reprs(("accuracy", *_NAMES, *_OF_SEVERAL))
            raise KeyError(f"{metric!r} is not a valid metric (expected: {listed})")
        if metric in _NAMES and target not in _AVERAGES and str(target) not in self.categories:
            raise KeyError(f"{target!r} is not a valid target (an average or a category)")

    def best(self, metric: str | None, target: object) -> tuple[Values, float]:
        """Return the best setting, of equals the first, and its value."""
        self.check(metric, target)
        sign = -1 if metric == "hamming-loss" or (metric is None and self.multilabel) else 1
        scored = [(self.value(one, metric, target), one) for one in self.results]
        value, values = max(scored, key=lambda pair: sign * pair[0])
        return values, value

    def search(self) -> Search:
        """Return the results as a search of watchword, for its page."""
        measure = "hamming" if self.multilabel else "accuracy"
        names = ("smoothness", "significance", "sanction", "alpha")
        all_found = chain.from_iterable(self.results.values())
        labels = tuple(sorted({label for found in all_found for label in found.labels}))
        return Search.of(
            [
                SearchedSetting.of(
                    dict(zip(names, values, strict=True)),
                    {at: _plain(one, labels) for at, one in enumerate(found)},
                    labels,
                    measure,
                )
                for values, found in self.results.items()
            ],
            measure=measure,
            base={},
            varied=names,
            labels=labels,
            texts=self.documents,
            folds=len(next(iter(self.results.values()))),
            several=self.multilabel,
            hooks={},
            unfinished=0,
        )


class _Key(NamedTuple):
    """What an evaluation is kept under."""

    tag: str
    method: str
    default_category: str


class _Wanted(NamedTuple):
    """The tag, method and default category of evaluations; None for any."""

    tag: str | None
    method: str | None
    default_category: Hashable

    def holds(self, key: _Key) -> bool:
        return all(want is None or str(want) == has for want, has in zip(self, key, strict=True))


class Evaluation:
    """PySS3's evaluations: a test set, cross-validation, a grid search, the best values, a page.

    >>> clf = SS3()
    >>> x_train = ["hot soup, hot soup", "what a match, a match"] * 4
    >>> clf.fit(x_train, ["food", "sports"] * 4)
    >>> Evaluation.test(clf, ["more soup", "no match"], ["food", "food"], plot=False)
    2 texts, 2 labels, accuracy 0.500, macro F1 0.333
    ...
    0.5
    """

    _classifier: ClassVar[SS3 | None] = None
    _results: ClassVar[dict[_Key, _Results]] = {}  # the last evaluation is the last entry

    @staticmethod
    def test(
        clf: SS3,
        x_test: Iterable[str],
        y_test: Iterable[Any],
        def_cat: Hashable = STR_MOST_PROBABLE,
        prep: bool = True,
        tag: str | None = None,
        plot: bool = True,
        metric: str | None = None,
        metric_target: object = "macro avg",
        cache: bool = True,
    ) -> float:
        """Classify a test set, show a report, and return the accuracy or another measure."""
        run, texts, truth = _begun(clf, x_test, y_test, metric, metric_target)
        found = _measure(clf, texts, truth, def_cat, prep)
        run.results[clf.get_hyperparameters()] = [found]
        Evaluation._keep(clf, run, tag, "test", def_cat)
        _report([found], plot)
        return run.measured(found, metric, metric_target)

    @staticmethod
    def kfold_cross_validation(
        clf: SS3,
        x_train: Iterable[str],
        y_train: Iterable[Any],
        k: int = 4,
        n_grams: int | None = None,
        def_cat: Hashable = STR_MOST_PROBABLE,
        prep: bool = True,
        tag: str | None = None,
        plot: bool = True,
        metric: str | None = None,
        metric_target: object = "macro avg",
        cache: bool = True,
    ) -> float:
        """Cross-validate with a classifier's settings; return the mean of a measure over folds.

        Folds are those of PySS3, documents in the order given. (Those of documents with several
        labels are watchword's.)
        """
        run, texts, truth = _begun(clf, x_train, y_train, metric, metric_target, trained=False)
        own = clf.get_hyperparameters()
        for taught, part, labels in _folds(clf, texts, truth, k, n_grams, prep):
            run.results.setdefault(own, []).append(_measure(taught, part, labels, def_cat, prep))
        Evaluation._keep(clf, run, tag, f"{k}-fold", def_cat)
        _report(run.results[own], plot)
        return run.value(own, metric, metric_target)

    @staticmethod
    def grid_search(
        clf: SS3,
        x_data: Iterable[str],
        y_data: Iterable[Any],
        s: float | Iterable[float] | None = None,
        l: float | Iterable[float] | None = None,
        p: float | Iterable[float] | None = None,
        a: float | Iterable[float] | None = None,
        k_fold: int | None = None,
        n_grams: int | None = None,
        def_cat: Hashable = STR_MOST_PROBABLE,
        prep: bool = True,
        tag: str | None = None,
        metric: str | None = None,
        metric_target: object = "macro avg",
        cache: bool = True,
        extended_pbar: bool = False,
    ) -> Values:
        """Try all combinations of values on a test set, or by cross-validation with `k_fold`.

        Return the best of them (s, l, p, a); of equals, the first. The classifier keeps its own.

        >>> clf = SS3()
        >>> x_train, y_train = ["hot soup, hot soup", "a match, a match"] * 4, ["food", "fun"] * 4
        >>> clf.fit(x_train, y_train)
        >>> Evaluation.grid_search(clf, x_train, y_train, s=[0.3, 0.5], l=1, k_fold=2)
        (0.3, 1.0, 1.0, 0.0)
        """
        if k_fold is not None:
            as_whole("k_fold", k_fold, 2)
        trained = k_fold is None
        run, texts, truth = _begun(clf, x_data, y_data, metric, metric_target, trained=trained)
        own = clf.get_hyperparameters()
        grid = [
            [own_value] if given is None else _numbers(given)
            for given, own_value in zip((s, l, p, a), own, strict=True)
        ]
        parts: Iterable[tuple[SS3, list[str], list[Any]]] = [(clf, texts, truth)]
        if k_fold is not None:
            parts = _folds(clf, texts, truth, k_fold, n_grams, prep)
        try:
            for taught, part, labels in parts:
                for values in product(grid[0], grid[1], grid[2], grid[3]):
                    taught.set_hyperparameters(*values)
                    found = _measure(taught, part, labels, def_cat, prep)
                    run.results.setdefault(values, []).append(found)
        finally:
            clf.set_hyperparameters(*own)
        method = "test" if k_fold is None else f"{k_fold}-fold"
        Evaluation._keep(clf, run, tag, method, def_cat)
        return run.best(metric, metric_target)[0]

    @staticmethod
    def get_best_hyperparameters(
        metric: str | None = None,
        metric_target: object = "macro avg",
        tag: str | None = None,
        method: str | None = None,
        def_cat: Hashable = None,
    ) -> Values:
        """Return the best values (s, l, p, a) of an evaluation: by default of the last one.

        `method` is `"test"` or, for example, `"4-fold"`.
        """
        last = Evaluation._last_key()
        key = _Key(tag or last.tag, method or last.method, str(def_cat or last.default_category))
        if key not in Evaluation._results:
            raise LookupError(f"there is no evaluation {reprs(key)}: {reprs(Evaluation._results)}")
        return Evaluation._results[key].best(metric, metric_target)[0]

    @staticmethod
    def show_best(
        tag: str | None = None,
        method: str | None = None,
        def_cat: Hashable = None,
        metric: str | None = None,
        avg: str | None = None,
    ) -> None:
        """Print the best values of evaluations by every measure."""
        Evaluation._refuse_without_classifier()
        wanted = _Wanted(tag, method, def_cat)
        for key, run in Evaluation._results.items():
            if not wanted.holds(key):
                continue
            print(f"{key.method}, {key.tag}, default category {key.default_category}:")
            for name in [metric] if metric else ["accuracy", *_NAMES]:
                for target in [avg or "macro avg", *run.categories] if name in _NAMES else [None]:
                    values, value = run.best(name, target)
                    title = name if target is None else f"{name} ({target})"
                    named = ", ".join(f"{x}={y:g}" for x, y in zip("slpa", values, strict=True))
                    print(f"  {title}: {value:.4f} with {named}")

    @staticmethod
    def plot(html_path: AnyPath = "./", open_browser: bool = True) -> bool:
        """Write a page with all settings of the last evaluation, and open it in the browser.

        Return whether there is an evaluation.
        """
        Evaluation._refuse_without_classifier()
        if not Evaluation._results:
            return False
        run = Evaluation._results[Evaluation._last_key()]
        path = Path(html_path) / f"ss3_model_evaluation[{run.name}].html"
        with atomic_file(path) as file:
            file.write(run.search().to_page(title=f"Evaluation of {run.name}").encode())
        if open_browser:
            webbrowser.open(path.resolve().as_uri())
        return True

    @staticmethod
    def set_classifier(clf: SS3) -> None:
        """Forget the evaluations of other classifiers."""
        if Evaluation._classifier is not clf:
            Evaluation._classifier = clf
            Evaluation._results.clear()

    @staticmethod
    def clear_cache(clf: SS3 | None = None) -> None:
        """Forget all evaluations. There is no cache on disk."""
        if clf is not None:
            Evaluation.set_classifier(clf)
        Evaluation._results.clear()

    @staticmethod
    def remove(
        s: float | None = None,
        l: float | None = None,
        p: float | None = None,
        a: float | None = None,
        method: str | None = None,
        def_cat: Hashable = None,
        tag: str | None = None,
        simulate: bool = False,
    ) -> tuple[int, dict[str, int]]:
        """Forget the results of some settings; return their number, also by method.

        With `simulate`, only count them.
        """
        Evaluation._refuse_without_classifier()
        chosen = [None if value is None else _numbers(value)[0] for value in (s, l, p, a)]
        wanted = _Wanted(tag, method, def_cat)
        removed: Counter[str] = Counter()
        for key, run in list(Evaluation._results.items()):
            settings = [
                values
                for values in run.results
                if wanted.holds(key)
                and all(want in (None, has) for want, has in zip(chosen, values, strict=True))
            ]
            removed.update({key.method: len(settings)} if settings else {})
            if simulate:
                continue
            for values in settings:
                del run.results[values]
            if not run.results:
                del Evaluation._results[key]
        return removed.total(), dict(removed)

    @staticmethod
    def _keep(clf: SS3, run: _Results, tag: str | None, method: str, def_cat: Hashable) -> None:
        Evaluation.set_classifier(clf)
        key = _Key(tag or clf.get_name(), method, str(def_cat))
        Evaluation._results.pop(key, None)
        Evaluation._results[key] = run

    @staticmethod
    def _last_key() -> _Key:
        Evaluation._refuse_without_classifier()
        if not Evaluation._results:
            raise LookupError("the classifier has not been evaluated yet")
        return next(reversed(Evaluation._results))

    @staticmethod
    def _refuse_without_classifier() -> None:
        if Evaluation._classifier is None:
            raise ValueError("no classifier has been evaluated yet: use Evaluation.test")


def _begun(
    clf: SS3,
    texts: Iterable[str],
    labels: Iterable[Any],
    metric: str | None,
    target: object,
    *,
    trained: bool = True,
) -> tuple[_Results, list[str], list[Any]]:
    """Return a new evaluation, its documents and their labels."""
    if trained and not clf.get_categories(all=True):
        raise EmptyModelError
    documents, truth = as_list(texts, "documents"), as_list(labels, "labels")
    if len(documents) != len(truth):
        raise ValueError(f"{len(documents)} documents but {len(truth)} labels")
    several = are_collections(truth)
    truth = [[plain_label(one) for one in own] if several else plain_label(own) for own in truth]
    names = chain(clf.get_categories(), chain.from_iterable(truth) if several else truth)
    run = _Results(clf.get_name(), list(dict.fromkeys(map(str, names))), several, len(documents))
    run.check(metric, target)
    return run, documents, truth


def _numbers(given: float | Iterable[float]) -> list[float]:
    values = given if isinstance(given, Iterable) else [given]
    try:
        return [round(float(value), _DIGITS) for value in values]
    except (TypeError, ValueError):
        raise TypeError(f"hyperparameter values must be numbers, got {given!r}") from None


def _measure(
    clf: SS3, texts: list[str], truth: list[Any], def_cat: Hashable, prep: bool
) -> Measured:
    several = are_collections(truth)
    predicted = clf.predict(texts, def_cat, multilabel=several, prep=prep)
    categories = list(map(str, clf.get_categories()))
    if several:
        known = set(categories)
        sets = [
            [[str(one) for one in own if str(one) in known] for own in side]
            for side in (truth, predicted)
        ]
        return Measured.of(*sets, labels=categories)
    if def_cat == STR_UNKNOWN:
        categories.append(STR_UNKNOWN_CATEGORY)
    return Measured.of(list(map(str, truth)), list(map(str, predicted)), labels=categories)


def _folds(
    clf: SS3, texts: list[str], truth: list[Any], k: int, n_grams: int | None, prep: bool
) -> Iterator[tuple[SS3, list[str], list[Any]]]:
    """Yield for each fold a classifier taught with the others, its documents and their labels."""
    longest = n_grams or max(clf.get_ngrams_length(), 1)
    number_of = stratified_folds(truth, as_whole("k", k, 2))
    for number in range(k):
        others, held_out = number_of != number, number_of == number
        taught = clf.untaught()
        taught.fit(compress(texts, others), compress(truth, others), longest, prep=prep)
        yield taught, list(compress(texts, held_out)), list(compress(truth, held_out))


def stratified_folds(labels: Sequence[Any], k: int) -> IntArray:
    """Return the number of each document's fold: scikit-learn's `StratifiedKFold(k)`.

    The documents of a label are dealt in their order, in runs.

    >>> stratified_folds(["a", "a", "b", "a", "b", "a"], 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if are_collections(labels):
        number_of = np.zeros(len(labels), np.int64)
        for fold in own_folds.deal([list(map(str, one)) for one in labels], folds=k):
            number_of[fold.held_out] = fold.number
        return number_of
    first = {label: at for at, label in enumerate(dict.fromkeys(labels))}
    encoded = np.array([first[label] for label in labels], np.int64)
    if not len(encoded) or np.bincount(encoded).max() < k:
        raise ValueError(f"{k} folds need a category with at least {k} documents")
    in_order = np.sort(encoded)
    sizes = [np.bincount(in_order[number::k], minlength=len(first)) for number in range(k)]
    number_of = np.empty(len(encoded), np.int64)
    for label in range(len(first)):
        number_of[encoded == label] = np.repeat(np.arange(k), [one[label] for one in sizes])
    return number_of


def _plain(found: Measured, labels: Sequence[Any]) -> dict[str, Any]:
    """Return the result of a fold as a search keeps it."""
    place = {label: at for at, label in enumerate(labels)}
    if found.confusion is None:
        counts = {one.label: [one.support, one.predicted, one.right] for one in found.per_label}
        rows = [counts.get(label, [0, 0, 0]) for label in labels]
        return {"texts": found.texts, "right": found.right, "per_label": rows}
    at = [place[label] for label in found.labels]
    return {"confusion": [[at[x], at[y], many] for x, y, many in cells_of(found.confusion)]}


def _report(found: list[Measured], plot: bool) -> None:
    whole = found[0] if len(found) == 1 else Measured.pooled(found)
    if verbosity.level > 0:
        print(whole)
    if plot:
        labels = len(whole.labels)
        plot_evaluation(whole.to_dict(), shown_axes(5 + 0.35 * labels, 4 + 0.35 * labels))
        show_plots()
