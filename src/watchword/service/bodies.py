"""Bodies of requests: posts as JSON, or as JSON lines, by the rules of `data`."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from datetime import datetime
from difflib import get_close_matches
from typing import Any

import msgspec

from watchword.data.lines import BYTE_ORDER_MARK, BadLines, Flaw, LineBatch, LineBlock
from watchword.data.records import SUBJECT_FIELDS, decoded_lines, plain_records
from watchword.data.texts import Texts, texts_in, texts_of_records
from watchword.data.times import as_time
from watchword.service.logs import say
from watchword.service.records import IncomingPost
from watchword.service.store import MOST_ID_BYTES

#: The media types of posts; the first is for one object or an array.
JSON, LINES = "application/json", "application/x-ndjson"
MEDIA_TYPES = (JSON, LINES, "application/jsonl", "application/x-jsonlines")

_FIELDS = ("subject", "id", "text", "time", "title")  # that the service reads
_KNOWN = frozenset(name for names in SUBJECT_FIELDS.values() for name in names) | {"id", "context"}
_LONGEST_NAME = 20  # characters of a name that may be a misspelt one
_MOST_KINDS = 1_000  # of posts with different fields that are looked at


class BadBody(Exception):  # noqa: N818 - an answer to a client, not an error of this program
    """A body that cannot be read: what is wrong, and on which line or in which post."""

    def __init__(
        self, message: str, place: dict[str, int] | None = None, *, status: int = 400
    ) -> None:
        super().__init__(message)
        self.place = place or {}
        self.status = status


class FieldCheck:
    """Warns, once per field of a source, of an unknown field spelt much like one that is missing.

    Posts may have further fields, so nothing is refused.

    >>> check = FieldCheck("feed")
    >>> check.misspelt({"subject": "ann", "id": "1", "text": "Hello.", "tiem": 0, "lang": "en"})
    {'time': 'tiem'}
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._seen: set[tuple[str, ...]] = set()  # the fields of posts that were looked at
        self._warned: set[str] = set()

    def look_at_lines(self, batch: LineBatch) -> None:
        """Look at the posts of a block of JSON lines, as far as these are valid."""
        if isinstance(batch, LineBlock):
            self.look_at(_valid_records(batch))

    def look_at(self, posts: Iterable[Any]) -> None:
        """Look at posts; values that are no objects are left out."""
        for post in posts:
            if not isinstance(post, dict) or (names := tuple(post)) in self._seen:
                continue
            if len(self._seen) < _MOST_KINDS:
                self._seen.add(names)
                for field, name in self.misspelt(post).items():
                    self._warn(field, name)

    def misspelt(self, post: Mapping[str, Any]) -> dict[str, str]:
        """Return the unknown fields of a post by the missing fields that they may stand for."""
        if "posts" in post:  # a subject with its posts
            return {}
        missing = [field for field in _FIELDS if field not in post]
        if "post_id" in post and "id" in missing:
            missing.remove("id")
        unknown = [name for name in post if name not in _KNOWN and len(name) <= _LONGEST_NAME]
        matches = {name: get_close_matches(name.lower(), missing, 1, 0.75) for name in unknown}
        return {fields[0]: name for name, fields in matches.items() if fields}

    def _warn(self, field: str, name: str) -> None:
        if field not in self._warned:
            self._warned.add(field)
            fields = {"source": self._source, "field": name, "missing": field}
            say("a field of posts may be misspelt", level=logging.WARNING, **fields)


def _valid_records(block: LineBlock) -> Iterable[Any]:
    records = plain_records(block)
    if records is not None:
        return records
    valid = []
    for _, line in block:
        with suppress(msgspec.DecodeError, UnicodeError, RecursionError):
            valid.append(msgspec.json.decode(line))
    return valid


def posts_in(
    body: bytes, media_type: str, *, most: int, check: FieldCheck | None = None
) -> list[IncomingPost]:
    r"""Return the posts of a body; raise `BadBody` if any of them is invalid.

    >>> body = b'{"subject": "ann", "id": 1, "text": "Hello."}\n'
    >>> [(post.subject, post.id) for post in posts_in(body, LINES, most=10)]
    [('ann', '1')]
    >>> posts_in(b'[{"subject": "ann", "text": "Hello."}]', JSON, most=10)
    Traceback (most recent call last):
    ...
    watchword.service.bodies.BadBody: post 1: "id" is missing
    """
    plain = _plain_posts(body, media_type)
    if plain is not None and len(plain) <= most:
        posts = _incoming_plain(plain)
        if posts is not None:
            return posts
    unit = "post" if media_type == JSON else "line"

    def refuse(flaw: Flaw, line: int | None) -> None:
        place = {} if line is None else {unit: line}
        where = "" if line is None else f"{unit} {line}: "
        raise BadBody(f"{where}{flaw}", place) from None

    bad = FlawsTo(refuse)
    if media_type == JSON:
        values, is_unicode = _values_in(body)
        _check_number(values, unit, most)
        if check is not None:
            check.look_at(values)
        texts = texts_of_records(values, bad, name="", is_unicode=is_unicode)
    else:
        block = _block(body)
        _check_number(block, unit, most)
        if check is not None:
            check.look_at_lines(block)
        texts = texts_in(block, bad, name="")
    _check_number(texts, "post", most)  # a line may hold several
    flaw = first_flaw(texts.subjects, texts.ids, texts.times)
    if flaw is not None:
        refuse(flaw[1], texts.lines[flaw[0]])
    return incoming(texts, texts.ids)


