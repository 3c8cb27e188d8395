"""Rotated files: places in followed files, and the files that had the name of one before.

A place is found again by the identity of its file (device and inode) and by hashes of the first
bytes and of the last ones that were read. So a file is recognised under another name, a copy of it
(`copytruncate`) or a compressed one by its content, and an edited one by the last line that was
read. Nothing in a place is text.

Rotated files are named after the followed one, as logrotate names them, compressed or not: a number
(`posts.jsonl.1`, `posts.1.jsonl`, the largest is the oldest), a date (`posts.jsonl-20260131`,
`posts-2026-01-31.jsonl`), or `posts.jsonl.old`.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

import msgspec

from watchword._files import FileIdentity, file_identity
from watchword.data.lines import LONGEST_LINE
from watchword.errors import DataFormatError

DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)  #: errors of reading a compressed file
HEAD = 256  #: first bytes of a file, and last ones read, that identify a place
_GZIP = b"\x1f\x8b"
_MOST_LOOKS = 50  # at a folder whose files are being renamed
_DATE_DIGITS = 6  # of a number: with fewer, it counts rotations


class OpenFile:
    """A file opened for reading, plain or compressed with gzip, and its name when it was opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_copy = False  #: of a followed file, so that no program writes to it
        self._plain: Any = path.open("rb", buffering=0)
        self.identity = file_identity(os.fstat(self._plain.fileno()))
        self.is_compressed = os.pread(self._plain.fileno(), 2, 0) == _GZIP
        self._file = gzip.GzipFile(fileobj=self._plain) if self.is_compressed else self._plain

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._plain.close()

    def read(self, size: int) -> bytes:
        """Return the next bytes, decompressed; none at the present end."""
        return self._file.read(size) or b""

    def seek(self, offset: int) -> None:
        """Go to an offset of the decompressed content."""
        self._file.seek(offset)

    def tell(self) -> int:
        """Return the offset after the bytes read last."""
        return int(self._file.tell())

    def bytes_at(self, offset: int, size: int) -> bytes:
        """Return the bytes at an offset."""
        if not size:
            return b""
        if not self.is_compressed:
            return os.pread(self._plain.fileno(), size, offset)
        before = self.tell()
        self.seek(offset)
        data = self.read(size)
        self.seek(before)
        return data

    def endings(self, size: int) -> Iterator[tuple[int, bytes]]:
        """Yield the offset after each line, and the line's last bytes.

        Those are `size`, or one more if the line is longer than that and `size` is less than
        `HEAD`: it must not look like a short line that was read whole.
        """
        longest = size if size == HEAD else size + 1
        with open(os.dup(self._plain.fileno()), "rb") as lines:  # noqa: PTH123
            lines.seek(0)
            after, ending = 0, b""
            while part := lines.readline(LONGEST_LINE):
                after += len(part)
                ending = (ending + part)[-longest:]
                if part.endswith(b"\n"):
                    yield after, ending
                    ending = b""

    def status(self) -> os.stat_result:
        """Return the present status of the file."""
        return os.fstat(self._plain.fileno())


class FilePlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a file was read; `generation` counts files that had this name.

    `tail` is the hash of the last bytes of the last line that was read, and `modified` the time of
    the file's last change before they were read, in nanoseconds.
    """

    device: int = 0
    inode: int = 0
    offset: int = 0
    lines: int = 0
    generation: int = 0
    head: str = ""
    head_size: int = 0
    tail: str = ""
    tail_size: int = 0
    modified: int = 0

    @classmethod
    def parse(cls, text: str | None) -> FilePlace | None:
        """Return the place that was stored as text."""
        if text is None:
            return None
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeError):
            raise DataFormatError(f"the stored position {text!r} is not a file position") from None

    def spelt(self) -> str:
        """Return the text to store."""
        return msgspec.json.encode(self).decode()

    @property
    def identity(self) -> FileIdentity:
        """The identity of the file."""
        return self.device, self.inode

    def within(self, file: OpenFile) -> FilePlace:
        """Return the same place in another file."""
        device, inode = file.identity
        return msgspec.structs.replace(self, device=device, inode=inode)

    def beginning_of(self, file: OpenFile) -> FilePlace:
        """Return the beginning of the next file that has the name."""
        device, inode = file.identity
        return FilePlace(device, inode, generation=self.generation + 1, modified=self.modified)

    def is_before(self, other: NamedFile) -> bool:
        """Return whether a file was changed since, so that it may have had the name later."""
        return 0 < self.modified <= other.modified

    def fits(self, file: OpenFile) -> bool:
        """Return whether a file has the content that was read, and has only grown since."""
        if not file.is_compressed and file.status().st_size < self.offset:
            return False
        return self.is_in(file)

    def is_in(self, file: OpenFile) -> bool:
        """Return whether a file has the same first bytes, and the same ones before the offset."""
        tail = file.bytes_at(self.offset - self.tail_size, self.tail_size)
        return self.is_head_of(file) and hash_of(tail) == self.tail

    def is_head_of(self, file: OpenFile) -> bool:
        """Return whether a file has the same first bytes."""
        return hash_of(file.bytes_at(0, self.head_size)) == self.head

    def after_edit(self, file: OpenFile) -> FilePlace | None:
        """Return the place after the last line read, in a file that was edited in place.

        None if it has other content: neither the same first bytes, nor that line under the same
        number. Lines keep their numbers, so that ids made of them are not used again.
        """
        has_head = self.is_head_of(file)
        end, nearest = 0, None  # of the last line that may count as read; the line most like it
        for number, (after, ending) in enumerate(file.endings(self.tail_size), 1):
            if number <= self.lines:
                end = after
            if hash_of(ending) == self.tail:
                distance = abs(number - self.lines)
                nearest = min(nearest or (distance, after), (distance, after))
        if nearest is not None and (has_head or nearest[0] == 0):
            end = nearest[1]
        elif not (has_head and self.head_size == HEAD):
            return None
        head = file.bytes_at(0, min(end, HEAD))
        tail = file.bytes_at(max(0, end - self.tail_size), min(end, self.tail_size))
        return msgspec.structs.replace(
            self.within(file),
            offset=end,
            head=hash_of(head),
            head_size=len(head),
            tail=hash_of(tail),
            tail_size=len(tail),
        )


def hash_of(data: bytes) -> str:
    """Return a hash of some bytes; none if there are none."""
    return hashlib.sha256(data).hexdigest()[:32] if data else ""


class NamedFile(NamedTuple):
    """A file of a folder: how many times it was rotated, if its name says so, 0 if not at all."""

    path: Path
    identity: FileIdentity
    modified: int
    size: int
    number: int | None


def files_named_after(path: Path) -> list[NamedFile]:
    """Return the files that had the name of a path, oldest first, and the one that has it.

    While files are renamed or compressed, they are looked at again: one may seem to be missing.
    """
    files = _looked_at(path)
    for _ in range(_MOST_LOOKS):
        before, files = files, _looked_at(path)
        if _names(before) == _names(files):
            break
    return files


def _names(files: list[NamedFile]) -> list[tuple[Path, FileIdentity]]:
    return [(file.path, file.identity) for file in files]


def _looked_at(path: Path) -> list[NamedFile]:
    aged = []
    names = set()
    with suppress(OSError):
        names = {other.name for other in path.parent.iterdir()}
    for name in names:
        age = _age_of(name, path)
        # While a file is being compressed, the plain one is complete.
        is_plain_there = name.endswith(".gz") and name[:-3] in names
        if age is not None and not is_plain_there:
            aged.append((age, path.parent / name))
    numbered = [(other, -age[1][0] if age[0] else None) for age, other in sorted(aged)]
    files = []
    for other, number in [*numbered, (path, 0)]:
        with suppress(FileNotFoundError):
            status = other.stat()
            if S_ISREG(status.st_mode):
                named = file_identity(status), status.st_mtime_ns, status.st_size, number
                files.append(NamedFile(other, *named))
    return files


def _age_of(name: str, path: Path) -> tuple[int, tuple[int, ...]] | None:
    """Return what sorts a rotated file by age; None if its name is not that of one.

    >>> _age_of("posts.jsonl.2.gz", Path("posts.jsonl"))
    (1, (-2,))
    >>> _age_of("posts-2026-01-31.jsonl", Path("posts.jsonl"))
    (0, (2026, 1, 31))
    >>> _age_of("posts-2.jsonl", Path("posts.jsonl")) is None
    True
    """
    tag = r"([._-])(\d[\d._T:-]*|old)"
    stem, suffix = re.escape(path.stem), re.escape(path.suffix)
    match = re.fullmatch(rf"{stem}{suffix}{tag}(?:\.gz)?", name)
    if match is None and suffix:
        match = re.fullmatch(rf"{stem}{tag}{suffix}(?:\.gz)?", name)
    if match is None:
        return None
    numbers = tuple(map(int, re.findall(r"\d+", match[2])))
    if sum(map(str.isdigit, match[2])) >= _DATE_DIGITS:
        return 0, numbers
    if match[1] != "." or len(numbers) > 1:
        return None
    return 1, (-numbers[0] if numbers else -1,)


def _files_in(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(path for path in folder.iterdir() if path.is_file())
    return []


def file_of(place: FilePlace, path: Path) -> OpenFile | None:
    """Return the file of a place, opened: whatever its name in the folder, or a copy of it."""
    for _ in range(_MOST_LOOKS):
        before = _names(files_named_after(path))
        if (file := _found_file(place, path)) is not None:
            return file
        if _names(files_named_after(path)) == before:
            break  # else it may have been renamed meanwhile
    return None


def _found_file(place: FilePlace, path: Path) -> OpenFile | None:
    for other in [path, *_files_in(path.parent)]:
        with suppress(OSError):
            same = file_identity(other.stat()) == place.identity
            if same and (file := _fitting(place, other)) is not None:
                return file
    later = filter(place.is_before, files_named_after(path)) if place.offset else ()
    return next(filter(None, (_fitting(place, other.path) for other in later)), None)


def _fitting(place: FilePlace, path: Path) -> OpenFile | None:
    """Return a file, opened, if a place fits it."""
    with suppress(OSError, *DAMAGED), ExitStack() as closing:
        if S_ISREG(path.stat().st_mode):  # opening a pipe would wait for its other end
            file = closing.enter_context(OpenFile(path))
            if place.fits(file):
                closing.pop_all()
                return file
    return None


def after(
    file: OpenFile | None, place: FilePlace, path: Path, *, by_content: bool = True
) -> list[NamedFile]:
    """Return the files that had the name after a file that is being read, oldest first.

    Without a file, they are those that were changed after the place was reached. `by_content` looks
    for a copy of the file if it has no name any more, which may mean to decompress it.
    """
    files = files_named_after(path)
    at = None if file is None else _index_of(file, place, files, by_content=by_content)
    if at is not None:  # names are more reliable than clocks
        return files[at + 1 :]
    return [other for other in files if other.number == 0 or place.is_before(other)]


def _index_of(
    file: OpenFile, place: FilePlace, files: list[NamedFile], *, by_content: bool = True
) -> int | None:
    """Return the index of an open file, or else of a copy of it."""
    for at, other in enumerate(files):
        if other.identity == file.identity:
            return at
    for at, other in enumerate(files if by_content and place.offset else ()):
        if other.number != 0 and place.is_before(other) and (copy := _fitting(place, other.path)):
            copy.close()
            return at
    return None


def missing_between(
    file: OpenFile, place: FilePlace, successor: OpenFile, path: Path
) -> int | None:
    """Return how many rotated files should be between two files, by their numbers, and are not.

    None if the first one has left the folder, so that nothing tells.
    """
    files = files_named_after(path)
    at = _index_of(file, place, files)
    if at is None:
        return None
    before = files[at].number
    behind = {other.identity: other.number for other in files}.get(successor.identity)
    return 0 if before is None or behind is None else max(0, before - behind - 1)
