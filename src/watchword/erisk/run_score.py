"""The official measures of one run, and their bootstrap intervals over subjects."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from watchword._arrays import BoolArray, FloatArray, IntArray
from watchword._display import finite, listed
from watchword.erisk.run_files import ChunkRun, RoundRun
from watchword.erisk.submission import Outcomes, chunk_outcomes
from watchword.erisk.tables import NEGATIVE, POSITIVE
from watchword.erisk.truth import CollectionWarning
from watchword.errors import DataFormatError
from watchword.evaluation import metrics
from watchword.evaluation.paired_tests import randomization_test
from watchword.evaluation.replaying import Ranking, early_measures

RANKED = ("precision_at_10", "ndcg_at_10", "ndcg_at_100")

MeasureSet = Literal["erisk", "mentalriskes", "pan"]
_LATE = ("erde", "latency", "speed", "f_latency")
# The measures of the organisers, in the order of their tables; "erde" is one for each deadline.
MEASURES: dict[MeasureSet, tuple[str, ...]] = {
    "erisk": ("precision", "recall", "f1", *_LATE),
    "mentalriskes": ("accuracy", "macro_precision", "macro_recall", "macro_f1", *_LATE),
    "pan": ("precision", "recall", "f1", "f05"),
}


@dataclass(frozen=True)
class RunScore:
    """The official measures of a run; ERDE as a fraction.

    `measures` maps names such as `erde5`, `f_latency` and `ndcg_at_10_after_100` to values: None
    for latency and speed without a true positive. Rankings after more rounds than the run has
    answered are left out.
    """

    name: str
    subjects: int
    positives: int
    alerts: int
    measures: Mapping[str, float | None]
    bounds: Mapping[str, metrics.ErdeBounds]  #: of each ERDE
    rankings: tuple[Ranking, ...]
    outcomes: Outcomes = field(repr=False, compare=False)
    scores: Mapping[int, FloatArray] = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "name": self.name,
            "subjects": self.subjects,
            "positives": self.positives,
            "alerts": self.alerts,
            **{name: value for name, value in self.measures.items() if "_after_" not in name},
            **{f"{name}_bounds": asdict(bounds) for name, bounds in self.bounds.items()},
            "rankings": [asdict(ranking) for ranking in self.rankings],
        }


@dataclass(frozen=True)
class RunIntervals:
    """Bootstrap intervals of the measures of a run, or of their differences to a baseline."""

    name: str
    baseline: str | None
    intervals: Mapping[str, metrics.Interval]


def score_run(
    run: ChunkRun | RoundRun,
    truth: Mapping[str, str],
    counts: Mapping[str, int] | None,
    deadlines: Sequence[int],
    p: float,
    rankings: Sequence[int],
    kind: MeasureSet = "erisk",
) -> RunScore:
    """Measure a run; delays by chunk need the number of writings of each subject."""
    if isinstance(run, RoundRun):
        outcomes = _round_outcomes(run, truth)
        scores = {
            rounds: _all_scores(run.scores[rounds], outcomes.subjects)
            for rounds in rankings
            if rounds in run.scores
        }
    elif counts is None:
        raise DataFormatError(
            f"run {run.name}: delays in chunks need the number of writings of each subject",
            arguments=("counts",),
        )
    else:
        outcomes, scores = chunk_outcomes(run.decisions, truth, counts), {}
    found = early_measures(
        outcomes.truth,
        outcomes.alerted,
        outcomes.delays,
        outcomes.first_delays,
        deadlines=deadlines,
        p=p,
    )
    found["latency"] = found.pop("median_delay")
    ranked = tuple(
        Ranking.of(rounds, values.tolist(), outcomes.truth, outcomes.subjects)
        for rounds, values in scores.items()
    )
    erdes = [f"erde{deadline}" for deadline in deadlines if "erde" in MEASURES[kind]]
    measures: dict[str, float | None] = {}
    for name in MEASURES[kind]:
        if name == "erde":
            measures |= {each: finite(found[each]) for each in erdes}
        elif name in found:
            measures[name] = finite(found[name])
        else:
            columns = outcomes.truth, outcomes.alerted, *outcomes.classes()
            measures[name] = _class_measure(name, *columns)
    for each in ranked:
        measures |= {f"{name}_after_{each.rounds}": getattr(each, name) for name in RANKED}
    return RunScore(
        run.name,
        len(outcomes.subjects),
        int(outcomes.truth.sum()),
        int(outcomes.alerted.sum()),
        measures,
        {name: found[f"{name}_bounds"] for name in erdes},
        ranked,
        outcomes,
        scores,
    )


def _round_outcomes(run: RoundRun, truth: Mapping[str, str]) -> Outcomes:
    if unknown := sorted(run.subjects - truth.keys()):
        warnings.warn(
            f"run {run.name}: {listed(unknown)} not in the golden truth; left out",
            CollectionWarning,
            stacklevel=4,
        )
    subjects = tuple(sorted(truth))
    return Outcomes(
        subjects,
        np.array([truth[one] != NEGATIVE for one in subjects]),
        np.array([one in run.alerts for one in subjects]),
        np.array([run.alerts.get(one, 0) for one in subjects], np.int64),
        np.array([1.0 if one in run.subjects else math.inf for one in subjects]),
        *_classes(run, truth, subjects),
    )


def _classes(
    run: RoundRun, truth: Mapping[str, str], subjects: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """Return the true and the decided classes, or nothing if there are only two."""
    known = {*truth.values()}
    if known <= {POSITIVE, NEGATIVE}:
        return ()
    if unknown := sorted({*run.classes.values()} - known):
        raise DataFormatError(
            f"run {run.name}: {listed(unknown)} not a class of the golden truth "
            f"({', '.join(sorted(known))})"
        )
    decided = (run.classes.get(one, NEGATIVE) for one in subjects)
    return tuple(truth[one] for one in subjects), tuple(decided)


def _all_scores(scores: Mapping[str, float], subjects: Sequence[str]) -> FloatArray:
    """Return a score for every subject; those without one are ranked last."""
    lowest = min(scores.values()) - 1.0
    return np.array([scores.get(one, lowest) for one in subjects])


def intervals_of(
    run: RunScore, base: RunScore | None, p: float, options: Mapping[str, Any]
) -> RunIntervals:
    """Return the intervals of a run, or of its differences to another one."""
    found = {
        name: _interval(name, run, base, p, options)
        for name in run.measures
        if base is None or name in base.measures
    }
    return RunIntervals(run.name, None if base is None else base.name, found)


def p_values_of(
    run: RunScore, base: RunScore, p: float, *, seed: int, repeats: int
) -> dict[str, float]:
    """Return p-values of differences between two runs; see `Scoreboard.p_values`."""
    found = {}
    for name in run.measures:
        if name in base.measures and name not in ("latency", "speed") and "_after_" not in name:
            measure, (own, other), more = _measured(name, [run, base], p)
            found[name] = randomization_test(
                measure,
                run.outcomes.truth,
                own,
                other,
                seed=seed,
                repeats=repeats,
                positive=True,
                **more,
            )
    return found


def _interval(
    name: str, run: RunScore, base: RunScore | None, p: float, options: Mapping[str, Any]
) -> metrics.Interval:
    measure, sides, more = _measured(name, [run] if base is None else [run, base], p)
    return metrics.bootstrap_interval(
        measure,
        run.outcomes.truth,
        sides[0],
        baseline=sides[1] if len(sides) > 1 else None,
        positive=True,
        **options,
        **more,
    )


def _measured(
    name: str, runs: Sequence[RunScore], p: float
) -> tuple[Callable[..., float], list[tuple[Any, ...]], dict[str, Any]]:
    """Return a measure, its arguments after the truth for each run, and its options."""
    if "_after_" in name:
        kind, _, rounds = name.partition("_after_")
        columns = [_ranking_columns(one, int(rounds)) for one in runs]
        return partial(_ranking_measure, kind), columns, {}
    if name in _BY_CLASS:
        sides = [(one.outcomes.alerted, *one.outcomes.classes()) for one in runs]
        return partial(_class_measure, name), sides, {}
    more: dict[str, Any] = {"minimum_delay": 0}
    if name.startswith("erde"):
        more["deadline"] = int(name.removeprefix("erde"))
    elif name in ("speed", "f_latency"):
        more["p"] = p
    return (
        _decision_measure(name),
        [(one.outcomes.alerted, one.outcomes.delays) for one in runs],
        more,
    )


def _decision_measure(name: str) -> Callable[..., float]:
    if name.startswith("erde"):
        return metrics.erde
    known: dict[str, Callable[..., float]] = {
        "latency": metrics.latency,
        "speed": metrics.speed,
        "f_latency": metrics.latency_weighted_f1,
    }
    return known.get(name) or partial(_quality, name)


def _quality(
    name: str, truth: BoolArray, alerted: BoolArray, _delays: IntArray, **options: Any
) -> float:
    """Return precision, recall or F₁, with the signature of the measures that use delays."""
    found = metrics.precision_recall_f1(truth, alerted, positive=options["positive"])
    return float(getattr(found, name))


_BY_CLASS = ("accuracy", "macro_precision", "macro_recall", "macro_f1", "f05")


def _class_measure(
    name: str,
    truth: BoolArray,
    alerted: BoolArray,
    true: IntArray,
    decided: IntArray,
    *,
    positive: bool = True,
) -> float:
    """Return F₀.₅ of alerts, the accuracy, or a mean over the classes that occur."""
    if name == "f05":
        return metrics.f_score(truth, alerted, positive=positive, beta=0.5)
    if name == "accuracy":
        return float((true == decided).mean())
    kind = name.removeprefix("macro_")
    found = [
        metrics.precision_recall_f1(true == one, decided == one, positive=True)
        for one in np.union1d(true, decided)
    ]
    return float(np.mean([getattr(each, kind) for each in found]))


def _ranking_columns(run: RunScore, rounds: int) -> tuple[Any, ...]:
    order = np.arange(len(run.outcomes.subjects))  # for ties; subjects are sorted
    return run.outcomes.alerted, run.scores[rounds], order


def _ranking_measure(
    name: str,
    truth: BoolArray,
    _alerted: BoolArray,
    scores: FloatArray,
    order: IntArray,
    *,
    positive: bool,
) -> float:
    kind, _, k = name.rpartition("_at_")
    measure = metrics.ndcg_at if kind == "ndcg" else metrics.precision_at
    return measure(scores, truth, int(k), positive=positive, subjects=order.tolist())
