"""Synthetic collections in the official layouts, as large as the real ones or smaller.

Positive subjects carry the planted signals of `watchword.data.synthetic`: words, and sequences
whose single words carry no signal. The files have the quirks of the real collections: broken
references, newest writings first, empty titles and texts, subjects with nine writings (and so empty
chunks), and truth files with mixed separators.

They have the quirks of the real files: most submissions are by others, some discussions contain
nothing by the subject, some texts are deleted, and the golden truth names a subject without a file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, cycle
from pathlib import Path
from typing import Any, Literal

from watchword._checks import Progress, as_choice, as_whole, tracked
from watchword._files import AnyPath, atomic_folder
from watchword.data import Post, Subject, synthetic
from watchword.erisk.layout import SetPart
from watchword.erisk.published import SetSize, Task, TaskName, task_named
from watchword.erisk.truth import NEGATIVE, POSITIVE
from watchword.evaluation.metrics import chunk_sizes

Release = Literal["official", "2022"]

MARKER = "synthetic.txt"  # in every folder that could be mistaken for a real collection
NOTICE = "All subjects in this folder are synthetic, made by watchword for testing.\n"

_SPECIAL = re.compile(r"[&<>“”’…é\N{SLIGHTLY SMILING FACE}]")
_NAMED = {"&": "amp", "<": "lt", ">": "gt"}


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


def make_subjects(
    task: TaskName,
    which: SetPart,
    *,
    subjects: int | None = None,
    most_writings: int = MOST_WRITINGS,
    seed: int = 0,
) -> Iterator[Subject]:
    """Yield the subjects that `make_collection` writes for training or testing.

    >>> people = list(make_subjects("2017-depression", "test", subjects=20, most_writings=30))
    >>> min(len(subject.posts) for subject in people)
    9
    """
    as_choice("which", which, ("train", "test"))
    sets = plan_sets(task_named(task), subjects=subjects, most_writings=most_writings, seed=seed)
    for chosen in sets[-1:] if which == "test" else sets[:-1]:
        yield from map(subject_from, chosen.people)


def make_collection(
    folder: AnyPath,
    task: TaskName,
    *,
    subjects: int | None = None,
    most_writings: int = MOST_WRITINGS,
    seed: int = 0,
    release: Release = "official",
    progress: Progress | None = None,
) -> None:
    """Write synthetic training and test sets of a task to a new folder, in the official layout.

    By default the numbers of subjects and writings equal those of the real sets: 887 and 531,394 in
    2017. `subjects` is the number of subjects in all sets together; labels keep their proportions.
    `most_writings` is the largest number of writings of one subject (2,000 in the real sets); all
    histories scale with it, down to the shortest of nine. The same seed gives the same files.

    `release="2022"` writes the layout of the second release of the depression sets.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make_collection(folder, "2017-depression", subjects=20, most_writings=20)
    ...     sorted(path.name for path in Path(folder, "2017").iterdir())
    ['test', 'train']
    """
    as_choice("release", release, ("official", "2022"))
    if release == "2022" and task == "2018-anorexia":
        raise ValueError("the release of 2022 has no anorexia sets")
    sets = plan_sets(task_named(task), subjects=subjects, most_writings=most_writings, seed=seed)
    people = [(plan, person) for plan in sets for person in plan.people]
    with new_folder(folder) as temporary:
        for plan, person in tracked(people, len(people), progress):
            folder_of = _set_folder(temporary, task, plan, release)
            _write_subject(folder_of, task, release, plan, person)
        for plan in sets:
            folder_of = _set_folder(temporary, task, plan, release)
            mark(folder_of)
            if release == "official":
                _write_tables(folder_of, plan)


def check_is_new(folder: Path) -> None:
    """Raise unless a folder is empty or does not exist."""
    if folder.exists() and (not folder.is_dir() or next(folder.iterdir(), None)):
        raise FileExistsError(f"{folder} already exists (choose a new folder)")


@contextmanager
def new_folder(folder: AnyPath) -> Iterator[Path]:
    """Yield a new folder to fill; it appears under its name when it is complete."""
    target = Path(folder)
    check_is_new(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(target) as temporary:
        yield temporary


def mark(folder: Path) -> None:
    """Write the file that marks a folder as synthetic."""
    (folder / MARKER).write_text(NOTICE, encoding="utf-8")


def _write_subject(
    folder: Path, task: TaskName, release: Release, plan: SetPlan, person: SubjectPlan
) -> None:
    subject = subject_from(person)
    chance = synthetic.Chance(person.seed + 1)
    newest_first = task != "2018-anorexia"

    def save(path: Path, posts: list[Post]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _file_of(subject.id, posts[::-1] if newest_first else posts, chance)
        path.write_bytes(text.encode())

    posts = list(subject.posts)
    if release == "2022":
        kind = "pos" if subject.label == POSITIVE else "neg"
        save(folder / kind / f"{subject.id}.xml", posts)
        return
    ends = list(accumulate(subject.chunks or ()))
    for chunk, (begin, end) in enumerate(zip([0, *ends], ends, strict=False), 1):
        place = _chunk_folder(folder, task, plan, person.label, chunk)
        save(place / f"{subject.id}_{chunk}.xml", posts[begin:end])
    if task != "2018-anorexia" and plan.split == "train":
        save(folder / f"{person.label}_examples_anonymous" / f"{subject.id}.xml", posts)


def _set_folder(root: Path, task: TaskName, plan: SetPlan, release: Release) -> Path:
    if release == "2022":
        return root / f"{plan.year}_cases"
    if task == "2018-anorexia":
        return root / "2018 anorexia" / plan.split
    return root / (str(plan.year) if plan.year == 2017 else "2018 depression") / plan.split


def _chunk_folder(folder: Path, task: TaskName, plan: SetPlan, label: str, chunk: int) -> Path:
    if plan.split == "test":
        return folder / (f"chunk {chunk}" if plan.year == 2017 else f"chunk{chunk}")
    if task == "2018-anorexia":
        return folder / f"{label}_examples" / f"chunk{chunk}"
    return folder / f"{label}_examples_anonymous_chunks" / f"chunk {chunk}"


def _write_tables(folder: Path, plan: SetPlan) -> None:
    """Write the golden truth, with mixed separators as in the real files, and the counts."""
    separators = cycle([" ", "\t", "\t\t", "  "])
    lines = [
        f"{person.id}{separator}{int(person.label == POSITIVE)}\n"
        for person, separator in zip(plan.people, separators, strict=False)
    ]
    truth = "risk_golden_truth.txt"
    if plan.split == "test":
        truth = "test_golden_truth.txt" if plan.year == 2017 else "risk-golden-truth-test.txt"
        counts = "writings_all_test_users.txt"
        if plan.year != 2017:
            counts = "writings-per-subject-all-test.txt"
        numbers = [f"{person.id}\t\t{person.writings}\n" for person in plan.people]
        (folder / counts).write_bytes("".join(numbers).encode())
    (folder / truth).write_bytes(("".join(lines) + "\n\n").encode())


def _file_of(name: str, posts: list[Post], chance: synthetic.Chance) -> str:
    parts = [f"<INDIVIDUAL>\n<ID>{name}</ID>\n"]
    for post in posts:
        pad = " " * chance.between(1, 3)
        title, text = (_marked_up(value, chance) for value in (post.title, post.text))
        parts.append(
            f"<WRITING>\n\t<TITLE>{pad}{title}{pad}</TITLE>\n"
            f"\t<DATE> {post.time} </DATE>\n\t<INFO> reddit post </INFO>\n"
            f"\t<TEXT>{pad}{text}{pad}</TEXT>\n</WRITING>\n"
        )
    parts.append("</INDIVIDUAL>\n")
    return "".join(parts)


def _marked_up(text: str, chance: synthetic.Chance) -> str:
    """Mark up special characters as in the real files: escaped, badly escaped, or unescaped."""

    def reference(found: re.Match[str]) -> str:
        character = found[0]
        way = chance.between(1, 4)
        if way == 1:
            return character
        token = _NAMED.get(character, f"#{ord(character)}")
        return f"&{token};" if way == 2 else f" {token};"

    return _SPECIAL.sub(reference, text)


# Subjects


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
    split: SetPart
    people: tuple[SubjectPlan, ...]


def plan_sets(task: Task, *, subjects: int | None, most_writings: int, seed: int) -> list[SetPlan]:
    """Return the plans of a task's sets: the training sets, then the test set."""
    most = as_whole("most_writings", most_writings, FEWEST_WRITINGS + 1, MOST_WRITINGS)
    start = as_whole("seed", seed, 0)
    sizes = _scaled([*task.train, task.test], subjects, most)
    sets = []
    for at, size in enumerate(sizes):
        is_first_year = task.name != "2018-anorexia" and at < 2
        year = 2017 if is_first_year else 2018
        # In 2018, the test set of 2017 is training data in the layout of a test set.
        is_test = at == len(task.train) or (task.name == "2018-depression" and at == 1)
        split: SetPart = "test" if is_test else "train"
        chance = synthetic.Chance(_SEEDS * start + at)
        sets.append(SetPlan(year, split, tuple(_people(size, year, split, most, chance, start))))
    return sets


