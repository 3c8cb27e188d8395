"""Execution of a search: its tasks on threads, and the held-out texts of a fold, read once.

For each fold, a model learns the other texts, and the held-out texts are followed through its tree;
only their paths are kept. Evaluating a setting of the parameters then takes milliseconds, with
results bit for bit equal to learning and reading again. A refined model cannot share paths: it is
fitted again for each fold and setting.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from watchword._checks import (
    IntArray,
    Label,
    Targets,
    are_several,
    as_label_sets,
    as_labelled_texts,
    refuse_one_label,
)
from watchword.errors import EmptyModelError, UnknownLabelError
from watchword.evaluation.counts import in_order
from watchword.evaluation.folds import Fold, deal
from watchword.evaluation.labels import Evaluation
from watchword.model.engine import Engine, decide_several, engine_of, winners
from watchword.model.parameters import TABLE, Parameters
from watchword.model.refining import RefineSettings, refine_terms
from watchword.model.results import ConfidenceTable
from watchword.model.tau_ss3 import TauSS3
from watchword.model.text import TermsOfTexts, TextSource
from watchword.searching.result import (
    KeptResults,
    Measure,
    Search,
    SearchedSetting,
    digest_of,
    parameters_of,
    rank_of,
)
from watchword.searching.space import PRUNE, Setting

_AHEAD = 2  # queued tasks per thread, so that no thread is idle


@dataclass(frozen=True)
class Job:
    """The input of a search: texts as terms, labels, folds, and everything results depend on."""

    model: TauSS3
    texts: list[str]
    terms: TermsOfTexts
    labels: list[tuple[Label, ...]]
    several: bool
    folds: list[Fold]
    base: dict[str, Any]
    order: tuple[Label, ...]
    digest: str

    @classmethod
    def of(
        cls,
        texts: Iterable[str],
        labels: Targets,
        model: TauSS3 | None,
        *,
        seed: int,
        **dealing: Any,
    ) -> Job:
        """Check and prepare the input; `dealing` has the arguments of `deal`."""
        documents, truth = as_labelled_texts(texts, labels)
        if model is not None and not isinstance(model, TauSS3):
            raise TypeError(f"model must be a TauSS3, got {type(model).__name__}")
        own = TauSS3() if model is None else model
        engine = engine_of(own)
        if engine.parameters.has_own_operators:
            raise ValueError("a search does not support user-defined summary functions")
        engine.refuse_if_incomplete()
        known = [in_order(one) for one in as_label_sets(truth)]
        parts = deal(truth, seed=seed, **dealing)
        refuse_one_label(truth)
        several = are_several(truth)
        base = parameters_of(engine.parameters)
        order = in_order(label for one in known for label in one)
        default = base["default_label"]
        if default is not None and default not in order:
            raise UnknownLabelError(f"unknown label {default!r} (default_label): no text has it")
        terms = engine.source.read_both(documents)
        digest = digest_of(
            documents,
            known,
            [fold.held_out for fold in parts],
            several=several,
            source=engine.source,
            terms=terms.reading,
        )
        return cls(own, documents, terms, known, several, parts, base, order, digest)

    @cached_property
    def index_of(self) -> dict[Label, int]:
        """The index of each label."""
        return {label: index for index, label in enumerate(self.order)}

    @cached_property
    def codes(self) -> list[IntArray]:
        """By fold: the label indices of the held-out texts, for texts with one label each."""
        return [
            np.array([self.index_of[one] for (one,) in self.truth(fold)], np.int64)
            for fold in self.all_folds
        ]

    @property
    def all_folds(self) -> list[int]:
        """The indices of all folds."""
        return list(range(len(self.folds)))

    def truth(self, fold: int) -> list[tuple[Label, ...]]:
        """Return the labels of the held-out texts of a fold."""
        return [self.labels[index] for index in self.folds[fold].held_out.tolist()]


def _can_refine(setting: Setting) -> bool:
    parameters = Parameters(**{name: value for name, value in setting.items() if name != PRUNE})
    return not setting.get(PRUNE, 0) and parameters.suits_refining


@dataclass
class Run:
    """A search in progress."""

    job: Job
    tried: list[Setting]
    rungs: list[list[int]]  # folds evaluated together before the worse half is dropped
    kept: KeptResults
    threads: int
    deadline: float | None
    refined: bool = False
    trails: dict[tuple[Any, ...], dict[int, Future[HeldOutTexts]]] = field(default_factory=dict)
    terms: dict[tuple[str, str], TermsOfTexts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.terms[self._rules(self.job.base)] = self.job.terms
        self.full = [self.job.base | setting for setting in self.tried]
        self.keys: dict[int, str] = {}
        # The folds that count for each setting: a file may hold more, from another search.
        self.asked = [self.rungs[0] for _ in self.tried]
        # Settings of the same shape share what was learnt; refined ones share nothing.
        self.shapes = [
            (index,) if self.refined else tuple(one.get(name) for name in SHAPING)
            for index, one in enumerate(self.full)
        ]

    def parameters(self, index: int) -> Parameters:
        """Return the parameters of a setting, built on demand: many settings may never be tried."""
        return Parameters(**{name: one for name, one in self.full[index].items() if name != PRUNE})

    def key(self, index: int) -> str:
        """Return the key of a setting; equal parameters (1 and 1.0) have equal keys."""
        if index not in self.keys:
            own = parameters_of(self.parameters(index)) | {PRUNE: self.full[index].get(PRUNE, 0)}
            own |= {"refined": True} if self.refined else {}
            self.keys[index] = json.dumps(own, sort_keys=True)
        return self.keys[index]

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def steps(self, measure: Measure) -> Generator[SearchedSetting, None, None]:
        """Compute missing results; yield one step per setting and rung."""
        alive = list(range(len(self.tried)))
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                for rung, folds in enumerate(self.rungs):
                    if rung and self.is_late:
                        return
                    if rung:
                        values = {index: self.setting(index, measure).value for index in alive}
                        alive.sort(key=lambda index: (*rank_of(values[index], measure), index))
                        alive = alive[: -(-len(alive) // 2)]
                        for index in alive:
                            self.asked[index] = self.asked[index] + folds
                    for index in self._rung(pool, alive, folds):
                        yield self.setting(index, measure)
            finally:
                pool.shutdown(cancel_futures=True)

    def _rung(
        self, pool: ThreadPoolExecutor, settings: list[int], folds: list[int]
    ) -> Iterator[int]:
        """Yield the settings as they finish on these folds."""
        waiting: dict[Future[Any], tuple[int, int]] = {}
        # Not `concurrent.futures.wait`: Ctrl-C inside it may leave a task that never ends.
        arrived: SimpleQueue[Future[Any]] = SimpleQueue()
        missing: dict[int, set[int]] = {}

        def collect(most: int) -> Iterator[int]:
            while len(waiting) > most:
                finished: list[int] = []
                for done in [arrived.get() for _ in range(max(1, arrived.qsize()))]:
                    index, fold = waiting.pop(done)
                    self.kept.add(self.key(index), fold, done.result())
                    missing[index].discard(fold)
                    if not missing[index]:
                        finished.append(index)
                yield from finished  # all results are saved by now: the caller may interrupt

        # Settings with equal counts run together, unless a deadline may cut off the last ones.
        order = (
            settings
            if self.deadline
            else sorted(settings, key=lambda index: str(self.shapes[index]))
        )
        for position, index in enumerate(order):
            if position and self.is_late:  # the first setting always runs
                break
            missing[index] = {f for f in folds if self.kept.get(self.key(index), f) is None}
            if not missing[index]:
                yield index
                continue
            ready = self._followed(pool, index, missing[index])
            for fold in sorted(missing[index]):
                task = pool.submit(self._judge, ready[fold].result(), index, fold)
                waiting[task] = (index, fold)
                task.add_done_callback(arrived.put)
            yield from collect(self.threads * _AHEAD)
            following = order[position + 1] if position + 1 < len(order) else None
            if self.deadline is None and (
                following is None or self.shapes[following] != self.shapes[index]
            ):
                yield from collect(0)
                self.trails.pop(self.shapes[index], None)  # not needed again on these folds
        yield from collect(0)

    def _followed(
        self, pool: ThreadPoolExecutor, index: int, folds: Iterable[int]
    ) -> dict[int, Future[HeldOutTexts]]:
        """Return the texts of some folds as read, shared by all settings with the same counts."""
        ready = self.trails.setdefault(self.shapes[index], {})
        source = engine_of(self.job.model).source
        rules = self._rules(self.full[index])
        if rules not in self.terms:  # different from the model's
            self.terms[rules] = source.with_rules(*rules).read_both(self.job.texts)
        wanted = sorted(set(folds) - ready.keys())
        if not wanted:
            return ready
        alike = [
            one for one, shape in zip(self.full, self.shapes, strict=True)
            if shape == self.shapes[index]
        ]  # fmt: skip
        for fold in wanted:
            part = self.job.folds[fold]
            learnt = part.others(len(self.job.texts))
            split = Split(source, self.terms[rules], self.job.labels, part.held_out, learnt)
            read = refined_texts if self.refined else follow
            ready[fold] = pool.submit(read, split, alike, self.job.base)
        return ready

    @staticmethod
    def _rules(setting: Setting) -> tuple[str, str]:
        """Return the parameters that decide which terms texts have."""
        return setting["paragraphs"], setting["tokenization"]

    def _judge(self, read: HeldOutTexts, index: int, fold: int) -> dict[str, Any]:
        """Return the result of one setting on one fold."""
        parameters = self.parameters(index)
        if self.job.several:
            predicted = read.predict_several(parameters)
            found = Evaluation.of(self.job.truth(fold), predicted, labels=self.job.order)
            rows = [[one.support, one.predicted, one.right] for one in found.per_label]
            return {"texts": found.texts, "right": found.right, "per_label": rows}
        # All in NumPy: a loop in Python would take longer than the core.
        size = len(self.job.order)
        got = read.predict_indices(parameters, self.job.index_of)
        cells, counts = np.unique(self.job.codes[fold] * size + got, return_counts=True)
        rows = np.stack([cells // size, cells % size, counts], axis=1).tolist()
        return {"confusion": rows}

    def setting(self, index: int, measure: Measure) -> SearchedSetting:
        """Return a setting with the results of its first folds, up to the first missing one.

        Folds finish in any order; after an interruption, all settings must still be compared on
        the same folds.
        """
        results: dict[int, dict[str, Any]] = {}
        for fold in self.asked[index]:
            if (result := self.kept.get(self.key(index), fold)) is None:
                break
            results[fold] = result
        return SearchedSetting.of(
            self.tried[index], results, self.job.order, measure, refined=self.refined
        )

    def found(self, measure: Measure) -> list[SearchedSetting]:
        """Return all settings with results so far."""
        # A setting that was not reached may have saved results from an earlier search.
        asked = [
            index for index in range(len(self.tried)) if index in self.keys or self.kept.continued
        ]
        return [one for index in asked if (one := self.setting(index, measure)).by_fold]

    def result(
        self, measure: Measure, *, refined: Sequence[SearchedSetting], interrupted: bool
    ) -> Search:
        """Return the results so far, with those of refined models."""
        found = self.found(measure)
        return Search.of(
            [*found, *refined],
            measure=measure,
            base=self.job.base,
            varied=tuple(self.tried[0]),
            labels=self.job.order,
            texts=len(self.job.texts),
            folds=len(self.job.folds),
            several=self.job.several,
            hooks={name: self.job.model.parameters[name] for name in ("word_hook", "tokenizer")},
            unfinished=len(self.tried) - len(found),
            interrupted=interrupted,
        )

    def to_refine(self, measure: Measure) -> list[Setting]:
        """Return the settings to try with refinement: the best one, and the model's own."""
        found = self.found(measure)
        if not found:
            return []
        best = min(found, key=lambda one: (-len(one.by_fold), *rank_of(one.value, measure)))
        own = {name: self.job.base.get(name, 0) for name in self.tried[0]}
        chosen = [best.parameters, *(one for one in self.tried if one == own)]
        distinct = [one for at, one in enumerate(chosen) if one not in chosen[:at]]
        return [one for one in distinct if _can_refine(self.job.base | one)]


