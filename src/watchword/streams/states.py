r"""States of subjects as bytes and JSON: versioned plain data, keyed by label.

The state of one subject as bytes (numbers are little-endian):

    "wws" version:u8 model:16 bytes policy:8 bytes posts:u32 delay:u32
    columns:u16 labels:u32 (memory:f64)* (sum:f64 kind:u8 size:u32 name)* crc32:u32

where a label's kind is 0 for a string (its name in UTF-8) and 1 for a whole number (in decimal),
and `columns` is the number of values in the policy's memory. The states of many subjects are one
line of JSON, with this number as "memory", then the arrays posts, delays (u32), sums, memory (f64,
row by row), sizes of ids in bytes (u32) and ids in UTF-8, and last the SHA-256 of everything before
it.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from watchword._checks import FloatArray, Label, as_label, as_whole
from watchword.errors import StateError
from watchword.streams.policies import Policy
from watchword.streams.sources import ScoreSource, source_fingerprint

VERSION = 1
_MAGIC = b"wws"
_HEAD = struct.Struct("<3sB16s8sIIHI")
_LABEL = struct.Struct("<dBI")
IDENTITY = 28  # number of leading bytes that identify the model and the policy
_MANY = "watchword states"
_HEADER_LIMIT = 1 << 26
_CHECKSUM = hashlib.sha256().digest_size
_CORRUPT = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)

Counts = NDArray[np.uint32]


@dataclass(frozen=True)
class State:
    """The state of some subjects, one row per subject in each array."""

    model: str  # fingerprint
    policy: dict[str, Any] | None  # description of the policy, None if unknown
    policy_hash: str
    labels: tuple[Label, ...]
    rounds: int
    posts: Counts
    delays: Counts
    sums: FloatArray
    memory: FloatArray


def policy_hash(policy: Policy) -> str:
    """Return a hash of 16 hexadecimal digits, equal for equal policies."""
    return _hash(policy.to_dict())


def _hash(description: dict[str, Any]) -> str:
    text = json.dumps(description, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def check(state: State, engine: ScoreSource, policy: Policy, *, allow_changed_model: bool) -> None:
    """Raise `StateError` unless this model and this policy can resume from the state."""
    if state.policy_hash != policy_hash(policy):
        described = json.dumps(state.policy, ensure_ascii=False, default=repr)
        was = "" if state.policy is None else f": {described}"
        raise StateError(f"the state was saved with another policy than {policy!r}{was}")
    if state.memory.shape[1] != policy.columns:
        raise StateError(f"the state is corrupt: its memory does not fit {policy!r}")
    if state.model == source_fingerprint(engine):
        lacking = set(engine.labels).difference(state.labels)
        if lacking:
            raise StateError(f"the state is corrupt: the label {min(lacking)!r} is missing")
    elif not allow_changed_model:
        raise StateError(
            "the state was saved with another model, or before this model learnt more; "
            "to resume anyway, use allow_changed_model=True (`watch --allow-changed-model`)"
        )


# One subject


def to_bytes(state: State) -> bytes:
    """Return the state of one subject as bytes."""
    memory = state.memory[0].tolist()
    parts = [
        _HEAD.pack(
            _MAGIC,
            VERSION,
            bytes.fromhex(state.model),
            bytes.fromhex(state.policy_hash),
            int(state.posts[0]),
            int(state.delays[0]),
            len(memory),
            len(state.labels),
        ),
        struct.pack(f"<{len(memory)}d", *memory),
    ]
    for label, value in zip(state.labels, state.sums[0].tolist(), strict=True):
        name = str(label).encode()
        parts += [_LABEL.pack(value, isinstance(label, int), len(name)), name]
    body = b"".join(parts)
    return body + struct.pack("<I", zlib.crc32(body))


def from_bytes(data: bytes) -> State:
    """Return the state encoded by `to_bytes`."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"a state must be bytes, or str for JSON, got {type(data).__name__}")
    body, checksum = bytes(data[:-4]), bytes(data[-4:])
    if body[:3] != _MAGIC:
        raise StateError("not a subject's state")
    if body[3:4] != bytes([VERSION]):
        raise StateError(f"the state has the unknown version {body[3:4].hex()}: update watchword")
    if struct.pack("<I", zlib.crc32(body)) != checksum:
        raise StateError("the state is corrupt: wrong checksum")
    try:
        _, _, model, policy, posts, delay, columns, labels = _HEAD.unpack_from(body)
        at = _HEAD.size
        memory = struct.unpack_from(f"<{columns}d", body, at)
        at += 8 * columns
        sums: dict[Label, float] = {}
        for _ in range(labels):
            value, is_number, size = _LABEL.unpack_from(body, at)
            at += _LABEL.size
            name = body[at : at + size].decode()
            at += size
            sums[as_label(int(name) if is_number else name)] = value
        if len(sums) != labels or at != len(body):
            raise ValueError("wrong size")
    except (struct.error, ValueError, MemoryError) as error:
        raise StateError(f"the state is corrupt: {error}") from None
    return _single(model.hex(), None, policy.hex(), posts, delay, memory, sums)


def to_json(state: State) -> str:
    """Return the state of one subject as JSON."""
    posts, delay = int(state.posts[0]), int(state.delays[0])
    sums = [list(pair) for pair in zip(state.labels, state.sums[0].tolist(), strict=True)]
    whole = {
        "format": "watchword state",
        "version": VERSION,
        "model": state.model,
        "policy": state.policy,
        "posts": posts,
        "delay": delay,
        "memory": state.memory[0].tolist(),
        "confidence": sums,
    }
    return json.dumps(whole, ensure_ascii=False, default=repr)


