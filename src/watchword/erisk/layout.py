"""Collections of eRisk as they were given out, and as they were given out again.

A collection is a folder in one of these layouts, found by what is in it:

- `train`: `{positive,negative}_examples_anonymous_chunks/chunk K/` (2017) or
  `{positive,negative}_examples/chunkK/` (2018), or whole histories in folders without chunks;
- `test`: `chunk K/` (2017) or `chunkK/` (2018);
- `cases`: `pos/` and `neg/` with whole histories, as in `2017_cases` (given out in 2022);
- `folder`: just files of subjects (2019 and later: `data/`, `datos/`).

Golden truth (`*golden*truth*.txt`) is in the folder, or one level above it where labels are not
known from folders; counts (`writings*.txt`) are in the folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from watchword._checks import as_choice
from watchword.data import Post, Subject
from watchword.erisk.listing import matching, subfolders, subject_files
from watchword.erisk.markup import in_order, read_individual, trend
from watchword.erisk.submission import (
    CHUNKS,
    NEGATIVE,
    POSITIVE,
    CollectionWarning,
    listed,
    read_counts,
)
from watchword.erisk.truth import labelled, truth_in, truth_of, warn
from watchword.errors import DataFormatError

__all__ = [
    "Collection",
    "CollectionWarning",
    "find_collections",
    "official_counts",
    "read_collection",
    "read_erisk",
    "together",
]

Layout = Literal["train", "test", "cases", "folder"]
Split = Literal["train", "test"]
#: Wraps an iterable to show how far it is: `progress(iterable, total)`.
Progress = Callable[[Iterable[Any], int], Iterable[Any]]

_DEPTH = 6  # how far below a folder collections are looked for
_CHUNK = re.compile(r"chunk[ _-]?0*([1-9][0-9]?)", re.IGNORECASE)
_NUMBERS = re.compile(r"([0-9]+)")
_SPLITS: tuple[Split, ...] = ("train", "test")
_COUNTS = re.compile(r"writings.*\.txt", re.IGNORECASE)
# What the path of a collection says, where its layout does not: `training_data`, `test_data`.
_SAYING: dict[Split, re.Pattern[str]] = {
    "train": re.compile(r"(?<![a-z])train(ing)?(?![a-z])", re.IGNORECASE),
    "test": re.compile(r"(?<![a-z])test(ing)?(?![a-z])", re.IGNORECASE),
}


@dataclass(frozen=True)
class Collection:
    """A folder that holds a collection, and in which layout.

    `parts` are the folders of cases in it that are read as one set.
    """

    path: Path
    layout: Layout
    parts: tuple[Path, ...] = ()

    @property
    def truth(self) -> Path | None:
        """The file with the golden truth in the folder, if there is one."""
        return None if self.parts else truth_in(self.path)

    @property
    def counts(self) -> Path | None:
        """The file with the number of writings of each subject, if there is one."""
        found = [] if self.parts else matching(self.path, _COUNTS)
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise DataFormatError(f"{self.path}: several files of counts, keep one: {names}")
        return found[0] if found else None

    @property
    def first_file(self) -> str:
        """The name of one file in a folder of it, which tells 2017's from later ones."""
        names = (file.name for folder in subfolders(self.path) for file in subject_files(folder))
        return next(names, "")


class _Folder(NamedTuple):
    path: Path
    label: str | None
    chunk: int | None


class _File(NamedTuple):
    path: Path
    label: str | None
    chunk: int | None


