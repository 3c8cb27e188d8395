"""Overviews of a model and of single n-grams, as plain data.

The core computes all counts and values; `watchword.explain.overview_view` and
`watchword.explain.pictures` draw charts from `to_dict()` alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchword._checks import Label, as_whole
from watchword._display import ToDict, many, view, visible
from watchword.model.engine import Engine, engine_of
from watchword.model.parameters import TABLE, Parameters
from watchword.model.refining import Refinement, refinement_of
from watchword.model.results import NextWord, RankedNgram, Value

if TYPE_CHECKING:
    from watchword.model.tau_ss3 import TauSS3


_IN_NOTEBOOK, _LABELS_DRAWN = 8, 3  # n-grams of each label, and labels, drawn in a notebook
_MOST_DRAWN = 5_000_000  # n-grams of a model


@dataclass(frozen=True)
class LengthOverview(ToDict):
    """The n-grams of one length under one label.

    `distribution[i]` counts the n-grams with a value above i · `bin_width` and up to
    (i + 1) · `bin_width`, `worthless` those with the value 0.
    """

    length: int
    ngrams: int
    worthless: int
    top: tuple[RankedNgram, ...]
    distribution: tuple[int, ...]


@dataclass(frozen=True)
class LabelOverview(ToDict):
    """An overview of one label: totals, and the n-grams of highest value."""

    label: Label
    documents: int
    words: int
    top: tuple[RankedNgram, ...]
    lengths: tuple[LengthOverview, ...]


@dataclass(frozen=True)
class Overview(ToDict):
    """An overview of a model, returned by `TauSS3.overview`. Displayed as charts in a notebook.

    >>> from watchword import TauSS3
    >>> model = TauSS3(max_ngram=2, prior=0)
    >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
    >>> print(model.overview(n=2))
    2 labels; distinct n-grams: 4 of 1 word, 2 of 2 words
    <BLANKLINE>
    sports (1 document, 2 words)
      1.000  1×  a
      1.000  1×  a match
    tech (1 document, 2 words)
      1.000  1×  learning
      1.000  1×  machine
    """

    labels: tuple[LabelOverview, ...]
    ngrams: tuple[int, ...]
    bin_width: float
    parameters: dict[str, Any]
    pruned: bool
    refinement: Refinement | None = None

    def to_html(
        self,
        *,
        title: str = "Model overview",
        labels: Sequence[Label] | None = None,
    ) -> str:
        """Return tables, bars, word clouds and distributions as a snippet of HTML.

        `labels` selects the labels to draw [default: the first 10].
        """
        overview_html: Callable[..., str] = view("overview_html")
        return overview_html(self.to_dict(), title=title, labels=labels, page=False)

    def to_page(
        self,
        *,
        title: str = "Model overview",
        labels: Sequence[Label] | None = None,
    ) -> str:
        """Return the same as a self-contained page [default labels: the first 50]."""
        overview_html: Callable[..., str] = view("overview_html")
        return overview_html(self.to_dict(), title=title, labels=labels, page=True)

    def bars(self, label: Label, *, length: int | None = None) -> str:
        """Return a bar chart of the best n-grams of a label (of one length, if given) as SVG.

        >>> from watchword import TauSS3
        >>> model = TauSS3()
        >>> model.learn_many(["machine learning", "a match"], ["tech", "sports"])
        >>> model.overview().bars("tech").startswith("<svg ")
        True
        """
        bars_svg: Callable[..., str] = view("bars_svg")
        return bars_svg(self.to_dict(), label, length=length, alone=True)

    def cloud(self, label: Label, *, length: int | None = None) -> str:
        """Return a word cloud of the best n-grams of a label (of one length, if given) as SVG."""
        cloud_svg: Callable[..., str] = view("cloud_svg")
        return cloud_svg(self.to_dict(), label, length=length, alone=True)

    def distribution(self, label: Label, length: int) -> str:
        """Return a histogram of the values of a label's n-grams of one length as SVG."""
        distribution_svg: Callable[..., str] = view("distribution_svg")
        return distribution_svg(self.to_dict(), label, length, alone=True)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        lengths = ", ".join(
            f"{number:,} of {many(at, 'word')}" for at, number in enumerate(self.ngrams, 1)
        )
        lines = [f"{many(len(self.labels), 'label')}; distinct n-grams: {lengths}"]
        if self.refinement is not None:
            lines.append(f"{self.refinement}; the values below are the counted ones")
        lines.append("")
        for label in self.labels:
            documents = many(label.documents, "document")
            lines.append(f"{label.label} ({documents}, {many(label.words, 'word')})")
            lines += [f"  {value:.3f}  {count}×  {ngram}" for ngram, value, count in label.top]
        return visible("\n".join(lines))


