"""Rows of CSV files, and the one way from a source to items: JSON lines or tables.

Bytes become lines in `lines`, lines become items in `records` and `tables`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Generic, Literal, TypeVar, get_args

from watchword._checks import as_choice
from watchword.data.lines import (
    BadLines,
    Flaw,
    Line,
    LineBatch,
    Source,
    Wait,
    decoded,
    line_batches,
    name_of,
    shown,
)
from watchword.data.records import Fields, Record, json_items
from watchword.errors import DataFormatError

_Item = TypeVar("_Item")

_DELIMITERS = ",\t;"
_HUGE_ROW = 1 << 16


def as_delimiter(delimiter: str | None) -> str | None:
    """Return a delimiter that the csv module accepts; None for one to be found in the header."""
    if delimiter is None:
        return None
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n" ':
        raise ValueError(f"delimiter must be one character such as ',', got {delimiter!r}")
    return delimiter


def row_batches(
    batches: Iterable[LineBatch],
    read: Callable[[Record], _Item],
    bad: BadLines,
    *,
    name: str,
    fields: Fields,
    delimiter: str | None,
) -> Iterator[Iterator[tuple[int, _Item]]]:
    """Yield for each batch of lines what `read` makes of the rows that it completes.

    Each item comes with the number of the line where its row begins.
    """
    table = _Table(read, bad, name, fields, delimiter or "")
    for batch in batches:
        yield table.items(batch)
    if table.header is None or table.held:
        yield table.items((), is_end=True)


@dataclass
class _Table(Generic[_Item]):
    """A table whose lines come in batches.

    The csv module cannot pause within a row: the lines of a row that is not complete are held back,
    and read again with those of the next batch.
    """

    read: Callable[[Record], _Item]
    bad: BadLines
    name: str
    fields: Fields
    delimiter: str  # empty until it is detected
    header: _Header | None = None
    held: list[tuple[int, Line]] = field(default_factory=list)
    tried: int = 0  # size of the held row when it was read last
    arrived: int = 0  # and now

    def items(self, batch: LineBatch, *, is_end: bool = False) -> Iterator[tuple[int, _Item]]:
        """Yield the items of complete rows, each with the number of its first line."""
        lines = _Lines(self._due(batch, is_end=is_end))
        cells = None
        while True:
            lines.begin_row()
            try:
                cells = cells or self._cells(lines)
                row = next(cells)
                if lines.flaw:
                    raise lines.flaw
                if self.header is None:
                    self.header = _Header(row, self.fields)
                    continue
                if not row:
                    continue
                item = self.read(self.header.record(row))
            except StopIteration:
                break
            except csv.Error as error:
                if not is_end and "unexpected end of data" in str(error):
                    self._hold(lines.row)
                    return
                self._meet(_row_flaw(error), lines.number)
            except Flaw as flaw:
                self._meet(flaw, lines.number)
            else:
                yield lines.number, item
        if is_end and self.header is None:
            raise DataFormatError(
                f"{self.name} is empty: it needs a row with the names of the columns"
            )

    def _cells(self, lines: _Lines) -> Iterator[list[str]]:
        """Return a reader of rows; the delimiter may be detected from the first line."""
        begun = [] if self.header is not None else [lines.first()]
        if not self.delimiter:
            self.delimiter = _delimiter(begun[0], _known(self.fields))
        return csv.reader(chain(begun, lines), delimiter=self.delimiter, strict=True)

    def _meet(self, flaw: Flaw, line: int) -> None:
        """Skip a bad row, or raise its error; a bad header is always an error."""
        if self.header is None:
            raise flaw.at(f"{self.name}, line {line}") from None
        self.bad.meet(flaw, name=self.name, line=line)

    def _hold(self, row: list[tuple[int, Line]]) -> None:
        self.held = row
        self.tried = self.arrived = sum(len(line) for _, line in row)

    def _due(self, batch: LineBatch, *, is_end: bool) -> LineBatch:
        """Return the lines to read now: none if a huge row was read before and has hardly grown.

        Reading it again whenever a few bytes arrive would take quadratic time.
        """
        if not self.held:
            return batch
        arrived = list(batch)
        self.held += arrived
        self.arrived += sum(len(line) for _, line in arrived)
        if not is_end and self.tried > max(_HUGE_ROW, self.arrived - self.tried):
            return ()
        due, self.held = self.held, []
        return due


class _Lines:
    """Lines as text for the csv module; those of the current row, and its flaw, are remembered."""

    def __init__(self, numbered: LineBatch) -> None:
        self._numbered = iter(numbered)
        self.begin_row()

    def begin_row(self) -> None:
        """Forget the lines of the previous row."""
        self.row: list[tuple[int, Line]] = []
        self.flaw: Flaw | None = None

    @property
    def number(self) -> int:
        """The number of the row's first line."""
        return self.row[0][0]

    def first(self) -> str:
        """Return the first line that is not blank."""
        while (line := next(self)).isspace():
            self.begin_row()
        return line

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        number, line = next(self._numbered)
        self.row.append((number, line))
        try:
            text = decoded(line)
        except Flaw as flaw:  # the row goes on to its end all the same
            self.flaw = self.flaw or flaw
            text = str(line, "utf-8", "surrogateescape")  # type: ignore[arg-type]
        return text if text.endswith("\n") else f"{text}\n"


