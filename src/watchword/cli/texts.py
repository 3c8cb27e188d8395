"""Data named on a command line: texts in batches, or whole subjects."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from watchword._checks import Label
from watchword.cli.base import message_of, warn
from watchword.data import Post, Subject, read_folder, read_subjects
from watchword.data.flaws import BadLines, BadLinesChoice, Flaw
from watchword.data.folders import folder_documents, is_clutter
from watchword.data.inputs import item_batches, kind_of
from watchword.data.lines import Wait, name_of
from watchword.data.records import (
    DOCUMENT_FIELDS,
    SUBJECT_FIELDS,
    Fields,
    Record,
    document_reader,
    entry_reader,
    named,
)
from watchword.errors import DataFormatError

Format = Literal["jsonl", "csv", "folder", "erisk"]

# As long as a line: on the command line nobody can raise Python's own limit.
csv.field_size_limit(1 << 28)

_TOLD = 1000  # bad lines that are told one by one
_BATCH_ITEMS = 4096
_BATCH_CHARACTERS = 1 << 20


class Item(NamedTuple):
    """A text of its own, or a post of somebody, and where it stood."""

    text: str
    label: Label | None
    id: str | None
    subject: str | None
    source: str
    line: int | None


_Read = Callable[[Record], list[Item]]


@dataclass
class Data:
    """How data is to be read, and what was wrong with it so far."""

    format: Format | None = None
    names: dict[str, str] = field(default_factory=dict)
    bad_lines: BadLinesChoice = "error"
    skipped: int = 0

    def __post_init__(self) -> None:
        self.bad = BadLines(self.bad_lines, self._tell)

    def _tell(self, error: DataFormatError) -> None:
        self.skipped += 1
        if self.skipped <= _TOLD:
            warn(f"skipped: {message_of(error)}")

    def report(self) -> None:
        """Say at the end how many lines were skipped."""
        if self.skipped:
            lines = "1 line" if self.skipped == 1 else f"{self.skipped} lines"
            warn(f"skipped: {lines} in all")

    def format_of(self, source: str) -> Format:
        """Return the format of a source: the chosen one, or what its name says."""
        return self.format or kind_of(source)

    def subjects(self, source: str) -> list[Subject]:
        """All subjects of a source."""
        kind = self.format_of(source)
        options: dict[str, Any] = {"bad_lines": self.bad_lines, "on_bad_line": self._tell}
        if kind == "erisk":
            return _erisk(source)
        if kind == "folder":
            try:
                return read_folder(source, **options)
            except DataFormatError as error:
                raise self._hinted(source, error) from None
        return read_subjects(source, kind=kind, **options, **self.names)

    def batches(
        self,
        sources: Sequence[str],
        *,
        streams: bool = False,
        wait: Wait | None = None,
    ) -> Iterator[list[Item]]:
        """Yield all texts of sources as they arrive; with `streams`, the posts of subjects.

        Texts before an error are yielded before it is raised. See `Wait` for `wait`.
        """
        for source in sources:
            kind = self.format_of(source)
            if kind == "erisk":
                yield from _batched(_posts(_erisk(source), source))
            elif kind == "folder":
                yield from _batched(self._folder(source, streams=streams))
            else:
                for numbered in self._arriving(source, is_table=kind == "csv", wait=wait):
                    yield from _batched(
                        item._replace(line=line) for line, items in numbered for item in items
                    )

    def _arriving(
        self, source: str, *, is_table: bool, wait: Wait | None
    ) -> Iterable[Iterable[tuple[int, list[Item]]]]:
        """Return an iterable for each batch that arrives; of a file, which is there, only one."""
        read = _record_reader(self.names, name_of(source))
        table = _columns(self.names) if is_table else None
        batches = item_batches(source, read, self.bad, table=table, wait=wait)
        is_file = source != "-" and Path(source).is_file()
        return [chain.from_iterable(batches)] if is_file else batches

    def _folder(self, source: str, *, streams: bool) -> Iterator[Item]:
        if streams or _has_subject_folders(Path(source)):
            yield from _posts(self.subjects(source), source)
            return
        is_empty = True
        for document in folder_documents(source, self.bad):
            is_empty = False
            yield Item(document.text, document.label, document.id, None, source, None)
        if is_empty:
            empty = DataFormatError(f"there are no texts (.txt) in {source}")
            raise self._hinted(source, empty)

    def _hinted(self, source: str, error: DataFormatError) -> DataFormatError:
        """The error of a folder, with what it may be instead of what it was taken for."""
        files = (path.relative_to(source) for path in Path(source).rglob("*.xml"))
        if self.format is None and any(not any(map(is_clutter, file.parts)) for file in files):
            return DataFormatError(
                f"{error.message}; if it is a collection of eRisk, say --format erisk"
            )
        return error


def labelled(
    batches: Iterable[Sequence[Item]], bad: BadLines, *, like: Sequence[Label] = ()
) -> Iterator[list[Item]]:
    """Only texts with a label; a post may have it from an earlier line of its subject.

    All labels are of one kind, that of the labels of a model if they are to be `like` these: in
    tables, numbers are text, too.
    """
    known: dict[str | None, Label] = {}
    spell = _Spelling(like)
    for batch in batches:
        found = []
        for item in batch:
            try:
                if item.label is not None:
                    label = spell(item.label)
                elif item.subject in known:
                    label = known[item.subject]
                else:
                    whose = "" if item.subject is None else ", here or before, of its subject"
                    raise Flaw(
                        f'there is no "label"{whose}: only what has one can be learnt',
                        arguments=("label",),
                    )
            except Flaw as flaw:
                bad.meet(flaw, name=item.source, line=item.line)
                continue
            if item.subject is not None:
                known[item.subject] = label
            found.append(item._replace(label=label))
        yield found


class _Spelling:
    """Labels as those of a model are, or else as the first one is: text, or whole numbers."""

    def __init__(self, like: Sequence[Label]) -> None:
        self._numbers = isinstance(like[0], int) if like else None
        self._may_change = bool(like)

    def __call__(self, label: Label) -> Label:
        is_number = isinstance(label, int)
        if self._numbers is None:
            self._numbers = is_number
        if is_number == self._numbers:
            return label
        if self._may_change and is_number:
            return str(label)
        if self._may_change and re.fullmatch(r"-?[0-9]{1,18}", str(label)):
            return int(label)
        kinds = ("text", "a whole number")
        others = "those of the model" if self._may_change else "those before it"
        raise Flaw(
            f"the label {label!r} is {kinds[is_number]}, unlike {others}: all must be of one kind"
        )


def _record_reader(names: dict[str, str], source: str) -> _Read:
    """A function that reads a record as the posts of a subject, or as a text of its own."""
    fields = named(SUBJECT_FIELDS, names)
    (owner,), (posts,), (title,) = fields["subject"], fields["posts"], fields["title"]
    read_entry, read_document = entry_reader(fields), document_reader(_columns(names))

    def read(record: Record) -> list[Item]:
        if posts in record or record.get(owner) is not None:
            subject, written, label, _, _ = read_entry(record)
            return [Item(post.content, label, post.id, subject, source, None) for post in written]
        own = read_document(record)
        above = record.get(title)
        content = Post(own.text, title=above).content if isinstance(above, str) else own.text
        return [Item(content, own.label, own.id, None, source, None)]

    return read


def _columns(names: dict[str, str]) -> Fields:
    """The fields that a text of its own may have; "owner" because it need not have a subject."""
    fields = named(SUBJECT_FIELDS, names)
    identity = fields["post_id"] if "post_id" in names else DOCUMENT_FIELDS["id"]
    own = {name: fields[name] for name in ("text", "label", "title", "time")}
    return own | {"id": identity, "owner": fields["subject"]}


def _posts(subjects: Iterable[Subject], source: str) -> Iterator[Item]:
    for subject in subjects:
        for post in subject.posts:
            yield Item(post.content, subject.label, post.id, subject.id, source, None)


def _batched(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield items in batches, at least one; those before an error before it is raised."""
    batch: list[Item] = []
    size = 0
    try:
        for item in items:
            batch.append(item)
            size += len(item.text)
            if size >= _BATCH_CHARACTERS or len(batch) >= _BATCH_ITEMS:
                yield batch
                batch, size = [], 0
    except DataFormatError:
        yield batch
        raise
    yield batch


def _has_subject_folders(folder: Path) -> bool:
    """Whether posts are files: LABEL/SUBJECT/POST.txt, where else texts are LABEL/ID.txt."""
    labels = (entry for entry in folder.iterdir() if entry.is_dir() and not is_clutter(entry.name))
    inside = chain.from_iterable(label.iterdir() for label in labels)
    return any(entry.is_dir() and not is_clutter(entry.name) for entry in inside)


def _erisk(source: str) -> list[Subject]:
    from watchword.erisk import read_erisk

    return read_erisk(source)