def subject_from(person: SubjectPlan) -> Subject:
    """Return the subject of a plan with all posts; equal plans give equal subjects."""
    chance = synthetic.Chance(person.seed)
    interests = synthetic.draw_interests(chance)
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


def _post(interests: list[str], risk: float, time: datetime, chance: synthetic.Chance) -> Post:
    if chance.happens(0.01):
        return Post("", time=time)  # an image, or deleted text
    sentences = synthetic.draw_sentences(interests, risk, chance)
    sentences += [synthetic.draw_small_talk(interests, chance) for _ in range(chance.between(0, 2))]
    if chance.happens(0.1):
        sentences.append(chance.one(_ODD))
    title = synthetic.draw_title(chance)
    return Post(" ".join(sentences), title=title, time=time)


def _scaled(sizes: list[SetSize], subjects: int | None, most: int) -> list[SetSize]:
    """Scale the sets down to fewer subjects and shorter histories, in proportion."""
    real = [number for size in sizes for number in (size.positives, size.negatives)]
    wanted = sum(real)
    if subjects is not None:
        wanted = as_whole("subjects", subjects, _SUBJECTS * len(real), 100 * wanted)
    counts = iter(_apportioned(real, wanted))
    return [
        SetSize(
            positives,
            negatives,
            _writings(positives, size.positive_writings / size.positives, most),
            _writings(negatives, size.negative_writings / size.negatives, most),
        )
        for size, positives, negatives in zip(sizes, counts, counts, strict=True)
    ]


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
    size: SetSize, year: int, split: SetPart, most: int, chance: synthetic.Chance, start: int
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


