"""What a client must not forget when it is killed: rounds, answers, and who has which.

A journal is a file of lines, each a checksum and a record of JSON, each on the disk before
anything that depends on it is done. A line that was being written when the client died is dropped.
From time to time the file is replaced, whole or not at all, by one that begins with the state of
the watchers. It holds what people wrote: only its owner may read it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import os
import secrets
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from watchword._files import atomic_file, locked, writing_to
from watchword.erisk.protocol import Answer, Round, as_answers, as_round
from watchword.errors import DataFormatError, StateError

logger = logging.getLogger("watchword.erisk")

FORMAT = "watchword erisk journal"
VERSION = 3
_VERSION_WITHOUT_TOLD = 1
_VERSION_WITHOUT_SENT = 2
_HASHINGS = 100_000  # tokens may be short
_OWNER_ONLY = 0o600


@dataclass(frozen=True)
class Identity:
    """Whose journal it is: a server, a token, and for every run what reads and decides."""

    url: str
    token: str = field(repr=False)
    runs: tuple[str, ...]


@dataclass
class PastRound:
    """A round that was received, what was answered, and which runs the server has."""

    round: Round
    answers: list[list[Answer]] | None = None
    sent: set[int] = field(default_factory=set)  # with an unknown outcome, or acknowledged
    acknowledged: set[int] = field(default_factory=set)
    told: bool = True


@dataclass
class Past:
    """What a journal knows: the watchers after some rounds, and the rounds after those."""

    number: int = -1  # of the last round before `rounds`
    digest: str = ""
    watchers: list[bytes] = field(default_factory=list)
    rounds: list[PastRound] = field(default_factory=list)


class Journal:
    """An open journal; `past` is what it knew when it was opened."""

    def __init__(self, path: Path, header: dict[str, Any], past: Past) -> None:
        self.path = path
        self.past = past
        self._header = header
        self._file: BinaryIO = path.open("r+b")

    @classmethod
    @contextmanager
    def open(cls, path: str | os.PathLike[str], identity: Identity) -> Iterator[Journal]:
        """Open a journal, or begin one; nobody else can open it meanwhile."""
        target = Path(path)
        with locked(target), writing_to(target):
            if not target.exists() or target.stat().st_size == 0:
                _write_whole(target, [_header_for(identity)])
            records, size = _read(target)
            _check(records[0], identity, target)
            version = records[0]["version"]
            past = _Reading(target, len(identity.runs), version).past_of(records[1:])
            journal = cls(target, records[0], past)
            try:
                journal._continue_at(size)
                yield journal
            finally:
                journal._file.close()

    def received(self, received: Round) -> None:
        """Keep a round, before it is read."""
        writings = [writing.to_dict() for writing in received.writings]
        self._append({"kind": "round", "number": received.number, "writings": writings})

    def answered(self, number: int, answers: Sequence[Sequence[Answer]]) -> None:
        """Keep the answers of all runs, before they are sent."""
        runs = [
            {
                "decisions": "".join(str(answer.decision) for answer in run),
                "scores": [answer.score for answer in run],
            }
            for run in answers
        ]
        nicks = [answer.nick for answer in answers[0]]
        self._append({"kind": "answers", "number": number, "nicks": nicks, "runs": runs})

    def sending(self, number: int, run: int) -> None:
        """Record that the answers of a run are about to be sent for the first time."""
        self._append({"kind": "sent", "number": number, "run": run})

    def refused(self, number: int, run: int) -> None:
        """Record that the server refused the answers of a run when they were first sent."""
        self._append({"kind": "refused", "number": number, "run": run})

    def acknowledged(self, number: int, run: int) -> None:
        """Keep that the server has the answers of a run."""
        self._append({"kind": "acknowledged", "number": number, "run": run})

    def told(self, number: int) -> None:
        """Keep that a round, which the server has all answers for, was reported."""
        self._append({"kind": "told", "number": number})

    def shorten(self, number: int, digest: str, watchers: Sequence[bytes]) -> None:
        """Begin anew with the state of the watchers after a round that is done."""
        states = [base64.b64encode(state).decode() for state in watchers]
        snapshot = {"kind": "snapshot", "number": number, "digest": digest, "watchers": states}
        self._header = self._header | {"version": VERSION}  # whatever it was begun with
        _write_whole(self.path, [self._header, snapshot])
        self._file.close()  # of the file that has no name any more
        self._file = self.path.open("r+b")
        self._file.seek(0, os.SEEK_END)

    def _continue_at(self, size: int) -> None:
        if self._file.seek(0, os.SEEK_END) > size:
            logger.warning("%s: dropped the last line, which was not whole", self.path)
            self._file.truncate(size)
            self._file.seek(size)

    def _append(self, record: dict[str, Any]) -> None:
        self._file.write(_line(record))
        self._file.flush()
        os.fsync(self._file.fileno())


class _Reading:
    """Makes a past of records; each must follow from those before it."""

    def __init__(self, path: Path, runs: int, version: int) -> None:
        self._path = path
        self._runs = runs
        # Without a record of what was told, all counts as told.
        self._tells = version > _VERSION_WITHOUT_TOLD
        self._knows_sent = version > _VERSION_WITHOUT_SENT
        self._past = Past()

    def past_of(self, records: Sequence[dict[str, Any]]) -> Past:
        kinds = {
            "snapshot": self._read_snapshot,
            "round": self._read_round,
            "answers": self._read_answers,
            "sent": self._read_sent,
            "refused": self._read_refused,
            "acknowledged": self._read_acknowledged,
            "told": self._read_told,
        }
        for place, record in enumerate(records, start=2):
            try:
                kinds[record["kind"]](record)
            except (KeyError, TypeError, ValueError, OverflowError, DataFormatError) as error:  # noqa: PERF203
                raise StateError(f"{self._path}, line {place}: not of a journal: {error}") from None
        if not self._knows_sent:
            self._suppose_sent()
        return self._past

    def _suppose_sent(self) -> None:
        """Take the next run in line for sent, where the journal has no record of it."""
        latest = self._past.rounds[-1] if self._past.rounds else None
        if latest is not None and latest.answers is not None:
            missing = [run for run in range(self._runs) if run not in latest.acknowledged]
            latest.sent.update(missing[:1])

    def _read_snapshot(self, record: dict[str, Any]) -> None:
        states = [base64.b64decode(state, validate=True) for state in record["watchers"]]
        if len(states) != self._runs or self._past.number >= 0 or self._past.rounds:
            raise ValueError("a state in the wrong place")
        number, digest = record["number"], record["digest"]
        if type(number) is not int or number < 0 or not isinstance(digest, str):
            raise ValueError("a state of no round")
        self._past = Past(number, digest, states)

    def _read_round(self, record: dict[str, Any]) -> None:
        received = as_round(record["writings"])
        if received is None or received.number != self._next_number():
            raise ValueError("a round in the wrong place")
        self._past.rounds.append(PastRound(received, told=not self._tells))

    def _read_answers(self, record: dict[str, Any]) -> None:
        current = self._current(record)
        if current.answers is not None or len(record["runs"]) != self._runs:
            raise ValueError("answers in the wrong place")
        nicks = record["nicks"]
        current.answers = [
            list(
                as_answers(
                    [
                        {"nick": nick, "decision": int(decision), "score": score}
                        for nick, decision, score in zip(
                            nicks, run["decisions"], run["scores"], strict=True
                        )
                    ],
                    nicks,
                )
            )
            for run in record["runs"]
        ]

    def _read_sent(self, record: dict[str, Any]) -> None:
        current, run = self._answered(record)
        current.sent.add(run)
        self._knows_sent = True

    def _read_refused(self, record: dict[str, Any]) -> None:
        current, run = self._answered(record)
        current.sent.remove(run)

    def _read_acknowledged(self, record: dict[str, Any]) -> None:
        current, run = self._answered(record)
        current.sent.add(run)
        current.acknowledged.add(run)

    def _read_told(self, record: dict[str, Any]) -> None:
        current = self._current(record)
        if len(current.acknowledged) < self._runs:
            raise ValueError("told before all runs were acknowledged")
        current.told = self._tells = True

    def _answered(self, record: dict[str, Any]) -> tuple[PastRound, int]:
        """Return the current round and the run of a record about sent answers."""
        current, run = self._current(record), record["run"]
        if current.answers is None or type(run) is not int or run not in range(self._runs):
            raise ValueError("nothing was sent")
        return current, run

    def _next_number(self) -> int:
        if self._past.rounds:
            return self._past.rounds[-1].round.number + 1
        return self._past.number + 1

    def _current(self, record: dict[str, Any]) -> PastRound:
        current = self._past.rounds[-1] if self._past.rounds else None
        if current is None or current.round.number != record["number"]:
            raise ValueError("a round that was not received")
        return current


def _line(record: dict[str, Any]) -> bytes:
    text = json.dumps(record, allow_nan=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, or None if it was not written to its end.

    Raise `ValueError` if it was, but is no record.
    """
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        record = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(record, dict):
        raise ValueError("it is no object")
    return record


