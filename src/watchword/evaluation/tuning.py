"""Tuning of model parameters and policies by cross-validation over subjects."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any, NamedTuple, TypeVar

import numpy as np

from watchword._checks import BoolArray, FloatArray, IntArray, Label, Progress, as_whole, tracked
from watchword.data import Subject
from watchword.evaluation import metrics
from watchword.evaluation.fitted_policies import Fit, FittedPolicies, worth_of
from watchword.evaluation.folds import Order
from watchword.evaluation.held_out import HeldOut, HeldOutDecisions, HeldOutFold
from watchword.evaluation.objectives import AlertMeasure, MeasureLimits, Objective, deadline_of
from watchword.evaluation.replaying import (
    DEADLINES,
    LatencyP,
    as_latency_p,
    average_precision_of,
    is_positive,
    ranks_of,
)
from watchword.evaluation.scores import By, Scores, alerts_of
from watchword.evaluation.tuning_result import KEPT, Trial, Tuning
from watchword.evaluation.tuning_sources import FromScores, FromSubjects, tuning_source
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.policies import Policy
from watchword.streams.policy_base import leaves, ranking_score
from watchword.streams.steps import ScoreName

_AnyPolicy = TypeVar("_AnyPolicy", bound=Policy)
# Standard errors by which a refined model must be ahead. In nested cross-validation on the streams
# in benchmarks/, smaller gains did not last (choosing.py).
_ERRORS = 2


def grid(
    kind: Callable[..., _AnyPolicy], positive: Label, **values: Sequence[Any]
) -> list[_AnyPolicy]:
    """Return policies of one kind with all combinations of some values.

    >>> from watchword import Overtakes
    >>> [policy.margin for policy in grid(Overtakes, "at risk", margin=[0, 1, 3])]
    [0.0, 1.0, 3.0]
    """
    combined = itertools.product(*values.values())
    return [kind(positive, **dict(zip(values, chosen, strict=True))) for chosen in combined]


def tune(
    subjects: Iterable[Subject] | Scores,
    policies: Policy | FittedPolicies | Iterable[Policy | FittedPolicies],
    *,
    measure: AlertMeasure = "erde50",
    at_most: Mapping[str, float] | None = None,
    at_least: Mapping[str, float] | None = None,
    one_standard_error: bool = False,
    parameters: Mapping[str, Sequence[Any]] | None = None,
    model: TauSS3 | None = None,
    folds: int = 4,
    by: By = "post",
    order: Order = "random",
    seed: int = 0,
    refine: bool = True,
    deadlines: Sequence[int] = DEADLINES,
    latency_p: LatencyP = metrics.LATENCY_P,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Tuning:
    """Try all combinations of parameters with all policies, by cross-validation over subjects.

    Folds have about the same share of positives; the subjects of each are read with a model of all
    others. With `order="random"`, subjects are dealt to folds by `seed`. With `order="time"`,
    subjects whose first posts are close in time share a fold (without times, neighbours in the
    list do), which is more realistic if subjects write about the same events: see `folds_of`.

    Counts are learnt once per fold. For every combination of `parameters` (values for arguments of
    `TauSS3`, such as smoothness, max_ngram or min_count) the held-out posts are read once, and all
    policies are tried on the result. `model` provides the other parameters. `Thresholds` and
    `Learnt` are replaced by policies fitted to each setting; the scores of all settings are then
    kept in memory, 48 bytes per post and setting.

    With `refine`, all policies are also tried on refined models with the best parameters, taught
    as by `teach(refine=True)` without the held-out subjects. A refined model is chosen only if its
    best setting is clearly better than that of the counted model: by more than twice the standard
    error of the difference over folds. Otherwise the best setting of the counted model is chosen,
    and refined ones may follow with better values.

    `measure` is `"erde5"`, `"erde50"` or ERDE with any other deadline (with each fold's share of
    positives as the cost of a false positive), `"f1"`, `"f_latency"`, `"precision"`, `"recall"`,
    `"median_delay"`, `"alert_rate"`, `"average_precision"` (of the ranking, see
    `Policy.ranks_by`), or a function of `(y_true, y_pred, delays, positive=…)` to
    minimise. The function may have further parameters `posts` (the number of posts of each
    subject), `scores` (by which subjects are ranked, after the last post) and `subjects` (the ids).
    The value of a setting is the mean over folds, weighted by their number of subjects; the median
    delay is that of all folds together. Lower values of ERDE, `median_delay` and `alert_rate` are
    better, and higher values of the others.

    A weighted sum such as `{"erde5": 0.5, "erde50": 0.5}` is minimised; measures of which higher
    values are better enter it as 1 − value. `at_most={"median_delay": 10}` and
    `at_least={"precision": 0.8}` admit only settings within these limits. With
    `one_standard_error`, the earliest setting is chosen whose value is within one standard error
    (over folds) of the best: the one with the lowest median delay; of equals, a counted model
    before a refined one, then the policy combined of fewer policies, then the better value.

    All settings are shown with all measures, with ERDE for each of `deadlines`; `latency_p` is the
    parameter of F_latency, as for `replay`. See `Tuning.warnings` for what to distrust, and
    `nested_tune` for an honest figure.

    Scores of any classifier can be tuned instead of subjects: policies are then tried on the
    scores as they are, and there are no parameters. The scores must come from models that have not
    learnt the subjects' own labels.

    >>> import watchword as ww
    >>> people = ww.make_risk_streams(40, seed=3)
    >>> tuning = tune(
    ...     people,
    ...     grid(ww.Overtakes, "at risk", margin=[0, 0.5]),
    ...     parameters={"max_ngram": [1, 3]},
    ... )
    >>> len(tuning.trials), tuning.best.refined
    (6, False)
    """
    asked, positive = as_asked(policies)
    objective, limits = Objective.of(measure), MeasureLimits.of(at_most, at_least)
    source = tuning_source(
        subjects,
        positive,
        model=model,
        parameters=parameters,
        by=by,
        threads=threads,
        folds=folds,
        order=order,
        seed=seed,
    )
    shown = shown_deadlines(deadlines, (*objective.names, *limits.names))
    p = as_latency_p(latency_p, source.totals)
    held = HeldOut(tuple(source.held_out()), shown, p)
    run = _PolicyTrials(source, asked, objective, limits, held, progress)
    found = run.try_all(_settings(parameters or {}))
    best = found[0].trial.parameters
    if refine and source.can_refine(best):
        found = run.in_order([*found, *run.try_all([best], refined=True)])
    if found[0].excess:
        nearest = found[0].trial
        values = [f"{name} {nearest.measures[name]:.4g}" for name in limits.names]
        raise ValueError(
            f"no setting has {limits}; the nearest has {' and '.join(values)}: {nearest.setting}"
        )
    eligible = _eligible(found, objective.sign)
    chosen = _earliest(eligible, objective.sign) if one_standard_error else eligible[0]
    found = [chosen, *(one for one in found if one is not chosen)]
    return Tuning(
        objective.name,
        tuple(one.trial for one in found),
        source.base,
        objective,
        held,
        tuple(one.outcomes.copy() for one in found[:KEPT]),
    )


def shown_deadlines(deadlines: Sequence[int], names: Iterable[str]) -> tuple[int, ...]:
    """Return the deadlines of ERDE, with those in the names of other measures."""
    named = [deadline for name in names if (deadline := deadline_of(name)) is not None]
    given = [as_whole("deadlines", one, 1) for one in deadlines]
    return tuple(sorted({*given, *named}))


class _Tried(NamedTuple):
    """A trial with what decides about its place."""

    trial: Trial
    outcomes: HeldOutDecisions
    excess: float  # over the limits


class _FoldMeasures(NamedTuple):
    """Policies on a fold: a row of measures and of delays for each, and its ranking."""

    measures: FloatArray
    delays: IntArray
    names: list[ScoreName]
    ranks: dict[ScoreName, FloatArray]
    own: FloatArray  # values of a measure function


@dataclass(frozen=True, eq=False)
class _PolicyTrials:
    """Tries policies on the held-out subjects of a source."""

    source: FromSubjects | FromScores
    asked: list[Policy | FittedPolicies]
    objective: Objective
    limits: MeasureLimits
    held: HeldOut
    progress: Progress | None

    def in_order(self, found: Iterable[_Tried]) -> list[_Tried]:
        """Return the best first; those that exceed the limits last, the nearest first."""
        sign = self.objective.sign
        return sorted(found, key=lambda one: (one.excess, sign * one.trial.value))

    def try_all(self, settings: list[dict[str, Any]], *, refined: bool = False) -> list[_Tried]:
        """Return the trials of all policies with these settings, best first."""
        count = len(settings)
        total = len(self.held.folds) * count
        readings = tracked(self.source.read(settings, refined), total, self.progress)
        if any(isinstance(one, FittedPolicies) for one in self.asked):
            held = list(readings)
            tried = [self._fitted(held[i::count]) for i in range(count)]
            readings = tracked(held, total, self.progress)
        else:
            tried = [self._fitted([])] * count
        judged = [
            self._judged(self.held.folds[i // count], scores, tried[i % count].by_fold[i // count])
            for i, scores in enumerate(readings)
        ]
        found: list[_Tried] = []
        for i, (setting, own) in enumerate(zip(settings, tried, strict=True)):
            found += self._trials(setting, own.policies, judged[i::count], refined=refined)
        return self.in_order(found)

    def _fitted(self, scores: Sequence[Scores]) -> Fit:
        """Return all policies, with `FittedPolicies` replaced by policies fitted to the scores."""
        worth = worth_of(self.objective, self.held.p)
        policies: list[Policy] = []
        by_fold: list[list[Policy]] = [[] for _ in self.held.folds]
        for one in self.asked:
            if isinstance(one, Policy):
                own = Fit([one], [[one]] * len(by_fold))
            else:
                own = one.fitted(scores, worth)
            policies += own.policies
            for fold, fitted in zip(by_fold, own.by_fold, strict=True):
                fold += fitted
        return Fit(policies, by_fold)

    def _judged(self, fold: HeldOutFold, scores: Scores, policies: list[Policy]) -> _FoldMeasures:
        """Return the measures and decisions of policies on a fold."""
        names = [ranking_score(policy, scores.has) for policy in policies]
        precisions = {name: average_precision_of(scores, name) for name in set(names)}
        ranks = {name: ranks_of(scores, name) for name in precisions}
        # Delays take most of the memory.
        kind = np.min_scalar_type(-1 - int(fold.totals.max(initial=0)))
        rows, decisions = [], np.empty((len(policies), fold.totals.size), kind)
        own: list[float] = []
        for at, (policy, name) in enumerate(zip(policies, names, strict=True)):
            alerted, delays = alerts_of(scores, policy)
            decisions[at] = np.where(alerted, delays, -1)
            found = fold.measures(alerted, delays, self.held.deadlines, self.held.p)
            found["average_precision"] = precisions[name]
            rows.append([found[one] for one in self.held.names])
            if self.objective.function is not None:
                own.append(own_value(self.objective.function, scores, policy, alerted, delays))
        return _FoldMeasures(np.array(rows), decisions, names, ranks, np.array(own))

    def _trials(
        self,
        setting: dict[str, Any],
        policies: list[Policy],
        judged: list[_FoldMeasures],
        *,
        refined: bool,
    ) -> Iterator[_Tried]:
        """Yield the trials of policies with one setting of the model."""
        by_fold = np.array([one.measures for one in judged])
        delays = np.concatenate([one.delays for one in judged], axis=1)
        ranks = {
            name: np.concatenate([one.ranks[name] for one in judged]) for name in judged[0].ranks
        }
        whole = self.held.combined(by_fold, delays)
        if self.objective.function is None:
            columns = dict(zip(self.held.names, np.moveaxis(by_fold, 2, 0), strict=True))
            values = self.objective.value(columns)
            means = self.objective.value(dict(zip(self.held.names, whole.T, strict=True)))
        else:
            values = np.array([one.own for one in judged])
            means = np.average(values, axis=0, weights=self.held.sizes)
        for at, policy in enumerate(policies):
            measures = dict(zip(self.held.names, whole[at].tolist(), strict=True))
            excess = self.limits.excess(measures)
            trial = Trial(
                setting,
                policy,
                float(means[at]),
                tuple(values[:, at].tolist()),
                refined,
                measures,
                excess == 0,
            )
            yield _Tried(trial, HeldOutDecisions(delays[at], ranks[judged[0].names[at]]), excess)


def _eligible(found: list[_Tried], sign: int) -> list[_Tried]:
    """Return the settings to choose from: without refined models unless they are clearly better."""
    counted = [one for one in found if not one.trial.refined]
    if counted[0].excess:
        return found
    best, other = found[0].trial, counted[0].trial
    gains = [sign * (b - a) for a, b in zip(best.by_fold, other.by_fold, strict=True)]
    is_clear = sign * (other.value - best.value) > _ERRORS * standard_error(gains)
    return found if is_clear else counted


def _earliest(found: Sequence[_Tried], sign: int) -> _Tried:
    """Return the earliest setting within one standard error of the best."""
    best = found[0].trial
    limit = sign * best.value + standard_error(best.by_fold)
    near = [one for one in found if not one.excess and sign * one.trial.value <= limit]
    return min(
        near,
        key=lambda one: (
            one.trial.measures["median_delay"],
            one.trial.refined,
            len(list(leaves(one.trial.policy))),
        ),
    )


def standard_error(by_fold: Sequence[float]) -> float:
    """Return the standard error of the mean over folds.

    >>> standard_error([0.25, 0.75])
    0.25
    """
    values = np.array([value for value in by_fold if math.isfinite(value)])
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else 0.0


def _settings(parameters: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    for name, values in parameters.items():
        if name.startswith("prune_"):
            raise ValueError(f"parameters[{name!r}] cannot be tuned, because it changes the counts")
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise TypeError(f"parameters[{name!r}] must be a list of values, got {values!r}")
        if not values:
            raise ValueError(f"parameters[{name!r}] must not be empty")
    combined = itertools.product(*parameters.values())
    return [dict(zip(parameters, chosen, strict=True)) for chosen in combined]


def as_asked(
    policies: Policy | FittedPolicies | Iterable[Policy | FittedPolicies],
) -> tuple[list[Policy | FittedPolicies], Label]:
    """Return the policies to try as a list, with the label that all of them alert for."""
    asked = [policies] if isinstance(policies, Policy | FittedPolicies) else list(policies)
    if not asked:
        raise ValueError("there must be at least one policy")
    for policy in asked:
        if not isinstance(policy, Policy | FittedPolicies):
            raise TypeError(f"policies must be Policy objects, got {policy!r}")
    labels = {policy.positive for policy in asked}
    if len(labels) > 1:
        raise ValueError(f"all policies must be for the same label, got {labels}")
    return asked, asked[0].positive


# Further parameters that a measure function may have.
_MORE: dict[str, Callable[[Scores, Policy], Any]] = {
    "posts": lambda scores, _: scores.totals,
    "scores": lambda scores, policy: scores.histories.scores(ranking_score(policy, scores.has)),
    "subjects": lambda scores, _: list(scores.subjects),
}


def own_value(
    function: Callable[..., float],
    scores: Scores,
    policy: Policy,
    alerted: BoolArray,
    delays: IntArray,
) -> float:
    """Return the value of a measure function on a fold."""
    asked = _parameters_of(function)
    more = {name: _MORE[name](scores, policy) for name in _MORE if name in asked}
    value = float(function(is_positive(scores), alerted, delays, positive=True, **more))
    if math.isnan(value):
        raise ValueError(f"the measure {function!r} returned NaN on a fold")
    return value


@cache
def _parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(signature(function).parameters)
    except ValueError:  # some functions written in C have no signature
        return ()
