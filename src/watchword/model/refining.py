"""Refinement: corrections fitted around the counts, and calibrated probabilities.

The core fits and applies corrections (src/core/refine.h holds the equations); this module chooses
the settings, runs the passes and fits to held-out texts what cannot be fitted to learnt ones: the
temperature of probabilities, and the lean towards labels with many texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from watchword import _native
from watchword._checks import (
    FloatArray,
    IntArray,
    Label,
    Progress,
    as_above_zero,
    as_threads,
    as_whole,
    tracked,
)
from watchword._display import ToDict, many
from watchword.errors import UnknownLabelError

if TYPE_CHECKING:
    from watchword.model.engine import Engine

PASSES = 5
COST = 1.0
ONLINE_COST = 0.3
# For posts, which have the label of their author: many say nothing about it.
POST_SETTINGS: dict[str, Any] = {"cost": 0.1, "balanced": True}
_DECAY = 0.5
_STRENGTH = 1.0
_BIAS = 0.05
# Temperature and lean are fitted by cross-validation to at most this many texts.
_FOLDS = 2
_SCORED = 1000
_LEAST_TEXTS = 20  # with fewer, the temperature stays 1 and the lean 0
_STEPS = 40  # of the search for the temperature
_LEAN_STEPS = 8
_ROUGH_STEPS = 14  # of the search for the temperature that suits a lean
_MOST_LEAN = 1.0


@dataclass(frozen=True)
class RefineSettings:
    """The settings of a fit.

    `cost` (C) weighs mistakes on the texts against the size of corrections; `balanced` gives rare
    and frequent labels the same weight.
    """

    passes: int = PASSES
    cost: float = COST
    balanced: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "passes", as_whole("passes", self.passes, 1))
        object.__setattr__(self, "cost", as_above_zero("cost", self.cost))
        if not isinstance(self.balanced, bool):
            raise TypeError(f"balanced must be True or False, got {self.balanced!r}")
        object.__setattr__(self, "seed", as_whole("seed", self.seed, 0))

    def for_native(self) -> dict[str, Any]:
        """Return the settings as the core takes them."""
        return {
            "decay": _DECAY,
            "strength": _STRENGTH,
            "cost": self.cost,
            "bias": _BIAS,
            "balanced": self.balanced,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Refinement(ToDict):
    """The corrections of a model: how they were fitted, and how stale they are.

    `texts` were fitted when the model had learnt `documents`; `learnt` and `unlearnt` count the
    documents since then that were not corrected for.

    >>> print(Refinement(1200, 1200, learnt=30, unlearnt=1, cost=1.0, temperature=0.4))
    refined on 1,200 texts; 30 documents learnt and 1 document unlearnt since then
    """

    texts: int
    documents: int
    learnt: int
    unlearnt: int
    cost: float
    temperature: float

    @property
    def is_stale(self) -> bool:
        """Whether documents were learnt or unlearnt since the fit."""
        return self.learnt > 0 or self.unlearnt > 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; `text` is the refinement in words."""
        return {"text": str(self)} | super().to_dict()

    def __str__(self) -> str:
        text = f"refined on {many(self.texts, 'text')}"
        if not self.is_stale:
            return text
        changes = {"learnt": self.learnt, "unlearnt": self.unlearnt}
        since = " and ".join(
            f"{many(number, 'document')} {what}" for what, number in changes.items() if number
        )
        return f"{text}; {since} since then"


def refinement_of(engine: Engine) -> Refinement | None:
    """Return a description of a model's corrections; None if it has none."""
    fit = engine.native.fit()
    if fit is None:
        return None
    names = ("texts", "documents", "learnt", "unlearnt", "cost", "temperature")
    return Refinement(**{name: fit[name] for name in names})


def refine(
    engine: Engine,
    texts: list[str],
    labels: Sequence[frozenset[Label]],
    settings: RefineSettings,
    *,
    threads: int | None,
    progress: Progress | None,
) -> None:
    """Fit corrections to texts, and temperature and lean to texts that are held out."""
    check_refinable(engine)
    engine.refuse_if_mapped("refining")
    engine.refuse_if_unreadable()
    workers = as_threads(threads)

    def refiner_terms(*task: Any) -> _native.Refiner:
        return engine.native.refiner_terms(engine.source.read(texts), *task)

    refiner = partial(engine.native.refiner, texts, threads=workers)
    refiner_of = refiner if engine.source.is_plain else refiner_terms
    _fit(engine, refiner_of, labels, settings, progress)


def check_refinable(engine: Engine) -> None:
    """Raise an error for parameters whose scores cannot be corrected."""
    if not engine.parameters.is_summed:
        raise ValueError(
            "only models with the summary 'sum' can be refined, because corrections add up over "
            "the n-grams of a text"
        )


def positions_of(engine: Engine, labels: Sequence[frozenset[Label]]) -> list[list[int]]:
    """Return the position of each label of each text; a label must have been learnt."""
    position = {label: index for index, label in enumerate(engine.labels)}
    for own in labels:
        for label in own:
            if label not in position:
                raise UnknownLabelError(
                    f"cannot refine with label {label!r}: the model has not learnt it"
                )
    return [sorted(position[label] for label in own) for own in labels]


def refine_terms(
    engine: Engine,
    terms: _native.TermBatch,
    labels: Sequence[frozenset[Label]],
    settings: RefineSettings,
) -> None:
    """Fit corrections, temperature and lean to texts given as terms."""
    check_refinable(engine)
    _fit(engine, partial(engine.native.refiner_terms, terms), labels, settings, None)