# Parameters that change the counts: other values require learning again. `max_ngram` does not,
# because texts are followed with the longest n-grams of all settings.
SHAPING = (
    *(one.name for one in TABLE if one.shapes_counts or one.name.startswith("prune_")),
    PRUNE,
)


@dataclass(frozen=True)
class HeldOutTexts:
    """The held-out texts of a fold, as a model of the other texts reads them."""

    most_words: Label  # prediction without evidence, unless default_label is set
    confidence: Callable[[Parameters], ConfidenceTable]  # of a model with these parameters
    decide: Callable[[ConfidenceTable], list[tuple[Label, ...]]]  # for texts with several labels

    def predict_several(self, parameters: Parameters) -> list[tuple[Label, ...]]:
        """Return the labels of each text, for texts with several labels."""
        return self.decide(self.confidence(parameters))

    def predict_indices(self, parameters: Parameters, index_of: Mapping[Label, int]) -> IntArray:
        """Return the label of each text as its index by `index_of`."""
        table = self.confidence(parameters)
        best, silent = winners(table.values)
        indices = np.array([index_of[label] for label in table.labels], np.int64)[best]
        if silent.any():
            default = parameters.default_label
            indices[silent] = index_of[self.most_words if default is None else default]
        return indices


class Split(NamedTuple):
    """Texts, some of which are learnt, each under all of its labels, and others held out."""

    source: TextSource
    terms: TermsOfTexts
    labels: Sequence[Sequence[Label]]
    held_out: IntArray
    learnt: IntArray


