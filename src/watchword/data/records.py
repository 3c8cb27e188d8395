"""Records of lines: a JSON object or a row of a table as posts, subjects or documents."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from watchword._checks import Label, Target, as_label
from watchword.data.lines import BadLines, Flaw, Line, LineBatch, LineBlock, decoded, shown_json
from watchword.data.subjects import Document, Post
from watchword.data.times import as_time

if TYPE_CHECKING:
    from msgspec.json import Decoder

Record = Mapping[str, Any]
Fields = Mapping[str, tuple[str, ...]]
_Item = TypeVar("_Item")

#: Possible names of each field; the first one that a record has is used.
POST_FIELDS: Fields = {
    "subject": ("subject",),
    "text": ("text",),
    "title": ("title",),
    "time": ("time",),
    "post_id": ("post_id", "id"),
    "label": ("label",),
    "seq": ("seq",),
}
SUBJECT_FIELDS: Fields = {**POST_FIELDS, "posts": ("posts",), "chunks": ("chunks",)}
DOCUMENT_FIELDS: Fields = {
    "text": ("text",),
    "label": ("label", "labels"),
    "id": ("id", "post_id"),
}

#: The content of a line: the subject's id, posts, label, the `seq` of each post, chunks.
SubjectEntry = tuple[
    str, tuple[Post, ...], Label | None, tuple[float | None, ...], tuple[int, ...] | None
]


def named(fields: Fields, names: Mapping[str, str]) -> Fields:
    """Return the fields, renamed as the caller asked.

    >>> named(DOCUMENT_FIELDS, {"text": "body"})["text"]
    ('body',)
    """
    for field, name in names.items():
        if field not in fields:
            known = ", ".join(fields)
            raise TypeError(f"unknown field {field!r}; the fields are {known}")
        if not isinstance(name, str):
            raise TypeError(f"the name of field {field!r} must be str, got {name!r}")
    return {**fields, **{field: (name,) for field, name in names.items()}}


# Lines


def json_items(
    batch: LineBatch, read: Callable[[Record], _Item], bad: BadLines, *, name: str
) -> Iterator[tuple[int, _Item]]:
    """Yield what `read` makes of each JSON line, with the number of the line."""
    if isinstance(batch, LineBlock) and (records := plain_records(batch)) is not None:
        return record_items(enumerate(records, batch.first), read, bad, name=name)
    return record_items(batch, read, bad, name=name, record_of=_record_of)


def as_record(value: object) -> Record:
    """Return a value of JSON that is an object."""
    if isinstance(value, dict):
        return value
    raise _unlike("expected an object", value)


def record_items(
    values: Iterable[tuple[int, Any]],
    read: Callable[[Record], _Item],
    bad: BadLines,
    *,
    name: str,
    record_of: Callable[[Any], Record | None] = as_record,
) -> Iterator[tuple[int, _Item]]:
    """Yield what `read` makes of the record of each value, with the number of the value."""
    for number, value in values:
        try:
            record = record_of(value)
            if record is None:
                continue
            item = read(record)
        except Flaw as flaw:
            bad.meet(flaw, name=name, line=number)
        else:
            yield number, item


def _record_of(line: Line) -> Record | None:
    """Return the record of a line; None for a blank line."""
    text = decoded(line)
    return _parsed(text) if text and not text.isspace() else None


def plain_records(block: LineBlock) -> list[dict[str, Any]] | None:
    """Return the object on each line, or None if a line needs a closer look.

    What is returned equals what the parser of the standard library makes of the lines, many times
    as fast. Whether a line is valid, and the message if it is not, is left to that parser.
    """
    decoder, _ = _fast_decoder()
    return decoded_lines(block, decoder)


def decoded_lines(block: LineBlock, decoder: Decoder[_Item]) -> list[_Item] | None:
    """Return what a decoder of msgspec makes of each line; None if it refuses one."""
    # The decoder takes objects with any white space between them. There is one on every line if
    # every line end is between two of them, and there are as many objects as lines: inside a value,
    # a brace is never followed by an opening brace, and strings contain no line ends.
    between = block.data.count(b"}\n{") or block.data.count(b"}\r\n{")
    if not block or between != len(block) - 1:
        return None
    _, refusals = _fast_decoder()
    try:
        records = decoder.decode_lines(block.data)
    except refusals:
        return None
    return records if len(records) == len(block) else None


@cache
def _fast_decoder() -> tuple[Decoder[dict[str, Any]], tuple[type[Exception], ...]]:
    """Return a decoder of objects, and what decoders raise."""
    import msgspec  # only where JSON is read: `import watchword` stays light

    refusals = (msgspec.DecodeError, UnicodeError, RecursionError)
    return msgspec.json.Decoder(dict[str, Any]), refusals


def _parsed(line: str) -> Record:
    """Return the JSON object of a line."""
    decoder, refusals = _fast_decoder()
    try:
        return decoder.decode(line)
    except refusals:
        return _slowly_parsed(line)


def _slowly_parsed(line: str) -> Record:
    """Return the JSON object of a line; it may also have NaN, infinity and lone surrogates."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise Flaw(
            f"not JSON ({error.msg}, column {error.colno}): write one object per line"
        ) from None
    except RecursionError:
        raise Flaw("nested too deeply: write one flat object per line") from None
    except ValueError:  # Python refuses to read very long numbers
        raise Flaw("a number has too many digits: write it as text") from None
    if isinstance(value, dict):
        return value
    hint = "; jq -c '.[]' makes lines of an array" if isinstance(value, list) else ""
    raise _unlike("expected an object", value, f": write one object per line{hint}")


