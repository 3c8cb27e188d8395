"""Charts of tunings: kinds of policies, the frontier of delays, thresholds, delays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from watchword.evaluation.charts import Chart
from watchword.evaluation.objectives import text_of
from watchword.evaluation.replay_charts import (
    delays_chart,
    frontier_chart,
    rows_chart,
    thresholds_chart,
)
from watchword.evaluation.threshold_curves import threshold_of
from watchword.evaluation.tuning import standard_error
from watchword.streams.notation import spell_policy
from watchword.streams.policy import leaves

if TYPE_CHECKING:
    from watchword.evaluation.tuning_result import Trial, Tuning

TuningChart = Literal["policies", "frontier", "thresholds", "delays"]
_MOST_KINDS = 12


def tuned_policies(tuning: Tuning) -> Chart:
    """Return the best value of each kind of policy with its standard error, and the bounds."""
    best: dict[tuple[Any, ...], Trial] = {}  # by the names of simple policies
    for trial in tuning.trials:
        kinds = (type(one).__name__ for one in leaves(trial.policy))
        best.setdefault((*kinds, trial.refined), trial)
    rows: list[str] = []
    values: list[tuple[float, float, float]] = []
    for trial in [*best.values()][:_MOST_KINDS]:
        if math.isfinite(trial.value):
            error = standard_error(trial.by_fold)
            values.append((trial.value, trial.value - error, trial.value + error))
            rows.append(spell_policy(trial.policy) + (", refined" if trial.refined else ""))
    for name, measures in tuning.bounds.items():
        value = tuning.objective.row((), None, measures)[tuning.measure]
        if value is not None and math.isfinite(value):
            values.append((value, value, value))
            rows.append(f"({name})")
    return rows_chart(
        "Best setting of each kind of policy",
        f"{text_of(tuning.measure)}, ± one standard error over folds",
        rows,
        {text_of(tuning.measure): values},
    )


def tuned_frontier(
    tuning: Tuning, *, measure: str = "precision", least_recall: float = 0.5
) -> Chart:
    """Return the best precision for each median delay among the trials."""
    rows = [trial.measures for trial in tuning.trials]
    options: dict[str, Any] = {"measure": measure, "least_recall": least_recall}
    return frontier_chart(rows, tuning.best.measures, **options)


def tuned_thresholds(tuning: Tuning) -> Chart:
    """Return measures of the trials that differ from the chosen one in the threshold only."""
    best = tuning.best
    own = threshold_of(best.policy)
    near: dict[float, Mapping[str, float]] = {}
    for trial in tuning.trials:
        if (trial.parameters, trial.refined) == (best.parameters, best.refined):
            found = threshold_of(trial.policy)
            same = own and found and type(found.part) is type(own.part)
            if own and found and same and found.with_value(own.value) == best.policy:
                near.setdefault(found.value, trial.measures)
    rows = {value: near[value] for value in sorted(near)}
    return thresholds_chart(best.policy, rows, tuning.held_out.deadlines)


def tuned_delays(tuning: Tuning) -> Chart:
    """Return a histogram of the delays of the chosen setting, over all folds."""
    held = tuning.held_out
    return delays_chart(tuning.outcomes[0].delays, held.truth, held.deadlines)


_CHARTS: dict[TuningChart, Callable[..., Chart]] = {
    "policies": tuned_policies,
    "frontier": tuned_frontier,
    "thresholds": tuned_thresholds,
    "delays": tuned_delays,
}
TUNING_CHARTS: tuple[TuningChart, ...] = tuple(_CHARTS)


def tuning_chart(tuning: Tuning, kind: TuningChart, **options: Any) -> Chart:
    """Return a chart of a tuning by its name."""
    if kind not in _CHARTS:
        raise ValueError(f"a tuning has the charts {', '.join(TUNING_CHARTS)}, got {kind!r}")
    return _CHARTS[kind](tuning, **options)
