"""The model of the live page with changed settings, and a cache of recent results.

Changing settings is cheap because values are computed from counts: a model with other settings
shares the counts of the original. Only normalised confidences cost a pass over the model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from watchword.model.parameter_kinds import Choice, Whole
from watchword.model.parameters import TABLE
from watchword.model.tau_ss3 import TauSS3
from watchword.web.wire import compact

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
