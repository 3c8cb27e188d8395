"""Replays of streams: the decisions a policy would have made, and their measures."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from watchword._checks import BoolArray, FloatArray, IntArray, Label, as_not_negative, as_whole
from watchword._display import aligned, csv_of, finite, many, view
from watchword.data import Subject
from watchword.evaluation import metrics
from watchword.evaluation.metrics import ErdeBounds
from watchword.evaluation.objectives import (
    alert_measure,
    as_percent,
    bounds_by_deadline,
    erde_names,
    first_delays,
)
from watchword.evaluation.scores import By, Scores, alerts_of, score_streams
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.function_model import FunctionModel
from watchword.streams.policies import Policy, as_policy
from watchword.streams.policy_base import ranking_score
from watchword.streams.steps import ScoreName

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from watchword.evaluation.charts import Chart
    from watchword.evaluation.replay_charts import ReplayChart

RANKING_ROUNDS = (1, 100, 500, 1000)  # the rounds after which eRisk ranks subjects
DEADLINES = (5, 50)  # of ERDE at eRisk
NAMES = {  # of measures besides ERDE, as in tables
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "f_latency": "F_latency",
    "speed": "speed",
    "median_delay": "median delay",
    "average_precision": "average precision",
}
LatencyP = float | Literal["median"]


@dataclass(frozen=True)
class Outcome:
    """The final decision about a subject.

    `label` is None without an alert; `score` is the score after the last post by which subjects
    are ranked (`Policy.ranks_by`), 0 without posts.
    """

    subject: str
    truth: Label | None
    label: Label | None
    delay: int
    posts: int
    score: float


@dataclass(frozen=True)
class Measures:
    """Measures of the accuracy and earliness of decisions; ERDE as a fraction, not in percent.

    `erde` and its bounds are by deadline; `latency_p` is the parameter of speed and F_latency.
    `median_delay` is that of the true positives (nan without any), which eRisk calls latency.
    `at_once` has the measures, besides ERDE, of alerting everyone at the first post.
    """

    subjects: int
    positives: int
    alerts: int
    erde: Mapping[int, float]
    erde_bounds: Mapping[int, ErdeBounds]
    precision: float
    recall: float
    f1: float
    median_delay: float
    speed: float
    f_latency: float
    average_precision: float
    at_once: Mapping[str, float]
    latency_p: float = metrics.LATENCY_P

    @property
    def erde5(self) -> float:
        """ERDE with the deadline 5."""
        return self.erde[5]

    @property
    def erde5_bounds(self) -> ErdeBounds:
        """The bounds of ERDE with the deadline 5."""
        return self.erde_bounds[5]

    @property
    def erde50(self) -> float:
        """ERDE with the deadline 50."""
        return self.erde[50]

    @property
    def erde50_bounds(self) -> ErdeBounds:
        """The bounds of ERDE with the deadline 50."""
        return self.erde_bounds[50]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with `erde5` and `erde5_bounds` for the deadline 5, and so on."""
        plain = asdict(self)
        costs, bounds = plain.pop("erde"), plain.pop("erde_bounds")
        names = ("subjects", "positives", "alerts")
        found = {name: plain.pop(name) for name in names}
        for deadline, cost in costs.items():
            found |= {f"erde{deadline}": cost, f"erde{deadline}_bounds": bounds[deadline]}
        return found | plain

    @property
    def counted(self) -> str:
        """The numbers of subjects, positives and alerts, in words."""
        subjects, alerts = many(self.subjects, "subject"), many(self.alerts, "alert")
        return f"{subjects}, {self.positives:,} positive, {alerts}"

    def cells(self) -> list[tuple[str, ...]]:
        """Return a table, headed: all measures beside those of trivial policies.

        ERDE is in percent, with the sign.
        """
        rows: list[tuple[str, ...]] = [
            ("", "", "never alert", "alert everyone at once", "best possible")
        ]
        for deadline, value in self.erde.items():
            bounds = self.erde_bounds[deadline]
            numbers = (value, bounds.never, bounds.at_once, bounds.best)
            rows.append((f"ERDE{deadline}", *map(as_percent, numbers)))
        for name, text in NAMES.items():
            trivial = self.at_once.get(name)
            cells = (getattr(self, name), None, trivial, None)
            rows.append((text, *("" if cell is None else _shown(cell) for cell in cells)))
        return rows

    def __str__(self) -> str:
        return "\n".join([self.counted, *aligned(self.cells())])


