"""What a contestant of `streams.py` is asked and answers: JSON on standard input and output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from report import BenchmarkError, say
from stream_parts import Part, read_part


@dataclass(frozen=True)
class Job:
    """A stream, the folds of its training subjects, and the measures to tune for."""

    folder: Path
    folds: tuple[tuple[int, ...], ...]
    measures: tuple[str, ...]
    order: str = "time"  # of subjects in folds; by time, those of one time are on one side

    @cached_property
    def train(self) -> Part:
        return read_part(self.folder / "train.jsonl.gz")

    @cached_property
    def test(self) -> Part:
        return read_part(self.folder / "test.jsonl.gz")

    def say(self, message: str) -> None:
        say(f"{self.folder.name}: {message}")

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: str) -> Job:
        data = json.loads(text)
        folds = tuple(tuple(fold) for fold in data["folds"])
        return cls(Path(data["folder"]), folds, tuple(data["measures"]), data["order"])


@dataclass(frozen=True)
class Row:
    """What was decided about the test subjects with the setting that was best for a measure.

    A delay is the number of posts read when the alert fell, 0 without one; a score ranks subjects
    after their last post.
    """

    setting: str
    tuned_value: float
    delays: list[int]
    scores: list[float]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def answer(run: Callable[[str, Job], dict[str, Any]], names: Sequence[str]) -> None:
    """The main function of a contestant's process."""
    # Some libraries print; the result must be the only thing on standard output.
    result_channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if len(sys.argv) != 2 or sys.argv[1] not in names:
        sys.exit(f"give one of {', '.join(names)}")
    job = Job.from_json(sys.stdin.read())
    try:
        _ = job.train, job.test  # before any clock runs
        result = run(sys.argv[1], job)
    except BenchmarkError as error:
        sys.exit(str(error))
    json.dump(result, result_channel)
    result_channel.close()
