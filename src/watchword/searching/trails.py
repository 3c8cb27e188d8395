"""The texts of a fold, read once and valued with many parameters.

For each fold the other texts are learnt, the held-out ones are followed through the tree, and only
where they lead is kept. What a setting of the parameters makes of it is then a matter of
milliseconds, and the same to the last bit as teaching and reading anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from watchword._checks import Label
from watchword.errors import EmptyModelError
from watchword.model.engine import Engine, decide_several, winners
from watchword.model.native import TermBatch
from watchword.model.native import Trails as NativeTrails
from watchword.model.parameters import Parameters
from watchword.model.results import ConfidenceTable
from watchword.model.text import TextSource
from watchword.searching.space import PRUNE, Setting

Places = npt.NDArray[np.int64]

# What decides which n-grams are counted, and how often: with others, texts are learnt anew.
SHAPING = ("counting", "paragraphs", "prune_period", "prune_floor", "prune_shortest", PRUNE)

_NORMALISED = ("norm_gv", "norm_gv_xai")


@dataclass(frozen=True)
class Trails:
    """Held-out texts, followed through what was learnt from others."""

    native: NativeTrails
    most_words: Label  # what is predicted where nothing is known, unless told otherwise

    def confidence(self, parameters: Parameters) -> ConfidenceTable:
        """The confidences that a model with these parameters would have."""
        labels, values = self.native.confidence(parameters.for_native())
        return ConfidenceTable(tuple(labels), values)

    def predict_places(self, parameters: Parameters, place: Mapping[Label, int]) -> Places:
        """The label of each text, as its place in some order."""
        labels, values = self.confidence(parameters)
        best, silent = winners(values)
        places = np.array([place[label] for label in labels], np.int64)[best]
        if silent.any():
            places[silent] = place[self.default(parameters)]
        return places

    def predict_several(self, parameters: Parameters) -> list[tuple[Label, ...]]:
        """The labels of each text, where it may have several."""
        return decide_several(*self.confidence(parameters))

    def default(self, parameters: Parameters) -> Label:
        """What is predicted where nothing is known."""
        given = parameters.default_label
        return self.most_words if given is None else given


def follow(
    source: TextSource,
    terms: TermBatch,
    labels: Sequence[Sequence[Label]],
    held_out: Places,
    learnt: Places,
    settings: Iterable[Setting],
    base: dict[str, Any],
) -> Trails:
    """Learn some of the texts, each under all of its labels, and follow others.

    All settings must agree in what shapes the counts; the longest n-grams of any are learnt.
    """
    tried = [base | setting for setting in settings]
    prune = tried[0].get(PRUNE, 0)
    shared = {name: value for name, value in tried[0].items() if name != PRUNE}
    shared["max_ngram"] = max(setting["max_ngram"] for setting in tried)
    parameters = Parameters(**shared)
    engine = Engine.empty(parameters, source)
    native = engine.native
    pairs = [(at, label) for at in learnt.tolist() for label in labels[at]]
    native.learn_terms(terms.part([at for at, _ in pairs]), [label for _, label in pairs])
    if native.is_empty():
        raise EmptyModelError(
            "for some fold no text with a label is left to learn: take fewer folds"
        )
    if prune:
        native.prune(prune, parameters.prune_shortest)
    functions = {setting["confidence_function"] for setting in tried}
    trails = native.trails(
        terms.part(held_out.tolist()),
        not functions.isdisjoint(_NORMALISED),
        "norm_gv_xai" in functions,
    )
    return Trails(trails, engine.label_with_most_words())
