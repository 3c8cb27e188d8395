"""TauSS3: learn, read, explain, inspect, keep."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from watchword import _native, snapshot, storage
from watchword.errors import (
    EmptyModelError,
    HookError,
    IncompatibleModelsError,
    ModelFormatError,
    PrunedModelError,
    UnknownLabelError,
    UnlearnError,
)
from watchword.explanation import BlockValues, Explanation
from watchword.parameters import (
    SUMMARY_NAMES,
    FloatArray,
    Label,
    Level,
    Parameters,
    SummaryOperator,
    as_label,
)
from watchword.text import TextSource, Tokenizer, WordHook, name_of


class Value(NamedTuple):
    """All about an n-gram under one label: how often it occurred, and what it is worth."""

    count: int
    lv: float
    sg: float
    sn: float
    gv: float
    cv: float


class RankedNgram(NamedTuple):
    """An n-gram with its value and its count under one label."""

    ngram: str
    value: float
    count: int


class NextWord(NamedTuple):
    """A word that was seen after an n-gram."""

    word: str
    count: int
    probability: float


class Pruned(NamedTuple):
    """What a pruning removed: n-grams (counted per label) and their counts in all."""

    ngrams: int
    counts: int


@dataclass(frozen=True)
class ModelStatistics:
    """What a model has learnt: documents and words per label, distinct n-grams per length."""

    documents: dict[Label, int]
    words: dict[Label, int]
    ngrams: tuple[int, ...]
    pruned_ngrams: int
    pruned_counts: int
    pruned: bool


class TauSS3:
    """The τ-SS3 text classifier: learns word n-grams on the fly, reads, and shows why.

    Parameters
    ----------
    smoothness
        σ in lv = (tf / max tf)^σ: how much frequent n-grams stand out, in (0, 1].
    significance
        λ in sg: by how much an n-gram must be more frequent in a label than in the others.
    sanction
        ρ in sn: how much being significant in several labels costs.
    max_ngram
        the longest word sequence that is learnt.
    min_count
        n-grams seen less often under a label are worth nothing there.
    alpha
        values at or below this count as 0.
    significance_function
        `"vanilla"`, the authors' first, or `"xai"`, which also silences common words.
    confidence_function
        `"gv"` (online), or `"norm_gv"`, `"norm_gv_xai"`: divided by the model's largest value,
        which costs a pass over the model after every change.
    reading
        which n-grams a sentence is read as: `"paper"`, those of highest value; `"words_sum"`:
        single words where together they are worth more.
    summary
        how values are summarised: `"sum"`, `"max"`, `"mean"` or a function from an array
        (blocks, labels) to one vector; or one of these per level, as
        `{"sentence": …, "paragraph": …, "document": …}`.
    default_label
        what to predict where nothing is known; by default the label with most words.
    paragraphs
        paragraphs end at `"lines"` or, for hard-wrapped text, at `"blank_lines"`.
    word_hook
        a function on each distinct word (stemming, a stop list); None means: not a word.
    tokenizer
        a function from a text to (start, end, word or None for a break).
    prune_period, prune_floor, prune_shortest
        every so many words forget the n-grams of at least `prune_shortest` words seen at most
        `prune_floor` times under a label. Off by default.

    Many threads may read a model at once; learning waits its turn.

    >>> model = TauSS3()
    >>> model.learn_many(
    ...     ["machine learning is fun", "the match was fun", "deep machine learning"],
    ...     ["tech", "sports", "tech"],
    ... )
    >>> model.predict_one("They love Machine Learning!")
    'tech'
    """

    def __init__(
        self,
        *,
        smoothness: float = 0.455,
        significance: float = 1.0,
        sanction: float = 1.0,
        max_ngram: int = 3,
        min_count: int = 1,
        alpha: float = 0.0,
        significance_function: Literal["vanilla", "xai"] = "vanilla",
        confidence_function: Literal["gv", "norm_gv", "norm_gv_xai"] = "gv",
        reading: Literal["paper", "words_sum"] = "paper",
        summary: SummaryOperator | Mapping[Level, SummaryOperator] = "sum",
        default_label: Label | None = None,
        paragraphs: Literal["lines", "blank_lines"] = "lines",
        word_hook: WordHook | None = None,
        tokenizer: Tokenizer | None = None,
        prune_period: int | None = None,
        prune_floor: int = 10,
        prune_shortest: int = 1,
    ) -> None:
        given = dict(locals())
        own = {field.name: given[field.name] for field in fields(Parameters)}
        self._parameters = Parameters(**own)
        self._source = TextSource(paragraphs, word_hook=word_hook, tokenizer=tokenizer)
        self._native = _native.Model(self._parameters.for_native())
        self._missing: dict[str, str] = {}  # functions the model was taught with, by name

    @classmethod
    def paper(cls, **overrides: Any) -> TauSS3:
        """A model with the parameters of the τ-SS3 paper: σ .455, λ 1, ρ 1, 3-grams, addition.

        >>> TauSS3.paper().parameters["smoothness"]
        0.455
        """
        settled = {"smoothness": 0.455, "significance": 1.0, "sanction": 1.0, "max_ngram": 3}
        settled |= {"min_count": 1, "alpha": 0.0, "summary": "sum", "reading": "paper"}
        settled |= {"significance_function": "vanilla", "confidence_function": "gv"}
        return cls(**(settled | overrides))

    @classmethod
    def _of(cls, parameters: Parameters, source: TextSource, native: _native.Model) -> TauSS3:
        model = cls.__new__(cls)
        model._parameters = parameters
        model._source = source
        model._native = native
        model._missing = {}
        return model

    def __repr__(self) -> str:
        labels = self.labels
        shown = ", ".join(map(repr, labels[:5])) + (", …" if len(labels) > 5 else "")
        return f"<TauSS3 of {len(labels)} labels: {shown}>" if labels else "<TauSS3, empty>"

    # What it is

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels, sorted: the order of all columns."""
        return tuple(self._native.labels())

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor that makes such a model."""
        own = {field.name: getattr(self._parameters, field.name) for field in fields(Parameters)}
        operators = list(self._parameters.operators.values())
        if all(operator == operators[0] for operator in operators):
            own["summary"] = operators[0]
        own["word_hook"] = self._source.word_hook
        own["tokenizer"] = self._source.tokenizer
        return own

    @property
    def statistics(self) -> ModelStatistics:
        """How much was learnt, and what pruning removed."""
        totals = self._native.totals()
        return ModelStatistics(
            documents=dict(zip(totals["labels"], totals["documents"], strict=True)),
            words=dict(zip(totals["labels"], totals["words"], strict=True)),
            ngrams=tuple(self._native.ngrams_by_length()),
            pruned_ngrams=totals["pruned_ngrams"],
            pruned_counts=totals["pruned_counts"],
            pruned=totals["was_pruned"],
        )

    # Learning

    def learn_one(self, text: str, label: Label) -> None:
        """Learn one document; the cost is the document's, not the model's."""
        self.learn_many([text], [label], threads=1)

    def learn_many(
        self, texts: Iterable[str], labels: Iterable[Label], *, threads: int | None = None
    ) -> None:
        """Learn documents; the result is that of `learn_one` on each, whatever the threads.

        A document without words still counts as one of its label. By default all processors are
        used, except with periodic pruning, which depends on the order of documents.
        """
        documents = _texts(texts)
        known = [as_label(label) for label in labels]
        if len(documents) != len(known):
            raise ValueError(f"{len(documents)} texts but {len(known)} labels")
        self._check_label_types(known)
        workers = _threads(threads)
        if self._parameters.prune_period is not None:
            if threads is not None and threads > 1:
                raise ValueError(
                    "periodic pruning depends on the order of documents: use threads=1, "
                    "or prune_period=None and prune() at the end"
                )
            workers = 1
        if self._is_plain():
            self._native.learn(documents, known, workers)
        else:
            self._native.learn_terms(self._source.read(documents), known)

    def unlearn_one(self, text: str, label: Label) -> None:
        """Take a document back that was learnt, to the model that never saw it.

        Refused with `UnlearnError` if it cannot have been learnt. Where the document had the
        most frequent n-gram of its label, the next reading costs one pass over the model.

        >>> model = TauSS3()
        >>> model.learn_one("good morning", "greeting")
        >>> model.learn_one("good night", "farewell")
        >>> model.unlearn_one("good night", "farewell")
        >>> model.labels
        ('greeting',)
        """
        self._refuse_if_pruned("unlearning")
        known = as_label(label)
        if known not in self.labels:
            raise UnlearnError(f"cannot unlearn: no document with label {known!r} was learnt")
        batch = self._terms(_texts([text]))
        try:
            self._native.unlearn(batch, known)
        except _native.UnlearnFailure as error:
            raise UnlearnError(f"cannot unlearn this document from {known!r}: {error}") from None

    def merge(self, other: TauSS3) -> None:
        """Add all that another model has learnt, as if this one had learnt it too."""
        if not isinstance(other, TauSS3):
            raise TypeError(f"can only merge another TauSS3, got {type(other).__name__}")
        for model, which in ((self, "this"), (other, "the other")):
            model._refuse_if_pruned(f"merging ({which} model)")
        ours, theirs = self._description(), other._description()
        if ours != theirs:
            differing = ", ".join(key for key in ours if ours[key] != theirs[key])
            raise IncompatibleModelsError(f"cannot merge models that differ in {differing}")
        self._check_label_types(list(other.labels))
        self._native.merge(other._native)

    def prune(self, floor: int = 10, shortest: int = 1) -> Pruned:
        """Forget, per label, the n-grams of at least `shortest` words seen at most `floor` times.

        Afterwards merging and unlearning are refused, since they would not be exact.
        """
        checked = Parameters(prune_floor=floor, prune_shortest=shortest)
        return Pruned(*self._native.prune(checked.prune_floor, checked.prune_shortest))

    # Reading

    def confidence_one(self, text: str) -> dict[Label, float]:
        """How much speaks for each label."""
        labels, values = self._confidence([text], threads=1)
        return dict(zip(labels, values[0].tolist(), strict=True))

    def confidence_many(self, texts: Iterable[str], *, threads: int | None = None) -> FloatArray:
        """The confidence vectors of texts: one row per text, columns in the order of `labels`."""
        return self._confidence(texts, threads=threads)[1]

    def predict_one(self, text: str) -> Label:
        """The label of highest confidence; the default label where nothing is known."""
        return self.predict_many([text], threads=1)[0]

    def predict_many(self, texts: Iterable[str], *, threads: int | None = None) -> list[Label]:
        """The label of each text."""
        labels, values = self._confidence(texts, threads=threads)
        return self._decide(labels, values)

    def predict_labels_one(self, text: str) -> tuple[Label, ...]:
        """All labels in the upper of the two clusters of confidences (2-means)."""
        return self.predict_labels_many([text], threads=1)[0]

    def predict_labels_many(
        self, texts: Iterable[str], *, threads: int | None = None
    ) -> list[tuple[Label, ...]]:
        """Several labels for each text; none where all labels are equally likely."""
        labels, values = self._confidence(texts, threads=threads)
        return [tuple(labels[at] for at in columns) for columns in _native.several(values)]

    def explain(self, text: str) -> Explanation:
        """How the text is read and what each part of it is worth.

        >>> model = TauSS3()
        >>> model.learn_many(["machine learning"] * 2, ["tech", "tech"])
        >>> model.learn_one("the match", "sports")
        >>> [paragraph] = model.explain("The match. Machine learning!").blocks
        >>> [ngram.ngram for sentence in paragraph.blocks for ngram in sentence.blocks]
        ['the', 'match', 'machine', 'learning']
        """
        self._refuse_if_empty()
        batch = self._terms(_texts([text]), with_spans=True)
        explained = self._native.explain(batch)
        operators = self._parameters.operators
        values = BlockValues(explained, self._parameters)
        labels = tuple(explained["values"]["labels"])
        named: dict[Level, str] = {
            level: name_of(operator) if callable(operator) else operator
            for level, operator in operators.items()
        }
        return Explanation(
            text=text,
            labels=labels,
            label=self._decide(labels, values.document.reshape(1, -1))[0],
            value=tuple(values.document.tolist()),
            summary=named,
            blocks=values.build(),
        )

    # Inspecting

    def value(self, ngram: str | Sequence[str]) -> dict[Label, Value]:
        """The count and every value of an n-gram, per label.

        A string is read as the model reads text; a sequence of words is taken as it is.

        >>> model = TauSS3()
        >>> model.learn_one("machine learning", "tech")
        >>> model.value("Machine Learning")["tech"]
        Value(count=1, lv=1.0, sg=1.0, sn=1.0, gv=1.0, cv=1.0)
        """
        self._refuse_if_empty()
        table = self._native.value(self._words_of(ngram))
        columns = [table[name][0].tolist() for name in Value._fields]
        values = [Value(*column) for column in zip(*columns, strict=True)]
        return dict(zip(table["labels"], values, strict=True))

    def top_ngrams(
        self, label: Label, n: int = 20, length: int | None = None
    ) -> list[RankedNgram]:
        """The n-grams (of one length, if given) of highest value for a label; ties by spelling."""
        known = self._known_label(label)
        ranked = self._native.top_ngrams(known, n, length)
        return [RankedNgram(*entry) for entry in ranked]

    def next_words(
        self, ngram: str | Sequence[str], label: Label | None = None
    ) -> list[NextWord]:
        """The words seen after an n-gram (under one label, if given), most frequent first."""
        self._refuse_if_empty()
        known = None if label is None else self._known_label(label)
        following = self._native.next_words(self._words_of(ngram), known)
        total = sum(count for _, count in following)
        return [NextWord(word, count, count / total) for word, count in following]

    def stop_words(self, threshold: float = 0.01) -> list[str]:
        """The words whose significance (sg) is below the threshold in every label.

        Most frequent first. They are never removed: the model needs their counts.
        """
        self._refuse_if_empty()
        return list(self._native.stop_words(threshold))

    def counts(self) -> dict[str, dict[Label, int]]:
        """Every n-gram with its count per label, sorted by spelling.

        >>> model = TauSS3(max_ngram=2)
        >>> model.learn_one("so so", "greeting")
        >>> model.counts()
        {'so': {'greeting': 2}, 'so so': {'greeting': 1}}
        """
        return snapshot.counts_by_ngram(self._native.snapshot())

    # Keeping

    def replace(self, **parameters: Any) -> TauSS3:
        """A model with the same counts and other parameters, without learning again.

        Counts are shared until one of the two models learns. What decides how counts came about
        cannot be replaced: `paragraphs`, `word_hook`, `tokenizer`, and `max_ngram` only by less.
        """
        for fixed in ("paragraphs", "word_hook", "tokenizer"):
            if fixed in parameters and parameters[fixed] != self.parameters[fixed]:
                raise ValueError(f"{fixed} cannot be replaced: the counts depend on it")
            parameters.pop(fixed, None)
        unknown = set(parameters) - {field.name for field in fields(Parameters)}
        if unknown:
            raise TypeError(f"unknown parameter {sorted(unknown)[0]!r}")
        settled = replaced(self._parameters, **parameters)
        if settled.max_ngram > self._parameters.max_ngram:
            raise ValueError(
                f"max_ngram can only be replaced by less than {self._parameters.max_ngram}, "
                f"got {settled.max_ngram}: longer n-grams were not counted"
            )
        model = TauSS3._of(settled, self._source, self._native.replace(settled.for_native()))
        model._missing = dict(self._missing)
        if not any(callable(operator) for operator in settled.operators.values()):
            model._missing.pop("summary", None)
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, whole or not at all. Equal models give equal files."""
        manifest, arrays = self._to_file()
        with storage.atomic_file(path) as file:
            storage.write_model(file, manifest, arrays)

    def to_bytes(self) -> bytes:
        """The bytes that `save` writes."""
        manifest, arrays = self._to_file()
        buffer = io.BytesIO()
        storage.write_model(buffer, manifest, arrays)
        return buffer.getvalue()

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        word_hook: WordHook | None = None,
        tokenizer: Tokenizer | None = None,
        summary: SummaryOperator | Mapping[Level, SummaryOperator] | None = None,
    ) -> TauSS3:
        """Read a model from a file.

        A file holds no functions: a model that was taught with a hook, or has a summary function,
        needs it again here before it can read or learn.
        """
        return cls.from_bytes(
            Path(path).read_bytes(),
            word_hook=word_hook,
            tokenizer=tokenizer,
            summary=summary,
            source=str(path),
        )

    @classmethod
    def from_bytes(
        cls,
        data: bytes | memoryview,
        *,
        word_hook: WordHook | None = None,
        tokenizer: Tokenizer | None = None,
        summary: SummaryOperator | Mapping[Level, SummaryOperator] | None = None,
        source: str = "the data",
    ) -> TauSS3:
        """The model that `to_bytes` gave; `source` names the data in error messages."""
        manifest, arrays = storage.read_model(data, source=source)
        functions = {"word_hook": word_hook, "tokenizer": tokenizer}
        try:
            reading = manifest["reading"]
            own = dict(manifest["parameters"])
            named = {name: reading[name] for name in functions}
            if reading["unicode"] != _native.unicode_version:
                raise ValueError(f"text was read with Unicode {reading['unicode']}")
            missing = {
                name: text
                for name, text in named.items()
                if text is not None and functions[name] is None
            }
            if summary is not None:
                own["summary"] = summary
            elif not set(own["summary"].values()) <= set(SUMMARY_NAMES):
                missing["summary"] = ", ".join(sorted(set(own["summary"].values())))
                own["summary"] = "sum"
            parameters = Parameters(**own)
            text_source = TextSource(
                reading["paragraphs"], word_hook=word_hook, tokenizer=tokenizer
            )
            words_since_prune = int(manifest["words_since_prune"])
            if parameters.paragraphs != reading["paragraphs"] or words_since_prune < 0:
                raise ValueError("contradictory entries")
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelFormatError(
                f"{source} is damaged: bad entry in its manifest: {error}"
            ) from None
        for name, function in functions.items():
            if function is not None and name_of(function) != named[name]:
                raise HookError(
                    f"{source} was taught with {name} {named[name]}, not {name_of(function)}"
                )
        built = snapshot.from_file(manifest, arrays, parameters.max_ngram, source=source)
        try:
            native = _native.Model.from_snapshot(parameters.for_native(), built, words_since_prune)
        except (_native.SnapshotFailure, ValueError, OverflowError) as error:
            raise ModelFormatError(f"{source} is damaged: {error}") from None
        model = cls._of(parameters, text_source, native)
        model._missing = missing
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        operators = dict(self._parameters.operators)
        own = operators if self._parameters.has_own_operators else None
        return _unpickle, (self.to_bytes(), self._source.word_hook, self._source.tokenizer, own)

    def __copy__(self) -> TauSS3:
        return self.replace()

    def __deepcopy__(self, memo: dict[int, Any]) -> TauSS3:
        return self.replace()

    # Inside

    def _to_file(self) -> tuple[dict[str, Any], storage.Arrays]:
        manifest, arrays = snapshot.to_file(self._native.snapshot())
        own = {field.name: getattr(self._parameters, field.name) for field in fields(Parameters)}
        own["summary"] = {
            level: name_of(operator) if callable(operator) else operator
            for level, operator in self._parameters.operators.items()
        }
        if "summary" in self._missing:
            own["summary"] = dict.fromkeys(own["summary"], self._missing["summary"])
        manifest["parameters"] = own
        manifest["reading"] = self._description()
        del manifest["reading"]["max_ngram"]
        manifest["words_since_prune"] = self._native.words_since_prune()
        return manifest, arrays

    def _description(self) -> dict[str, Any]:
        """What two models must have in common to count the same things."""
        described = self._source.description | {"max_ngram": self._parameters.max_ngram}
        return described | {
            name: text for name, text in self._missing.items() if name in described
        }

    def _is_plain(self) -> bool:
        for name, text in self._missing.items():
            raise HookError(
                f"this model has the {name} {text}, which a file cannot hold: "
                f"pass it as TauSS3.load(path, {name}=…)"
            )
        return self._source.is_plain

    def _terms(self, texts: list[str], *, with_spans: bool = False) -> _native.TermBatch:
        self._is_plain()
        return self._source.read(texts, with_spans=with_spans)

    def _confidence(
        self, texts: Iterable[str], *, threads: int | None
    ) -> tuple[tuple[Label, ...], FloatArray]:
        documents = _texts(texts)
        self._refuse_if_empty()
        plain = self._is_plain()
        if self._parameters.has_own_operators:
            return self._own_confidence(documents)
        if plain:
            labels, values = self._native.confidence(documents, _threads(threads))
        else:
            labels, values = self._native.confidence_terms(self._source.read(documents))
        return tuple(labels), values

    def _own_confidence(self, texts: list[str]) -> tuple[tuple[Label, ...], FloatArray]:
        labels = self.labels
        rows = []
        for text in texts:
            explained = self._native.explain(self._source.read([text], with_spans=True))
            labels = tuple(explained["values"]["labels"]) or labels
            rows.append(BlockValues(explained, self._parameters).document)
        return labels, np.array(rows, dtype=np.float64).reshape(len(rows), len(labels))

    def _decide(self, labels: tuple[Label, ...], values: FloatArray) -> list[Label]:
        best = values.argmax(axis=1) if len(values) else np.empty(0, dtype=np.intp)
        known = values.max(axis=1) > 0 if len(values) else np.empty(0, dtype=bool)
        decided = [labels[at] for at in best.tolist()]
        if not known.all():
            default = self._default_label()
            decided = [
                label if sure else default
                for label, sure in zip(decided, known.tolist(), strict=True)
            ]
        return decided

    def _default_label(self) -> Label:
        if self._parameters.default_label is not None:
            return self._known_label(self._parameters.default_label)
        totals = self._native.totals()
        words = dict(zip(totals["labels"], totals["words"], strict=True))
        return max(words, key=lambda label: words[label])  # the first of equals

    def _known_label(self, label: Label) -> Label:
        self._refuse_if_empty()
        known = as_label(label)
        labels = self.labels
        if known not in labels:
            listed = ", ".join(map(repr, labels[:10])) + (", …" if len(labels) > 10 else "")
            raise UnknownLabelError(f"unknown label {known!r}; the model knows {listed}")
        return known

    def _words_of(self, ngram: str | Sequence[str]) -> list[str]:
        if isinstance(ngram, str):
            batch = self._terms([ngram], with_spans=True)
            terms = [term for paragraph in batch.tree() for line in paragraph for term in line]
            words = [word for _, _, word in terms]
        else:
            words = list(ngram)
        if not words or any(not isinstance(word, str) for word in words):
            raise ValueError(f"not an n-gram of words: {ngram!r}")
        return [str(word) for word in words]

    def _check_label_types(self, labels: list[Label]) -> None:
        kinds = {type(label) for label in labels} | {type(label) for label in self.labels}
        if len(kinds) > 1:
            raise TypeError("the labels of one model must be all str or all int")

    def _refuse_if_empty(self) -> None:
        if not self._native.labels():
            raise EmptyModelError("the model has not learnt anything yet: call learn_many first")

    def _refuse_if_pruned(self, what: str) -> None:
        if self._native.totals()["was_pruned"]:
            raise PrunedModelError(
                f"{what} is refused: counts were lost to pruning, so the result would not be exact"
            )


def _unpickle(
    data: bytes,
    word_hook: WordHook | None,
    tokenizer: Tokenizer | None,
    summary: dict[Level, SummaryOperator] | None,
) -> TauSS3:
    return TauSS3.from_bytes(data, word_hook=word_hook, tokenizer=tokenizer, summary=summary)


def _texts(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str | bytes):
        raise TypeError("expected many texts, got a single string: put it into a list")
    listed = list(texts)
    for at, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"text {at} must be str, got {type(text).__name__}")
    return listed


def _threads(threads: int | None) -> int:
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads must be a whole number from 1 on, got {threads!r}")
    return min(threads, 256)