def _fit(
    engine: Engine,
    refiner_of: Callable[..., _native.Refiner],
    labels: Sequence[frozenset[Label]],
    settings: RefineSettings,
    progress: Progress | None,
) -> None:
    """Run all fits and adopt the last, with what the others say of held-out texts."""
    positions = positions_of(engine, labels)
    folds = Folds.drawn(len(labels), settings.seed)
    scores = []

    def passes() -> Iterator[None]:
        scored = [index for fold in folds.scored for index in fold]
        refiner = refiner_of(positions, folds.of_text, scored, settings.for_native())
        for left_out in (*range(len(folds.scored)), None):
            refiner.begin(left_out)
            for _ in range(settings.passes):
                refiner.run_pass()
                yield
            if left_out is not None:
                scores.append(refiner.held_out_scores())
        held_out = _held_out(scores, positions, folds)
        temperature, lean = best_calibration(*held_out, np.array(refiner.leanings()))
        if not engine.native.adopt(refiner, temperature, lean):
            raise RuntimeError("the model was changed by another thread while it was refined")

    for _ in tracked(passes(), settings.passes * (len(folds.scored) + 1), progress):
        pass


@dataclass(frozen=True)
class Folds:
    """Folds for cross-validation: the fold of each text, and the texts to score in each.

    Only folds with texts to score have to be left out in turn; the others are always fitted to.
    """

    of_text: list[int]
    scored: list[list[int]]

    @staticmethod
    def drawn(texts: int, seed: int) -> Folds:
        """Return random folds, with enough texts to score; none for few texts."""
        if texts < _LEAST_TEXTS:
            return Folds([], [])
        # Scored texts are drawn, too: files are often sorted by label.
        order = np.random.default_rng(seed).permutation(texts)
        of_text = np.empty(texts, int)
        scored = []
        left = _SCORED
        for fold in range(_FOLDS):
            drawn = order[fold::_FOLDS]
            of_text[drawn] = fold
            own = np.sort(drawn[:left]).tolist()
            left -= len(own)
            scored += [own] if own else []
        return Folds(of_text.tolist(), scored)


def _held_out(
    scores: list[FloatArray], positions: list[list[int]], folds: Folds
) -> tuple[FloatArray, IntArray]:
    """Return the scores of texts by fits that left them out, and the true column of each row.

    A label without a text in such a fit is ignored there.
    """
    rows, columns = [], []
    for fold, (values, scored) in enumerate(zip(scores, folds.scored, strict=True)):
        fitted = np.zeros(values.shape[1], bool)
        for own, other in zip(positions, folds.of_text, strict=True):
            if other != fold:
                fitted[own] = True
        known = np.where(fitted, values, -np.inf)
        for row, index in enumerate(scored):
            true = [label for label in positions[index] if fitted[label]]
            rows += [known[row]] * len(true)
            columns += true
    return np.array(rows), np.array(columns, np.int64)


def best_calibration(
    scores: FloatArray, columns: IntArray, leanings: FloatArray
) -> tuple[float, float]:
    """Return the temperature and the lean of lowest log-loss; 1 and 0 if there is nothing to fit.

    The lean is what has to be taken back, so it is not negative. It is at most 1: what the fit
    wants of a margin.

    >>> scores = np.array([[0.9, -0.9], [0.5, -0.5], [0.7, -0.7], [0.1, -0.1], [-0.1, 0.1]])
    >>> columns, leanings = np.array([0, 0, 0, 1, 1]), np.array([0.2, -0.2])
    >>> round(best_calibration(scores, columns, leanings)[1], 1)
    1.0
    """
    if not len(columns) or len(leanings) < 2:
        return 1.0, 0.0

    def loss(lean: float) -> float:
        shifted = scores - lean * leanings
        return log_loss(shifted, columns, best_temperature(shifted, columns, _ROUGH_STEPS))

    lean = _lowest(loss, 0.0, _MOST_LEAN, _LEAN_STEPS) if leanings.any() else 0.0
    if lean and loss(lean) >= loss(0.0):
        lean = 0.0
    return best_temperature(scores - lean * leanings, columns), lean


def best_temperature(scores: FloatArray, columns: IntArray, steps: int = _STEPS) -> float:
    """Return the temperature of lowest log-loss, given the scores of texts and their true columns.

    >>> scores = np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 0.0]])
    >>> round(best_temperature(scores, np.array([0, 1, 0, 1])), 2)
    1.82
    """

    def loss(logarithm: float) -> float:
        return log_loss(scores, columns, float(np.exp(logarithm)))

    return float(np.exp(_lowest(loss, np.log(0.01), np.log(100.0), steps)))


def log_loss(scores: FloatArray, columns: IntArray, temperature: float) -> float:
    """Return the mean log-loss of the probabilities that scores give to the true columns."""
    chances = softmax(scores, temperature)
    true = chances[np.arange(len(columns)), columns]
    return float(-np.log(np.maximum(true, 1e-300)).mean())


def _lowest(loss: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Return where a function with one valley is lowest: search by the golden section."""
    golden = (np.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(steps):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = loss(right)
    return float((low + high) / 2)


def softmax(scores: FloatArray, temperature: float) -> FloatArray:
    """Return the probabilities of labels from refined scores; rows add up to 1.

    In `_native.softmax`, a row of zeros says that there is no evidence, and stays as it is. Here,
    its loss counts like that of other rows.

    >>> softmax(np.array([[1.0, 1.0]]), 0.5).tolist()
    [[0.5, 0.5]]
    """
    scaled = scores / temperature
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True, initial=-np.inf))
    shares: FloatArray = powers / powers.sum(axis=1, keepdims=True)
    return shares
