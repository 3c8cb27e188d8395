"""The folder layouts of eRisk collections, in their first and later releases.

A collection is a folder in one of these layouts, recognised by its contents:

- `train`: `{positive,negative}_examples_anonymous_chunks/chunk K/` (2017) or
  `{positive,negative}_examples/chunkK/` (2018), or whole histories in folders without chunks;
- `test`: `chunk K/` (2017) or `chunkK/` (2018);
- `cases`: `pos/` and `neg/` with whole histories, as in `2017_cases` (released in 2022);
- `folder`: only files of subjects (2019 and later: `data/`, `datos/`);
- `json`: `subject*.json` with discussions (2025 and 2026: `all_combined/`) or with messages
  (MentalRiskES: `train/data/`);
- `rounds`: `round_N.json` with what a server sent in each round (MentalRiskES: `test/data/`).

Golden truth (`*golden*truth*.txt`, `*ground_truth*.txt`) is in the folder, or one level above it if
the folders do not give the labels; that of MentalRiskES (`gold*.txt`) is also in a folder beside
it. Counts (`writings*.txt`) are in the folder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from watchword._checks import Progress, as_choice, tracked
from watchword._display import listed
from watchword._files import AnyPath
from watchword.data import Post, Subject
from watchword.data.times import TimeChecks, sorted_by_time, trend
from watchword.erisk.readers import (
    only,
    read_individual,
    read_rounds,
    read_subject_json,
    round_files,
    subfolders,
    subject_files,
    subject_json_files,
)
from watchword.erisk.truth import (
    NEGATIVE,
    POSITIVE,
    read_counts,
    truth_in,
    truth_of,
    warn_about_data,
    with_truth,
)
from watchword.errors import DataFormatError
from watchword.evaluation.metrics import CHUNKS

LayoutName = Literal["train", "test", "cases", "folder", "json", "rounds"]
SetPart = Literal["train", "test"]

_DEPTH = 6  # levels below a folder to search for collections
_CHUNK = re.compile(r"chunk[ _-]?0*([1-9][0-9]?)", re.IGNORECASE)
_NUMBERS = re.compile(r"([0-9]+)")
_SPLITS: tuple[SetPart, ...] = ("train", "test")
_COUNTS = re.compile(r"writings.*\.txt", re.IGNORECASE)
# Splits named by the path of a collection: `training_data`, `test_data`.
_SAYING: dict[SetPart, re.Pattern[str]] = {
    "train": re.compile(r"(?<![a-z])train(ing)?(?![a-z])", re.IGNORECASE),
    "test": re.compile(r"(?<![a-z])test(ing)?(?![a-z])", re.IGNORECASE),
}


@dataclass(frozen=True)
class Collection:
    """A folder with a collection, and its layout.

    `parts` are folders of cases that are read as one set.
    """

    path: Path
    layout: LayoutName
    parts: tuple[Path, ...] = ()

    @property
    def truth(self) -> Path | None:
        """The file with the golden truth in the folder, if there is one."""
        return None if self.parts else truth_in(self.path)

    @property
    def counts(self) -> Path | None:
        """The file with the number of writings of each subject, if there is one."""
        return None if self.parts else only(self.path, _COUNTS, "count")

    @property
    def first_file(self) -> str:
        """The name of one file of the collection, which distinguishes 2017 from later years."""
        names = (file.name for folder in subfolders(self.path) for file in subject_files(folder))
        return next(names, "")


class _CollectionPath(NamedTuple):
    """A folder or file of a collection, with the label and the chunk that its path gives."""

    path: Path
    label: str | None
    chunk: int | None


def read_erisk(
    path: AnyPath, *, which: SetPart | None = None, progress: Progress | None = None
) -> list[Subject]:
    """Read the collection in a folder or below it, and detect its layout.

    `which` selects the training or the test set if the folder contains both: by the layout, by the
    paths below the folder (`training_data`, `test_data`), or by the file names
    (`train_subject1.xml`). Adjacent folders of cases (`2017_cases`, `2018_cases`) are read as one
    training set.

    Labels are `"positive"` and `"negative"` (in MentalRiskES also other classes), or None if
    neither golden truth (in the folder of the files or near it) nor the folder gives them. Posts
    are ordered by time within each file, files by chunk; the chunk sizes are in `Subject.chunks`.
    Subjects are ordered by name, subject2 before subject10. Of discussions (2025 and 2026), a
    post is what the subject wrote in one of them, `Post.context` what others wrote; see
    `Subject.with_context`.

    Contradictory data raises a `DataFormatError` that names the file. A `CollectionWarning` is
    issued if

    - the number of writings differs from the count file: the official measures use that file, and
      so does `run_task`; all texts are still read;
    - golden truth names a subject without writings: the official measures include such subjects,
      so they are read as subjects without posts, which never get an alert;
    - no post has text;
    - most dates are unreadable, or contradict the order of chunks or numbers in most subjects;
    - labels are missing, but a file nearby looks like golden truth.

    >>> import tempfile
    >>> from watchword.erisk import make_collection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make_collection(folder, "2018-anorexia", subjects=20, most_writings=20)
    ...     subjects = read_erisk(folder, which="test")
    >>> sorted({subject.label for subject in subjects})
    ['negative', 'positive']
    """
    if which is not None:
        as_choice("which", which, _SPLITS)
    found = together(find_collections(path))
    chosen = found if which is None else _about(which, found, Path(path))
    if not chosen:
        raise DataFormatError(
            f"{path}: contains no {which or ''} eRisk collection".replace("  ", " ")
        )
    if len(chosen) > 1:
        names = ", ".join(str(one.path) for one in chosen)
        raise DataFormatError(f"{path}: several collections (choose one): {names}")
    [collection] = chosen
    by_name = None if which == _split_of(collection, Path(path)) else which
    return read_collection(collection, which=by_name, progress=progress)


def find_collections(path: AnyPath) -> list[Collection]:
    """Find all collections in a folder and below."""
    root = Path(path)
    if not root.is_dir():
        raise DataFormatError(f"{path}: no such folder")
    return list(_search(root, _DEPTH))


def together(found: Iterable[Collection]) -> list[Collection]:
    """Merge adjacent folders of cases, such as `2017_cases`, into one collection."""
    cases: dict[Path, list[Path]] = {}
    others = []
    for one in found:
        if one.layout == "cases":
            cases.setdefault(one.path.parent, []).append(one.path)
        else:
            others.append(one)
    return others + [
        Collection(parent, "cases", tuple(parts))
        if len(parts) > 1
        else Collection(parts[0], "cases")
        for parent, parts in cases.items()
    ]


def _about(which: SetPart, found: list[Collection], root: Path) -> list[Collection]:
    """Return the collections of a split, or if there are none, those of unknown split."""
    splits = [_split_of(one, root) for one in found]
    own = [one for one, split in zip(found, splits, strict=True) if split == which]
    return own or [one for one, split in zip(found, splits, strict=True) if split is None]


def _split_of(collection: Collection, root: Path) -> SetPart | None:
    """Return the split given by the layout of a collection or its path below a folder."""
    if collection.layout in ("train", "test"):
        return collection.layout
    if collection.parts:
        return "train"
    below = collection.path.relative_to(root).as_posix()
    said = [split for split, word in _SAYING.items() if word.search(below)]
    return said[0] if len(said) == 1 else None


def read_collection(
    collection: Collection, *, which: SetPart | None = None, progress: Progress | None = None
) -> list[Subject]:
    """Read one collection; without a split, `which` selects files by name (`train_subject1`)."""
    part = "" if which is None or collection.layout in _SPLITS else f"{which}_"
    checks = TimeChecks()
    read = subjects = _subjects(collection, part, checks, progress)
    _check_posts(collection, read, checks)
    [(name, times)] = Counter(subject.id for subject in read).most_common(1)
    if times > 1:
        raise DataFormatError(f"{collection.path}: duplicate subject id {name!r}")
    truth = None if collection.parts else truth_of(collection.path, read)
    if truth is not None:
        subjects = with_truth(truth, collection.path, read, part)
        subjects.sort(key=lambda subject: _natural(subject.id))
    _check_counts(collection, read, subjects)
    return subjects


def _subjects(
    collection: Collection, part: str, checks: TimeChecks, progress: Progress | None
) -> list[Subject]:
    """Return the subjects with files whose names begin with `part`, in the order of names."""
    if collection.layout == "rounds":
        subjects = read_rounds(collection.path, checks)
        subjects = [subject for subject in subjects if subject.id.startswith(part)]
        subjects.sort(key=lambda subject: _natural(subject.id))
    else:
        by_name = _by_name(collection)
        names = sorted((name for name in by_name if name.startswith(part)), key=_natural)
        subjects = [
            _subject(name, by_name[name], checks) for name in tracked(names, len(names), progress)
        ]
    if not subjects:
        raise DataFormatError(f"{collection.path}: contains no file {part}…")
    return subjects


def _search(folder: Path, depth: int) -> Iterator[Collection]:
    layout = _layout(folder)
    if layout is not None:
        yield Collection(folder, layout)
    elif depth:
        for below in subfolders(folder):
            yield from _search(below, depth - 1)


def _layout(folder: Path) -> LayoutName | None:
    names = {below.name for below in subfolders(folder)}
    if any(re.fullmatch("(positive|negative)_examples(_anonymous)?(_chunks)?", n) for n in names):
        return "train"
    if any(_CHUNK.fullmatch(name) for name in names):
        return "test"
    if {"pos", "neg"} <= names:
        return "cases"
    if next(subject_files(folder), None):
        return "folder"
    if next(subject_json_files(folder), None):
        return "json"
    return "rounds" if round_files(folder) else None


def _folders(collection: Collection) -> list[_CollectionPath]:
    path = collection.path
    if collection.layout == "test":
        return _chunk_folders(path, None)
    if collection.layout in ("folder", "json"):
        return [_CollectionPath(path, None, None)]
    if collection.layout == "cases":
        labels = (("neg", NEGATIVE), ("pos", POSITIVE))
        parts = collection.parts or (path,)
        return [
            _CollectionPath(part / name, label, None) for part in parts for name, label in labels
        ]
    folders = []
    for label in (NEGATIVE, POSITIVE):
        folders += _examples(path, label)
    if len({folder.chunk is None for folder in folders}) > 1:
        raise DataFormatError(f"{path}: only the examples of one label are in chunks")
    return folders


def _examples(path: Path, label: str) -> list[_CollectionPath]:
    """Return the folders with the examples of a label: chunks, or whole histories."""
    names = [f"{label}_examples{end}" for end in ("_anonymous_chunks", "", "_chunks", "_anonymous")]
    there = [path / name for name in names if (path / name).is_dir()]
    if not there:
        raise DataFormatError(f"{path}: {label} examples are missing")
    for folder in there:
        if any(_CHUNK.fullmatch(below.name) for below in subfolders(folder)):
            return _chunk_folders(folder, label)
    return [_CollectionPath(there[-1], label, None)]


def _chunk_folders(path: Path, label: str | None) -> list[_CollectionPath]:
    chunks: dict[int, Path] = {}
    for below in subfolders(path):
        if found := _CHUNK.fullmatch(below.name):
            number = int(found[1])
            if number in chunks or number > CHUNKS:
                raise DataFormatError(f"{below}: duplicate chunk, or not one of {CHUNKS} chunks")
            chunks[number] = below
    if missing := [f"chunk {at}" for at in range(1, CHUNKS + 1) if at not in chunks]:
        raise DataFormatError(f"{path}: {listed(missing)} missing")
    return [_CollectionPath(chunks[at], label, at) for at in sorted(chunks)]


def _by_name(collection: Collection) -> dict[str, list[_CollectionPath]]:
    """Return the files of each subject, by name without chunk number and `.xml`."""
    by_name: dict[str, list[_CollectionPath]] = {}
    files_in = subject_json_files if collection.layout == "json" else subject_files
    for folder in _folders(collection):
        for path in files_in(folder.path):
            name = path.stem
            if folder.chunk is not None:
                name, _, number = name.rpartition("_")
                if number != str(folder.chunk) or not name:
                    raise DataFormatError(f"{path}: must be named SUBJECT_{folder.chunk}.xml")
            files = by_name.setdefault(name, [])
            if files and (folder.chunk is None or files[0].label != folder.label):
                raise DataFormatError(f"{path}: duplicate of the subject in {files[0].path}")
            files.append(_CollectionPath(path, folder.label, folder.chunk))
    if not by_name:
        raise DataFormatError(f"{collection.path}: contains no files of subjects (.xml, .json)")
    return by_name


def _subject(name: str, files: list[_CollectionPath], checks: TimeChecks) -> Subject:
    first, identity = files[0], ""
    if first.path.suffix.lower() == ".json":
        return read_subject_json(first.path, checks)
    parts: list[list[Post]] = []
    for file in files:
        individual = read_individual(file.path, checks)
        # An id with surrounding spaces would not match any table.
        own = "_".join(individual.id.split()) or name
        if identity and own != identity:
            raise DataFormatError(
                f"{file.path}: subject {own!r}, but {first.path} has {identity!r}"
            )
        identity = own
        parts.append(individual.posts)
    # The order of time may be unclear from one short file alone.
    newest_first = sum(trend(post.time for post in part) for part in parts) < 0
    posts = [post for part in parts for post in sorted_by_time(part, newest_first=newest_first)]
    if first.chunk is None:
        return Subject(identity, posts, first.label)
    sizes = {file.chunk: len(part) for file, part in zip(files, parts, strict=True)}
    _check_chunks(name, files[0].path.parent.parent, sizes)
    return Subject(
        identity, posts, first.label, tuple(sizes.get(at, 0) for at in range(1, CHUNKS + 1))
    )


def _check_chunks(name: str, folder: Path, sizes: Mapping[int | None, int]) -> None:
    """Raise if chunks are missing, unless all posts (fewer than ten) are in the last chunk."""
    missing = [f"{name}_{at}.xml" for at in range(1, CHUNKS + 1) if at not in sizes]
    few = CHUNKS in sizes and not any(size for at, size in sizes.items() if at != CHUNKS)
    if missing and not (few and sizes[CHUNKS] < CHUNKS):
        raise DataFormatError(f"{folder}: {listed(missing)} missing")


def _check_posts(collection: Collection, subjects: list[Subject], checks: TimeChecks) -> None:
    """Warn if no post has text, or most dates are unreadable or contradict the order."""
    for subject in subjects:
        checks.check_order(post.time for post in subject.posts)
    problems = checks.problems()
    if not any(post.text for subject in subjects for post in subject.posts):
        problems.append("no post of any subject has text beside its title (is the layout another?)")
    for problem in problems:
        warn_about_data(f"{collection.path}: {problem}")


def _check_counts(collection: Collection, read: list[Subject], subjects: list[Subject]) -> None:
    """Compare the count file with the subjects read from files, and with those of golden truth."""
    path = collection.counts
    if path is None:
        return
    counts = read_counts(path)
    if unknown := [subject.id for subject in read if subject.id not in counts]:
        raise DataFormatError(f"{path}: {listed(unknown)} missing, but with files")
    names = {subject.id for subject in read}
    if lost := [one.id for one in subjects if one.id not in names and counts.get(one.id)]:
        raise DataFormatError(f"{path}: {listed(lost)} listed with writings, but without files")
    wrong = [one for one in read if len(one.posts) != counts[one.id]]
    if wrong:
        first = wrong[0]
        warn_about_data(
            f"{path}: {len(wrong)} of {len(read)} subjects have another number of writings, "
            f"first {first.id} with {len(first.posts)} instead of {counts[first.id]}"
        )


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = _NUMBERS.split(name)
    return [(1, int(part), "") if at % 2 else (0, 0, part) for at, part in enumerate(parts)]
