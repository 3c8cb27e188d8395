"""The client's journal: rounds, answers, and which answers the server has.

Every record is on disk before any step that depends on it. The journal contains the subjects'
writings, so only its owner may read it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from watchword._database import Database, DatabaseKind, open_database, table
from watchword._files import AnyPath
from watchword.erisk.protocol import (
    Answer,
    Round,
    Writing,
    as_answers,
    list_from,
    parse_json,
    round_of,
)
from watchword.errors import DataFormatError, StateError

_HASHINGS = 100_000  # tokens may be short

_ROUND = "round INTEGER REFERENCES rounds ON DELETE CASCADE"
_RUN = "run INTEGER REFERENCES runs"
_PLACE = "destination INTEGER"  # run × number of URLs + index of the URL
_WRITING = ("nick TEXT", "title TEXT", "content TEXT", "date TEXT", "id TEXT NULL", "context TEXT")
_ANSWER = ("nick TEXT", "decision INTEGER CHECK (decision BETWEEN 0 AND 1)", "score REAL")
_IDENTITY = ("one INTEGER CHECK (one = 1)", "url TEXT", "salt BLOB", "token BLOB")
KIND = DatabaseKind(
    name="a journal",
    application_id=int.from_bytes(b"wwEJ", "big"),
    version=3,
    tables=(
        # The round and the digest are those of the last round that is done and was removed.
        table("journal", "one", *_IDENTITY, "round INTEGER CHECK (round >= -1)", "digest TEXT"),
        table("runs", "run", "run INTEGER", "name TEXT", "watcher BLOB NULL"),
        table("rounds", "number", "number INTEGER", "digest TEXT", "reported INTEGER"),
        table("writings", "round, position", _ROUND, "position INTEGER", *_WRITING),
        table("answers", "round, run, position", _ROUND, _RUN, "position INTEGER", *_ANSWER),
        table("sendings", "round, destination", _ROUND, _PLACE, "acknowledged INTEGER"),
    ),
    durable=True,
)


@dataclass(frozen=True)
class JournalIdentity:
    """The server, the token and the name of each run (its model and policy) of a journal.

    `submit_urls` are the URLs that every run is sent to, if they are not `url`.
    """

    url: str
    token: str = field(repr=False)
    runs: tuple[str, ...]
    submit_urls: tuple[str, ...] = ()

    @property
    def urls(self) -> str:
        """All URLs, separated by spaces."""
        return " ".join((self.url, *self.submit_urls))

    @property
    def destinations(self) -> int:
        """The number of URLs that a run is sent to."""
        return len(self.submit_urls) or 1


@dataclass
class PastRound:
    """A received round, the answers of each run, and the destinations of runs that have them.

    A round that the server sent, but that never arrived, has no writings. A run that was added
    later has no answers in round 0.
    """

    round: Round
    answers: list[list[Answer]] | None
    sent: set[int]  # with an unknown outcome, or acknowledged
    acknowledged: set[int]
    reported: bool


@dataclass
class Past:
    """The contents of a journal: the watchers after some rounds, and the rounds after those."""

    number: int  # of the last round before `rounds`
    digest: str
    watchers: list[bytes]
    rounds: list[PastRound] = field(default_factory=list)


class Journal:
    """An open journal; `past` has its contents when it was opened."""

    def __init__(self, database: Database, past: Past) -> None:
        self.path = database.path
        self.past = past
        self._database = database

    @classmethod
    @contextmanager
    def open(cls, path: AnyPath, identity: JournalIdentity) -> Iterator[Journal]:
        """Open a journal, or create one; no other client can open it until it is closed."""
        with open_database(path, KIND) as database:
            if not database.rows("SELECT * FROM journal"):
                salt, url = secrets.token_bytes(16), identity.urls
                own = (url, salt, _hidden(identity.token, salt))
                with database.transaction() as changes:
                    changes.execute("INSERT INTO journal VALUES (1, ?, ?, ?, -1, '')", own)
                    runs = list(enumerate(identity.runs))
                    changes.executemany("INSERT INTO runs VALUES (?, ?, NULL)", runs)
            past = _check_identity(database, identity)
            _read_rounds(database, past, len(identity.runs), identity.destinations)
            yield cls(database, past)

    def received(self, received: Round) -> None:
        """Record a round, before it is read."""
        writings = [
            (
                received.number,
                position,
                each.nick,
                each.title,
                each.content,
                each.date,
                each.post.id,
                json.dumps(each.context),
            )
            for position, each in enumerate(received.writings)
        ]
        with self._database.transaction() as changes:
            changes.execute(
                "INSERT INTO rounds VALUES (?, ?, 0)", (received.number, received.digest)
            )
            changes.executemany("INSERT INTO writings VALUES (?, ?, ?, ?, ?, ?, ?, ?)", writings)

    def answered(self, number: int, answers: Mapping[int, Sequence[Answer]]) -> None:
        """Record the answers of runs, before they are sent."""
        rows = [
            (number, run, position, each.nick, each.decision, each.score)
            for run, own in answers.items()
            for position, each in enumerate(own)
        ]
        with self._database.transaction() as changes:
            changes.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)", rows)

    def sending(self, number: int, destination: int) -> None:
        """Record that the answers of a run are about to be sent for the first time."""
        with self._database.transaction() as changes:
            changes.execute("INSERT INTO sendings VALUES (?, ?, 0)", (number, destination))

    def refused(self, number: int, destination: int) -> None:
        """Record that the server refused the answers of a run when they were first sent."""
        place = (number, destination)
        with self._database.transaction() as changes:
            changes.execute("DELETE FROM sendings WHERE round = ? AND destination = ?", place)

    def acknowledged(self, number: int, destination: int) -> None:
        """Record that the server has the answers of a run."""
        with self._database.transaction() as changes:
            changes.execute("REPLACE INTO sendings VALUES (?, ?, 1)", (number, destination))

    def reported(self, number: int) -> None:
        """Record that `on_round` has returned for a fully answered round."""
        with self._database.transaction() as changes:
            changes.execute("UPDATE rounds SET reported = 1 WHERE number = ?", (number,))

    def shorten(self, number: int, digest: str, watchers: Sequence[bytes]) -> None:
        """Replace all rounds by the state of the watchers after the last one, which is done."""
        with self._database.transaction() as changes:
            changes.execute("DELETE FROM rounds")
            changes.execute("UPDATE journal SET round = ?, digest = ?", (number, digest))
            changes.executemany(
                "UPDATE runs SET watcher = ? WHERE run = ?",
                [(state, run) for run, state in enumerate(watchers)],
            )
        self._database.shrink()


def _hidden(token: str, salt: bytes) -> bytes:
    """Return a hash that tells tokens apart and does not reveal them."""
    return hashlib.pbkdf2_hmac("sha256", token.encode(), salt, _HASHINGS)


def _check_identity(database: Database, identity: JournalIdentity) -> Past:
    """Return the past up to the rounds that are kept, if it is that of this client."""
    path = os.fspath(database.path)
    [(url, salt, token, number, digest)] = database.rows(
        "SELECT url, salt, token, round, digest FROM journal"
    )
    runs = database.rows("SELECT run, name, watcher FROM runs ORDER BY run")
    if url != identity.urls:
        raise StateError(f"{path} belongs to another server, {url}")
    if not hmac.compare_digest(_hidden(identity.token, salt), token):
        raise StateError(f"{path} was made with another token")
    for expected, (run, name, _) in zip(enumerate(identity.runs), runs, strict=False):
        if (run, name) != expected:
            raise StateError(f"{path}: run {run} was started with another model or policy")
    if len(runs) != len(identity.runs):
        begun = database.rows("SELECT 1 FROM writings WHERE round > 0 LIMIT 1")
        if number >= 0 or begun:
            raise StateError(
                f"{path} has {len(runs)} runs, got {len(identity.runs)}: runs can be added or left "
                "out only until the server has sent round 1"
            )
        _change_runs(database, identity)
        return Past(number, digest, [])
    watchers = [watcher for _, _, watcher in runs if watcher is not None]
    if len(watchers) != (0 if number < 0 else len(runs)):
        raise database.damaged("the state of a watcher is missing")
    return Past(number, digest, watchers)


def _change_runs(database: Database, identity: JournalIdentity) -> None:
    """Add or remove runs at the end; round 0 remains, with the answers of the other runs."""
    count = len(identity.runs)
    with database.transaction() as changes:
        changes.execute("DELETE FROM rounds WHERE number > 0")  # rounds that never arrived
        changes.execute("UPDATE rounds SET reported = 0")
        changes.execute(
            "DELETE FROM sendings WHERE destination >= ?", (count * identity.destinations,)
        )
        changes.execute("DELETE FROM answers WHERE run >= ?", (count,))
        changes.execute("DELETE FROM runs WHERE run >= ?", (count,))
        added = [(run, name, None) for run, name in enumerate(identity.runs)]
        changes.executemany("INSERT OR IGNORE INTO runs VALUES (?, ?, ?)", added)


def _read_rounds(database: Database, past: Past, runs: int, destinations: int) -> None:
    """Add the rounds to a past; each must follow from the one before it."""
    rounds = database.rows("SELECT number, digest, reported FROM rounds ORDER BY number")
    for expected, (number, digest, reported) in enumerate(rounds, start=past.number + 1):
        received = _round(database, number) or Round(number, ())
        if received.digest != digest or number != expected:
            raise database.damaged(f"round {number} is not the round that was received")
        answers = _answers(database, number, runs)
        sendings = database.rows(
            "SELECT destination, acknowledged FROM sendings WHERE round = ?", number
        )
        sent = {destination for destination, _ in sendings}
        acknowledged = {destination for destination, is_done in sendings if is_done}
        answered = {run for run, own in enumerate(answers or []) if own}
        is_lost = any(destination // destinations not in answered for destination in sent)
        is_lost |= number > 0 and answers is not None and len(answered) < runs
        if is_lost or (reported and len(acknowledged) < runs * destinations):
            raise database.damaged(f"the answers sent in round {number} are missing")
        past.rounds.append(PastRound(received, answers, sent, acknowledged, bool(reported)))


def _round(database: Database, number: int) -> Round | None:
    found = database.rows(
        "SELECT nick, round AS number, title, content, date, id, context FROM writings "
        "WHERE round = ? ORDER BY position",
        number,
    )
    try:
        contexts = [tuple(list_from(parse_json(row["context"].encode()), "texts")) for row in found]
        return round_of(
            Writing(**{**row, "context": context})
            for row, context in zip(found, contexts, strict=True)
        )
    except DataFormatError as error:
        raise database.damaged(error) from None


def _answers(database: Database, number: int, runs: int) -> list[list[Answer]] | None:
    """Return the answers of each run about the same subjects; None if there are none yet."""
    query = (
        "SELECT nick, decision, score FROM answers WHERE round = ? AND run = ? ORDER BY position"
    )
    by_run = [list(map(dict, database.rows(query, number, run))) for run in range(runs)]
    if not any(by_run):
        return None
    subjects = [answer["nick"] for answer in by_run[0]]
    try:
        return [list(as_answers(each, subjects)) if each else [] for each in by_run]
    except DataFormatError as error:
        raise database.damaged(error) from None
