"""Growing files and standard input as sources: JSON lines, with the position kept in the store.

A line counts once its line feed has been written. The position of a file is its identity (device
and inode), the offset of the next byte, the number of lines before it, and a hash of the first
bytes; it is committed together with the posts. So a file that was rotated or truncated, even while
the service was down, is noticed: the rest of a rotated file is read if it is still in its folder,
and a truncated or replaced file is read from its beginning.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from stat import S_ISREG
from typing import Any

from watchword._files import FileIdentity, file_identity
from watchword.data.lines import (
    BYTE_ORDER_MARK,
    LineBlock,
    TooLongError,
    Wait,
    line_batches,
    whole_lines,
)
from watchword.errors import DataFormatError
from watchword.service.logs import say
from watchword.service.records import Position
from watchword.service.sources import Sink, incoming_posts

_PIECE = 1 << 19  # bytes: a few thousand posts per transaction
_HEAD = 256  # bytes that identify a file
_POLL = 0.25  # seconds between looks at a file that does not grow
_LINGER = 5.0  # seconds to keep reading a replaced file: its writer may notice later
_LONGEST_PATH = 900  # bytes: it is a part of ids of posts
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class _FilePlace:
    """How far a file was read; `generation` counts files that had this name."""

    device: int = 0
    inode: int = 0
    offset: int = 0
    lines: int = 0
    generation: int = 0
    head: str = ""
    head_size: int = 0

    @classmethod
    def parse(cls, text: str | None) -> _FilePlace | None:
        if text is None:
            return None
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError):
            raise DataFormatError(f"the stored position {text!r} is not a file position") from None

    def spelt(self) -> str:
        return json.dumps(asdict(self))

    def fits(self, file: Any) -> bool:
        """Return whether it is a place in this file, which has only grown since."""
        status = os.fstat(file.fileno())
        if (self.device, self.inode) != file_identity(status) or status.st_size < self.offset:
            return False
        return _hash(_begin(file, self.head_size)) == self.head


class FollowedFile:
    """A file that other programs append to, as `tail -F` follows it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        poll: float = _POLL,
        linger: float = _LINGER,
        once: bool = False,
    ) -> None:
        self.path = Path(path).absolute()
        self.name = f"file:{self.path}"
        if len(os.fsencode(self.path)) > _LONGEST_PATH:
            raise ValueError(f"{self.path} has more than {_LONGEST_PATH} bytes")
        self.poll = poll
        self.linger = linger
        self.once = once
        self.place: _FilePlace | None = None  #: how far it has been read
        self._refused: FileIdentity | None = None  # the file that had the name and must not be read

    def read(self, into: Sink) -> None:
        """Read lines until the sink stops or, if only `once`, to the present end of the file."""
        place = _FilePlace.parse(into.position(self.name))
        successor = None
        if place is not None and (rotated := self._rotated(place)) is not None:
            place, successor = self._read_file(rotated, into, place)
        while True:
            place, successor = self._read_file(successor or self._opened(into), into, place)
            if self.once:
                return

    def lag(self) -> tuple[str, int] | None:
        """Return the number of bytes that are not read yet; None before the file was opened."""
        if self.place is None:
            return None
        with suppress(OSError):
            return "bytes", max(0, self.path.stat().st_size - self.place.offset)
        return None

    def is_now(self, file: Any) -> bool:
        """Return whether the path still names this open file; True while it does not exist."""
        try:
            return file_identity(self.path.stat()) == file_identity(os.fstat(file.fileno()))
        except OSError:  # between two files
            return True

    def successor_of(self, file: Any, into: Sink) -> Any:
        """Return the file that has the name now, opened; None as long as there is none to read."""
        with suppress(FileNotFoundError):  # between two files
            return self._open_unless(file_identity(os.fstat(file.fileno())), into)
        return None

    def _opened(self, into: Sink) -> Any:
        """Open the file; unless it is read only once, wait until there is one to read."""
        if self.once:
            return self._open()
        is_told = False
        while True:
            try:
                if (file := self._open_unless(None, into)) is not None:
                    return file
            except FileNotFoundError:
                if not is_told:
                    say("file does not exist yet", level=logging.WARNING, source=self.name)
                is_told = True
            into.pause(self.poll)

    def _open_unless(self, known: FileIdentity | None, into: Sink) -> Any:
        """Open the file that has the name now; None if it is known or must not be read yet."""
        found = None  # it cannot be known if the folder must not be searched
        try:
            found = file_identity(self.path.stat())
            file = None if found == known else self._open()
        except PermissionError:
            self._note(found, into, is_readable=False)
            return None
        self._note(found if file is None else file_identity(os.fstat(file.fileno())), into)
        return file

    def _note(self, found: FileIdentity | None, into: Sink, *, is_readable: bool = True) -> None:
        """Note whether the file that has the name may be read; log it once if it must not."""
        is_other = None not in (self._refused, found) and found != self._refused
        if is_other:
            event = "file was replaced before it was readable: its lines were not read"
            say(event, level=logging.ERROR, source=self.name)
        if not is_readable and (is_other or into.state == "reading"):
            say("file is not readable yet", level=logging.WARNING, source=self.name)
        if is_readable:
            self._refused = None
        elif found is not None:
            self._refused = found
        into.state = "reading" if is_readable else "unreadable"

    def _open(self) -> Any:
        # Not by opening it: that would wait for the other end of a named pipe.
        if not S_ISREG(self.path.stat().st_mode):
            kind = "a folder" if self.path.is_dir() else "a pipe or device"
            raise DataFormatError(f"{self.path} is {kind}: follow a file, or - for a pipe")
        return self.path.open("rb", buffering=0)

    def _resume(self, file: Any, place: _FilePlace | None) -> _FilePlace:
        """Return where to begin in an opened file, given where reading ended."""
        if os.pread(file.fileno(), 2, 0) == _GZIP:
            raise DataFormatError(f"{self.path} is compressed: only plain files can be followed")
        device, inode = file_identity(os.fstat(file.fileno()))
        if place is None:
            return _FilePlace(device, inode)
        if place.fits(file):
            return place
        is_other = (place.device, place.inode) != (device, inode)
        what = "file was replaced" if is_other else "file was truncated"
        say(what, level=logging.WARNING, source=self.name, offset=place.offset)
        return _FilePlace(device, inode, generation=place.generation + 1)

    def _rotated(self, place: _FilePlace) -> Any:
        """Return the file of a place, opened, if it was renamed while it was not followed."""
        with suppress(OSError):
            if file_identity(self.path.stat()) == (place.device, place.inode):
                return None
        for other in _files_in(self.path.parent):
            with suppress(OSError), ExitStack() as closing:
                file = closing.enter_context(other.open("rb", buffering=0))
                if place.fits(file):
                    say("reading the rest of a rotated file", source=self.name, path=str(other))
                    closing.pop_all()
                    return file
        return None

    def _read_file(self, file: Any, into: Sink, place: _FilePlace | None) -> tuple[_FilePlace, Any]:
        """Read an opened file and close it; return where reading ended, and its successor."""
        with file:
            reading = _Reading(self, file, into, self._resume(file, place))
            try:
                return reading.read(), reading.successor
            except BaseException:
                if reading.successor is not None:
                    reading.successor.close()
                raise


