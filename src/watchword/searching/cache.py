"""A file of results, so that nothing is computed twice and nothing is lost.

Lines of a checksum and JSON. Every result stands beside a digest of all that it depends on, so
that another data set's result, or that of another version, is never taken for it. A line that was
being written when the program died, or was damaged since, is as if it had never been there.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from watchword._checks import Label
from watchword._files import locked, writing_to
from watchword.errors import DataFormatError
from watchword.model.native import core as _native
from watchword.model.text import TextSource

_FORMAT = "watchword results"
_VERSION = 1
_OWNER_ONLY = 0o600


class KeptResults:
    """The results of one subject matter (see `digest_of`), in memory and perhaps in a file."""

    def __init__(self, digest: str, file: BinaryIO | None = None) -> None:
        self._digest = digest
        self._file = file
        self._known: dict[tuple[str, int], Any] = {}
        self._continued = False

    @classmethod
    @contextmanager
    def open(
        cls,
        path: str | os.PathLike[str] | None,
        digest: str,
        *,
        is_sound: Callable[[object], bool] = lambda _: True,
    ) -> Iterator[KeptResults]:
        """Open the results in a file, creating it if missing; without a path, keep them in memory.

        A line whose result is not sound counts as damaged.
        """
        if path is None:
            yield cls(digest)
            return
        target = Path(path)
        with locked(target), writing_to(target), _opened(target) as file:
            results = cls(digest, file)
            results._read(file, target, is_sound)
            yield results

    @property
    def continued(self) -> bool:
        """Whether results were there before."""
        return self._continued

    def get(self, setting: str, fold: int) -> Any | None:
        """What is known of a setting on a fold."""
        return self._known.get((setting, fold))

    def add(self, setting: str, fold: int, result: Any) -> None:
        """Remember a result; it is in the file when this returns."""
        self._known[setting, fold] = result
        if self._file is not None:
            record = {"of": self._digest, "setting": setting, "fold": fold, "result": result}
            self._file.write(_line(record))
            self._file.flush()

    def _read(self, file: BinaryIO, path: Path, is_sound: Callable[[object], bool]) -> None:
        good = 0  # where the last whole line ends
        for number, line in enumerate(file):
            if not line.endswith(b"\n"):
                if number == 0 and not _HEADER.startswith(line):  # somebody else's: leave it alone
                    _check_header(None, path)
                break
            good += len(line)
            record = _record(line)
            if number == 0:
                _check_header(record, path)
            elif record is not None and record.get("of") == self._digest:
                setting, fold, result = (record.get(key) for key in ("setting", "fold", "result"))
                if isinstance(setting, str) and type(fold) is int and is_sound(result):
                    self._known[setting, fold] = result
        self._continued = bool(self._known)
        file.seek(good)
        file.truncate()
        if good == 0:
            file.write(_HEADER)
            file.flush()


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
    with os.fdopen(descriptor, "r+b") as file:
        yield file
        os.fsync(file.fileno())


def _line(record: dict[str, Any]) -> bytes:
    text = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


_HEADER = _line({"format": _FORMAT, "version": _VERSION})


def _record(line: bytes) -> dict[str, Any] | None:
    """What a line holds; nothing if it is damaged."""
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _check_header(record: dict[str, Any] | None, path: Path) -> None:
    if record is None or record.get("format") != _FORMAT:
        raise DataFormatError(f"{path} is not a file of results: name another one to keep them in")
    if record.get("version") != _VERSION:
        raise DataFormatError(f"{path} holds results of a later version: name another file")


def digest_of(
    texts: Sequence[str],
    labels: Sequence[Sequence[Label]],
    folds: Sequence[npt.NDArray[np.int64]],
    *,
    several: bool,
    source: TextSource,
    terms: _native.TermBatch,
) -> str:
    """A digest of data, folds, how texts are read, and the program that does it."""
    hashed = hashlib.sha256()

    def feed(part: bytes) -> None:
        hashed.update(len(part).to_bytes(8, "little"))
        hashed.update(part)

    feed(_program().encode())
    feed(json.dumps([several, source.description], sort_keys=True).encode())
    if not source.is_plain:
        # The name of a function does not tell what it does: what it made of the texts does.
        feed(json.dumps(terms.words).encode())
        feed(terms.symbols.tobytes())
    for text, own in zip(texts, labels, strict=True):
        feed(text.encode("utf-8", "surrogatepass"))
        feed(json.dumps(own).encode())
    for places in folds:
        feed(np.ascontiguousarray(places, "<i8").tobytes())
    return hashed.hexdigest()[:32]


@lru_cache(maxsize=1)
def _program() -> str:
    """The version, and the compiled core itself: what was built anew may count anew."""
    from watchword import __version__

    core = Path(str(_native.__file__)).read_bytes()
    return f"{__version__} {hashlib.sha256(core).hexdigest()}"
