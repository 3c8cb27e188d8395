"""A model under any settings, and the latest results kept.

Settings are free to change because values follow from counts: a model with other settings shares
its counts with the first one. Only normalised confidences cost a pass over the model.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from watchword.model.tau_ss3 import TauSS3
from watchword.web.wire import compact

_Made = TypeVar("_Made")

_TEXT_LIMIT = 200_000  # characters painted at once: more than anybody reads, less than hurts
_LEAST_LIMIT = 1_000
_NUMBERS_LIMIT = 4_000_000  # characters times labels: about 150 MB while a text is explained
_LONG = 10  # texts of more than this part of the limit are explained one by one
_KEPT = 8

_NUMBERS = ("smoothness", "significance", "sanction", "alpha", "prior")
_WHOLES = ("max_ngram", "min_count")
_CHOICES = ("ngram_scale", "significance_function", "confidence_function", "reading", "summary")
SETTINGS = (*_NUMBERS, *_WHOLES, *_CHOICES)

Settings = tuple[tuple[str, Any], ...]  # what differs from the model's own, sorted by name


class NotThereError(LookupError):
    """The page asks for a document, subject or post that there is not."""


class LatestUsed:
    """Keeps what was made for the latest keys; only one is made at a time."""

    def __init__(self, most: int = _KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Give what was made for this key, or make it now."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
                if len(self._kept) > self._most:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            made: _Made = self._kept[key]
            return made


class Models:
    """The model under any settings."""

    def __init__(self, model: TauSS3) -> None:
        self.first = model.replace()  # whoever goes on teaching theirs does not change ours
        self._kept = LatestUsed()

    def settings(self, given: Mapping[str, Any]) -> Settings:
        """Settings out of what a request says, as far as they differ from the model's.

        >>> Models(TauSS3()).settings({"smoothness": "0.3", "sanction": "0.25", "page": "2"})
        (('smoothness', 0.3),)
        """
        own = self.first.parameters
        found: dict[str, Any] = {}
        for name in SETTINGS:
            value = given.get(name)
            if value is None or value == "":
                continue
            if name in _CHOICES:
                if not isinstance(value, str):
                    raise ValueError(f"{name} must be a word, got {value!r}")
            else:
                value = _number(name, value, int if name in _WHOLES else float)
            if value != own[name]:
                found[name] = value
        return tuple(sorted(found.items()))

    def own_settings(self) -> dict[str, Any]:
        """The settings of the model itself; functions of the user's have no place on a page."""
        own = self.first.parameters
        plain = (str, int, float)
        return {name: own[name] for name in SETTINGS if isinstance(own[name], plain)}

    def under(self, settings: Settings) -> TauSS3:
        """The model under these settings."""
        return self._kept.get(settings, lambda: self.first.replace(**dict(settings)))

    @property
    def text_limit(self) -> int:
        """How many characters of a text are painted at once."""
        return text_limit(len(self.first.labels))

    def is_slow(self, text: str, settings: Settings) -> bool:
        """Whether explaining takes much: a long text, or a first pass over the model."""
        own = self.first.parameters["confidence_function"]
        function = dict(settings).get("confidence_function", own)
        return bool(len(text) > self.text_limit // _LONG or function != "gv")


def text_limit(labels: int) -> int:
    """How many characters are painted at once: every n-gram has numbers for every label.

    >>> [text_limit(labels) for labels in (2, 20, 100, 1_000_000)]
    [200000, 200000, 40000, 1000]
    """
    return max(_LEAST_LIMIT, min(_TEXT_LIMIT, _NUMBERS_LIMIT // max(labels, 1)))


def explained(model: TauSS3, text: str) -> dict[str, Any]:
    """How a text is read, for the wire; of a very long one the beginning, and what was cut off."""
    limit = text_limit(len(model.labels))
    shown = text[:limit]
    cut = {"shown": limit, "of": len(text)} if len(text) > limit else None
    return {"explanation": compact(model.explain(shown)), "cut": cut}


def _number(name: str, value: Any, kind: type[int] | type[float]) -> Any:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        return kind(value) if isinstance(value, str) else value  # the model will check it
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ValueError(f"{name} must be {what}, got {value[:50]!r}") from None  # type: ignore[index]
