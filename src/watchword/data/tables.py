"""Rows of CSV files: a header with the names of fields, then one record per row."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain
from typing import TypeVar

from watchword.data.lines import (
    BadLines,
    Flaw,
    Line,
    Source,
    decoded,
    name_of,
    numbered_lines,
    shown,
)
from watchword.data.records import Fields, Record
from watchword.errors import DataFormatError

_Item = TypeVar("_Item")

_DELIMITERS = ",\t;"
_HUGE_ROW = 1 << 16


def as_delimiter(delimiter: str | None) -> str | None:
    """A delimiter that the csv module accepts; None is to be found out."""
    if delimiter is None:
        return None
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n" ':
        raise ValueError(f"delimiter must be one character such as ',', got {delimiter!r}")
    return delimiter


def read_rows(
    source: Source,
    read: Callable[[Record], _Item],
    bad: BadLines,
    *,
    fields: Fields,
    delimiter: str | None,
) -> Generator[tuple[int, _Item], None, None]:
    """What `read` makes of each row, with the number of the line where the row begins."""
    name = name_of(source)
    with closing(numbered_lines(source)) as numbered:
        lines = _Lines(numbered)
        yield from _Table(lines, name, fields, delimiter).items(read, bad)


def arriving_rows(
    batches: Iterable[Sequence[tuple[int, Line]]],
    read: Callable[[Record], _Item],
    bad: BadLines,
    *,
    name: str,
    fields: Fields,
    delimiter: str | None,
) -> Iterator[list[tuple[int, _Item]]]:
    """The same for lines that come in batches: at once for every row that is whole.

    What comes before an error is handed out before it is raised.
    """
    arrived: deque[tuple[int, Line]] = deque()
    lines = _Lines(iter(arrived.popleft, None), ended=False)
    table: _Table | None = None
    unread = 0
    for batch in chain(batches, [None]):
        arrived.extend(batch or ())
        unread += sum(len(line) for _, line in batch or ())
        lines.ended = batch is None
        found: list[tuple[int, _Item]] = []
        if not lines.ended and unread < lines.held > _HUGE_ROW:
            yield found  # read again and again, a huge row would never come to its end
            continue
        unread = 0
        try:
            if table is None and (lines.ended or _has_header(arrived)):
                table = _Table(lines, name, fields, delimiter)
            if table is not None:
                found.extend(table.items(read, bad))
        except DataFormatError:
            yield found
            raise
        yield found


def _has_header(lines: Iterable[tuple[int, Line]]) -> bool:
    """Whether there is a first row, and all of it."""
    begun = quotes = 0
    for _, line in lines:
        text = bytes(line, "utf-8") if isinstance(line, str) else line
        begun += not text.isspace() and bool(text)
        quotes += text.count(b'"')
        if begun and quotes % 2 == 0:
            return True
    return False


class _Lines:
    """Lines for the csv module, which needs text; what is not remembers its flaw.

    Where more is to come (not `ended`), the lines of a row can be read again with those.
    """

    def __init__(self, numbered: Iterator[tuple[int, Line]], *, ended: bool = True) -> None:
        self._numbered = numbered
        self._again: deque[tuple[int, Line]] = deque()
        self._row: list[tuple[int, Line]] = []
        self.ended = ended
        self.held = 0  # the size of a row that is not whole
        self.number = 0
        self.flaw: Flaw | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def begin_row(self) -> int:
        """The number of the line where the next row begins."""
        self._row.clear()
        self.held = 0
        return self.number + 1

    def read_again(self) -> None:
        """Go back to where the row began."""
        self.flaw = None
        self.held = sum(len(line) for _, line in self._row)
        self._again.extendleft(reversed(self._row))
        self.number -= len(self._row)
        self._row.clear()

    def __next__(self) -> str:
        if self._again:
            pair = self._again.popleft()
        else:
            try:
                pair = next(self._numbered)
            except IndexError:  # of what arrives in batches, for now
                raise StopIteration from None
        if not self.ended:
            self._row.append(pair)
        self.number, line = pair
        try:
            text = decoded(line)
        except Flaw as flaw:  # what the row is worth can be said only where it ends
            self.flaw = self.flaw or flaw
            text = str(line, "utf-8", "surrogateescape")  # type: ignore[arg-type]
        return text if text.endswith("\n") else f"{text}\n"

    def take_flaw(self) -> Flaw | None:
        """The first flaw since this was asked last."""
        flaw, self.flaw = self.flaw, None
        return flaw


class _AfterFirst:
    """A line, and then others; unlike `itertools.chain`, not at its end when those are for now."""

    def __init__(self, first: str, lines: _Lines) -> None:
        self._first: str | None = first
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        first, self._first = self._first, None
        return next(self._lines) if first is None else first


class _Table:
    """A header, and what it makes of rows."""

    def __init__(self, lines: _Lines, name: str, fields: Fields, delimiter: str | None) -> None:
        self._name = name
        self._lines = lines
        self._text = fields["text"][0]
        self._seq = fields.get("seq", ("",))[0]
        known = {one for names in fields.values() for one in names}
        first = next((line for line in lines if not line.isspace()), None)
        if first is None:
            raise DataFormatError(f"{name} is empty: it needs a row with the names of columns")
        begin = lines.number
        try:
            sign = delimiter or _delimiter(first, known)
            self._cells = csv.reader(_AfterFirst(first, lines), delimiter=sign, strict=True)
            header = [cell.strip() for cell in next(self._cells)]
            if flaw := lines.take_flaw():
                raise flaw
            self._columns = _columns(header, known, fields)
        except (csv.Error, Flaw) as error:
            flaw = _row_flaw(error) if isinstance(error, csv.Error) else error
            raise flaw.at(f"{name}, line {begin}") from None
        self._width = len(header)

    def items(self, read: Callable[[Record], _Item], bad: BadLines) -> Iterator[tuple[int, _Item]]:
        """What `read` makes of the rows, each with the number of its first line."""
        for number, row in self._rows(bad):
            try:
                item = read(self._record(row))
            except Flaw as flaw:
                bad.meet(flaw, name=self._name, line=number)
                continue
            yield number, item

    def _rows(self, bad: BadLines) -> Iterator[tuple[int, Sequence[str]]]:
        """The rows that can be read, each with the number of its first line."""
        lines = self._lines
        while True:
            begin = lines.begin_row()
            try:
                row = next(self._cells)
                if flaw := lines.take_flaw():
                    raise flaw
            except StopIteration:
                return
            except csv.Error as error:
                if not lines.ended and "unexpected end of data" in str(error):
                    lines.read_again()
                    return
                lines.take_flaw()
                bad.meet(_row_flaw(error), name=self._name, line=begin)
            except Flaw as flaw:
                bad.meet(flaw, name=self._name, line=begin)
            else:
                if row:
                    yield begin, row

    def _record(self, row: Sequence[str]) -> Record:
        """A row by the names of its columns; an empty cell is a value that is missing."""
        if len(row) != self._width:
            raise Flaw(
                f"{len(row)} cells where the header has {self._width}: put cells that hold the "
                "delimiter or a line end between quotes"
            )
        record: dict[str, object] = {name: row[at] or None for name, at in self._columns.items()}
        record[self._text] = record[self._text] or ""  # people do write nothing
        if record.get(self._seq) is not None:
            record[self._seq] = _number(str(record[self._seq]))
        return record


def _delimiter(header: str, known: set[str]) -> str:
    """The delimiter that finds most of the columns we know, then most columns."""

    def found(delimiter: str) -> tuple[int, int]:
        cells = [cell.strip() for cell in next(csv.reader([header], delimiter=delimiter))]
        return len(known & set(cells)), len(cells)

    return max(_DELIMITERS, key=found)


def _columns(header: list[str], known: set[str], fields: Fields) -> dict[str, int]:
    """Where the columns are that we know."""
    columns: dict[str, int] = {}
    for at, name in enumerate(header):
        if name in columns:
            raise Flaw(f"two columns are called {shown(name)}: rename one")
        if name in known:
            columns[name] = at
    for field in ("subject", "text"):
        if field in fields and fields[field][0] not in columns:
            listed = shown(", ".join(header))
            raise Flaw(
                f'there is no column "{fields[field][0]}" among {listed}',
                arguments=(field, "delimiter"),
            )
    return columns


def _row_flaw(error: csv.Error) -> Flaw:
    if "limit" in str(error):
        return Flaw(
            f"a cell of more than {csv.field_size_limit()} characters: close its quotes, or raise "
            "the limit with csv.field_size_limit"
        )
    reason = str(error).partition(" - ")[0]
    return Flaw(f"not a row ({reason}): double the quotes inside of quotes, and close them")


def _number(cell: str) -> object:
    """The number in a cell, or the cell, which is then no number."""
    try:
        return int(cell)
    except ValueError:
        with suppress(ValueError):
            return float(cell)
    return cell
