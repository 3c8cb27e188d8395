"""Lines in batches: what has arrived, at once; large batches where much has.

A program at the other end of a pipe gets its answer without waiting for a batch to fill up, and a
file is still read many lines at a time.
"""

from __future__ import annotations

import contextlib
import select
import sys
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import cast

from watchword.errors import DataFormatError
from watchword.lines import Line, numbered_lines

Batch = list[tuple[int, Line]]  # line numbers and lines

_BATCH_BYTES = 1 << 20
_BATCH_LINES = 8192
_LONGEST_LINE = 1 << 27  # a pipe without line ends must not fill the memory
_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"


def line_batches(source: str, *, idle: float | None = None) -> Iterator[Batch]:
    """The lines of a file or, for `-`, of standard input.

    While nothing arrives in a pipe, an empty batch comes every `idle` seconds, if given.
    """
    if source == "-":
        if sys.stdin is None:
            raise DataFormatError("there is no standard input: name a file instead")
        stream = cast(BufferedReader, sys.stdin.buffer)
        peek = getattr(stream, "peek", None)
        zipped = peek is not None and peek(2)[:2] == _GZIP  # waits for the first bytes
        yield from _gathered(source) if zipped else _arriving(stream, "standard input", idle)
    elif _is_pipe(Path(source)):
        with Path(source).open("rb") as stream:
            yield from _arriving(stream, source, idle)
    else:
        yield from _gathered(source)


def _is_pipe(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _gathered(source: str) -> Iterator[Batch]:
    batch: Batch = []
    size = 0
    for number, line in numbered_lines(source):
        batch.append((number, line))
        size += len(line)
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_LINES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _arriving(stream: BufferedReader, name: str, idle: float | None) -> Iterator[Batch]:
    number = 0
    begun: list[bytes] = []  # of a line whose end is still to come
    size = 0
    first = True
    while True:
        while not first and not _is_ready(stream, idle):
            yield []
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


def _is_ready(stream: BufferedReader, idle: float | None) -> bool:
    """Wait for something to read (or the end), but not longer than `idle` seconds."""
    if idle is None:
        return True
    # Where one cannot wait with a time limit, one waits without.
    with contextlib.suppress(OSError, ValueError):
        return bool(select.select([stream], [], [], idle)[0])
    return True
