"""Dialects of the server protocol: how rounds are requested, and what is sent.

The fields of messages (MentalRiskES, IberLEF 2023 to 2025) are those of the organisers' example
client, as published by participants.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from watchword._checks import as_choice
from watchword.erisk.discussions import as_discussions, discussion_of
from watchword.erisk.protocol import (
    MOST_RUNS,
    Answer,
    Round,
    Writing,
    as_identifier,
    as_list,
    as_nick,
    as_number,
    as_object,
    as_round,
    as_text,
    kind_of,
    parse_json,
    round_of,
    to_json,
)
from watchword.errors import DataFormatError

DialectName = Literal["writings", "discussions", "messages", "messages_trial"]
NAMES: tuple[DialectName, ...] = get_args(DialectName)


def _as_json(answers: Sequence[Answer], _emissions: Mapping[str, Any]) -> bytes:
    return to_json(answers)


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
    encode_answers: Callable[[Sequence[Answer], Mapping[str, Any]], bytes] = _as_json
    decode_answers: Callable[[object], object] = lambda data: data
    submit_path: str = "submit"
    most_runs: int = MOST_RUNS
    has_emissions: bool = False


def as_messages(data: object) -> Round | None:
    """Return the round in a response, or None for the end: an empty list or object.

    >>> as_messages([{"id_message": 1, "round": 0, "nick": "ana", "message": "Hola."}]).number
    0
    """
    if data == {}:
        return None
    given = (as_object(item, "a message") for item in as_list(data, "messages"))
    return round_of(
        Writing(
            nick=as_nick(fields.get("nick")),
            number=as_number(fields.get("round")),
            content=as_text("message", fields.get("message")),
            date=as_text("date", fields.get("date")),
            id=as_identifier(fields.get("id_message")),
        )
        for fields in given
    )


def message_of(writing: Writing) -> dict[str, Any]:
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
    strings = as_list(data, "one string")
    text = strings[0] if len(strings) == 1 else strings
    if not isinstance(text, str):
        raise DataFormatError(f"expected a list with one string of JSON, got {kind_of(text)}")
    plain = parse_json(text.encode("utf-8", "replace"))
    decisions = plain.get("predictions") if isinstance(plain, dict) else None
    if not isinstance(decisions, dict):
        raise DataFormatError('the string must be an object with "predictions"')
    return [{"nick": nick, "decision": value, "score": value} for nick, value in decisions.items()]


_MESSAGES = Dialect(
    "messages",
    "getmessages",
    "MentalRiskES",
    as_messages,
    message_of,
    predictions_of,
    answers_in,
    most_runs=3,
    has_emissions=True,
)
DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("writings", "getwritings", "eRisk 2019 to 2024", as_round, Writing.to_dict),
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
