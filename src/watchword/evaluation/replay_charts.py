"""Charts of replays and tunings: thresholds, the frontier of delays, delays, subjects, policies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from watchword._checks import BoolArray, IntArray, as_share, reprs
from watchword._display import excerpt, many
from watchword.evaluation.charts import (
    ALERT,
    Chart,
    ChartLine,
    ChartPoint,
    Curve,
    as_points,
    frontier,
    measured,
    threshold_of,
    varied,
    with_thresholds,
)
from watchword.evaluation.objectives import erde_names, is_measure, text_of
from watchword.evaluation.replaying import DEADLINES, is_positive, replay_scores
from watchword.evaluation.tuning import standard_error
from watchword.streams.histories import Histories
from watchword.streams.notation import spell_policy
from watchword.streams.policies import Policy
from watchword.streams.policy_base import leaves, ranking_score

if TYPE_CHECKING:
    from watchword.evaluation.replaying import Outcome, Replay
    from watchword.evaluation.tuning_result import Trial, Tuning

ReplayChart = Literal["thresholds", "frontier", "delays", "subjects", "policies"]
_SUBJECTS = 6  # drawn unless subjects are named
_MOST_SUBJECTS = 10
_MOST_POLICIES = 12
_BINS = 24
_WARM = (ALERT, 14, 19, 9, 17)  # colours of positives
_MOST_DOTS = 600
# Characters in a chart
_LONGEST_POLICY = 48
_LONGEST_SUBJECT = 24
_SCORES = {
    "share": "share of the label",
    "softmax": "softmax of the means",
    "difference": "difference of the values, from 0 to 1",
    "log_ratio": "mean log-ratio, from 0 to 1",
}


def replay_thresholds(replay: Replay) -> Chart:
    """Return each ERDE and F₁ against the threshold of the policy."""
    measures = _measures_of(replay)
    tried = with_thresholds(replay.scores, replay.policy)
    rows = measured(replay.scores, [*tried.values()], [*measures.erde], measures.latency_p)
    return thresholds_chart(replay.policy, dict(zip(tried, rows, strict=True)), measures.erde)


def thresholds_chart(
    policy: Policy, rows: Mapping[float, Mapping[str, float]], deadlines: Iterable[int]
) -> Chart:
    """Return measures by threshold, with a rule at that of the policy, which must have one."""
    own = threshold_of(policy)
    if own is None:
        raise ValueError(f"{spell_policy(policy)} has no threshold to change")
    names = [*erde_names(deadlines), "f1"]
    curves = tuple(
        Curve(
            text_of(one), as_points(rows), as_points(row[one] for row in rows.values()), colour=at
        )
        for at, one in enumerate(names)
    )
    listed = ", ".join(f"{text_of(one)} {rows[own.value][one]:.3f}" for one in names)
    return Chart(
        f"Measures against the {own.name}",
        own.name,
        "measure",
        curves,
        rules=(ChartLine(own.value, f"{own.name} {own.value:.4g}"),),
        description=f"{excerpt(spell_policy(policy), _LONGEST_POLICY)}: {listed}.",
        y_range=(0.0, max(1.0, *(max(one.y) for one in curves))),
    )


def replay_frontier(
    replay: Replay, *, measure: str = "precision", least_recall: float = 0.5
) -> Chart:
    """Return the best precision for each median delay, with other thresholds and first posts."""
    measures = _measures_of(replay)
    options = ([*measures.erde], measures.latency_p)
    rows = list(measured(replay.scores, varied(replay.scores, replay.policy), *options))
    [own] = measured(replay.scores, [replay.policy], *options)
    return frontier_chart(rows, own, measure=measure, least_recall=least_recall)


def frontier_chart(
    rows: Sequence[Mapping[str, float]],
    own: Mapping[str, float],
    *,
    measure: str,
    least_recall: float,
) -> Chart:
    """Return a chart of settings by median delay and a measure; `own` is the chosen one."""
    if not is_measure(measure) or measure == "median_delay" or measure not in own:
        known = reprs(one for one in own if one != "median_delay")
        raise ValueError(f"measure must be one of {known}, got {measure!r}")
    points, best = frontier(rows, measure, least_recall=as_share("least_recall", least_recall))
    dots = points[:: max(1, -(-len(points) // _MOST_DOTS))]
    head = text_of(measure)
    curves = []
    if points:
        # The best of a delay remains attainable with any longer one.
        edge = [*best, (points[-1][0], best[-1][1])]
        curves = [
            Curve("settings", *_columns(dots), drawn="dots", colour=6, faint=True),
            Curve("best up to this delay", *_columns(edge), drawn="steps", colour=0),
        ]
    ends = ", ".join(
        f"{value:.3f} at {delay:g}" for delay, value in best[:: max(1, len(best) // 5)]
    )
    is_drawn = np.isfinite(own["median_delay"])
    values = [one for _, one in points] + [own[measure]] * bool(is_drawn)
    return Chart(
        f"{head[:1].upper()}{head[1:]} against delay",
        "median delay (posts)",
        f"{head} (recall ≥ {least_recall:g})" if least_recall else head,
        tuple(curves),
        marks=(ChartPoint(own["median_delay"], own[measure], "chosen"),) if is_drawn else (),
        description=f"{many(len(points), 'setting')} with different results. Best {head}: {ends}.",
        y_range=(0.0, max([1.0, *values])),
    )


def _columns(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return as_points([x for x, _ in points]), as_points([y for _, y in points])


def replay_delays(replay: Replay) -> Chart:
    """Return a histogram of the delays of alerts, correct ones and false ones."""
    delays = np.array([one.delay if one.label is not None else -1 for one in replay.outcomes])
    if replay.measures is None:
        return delays_chart(delays, None, DEADLINES)
    return delays_chart(delays, is_positive(replay.scores), replay.measures.erde)


def delays_chart(delays: IntArray, truth: BoolArray | None, deadlines: Iterable[int]) -> Chart:
    """Return a histogram of delays; -1 is no alert, and `truth` masks the positives."""
    alerted = delays >= 0
    groups: list[tuple[str, BoolArray]] = [("alerts", alerted)]
    if truth is not None:
        hits, false = alerted & truth, alerted & ~truth
        groups = [
            (f"correct: {hits.sum():,} of {truth.sum():,} positives", hits),
            (f"false: {false.sum():,} of {(~truth).sum():,} others", false),
        ]
    found = delays[alerted]
    low, high = (min(int(found.min()), 1), int(found.max())) if found.size else (1, 1)
    width = max(1, -(-(high - low + 1) // _BINS))
    count = -(-(high - low + 1) // width)
    edges = low + width * np.arange(count + 1)
    base = np.zeros(count, np.int64)
    curves = []
    for at, (name, mask) in enumerate(groups):
        top = base + np.histogram(delays[mask], edges)[0]
        bars = (as_points(edges[:-1] - 0.5), as_points(top))
        colour = 0 if at else ALERT
        curves.append(Curve(name, *bars, drawn="bars", colour=colour, base=as_points(base)))
        base = top
    middle = f"the median delay is {np.median(found):g}" if found.size else "no alerts"
    limits = [one for one in deadlines if low <= one <= high]
    return Chart(
        f"Delays of {many(int(alerted.sum()), 'alert')}",
        "delay (posts read when the alert is raised)",
        "subjects",
        tuple(curves),
        rules=tuple(ChartLine(one, f"deadline {one}") for one in limits),
        description=f"{'; '.join(one.name for one in curves)}; {middle}.",
        x_range=(low - 0.5, float(edges[-1]) - 0.5),
        bar_width=float(width),
    )


def replay_subjects(replay: Replay, *, subjects: Sequence[str] | None = None) -> Chart:
    """Return the score of several subjects over their posts, with their alerts."""
    chosen = _typical(replay) if subjects is None else _named(replay, subjects)
    name = ranking_score(replay.policy, replay.scores.has)
    found = threshold_of(replay.policy)
    compared = found is not None and getattr(found.part, "score", None) == name
    curves, marks = [], []
    warm, cool = cycle(_WARM), cycle(range(6))
    for at in chosen:
        series, outcome = replay.scores.series[at], replay.outcomes[at]
        scores = Histories([series]).steps.score(name)
        label = "" if outcome.truth is None else f" ({outcome.truth})"
        others = outcome.truth is not None and outcome.truth != replay.scores.positive
        colour = next(cool if others else warm)
        name_shown = excerpt(outcome.subject, _LONGEST_SUBJECT) + label
        points = (as_points(series.posts), as_points(scores))
        curves.append(Curve(name_shown, *points, colour=colour, dashed=others))
        if outcome.label is not None:
            step = int(np.searchsorted(series.posts, outcome.delay)) if outcome.delay else 0
            step = min(step, scores.size - 1)
            marks.append(ChartPoint(float(series.posts[step]), float(scores[step]), "", colour))
    told = [_told(replay.outcomes[at]) for at in chosen]
    return Chart(
        "Scores over time, with alerts",
        "posts read",
        _SCORES.get(name, name),
        tuple(curves),
        marks=tuple(marks),
        rules=(ChartLine(found.value, f"{found.name} {found.value:.4g}", horizontal=True),)
        if compared and found is not None
        else (),
        description=f"{'; '.join(told)}." if told else "No subjects.",
        y_range=(0.0, 1.0),
    )


def _told(outcome: Outcome) -> str:
    alert = (
        f"alert after {many(outcome.delay, 'post')}" if outcome.label is not None else "no alert"
    )
    name = excerpt(outcome.subject, _LONGEST_SUBJECT)
    return f"{name}: {alert}, {outcome.score:.2f} at the end"


def _named(replay: Replay, subjects: Sequence[str]) -> list[int]:
    if isinstance(subjects, str) or len(subjects) > _MOST_SUBJECTS:
        raise ValueError(f"subjects must be a list of at most {_MOST_SUBJECTS} ids")
    places = {name: at for at, name in enumerate(replay.scores.subjects)}
    for name in subjects:
        if name not in places:
            raise ValueError(f"there is no subject {name!r} in the replay")
    return [places[name] for name in subjects]


def _typical(replay: Replay) -> list[int]:
    """Return subjects of each kind of decision: the median of those found, missed, and so on."""
    kinds: dict[tuple[bool, bool], list[int]] = {}
    for at, one in enumerate(replay.outcomes):
        if one.posts:
            positive = one.truth == replay.scores.positive
            kinds.setdefault((positive, one.label is not None), []).append(at)
    chosen: list[int] = []
    for kind in ((True, True), (False, False), (True, False), (False, True)):
        own = sorted(
            kinds.get(kind, []),
            key=lambda at: (replay.outcomes[at].delay, replay.outcomes[at].score),
        )
        # Two right decisions of each kind, but one mistake.
        places = {len(own) // 3, 2 * len(own) // 3} if kind[0] == kind[1] else {len(own) // 2}
        chosen += [own[place] for place in sorted(places) if place < len(own)]
    return sorted(chosen[:_SUBJECTS])


def replay_policies(replay: Replay, *, policies: Iterable[Policy]) -> Chart:
    """Return each ERDE and F₁ of this policy and of others on the same scores, with intervals."""
    measures = _measures_of(replay)
    options: dict[str, Any] = {"deadlines": [*measures.erde], "latency_p": measures.latency_p}
    others = [replay_scores(replay.scores, one, **options) for one in policies]
    if not 1 <= len(others) < _MOST_POLICIES:
        raise ValueError(f"policies must be from 1 to {_MOST_POLICIES - 1} other policies")
    found = [one.intervals() for one in (replay, *others)]
    rows = [spell_policy(one.policy) for one in (replay, *others)]
    names = [*erde_names(measures.erde), "f1"]
    return rows_chart(
        "Comparison of policies",
        "measure, with 95 % intervals",
        rows,
        {
            text_of(name): [(one[name].value, one[name].low, one[name].high) for one in found]
            for name in names
        },
    )


def rows_chart(
    title: str,
    x_label: str,
    rows: Sequence[str],
    values: Mapping[str, Sequence[tuple[float, float, float]]],
) -> Chart:
    """Return dots with intervals: a row per name, and a colour per measure."""
    curves = []
    for at, (name, points) in enumerate(values.items()):
        shift = 0.18 * (at - (len(values) - 1) / 2)
        curves.append(
            Curve(
                name,
                as_points([value for value, _, _ in points]),
                as_points([row + shift for row in range(len(rows))]),
                drawn="dots",
                colour=at,
                ends=tuple((float(low), float(high)) for _, low, high in points),
            )
        )
    told = "; ".join(
        f"{excerpt(row, _LONGEST_POLICY)}: "
        + ", ".join(f"{name} {points[at][0]:.3f}" for name, points in values.items())
        for at, row in enumerate(rows)
    )
    return Chart(
        title,
        x_label,
        "",
        tuple(curves),
        rows=tuple(excerpt(row, _LONGEST_POLICY) for row in rows),
        description=f"{told}.",
    )


def _measures_of(replay: Replay) -> Any:
    if replay.measures is None:
        raise ValueError("this chart needs the true label of every subject")
    return replay.measures


def usual_charts(replay: Replay) -> list[Chart]:
    """Return the default charts: thresholds, if labels and a threshold are known, and delays."""
    known = replay.measures is not None and threshold_of(replay.policy) is not None
    return [*([replay_thresholds(replay)] if known else []), replay_delays(replay)]


_CHARTS: dict[ReplayChart, Callable[..., Chart]] = {
    "thresholds": replay_thresholds,
    "frontier": replay_frontier,
    "delays": replay_delays,
    "subjects": replay_subjects,
    "policies": replay_policies,
}
REPLAY_CHARTS: tuple[ReplayChart, ...] = tuple(_CHARTS)


def replay_chart(replay: Replay, kind: ReplayChart, **options: Any) -> Chart:
    """Return a chart of a replay by its name."""
    if kind not in _CHARTS:
        raise ValueError(f"a replay has the charts {', '.join(REPLAY_CHARTS)}, got {kind!r}")
    return _CHARTS[kind](replay, **options)


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


_TUNING_CHARTS: dict[TuningChart, Callable[..., Chart]] = {
    "policies": tuned_policies,
    "frontier": tuned_frontier,
    "thresholds": tuned_thresholds,
    "delays": tuned_delays,
}
TUNING_CHARTS: tuple[TuningChart, ...] = tuple(_TUNING_CHARTS)


def tuning_chart(tuning: Tuning, kind: TuningChart, **options: Any) -> Chart:
    """Return a chart of a tuning by its name."""
    if kind not in _TUNING_CHARTS:
        raise ValueError(f"a tuning has the charts {', '.join(TUNING_CHARTS)}, got {kind!r}")
    return _TUNING_CHARTS[kind](tuning, **options)
