"""The model of the live page with changed settings; its wire format; progress of slow work.

Changing settings is cheap because values are computed from counts: a model with other settings
shares the counts of the original. Only normalised confidences cost a pass over the model.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from watchword._display import finite
from watchword.explain.blocks import Rules, StyleRule, plain_of
from watchword.model.explanation import Explanation
from watchword.model.parameters import TABLE, Choice, Whole
from watchword.model.tau_ss3 import TauSS3

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


class GivenUpError(Exception):
    """Work that was cancelled because its result is no longer needed."""


class SharedProgress:
    """A progress callback (see `watchword._checks`) whose state other threads can read.

    Slow work is done one at a time, so there is at most one state.

    >>> progress = SharedProgress()
    >>> for item in progress(["a", "b"], 2):
    ...     print(item, progress.state())
    a {'done': 0, 'total': 2}
    b {'done': 1, 'total': 2}
    >>> progress.state() is None
    True
    """

    def __init__(self) -> None:
        self._at: tuple[int, int] | None = None
        self._unwanted = threading.Event()

    def __call__(self, items: Iterable[Any], total: int) -> Iterator[Any]:
        """Yield the items, or raise `GivenUpError` after `give_up`."""
        try:
            for done, item in enumerate(items):
                self._at = done, total
                if self._unwanted.is_set():
                    raise GivenUpError
                yield item
        finally:
            self._at = None

    def state(self) -> dict[str, int] | None:
        """Return the number of items done and of all, or None while nothing is counted."""
        at = self._at
        return None if at is None else {"done": at[0], "total": at[1]}

    def begin(self) -> None:
        """Say that the result of the next work is wanted."""
        self._unwanted.clear()

    def give_up(self) -> None:
        """Say that the result of the current work is no longer wanted."""
        self._unwanted.set()


_Made = TypeVar("_Made")

_TEXT_LIMIT = 200_000  # characters painted at once: keeps browsers fast
_LEAST_LIMIT = 1_000
_NUMBERS_LIMIT = 4_000_000  # characters times labels: about 150 MB while a text is explained
_LONG = 10  # texts longer than the limit divided by this are explained one at a time
_KEPT = 8

SETTINGS = {one.name: one for one in TABLE if one.title is not None}

Settings = tuple[tuple[str, Any], ...]  # differences from the model's own, sorted by name


class NotThereError(LookupError):
    """A document, subject, post, label or picture that does not exist."""


def found_at(items: Sequence[_Made], at: int, what: str, *, first: int = 0) -> _Made:
    """Return the item with a number; raise `NotThereError` if there is none."""
    if not first <= at < first + len(items):
        raise NotThereError(f"{what} {at} not found: there are {len(items)} {what}s")
    return items[at - first]


class LatestUsed:
    """A cache of the most recently used results, computed one at a time."""

    def __init__(self, most: int = _KEPT) -> None:
        self._most = most
        self._kept: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return the cached result for a key, computing it if necessary."""
        with self._lock:
            made: _Made = self._kept.pop(key) if key in self._kept else make()
            self._kept[key] = made  # at the end: the first is the one used least recently
            if len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
            return made


class Models:
    """The model with any settings."""

    def __init__(self, model: TauSS3) -> None:
        self.first = model.replace()  # a copy: later learning does not change the page
        self._kept = LatestUsed()

    def settings(self, given: Mapping[str, Any]) -> Settings:
        """Return the settings in a request that differ from the model's own.

        >>> Models(TauSS3()).settings({"smoothness": "0.3", "sanction": "0.25", "page": "2"})
        (('smoothness', 0.3),)
        """
        own = self.first.parameters
        found: dict[str, Any] = {}
        for name, one in SETTINGS.items():
            value = given.get(name)
            if value is None or value == "":
                continue
            if isinstance(one, Choice):
                if not isinstance(value, str):
                    raise ValueError(f"{name} must be a string, got {value!r}")
            else:
                value = _number(name, value, int if isinstance(one, Whole) else float)
            if value != own[name]:
                found[name] = value
        return tuple(sorted(found.items()))

    def own_settings(self) -> dict[str, Any]:
        """Return the model's own settings, without those that are Python functions."""
        own = self.first.parameters
        plain = (str, int, float)
        return {name: own[name] for name in SETTINGS if isinstance(own[name], plain)}

    def under(self, settings: Settings) -> TauSS3:
        """Return the model with these settings."""
        return self._kept.get(settings, lambda: self.first.replace(**dict(settings)))

    @property
    def text_limit(self) -> int:
        """The largest number of characters painted at once."""
        return text_limit(len(self.first.labels))

    def is_slow(self, text: str, settings: Settings) -> bool:
        """Return whether explaining is slow: a long text, or a pass over the model."""
        own = self.first.parameters["confidence_function"]
        function = dict(settings).get("confidence_function", own)
        return bool(len(text) > self.text_limit // _LONG or function != "gv")


def text_limit(labels: int) -> int:
    """Return the largest number of characters painted at once; it falls with the number of labels.

    >>> [text_limit(labels) for labels in (2, 20, 100, 1_000_000)]
    [200000, 200000, 40000, 1000]
    """
    return max(_LEAST_LIMIT, min(_TEXT_LIMIT, _NUMBERS_LIMIT // max(labels, 1)))


def explained(model: TauSS3, text: str, scale: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Return the explanation of a text in the wire format; a very long text is cut."""
    limit = text_limit(len(model.labels))
    shown = text[:limit]
    cut = {"shown": limit, "of": len(text)} if len(text) > limit else None
    return {"explanation": compact(model.explain(shown), scale), "cut": cut}


def _number(name: str, value: Any, kind: type[int] | type[float]) -> Any:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        return kind(value) if isinstance(value, str) else value  # checked by the model
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ValueError(f"{name} must be {what}, got {value[:50]!r}") from None  # type: ignore[index]
