"""The class SS3 of PySS3, over watchword's core."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from watchword._checks import as_choice, as_list, as_whole
from watchword.model.engine import decide_several
from watchword.model.native import core
from watchword.model.text import lines_by_label
from watchword.pyss3 import reading
from watchword.pyss3.constants import (
    IDX_UNKNOWN_CATEGORY,
    STR_MOST_PROBABLE,
    STR_OTHERS_CATEGORY,
    STR_UNKNOWN,
)
from watchword.pyss3.counts import LabelledText
from watchword.pyss3.inspection import Inspected
from watchword.pyss3.reading import Cleaner, clean, document_json, insights, summarised
from watchword.pyss3.settings import plain_label


def are_collections(labels: Sequence[object]) -> bool:
    """Return whether documents have lists of labels instead of one label each."""
    return bool(labels) and isinstance(labels[0], list | tuple | set | frozenset | np.ndarray)


class SS3(Inspected):
    """PySS3's classifier, with its methods, its numbers and watchword's speed.

    docs/moving-from-pyss3.md lists what differs. `to_watchword` returns the same model as a
    `watchword.TauSS3`.

    >>> clf = SS3()
    >>> clf.fit(["machine learning, machine learning!", "the match, the match"], ["tech", "fun"])
    >>> clf.predict(["they love machine learning"])
    ['tech']
    >>> clf.classify("machine learning")
    [(1, 2.0), (0, 0.0)]
    """

    # Learning

    def fit(
        self,
        x_train: Iterable[str],
        y_train: Iterable[Any],
        n_grams: int = 1,
        prep: bool = True,
        leave_pbar: bool = True,
    ) -> None:
        """Learn documents; with lists of labels in `y_train`, each under all its labels.

        As in PySS3, the documents of a category are learnt as one text, n-grams with a count of at
        most ten are dropped at the end, and what was learnt before is kept.

        >>> clf = SS3()
        >>> clf.fit(["a match, a match", "soup, a soup"], [["sports"], ["food", "sports"]])
        >>> clf.get_categories()
        ['sports', 'food']
        """
        texts = [_decoded(text) for text in as_list(x_train, "documents")]
        labels = [plain_label(one) for one in as_list(y_train, "labels")]
        if len(texts) != len(labels):
            raise ValueError(f"{len(texts)} documents but {len(labels)} labels")
        if not texts:
            raise ValueError("there are no documents to learn")
        if are_collections(labels):
            self._settings.multilabel = True
            lessons = [
                LabelledText(text, plain_label(label))
                for text, own in zip(texts, labels, strict=True)
                for label in (list(own) or [STR_OTHERS_CATEGORY])  # type: ignore[call-overload]
            ]
        else:
            lessons = _joined(texts, labels)
        self._learn(lessons, n_grams, prep)
        self._counts.prune(self.__prun_floor__)

    train = fit

    def learn(
        self, doc: str, cat: Hashable, n_grams: int = 1, prep: bool = True, update: bool = True
    ) -> None:
        """Learn one document; the cost does not depend on what was learnt before.

        Values are always up to date: `update` is accepted and changes nothing.

        >>> clf = SS3()
        >>> clf.learn("what a match, what a match", "sports", n_grams=2)
        >>> clf.lv("a match", "sports")
        1.0
        """
        if doc and cat is not None:
            self._learn([LabelledText(_decoded(doc), plain_label(cat))], n_grams, prep)

    def _learn(self, lessons: Sequence[LabelledText], n_grams: int, prep: bool) -> None:
        longest = as_whole("n_grams", n_grams, 1, core.max_ngram_limit)
        given = [lesson for lesson in lessons if lesson.text]
        _ = self._view  # so that the counts are pruned as often as is set now
        if prep and self._delimiters.are_default:
            self._counts.learn_texts(given, longest)
            return
        cleaner: Cleaner = clean if prep else str
        for lesson in given:
            words = reading.learnt_words(cleaner(lesson.text), self._delimiters.word)
            self._counts.learn_words(words, lesson, longest)

    def update_values(self, force: bool = False) -> None:
        """Do nothing: values are always up to date."""

    update = update_values

    # Classifying

    def classify(
        self,
        doc: str,
        prep: bool = True,
        sort: bool = True,
        json: bool = False,
        prep_func: Cleaner | None = None,
    ) -> Any:
        """Return the confidence of each category: (index, value) best first, or in their order.

        With `json`, return the paragraphs, sentences and words of the document with their values.

        >>> clf = SS3()
        >>> clf.fit(["so much soup, hot soup", "a match, what a match"], ["food", "sports"])
        >>> clf.classify("hot soup", sort=False)
        [1.0, 0.0]
        >>> clf.classify("hot soup", json=True)["pars"][0]["sents"][0]["words"][2]["token"]
        'soup'
        """
        self._refuse_if_empty()
        text = _decoded(doc or "")
        if json:
            return self._json(text, prep, prep_func)
        vector = self._vectors([text], prep, prep_func)[0]
        return _ranked(vector) if sort else vector

    def classify_label(
        self,
        doc: str,
        def_cat: Hashable = STR_MOST_PROBABLE,
        labels: bool = True,
        prep: bool = True,
    ) -> Any:
        """Return the category of a document, or its index.

        `def_cat` is for a document without evidence: "most-probable", "unknown" or a category.

        >>> clf = SS3()
        >>> clf.fit(["so much soup, hot soup", "a match, what a match"], ["food", "sports"])
        >>> clf.classify_label("soup"), clf.classify_label("?", def_cat="unknown")
        ('food', '[unknown]')
        """
        self._refuse_if_empty()
        vectors = self._vectors([_decoded(doc or "")], prep, None)
        return self._decided(vectors, self._default(def_cat), labels)[0]

    def classify_multilabel(
        self, doc: str, def_cat: Hashable = STR_UNKNOWN, labels: bool = True, prep: bool = True
    ) -> list[Any]:
        """Return the categories in the upper of two clusters of confidences (2-means).

        >>> clf = SS3()
        >>> clf.fit(["so much soup, hot soup", "a match, what a match"], ["food", "sports"])
        >>> clf.classify_multilabel("soup")
        ['food']
        """
        self._refuse_if_empty()
        vectors = self._vectors([_decoded(doc or "")], prep, None)
        return self._decided_several(vectors, self._default(def_cat), labels)[0]

    def predict(
        self,
        x_test: Iterable[str],
        def_cat: Hashable = None,
        labels: bool = True,
        multilabel: bool = False,
        prep: bool = True,
        leave_pbar: bool = True,
    ) -> list[Any]:
        """Return the category of each document, or a list of categories with `multilabel`.

        >>> clf = SS3()
        >>> clf.fit(["so much soup, hot soup", "a match, what a match"], ["food", "sports"])
        >>> clf.predict(["the soup", "the match"], labels=False)
        [0, 1]
        """
        self._refuse_if_empty()
        several = multilabel or self._settings.multilabel
        if def_cat is None:
            def_cat = STR_UNKNOWN if several else STR_MOST_PROBABLE
        default = self._default(def_cat)
        vectors = self._many(x_test, prep)
        return (self._decided_several if several else self._decided)(vectors, default, labels)

    def predict_proba(
        self, x_test: Iterable[str], prep: bool = True, leave_pbar: bool = True
    ) -> list[list[float]]:
        """Return the confidence vector of each document. These are no probabilities.

        >>> clf = SS3()
        >>> clf.fit(["so much soup, hot soup", "a match, what a match"], ["food", "sports"])
        >>> clf.predict_proba(["soup, soup"])
        [[2.0, 0.0]]
        """
        self._refuse_if_empty()
        return [list(vector) for vector in self._many(x_test, prep)]

    def _many(self, documents: Iterable[str], prep: bool) -> list[list[float]]:
        texts = [_decoded(text or "") for text in as_list(documents, "documents")]
        # As in PySS3, where single words are read from the whole text at once.
        as_learnt = self.get_ngrams_length() <= 1 and not self._operators
        return self._vectors(texts, prep, None, as_learnt=as_learnt)

    def _vectors(
        self, texts: list[str], prep: bool, prep_func: Cleaner | None, *, as_learnt: bool = False
    ) -> list[list[float]]:
        view, delimiters = self._view, self._delimiters
        cleaner = prep_func or (clean if prep else None)
        if as_learnt:
            read = (reading.read_whole(text, delimiters, cleaner) for text in texts)
        else:
            read = (reading.read_plain(text, delimiters, cleaner, view.knows) for text in texts)
        if self._operators:
            return [summarised(view, document, self._summary) for document in read]
        if prep and prep_func is None and delimiters.are_default:
            values = view.confidence_of_texts(texts, as_learnt=as_learnt)
        else:
            values = view.confidence(reading.batch_of(read))
        return values.tolist()  # type: ignore[no-any-return]

    def _json(self, text: str, prep: bool, prep_func: Cleaner | None) -> dict[str, Any]:
        cleaner = prep_func or (reading.clean_piece if prep else None)
        read = reading.read_pieces(text, self._delimiters, cleaner, self._view.knows)
        return document_json(self._view, read, self._summary, list(self._counts.names))

    def _decided(self, vectors: list[list[float]], default: int, labels: bool) -> list[Any]:
        best = [
            max(range(len(one)), key=one.__getitem__) if any(one) else default for one in vectors
        ]
        return [self.get_category_name(index) for index in best] if labels else best

    def _decided_several(
        self, vectors: list[list[float]], default: int, labels: bool
    ) -> list[list[Any]]:
        columns = range(len(self._counts.names))
        table = np.array(vectors, np.float64).reshape(len(vectors), len(columns))
        hidden = self._counts.index.get(STR_OTHERS_CATEGORY)
        decided = []
        for vector, chosen in zip(vectors, decide_several(columns, table), strict=True):
            found = [index for index, _ in _ranked(vector) if index in chosen]
            if not any(vector) and default != IDX_UNKNOWN_CATEGORY:
                found = [default]
            decided.append([index for index in found if index != hidden])
        if not labels:
            return decided
        return [[self.get_category_name(index) for index in one] for one in decided]

    def extract_insight(
        self,
        doc: str,
        cat: Hashable = "auto",
        level: str = "word",
        window_size: int = 3,
        min_cv: float = 0.01,
        sort: bool = True,
    ) -> list[tuple[str, float]]:
        """Return the parts of a document that support a category, with their confidences.

        The parts are paragraphs, sentences, or words with `window_size` words on either side.

        >>> clf = SS3()
        >>> clf.fit(["so much soup, hot soup", "a match, what a match"], ["food", "sports"])
        >>> clf.extract_insight("We had a very hot soup yesterday evening", window_size=2)
        [('hot soup yesterday evening', 1.0)]
        """
        as_choice("level", level, ("word", "sentence", "paragraph"))
        found = self.classify(doc, json=True)
        category = found["cvns"][0][0] if cat == "auto" else self._known(cat)
        return insights(found, category, level, window_size, min_cv, sort=sort)


def _decoded(text: Any) -> str:
    if isinstance(text, bytes):
        return text.decode()
    if not isinstance(text, str):
        raise TypeError(f"a document must be str, got {type(text).__name__}")
    return text


def _joined(texts: list[str], labels: list[Hashable]) -> list[LabelledText]:
    """Return one text per label, of lines; labels in order."""
    by_label = lines_by_label(texts, labels)
    if None in by_label:
        raise ValueError("a document without a label (None) cannot be learnt")
    try:
        order = sorted(by_label)  # type: ignore[type-var]
    except TypeError:  # of several types
        order = sorted(by_label, key=lambda label: (type(label).__name__, str(label)))
    return [LabelledText("".join(by_label[label]), label, len(by_label[label])) for label in order]


def _ranked(vector: Sequence[float]) -> list[tuple[int, float]]:
    return sorted(enumerate(vector), key=itemgetter(1), reverse=True)
