"""Texts with or without subjects, in batches as they arrive: documents and posts alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from watchword._checks import Label
from watchword.data.flaws import BadLines, Flaw
from watchword.data.inputs import item_batches
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
from watchword.data.subjects import Post, Subject
from watchword.errors import DataFormatError

_BATCH_ITEMS = 4096
_BATCH_CHARACTERS = 1 << 20


class Item(NamedTuple):
    """A text of its own or a post of a subject, with its source and line."""

    text: str
    label: Label | None
    id: str | None
    subject: str | None
    source: str
    line: int | None


def read_batches(
    source: str,
    names: Mapping[str, str],
    bad: BadLines,
    *,
    is_table: bool,
    wait: Wait | None = None,
) -> Iterator[list[Item]]:
    """Yield the texts of JSON lines or of a table as they arrive; `names` rename fields.

    Texts before an error are yielded before it is raised. See `line_batches` for `wait`.
    """
    read = _record_reader(names, name_of(source))
    table = _columns(names) if is_table else None
    batches: Iterable[Iterable[tuple[int, list[Item]]]]
    if source != "-" and Path(source).is_file():  # nothing more will arrive
        batches = [chain.from_iterable(item_batches(source, read, bad, table=table))]
    else:
        batches = item_batches(source, read, bad, table=table, wait=wait)
    for batch in batches:
        yield from batched(item._replace(line=line) for line, items in batch for item in items)


def batched(items: Iterable[Item]) -> Iterator[list[Item]]:
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


def posts_of(subjects: Iterable[Subject], source: str) -> Iterator[Item]:
    """Yield all posts of subjects."""
    for subject in subjects:
        for post in subject.posts:
            yield Item(post.content, subject.label, post.id, subject.id, source, None)


def labelled(
    batches: Iterable[Sequence[Item]], bad: BadLines, *, like: Sequence[Label] = ()
) -> Iterator[list[Item]]:
    """Yield the texts with a label; a post may have it from an earlier line of its subject.

    All labels must have one type. With `like`, the labels of a model, they are converted to its
    type, because numbers in tables are text.
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
                    whose = (
                        "" if item.subject is None else " here and in earlier lines of its subject"
                    )
                    raise Flaw(
                        f'"label" is missing{whose}: texts without a label cannot be learnt',
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
    """Converts labels to the type of a model's labels, or checks that all have the first one's."""

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
            f"the label {label!r} is {kinds[is_number]}, unlike {others}: all must have one type"
        )


def _record_reader(names: Mapping[str, str], source: str) -> Callable[[Record], list[Item]]:
    """Return a function that reads a record as posts of a subject, or as a text of its own."""
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


def _columns(names: Mapping[str, str]) -> Fields:
    """Return the columns of a table; "owner" because a text need not have a subject."""
    fields = named(SUBJECT_FIELDS, names)
    identity = fields["post_id"] if "post_id" in names else DOCUMENT_FIELDS["id"]
    own = {name: fields[name] for name in ("text", "label", "title", "time")}
    return own | {"id": identity, "owner": fields["subject"]}
