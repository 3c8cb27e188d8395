"""The messages of the eRisk protocol (2019 and later), with validation.

A round is one writing of each subject with writings left; an answer is a decision and a score for a
subject, and a run submits one for every subject of round 0. Both are sent as JSON, and both sides
validate what they receive.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from watchword.data.subjects import Post
from watchword.data.times import time_or_none
from watchword.errors import DataFormatError, WatchwordError

MOST_RUNS = 5  # of one team


class ServerError(WatchwordError):
    """A server is unreachable, rejects a request, or sends an invalid response."""


@dataclass(frozen=True)
class Writing:
    """One post of one subject, as sent by a server.

    >>> Writing("ann", 0, content="Slept badly.").post.text
    'Slept badly.'
    """

    nick: str
    number: int
    title: str = ""
    content: str = ""
    date: str = ""
    id: int | str | None = None
    redditor: int | str | None = None
    context: tuple[str, ...] = ()  #: what others wrote in the same discussion

    @property
    def post(self) -> Post:
        """The writing as a post for a model."""
        own = None if self.id is None else str(self.id)
        return Post(self.content, self.title, time_or_none(self.date), own, self.context)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the protocol, which has no context."""
        return {name: value for name, value in vars(self).items() if name != "context"}


@dataclass(frozen=True)
class Round:
    """The writings of one round; rounds count from 0."""

    number: int
    writings: tuple[Writing, ...]

    @property
    def posts(self) -> dict[str, Post]:
        """The posts by subject, for `Watcher.read_round`."""
        return {writing.nick: writing.post for writing in self.writings}

    @property
    def has_text(self) -> bool:
        """Whether any subject wrote anything."""
        return any(writing.content or writing.title for writing in self.writings)

    @cached_property
    def digest(self) -> str:
        """Return a digest that is equal for two rounds exactly if a model reads the same texts."""
        read = sorted(
            (each.nick, each.title, each.content, *each.context) for each in self.writings
        )
        return hashlib.sha256(json.dumps([self.number, read]).encode()).hexdigest()


@dataclass(frozen=True)
class Answer:
    """A run's decision about a subject after a round (1 is an alert), with a score for ranking."""

    nick: str
    decision: int
    score: float

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the protocol."""
        return vars(self).copy()


def to_json(items: Iterable[Writing | Answer]) -> bytes:
    """Encode writings or answers as JSON.

    >>> to_json([Answer("ann", 1, 0.5)])
    b'[{"nick": "ann", "decision": 1, "score": 0.5}]'
    """
    return json.dumps([item.to_dict() for item in items], allow_nan=False).encode()


def parse_json(body: bytes) -> object:
    """Parse a JSON body."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:  # ValueError also for invalid UTF-8
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise DataFormatError(f"invalid JSON: {reason}") from None


def as_round(data: object) -> Round | None:
    """Return the round in a server's response, or None for the empty list that ends a task.

    >>> as_round([{"nick": "ann", "number": 0, "title": "", "content": "Hello."}]).number
    0
    """
    return round_of(map(as_writing, list_from(data, "writings")))


def round_of(given: Iterable[Writing]) -> Round | None:
    """Return the round of these writings, or None without any."""
    writings = tuple(given)
    if not writings:
        return None
    numbers = {writing.number for writing in writings}
    if len(numbers) > 1:
        raise DataFormatError(f"writings of several rounds in one response: {sorted(numbers)[:5]}")
    if len({writing.nick for writing in writings}) < len(writings):
        raise DataFormatError("several writings of one subject in a round")
    return Round(writings[0].number, writings)


def as_answers(data: object, subjects: Sequence[str]) -> tuple[Answer, ...]:
    """Return a run's answers in the order of the subjects; raise unless there is one for each.

    >>> as_answers([{"nick": "ann", "decision": 2, "score": 0.5}], ["ann"])
    Traceback (most recent call last):
    ...
    watchword.errors.DataFormatError: the decision about 'ann' must be 0 or 1, got 2
    """
    found: dict[str, Answer] = {}
    known = set(subjects)
    for item in list_from(data, "answers"):
        answer = _answer(item, known)
        if answer.nick in found:
            raise DataFormatError(f"duplicate answer about {answer.nick!r}")
        found[answer.nick] = answer
    missing = [subject for subject in subjects if subject not in found]
    if missing:
        shown = ", ".join(map(_shown, missing[:3]))
        others = f" and {len(missing) - 3} others" if len(missing) > 3 else ""
        raise DataFormatError(
            f"no answer about {shown}{others} (answer for all {len(subjects)} subjects of round "
            "0, including those without further writings)"
        )
    return tuple(found[subject] for subject in subjects)


