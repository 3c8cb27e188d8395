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

Some servers send a round once, and refuse every further request with status 400 until they have
all answers. While the client knows of answers that may be missing, it sends them. Otherwise the
round itself was lost on its way, and is answered with the decisions so far.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from watchword._checks import as_whole
from watchword._files import AnyPath
from watchword.data.times import TimeChecks
from watchword.erisk.client_runs import ClientRun, RunReaders, run_names
from watchword.erisk.dialects import Dialect, DialectName, dialect_named, others_than
from watchword.erisk.journal import Journal, JournalIdentity
from watchword.erisk.protocol import Answer, Round, ServerError, parse_json
from watchword.erisk.transport import (
    Attempts,
    Backoff,
    RefusedError,
    TransientError,
    Transport,
    checked_url,
    side_by_side,
)
from watchword.errors import DataFormatError, StateError
from watchword.streams.readers import Decision

logger = logging.getLogger("watchword.erisk")

_BAD_REQUEST, _NOT_FOUND = 400, 404
_REGISTERED = (
    "have you registered for more? (start again with the same journal and that number of runs)"
)
_CURRENT = Round(-1, ())  # stands for the current round of a server that does not send it again


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
    submit_urls: Sequence[str] = (),
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
        Until the server has sent round 1, runs can be added to a journal at the end, or left out.
    journal
        the file to resume from; it contains the subjects' writings.
    submit_urls
        the parts before `/submit/…`, if they are not `url`: every run is sent to each of them.
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
    names, urls = run_names(runs, context=context), tuple(map(checked_url, submit_urls))
    if len(set(urls)) < len(urls):
        raise ValueError("submit_urls must not contain a URL twice")
    identity = JournalIdentity(transport.url, token.strip(), names, urls)
    with Journal.open(journal, identity) as opened:
        readers = RunReaders(
            runs, opened, threads=threads, context=context, has_emissions=spoken.has_emissions
        )

        def on_round_done(number: int, digest: str) -> None:
            if on_round is not None:
                on_round(RoundReport(number, readers.alerts, tuple(map(tuple, readers.answers))))
            opened.reported(number)  # only now: better reported twice than never
            if number and (number + 1) % every == 0:  # round 0 may still need other runs
                opened.shorten(number, digest, [each.to_bytes() for each in readers.watchers])

        first = as_whole("first_round", first_round, 0)
        server = _TaskServer(transport, spoken, urls or (transport.url,), first)
        client = _Client(server, backoff, opened, readers, on_round_done)
        rounds, ended = client.run(most)
        return ClientReport(rounds, ended, readers.delays())


@dataclass(frozen=True)
class _TaskServer:
    """Requests to the server in its dialect. Each run has a destination per URL."""

    transport: Transport
    dialect: Dialect
    submit_urls: tuple[str, ...]
    first_round: int  # its number

    def round(self) -> Round | None:
        """Return the current round, counted from 0, or None after the last."""
        body = self.transport.get_round(self.dialect.path)
        try:
            latest = self.dialect.parse(parse_json(body))
        except DataFormatError as error:
            raise TransientError(
                f"{self.dialect.path}: {self.transport.masked(str(error))}"
            ) from None
        return latest and replace(latest, number=latest.number - self.first_round)

    def submit(self, destination: int, body: bytes) -> None:
        """Send the answers of a run to its destination."""
        url = self.submit_urls[destination % len(self.submit_urls)]
        self.transport.submit(self.run_of(destination), body, self.dialect.submit_path, url=url)

    def run_of(self, destination: int) -> int:
        """Return the run that is sent to a destination."""
        return destination // len(self.submit_urls)


