"""Nested cross-validation: an honest figure for settings that were chosen by tuning."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from watchword._checks import Progress
from watchword._display import finite, many, view
from watchword.data import Subject
from watchword.evaluation import metrics
from watchword.evaluation.fitted_policies import FittedPolicies
from watchword.evaluation.folds import Order
from watchword.evaluation.held_out import HeldOut, HeldOutDecisions, warnings_about
from watchword.evaluation.objectives import (
    AlertMeasure,
    MeasureLimits,
    Objective,
    head_of,
    shown_number,
)
from watchword.evaluation.replaying import DEADLINES, LatencyP, as_latency_p, ranks_of
from watchword.evaluation.scores import By, Scores, alerts_of
from watchword.evaluation.tuning import as_asked, own_value, shown_deadlines, tune
from watchword.evaluation.tuning_result import (
    TrialRow,
    Tuning,
    interval_lines,
    measure_cells,
    measure_lines,
    plain_intervals,
)
from watchword.evaluation.tuning_sources import tuning_source
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.policies import Policy
from watchword.streams.policy_base import ranking_score


@dataclass(frozen=True, eq=False)
class NestedTuning:
    """The measures of tuned settings on subjects that took no part in tuning them.

    `tunings` has the tuning of each outer fold; `value` is the mean over outer folds, weighted by
    their numbers of subjects, and `measures` are as in `Trial`.
    """

    measure: str
    value: float
    by_fold: tuple[float, ...]
    measures: Mapping[str, float]
    tunings: tuple[Tuning, ...]
    objective: Objective = field(repr=False)
    held_out: HeldOut = field(repr=False)
    outcomes: HeldOutDecisions = field(repr=False)

    @property
    def promised(self) -> float:
        """The mean of the values by which the settings were chosen, which are too good."""
        values = [tuning.best.value for tuning in self.tunings]
        return float(np.average(values, weights=self.held_out.sizes))

    @property
    def bounds(self) -> Mapping[str, Mapping[str, float]]:
        """The measures of never alerting, and of alerting everyone at the first post."""
        return self.held_out.bounds

    def measures_of(self, fold: int) -> dict[str, float]:
        """Return the measures on an outer fold, counted from 0."""
        return {name: values[fold] for name, values in self._by_fold.items()}

    @cached_property
    def _by_fold(self) -> dict[str, list[float]]:
        return self.held_out.measured(self.outcomes)[1]

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to distrust the settings, as in `Tuning.warnings`."""
        return warnings_about(self.held_out, self.measures, self.outcomes)

    def intervals(
        self, *, seed: int = 0, repeats: int = 1000, confidence_level: float = 0.95
    ) -> dict[str, metrics.Interval]:
        """Return bootstrap intervals of all measures, as in `Tuning.intervals`."""
        return self.held_out.intervals(
            self.outcomes,
            self.objective,
            seed=seed,
            repeats=repeats,
            confidence_level=confidence_level,
        )

    def __repr__(self) -> str:
        folds = many(len(self.tunings), "outer fold")
        value = shown_number(self.measure, self.value)
        return f"<NestedTuning of {folds} by {self.measure}, value {value}>"

    @property
    def _rows(self) -> list[TrialRow]:
        by_fold = [
            (value, self.measures_of(at), f"fold {at + 1}: {tuning.best.setting}")
            for at, (value, tuning) in enumerate(zip(self.by_fold, self.tunings, strict=True))
        ]
        bounds = [(None, bound, f"({name})") for name, bound in self.bounds.items()]
        return [(self.value, self.measures, "all folds"), *by_fold, *bounds]

    @property
    def _summary(self) -> str:
        numbers = [shown_number(self.measure, value) for value in (self.value, self.promised)]
        return (
            f"{head_of(self.measure)} {numbers[0]} on subjects that took no part in tuning; "
            f"the tuned settings promised {numbers[1]}"
        )

    def __str__(self) -> str:
        return "\n".join(
            [
                self._summary,
                "",
                *measure_lines(self.objective, self.held_out.names, self._rows),
                "",
                "95 % intervals:",
                *interval_lines(self.intervals()),
                *(f"Warning: {one}" for one in self.warnings),
            ]
        )

    def _repr_html_(self) -> str:
        result_html: Callable[..., str] = view("result_html")
        table = measure_cells(self.objective, self.held_out.names, self._rows)
        return result_html(self._summary, table, warnings=self.warnings)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the other trials of the tunings as plain data."""
        return {
            "measure": self.measure,
            "value": finite(self.value),
            "by_fold": finite(self.by_fold),
            "promised": finite(self.promised),
            "measures": finite(self.measures),
            "intervals": plain_intervals(self.intervals()),
            "bounds": finite(self.bounds),
            "warnings": list(self.warnings),
            "folds": [tuning.best.to_dict() for tuning in self.tunings],
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON, in ASCII."""
        return json.dumps(self.to_dict(), default=repr)