def follow(split: Split, settings: Iterable[Setting], base: dict[str, Any]) -> HeldOutTexts:
    """Learn some of the texts, and follow the held-out ones.

    All settings must agree in the parameters of `SHAPING`; the longest n-grams of any are learnt.
    """
    tried = [base | setting for setting in settings]
    longest = max(setting["max_ngram"] for setting in tried)
    engine = _taught(split, tried[0] | {"max_ngram": longest})
    functions = {setting["confidence_function"] for setting in tried}
    kinds = [Parameters(confidence_function=function) for function in functions]
    trails = engine.native.trails(
        split.terms.reading.part(split.held_out.tolist()),
        any(kind.is_normalised for kind in kinds),
        any(kind.weighs_words for kind in kinds),
    )

    def confidence(parameters: Parameters) -> ConfidenceTable:
        labels, values = trails.confidence(parameters.for_native())
        return ConfidenceTable(tuple(labels), values)

    most_words = engine.label_with_most_words()
    return HeldOutTexts(most_words, confidence, lambda table: decide_several(*table))


def refined_texts(split: Split, settings: Iterable[Setting], base: dict[str, Any]) -> HeldOutTexts:
    """Learn some of the texts, refine the model with them, and read the held-out ones.

    There is one setting only. No held-out text takes part in counting or correcting.
    """
    (setting,) = settings
    engine = _taught(split, base | setting)
    learnt, reading = split.learnt.tolist(), split.terms.reading
    own = [frozenset(split.labels[index]) for index in learnt]
    refine_terms(engine, reading.part(learnt), own, RefineSettings())
    known, values = engine.native.confidence_terms(reading.part(split.held_out.tolist()))
    table = ConfidenceTable(tuple(known), values)
    # Decided here, so that the model need not be kept.
    decided, most_words = engine.decide_several(*table), engine.label_with_most_words()
    return HeldOutTexts(most_words, lambda _: table, lambda _: decided)


def _taught(split: Split, setting: Setting) -> Engine:
    """Return a model that has learnt some of the texts."""
    parameters = Parameters(**{name: value for name, value in setting.items() if name != PRUNE})
    engine = Engine.empty(parameters, split.source)
    pairs = [(index, label) for index in split.learnt.tolist() for label in split.labels[index]]
    part = split.terms.learning.part([index for index, _ in pairs])
    engine.native.learn_terms(part, [label for _, label in pairs])
    if engine.native.is_empty():
        raise EmptyModelError("a fold leaves no text with a label to learn: use fewer folds")
    if prune := setting.get(PRUNE, 0):
        engine.native.prune(prune, parameters.prune_shortest)
    return engine
