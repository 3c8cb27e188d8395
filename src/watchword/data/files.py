"""Subjects and documents ⇄ files: JSON lines and CSV, read whole or line by line."""

from __future__ import annotations

import gzip
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedIOBase
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from watchword._checks import Label, as_label, as_separator, as_text
from watchword._files import atomic_file
from watchword.data.folders import folder_documents, label_file_documents, read_folder
from watchword.data.lines import (
    BadLines,
    BadLinesChoice,
    Flaw,
    OnBadLine,
    Source,
    name_of,
    shown,
    two_labels,
)
from watchword.data.records import (
    DOCUMENT_FIELDS,
    POST_FIELDS,
    SUBJECT_FIELDS,
    SubjectEntry,
    as_identity,
    document_reader,
    entry_reader,
    named,
)
from watchword.data.subjects import Document, Post, Subject
from watchword.data.tables import Kind, as_delimiter, item_batches, kind_of
from watchword.data.times import TimeChecks
from watchword.errors import DataWarning


def read_jsonl(
    source: Source,
    *,
    bad_lines: BadLinesChoice = "error",
    on_bad_line: OnBadLine | None = None,
    **names: str,
) -> list[Subject]:
    """Read subjects from JSON lines: one post per line, or one subject with all posts per line.

    A post has `subject` and `text`, and may have `title`, `time`, `post_id` (or `id`), `label` and
    `seq`; a subject has `subject` (or `id`) and `posts`, and may have `label` and `chunks`. Posts
    of subjects may be interleaved. They are ordered by `seq` where all posts of a subject have it,
    else by their lines. Fields of other names are renamed by keyword: `text="body"`.

    The source is a path (compressed with gzip or not), `"-"` for standard input, a file or any
    iterable of lines. With `bad_lines="skip"`, lines that cannot be read are left out, and
    `on_bad_line` is called with the error of each.

    >>> lines = ['{"subject": "ann", "text": "Hello.", "label": "control"}',
    ...          '{"subject": "ann", "text": "Good night."}']
    >>> [subject] = read_jsonl(lines)
    >>> subject.id, subject.label, len(subject.posts)
    ('ann', 'control', 2)
    >>> read_jsonl(['{"subject": "ann"}'])
    Traceback (most recent call last):
    ...
    watchword.errors.DataFormatError: input, line 1: "text" is missing ...
    """
    read = entry_reader(named(SUBJECT_FIELDS, names))
    bad = BadLines(bad_lines, on_bad_line)
    return _gather(item_batches(source, read, bad), bad, name_of(source))


def read_csv(
    source: Source,
    *,
    delimiter: str | None = None,
    bad_lines: BadLinesChoice = "error",
    on_bad_line: OnBadLine | None = None,
    **names: str,
) -> list[Subject]:
    """Read subjects from a table with one post per row under a header.

    The columns are those of `read_jsonl`, as are sources, the order of posts, bad lines and
    renaming: `subject="user"`. An empty cell is a missing value, except for the text; labels are
    text. By default, the delimiter (a comma, a tab or a semicolon) is detected from the header.
    Quoted cells may contain delimiters and line ends.

    >>> [subject] = read_csv(["user;text;label", "ann;Hello.;control"], subject="user")
    >>> subject.id, subject.label, subject.posts[0].text
    ('ann', 'control', 'Hello.')
    """
    fields = named(POST_FIELDS, names)
    bad = BadLines(bad_lines, on_bad_line)
    sign = as_delimiter(delimiter)
    rows = item_batches(source, entry_reader(fields), bad, table=fields, delimiter=sign)
    return _gather(rows, bad, name_of(source))


def read_subjects(source: Source, *, kind: Kind | None = None, **options: Any) -> list[Subject]:
    """Read subjects with `read_folder`, `read_csv` or `read_jsonl`, whose options may follow.

    Unless `kind` is given, it is detected: a folder; a table, if the name ends in `.csv` or `.tsv`
    (optionally followed by `.gz`); otherwise JSON lines.

    >>> read_subjects(['{"id": "ann", "posts": ["Hello."]}'])[0].id
    'ann'
    """
    read: dict[Kind, Callable[..., list[Subject]]]
    read = {"jsonl": read_jsonl, "csv": read_csv, "folder": read_folder}
    chosen = kind_of(source, kind)
    if chosen not in read:
        raise ValueError(f"the kind {chosen!r} has texts without subjects: call read_texts")
    return read[chosen](source, **options)


