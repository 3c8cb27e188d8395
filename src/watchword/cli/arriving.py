"""Lines in batches: what has arrived, at once; large batches where much has.

A program at the other end of a pipe gets its answer without waiting for a batch to fill up, and a
file is still read many lines at a time. Waiting is apart from reading, so that whoever ends the
waiting loses nothing that has been read.
"""

from __future__ import annotations

import contextlib
import select
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from io import BufferedReader
from pathlib import Path
from typing import cast

from watchword.data.lines import GZIP, LONGEST_LINE, Line, damaged, numbered_lines
from watchword.errors import DataFormatError

Batch = list[tuple[int, Line]]  # line numbers and lines
Waiting = Callable[[], AbstractContextManager[None]]  # within it, nothing is done but to wait

_BATCH_BYTES = 1 << 20
_BATCH_LINES = 8192
# A signal that comes just before the waiting begins is heard when it ends.
_LONGEST_WAIT = 0.5
_GZIP_FORMAT = 31  # as zlib numbers it, with the largest window
_MARK = b"\xef\xbb\xbf"


def line_batches(
    source: str, *, idle: float | None = None, waiting: Waiting = nullcontext
) -> Iterator[Batch]:
    """The lines of a file or, for `-`, of standard input.

    While nothing arrives in a pipe, an empty batch comes every `idle` seconds, if given.
    """
    if source == "-":
        if sys.stdin is None:
            raise DataFormatError("there is no standard input: name a file instead")
        stream = cast(BufferedReader, sys.stdin.buffer)
        yield from _until_ready(stream, idle, waiting)
        yield from _arriving(stream, "standard input", idle, waiting)
    elif _is_pipe(Path(source)):
        with waiting():  # for somebody who writes
            stream = Path(source).open("rb")  # noqa: SIM115
        with stream:
            yield from _until_ready(stream, idle, waiting)
            yield from _arriving(stream, source, idle, waiting)
    else:
        yield from _gathered(source)


def is_arriving(source: str) -> bool:
    """Whether somebody may still be writing what is read, in a pipe or on a terminal."""
    return source == "-" or _is_pipe(Path(source))


def _is_pipe(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _gathered(source: str) -> Iterator[Batch]:
    batch: Batch = []
    size = 0
    try:
        for number, line in numbered_lines(source):
            batch.append((number, line))
            size += len(line)
            if size >= _BATCH_BYTES or len(batch) >= _BATCH_LINES:
                yield batch
                batch, size = [], 0
    except DataFormatError:  # what could be read is handed out first
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _arriving(
    stream: BufferedReader, name: str, idle: float | None, waiting: Waiting
) -> Iterator[Batch]:
    number = 0
    begun: list[bytes] = []  # of a line whose end is still to come
    size = 0
    first = True
    try:
        for piece in _pieces(stream, idle, waiting):
            if not piece:  # nothing has arrived
                yield []
                continue
            *whole, rest = (piece.removeprefix(_MARK) if first else piece).split(b"\n")
            first = False
            if whole:
                whole[0] = b"".join([*begun, whole[0]])
                begun, size = [], 0
                for at in range(0, len(whole), _BATCH_LINES):
                    lines = whole[at : at + _BATCH_LINES]
                    yield list(enumerate(lines, number + 1))
                    number += len(lines)
            begun.append(rest)
            size += len(rest)
            if size > LONGEST_LINE:
                raise DataFormatError(
                    f"{name}, line {number + 1}: longer than {LONGEST_LINE} bytes"
                )
    except (EOFError, zlib.error) as error:
        raise damaged(name, number, error) from None
    if last := b"".join(begun):
        yield [(number + 1, last)]


def _pieces(stream: BufferedReader, idle: float | None, waiting: Waiting) -> Iterator[bytes]:
    """What has arrived, unpacked; nothing (b"") every `idle` seconds without."""
    chunk = stream.read1(_BATCH_BYTES)
    if chunk == GZIP[:1]:
        chunk += stream.read1(_BATCH_BYTES)
    unpacked = _Unpacked() if chunk[:2] == GZIP else None
    while chunk:
        if unpacked is None:
            yield chunk
        else:
            yield from unpacked.pieces(chunk)
        # What was read lies in no buffer any more, so waiting sees all that is to come.
        for _ in _until_ready(stream, idle, waiting):
            yield b""
        chunk = stream.read1(_BATCH_BYTES)
    if unpacked is not None and not unpacked.at_end:
        raise EOFError("it ends too soon")


class _Unpacked:
    """Data of gzip as it comes, one packed file after the other."""

    def __init__(self) -> None:
        self._file = zlib.decompressobj(_GZIP_FORMAT)

    @property
    def at_end(self) -> bool:
        """Whether all files that have begun have ended."""
        return self._file.eof

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What this adds, never much at once: little data may unpack to a lot."""
        full = True
        while data or full:
            if self._file.eof:
                data = data.lstrip(b"\0")  # which may stand between files
                if not data:
                    return
                self._file = zlib.decompressobj(_GZIP_FORMAT)
            piece = self._file.decompress(data, _BATCH_BYTES)
            if piece:
                yield piece
            full = len(piece) == _BATCH_BYTES
            data = self._file.unused_data if self._file.eof else self._file.unconsumed_tail


def _until_ready(stream: BufferedReader, idle: float | None, waiting: Waiting) -> Iterator[Batch]:
    """Wait for something to read (or the end); an empty batch every `idle` seconds."""
    step = _LONGEST_WAIT if idle is None else min(idle, _LONGEST_WAIT)
    waited = 0.0
    while True:
        with waiting():
            if _is_ready(stream, step):
                return
        waited += step
        if idle is not None and waited >= idle:
            yield []
            waited = 0.0


def _is_ready(stream: BufferedReader, seconds: float) -> bool:
    """Wait for something to read (or the end), but not longer than that."""
    # Where one cannot wait with a time limit, one waits without: while reading.
    with contextlib.suppress(OSError, TypeError, ValueError):
        return bool(select.select([stream], [], [], seconds)[0])
    return True
