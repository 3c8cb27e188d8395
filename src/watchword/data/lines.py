"""Lines of a file, of standard input or of anything iterable, and what becomes of bad ones.

Files may be compressed with gzip and may begin with a byte order mark. What is wrong with a line is
a `Flaw`, raised by whoever reads it; a `BadLines` says where it is, or skips it. What is wrong
with a whole file, a truncated gzip or an endless line say, is always an error.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from watchword._checks import as_choice
from watchword.errors import DataFormatError

Line = str | bytes
Source = str | os.PathLike[str] | Iterable[str] | Iterable[bytes]
OnBadLine = Callable[[DataFormatError], object]
BadLinesChoice = Literal["error", "skip"]

_CHOICES: tuple[BadLinesChoice, ...] = ("error", "skip")
GZIP = b"\x1f\x8b"
LONGEST_LINE = 1 << 28  # a file without line ends, or a small one that unpacks to a huge one
_SHOWN = 60  # of what is wrong, messages show so many characters


class Flaw(Exception):  # noqa: N818 - users never see it, but the error made of it
    """What is wrong with a line, and what to do about it.

    `arguments` are those of `DataFormatError`.
    """

    def __init__(self, message: str, *, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.arguments = arguments

    def at(self, place: str) -> DataFormatError:
        """Return the error that says where the flaw is."""
        return DataFormatError(f"{place}: {self}", arguments=self.arguments)


class _TooLongError(Exception):
    """A line that is not read to its end."""


class BadLines:
    """Errors of lines: the first is raised, or all are skipped and told to a callback."""

    def __init__(self, bad_lines: BadLinesChoice, on_bad_line: OnBadLine | None) -> None:
        self._skip = as_choice("bad_lines", bad_lines, _CHOICES) == "skip"
        self._tell = on_bad_line
        self._first: DataFormatError | None = None

    def meet(self, flaw: Flaw, *, name: str, line: int | None = None) -> None:
        """Raise the flaw as an error that says where it is, or skip it."""
        place = name if line is None else f"{name}, line {line}"
        error = flaw.at(place)
        if not self._skip:
            raise error from None
        self._first = self._first or error
        if self._tell is not None:
            self._tell(error)

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """Meet a flaw of this file, if there is one."""
        try:
            yield
        except Flaw as flaw:
            self.meet(flaw, name=name)

    def nothing_in(self, name: str, what: str) -> DataFormatError:
        """The error of a source in which nothing could be read."""
        if self._first is None:
            return DataFormatError(f"{name} is empty: there are no {what} in it")
        first = self._first
        return DataFormatError(
            f"{name}: none of its lines could be read; first: {first.message}",
            arguments=first.arguments,
        )


def name_of(source: Source) -> str:
    """What messages call a source."""
    if isinstance(source, str | os.PathLike):
        return "standard input" if source == "-" else os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "input"


def shown(value: object) -> str:
    """A value in a message: as Python writes it, and never long.

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


def numbered_lines(source: Source) -> Generator[tuple[int, Line], None, None]:
    """Lines with their numbers, one by one as they come, without a byte order mark."""
    number = 0
    name = name_of(source)
    try:
        with _opened(source, name) as lines:
            for line in _limited(lines):
                number += 1
                yield number, _without_mark(line) if number == 1 else line
    except _TooLongError as error:
        raise DataFormatError(f"{name}, line {number + 1}: {error}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged(name, number, error) from None
    except UnicodeDecodeError as error:  # of a file that the caller opened as text
        raise DataFormatError(f"{name}, after line {number}: {_not_utf8(error)}") from None


def damaged(name: str, lines: int, reason: object) -> DataFormatError:
    """What to say of compressed data of which only so many lines could be read."""
    return DataFormatError(
        f"{name}: the compressed data is damaged after line {lines} ({reason}): "
        "get or make the file again"
    )


def decoded(line: Line) -> str:
    """The line as text."""
    if isinstance(line, str):
        return line
    if not isinstance(line, bytes | bytearray):
        raise TypeError(f"lines must be str or bytes, got {type(line).__name__}")
    try:
        return str(line, "utf-8")
    except UnicodeDecodeError as error:
        raise Flaw(_not_utf8(error)) from None


def _not_utf8(error: UnicodeDecodeError) -> str:
    place = f"byte {error.start + 1} is 0x{error.object[error.start]:02x}"
    return f"not UTF-8 ({place}): save the data as UTF-8"


def _without_mark(line: Line) -> Line:
    if isinstance(line, str):
        return line.removeprefix("\ufeff")
    return line.removeprefix(b"\xef\xbb\xbf") if isinstance(line, bytes) else line


@contextmanager
def _opened(source: Source, name: str) -> Iterator[Iterable[Line]]:
    if isinstance(source, str) and source == "-":
        if sys.stdin is None:
            raise DataFormatError("there is no standard input: name a file instead")
        yield _plain(getattr(sys.stdin, "buffer", sys.stdin), zipped=False)
    elif isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.is_dir():
            raise DataFormatError(f"{name} is a folder, not a file: name a file in it")
        with path.open("rb") as file:
            zipped = path.suffix.lower() == ".gz" and bool(file.peek(1))
            yield _plain(file, zipped=zipped)
    elif isinstance(source, Iterable) and not isinstance(source, bytes | bytearray):
        yield _plain(source, zipped=False)
    else:
        kind = type(source).__name__
        raise TypeError(f"expected a path, '-', a file or an iterable of lines, got {kind}")


def _limited(lines: Iterable[Line]) -> Iterable[Line]:
    """The lines; those of a file are never read further than a line may be long."""
    return _file_lines(lines) if isinstance(lines, io.IOBase) else lines


def _file_lines(file: Any) -> Iterator[Line]:
    limit = LONGEST_LINE
    while line := file.readline(limit + 1):
        if len(line) > limit:
            unit = "characters" if isinstance(line, str) else "bytes"
            raise _TooLongError(f"longer than {limit} {unit}: put every record on its own line")
        yield line


def _plain(lines: Iterable[Line], *, zipped: bool) -> Iterable[Line]:
    """The lines themselves, or those of a compressed file."""
    if not zipped and _beginning(lines) != GZIP:
        return lines
    unzipped = gzip.GzipFile(fileobj=cast(BinaryIO, lines), mode="rb")
    # GzipFile's own lines are read in Python, about a microsecond each.
    return io.BufferedReader(cast(io.RawIOBase, unzipped))


def _beginning(lines: Any) -> bytes | None:
    """The first two bytes of a binary file, which stay unread; None where that cannot be done."""
    if hasattr(lines, "peek"):
        return bytes(lines.peek(2)[:2])
    if isinstance(lines, io.BufferedIOBase | io.RawIOBase) and lines.seekable():
        begin = lines.tell()
        first = lines.read(2)
        lines.seek(begin)
        return first
    return None