class _Header:
    """The columns of a table."""

    def __init__(self, row: Sequence[str], fields: Fields) -> None:
        self._width = len(row)
        self._columns = _columns([cell.strip() for cell in row], _known(fields), fields)
        self._text = fields["text"][0]
        self._seq = fields.get("seq", ("",))[0]

    def record(self, row: Sequence[str]) -> Record:
        """Return a row by the names of its columns; an empty cell is a missing value."""
        if len(row) != self._width:
            raise Flaw(
                f"{len(row)} cells, but the header has {self._width}: quote cells that contain the "
                "delimiter or a line end"
            )
        record: dict[str, object] = {name: row[at] or None for name, at in self._columns.items()}
        record[self._text] = record[self._text] or ""  # a text may be empty
        if record.get(self._seq) is not None:
            record[self._seq] = _number(str(record[self._seq]))
        return record


def _known(fields: Fields) -> set[str]:
    return {one for names in fields.values() for one in names}


def _delimiter(header: str, known: set[str]) -> str:
    """Return the delimiter that yields the most known columns; ties go to the most columns."""

    def found(delimiter: str) -> tuple[int, int]:
        cells = [cell.strip() for cell in next(csv.reader([header], delimiter=delimiter))]
        return len(known & set(cells)), len(cells)

    return max(_DELIMITERS, key=found)


def _columns(header: list[str], known: set[str], fields: Fields) -> dict[str, int]:
    """Return the indices of the columns that we know."""
    columns: dict[str, int] = {}
    for at, name in enumerate(header):
        if name in columns:
            raise Flaw(f"duplicate column {shown(name)}: rename one")
        if name in known:
            columns[name] = at
    for wanted in ("subject", "text"):
        own = fields[wanted][0] if wanted in fields else None
        if own is not None and own not in columns:
            listed = shown(", ".join(header))
            raise Flaw(f'column "{own}" not found among {listed}', arguments=(wanted, "delimiter"))
    return columns


def _row_flaw(error: csv.Error) -> Flaw:
    if "limit" in str(error):
        return Flaw(
            f"a cell has more than {csv.field_size_limit()} characters: close its quotes, or raise "
            "the limit with csv.field_size_limit"
        )
    reason = str(error).partition(" - ")[0]
    return Flaw(
        f"invalid row ({reason}): double the quotes inside quoted cells, and close all quotes"
    )


def _number(cell: str) -> object:
    """Return the number in a cell, or the cell itself if it is not a number."""
    try:
        return int(cell)
    except ValueError:
        with suppress(ValueError):
            return float(cell)
    return cell


Kind = Literal["jsonl", "csv", "folder", "label_files"]

_Read = TypeVar("_Read")

_KINDS: tuple[Kind, ...] = get_args(Kind)


def kind_of(source: Source, kind: Kind | None = None) -> Kind:
    """Return the kind of a source: the given one, or else what its name says.

    >>> kind_of("posts.tsv.gz")
    'csv'
    """
    if kind is not None:
        return as_choice("kind", kind, _KINDS)
    if not isinstance(source, str | os.PathLike) or source == "-":
        return "jsonl"
    path = Path(source)
    if path.is_dir():
        return "folder"
    return "csv" if path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv")) else "jsonl"


def item_batches(
    source: Source,
    read: Callable[[Record], _Read],
    bad: BadLines,
    *,
    table: Fields | None = None,
    delimiter: str | None = None,
    wait: Wait | None = None,
) -> Iterator[Iterator[tuple[int, _Read]]]:
    """Yield what `read` makes of the records that arrive, each with the number of its line.

    The source is a table with these fields, or else JSON lines. A batch is read while it is
    iterated over, and must be before the next one. See `line_batches` for `wait`.
    """
    name = name_of(source)
    batches = line_batches(source, wait)
    if table is not None:
        return row_batches(batches, read, bad, name=name, fields=table, delimiter=delimiter)
    return (json_items(batch, read, bad, name=name) for batch in batches)
