"""Rotations of a file, as logrotate makes them."""

import gzip
import shutil
from pathlib import Path

NUMBERED = ("posts.jsonl.1", "posts.jsonl.2", "posts.jsonl.3")
DATED = ("posts.jsonl-20260103", "posts.jsonl-20260102", "posts.jsonl-20260101")
BEFORE_SUFFIX = ("posts-2026-01-03.jsonl", "posts-2026-01-02.jsonl", "posts-2026-01-01.jsonl")


def rotate(path, names, *, compress=False):
    """Move rotated files one name on, the followed one to the first; put a new file there."""
    files = [path, *(path.with_name(name) for name in names)]
    for older, newer in zip(files[:0:-1], files[-2::-1], strict=True):
        if newer.exists():
            newer.rename(older)
        packed = Path(f"{newer}.gz")
        if packed.exists():
            packed.rename(f"{older}.gz")
    if compress:
        with files[1].open("rb") as plain, gzip.open(f"{files[1]}.gz", "wb") as packed_file:
            packed_file.write(plain.read())
        shutil.copystat(files[1], f"{files[1]}.gz")
        files[1].unlink()
    path.touch()
