"""Inputs: the one way from a source to items, for files and pipes, JSON lines and tables.

Bytes become lines in `lines`, lines become items in `records` and `tables`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeVar, get_args

from watchword._checks import as_choice
from watchword.data.flaws import BadLines
from watchword.data.lines import Source, Wait, line_batches, name_of
from watchword.data.records import Fields, Record, json_items
from watchword.data.tables import row_batches

Kind = Literal["jsonl", "csv", "folder", "label_files"]

_Item = TypeVar("_Item")

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
    read: Callable[[Record], _Item],
    bad: BadLines,
    *,
    table: Fields | None = None,
    delimiter: str | None = None,
    wait: Wait | None = None,
) -> Iterator[Iterator[tuple[int, _Item]]]:
    """Yield what `read` makes of the records that arrive, each with the number of its line.

    The source is a table with these fields, or else JSON lines. A batch is read while it is
    iterated over, and must be before the next one. See `line_batches` for `wait`.
    """
    name = name_of(source)
    batches = line_batches(source, wait)
    if table is not None:
        return row_batches(batches, read, bad, name=name, fields=table, delimiter=delimiter)
    return (json_items(batch, read, bad, name=name) for batch in batches)
