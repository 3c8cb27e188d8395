"""Files with the decisions of runs: ten files by chunk, or a log of rounds.

A log has a record per subject and round with `nick`, `decision`, `score` and `round`, as JSON lines
or CSV. Rounds count from 0, as on the server. A column `run` separates several runs in one file.
A decision is 0, 1, or the name of a class where there are more than two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from watchword._files import AnyPath
from watchword.data.flaws import BadLines, Flaw, shown
from watchword.data.inputs import item_batches, kind_of
from watchword.data.lines import BYTE_ORDER_MARK
from watchword.data.records import Fields, Record, as_identity
from watchword.erisk.submission import ChunkDecision, read_submissions, run_names
from watchword.erisk.tables import NEGATIVE, POSITIVE, class_named, read_ids
from watchword.errors import DataFormatError
from watchword.evaluation.replaying import RANKING_ROUNDS

# Tables must have a column for the first name under "text".
_LOG: Fields = {
    "text": ("nick",),
    "decision": ("decision",),
    "score": ("score",),
    "round": ("round",),
    "run": ("run",),
}


@dataclass(frozen=True)
class ChunkRun:
    """A run in ten files: the decision about each subject, None without one."""

    name: str
    decisions: Mapping[str, ChunkDecision | None]


@dataclass(frozen=True)
class RoundRun:
    """A run on a server: its alerts, and the scores after some rounds.

    `alerts` maps subjects to the number of rounds read, `scores` a number of rounds to the score of
    each subject. Only rounds that the run has reached are in `scores`. `classes` maps subjects to
    the class of their first alert, where decisions are names of classes.
    """

    name: str
    rounds: int
    subjects: frozenset[str]
    alerts: Mapping[str, int]
    scores: Mapping[int, Mapping[str, float]]
    classes: Mapping[str, str] = field(default_factory=dict)


def read_runs(
    path: AnyPath, *, rankings: Iterable[int] = RANKING_ROUNDS
) -> list[ChunkRun | RoundRun]:
    r"""Read all runs in a folder of files by chunk, in a log of rounds, or in a list of ids.

    A list, `NAME.txt`, has the ids of the alerted subjects, one per line, as at PAN 2012.
    `rankings` are the numbers of rounds after which to keep the scores.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = Path(folder, "ours.csv")
    ...     _ = log.write_text("nick,decision,score,round\nann,0,0.4,0\nann,1,0.7,1\n")
    ...     read_runs(log)[0].alerts  # to the number of rounds read
    {'ann': 2}
    """
    source = Path(path)
    if source.is_dir():
        return [ChunkRun(*read_submissions(source, name=name)) for name in run_names(source)]
    if source.suffix == ".txt" and not _is_json(source):
        ids = read_ids(source)
        return [RoundRun(source.stem, 1, frozenset(ids), dict.fromkeys(ids, 1), {})]
    return list(_read_log(source, tuple(rankings)))


def _is_json(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(1000).lstrip(BYTE_ORDER_MARK + b" \t\r\n").startswith(b"{")


class _Entry(NamedTuple):
    run: str
    nick: str
    decision: str
    score: float
    round: int


@dataclass
class _Log:
    """One run of a log while it is read."""

    rounds: int = 0
    subjects: set[str] = field(default_factory=set)
    alerts: dict[str, int] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    # The latest round of each subject within the first rounds, with its score.
    latest: dict[int, dict[str, tuple[int, float]]] = field(default_factory=dict)

    def add(self, entry: _Entry, rankings: Iterable[int]) -> None:
        read = entry.round + 1
        self.rounds = max(self.rounds, read)
        self.subjects.add(entry.nick)
        if entry.decision != NEGATIVE and read <= self.alerts.get(entry.nick, read):
            self.alerts[entry.nick], self.classes[entry.nick] = read, entry.decision
        for rounds in rankings:
            if read > rounds:
                continue
            scores = self.latest.setdefault(rounds, {})
            before = scores.get(entry.nick, (-1, 0.0))
            if before[0] == entry.round and before[1] != entry.score:
                raise Flaw(f"duplicate score of {shown(entry.nick)} in round {entry.round}")
            scores[entry.nick] = max(before, (entry.round, entry.score))

    def run(self, name: str) -> RoundRun:
        scores = {
            rounds: {nick: score for nick, (_, score) in latest.items()}
            for rounds, latest in sorted(self.latest.items())
            if rounds <= self.rounds
        }
        subjects = frozenset(self.subjects)
        return RoundRun(name, self.rounds, subjects, self.alerts, scores, self.classes)


def _read_log(path: Path, rankings: tuple[int, ...]) -> Iterable[RoundRun]:
    bad = BadLines("error", None)
    logs: dict[str, _Log] = {}
    first = math.inf

    def read(record: Record) -> _Entry:
        entry = _entry(record)
        logs.setdefault(entry.run, _Log()).add(entry, rankings)
        return entry

    table = _LOG if kind_of(path) == "csv" else None
    for batch in item_batches(path, read, bad, table=table):
        for _, entry in batch:
            first = min(first, entry.round)
    if not logs:
        raise bad.nothing_in(str(path), "decisions")
    if first > 0:
        raise DataFormatError(
            f"{path}: begins with round {first}, but rounds count from 0 (renumber them)"
        )
    stem = path.name.partition(".")[0]
    return [log.run(f"{stem}-{run}" if run else stem) for run, log in logs.items()]


def _entry(record: Record) -> _Entry:
    nick = as_identity("nick", record.get("nick"))
    decision = _decision(record)
    number = _number(record, "round")
    if number < 0 or number != int(number):
        raise Flaw(f'"round" must be a whole number from 0 on, got {shown(record["round"])}')
    run = record.get("run")
    name = "" if run is None else as_identity("run", run)
    return _Entry(name, nick, decision, _number(record, "score"), int(number))


def _decision(record: Record) -> str:
    value = record.get("decision")
    if isinstance(value, str) and not _is_number(value):
        return class_named(as_identity("decision", value))
    decision = _number(record, "decision")
    if decision not in (0, 1):
        raise Flaw(f'"decision" must be 0, 1 or the name of a class, got {shown(value)}')
    return POSITIVE if decision else NEGATIVE


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(record: Record, name: str) -> float:
    value: Any = record.get(name)
    if value is None:
        raise Flaw(f'"{name}" is missing')
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise Flaw(f'"{name}" must be a finite number, got {shown(value)}')
    return number
