"""The official measures of one run, and their bootstrap intervals over subjects."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from watchword._checks import BoolArray, FloatArray, IntArray
from watchword._display import finite, listed
from watchword.erisk.run_files import ChunkDecision, ChunkRun, RoundRun, check_same
from watchword.erisk.truth import NEGATIVE, POSITIVE, warn_about_data
from watchword.errors import DataFormatError
from watchword.evaluation import metrics
from watchword.evaluation.metrics import CHUNKS, randomization_test
from watchword.evaluation.objectives import alert_measure, bounds_by_deadline, first_delays
from watchword.evaluation.replaying import Ranking

COUNTED = ("name", "subjects", "positives", "alerts")
RANKED = ("precision_at_10", "ndcg_at_10", "ndcg_at_100")
BOUND_TITLES = {  # of the rows with the bounds of ERDE
    "never": "(never alerting)",
    "at_once": "(alerting everyone at once)",
    "best": "(best possible)",
}

MeasureSet = Literal["erisk", "mentalriskes", "pan"]
_LATE = ("erde", "latency", "speed", "f_latency")
_OF_CLASSES = ("accuracy", "macro_precision", "macro_recall", "macro_f1")
# The measures of the organisers, in the order of their tables; "erde" is one for each deadline.
MEASURES: dict[MeasureSet, tuple[str, ...]] = {
    "erisk": ("precision", "recall", "f1", *_LATE),
    "mentalriskes": (*_OF_CLASSES, *_LATE),
    "pan": ("precision", "recall", "f1", "f05"),
}


@dataclass(frozen=True)
class RunOutcomes:
    """The decisions of a run beside the truth: one value per subject in each column."""

    subjects: tuple[str, ...]
    truth: BoolArray
    alerted: BoolArray
    delays: IntArray
    first_delays: FloatArray  #: earliest possible ones, infinite without writings
    classes: tuple[NDArray[Any], NDArray[Any]]  #: true and decided, as numbers

    def __post_init__(self) -> None:
        if not self.truth.any():
            raise DataFormatError("the golden truth has no positive subject")


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
    outcomes: RunOutcomes = field(repr=False, compare=False)
    scores: Mapping[int, FloatArray] = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            **{name: getattr(self, name) for name in COUNTED},
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
        classes = {*truth.values()}
        strange = sorted({*run.classes.values()} - classes)
        if strange and kind == "mentalriskes" and not classes <= {POSITIVE, NEGATIVE}:
            warn_about_data(
                f"run {run.name}: {listed(strange)} not a class of the golden truth; its means "
                "count it as a further class, as the official measures do"
            )
        scores = {}
        for rounds in rankings:
            if own := run.scores.get(rounds):
                lowest = min(own.values()) - 1.0  # subjects without a score are ranked last
                scores[rounds] = np.array([own.get(one, lowest) for one in outcomes.subjects])
    elif counts is None:
        raise DataFormatError(
            f"run {run.name}: delays in chunks need the number of writings of each subject",
            arguments=("counts",),
        )
    else:
        outcomes, scores = _chunk_outcomes(run.decisions, truth, counts), {}
    truths = outcomes.truth
    ranked = tuple(
        Ranking.of(rounds, values.tolist(), truths, outcomes.subjects)
        for rounds, values in scores.items()
    )
    limits = {f"erde{limit}": limit for limit in deadlines if "erde" in MEASURES[kind]}
    measures: dict[str, float | None] = {}
    for name in chain.from_iterable(limits if one == "erde" else [one] for one in MEASURES[kind]):
        columns = _columns(name, outcomes, scores)
        measures[name] = finite(_measure(name, p)(truths, *columns, positive=True))
    for each in ranked:
        measures |= {f"{name}_after_{each.rounds}": getattr(each, name) for name in RANKED}
    bounds = bounds_by_deadline(truths, outcomes.first_delays, limits.values())
    return RunScore(
        run.name,
        len(outcomes.subjects),
        int(truths.sum()),
        int(outcomes.alerted.sum()),
        measures,
        {f"erde{limit}": bound for limit, bound in bounds.items()},
        ranked,
        outcomes,
        scores,
    )


def _chunk_outcomes(
    decisions: Mapping[str, ChunkDecision | None],
    truth: Mapping[str, str],
    counts: Mapping[str, int],
) -> RunOutcomes:
    """Return the outcomes of decisions by chunks, with delays as in the official scripts.

    A decision after chunk i has the delay N at chunk 10, else floor(N/10)·i. Subjects of the truth
    without writings count as never alerted, with a `CollectionWarning` if they are missing from
    the decisions or the counts.
    """
    alerts = {one for one, given in decisions.items() if given and given.label == POSITIVE}
    silent = [one for one in truth if not counts.get(one) and one not in alerts]
    if incomplete := [one for one in silent if one not in decisions or one not in counts]:
        warn_about_data(
            f"{listed(incomplete)} in the golden truth, but without writings; counted as never "
            "alerted, as in the official measures"
        )
    decisions = dict.fromkeys(silent) | dict(decisions)
    totals = dict.fromkeys(silent, 0) | dict(counts)
    for what, table in ("the golden truth", truth), ("the counts", totals):
        check_same(decisions, table, "the run", what)
    subjects = tuple(sorted(truth))  # so that sums do not depend on the order of lines
    posts = np.array([totals[subject] for subject in subjects])
    chunks = [decision.chunk if decision else CHUNKS for decision in map(decisions.get, subjects)]
    is_positive = np.array([truth[subject] == POSITIVE for subject in subjects])
    alerted = np.array([subject in alerts for subject in subjects])
    return RunOutcomes(
        subjects,
        is_positive,
        alerted,
        metrics.chunk_delays(chunks, posts),
        first_delays(posts, "chunk"),
        (is_positive, alerted),
    )


def _round_outcomes(run: RoundRun, truth: Mapping[str, str]) -> RunOutcomes:
    if unknown := sorted(run.subjects - truth.keys()):
        warn_about_data(f"run {run.name}: {listed(unknown)} not in the golden truth; left out")
    subjects = tuple(sorted(truth))
    is_positive = np.array([truth[one] != NEGATIVE for one in subjects])
    alerted = np.array([one in run.alerts for one in subjects])
    classes: tuple[NDArray[Any], NDArray[Any]] = is_positive, alerted
    known = {*truth.values()}
    if not known <= {POSITIVE, NEGATIVE}:
        numbers = {
            name: at for at, name in enumerate(sorted({*known, *run.classes.values(), NEGATIVE}))
        }
        decided = [numbers[run.classes.get(one, NEGATIVE)] for one in subjects]
        classes = np.array([numbers[truth[one]] for one in subjects]), np.array(decided)
    return RunOutcomes(
        subjects,
        is_positive,
        alerted,
        np.array([run.alerts.get(one, 0) for one in subjects], np.int64),
        np.array([1.0 if one in run.subjects else math.inf for one in subjects]),
        classes,
    )


def intervals_of(
    run: RunScore, base: RunScore | None, p: float, options: Mapping[str, Any]
) -> RunIntervals:
    """Return the intervals of a run, or of its differences to another one."""
    found = {
        name: metrics.bootstrap_interval(
            _measure(name, p),
            run.outcomes.truth,
            _columns(name, run.outcomes, run.scores),
            baseline=None if base is None else _columns(name, base.outcomes, base.scores),
            positive=True,
            **options,
        )
        for name in run.measures
        if base is None or name in base.measures
    }
    return RunIntervals(run.name, None if base is None else base.name, found)


def p_values_of(
    run: RunScore, base: RunScore, p: float, *, seed: int, repeats: int
) -> dict[str, float]:
    """Return p-values of differences between two runs; see `Scoreboard.p_values`."""
    return {
        name: randomization_test(
            _measure(name, p),
            run.outcomes.truth,
            _columns(name, run.outcomes, run.scores),
            _columns(name, base.outcomes, base.scores),
            seed=seed,
            repeats=repeats,
            positive=True,
        )
        for name in run.measures
        if name in base.measures and name not in ("latency", "speed") and "_after_" not in name
    }


def _columns(
    name: str, found: RunOutcomes, scores: Mapping[int, FloatArray]
) -> tuple[NDArray[Any], ...]:
    """Return the arguments of a measure after the truth."""
    if rounds := name.partition("_after_")[2]:
        order = np.arange(len(found.subjects))  # for ties; subjects are sorted
        return found.alerted, scores[int(rounds)], order
    if name in _OF_CLASSES:
        return found.alerted, *found.classes
    return found.alerted, found.delays


def _measure(name: str, p: float) -> Callable[..., float]:
    """Return a measure as a function of the truth and its `_columns`."""
    kind, _, rounds = name.partition("_after_")
    if rounds:
        return partial(_ranking_measure, kind)
    return partial(_class_measure, name) if name in _OF_CLASSES else alert_measure(name, p)


def _class_measure(
    name: str,
    _truth: BoolArray,
    _alerted: BoolArray,
    true: NDArray[Any],
    decided: NDArray[Any],
    **_options: object,
) -> float:
    """Return the accuracy, or a mean over the classes that occur."""
    if name == "accuracy":
        return float((true == decided).mean())
    kind = name.removeprefix("macro_")
    of_classes = [
        metrics.precision_recall_f1(true == one, decided == one, positive=True)
        for one in np.union1d(true, decided)
    ]
    return float(np.mean([getattr(each, kind) for each in of_classes]))


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
