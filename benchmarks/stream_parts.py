"""A stream in two parts: subjects with a truth, and their posts in order."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import BenchmarkError

POSITIVE = "positive"
NEGATIVE = "negative"


@dataclass(frozen=True)
class Part:
    """The posts of all subjects, one subject after the other; subject i has starts[i:i + 2]."""

    subjects: tuple[str, ...]
    truth: NDArray[np.bool_]
    starts: NDArray[np.int64]
    texts: list[str]
    began: tuple[datetime | None, ...]  # the time of each subject's first post, where it is told

    def posts_of(self, places: Iterable[int]) -> NDArray[np.int64]:
        """Where the posts of these subjects are."""
        ranges = [np.arange(self.starts[place], self.starts[place + 1]) for place in places]
        return np.concatenate([np.empty(0, np.int64), *ranges])


def read_part(path: Path) -> Part:
    """Reads JSON lines with `subject`, `label` and `text`; a subject's lines stand together."""
    subjects: list[str] = []
    truth: list[bool] = []
    starts: list[int] = []
    texts: list[str] = []
    began: list[datetime | None] = []
    for record in _records(path):
        try:
            subject, label, text = record["subject"], record["label"], record["text"]
        except (KeyError, TypeError):
            raise BenchmarkError(f'{path}: a line lacks "subject", "label" or "text"') from None
        if label not in (POSITIVE, NEGATIVE):
            raise BenchmarkError(f"{path}: a label must be {POSITIVE} or {NEGATIVE}, got {label!r}")
        if not subjects or subject != subjects[-1]:
            subjects.append(subject)
            truth.append(label == POSITIVE)
            starts.append(len(texts))
            began.append(_time(path, record.get("time")))
        texts.append(text)
    if len(set(subjects)) != len(subjects):
        raise BenchmarkError(f"{path}: the posts of a subject must be consecutive lines")
    if len(set(truth)) < 2:
        raise BenchmarkError(f"{path}: there must be subjects of both labels")
    ends = np.array([*starts, len(texts)])
    return Part(tuple(subjects), np.array(truth), ends, texts, tuple(began))


def _time(path: Path, told: object) -> datetime | None:
    if told is None:
        return None
    try:
        return datetime.fromisoformat(str(told).replace("Z", "+00:00"))
    except ValueError:
        raise BenchmarkError(f"{path}: not an ISO 8601 time: {told!r}") from None


def _records(path: Path) -> list[Any]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    except FileNotFoundError:
        raise BenchmarkError(f"no stream here: {path} does not exist") from None
    except (OSError, EOFError, ValueError) as error:
        raise BenchmarkError(f"{path} is not gzipped JSON lines: {error!r}") from None