def entry_reader(fields: Fields) -> Callable[[Record], SubjectEntry]:
    """Return a function that reads records of one post, or of one subject with its posts."""
    read_post = _post_reader(fields)
    text_name, label_name, seq_name = (fields[one][0] for one in ("text", "label", "seq"))
    posts_name, chunks_name = (fields.get(one, ("",))[0] for one in ("posts", "chunks"))
    subject_name = fields["subject"][0]
    # Where a line is a subject, "id" is the subject's; unless the caller named another field.
    owners = (subject_name, "id") if subject_name == "subject" else (subject_name,)

    def read(record: Record) -> SubjectEntry:
        label, seq = record.get(label_name), record.get(seq_name)
        if label is not None:
            label = as_given_label(label)
        if text_name in record or not posts_name or posts_name not in record:
            subject = as_identity(subject_name, record.get(subject_name))
            return subject, (read_post(record),), label, (as_seq(seq),), None
        subject = as_identity(subject_name, first_of(record, owners))
        given = _posts(record[posts_name], text_name)
        seqs = tuple(as_seq(one.get(seq_name)) for one in given)
        chunks = _chunks(record.get(chunks_name), len(given))
        return subject, tuple(map(read_post, given)), label, seqs, chunks

    return read


def _post_reader(fields: Fields) -> Callable[[Record], Post]:
    text_name, title_name, time_name = (fields[one][0] for one in ("text", "title", "time"))
    id_names = fields["post_id"]

    def read(record: Record) -> Post:
        title = record.get(title_name)
        title = "" if title is None else as_title(title_name, title)
        text = record.get(text_name)
        if type(text) is not str:  # fast path: function calls are slow
            text = _text(record, text_name)
        time = record.get(time_name)
        if time is not None:
            time = as_time(time)
        context = record.get("context")
        if not isinstance(context, list) or any(type(one) is not str for one in context):
            context = ()  # a field of another kind is not ours
        return Post(text, title, time, _identity(record, id_names), tuple(context))

    return read


def document_reader(
    fields: Fields, label_separator: str | None = None
) -> Callable[[Record], Document]:
    """Return a function that reads records of one document, with one label or several."""
    (text_name,), label_names, id_names = fields["text"], fields["label"], fields["id"]

    def read(record: Record) -> Document:
        label = first_of(record, label_names)
        return Document(
            _text(record, text_name),
            None if label is None else _as_target(label, label_separator),
            _identity(record, id_names),
        )

    return read


# Fields


def first_of(record: Record, names: Iterable[str]) -> object:
    """Return the value of the first of these fields that has one; None if none has."""
    for name in names:
        value = record.get(name)
        if value is not None:
            return value
    return None


def _identity(record: Record, names: Iterable[str]) -> str | None:
    """Return the id in the first of these fields that has one; errors name that field."""
    for name in names:
        value = record.get(name)
        if value is not None:
            return as_identity(name, value, empty=True)
    return None


def _text(record: Record, name: str) -> str:
    text = record.get(name)
    if isinstance(text, str):
        return text
    if name not in record:
        raise Flaw(f'"{name}" is missing', arguments=("text",))
    raise _unlike(f'"{name}" must be text', text)


def as_title(name: str, value: object) -> str:
    """Return the title of a post."""
    if isinstance(value, str):
        return value
    raise _unlike(f'"{name}" must be text', value)


def _posts(given: object, text_name: str) -> list[Record]:
    if not isinstance(given, list):
        raise _unlike("the posts must be an array", given)
    records: list[Record] = []
    for place, post in enumerate(given, 1):
        if not isinstance(post, str | dict):
            raise _unlike(f"post {place} must be text or an object", post)
        records.append({text_name: post} if isinstance(post, str) else post)
    return records


def as_identity(name: str, value: object, *, empty: bool = False) -> str:
    """Return the id of a subject or of a post as text.

    >>> as_identity("subject", 12)
    '12'
    """
    if isinstance(value, str):
        if value.isascii():
            if value or empty:
                return value
            raise Flaw(f'"{name}" must not be empty')
        try:
            value.encode()  # ids are printed, compared and stored: no lone surrogates
        except UnicodeEncodeError:
            raise _unlike(f'"{name}" must be valid Unicode', value) from None
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None:
        raise Flaw(f'"{name}" is missing', arguments=("subject",))
    raise _unlike(f'"{name}" must be text or a whole number', value)


def as_given_label(value: object) -> Label:
    """Return the label of a text or of a subject."""
    if type(value) is str and value.isascii():
        return value
    try:
        return as_label(value)
    except (TypeError, ValueError):
        raise _unlike("a label must be text or a whole number of 64 bits", value) from None


def _as_target(value: object, separator: str | None) -> Target:
    """Return the label of a text, or of an array or separated text, all of its labels."""
    if separator is not None and isinstance(value, str):
        value = [one for part in value.split(separator) if (one := part.strip())]
    if not isinstance(value, list):
        return as_given_label(value)
    return tuple(dict.fromkeys(map(as_given_label, value)))


def as_seq(value: object) -> float | None:
    """Return the number that orders the posts of a subject, or None for none."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise _unlike('"seq" must be a number', value)


def _chunks(given: object, posts: int) -> tuple[int, ...] | None:
    if given is None:
        return None
    whole = isinstance(given, list) and all(type(size) is int and size >= 0 for size in given)
    if isinstance(given, list) and whole and len(given) == 10 and sum(given) == posts:
        return tuple(given)
    raise _unlike(f"the chunks must be 10 sizes that add up to the {posts} posts", given)


def _unlike(expected: str, value: object, advice: str = "") -> Flaw:
    """Return the flaw of a value that is not as expected."""
    return Flaw(f"{expected}, got {shown_json(value)}{advice}", private=f"{expected}{advice}")
