"""Submissions of eRisk 2017 and 2018: reading, writing, and their decisions beside the truth.

A run is ten files, `NAME_1.txt` to `NAME_10.txt`, one per chunk, with a decision for every subject:
0 none yet, 1 positive, 2 negative. The first decision other than 0 counts; none after chunk 10
means negative.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from watchword._arrays import BoolArray, FloatArray, IntArray
from watchword._display import listed
from watchword._files import AnyPath, atomic_file
from watchword.data.folders import is_clutter
from watchword.erisk.tables import NEGATIVE, POSITIVE, read_table
from watchword.erisk.truth import CollectionWarning
from watchword.errors import DataFormatError
from watchword.evaluation import metrics
from watchword.evaluation.metrics import CHUNKS

_FILE = re.compile(r"(.+)_([1-9]|10)\.txt")


class ChunkDecision(NamedTuple):
    """The final decision about a subject, and the chunk after which it was made."""

    label: str
    chunk: int


@dataclass(frozen=True)
class Outcomes:
    """The decisions of a run beside the truth: one value per subject in each column."""

    subjects: tuple[str, ...]
    truth: BoolArray
    alerted: BoolArray
    delays: IntArray
    first_delays: FloatArray  #: earliest possible ones, infinite without writings
    true_classes: tuple[str, ...] = ()  #: where there are more than two
    decided_classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.truth.any():
            raise DataFormatError("the golden truth has no positive subject")

    def classes(self) -> tuple[IntArray, IntArray]:
        """Return the true and the decided class of each subject, as numbers."""
        if not self.true_classes:
            return self.truth.astype(np.int64), self.alerted.astype(np.int64)
        numbers = {
            name: at for at, name in enumerate(sorted({*self.true_classes, *self.decided_classes}))
        }
        true, decided = (
            np.array([numbers[name] for name in names], np.int64)
            for names in (self.true_classes, self.decided_classes)
        )
        return true, decided


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
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    paths = []
    for chunk in range(1, CHUNKS + 1):
        lines = [f"{subject}\t\t{_code(decisions[subject], chunk)}\n" for subject in decisions]
        paths.append(target / f"{name}_{chunk}.txt")
        with atomic_file(paths[-1]) as file:
            file.write("".join(lines).encode())
    return paths


def read_submissions(
    folder: AnyPath, *, name: str | None = None
) -> tuple[str, dict[str, ChunkDecision | None]]:
    """Read the name and the decisions of the run in a folder; `name` selects one of several.

    Every file must contain the same subjects.
    """
    found, files = _run_files(Path(folder), name)
    decisions: dict[str, ChunkDecision | None] = {}
    for chunk, path in enumerate(files, 1):
        given = read_table(path, "0, 1 or 2", re.compile("[012]"))
        if chunk == 1:
            decisions = dict.fromkeys(given)
        _check_same(given, decisions, path, files[0])
        for subject, value in given.items():
            if decisions[subject] is None and value != "0":
                decisions[subject] = ChunkDecision(POSITIVE if value == "1" else NEGATIVE, chunk)
    return found, decisions


def chunk_outcomes(
    decisions: Mapping[str, ChunkDecision | None],
    truth: Mapping[str, str],
    counts: Mapping[str, int],
) -> Outcomes:
    """Return the outcomes of decisions by chunks, with delays as in the official scripts.

    A decision after chunk i has the delay N at chunk 10, else floor(N/10)·i. Subjects of the truth
    without writings count as never alerted, with a `CollectionWarning` if they are missing from
    the decisions or the counts.
    """
    silent = [one for one in truth if not counts.get(one) and not _is_alert(decisions.get(one))]
    if incomplete := [one for one in silent if one not in decisions or one not in counts]:
        warnings.warn(
            f"{listed(incomplete)} in the golden truth, but without writings; counted as never "
            "alerted, as in the official measures",
            CollectionWarning,
            stacklevel=4,
        )
    decisions = dict.fromkeys(silent) | dict(decisions)
    totals = dict.fromkeys(silent, 0) | dict(counts)
    for what, table in ("the golden truth", truth), ("the counts", totals):
        _check_same(decisions, table, "the run", what)
    subjects = tuple(sorted(truth))  # so that sums do not depend on the order of lines
    posts = np.array([totals[subject] for subject in subjects])
    given = [decisions[subject] or ChunkDecision(NEGATIVE, CHUNKS) for subject in subjects]
    return Outcomes(
        subjects,
        np.array([truth[subject] == POSITIVE for subject in subjects]),
        np.array([decision.label == POSITIVE for decision in given]),
        metrics.chunk_delays([decision.chunk for decision in given], posts),
        np.where(posts > 0, metrics.chunk_delays(1, posts), np.inf),
    )


def _is_alert(decision: ChunkDecision | None) -> bool:
    return decision is not None and decision.label == POSITIVE


def _code(decision: ChunkDecision | None, chunk: int) -> int:
    if decision is None:
        return 2 if chunk == CHUNKS else 0
    if chunk < decision.chunk:
        return 0
    return 1 if decision.label == POSITIVE else 2


def run_names(folder: Path) -> list[str]:
    """Return the names of all runs with files in a folder."""
    found = sorted(_runs_in(folder))
    if not found:
        raise DataFormatError(f"{folder}: contains no run (files NAME_1.txt to NAME_{CHUNKS}.txt)")
    return found


def _runs_in(folder: Path) -> dict[str, dict[int, Path]]:
    """Return the files of each run, by chunk."""
    if not folder.is_dir():
        raise DataFormatError(f"{folder}: no such folder")
    runs: dict[str, dict[int, Path]] = {}
    for path in folder.iterdir():
        if not is_clutter(path.name) and (found := _FILE.fullmatch(path.name)):
            runs.setdefault(found[1], {})[int(found[2])] = path
    return runs


def _run_files(folder: Path, name: str | None) -> tuple[str, list[Path]]:
    runs = _runs_in(folder)
    if name is None and len(runs) > 1:
        raise DataFormatError(f"{folder}: several runs (choose one): {', '.join(sorted(runs))}")
    chosen = name if name is not None else next(iter(runs), "NAME")
    files = runs.get(chosen, {})
    missing = [f"{chosen}_{at}.txt" for at in range(1, CHUNKS + 1) if at not in files]
    if missing:
        raise DataFormatError(f"{folder}: {listed(missing)} missing")
    return chosen, [files[at] for at in range(1, CHUNKS + 1)]


def _check_same(
    here: Mapping[str, Any], there: Mapping[str, Any], source: object, other: object
) -> None:
    if missing := [subject for subject in there if subject not in here]:
        raise DataFormatError(f"{source}: {listed(missing)} missing, but in {other}")
    if unknown := [subject for subject in here if subject not in there]:
        raise DataFormatError(f"{source}: {listed(unknown)} not in {other}")
