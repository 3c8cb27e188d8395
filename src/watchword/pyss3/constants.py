"""Constants and errors of PySS3, by its names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

__all__ = [
    "ENCODING",
    "IDX_UNKNOWN_CATEGORY",
    "IDX_UNKNOWN_WORD",
    "PARA_DELTR",
    "SENT_DELTR",
    "STR_GV",
    "STR_MODEL_EXT",
    "STR_MODEL_FOLDER",
    "STR_MOST_PROBABLE",
    "STR_NORM_GV",
    "STR_NORM_GV_XAI",
    "STR_OTHERS_CATEGORY",
    "STR_UNKNOWN",
    "STR_UNKNOWN_CATEGORY",
    "STR_UNKNOWN_WORD",
    "STR_VANILLA",
    "STR_XAI",
    "VERBOSITY",
    "WORD_DELTR",
    "WORD_REGEX",
    "EmptyModelError",
    "InvalidCategoryError",
    "LeftOutError",
    "set_verbosity",
]

ENCODING = "utf-8"

PARA_DELTR = "\n"
SENT_DELTR = r"\."
WORD_DELTR = r"\s"
WORD_REGEX = r"\w+(?:'\w+)?"

STR_UNKNOWN, STR_MOST_PROBABLE = "unknown", "most-probable"
STR_OTHERS_CATEGORY = "[others]"
STR_UNKNOWN_CATEGORY = "[unknown]"
IDX_UNKNOWN_CATEGORY = -1
STR_UNKNOWN_WORD = ""
IDX_UNKNOWN_WORD = -1
STR_VANILLA, STR_XAI = "vanilla", "xai"
STR_GV, STR_NORM_GV, STR_NORM_GV_XAI = "gv", "norm_gv", "norm_gv_xai"
CV_MODES, SG_MODES = (STR_NORM_GV_XAI, STR_NORM_GV, STR_GV), (STR_XAI, STR_VANILLA)

STR_MODEL_FOLDER = "ss3_models"
STR_MODEL_EXT = "ss3m"

PAGE = "docs/moving-from-pyss3.md"


class VERBOSITY:
    """Levels for `set_verbosity`."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


class EmptyModelError(Exception):
    """The model has not learnt anything yet."""

    def __init__(self, msg: str = "") -> None:
        super().__init__(msg or "The model is empty (it hasn't been trained yet).")


class InvalidCategoryError(Exception):
    """The model has no such category."""

    def __init__(self, msg: str = "") -> None:
        super().__init__(msg or "The given category is not valid")


class LeftOutError(NotImplementedError, AttributeError):
    """A feature of PySS3 that watchword lacks; the message says what to use instead."""


def refusing(module: str, advice: Mapping[str, str]) -> Callable[[str], NoReturn]:
    """Return a module's `__getattr__` that says what to use instead of names that are left out."""

    def refuse(name: str) -> NoReturn:
        if name in advice:  # an AttributeError would lose its message in `from module import name`
            raise ImportError(f"{module} has no {name}: {advice[name]} ({PAGE})")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return refuse


class _Verbosity:
    level = VERBOSITY.NORMAL


verbosity = _Verbosity()


def set_verbosity(level: int) -> None:
    """Set whether evaluations print reports: `VERBOSITY.QUIET` (0) is silent."""
    verbosity.level = level
