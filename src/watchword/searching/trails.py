"""Trails: the held-out texts of a fold, read once and evaluated with many parameters.

For each fold, a model learns the other texts, and the held-out texts are followed through its tree;
only their paths are kept. Evaluating a setting of the parameters then takes milliseconds, with
results bit for bit equal to learning and reading again. A refined model cannot share paths: it is
fitted again for each fold and setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from watchword._arrays import IntArray
from watchword._checks import Label
from watchword.errors import EmptyModelError
from watchword.model.engine import Engine, decide_several, winners
from watchword.model.parameters import TABLE, Parameters
from watchword.model.refining import RefineSettings, refine_terms
from watchword.model.results import ConfidenceTable
from watchword.model.text import TermsOfTexts, TextSource
from watchword.searching.space import PRUNE, Setting

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
