"""The experiments of the paper: SS3 and τ-SS3 on its tasks, n-gram lengths, and the search.

SS3 is τ-SS3 with words only, and a shorter model is a longer one without its longer n-grams, also
if n-grams were pruned: what is dropped depends on the count of an n-gram alone. So each task is
learnt once, for all lengths.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from watchword._checks import Progress, as_whole, tracked
from watchword._display import finite
from watchword._files import AnyPath
from watchword.data import Subject
from watchword.erisk.paper_tasks import (
    OfficialTest,
    TaskResult,
    decide,
    find_sets,
    learn,
    read_test,
    read_training,
)
from watchword.erisk.published import TASKS, Task, TaskName, task_named
from watchword.erisk.run_score import RunScore, intervals_of, p_values_of
from watchword.erisk.synthetic import make_collection
from watchword.erisk.truth import POSITIVE
from watchword.errors import DataFormatError
from watchword.evaluation.metrics import LATENCY_P, Interval
from watchword.evaluation.tuning import tune
from watchword.evaluation.tuning_result import Trial, Tuning
from watchword.explain.story import Story
from watchword.model.parameters import PAPER, PAPER_GRID, PAPER_TASKS
from watchword.model.results import ModelStatistics
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.policies import Overtakes

ModelName = Literal["SS3", "τ-SS3"]

MODELS: dict[ModelName, int] = {"SS3": 1, "τ-SS3": PAPER["max_ngram"]}  #: longest n-gram of each
LENGTHS = tuple(range(1, 11))
POST = 60  #: of figure 5
SUBJECT = "subject9579"  #: of figure 5, with a prefix for the set in the files
SUBJECTS, MOST_WRITINGS = 200, 150  #: of each synthetic collection
WARNING = (
    "SYNTHETIC COLLECTIONS, made by watchword: these are not results on eRisk. "
    "Do not compare them with published ones."
)
_SEARCHED = tuple(PAPER_GRID)

Phases = Callable[[str], Progress]


@dataclass(frozen=True)
class ModelRun:
    """A model on the test set of a task: its values of σ, λ, ρ and of the longest n-gram."""

    name: str
    parameters: Mapping[str, Any]
    score: RunScore
    result: TaskResult = field(repr=False)


@dataclass(frozen=True)
class Comparison:
    """The paired comparison of two runs on the same subjects: `run` minus `baseline`."""

    run: str
    baseline: str
    differences: Mapping[str, Interval]  #: with 95 % bootstrap intervals
    p_values: Mapping[str, float]  #: two-sided, by randomization

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        differences = {
            name: {each: finite(getattr(one, each)) for each in ("value", "low", "high")}
            | {"p": self.p_values.get(name)}
            for name, one in self.differences.items()
        }
        return {"run": self.run, "baseline": self.baseline, "differences": differences}


class StoryPair(NamedTuple):
    """The story of one subject up to a post, under both models."""

    subject: Subject
    stories: Mapping[ModelName, Story]

    @property
    def post(self) -> int:
        """The number of the post."""
        return len(self.subject.posts)


@dataclass(frozen=True)
class TaskStudy:
    """All results on one task.

    `runs` are SS3 and τ-SS3 with the parameters of the paper and, after a search, with the values
    found by it. `lengths` has the scores of models with longer and shorter n-grams.
    """

    task: Task
    runs: tuple[ModelRun, ...]
    lengths: Mapping[int, RunScore]
    search: Tuning | None
    comparisons: tuple[Comparison, ...]
    pair: StoryPair | None
    learnt: ModelStatistics  #: of τ-SS3
    prune_period: int  #: words between prunings

    @property
    def is_synthetic(self) -> bool:
        """Whether `make_collection` wrote the test set."""
        return self.runs[0].result.is_synthetic

    @property
    def warning(self) -> str:
        """Why not to compare with published results; empty for the official test set."""
        return WARNING if self.is_synthetic else " ".join(self.runs[0].result.warning()).strip()

    def found(self, name: ModelName) -> Trial | None:
        """Return the values of σ, λ and ρ that the search found best for a model."""
        return None if self.search is None else _best(self.search, MODELS[name])

    def of_paper(self, name: ModelName) -> Trial | None:
        """Return the measures in the search of the values of the paper."""
        if self.search is None:
            return None
        wanted = {one: PAPER[one] for one in _SEARCHED} | {"max_ngram": MODELS[name]}
        return next(trial for trial in self.search.trials if trial.parameters == wanted)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "task": self.task.name,
            "is_synthetic": self.is_synthetic,
            "warning": self.warning or None,
            "runs": [
                run.score.to_dict() | {"parameters": dict(run.parameters)} for run in self.runs
            ],
            "published": [row.to_dict() for row in self.task.table],
            "lengths": {length: score.to_dict() for length, score in self.lengths.items()},
            "search": {
                name: {"found": found.to_dict(), "paper": of_paper.to_dict()}
                for name in MODELS
                if (found := self.found(name)) and (of_paper := self.of_paper(name))
            },
            "comparisons": [one.to_dict() for one in self.comparisons],
            "learnt": {
                "documents": self.learnt.documents,
                "words": self.learnt.words,
                "ngrams": list(self.learnt.ngrams),
                "pruned_ngrams": self.learnt.pruned_ngrams,
                "prune_period": self.prune_period,
            },
            "story": None
            if self.pair is None
            else {"subject": self.pair.subject.id, "post": self.pair.post},
        }


@dataclass(frozen=True)
class StudySettings:
    """Settings of a study: see `study_tasks`."""

    lengths: Sequence[int] = LENGTHS
    search: bool = True
    grid: Mapping[str, Sequence[float]] = field(default_factory=lambda: dict(PAPER_GRID))
    folds: int = 4
    prune_period: int = PAPER_TASKS["prune_period"]
    subject: str | None = None
    post: int = POST
    seed: int = 0
    threads: int | None = None
    repeats: int = 1000

    def __post_init__(self) -> None:
        for length in self.lengths:
            as_whole("lengths", length, 1, LENGTHS[-1])
        as_whole("post", self.post, 1)
        as_whole("seed", self.seed, 0)
        as_whole("repeats", self.repeats, 1)
        for name in _SEARCHED:
            if name not in self.grid or PAPER[name] not in self.grid[name]:
                raise ValueError(f"grid[{name!r}] must contain the paper's value, {PAPER[name]}")


def study_tasks(
    data: AnyPath | None = None,
    tasks: Sequence[TaskName] = tuple(TASKS),  # type: ignore[arg-type]
    *,
    settings: StudySettings | None = None,
    subjects: int = SUBJECTS,
    most_writings: int = MOST_WRITINGS,
    progress: Phases | None = None,
) -> Iterator[TaskStudy]:
    """Run the paper's experiments, and yield the results of each task as soon as they are there.

    For each task, SS3 and τ-SS3 learn the training set as in the paper (parameters, pruning every
    million words of n-grams with count ≤ 10, one thread) and decide chunk by chunk on the test set.
    All `lengths` of n-grams are tried. The search tries the values of `grid` for σ, λ and ρ by
    cross-validation over the subjects of the training set, separately for both models, and takes
    those of lowest ERDE50.

    The sets are searched for below the folder `data`. Without it, synthetic collections are made,
    each of that number of `subjects` and of `most_writings` at most per subject, and
    `TaskStudy.is_synthetic` is true.

    `progress` returns a progress callback for the name of a phase.

    >>> few = StudySettings(lengths=[1, 3], search=False)
    >>> [study] = study_tasks(None, ["2018-anorexia"], settings=few, subjects=60, most_writings=30)
    >>> study.is_synthetic, [run.name for run in study.runs]
    (True, ['SS3', 'τ-SS3'])
    """
    own = StudySettings() if settings is None else settings
    chosen = [task_named(task).name for task in tasks]
    if not chosen:
        raise ValueError("tasks must name at least one task")
    if data is not None:
        for task in chosen:
            yield _study_task(task, data, own, progress)
        return
    with tempfile.TemporaryDirectory() as folder:
        # The collection of 2018 contains the one of 2017.
        needed = {*chosen} - ({"2017-depression"} if "2018-depression" in chosen else set())
        for made in [task for task in dict.fromkeys(chosen) if task in needed]:
            make_collection(
                Path(folder, made),
                made,
                subjects=subjects,
                most_writings=most_writings,
                seed=own.seed,
                progress=progress and progress(f"making a synthetic collection: {made}"),
            )
        for task in chosen:
            yield _study_task(task, folder, own, progress)


def _study_task(
    name: TaskName, data: AnyPath, own: StudySettings, progress: Phases | None
) -> TaskStudy:
    task = task_named(name)

    def phase(what: str) -> Progress | None:
        return None if progress is None else progress(f"{name}: {what}")

    sets = find_sets(name, data)
    reading = phase("reading")
    training = [subject for place in sets.train for subject in read_training(place, reading)]
    test = read_test(sets.test, reading)
    longest = max([*own.lengths, *MODELS.values()])
    taught = TauSS3(**PAPER_TASKS | {"prune_period": own.prune_period, "max_ngram": longest})
    learn(taught, training, threads=own.threads, progress=phase("learning"))
    models = {model: taught.replace(max_ngram=length) for model, length in MODELS.items()}
    run = partial(_run, task, test, own)
    runs = [run(model, each) for each, model in models.items()]
    search = None
    if own.search:
        search = _searched(training, own, phase("searching"))
        runs += [
            run(model.replace(**_best(search, MODELS[each]).parameters), f"{each}-tuned")
            for each, model in models.items()
        ]
    lengths = tracked(own.lengths, len(own.lengths), phase("n-gram lengths"))
    return TaskStudy(
        task,
        tuple(runs),
        {each: run(taught.replace(max_ngram=each), str(each)).score for each in lengths},
        search,
        tuple(_comparisons(runs, own)),
        _pair(test.subjects, models, own),
        models["τ-SS3"].statistics,
        own.prune_period,
    )


def _run(task: Task, test: OfficialTest, own: StudySettings, model: TauSS3, name: str) -> ModelRun:
    result = decide(task, test, model, Overtakes(POSITIVE), name=name, threads=own.threads)
    if result.score is None:
        raise DataFormatError("the test set has no golden truth (needed to compare models)")
    parameters = {each: model.parameters[each] for each in (*_SEARCHED, "max_ngram")}
    return ModelRun(name, parameters, result.score, result)


def _searched(training: Sequence[Subject], own: StudySettings, progress: Progress | None) -> Tuning:
    return tune(
        training,
        Overtakes(POSITIVE),
        measure="erde50",
        parameters={**own.grid, "max_ngram": list(MODELS.values())},
        model=TauSS3(**PAPER_TASKS | {"prune_period": own.prune_period}),
        folds=own.folds,
        by="chunk",
        seed=own.seed,
        refine=False,
        threads=own.threads,
        progress=progress,
    )


def _best(search: Tuning, length: int) -> Trial:
    return next(trial for trial in search.trials if trial.parameters["max_ngram"] == length)


def _comparisons(runs: Sequence[ModelRun], own: StudySettings) -> Iterator[Comparison]:
    """Yield the comparison of τ-SS3 with SS3, and the same after the search."""
    scores = [run.score for run in runs]
    for base, run in zip(scores[::2], scores[1::2], strict=True):
        options = {"seed": own.seed, "repeats": own.repeats}
        between = intervals_of(run, base, LATENCY_P, {**options, "confidence_level": 0.95})
        p_values = p_values_of(run, base, LATENCY_P, **options)
        yield Comparison(run.name, base.name, between.intervals, p_values)


# Figure 5


def _pair(
    subjects: Sequence[Subject], models: Mapping[ModelName, TauSS3], own: StudySettings
) -> StoryPair | None:
    """Return the stories of a subject under both models, up to the post of figure 5."""
    chosen = _subject(subjects, models["τ-SS3"], own)
    if chosen is None:
        return None
    begun = Subject(chosen.id, list(chosen.posts[: own.post]), chosen.label)
    policy = Overtakes(POSITIVE)
    return StoryPair(begun, {name: model.story(begun, policy) for name, model in models.items()})


def _subject(subjects: Sequence[Subject], model: TauSS3, own: StudySettings) -> Subject | None:
    """Return the chosen subject, else the paper's, else the positive one with the strongest post.

    If no positive subject has enough posts, return the one with the most posts.
    """
    if own.subject is not None:
        for subject in subjects:
            if subject.id == own.subject and subject.posts:
                return subject
        raise ValueError(f"subject {own.subject!r} is not in the test set, or has no posts")
    for subject in subjects:
        if subject.id.endswith(SUBJECT) and len(subject.posts) >= own.post:
            return subject
    positive = [one for one in subjects if one.label == POSITIVE and one.posts]
    long_enough = [one for one in positive if len(one.posts) >= own.post]
    if not long_enough:
        return max(positive, key=lambda one: len(one.posts), default=None)
    values = [
        model.confidence_one(one.posts[own.post - 1].content)[POSITIVE] for one in long_enough
    ]
    return long_enough[values.index(max(values))]
