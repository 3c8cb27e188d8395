"""Errors in lines, which are raised or skipped.

Readers of a line raise `Flaw`; `BadLines` adds the place of the line. Problems of a whole file (a
truncated gzip file, a line of gigabytes) always raise a `DataFormatError`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from watchword._checks import as_choice
from watchword.errors import DataFormatError

OnBadLine = Callable[[DataFormatError], object]
BadLinesChoice = Literal["error", "skip"]

_CHOICES: tuple[BadLinesChoice, ...] = ("error", "skip")
_HOPELESS = 20  # first lines of a file without the field that all records need
_FIRST = 2  # line of the first record of a table, after the names of the columns
_NEEDED = ("subject", "text")
_SHOWN = 60  # characters of a value in a message


class Flaw(Exception):  # noqa: N818 - internal: users see the `DataFormatError` made of it
    """A problem in a line, and what to do about it.

    `arguments` are those of `DataFormatError`, `private` is the message without values of the line,
    for logs that must not contain texts.
    """

    def __init__(
        self, message: str, *, arguments: tuple[str, ...] = (), private: str | None = None
    ) -> None:
        super().__init__(message)
        self.arguments = arguments
        self.private = message if private is None else private

    def at(self, place: str) -> DataFormatError:
        """Return the error for users, with the place of the flaw."""
        return DataFormatError(f"{place}: {self}", arguments=self.arguments)


def two_labels(subject: str, label: object, other: object, line: int) -> Flaw:
    """Return the flaw of a line that gives a subject a label, and an earlier line another one."""
    return Flaw(
        f"subject {shown(subject)} has the label {shown(label)} here and "
        f"{shown(other)} on line {line}: use one label per subject"
    )


class BadLines:
    """Errors in lines: the first is raised, or all are skipped and passed to a callback.

    If the first 20 lines of a file all lack the subject, or the text, an error is raised in any
    case: the field has another name, or the file holds something else.
    """

    def __init__(self, bad_lines: BadLinesChoice, on_bad_line: OnBadLine | None) -> None:
        self._skip = as_choice("bad_lines", bad_lines, _CHOICES) == "skip"
        self._tell = on_bad_line
        self._first: DataFormatError | None = None
        self._lacking: tuple[str, int | None, int] = ("", None, 0)  # name, last line, lines so far

    def meet(self, flaw: Flaw, *, name: str, line: int | None = None) -> None:
        """Raise the flaw as an error with its place, or skip it."""
        place = name if line is None else f"{name}, line {line}"
        error = flaw.at(place)
        if not self._skip:
            raise error from None
        self._first = self._first or error
        if self._tell is not None:
            self._tell(error)
        self._stop_if_hopeless(flaw, name, line)

    def _stop_if_hopeless(self, flaw: Flaw, name: str, line: int | None) -> None:
        """Raise if all lines of a file so far lack a field that all records need."""
        if line is None or not set(flaw.arguments) & set(_NEEDED):
            return
        file, last, lines = self._lacking
        if lines and (file, last) == (name, line - 1):
            lines += 1
        else:
            lines = int(line <= _FIRST)
        self._lacking = name, line, lines
        if lines == _HOPELESS:
            raise DataFormatError(
                f"{name}: {flaw} in each of the first {lines} lines", arguments=flaw.arguments
            )

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """Handle a flaw raised while this file is read."""
        try:
            yield
        except Flaw as flaw:
            self.meet(flaw, name=name)

    def nothing_in(self, name: str, what: str) -> DataFormatError:
        """Return the error for a source without a readable record."""
        if self._first is None:
            return DataFormatError(f"{name} is empty: there are no {what} in it")
        first = self._first
        return DataFormatError(
            f"{name}: none of its lines could be read; the first error: {first.message}",
            arguments=first.arguments,
        )


def shown(value: object) -> str:
    """Return a value as messages show it: its repr, shortened.

    >>> shown("a" * 1000)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"
    """
    if isinstance(value, str | bytes):
        value = value[:_SHOWN]
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # deep nests; numbers of too many digits
        text = f"a large {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def shown_json(value: object) -> str:
    """Return a value as messages about JSON show it: null, true and false as in the file.

    >>> shown_json(None), shown_json("a")
    ('null', "'a'")
    """
    return json.dumps(value) if value is None or isinstance(value, bool) else shown(value)
