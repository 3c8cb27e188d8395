"""The wire format of the live page: compact explanations, and JSON that any browser can read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from watchword._display import finite
from watchword.model.explanation import Explanation
from watchword.show.blocks import Rules, StyleRule, plain_of

_HEAD = ("text", "labels", "label", "value", "summary")
_NUMBERS = ("share", "value", "contribution", "count", "lv", "sg", "sn", "counted", "corrected")
_LARGEST = 12  # n-grams of a refined score, for each label
_HALVES = re.compile("[\ud800-\udfff]")


def to_json(value: Any) -> bytes:
    r"""Return JSON in UTF-8, with null for NaN and infinities and U+FFFD for lone surrogates.

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


def compact(
    explanation: Explanation | Mapping[str, Any], scale: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Return the data of `Explanation.to_dict` and how strongly each block is painted, compactly.

    Long texts repeat their n-grams, each with six numbers per label, most of them 0. So `blocks`,
    in text order and each before its inner blocks, are lists of start, end and index into `rules`.
    `expand` in paint.js restores the shape of `to_dict`. Of the n-grams of a refined score, those
    that add most to each label are sent: `largest`. `highest` is what the strongest colour stands
    for at each level, of this text or of all that share a `scale`.
    """
    rules = Rules(scale)
    places = rules.add(explanation)
    own = plain_of(explanation)
    plain = {name: own[name] for name in _HEAD} | {
        "blocks": places,
        "rules": [_without_zeros(rules, rule) for rule in rules.all],
        "highest": rules.highest,
    }
    if own.get("bias") is None:
        return plain
    columns = range(len(own["labels"]))
    largest = [_largest(rules, at) for at in columns]
    return plain | {"bias": own["bias"], "probability": own.get("probability"), "largest": largest}


def _largest(rules: Rules, column: int) -> list[list[Any]]:
    found = rules.largest("ngram", column, _LARGEST)
    return [[one.words, one.times, one.counted, one.corrected, one.total] for one in found]


def _without_zeros(rules: Rules, rule: StyleRule) -> list[Any]:
    """Return a block's kind, n-gram and the label it supports, and its numbers.

    Numbers are sent for the columns in which any is not zero, after these columns.
    """
    block = rule.block
    own = {**block, "share": rules.shares(rule)}
    if own["contribution"] == own["value"]:
        own["contribution"] = 0  # equal numbers are sent once
    numbers = [own.get(name) for name in _NUMBERS]
    by_label = zip(*filter(None, numbers), strict=True)
    columns = [column for column, each in enumerate(by_label) if any(each)]
    sparse = (each and [each[column] for column in columns] for each in numbers)
    return [block["kind"], block.get("ngram"), rules.speaks_for(rule), columns, *sparse]
