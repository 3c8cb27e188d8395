"""Dialects of the server protocol: how rounds are requested, and what is sent.

A discussion (eRisk 2025 and 2026) belongs to one subject, its target, who may have written the
submission, some of the comments, or nothing. What the target wrote becomes a post; the rest is its
context. The organisers' README documents the fields of the server. The files of the collection have
other names for them, known from the loaders of participants; both are accepted, in files and from
servers.

The fields of messages (MentalRiskES, IberLEF 2023 to 2025) are those of the organisers' example
client, as published by participants.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from watchword._checks import as_choice
from watchword.data.records import first_of
from watchword.erisk import protocol
from watchword.erisk.protocol import MOST_RUNS, Answer, Round, Writing
from watchword.errors import DataFormatError

DialectName = Literal["writings", "discussions", "messages", "messages_trial"]
NAMES: tuple[DialectName, ...] = get_args(DialectName)

# The names of each field: on the server, then in files.
_ID = ("submissionId", "submission_id")
_AUTHOR = ("author", "user_id")
_DATE = ("date", "created_utc")
_DELETED = ("[deleted]", "[removed]")  # what Reddit shows instead of a text


@dataclass(frozen=True)
class Dialect:
    """A dialect: its paths, the tasks that use it, and functions for what is sent.

    `parse` returns the round in a response, or None for the end; `encode` returns the JSON object
    of a writing. `encode_answers` returns the body of a run's answers, with emissions where the
    dialect has them; `decode_answers` returns the list of answers in a parsed body.
    """

    name: DialectName
    path: str
    used_by: str
    parse: Callable[[object], Round | None]
    encode: Callable[[Writing], dict[str, Any]]
    encode_answers: Callable[[Sequence[Answer], Mapping[str, Any]], bytes] = (
        lambda answers, _emissions: protocol.to_json(answers)
    )
    decode_answers: Callable[[object], object] = lambda data: data
    submit_path: str = "submit"
    most_runs: int = MOST_RUNS
    has_emissions: bool = False


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
    outer = protocol.as_object(item, "a discussion")
    submission = protocol.as_object(outer.get("submission", outer), "a submission")
    subject = protocol.as_nick(outer.get("targetSubject", target))
    comments = protocol.list_from(outer.get("comments") or [], "comments")
    if submission or not comments:  # which may remain of a submission that was removed
        _require_text(submission, "a submission")
    title, body = (_said(submission, name) for name in ("title", "body"))
    texts: list[str] = []
    context: list[str] = []
    if _is_own(submission, subject):
        texts.append(body)
    else:
        context.append(f"{title}\n\n{body}" if title and body else title or body)
        title = ""
    for comment in comments:
        fields = protocol.as_object(comment, "a comment")
        _require_text(fields, "a comment")
        (texts if _is_own(fields, subject) else context).append(_said(fields, "body"))
    return Writing(
        nick=subject,
        number=protocol.round_number_from(outer.get("number", number)),
        title=title,
        content="\n\n".join(filter(None, texts)),
        date=protocol.date_from(first_of(submission, _DATE)),
        id=protocol.as_identifier(first_of(submission, _ID)),
        context=tuple(filter(None, context)),
    )


def as_discussions(data: object) -> Round | None:
    """Return the round in a response, or None for the empty list that ends a task."""
    return protocol.round_of(
        as_discussion(item) for item in protocol.list_from(data, "discussions")
    )


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


def _said(fields: Mapping[str, Any], name: str) -> str:
    text = protocol.text_from(name, fields.get(name))
    return "" if text.strip() in _DELETED else text


def _is_own(fields: Mapping[str, Any], subject: str) -> bool:
    """Return whether the target wrote it; files also say so by a field `target`."""
    by_target = fields.get("target")
    if by_target is not None and not isinstance(by_target, bool):
        raise DataFormatError(f"target must be true or false, got {protocol.shown_kind(by_target)}")
    return by_target is True or first_of(fields, _AUTHOR) == subject


def _require_text(fields: Mapping[str, Any], what: str) -> None:
    protocol.require(fields, what, "body")
    protocol.require(fields, what, *_AUTHOR, "target")


def as_messages(data: object) -> Round | None:
    """Return the round in a response, or None for the end: an empty list or object.

    >>> as_messages([{"id_message": 1, "round": 0, "nick": "ana", "message": "Hola."}]).number
    0
    """
    if data == {}:
        return None
    return protocol.round_of(map(as_message, protocol.list_from(data, "messages")))


def as_message(item: object) -> Writing:
    """Return a message as a writing."""
    fields = protocol.as_object(item, "a message")
    protocol.require(fields, "a message", "message")
    return Writing(
        nick=protocol.as_nick(fields.get("nick")),
        number=protocol.round_number_from(fields.get("round")),
        content=protocol.text_from("message", fields.get("message")),
        date=protocol.date_from(fields.get("date")),
        id=protocol.as_identifier(fields.get("id_message")),
    )


def message_from(writing: Writing) -> dict[str, Any]:
    """Return a writing as a message."""
    text = f"{writing.title}\n\n{writing.content}" if writing.title else writing.content
    return {
        "id_message": writing.id,
        "round": writing.number,
        "nick": writing.nick,
        "message": text,
        "date": writing.date,
    }


def predictions_of(answers: Sequence[Answer], emissions: Mapping[str, Any]) -> bytes:
    r"""Encode answers: a list with one string, which is JSON itself.

    >>> predictions_of([Answer("ana", 1, 0.7)], {})
    b'["{\\"predictions\\": {\\"ana\\": 1}, \\"emissions\\": {}}"]'
    """
    decisions = {answer.nick: answer.decision for answer in answers}
    plain = {"predictions": decisions, "emissions": dict(emissions)}
    return json.dumps([json.dumps(plain, default=str)]).encode()


def answers_in(data: object) -> list[dict[str, Any]]:
    """Return the answers in predictions, for a practice server; a decision is also the score."""
    strings = protocol.list_from(data, "one string")
    text = strings[0] if len(strings) == 1 else strings
    if not isinstance(text, str):
        raise DataFormatError(
            f"expected a list with one string of JSON, got {protocol.shown_kind(text)}"
        )
    plain = protocol.parse_json(text.encode("utf-8", "replace"))
    decisions = plain.get("predictions") if isinstance(plain, dict) else None
    if not isinstance(decisions, dict):
        raise DataFormatError('the string must be an object with "predictions"')
    return [{"nick": nick, "decision": value, "score": value} for nick, value in decisions.items()]


_MESSAGES = Dialect(
    "messages",
    "getmessages",
    "MentalRiskES",
    as_messages,
    message_from,
    predictions_of,
    answers_in,
    most_runs=3,
    has_emissions=True,
)
DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "writings", "getwritings", "eRisk 2019 to 2024", protocol.as_round, Writing.to_dict
        ),
        Dialect(
            "discussions", "getdiscussions", "eRisk 2025 and 2026", as_discussions, discussion_of
        ),
        _MESSAGES,
        replace(
            _MESSAGES,
            name="messages_trial",
            path="getmessages_trial",
            submit_path="submit_trial",
            used_by="the trial of MentalRiskES",
        ),
    )
}


def dialect_named(name: DialectName) -> Dialect:
    """Return the dialect of this name.

    >>> dialect_named("discussions").path
    'getdiscussions'
    """
    return DIALECTS[as_choice("dialect", name, NAMES)]


def others_than(dialect: Dialect) -> str:
    """Return the other dialects with their paths, for a message about a path that is not there."""
    return ", ".join(
        f"dialect {other.name!r} for /{other.path}, as used by {other.used_by}"
        for other in DIALECTS.values()
        if other is not dialect
    )
