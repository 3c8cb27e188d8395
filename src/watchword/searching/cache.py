"""A file of search results, so that nothing is computed twice and nothing is lost.

Every result has a digest of all that it depends on, so that another data set's result, or that of
another version, is never taken for it.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from watchword._arrays import IntArray
from watchword._checks import Label
from watchword._database import Database, DatabaseKind, open_database, table
from watchword._files import AnyPath
from watchword.model.native import core as _native
from watchword.model.text import TextSource

KIND = DatabaseKind(
    name="a file of search results",
    application_id=int.from_bytes(b"wwSR", "big"),
    version=1,
    tables=(
        table(
            "results",
            "digest, setting, fold",
            *("digest TEXT", "setting TEXT", "fold INTEGER", "result TEXT", "checksum INTEGER"),
        ),
    ),
    durable=False,  # at worst, the latest results are computed again
)


class KeptResults:
    """The results for one digest (see `digest_of`), in memory and perhaps in a file."""

    def __init__(self, digest: str, database: Database | None = None) -> None:
        self._digest = digest
        self._database = database
        self._known: dict[tuple[str, int], Any] = {}
        self.continued = False  #: whether the file had results when it was opened

    @classmethod
    @contextmanager
    def open(
        cls,
        path: AnyPath | None,
        digest: str,
        *,
        is_sound: Callable[[object], bool] = lambda _: True,
    ) -> Iterator[KeptResults]:
        """Open the results in a file, creating it if missing; without a path, keep them in memory.

        A result that is damaged or not sound is ignored, and replaced when it is added again.
        """
        if path is None:
            yield cls(digest)
            return
        with open_database(path, KIND) as database:
            results = cls(digest, database)
            results._read(database, is_sound)
            yield results

    def get(self, setting: str, fold: int) -> Any | None:
        """Return the result of a setting on a fold; None if there is none yet."""
        return self._known.get((setting, fold))

    def add(self, setting: str, fold: int, result: Any) -> None:
        """Add a result; it is in the file when this returns."""
        self._known[setting, fold] = result
        if self._database is not None:
            text = json.dumps(result, separators=(",", ":"))
            checksum = _checksum(self._digest, setting, fold, text)
            with self._database.transaction() as changes:
                changes.execute(
                    "REPLACE INTO results VALUES (?, ?, ?, ?, ?)",
                    (self._digest, setting, fold, text, checksum),
                )

    def _read(self, database: Database, is_sound: Callable[[object], bool]) -> None:
        query = "SELECT setting, fold, result, checksum FROM results WHERE digest = ?"
        for setting, fold, text, checksum in database.rows(query, self._digest):
            if checksum == _checksum(self._digest, setting, fold, text):
                try:
                    result = json.loads(text)
                except (ValueError, RecursionError):
                    continue
                if is_sound(result):
                    self._known[setting, fold] = result
        self.continued = bool(self._known)


def _checksum(digest: str, setting: str, fold: int, result: str) -> int:
    """Return a checksum of a row: SQLite has none of its own."""
    return zlib.crc32(f"{digest} {fold} {setting} {result}".encode())


def digest_of(
    texts: Sequence[str],
    labels: Sequence[Sequence[Label]],
    folds: Sequence[IntArray],
    *,
    several: bool,
    source: TextSource,
    terms: _native.TermBatch,
) -> str:
    """Return a digest of data, folds, tokenisation and the program."""
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
    """Return the version and the compiled core: a new build may count differently."""
    from watchword import __version__

    core = Path(str(_native.__file__)).read_bytes()
    return f"{__version__} {hashlib.sha256(core).hexdigest()}"