@dataclass
class _Client:
    """The current round, and the destinations that may still lack the answers of their run."""

    _server: _TaskServer
    _backoff: Backoff
    _journal: Journal
    _readers: RunReaders
    _on_round_done: Callable[[int, str], None]

    def __post_init__(self) -> None:
        past = self._journal.past
        self._number, self._digest = past.number, past.digest
        self._answers: list[list[Answer]] = []
        self._missing: list[int] = []  # not acknowledged
        self._sent: set[int] = set()  # at least once, with an unknown outcome or acknowledged
        self._refused: dict[int, RefusedError] = {}  # when sent again: the server may have them
        self._unreported = False
        self._may_be_lost = self._number > 0  # the round that the server sent last
        if past.rounds:
            latest = past.rounds[-1]
            self._number, self._digest = latest.round.number, latest.round.digest
            self._answer(latest.answers, latest.acknowledged, latest.sent)
            self._unreported = not self._missing and not latest.reported
            self._may_be_lost = self._number > 0

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
                latest = self._server.round()
            except TransientError as error:  # noqa: PERF203
                self._may_be_lost = True
                attempts.failed(error)
            except RefusedError as error:
                return self._round_refused(error)
            else:
                self._may_be_lost = False
                return latest

    def _round_refused(self, error: RefusedError) -> Round:
        """Return the round that the server is at, but refuses to send; raise if it is unknown."""
        if error.status == _NOT_FOUND:
            others = others_than(self._server.dialect)
            raise RefusedError(f"{error}; for other tasks, use {others}", error.status) from None
        if error.status != _BAD_REQUEST or self._number < 0:
            raise error
        if self._unanswered:
            return _CURRENT
        if self._refused:
            raise self._contradiction(f"refuses round {self._number + 1}")
        if self._may_be_lost:
            self._may_be_lost = False
            return Round(self._number + 1, ())
        raise RefusedError(f"{error}; {self._accepted()}: {_REGISTERED}", error.status)

    def _is_current(self, latest: Round) -> bool:
        if latest is _CURRENT:
            return True
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
        computed = dict(enumerate(self._readers.answers))
        self._answers = [
            own or computed[run] for run, own in enumerate(kept or [[]] * len(computed))
        ]
        added = {run: computed[run] for run in computed if kept is None or not kept[run]}
        if added:
            self._journal.answered(self._number, added)
        destinations = range(len(computed) * len(self._server.submit_urls))
        self._missing = [each for each in destinations if each not in acknowledged]
        self._sent, self._refused = set(sent), {}

    @property
    def _unanswered(self) -> list[int]:
        """The destinations to send to: not acknowledged, and not refused when sent again."""
        return [each for each in self._missing if each not in self._refused]

    def _send(self) -> Round | None:
        """Send the missing runs, just after the server sent the current round; return the next."""
        attempts = Attempts(self._backoff)
        is_asked = True
        if unsent := [each for each in self._missing if each not in self._sent]:
            is_asked = False
            if failure := self._submit_first(unsent):
                attempts.failed(failure)
        while unanswered := self._unanswered:
            if not is_asked and self._sent.issuperset(self._missing):
                latest = self._ask()  # the server may have all answers and have moved on
                if latest is None or not self._is_current(latest):
                    return latest
            is_asked = False
            try:
                self._submit(unanswered[0])
            except TransientError as error:
                attempts.failed(error)
            else:
                attempts = Attempts(self._backoff)
        return self._ask()

    def _submit_first(self, destinations: list[int]) -> TransientError | None:
        """Send the answers of runs for the first time, side by side; return a failure to retry.

        A server may need minutes per request. Outcomes are recorded in the order of runs.
        """
        for destination in destinations:
            self._journal.sending(self._number, destination)  # before it can have any effect
            self._sent.add(destination)
        outcomes = side_by_side(
            [partial(self._server.submit, each, self._body(each)) for each in destinations]
        )
        for destination, error in zip(destinations, outcomes, strict=True):
            if isinstance(error, RefusedError):
                self._journal.refused(self._number, destination)
            elif error is None:
                self._acknowledge(destination)
        others = [error for error in outcomes if error and not isinstance(error, TransientError)]
        if others:
            raise others[0]
        return next((error for error in outcomes if isinstance(error, TransientError)), None)

    def _submit(self, destination: int) -> None:
        """Send the answers of a run again, and record the outcome."""
        try:
            self._server.submit(destination, self._body(destination))
        except RefusedError as error:
            logger.warning("%s; the server may have received it before", error)
            self._refused[destination] = error
        else:
            self._acknowledge(destination)

    def _body(self, destination: int) -> bytes:
        run, emissions = self._server.run_of(destination), self._readers.emissions
        used = emissions[run] if emissions else {}
        return self._server.dialect.encode_answers(self._answers[run], used)

    def _settle(self, doing: str) -> None:
        """Acknowledge all runs: the server moves on only with all answers."""
        unsent = [each for each in self._missing if each not in self._sent]
        if len(unsent) > 1:  # a single record may be lost by a failed disk
            runs = dict.fromkeys(str(self._server.run_of(each)) for each in unsent)
            raise ServerError(
                f"the server {doing} without the answers of runs {', '.join(runs)}: "
                "does it expect fewer runs, or does another client use this token?"
            )
        for destination in list(self._missing):
            self._acknowledge(destination)

    def _acknowledge(self, destination: int) -> None:
        self._journal.acknowledged(self._number, destination)
        self._missing.remove(destination)
        if not self._missing:
            self._on_round_done(self._number, self._digest)

    def _end_by_repeating(self) -> tuple[int, Literal["repeated"]]:
        number = self._number
        if self._refused:
            raise self._contradiction(f"still sends round {number}")
        if number == 0:
            raise ServerError(
                f"the server keeps sending round 0 although {self._accepted()}: {_REGISTERED}"
            )
        logger.warning(
            "the server keeps sending round %d although %s: treated as the end",
            number,
            self._accepted(),
        )
        return number + 1, "repeated"

    def _accepted(self) -> str:
        return f"it accepted the answers of all {len(self._answers)} runs"

    def _contradiction(self, doing: str) -> ServerError:
        refused = "; ".join(map(str, self._refused.values()))
        return ServerError(
            f"the server {doing} and rejects repeated answers ({refused}): it has not received "
            "them, or the task is over; start again with the same journal to retry"
        )


def _warn_about(received: Round) -> None:
    """Warn about a round that was lost or has no text, and once about unreadable dates."""
    if not received.writings:
        logger.warning(
            "round %d was sent, but never arrived: it is answered with the decisions so far",
            received.number,
        )
    elif not received.has_text:
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