def _read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The records and how many bytes they take, without a last line that is not whole."""
    records: list[dict[str, Any]] = []
    size = 0
    with path.open("rb") as file:
        for line in file:
            try:
                record = _record(line)
            except ValueError as error:
                place = len(records) + 1
                raise StateError(f"{path}, line {place}: not of a journal: {error}") from None
            if record is None:
                # Each line was on the disk before the next was begun: only the last can be torn.
                if not records or file.read(1):
                    place = len(records) + 1
                    raise StateError(f"{path}, line {place}: not a journal, or damaged")
                break
            records.append(record)
            size += len(line)
    return records, size


def _write_whole(path: Path, records: Sequence[dict[str, Any]]) -> None:
    with atomic_file(path, mode=_OWNER_ONLY) as file:
        for record in records:
            file.write(_line(record))


def _header_for(identity: Identity) -> dict[str, Any]:
    salt = secrets.token_hex(16)
    return {
        "format": FORMAT,
        "version": VERSION,
        "url": identity.url,
        "salt": salt,
        "token": _hidden(identity.token, salt),
        "runs": list(identity.runs),
    }


def _hidden(token: str, salt: str) -> str:
    """What tells tokens apart and does not tell the token."""
    return hashlib.pbkdf2_hmac("sha256", token.encode(), bytes.fromhex(salt), _HASHINGS).hex()


def _check(header: dict[str, Any], identity: Identity, path: Path) -> None:
    if header.get("format") != FORMAT:
        raise StateError(f"{path} is not a journal")
    if header.get("version") not in (_VERSION_WITHOUT_TOLD, _VERSION_WITHOUT_SENT, VERSION):
        raise StateError(f"{path} was written by another version of watchword")
    try:
        hidden = _hidden(identity.token, header["salt"])
        if header["url"] != identity.url:
            raise StateError(f"{path} is of another server, {header['url']}")
        if not hmac.compare_digest(hidden, header["token"]):
            raise StateError(f"{path} is of another token")
        if len(header["runs"]) != len(identity.runs):
            raise StateError(f"{path} is of {len(header['runs'])} runs, not {len(identity.runs)}")
        for run, (kept, own) in enumerate(zip(header["runs"], identity.runs, strict=True)):
            if kept != own:
                raise StateError(f"{path}: run {run} was begun with another model or policy")
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"{path}, line 1: not of a journal: {error}") from None
