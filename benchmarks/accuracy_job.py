"""What a contestant of `accuracy.py` is asked and answers: JSON on standard input and output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from corpus import Corpus, read_corpus
from report import BenchmarkError, say


@dataclass(frozen=True)
class Job:
    """A corpus, the folds of its training texts by their places, and how many settings of ours."""

    folder: Path
    folds: tuple[tuple[int, ...], ...]
    trials: int

    @cached_property
    def corpus(self) -> Corpus:
        return read_corpus(self.folder)

    def say(self, message: str) -> None:
        say(f"{self.folder.name}: {message}")

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: str) -> Job:
        data = json.loads(text)
        return cls(Path(data["folder"]), tuple(map(tuple, data["folds"])), data["trials"])


@dataclass(frozen=True)
class Row:
    """What the test texts got; the setting's accuracy over all folds, unless nothing was tuned."""

    version: str
    setting: str
    tuned_value: float | None
    predicted: list[str]
    seconds: dict[str, float]  # of the processor: "learn" (with tuning) and "read"


def answer(run: Callable[[str, Job], Row], names: Sequence[str]) -> None:
    """The main function of a contestant's process."""
    # Some libraries print; the result must be the only thing on standard output.
    result_channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if len(sys.argv) != 2 or sys.argv[1] not in names:
        sys.exit(f"give one of {', '.join(names)}")
    job = Job.from_json(sys.stdin.read())
    try:
        _ = job.corpus  # before any clock runs
        result = run(sys.argv[1], job)
    except BenchmarkError as error:
        sys.exit(str(error))
    json.dump(asdict(result), result_channel)
    result_channel.close()