def _shown(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.3f}"


@dataclass(frozen=True)
class Ranking:
    """The quality of the ranking of subjects after some rounds."""

    rounds: int
    precision_at_10: float
    ndcg_at_10: float
    ndcg_at_100: float

    @classmethod
    def of(
        cls, rounds: int, scores: ArrayLike, truth: BoolArray, subjects: Sequence[str]
    ) -> Ranking:
        """Rank subjects by their scores; `truth` is a mask of the positives."""
        options: dict[str, Any] = {"positive": True, "subjects": subjects}
        return cls(
            rounds,
            metrics.precision_at(scores, truth, 10, **options),
            metrics.ndcg_at(scores, truth, 10, **options),
            metrics.ndcg_at(scores, truth, 100, **options),
        )


@dataclass(frozen=True, eq=False)
class Replay:
    """The decisions of a replay, with their measures if all true labels are known.

    `print` shows the measures, a notebook also a picture; `chart` and `plot` draw others.
    `to_csv` has a line per subject, `to_json` everything.
    """

    policy: Policy
    scores: Scores
    outcomes: tuple[Outcome, ...]
    measures: Measures | None

    def __repr__(self) -> str:
        return f"<Replay of {self._counted}, policy {self.policy!r}>"

    def __str__(self) -> str:
        if self.measures is None:
            return f"{self._counted}; true labels unknown"
        return str(self.measures)

    @property
    def _counted(self) -> str:
        alerts = sum(outcome.label is not None for outcome in self.outcomes)
        return f"{many(len(self.outcomes), 'subject')}, {many(alerts, 'alert')}"

    def intervals(
        self, *, seed: int = 0, repeats: int = 1000, confidence_level: float = 0.95
    ) -> dict[str, metrics.Interval]:
        """Return bootstrap intervals of each ERDE, `f1` and `f_latency` over subjects.

        >>> import watchword as ww
        >>> people, model = ww.make_risk_streams(80, seed=3), ww.TauSS3()
        >>> ww.teach(model, people[:40])
        >>> found = ww.replay(people[40:], model, ww.Overtakes("at risk", margin=0.05))
        >>> erde50 = found.intervals()["erde50"]
        >>> erde50.low < found.measures.erde50 == erde50.value < erde50.high
        True
        """
        if self.measures is None:
            raise ValueError("intervals need the true label of every subject")
        truth = is_positive(self.scores)
        if not truth.any():
            raise ValueError(f"intervals need a subject with the label {self.scores.positive!r}")
        alerted = [outcome.label is not None for outcome in self.outcomes]
        delays = [outcome.delay for outcome in self.outcomes]
        return {
            name: metrics.bootstrap_interval(
                alert_measure(name, self.measures.latency_p),
                truth,
                (alerted, delays),
                positive=True,
                seed=seed,
                repeats=repeats,
                confidence_level=confidence_level,
            )
            for name in (*erde_names(self.measures.erde), "f1", "f_latency")
        }

    def ranking(self, rounds: Iterable[int] = RANKING_ROUNDS) -> list[Ranking]:
        """Return the quality of the ranking after rounds of one post each.

        Subjects are ranked by the same score as in `Outcome.score`. Rounds beyond the longest
        history are left out.
        """
        if self.measures is None:
            raise ValueError("a ranking needs the true label of every subject")
        scores, truth = self.scores, is_positive(self.scores)
        score = ranking_score(self.policy, scores.has)
        return [
            Ranking.of(number, ranks_of(scores, score, posts=number), truth, scores.subjects)
            for number in rounds
            if number <= scores.totals.max(initial=0)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, including the values after every step."""
        return {
            "policy": self.policy.to_dict(),
            "by": self.scores.by,
            "positive": self.scores.positive,
            "measures": None if self.measures is None else finite(self.measures.to_dict()),
            "ranking": [asdict(row) for row in self.ranking()] if self.measures else [],
            "subjects": [
                asdict(outcome)
                | {
                    "steps": series.posts.tolist(),
                    "value": series.value.tolist(),
                    "other": series.other.tolist(),
                }
                for outcome, series in zip(self.outcomes, self.scores.series, strict=True)
            ],
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON, in ASCII."""
        return json.dumps(self.to_dict())

    def to_csv(self, *, spreadsheet_safe: bool = False) -> str:
        """Return a line per subject: subject, truth, label, delay, posts, score.

        With `spreadsheet_safe`, text that a spreadsheet would run as a formula gets a leading
        apostrophe.
        """
        columns = [field.name for field in fields(Outcome)]
        rows = [asdict(outcome) for outcome in self.outcomes]
        return csv_of(rows, columns, spreadsheet_safe=spreadsheet_safe)

    def chart(self, kind: ReplayChart, **options: Any) -> Chart:
        """Return a picture as plain data, to be saved, shown in a notebook or plotted.

        `"thresholds"` has each ERDE and F₁ against the policy's threshold; `"frontier"` the best
        precision, or another `measure`, for each median delay, with other thresholds and first
        posts and at least the recall `least_recall` [default: 0.5]; `"delays"` a histogram;
        `"subjects"` the scores of `subjects` [default: typical ones] over their posts;
        `"policies"` the measures of other `policies` on the same scores.

        The frontier is of these subjects: a policy chosen from it must be tested on others.

        >>> import watchword as ww
        >>> people, model = ww.make_risk_streams(80, seed=3), ww.TauSS3()
        >>> ww.teach(model, people[:40])
        >>> found = ww.replay(people[40:], model, ww.Overtakes("at risk", margin=0.05))
        >>> print(found.chart("delays").description)
        correct: 7 of 7 positives; false: 0 of 33 others; the median delay is 4.
        """
        from watchword.evaluation.replay_charts import replay_chart

        return replay_chart(self, kind, **options)

    def plot(self, kind: ReplayChart, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw one of the charts with matplotlib (`watchword[plot]`) on the given or new axes."""
        return self.chart(kind, **options).plot(ax)

    def _repr_html_(self) -> str:
        from watchword.evaluation.replay_charts import usual_charts

        result_html: Callable[..., str] = view("result_html")
        chart = usual_charts(self)[0].to_dict()
        if (found := self.measures) is None:
            return result_html(f"{self!r}; true labels unknown", chart=chart)
        return result_html(repr(self), found.cells(), caption=found.counted, chart=chart)


def replay(
    subjects: Iterable[Subject],
    model: TauSS3 | FunctionModel,
    policy: Policy,
    *,
    by: By = "post",
    deadlines: Sequence[int] = DEADLINES,
    latency_p: LatencyP = metrics.LATENCY_P,
    threads: int | None = None,
) -> Replay:
    """Read the posts of subjects as a stream and measure the decisions of a policy.

    With `by="post"`, the policy decides after every post; with `by="chunk"`, after each tenth of a
    subject's posts, with delays counted as in eRisk 2017 and 2018.

    `deadlines` are those of ERDE; `latency_p` is the parameter p of speed and F_latency, a number,
    or "median" for ln 3 / (median posts − 1), with which a delay of the median number of posts
    costs half.

    >>> import watchword as ww
    >>> people = ww.make_risk_streams(60, seed=1)
    >>> model = ww.TauSS3()
    >>> ww.teach(model, people[:30])
    >>> report = replay(people[30:], model, ww.Overtakes("at risk"))
    >>> report.measures.subjects, report.outcomes[0].subject
    (30, 'subject31')
    """
    positive = as_policy("policy", policy).positive
    scores = score_streams(subjects, model, positive, by=by, threads=threads)
    return replay_scores(scores, policy, deadlines=deadlines, latency_p=latency_p)


def replay_scores(
    scores: Scores,
    policy: Policy,
    *,
    deadlines: Sequence[int] = DEADLINES,
    latency_p: LatencyP = metrics.LATENCY_P,
) -> Replay:
    """Measure the decisions of a policy on precomputed scores; see `replay` for the arguments."""
    limits = tuple(dict.fromkeys(as_whole("deadlines", one, 1) for one in deadlines))
    if as_policy("policy", policy).positive != scores.positive:
        raise ValueError(
            f"the scores are for the label {scores.positive!r}, but the policy is {policy!r}"
        )
    alerted, delays = alerts_of(scores, policy)
    score = ranking_score(policy, scores.has)
    labels = [scores.positive if alert else None for alert in alerted.tolist()]
    columns = (delays, scores.totals, scores.histories.scores(score))
    numbers = (column.tolist() for column in columns)
    outcomes = tuple(map(Outcome, scores.subjects, scores.truth, labels, *numbers))
    known = len(scores.truth) > 0 and all(label is not None for label in scores.truth)
    p = as_latency_p(latency_p, scores.totals)
    measures = _measures(scores, alerted, delays, score, limits, p) if known else None
    return Replay(policy, scores, outcomes, measures)


def is_positive(scores: Scores) -> BoolArray:
    """Return a mask of the subjects whose true label is the positive one."""
    return np.array([label == scores.positive for label in scores.truth], np.bool_)


def average_precision_of(scores: Scores, score: ScoreName) -> float:
    """Return the average precision of ranking subjects by a score after their last post."""
    return metrics.average_precision(
        ranks_of(scores, score), is_positive(scores), positive=True, subjects=scores.subjects
    )


def ranks_of(scores: Scores, score: ScoreName, *, posts: int | None = None) -> FloatArray:
    """Return the scores of subjects; those without posts are ranked last."""
    found = scores.histories.scores(score, posts=posts)
    return np.asarray(np.where(scores.totals > 0, found, -1.0))


def as_latency_p(given: LatencyP, totals: IntArray) -> float:
    """Return the parameter p, by the rule for these numbers of posts if it is "median"."""
    if given == "median":
        return metrics.latency_parameter(totals)
    if isinstance(given, str):
        raise ValueError(f'latency_p must be a number or "median", got {given!r}')
    return as_not_negative("latency_p", given)


def _measures(
    scores: Scores,
    alerted: BoolArray,
    delays: IntArray,
    score: ScoreName,
    deadlines: Sequence[int],
    p: float,
) -> Measures:
    truth = is_positive(scores)
    first = first_delays(scores.totals, scores.by)
    everyone = np.isfinite(first)
    decisions, at_once = (alerted, delays), (everyone, np.where(everyone, first, 0))

    def measured(name: str, decided: tuple[BoolArray, Any] = decisions) -> float:
        return alert_measure(name, p)(truth, *decided, positive=True)

    return Measures(
        subjects=truth.size,
        positives=int(truth.sum()),
        alerts=int(alerted.sum()),
        erde={one: measured(f"erde{one}") for one in deadlines},
        erde_bounds=bounds_by_deadline(truth, first, deadlines),
        precision=measured("precision"),
        recall=measured("recall"),
        f1=measured("f1"),
        median_delay=measured("latency"),
        speed=measured("speed"),
        f_latency=measured("f_latency"),
        average_precision=average_precision_of(scores, score),
        at_once={
            "median_delay" if name == "latency" else name: measured(name, at_once)
            for name in ("precision", "recall", "f1", "f_latency", "speed", "latency")
        },
        latency_p=p,
    )
