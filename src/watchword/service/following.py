"""Growing files and standard input as sources: JSON lines, with the position kept in the store.

A line counts once its line feed has been written. The position of a file is committed together with
the posts (see `rotation`). So a file that was rotated, truncated or edited, even while the service
was down, is noticed: the rest of a rotated file is read, then every file that had the name after
it, and at last the one that has it now. An edited file is read on after the last line read, and a
truncated or replaced one from its beginning.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

import msgspec

from watchword._files import FileIdentity, file_identity
from watchword.data.lines import (
    BYTE_ORDER_MARK,
    LineBlock,
    Wait,
    line_batches,
    too_long,
    whole_lines,
)
from watchword.errors import DataFormatError
from watchword.service.logs import say
from watchword.service.records import Position
from watchword.service.rotation import (
    DAMAGED,
    HEAD,
    FilePlace,
    NamedFile,
    OpenFile,
    after,
    file_of,
    hash_of,
    missing_between,
)
from watchword.service.sources import Sink, incoming_posts

_PIECE = 1 << 19  # bytes: a few thousand posts per transaction
_POLL = 0.25  # seconds between looks at a file that does not grow
_LINGER = 5.0  # seconds to keep reading a replaced file: its writer may notice later
_UNSEEN = 5.0  # seconds without a look after which a file may have come and gone
_SETTLING = 20  # looks at a truncated file that is still being written anew
_LONGEST_PATH = 900  # bytes: it is a part of ids of posts


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
        self._reading: _Reading | None = None
        self._finished: dict[FileIdentity, tuple[int, int]] = {}  # files that were read, and when
        self._refused: FileIdentity | None = None  # the file that had the name and must not be read

    def read(self, into: Sink) -> None:
        """Read lines until the sink stops or, if only `once`, to the present end of the file."""
        place = FilePlace.parse(into.position(self.name))
        successor, was_deleted = None, False
        while True:
            if successor is None or place is None:
                file, begin = self._resumed(place, into)
            else:
                begin = self._begin_of(successor, place, into, was_deleted=was_deleted)
                file = successor
            place, successor, was_deleted = self._read_file(file, into, begin)
            if self.once and successor is None:
                return

    def lag(self) -> tuple[str, int] | None:
        """Return the number of bytes that are not read yet; None before a file was opened."""
        if (reading := self._reading) is None:
            return None
        with suppress(OSError, ValueError):  # it may be closed meanwhile
            file, place = reading.file, reading.place
            later = self._unread_after(file, place, by_content=False)
            rest = max(0, file.status().st_size - place.offset)
            return "bytes", rest + sum(other.size for other in later)
        return None

    def is_now(self, file: OpenFile) -> bool:
        """Return whether the path still names this open file; True while it does not exist."""
        try:
            return file_identity(self.path.stat()) == file.identity
        except OSError:  # between two files
            return True

    def successor_of(self, file: OpenFile | None, place: FilePlace, into: Sink) -> OpenFile | None:
        """Return the file that had the name after a file that is read, or after one that is gone.

        None as long as there is none to read.
        """
        identity = None  # it cannot be known if the folder must not be searched
        try:
            if file is not None and self.is_now(file):
                self._note(file.identity, into)
                return None
            for other in self._unread_after(file, place)[:1]:
                identity = other.identity
                opened = self._open(other.path)
                self._note(opened.identity, into)
                if opened.identity == identity:
                    return opened
                opened.close()  # renamed in between: look again
        except FileNotFoundError:  # the same, or between two files
            pass
        except PermissionError:
            self._note(identity, into, is_readable=False)
        return None

    def _unread_after(
        self, file: OpenFile | None, place: FilePlace, *, by_content: bool = True
    ) -> list[NamedFile]:
        """Return the files that had the name after a file, unless they were read to their ends."""
        return [
            other
            for other in after(file, place, self.path, by_content=by_content)
            if self._finished.get(other.identity) != (other.modified, other.size)
        ]

    def _resumed(self, place: FilePlace | None, into: Sink) -> tuple[OpenFile, FilePlace]:
        """Return the file to read, and where to begin, given where reading ended."""
        if place is None:
            file = self._opened(into)
            modified = file.status().st_mtime_ns
            begin = msgspec.structs.replace(FilePlace().within(file), modified=modified)
            # So that it is found again if it is rotated before its first lines are committed.
            into.put([], Position(self.name, begin.spelt()))
            return file, begin
        if (same := file_of(place, self.path)) is not None:
            if not self.is_now(same):
                say("reading the rest of a rotated file", source=self.name, path=str(same.path))
            same.is_copy = same.identity != place.identity
            return same, place.within(same)
        file = self._opened(into)
        self._settle(file, into)
        if (edited := self._after_edit(file, place)) is not None:
            return file, edited
        oldest = self.successor_of(None, place, into)
        if file.identity == place.identity and (oldest is None or oldest.identity == file.identity):
            event = "file was truncated"
            say(event, level=logging.WARNING, source=self.name, offset=place.offset)
        else:  # the name may have gone to a file with the same identity, after others
            into.miss(1, "file was replaced, and the rest of the former file was not found")
        if oldest is not None:
            file.close()
            file = oldest
        return file, place.beginning_of(file)

    def _begin_of(
        self, file: OpenFile, place: FilePlace, into: Sink, *, was_deleted: bool
    ) -> FilePlace:
        """Return where to begin in the file that follows one that was read to its end."""
        # Programs that edit a file often write a new one.
        is_edited = was_deleted and file.path == self.path
        edited = self._after_edit(file, place) if is_edited else None
        if edited is not None:
            return edited
        if self._reading is not None and self._reading.has_left_unseen:
            into.miss(1, "file left its folder before it was read: files after it may be missing")
        say("file was rotated: reading the next one", source=self.name, path=str(file.path))
        return place.beginning_of(file)

    def _after_edit(self, file: OpenFile, place: FilePlace) -> FilePlace | None:
        """Return where to go on in a file that was edited, None if it was not; log it."""
        edited = place.after_edit(file) if place.offset else None
        if edited is not None:
            event = "file was edited: reading goes on after the last line that was read"
            say(event, level=logging.WARNING, source=self.name, line=place.lines)
        return edited

    def _settle(self, file: OpenFile, into: Sink) -> None:
        """Wait for a file that is just written anew: what it holds says whether it was edited."""
        size = -1
        for _ in range(0 if self.once else _SETTLING):
            if (now := file.status().st_size) == size:
                return
            size = now
            into.pause(self.poll)

    def _opened(self, into: Sink) -> OpenFile:
        """Open the file; unless it is read only once, wait until there is one to read."""
        if self.once:
            return self._open(self.path)
        is_told = False
        while True:
            identity = None
            try:
                identity = file_identity(self.path.stat())
                file = self._open(self.path)
                self._note(file.identity, into)
                return file
            except PermissionError:
                self._note(identity, into, is_readable=False)
            except FileNotFoundError:
                if not is_told:
                    say("file does not exist yet", level=logging.WARNING, source=self.name)
                is_told = True
            into.pause(self.poll)

    def _note(self, found: FileIdentity | None, into: Sink, *, is_readable: bool = True) -> None:
        """Note whether the file that is next may be read; log it once if it must not."""
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

    def _open(self, path: Path) -> OpenFile:
        # Not by opening it: that would wait for the other end of a named pipe.
        if not S_ISREG(path.stat().st_mode):
            kind = "a folder" if path.is_dir() else "a pipe or device"
            raise DataFormatError(f"{path} is {kind}: follow a file, or - for a pipe")
        file = OpenFile(path)
        if file.is_compressed and path == self.path:
            file.close()
            raise DataFormatError(f"{path} is compressed: only plain files can be followed")
        return file

    def _read_file(
        self, file: OpenFile, into: Sink, place: FilePlace
    ) -> tuple[FilePlace, OpenFile | None, bool]:
        """Read an opened file and close it.

        Return where reading ended, the successor, and whether the file was deleted.
        """
        with file:
            reading = self._reading = _Reading(self, file, into, place)
            try:
                try:
                    reading.read()
                except DAMAGED as error:
                    into.miss(1, f"compressed file is damaged ({error}): its rest was not read")
                    reading.wait_for_successor()
                if self.once and not reading.is_truncated and reading.successor is None:
                    reading.look_for_successor()
                if reading.successor is not None:
                    self._report_missing(reading, reading.successor, into)
                    status = file.status()
                    self._finished[file.identity] = status.st_mtime_ns, status.st_size
                return reading.place, reading.successor, file.status().st_nlink == 0
            except BaseException:
                if reading.successor is not None:
                    reading.successor.close()
                raise

    def _report_missing(self, reading: _Reading, successor: OpenFile, into: Sink) -> None:
        """Report files between a file and its successor that were not found."""
        between = reading.file, reading.place, successor, self.path
        counts = [missing_between(*between)]
        if counts != [0]:  # unless a rotation is just going on
            into.pause(self.poll)
            counts.append(missing_between(*between))
        missing = min((count for count in counts if count is not None), default=None)
        reading.has_left_unseen = missing is None and reading.was_behind
        if missing:
            into.miss(missing, "rotated files were not found: their lines were not read")


class _Reading:
    """Reads one opened file from a place to its end or, if it is followed, to its successor."""

    def __init__(self, source: FollowedFile, file: OpenFile, into: Sink, place: FilePlace) -> None:
        self._source = source
        self.file = file
        self._into = into
        self.place = place
        # Kept: the file may be written anew between being read and its lines being handed over.
        self._begin = file.bytes_at(0, place.head_size)
        self._too_long = 0  # size of a line that is left out
        self.is_truncated = False
        self.successor: OpenFile | None = None  # the file that had the name next
        self._leave_at = 0.0
        self._looked_at = time.monotonic()
        self.was_behind = False  # so that a file may have come and gone unseen
        self.has_left_unseen = False  # and nothing tells, because this file has left the folder

    def read(self) -> None:
        """Read all lines; then `place` is the one after the last."""
        self.file.seek(self.place.offset)
        for data, lines in whole_lines(self._pieces(), self._leave_out):
            if self.is_truncated:  # what was begun will not get its end
                break
            if lines:
                self._read_block(data, lines)
            else:
                self._into.check()

    def _leave_out(self, size: int) -> None:
        self._too_long = size

    def look_for_successor(self) -> None:
        """Look for the file that had the name next."""
        self.successor = self._source.successor_of(self.file, self.place, self._into)
        now = time.monotonic()
        self.was_behind = now - self._looked_at > _UNSEEN
        self._looked_at = now

    def wait_for_successor(self) -> None:
        """Wait until there is a file that had the name next; not if the file is read only once."""
        self.look_for_successor()
        while self.successor is None and not self._source.once:
            self._into.pause(self._source.poll)
            self.look_for_successor()

    def _pieces(self) -> Iterator[bytes]:
        """Yield what is appended; end when the file has a successor, or is truncated."""
        is_last_look = self._source.once
        while True:
            piece = self.file.read(_PIECE)
            # After reading: a rewritten file may be longer than before.
            is_other = not self.file.is_compressed and not self.place.is_in(self.file)
            # After that: a truncation in between also changes the first bytes.
            if not self.file.is_compressed and self.file.status().st_size < self.file.tell():
                # The file was longer when it was read, so the piece is from before the truncation.
                yield piece[: piece.rfind(b"\n") + 1]
                is_other = True
            if is_other:
                self.is_truncated = True
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
            self.look_for_successor()
            # Renaming a file changes its status: the seconds since then need not be waited again.
            waited = max(0.0, time.time() - self.file.status().st_ctime)
            linger = 0.0 if self.file.is_copy else max(0.0, self._source.linger - waited)
            self._leave_at = time.monotonic() + linger
        if self.successor is None:
            return False
        return time.monotonic() >= self._leave_at or not self._source.is_now(self.successor)

    def _read_block(self, data: bytes, lines: int) -> None:
        """Hand over the posts of complete lines, and move the place behind them."""
        place, size = self.place, len(data) + self._too_long
        has_end = self.file.tell() != place.offset + size  # the last line may lack its line feed
        end = place.offset + size + has_end
        last = data[data.rfind(b"\n") + 1 :][-HEAD:] + b"\n" * has_end
        self._begin = (self._begin + data[:HEAD] + b"\n")[: min(end, HEAD)]
        if self._too_long:
            self._begin = self.file.bytes_at(0, min(end, HEAD))
            last = self.file.bytes_at(end - min(size + has_end, HEAD), HEAD)
        last = last[-HEAD:]
        ahead = msgspec.structs.replace(
            place,
            offset=end,
            lines=place.lines + lines,
            head_size=len(self._begin),
            head=hash_of(self._begin),
            tail_size=len(last),
            tail=hash_of(last),
            modified=self.file.status().st_mtime_ns,
        )
        if not place.lines:
            data = data.removeprefix(BYTE_ORDER_MARK)
        prefix = f"{self._source.path}#{place.generation}:"
        texts = self._into.texts(LineBlock(data, lines, place.lines + 1), f"{prefix}{{}}".format)
        if self._too_long:
            line = place.lines + 1
            self._into.reject(too_long(self._too_long), f"{prefix}{line}", f"line {line}")
            self._too_long = 0
        posts = incoming_posts(texts, lambda line: f"{prefix}{line}")
        self._into.put(posts, Position(self._source.name, ahead.spelt()))
        self.place = ahead


class StandardInput:
    """Standard input: it cannot be read twice, so it has no position."""

    name = "stdin"

    def lag(self) -> None:
        """Return None: how much is still to come is unknown."""

    def read(self, into: Sink) -> None:
        """Read lines until the end of the input."""
        # Posts without an id must differ from those of every earlier run.
        prefix = f"stdin#{secrets.token_hex(8)}:"

        def leave_out(line: int, size: int) -> None:
            into.reject(too_long(size), f"{prefix}{line}", f"line {line}")

        for batch in line_batches("-", Wait(idle=_POLL), leave_out=leave_out):
            into.check()
            texts = into.texts(batch, f"{prefix}{{}}".format)
            into.put(incoming_posts(texts, lambda line: f"{prefix}{line}"), None)
