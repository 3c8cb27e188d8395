"""The task of a practice server: rounds, answers, and the measures of each run.

This module does not depend on HTTP.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from watchword._checks import Label, as_label, as_whole
from watchword.data.subjects import Subject
from watchword.erisk.dialects import DialectName, dialect_named
from watchword.erisk.protocol import MOST_RUNS, Answer, ServerError, Writing, as_answers, to_json
from watchword.erisk.run_files import RoundRun
from watchword.erisk.run_score import score_run
from watchword.erisk.truth import NEGATIVE, POSITIVE
from watchword.evaluation import metrics
from watchword.evaluation.replaying import DEADLINES, RANKING_ROUNDS, Ranking

_MEASURES = ("precision", "recall", "f1", "erde5", "erde50", "latency", "speed", "f_latency")


class ConflictError(ServerError):
    """An answer contradicts an earlier one."""


class EarlyError(ServerError):
    """A request for a round while answers are missing, for a task that rejects it."""


class DuplicateError(ServerError):
    """A duplicate answer, for a task that rejects duplicates."""


@dataclass(frozen=True)
class RunMeasures:
    """The measures of a run; ERDE as fractions, latency and speed None without a true positive."""

    precision: float
    recall: float
    f1: float
    erde5: float
    erde5_bounds: metrics.ErdeBounds
    erde50: float
    erde50_bounds: metrics.ErdeBounds
    latency: float | None
    speed: float | None
    f_latency: float
    rankings: tuple[Ranking, ...]


@dataclass(frozen=True)
class RunResult:
    """The results of a run: rounds, alerts with their delays, and measures for labelled data."""

    run: int
    rounds: int
    alerts: dict[str, int]
    measures: RunMeasures | None
    task: str = ""  #: one of `PracticeTask.tasks`


@dataclass(frozen=True)
class TaskResults:
    """The current or final results of a task."""

    subjects: int
    positives: int | None
    rounds: int
    finished: bool
    runs: tuple[RunResult, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Submission:
    """A run's answers for a round; `repeated` if it sent the same before."""

    round: int
    run: int
    digest: str
    repeated: bool
    task: str = ""


@dataclass
class _RunState:
    answers: tuple[Answer, ...] = ()  # the latest
    rounds: int = 0  # answered
    alerts: dict[str, int] = field(default_factory=dict)
    scores: dict[int, dict[str, float]] = field(default_factory=dict)  # by number of rounds


