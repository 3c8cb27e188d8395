"""Tuning of model parameters and policies by cross-validation over subjects."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from watchword._arrays import BoolArray, IntArray
from watchword._checks import Label
from watchword._display import csv_of, many, named_values, ranked_lines
from watchword._progress import Progress, tracked
from watchword.data import Subject
from watchword.evaluation import metrics
from watchword.evaluation.folds import Order, folds_of
from watchword.evaluation.replaying import average_precision_of, is_positive
from watchword.evaluation.scores import By, Scores, alerts_of, score_streams
from watchword.evaluation.thresholds import Thresholds
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.policies import Policy
from watchword.streams.policy import ranking_score
from watchword.streams.teaching import teach

AlertMeasure = str | Callable[..., float]
_AnyPolicy = TypeVar("_AnyPolicy", bound=Policy)


@dataclass(frozen=True)
class Trial:
    """A setting of model and policy, and its measure on held-out subjects."""

    parameters: dict[str, Any]
    policy: Policy
    value: float
    by_fold: tuple[float, ...]
    refined: bool = False  #: whether the models were refined


@dataclass(frozen=True)
class Tuning:
    """All settings tried, best first."""

    measure: str
    trials: tuple[Trial, ...]
    base: dict[str, Any]

    @property
    def best(self) -> Trial:
        """The best setting; of equals, the first."""
        return self.trials[0]

    def model(self, subjects: Iterable[Subject]) -> TauSS3:
        """Return a model with the best parameters, taught with these subjects.

        It is refined if that was better by cross-validation (`best.refined`).
        """
        model = TauSS3(**(self.base | self.best.parameters))
        teach(model, subjects, refine=self.best.refined)
        return model

    def __repr__(self) -> str:
        best = f", best {self.best.value:.4g}" if self.trials else ""
        return f"<Tuning of {many(len(self.trials), 'trial')} by {self.measure}{best}>"

    def __str__(self) -> str:
        rows = []
        for trial in self.trials:
            parts = [named_values(trial.parameters), "refined" if trial.refined else ""]
            own = "".join(f"{part}; " for part in parts if part)
            rows.append((trial.value, f"{own}{trial.policy!r}"))
        return "\n".join(ranked_lines(self.measure, rows))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {"measure": self.measure, "trials": [_plain(trial) for trial in self.trials]}

    def to_json(self) -> str:
        """Return `to_dict` as JSON, in ASCII."""
        return json.dumps(self.to_dict(), default=repr)

    def to_csv(self, *, spreadsheet_safe: bool = False) -> str:
        """Return a line per setting.

        With `spreadsheet_safe`, text that a spreadsheet would run as a formula gets a leading
        apostrophe.
        """
        rows = [
            {
                **trial.parameters,
                "refined": trial.refined,
                "policy": repr(trial.policy),
                self.measure: trial.value,
            }
            for trial in self.trials
        ]
        return csv_of(rows, spreadsheet_safe=spreadsheet_safe)


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
    subjects: Iterable[Subject],
    policies: Policy | Thresholds | Iterable[Policy | Thresholds],
    *,
    measure: AlertMeasure = "erde50",
    parameters: Mapping[str, Sequence[Any]] | None = None,
    model: TauSS3 | None = None,
    folds: int = 4,
    by: By = "post",
    order: Order = "random",
    seed: int = 0,
    refine: bool = True,
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
    policies are tried on the result. `model` provides the other parameters. `Thresholds` are
    replaced by policies fitted to each setting; the scores of all settings are then kept in memory,
    48 bytes per post and setting.

    With `refine`, all policies are also tried on refined models with the best parameters, taught
    as by `teach(refine=True)` without the held-out subjects. Of equals, the counted one is best.

    `measure` is `"erde5"`, `"erde50"` or ERDE with any other deadline (with each fold's share of
    positives as the cost of a false positive), `"f1"`, `"f_latency"`, `"average_precision"` (of
    the ranking, see `Policy.ranks_by`), or a function of `(y_true, y_pred, delays, positive=…)` to
    minimise. The function may have further parameters `posts` (the number of posts of each
    subject), `scores` (by which subjects are ranked, after the last post) and `subjects` (the ids).
    The value of a setting is the mean over folds, weighted by their number of subjects.

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
    listed = list(subjects)
    asked = [policies] if isinstance(policies, Policy | Thresholds) else list(policies)
    positive = _common_positive(asked)
    name, judge, sign = alert_judge_of(measure)
    base = {} if model is None else model.parameters
    parts = folds_of(listed, positive, folds=folds, order=order, seed=seed)

    def read_all(settings: list[dict[str, Any]], refined: bool) -> Iterator[Scores]:
        """Yield the scores of each fold's subjects with each setting."""
        for part in parts:
            taught = _taught_without(listed, part, base, settings, threads, refined=refined)
            held_out = [listed[index] for index in part]
            for setting in settings:
                model = taught.replace(**setting)
                yield score_streams(held_out, model, positive, by=by, threads=threads)

    def try_all(settings: list[dict[str, Any]], *, refined: bool = False) -> list[Trial]:
        """Return the trials of all policies with these settings, best first."""
        total = len(parts) * len(settings)
        readings = tracked(read_all(settings, refined), total, progress)
        if any(isinstance(one, Thresholds) for one in asked):
            held = list(readings)
            tried = [_fitting(asked, held[i :: len(settings)]) for i in range(len(settings))]
            readings = tracked(held, total, progress)
        else:
            tried = [_fitting(asked, [])] * len(settings)
        judged = [
            [judge(scores, one, *alerts_of(scores, one)) for one in tried[i % len(settings)]]
            for i, scores in enumerate(readings)
        ]
        sizes = [len(part) for part in parts]
        trials = []
        for i, (setting, own) in enumerate(zip(settings, tried, strict=True)):
            values = np.array(judged[i :: len(settings)])
            means = np.average(values, axis=0, weights=sizes)
            trials += [
                Trial(setting, policy, float(mean), tuple(by_fold), refined)
                for policy, mean, by_fold in zip(own, means, values.T.tolist(), strict=True)
            ]
        return sorted(trials, key=lambda trial: sign * trial.value)

    trials = try_all(_settings(parameters or {}))
    best = trials[0].parameters
    if refine and _can_refine(base | best):
        trials = sorted(
            [*trials, *try_all([best], refined=True)], key=lambda trial: sign * trial.value
        )
    return Tuning(name, tuple(trials), base)