def overview_of(engine: Engine, n: int) -> Overview:
    """Return an overview of a model, in one pass over it."""
    most = as_whole("n", n, 0)
    engine.refuse_if_empty()
    # A copy, which shares the counts, so that all numbers are from one moment.
    engine = engine.replaced(engine.parameters)
    statistics = engine.statistics()
    survey = engine.native.survey(most)
    labels, longest = survey["labels"], engine.parameters.max_ngram
    lengths = [
        _length_overview(at % longest + 1, survey["best"][at], int(worthless), bins)
        for at, (worthless, bins) in enumerate(
            zip(survey["worthless"].ravel().tolist(), survey["bins"].tolist(), strict=True)
        )
    ]
    rows = []
    for at, label in enumerate(labels):
        own = tuple(lengths[at * longest : (at + 1) * longest])
        listed = (ngram for length in own for ngram in length.top)
        top = heapq.nsmallest(most, listed, key=lambda one: (-one.value, one.ngram))
        documents, words = statistics.documents[label], statistics.words[label]
        rows.append(LabelOverview(label, documents, words, tuple(top), own))
    return Overview(
        labels=tuple(rows),
        ngrams=statistics.ngrams,
        bin_width=survey["width"],
        parameters=_shown(engine.parameters),
        pruned=statistics.pruned,
        refinement=refinement_of(engine),
    )


def model_html_of(engine: Engine, head: str) -> str | None:
    """Return a table of labels and bars of the best n-grams, for a notebook; None if empty.

    There are no bars of a model so large that a pass over it takes seconds.
    """
    bars_svg: Callable[..., str] = view("bars_svg")
    model_html: Callable[..., str] = view("model_html")
    statistics = engine.statistics()
    if not statistics.documents:
        return None
    rows = [(label, many, statistics.words[label]) for label, many in statistics.documents.items()]
    if sum(statistics.ngrams) > _MOST_DRAWN:
        return model_html(head, rows, [])
    plain = overview_of(engine, _IN_NOTEBOOK).to_dict()
    return model_html(head, rows, [bars_svg(plain, label) for label, _, _ in rows[:_LABELS_DRAWN]])


def _shown(parameters: Parameters) -> dict[str, Any]:
    """Return the parameters that decide values, as plain data."""
    shown = {one.name for one in TABLE if one.title is not None or one.shapes_counts}
    return {name: value for name, value in parameters.plain().items() if name in shown}


def _length_overview(
    length: int, best: list[tuple[str, float, int]], worthless: int, bins: list[int]
) -> LengthOverview:
    used = max((at + 1 for at, many in enumerate(bins) if many), default=0)
    top = tuple(RankedNgram(*entry) for entry in best)
    return LengthOverview(length, worthless + sum(bins), worthless, top, tuple(bins[:used]))


@dataclass(frozen=True)
class WordWorth:
    """One word of an n-gram with its own values."""

    word: str
    values: dict[Label, Value]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"word": self.word, "values": _plain_values(self.values)}


@dataclass(frozen=True)
class NgramWorth(ToDict):
    """The values of an n-gram under every label. Displayed as a table in a notebook.

    `known` is true if the n-gram was seen; `words` has the values of its words, if there are
    several, and `following` the words seen after it, most frequent first.
    """

    ngram: str
    known: bool
    values: dict[Label, Value]
    words: tuple[WordWorth, ...]
    following: tuple[NextWord, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: strings, numbers, lists and dictionaries only."""
        return super().to_dict() | {"values": _plain_values(self.values)}

    def to_html(self, *, labels: Sequence[Label] | None = None) -> str:
        """Return a table with bars as a snippet of HTML, for these or all labels."""
        ngram_html: Callable[..., str] = view("ngram_html")
        return ngram_html(self.to_dict(), labels)

    def to_page(self, *, labels: Sequence[Label] | None = None) -> str:
        """Return the same as a self-contained page."""
        ngram_html: Callable[..., str] = view("ngram_html")
        return ngram_html(self.to_dict(), labels, page=True)

    def _repr_html_(self) -> str:
        return self.to_html()


def _plain_values(values: dict[Label, Value]) -> list[dict[str, Any]]:
    """Return a list, because a label may be a number, which cannot be a key in JSON."""
    return [{"label": label} | value._asdict() for label, value in values.items()]


def ngram_worth(
    model: TauSS3, ngram: str | Sequence[str], *, most_following: int = 20
) -> NgramWorth:
    """Return the values of an n-gram and of its words, and the words seen after it.

    >>> from watchword import TauSS3
    >>> model = TauSS3(prior=0)
    >>> model.learn_many(["machine learning is fun", "a match is fun"], ["tech", "sports"])
    >>> worth = ngram_worth(model, "Machine learning")
    >>> worth.values["tech"].cv, [one.word for one in worth.words], worth.following[0].word
    (1.0, ['machine', 'learning'], 'is')
    """
    most = as_whole("most_following", most_following, 0)
    moment = model.replace()
    words = engine_of(moment).words_of(ngram)
    values = moment.value(words)
    parts = tuple(WordWorth(word, moment.value([word])) for word in words) if words[1:] else ()
    return NgramWorth(
        ngram=" ".join(words),
        known=any(value.count for value in values.values()),
        values=values,
        words=parts,
        following=tuple(moment.next_words(words)[:most]),
    )
