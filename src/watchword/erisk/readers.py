"""Readers of the files of eRisk collections: listed without clutter, XML and JSON.

The file of a subject is a list of its discussions (eRisk 2025 and 2026) or of its messages
(MentalRiskES). The file of a round is what a server sent, in any dialect. The form is detected from
the fields, which must be known: a list of anything else is an error.

The files are almost XML: ampersands are lost, texts contain `<`, some bytes are not UTF-8, and some
characters are forbidden in XML. A strict parser rejects many of them. This reader searches for the
few known tags and takes everything between them as text. It supports no document types, so no
entity can expand and no other file is opened; its time is linear in the size of the file.
"""

from __future__ import annotations

import codecs
import html
import html.entities
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from watchword.data import Post
from watchword.data.folders import is_clutter
from watchword.data.lines import shown
from watchword.data.subjects import Subject
from watchword.data.times import TimeChecks, sorted_by_time, trend
from watchword.erisk import protocol
from watchword.erisk.dialects import as_discussion, as_message
from watchword.erisk.protocol import Writing
from watchword.errors import DataFormatError

_PIECE = 1 << 18
_SUBJECT_JSON = re.compile(r"subject.*\.json", re.IGNORECASE)


def entries(folder: Path) -> list[Path]:
    """Return the entries of a folder, sorted by name."""
    try:
        return sorted(path for path in folder.iterdir() if not is_clutter(path.name))
    except OSError as error:
        raise DataFormatError(f"{folder}: {error.strerror or error}") from error


def subfolders(folder: Path) -> list[Path]:
    """Return the folders in a folder, sorted by name."""
    return [path for path in entries(folder) if path.is_dir()]


def subject_files(folder: Path) -> Iterator[Path]:
    """Yield the files of subjects (`.xml`) in a folder, sorted by name."""
    found = (path for path in entries(folder) if path.suffix.lower() == ".xml")
    return (path for path in found if path.is_file())


def subject_json_files(folder: Path) -> Iterator[Path]:
    """Yield the JSON files of subjects (`subject*.json`) in a folder, sorted by name."""
    return iter(matching(folder, _SUBJECT_JSON))


def matching(folder: Path, name: re.Pattern[str]) -> list[Path]:
    """Return the files in a folder whose whole names match, sorted by name."""
    return [path for path in entries(folder) if name.fullmatch(path.name) and path.is_file()]


def only(folder: Path, name: re.Pattern[str], kind: str) -> Path | None:
    """Return the file in a folder whose name matches, if there is one; raise if several do."""
    found = matching(folder, name)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise DataFormatError(f"{folder}: several {kind} files (keep one): {names}")
    return found[0] if found else None


def contents(path: Path, limit: int) -> bytes:
    """Return the contents of a file of at most `limit` bytes, a whole number of MiB."""
    data = bytearray()
    try:
        with path.open("rb") as file:
            # In pieces: `read(limit)` would first allocate that much, for each of many small files.
            while len(data) <= limit and (piece := file.read(_PIECE)):
                data += piece
    except OSError as error:
        raise DataFormatError(f"{path}: {error.strerror or error}") from error
    if len(data) > limit:
        raise DataFormatError(f"{path}: larger than {limit >> 20} MiB")
    return bytes(data)


def names_below(folder: Path, depth: int, without: Path) -> Iterator[str]:
    """Yield the names of subjects with files in a folder or below, except in `without`.

    For files in chunks, the name includes the chunk. Folders that cannot be listed are skipped.
    """
    try:
        found = entries(folder)
    except DataFormatError:
        return
    for path in found:
        if path.suffix.lower() == ".xml" or _SUBJECT_JSON.fullmatch(path.name):
            yield path.stem
        elif depth and path != without and path.is_dir():
            yield from names_below(path, depth - 1, without)


_ROUND = re.compile(r"round[_ -]?([0-9]{1,6})\.json", re.IGNORECASE)

_LARGEST_FILE = 1 << 29  # bytes


def round_files(folder: Path) -> list[Path]:
    """Return the files of rounds (`round_N.json`) in a folder, sorted by number."""
    return sorted(matching(folder, _ROUND), key=_number_of)


