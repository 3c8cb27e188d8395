"""Trails: the held-out texts of a fold, read once and evaluated with many parameters.

For each fold, a model learns the other texts, and the held-out texts are followed through its tree;
only their paths are kept. Evaluating a setting of the parameters then takes milliseconds, with
results bit for bit equal to learning and reading again.
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
from watchword.model.native import TermBatch
from watchword.model.native import Trails as NativeTrails
from watchword.model.parameters import Parameters
from watchword.model.results import ConfidenceTable
from watchword.model.text import TextSource
from watchword.searching.space import PRUNE, Setting

# Parameters that change the counts: other values require learning again.
SHAPING = ("counting", "paragraphs", "prune_period", "prune_floor", "prune_shortest", PRUNE)

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
        labels, values = self.confidence(parameters)
        best, silent = winners(values)
        indices = np.array([index_of[label] for label in labels], np.int64)[best]
        if silent.any():
            indices[silent] = index_of[self.default(parameters)]
        return indices

    def predict_several(self, parameters: Parameters) -> list[tuple[Label, ...]]:
        """Return the labels of each text, for texts with several labels."""
        return decide_several(*self.confidence(parameters))

    def default(self, parameters: Parameters) -> Label:
        """Return the label predicted without evidence."""
        given = parameters.default_label
        return self.most_words if given is None else given


def follow(
    source: TextSource,
    terms: TermBatch,
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
    prune = tried[0].get(PRUNE, 0)
    shared = {name: value for name, value in tried[0].items() if name != PRUNE}
    shared["max_ngram"] = max(setting["max_ngram"] for setting in tried)
    parameters = Parameters(**shared)
    engine = Engine.empty(parameters, source)
    native = engine.native
    pairs = [(index, label) for index in learnt.tolist() for label in labels[index]]
    native.learn_terms(terms.part([index for index, _ in pairs]), [label for _, label in pairs])
    if native.is_empty():
        raise EmptyModelError("a fold leaves no text with a label to learn: use fewer folds")
    if prune:
        native.prune(prune, parameters.prune_shortest)
    functions = {setting["confidence_function"] for setting in tried}
    trails = native.trails(
        terms.part(held_out.tolist()),
        not functions.isdisjoint(_NORMALISED),
        "norm_gv_xai" in functions,
    )
    return Trails(trails, engine.label_with_most_words())
