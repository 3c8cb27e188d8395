"""The user's functions: how they are called, and what stands for them where they are missing.

A model file holds no functions, only their names. A model read without them has a stand-in for
each: it can be inspected, merged and saved again, but neither learn nor read.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import NoReturn

from watchword.errors import HookError


@dataclass(frozen=True)
class MissingFunction:
    """Stands for a function that a model was taught with and that was not given again."""

    role: str  # the argument it is given as: word_hook, tokenizer, summary
    name: str

    def __call__(self, *_: object) -> NoReturn:
        """Say what is missing."""
        raise HookError(
            f"this model has the {self.role} {self.name}, which a file cannot hold: "
            f"pass it as TauSS3.load(path, {self.role}=…)"
        )


def check_function(role: str, function: object) -> None:
    """Raise `TypeError` if this is neither a function nor None."""
    if function is not None and not callable(function):
        raise TypeError(f"{role} must be a function, got {function!r}")


def refuse_missing(function: object) -> None:
    """Raise `HookError` if this is only a stand-in."""
    if isinstance(function, MissingFunction):
        function()


def same(ours: object, theirs: object) -> bool:
    """Whether two functions do the same, as far as can be told; of a missing one only the name can.

    >>> same(str.lower, str.lower), same(str.lower, str.upper)
    (True, False)
    """
    if isinstance(ours, MissingFunction) or isinstance(theirs, MissingFunction):
        return name_of(ours) == name_of(theirs)
    try:
        return bool(ours == theirs or _content(ours) == _content(theirs))
    except Exception:  # whatever an object says to being compared or pickled
        return False


def _content(function: object) -> object:
    """What a function is made of: copies of it, in another process say, have the same."""
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__self__"):  # an object that can be called, or a method
        return pickle.dumps(function)
    cells = getattr(function, "__closure__", None) or ()
    defaults = [getattr(function, name, None) for name in ("__defaults__", "__kwdefaults__")]
    return code, defaults, [cell.cell_contents for cell in cells]


def name_of(function: object) -> str:
    """How a user's function is called in a model file and in messages."""
    if isinstance(function, MissingFunction):
        return function.name
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{module}.{name}"
