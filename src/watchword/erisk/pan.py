"""PAN 2012, sexual predator identification: conversations as subjects, one per author.

The corpus is an XML file of conversations, each `<conversation id>` with messages `<message line>`
of `<author>`, `<time>` and `<text>`, and a list of the predators' ids, one per line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError, XMLParser

from watchword._files import AnyPath
from watchword.data.subjects import Post, Subject
from watchword.erisk.truth import filled_lines
from watchword.errors import DataFormatError

PREDATOR, OTHER = "predator", "other"

_PIECE = 1 << 20


def read_pan(path: AnyPath, predators: AnyPath | None = None) -> list[Subject]:
    """Read the authors of conversations as subjects, in order of appearance.

    A post is a message; its context is what others wrote since the author's previous message in the
    same conversation. Labels are `"predator"` and `"other"`, or None without a list of predators.
    Messages of a conversation stay together, in the order of the file.

    Measure authors with `watchword.evaluation.metrics.f_score(…, beta=0.5)`.
    """
    source = Path(path)
    known = None
    if predators is not None:
        known = {line.strip() for _, line in filled_lines(Path(predators))}
    target = _Conversations()
    parser = XMLParser(target=target)  # noqa: S314 - document types are rejected
    try:
        with source.open("rb") as file:
            for piece in iter(lambda: file.read(_PIECE), b""):
                parser.feed(piece)
        parser.close()
    except ParseError as error:
        raise DataFormatError(f"{source}: not valid XML ({error})") from None
    except OSError as error:
        raise DataFormatError(f"{source}: {error.strerror or error}") from error
    except DataFormatError as error:
        raise DataFormatError(f"{source}: {error}") from None
    if not target.posts:
        raise DataFormatError(f"{source}: contains no message")
    if known is not None and (lost := known - target.posts.keys()):
        raise DataFormatError(
            f"{predators}: {min(lost)} and {len(lost) - 1} others are not among the authors"
            if len(lost) > 1
            else f"{predators}: {min(lost)} is not among the authors"
        )
    return [
        Subject(author, posts, None if known is None else PREDATOR if author in known else OTHER)
        for author, posts in target.posts.items()
    ]


class _Conversations:
    """A target of the XML parser that gathers the posts of each author."""

    def __init__(self) -> None:
        self.posts: dict[str, list[Post]] = {}
        self._said: list[str] = []  # in this conversation
        self._read: dict[str, int] = {}  # how much of it was said before an author's last message
        self._conversation = ""
        self._message: dict[str, str] = {}
        self._text: list[str] = []

    def doctype(self, name: str, *_: Any) -> None:
        raise DataFormatError(f"document types are not allowed, got {name!r}")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._text = []
        if tag == "conversation":
            self._conversation = attributes.get("id", "")
            self._said, self._read = [], {}
        elif tag == "message":
            self._message = {"line": attributes.get("line", "")}

    def data(self, text: str) -> None:
        self._text.append(text)

    def end(self, tag: str) -> None:
        if tag in ("author", "time", "text"):
            self._message[tag] = "".join(self._text)
        elif tag == "message":
            self._add()
        self._text = []

    def _add(self) -> None:
        author, text = self._message.get("author", "").strip(), self._message.get("text", "")
        if not author:
            raise DataFormatError(f"a message of conversation {self._conversation!r} has no author")
        if "text" not in self._message:
            raise DataFormatError(f"a message of conversation {self._conversation!r} has no text")
        unread = self._said[self._read.get(author, 0) :]
        own = f"{self._conversation}-{self._message['line']}"
        self.posts.setdefault(author, []).append(Post(text, id=own, context=tuple(unread)))
        if text:
            self._said.append(text)
        self._read[author] = len(self._said)
