"""Files and folders written whole or not at all, and locks between processes.

What is being written has a temporary name beside its target, `.NAME.16-HEX-DIGITS.tmp`, and is
locked until it gets its own. A process that is killed leaves the temporary behind, but not its
lock: the next one that writes to the same target removes what it can lock.
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

from watchword.errors import StateError

_fcntl: ModuleType | None
try:
    import fcntl as _fcntl
except ImportError:  # Windows
    _fcntl = None

logger = logging.getLogger("watchword.files")

AnyPath = str | os.PathLike[str]

_SHOWN_NAME = 40  # characters of a file's name in its temporary name

_ADVICE = {
    errno.ENOSPC: "free some space, or write to another disk",
    errno.EDQUOT: "free some space, ask for a larger quota, or write to another disk",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), or write to another disk",
    errno.EIO: "check the disk and the limit on the size of files (ulimit -f), or write to another "
    "disk",
}


#: What fails when a disk is full or broken; all else is about what is there, and has a name.
WRITE_FAILURES = frozenset(_ADVICE)


@contextmanager
def writing_to(path: AnyPath) -> Iterator[None]:
    """Name the file, and say what to do, if the disk is full or fails while it is written."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno not in WRITE_FAILURES:
            raise
        told = f"{os.strerror(error.errno)}: {_ADVICE[error.errno]}"
        raise OSError(error.errno, told, os.fspath(path)) from error


@contextmanager
def atomic_file(path: AnyPath, *, mode: int | None = None) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name whole or not at all.

    It has its `mode` from the first moment: with 0o600 nobody else can ever read it. Without, it
    gets that of the file it replaces, or what the umask leaves. If the name is a link, the link
    stays, and the file it leads to is replaced. What is no file (a pipe, a device) is written to
    when all is there.
    """
    target = Path(os.path.realpath(path))
    kind = _kind_of(path)
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
    kept = _mode_of(target) if mode is None else None
    first = next(one for one in (mode, kept, 0o666) if one is not None)
    with writing_to(path), _beside(target, lambda name: _new_file(name, first)) as (new, handle):
        with os.fdopen(handle, "wb") as file:
            if kept is not None and hasattr(os, "fchmod"):
                with suppress(OSError):  # not every file system has modes
                    os.fchmod(file.fileno(), kept)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if _fcntl is not None:  # while it is locked: nobody takes it for a leftover
                new.replace(target)
        if _fcntl is None:  # Windows does not rename open files
            new.replace(target)
    _sync_folder(target.parent)


@contextmanager
def atomic_folder(path: AnyPath) -> Iterator[Path]:
    """Give a new folder to fill that then appears under its name, which is free or empty."""
    target = Path(os.path.realpath(path))
    with writing_to(path), scratch_folder(path, mode=0o777) as folder:
        yield folder
        if target.exists():
            target.rmdir()
        folder.replace(target)
    _sync_folder(target.parent)


@contextmanager
def scratch_folder(path: AnyPath, *, mode: int = 0o700) -> Iterator[Path]:
    """Give a folder for temporary files beside a file, and remove it in the end."""
    target = Path(os.path.realpath(path))
    with _beside(target, lambda name: _new_folder(name, mode)) as (folder, handle):
        try:
            yield folder
        finally:
            if handle >= 0:
                os.close(handle)


@contextmanager
def locked(path: AnyPath) -> Iterator[None]:
    """Keep other processes from a file; the lock ends with the process, however that ends.

    A second process is refused at once with a `StateError`; one that does not ask is not kept out.
    What a killed process left half written beside the file is removed.
    """
    target = Path(os.path.realpath(path))  # whatever links lead to it, there is one lock
    if _fcntl is None:
        _warn_of_no_lock(path)
        yield
        return
    # A file beside it, which stays: the file itself is replaced now and then.
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
        f"{os.fspath(path)} is in use by another process: wait until that has ended, or take "
        "another file"
    )


# Temporary names


@contextmanager
def _beside(target: Path, make: Callable[[Path], int]) -> Iterator[tuple[Path, int]]:
    """Make something under a temporary name, locked, and remove what is left of it in the end."""
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
    # Born with its mode: changed afterwards, it could be opened by others in between.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, mode)


def _new_folder(path: Path, mode: int) -> int:
    path.mkdir(mode)
    return -1 if _fcntl is None else os.open(path, os.O_RDONLY)


def _claim(handle: int, path: Path) -> bool:
    """Lock what was just made; False if another process took it for a leftover before that."""
    if _fcntl is None:
        return True
    with suppress(OSError):  # a file system without locks: there, nothing is removed either
        _fcntl.flock(handle, _fcntl.LOCK_EX)
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _remove_leftovers(target: Path) -> None:
    """Remove what killed processes left beside a target: no running one holds its lock."""
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


# What is there


def _kind_of(path: AnyPath) -> int | None:
    """What is there: a file, a folder, a pipe, …; None if nothing is."""
    try:
        return stat.S_IFMT(Path(path).stat().st_mode)
    except FileNotFoundError:
        return None


def _mode_of(path: Path) -> int | None:
    """Who may read and write a file; None if there is no such file."""
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o777
    except FileNotFoundError:
        return None


def _warn_of_no_lock(path: AnyPath) -> None:
    logger.warning("%s cannot be locked here: start no second process with it", os.fspath(path))


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself last, where folders can be synced."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
