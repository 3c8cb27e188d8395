"""The client of an eRisk task: asks for rounds, lets every run read them, sends the answers.

Killed at any moment and started again with the same journal, it neither loses a round nor
answers one twice. The protocol does not say which round an answer is meant for, so an answer
must not be sent again blindly: once the server has all runs it may have gone on, and would take
it for the next round. Two facts settle it. While some run was never sent, the server cannot have
gone on: sending another one again is safe. And once all were sent, the round that the server gives
out tells whether it has them. So before a run is sent again when all have been sent, after
a failure or a restart, the server is asked for its round.

A server may refuse an answer that it has already. So when an answer is refused that was sent
before with an unknown outcome, this may mean that it was received: the other runs are sent, and
the next round decides.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from watchword._checks import as_whole
from watchword.erisk.journal import Identity, Journal
from watchword.erisk.protocol import (
    MOST_RUNS,
    Answer,
    Round,
    ServerError,
    as_round,
    parse_json,
    to_json,
)
from watchword.erisk.transport import Attempts, Backoff, RefusedError, TransientError, Transport
from watchword.errors import DataFormatError, StateError
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.policies import Policy
from watchword.streams.readers import Decision, Watcher

logger = logging.getLogger("watchword.erisk")

Run = tuple[TauSS3, Policy]


@dataclass(frozen=True)
class RoundReport:
    """A round that the server has all answers for: its new alerts, for each run."""

    number: int
    alerts: tuple[tuple[Decision, ...], ...]


@dataclass(frozen=True)
class ClientReport:
    """How a task went: rounds in all, how the server ended it, and for each run who was alerted.

    `alerts` has for each run the subjects with the number of posts read when the alert fell.
    """

    rounds: int
    ended: Literal["empty", "repeated"]
    alerts: tuple[dict[str, int], ...]


def run_client(
    url: str,
    token: str,
    runs: Sequence[Run],
    *,
    journal: str | os.PathLike[str],
    timeout: float = 300.0,
    retries: int = 10,
    patience: float = 3600.0,
    first_wait: float = 1.0,
    repeats: int = 5,
    snapshot_every: int = 20,
    size_limit: int = 1 << 28,
    threads: int | None = None,
    seed: int = 0,
    on_round: Callable[[RoundReport], None] | None = None,
) -> ClientReport:
    """Take part in a task until its end; start it again with the same journal if it was stopped.

    Parameters
    ----------
    url
        what stands before `/getwritings/…`, as `https://host/task`.
    token
        the one that the organisers gave you; it appears in no message and no file.
    runs
        one to five pairs of a model and a policy; as many as you registered for.
    journal
        the file that makes a restart possible. It holds what people wrote.
    timeout
        seconds for connecting, for each piece of an answer, and for a whole body.
    retries, patience
        how often and for how many seconds a request is tried again before giving up.
    first_wait
        seconds before the first retry; doubled each time, up to a minute; a server may ask for
        more.
    repeats
        how often the server may give a round again that was fully answered before that counts as
        the end.
    snapshot_every
        after how many rounds the journal is shortened to the state of the watchers.
    size_limit
        the largest answer of the server that is read, in bytes.
    threads
        how many threads read a round; by default one per processor.
    seed
        of the chance in waiting times.
    on_round
        called after every round that is fully answered; after a restart once more for the latest
        one if it had not returned.
    """
    transport = Transport(url, token, timeout=timeout, size_limit=size_limit)
    backoff = Backoff(retries=retries, patience=patience, first_wait=first_wait, seed=seed)
    every, most = as_whole("snapshot_every", snapshot_every, 1), as_whole("repeats", repeats, 0)
    identity = Identity(transport.url, token.strip(), _names_of(runs))
    with Journal.open(journal, identity) as opened:
        crew = _Crew(runs, opened, threads=threads)

        def on_round_done(number: int, digest: str) -> None:
            if on_round is not None:
                on_round(RoundReport(number, crew.alerts))
            opened.reported(number)  # only now: better reported twice than never
            if (number + 1) % every == 0:
                opened.shorten(number, digest, [each.to_bytes() for each in crew.watchers])

        rounds, ended = _Client(transport, backoff, opened, crew, on_round_done).run(most)
        return ClientReport(rounds, ended, crew.delays())


class _Crew:
    """The watchers of all runs, brought to where the journal left them."""

    def __init__(self, runs: Sequence[Run], journal: Journal, *, threads: int | None) -> None:
        past = journal.past
        states: Sequence[bytes | None] = past.watchers or [None] * len(runs)
        self.watchers: list[Watcher] = [
            model.watcher(policy, state=state)
            for (model, policy), state in zip(runs, states, strict=True)
        ]
        self._threads = threads
        self.alerts: tuple[tuple[Decision, ...], ...] = ()  # new in the latest round
        self.answers: list[list[Answer]] = []
        for before in past.rounds:
            self.read(before.round)
            if before.answers is not None and _decisions(before.answers) != _decisions(
                self.answers
            ):
                raise StateError(
                    f"{journal.path}: round {before.round.number}, read again, gives other "
                    "decisions; was it written by another version of watchword?"
                )

    def read(self, current: Round) -> None:
        """Let every run read a round and answer about every subject ever named."""
        posts = current.posts
        self.alerts = tuple(
            tuple(watcher.read_round(posts, threads=self._threads)) for watcher in self.watchers
        )
        self.answers = [_answers_of(watcher) for watcher in self.watchers]

    def delays(self) -> tuple[dict[str, int], ...]:
        return tuple(
            {str(each.subject): each.delay for each in watcher.decisions() if each}
            for watcher in self.watchers
        )


class _Client:
    """The current round, and which runs the server may still miss."""

    def __init__(
        self,
        transport: Transport,
        backoff: Backoff,
        journal: Journal,
        crew: _Crew,
        on_round_done: Callable[[int, str], None],
    ) -> None:
        self._transport = transport
        self._backoff = backoff
        self._journal = journal
        self._crew = crew
        self._on_round_done = on_round_done
        self._number, self._digest = journal.past.number, journal.past.digest
        self._answers: list[list[Answer]] = []
        self._missing: list[int] = []  # not acknowledged
        self._sent: set[int] = set()  # at least once, with an unknown outcome or acknowledged
        self._refused: dict[int, RefusedError] = {}  # when sent again: the server may have them
        self._unreported = False
        if journal.past.rounds:
            latest = journal.past.rounds[-1]
            self._number, self._digest = latest.round.number, latest.round.digest
            self._answer(latest.answers, latest.acknowledged, latest.sent)
            self._unreported = not self._missing and not latest.reported

    def run(self, repeats: int) -> tuple[int, Literal["empty", "repeated"]]:
        """Go on until the end; how many rounds there were, and how they ended."""
        if self._unreported:
            self._on_round_done(self._number, self._digest)
        repeated = 0
        latest = self._ask()
        while latest is not None:
            if self._is_current(latest) and not self._unanswered:
                repeated += 1
                if repeated > repeats:
                    return self._end_by_repeating()
                time.sleep(self._backoff.wait_after(repeated))
                latest = self._ask()
                continue
            repeated = 0
            if not self._is_current(latest):
                self._move_on(latest)
            latest = self._send()
        if self._number < 0:
            raise ServerError(
                "the server has no writings for this token: the task has not begun or is over"
            )
        self._settle("ended the task")
        return self._number + 1, "empty"

    def _ask(self) -> Round | None:
        """Return the server's current round, or None after the last."""
        attempts = Attempts(self._backoff)
        while True:
            try:
                return as_round(parse_json(self._transport.get_writings()))
            except TransientError as error:  # noqa: PERF203
                attempts.failed(error)
            except DataFormatError as error:
                attempts.failed(
                    TransientError(f"getwritings: {self._transport.masked(str(error))}")
                )

    def _is_current(self, latest: Round) -> bool:
        if latest.number != self._number:
            return False
        if latest.digest != self._digest:
            raise StateError(
                f"{self._journal.path}: the server's round {latest.number} is not the one that "
                "was read; is it the journal of another task?"
            )
        return True

    def _move_on(self, latest: Round) -> None:
        """Read and answer the next round."""
        expected = self._number + 1
        if latest.number != expected:
            raise StateError(
                f"{self._journal.path}: the server is at round {latest.number}, expected was round "
                f"{expected}; was the task begun anew, or does another client use this token?"
            )
        self._settle(f"went on to round {latest.number}")
        self._journal.received(latest)
        self._number, self._digest = latest.number, latest.digest
        self._crew.read(latest)
        self._answer(None, set(), set())

    def _answer(
        self, kept: list[list[Answer]] | None, acknowledged: set[int], sent: set[int]
    ) -> None:
        """Settle what is sent about the current round: what was kept, or what was just read."""
        if kept is None:
            self._journal.answered(self._number, self._crew.answers)
            kept = self._crew.answers
        self._answers = kept
        self._missing = [run for run in range(len(kept)) if run not in acknowledged]
        self._sent = set(sent)
        self._refused = {}

    @property
    def _unanswered(self) -> list[int]:
        """The runs to send: not acknowledged, and not refused when sent again."""
        return [run for run in self._missing if run not in self._refused]

    def _send(self) -> Round | None:
        """Send what is missing, just after the server gave the current round; return its next."""
        attempts = Attempts(self._backoff)
        is_asked = True
        while unanswered := self._unanswered:
            run = unanswered[0]
            if not is_asked and self._sent.issuperset(self._missing):
                latest = self._ask()  # the server may have all answers, and have gone on
                if latest is None or not self._is_current(latest):
                    return latest
            is_asked = False
            try:
                self._submit(run)
            except TransientError as error:
                attempts.failed(error)
            else:
                attempts = Attempts(self._backoff)
        return self._ask()

    def _submit(self, run: int) -> None:
        """Send the answers of a run once, and record what came of it."""
        is_first = run not in self._sent
        if is_first:
            self._journal.sending(self._number, run)  # before it can have any effect
            self._sent.add(run)
        try:
            self._transport.submit(run, to_json(self._answers[run]))
        except RefusedError as error:
            if is_first:
                self._journal.refused(self._number, run)
                raise
            logger.warning("%s; the server may have received it before", error)
            self._refused[run] = error
        else:
            self._acknowledge(run)

    def _settle(self, doing: str) -> None:
        """Acknowledge all runs, because the server went on, which it does with all answers only."""
        unsent = [run for run in self._missing if run not in self._sent]
        if len(unsent) > 1:  # of one, a disk that failed may have lost the record
            raise ServerError(
                f"the server {doing} without the answers of runs {', '.join(map(str, unsent))}: "
                "does it expect fewer runs, or does another client use this token?"
            )
        for run in list(self._missing):
            self._acknowledge(run)

    def _acknowledge(self, run: int) -> None:
        self._journal.acknowledged(self._number, run)
        self._missing.remove(run)
        if not self._missing:
            self._on_round_done(self._number, self._digest)

    def _end_by_repeating(self) -> tuple[int, Literal["repeated"]]:
        number, runs = self._number, len(self._crew.watchers)
        if self._refused:
            refused = "; ".join(map(str, self._refused.values()))
            raise ServerError(
                f"the server still gives round {number} and refuses answers that were sent again "
                f"({refused}): it has not received them, or the task is over; start again with the "
                "same journal to send them once more"
            )
        if number == 0:
            raise ServerError(
                f"the server gives round 0 again and again, though it took the answers of all "
                f"{runs} runs: have you registered for more?"
            )
        logger.warning(
            "the server gives round %d again and again, though it took the answers of all %d runs: "
            "taken for the end",
            number,
            runs,
        )
        return number + 1, "repeated"


def _names_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """For each run a name that is the same for the same model and policy, here and tomorrow."""
    if not 1 <= len(runs) <= MOST_RUNS:
        raise ValueError(f"runs must be 1 to {MOST_RUNS} pairs of model and policy")
    names = []
    for model, policy in runs:
        described = json.dumps(policy.to_dict(), sort_keys=True, default=repr)
        names.append(f"{model.fingerprint} {described}")
    return tuple(names)


def _answers_of(watcher: Watcher) -> list[Answer]:
    scores = watcher.scores()
    decided = watcher.decisions()
    return [
        Answer(str(each.subject), int(bool(each)), scores[str(each.subject)]) for each in decided
    ]


def _decisions(answers: list[list[Answer]]) -> list[list[tuple[str, int]]]:
    return [[(answer.nick, answer.decision) for answer in run] for run in answers]
