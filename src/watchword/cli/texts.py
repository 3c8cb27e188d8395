"""Data named on a command line: texts in batches, or whole subjects."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from watchword.cli.base import message_of, warn
from watchword.data import Subject, read_folder, read_subjects
from watchword.data.flaws import BadLines, BadLinesChoice
from watchword.data.folders import folder_documents, has_subject_folders, is_clutter
from watchword.data.inputs import kind_of
from watchword.data.lines import Wait
from watchword.data.texts import Item, batched, posts_of, read_batches
from watchword.errors import DataFormatError

Format = Literal["jsonl", "csv", "folder", "erisk"]

# As long as a line: on the command line nobody can raise Python's own limit.
csv.field_size_limit(1 << 28)

_TOLD = 1000  # bad lines that are told one by one


@dataclass
class Data:
    """How data is to be read, and what was wrong with it so far."""

    format: Format | None = None
    names: dict[str, str] = field(default_factory=dict)
    bad_lines: BadLinesChoice = "error"
    skipped: int = 0

    def __post_init__(self) -> None:
        self.bad = BadLines(self.bad_lines, self._tell)

    def _tell(self, error: DataFormatError) -> None:
        self.skipped += 1
        if self.skipped <= _TOLD:
            warn(f"skipped: {message_of(error)}")

    def report(self) -> None:
        """Say at the end how many lines were skipped."""
        if self.skipped:
            lines = "1 line" if self.skipped == 1 else f"{self.skipped} lines"
            warn(f"skipped: {lines} in all")

    def format_of(self, source: str) -> Format:
        """Return the format of a source: the chosen one, or what its name says."""
        return self.format or kind_of(source)

    def subjects(self, source: str) -> list[Subject]:
        """Return all subjects of a source."""
        kind = self.format_of(source)
        options: dict[str, Any] = {"bad_lines": self.bad_lines, "on_bad_line": self._tell}
        if kind == "erisk":
            return _erisk(source)
        if kind == "folder":
            try:
                return read_folder(source, **options)
            except DataFormatError as error:
                raise self._hinted(source, error) from None
        return read_subjects(source, kind=kind, **options, **self.names)

    def batches(
        self,
        sources: Sequence[str],
        *,
        streams: bool = False,
        wait: Wait | None = None,
    ) -> Iterator[list[Item]]:
        """Yield all texts of sources as they arrive; with `streams`, the posts of subjects.

        Texts before an error are yielded before it is raised. See `Wait` for `wait`.
        """
        for source in sources:
            kind = self.format_of(source)
            if kind == "erisk":
                yield from batched(posts_of(_erisk(source), source))
            elif kind == "folder":
                yield from batched(self._folder(source, streams=streams))
            else:
                is_table = kind == "csv"
                yield from read_batches(source, self.names, self.bad, is_table=is_table, wait=wait)

    def _folder(self, source: str, *, streams: bool) -> Iterator[Item]:
        if streams or has_subject_folders(source):
            yield from posts_of(self.subjects(source), source)
            return
        is_empty = True
        for document in folder_documents(source, self.bad):
            is_empty = False
            yield Item(document.text, document.label, document.id, None, source, None)
        if is_empty:
            empty = DataFormatError(f"there are no texts (.txt) in {source}")
            raise self._hinted(source, empty)

    def _hinted(self, source: str, error: DataFormatError) -> DataFormatError:
        """Return the error of a folder, with a hint if it may be a collection of eRisk."""
        files = (path.relative_to(source) for path in Path(source).rglob("*.xml"))
        if self.format is None and any(not any(map(is_clutter, file.parts)) for file in files):
            return DataFormatError(
                f"{error.message}; if it is a collection of eRisk, say --format erisk"
            )
        return error


def _erisk(source: str) -> list[Subject]:
    from watchword.erisk import read_erisk

    return read_erisk(source)