def read_subject_json(path: Path, checks: TimeChecks) -> Subject:
    """Read the file of a subject: its posts, oldest first. The file name is the subject.

    A file without numbers is in the order of its list, unless the newest post is the first.
    """
    fields, writings = _writings(path, subject=path.stem)
    strangers = {writing.nick for writing in writings} - {path.stem}
    if strangers:
        raise DataFormatError(
            f"{path}: contains posts of {min(strangers)!r} (name a file of a round round_N.json)"
        )
    for writing in writings:
        checks.parse(writing.date)
    posts = [writing.post for writing in sorted(writings, key=lambda writing: writing.number)]
    if any(name in each for each in fields for name in ("number", "round")):
        return Subject(path.stem, posts)
    newest_first = trend(post.time for post in posts) < 0
    return Subject(path.stem, sorted_by_time(posts, newest_first=True) if newest_first else posts)


def read_rounds(folder: Path, checks: TimeChecks) -> list[Subject]:
    """Read the files of rounds in a folder, and return the subjects of round 0."""
    files = round_files(folder)
    numbers = [_number_of(path) for path in files]
    if gaps := set(range(numbers[0], numbers[-1] + 1)) - set(numbers):
        raise DataFormatError(f"{folder}: the file of round {min(gaps)} is missing")
    posts: dict[str, list[Writing]] = {}
    for path, number in zip(files, numbers, strict=True):
        _, writings = _writings(path, number=number)
        for writing in _as_round(path, writings):
            checks.parse(writing.date)
            posts.setdefault(writing.nick, []).append(writing)
    return [Subject(nick, [writing.post for writing in each]) for nick, each in posts.items()]


def _as_round(path: Path, writings: list[Writing]) -> tuple[Writing, ...]:
    try:
        found = protocol.round_of(writings)
    except DataFormatError as error:
        raise DataFormatError(f"{path}: {error}") from None
    return () if found is None else found.writings


def _number_of(path: Path) -> int:
    found = _ROUND.fullmatch(path.name)
    assert found is not None  # noqa: S101
    return int(found[1])


def _writings(
    path: Path, *, subject: str | None = None, number: int | None = None
) -> tuple[list[dict[str, Any]], list[Writing]]:
    """Return the objects of a file, and the writings in them.

    The subject and the number count where an object has none; without a number, its place does.
    """
    try:
        listed = protocol.list_from(
            protocol.parse_json(contents(path, _LARGEST_FILE)), "discussions or messages"
        )
        objects = [protocol.as_object(each, "a post") for each in listed]
        return objects, [
            _writing(fields, subject, at if number is None else number)
            for at, fields in enumerate(objects)
        ]
    except DataFormatError as error:
        raise DataFormatError(f"{path}: {error}") from None


def _writing(fields: Mapping[str, Any], subject: str | None, number: int) -> Writing:
    if "message" in fields:
        return as_message({"nick": subject, "round": number} | dict(fields))
    if "content" in fields:
        return protocol.as_writing({"nick": subject, "number": number} | dict(fields))
    if not fields.keys() & {"submission", "comments"}:
        protocol.require(fields, "a post", "body", "content", "message")
    return as_discussion(fields, target=subject, number=number)


LARGEST_FILE = 1 << 28  # bytes; the longest real history is far smaller

_FIELDS = ("TITLE", "DATE", "INFO", "TEXT")
_TAGS = tuple(f"<{slash}{name}>" for name in _FIELDS for slash in ("", "/"))
_ANY_TAG = re.compile(
    r"<(/?)(INDIVIDUAL|ID|WRITING|TITLE|DATE|INFO|TEXT)(?:\s[^<>]*?)?(/?)>", re.IGNORECASE
)

# Characters forbidden in XML become spaces, so that words stay separate.
_ALLOWED = bytes(32 if code < 32 and code not in (9, 10, 13) else code for code in range(256))
# Bytes that are not UTF-8, left by `surrogateescape`, are decoded as Windows-1252.
_STRAY_BYTES = {
    0xDC00 + code: bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(128, 256)
}

# Correct references; numbers whose ampersand became a space or nothing; names likewise. After a
# semicolon the latter two may be what one decoding left over ("&amp;lt;"), so they stay.
_REFERENCE = re.compile(
    r"&(\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
    r"|(?:\ |(?<!;))(\#[0-9]{2,7}|\#[xX][0-9a-fA-F]{2,6});"
    r"|(?:\ |(?<![;\w]))(amp|lt|gt|quot|apos|nbsp);"
)
_MARKUP_CODES = frozenset(map(ord, "\"&'<>"))


class Individual(NamedTuple):
    """The contents of one file: the subject's id, and the posts in the order of the file."""

    id: str
    posts: list[Post]


def read_individual(path: Path, checks: TimeChecks | None = None) -> Individual:
    """Read one file; raise a `DataFormatError` that names the file if it is invalid."""
    return parse_individual(contents(path, LARGEST_FILE), source=str(path), checks=checks)


