"""Discussions of eRisk 2025 and 2026: submissions with comments, by a subject and by others.

Each discussion belongs to one subject, its target, who may have written the submission, some of the
comments, or nothing. What the target wrote becomes a post; the rest is its context.

The organisers' README documents the fields of the server. The files of the collection have other
names for them, known from the loaders of participants; both are accepted, in files and from
servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from watchword.data.subjects import Post, Subject
from watchword.erisk.listing import contents
from watchword.erisk.protocol import (
    Round,
    Writing,
    as_identifier,
    as_list,
    as_nick,
    as_number,
    as_object,
    as_text,
    parse_json,
    round_of,
)
from watchword.errors import DataFormatError

# The names of each field: on the server, then in files.
_ID = ("submissionId", "submission_id")
_AUTHOR = ("author", "user_id")
_DATE = ("date", "created_utc")
_DELETED = ("[deleted]", "[removed]")  # what Reddit shows instead of a text

_LARGEST_FILE = 1 << 29  # bytes


def as_discussion(item: object, *, target: str | None = None, number: int = 0) -> Writing:
    r"""Return a discussion as a writing of its target, with the texts of others as context.

    The target's title, text and comments are its own text, in paragraphs. Without the fields
    `targetSubject` and `number`, those given count.

    >>> found = as_discussion({
    ...     "targetSubject": "ann", "number": 0, "author": "bob", "title": "Sleep", "body": "How?",
    ...     "comments": [{"author": "ann", "body": "Badly."}, {"author": "eve", "body": "Why?"}],
    ... })
    >>> found.content, found.context
    ('Badly.', ('Sleep\n\nHow?', 'Why?'))
    """
    outer = as_object(item, "a discussion")
    submission = as_object(outer.get("submission", outer), "a submission")
    subject = as_nick(outer.get("targetSubject", target))
    title, body = (_said(submission, name) for name in ("title", "body"))
    texts: list[str] = []
    context: list[str] = []
    if _is_own(submission, subject):
        texts.append(body)
    else:
        context.append(f"{title}\n\n{body}" if title and body else title or body)
        title = ""
    for comment in as_list(outer.get("comments") or [], "comments"):
        fields = as_object(comment, "a comment")
        (texts if _is_own(fields, subject) else context).append(_said(fields, "body"))
    return Writing(
        nick=subject,
        number=as_number(outer.get("number", number)),
        title=title,
        content="\n\n".join(filter(None, texts)),
        date=as_text("date", _first(submission, _DATE)),
        id=as_identifier(_first(submission, _ID)),
        context=tuple(filter(None, context)),
    )


def as_discussions(data: object) -> Round | None:
    """Return the round in a response, or None for the empty list that ends a task."""
    return round_of(as_discussion(item) for item in as_list(data, "discussions"))


def discussion_of(writing: Writing) -> dict[str, Any]:
    """Return a writing as a discussion in the format of the server.

    A writing without a title, but with context, becomes a comment on the first text of the context;
    any other one becomes a submission.
    """
    name = str(writing.id)
    is_comment = bool(writing.context) and not writing.title
    texts = [(f"other{at}", text) for at, text in enumerate(writing.context)]
    if is_comment:
        (author, body), *texts = texts
        texts += [(writing.nick, writing.content)] if writing.content else []
    else:
        author, body = writing.nick, writing.content
    return {
        "submissionId": name,
        "author": author,
        "date": writing.date,
        "body": body,
        "title": writing.title,
        "number": writing.number,
        "targetSubject": writing.nick,
        "comments": [
            {
                "commentId": f"{name}-{at}",
                "author": by,
                "date": writing.date,
                "body": text,
                "parent": name,
            }
            for at, (by, text) in enumerate(texts, 1)
        ],
    }


def read_discussions(path: Path) -> Subject:
    """Read the file of a subject: its discussions, oldest first. The file name is the subject."""
    try:
        found = as_list(parse_json(contents(path, _LARGEST_FILE)), "discussions")
        writings = [
            as_discussion(item, target=path.stem, number=at) for at, item in enumerate(found)
        ]
    except DataFormatError as error:
        raise DataFormatError(f"{path}: {error}") from None
    strangers = {one.nick for one in writings} - {path.stem}
    if strangers:
        raise DataFormatError(f"{path}: contains discussions of {min(strangers)!r}")
    posts: list[Post] = [one.post for one in sorted(writings, key=lambda one: one.number)]
    return Subject(path.stem, posts)


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> object:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _said(fields: Mapping[str, Any], name: str) -> str:
    text = as_text(name, fields.get(name))
    return "" if text.strip() in _DELETED else text


def _is_own(fields: Mapping[str, Any], subject: str) -> bool:
    """Return whether the target wrote it; files also say so by a field `target`."""
    return fields.get("target") is True or _first(fields, _AUTHOR) == subject
