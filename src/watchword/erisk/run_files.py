"""Files with the decisions of runs: ten files by chunk (2017 and 2018), or a log of rounds.

By chunk, a run is ten files, `NAME_1.txt` to `NAME_10.txt`, with a decision for every subject: 0
none yet, 1 positive, 2 negative. The first decision other than 0 counts; none after chunk 10 means
negative.

A log has a record per subject and round with `nick`, `decision`, `score` and `round`, as JSON lines
or CSV. Rounds count from 0, as on the server. A column `run` separates several runs in one file.
A decision is 0, 1, or the name of a class where there are more than two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from watchword._display import listed
from watchword._files import AnyPath, atomic_file
from watchword.data.folders import is_clutter
from watchword.data.lines import BYTE_ORDER_MARK, BadLines, Flaw, shown
from watchword.data.records import Fields, Record, as_identity
from watchword.data.tables import item_batches, kind_of
from watchword.erisk.truth import NEGATIVE, POSITIVE, class_named, read_ids, read_table
from watchword.errors import DataFormatError
from watchword.evaluation.metrics import CHUNKS
from watchword.evaluation.replaying import RANKING_ROUNDS

_FILE = re.compile(r"(.+)_([1-9]|10)\.txt")

# Tables must have a column for the first name under "text".
_LOG: Fields = {
    "text": ("nick",),
    "decision": ("decision",),
    "score": ("score",),
    "round": ("round",),
    "run": ("run",),
}


class ChunkDecision(NamedTuple):
    """The final decision about a subject, and the chunk after which it was made."""

    label: str
    chunk: int


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
        names = sorted(_runs_in(source))
        if not names:
            raise DataFormatError(
                f"{source}: contains no run (files NAME_1.txt to NAME_{CHUNKS}.txt)"
            )
        return [ChunkRun(*read_submissions(source, name=name)) for name in names]
    if source.suffix == ".txt" and not _is_json(source):
        ids = read_ids(source)
        return [RoundRun(source.stem, 1, frozenset(ids), dict.fromkeys(ids, 1), {})]
    return _read_log(source, tuple(rankings))


def _is_json(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(1000).lstrip(BYTE_ORDER_MARK + b" \t\r\n").startswith(b"{")


@dataclass
class _Log:
    """One run of a log while it is read."""

    rounds: int = 0
    subjects: set[str] = field(default_factory=set)
    alerts: dict[str, int] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    # The latest round of each subject within the first rounds, with its score.
    latest: dict[int, dict[str, tuple[int, float]]] = field(default_factory=dict)

    def add(
        self, nick: str, decision: str, number: int, score: float, rankings: Iterable[int]
    ) -> None:
        read = number + 1
        self.rounds = max(self.rounds, read)
        self.subjects.add(nick)
        if decision != NEGATIVE and read <= self.alerts.get(nick, read):
            self.alerts[nick], self.classes[nick] = read, decision
        for rounds in rankings:
            if read > rounds:
                continue
            scores = self.latest.setdefault(rounds, {})
            before = scores.get(nick, (-1, 0.0))
            if before[0] == number and before[1] != score:
                raise Flaw(f"duplicate score of {shown(nick)} in round {number}")
            scores[nick] = max(before, (number, score))

    def run(self, name: str) -> RoundRun:
        scores = {
            rounds: {nick: score for nick, (_, score) in latest.items()}
            for rounds, latest in sorted(self.latest.items())
            if rounds <= self.rounds
        }
        subjects = frozenset(self.subjects)
        return RoundRun(name, self.rounds, subjects, self.alerts, scores, self.classes)


def _read_log(path: Path, rankings: tuple[int, ...]) -> list[ChunkRun | RoundRun]:
    bad = BadLines("error", None)
    logs: dict[str, _Log] = {}

    def read(record: Record) -> int:
        nick, decision = as_identity("nick", record.get("nick")), _decision(record)
        number = _number(record, "round")
        if number < 0 or number != int(number):
            raise Flaw(f'"round" must be a whole number from 0 on, got {shown(record["round"])}')
        run = "" if record.get("run") is None else as_identity("run", record["run"])
        score = _number(record, "score")
        logs.setdefault(run, _Log()).add(nick, decision, int(number), score, rankings)
        return int(number)

    table = _LOG if kind_of(path) == "csv" else None
    batches = item_batches(path, read, bad, table=table)
    first = min((number for batch in batches for _, number in batch), default=0)
    if not logs:
        raise bad.nothing_in(str(path), "decisions")
    if first > 0:
        raise DataFormatError(
            f"{path}: begins with round {first}, but rounds count from 0 (renumber them)"
        )
    stem = path.name.partition(".")[0]
    return [log.run(f"{stem}-{run}" if run else stem) for run, log in logs.items()]


def _decision(record: Record) -> str:
    value = record.get("decision")
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return class_named(as_identity("decision", value))
    decision = _number(record, "decision")
    if decision not in (0, 1):
        raise Flaw(f'"decision" must be 0, 1 or the name of a class, got {shown(value)}')
    return POSITIVE if decision else NEGATIVE


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


def check_name(name: str) -> None:
    """Raise for a run name that cannot be part of a file name."""
    if not name or not re.fullmatch(r"[\w.-]+", name):
        raise ValueError(f"name must be letters, digits, '_', '.' and '-', got {name!r}")


def write_submissions(
    folder: AnyPath, decisions: Mapping[str, ChunkDecision | None], *, name: str = "watchword"
) -> list[Path]:
    r"""Write the ten files of a run; None means no decision: 0 until chunk 9, then 2.

    >>> import tempfile
    >>> decisions = {"ann": ChunkDecision("positive", 2), "bob": None}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write_submissions(folder, decisions, name="ours")
    ...     [files[at].read_text() for at in (0, 1, 9)]
    ['ann\t\t0\nbob\t\t0\n', 'ann\t\t1\nbob\t\t0\n', 'ann\t\t1\nbob\t\t2\n']
    """
    check_name(name)
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = submission_files(folder, name)
    for chunk, path in enumerate(paths, 1):
        lines = [f"{subject}\t\t{_code(decisions[subject], chunk)}\n" for subject in decisions]
        with atomic_file(path) as file:
            file.write("".join(lines).encode())
    return paths


def submission_files(folder: AnyPath, name: str) -> list[Path]:
    """Return the paths of the ten files of a run."""
    return [Path(folder) / f"{name}_{chunk}.txt" for chunk in range(1, CHUNKS + 1)]


def read_submissions(
    folder: AnyPath, *, name: str | None = None
) -> tuple[str, dict[str, ChunkDecision | None]]:
    """Read the name and the decisions of the run in a folder; `name` selects one of several.

    Every file must contain the same subjects.
    """
    runs = _runs_in(Path(folder))
    if name is None and len(runs) > 1:
        raise DataFormatError(f"{folder}: several runs (choose one): {', '.join(sorted(runs))}")
    chosen = next(iter(runs), "NAME") if name is None else name
    files = runs.get(chosen, {})
    if missing := [f"{chosen}_{at}.txt" for at in range(1, CHUNKS + 1) if at not in files]:
        raise DataFormatError(f"{folder}: {listed(missing)} missing")
    decisions: dict[str, ChunkDecision | None] = {}
    for chunk, path in sorted(files.items()):
        given = read_table(path, "0, 1 or 2", re.compile("[012]"))
        decisions = decisions or dict.fromkeys(given)
        check_same(given, decisions, path, files[1])
        for subject, value in given.items():
            if decisions[subject] is None and value != "0":
                decisions[subject] = ChunkDecision(POSITIVE if value == "1" else NEGATIVE, chunk)
    return chosen, decisions


def check_same(
    here: Mapping[str, Any], there: Mapping[str, Any], source: object, other: object
) -> None:
    """Raise unless two tables have the same subjects."""
    if missing := [subject for subject in there if subject not in here]:
        raise DataFormatError(f"{source}: {listed(missing)} missing, but in {other}")
    if unknown := [subject for subject in here if subject not in there]:
        raise DataFormatError(f"{source}: {listed(unknown)} not in {other}")


def _code(decision: ChunkDecision | None, chunk: int) -> int:
    if decision is None:
        return 2 if chunk == CHUNKS else 0
    if chunk < decision.chunk:
        return 0
    return 1 if decision.label == POSITIVE else 2


def _runs_in(folder: Path) -> dict[str, dict[int, Path]]:
    """Return the files of each run, by chunk."""
    if not folder.is_dir():
        raise DataFormatError(f"{folder}: no such folder")
    runs: dict[str, dict[int, Path]] = {}
    for path in folder.iterdir():
        if not is_clutter(path.name) and (found := _FILE.fullmatch(path.name)):
            runs.setdefault(found[1], {})[int(found[2])] = path
    return runs
