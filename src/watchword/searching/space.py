"""Which settings a search tries: lists of values, ranges, all combinations or a sample."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from watchword._checks import as_above_zero, as_number, as_whole
from watchword.model.parameters import Parameters

_DIGITS = 3  # of drawn numbers: more would look as if they mattered
_DRAWS_PER_SETTING = 100  # where all combinations have been drawn, drawing on would never end

PRUNE = "prune"  # the floor of a pruning after learning, 0 for none; not an argument of a model
SEARCHED = (*(field.name for field in fields(Parameters) if field.name != "default_label"), PRUNE)


@dataclass(frozen=True)
class Between:
    """Any number from `low` to `high`; by `log` small ones are as likely as large ones.

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
        """A number of three digits."""
        if not self.log:
            return _rounded(generator.uniform(self.low, self.high), self.low, self.high)
        drawn = math.exp(generator.uniform(math.log(self.low), math.log(self.high)))
        return _rounded(drawn, self.low, self.high)


Space = Mapping[str, Sequence[Any] | Between]
Setting = dict[str, Any]

DEFAULT_SPACE: dict[str, Sequence[Any] | Between] = {
    "smoothness": Between(0.03, 0.6),
    "significance": Between(0.1, 4),
    "sanction": [0.25, 0.5, 1, 2],
    "prior": Between(0.1, 10),
    "max_ngram": [1, 2, 3],
    "counting": ["documents", "occurrences"],
}
"""What is searched unless something else is asked for: what matters on most corpora."""


def check_space(space: Space) -> None:
    """Refuse names and values that no model has."""
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
    """Refuse a setting that no model can have."""
    if not isinstance(setting, Mapping):
        raise TypeError(f"a setting must map names to values, got {setting!r}")
    own = dict(setting)
    for name in own:
        _check_name(name)
    if PRUNE in own:
        as_whole(PRUNE, own.pop(PRUNE), 0)
    if any(callable(value) for value in own.values()):
        raise ValueError("functions of yours cannot be searched")
    Parameters(**own)


def plain_value(value: Any) -> Any:
    """A value as JSON and `repr` know it, where an array's own number was given."""
    return value.item() if isinstance(value, np.generic) else value


def combinations(space: Space) -> float:
    """How many settings there are; without end where there is a range."""
    if any(isinstance(values, Between) for values in space.values()):
        return math.inf
    listed = (values for values in space.values() if not isinstance(values, Between))
    return math.prod(len({repr(value) for value in values}) for values in listed)


def all_of(space: Space) -> list[Setting]:
    """All combinations of lists of values.

    >>> all_of({"max_ngram": [1, 2], "prior": [1]})
    [{'max_ngram': 1, 'prior': 1}, {'max_ngram': 2, 'prior': 1}]
    """
    for name, values in space.items():
        if isinstance(values, Between):
            raise ValueError(f"space[{name!r}] is a range: say how many trials to draw from it")
    listed = [values for values in space.values() if not isinstance(values, Between)]
    combined = itertools.product(*([plain_value(one) for one in values] for values in listed))
    return [dict(zip(space, chosen, strict=True)) for chosen in combined]


def draw(space: Space, trials: int, seed: int) -> list[Setting]:
    """So many different settings, or all there are; the first ones do not depend on how many.

    >>> len(draw({"smoothness": Between(0.1, 1), "max_ngram": [1, 2]}, 5, seed=0))
    5
    """
    return list(itertools.islice(_drawn(space, seed, trials), trials))


def _check_name(name: object) -> None:
    if name not in SEARCHED:
        raise ValueError(f"{name!r} cannot be searched; what can: {', '.join(SEARCHED)}")


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


def _rounded(number: float, low: float, high: float) -> float:
    return min(max(float(f"{number:.{_DIGITS}g}"), low), high)
