"""Lines of a source (a path, standard input, an open file, an iterable), and errors in them.

Readers of a line raise `Flaw`; `BadLines` adds the place of the line. Problems of a whole file (a
truncated gzip file, a line of gigabytes) always raise a `DataFormatError`.

The only place in this package where data is opened. Bytes may be compressed with gzip and may begin
with a byte order mark. They become complete lines as soon as they arrive: a program at the other
end of a pipe gets its answer without waiting for a batch to fill up, and a file is still read many
lines at a time. `records` and `tables` say what the lines mean.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import select
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal

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


Line = str | bytes
Source = str | os.PathLike[str] | Iterable[str] | Iterable[bytes]
LineBatch = Iterable[tuple[int, Line]]  # line numbers and lines, these with or without their ends

LONGEST_LINE = 1 << 28  # guards against files without line ends, and small ones that unpack to huge
_BATCH_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # in UTF-8
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_BINARY = (b"%PDF-", b"\x89PNG\r\n", b"BZh", b"\x28\xb5\x2f\xfd", b"PAR1")  # may have no zero byte
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # byte order marks of UTF-16 and UTF-32
_LOOKED_AT = 1 << 13  # bytes
_GZIP_FORMAT = 31  # zlib's number for gzip with the largest window
# A signal that comes just before a wait begins is noticed when the wait ends.
_LONGEST_WAIT = 0.5


@dataclass(frozen=True)
class LineBlock:
    """Complete lines that arrived together: a batch whose bytes can also be read as a whole."""

    data: bytes  #: the lines, with line feeds between them and none at the end
    lines: int  #: number of lines
    first: int  #: number of the first line

    def __len__(self) -> int:
        return self.lines

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return zip(count(self.first), self.data.split(b"\n") if self.lines else ())


@dataclass(frozen=True)
class Wait:
    """How to wait for input that arrives.

    Nothing but waiting is done inside the context `within`, so a signal handler may leave it by an
    exception without losing input. An empty batch is due every `idle` seconds without input.
    """

    within: Callable[[], AbstractContextManager[None]] = nullcontext
    idle: float | None = None

    def for_input(self, file: Any) -> Iterator[bytes]:
        """Wait until there is something to read, or the end; yield b"" every `idle` seconds."""
        step = _LONGEST_WAIT if self.idle is None else min(self.idle, _LONGEST_WAIT)
        waited = 0.0
        while True:
            with self.within():
                if _is_ready(file, step):
                    return
            waited += step
            if self.idle is not None and waited >= self.idle:
                yield b""
                waited = 0.0


def _is_ready(file: Any, seconds: float) -> bool:
    """Return whether there is something to read, or the end, after waiting at most that long."""
    # Where a wait cannot have a time limit, reading waits instead.
    with suppress(OSError, TypeError, ValueError):
        return bool(select.select([file], [], [], seconds)[0])
    return True


def name_of(source: Source) -> str:
    """Return the name of a source in messages."""
    if isinstance(source, str | os.PathLike):
        return "standard input" if source == "-" else os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "input"


def line_batches(
    source: Source, wait: Wait | None = None, *, leave_out: Callable[[int, int], None] | None = None
) -> Iterator[LineBatch]:
    """Yield numbered lines in batches as they arrive, without a byte order mark.

    `leave_out` is called with the number and the size of a line that is too long, which is then
    an empty one; without it, such a line raises an error.

    Of bytes, every batch is a `LineBlock`, empty if nothing has arrived for a while (see `Wait`).
    Text files and iterables are one batch that is read while it is iterated over. Lines before an
    error are yielded before it is raised.
    """
    numbering = _Numbering(name_of(source))
    with _opened(source, wait) as (file, is_gzip):
        # Both return what there is instead of waiting for as much as is asked for.
        read = file.read if isinstance(file, io.RawIOBase) else getattr(file, "read1", None)
        if read is None:
            yield numbering.of(_limited(file) if isinstance(file, io.IOBase) else file)
            return
        # With pieces that small, only the first line of a piece can be too long.
        size = min(_BATCH_BYTES, LONGEST_LINE + 1)
        pieces = _unpacked(_chunks(file, read, size, wait), size, is_gzip=is_gzip)
        with numbering.errors():
            skip = None if leave_out is None else lambda size: leave_out(numbering.next, size)
            for data, lines in whole_lines(pieces, skip):
                yield numbering.block(data, lines)


def numbered_lines(source: Source) -> Iterator[tuple[int, Line]]:
    """Yield all numbered lines of a source, one by one."""
    for batch in line_batches(source):
        yield from batch


def decoded(line: Line) -> str:
    """Return the line as text."""
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


@contextmanager
def _opened(source: Source, wait: Wait | None) -> Iterator[tuple[Any, bool]]:
    """Open a source; the second value is whether its name says that it is compressed."""
    if isinstance(source, str) and source == "-":
        if sys.stdin is None:
            raise DataFormatError("there is no standard input: use a file instead")
        yield getattr(sys.stdin, "buffer", sys.stdin), False
    elif isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.is_dir():
            raise DataFormatError(f"{name_of(source)} is a folder, not a file: use a file in it")
        with nullcontext() if wait is None else wait.within():  # a named pipe waits for its writer
            file = path.open("rb")
        with file:
            yield file, path.suffix.lower() == ".gz"
    elif isinstance(source, Iterable) and not isinstance(source, bytes | bytearray):
        yield source, False
    else:
        kind = type(source).__name__
        raise TypeError(f"expected a path, '-', a file or an iterable of lines, got {kind}")


def too_long(size: int) -> Flaw:
    """Return the flaw of a line that is too long."""
    return Flaw(f"{size} bytes, more than {LONGEST_LINE}: put every record on its own line")


class TooLongError(Exception):
    """Raised instead of reading a line to its end."""

    def __init__(self, unit: str) -> None:
        super().__init__(f"longer than {LONGEST_LINE} {unit}: put every record on its own line")


class _BinaryError(Exception):
    """Raised instead of reading a zip file, or other binary data, as lines."""


class _Numbering:
    """Numbers the lines of a source, and adds the number to errors while they are read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._number = 0

    def of(self, lines: Iterable[Line]) -> Iterator[tuple[int, Line]]:
        """Yield lines with their numbers, the first without a byte order mark."""
        with self.errors():
            for line in lines:
                self._number += 1
                yield self._number, _without_mark(line) if self._number == 1 else line

    def block(self, data: bytes, lines: int) -> LineBlock:
        """Return a block of lines, the first of all without a byte order mark."""
        first = self._number + 1
        self._number += lines
        return LineBlock(data.removeprefix(BYTE_ORDER_MARK) if first == 1 else data, lines, first)

    @property
    def next(self) -> int:
        """The number of the next line."""
        return self._number + 1

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of reading into errors that name the source and the line."""
        try:
            yield
        except TooLongError as error:
            raise DataFormatError(f"{self._name}, line {self._number + 1}: {error}") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataFormatError(
                f"{self._name}: the compressed data is damaged after line {self._number} "
                f"({error}): get or make the file again"
            ) from None
        except _BinaryError as error:
            raise DataFormatError(
                f"{self._name} is {error}, not data: use a text file, such as JSON lines or CSV"
            ) from None
        except UnicodeDecodeError as error:  # of a file that the caller opened as text
            raise DataFormatError(
                f"{self._name}, after line {self._number}: {_not_utf8(error)}"
            ) from None


def _without_mark(line: Line) -> Line:
    if isinstance(line, str):
        return line.removeprefix("\ufeff")
    return line.removeprefix(BYTE_ORDER_MARK) if isinstance(line, bytes) else line


def _limited(file: io.IOBase) -> Iterator[Line]:
    """Yield the lines of a text file, which is never read further than a line may be long."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise TooLongError("characters" if isinstance(line, str) else "bytes")
        yield line


