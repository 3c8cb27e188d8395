"""The counts of an `SS3`: a model whose labels are the indices of categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from watchword._checks import FloatArray, Label, as_threads
from watchword._files import AnyPath, atomic_file, read_regular
from watchword.errors import ModelFormatError
from watchword.model.engine import Engine, engine_of
from watchword.model.file import codec, container, layout
from watchword.model.native import TermBatch
from watchword.model.tau_ss3 import TauSS3
from watchword.model.text import TextSource, batch_of_words
from watchword.pyss3.model_file import SavedSettings, read_model
from watchword.pyss3.reading import PieceTokenizer

LEAST_SMOOTHNESS = 1e-300  # instead of 0, which the core refuses; the power is 1 all the same

_ALL = 2**32 - 1


class RankedTerm(NamedTuple):
    """An n-gram of a category: its words, count and values."""

    words: str
    fr: int
    lv: float
    gv: float
    cv: float


@dataclass
class View:
    """The values of counts with certain parameters."""

    model: TauSS3
    parameters: dict[str, Any]

    @property
    def alpha(self) -> float:
        """The threshold up to which confidences are 0."""
        return float(self.parameters["alpha"])

    @property
    def longest(self) -> int:
        """The length of the longest n-grams that are counted."""
        return engine_of(self.model).parameters.max_ngram

    @property
    def without_ngrams(self) -> bool:
        """Whether texts are read as single words: with plain global values, PySS3 does so."""
        return bool(self.parameters["confidence_function"] == "gv")

    @cached_property
    def _reading(self) -> TauSS3:
        return self.model.replace(max_ngram=1) if self.without_ngrams else self.model

    def confidence(self, batch: TermBatch) -> FloatArray:
        """Return a row of confidences per document."""
        return engine_of(self._reading).native.confidence_terms(batch)[1]

    def confidence_of_texts(self, texts: list[str], *, as_learnt: bool = False) -> FloatArray:
        """Return the confidences of texts with PySS3's own cleaning and delimiters.

        With `as_learnt`, texts are cleaned as a whole and not cut into sentences.
        """
        threads = as_threads(None) if len(texts) > 1 else 1
        return engine_of(self._reading).confidence(texts, threads, as_learnt=as_learnt).values

    def explain(self, batch: TermBatch) -> dict[str, Any]:
        """Return the n-grams of a document with their values."""
        return engine_of(self._reading).native.explain(batch)

    def knows(self, word: str) -> bool:
        """Return whether a word was learnt."""
        return bool(self._table([word])["count"].any())

    def value(self, name: str, words: Sequence[str], category: int) -> float:
        """Return a value of an n-gram of known words."""
        return float(self._table(words)[name][0, category])

    def _table(self, words: Sequence[str]) -> dict[str, Any]:
        return engine_of(self.model).native.value(list(words))

    def next_words(self, words: list[str], category: int) -> list[tuple[str, int, float]]:
        """Return the words seen after the longest known end of a sentence."""
        native = engine_of(self.model).native
        for start in range(max(0, len(words) - self.longest + 1), len(words)):
            found = native.next_words(words[start:], category)
            if found:
                total = sum(count for _, count in found)
                return [(word, count, count / total) for word, count in found]
        return []

    def stopwords(self, threshold: float) -> list[str]:
        """Return insignificant words, the most frequent in the first category first."""
        found = engine_of(self.model).native.stop_words(threshold)
        return sorted(found, key=lambda word: -int(self._table([word])["count"][0, 0]))

    def ranked(self, category: int, length: int) -> Iterator[RankedTerm]:
        """Yield the n-grams of a length with a confidence above 0, best first."""
        if length > self.longest:
            return
        for words, value, fr in engine_of(self.model).native.top_ngrams(category, _ALL, length):
            if value > 0:
                table = self._table(words.split(" "))
                lv, gv = (float(table[name][0, category]) for name in ("lv", "gv"))
                yield RankedTerm(words, fr, lv, gv, value)


class LabelledText(NamedTuple):
    """A text to learn under a label, and the number of documents that it is made of."""

    text: str
    label: Hashable
    documents: int = 1


class CategoryCounts:
    """Categories in the order of their indices, and what was learnt of them."""

    def __init__(self, names: Sequence[Hashable] = (), model: TauSS3 | None = None) -> None:
        self.names = list(names)
        self.index = {name: at for at, name in enumerate(names)}
        self._view = View(TauSS3.pyss3() if model is None else model, {})

    def index_for(self, name: Hashable) -> int:
        """Return the index of a category, a new one if need be."""
        if name not in self.index:
            self.index[name] = len(self.names)
            self.names.append(name)
        return self.index[name]

    def view(self, **parameters: Any) -> View:
        """Return the counts with these parameters."""
        if parameters != self._view.parameters:
            self._view = View(self._view.model.replace(**parameters), parameters)
        return self._view

    # Learning

    def learn_texts(self, lessons: Sequence[LabelledText], longest: int) -> None:
        """Learn texts with PySS3's own cleaning and delimiters."""
        engine = self._engine_for(longest)
        texts = [lesson.text for lesson in lessons]
        categories: list[Label] = [self.index_for(lesson.label) for lesson in lessons]
        counted = [lesson.documents for lesson in lessons]
        if longest == engine.parameters.max_ngram:
            engine.learn(texts, categories, None, counted=counted)
            return
        batch = engine.source.read(texts, learning=True)
        batch.longest, batch.counted = longest, counted
        engine.native.learn_terms(batch, categories)

    def learn_words(self, words: list[str | None], lesson: LabelledText, longest: int) -> None:
        """Learn the words and breaks of a text."""
        engine = self._engine_for(longest)
        batch = batch_of_words([[words]])
        batch.longest, batch.counted = longest, [lesson.documents]
        engine.native.learn_terms(batch, [self.index_for(lesson.label)])

    def _engine_for(self, longest: int) -> Engine:
        """Return the engine, alone with its counts (so that learning need not copy them)."""
        model = self._view.model
        engine = engine_of(model)
        if longest > engine.parameters.max_ngram:
            wider = TauSS3(**(model.parameters | {"max_ngram": longest}))
            if not engine.native.is_empty():
                snapshot = layout.lengthened(engine.snapshot(), longest)
                wider = _taught(wider, snapshot, source="the model")
            model = wider
        self._view = View(model, self._view.parameters)
        return engine_of(model)

    def prune(self, floor: int) -> None:
        """Drop n-grams of two words or more with a count of at most `floor`."""
        self._engine_for(1).native.prune(floor, 2)

    # Inspecting

    def longest(self) -> int:
        """Return the length of the longest n-gram that was ever learnt; 0 without categories."""
        found = engine_of(self._view.model).native.longest_ngram()
        return max(found, 1) if self.names else 0

    def words_of(self, category: int) -> tuple[int, int]:
        """Return how many words a category has learnt, and how many different ones."""
        native = engine_of(self._view.model).native
        return int(native.totals()["words"][category]), len(native.top_ngrams(category, _ALL, 1))

    def most_probable(self) -> int:
        """Return the category with the most words; of equals, the last."""
        words = engine_of(self._view.model).native.totals()["words"]
        return max(range(len(words)), key=lambda at: (words[at], at))

    # Saving

    @classmethod
    def of_pyss3(cls, path: AnyPath) -> tuple[CategoryCounts, SavedSettings]:
        """Return the counts and the settings in a file of PySS3."""
        found = read_model(path)
        model = TauSS3.pyss3(max_ngram=found.max_ngram)
        taught = _taught(model, found.snapshot, source=str(path))
        return cls(found.categories, taught), found.settings

    @classmethod
    def load(cls, path: AnyPath) -> tuple[CategoryCounts, SavedSettings]:
        """Read what `save` has written, or another model that reads text as PySS3 does."""
        source = str(path)
        data = read_regular(path, ModelFormatError, signature=container.SIGNATURE)
        manifest, _ = container.read_model(data, source=source)
        model = TauSS3.from_bytes(data, source=source)
        if engine_of(model).parameters.tokenization != "pyss3":
            raise ModelFormatError(f"{source} does not read text as PySS3 does: use TauSS3.load")
        section = manifest.get(container.PYSS3)
        try:
            own = (
                _Section(list(model.labels), False)
                if section is None
                else msgspec.convert(section, _Section)
            )
        except msgspec.ValidationError:
            raise ModelFormatError(
                f"{source} is corrupt: bad section {container.PYSS3!r}"
            ) from None
        names = native_names(own.categories)
        if sorted(names) != list(model.labels):
            raise ModelFormatError(f"{source} is corrupt: its categories are not its labels")
        snapshot = engine_of(model).snapshot()
        indices = [names.index(label) for label in model.labels]
        taught = _taught(model, layout.relabelled(snapshot, indices), source=source)
        given = engine_of(model).parameters
        values = {
            "s": given.smoothness if given.smoothness > LEAST_SMOOTHNESS else 0.0,
            "l": given.significance,
            "p": given.sanction,
            "a": given.alpha,
        }
        modes = given.confidence_function, given.significance_function
        return cls(own.categories, taught), SavedSettings(values, *modes, own.multilabel)

    def save(self, view: View, path: AnyPath, multilabel: bool) -> None:
        """Write a model file with the names of categories as labels, and their order."""
        manifest, arrays = codec.parts_of(engine_of(self._named(view)))
        manifest[container.PYSS3] = {"categories": self.names, "multilabel": multilabel}
        with atomic_file(path) as file:
            container.write_model(file, manifest, arrays)

    def to_watchword(self, view: View, tokenizer: PieceTokenizer | None, default: int) -> TauSS3:
        """Return a model with the names of categories as labels, which reads texts as this one."""
        engine = engine_of(self._named(view))
        if tokenizer is not None:
            parameters = engine.parameters
            source = TextSource(parameters.paragraphs, parameters.tokenization, tokenizer=tokenizer)
            engine = engine._replace(source=source)
        model = TauSS3._of(engine).replace(max_ngram=1 if view.without_ngrams else view.longest)
        chosen = None if default < 0 else native_names(self.names)[default]
        # Of equally many words, PySS3 takes the last category and watchword the first.
        same = chosen is None or chosen == model.default_label
        return model if same else model.replace(default_label=chosen)

    def _named(self, view: View) -> TauSS3:
        snapshot = layout.relabelled(engine_of(view.model).snapshot(), native_names(self.names))
        return _taught(view.model, snapshot, source="the model")


class _Section(msgspec.Struct, forbid_unknown_fields=True):
    """The part of a model file that only `SS3` reads."""

    categories: list[str | int | float | bool]
    multilabel: bool


def native_names(names: Sequence[Any]) -> list[Label]:
    """Return the names of categories as labels: as they are if all are text or whole numbers.

    >>> native_names(["b", "a"]), native_names([1, "1", 2.5])
    (['b', 'a'], ['1 (int)', '1', '2.5'])
    """
    if all(isinstance(name, str) for name in names):
        return list(names)
    if all(isinstance(name, int) and not isinstance(name, bool) for name in names):
        return list(names)
    taken = Counter(map(str, names))
    return [
        str(name)
        if isinstance(name, str) or taken[str(name)] == 1
        else f"{name} ({type(name).__name__})"
        for name in names
    ]


def _taught(model: TauSS3, snapshot: dict[str, Any], *, source: str) -> TauSS3:
    """Return a model with the parameters of another and the counts of a snapshot."""
    engine = engine_of(model)
    return TauSS3._of(codec.engine_built(snapshot, engine.parameters, engine.source, source=source))
