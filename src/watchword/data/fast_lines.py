"""The fast path for JSON lines: blocks of plain lines read at once, column by column.

Most lines are plain: a text with or without a subject, and nothing wrong with it. A block of such
lines is decoded by msgspec, many times as fast as line by line, and gives the same columns as the
rules of `records`. All other blocks are left to these rules: they alone decide whether a line is
valid, and what the message says if it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache, partial
from operator import itemgetter
from types import NoneType
from typing import TYPE_CHECKING, Any

from watchword._checks import Target
from watchword.data.lines import Flaw, LineBlock
from watchword.data.records import (
    Fields,
    as_given_label,
    as_identity,
    as_seq,
    as_title,
    decoded_lines,
    plain_records,
)
from watchword.data.subjects import content_of
from watchword.data.times import as_time

if TYPE_CHECKING:
    from msgspec.json import Decoder

_TEXT = {str, NoneType}  # the types of text that may be missing

#: Texts (below their titles), labels, ids, subjects and times.
Columns = tuple[
    list[str], list[Target | None], list[str | None], list[str | None], list[datetime | None]
]


def plain_columns(block: LineBlock, fields: Fields) -> Columns | None:
    """Return the columns of a block, or None if a line needs a closer look."""
    decoder = _post_decoder(*(fields[field][0] for field in ("text", "subject", "label")))
    posts = None if decoder is None else decoded_lines(block, decoder)
    if posts is not None:
        subjects = [post.subject for post in posts]
        if "" not in subjects:
            texts, labels = [post.text for post in posts], [post.label for post in posts]
            return texts, labels, [None] * len(posts), subjects, [None] * len(posts)
    records = plain_records(block)
    return None if records is None else record_columns(records, fields)


def record_columns(records: list[dict[str, Any]], fields: Fields) -> Columns | None:
    """Return the columns of the objects of lines, or None if one needs a closer look."""
    if not records:
        return None
    try:
        return _columns_of(_RecordColumns(records), fields)
    except Flaw:
        return None


@cache
def _post_decoder(text: str, subject: str, label: str) -> Decoder[Any] | None:
    """Return a decoder of lines with these fields of text and no others: faster than dictionaries.

    None if two of the fields have the same name.
    """
    import msgspec  # only where JSON is read: `import watchword` stays light

    if len({text, subject, label}) < 3:
        return None
    optional = [(name, str | None, None) for name in ("subject", "label")]
    post = msgspec.defstruct(
        "Post",
        [("text", str), *optional],
        rename={"text": text, "subject": subject, "label": label},
        forbid_unknown_fields=True,
        gc=False,
    )
    return msgspec.json.Decoder(post)


class _RecordColumns:
    """Records column by column."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self._records = records
        self.names = set[str]().union(*records)

    def values(self, name: str) -> list[Any]:
        """Return a column; None is a missing value."""
        if name not in self.names:
            return [None] * len(self._records)
        try:
            return list(map(itemgetter(name), self._records))
        except KeyError:
            return [record.get(name) for record in self._records]

    def read(self, name: str, rule: Callable[[Any], Any]) -> list[Any]:
        """Return a column of values that `rule` accepts; it accepts all text as it is."""
        values = self.values(name)
        if name not in self.names or set(map(type, values)) <= _TEXT:
            return values
        return [None if value is None else rule(value) for value in values]


def _columns_of(table: _RecordColumns, fields: Fields) -> Columns | None:
    name = {field: names[0] for field, names in fields.items()}
    ids = [one for one in fields["post_id"] if one in table.names] or [name["post_id"]]
    if name["posts"] in table.names or len(ids) > 1:
        return None
    if name["label"] == "label" and "labels" in table.names:
        return None  # texts with several labels
    texts = table.values(name["text"])
    if set(map(type, texts)) != {str}:
        return None
    subjects = table.read(name["subject"], partial(as_identity, name["subject"]))
    if "" in subjects:
        return None
    given = table.values(name["time"])
    times = [None if time is None else as_time(time) for time in given]
    if None in subjects:  # only posts have a time
        times = [one and time for one, time in zip(subjects, times, strict=True)]
    if name["seq"] in table.names:
        list(map(as_seq, table.values(name["seq"])))  # checks them
    if name["title"] in table.names:
        titles = table.read(name["title"], partial(as_title, name["title"]))
        texts = list(map(content_of, titles, texts))
    labels = table.read(name["label"], as_given_label)
    identities = table.read(ids[0], partial(as_identity, ids[0], empty=True))
    return texts, labels, identities, subjects, times