def _chunks(
    file: Any, read: Callable[[int], bytes], size: int, wait: Wait | None
) -> Iterator[bytes]:
    """Yield bytes as they arrive, b"" for none."""
    while True:
        if wait is not None:  # all that was read has left the file's buffer
            yield from wait.for_input(file)
        if not (chunk := read(size)):
            return
        yield chunk


def _unpacked(chunks: Iterator[bytes], size: int, *, is_gzip: bool) -> Iterator[bytes]:
    """Yield the chunks, decompressed if they are known to be or begin like gzip.

    Raises `_BinaryError` if they begin like a zip file or other binary data.
    """
    begin = b""
    for chunk in chunks:
        begin += chunk
        if begin.startswith(_ZIP):
            raise _BinaryError("a zip file or a model of watchword")
        if begin.startswith(_GZIP) or not (_GZIP.startswith(begin) or _ZIP.startswith(begin)):
            break
        yield b""
    if begin:
        chunks = chain([begin], chunks)
    if begin and (is_gzip or begin[:2] == _GZIP):
        chunks = _decompressed(chunks, size)
    yield from _text(chunks)


def _text(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a text; raise `_BinaryError` if the first is binary data.

    Text in another encoding is reported later, with the line.
    """
    is_first = True
    for piece in pieces:
        if is_first and piece:
            is_first = False
            begin = piece[:_LOOKED_AT]
            if begin.startswith(_BINARY) or (
                b"\0" in begin and not begin.startswith(_WIDE) and not _is_utf8(begin)
            ):
                raise _BinaryError("a binary file")
        yield piece


def _is_utf8(begin: bytes) -> bool:
    """Return whether bytes are UTF-8, but for a last character that is cut off."""
    try:
        begin.decode()
    except UnicodeDecodeError as error:
        return error.end == len(begin) and error.reason == "unexpected end of data"
    return True


def _decompressed(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Yield what gzip files, one after the other, hold; a few bytes may unpack to many pieces."""
    member = zlib.decompressobj(_GZIP_FORMAT)
    for chunk in chunks:
        if not chunk:
            yield b""
            continue
        data, is_full = chunk, True
        while data or is_full:
            if member.eof:
                data = data.lstrip(b"\0")  # padding between gzip files
                if not data:
                    break
                member = zlib.decompressobj(_GZIP_FORMAT)
            piece = member.decompress(data, size)
            if piece:
                yield piece
            is_full = len(piece) == size
            data = member.unused_data if member.eof else member.unconsumed_tail
    if not member.eof:
        raise EOFError("unexpected end")


def whole_lines(
    pieces: Iterable[bytes], leave_out: Callable[[int], None] | None = None
) -> Iterator[tuple[bytes, int]]:
    r"""Yield complete lines as they arrive, with their number; none for an empty piece.

    The last line need not end with a line feed. A line that is too long raises an error. With
    `leave_out`, that is called with its size instead, and an empty line is yielded by itself.

    >>> list(whole_lines([b"a\nb", b"", b"c\nd"]))
    [(b'a', 1), (b'', 0), (b'bc', 1), (b'd', 1)]
    """
    begun: list[bytes] = []  # of a line whose end is still to come, unless it is too long
    size = 0
    for piece in pieces:
        first = piece.find(b"\n")
        size += len(piece) if first < 0 else first
        rest = piece
        if size > LONGEST_LINE:
            if leave_out is None:
                raise TooLongError("bytes")
            begun = []
            if first < 0:
                yield b"", 0
                continue
            leave_out(size)
            yield b"", 1
            rest = piece[first + 1 :]
            size = len(rest)
        if lines := rest.count(b"\n"):
            end = rest.rindex(b"\n")
            yield b"".join([*begun, rest[:end]]), lines
            begun = [rest[end + 1 :]]
            size = len(begun[0])
        else:
            begun.append(rest)
            if not piece:
                yield b"", 0
    if size > LONGEST_LINE and leave_out is not None:
        leave_out(size)
        yield b"", 1
    elif last := b"".join(begun):
        yield last, 1
