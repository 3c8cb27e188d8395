"""Texts with or without subjects, in batches as they arrive: documents and posts alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import compress, repeat
from operator import itemgetter
from types import NoneType
from typing import Any, NamedTuple, cast

from watchword._checks import Label, Target
from watchword.data.fast_lines import plain_columns, record_columns
from watchword.data.lines import BadLines, Flaw, LineBatch, LineBlock, Wait, line_batches, name_of
from watchword.data.records import (
    DOCUMENT_FIELDS,
    SUBJECT_FIELDS,
    Fields,
    Record,
    document_reader,
    entry_reader,
    json_items,
    named,
    record_items,
)
from watchword.data.subjects import Subject, content_of
from watchword.data.tables import item_batches
from watchword.errors import DataFormatError

_BATCH_ITEMS = 4096
_BATCH_CHARACTERS = 1 << 20

#: A text, its label, its id, its subject and its time.
TextRow = tuple[str, Target | None, str | None, str | None, datetime | None]


class Item(NamedTuple):
    """A text of its own or a post of a subject, with its source and line."""

    text: str
    label: Target | None
    id: str | None
    subject: str | None
    time: datetime | None
    source: str
    line: int | None


@dataclass(frozen=True)
class Texts:
    """A batch of texts as columns; iterating yields items."""

    texts: list[str]
    labels: list[Target | None]
    ids: list[str | None]
    subjects: list[str | None]
    times: list[datetime | None]
    source: str
    lines: Sequence[int | None]

    @classmethod
    def of(cls, rows: Sequence[tuple[int | None, TextRow]], source: str) -> Texts:
        """Return rows of one source, with the numbers of their lines, as columns."""
        lines = [line for line, _ in rows]
        columns = zip(*(row for _, row in rows), strict=True) if rows else [()] * 5
        texts, labels, ids, subjects, times = map(list, columns)
        return cls(texts, labels, ids, subjects, times, source, lines)

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Item]:
        columns = self.texts, self.labels, self.ids, self.subjects, self.times
        return map(Item, *columns, repeat(self.source), self.lines)

    @property
    def has_posts(self) -> bool:
        """Whether a text is a post of a subject."""
        return any(subject is not None for subject in self.subjects)

    def part(self, begin: int, end: int | None = None) -> Texts:
        """Return the texts with indices from `begin` to `end`."""
        return self._picked(itemgetter(slice(begin, end)))

    def only(self, chosen: Sequence[bool]) -> Texts:
        """Return the texts for which `chosen` is true."""
        return self._picked(lambda column: list(compress(column, chosen)))

    def _picked(self, pick: Callable[[Any], Any]) -> Texts:
        columns = self.texts, self.labels, self.ids, self.subjects, self.times
        texts, labels, ids, subjects, times, lines = map(pick, (*columns, self.lines))
        return Texts(texts, labels, ids, subjects, times, self.source, lines)


def read_batches(
    source: str,
    names: Mapping[str, str],
    bad: BadLines,
    *,
    is_table: bool,
    label_separator: str | None = None,
    wait: Wait | None = None,
) -> Iterator[Texts]:
    """Yield the texts of JSON lines or of a table as they arrive; `names` rename fields.

    With `label_separator`, texts without a subject have several labels, separated by it. Texts
    before an error are yielded before it is raised. See `line_batches` for `wait`.
    """
    name = name_of(source)
    read = _record_reader(names, label_separator)
    if is_table:
        for rows in item_batches(source, read, bad, table=_columns(names), wait=wait):
            yield from batched(_flat(rows), name)
        return
    fields = named(SUBJECT_FIELDS, names)
    for batch in line_batches(source, wait):
        plain = None if label_separator else _plain_texts(batch, fields, name)
        if plain is None:
            yield from batched(_flat(json_items(batch, read, bad, name=name)), name)
        else:
            for begin in range(0, len(plain), _BATCH_ITEMS):
                yield plain.part(begin, begin + _BATCH_ITEMS)


def texts_in(batch: LineBatch, bad: BadLines, *, name: str) -> Texts:
    """Return all texts of a batch of JSON lines at once; `name` is that of the source.

    >>> block = LineBlock(b'{"subject": "ann", "text": "Hello.", "id": 7}', lines=1, first=1)
    >>> texts_in(block, BadLines("error", None), name="posts").ids
    ['7']
    """
    plain = _plain_texts(batch, SUBJECT_FIELDS, name)
    if plain is not None:
        return plain
    rows = _flat(json_items(batch, _record_reader({}, None), bad, name=name))
    return Texts.of(list(rows), name)


def texts_of_records(values: list[Any], bad: BadLines, *, name: str, is_unicode: bool) -> Texts:
    """Return all texts of values that were parsed from JSON, numbered from 1.

    `is_unicode` says that the parser has refused lone surrogates.

    >>> values = [{"subject": "ann", "text": "Hello.", "id": 7}]
    >>> texts_of_records(values, BadLines("error", None), name="posts", is_unicode=True).ids
    ['7']
    """
    are_plain = is_unicode and all(type(value) is dict for value in values)
    columns = record_columns(values, SUBJECT_FIELDS) if are_plain else None
    if columns is not None:
        return Texts(*columns, name, range(1, 1 + len(values)))
    rows = _flat(record_items(enumerate(values, 1), _record_reader({}, None), bad, name=name))
    return Texts.of(list(rows), name)


def _plain_texts(batch: LineBatch, fields: Fields, source: str) -> Texts | None:
    """Return the texts of a block whose lines are all plain; None otherwise."""
    if not isinstance(batch, LineBlock):
        return None
    columns = plain_columns(batch, fields)
    lines = range(batch.first, batch.first + len(batch))
    return None if columns is None else Texts(*columns, source, lines)


def _flat(rows: Iterable[tuple[int, list[TextRow]]]) -> Iterator[tuple[int, TextRow]]:
    return ((line, row) for line, found in rows for row in found)


def batched(rows: Iterable[tuple[int | None, TextRow]], source: str) -> Iterator[Texts]:
    """Yield rows with the numbers of their lines in batches, at least one.

    Those before an error are yielded before it is raised.
    """
    batch: list[tuple[int | None, TextRow]] = []
    size = 0
    try:
        for line, row in rows:
            batch.append((line, row))
            size += len(row[0])
            if size >= _BATCH_CHARACTERS or len(batch) >= _BATCH_ITEMS:
                yield Texts.of(batch, source)
                batch, size = [], 0
    except DataFormatError:
        yield Texts.of(batch, source)
        raise
    yield Texts.of(batch, source)


def posts_of(subjects: Iterable[Subject]) -> Iterator[tuple[None, TextRow]]:
    """Yield all posts of subjects, which have no line."""
    for subject in subjects:
        for post in subject.posts:
            yield None, (post.content, subject.label, post.id, subject.id, post.time)


def labelled(
    batches: Iterable[Texts],
    bad: BadLines,
    *,
    like: Sequence[Label] = (),
    needed: str = "texts without a label cannot be learnt",
) -> Iterator[Texts]:
    """Yield the texts with a label; a post may have it from an earlier line of its subject.

    All labels must have one type. With `like`, the labels of a model, they are converted to its
    type, because numbers in tables are text. `needed` says in errors why a label is needed.
    """
    known: dict[str | None, Target] = {}
    spell = _Spelling(like)
    for batch in batches:
        if spell.keeps(batch.labels):
            known.update(zip(batch.subjects, cast("list[Target]", batch.labels), strict=True))
            known.pop(None, None)
            yield batch
            continue
        labels: list[Target | None] = []
        for item in batch:
            try:
                label = _label_of(item, known, spell, needed)
            except Flaw as flaw:
                bad.meet(flaw, name=item.source, line=item.line)
                label = None
            if item.subject is not None and label is not None:
                known[item.subject] = label
            labels.append(label)
        yield replace(batch, labels=labels).only([label is not None for label in labels])


def _label_of(
    item: Item, known: Mapping[str | None, Target], spell: _Spelling, needed: str
) -> Target:
    if isinstance(item.label, tuple):
        return tuple(map(spell, item.label))
    if item.label is not None:
        return spell(item.label)
    if item.subject in known:
        return known[item.subject]
    whose = "" if item.subject is None else " here and in earlier lines of its subject"
    raise Flaw(f'"label" is missing{whose}: {needed}', arguments=("label",))


class _Spelling:
    """Converts labels to the type of a model's labels, or checks that all have the first one's."""

    def __init__(self, like: Sequence[Label]) -> None:
        self._numbers = isinstance(like[0], int) if like else None
        self._may_change = bool(like)

    def keeps(self, labels: Sequence[Target | None]) -> bool:
        """Return whether all labels are there and have the right type, as they do in most data."""
        kinds = set(map(type, labels))
        if len(kinds) != 1 or kinds & {NoneType, tuple}:
            return False
        if self._numbers is None:
            self._numbers = kinds == {int}
        return self._numbers == (kinds == {int})

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


def as_targets(labels: Sequence[Target | None]) -> Any:
    """Return the labels of texts: one each, or if any text has several, a tuple each.

    >>> as_targets(["a", "b"]), as_targets(["a", ("b", "c")])
    (['a', 'b'], [('a',), ('b', 'c')])
    """
    if any(isinstance(one, tuple) for one in labels):
        return [one if isinstance(one, tuple) else (one,) for one in labels]
    return list(labels)


def _record_reader(
    names: Mapping[str, str], label_separator: str | None
) -> Callable[[Record], list[TextRow]]:
    """Return a function that reads a record as posts of a subject, or as a text of its own."""
    fields = named(SUBJECT_FIELDS, names)
    (owner,), (posts,), (title,) = fields["subject"], fields["posts"], fields["title"]
    read_entry = entry_reader(fields)
    read_document = document_reader(_columns(names), label_separator)

    def read(record: Record) -> list[TextRow]:
        if posts in record or record.get(owner) is not None:
            subject, written, label, _, _ = read_entry(record)
            return [(post.content, label, post.id, subject, post.time) for post in written]
        own = read_document(record)
        above = record.get(title)
        content = content_of(above if isinstance(above, str) else None, own.text)
        return [(content, own.label, own.id, None, None)]

    return read


def _columns(names: Mapping[str, str]) -> Fields:
    """Return the columns of a table; "owner" because a text need not have a subject."""
    fields = named(SUBJECT_FIELDS, names)
    identity = fields["post_id"] if "post_id" in names else DOCUMENT_FIELDS["id"]
    label = fields["label"] if "label" in names else DOCUMENT_FIELDS["label"]
    own = {name: fields[name] for name in ("text", "title", "time")}
    return own | {"label": label, "id": identity, "owner": fields["subject"]}
