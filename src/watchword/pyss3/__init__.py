"""PySS3's interface over watchword: the same methods, the same numbers, much faster.

    from watchword.pyss3 import SS3
    from watchword.pyss3.util import Dataset, Evaluation, span
    from watchword.pyss3.server import Live_Test

docs/moving-from-pyss3.md has the table of names, and what differs.
"""

from __future__ import annotations

from typing import Any

from watchword.pyss3 import constants
from watchword.pyss3.classifier import SS3
from watchword.pyss3.constants import *  # noqa: F403
from watchword.pyss3.util import kmean_multilabel_size, mad, sigmoid

__all__ = ["SS3", "kmean_multilabel_size", "mad", "sigmoid", *constants.__all__]

_LEFT_OUT = {
    "key_as_int": "labels keep their types",
    "list_hash": "nothing is cached",
    "re_split_keep": "use re.split with a group",
    **dict.fromkeys(("vdiv", "vmax", "vsum"), "use NumPy"),
}
_refuse = constants.refusing(__name__, _LEFT_OUT)


def __getattr__(name: str) -> Any:
    if name == "SS3Vectorizer":
        from watchword.pyss3.vectorizer import SS3Vectorizer  # needs scikit-learn

        return SS3Vectorizer
    return _refuse(name)
