"""Collections of eRisk 2017 and 2018 as they were given out, and as they were given out again.

A collection is a folder in one of these layouts, found by what is in it:

- `train`: `{positive,negative}_examples_anonymous_chunks/chunk K/` (2017) or
  `{positive,negative}_examples/chunkK/` (2018), or whole histories in folders without chunks;
- `test`: `chunk K/` (2017) or `chunkK/` (2018);
- `cases`: `pos/` and `neg/` with whole histories, as in `2017_cases` (given out in 2022);
- `folder`: just files of subjects.

Golden truth (`*golden*truth*.txt`) and counts (`writings*.txt`) stand beside.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from watchword.checks import as_choice
from watchword.datasets import Post, Subject
from watchword.erisk.markup import in_order, read_individual, trend
from watchword.erisk.submission import CHUNKS, NEGATIVE, POSITIVE, listed, read_counts, read_truth
from watchword.errors import DataFormatError

Layout = Literal["train", "test", "cases", "folder"]
Split = Literal["train", "test"]
#: Wraps an iterable to show how far it is: `progress(iterable, total)`.
Progress = Callable[[Iterable[Any], int], Iterable[Any]]

_DEPTH = 6  # how far below a folder collections are looked for
_CHUNK = re.compile(r"chunk[ _-]?0*([1-9][0-9]?)", re.IGNORECASE)
_NUMBERS = re.compile(r"([0-9]+)")
_SPLITS: tuple[Split, ...] = ("train", "test")


class CollectionWarning(UserWarning):
    """Something in a collection does not fit together, but can be read."""


@dataclass(frozen=True)
class Collection:
    """A folder that holds a collection, and in which layout."""

    path: Path
    layout: Layout

    @property
    def truth(self) -> Path | None:
        """The file with the golden truth, if there is one."""
        return _only(self.path, re.compile(r".*golden.*truth.*\.txt", re.IGNORECASE), "truth")

    @property
    def counts(self) -> Path | None:
        """The file with the number of writings of each subject, if there is one."""
        return _only(self.path, re.compile(r"writings.*\.txt", re.IGNORECASE), "counts")

    @property
    def first_file(self) -> str:
        """The name of one file in a folder of it, which tells 2017's from later ones."""
        names = (file.name for folder in _subfolders(self.path) for file in _files(folder))
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

    `which` chooses between the training and the test set where there are both. Labels are
    `"positive"` and `"negative"`, and None where there is neither golden truth nor a folder that
    tells. Posts are in the order of time within each file, files in the order of chunks, whose
    sizes are in `Subject.chunks`. Subjects are in the order of their names, subject2 before
    subject10.

    Everything that contradicts itself is a `DataFormatError` that names the file. But where the
    number of writings is not what the count file says, a `CollectionWarning` is given: the
    official measures go by that file, so `run_task` does too, and all texts are still there.

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
    found = find_collections(path)
    chosen = [one for one in found if which is None or one.layout not in _SPLITS]
    chosen += [one for one in found if which is not None and one.layout == which]
    if not chosen:
        raise DataFormatError(
            f"{path}: no {which or ''} collection of eRisk in it".replace("  ", " ")
        )
    if len(chosen) > 1:
        names = ", ".join(str(one.path) for one in chosen)
        raise DataFormatError(f"{path}: several collections, name one of them: {names}")
    return read_collection(chosen[0], which=which, progress=progress)


def find_collections(path: str | os.PathLike[str]) -> list[Collection]:
    """All collections in a folder and below."""
    root = Path(path)
    if not root.is_dir():
        raise DataFormatError(f"{path}: no such folder")
    return list(_search(root, _DEPTH))


def read_collection(
    collection: Collection, *, which: Split | None = None, progress: Progress | None = None
) -> list[Subject]:
    """Read one collection; where it has no split, `which` chooses by names (`train_subject1`)."""
    by_name = _by_name(collection)
    if which is not None and collection.layout not in _SPLITS:
        by_name = {name: files for name, files in by_name.items() if name.startswith(f"{which}_")}
        if not by_name:
            raise DataFormatError(f"{collection.path}: no file is called {which}_….xml")
    names = _shown(sorted(by_name, key=_natural), len(by_name), progress)
    subjects = [_subject(name, by_name[name]) for name in names]
    subjects = _labelled(collection, subjects, is_part=which is not None)
    _check_counts(collection, subjects)
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
        for below in _subfolders(folder):
            yield from _search(below, depth - 1)


