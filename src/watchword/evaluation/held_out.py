"""Held-out subjects of cross-validation: measures of alerts about them, bounds and intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from watchword._checks import BoolArray, FloatArray, IntArray, as_whole
from watchword.evaluation import metrics
from watchword.evaluation.counts import AlertCounts
from watchword.evaluation.objectives import MEASURES, Objective, erde_names, first_delays, sign_of
from watchword.evaluation.scores import By

if TYPE_CHECKING:  # `import watchword` does not load NumPy's generators
    _Generators = tuple[np.random.Generator, np.random.Generator]

NEVER, AT_ONCE = "never alert", "alert everyone at the first post"
_BLOCK = 2**22  # numbers held at once while resampling


class HeldOutDecisions(NamedTuple):
    """The decisions of a policy about all held-out subjects, fold by fold."""

    delays: IntArray  #: -1 without an alert
    ranks: FloatArray  #: the scores by which subjects are ranked

    def copy(self) -> HeldOutDecisions:
        """Return the same decisions in memory of their own."""
        return HeldOutDecisions(self.delays.astype(np.int64), self.ranks)


@dataclass(frozen=True, eq=False)
class HeldOutFold:
    """The subjects of a fold."""

    ids: tuple[str, ...]
    truth: BoolArray  #: whether each is positive
    totals: IntArray  #: number of posts of each
    first: FloatArray  #: earliest possible delay of each, infinite without posts

    @classmethod
    def of(cls, ids: Iterable[str], truth: BoolArray, totals: IntArray, by: By) -> HeldOutFold:
        """Return the fold of subjects whose posts are read one by one or in chunks."""
        return cls(tuple(ids), truth, totals, first_delays(totals, by))

    @cached_property
    def positives(self) -> int:
        """The number of positives."""
        return int(np.count_nonzero(self.truth))

    @cached_property
    def cost_false_positive(self) -> float:
        """The share of positives."""
        return float(self.truth.mean())

    def measures(
        self, alerted: BoolArray, delays: IntArray, deadlines: Sequence[int], p: float
    ) -> dict[str, float]:
        """Return each ERDE and `MEASURES` by name, except average precision.

        The same values as those of `watchword.evaluation.metrics`, computed together.
        """
        found = delays[self.truth & alerted]
        hits, alerts = found.size, int(np.count_nonzero(alerted))
        counts = AlertCounts(self.truth.size, self.positives, alerts, hits)
        late = {one: float(metrics.latency_cost(found, one).sum()) for one in deadlines}
        delay, speed = math.inf, 0.0
        if hits:
            middle = np.sort(found)[(hits - 1) // 2 : hits // 2 + 1]
            delay = float(middle.mean())
            speed = 1.0 - float(metrics.penalty(middle, p).mean())
        return self.by_name(counts, late, delay, speed)

    def by_name(
        self, counts: AlertCounts, late: Mapping[int, Any], delay: Any, speed: Any
    ) -> dict[str, Any]:
        """Return the same measures, of one set of decisions or, as arrays, of many resamples.

        `late` is the cost of all late alerts together, by deadline.
        """
        f1, cost = counts.f1, self.cost_false_positive
        return {
            **{f"erde{limit}": counts.mean_cost(cost, 1.0, late[limit]) for limit in late},
            "f1": f1,
            "f_latency": f1 * speed,
            "precision": counts.precision,
            "recall": counts.recall,
            "median_delay": delay,
            "alert_rate": counts.alerts / counts.subjects,
        }


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The subjects of all folds, and how alerts about them are measured.

    A measure is the mean over folds, weighted by their numbers of subjects. Only the median delay
    is that of the correct alerts of all folds together, because a fold may have none; it is
    infinite without any.
    """

    folds: tuple[HeldOutFold, ...]
    deadlines: tuple[int, ...]
    p: float

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all measures."""
        return (*erde_names(self.deadlines), *MEASURES)

    @cached_property
    def sizes(self) -> list[int]:
        """The number of subjects in each fold."""
        return [fold.truth.size for fold in self.folds]

    @cached_property
    def truth(self) -> BoolArray:
        """Whether each subject is positive."""
        return np.concatenate([fold.truth for fold in self.folds])

    @cached_property
    def totals(self) -> IntArray:
        """The number of posts of each subject."""
        return np.concatenate([fold.totals for fold in self.folds])

    def split(
        self, outcomes: HeldOutDecisions
    ) -> Iterator[tuple[HeldOutFold, IntArray, FloatArray]]:
        """Yield each fold with the delays and ranks of its subjects."""
        ends = np.cumsum(self.sizes)[:-1]
        delays, ranks = (np.split(column, ends) for column in outcomes)
        yield from zip(self.folds, delays, ranks, strict=True)

    def combined(self, by_fold: FloatArray, delays: IntArray) -> FloatArray:
        """Return measures of policies over all folds, a row per policy.

        `by_fold` has dimensions fold, policy and measure; `delays` those of policies and subjects.
        """
        found: FloatArray = np.average(by_fold, axis=0, weights=self.sizes)
        hits = self.truth & (delays >= 0)
        ordered = np.sort(np.where(hits, delays, np.inf), axis=1)
        counts = hits.sum(axis=1)
        rows = np.arange(len(delays))
        middle = ordered[rows, np.maximum(counts - 1, 0) // 2] + ordered[rows, counts // 2]
        found[:, self.names.index("median_delay")] = np.where(counts > 0, middle / 2, np.inf)
        return found

    def measured(
        self, outcomes: HeldOutDecisions
    ) -> tuple[dict[str, float], dict[str, list[float]]]:
        """Return the measures of decisions, over all folds and in each fold."""
        rows = []
        for fold, delays, ranks in self.split(outcomes):
            found = fold.measures(delays >= 0, delays, self.deadlines, self.p)
            found["average_precision"] = metrics.average_precision(
                ranks, fold.truth, positive=True, subjects=fold.ids
            )
            rows.append([found[name] for name in self.names])
        table = np.array(rows)
        [whole] = self.combined(table[:, np.newaxis], outcomes.delays[np.newaxis])
        by_fold = dict(zip(self.names, table.T.tolist(), strict=True))
        return dict(zip(self.names, whole.tolist(), strict=True)), by_fold

    @cached_property
    def bounds(self) -> dict[str, dict[str, float]]:
        """The measures of never alerting, and of alerting everyone at the first post.

        Neither has an average precision.
        """
        first = np.concatenate([fold.first for fold in self.folds])
        at_once = np.where(np.isfinite(first), first, -1).astype(np.int64)
        found = {}
        for name, delays in ((NEVER, np.full_like(at_once, -1)), (AT_ONCE, at_once)):
            measures, _ = self.measured(HeldOutDecisions(delays, np.zeros(delays.size)))
            del measures["average_precision"]
            found[name] = measures
        return found

    def intervals(
        self,
        outcomes: HeldOutDecisions,
        objective: Objective,
        *,
        seed: int,
        repeats: int,
        confidence_level: float,
    ) -> dict[str, metrics.Interval]:
        """Return percentile intervals over resamples of the subjects of each fold.

        Positives and others are resampled separately, because a small fold would otherwise often
        be left without positives.
        """
        drawn = self._resampled(outcomes, seed, as_whole("repeats", repeats, 1))
        whole, _ = self.measured(outcomes)
        if objective.weights is not None:
            drawn[objective.name] = objective.value(drawn)
            whole[objective.name] = float(objective.value(whole))
        return {
            name: metrics.Interval.of(whole[name], values, confidence_level)
            for name, values in drawn.items()
        }

    def _resampled(
        self, outcomes: HeldOutDecisions, seed: int, repeats: int
    ) -> dict[str, FloatArray]:
        """Return each measure of all resamples."""
        generators = [_generators(seed, number) for number in range(len(self.folds))]
        block = max(1, _BLOCK // max(self.truth.size, 1))
        parts = []
        for begin in range(0, repeats, block):
            count = min(block, repeats - begin)
            values, hits = [], []
            for (fold, delays, ranks), own in zip(self.split(outcomes), generators, strict=True):
                draws = _draws(own, fold.truth, count)
                found = _measures_of_draws(fold, draws, delays, ranks, self)
                values.append([found[name] for name in self.names])
                hits.append(draws[:, fold.truth & (delays >= 0)])
            mean = np.average(np.array(values), axis=0, weights=self.sizes)
            caught = outcomes.delays[self.truth & (outcomes.delays >= 0)]
            delay = _medians(caught.astype(np.float64), np.concatenate(hits, axis=1))
            mean[self.names.index("median_delay")] = delay
            parts.append(mean)
        return dict(zip(self.names, np.concatenate(parts, axis=1), strict=True))


def _generators(seed: int, fold: int) -> _Generators:
    """Return generators for the positives and the others of a fold.

    There are two, so that the draws do not depend on how many are made at once.
    """
    return np.random.default_rng([seed, fold, 1]), np.random.default_rng([seed, fold, 0])


def _draws(generators: _Generators, truth: BoolArray, repeats: int) -> IntArray:
    """Return how often each subject is drawn in each resample, a row per resample."""
    found = np.zeros((repeats, truth.size), np.int64)
    rows = np.arange(repeats)[:, np.newaxis]
    for mask, generator in zip((truth, ~truth), generators, strict=True):
        own = np.flatnonzero(mask)
        if own.size:
            drawn = own[generator.integers(own.size, size=(repeats, own.size))]
            np.add.at(found, (rows, drawn), 1)
    return found


def _measures_of_draws(
    fold: HeldOutFold, draws: IntArray, delays: IntArray, ranks: FloatArray, held: HeldOut
) -> dict[str, FloatArray]:
    """Return the measures of each resample of a fold by name."""
    alerted = delays >= 0
    hit = fold.truth & alerted
    masks = (fold.truth, alerted, hit)
    counts = AlertCounts(fold.truth.size, *(draws @ mask for mask in masks))
    caught, weights = delays[hit], draws[:, hit]
    late = {one: weights @ metrics.latency_cost(caught, one) for one in held.deadlines}
    slow = _medians(metrics.penalty(caught, held.p), weights)
    speed = np.where(counts.hits > 0, 1 - slow, 0.0)
    no_delay = np.zeros(len(draws))  # it is not a mean over folds
    found = fold.by_name(counts, late, no_delay, speed)
    return found | {"average_precision": _average_precisions(fold, draws, ranks)}


def _medians(values: FloatArray, weights: IntArray) -> FloatArray:
    """Return the median of the values, repeated as each row of weights says; infinite of none."""
    if not values.size:
        return np.full(len(weights), np.inf)
    order = np.argsort(values)
    ends = np.cumsum(weights[:, order], axis=1)
    counts = ends[:, -1]
    lower, upper = (
        (ends <= place[:, np.newaxis]).sum(axis=1) for place in ((counts - 1) // 2, counts // 2)
    )
    ordered = np.append(values[order], np.inf)
    return np.asarray((ordered[lower] + ordered[upper]) / 2)


def _average_precisions(fold: HeldOutFold, draws: IntArray, ranks: FloatArray) -> FloatArray:
    """Return the average precision of each resample; NaN without positives."""
    names = np.argsort(np.argsort(np.array(fold.ids)))
    order = np.lexsort((names, -ranks))
    positive = fold.truth[order]
    ordered = draws[:, order]
    before = (np.cumsum(ordered, axis=1) - ordered)[:, positive]
    own = ordered[:, positive]
    positives_before = np.cumsum(own, axis=1) - own
    total = np.zeros(len(draws))
    for copy in range(1, int(own.max(initial=0)) + 1):
        precision = (positives_before + copy) / (before + copy)
        total += np.where(own >= copy, precision, 0.0).sum(axis=1)
    counts = own.sum(axis=1)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def warnings_about(
    held: HeldOut, measures: Mapping[str, float], outcomes: HeldOutDecisions
) -> tuple[str, ...]:
    """Return reasons to distrust a setting, each as a sentence."""
    alerted = outcomes.delays >= 0
    alerts, possible = int(alerted.sum()), int((held.totals > 0).sum())
    found = []
    if not alerts:
        found.append("the policy alerts no subject")
    elif alerts == possible:
        found.append("the policy alerts every subject")
    several = alerted & (held.totals > 1)
    if several.any():
        shares = outcomes.delays[several] / held.totals[several]
        if (half := float(np.median(shares))) >= _LATE:
            found.append(
                "the policy waits for the end of the streams: half of its alerts are raised after "
                f"at least {100 * half:.0f} % of a subject's posts"
            )
    for bound, values in held.bounds.items():
        worse = [name for name in values if _is_worse(name, measures[name], values[name])]
        if worse:
            listed = ", ".join(
                f"{name} {measures[name]:.4g} against {values[name]:.4g}" for name in worse
            )
            doing = bound.replace("alert", "alerting", 1)
            found.append(f"the policy is worse than {doing} in {listed}")
    return tuple(found)


_LATE = 0.9  # share of a subject's posts


def _is_worse(name: str, value: float, bound: float) -> bool:
    """Return whether a value is worse than a bound.

    Recall, delay and the share of alerts are left out: alerting everyone at once is the best of all
    policies in two of them, and never alerting in the third.
    """
    judges = name not in ("recall", "median_delay", "alert_rate")
    return judges and sign_of(name) * (value - bound) > 1e-12