def iterate_posts(
    source: Source,
    *,
    bad_lines: BadLinesChoice = "error",
    on_bad_line: OnBadLine | None = None,
    **names: str,
) -> Iterator[tuple[str, Post, Label | None]]:
    """Yield the subject, the post and the label (or None) of each post as its line arrives.

    Sources, fields and bad lines are those of `read_jsonl`. No state is kept: posts come in the
    order of lines (`seq` is ignored), and contradictory labels are not detected.

    >>> for subject, post, label in iterate_posts(['{"subject": "ann", "text": "Hello."}']):
    ...     print(subject, post.text, label)
    ann Hello. None
    """
    read = entry_reader(named(SUBJECT_FIELDS, names))
    bad = BadLines(bad_lines, on_bad_line)
    batches = item_batches(source, read, bad)
    return (
        (subject, post, label)
        for _, (subject, posts, label, _, _) in chain.from_iterable(batches)
        for post in posts
    )


def iterate_texts(
    source: Source,
    *,
    kind: Kind | None = None,
    delimiter: str | None = None,
    label_separator: str | None = None,
    bad_lines: BadLinesChoice = "error",
    on_bad_line: OnBadLine | None = None,
    **names: str,
) -> Iterator[Document]:
    """Read documents one by one as they arrive; see `read_texts`.

    >>> list(iterate_texts(['{"text": "Hello.", "label": "control"}']))
    [Document(text='Hello.', label='control', id=None)]
    """
    bad = BadLines(bad_lines, on_bad_line)
    return _documents(source, kind, delimiter, label_separator, bad, names)


def read_texts(
    source: Source,
    *,
    kind: Kind | None = None,
    delimiter: str | None = None,
    label_separator: str | None = None,
    bad_lines: BadLinesChoice = "error",
    on_bad_line: OnBadLine | None = None,
    **names: str,
) -> list[Document]:
    """Read documents to learn or to classify: JSON lines, a table, or folders of `.txt` files.

    A line or a row has `text`, and may have `label` and `id`; fields of other names are renamed by
    keyword: `text="body"`. Several labels are an array `labels` in JSON, or text that is split at
    `label_separator`; the label of the document is then a tuple. In folders, every file
    `LABEL/ID.txt` is a document; without label folders, every `ID.txt`. With `kind="label_files"`,
    every line of a file `LABEL.txt` is a document. Other formats are detected as in
    `read_subjects`; bad lines are handled as in `read_jsonl`.

    >>> read_texts(["text,label", "Hello.,control"], kind="csv")
    [Document(text='Hello.', label='control', id=None)]
    >>> read_texts(['{"text": "A fast goal.", "labels": ["sports", "tech"]}'])[0].label
    ('sports', 'tech')
    """
    bad = BadLines(bad_lines, on_bad_line)
    documents = list(_documents(source, kind, delimiter, label_separator, bad, names))
    if not documents:
        raise bad.nothing_in(name_of(source), "texts")
    return documents


def write_jsonl(path: str | os.PathLike[str], subjects: Iterable[Subject]) -> None:
    """Write subjects as JSON lines that `read_jsonl` reads back, one subject per line.

    The file appears whole or not at all, and replaces one of the same name; it is compressed if its
    name ends in `.gz`. The path `"-"` is standard output.

    >>> from tempfile import TemporaryDirectory
    >>> subjects = [Subject("ann", [Post("Hello."), Post("Good night.")], "control")]
    >>> with TemporaryDirectory() as folder:
    ...     write_jsonl(f"{folder}/subjects.jsonl", subjects)
    ...     read_jsonl(f"{folder}/subjects.jsonl") == subjects
    True
    """
    seen: set[str] = set()
    with _written(path) as file:
        for subject in subjects:
            if not isinstance(subject, Subject):
                raise TypeError(f"expected subjects, got {type(subject).__name__}")
            if subject.id in seen:
                raise ValueError(f"duplicate subject id {subject.id!r}: join its posts first")
            seen.add(subject.id)
            file.write(_line(subject))


# Reading


