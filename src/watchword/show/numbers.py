"""Whole numbers as text, for scripts in a page: varints in base64."""

from __future__ import annotations

import base64

import numpy as np
import numpy.typing as npt


def pack_wholes(values: npt.ArrayLike) -> str:
    """Encode whole numbers as varints: seven bits per byte, lowest first; the eighth continues."""
    rest = np.asarray(values, dtype=np.uint64)
    groups = []
    more = np.ones(rest.shape, dtype=bool)
    while more.any():
        following = rest >> np.uint64(7)
        group = (rest & np.uint64(127)).astype(np.uint8) | (following > 0).astype(np.uint8) << 7
        groups.append((group, more))
        rest, more = following, following > 0
    if not groups:
        return ""
    bytes_of, present = (np.stack(parts, axis=1) for parts in zip(*groups, strict=True))
    return base64.b64encode(bytes_of[present].tobytes()).decode("ascii")
