"""Model ⇄ file: an uncompressed zip of arrays with a manifest (docs/model-file.md).

A file is data, never code. Everything in it is checked before the core believes it: sizes against
the file, arrays against the manifest, indices and counts by the core.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from watchword.errors import ModelFormatError

FORMAT = "watchword model"
VERSION = 1
MANIFEST = "manifest.json"

# Data of every member begins at a multiple of this, so that arrays can be mapped into memory.
ALIGNMENT = 64
# An extra field of the zip header holds the padding; readers skip fields they do not know.
_PADDING_FIELD = 0xD935
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_MANIFEST_LIMIT = 1 << 28

Arrays = dict[str, npt.NDArray[Any]]


def write_model(target: BinaryIO, manifest: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a model file; the same manifest and arrays give the same bytes."""
    members: dict[str, bytes] = {}
    described: dict[str, Any] = {}
    for name, array in arrays.items():
        data = _npy_bytes(array)
        members[f"{name}.npy"] = data
        described[name] = {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    whole = {"format": FORMAT, "version": VERSION, **manifest, "arrays": described}
    text = json.dumps(whole, ensure_ascii=False, sort_keys=True, indent=1)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, data in {MANIFEST: text.encode(), **members}.items():
            _write_member(archive, name, data)


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that appears under its name whole or not at all."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())  # mkstemp's files are private
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def read_model(data: bytes | memoryview, *, source: str) -> tuple[dict[str, Any], Arrays]:
    """The manifest and the arrays; `source` names the file in messages."""
    view = memoryview(data)
    try:
        with zipfile.ZipFile(io.BytesIO(view), "r") as archive:
            members = _checked_members(archive, len(view), source)
            if MANIFEST not in members:
                raise ModelFormatError(f"{source} is not a watchword model: it has no manifest")
            if members[MANIFEST].file_size > _MANIFEST_LIMIT:
                raise ModelFormatError(f"{source} is damaged: its manifest is too large")
            manifest = _checked_manifest(archive.read(MANIFEST), source)
    except zipfile.BadZipFile as error:
        raise ModelFormatError(
            f"{source} is not a watchword model, or is damaged: {error}"
        ) from None
    arrays = {}
    for name, entry in manifest["arrays"].items():
        member = members.get(f"{name}.npy")
        if member is None:
            raise ModelFormatError(f"{source} is damaged: array {name!r} is missing")
        arrays[name] = _read_array(view, member, entry, f"{source}: array {name!r}")
    return manifest, arrays


def _npy_bytes(array: npt.NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
    return buffer.getvalue()


def _write_member(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    member.create_system = 3  # the same bytes on every system
    member.external_attr = 0o644 << 16
    member.file_size = len(data)
    assert archive.fp is not None
    # Without an explicit size field of 64 bits for small files the header has no other extras.
    wide = 20 if len(data) * 1.05 > zipfile.ZIP64_LIMIT else 0
    begin = archive.fp.tell() + _LOCAL_HEADER.size + len(name.encode()) + wide
    padding = -(begin + 4) % ALIGNMENT
    member.extra = struct.pack("<HH", _PADDING_FIELD, padding) + bytes(padding)
    with archive.open(member, "w") as file:
        file.write(data)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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


def _checked_members(
    archive: zipfile.ZipFile, size: int, source: str
) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    total = 0
    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ModelFormatError(f"{source} is not a watchword model: it is compressed")
        if member.filename in members:
            raise ModelFormatError(f"{source} is damaged: {member.filename!r} is there twice")
        members[member.filename] = member
        total += member.file_size
    if total > size:
        raise ModelFormatError(f"{source} is damaged: its members are larger than the file")
    return members


def _checked_manifest(text: bytes, source: str) -> dict[str, Any]:
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):
        raise ModelFormatError(f"{source} is damaged: its manifest is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFormatError(f"{source} is not a watchword model")
    version = manifest.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFormatError(f"{source} is damaged: its version is {version!r}")
    if version > VERSION:
        raise ModelFormatError(
            f"{source} was written by a later version of watchword (format {version}, this one "
            f"reads up to {VERSION}): upgrade with: pip install -U watchword"
        )
    if not isinstance(manifest.get("arrays"), dict):
        raise ModelFormatError(f"{source} is damaged: its manifest lists no arrays")
    return manifest


def _read_array(
    view: memoryview, member: zipfile.ZipInfo, entry: object, what: str
) -> npt.NDArray[Any]:
    data = _member_data(view, member, what)
    if not isinstance(entry, dict) or hashlib.sha256(data).hexdigest() != entry.get("sha256"):
        raise ModelFormatError(f"{what} is damaged: its checksum is wrong")
    header = io.BytesIO(data[: 1 << 16])
    try:
        if np.lib.format.read_magic(header) != (1, 0):
            raise ValueError("unexpected version of the npy format")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(header)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise ModelFormatError(f"{what} is damaged: {error}") from None
    if fortran or dtype.hasobject or dtype.kind != "u":
        raise ModelFormatError(f"{what} is not an array of unsigned numbers")
    if dtype.str != entry.get("dtype") or list(shape) != entry.get("shape") or len(shape) != 1:
        raise ModelFormatError(f"{what} is not what the manifest says")
    if len(data) - header.tell() != shape[0] * dtype.itemsize:
        raise ModelFormatError(f"{what} is damaged: it has the wrong size")
    return np.frombuffer(data, dtype=dtype, offset=header.tell())


def _member_data(view: memoryview, member: zipfile.ZipInfo, what: str) -> memoryview:
    begin = member.header_offset
    if begin + _LOCAL_HEADER.size > len(view):
        raise ModelFormatError(f"{what} is damaged: the file is too short")
    header = _LOCAL_HEADER.unpack_from(view, begin)
    if header[0] != b"PK\x03\x04":
        raise ModelFormatError(f"{what} is damaged: it does not begin where it should")
    begin += _LOCAL_HEADER.size + header[9] + header[10]
    if begin + member.file_size > len(view):
        raise ModelFormatError(f"{what} is damaged: the file is too short")
    return view[begin : begin + member.file_size]
