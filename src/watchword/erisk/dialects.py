"""Dialects of the server protocol: how rounds are requested, and what they contain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from watchword._checks import as_choice
from watchword.erisk.discussions import as_discussion, discussion_of
from watchword.erisk.protocol import Round, Writing, as_list, as_round, round_of

DialectName = Literal["writings", "discussions"]


@dataclass(frozen=True)
class Dialect:
    """A dialect: its name, the path of its rounds, and the tasks that use it.

    `parse` returns the round in a response, or None for the end; `encode` returns the JSON object
    of a writing.
    """

    name: DialectName
    path: str
    used_by: str
    parse: Callable[[object], Round | None]
    encode: Callable[[Writing], dict[str, Any]]


def _as_discussions(data: object) -> Round | None:
    return round_of(as_discussion(item) for item in as_list(data, "discussions"))


DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("writings", "getwritings", "eRisk 2019 to 2024", as_round, Writing.to_dict),
        Dialect(
            "discussions", "getdiscussions", "eRisk 2025 and 2026", _as_discussions, discussion_of
        ),
    )
}
NAMES: tuple[DialectName, ...] = tuple(dialect.name for dialect in DIALECTS.values())


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
