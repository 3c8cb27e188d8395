"""The runs of a client: models and policies that read rounds, and their answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from watchword.erisk.journal import Journal
from watchword.erisk.protocol import MOST_RUNS, Answer, Round
from watchword.erisk.transport import Emissions
from watchword.errors import StateError
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.function_model import FunctionModel
from watchword.streams.policies import Policy
from watchword.streams.readers import Decision, Watcher

ClientRun = tuple[TauSS3 | FunctionModel, Policy]


class RunReaders:
    """The watchers of all runs, resumed from the journal."""

    def __init__(
        self,
        runs: Sequence[ClientRun],
        journal: Journal,
        *,
        threads: int | None,
        context: bool,
        has_emissions: bool = False,
    ) -> None:
        past = journal.past
        states: Sequence[bytes | None] = past.watchers or [None] * len(runs)
        self.watchers: list[Watcher] = [
            model.watcher(policy, state=state)
            for (model, policy), state in zip(runs, states, strict=True)
        ]
        self._threads = threads
        self._context = context
        self._tracker = Emissions(is_wanted=has_emissions)
        self.emissions: list[dict[str, Any]] = []  # of each run in the latest round
        self.alerts: tuple[tuple[Decision, ...], ...] = ()  # new in the latest round
        self.answers: list[list[Answer]] = []
        for before in past.rounds:
            self.read(before.round)
            kept = zip(before.answers or [], self.answers, strict=False)
            if any(own and _decisions(own) != _decisions(again) for own, again in kept):
                raise StateError(
                    f"{journal.path}: round {before.round.number}, read again, gives different "
                    "decisions; was it written by another version of watchword?"
                )

    def read(self, current: Round) -> None:
        """Read a round in every run, and answer about every subject so far."""
        posts = current.posts
        if self._context:
            posts = {nick: post.with_context() for nick, post in posts.items()}
        alerts = []
        self.emissions = []
        for watcher in self.watchers:
            with self._tracker.measuring() as used:
                alerts.append(tuple(watcher.read_round(posts, threads=self._threads)))
            self.emissions.append(used)
        self.alerts = tuple(alerts)
        self.answers = [_answers_of(watcher) for watcher in self.watchers]

    def delays(self) -> tuple[dict[str, int], ...]:
        """Return the number of posts read before each alert of each run."""
        return tuple(
            {str(each.subject): each.delay for each in watcher.decisions() if each}
            for watcher in self.watchers
        )


def run_names(runs: Sequence[ClientRun], *, context: bool) -> tuple[str, ...]:
    """Return a name for each run, equal for equal models and policies on any machine."""
    if not 1 <= len(runs) <= MOST_RUNS:
        raise ValueError(f"runs must be 1 to {MOST_RUNS} pairs of model and policy")
    names = []
    for model, policy in runs:
        described = json.dumps(policy.to_dict(), sort_keys=True, default=repr)
        names.append(f"{model.fingerprint} {described}" + " with context" * context)
    return tuple(names)


def _answers_of(watcher: Watcher) -> list[Answer]:
    scores = watcher.scores()
    decided = watcher.decisions()
    return [
        Answer(str(each.subject), int(bool(each)), scores[str(each.subject)]) for each in decided
    ]


def _decisions(answers: list[Answer]) -> list[tuple[str, int]]:
    return [(answer.nick, answer.decision) for answer in answers]
