"""What a contestant of `accuracy.py` is asked and answers: JSON on standard input and output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from corpus import Corpus, Part, part_of, read_corpus
from report import BenchmarkError, say


@dataclass(frozen=True)
class Task:
    """Texts to learn and texts to classify, with the folds of the former by their positions."""

    name: str
    corpus: Corpus
    folds: tuple[tuple[int, ...], ...]
    trials: int

    def say(self, message: str) -> None:
        say(f"{self.name}: {message}")


@dataclass(frozen=True)
class Job:
    """A corpus, the folds of its training texts by their positions, and how many settings of ours.

    With `samples`, each of them is learnt instead of the training part, and the first fold is
    classified instead of the test part.
    """

    folder: Path
    folds: tuple[tuple[int, ...], ...]
    trials: int
    samples: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def corpus(self) -> Corpus:
        return read_corpus(self.folder)

    def tasks(self) -> Iterator[Task]:
        """Yield the whole corpus, or a task for each sample."""
        name = self.folder.name
        if not self.samples:
            yield Task(name, self.corpus, self.folds, self.trials)
        for sample in self.samples:
            corpus = Corpus(self._chosen(sample), self._chosen(self.folds[0]))
            yield Task(name, corpus, (), self.trials)

    def say(self, message: str) -> None:
        say(f"{self.folder.name}: {message}")

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: str) -> Job:
        data = json.loads(text)
        folds, samples = (tuple(map(tuple, data[key])) for key in ("folds", "samples"))
        return cls(Path(data["folder"]), folds, data["trials"], samples)

    def _chosen(self, positions: Sequence[int]) -> Part:
        train = self.corpus.train
        return part_of([(train.labels[place], train.texts[place]) for place in positions])


@dataclass(frozen=True)
class Row:
    """The labels of the test texts, and their probabilities where the program has some.

    `tuned_value` is the setting's accuracy over all folds, unless nothing was tuned.
    """

    version: str
    setting: str
    tuned_value: float | None
    predicted: list[str]
    seconds: dict[str, float]  # of the processor: "learn" (with tuning) and "read"
    labels: list[str] | None = None  # of the columns of `probabilities`
    probabilities: list[list[float]] | None = None


def answer(run: Callable[[str, Task], Row], names: Sequence[str]) -> None:
    """Run a contestant's process: a row for each task."""
    # Some libraries print; the result must be the only thing on standard output.
    result_channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if len(sys.argv) != 2 or sys.argv[1] not in names:
        sys.exit(f"give one of {', '.join(names)}")
    job = Job.from_json(sys.stdin.read())
    try:
        _ = job.corpus  # before any clock runs
        rows = [asdict(run(sys.argv[1], task)) for task in job.tasks()]
    except BenchmarkError as error:
        sys.exit(str(error))
    json.dump(rows, result_channel)
    result_channel.close()
