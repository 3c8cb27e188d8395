"""The engine of a model: its parts, and what its methods share.

An `Engine` ties the counts in the core to the parameters they are valued with and to the way that
texts become terms. `watchword.TauSS3` is its public face.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from watchword import _native
from watchword._checks import FloatArray, Label, as_label, as_threads, reprs
from watchword.errors import (
    EmptyModelError,
    IncompatibleModelsError,
    MappedModelError,
    PrunedModelError,
    TextTooLongError,
    UnknownLabelError,
    UnlearnError,
)
from watchword.model.explanation import BlockValues, Explanation, scored_ngrams
from watchword.model.file import container
from watchword.model.parameters import TABLE, Parameters
from watchword.model.refining import RefineSettings, check_refinable
from watchword.model.results import ConfidenceTable, ModelStatistics
from watchword.model.text import TextSource, function_name, lines_by_label, refuse_placeholder, same

if TYPE_CHECKING:
    from watchword.model.tau_ss3 import TauSS3


logger = logging.getLogger("watchword.model")
_DROPPED = "pruning while learning dropped the corrections of the model: refine it again"
#: Characters of a text to explain: each word takes about 800 bytes.
MOST_EXPLAINED = 1_000_000

_COUNTED = ("max_ngram", "counting", "tokenization")  # which counts there are


class MappedFile(NamedTuple):
    """The file that a mapped model stays in: its arrays, and what its manifest says of them."""

    source: str
    described: dict[str, Any]
    arrays: container.Arrays


class Engine(NamedTuple):
    """Parameters, a source of terms, and the core with the counts."""

    parameters: Parameters
    source: TextSource
    native: _native.Model
    # Of a mapped model: what its file says of labels and arrays, if that is what we would write.
    described: dict[str, Any] | None = None
    file: MappedFile | None = None

    @classmethod
    def empty(cls, parameters: Parameters, source: TextSource) -> Engine:
        """Return an engine that has learnt nothing yet."""
        return cls(parameters, source, _native.Model(parameters.for_native()))

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels, sorted."""
        return tuple(self.native.labels())

    @property
    def is_refined(self) -> bool:
        """Whether the model has corrections."""
        return self.native.fit() is not None

    @property
    def description(self) -> dict[str, Any]:
        """The properties that two models must share to count in the same way."""
        counted = {name: getattr(self.parameters, name) for name in _COUNTED}
        return self.source.description | counted

    def statistics(self) -> ModelStatistics:
        """Return the totals of the model; costs a pass over it."""
        totals = self.native.totals()
        return ModelStatistics(
            documents=dict(zip(totals["labels"], totals["documents"], strict=True)),
            words=dict(zip(totals["labels"], totals["words"], strict=True)),
            ngrams=tuple(self.native.ngrams_by_length()),
            pruned_ngrams=totals["pruned_ngrams"],
            pruned_counts=totals["pruned_counts"],
            pruned=totals["was_pruned"],
        )

    def replaced(self, parameters: Parameters) -> Engine:
        """Return an engine with the same counts and other parameters."""
        longest = self.parameters.max_ngram
        if parameters.max_ngram > longest:
            raise ValueError(
                f"max_ngram can be replaced by {longest} at most, "
                f"got {parameters.max_ngram}: longer n-grams were not counted"
            )
        # Corrections were fitted to the values, so they do not hold for others.
        ours, theirs = self.parameters.as_dict(), parameters.as_dict()
        same_values = all(ours[one.name] == theirs[one.name] for one in TABLE if one.affects_values)
        native = self.native.replace(parameters.for_native(), same_values)
        unchanged = parameters.max_ngram == longest and (same_values or self.native.fit() is None)
        described = self.described if unchanged else None
        return Engine(parameters, self.source, native, described, self.file)

    def verify(self) -> None:
        """Raise `ModelFormatError` if the model is mapped and its file has a wrong checksum."""
        if self.file is not None:
            container.verify(self.file.arrays, self.file.described, source=self.file.source)

    def snapshot(self) -> dict[str, Any]:
        """Return all counts as arrays; those of a mapped file are verified first."""
        self.verify()
        try:
            return self.native.snapshot()
        except _native.UnlearnFailure as error:
            raise UnlearnError(
                f"a document that was never learnt was unlearnt with check=False: {error}. "
                "Load the model from a file that was saved before then."
            ) from None

    # Learning

    def learn_joined(self, texts: list[str], labels: list[Label], threads: int | None) -> None:
        """Learn the documents of each label as one text, and prune the model."""
        if self.parameters.tokenization != "pyss3":
            raise ValueError('learn_joined() needs a model with tokenization="pyss3"')
        joined = lines_by_label(texts, labels)
        order = sorted(joined)  # one type: `as_labels` has checked it
        counted = [len(joined[label]) for label in order]
        self.learn(["".join(joined[label]) for label in order], order, threads, counted=counted)
        floor, shortest = self.parameters.prune_floor, self.parameters.prune_shortest
        if self.native.prune(floor, shortest)[-1]:
            logger.warning(_DROPPED)

    def learn(
        self,
        texts: list[str],
        labels: list[Label],
        threads: int | None,
        *,
        counted: list[int] | None = None,
    ) -> None:
        """Learn documents; `counted` is the number of documents that each text counts as."""
        self.refuse_if_mapped("learning")
        workers = as_threads(threads)
        if self.parameters.prune_period is not None:
            if threads is not None and workers > 1:
                raise ValueError(
                    "periodic pruning depends on the order of documents: use threads=1, "
                    "or prune_period=None and prune() at the end"
                )
            workers = 1
        self.refuse_if_incomplete()
        may_drop = self.parameters.prune_period is not None and self.is_refined
        if self.source.is_plain:
            self.native.learn(texts, labels, workers, counted or [])
        else:
            terms = self.source.read(texts, learning=True)
            terms.counted = counted or []
            self.native.learn_terms(terms, labels)
        if may_drop and not self.is_refined:
            logger.warning(_DROPPED)

    def unlearn(self, text: str, label: Label, *, check: bool) -> None:
        """Take a document back."""
        self.refuse_if_mapped("unlearning")
        self.refuse_if_pruned("unlearning")
        self.refuse_if_incomplete()
        try:
            self.native.unlearn(self.source.read([text], learning=True), label, check)
        except _native.UnlearnFailure as error:
            raise UnlearnError(f"cannot unlearn this document from {label!r}: {error}") from None

    def learn_corrected(
        self, texts: list[str], labels: list[frozenset[Label]], settings: RefineSettings
    ) -> None:
        """Learn documents one by one, each under all of its labels and with a correction."""
        self.refuse_if_mapped("learning")
        self.refuse_if_incomplete()
        check_refinable(self)
        if self.parameters.prune_period is not None:
            raise ValueError(
                "correct=True and periodic pruning exclude each other, because pruning drops "
                "corrections: use prune_period=None"
            )
        if len(set(map(type, chain.from_iterable(labels)))) > 1:
            raise TypeError("the labels of one model must be all str or all int")
        fixed = settings.for_native()
        for text, names in zip(texts, labels, strict=True):
            terms = self.source.read_both([text])
            self.native.learn_corrected(
                terms.learning, terms.reading, sorted(names, key=str), fixed
            )

    def merge(self, other: Engine, *, average: bool) -> None:
        """Add the counts of another model; average the corrections of both, or drop them."""
        for engine, which in ((self, "this"), (other, "the other")):
            engine.refuse_if_mapped(f"merging ({which} model)")
            engine.refuse_if_pruned(f"merging ({which} model)")
        ours, theirs = self.description, other.description
        if ours != theirs:
            differing = ", ".join(key for key in ours if ours[key] != theirs[key])
            raise IncompatibleModelsError(f"cannot merge models that differ in {differing}")
        for role in ("word_hook", "tokenizer"):
            function = getattr(self.source, role)
            if not same(function, getattr(other.source, role)):
                raise IncompatibleModelsError(
                    f"cannot merge models that differ in {role}: both are called "
                    f"{function_name(function)}, but are not the same function"
                )
        self.native.merge(other.native, average)

    # Reading

    @property
    def is_native(self) -> bool:
        """Whether the core alone reads texts, without user-defined functions."""
        return self.source.is_plain and not self.parameters.has_own_operators

    def predict_one(self, text: str) -> Label:
        """Return the label of highest confidence; the default label without evidence."""
        if not self.is_native:
            return self.decide(*self.confidence([text], 1))[0]
        label = self.native.predict(text)
        return self.default_label() if label is None else label

    def confidence_one(self, text: str) -> dict[Label, float]:
        """Return the confidence of each label."""
        if self.is_native and (found := self.native.confidence_one(text)):
            return found
        labels, values = self.confidence([text], 1)
        return dict(zip(labels, values[0].tolist(), strict=True))

    def probability_one(self, text: str) -> dict[Label, float]:
        """Return the probability of each label; the default label is certain without evidence."""
        if self.is_native and (found := self.native.probability_one(text)):
            if not any(found.values()):
                found[self.default_label()] = 1.0
            return found
        labels, values = self.probability([text], 1)
        return dict(zip(labels, values[0].tolist(), strict=True))

    def confidence(
        self, texts: list[str], threads: int, *, as_learnt: bool = False
    ) -> ConfidenceTable:
        """Return the confidence vectors of texts; `as_learnt` cuts them as if to learn them."""
        self.refuse_if_unreadable()
        if self.parameters.has_own_operators:
            return self._own_confidence(texts)
        if self.source.is_plain:
            purpose = _native.Purpose.learning if as_learnt else _native.Purpose.reading
            labels, values = self.native.confidence(texts, threads, purpose)
        else:
            terms = self.source.read(texts, learning=as_learnt)
            labels, values = self.native.confidence_terms(terms)
        return ConfidenceTable(tuple(labels), values)

    def probability(self, texts: list[str], threads: int) -> ConfidenceTable:
        """Return the probability of each label; the default label is certain without evidence."""
        return self.probability_of(self.confidence(texts, threads))

    def probability_of(self, table: ConfidenceTable) -> ConfidenceTable:
        """Return the probabilities of labels: calibrated if refined, otherwise shares."""
        refined = self.native.fit() is not None
        labels, values = self.evidence_of(table)
        shares = values.copy() if refined else _native.shares(values)
        silent = ~shares.any(axis=1)
        if silent.any():
            shares[silent, labels.index(self.default_label())] = 1.0
        return ConfidenceTable(labels, shares)

    def evidence(self, texts: list[str], threads: int) -> ConfidenceTable:
        """Return what posts add to their subjects: never negative, 0 without evidence."""
        return self.evidence_of(self.confidence(texts, threads))

    def evidence_of(self, table: ConfidenceTable) -> ConfidenceTable:
        """Return the confidences themselves or, of a refined model, the probabilities.

        Refined scores are signed, and lean towards the labels that are more common among posts, so
        that sums of them would lean more with every post.
        """
        fit = self.native.fit()
        if fit is None:
            return table
        return ConfidenceTable(table.labels, _native.softmax(table.values, fit["temperature"]))

    def _own_confidence(self, texts: list[str]) -> ConfidenceTable:
        # Text by text, so all must be read from a model that no other thread can change.
        native = self.native
        if len(texts) > 1:
            native = native.replace(self.parameters.for_native(), True)
        labels = tuple(native.labels())
        rows = []
        for text in texts:
            explained = native.explain(self.source.read([text], with_spans=True))
            labels = tuple(explained["values"]["labels"])
            rows.append(BlockValues(explained, self.parameters).document)
        values = np.array(rows, dtype=np.float64).reshape(len(rows), len(labels))
        return ConfidenceTable(labels, values)

    def explain(self, text: str) -> Explanation:
        """Return how a text is read, with the value of each part."""
        self.refuse_if_unreadable()
        if len(text) > MOST_EXPLAINED:
            raise TextTooLongError(
                f"a text of {len(text):,} characters is too long to be explained (at most "
                f"{MOST_EXPLAINED:,}): explain it in parts, such as its paragraphs or posts"
            )
        explained = self.native.explain(self.source.read([text], with_spans=True))
        values = BlockValues(explained, self.parameters)
        labels = tuple(explained["values"]["labels"])
        bias, ngrams = scored_ngrams(explained["score"])
        table = ConfidenceTable(labels, values.document.reshape(1, -1))
        probability = None if bias is None else self.evidence_of(table).values[0].tolist()
        return Explanation(
            text=text,
            labels=labels,
            label=self.decide(*table)[0],
            value=tuple(values.document.tolist()),
            summary=self.parameters.operator_names,
            blocks=values.build(),
            bias=bias,
            ngrams=ngrams,
            probability=None if probability is None else tuple(probability),
        )

    def decide(self, labels: Sequence[Label], values: FloatArray) -> list[Label]:
        """Return the label of each row of confidences; the default where all are 0."""
        return decide(labels, values, default=self.default_label)

    def decide_several(
        self, labels: Sequence[Label], values: FloatArray
    ) -> list[tuple[Label, ...]]:
        """Return several labels of each row: of refined scores, those above 0."""
        if self.native.fit() is None:
            return decide_several(labels, values)
        return [tuple(labels[at] for at in np.flatnonzero(row > 0).tolist()) for row in values]

    def default_label(self) -> Label:
        """Return the label to predict without evidence."""
        if self.parameters.default_label is not None:
            return self.known_label(self.parameters.default_label)
        return self.label_with_most_words()

    def label_with_most_words(self) -> Label:
        """Return the label to predict without evidence if no default label is set."""
        while (label := self.native.label_with_most_words()) is None:
            self.refuse_if_empty()
        return label

    # Checking

    def known_label(self, label: Label) -> Label:
        """Return the label as a plain `str` or `int`; raise if the model does not know it."""
        self.refuse_if_empty()
        known = as_label(label)
        labels = self.labels
        if known not in labels:
            raise UnknownLabelError(
                f"unknown label {known!r}; the model knows {reprs(labels, most=10)}"
            )
        return known

    def words_of(self, ngram: str | Sequence[str]) -> list[str]:
        """Return the words of an n-gram: a string is tokenised, a sequence is taken as it is."""
        words: list[Any]
        if isinstance(ngram, str):
            batch = self.source.read([ngram], with_spans=True)
            terms = [term for paragraph in batch.tree() for line in paragraph for term in line]
            words = [word for _, _, word in terms]
        elif isinstance(ngram, Sequence | np.ndarray):
            words = list(ngram)
        else:
            raise TypeError(f"an n-gram must be a str or a sequence of str, got {ngram!r}")
        if not words or not all(_is_word(word) for word in words):
            raise ValueError(f"not an n-gram of words: {ngram!r}")
        return words

    def refuse_if_unreadable(self) -> None:
        """Raise if texts cannot be read: nothing was learnt, or a function is missing."""
        self.refuse_if_empty()
        self.refuse_if_incomplete()

    def refuse_if_empty(self) -> None:
        """Raise `EmptyModelError` if nothing was learnt."""
        if self.native.is_empty():
            raise EmptyModelError("the model has not learnt anything yet: call learn_many first")

    def refuse_if_incomplete(self) -> None:
        """Raise `HookError` if a function is missing that a file could not hold."""
        self.source.refuse_if_incomplete()
        for operator in self.parameters.operators.values():
            refuse_placeholder(operator)

    def refuse_if_mapped(self, what: str) -> None:
        """Raise `MappedModelError` if the model stays in its file."""
        if self.native.is_mapped():
            raise MappedModelError(
                f"{what} is refused: the model was loaded with mapped=True and can only be read; "
                "load it without"
            )

    def refuse_if_pruned(self, what: str) -> None:
        """Raise `PrunedModelError` if counts were lost."""
        if self.native.was_pruned():
            raise PrunedModelError(
                f"{what} is refused: counts were lost to pruning, so the result would not be exact"
            )


def engine_of(model: TauSS3) -> Engine:
    """Return the engine of a model: for watchword's other packages, not for users."""
    return model._engine


def decide(
    labels: Sequence[Label], values: FloatArray, *, default: Callable[[], Label]
) -> list[Label]:
    """Return the label of each row of confidences; the default where all are 0."""
    best, silent = winners(values)
    decided = [labels[at] for at in best.tolist()]
    if silent.any():
        instead = default()
        for at in np.flatnonzero(silent).tolist():
            decided[at] = instead
    return decided


def decide_several(labels: Sequence[Label], values: FloatArray) -> list[tuple[Label, ...]]:
    """Return the labels in the upper of two clusters of each row of confidences (2-means)."""
    return [tuple(labels[at] for at in columns) for columns in _native.several(values)]


def winners(values: FloatArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the column of the highest value of each row, and the rows where all are 0."""
    if not len(values):
        return np.empty(0, np.int64), np.empty(0, np.bool_)
    return values.argmax(axis=1), (values == 0).all(axis=1)


def _is_word(word: object) -> bool:
    try:
        return isinstance(word, str) and bool(word.encode())
    except UnicodeEncodeError:  # half a character is never part of a word
        return False
