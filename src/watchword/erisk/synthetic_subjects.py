"""Synthetic subjects for eRisk tasks, as many as in the real sets or fewer.

Positive subjects carry the planted signals of `watchword.data.synthetic`: words, and sequences
whose single words carry no signal. Texts contain characters that are broken in the real files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from watchword._checks import as_whole
from watchword.data import Post, Subject, synthetic
from watchword.erisk.layout import Split
from watchword.erisk.published import SetSize, Task
from watchword.erisk.tables import NEGATIVE, POSITIVE
from watchword.evaluation.metrics import chunk_sizes

FEWEST_WRITINGS, MOST_WRITINGS = 9, 2000  # of a subject in the real sets

_SUBJECTS = 2  # least number of subjects per label and set
_SEEDS = 1_000_003  # distance between seeds, so that subjects differ
_ODD = (
    "I don’t know.",
    "R&B, or rock & roll?",
    "“Well…”, he said.",
    "love u <3 <3",
    "if (a < b && b > c) return;",
    "5 > 4, the café is \N{SLIGHTLY SMILING FACE}",
    "See issue #12; it’s fixed.",
)


@dataclass(frozen=True)
class SubjectPlan:
    """The plan of a synthetic subject."""

    id: str
    label: str
    writings: int
    seed: int


@dataclass(frozen=True)
class SetPlan:
    """The plan of a synthetic set of a task."""

    year: int
    split: Split
    people: tuple[SubjectPlan, ...]


def plan_sets(task: Task, *, subjects: int | None, most_writings: int, seed: int) -> list[SetPlan]:
    """Return the plans of a task's sets: the training sets, then the test set."""
    most = as_whole("most_writings", most_writings, FEWEST_WRITINGS + 1, MOST_WRITINGS)
    start = as_whole("seed", seed, 0)
    sizes = _scaled([*task.train, task.test], subjects, most)
    sets = []
    for at, size in enumerate(sizes):
        is_first_year = task.name != "2018-anorexia" and at < 2
        year, split = (2017 if is_first_year else 2018), _split(task, at)
        chance = synthetic._Chance(_SEEDS * start + at)
        sets.append(SetPlan(year, split, tuple(_people(size, year, split, most, chance, start))))
    return sets


def subject_from(person: SubjectPlan) -> Subject:
    """Return the subject of a plan with all posts; equal plans give equal subjects."""
    chance = synthetic._Chance(person.seed)
    interests = chance.some(list(synthetic._INTERESTS), 3)
    worst = 0.2 + 0.6 * chance.between(0, 100) / 100  # the signal varies between subjects
    time = datetime(2010, 1, 1) + timedelta(minutes=chance.between(0, 2_000_000))
    posts = []
    for place in range(person.writings):
        if chance.happens(0.98):  # otherwise in the same second as the previous post
            time += timedelta(seconds=chance.between(20, 200_000))
        progress = (place + 1) / person.writings
        risk = worst * (0.3 + 0.7 * progress) if person.label == POSITIVE else 0.0
        posts.append(_post(interests, risk, time, chance))
    sizes = tuple(chunk_sizes(person.writings).tolist())
    return Subject(person.id, posts, person.label, sizes)


def _split(task: Task, at: int) -> Split:
    """Return the split of a set; the test set of 2017 keeps its layout as training data in 2018."""
    is_test = at == len(task.train) or (task.name == "2018-depression" and at == 1)
    return "test" if is_test else "train"


def _post(interests: list[str], risk: float, time: datetime, chance: synthetic._Chance) -> Post:
    if chance.happens(0.01):
        return Post("", time=time)  # an image, or deleted text
    sentences = synthetic._sentences(interests, risk, chance)
    sentences += [synthetic._small_talk(interests, chance) for _ in range(chance.between(0, 2))]
    if chance.happens(0.1):
        sentences.append(chance.one(_ODD))
    title = chance.one(synthetic._TITLES) if chance.happens(0.25) else ""
    return Post(" ".join(sentences), title=title, time=time)


def _scaled(sizes: list[SetSize], subjects: int | None, most: int) -> list[SetSize]:
    """Scale the sets down to fewer subjects and shorter histories, in proportion."""
    real = [number for size in sizes for number in (size.positives, size.negatives)]
    wanted = sum(real)
    if subjects is not None:
        wanted = as_whole("subjects", subjects, _SUBJECTS * len(real), 100 * wanted)
    counts = _apportioned(real, wanted)
    scaled = []
    for at, size in enumerate(sizes):
        positives, negatives = counts[2 * at : 2 * at + 2]
        scaled.append(
            SetSize(
                positives,
                negatives,
                _writings(positives, size.positive_writings / size.positives, most),
                _writings(negatives, size.negative_writings / size.negatives, most),
            )
        )
    return scaled


def _apportioned(real: list[int], wanted: int) -> list[int]:
    """Split a number in the given proportions, with parts of at least two."""
    counts = [max(_SUBJECTS, wanted * number // sum(real)) for number in real]
    while sum(counts) != wanted:
        step = 1 if sum(counts) < wanted else -1
        places = [at for at in range(len(real)) if counts[at] + step >= _SUBJECTS]
        best = max(places, key=lambda at: step * (wanted * real[at] / sum(real) - counts[at]))
        counts[best] += step
    return counts


def _writings(subjects: int, mean: float, most: int) -> int:
    share = (mean - FEWEST_WRITINGS) / (MOST_WRITINGS - FEWEST_WRITINGS)
    return round(subjects * (FEWEST_WRITINGS + share * (most - FEWEST_WRITINGS)))


def _people(
    size: SetSize, year: int, split: Split, most: int, chance: synthetic._Chance, start: int
) -> Iterator[SubjectPlan]:
    """Return the subjects of a set in random order, with random numbers in their ids."""
    lengths = _lengths(size.positives, size.positive_writings, most, chance)
    known = [(POSITIVE, length) for length in lengths]
    lengths = _lengths(size.negatives, size.negative_writings, most, chance)
    known += [(NEGATIVE, length) for length in lengths]
    numbers = chance.some(range(1, 10 * size.subjects + 1), size.subjects)
    prefix = f"{split}_subject" if year == 2017 else "subject"
    for number, (label, length) in zip(numbers, chance.some(known, len(known)), strict=True):
        own = ((start * 4 + year % 10 % 2 * 2 + (split == "test")) * _SEEDS + number) * _SEEDS
        yield SubjectPlan(f"{prefix}{number}", label, length, own)


def _lengths(subjects: int, total: int, most: int, chance: synthetic._Chance) -> list[int]:
    """Draw the number of writings per subject: mostly small, a few very large, one of nine."""
    room = most - FEWEST_WRITINGS
    # The mean of the n-th power of a uniform share is 1 / (n + 1). Multiplied out, because `**` may
    # differ between platforms.
    power = max(1, round(room / max(total / subjects - FEWEST_WRITINGS, 1) - 1))
    lengths = []
    for _ in range(subjects):
        share = chance.between(0, 10**6) / 10**6
        lengths.append(FEWEST_WRITINGS + int(room * math.prod([share] * power)))
    lengths[0] = FEWEST_WRITINGS
    while left := total - sum(lengths):
        step = max(1, abs(left) // subjects) * (1 if left > 0 else -1)
        for at in range(1, subjects):
            moved = min(max(lengths[at] + step, FEWEST_WRITINGS), most) - lengths[at]
            if abs(moved) <= abs(left):
                lengths[at] += moved
                left -= moved
            if not left:
                break
    return lengths
