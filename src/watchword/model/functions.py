"""User-defined functions: their names, their comparison, and placeholders for missing ones.

A model file stores the names of functions, not the functions. A model loaded without them has a
placeholder for each: it can be inspected, merged and saved, but cannot learn or read.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import NoReturn

from watchword.errors import HookError


@dataclass(frozen=True)
class MissingFunction:
    """A placeholder for a function of the model that was not passed to `TauSS3.load`."""

    role: str  # the name of the argument: word_hook, tokenizer, summary
    name: str

    def __call__(self, *_: object) -> NoReturn:
        """Raise `HookError`."""
        raise HookError(
            f"the model needs the {self.role} {self.name}, which is not stored in the file: "
            f"pass it as TauSS3.load(path, {self.role}=…)"
        )


def check_function(role: str, function: object) -> None:
    """Raise `TypeError` if this is neither a function nor None."""
    if function is not None and not callable(function):
        raise TypeError(f"{role} must be a function, got {function!r}")


def refuse_placeholder(function: object) -> None:
    """Raise `HookError` if this is a placeholder."""
    if isinstance(function, MissingFunction):
        function()


def same(ours: object, theirs: object) -> bool:
    """Return whether two functions are equal, by name if one is missing, else by content.

    >>> same(str.lower, str.lower), same(str.lower, str.upper)
    (True, False)
    """
    if isinstance(ours, MissingFunction) or isinstance(theirs, MissingFunction):
        return function_name(ours) == function_name(theirs)
    try:
        return bool(ours == theirs or _content(ours) == _content(theirs))
    except Exception:  # comparing or pickling an object may raise anything
        return False


def _content(function: object) -> object:
    """Return the content of a function, equal for copies of it in other processes."""
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__self__"):  # a callable object, or a method
        return pickle.dumps(function)
    cells = getattr(function, "__closure__", None) or ()
    defaults = [getattr(function, name, None) for name in ("__defaults__", "__kwdefaults__")]
    return code, defaults, [cell.cell_contents for cell in cells]


def function_name(function: object) -> str:
    """Return the name of a function in model files and messages."""
    if isinstance(function, MissingFunction):
        return function.name
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{module}.{name}"
