"""The client of an eRisk task: requests rounds, reads them in every run, submits the answers.

Killed at any time and started again with the same journal, it neither loses a round nor answers one
twice. The protocol does not say which round an answer belongs to: a server that has the answers of
all runs moves on, and would take a repeated answer for the next round. Two facts decide when an
answer may be sent again. While some run has never been sent, the server cannot have moved on, so
repeating another run is safe. Once all runs have been sent (the first time side by side), the
server's current round shows whether it has them, so after a failure or a restart the client
requests the round first.

A server may reject an answer that it already has. If an answer is rejected that was sent before
with an unknown outcome, it may have been received: the other runs are sent, and the next round
decides.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from watchword._checks import as_whole
from watchword._files import AnyPath
from watchword.data.times import TimeChecks
from watchword.erisk.dialects import Dialect, DialectName, dialect_named, others_than
from watchword.erisk.emissions import Emissions
from watchword.erisk.journal import Journal, JournalIdentity
from watchword.erisk.protocol import MOST_RUNS, Answer, Round, ServerError, parse_json
from watchword.erisk.transport import (
    Attempts,
    Backoff,
    RefusedError,
    TransientError,
    Transport,
    side_by_side,
)
from watchword.errors import DataFormatError, StateError
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.function_model import FunctionModel
from watchword.streams.policies import Policy
from watchword.streams.readers import Decision, Watcher

logger = logging.getLogger("watchword.erisk")

ClientRun = tuple[TauSS3 | FunctionModel, Policy]

_NOT_FOUND = 404


@dataclass(frozen=True)
class RoundReport:
    """A fully answered round, with the new alerts and all answers of each run."""

    number: int
    alerts: tuple[tuple[Decision, ...], ...]
    answers: tuple[tuple[Answer, ...], ...]


@dataclass(frozen=True)
class ClientReport:
    """The result of a task: the number of rounds, how the server ended it, and all alerts.

    `alerts` maps the alerted subjects of each run to the number of posts read by then.
    """

    rounds: int
    ended: Literal["empty", "repeated"]
    alerts: tuple[dict[str, int], ...]


def run_client(
    url: str,
    token: str,
    runs: Sequence[ClientRun],
    *,
    journal: AnyPath,
    dialect: DialectName = "writings",
    context: bool = False,
    first_round: int = 0,
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
    """Take part in a task until its end; resume with the same journal after a stop.

    Parameters
    ----------
    url
        the part before `/getwritings/…` or `/getdiscussions/…`, such as `https://host/task`.
    token
        the token from the organisers; it appears in no message and no file.
    runs
        one to five pairs of a model (or a `FunctionModel`) and a policy, as many as you registered.
    journal
        the file to resume from; it contains the subjects' writings.
    dialect
        the form of the rounds: `"writings"` (eRisk 2019 to 2024), `"discussions"` (2025, 2026),
        `"messages"` or `"messages_trial"` (MentalRiskES).
    context
        whether models also read what others wrote in a discussion, after the subject's own text.
    first_round
        the number of the server's first round.
    timeout
        seconds for connecting, for each part of a response, and for a whole body.
    retries, patience
        the number of retries of a request, and the seconds after which to give up.
    first_wait
        seconds before the first retry, doubled each time up to a minute; a server may ask for more.
    repeats
        how often the server may send a fully answered round again before the task counts as over.
    snapshot_every
        rounds after which the journal is shortened to the state of the watchers.
    size_limit
        the largest response, in bytes.
    threads
        number of threads; by default one per core.
    seed
        random seed of the waiting times.
    on_round
        called after every fully answered round; after a restart, called again for the latest round
        if that call had not returned.
    """
    transport = Transport(url, token, timeout=timeout, size_limit=size_limit)
    backoff = Backoff(retries=retries, patience=patience, first_wait=first_wait, seed=seed)
    every, most = as_whole("snapshot_every", snapshot_every, 1), as_whole("repeats", repeats, 0)
    spoken = dialect_named(dialect)
    if len(runs) > spoken.most_runs:
        raise ValueError(
            f"dialect {dialect!r} has at most {spoken.most_runs} runs, got {len(runs)}"
        )
    identity = JournalIdentity(transport.url, token.strip(), _names_of(runs, context=context))
    with Journal.open(journal, identity) as opened:
        readers = _RunReaders(
            runs, opened, threads=threads, context=context, has_emissions=spoken.has_emissions
        )

        def on_round_done(number: int, digest: str) -> None:
            if on_round is not None:
                on_round(RoundReport(number, readers.alerts, tuple(map(tuple, readers.answers))))
            opened.reported(number)  # only now: better reported twice than never
            if (number + 1) % every == 0:
                opened.shorten(number, digest, [each.to_bytes() for each in readers.watchers])

        first = as_whole("first_round", first_round, 0)
        client = _Client(transport, spoken, backoff, opened, readers, on_round_done, first)
        rounds, ended = client.run(most)
        return ClientReport(rounds, ended, readers.delays())


class _RunReaders:
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
            if before.answers is not None and _decisions(before.answers) != _decisions(
                self.answers
            ):
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
        return tuple(
            {str(each.subject): each.delay for each in watcher.decisions() if each}
            for watcher in self.watchers
        )


@dataclass
class _Client:
    """The current round, and the runs that the server may still lack."""

    _transport: Transport
    _dialect: Dialect
    _backoff: Backoff
    _journal: Journal
    _readers: _RunReaders
    _on_round_done: Callable[[int, str], None]
    _first_round: int  # number of the server's first round

    def __post_init__(self) -> None:
        past = self._journal.past
        self._number, self._digest = past.number, past.digest
        self._answers: list[list[Answer]] = []
        self._missing: list[int] = []  # not acknowledged
        self._sent: set[int] = set()  # at least once, with an unknown outcome or acknowledged
        self._refused: dict[int, RefusedError] = {}  # when sent again: the server may have them
        self._unreported = False
        if past.rounds:
            latest = past.rounds[-1]
            self._number, self._digest = latest.round.number, latest.round.digest
            self._answer(latest.answers, latest.acknowledged, latest.sent)
            self._unreported = not self._missing and not latest.reported

    def run(self, repeats: int) -> tuple[int, Literal["empty", "repeated"]]:
        """Take part until the end; return the number of rounds and how they ended."""
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
        """Return the server's current round, counted from 0, or None after the last."""
        attempts = Attempts(self._backoff)
        while True:
            try:
                body = self._transport.get_round(self._dialect.path)
                latest = self._dialect.parse(parse_json(body))
                return latest and replace(latest, number=latest.number - self._first_round)
            except TransientError as error:  # noqa: PERF203
                attempts.failed(error)
            except RefusedError as error:
                if error.status != _NOT_FOUND:
                    raise
                raise RefusedError(
                    f"{error}; for other tasks, use {others_than(self._dialect)}", error.status
                ) from None
            except DataFormatError as error:
                attempts.failed(
                    TransientError(f"{self._dialect.path}: {self._transport.masked(str(error))}")
                )

    def _is_current(self, latest: Round) -> bool:
        if latest.number != self._number:
            return False
        if latest.digest != self._digest:
            raise StateError(
                f"{self._journal.path}: the server's round {latest.number} differs from the round "
                "in the journal; does the journal belong to another task?"
            )
        return True

    def _move_on(self, latest: Round) -> None:
        expected = self._number + 1
        if latest.number != expected:
            raise StateError(
                f"{self._journal.path}: the server is at round {latest.number}, expected round "
                f"{expected}; was the task restarted, does another client use this token, or do "
                "its rounds begin with another number (first_round)?"
            )
        self._settle(f"went on to round {latest.number}")
        _warn_about(latest)
        self._journal.received(latest)
        self._number, self._digest = latest.number, latest.digest
        self._readers.read(latest)
        self._answer(None, set(), set())

    def _answer(
        self, kept: list[list[Answer]] | None, acknowledged: set[int], sent: set[int]
    ) -> None:
        """Set the answers to send for the current round: those kept, or those just computed."""
        if kept is None:
            self._journal.answered(self._number, self._readers.answers)
            kept = self._readers.answers
        self._answers = kept
        self._missing = [run for run in range(len(kept)) if run not in acknowledged]
        self._sent, self._refused = set(sent), {}

    @property
    def _unanswered(self) -> list[int]:
        """The runs to send: not acknowledged, and not refused when sent again."""
        return [run for run in self._missing if run not in self._refused]

    def _send(self) -> Round | None:
        """Send the missing runs, just after the server sent the current round; return the next."""
        attempts = Attempts(self._backoff)
        is_asked = True
        if unsent := [run for run in self._missing if run not in self._sent]:
            is_asked = False
            if failure := self._submit_first(unsent):
                attempts.failed(failure)
        while unanswered := self._unanswered:
            run = unanswered[0]
            if not is_asked and self._sent.issuperset(self._missing):
                latest = self._ask()  # the server may have all answers and have moved on
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

    def _submit_first(self, runs: list[int]) -> TransientError | None:
        """Send the answers of runs for the first time, side by side; return a failure to retry.

        A server may need minutes per request. Outcomes are recorded in the order of runs.
        """
        for run in runs:
            self._journal.sending(self._number, run)  # before it can have any effect
            self._sent.add(run)
        bodies = {run: self._body(run) for run in runs}
        path = self._dialect.submit_path
        outcomes = side_by_side(
            [partial(self._transport.submit, run, body, path) for run, body in bodies.items()]
        )
        for run, error in zip(runs, outcomes, strict=True):
            if isinstance(error, RefusedError):
                self._journal.refused(self._number, run)
            elif error is None:
                self._acknowledge(run)
        others = [error for error in outcomes if error and not isinstance(error, TransientError)]
        if others:
            raise others[0]
        return next((error for error in outcomes if isinstance(error, TransientError)), None)

    def _submit(self, run: int) -> None:
        """Send the answers of a run again, and record the outcome."""
        try:
            self._transport.submit(run, self._body(run), self._dialect.submit_path)
        except RefusedError as error:
            logger.warning("%s; the server may have received it before", error)
            self._refused[run] = error
        else:
            self._acknowledge(run)

    def _body(self, run: int) -> bytes:
        emissions = self._readers.emissions
        return self._dialect.encode_answers(self._answers[run], emissions[run] if emissions else {})

    def _settle(self, doing: str) -> None:
        """Acknowledge all runs: the server moves on only with all answers."""
        unsent = [run for run in self._missing if run not in self._sent]
        if len(unsent) > 1:  # a single record may be lost by a failed disk
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
        number, runs = self._number, len(self._readers.watchers)
        if self._refused:
            refused = "; ".join(map(str, self._refused.values()))
            raise ServerError(
                f"the server still sends round {number} and rejects repeated answers ({refused}): "
                "it has not received them, or the task is over; start again with the same journal "
                "to retry"
            )
        if number == 0:
            raise ServerError(
                f"the server keeps sending round 0 although it accepted the answers of all {runs} "
                "runs: have you registered for more?"
            )
        logger.warning(
            "the server keeps sending round %d although it accepted the answers of all %d runs: "
            "treated as the end",
            number,
            runs,
        )
        return number + 1, "repeated"


def _warn_about(received: Round) -> None:
    """Warn about a round without any text, and once about dates that are unreadable."""
    if not received.has_text:
        logger.warning(
            "round %d has no text of any subject, so its answers are blind: is the dialect right?",
            received.number,
        )
    if received.number == 0:
        checks = TimeChecks()
        for writing in received.writings:
            checks.parse(writing.date)
        for problem in checks.problems():
            logger.warning("round 0: %s", problem)


def _names_of(runs: Sequence[ClientRun], *, context: bool) -> tuple[str, ...]:
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


def _decisions(answers: list[list[Answer]]) -> list[list[tuple[str, int]]]:
    return [[(answer.nick, answer.decision) for answer in run] for run in answers]