def _can_refine(parameters: dict[str, Any]) -> bool:
    return parameters.get("summary", "sum") == "sum" and parameters.get("prune_period") is None


def _fitting(asked: list[Policy | Thresholds], scores: Sequence[Scores]) -> list[Policy]:
    """Return all policies, with `Thresholds` replaced by policies fitted to the scores."""
    own = [[one] if isinstance(one, Policy) else one.policies(scores) for one in asked]
    return list(itertools.chain.from_iterable(own))


def _taught_without(
    subjects: list[Subject],
    held_out: list[int],
    base: dict[str, Any],
    settings: list[dict[str, Any]],
    threads: int | None,
    *,
    refined: bool,
) -> TauSS3:
    """Return a model taught with all other subjects, with the longest n-grams of any setting.

    A refined model has the parameters of the only setting, for which its corrections hold.
    """
    longest = [setting["max_ngram"] for setting in settings if "max_ngram" in setting]
    own = settings[0] if refined else {"max_ngram": max(longest)} if longest else {}
    model = TauSS3(**(base | own))
    left_out = set(held_out)
    teach(
        model,
        [subject for index, subject in enumerate(subjects) if index not in left_out],
        refine=refined,
        threads=threads,
    )
    return model


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


def _common_positive(policies: list[Policy | Thresholds]) -> Label:
    if not policies:
        raise ValueError("there must be at least one policy")
    for policy in policies:
        if not isinstance(policy, Policy | Thresholds):
            raise TypeError(f"policies must be Policy objects, got {policy!r}")
    labels = {policy.positive for policy in policies}
    if len(labels) > 1:
        raise ValueError(f"all policies must be for the same label, got {labels}")
    return policies[0].positive


_Judge = Callable[[Scores, Policy, BoolArray, IntArray], float]
_ERDE = re.compile(r"erde([1-9]\d{0,8})", re.ASCII)
# Further parameters that a measure function may have.
_MORE: dict[str, Callable[[Scores, Policy], Any]] = {
    "posts": lambda scores, _: scores.totals,
    "scores": lambda scores, policy: scores.histories.scores(ranking_score(policy, scores.has)),
    "subjects": lambda scores, _: list(scores.subjects),
}


def _parameters_of(function: Callable[..., Any]) -> Iterable[str]:
    try:
        return signature(function).parameters
    except ValueError:  # some functions written in C have no signature
        return ()


def alert_judge_of(measure: AlertMeasure) -> tuple[str, _Judge, int]:
    """Return the name of a measure, a function to compute it, and -1 if higher is better."""
    options: dict[str, Any] = {"positive": True, "minimum_delay": 0}
    if callable(measure):
        own = measure
        asked = [name for name in _MORE if name in _parameters_of(own)]

        def judge_own(
            scores: Scores, policy: Policy, alerted: BoolArray, delays: IntArray
        ) -> float:
            more = {name: _MORE[name](scores, policy) for name in asked}
            value = float(own(is_positive(scores), alerted, delays, positive=True, **more))
            if math.isnan(value):
                raise ValueError(f"the measure {own!r} returned NaN on a fold")
            return value

        return getattr(measure, "__name__", "measure"), judge_own, 1

    def erde(deadline: int) -> _Judge:
        return lambda scores, _, alerted, delays: metrics.erde(
            is_positive(scores), alerted, delays, deadline=deadline, **options
        )

    if isinstance(measure, str) and (deadline := _ERDE.fullmatch(measure)):
        return measure, erde(int(deadline[1])), 1
    known: dict[str, tuple[_Judge, int]] = {
        "f1": (
            lambda scores, _policy, alerted, _delays: (
                metrics.precision_recall_f1(is_positive(scores), alerted, positive=True).f1
            ),
            -1,
        ),
        "f_latency": (
            lambda scores, _, alerted, delays: metrics.latency_weighted_f1(
                is_positive(scores), alerted, delays, **options
            ),
            -1,
        ),
        "average_precision": (
            lambda scores, policy, _alerted, _delays: average_precision_of(
                scores, ranking_score(policy, scores.has)
            ),
            -1,
        ),
    }
    if measure not in known:
        raise ValueError(
            "measure must be a function or one of 'erde5', 'erde50' (or another deadline), "
            f"{', '.join(map(repr, known))}, got {measure!r}"
        )
    return measure, *known[measure]


def _plain(trial: Trial) -> dict[str, Any]:
    return {
        "parameters": trial.parameters,
        "policy": trial.policy.to_dict(),
        "value": trial.value,
        "by_fold": list(trial.by_fold),
        "refined": trial.refined,
    }
