"""PySS3's interface over watchword: the same methods, the same numbers, much faster.

    from watchword.pyss3 import SS3
    from watchword.pyss3.util import Dataset, Evaluation, span
    from watchword.pyss3.server import Live_Test

docs/moving-from-pyss3.md has the table of names, and what differs.
"""

from __future__ import annotations

from typing import NoReturn

from watchword.pyss3.classifier import SS3
from watchword.pyss3.constants import (
    ENCODING,
    IDX_UNKNOWN_CATEGORY,
    IDX_UNKNOWN_WORD,
    PAGE,
    PARA_DELTR,
    SENT_DELTR,
    STR_GV,
    STR_MODEL_EXT,
    STR_MODEL_FOLDER,
    STR_MOST_PROBABLE,
    STR_NORM_GV,
    STR_NORM_GV_XAI,
    STR_OTHERS_CATEGORY,
    STR_UNKNOWN,
    STR_UNKNOWN_CATEGORY,
    STR_UNKNOWN_WORD,
    STR_VANILLA,
    STR_XAI,
    VERBOSITY,
    WORD_DELTR,
    WORD_REGEX,
    EmptyModelError,
    InvalidCategoryError,
    LeftOutError,
    set_verbosity,
)

__all__ = [
    "ENCODING",
    "IDX_UNKNOWN_CATEGORY",
    "IDX_UNKNOWN_WORD",
    "PARA_DELTR",
    "SENT_DELTR",
    "SS3",
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

_LEFT_OUT = {
    "SS3Vectorizer": "use watchword.sklearn.SS3Vectorizer",
    "cmd_line": "use the command `watchword`",
}


def __getattr__(name: str) -> NoReturn:
    if name in _LEFT_OUT:
        raise LeftOutError(f"watchword.pyss3 has no {name}: {_LEFT_OUT[name]} ({PAGE})")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