def list_from(data: object, what: str) -> list[Any]:
    """Return a list from a server, or raise `DataFormatError`."""
    if not isinstance(data, list):
        raise DataFormatError(f"expected a list of {what}, got {shown_kind(data)}")
    return data


def as_object(data: object, what: str) -> dict[str, Any]:
    """Return an object from a server, or raise `DataFormatError`."""
    if not isinstance(data, dict):
        raise DataFormatError(f"{what} must be an object, got {shown_kind(data)}")
    return data


def require(fields: Mapping[str, Any], what: str, *names: str) -> None:
    """Raise unless an object has one of these fields: without it, another name would be ignored.

    >>> require({"text": "Hello."}, "a writing", "content")
    Traceback (most recent call last):
    ...
    watchword.errors.DataFormatError: a writing must have the field content; it has 'text'
    """
    if not any(name in fields for name in names):
        shown = ", ".join(map(_shown, sorted(fields)[:10])) or "none"
        raise DataFormatError(f"{what} must have the field {' or '.join(names)}; it has {shown}")


def as_writing(item: object) -> Writing:
    """Return a writing in the form of eRisk 2019 to 2024."""
    fields = as_object(item, "a writing")
    require(fields, "a writing", "content")
    return Writing(
        nick=as_nick(fields.get("nick")),
        number=round_number_from(fields.get("number")),
        title=text_from("title", fields.get("title")),
        content=text_from("content", fields.get("content")),
        date=date_from(fields.get("date")),
        id=as_identifier(fields.get("id")),
        redditor=as_identifier(fields.get("redditor")),
    )


def _answer(item: object, known: set[str]) -> Answer:
    fields = as_object(item, "an answer")
    nick, decision, score = as_nick(fields.get("nick")), fields.get("decision"), fields.get("score")
    if nick not in known:
        raise DataFormatError(f"unknown subject {nick!r}")
    if isinstance(decision, bool) or decision not in (0, 1):
        raise DataFormatError(f"the decision about {nick!r} must be 0 or 1, got {_shown(decision)}")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise DataFormatError(f"the score of {nick!r} must be a number, got {_shown(score)}")
    if not abs(score) <= sys.float_info.max:
        raise DataFormatError(f"the score of {nick!r} must be finite, got {_shown(score)}")
    return Answer(nick, int(decision), float(score))


def as_nick(value: object) -> str:
    """Return a valid id of a subject, or raise `DataFormatError`."""
    if not isinstance(value, str) or not value:
        raise DataFormatError(f"nick must be a string, got {shown_kind(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataFormatError("nick must be valid Unicode") from None
    return value


def round_number_from(value: object) -> int:
    """Return a valid number of a round, or raise `DataFormatError`."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise DataFormatError(f"number must be a whole number from 0 on, got {shown_kind(value)}")
    return value


def text_from(name: str, value: object) -> str:
    """Return a text; None is an empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataFormatError(f"{name} must be a string, got {shown_kind(value)}")
    # A lone surrogate in one post must not stop all subjects.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def date_from(value: object) -> str:
    """Return a date as text: a number is seconds since 1970, and any other value is no date."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return text_from("date", value) if isinstance(value, str) else ""


def as_identifier(value: object) -> int | str | None:
    """Return an id of a post, or None for anything else."""
    if isinstance(value, str):
        return text_from("id", value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _shown(value: object) -> str:
    """Describe an untrusted value for a message, shortened."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**20:
        return "a huge number"
    if isinstance(value, list | dict):
        return f"a {type(value).__name__}"
    text = ascii(value)
    return text if len(text) <= 40 else text[:37] + "…"


def shown_kind(value: object) -> str:
    """Describe an untrusted value without its text, which may contain the token."""
    if isinstance(value, str):
        return "a string" if value else "an empty string"
    return _shown(value)
