"""A model under any settings, and the latest results kept.

Settings are free to change because values follow from counts: a model with other settings shares
its counts with the first one. Only normalised confidences cost a pass over the model.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from watchword.model import TauSS3
from watchword.web.wire import compact

_Made = TypeVar("_Made")

TEXT_LIMIT = 200_000  # characters painted at once: more than anybody reads, less than hurts
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

        >>> Models(TauSS3()).settings({"smoothness": "0.3", "sanction": "1", "page": "2"})
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

    def is_slow(self, settings: Settings) -> bool:
        """Whether the first reading costs a pass over the model."""
        own = self.first.parameters["confidence_function"]
        return bool(dict(settings).get("confidence_function", own) != "gv")


def explained(model: TauSS3, text: str) -> dict[str, Any]:
    """How a text is read, for the wire; of a very long one the beginning, and what was cut off."""
    shown = text[:TEXT_LIMIT]
    cut = {"shown": TEXT_LIMIT, "of": len(text)} if len(text) > TEXT_LIMIT else None
    return {"explanation": compact(model.explain(shown)), "cut": cut}


def _number(name: str, value: Any, kind: type[int] | type[float]) -> Any:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        return kind(value) if isinstance(value, str) else value  # the model will check it
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ValueError(f"{name} must be {what}, got {value[:50]!r}") from None  # type: ignore[index]