class _Reading:
    """Reads one opened file from a place to its end or, if it is followed, to its successor."""

    def __init__(self, source: FollowedFile, file: Any, into: Sink, place: _FilePlace) -> None:
        self._source = source
        self._file = file
        self._into = into
        self._place = place
        # Kept: the file may be written anew between being read and its lines being handed over.
        self._begin = _begin(file, place.head_size)
        self._is_truncated = False
        self.successor: Any = None  # the file that has the name now, opened
        self._leave_at = 0.0

    def read(self) -> _FilePlace:
        """Read all lines and return the place after the last."""
        self._file.seek(self._place.offset)
        try:
            for data, lines in whole_lines(self._pieces()):
                if self._is_truncated:  # what was begun will not get its end
                    break
                if lines:
                    self._place = self._source.place = self._read_block(data, lines)
                else:
                    self._into.check()
        except TooLongError as error:
            line = self._place.lines + 1
            raise DataFormatError(f"{self._source.path}, line {line}: {error}") from None
        return self._place

    def _pieces(self) -> Iterator[bytes]:
        """Yield what is appended; end when the file has a successor, or is truncated."""
        is_last_look = self._source.once
        while True:
            piece = self._file.read(_PIECE)
            # After reading: a rewritten file may be longer than before.
            is_other = _hash(_begin(self._file, self._place.head_size)) != self._place.head
            # After that: a truncation in between also changes the first bytes.
            if os.fstat(self._file.fileno()).st_size < self._file.tell():
                # The file was longer when it was read, so the piece is from before the truncation.
                yield piece[: piece.rfind(b"\n") + 1]
                is_other = True
            if is_other:
                self._is_truncated = True
                return
            if piece:
                yield piece
                continue
            if is_last_look:
                return
            # Lines written between the last read and this check are also read.
            is_last_look = self._may_leave()
            if not is_last_look:
                yield b""
                self._into.pause(self._source.poll)

    def _may_leave(self) -> bool:
        """Return whether the file has had a successor for seconds, or its successor has one."""
        if self.successor is None:
            self.successor = self._source.successor_of(self._file, self._into)
            self._leave_at = time.monotonic() + self._source.linger
        if self.successor is None:
            return False
        return time.monotonic() >= self._leave_at or not self._source.is_now(self.successor)

    def _read_block(self, data: bytes, lines: int) -> _FilePlace:
        """Hand over the posts of complete lines, and return the place after them."""
        place = self._place
        end = place.offset + len(data)
        if self._file.tell() != end:  # the last line may lack its line feed
            end += 1
        self._begin = (self._begin + data[:_HEAD] + b"\n")[: min(end, _HEAD)]
        ahead = replace(
            place,
            offset=end,
            lines=place.lines + lines,
            head_size=len(self._begin),
            head=_hash(self._begin),
        )
        if not place.lines:
            data = data.removeprefix(BYTE_ORDER_MARK)
        texts = self._into.texts(LineBlock(data, lines, place.lines + 1))
        prefix = f"{self._source.path}#{place.generation}:"
        posts = incoming_posts(texts, lambda line: f"{prefix}{line}")
        self._into.put(posts, Position(self._source.name, ahead.spelt()))
        return ahead


def _files_in(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(one for one in folder.iterdir() if one.is_file())
    return []


def _begin(file: Any, size: int) -> bytes:
    return os.pread(file.fileno(), size, 0) if size else b""


def _hash(begin: bytes) -> str:
    """Return a hash of the first bytes of a file; none if there are none."""
    return hashlib.sha256(begin).hexdigest()[:32] if begin else ""


class StandardInput:
    """Standard input: it cannot be read twice, so it has no position."""

    name = "stdin"

    def lag(self) -> None:
        """Return None: how much is still to come is unknown."""

    def read(self, into: Sink) -> None:
        """Read lines until the end of the input."""
        # Posts without an id must differ from those of every earlier run.
        prefix = f"stdin#{secrets.token_hex(8)}:"
        for batch in line_batches("-", Wait(idle=_POLL)):
            into.check()
            texts = into.texts(batch)
            if texts:
                into.put(incoming_posts(texts, lambda line: f"{prefix}{line}"), None)
