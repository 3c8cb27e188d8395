"""Folders of texts: one folder per label, in it one file or one folder per subject."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal

from watchword._checks import as_choice
from watchword.data.lines import BadLines, BadLinesChoice, Flaw, OnBadLine, decoded, numbered_lines
from watchword.data.records import as_identity
from watchword.data.subjects import Document, Post, Subject
from watchword.errors import DataFormatError

PostsChoice = Literal["lines", "blank_lines"]

_POSTS: tuple[PostsChoice, ...] = ("lines", "blank_lines")


def read_folder(
    path: str | os.PathLike[str],
    *,
    posts: PostsChoice = "lines",
    bad_lines: BadLinesChoice = "error",
    on_bad_line: OnBadLine | None = None,
) -> list[Subject]:
    r"""Read subjects from folders named after labels.

    A subject is a file `LABEL/SUBJECT.txt` with one post per line (`posts="lines"`) or per
    paragraph (`posts="blank_lines"`), or a folder `LABEL/SUBJECT/` with one post per file, in the
    order of their names with numbers compared by value (`2.txt` before `10.txt`). Without label
    folders, the files `SUBJECT.txt` are subjects without a label. Hidden files, folders called
    `__MACOSX` and files that do not end in `.txt` are not read. With `bad_lines="skip"`, lines and
    files that cannot be read are left out, and `on_bad_line` is called with the error of each.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "control").mkdir()
    ...     _ = Path(folder, "control", "ann.txt").write_text("Hello.\nGood night.\n")
    ...     [post.text for post in read_folder(folder)[0].posts]
    ['Hello.', 'Good night.']
    """
    as_choice("posts", posts, _POSTS)
    bad = BadLines(bad_lines, on_bad_line)
    subjects: dict[str, Subject] = {}
    for label, entry in _labelled(Path(path)):
        with bad.within(str(entry)):
            name = as_identity("subject", entry.name if entry.is_dir() else entry.stem)
            if name in subjects:
                raise Flaw(f"duplicate subject {name!r}: use one file or folder per subject")
            if entry.is_dir():
                found = _posts_in_folder(entry, bad)
            else:
                found = map(Post, _texts_in(entry, posts, bad))
            subjects[name] = Subject(name, list(found), label)
    if not subjects:
        raise bad.nothing_in(str(path), "subjects (LABEL/SUBJECT.txt)")
    return list(subjects.values())


def folder_documents(path: str | os.PathLike[str], bad: BadLines) -> Iterator[Document]:
    """Yield every file `LABEL/ID.txt` as a document."""
    for label, entry in _labelled(Path(path)):
        with bad.within(str(entry)):
            if entry.is_dir():
                raise Flaw("expected a .txt file, found a folder: the layout is LABEL/ID.txt")
            yield Document(_whole(entry), label, as_identity("id", entry.stem))


def label_file_documents(path: str | os.PathLike[str], bad: BadLines) -> Iterator[Document]:
    """Yield every line of the files `LABEL.txt` as a document, except blank lines."""
    for entry in _entries(_existing(Path(path))):
        with bad.within(str(entry)):
            if entry.is_dir():
                raise Flaw("expected a .txt file, found a folder: the layout is LABEL.txt")
            label = as_identity("label", entry.stem)
            for text in _texts_in(entry, "lines", bad):
                yield Document(text, label)


def has_subject_folders(path: str | os.PathLike[str]) -> bool:
    """Return whether posts are files, LABEL/SUBJECT/POST.txt; else documents are LABEL/ID.txt."""
    labels = (
        entry for entry in Path(path).iterdir() if entry.is_dir() and not is_clutter(entry.name)
    )
    inside = chain.from_iterable(label.iterdir() for label in labels)
    return any(entry.is_dir() and not is_clutter(entry.name) for entry in inside)


def is_clutter(name: str) -> bool:
    """Return whether a file or folder is hidden, or was added by macOS to an archive (`__MACOSX`).

    >>> [name for name in ("ann.xml", "._ann.xml", "__MACOSX") if is_clutter(name)]
    ['._ann.xml', '__MACOSX']
    """
    return name.startswith(".") or name == "__MACOSX"


def natural(name: str) -> tuple[list[tuple[str, int]], str]:
    """Return a sort key that compares the numbers in names by value.

    >>> sorted(["post10", "post9", "Post1"], key=natural)
    ['Post1', 'post9', 'post10']
    """
    parts = re.split(r"(\d+)", name.casefold())
    numbers = [int(part) for part in parts[1::2]]
    return list(zip(parts[::2], [*numbers, -1], strict=True)), name


def _labelled(folder: Path) -> Iterator[tuple[str | None, Path]]:
    """List the entries of the label folders, or of the folder itself if it has none."""
    entries = list(_entries(_existing(folder)))
    labels = [entry for entry in entries if entry.is_dir()]
    for label in labels:
        for entry in _entries(label):
            yield label.name, entry
    for entry in entries if not labels else []:
        yield None, entry


def _existing(folder: Path) -> Path:
    if not folder.is_dir():
        if folder.exists():
            raise DataFormatError(f"{folder} is a file, not a folder")
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    return folder


def _entries(folder: Path) -> Iterator[Path]:
    """Yield folders and .txt files in natural order."""
    for entry in sorted(folder.iterdir(), key=lambda entry: natural(entry.name)):
        if is_clutter(entry.name):
            continue
        if entry.is_dir() or (entry.suffix.lower() == ".txt" and entry.is_file()):
            yield entry


def _posts_in_folder(folder: Path, bad: BadLines) -> Iterator[Post]:
    for entry in _entries(folder):
        with bad.within(str(entry)):
            if entry.is_dir():
                raise Flaw(
                    "expected a .txt file, found a folder: the layout is LABEL/SUBJECT/POST.txt"
                )
            yield Post(_whole(entry), id=as_identity("id", entry.stem))


def _texts_in(file: Path, posts: PostsChoice, bad: BadLines) -> Iterator[str]:
    """Yield the texts of the posts of a file; skip one of several lines if one of them is bad."""
    gathered: list[str] = []
    damaged = False
    for number, line in chain(numbered_lines(file), [(0, "")]):
        text = ""
        try:
            text = decoded(line).strip()
        except Flaw as flaw:
            bad.meet(flaw, name=str(file), line=number)
            damaged = True
            if posts == "blank_lines":
                continue
        if text:
            gathered.append(text)
        if not text or posts == "lines":
            if gathered and not damaged:
                yield "\n".join(gathered)
            gathered, damaged = [], False


def _whole(file: Path) -> str:
    return "\n".join(decoded(line) for _, line in numbered_lines(file)).strip()