def parse_individual(data: bytes, *, source: str, checks: TimeChecks | None = None) -> Individual:
    """Parse the contents of one file; `source` is its name in messages.

    An unreadable date is no date; `checks` counts it.

    >>> data = b"<INDIVIDUAL><ID> ann </ID><WRITING><TITLE>  </TITLE>"
    >>> data += b"<DATE> 2016-05-04 10:20:30 </DATE><INFO> reddit post </INFO>"
    >>> data += b"<TEXT> I don #8217;t know, R amp;B &lt;3 </TEXT></WRITING></INDIVIDUAL>"
    >>> parse_individual(data, source="ann.xml").posts[0].text
    'I don’t know, R&B <3'
    """
    text = _decoded(data)
    if not _is_plain(text):
        text = _ANY_TAG.sub(_plain_tag, text)
    start, end = text.find("<INDIVIDUAL>"), text.rfind("</INDIVIDUAL>")
    if "<!DOCTYPE" in text[: max(start, 0)].upper() or (start < 0 and "<!DOCTYPE" in text.upper()):
        raise DataFormatError(f"{source}: document types are not allowed")
    if start < 0:
        raise DataFormatError(f"{source}: not a subject file: INDIVIDUAL is missing")
    if end < start:
        raise DataFormatError(f"{source}: truncated: INDIVIDUAL is not closed")
    head, *writings = text[start + len("<INDIVIDUAL>") : end].split("<WRITING>")
    name = _value(_field(head, "ID", source))
    counted = TimeChecks() if checks is None else checks
    return Individual(name, [_post(writing, source, counted) for writing in writings])


def _decoded(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16", "replace").encode()
    text = data.translate(_ALLOWED).decode("utf-8-sig", "surrogateescape")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.translate(_STRAY_BYTES)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _is_plain(text: str) -> bool:
    """Return whether every writing has each tag once in its usual spelling, as in most files."""
    writings = text.count("<WRITING>")
    return "<INDIVIDUAL>" in text and all(text.count(tag) == writings for tag in _TAGS)


def _plain_tag(found: re.Match[str]) -> str:
    name = found[2].upper()
    return f"<{name}></{name}>" if found[3] else f"<{found[1]}{name}>"


def _post(writing: str, source: str, checks: TimeChecks) -> Post:
    inside, closed, outside = writing.rpartition("</WRITING>")
    if not closed:
        raise DataFormatError(f"{source}: truncated: a WRITING is not closed")
    if outside and not outside.isspace():
        raise DataFormatError(f"{source}: text outside WRITING: {shown(outside.strip())}")
    title, date, text = (_field(inside, name, source) for name in ("TITLE", "DATE", "TEXT"))
    return Post(_value(text), title=_value(title), time=checks.parse(date))


def _field(block: str, name: str, source: str) -> str:
    """Return the text between the tags, which may itself contain a closing tag."""
    start = block.find(f"<{name}>")
    if start < 0:
        return ""
    start += len(name) + 2
    closing = f"</{name}>"
    end = block.rfind(closing, start) if name == "TEXT" else block.find(closing, start)
    if end < 0:
        raise DataFormatError(f"{source}: {name} is not closed")
    return block[start:end]


def _value(padded: str) -> str:
    value = padded.strip()
    if "<![CDATA[" in value:
        return _with_literals(value)
    return _REFERENCE.sub(_character, value) if ";" in value else value


def _with_literals(value: str) -> str:
    """Decode references, except in CDATA sections."""
    parts, at = [], 0
    while (start := value.find("<![CDATA[", at)) >= 0 and (end := value.find("]]>", start)) >= 0:
        parts += [_REFERENCE.sub(_character, value[at:start]), value[start + 9 : end]]
        at = end + 3
    return "".join([*parts, _REFERENCE.sub(_character, value[at:])]).strip()


def _character(found: re.Match[str]) -> str:
    correct, number, name = found.groups()
    if number is not None and not _is_likely(number):
        return found[0]
    token: str = correct or number or name
    if token.startswith("#"):
        return html.unescape(f"&{token};")
    # Names are looked up, not unescaped: "&notin;" must not become "¬in;" nor "&lol;" expand.
    return html.entities.html5.get(f"{token};", found[0])


def _is_likely(number: str) -> bool:
    """Return whether a number without ampersand is a character, not a rank or colour (#333333;)."""
    code = int(number[2:], 16) if number[1] in "xX" else int(number[1:])
    return code in _MARKUP_CODES or 128 <= code < 0x10000 or 0x1F000 <= code < 0x1FB00