def read_erisk(
    path: str | os.PathLike[str],
    *,
    which: Split | None = None,
    progress: Progress | None = None,
) -> list[Subject]:
    """Read the collection in a folder, or the one below it; the layout is found out.

    `which` chooses between the training and the test set where there are both: by the layout, by
    what the paths below the folder say (`training_data`, `test_data`), or by the names of files
    (`train_subject1.xml`). Several folders of cases beside each other (`2017_cases`,
    `2018_cases`) are one training set.

    Labels are `"positive"` and `"negative"`, and None where there is neither golden truth (in the
    folder of the files or one level above) nor a folder that tells. Posts are in the order of time
    within each file, files in the order of chunks, whose sizes are in `Subject.chunks`. Subjects
    are in the order of their names, subject2 before subject10.

    Everything that contradicts itself is a `DataFormatError` that names the file. A
    `CollectionWarning` is given

    - where the number of writings is not what the count file says: the official measures go by
      that file, so `run_task` does too, and all texts are still there;
    - where golden truth names somebody without writings: the official measures count these
      people, so they are subjects without posts, which never get an alert;
    - where labels are not known, but a file nearby looks like golden truth.

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
            f"{path}: no {which or ''} collection of eRisk in it".replace("  ", " ")
        )
    if len(chosen) > 1:
        names = ", ".join(str(one.path) for one in chosen)
        raise DataFormatError(f"{path}: several collections, name one of them: {names}")
    [collection] = chosen
    by_name = None if which == _split_of(collection, Path(path)) else which
    return read_collection(collection, which=by_name, progress=progress)


def find_collections(path: str | os.PathLike[str]) -> list[Collection]:
    """All collections in a folder and below."""
    root = Path(path)
    if not root.is_dir():
        raise DataFormatError(f"{path}: no such folder")
    return list(_search(root, _DEPTH))


def together(found: Iterable[Collection]) -> list[Collection]:
    """Make one collection of folders of cases that are beside each other, such as `2017_cases`."""
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


def _about(which: Split, found: list[Collection], root: Path) -> list[Collection]:
    """Return the collections of a split, or else those that do not say of which they are."""
    splits = [_split_of(one, root) for one in found]
    own = [one for one, split in zip(found, splits, strict=True) if split == which]
    return own or [one for one, split in zip(found, splits, strict=True) if split is None]


def _split_of(collection: Collection, root: Path) -> Split | None:
    """Return what the layout or the path below a folder says about a collection."""
    if collection.layout in ("train", "test"):
        return collection.layout
    if collection.parts:
        return "train"
    below = collection.path.relative_to(root).as_posix()
    said = [split for split, word in _SAYING.items() if word.search(below)]
    return said[0] if len(said) == 1 else None


def read_collection(
    collection: Collection, *, which: Split | None = None, progress: Progress | None = None
) -> list[Subject]:
    """Read one collection; where it has no split, `which` chooses by names (`train_subject1`)."""
    by_name = _by_name(collection)
    part = "" if which is None or collection.layout in _SPLITS else f"{which}_"
    by_name = {name: files for name, files in by_name.items() if name.startswith(part)}
    if not by_name:
        raise DataFormatError(f"{collection.path}: no file is called {part}….xml")
    names = _shown(sorted(by_name, key=_natural), len(by_name), progress)
    read = subjects = [_subject(name, by_name[name]) for name in names]
    _check_ids(collection, read)
    truth = None if collection.parts else truth_of(collection.path, read)
    if truth is not None:
        subjects = labelled(truth, collection.path, read, part)
        subjects.sort(key=lambda subject: _natural(subject.id))
    _check_counts(collection, read, subjects)
    return subjects


def official_counts(collection: Collection, subjects: Iterable[Subject]) -> dict[str, int]:
    """How many writings the official measures go by: those of the count file, or those there."""
    path = collection.counts
    known = {} if path is None else read_counts(path)
    return {subject.id: known.get(subject.id, len(subject.posts)) for subject in subjects}


def _search(folder: Path, depth: int) -> Iterator[Collection]:
    layout = _layout(folder)
    if layout is not None:
        yield Collection(folder, layout)
    elif depth:
        for below in subfolders(folder):
            yield from _search(below, depth - 1)


def _layout(folder: Path) -> Layout | None:
    names = {below.name for below in subfolders(folder)}
    if any(re.fullmatch("(positive|negative)_examples(_anonymous)?(_chunks)?", n) for n in names):
        return "train"
    if any(_CHUNK.fullmatch(name) for name in names):
        return "test"
    if {"pos", "neg"} <= names:
        return "cases"
    return "folder" if next(subject_files(folder), None) else None


def _folders(collection: Collection) -> list[_Folder]:
    """Where the files of a collection are."""
    path = collection.path
    if collection.layout == "test":
        return _chunk_folders(path, None)
    if collection.layout == "folder":
        return [_Folder(path, None, None)]
    if collection.layout == "cases":
        labels = (("neg", NEGATIVE), ("pos", POSITIVE))
        parts = collection.parts or (path,)
        return [_Folder(part / name, label, None) for part in parts for name, label in labels]
    folders = []
    for label in (NEGATIVE, POSITIVE):
        folders += _examples(path, label)
    if len({folder.chunk is None for folder in folders}) > 1:
        raise DataFormatError(f"{path}: examples of one label are in chunks, of the other not")
    return folders


def _examples(path: Path, label: str) -> list[_Folder]:
    """The folders with the examples of a label: of chunks, if there are, else whole histories."""
    names = [f"{label}_examples{end}" for end in ("_anonymous_chunks", "", "_chunks", "_anonymous")]
    there = [path / name for name in names if (path / name).is_dir()]
    if not there:
        raise DataFormatError(f"{path}: {label} examples are missing")
    for folder in there:
        if any(_CHUNK.fullmatch(below.name) for below in subfolders(folder)):
            return _chunk_folders(folder, label)
    return [_Folder(there[-1], label, None)]


def _chunk_folders(path: Path, label: str | None) -> list[_Folder]:
    chunks: dict[int, Path] = {}
    for below in subfolders(path):
        if found := _CHUNK.fullmatch(below.name):
            number = int(found[1])
            if number in chunks or number > CHUNKS:
                raise DataFormatError(f"{below}: not one of {CHUNKS} chunks, each there once")
            chunks[number] = below
    if missing := [f"chunk {at}" for at in range(1, CHUNKS + 1) if at not in chunks]:
        raise DataFormatError(f"{path}: {listed(missing)} missing")
    return [_Folder(chunks[at], label, at) for at in sorted(chunks)]


def _by_name(collection: Collection) -> dict[str, list[_File]]:
    """The files of each subject, by chunk; a name without `.xml` and without its chunk."""
    by_name: dict[str, list[_File]] = {}
    for folder in _folders(collection):
        for path in subject_files(folder.path):
            name = path.stem
            if folder.chunk is not None:
                name, _, number = name.rpartition("_")
                if number != str(folder.chunk) or not name:
                    raise DataFormatError(f"{path}: must be called SUBJECT_{folder.chunk}.xml")
            files = by_name.setdefault(name, [])
            if files and (folder.chunk is None or files[0].label != folder.label):
                raise DataFormatError(f"{path}: the same subject as {files[0].path}")
            files.append(_File(path, folder.label, folder.chunk))
    if not by_name:
        raise DataFormatError(f"{collection.path}: there are no files of subjects (.xml) in it")
    return by_name


def _subject(name: str, files: list[_File]) -> Subject:
    first, identity = files[0], ""
    parts: list[list[Post]] = []
    for file in files:
        individual = read_individual(file.path)
        # A name between blanks would not be found in any table.
        own = "_".join(individual.id.split()) or name
        if identity and own != identity:
            raise DataFormatError(f"{file.path}: of {own!r}, but {first.path} of {identity!r}")
        identity = own
        parts.append(individual.posts)
    # A short file alone may not tell in which direction time goes.
    newest_first = sum(map(trend, parts)) < 0
    posts = [post for part in parts for post in in_order(part, newest_first=newest_first)]
    if first.chunk is None:
        return Subject(identity, posts, first.label)
    sizes = {file.chunk: len(part) for file, part in zip(files, parts, strict=True)}
    _check_chunks(name, files[0].path.parent.parent, sizes)
    return Subject(
        identity, posts, first.label, tuple(sizes.get(at, 0) for at in range(1, CHUNKS + 1))
    )


def _check_chunks(name: str, folder: Path, sizes: Mapping[int | None, int]) -> None:
    """Fewer than ten posts are all in the last chunk: only then may files of others be missing."""
    missing = [f"{name}_{at}.xml" for at in range(1, CHUNKS + 1) if at not in sizes]
    few = CHUNKS in sizes and not any(size for at, size in sizes.items() if at != CHUNKS)
    if missing and not (few and sizes[CHUNKS] < CHUNKS):
        raise DataFormatError(f"{folder}: {listed(missing)} missing")


def _check_ids(collection: Collection, subjects: list[Subject]) -> None:
    seen: set[str] = set()
    for subject in subjects:
        if subject.id in seen:
            raise DataFormatError(f"{collection.path}: two subjects are called {subject.id!r}")
        seen.add(subject.id)


def _check_counts(collection: Collection, read: list[Subject], subjects: list[Subject]) -> None:
    """Compare the count file with the subjects read from files, and with those of golden truth."""
    path = collection.counts
    if path is None:
        return
    counts = read_counts(path)
    if unknown := [subject.id for subject in read if subject.id not in counts]:
        raise DataFormatError(f"{path}: {listed(unknown)} not in it, but with files")
    names = {subject.id for subject in read}
    if lost := [one.id for one in subjects if one.id not in names and counts.get(one.id)]:
        raise DataFormatError(f"{path}: {listed(lost)} in it with writings, but without files")
    wrong = [one for one in read if len(one.posts) != counts[one.id]]
    if wrong:
        first = wrong[0]
        warn(
            f"{path}: {len(wrong)} of {len(read)} subjects have another number of writings, "
            f"first {first.id} with {len(first.posts)} instead of {counts[first.id]}"
        )


def _natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts numbers within names by value."""
    parts = _NUMBERS.split(name)
    return [(1, int(part), "") if at % 2 else (0, 0, part) for at, part in enumerate(parts)]


def _shown(items: Iterable[Any], total: int, progress: Progress | None) -> Iterable[Any]:
    return items if progress is None else progress(items, total)
