"""Container of a model file: an uncompressed zip of arrays with a manifest (docs/model-file.md).

A file is data, never code. Everything in it is checked before use: sizes against the file, arrays
against the manifest, indices and counts by the core.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import mmap
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from typing import Any, BinaryIO, NamedTuple, NoReturn, cast

import numpy as np
import numpy.typing as npt

from watchword._files import open_regular
from watchword.errors import ModelFormatError, ModelLimitError

FORMAT = "watchword model"
VERSION = 2  # of models with corrections; those without are written as version 1
MANIFEST = "manifest.json"

# Every member's data begins at a multiple of this, so that arrays can be mapped into memory.
ALIGNMENT = 64
# An extra field of the zip header holds the padding; readers skip fields they do not know.
_PADDING_FIELD = 0xD935
_NPY_HEADER = 128
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_UTF8_NAMES = 0x800  # the only member flag that does not change how data is stored

_WIDTHS = {"|u1": 1, "<u2": 2, "<u4": 4, "<u8": 8}
# A manifest grows only with the labels, and so does the array of maxima, with one or more numbers
# per label: the size of that array limits the size of the manifest.
_MAXIMA = "maxima"
_MANIFEST_BYTES = 1 << 18  # without labels
_MANIFEST_BYTES_PER_LABEL = 1 << 10
# Lists, and objects other than labels: a model of the longest n-grams has 329 of them.
_MANIFEST_ENTRIES = 1 << 10
_SHOWN_KEY = 40  # characters of an unknown key in an error
_MANIFEST_DEPTH = 8
_STRING_OR_LIST = re.compile(rb'"[^"]*"?|\[')  # where quotes are not escaped
_MANIFEST_SECTIONS = {
    "arrays": dict,
    "labels": list,
    "parameters": dict,
    "pruned": dict,
    "reading": dict,
}
_MANIFEST_KEYS = {"format", "version", "words_since_prune", *_MANIFEST_SECTIONS}
FIT = "fit"  # the section of corrections
SIGNATURE = b"PK\x03\x04"  # of a zip file with members
PYSS3 = "pyss3"  # the section of `watchword.pyss3`, which other readers pass over
_READING_KEYS = {"unicode", "paragraphs", "word_hook", "tokenizer"}
LABEL_KEYS = {"label", "documents", "words"}
_ARRAY_KEYS = {"dtype", "shape", "sha256"}

Arrays = dict[str, npt.NDArray[Any]]


class _ZipMember(NamedTuple):
    name: str
    header: int  # offset of the header
    begin: int  # offset of the data
    end: int  # offset after the data
    crc: int


def write_model(target: BinaryIO, manifest: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a model file; the same manifest and arrays give the same bytes."""
    text = manifest_text(manifest, arrays).encode()
    if not _manifest_fits(text, arrays[_MAXIMA].nbytes if _MAXIMA in arrays else 0):
        raise ModelLimitError(
            f"the model cannot be saved: its labels are too long (the manifest has {len(text)} "
            "bytes); use shorter labels"
        )
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        _write_member(archive, target.tell(), MANIFEST, [text])
        for name, array in arrays.items():
            _write_member(archive, target.tell(), f"{name}.npy", _npy_parts(array))


def manifest_text(manifest: Mapping[str, Any], arrays: Arrays) -> str:
    """Return the text of a manifest, with the checksum of every array."""
    described = {
        name: {"dtype": array.dtype.str, "shape": [array.size], "sha256": _checksum(array)}
        for name, array in arrays.items()
    }
    return described_text(manifest, described)