def nested_tune(
    subjects: Iterable[Subject] | Scores,
    policies: Policy | FittedPolicies | Iterable[Policy | FittedPolicies],
    *,
    outer_folds: int = 5,
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
) -> NestedTuning:
    """Measure what tuning achieves on new subjects, by nested cross-validation.

    The value of the best of many settings is too good, because it was selected. Here, the subjects
    are dealt to `outer_folds`; for each of them, `tune` chooses a setting on all other subjects (in
    `folds` inner folds), a model is taught with those, and only then are the subjects of the outer
    fold read. It takes `outer_folds` times as long as `tune`, which has the other arguments.

    The figure is that of the whole procedure, including the choice of a setting. To choose the
    setting for use, call `tune` with all subjects.

    >>> import watchword as ww
    >>> people = ww.make_risk_streams(40, seed=3, prevalence=0.4)
    >>> nested = nested_tune(
    ...     people,
    ...     ww.Thresholds("at risk", (1, 5)),
    ...     measure="f1",
    ...     outer_folds=3,
    ...     refine=False,
    ... )
    >>> len(nested.tunings), nested.value <= nested.promised
    (3, True)
    """
    asked, positive = as_asked(policies)
    objective = Objective.of(measure)
    names = (*objective.names, *MeasureLimits.of(at_most, at_least).names)
    source = tuning_source(
        subjects,
        positive,
        model=model,
        parameters=parameters,
        by=by,
        threads=threads,
        folds=outer_folds,
        order=order,
        seed=seed,
    )
    p = as_latency_p(latency_p, source.totals)
    options: dict[str, Any] = {
        "measure": measure,
        "at_most": at_most,
        "at_least": at_least,
        "one_standard_error": one_standard_error,
        "parameters": parameters,
        "model": model,
        "folds": folds,
        "by": by,
        "order": order,
        "seed": seed,
        "refine": refine,
        "deadlines": deadlines,
        "latency_p": p,
        "threads": threads,
        "progress": progress,
    }
    tunings, own, columns = [], [], []
    for part in source.parts:
        tuning = tune(source.without(part), asked, **options)
        scores = source.tested(part, tuning)
        policy = tuning.best.policy
        alerted, delays = alerts_of(scores, policy)
        columns.append(
            (np.where(alerted, delays, -1), ranks_of(scores, ranking_score(policy, scores.has)))
        )
        tunings.append(tuning)
        if objective.function is not None:
            own.append(own_value(objective.function, scores, policy, alerted, delays))
    whole = HeldOut(tuple(source.held_out()), shown_deadlines(deadlines, names), p)
    outcomes = HeldOutDecisions(*map(np.concatenate, zip(*columns, strict=True)))
    measures, by_fold = whole.measured(outcomes)
    values = own or np.asarray(objective.value({k: np.array(v) for k, v in by_fold.items()}))
    value = np.average(own, weights=whole.sizes) if own else objective.value(measures)
    return NestedTuning(
        objective.name,
        float(value),
        tuple(float(one) for one in values),
        measures,
        tuple(tunings),
        objective,
        whole,
        outcomes,
    )
