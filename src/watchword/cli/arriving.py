"""Lines in batches: what has arrived, at once; large batches where much has.

A program at the other end of a pipe gets its answer without waiting for a batch to fill up, and a
file is still read many lines at a time. Waiting is apart from reading, so that whoever ends the
waiting loses nothing that has been read.
"""

from __future__ import annotations

import contextlib
import select
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeVar, cast

from watchword.errors import DataFormatError
from watchword.lines import Line, numbered_lines

Batch = list[tuple[int, Line]]  # line numbers and lines
Waiting = Callable[[], AbstractContextManager[None]]  # within it, nothing is done but to wait
_Item = TypeVar("_Item")

_BATCH_BYTES = 1 << 20
_BATCH_LINES = 8192
_LONGEST_LINE = 1 << 28  # as in a file: one without line ends must not fill the memory
# A signal that comes just before the waiting begins is heard when it ends.
_LONGEST_WAIT = 0.5
_NOTHING: Any = object()
_GZIP = b"\x1f\x8b"
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
        peek = getattr(stream, "peek", None)
        if peek is not None and peek(2)[:2] == _GZIP:
            yield from each(_gathered(source), waiting)
        else:
            yield from _arriving(stream, "standard input", idle, waiting)
    elif _is_pipe(Path(source)):
        with waiting():  # for somebody who writes
            stream = Path(source).open("rb")  # noqa: SIM115
        with stream:
            yield from _until_ready(stream, idle, waiting)
            if stream.peek(2)[:2] == _GZIP:
                raise DataFormatError(
                    f"{source}: compressed data in a pipe can only be read as standard input: "
                    "send it there, or unpack it before"
                )
            yield from _arriving(stream, source, idle, waiting)
    else:
        yield from _gathered(source)


def each(items: Iterable[_Item], waiting: Waiting) -> Iterator[_Item]:
    """The items of something that waits and reads in one: what it was reading may be lost."""
    iterator = iter(items)
    while True:
        with waiting():
            item = next(iterator, _NOTHING)
        if item is _NOTHING:
            return
        yield item


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
    while True:
        if not first:  # what was peeked at lies in the buffer, where no waiting would see it
            yield from _until_ready(stream, idle, waiting)
        chunk = stream.read1(_BATCH_BYTES)
        *whole, rest = (chunk.removeprefix(_MARK) if first else chunk).split(b"\n")
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
        if size > _LONGEST_LINE:
            raise DataFormatError(f"{name}, line {number + 1}: longer than {_LONGEST_LINE} bytes")
        if not chunk:
            break
    if last := b"".join(begun):
        yield [(number + 1, last)]


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
