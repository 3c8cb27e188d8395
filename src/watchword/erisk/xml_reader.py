"""A lenient reader of the XML files of an eRisk collection.

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
from pathlib import Path
from typing import NamedTuple

from watchword.data import Post
from watchword.data.flaws import shown
from watchword.data.times import TimeChecks
from watchword.erisk.listing import contents
from watchword.errors import DataFormatError

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