def from_json(text: str) -> State:
    """Return the state encoded by `to_json`."""
    try:
        whole = json.loads(text)
        if whole["format"] != "watchword state":
            raise ValueError('"format" is not "watchword state"')
        _check_version(whole["version"])
        pairs = [(as_label(label), _finite(value)) for label, value in whole["confidence"]]
        sums = dict(pairs)
        if len(sums) != len(pairs):
            raise ValueError("duplicate label")
        bytes.fromhex(whole["model"])
        posts = as_whole("posts", whole["posts"], 0)
        delay = as_whole("delay", whole["delay"], 0)
        memory = tuple(_finite(value) for value in whole["memory"])
        if not isinstance(whole["policy"], dict):
            raise TypeError('"policy" must be an object')
        described = _hash(whole["policy"])
    except _CORRUPT as error:
        raise StateError(f"not a subject's state: {error}") from None
    return _single(whole["model"], whole["policy"], described, posts, delay, memory, sums)


def _single(
    model: str,
    policy: dict[str, Any] | None,
    hashed: str,
    posts: int,
    delay: int,
    memory: tuple[float, ...],
    sums: dict[Label, float],
) -> State:
    return _checked(
        State(
            model=model,
            policy=policy,
            policy_hash=hashed,
            labels=tuple(sums),
            rounds=0,
            posts=np.array([posts], np.uint32),
            delays=np.array([delay], np.uint32),
            sums=np.array([list(sums.values())], np.float64).reshape(1, len(sums)),
            memory=np.array([memory], np.float64).reshape(1, len(memory)),
        )
    )


# Many subjects


def watcher_to_bytes(state: State, subjects: list[str]) -> bytes:
    """Return the states of many subjects as bytes."""
    names = [subject.encode("utf-8", "surrogatepass") for subject in subjects]
    arrays = [
        state.posts.astype("<u4"),
        state.delays.astype("<u4"),
        state.sums.astype("<f8"),
        state.memory.astype("<f8"),
        np.fromiter(map(len, names), "<u4", len(names)),
    ]
    header = {
        "format": _MANY,
        "version": VERSION,
        "model": state.model,
        "policy": state.policy,
        "labels": list(state.labels),
        "memory": int(state.memory.shape[1]),
        "rounds": state.rounds,
        "subjects": len(subjects),
    }
    head = json.dumps(header, default=repr).encode() + b"\n"
    whole = b"".join([head, *(array.tobytes() for array in arrays), *names])
    return whole + hashlib.sha256(whole).digest()


def watcher_from_bytes(data: bytes | memoryview) -> tuple[State, list[str]]:
    """Return the states encoded by `watcher_to_bytes` and the ids of the subjects."""
    view = memoryview(data)
    head, separator, _ = bytes(view[:_HEADER_LIMIT]).partition(b"\n")
    try:
        header = json.loads(head)
        if not separator or header["format"] != _MANY:
            raise ValueError("wrong format")
    except _CORRUPT:
        raise StateError("not a watcher's state") from None
    _check_version(header.get("version"))
    if hashlib.sha256(view[:-_CHECKSUM]).digest() != view[-_CHECKSUM:]:
        raise StateError("the state is corrupt: wrong checksum")
    try:
        return _many(header, view[len(head) + 1 : -_CHECKSUM])
    except _CORRUPT as error:
        raise StateError(f"the state is corrupt: {error}") from None


def _many(header: dict[str, Any], body: memoryview) -> tuple[State, list[str]]:
    count = as_whole("subjects", header["subjects"], 0)
    labels = tuple(as_label(label) for label in header["labels"])
    width = as_whole("memory", header["memory"], 0)
    if len(set(labels)) != len(labels):
        raise ValueError("duplicate label")
    at = 0

    def take(dtype: str, columns: int) -> NDArray[Any]:
        nonlocal at
        begin, at = at, at + count * columns * np.dtype(dtype).itemsize
        if at > len(body):
            raise ValueError("too short")
        return np.frombuffer(body[begin:at], dtype).reshape(count, columns)

    posts, delays = take("<u4", 1)[:, 0], take("<u4", 1)[:, 0]
    sums, memory, sizes = take("<f8", len(labels)), take("<f8", width), take("<u4", 1)[:, 0]
    ends = at + np.cumsum(sizes, dtype=np.int64)
    if (int(ends[-1]) if count else at) != len(body):
        raise ValueError("wrong size")
    begins = (ends - sizes).tolist()
    subjects = [
        str(body[begin:end], "utf-8", "surrogatepass")
        for begin, end in zip(begins, ends.tolist(), strict=True)
    ]
    bytes.fromhex(header["model"])
    state = State(
        model=header["model"],
        policy=header["policy"],
        policy_hash=_hash(header["policy"]),
        labels=labels,
        rounds=as_whole("rounds", header["rounds"], 0),
        posts=posts,
        delays=delays,
        sums=sums,
        memory=memory,
    )
    return _checked(state), subjects


def _checked(state: State) -> State:
    """Return the state after checking that its numbers are possible."""
    if not (np.isfinite(state.sums).all() and np.isfinite(state.memory).all()):
        raise StateError("the state is corrupt: a number is not finite")
    if (state.delays > state.posts).any():
        raise StateError("the state is corrupt: a delay exceeds the number of posts")
    return state


def _check_version(version: object) -> None:
    if type(version) is not int:
        raise StateError("the state is corrupt: its version is not a number")
    if version != VERSION:
        raise StateError(f"the state has the unknown version {version}: update watchword")


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"not a finite number: {value!r}")
    return float(value)