def _lengths(subjects: int, total: int, most: int, chance: synthetic.Chance) -> list[int]:
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


_BEGIN = datetime(2024, 1, 1)  # UTC
_SILENT = 5  # before one in so many posts, on average, is a discussion without the subject
_FORMAT = "%Y-%m-%d %H:%M:%S UTC"


def make_discussions(folder: AnyPath, *, subjects: int = 100, seed: int = 0) -> None:
    """Write a synthetic collection of discussions to a new folder.

    The files are `all_combined/subject_*.json`, with `shuffled_ground_truth_labels.txt` beside that
    folder. The same seed gives the same files.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make_discussions(f"{folder}/made", subjects=10)
    ...     print(len(list(Path(folder).rglob("*.json"))))
    10
    """
    count = as_whole("subjects", subjects, 4)
    people = synthetic.make_risk_streams(count, seed=seed)
    others = [post for one in people if one.label != synthetic.AT_RISK for post in one.posts]
    with new_folder(folder) as temporary:
        (temporary / "all_combined").mkdir()
        labels = []
        for at, subject in enumerate(people):
            name = f"subject_{subject.id.removeprefix('subject')}"
            chance = synthetic.Chance(seed * count + at)
            text = json.dumps(_discussions(name, subject, others, chance), indent=1)
            (temporary / "all_combined" / f"{name}.json").write_text(text, encoding="utf-8")
            labels.append(f"{name}\t{int(subject.label == synthetic.AT_RISK)}\n")
        labels.insert(len(labels) // 2, "subject_absent\t0\n")
        truth = temporary / "shuffled_ground_truth_labels.txt"
        truth.write_text("".join(labels), encoding="utf-8")
        mark(temporary)


def _discussions(
    name: str, subject: Subject, others: list[Post], chance: synthetic.Chance
) -> list[dict[str, Any]]:
    def by_others(number: int) -> list[tuple[str, str]]:
        drawn = (others[chance.between(0, len(others) - 1)] for _ in range(number))
        return [(f"other_{chance.between(1, 999)}", post.text) for post in drawn]

    found: list[dict[str, Any]] = []
    for post in subject.posts:
        is_silent = chance.between(1, _SILENT) == 1
        if is_silent:  # a discussion of others, before the next one of the subject
            found.append(_discussion(name, len(found), "", by_others(1), by_others(2)))
        own, replies = [(name, post.text)], by_others(chance.between(0, 2))
        if post.title:
            found.append(_discussion(name, len(found), post.title, own, replies))
        else:
            found.append(_discussion(name, len(found), "Thoughts?", by_others(1), own + replies))
    return found


def _discussion(
    name: str,
    number: int,
    title: str,
    submission: list[tuple[str, str]],
    comments: list[tuple[str, str]],
) -> dict[str, Any]:
    """Return a discussion with the field names of the files."""
    [(author, body)] = submission
    is_deleted = author != name and number % 8 == 0
    time = (_BEGIN + timedelta(days=number)).strftime(_FORMAT)
    identity = f"{name}-{number}"
    return {
        "submission": {
            "submission_id": identity,
            "user_id": author,
            "title": title,
            "body": "[deleted]" if is_deleted else body,
            "created_utc": time,
            "target": author == name,
        },
        "comments": [
            {
                "comment_id": f"{identity}-{at}",
                "user_id": by,
                "body": text,
                "parent_id": identity,
                "created_utc": time,
                "target": by == name,
            }
            for at, (by, text) in enumerate(comments, 1)
        ],
    }
