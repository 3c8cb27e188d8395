"""What each n-gram occurrence of a text adds to its value: an explanation as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from watchword.errors import HookError
from watchword.model.engine import Engine
from watchword.model.explanation import Block
from watchword.model.parameters import LEVELS
from watchword.streams.steps import BoolArray, FloatArray, IntArray

_ADDING = ("sum", "mean")  # with these, what is zeroed is simply missing from the value


class Place(NamedTuple):
    """An n-gram of a text: text[start:end], and its words as the model knows them."""

    start: int
    end: int
    ngram: str


@dataclass(frozen=True)
class Weights:
    """The n-gram occurrences of a text in order, with one number per label each."""

    places: tuple[Place, ...]
    values: FloatArray  #: what each is worth where it stands
    contributions: FloatArray  #: what of that reaches the document's value
    operators: tuple[str, ...]  #: how sentences, paragraphs and the document are summarised
    sentences: IntArray  #: the sentence of each occurrence
    paragraphs: IntArray  #: the paragraph of each sentence
    paragraph_count: int

    @property
    def adds_up(self) -> bool:
        """Whether zeroing an occurrence takes just its contribution off the value."""
        return all(operator in _ADDING for operator in self.operators)

    def without(self, zeroed: BoolArray) -> FloatArray:
        """The text's vector with some occurrences zeroed, added up in the core's order."""
        values = np.where(zeroed[:, None], 0.0, self.values)
        owners = (self.sentences, self.paragraphs, np.zeros(self.paragraph_count, np.int64))
        counts = (len(self.paragraphs), self.paragraph_count, 1)
        for operator, owner, count in zip(self.operators, owners, counts, strict=True):
            values = _summarised(values, owner, count, operator)
        return np.asarray(values[0])


def weigh(engine: Engine, text: str) -> Weights:
    """Read a text; `HookError` where a function of the user's summarises: it has no shares."""
    engine.refuse_if_empty()
    engine.refuse_if_incomplete()
    if engine.parameters.has_own_operators:
        raise HookError("a value that a summary function gave is not made of n-grams' shares")
    explained = engine.native.explain(engine.source.read([text], with_spans=True))
    ngrams, confidences = explained["ngrams"], explained["values"]["cv"]
    kept = np.where(confidences > engine.parameters.alpha, confidences, 0.0)
    values = kept[np.array([ngram[4] for ngram in ngrams], np.intp)]
    operators = tuple(engine.parameters.operator_names[level] for level in LEVELS)
    contributions = values
    if any(operator != "sum" for operator in operators):
        # An explanation knows the shares in means and maxima, and says so a little more slowly.
        shares = [shared.contribution for shared in _ngrams(engine.explain(text).blocks)]
        contributions = np.array(shares, np.float64).reshape(values.shape)
    return Weights(
        places=tuple(Place(start, end, words) for start, end, _, words, _ in ngrams),
        values=values,
        contributions=contributions,
        operators=operators,
        sentences=np.array([ngram[2] for ngram in ngrams], np.int64),
        paragraphs=np.array([sentence[2] for sentence in explained["sentences"]], np.int64),
        paragraph_count=len(explained["paragraphs"]),
    )


def _ngrams(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        if block.kind == "ngram":
            yield block
        else:
            yield from _ngrams(block.blocks)


def _summarised(parts: FloatArray, owners: IntArray, count: int, operator: str) -> FloatArray:
    wholes = np.zeros((count, parts.shape[1]))
    if operator == "max":
        np.maximum.at(wholes, owners, parts)
        return wholes
    np.add.at(wholes, owners, parts)  # one after the other, as the core adds
    if operator == "mean":
        wholes /= np.maximum(np.bincount(owners, minlength=count), 1)[:, None]
    return wholes