def _documents(
    source: Source,
    kind: Kind | None,
    delimiter: str | None,
    label_separator: str | None,
    bad: BadLines,
    names: Mapping[str, str],
) -> Iterator[Document]:
    sign, fields = as_delimiter(delimiter), named(DOCUMENT_FIELDS, names)
    read = document_reader(fields, as_separator(label_separator))
    chosen = kind_of(source, kind)
    if chosen in ("folder", "label_files"):
        if not isinstance(source, str | os.PathLike):
            raise TypeError(f"expected the path of a folder, got {type(source).__name__}")
        return (folder_documents if chosen == "folder" else label_file_documents)(source, bad)
    table = fields if chosen == "csv" else None
    batches = item_batches(source, read, bad, table=table, delimiter=sign)
    return (document for _, document in chain.from_iterable(batches))


@dataclass(slots=True)
class _Gathered:
    """The posts and the label of a subject that were read so far."""

    chunks: tuple[int, ...] | None
    posts: list[Post] = field(default_factory=list)
    seqs: list[float | None] = field(default_factory=list)
    label: Label | None = None
    label_line: int = 0

    def add(self, entry: SubjectEntry, line: int) -> None:
        """Add the entry of a line; raise `Flaw`, with nothing added, if its label contradicts."""
        subject, posts, label, seqs, _ = entry
        if label is not None and label != self.label:
            if self.label is not None:
                raise two_labels(subject, label, self.label, self.label_line)
            self.label, self.label_line = label, line
        self.posts += posts
        self.seqs += seqs

    def subject(self, name: str) -> Subject:
        """Return the subject, with its posts in order."""
        posts = self.posts
        places = [seq for seq in self.seqs if seq is not None]
        if len(places) == len(posts):
            posts = [posts[at] for at in sorted(range(len(posts)), key=places.__getitem__)]
        return Subject(name, posts, self.label, self.chunks)


def _gather(
    batches: Iterable[Iterable[tuple[int, SubjectEntry]]], bad: BadLines, name: str
) -> list[Subject]:
    found: dict[str, _Gathered] = {}
    for number, entry in chain.from_iterable(batches):
        subject, chunks = entry[0], entry[4]
        try:
            gathered = found.get(subject)
            if gathered is None:
                gathered = found[subject] = _Gathered(chunks)
            elif chunks is not None or gathered.chunks is not None:
                raise Flaw(
                    f"subject {shown(subject)} has chunks and more than one line: write it as one"
                )
            gathered.add(entry, number)
        except Flaw as flaw:
            bad.meet(flaw, name=name, line=number)
    if not found:
        raise bad.nothing_in(name, "subjects")
    subjects = [gathered.subject(identity) for identity, gathered in found.items()]
    _warn_about_times(name, subjects)
    return subjects


def _warn_about_times(name: str, subjects: Iterable[Subject]) -> None:
    checks = TimeChecks()
    for subject in subjects:
        checks.check_order(post.time for post in subject.posts)
    advice = 'times do not order posts: sort them, oldest first, or number them with "seq"'
    for problem in checks.problems():
        warnings.warn(f"{name}: {problem} ({advice})", DataWarning, stacklevel=4)


# Writing


@contextmanager
def _written(path: str | os.PathLike[str]) -> Iterator[BufferedIOBase | BinaryIO]:
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_file(path) as file:
        if Path(path).suffix.lower() != ".gz":
            yield file
            return
        # Without name and time, so that the same subjects give the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
            yield zipped


def _line(subject: Subject) -> bytes:
    record: dict[str, object] = {"subject": _written_id("subject", subject.id)}
    if subject.label is not None:
        record["label"] = as_label(subject.label)
    if subject.chunks is not None:
        record["chunks"] = subject.chunks
    record["posts"] = [_post_record(post) for post in subject.posts]
    try:
        return (json.dumps(record, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # lone surrogates can only be written as escapes
        return (json.dumps(record) + "\n").encode()


def _post_record(post: Post) -> dict[str, object]:
    record: dict[str, object] = {"text": as_text(post.text)}
    if post.title:
        record["title"] = as_text(post.title)
    if post.time is not None:
        record["time"] = post.time.isoformat()
    if post.id is not None:
        record["post_id"] = _written_id("post_id", post.id, empty=True)
    if post.context:
        record["context"] = [as_text(one) for one in post.context]
    return record


def _written_id(name: str, value: str, *, empty: bool = False) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be str, got {value!r}")
    try:
        return as_identity(name, value, empty=empty)
    except Flaw as flaw:
        raise ValueError(str(flaw)) from None
