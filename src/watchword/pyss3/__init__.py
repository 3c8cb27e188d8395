"""PySS3's interface over watchword: the same methods, the same numbers, much faster.

    from watchword.pyss3 import SS3
    from watchword.pyss3.util import Dataset, Evaluation, span
    from watchword.pyss3.server import Live_Test

docs/moving-from-pyss3.md has the table of names, and what differs.
"""

from __future__ import annotations

from typing import NoReturn

from watchword.pyss3 import constants
from watchword.pyss3.classifier import SS3
from watchword.pyss3.constants import *  # noqa: F403

__all__ = ["SS3", *constants.__all__]

_LEFT_OUT = {
    "SS3Vectorizer": "use watchword.sklearn.SS3Vectorizer",
    "cmd_line": "use the command `watchword`",
}


def __getattr__(name: str) -> NoReturn:
    if name in _LEFT_OUT:
        advice = f"{_LEFT_OUT[name]} ({constants.PAGE})"
        raise constants.LeftOutError(f"watchword.pyss3 has no {name}: {advice}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
