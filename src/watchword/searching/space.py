"""Search spaces: lists of values and ranges, and the settings drawn from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from watchword._checks import as_above_zero, as_number, as_whole
from watchword.model.parameters import TABLE, Parameters

_DIGITS = 3  # significant digits of drawn numbers
_DRAWS_PER_SETTING = 100  # limit, because drawing from an exhausted space would never end

PRUNE = "prune"  # floor for pruning after learning, 0 for none; not an argument of a model
SEARCHED = (*(one.name for one in TABLE if one.name != "default_label"), PRUNE)


@dataclass(frozen=True)
class Between:
    """A range of numbers from `low` to `high`, uniform on a logarithmic scale with `log`.

    >>> Between(0.1, 10)
    Between(low=0.1, high=10.0, log=True)
    """

    low: float
    high: float
    log: bool = True

    def __post_init__(self) -> None:
        check = as_above_zero if self.log else as_number
        object.__setattr__(self, "low", check("low", self.low))
        object.__setattr__(self, "high", check("high", self.high))
        if self.low >= self.high:
            raise ValueError(f"low must be less than high, got {self.low:g} and {self.high:g}")

    def draw(self, generator: np.random.Generator) -> float:
        """Draw a number, rounded to three significant digits."""
        if self.log:
            drawn = math.exp(generator.uniform(math.log(self.low), math.log(self.high)))
        else:
            drawn = generator.uniform(self.low, self.high)
        return min(max(float(f"{drawn:.{_DIGITS}g}"), self.low), self.high)


Space = Mapping[str, Sequence[Any] | Between]
Setting = dict[str, Any]

DEFAULT_SPACE: dict[str, Sequence[Any] | Between] = {
    "smoothness": Between(0.03, 0.6),
    "significance": Between(0.1, 4),
    "sanction": [0.25, 0.5, 1, 2],
    "prior": Between(0.1, 10),
    "label_weight": [0, 0.15, 0.3, 0.5],
    "max_ngram": [1, 2, 3],
    "counting": ["documents", "occurrences"],
}
"""The default search space: the parameters that matter on most corpora."""


def check_space(space: Space) -> None:
    """Raise an error for names and values that a model cannot have."""
    if not isinstance(space, Mapping):
        raise TypeError(f"the space to search must map names to values, got {space!r}")
    if not space:
        raise ValueError("the space to search must not be empty")
    for name, values in space.items():
        _check_name(name)
        if isinstance(values, Between):
            check_setting({name: values.low})
            check_setting({name: values.high})
            continue
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise TypeError(f"space[{name!r}] must be a list of values or Between, got {values!r}")
        if not values:
            raise ValueError(f"space[{name!r}] must not be empty")
        for value in values:
            check_setting({name: value})


def check_setting(setting: Setting) -> None:
    """Raise an error for a setting that a model cannot have."""
    if not isinstance(setting, Mapping):
        raise TypeError(f"a setting must map names to values, got {setting!r}")
    own = dict(setting)
    for name in own:
        _check_name(name)
    if PRUNE in own:
        as_whole(PRUNE, own.pop(PRUNE), 0)
    if any(callable(value) for value in own.values()):
        raise ValueError("a search does not support user-defined summary functions")
    Parameters(**own)


def plain_value(value: Any) -> Any:
    """Return a NumPy scalar as a plain Python value, and any other value unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def combinations(space: Space) -> float:
    """Return the number of settings in a space, infinite with a range."""
    if any(isinstance(values, Between) for values in space.values()):
        return math.inf
    listed = (values for values in space.values() if not isinstance(values, Between))
    return math.prod(len({repr(value) for value in values}) for values in listed)


def all_of(space: Space) -> list[Setting]:
    """Return all combinations of lists of values.

    >>> all_of({"max_ngram": [1, 2], "prior": [1]})
    [{'max_ngram': 1, 'prior': 1}, {'max_ngram': 2, 'prior': 1}]
    """
    for name, values in space.items():
        if isinstance(values, Between):
            raise ValueError(f"space[{name!r}] is a range: a grid needs a list (or set trials)")
    listed = [values for values in space.values() if not isinstance(values, Between)]
    combined = itertools.product(*([plain_value(one) for one in values] for values in listed))
    return [dict(zip(space, chosen, strict=True)) for chosen in combined]


def draw(space: Space, trials: int, seed: int) -> list[Setting]:
    """Draw at most `trials` distinct settings; the first ones do not depend on `trials`.

    >>> len(draw({"smoothness": Between(0.1, 1), "max_ngram": [1, 2]}, 5, seed=0))
    5
    """
    return list(itertools.islice(_drawn(space, seed, trials), trials))


def _check_name(name: object) -> None:
    if name not in SEARCHED:
        raise ValueError(f"{name!r} cannot be searched; use one of {', '.join(SEARCHED)}")


def _drawn(space: Space, seed: int, trials: int) -> Iterator[Setting]:
    generator = np.random.default_rng(seed)
    seen: set[str] = set()
    most = combinations(space)
    for _ in range(trials * _DRAWS_PER_SETTING):
        if len(seen) >= most:
            return
        setting = {name: _draw_one(values, generator) for name, values in space.items()}
        key = repr(sorted(setting.items(), key=lambda item: item[0]))
        if key not in seen:
            seen.add(key)
            yield setting


def _draw_one(values: Sequence[Any] | Between, generator: np.random.Generator) -> Any:
    if isinstance(values, Between):
        return values.draw(generator)
    return plain_value(values[int(generator.integers(len(values)))])