def _check_number(units: Sized, unit: str, most: int) -> None:
    if len(units) > most:
        raise BadBody(f"the body has more than {most} {unit}s: send fewer at once", status=413)


class FlawsTo(BadLines):
    """Passes each flaw and its line to a callback."""

    def __init__(self, tell: Callable[[Flaw, int | None], None]) -> None:
        super().__init__("skip", None)
        self._tell_flaw = tell

    def meet(self, flaw: Flaw, *, name: str, line: int | None = None) -> None:  # noqa: ARG002
        """Report the flaw."""
        self._tell_flaw(flaw, line)


def _block(body: bytes) -> LineBlock:
    data = body.removeprefix(BYTE_ORDER_MARK).removesuffix(b"\n")
    return LineBlock(data, data.count(b"\n") + 1 if data else 0, 1)


def _values_in(body: bytes) -> tuple[list[Any], bool]:
    """Return the elements of an array, or the only value of a body that is none.

    Return also whether there are no lone surrogates in them.
    """
    is_unicode = True
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value, is_unicode = _slowly(body), False
    return (value if isinstance(value, list) else [value]), is_unicode


def _slowly(body: bytes) -> Any:
    """Parse what the fast decoder refuses; it may be valid."""
    try:
        return json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        place = f"byte {error.start + 1} is 0x{body[error.start]:02x}"
        raise BadBody(f"the body is not UTF-8 ({place})") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BadBody(f"the body is not JSON ({error.msg}, {where})") from None
    except RecursionError:
        raise BadBody("the body is nested too deeply") from None
    except ValueError:  # Python refuses to read very long numbers
        raise BadBody("a number in the body has too many digits: send it as text") from None


class _PlainPost(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A post as most clients send it."""

    subject: str
    id: str
    text: str
    time: str | None = None


_PLAIN_POST = msgspec.json.Decoder(_PlainPost)
_PLAIN_POSTS = msgspec.json.Decoder(_PlainPost | list[_PlainPost])


def _plain_posts(body: bytes, media_type: str) -> list[_PlainPost] | None:
    """Return posts that have only these fields; None if the rules have to look."""
    if media_type != JSON:
        return decoded_lines(_block(body), _PLAIN_POST)
    try:
        plain = _PLAIN_POSTS.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return plain if isinstance(plain, list) else [plain]


def _incoming_plain(plain: list[_PlainPost]) -> list[IncomingPost] | None:
    """Return posts whose times and ids are valid; None if the rules have to look."""
    try:
        times = [None if post.time is None else as_time(post.time) for post in plain]
    except Flaw:
        return None
    if first_flaw([post.subject for post in plain], [post.id for post in plain], times):
        return None
    return [
        IncomingPost(post.subject, post.id, post.text, time)
        for post, time in zip(plain, times, strict=True)
    ]


def first_flaw(
    subjects: Sequence[str | None], ids: Sequence[str | None], times: Sequence[datetime | None]
) -> tuple[int, Flaw] | None:
    """Return the index of the first subject, id or time that cannot be stored, and the reason.

    A time must not be at the limits of the calendar: it may be outside of it in UTC.

    >>> first_flaw(["ann", ""], ["1", "2"], [])
    (1, Flaw('"subject" must not be empty'))
    >>> first_flaw([], [], [None, datetime(9999, 12, 31)])
    (1, Flaw('"time" must be in the years 2 to 9998'))
    """
    for name, column in (("subject", subjects), ("id", ids)):
        given = [one for one in column if one]
        if len(given) == len(column) and 4 * max(map(len, given), default=0) <= MOST_ID_BYTES:
            continue
        for at, one in enumerate(column):
            if one is None:
                return at, Flaw(f'"{name}" is missing')
            if not one:
                return at, Flaw(f'"{name}" must not be empty')
            if len(one.encode()) > MOST_ID_BYTES:
                return at, Flaw(f'"{name}" has more than {MOST_ID_BYTES} bytes')
    for at, time in enumerate(times):
        if time is not None and not 1 < time.year < 9999:
            return at, Flaw('"time" must be in the years 2 to 9998')
    return None


def incoming(texts: Texts, ids: Iterable[str | None]) -> list[IncomingPost]:
    """Return texts with subjects as posts with these ids."""
    columns: Any = texts.subjects, ids, texts.texts, texts.times
    return list(map(IncomingPost, *columns))
