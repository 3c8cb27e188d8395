"""The TauSS3 classifier: learning, reading, explaining, inspecting and saving."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from watchword import _native
from watchword._checks import (
    FloatArray,
    Label,
    are_several,
    as_choice,
    as_label,
    as_label_sets,
    as_labelled_texts,
    as_labels,
    as_list,
    as_not_negative,
    as_text,
    as_texts,
    as_threads,
    as_whole,
    reprs,
)
from watchword._files import READ_LIMIT, atomic_file, read_regular
from watchword.data import Post, Subject
from watchword.errors import ModelFormatError
from watchword.model.engine import Engine
from watchword.model.explanation import (
    Explanation,
    Highlight,
    HighlightLevel,
    HighlightOrder,
    highlights_of,
)
from watchword.model.file import codec, container, layout
from watchword.model.overview import Overview, model_html_of, overview_of
from watchword.model.parameters import (
    PAPER,
    PYSS3,
    TABLE,
    Parameters,
    ParameterTypes,
    Summary,
    check_names,
    takes_parameters,
)
from watchword.model.refining import (
    COST,
    ONLINE_COST,
    PASSES,
    Refinement,
    RefineSettings,
    refine,
    refinement_of,
)
from watchword.model.results import (
    ConfidenceTable,
    ModelStatistics,
    NextWord,
    Pruned,
    RankedNgram,
    Value,
)
from watchword.model.text import TextSource, Tokenizer, WordHook

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from watchword._checks import Progress, Targets
    from watchword.explain.change import Change
    from watchword.explain.story import Story
    from watchword.searching.result import Measure
    from watchword.searching.space import Space
    from watchword.streams.policies import Policy
    from watchword.streams.readers import Reader, Watcher

# Arguments that change the counts.
_SHAPING = (*(one.name for one in TABLE if one.shapes_counts), "word_hook", "tokenizer")


_CLASSIFIER = "watchword.sklearn.TauSS3Classifier has scikit-learn's interface"
_PYSS3 = "watchword.pyss3.SS3 has PySS3's interface"
# What to use instead of names of scikit-learn, river and PySS3.
_OTHER_NAMES = {
    "fit": f"use learn_many(texts, labels), which continues; {_CLASSIFIER}",
    "partial_fit": f"use learn_many(texts, labels); {_CLASSIFIER}",
    "predict": f"use predict_many(texts) or predict_one(text); {_CLASSIFIER}",
    "predict_proba": f"use probability_many(texts) or probability_one(text); {_CLASSIFIER}",
    "predict_log_proba": f"use probability_many(texts) or probability_one(text); {_CLASSIFIER}",
    "decision_function": f"use confidence_many(texts) or confidence_one(text); {_CLASSIFIER}",
    "score": f"use watchword.evaluate(model, texts, labels); {_CLASSIFIER}",
    **dict.fromkeys(
        ("transform", "fit_transform", "get_feature_names_out"),
        "use watchword.sklearn.SS3Vectorizer",
    ),
    "classes_": f"use labels; {_CLASSIFIER}",
    "get_params": f"use parameters; {_CLASSIFIER}",
    "set_params": f"use replace(name=value), which returns a model; {_CLASSIFIER}",
    "predict_proba_one": "use probability_one(text)",
    "predict_proba_many": "use probability_many(texts)",
    "learn": f"use learn_one(text, label); {_PYSS3}",
    "train": f"use learn_many(texts, labels); {_PYSS3}",
    "classify": f"use confidence_one(text) or predict_one(text); {_PYSS3}",
    "get_categories": f"use labels; {_PYSS3}",
    **dict.fromkeys(("save_model", "dump"), "use save(path)"),
    "load_model": "use TauSS3.load(path)",
}


@takes_parameters(word_hook=("WordHook | None", None), tokenizer=("Tokenizer | None", None))
class TauSS3:
    """The τ-SS3 text classifier: incremental learning of word n-grams, with explanations.

    Parameters
    ----------
    {parameters}
    word_hook
        a function of each distinct word (for stemming or a stop list) that returns the word to
        learn, or None to skip it. Results are cached.
    tokenizer
        a function from a text to an iterable of (start, end, word), in order, with None as word
        for a break.

    The defaults were chosen on several corpora and streams; `TauSS3.paper()` has the paper's.

    Several threads may read a model at once; learning excludes them.

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
        word_hook: WordHook | None = None,
        tokenizer: Tokenizer | None = None,
        **parameters: Unpack[ParameterTypes],
    ) -> None:
        check_names("TauSS3()", parameters)
        settled = Parameters(**parameters)
        source = TextSource(
            settled.paragraphs, settled.tokenization, word_hook=word_hook, tokenizer=tokenizer
        )
        self._engine = Engine.empty(settled, source)

    if not TYPE_CHECKING:  # type checkers know the attributes

        def __getattr__(self, name: str) -> NoReturn:
            """Raise an error that says what to use instead of a name of another library."""
            hint = f": {_OTHER_NAMES[name]}" if name in _OTHER_NAMES else ""
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{hint}",
                name=name,
                obj=self,
            )

    @classmethod
    def paper(cls, **overrides: Any) -> TauSS3:
        """Return a model with the parameters of the τ-SS3 paper: σ .455, λ 1, ρ 1, 3-grams, sums.

        The model does not prune. For its experiments, the paper also dropped n-grams with a count
        of at most ten every million words: `TauSS3.paper(prune_period=1_000_000)`, the default of
        `watchword.erisk.run_task`. Such a model learns in one thread only, and cannot merge or
        unlearn.

        >>> TauSS3.paper().parameters["smoothness"]
        0.455
        """
        return cls(**(PAPER | overrides))

    @classmethod
    def pyss3(cls, **overrides: Any) -> TauSS3:
        """Return a model with the parameters of PySS3, the authors' later package.

        It reads text as PySS3 does and gives the same values. `learn_joined` learns like PySS3's
        `fit`, `learn_one` and `learn_many` like its `learn`. PySS3 learns single words by default;
        for n-grams, use `TauSS3.pyss3(max_ngram=3)`. Like PySS3, the model drops n-grams with a
        count of at most ten every million words, so that it learns in one thread;
        `prune_period=None` turns this off.

        >>> TauSS3.pyss3().parameters["confidence_function"]
        'norm_gv_xai'
        """
        return cls(**(PYSS3 | overrides))

    @classmethod
    def tuned(
        cls,
        texts: Iterable[str],
        labels: Targets,
        *,
        budget: float | str | None = None,
        trials: int | None = None,
        measure: Measure = "accuracy",
        space: Space | None = None,
        folds: int = 4,
        groups: Sequence[Hashable] | None = None,
        seed: int = 0,
        keep: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        **parameters: Any,
    ) -> TauSS3:
        """Search for the best parameters on these texts and return a taught model.

        This is a random `search`, whose docstring has the arguments. It ends after `trials`
        settings, with `budget`, or with whichever comes first; by default after 30 seconds. The
        parameters of `TauSS3(**parameters)` are tried first, so the result is never worse by
        cross-validation.

        The model is refined if that is better by cross-validation: see its `refinement`. Trying
        this, and learning all texts, takes additional time.

        >>> texts = ["machine learning", "deep learning", "what a match", "the match"] * 5
        >>> labels = ["tech", "tech", "sports", "sports"] * 5
        >>> model = TauSS3.tuned(texts, labels, budget="1s")
        >>> model.predict_one("They saw the match.")
        'sports'
        """
        from watchword.searching.searcher import search_best

        documents, truth = as_texts(texts), as_list(labels, "labels")
        found = search_best(
            documents,
            truth,
            space,
            budget=budget,
            trials=trials,
            model=cls(**parameters),
            measure=measure,
            folds=folds,
            groups=groups,
            seed=seed,
            keep=keep,
            threads=threads,
            progress=progress,
        )
        return found.model(documents, truth, threads=threads)

    @classmethod
    def _of(cls, engine: Engine) -> TauSS3:
        model = cls.__new__(cls)
        model._engine = engine
        return model

    def __repr__(self) -> str:
        labels = self.labels
        shown = reprs(labels, most=5)
        if not labels:
            return "<TauSS3, empty>"
        refinement = self.refinement
        state = "" if refinement is None else "; refined"
        if refinement is not None and refinement.is_stale:
            state += ", stale"
        return f"<TauSS3 of {len(labels)} labels: {shown}{state}>"

    def _repr_html_(self) -> str | None:
        return model_html_of(self._engine, repr(self))

    # Properties

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels, sorted; also the order of columns."""
        return self._engine.labels

    @property
    def default_label(self) -> Label:
        """The label predicted without evidence: the argument, or the label with the most words."""
        return self._engine.default_label()

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor arguments of this model."""
        settled, source = self._engine.parameters, self._engine.source
        own = settled.as_dict()
        operators = list(settled.operators.values())
        alike = all(operator == operators[0] for operator in operators)
        own["summary"] = operators[0] if alike else dict(settled.operators)
        return own | {"word_hook": source.word_hook, "tokenizer": source.tokenizer}

    @property
    def statistics(self) -> ModelStatistics:
        """The numbers of documents, words and n-grams learnt, and of n-grams pruned."""
        return self._engine.statistics()

    # Learning

    def learn_one(
        self, text: str, label: Label | Collection[Label], *, correct: bool = False
    ) -> None:
        """Learn one document; the cost does not depend on the size of the model.

        With a collection of labels, the document counts as one of each label. With `correct`, the
        model also corrects itself for this document, in one step; see `refine`.
        """
        self.learn_many([as_text(text)], [label], threads=1, correct=correct)

    def learn_many(
        self,
        texts: Iterable[str],
        labels: Iterable[Label | Collection[Label]],
        *,
        threads: int | None = None,
        correct: bool = False,
    ) -> None:
        """Learn documents; equivalent to `learn_one` for each, for any number of threads.

        `labels` has one label per document, or one collection of labels per document, which then
        counts as a document of each of them.

        Corrections of a refined model are kept, but not fitted to the documents
        (`refinement.learnt` counts them); with `correct`, counting and correcting are one step for
        each, so that the order matters and one thread does all.

        A document without words still counts as a document of its label. `threads` defaults to all
        cores, except with periodic pruning, which depends on the order of documents. A word hook or
        a tokenizer is a Python function and runs in one thread.

        >>> model = TauSS3()
        >>> model.learn_many(["a fast goal", "a fast chip"], [["sports"], ["sports", "tech"]])
        >>> model.statistics.documents
        {'sports': 2, 'tech': 1}
        """
        documents, truth = as_labelled_texts(texts, labels)
        if correct:
            settings = RefineSettings(cost=ONLINE_COST)
            self._engine.learn_corrected(documents, as_label_sets(truth), settings)
        elif are_several(truth):
            own = [sorted(labels, key=str) for labels in as_label_sets(truth)]
            repeated = [text for text, few in zip(documents, own, strict=True) for _ in few]
            self._engine.learn(repeated, list(chain.from_iterable(own)), threads)
        else:
            self._engine.learn(documents, as_labels(truth), threads)

    def learn_joined(
        self, texts: Iterable[str], labels: Iterable[Label], *, threads: int | None = None
    ) -> None:
        """Learn documents as PySS3's `fit` does, for a model with `tokenization="pyss3"`.

        The documents of each label are joined, each on its own line, so that n-grams and numbers
        continue from one document into the next. Labels are learnt in their order, and afterwards
        n-grams are pruned by `prune_floor` and `prune_shortest`.

        >>> model = TauSS3.pyss3(max_ngram=2, prune_floor=1)
        >>> model.learn_joined(["good", "morning", "good", "morning"], ["greeting"] * 4)
        >>> model.counts()
        {'good': {'greeting': 2}, 'good morning': {'greeting': 2}, 'morning': {'greeting': 2}}
        """
        documents, known = as_labelled_texts(texts, labels)
        self._engine.learn_joined(documents, as_labels(known), threads)

    def unlearn_one(self, text: str, label: Label, *, check: bool = True) -> None:
        """Remove a learnt document; the counts equal those of a model that never learnt it.

        A document that was learnt under several labels is removed label by label.

        Corrections of a refined model stay as they are (`refinement.unlearnt` counts the document),
        except where an n-gram is no longer counted.

        Raises `UnlearnError`, without changes, if the counts show that the document was not learnt:
        the count of one of its n-grams is too low, or would become lower than that of an n-gram
        containing it. Counts cannot reveal every mistake; remove only documents you have learnt.

        Removing a document that this model object has learnt takes time in proportion to the text.
        For others, of a loaded or merged model, the check passes over the model; after eight of
        them the model keeps an index of 4 to 16 bytes per n-gram, with which later checks take time
        in proportion to the text. With `check=False` you promise that the document was learnt, and
        the time depends on the text alone: the counts of its own n-grams are still checked, but not
        those of n-grams containing them. If the promise is broken, values are undefined, and saving
        raises `UnlearnError` if the counts have become impossible.

        >>> model = TauSS3()
        >>> model.learn_one("good morning", "greeting")
        >>> model.learn_one("good night", "farewell")
        >>> model.unlearn_one("good night", "farewell")
        >>> model.labels
        ('greeting',)
        """
        self._engine.unlearn(as_text(text), as_label(label), check=check)

    def refine(
        self,
        texts: Iterable[str],
        labels: Targets,
        *,
        passes: int = PASSES,
        cost: float = COST,
        balanced: bool = False,
        seed: int = 0,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Fit corrections of the counted values to texts, so that fewer are misclassified.

        Use the texts that the model has learnt, each with its label or a collection of labels. The
        counts stay as they are. Afterwards `confidence_*` returns signed scores: the sum of counted
        values and corrections over all n-grams of a text, plus a bias per label; `probability_*`
        is calibrated. `drop_refinement` undoes it, and so does `replace` of a parameter that
        changes values. For streams, whose posts have the label of their author, use `cost=0.1` and
        `balanced=True`.

        >>> texts = ["a lovely day", "a lovely garden", "a bad day", "a bad night"]
        >>> model = TauSS3()
        >>> model.learn_many(texts, ["calm", "calm", "upset", "upset"])
        >>> model.refine(texts, ["calm", "calm", "upset", "upset"])
        >>> model.predict_one("a bad garden, a bad day"), model.refinement.texts
        ('upset', 4)
        """
        documents, truth = as_labelled_texts(texts, labels)
        settings = RefineSettings(passes=passes, cost=cost, balanced=balanced, seed=seed)
        sets = as_label_sets(truth)
        refine(self._engine, documents, sets, settings, threads=threads, progress=progress)

    def drop_refinement(self) -> None:
        """Remove all corrections."""
        self._engine.refuse_if_mapped("dropping corrections")
        self._engine.native.drop_corrections()

    @property
    def refinement(self) -> Refinement | None:
        """How corrections were fitted and how stale they are; None if not refined."""
        return refinement_of(self._engine)

    def merge(self, other: TauSS3, *, refinement: Literal["average", "drop"] = "drop") -> None:
        """Add the counts of another model, as if this model had learnt its documents.

        Corrections of refined models are dropped; with `refinement="average"` they are averaged if
        both models have some.
        """
        average = as_choice("refinement", refinement, ("average", "drop")) == "average"
        if not isinstance(other, TauSS3):
            raise TypeError(f"can only merge another TauSS3, got {type(other).__name__}")
        self._engine.merge(other._engine, average=average)

    def prune(self, floor: int = 10, shortest: int = 1) -> Pruned:
        """Drop, per label, n-grams of at least `shortest` words with a count of at most `floor`.

        A pruned model cannot merge or unlearn, because the result would not be exact. If anything
        is dropped, so are the corrections of a refined model (`refinement_dropped` of the result):
        fitted to n-grams that are gone, they would be too certain. Refine it again with its texts.

        >>> model = TauSS3(max_ngram=1)
        >>> model.learn_many(["a b", "a b", "c"], ["x", "x", "y"])
        >>> model.prune(1)
        Pruned(ngrams=1, counts=1, refinement_dropped=False)
        """
        least = as_whole("floor", floor, 0)
        length = as_whole("shortest", shortest, 1, _native.max_ngram_limit)
        self._engine.refuse_if_mapped("pruning")
        return Pruned(*self._engine.native.prune(least, length))

    # Reading

    def confidence_one(self, text: str) -> dict[Label, float]:
        """Return the confidence of each label."""
        return self._engine.confidence_one(as_text(text))

    def confidence_many(self, texts: Iterable[str], *, threads: int | None = None) -> FloatArray:
        """Return the confidences of texts: one row per text, columns in the order of `labels`."""
        return self.confidence_table(texts, threads=threads).values

    def confidence_table(
        self, texts: Iterable[str], *, threads: int | None = None
    ) -> ConfidenceTable:
        """Return the confidences of texts with the labels of the columns.

        Labels and values are consistent even if another thread teaches the model new labels.
        """
        return self._engine.confidence(as_texts(texts), as_threads(threads))

    def probability_one(self, text: str) -> dict[Label, float]:
        """Return the probability of each label.

        Calibrated for a refined model; otherwise the shares of the labels in the confidences.
        Without evidence, the default label has 1.
        """
        return self._engine.probability_one(as_text(text))

    def probability_many(self, texts: Iterable[str], *, threads: int | None = None) -> FloatArray:
        """Return the probabilities of texts: one row per text, columns in the order of `labels`."""
        return self._engine.probability(as_texts(texts), as_threads(threads)).values

    def predict_one(self, text: str) -> Label:
        """Return the label of highest confidence, or the default label without evidence."""
        return self._engine.predict_one(as_text(text))

    def predict_many(self, texts: Iterable[str], *, threads: int | None = None) -> list[Label]:
        """Return the label of each text."""
        return self.decide(self.confidence_table(texts, threads=threads))

    def predict_labels_one(self, text: str) -> tuple[Label, ...]:
        """Return all labels in the upper of two clusters of confidences (2-means).

        Of a refined model, all labels with a positive score.
        """
        return self.predict_labels_many([as_text(text)], threads=1)[0]

    def predict_labels_many(
        self, texts: Iterable[str], *, threads: int | None = None
    ) -> list[tuple[Label, ...]]:
        """Return several labels for each text; none if all confidences are equal."""
        return self.decide_several(self.confidence_table(texts, threads=threads))

    def decide(self, table: ConfidenceTable) -> list[Label]:
        """Return the labels of `predict_many` from precomputed confidences."""
        return self._engine.decide(*table)

    def decide_several(self, table: ConfidenceTable) -> list[tuple[Label, ...]]:
        """Return the labels of `predict_labels_many` from precomputed confidences."""
        return self._engine.decide_several(*table)

    def explain(self, text: str) -> Explanation:
        """Return the n-grams of a text and the value of each of its parts.

        A text of more than 1,000,000 characters raises `TextTooLongError`: explain its parts.

        >>> model = TauSS3()
        >>> model.learn_many(["machine learning"] * 2, ["tech", "tech"])
        >>> model.learn_one("the match", "sports")
        >>> [paragraph] = model.explain("The match. Machine learning!").blocks
        >>> [ngram.ngram for sentence in paragraph.blocks for ngram in sentence.blocks]
        ['the', 'match', 'machine', 'learning']
        """
        return self._engine.explain(as_text(text))

    def highlights(
        self,
        text: str,
        label: Label | None = None,
        *,
        level: HighlightLevel = "ngram",
        context: int = 3,
        least: float = 0.0,
        order: HighlightOrder = "value",
    ) -> list[Highlight]:
        """Return the passages of a text that support a label, by default the predicted one.

        A passage is an n-gram that contributes more than `least` to the label's value, with
        `context` n-grams or words before and after it; overlapping passages are joined. With
        another `level`, passages are whole sentences or paragraphs. The strongest come first, or
        with `order="text"`, in the order of the text.

        >>> model = TauSS3()
        >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
        >>> text = "A lovely day. In the evening, though, I cannot sleep again. It is what it is."
        >>> [found.text for found in model.highlights(text, "at risk", context=2)]
        ['though, I cannot sleep again. It']
        """
        known = None if label is None else self._engine.known_label(label)
        return highlights_of(
            self.explain(text), known, level=level, context=context, least=least, order=order
        )

    def what_would_change(self, text: str) -> Change:
        """Return the fewest n-gram occurrences without which the text would get another label.

        Their contributions are set to zero; the text is not read again without them.

        >>> model = TauSS3()
        >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
        >>> change = model.what_would_change("A match of machine learning machines")
        >>> change.before, change.after, [one.ngram for one in change.occurrences]
        ('sports', 'tech', ['a'])
        >>> print(change)
        Without 1 of the 4 n-grams the label would be tech instead of sports. No fewer would do.
        """
        from watchword.explain.change import change_of_label

        return change_of_label(self._engine, as_text(text))

    # Streams

    @property
    def fingerprint(self) -> str:
        """A hash of 32 hexadecimal digits, equal for equal models; costs a save after a change."""
        return codec.fingerprint_of(self._engine)

    def reader(
        self,
        policy: Policy,
        *,
        state: bytes | str | None = None,
        allow_changed_model: bool = False,
    ) -> Reader:
        """Return a reader for the posts of one subject, new or resumed from a `Reader`'s state.

        The state of another model is rejected unless `allow_changed_model` is true: sums are then
        kept by label, and further posts are read with this model.
        """
        from watchword.streams.readers import Reader

        return Reader(self._engine, policy, state=state, allow_changed_model=allow_changed_model)

    def watcher(
        self,
        policy: Policy,
        *,
        state: bytes | memoryview | None = None,
        allow_changed_model: bool = False,
    ) -> Watcher:
        """Return a watcher for the posts of many subjects, new or resumed from a state."""
        from watchword.streams.readers import Watcher

        return Watcher(self._engine, policy, state=state, allow_changed_model=allow_changed_model)

    def story(self, posts: Subject | Iterable[str | Post], policy: Policy) -> Story:
        """Return the story of one subject: its posts, the decision and the reasons.

        The sums and the decision are those of a `Reader`.

        >>> from watchword import Overtakes
        >>> model = TauSS3()
        >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
        >>> story = model.story(["A lovely day", "I cannot sleep", "Bye"], Overtakes("at risk"))
        >>> story.decision.delay, story.tipped.ngrams_for[0].ngram
        (2, 'cannot')
        """
        from watchword.explain.story import tell

        return tell(self._engine, posts, policy)

    # Inspecting

    def value(self, ngram: str | Sequence[str]) -> dict[Label, Value]:
        """Return the count and the values of an n-gram, per label.

        A string is tokenised as text; a sequence of words is used unchanged.

        >>> model = TauSS3()
        >>> model.learn_one("machine learning", "tech")
        >>> model.value("Machine Learning")["tech"]
        Value(count=1, lv=1.0, sg=1.0, sn=1.0, gv=1.0, cv=1.0)
        """
        self._engine.refuse_if_empty()
        table = self._engine.native.value(self._engine.words_of(ngram))
        columns = [table[name][0].tolist() for name in Value._fields]
        values = [Value(*column) for column in zip(*columns, strict=True)]
        return dict(zip(table["labels"], values, strict=True))

    def top_ngrams(self, label: Label, n: int = 20, length: int | None = None) -> list[RankedNgram]:
        """Return the n-grams of highest value for a label (of one length, if given).

        Ties are sorted by spelling.
        """
        known = self._engine.known_label(label)
        most = as_whole("n", n, 0)
        if length is not None:
            length = as_whole("length", length, 1, self._engine.parameters.max_ngram)
        ranked = self._engine.native.top_ngrams(known, most, length)
        return [RankedNgram(*entry) for entry in ranked]

    def next_words(self, ngram: str | Sequence[str], label: Label | None = None) -> list[NextWord]:
        """Return the words seen after an n-gram (under one label, if given), by frequency."""
        engine = self._engine
        engine.refuse_if_empty()
        known = None if label is None else engine.known_label(label)
        following = engine.native.next_words(engine.words_of(ngram), known)
        total = sum(count for _, count in following)
        return [NextWord(word, count, count / total) for word, count in following]

    def overview(self, n: int = 20) -> Overview:
        """Return an overview: totals, the n best n-grams of each label, and all values.

        Costs one pass over the model. A notebook displays the result as charts, and
        `to_page()` returns it as a page.
        """
        return overview_of(self._engine, n)

    def stop_words(self, threshold: float = 0.01) -> list[str]:
        """Return the words with a significance (sg) below the threshold in every label.

        Most frequent first. They stay in the model, which needs their counts.
        """
        self._engine.refuse_if_empty()
        return self._engine.native.stop_words(as_not_negative("threshold", threshold))

    def counts(self) -> dict[str, dict[Label, int]]:
        """Return every n-gram with its count per label, sorted by spelling.

        >>> model = TauSS3(max_ngram=2)
        >>> model.learn_many(["so so", "so"], ["greeting", "greeting"])
        >>> model.counts()
        {'so': {'greeting': 2}, 'so so': {'greeting': 1}}
        """
        return layout.counts_by_ngram(self._engine.snapshot())

    # Copying and saving

    def replace(self, **parameters: Any) -> TauSS3:
        """Return a model with the same counts and other parameters, without learning again.

        Counts are shared until one of the two models learns. Parameters that change the counts
        cannot be replaced: `counting`, `paragraphs`, `tokenization`, `word_hook` and `tokenizer`;
        `max_ngram` can only be lowered.
        """
        own = self.parameters
        for name, value in parameters.items():
            if name not in own:
                raise TypeError(f"TauSS3.replace() got an unexpected keyword argument {name!r}")
            if name in _SHAPING and value != own[name]:
                raise ValueError(f"{name} cannot be replaced, because it changes the counts")
        kept = {name: value for name, value in parameters.items() if name not in _SHAPING}
        return self._of(self._engine.replaced(replace(self._engine.parameters, **kept)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, atomically; replace the file if it exists.

        Equal models give equal files.
        """
        manifest, arrays = codec.parts_of(self._engine)
        with atomic_file(path) as file:
            container.write_model(file, manifest, arrays)

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` writes."""
        return codec.bytes_of(self._engine)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        mapped: bool = False,
        most_bytes: int = READ_LIMIT,
        word_hook: WordHook | None = None,
        tokenizer: Tokenizer | None = None,
        summary: Summary | None = None,
    ) -> TauSS3:
        """Load a model from a file.

        The file does not store functions: if the model uses a hook or a summary function, pass it
        again before reading or learning.

        With `mapped`, the counts stay in the file, which is mapped into memory: opening takes no
        time at any size, and all processes share one copy. Such a model gives the same results,
        somewhat slower, but cannot learn. Checksums are not verified, so a corrupt part raises
        `ModelFormatError` only when it is read; methods that use all counts (`save`, pickle,
        `counts`) verify them first. Replace a mapped file atomically, as `save` does; never write
        into it.

        Only a regular file is read. Without `mapped`, one of more than `most_bytes` [default: 16
        GiB] raises `ModelFormatError`, before it fills the memory.
        """
        functions = codec.Functions(word_hook, tokenizer, summary)
        if mapped:
            return cls._of(codec.engine_over(path, functions))
        data = read_regular(
            path, ModelFormatError, most_bytes=most_bytes, signature=container.SIGNATURE
        )
        return cls._of(codec.engine_from(data, functions, source=str(path)))

    @classmethod
    def from_bytes(
        cls,
        data: bytes | memoryview,
        *,
        word_hook: WordHook | None = None,
        tokenizer: Tokenizer | None = None,
        summary: Summary | None = None,
        source: str = "the data",
    ) -> TauSS3:
        """Return the model encoded by `to_bytes`; `source` names the data in error messages."""
        functions = codec.Functions(word_hook, tokenizer, summary)
        return cls._of(codec.engine_from(data, functions, source=source))

    def __reduce__(self) -> tuple[Any, ...]:
        parameters, source = self._engine.parameters, self._engine.source
        own = dict(parameters.operators) if parameters.has_own_operators else None
        return _unpickle, (self.to_bytes(), source.word_hook, source.tokenizer, own, type(self))

    def __copy__(self) -> TauSS3:
        return self.replace()

    def __deepcopy__(self, memo: dict[int, Any]) -> TauSS3:
        return self.replace()


def _unpickle(
    data: bytes,
    word_hook: WordHook | None,
    tokenizer: Tokenizer | None,
    summary: Summary | None,
    kind: type[TauSS3] = TauSS3,
) -> TauSS3:
    return kind.from_bytes(data, word_hook=word_hook, tokenizer=tokenizer, summary=summary)
