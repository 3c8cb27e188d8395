"""Atomic writing of files and folders, and locks between processes.

A file is written under a temporary name beside its target, `.NAME.16-HEX-DIGITS.tmp`, and is
locked until it is renamed. A killed process leaves the temporary file behind, but not its lock: the
next process that writes to the same target removes temporary files that it can lock.
"""

from __future__ import annotations

import errno
import glob
import logging
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, cast

from watchword.errors import StateError, WatchwordError

_fcntl: ModuleType | None
try:
    import fcntl as _fcntl
except ImportError:  # Windows
    _fcntl = None

logger = logging.getLogger("watchword.files")

AnyPath = str | os.PathLike[str]
FileIdentity = tuple[int, int]  # device and inode

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # Windows has none
_SHOWN_NAME = 40  # characters of a file's name in its temporary name

_ADVICE = {
    errno.ENOSPC: "free some space, or write to another disk",
    errno.EDQUOT: "free some space, ask for a larger quota, or write to another disk",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), or write to another disk",
    errno.EIO: "check the disk and the limit on the size of files (ulimit -f), or write to another "
    "disk",
}


#: Errors of a full or failing disk, which carry no file name; all others do.
WRITE_FAILURES = frozenset(_ADVICE)


#: Default limit in bytes of files that are read whole.
READ_LIMIT = 1 << 34
_BEGINNING = 1 << 12  # bytes that tell the format of a file


def open_regular(path: AnyPath, error: type[WatchwordError]) -> BinaryIO:
    """Open a file for reading; raise `error` for a pipe or a device, without waiting for data."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NONBLOCK))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise error(f"{os.fspath(path)} is a pipe or a device: copy its data to a regular file")
    return file


def read_regular(
    path: AnyPath,
    error: type[WatchwordError],
    *,
    most_bytes: int = READ_LIMIT,
    signature: bytes = b"",
) -> bytes:
    """Return the bytes of a regular file; raise `error` if it has more than `most_bytes`.

    Of a file that does not begin with the `signature` of its format, return the beginning only:
    what reads the format says what is wrong with it.
    """
    with open_regular(path, error) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise error(
                f"{os.fspath(path)} has {size:,} bytes, more than the limit of {most_bytes:,}"
            )
        beginning = file.read(_BEGINNING)
        if not beginning.startswith(signature):
            return beginning
        file.seek(0)
        return file.read()


def file_identity(status: os.stat_result) -> FileIdentity:
    """Return the identity of a file, whatever its name."""
    return status.st_dev, status.st_ino


@contextmanager
def writing_to(path: AnyPath) -> Iterator[None]:
    """Add the file's name and advice to errors of a full or failing disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno not in WRITE_FAILURES:
            raise
        message = f"{os.strerror(error.errno)}: {_ADVICE[error.errno]}"
        raise OSError(error.errno, message, os.fspath(path)) from error