def _layout(folder: Path) -> Layout | None:
    names = {below.name for below in _subfolders(folder)}
    if any(re.fullmatch("(positive|negative)_examples(_anonymous)?(_chunks)?", n) for n in names):
        return "train"
    if any(_CHUNK.fullmatch(name) for name in names):
        return "test"
    if {"pos", "neg"} <= names:
        return "cases"
    return "folder" if next(_files(folder), None) else None


def _folders(collection: Collection) -> list[_Folder]:
    """Where the files of a collection are."""
    path = collection.path
    if collection.layout == "test":
        return _chunk_folders(path, None)
    if collection.layout == "folder":
        return [_Folder(path, None, None)]
    if collection.layout == "cases":
        return [_Folder(path / "neg", NEGATIVE, None), _Folder(path / "pos", POSITIVE, None)]
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
        if any(_CHUNK.fullmatch(below.name) for below in _subfolders(folder)):
            return _chunk_folders(folder, label)
    return [_Folder(there[-1], label, None)]


def _chunk_folders(path: Path, label: str | None) -> list[_Folder]:
    chunks: dict[int, Path] = {}
    for below in _subfolders(path):
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
        for path in _files(folder.path):
            name = path.stem
            if folder.chunk is not None:
                name, _, number = name.rpartition("_")
                if number != str(folder.chunk) or not name:
                    raise DataFormatError(f"{path}: must be called SUBJECT_{folder.chunk}.xml")
            files = by_name.setdefault(name, [])
            if files and files[0].label != folder.label:
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


def _labelled(collection: Collection, subjects: list[Subject], *, is_part: bool) -> list[Subject]:
    """The subjects with the labels of the golden truth, which must agree with the folders."""
    seen: set[str] = set()
    for subject in subjects:
        if subject.id in seen:
            raise DataFormatError(f"{collection.path}: two subjects are called {subject.id!r}")
        seen.add(subject.id)
    path = collection.truth
    if path is None:
        return subjects
    truth = read_truth(path)
    if not is_part and (missing := [subject for subject in truth if subject not in seen]):
        raise DataFormatError(f"{path}: {listed(missing)} in it, but without files")
    if unknown := [subject.id for subject in subjects if subject.id not in truth]:
        raise DataFormatError(f"{path}: {listed(unknown)} not in it, but with files")
    for subject in subjects:
        if subject.label not in (None, truth[subject.id]):
            raise DataFormatError(
                f"{path}: {subject.id} is {truth[subject.id]}, but among the {subject.label} files"
            )
    return [
        Subject(subject.id, subject.posts, truth[subject.id], subject.chunks)
        for subject in subjects
    ]


def _check_counts(collection: Collection, subjects: list[Subject]) -> None:
    path = collection.counts
    if path is None:
        return
    counts = read_counts(path)
    if unknown := [subject.id for subject in subjects if subject.id not in counts]:
        raise DataFormatError(f"{path}: {listed(unknown)} not in it, but with files")
    wrong = [one for one in subjects if len(one.posts) != counts[one.id]]
    if wrong:
        first = wrong[0]
        warnings.warn(
            f"{path}: {len(wrong)} of {len(subjects)} subjects have another number of writings, "
            f"first {first.id} with {len(first.posts)} instead of {counts[first.id]}",
            CollectionWarning,
            stacklevel=4,
        )


def _only(folder: Path, name: re.Pattern[str], what: str) -> Path | None:
    found = [path for path in _entries(folder) if name.fullmatch(path.name) and path.is_file()]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise DataFormatError(f"{folder}: several files of {what}, keep one: {names}")
    return found[0] if found else None


def _entries(folder: Path) -> list[Path]:
    """What is in a folder, in the order of names, without what systems hide there."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise DataFormatError(f"{folder}: {error.strerror or error}") from error


def _subfolders(folder: Path) -> list[Path]:
    return [path for path in _entries(folder) if path.is_dir()]


def _files(folder: Path) -> Iterator[Path]:
    found = (path for path in _entries(folder) if path.suffix.lower() == ".xml")
    return (path for path in found if path.is_file())


def _natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts numbers within names by value."""
    parts = _NUMBERS.split(name)
    return [(1, int(part), "") if at % 2 else (0, 0, part) for at, part in enumerate(parts)]


def _shown(items: Iterable[Any], total: int, progress: Progress | None) -> Iterable[Any]:
    return items if progress is None else progress(items, total)
