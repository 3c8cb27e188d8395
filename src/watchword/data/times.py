"""Times of posts: the one parser for files and servers, and whether times agree with the order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from operator import itemgetter

from watchword.data.lines import Flaw, shown, shown_json
from watchword.data.subjects import Post

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Shorter numbers in text may also be years or dates (20240101).
_SECONDS = re.compile(r"[0-9]{9,10}(\.[0-9]+)?")
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(?:[.,](\d+))?"
    r" ?(?:(Z|z|UTC|GMT)|([+-]\d\d):?(\d\d)?)?",
    re.ASCII,
)


def as_time(value: object) -> datetime:
    """Parse a time in ISO 8601 or in seconds since 1970 (UTC).

    >>> as_time("2024-05-01T12:30:00Z")
    datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.timezone.utc)
    >>> as_time(1714566600) == as_time("2024-05-01 12:30 UTC")
    True
    """
    try:
        if isinstance(value, str):
            return _time_of_text(value.strip())
        if isinstance(value, int | float) and not isinstance(value, bool):
            return EPOCH + timedelta(seconds=value)
    except (ValueError, OverflowError):  # an invalid or too distant date, NaN
        pass
    wrong = "not a time: write it like 2024-05-01T12:30:00Z, or as seconds since 1970"
    raise Flaw(f"{shown_json(value)} is {wrong}", private=wrong)


def time_or_none(value: object) -> datetime | None:
    """Return the time that a date says, or None if it is empty or unreadable.

    >>> time_or_none("yesterday")
    """
    try:
        return as_time(value)
    except Flaw:
        return None


def in_utc(time: datetime) -> datetime:
    """Return a time that can be compared with any other: a time without a zone is one in UTC."""
    return time.replace(tzinfo=timezone.utc) if time.tzinfo is None else time


def trend(times: Iterable[datetime | None]) -> int:
    """Return the number of steps forward in time minus steps back; negative for newest first.

    >>> trend([as_time("2024-05-03"), None, as_time("2024-05-02"), as_time("2024-05-01")])
    -2
    """
    comparable = [in_utc(time) for time in times if time is not None]
    return sum((a < b) - (a > b) for a, b in pairwise(comparable))


def sorted_by_time(posts: Sequence[Post], *, newest_first: bool) -> list[Post]:
    """Sort the posts of a file by time.

    With `newest_first` the posts are reversed before sorting, so that posts of the same second are
    also oldest first. A post without a time stays after its predecessor.
    """
    ordered = posts[::-1] if newest_first else posts
    latest, timed = in_utc(datetime.min), []
    for post in ordered:
        latest = latest if post.time is None else in_utc(post.time)
        timed.append((latest, post))
    return [post for _, post in sorted(timed, key=itemgetter(0))]


@dataclass
class TimeChecks:
    """Counts of dates in a file or collection, for one warning about most of them at the end.

    >>> checks = TimeChecks()
    >>> checks.parse("5 May 2024"), checks.parse("")
    (None, None)
    >>> checks.problems()
    ["1 of 1 dates are unreadable, such as '5 May 2024' (write them like 2024-05-01T12:30:00Z)"]
    """

    dates: int = 0  # that are not empty
    unreadable: int = 0
    example: str = ""
    ordered: int = 0  # subjects with times that differ
    newest_first: int = 0

    def parse(self, date: str) -> datetime | None:
        """Return the time that a date says, or None; count it."""
        time = time_or_none(date)
        if time is not None:
            self.dates += 1
        elif date and not date.isspace():
            self.dates += 1
            self.unreadable += 1
            self.example = self.example or date.strip()
        return time

    def check_order(self, times: Iterable[datetime | None]) -> None:
        """Count a subject whose posts are in an order that its times may contradict."""
        direction = trend(times)
        self.ordered += direction != 0
        self.newest_first += direction < 0

    def problems(self) -> list[str]:
        """Return what is wrong with most dates."""
        problems = []
        if 2 * self.unreadable > self.dates:
            problems.append(
                f"{self.unreadable} of {self.dates} dates are unreadable, such as "
                f"{shown(self.example)} (write them like 2024-05-01T12:30:00Z)"
            )
        if 2 * self.newest_first > self.ordered:
            problems.append(
                f"the dates contradict the order: in {self.newest_first} of {self.ordered} "
                "subjects, most posts are older than the post before them"
            )
        return problems


def _time_of_text(text: str) -> datetime:
    # Later Pythons also take 20240501 and 2024-W18; all of them shall read the same times.
    if text[4:5] == "-" and text[7:8] == "-" and text[13:14] in {"", ":"}:
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return _time_of_any_iso(text)
    if _SECONDS.fullmatch(text):
        return EPOCH + timedelta(seconds=float(text))
    raise ValueError(text)


def _time_of_any_iso(text: str) -> datetime:
    """Rewrite what Python 3.10 cannot parse: Z, long fractions, a space before the zone."""
    found = _ISO.fullmatch(text)
    if found is None:
        raise ValueError(text)
    date, minute, second, fraction, utc, hours, minutes = found.groups()
    zone = "+00:00" if utc else f"{hours}:{minutes or '00'}" if hours else ""
    parts = [date, "T", minute, second or ":00", f".{fraction or '0':0<6.6}", zone]
    return datetime.fromisoformat("".join(parts))
