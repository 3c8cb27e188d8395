"""What goes over the wire: explanations in few bytes, and JSON that any browser can read."""

from __future__ import annotations

import json
import re
from typing import Any

from watchword._display import finite
from watchword.model.explanation import Block, Explanation, NgramBlock

_HALVES = re.compile("[\ud800-\udfff]")


def to_json(value: Any) -> bytes:
    r"""JSON in UTF-8; null for what JSON has no number for, U+FFFD for halves of characters.

    >>> to_json({"delay": float("nan"), "text": "a\ud800"}).decode()
    '{"delay":null,"text":"a\ufffd"}'
    """
    options: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}
    try:
        text = json.dumps(value, **options)
    except ValueError:
        text = json.dumps(finite(value), **options)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _HALVES.sub("\ufffd", text).encode()


def compact(explanation: Explanation) -> dict[str, Any]:
    """Say what `Explanation.to_dict` says, every distinct n-gram once and without zeros.

    Long texts repeat their n-grams, each has five numbers per label, and most are 0. `expand` in
    page.js makes the shape of `to_dict` of it. Blocks are lists: start, end, value, parts, and the
    contribution if it is not the value; an n-gram has its place among `ngrams` instead of value and
    parts. There are its spelling, the columns of the labels that it has numbers for, and these.
    """
    rows: dict[tuple[Any, ...], int] = {}
    return {
        "text": explanation.text,
        "labels": list(explanation.labels),
        "label": explanation.label,
        "value": list(explanation.value),
        "summary": dict(explanation.summary),
        "blocks": [_compact_block(block, rows) for block in explanation.blocks],
        "ngrams": [_without_zeros(*row) for row in rows],
    }


def _compact_block(block: Block, rows: dict[tuple[Any, ...], int]) -> list[Any]:
    if isinstance(block, NgramBlock):
        row = (block.ngram, block.value, block.count, block.lv, block.sg, block.sn)
        plain: list[Any] = [block.start, block.end, rows.setdefault(row, len(rows))]
    else:
        parts = [_compact_block(part, rows) for part in block.blocks]
        plain = [block.start, block.end, block.value, parts]
    if block.contribution != block.value:
        plain.append(block.contribution)
    return plain


def _without_zeros(ngram: str, *numbers: tuple[float, ...]) -> list[Any]:
    by_label = zip(*numbers, strict=True)
    columns = [column for column, own in enumerate(by_label) if any(own)]
    return [ngram, columns, *([row[column] for column in columns] for row in numbers)]
