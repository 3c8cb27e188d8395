"""Synthetic collections in the official layouts.

They have the quirks of the real collections: broken references, newest writings first, empty titles
and texts, subjects with nine writings (and so empty chunks), and truth files with mixed separators.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, cycle
from pathlib import Path
from typing import Literal

from watchword._checks import as_choice
from watchword._files import AnyPath, atomic_folder
from watchword._progress import Progress, tracked
from watchword.data import Post, Subject, synthetic
from watchword.erisk.layout import Split
from watchword.erisk.published import TaskName, task_named
from watchword.erisk.synthetic_subjects import (
    MOST_WRITINGS,
    SetPlan,
    SubjectPlan,
    plan_sets,
    subject_from,
)
from watchword.erisk.tables import POSITIVE

Release = Literal["official", "2022"]

MARKER = "synthetic.txt"  # in every folder that could be mistaken for a real collection
NOTICE = "All subjects in this folder are synthetic, made by watchword for testing.\n"

_SPECIAL = re.compile(r"[&<>“”’…é\N{SLIGHTLY SMILING FACE}]")
_NAMED = {"&": "amp", "<": "lt", ">": "gt"}


def make_subjects(
    task: TaskName,
    which: Split,
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
    target = Path(folder)
    check_is_new(target)
    people = [(plan, person) for plan in sets for person in plan.people]
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(target) as temporary:
        for plan, person in tracked(people, len(people), progress):
            folder_of = _set_folder(temporary, task, plan, release)
            _write_subject(folder_of, task, release, plan, person)
        for plan in sets:
            folder_of = _set_folder(temporary, task, plan, release)
            (folder_of / MARKER).write_text(NOTICE, encoding="utf-8")
            if release == "official":
                _write_tables(folder_of, plan)


def check_is_new(folder: Path) -> None:
    """Raise unless a folder is empty or does not exist."""
    if folder.exists() and (not folder.is_dir() or next(folder.iterdir(), None)):
        raise FileExistsError(f"{folder} already exists (choose a new folder)")


def _write_subject(
    folder: Path, task: TaskName, release: Release, plan: SetPlan, person: SubjectPlan
) -> None:
    subject = subject_from(person)
    chance = synthetic._Chance(person.seed + 1)
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


def _file_of(name: str, posts: list[Post], chance: synthetic._Chance) -> str:
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


def _marked_up(text: str, chance: synthetic._Chance) -> str:
    """Mark up special characters as in the real files: escaped, badly escaped, or unescaped."""

    def reference(found: re.Match[str]) -> str:
        character = found[0]
        way = chance.between(1, 4)
        if way == 1:
            return character
        token = _NAMED.get(character, f"#{ord(character)}")
        return f"&{token};" if way == 2 else f" {token};"

    return _SPECIAL.sub(reference, text)
