"""watchword on streams: τ-SS3 and SS3, model and policy tuned by `watchword.tune`; and refined.

`python stream_ours.py NAME < JOB` prints what was decided about the test subjects. OURS, PAPERS and
`thresholds` are what is tried, the thresholds also on the values of PySS3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ours import watchword
from process import Stopwatch
from stream_job import Job, Row, answer
from stream_parts import NEGATIVE, POSITIVE, Part
from stream_threshold import FIRST_POSTS

FOLDS = 4
SEED = 0
# The parameters that are tuned: around those of the package, and around those of the paper (ρ
# changes nothing between two labels).
OURS: dict[str, Sequence[Any]] = {
    "smoothness": (0.07, 0.13, 0.25),
    "significance": (0.35, 0.7, 1.4),
}
PAPERS: dict[str, Sequence[Any]] = {
    "smoothness": (0.2, 0.3, 0.455),
    "significance": (0.5, 1.0, 2.0),
}
LEARNT = "tau-ss3-learnt"
REFINED = "tau-ss3-refined"
NAMES = ("tau-ss3", LEARNT, REFINED, "tau-ss3-paper", "ss3")


def thresholds() -> Any:
    """What is tried for every setting of the model."""
    return watchword().Thresholds(POSITIVE, FIRST_POSTS)


def subjects_of(part: Part) -> list[Any]:
    ww = watchword()
    return [
        ww.Subject(
            subject,
            [
                ww.Post(text, time=began if place == 0 else None)
                for place, text in enumerate(part.texts[begin:end])
            ],
            POSITIVE if is_positive else NEGATIVE,
        )
        for subject, is_positive, began, begin, end in zip(
            part.subjects, part.truth, part.began, part.starts[:-1], part.starts[1:], strict=True
        )
    ]


def folds_of(part: Part, order: str) -> tuple[tuple[int, ...], ...]:
    """The folds that `watchword.tune` uses, for everybody else."""
    watchword()
    from watchword.evaluation.folds import folds_of

    folds = folds_of(subjects_of(part), POSITIVE, folds=FOLDS, order=order, seed=SEED)
    return tuple(tuple(fold) for fold in folds)


def run(name: str, job: Job) -> dict[str, Any]:
    ww = watchword()
    train, test = subjects_of(job.train), subjects_of(job.test)
    if name == REFINED:
        return {"version": ww.__version__, "rows": _refined_rows(job, train, test)}
    base, parameters = _begin(name)
    rows = {}
    for measure in job.measures:
        job.say(f"{name}: tuning for {measure}")
        watch = Stopwatch()
        with watch.step("learn"):
            tuning = ww.tune(
                train,
                ww.Learnt(POSITIVE) if name == LEARNT else thresholds(),
                measure=measure,
                parameters=parameters,
                model=base,
                folds=FOLDS,
                order=job.order,
                seed=SEED,
                refine=name in ("tau-ss3", LEARNT),
                threads=1,
            )
            model = tuning.model(train)
        with watch.step("read"):
            replay = ww.replay(test, model, tuning.best.policy, threads=1)
        own = ", ".join(f"{key}={value}" for key, value in tuning.best.parameters.items())
        own += "; refined" if tuning.best.refined else ""
        setting = f"{own}; {tuning.best.policy!r}"
        rows[measure] = _row(setting, tuning.best.value, replay) | {"seconds": watch.processor}
    return {"version": ww.__version__, "rows": rows}


def _begin(name: str) -> tuple[Any, dict[str, Sequence[Any]]]:
    """The model that is given, and what is tuned."""
    ww = watchword()
    if name in ("tau-ss3", LEARNT):
        return ww.TauSS3(), OURS
    if name == "tau-ss3-paper":
        return ww.TauSS3.paper(), PAPERS
    return ww.TauSS3(max_ngram=1), OURS


def _refined_rows(job: Job, train: list[Any], test: list[Any]) -> dict[str, Any]:
    """Return the rows of refined models: the policy is tuned, the parameters are the defaults."""
    ww = watchword()
    watch = Stopwatch()
    with watch.step("learn"):
        model = _refined(train)
        scores = _held_out_scores(job, train)
    rows = {}
    for measure in job.measures:
        job.say(f"{REFINED}: tuning for {measure}")
        with watch.step("tune"):
            value, policy = _best_policy(scores, job, measure)
        with watch.step("read"):
            replay = ww.replay(test, model, policy, threads=1)
        seconds = {
            "learn": watch.processor["learn"] + watch.processor["tune"],
            "read": watch.processor["read"],
        }
        rows[measure] = _row(repr(policy), value, replay) | {"seconds": seconds}
    return rows


def _refined(subjects: list[Any]) -> Any:
    """Return a model that was refined with posts, each with the label of its subject."""
    texts = [post.content for subject in subjects for post in subject.posts]
    labels = [subject.label for subject in subjects for _ in subject.posts]
    model = watchword().TauSS3()
    model.learn_many(texts, labels, threads=1)
    model.refine(texts, labels, cost=0.1, balanced=True, threads=1)
    return model


def _held_out_scores(job: Job, subjects: list[Any]) -> Any:
    """Return the scores of all subjects, each from a model of the other folds."""
    ww = watchword()
    series: list[Any] = [None] * len(subjects)
    for fold in job.folds:
        own = set(fold)
        model = _refined([one for place, one in enumerate(subjects) if place not in own])
        found = ww.score_streams([subjects[place] for place in fold], model, POSITIVE, threads=1)
        for place, each in zip(fold, found.series, strict=True):
            series[place] = each
    return _scores_of(job.train, series)


def rows_of_values(answered: dict[str, Any], job: Job) -> dict[str, Any]:
    """The rows of a program that gave values for every post: its policy is tuned here."""
    ww = watchword()
    train = _scores(job.train, np.array(answered["train_values"]))
    test = _scores(job.test, np.array(answered["test_values"]))
    rows = {}
    for measure in job.measures:
        watch = Stopwatch()
        with watch.step("tune"):
            value, policy = _best_policy(train, job, measure)
        with watch.step("read"):
            replay = ww.replay_scores(test, policy)
        seconds = {
            "learn": answered["seconds"]["learn"] + watch.processor["tune"],
            "read": answered["seconds"]["read"] + watch.processor["read"],
        }
        rows[measure] = _row(repr(policy), value, replay) | {"seconds": seconds}
    return rows


def _best_policy(scores: Any, job: Job, measure: str) -> tuple[float, Any]:
    """The best policy by the mean over folds, as in `watchword.tune`."""
    ww = watchword()
    from watchword.evaluation.scores import alerts_of

    def judged(fold: Iterable[int], policy: Any) -> float:
        chosen = scores.chosen(list(fold))
        truth = np.array([label == POSITIVE for label in chosen.truth])
        alerted, delays = alerts_of(chosen, policy)
        if measure == "f_latency":
            return float(ww.latency_weighted_f1(truth, alerted, delays, positive=True))
        return float(ww.erde(truth, alerted, delays, deadline=50, positive=True))

    sign = -1 if measure == "f_latency" else 1
    sizes = [len(fold) for fold in job.folds]
    tried = thresholds().policies([scores])
    values = [
        float(np.average([judged(fold, policy) for fold in job.folds], weights=sizes))
        for policy in tried
    ]
    best = int(np.argmin(sign * np.array(values)))
    return values[best], tried[best]


def _scores(part: Part, values: NDArray[np.float64]) -> Any:
    """Accumulated values of another program, as `watchword.score_streams` makes them."""
    watchword()
    from watchword.evaluation.scores import Series

    series = [
        Series.from_gains(values[begin:end], 0)
        for begin, end in zip(part.starts[:-1], part.starts[1:], strict=True)
    ]
    return _scores_of(part, series)


def _scores_of(part: Part, series: Sequence[Any]) -> Any:
    watchword()
    from watchword.evaluation.scores import Scores

    truth = tuple(POSITIVE if is_positive else NEGATIVE for is_positive in part.truth)
    sizes = np.diff(part.starts)
    return Scores(part.subjects, truth, POSITIVE, "post", tuple(series), sizes)


def _row(setting: str, value: float, replay: Any) -> dict[str, Any]:
    delays = [outcome.delay for outcome in replay.outcomes]
    scores = [outcome.score for outcome in replay.outcomes]
    return Row(setting, value, delays, scores).to_dict()


if __name__ == "__main__":
    answer(run, NAMES)
