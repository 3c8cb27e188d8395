"""Data made safe to show: text without control characters, JSON, CSV, aligned tables; and views."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

_LISTED = 10  # settings in a ranking
_SCALARS = {str, int, float, bool, type(None)}
_LONGEST_NAME = 120  # characters of a label or n-gram: a word may be a megabyte long
_REPLACEMENT = "\ufffd"
# Characters that reverse the text direction or are invisible, so that different ids would look the
# same. The joiners U+200C and U+200D stay: Persian, Indic scripts and emoji need them, and so do
# the tags (from U+E0020) that spell some flags.
_INVISIBLE = (
    [0x061C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF, 0xE0001],
    range(0x202A, 0x202F),
    range(0x2060, 0x2070),
    range(0xFFF9, 0xFFFC),
)


def _stand_ins() -> dict[int, str]:
    """Return a visible replacement for each control character and lone surrogate."""
    table = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    table[0x7F] = "\u2421"
    table |= dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT)
    table |= {code: _REPLACEMENT for codes in _INVISIBLE for code in codes}
    table |= dict.fromkeys([0x2028, 0x2029], "\u2424")
    return table | dict.fromkeys(range(0xD800, 0xE000), _REPLACEMENT)


VISIBLE = _stand_ins()


def visible(text: str) -> str:
    r"""Replace each control character by one visible character, so that offsets stay the same.

    Line feeds and tabs stay. Characters that could move the cursor, recolour the terminal or
    reverse the text direction, and lone surrogates, are made visible.

    >>> visible("red\x1b[31m alert\n")
    'red␛[31m alert\n'
    """
    return text.translate(VISIBLE)


def excerpt(name: object, longest: int = _LONGEST_NAME) -> str:
    """Return the beginning of a name that is too long to show.

    >>> excerpt("short"), len(excerpt("x" * 1000))
    ('short', 120)
    """
    text = str(name)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def finite(value: Any) -> Any:
    """Return the value with None in place of NaN and infinity, which JSON does not have.

    >>> finite({"latency": float("nan"), "delays": (1, 2.5)})
    {'latency': None, 'delays': [1, 2.5]}
    """
    if isinstance(value, Mapping):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class ToDict:
    """Base class of data classes: `to_dict` returns all fields as plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: strings, numbers, lists and dictionaries only."""
        own: Any = self
        return {name: plain(getattr(own, name)) for name in own.__dataclass_fields__}


def plain(value: Any) -> Any:
    """Return data classes and named tuples as dictionaries and tuples as lists, at any depth."""
    if type(value) in _SCALARS:  # first, because most values are
        return value
    if isinstance(value, list | tuple) and not hasattr(value, "_asdict"):
        return [plain(each) for each in value]
    if isinstance(value, tuple):
        value = value._asdict()  # type: ignore[attr-defined]
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    return value.to_dict() if hasattr(value, "to_dict") else value


def many(number: int, what: str) -> str:
    """Return a number with its noun, in the singular or plural.

    >>> many(1, "text"), many(2000, "text")
    ('1 text', '2,000 texts')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def aligned(rows: Sequence[Sequence[str]], words: int = 1) -> list[str]:
    """Return lines of aligned columns; the first `words` columns are left-aligned.

    >>> aligned([("F1", "0.5"), ("recall", "12")])
    ['F1      0.5', 'recall   12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if column < words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def named_values(values: Mapping[str, Any]) -> str:
    """Return values with their names, as in a call: `prior=1, max_ngram=3`."""
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def ranked_lines(measure: str, settings: Sequence[tuple[float, str]]) -> list[str]:
    """Return a table of settings, best first, with their values; only the first ten are listed."""
    lines = [f"{measure:>10}  setting"]
    lines += [f"{value:10.4f}  {setting}" for value, setting in settings[:_LISTED]]
    more = len(settings) - _LISTED
    return [*lines, f"and {more} more"] if more > 0 else lines


def csv_of(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str] | None = None,
    *,
    spreadsheet_safe: bool = False,
) -> str:
    r"""Return rows as CSV with a header; None is an empty cell.

    `columns` defaults to the keys of the first row. With `spreadsheet_safe`, text that a
    spreadsheet would run as a formula gets a leading apostrophe; numbers are unchanged.

    >>> csv_of([{"subject": "=1+1", "score": -0.5}], spreadsheet_safe=True)
    "subject,score\n'=1+1,-0.5\n"
    """
    names = list(columns or rows[0])
    cells = [names, *([row[name] for name in names] for row in rows)]
    if spreadsheet_safe:
        cells = [[_not_run(cell) for cell in row] for row in cells]
    return "".join(map(_csv_line, cells))


# First characters of formulas; East Asian versions of spreadsheets also accept the wide forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def _not_run(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def _csv_line(cells: Sequence[Any]) -> str:
    buffer = io.StringIO()
    # The writer quotes only the characters of its own line terminator, and an id may contain both.
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue().removesuffix("\r\n") + "\n"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, the number of the others, and "is" or "are".

    >>> listed(["ann"]), listed(["ann", "bob", "cid"], 2)
    ('ann is', 'ann, bob and 1 more are')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more + (" is" if len(names) == 1 else " are")


_views: dict[str, str] = {}


def register_views(modules: Mapping[str, str]) -> None:
    """Register functions that draw plain data: the module of each, by its name.

    Results can then be drawn without an import of what draws them.
    """
    _views.update(modules)


def view(name: str) -> Any:
    """Return a registered function that draws plain data, importing its module."""
    return getattr(import_module(_views[name]), name)
