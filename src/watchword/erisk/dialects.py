"""Dialects of the server protocol: how rounds are requested, and what is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from watchword._checks import as_choice
from watchword.erisk.discussions import as_discussion, discussion_of
from watchword.erisk.messages import answers_in, as_messages, message_of, predictions_of
from watchword.erisk.protocol import (
    MOST_RUNS,
    Answer,
    Round,
    Writing,
    as_list,
    as_round,
    round_of,
    to_json,
)

DialectName = Literal["writings", "discussions", "messages", "messages_trial"]
NAMES: tuple[DialectName, ...] = get_args(DialectName)


def _answers(answers: Sequence[Answer], _emissions: Mapping[str, Any]) -> bytes:
    return to_json(answers)


def _as_discussions(data: object) -> Round | None:
    return round_of(as_discussion(item) for item in as_list(data, "discussions"))


def _same(data: object) -> object:
    return data


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
    encode_answers: Callable[[Sequence[Answer], Mapping[str, Any]], bytes] = _answers
    decode_answers: Callable[[object], object] = _same
    submit_path: str = "submit"
    most_runs: int = MOST_RUNS
    has_emissions: bool = False


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
            "discussions", "getdiscussions", "eRisk 2025 and 2026", _as_discussions, discussion_of
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