@contextmanager
def atomic_file(path: AnyPath, *, mode: int | None = None) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name completely or not at all.

    The file has its `mode` from the start: with 0o600, other users can never read it. Without
    `mode`, it gets the mode of the file it replaces, or the default of the umask. A symbolic link
    stays, and its target is replaced. A pipe or a device is written to once all data is complete.
    """
    target = Path(os.path.realpath(path))
    try:
        status: int | None = Path(path).stat().st_mode
    except FileNotFoundError:
        status = None
    kind = None if status is None else stat.S_IFMT(status)
    if kind == stat.S_IFDIR or target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if kind not in (None, stat.S_IFREG):
        with writing_to(path), tempfile.TemporaryFile() as whole:
            yield cast(BinaryIO, whole)
            whole.seek(0)
            with Path(path).open("wb") as file:
                shutil.copyfileobj(whole, file)
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    kept = None if status is None or mode is not None else status & 0o777
    first = next(one for one in (mode, kept, 0o666) if one is not None)
    with writing_to(path), _beside(target, lambda name: _new_file(name, first)) as (new, handle):
        # Opened by its name, which SQLite needs.
        with open(new, "wb", opener=lambda *_: handle) as file:
            if kept is not None and hasattr(os, "fchmod"):
                with suppress(OSError):  # not every file system has modes
                    os.fchmod(file.fileno(), kept)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if _fcntl is not None:  # rename while locked, so that no process removes it
                new.replace(target)
        if _fcntl is None:  # Windows does not rename open files
            new.replace(target)
    _sync_folder(target.parent)


@contextmanager
def atomic_folder(path: AnyPath) -> Iterator[Path]:
    """Yield a new folder to fill, then rename it to a path that is free or an empty folder."""
    target = Path(os.path.realpath(path))
    with writing_to(path), scratch_folder(path, mode=0o777) as folder:
        yield folder
        if target.exists():
            target.rmdir()
        folder.replace(target)
    _sync_folder(target.parent)


@contextmanager
def scratch_folder(path: AnyPath, *, mode: int = 0o700) -> Iterator[Path]:
    """Yield a folder for temporary files beside a file, and remove it at the end."""
    target = Path(os.path.realpath(path))
    with _beside(target, lambda name: _new_folder(name, mode)) as (folder, handle):
        try:
            yield folder
        finally:
            if handle >= 0:
                os.close(handle)


@contextmanager
def locked(path: AnyPath) -> Iterator[None]:
    """Lock a file against other processes; the lock ends with the process, even if killed.

    A second process gets a `StateError` immediately. The lock is advisory: only callers of this
    function respect it. Temporary files that killed processes left beside the file are removed.
    """
    target = Path(os.path.realpath(path))  # one lock for all links to the file
    if _fcntl is None:
        _warn_of_no_lock(path)
        yield
        return
    # A separate lock file, because the file itself may be replaced.
    lock = os.open(target.with_name(target.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            _fcntl.flock(lock, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise in_use(path) from None
        except OSError:  # a file system without locks
            _warn_of_no_lock(path)
        _remove_leftovers(target)
        yield
    finally:
        os.close(lock)


def in_use(path: AnyPath) -> StateError:
    """Return the error for a file that another process has locked."""
    return StateError(
        f"{os.fspath(path)} is in use by another process: wait for it to finish, or use "
        "another file"
    )


# Temporary names


@contextmanager
def _beside(target: Path, make: Callable[[Path], int]) -> Iterator[tuple[Path, int]]:
    """Create a file or folder under a temporary name, locked, and remove it at the end."""
    _remove_leftovers(target)
    while True:
        temporary = target.with_name(f".{target.name[:_SHOWN_NAME]}.{secrets.token_hex(8)}.tmp")
        handle = make(temporary)
        if _claim(handle, temporary):
            break
        os.close(handle)
    try:
        yield temporary, handle
    finally:
        _remove(temporary)


def _new_file(path: Path, mode: int) -> int:
    # Created with its mode: changed later, the file could be opened by others in between.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, mode)


def _new_folder(path: Path, mode: int) -> int:
    path.mkdir(mode)
    return -1 if _fcntl is None else os.open(path, os.O_RDONLY)


def _claim(handle: int, path: Path) -> bool:
    """Lock a new file or folder; return False if another process has already removed it."""
    if _fcntl is None:
        return True
    with suppress(OSError):  # a file system without locks, where nothing is removed either
        _fcntl.flock(handle, _fcntl.LOCK_EX)
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of killed processes beside a target: those that are not locked."""
    if _fcntl is None:
        return
    pattern = f".{glob.escape(target.name[:_SHOWN_NAME])}.{'[0-9a-f]' * 16}.tmp"
    for path in target.parent.glob(pattern):
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                _fcntl.flock(handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
                _remove(path)
            finally:
                os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


# Messages and the disk


def _warn_of_no_lock(path: AnyPath) -> None:
    logger.warning(
        "%s cannot be locked on this system: do not use it from two processes", os.fspath(path)
    )


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that renaming survives a power failure, where this is supported."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
