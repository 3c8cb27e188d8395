"""JSON files of collections since 2023: a file per subject, or a file per round.

The file of a subject is a list of its discussions (eRisk 2025 and 2026) or of its messages
(MentalRiskES). The file of a round is what a server sent, in any dialect. The form is detected from
the fields, which must be known: a list of anything else is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from watchword.data.subjects import Subject
from watchword.data.times import TimeChecks, sorted_by_time, trend
from watchword.erisk import protocol
from watchword.erisk.dialects import as_discussion, as_message
from watchword.erisk.listing import contents, matching
from watchword.erisk.protocol import Writing
from watchword.errors import DataFormatError

_ROUND = re.compile(r"round[_ -]?([0-9]{1,6})\.json", re.IGNORECASE)

_LARGEST_FILE = 1 << 29  # bytes


def round_files(folder: Path) -> list[Path]:
    """Return the files of rounds (`round_N.json`) in a folder, sorted by number."""
    return sorted(matching(folder, _ROUND), key=_number_of)


def read_subject_json(path: Path, checks: TimeChecks) -> Subject:
    """Read the file of a subject: its posts, oldest first. The file name is the subject.

    A file without numbers is in the order of its list, unless the newest post is the first.
    """
    fields, writings = _writings(path, subject=path.stem)
    strangers = {writing.nick for writing in writings} - {path.stem}
    if strangers:
        raise DataFormatError(
            f"{path}: contains posts of {min(strangers)!r} (name a file of a round round_N.json)"
        )
    for writing in writings:
        checks.parse(writing.date)
    posts = [writing.post for writing in sorted(writings, key=lambda writing: writing.number)]
    if any(name in each for each in fields for name in ("number", "round")):
        return Subject(path.stem, posts)
    newest_first = trend(post.time for post in posts) < 0
    return Subject(path.stem, sorted_by_time(posts, newest_first=True) if newest_first else posts)


def read_rounds(folder: Path, checks: TimeChecks) -> list[Subject]:
    """Read the files of rounds in a folder, and return the subjects of round 0."""
    files = round_files(folder)
    numbers = [_number_of(path) for path in files]
    if gaps := set(range(numbers[0], numbers[-1] + 1)) - set(numbers):
        raise DataFormatError(f"{folder}: the file of round {min(gaps)} is missing")
    posts: dict[str, list[Writing]] = {}
    for path, number in zip(files, numbers, strict=True):
        _, writings = _writings(path, number=number)
        for writing in _as_round(path, writings):
            checks.parse(writing.date)
            posts.setdefault(writing.nick, []).append(writing)
    return [Subject(nick, [writing.post for writing in each]) for nick, each in posts.items()]


def _as_round(path: Path, writings: list[Writing]) -> tuple[Writing, ...]:
    try:
        found = protocol.round_of(writings)
    except DataFormatError as error:
        raise DataFormatError(f"{path}: {error}") from None
    return () if found is None else found.writings


def _number_of(path: Path) -> int:
    found = _ROUND.fullmatch(path.name)
    assert found is not None  # noqa: S101
    return int(found[1])


def _writings(
    path: Path, *, subject: str | None = None, number: int | None = None
) -> tuple[list[dict[str, Any]], list[Writing]]:
    """Return the objects of a file, and the writings in them.

    The subject and the number count where an object has none; without a number, its place does.
    """
    try:
        listed = protocol.list_from(
            protocol.parse_json(contents(path, _LARGEST_FILE)), "discussions or messages"
        )
        objects = [protocol.as_object(each, "a post") for each in listed]
        return objects, [
            _writing(fields, subject, at if number is None else number)
            for at, fields in enumerate(objects)
        ]
    except DataFormatError as error:
        raise DataFormatError(f"{path}: {error}") from None


def _writing(fields: Mapping[str, Any], subject: str | None, number: int) -> Writing:
    if "message" in fields:
        return as_message({"nick": subject, "round": number} | dict(fields))
    if "content" in fields:
        return protocol.as_writing({"nick": subject, "number": number} | dict(fields))
    if not fields.keys() & {"submission", "comments"}:
        protocol.require(fields, "a post", "body", "content", "message")
    return as_discussion(fields, target=subject, number=number)