class PracticeTask:
    """The rounds of some subjects, for one team with one or more runs.

    >>> from watchword.data import Post
    >>> task = PracticeTask([Subject("ann", [Post("Hello."), Post("Bye.")])])
    >>> task.writings()[0].content
    'Hello.'
    >>> task.submit(0, [{"nick": "ann", "decision": 1, "score": 0.7}])
    >>> task.writings()[0].content, task.results().runs[0].alerts
    ('Bye.', {'ann': 1})
    """

    def __init__(
        self,
        subjects: Sequence[Subject],
        *,
        runs: int = 1,
        positive: Label | None = None,
        dialect: DialectName = "writings",
        tasks: Sequence[str] = (),
        refuse_duplicates: bool = False,
        refuse_early: bool = False,
        on_round: Callable[[int], None] | None = None,
    ) -> None:
        self.dialect = dialect_named(dialect)
        everybody = list(subjects)
        if not any(subject.posts for subject in everybody):
            raise ValueError("at least one subject must have posts")
        [(name, times)] = Counter(subject.id for subject in everybody).most_common(1)
        if times > 1:
            raise ValueError(f"duplicate subject id {name!r}")
        # Subjects without posts are not sent, but count as never alerted.
        self._subjects = [subject for subject in everybody if subject.posts]
        self._silent = len(everybody) - len(self._subjects)
        self.names = tuple(subject.id for subject in self._subjects)  #: of those that are sent
        self.last_round = max(len(subject.posts) for subject in self._subjects) - 1
        self._truth = None if positive is None else _truth(everybody, as_label(positive))
        self.tasks = _task_names(tasks)  #: each needs the answers of all runs
        self.runs = as_whole("runs", runs, 1, MOST_RUNS)  #: number of runs that must answer
        self._states = {
            (task, run): _RunState() for task in self.tasks or ("",) for run in range(self.runs)
        }
        self._refuse_duplicates, self._refuse_early = refuse_duplicates, refuse_early
        self._on_round = on_round
        self.round = 0
        self._given = False
        self.submissions: list[Submission] = []

    @property
    def finished(self) -> bool:
        """Whether every run has answered the last round."""
        return self.round == self.last_round and self._complete

    @property
    def _complete(self) -> bool:
        return not self._missing

    @property
    def _missing(self) -> int:
        """The number of answers to the current round that are missing."""
        return sum(state.rounds <= self.round for state in self._states.values())

    def messages(self, *, lagging: bool = False) -> list[dict[str, Any]]:
        """Return the current round as JSON objects of the task's dialect."""
        return [self.dialect.encode(one) for one in self.writings(lagging=lagging)]

    def writings(self, *, lagging: bool = False) -> list[Writing]:
        """Return the current round: the next one if every run has answered (unless lagging)."""
        if self._refuse_early and self._given and self._missing:
            raise EarlyError(f"{self._missing} answers to round {self.round} are missing")
        if self._complete and not lagging:
            if self.finished:
                return []
            self.round += 1
        self._given = True
        number = self.round
        return [
            Writing(
                nick=subject.id,
                number=number,
                title=post.title,
                content=post.text,
                date="" if post.time is None else post.time.isoformat(),
                id=number * len(self._subjects) + place,
                redditor=place,
                context=post.context,
            )
            for place, subject in enumerate(self._subjects)
            for post in subject.posts[number : number + 1]
        ]

    def submit(self, run: int, data: object, task: str = "") -> None:
        """Accept the answers of a run for the current round, in one of the tasks if there are any.

        Duplicate answers change nothing, unless the task rejects duplicates.
        """
        answers = as_answers(data, self.names)
        if not self._given:
            raise ConflictError("round 0 has not been requested yet")
        state = self._states[task, run]
        digest = hashlib.sha256(to_json(answers)).hexdigest()
        repeated = state.rounds == self.round + 1
        if repeated and self._refuse_duplicates:
            raise DuplicateError(f"run {run} has already answered round {self.round}")
        if repeated and answers != state.answers:
            raise ConflictError(f"run {run} has already answered round {self.round} differently")
        self.submissions.append(Submission(self.round, run, digest, repeated, task))
        if repeated:
            return
        state.answers, state.rounds = answers, self.round + 1
        for answer in answers:
            if answer.decision:
                state.alerts.setdefault(answer.nick, state.rounds)  # k = round + 1
        if state.rounds in RANKING_ROUNDS:
            state.scores[state.rounds] = _scores_in(answers)
        if self._complete and self._on_round is not None:
            self._on_round(self.round)

    def results(self) -> TaskResults:
        """Return the results so far."""
        truth = self._truth
        return TaskResults(
            subjects=len(self._subjects) + self._silent,
            positives=None if truth is None else [*truth.values()].count(POSITIVE),
            rounds=min(state.rounds for state in self._states.values()),
            finished=self.finished,
            runs=tuple(
                RunResult(run, state.rounds, dict(state.alerts), self._measures(state), task)
                for (task, run), state in self._states.items()
            ),
        )

    def _measures(self, state: _RunState) -> RunMeasures | None:
        if self._truth is None or not state.rounds:
            return None
        scores = state.scores | {state.rounds: _scores_in(state.answers)}
        run = RoundRun("", state.rounds, frozenset(self.names), state.alerts, scores)
        score = score_run(run, self._truth, None, DEADLINES, metrics.LATENCY_P, sorted(scores))
        found: dict[str, Any] = {name: score.measures[name] for name in _MEASURES}
        found |= {f"{name}_bounds": each for name, each in score.bounds.items()}
        return RunMeasures(**found, rankings=score.rankings)


def _task_names(tasks: Sequence[str]) -> tuple[str, ...]:
    names = tuple(tasks)
    if len(set(names)) < len(names) or not all(re.fullmatch(r"[\w-]+", name) for name in names):
        raise ValueError(f"tasks must be different names of letters and digits, got {tasks!r}")
    return names


def _scores_in(answers: Iterable[Answer]) -> dict[str, float]:
    return {answer.nick: answer.score for answer in answers}


def _truth(subjects: Sequence[Subject], positive: Label) -> dict[str, str]:
    for subject in subjects:
        if subject.label is None:
            raise ValueError(
                f"subject {subject.id!r} has no label, which measures need (use positive=None for "
                "no measures)"
            )
    if all(subject.label != positive for subject in subjects):
        raise ValueError(f"no subject has the positive label {positive!r}")
    return {one.id: POSITIVE if one.label == positive else NEGATIVE for one in subjects}