def described_text(manifest: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    """Return the text of a manifest with the given descriptions of arrays."""
    version = VERSION if FIT in manifest else 1
    whole = {"format": FORMAT, "version": version, **manifest, "arrays": described}
    return json.dumps(whole, ensure_ascii=False, sort_keys=True, indent=1)


def mapped_file(path: str | os.PathLike[str]) -> mmap.mmap:
    """Map a file into read-only memory that all processes share.

    The file must not change while it is in use: replace it (as `atomic_file` does), never write
    into it.
    """
    with open_regular(path, ModelFormatError) as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise ModelFormatError(f"{path} is not a watchword model: it is empty") from None
        except OSError as error:  # a file system without mapping
            raise ModelFormatError(
                f"{path} cannot be mapped into memory ({error.strerror}): load it without mapping"
            ) from None


def read_model(
    data: bytes | memoryview | mmap.mmap, *, source: str, checksums: bool = True
) -> tuple[dict[str, Any], Arrays]:
    """Return the manifest and the arrays; `source` names the file in messages.

    The arrays are views of the data. Without `checksums`, only their headers are read.
    """
    view = memoryview(data)
    members = _checked_members(data, source)
    if MANIFEST not in members:
        raise ModelFormatError(f"{source} is not a watchword model: it has no manifest")
    manifest = _checked_manifest(view, members, source)
    arrays = {}
    for name, entry in manifest["arrays"].items():
        member = members.get(f"{name}.npy")
        if member is None:
            raise ModelFormatError(f"{source} is corrupt: array {name!r} is missing")
        arrays[name] = _read_array(view, member, entry, f"{source}: array {name!r}")
        refuse_unknown(entry, _ARRAY_KEYS, source)
    if checksums:
        verify(arrays, manifest["arrays"], source=source)
    return manifest, arrays


def verify(arrays: Arrays, described: Mapping[str, Any], *, source: str) -> None:
    """Raise `ModelFormatError` unless all arrays have the checksums of the manifest."""
    for name, array in arrays.items():
        if _checksum(array) != described[name].get("sha256"):
            raise ModelFormatError(f"{source}: array {name!r} is corrupt: its checksum is wrong")


def refuse_unknown(entry: Mapping[str, Any], known: Collection[str], source: str) -> None:
    """Raise `ModelFormatError` if part of a manifest has other keys than these."""
    for key in entry:
        if key not in known:
            raise ModelFormatError(
                f"{source} is corrupt: its manifest has the unknown key {key[:_SHOWN_KEY]!r}"
            )


def _npy_parts(array: npt.NDArray[Any]) -> list[bytes | memoryview]:
    data = np.ascontiguousarray(array).view(np.uint8).data
    return [_npy_header(array.dtype.str, array.size), data]


def _npy_header(dtype: str, size: int) -> bytes:
    """Return the header of a one-dimensional array as NumPy writes it, with a fixed length."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({size},), }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.ljust(117).encode() + b"\n"


def _write_member(
    archive: zipfile.ZipFile, at: int, name: str, parts: list[bytes | memoryview]
) -> None:
    member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    member.create_system = 3  # the same bytes on every system
    member.external_attr = 0o644 << 16
    member.file_size = sum(len(part) for part in parts)
    # zipfile adds a field with sizes of 64 bits to large members only.
    wide = 20 if member.file_size * 1.05 > zipfile.ZIP64_LIMIT else 0
    begin = at + _LOCAL_HEADER.size + len(name.encode()) + wide
    padding = -(begin + 4) % ALIGNMENT
    member.extra = struct.pack("<HH", _PADDING_FIELD, padding) + bytes(padding)
    with archive.open(member, "w") as file:
        for part in parts:
            file.write(part)


def _checksum(array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array as it is stored in a file."""
    checksum = hashlib.sha256()
    for part in _npy_parts(array):
        checksum.update(part)
    return checksum.hexdigest()


def _checked_members(data: bytes | memoryview | mmap.mmap, source: str) -> dict[str, _ZipMember]:
    """Return the members by name after checking that they are plain, complete and disjoint."""
    if not len(data):
        raise ModelFormatError(f"{source} is not a watchword model: it is empty")
    # A memory map can be read like a file, and must not be copied.
    file = cast("BinaryIO", data) if isinstance(data, mmap.mmap) else io.BytesIO(data)
    try:
        with zipfile.ZipFile(file, "r") as archive:
            listed = archive.infolist()
    except Exception:  # corrupt directories make zipfile fail in many ways
        if data[:4] != b"PK\x03\x04":
            raise ModelFormatError(f"{source} is not a watchword model") from None
        raise ModelFormatError(
            f"{source} is not a watchword model, or is incomplete or corrupt"
        ) from None
    view = memoryview(data)
    members: dict[str, _ZipMember] = {}
    for info in listed:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ModelFormatError(f"{source} is not a watchword model: it is compressed")
        if info.flag_bits & ~_UTF8_NAMES:
            raise ModelFormatError(f"{source} is corrupt: {info.filename!r} is not a plain member")
        if info.filename in members:
            raise ModelFormatError(f"{source} is corrupt: duplicate member {info.filename!r}")
        members[info.filename] = _place(view, info, source)
    ordered = sorted(members.values(), key=lambda member: member.header)
    for one, following in itertools.pairwise(ordered):
        if one.end > following.header:
            raise ModelFormatError(
                f"{source} is corrupt: {one.name!r} and {following.name!r} overlap"
            )
    return members


def _place(view: memoryview, info: zipfile.ZipInfo, source: str) -> _ZipMember:
    begin = info.header_offset
    name = info.filename.encode()
    if not 0 <= begin <= len(view) - _LOCAL_HEADER.size:
        raise ModelFormatError(f"{source} is corrupt: {info.filename!r} is outside the file")
    header = _LOCAL_HEADER.unpack_from(view, begin)
    name_at = begin + _LOCAL_HEADER.size
    if header[0] != b"PK\x03\x04" or view[name_at : name_at + header[9]] != name:
        raise ModelFormatError(f"{source} is corrupt: {info.filename!r} has a wrong header")
    data_at = name_at + header[9] + header[10]
    if data_at + info.file_size > len(view):
        raise ModelFormatError(f"{source} is corrupt: {info.filename!r} is outside the file")
    return _ZipMember(info.filename, begin, data_at, data_at + info.file_size, info.CRC)


def _manifest_fits(text: bytes, maxima: int) -> bool:
    """Return whether a manifest is small enough, given the size of the maxima in bytes."""
    return len(text) <= _MANIFEST_BYTES + _MANIFEST_BYTES_PER_LABEL * maxima


def _has_many_lists(text: bytes) -> bool:
    """Return whether JSON has more lists than a manifest may have, ignoring strings."""
    if text.count(b"[") <= _MANIFEST_ENTRIES:
        return False
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    lists = (match for match in _STRING_OR_LIST.finditer(bare) if match[0] == b"[")
    return next(itertools.islice(lists, _MANIFEST_ENTRIES, None), None) is not None


class _Objects:
    """Builds the objects of a manifest while it is parsed, and rejects invalid ones."""

    def __init__(self) -> None:
        self._others = 0

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entry = dict(pairs)
        if len(entry) != len(pairs):
            raise ValueError("duplicate keys")
        self._others += entry.keys() != LABEL_KEYS
        if self._others > _MANIFEST_ENTRIES:
            raise ValueError("too many objects")
        return entry


def _checked_manifest(
    view: memoryview, members: Mapping[str, _ZipMember], source: str
) -> dict[str, Any]:
    member, maxima = members[MANIFEST], members.get(f"{_MAXIMA}.npy")
    text = bytes(view[member.begin : member.end])
    if zlib.crc32(text) != member.crc:
        raise ModelFormatError(f"{source} is corrupt: the checksum of its manifest is wrong")
    space = 0 if maxima is None else maxima.end - maxima.begin - _NPY_HEADER
    if not _manifest_fits(text, max(0, space)):
        raise ModelFormatError(f"{source} is corrupt: its manifest is too large for its labels")
    try:
        if _has_many_lists(text):
            raise ValueError("too many lists")
        manifest = json.loads(
            text.decode(), parse_int=_whole, parse_constant=no_number, object_pairs_hook=_Objects()
        )
        _refuse_strange(manifest)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{source} is corrupt: its manifest is bad JSON: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFormatError(f"{source} is not a watchword model")
    version = manifest.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFormatError(f"{source} is corrupt: its version is {version!r}")
    if version > VERSION:
        raise ModelFormatError(
            f"{source} was written by a later version of watchword (format {version}, this one "
            f"reads up to {VERSION}): upgrade with: pip install -U watchword"
        )
    refuse_unknown(manifest, _MANIFEST_KEYS | {PYSS3} | ({FIT} if version > 1 else set()), source)
    if not isinstance(manifest.get(FIT, {}), dict):
        raise ModelFormatError(f"{source} is corrupt: its manifest has a bad {FIT}")
    for name, kind in _MANIFEST_SECTIONS.items():
        if not isinstance(manifest.get(name), kind):
            raise ModelFormatError(f"{source} is corrupt: its manifest has no {name}")
    if not all(isinstance(value, str | None) for value in manifest["reading"].values()):
        raise ModelFormatError(f"{source} is corrupt: its manifest has bad names in reading")
    refuse_unknown(manifest["reading"], _READING_KEYS, source)
    return manifest


def _whole(digits: str) -> int:
    if len(digits) > 20:  # longer than any 64-bit number, and slow to parse
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def no_number(constant: str) -> NoReturn:
    """Raise `ValueError`: JSON has no such number, although Python reads it."""
    raise ValueError(f"{constant} is not a number")


def _refuse_strange(manifest: object) -> None:
    """Raise `ValueError` for values that cannot be written again: deep nesting, surrogates."""
    level = [manifest]
    for _ in range(_MANIFEST_DEPTH):
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                below += value.keys()
                below += value.values()
            elif isinstance(value, list):
                below += value
            elif isinstance(value, str) and not value.isascii():
                value.encode()
        level = below
    if level:
        raise ValueError("it is nested too deeply")


def _read_array(view: memoryview, member: _ZipMember, entry: object, what: str) -> npt.NDArray[Any]:
    """Return an array as described by the manifest; its header is compared, never parsed."""
    described = entry if isinstance(entry, dict) else {}
    dtype, shape = described.get("dtype"), described.get("shape")
    if not isinstance(dtype, str) or dtype not in _WIDTHS:
        raise ModelFormatError(f"{what} is not an array of unsigned numbers")
    if not isinstance(shape, list) or len(shape) != 1 or type(shape[0]) is not int:
        raise ModelFormatError(f"{what} is not an array in one dimension")
    data = view[member.begin : member.end]
    header = _npy_header(dtype, shape[0])
    if len(data) != len(header) + shape[0] * _WIDTHS[dtype] or data[: len(header)] != header:
        raise ModelFormatError(f"{what} is corrupt: it differs from the manifest")
    return np.frombuffer(data, dtype=dtype, offset=len(header))
