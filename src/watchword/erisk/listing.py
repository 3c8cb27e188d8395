"""Folders and files of a collection, without those left by operating systems and archives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from watchword.data.folders import is_clutter
from watchword.errors import DataFormatError

_PIECE = 1 << 18
_SUBJECT_JSON = re.compile(r"subject.*\.json", re.IGNORECASE)


def entries(folder: Path) -> list[Path]:
    """Return the entries of a folder, sorted by name."""
    try:
        return sorted(path for path in folder.iterdir() if not is_clutter(path.name))
    except OSError as error:
        raise DataFormatError(f"{folder}: {error.strerror or error}") from error


def subfolders(folder: Path) -> list[Path]:
    """Return the folders in a folder, sorted by name."""
    return [path for path in entries(folder) if path.is_dir()]


def subject_files(folder: Path) -> Iterator[Path]:
    """Yield the files of subjects (`.xml`) in a folder, sorted by name."""
    found = (path for path in entries(folder) if path.suffix.lower() == ".xml")
    return (path for path in found if path.is_file())


def subject_json_files(folder: Path) -> Iterator[Path]:
    """Yield the JSON files of subjects (`subject*.json`) in a folder, sorted by name."""
    return iter(matching(folder, _SUBJECT_JSON))


def matching(folder: Path, name: re.Pattern[str]) -> list[Path]:
    """Return the files in a folder whose whole names match, sorted by name."""
    return [path for path in entries(folder) if name.fullmatch(path.name) and path.is_file()]


def only(folder: Path, name: re.Pattern[str], kind: str) -> Path | None:
    """Return the file in a folder whose name matches, if there is one; raise if several do."""
    found = matching(folder, name)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise DataFormatError(f"{folder}: several {kind} files (keep one): {names}")
    return found[0] if found else None


def contents(path: Path, limit: int) -> bytes:
    """Return the contents of a file of at most `limit` bytes, a whole number of MiB."""
    data = bytearray()
    try:
        with path.open("rb") as file:
            # In pieces: `read(limit)` would first allocate that much, for each of many small files.
            while len(data) <= limit and (piece := file.read(_PIECE)):
                data += piece
    except OSError as error:
        raise DataFormatError(f"{path}: {error.strerror or error}") from error
    if len(data) > limit:
        raise DataFormatError(f"{path}: larger than {limit >> 20} MiB")
    return bytes(data)


def names_below(folder: Path, depth: int, without: Path) -> Iterator[str]:
    """Yield the names of subjects with files in a folder or below, except in `without`.

    For files in chunks, the name includes the chunk. Folders that cannot be listed are skipped.
    """
    try:
        found = entries(folder)
    except DataFormatError:
        return
    for path in found:
        if path.suffix.lower() == ".xml" or _SUBJECT_JSON.fullmatch(path.name):
            yield path.stem
        elif depth and path != without and path.is_dir():
            yield from names_below(path, depth - 1, without)
