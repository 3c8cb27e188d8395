"""Messages of MentalRiskES (IberLEF 2023 to 2025): rounds of messages, and predictions.

The fields are those of the organisers' example client, as published by participants.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from watchword.erisk.protocol import (
    Answer,
    Round,
    Writing,
    as_identifier,
    as_list,
    as_nick,
    as_number,
    as_object,
    as_text,
    kind_of,
    parse_json,
    round_of,
)
from watchword.errors import DataFormatError


def as_messages(data: object) -> Round | None:
    """Return the round in a response, or None for the end: an empty list or object.

    >>> as_messages([{"id_message": 1, "round": 0, "nick": "ana", "message": "Hola."}]).number
    0
    """
    if data == {}:
        return None
    return round_of(_message(item) for item in as_list(data, "messages"))


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


def _message(item: object) -> Writing:
    fields = as_object(item, "a message")
    return Writing(
        nick=as_nick(fields.get("nick")),
        number=as_number(fields.get("round")),
        content=as_text("message", fields.get("message")),
        date=as_text("date", fields.get("date")),
        id=as_identifier(fields.get("id_message")),
    )
