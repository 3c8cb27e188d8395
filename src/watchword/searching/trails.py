"""Trails: the held-out texts of a fold, read once and evaluated with many parameters.

For each fold, a model learns the other texts, and the held-out texts are followed through its tree;
only their paths are kept. Evaluating a setting of the parameters then takes milliseconds, with
results bit for bit equal to learning and reading again. A refined model cannot share paths: it is
fitted again for each fold and setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from watchword._arrays import IntArray
from watchword._checks import Label
from watchword.errors import EmptyModelError
from watchword.model.engine import Engine, decide_several, winners
from watchword.model.native import Trails as NativeTrails
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

_NORMALISED = ("norm_gv", "norm_gv_xai")


@dataclass(frozen=True)
class Trails:
    """Held-out texts, followed through the tree of the learnt texts."""

    native: NativeTrails
    most_words: Label  # prediction without evidence, unless default_label is set

    def confidence(self, parameters: Parameters) -> ConfidenceTable:
        """Return the confidences of a model with these parameters."""
        labels, values = self.native.confidence(parameters.for_native())
        return ConfidenceTable(tuple(labels), values)

    def predict_indices(self, parameters: Parameters, index_of: Mapping[Label, int]) -> IntArray:
        """Return the label of each text as its index by `index_of`."""
        return _indices(self.confidence(parameters), index_of, self.default(parameters))

    def predict_several(self, parameters: Parameters) -> list[tuple[Label, ...]]:
        """Return the labels of each text, for texts with several labels."""
        return decide_several(*self.confidence(parameters))

    def default(self, parameters: Parameters) -> Label:
        """Return the label predicted without evidence."""
        given = parameters.default_label
        return self.most_words if given is None else given


@dataclass(frozen=True)
class RefinedTexts:
    """Held-out texts, read by a model that was refined with the learnt texts."""

    table: ConfidenceTable
    several: list[tuple[Label, ...]]
    most_words: Label

    def predict_indices(self, parameters: Parameters, index_of: Mapping[Label, int]) -> IntArray:
        """Return the label of each text as its index by `index_of`."""
        given = parameters.default_label
        return _indices(self.table, index_of, self.most_words if given is None else given)

    def predict_several(self, _: Parameters) -> list[tuple[Label, ...]]:
        """Return the labels of each text, for texts with several labels."""
        return self.several


def _indices(table: ConfidenceTable, index_of: Mapping[Label, int], default: Label) -> IntArray:
    best, silent = winners(table.values)
    indices = np.array([index_of[label] for label in table.labels], np.int64)[best]
    if silent.any():
        indices[silent] = index_of[default]
    return indices


def follow(
    source: TextSource,
    terms: TermsOfTexts,
    labels: Sequence[Sequence[Label]],
    held_out: IntArray,
    learnt: IntArray,
    settings: Iterable[Setting],
    base: dict[str, Any],
) -> Trails:
    """Learn some of the texts, each under all of its labels, and follow the held-out ones.

    All settings must agree in the parameters of `SHAPING`; the longest n-grams of any are learnt.
    """
    tried = [base | setting for setting in settings]
    longest = max(setting["max_ngram"] for setting in tried)
    engine = _taught(source, terms, labels, learnt, tried[0] | {"max_ngram": longest})
    functions = {setting["confidence_function"] for setting in tried}
    trails = engine.native.trails(
        terms.reading.part(held_out.tolist()),
        not functions.isdisjoint(_NORMALISED),
        "norm_gv_xai" in functions,
    )
    return Trails(trails, engine.label_with_most_words())


def refine(
    source: TextSource,
    terms: TermsOfTexts,
    labels: Sequence[Sequence[Label]],
    held_out: IntArray,
    learnt: IntArray,
    settings: Iterable[Setting],
    base: dict[str, Any],
) -> RefinedTexts:
    """Learn some of the texts, refine the model with them, and read the held-out ones.

    There is one setting only. No held-out text takes part in counting or correcting.
    """
    (setting,) = settings
    engine = _taught(source, terms, labels, learnt, base | setting)
    own = [frozenset(labels[index]) for index in learnt.tolist()]
    refine_terms(engine, terms.reading.part(learnt.tolist()), own, RefineSettings())
    known, values = engine.native.confidence_terms(terms.reading.part(held_out.tolist()))
    table = ConfidenceTable(tuple(known), values)
    return RefinedTexts(table, engine.decide_several(*table), engine.label_with_most_words())


def _taught(
    source: TextSource,
    terms: TermsOfTexts,
    labels: Sequence[Sequence[Label]],
    learnt: IntArray,
    setting: Setting,
) -> Engine:
    """Return a model that has learnt some of the texts, each under all of its labels."""
    parameters = Parameters(**{name: value for name, value in setting.items() if name != PRUNE})
    engine = Engine.empty(parameters, source)
    pairs = [(index, label) for index in learnt.tolist() for label in labels[index]]
    part = terms.learning.part([index for index, _ in pairs])
    engine.native.learn_terms(part, [label for _, label in pairs])
    if engine.native.is_empty():
        raise EmptyModelError("a fold leaves no text with a label to learn: use fewer folds")
    if prune := setting.get(PRUNE, 0):
        engine.native.prune(prune, parameters.prune_shortest)
    return engine
