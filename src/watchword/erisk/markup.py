"""One XML file of an eRisk collection, read as it is rather than as it should be.

The files are nearly XML: ampersands are lost, `<` stands in texts, some bytes are not UTF-8, and
some characters XML forbids. A strict parser refuses many of them. This reader looks for the few
tags that the files have and takes everything between them as text. It knows no document types, so
no entity can expand and nothing outside the file is ever opened; its time is the file's length.
"""

from __future__ import annotations

import codecs
import html
import html.entities
import re
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from watchword.data import Post
from watchword.data.flaws import shown
from watchword.errors import DataFormatError

LARGEST_FILE = 1 << 28  # bytes; the longest history of a subject is far below

_FIELDS = ("TITLE", "DATE", "INFO", "TEXT")
_TAGS = tuple(f"<{slash}{name}>" for name in _FIELDS for slash in ("", "/"))
_ANY_TAG = re.compile(
    r"<(/?)(INDIVIDUAL|ID|WRITING|TITLE|DATE|INFO|TEXT)(?:\s[^<>]*?)?(/?)>", re.IGNORECASE
)

# What XML forbids is no part of any word: blanks instead, so that words stay apart.
_ALLOWED = bytes(32 if code < 32 and code not in (9, 10, 13) else code for code in range(256))
# Bytes that are not UTF-8, as `surrogateescape` leaves them, read as Windows reads them.
_STRAY_BYTES = {
    0xDC00 + code: bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(128, 256)
}

# Correct references; numbers whose ampersand became a blank or nothing; names likewise. After a
# semicolon the latter two may be what one decoding left over ("&amp;lt;"), so they stay.
_REFERENCE = re.compile(
    r"&(\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
    r"|(?:\ |(?<!;))(\#[0-9]{2,7}|\#[xX][0-9a-fA-F]{2,6});"
    r"|(?:\ |(?<![;\w]))(amp|lt|gt|quot|apos|nbsp);"
)
_MARKUP_CODES = frozenset(map(ord, "\"&'<>"))


class Individual(NamedTuple):
    """What one file holds: whose it is, and the posts in the order of the file."""

    id: str
    posts: list[Post]


def read_individual(path: Path) -> Individual:
    """Read one file; what cannot be read is a `DataFormatError` that names it."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise DataFormatError(f"{path}: {error.strerror or error}") from error
    if len(data) > LARGEST_FILE:
        raise DataFormatError(f"{path}: larger than {LARGEST_FILE >> 20} MiB")
    return parse_individual(data, source=str(path))


def parse_individual(data: bytes, *, source: str) -> Individual:
    """The content of one file; `source` names it in messages.

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
        raise DataFormatError(f"{source}: has a document type, which no collection has")
    if start < 0:
        raise DataFormatError(f"{source}: not a file of a subject: INDIVIDUAL is missing")
    if end < start:
        raise DataFormatError(f"{source}: cut off: INDIVIDUAL is not closed")
    head, *writings = text[start + len("<INDIVIDUAL>") : end].split("<WRITING>")
    name = _value(_field(head, "ID", source))
    return Individual(name, [_post(writing, source) for writing in writings])


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
    """Whether every writing has each tag once, spelt as usual: so it is in nearly all files."""
    writings = text.count("<WRITING>")
    return "<INDIVIDUAL>" in text and all(text.count(tag) == writings for tag in _TAGS)


def _plain_tag(found: re.Match[str]) -> str:
    name = found[2].upper()
    return f"<{name}></{name}>" if found[3] else f"<{found[1]}{name}>"


def _post(writing: str, source: str) -> Post:
    inside, closed, outside = writing.rpartition("</WRITING>")
    if not closed:
        raise DataFormatError(f"{source}: cut off: a WRITING is not closed")
    if outside and not outside.isspace():
        raise DataFormatError(f"{source}: text outside of any WRITING: {shown(outside.strip())}")
    title, date, text = (_field(inside, name, source) for name in ("TITLE", "DATE", "TEXT"))
    return Post(_value(text), title=_value(title), time=_time(date))


def _field(block: str, name: str, source: str) -> str:
    """What stands between the tags; a text may itself have a closing tag in it."""
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
    """Decode references, except inside of CDATA, which is taken literally."""
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
    """Whether a number without its ampersand is a character, not a rank or a colour (#333333;)."""
    code = int(number[2:], 16) if number[1] in "xX" else int(number[1:])
    return code in _MARKUP_CODES or 128 <= code < 0x10000 or 0x1F000 <= code < 0x1FB00


def _time(padded: str) -> datetime | None:
    written = padded.strip()
    # What else `fromisoformat` takes depends on the version of Python.
    if not (len(written) == 19 and written[13] == written[16] == ":"):
        return None
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None


def trend(posts: list[Post]) -> int:
    """How much more often time goes forward than back from one post to the next; below 0: back."""
    times = [post.time for post in posts if post.time is not None]
    return sum((a < b) - (a > b) for a, b in pairwise(times))


def in_order(posts: list[Post], *, newest_first: bool) -> list[Post]:
    """Sort the posts of a file by time.

    Turned around first where the newest are first, so that posts of the same second come to lie
    oldest first, too. A post without a time follows the post that is before it then.
    """
    ordered = posts[::-1] if newest_first else posts
    latest = datetime.min
    times = []
    for post in ordered:
        latest = post.time or latest
        times.append(latest)
    if all(a <= b for a, b in pairwise(times)):
        return ordered
    places = sorted(range(len(times)), key=times.__getitem__)
    return [ordered[place] for place in places]
