"""Early risk detection over text streams with τ-SS3.

>>> import watchword as ww
>>> model = ww.TauSS3()
>>> model.learn_one("machine learning is being widely used", "tech")
>>> model.labels
('tech',)

What most programs need is here. Errors are in `watchword.errors`, what methods return in
`watchword.model`, `watchword.streams`, `watchword.evaluation` and `watchword.searching`, everything
that reads and writes data in `watchword.data` and `watchword.erisk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchword import _interrupts  # noqa: F401  (first: handles Ctrl-C while the rest is imported)

try:
    from watchword import _native
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "watchword's native core is missing: did you forget to compile? Run: pip install ."
    ) from error

from watchword import explain  # noqa: F401  (registers what draws results)
from watchword.data import (
    Document,
    Post,
    Subject,
    iterate_posts,
    iterate_texts,
    make_risk_streams,
    read_csv,
    read_folder,
    read_jsonl,
    read_subjects,
    read_texts,
    write_jsonl,
)
from watchword.erisk import read_erisk
from watchword.errors import WatchwordError
from watchword.evaluation import (
    Learnt,
    Scores,
    Thresholds,
    cross_validate,
    erde,
    evaluate,
    grid,
    latency_weighted_f1,
    replay,
    replay_scores,
    score_streams,
    tune,
)
from watchword.model import Explanation, TauSS3
from watchword.searching import Between, search
from watchword.streams import (
    After,
    AllOf,
    AnyOf,
    Decision,
    Leaps,
    Overtakes,
    Policy,
    RankedBy,
    Reaches,
    ReachesFalling,
    Reader,
    Repeats,
    StandsOut,
    Stays,
    Step,
    Watcher,
    Weighs,
    teach,
)

__version__ = "0.1.0"

__all__ = [
    "After",
    "AllOf",
    "AnyOf",
    "Between",
    "Decision",
    "Document",
    "Explanation",
    "Leaps",
    "Learnt",
    "Overtakes",
    "Policy",
    "Post",
    "RankedBy",
    "Reaches",
    "ReachesFalling",
    "Reader",
    "Repeats",
    "Scores",
    "StandsOut",
    "Stays",
    "Step",
    "Subject",
    "TauSS3",
    "Thresholds",
    "Watcher",
    "WatchwordError",
    "Weighs",
    "cross_validate",
    "erde",
    "evaluate",
    "grid",
    "iterate_posts",
    "iterate_texts",
    "latency_weighted_f1",
    "make_risk_streams",
    "read_csv",
    "read_erisk",
    "read_folder",
    "read_jsonl",
    "read_subjects",
    "read_texts",
    "replay",
    "replay_scores",
    "score_streams",
    "search",
    "teach",
    "tune",
    "write_jsonl",
]

UNICODE_VERSION: str = _native.unicode_version

# They need more than NumPy, or are not needed by most programs.
_LOADED_ON_DEMAND = ("pyss3", "service", "sklearn", "spark", "web")


if TYPE_CHECKING:
    from watchword import pyss3 as pyss3
    from watchword import service as service
    from watchword import sklearn as sklearn
    from watchword import spark as spark
    from watchword import web as web
else:

    def __getattr__(name: str) -> object:
        """Import a module that needs an extra when it is first used."""
        if name in _LOADED_ON_DEMAND:
            import importlib

            return importlib.import_module(f"watchword.{name}")
        if name == "SS3":
            raise AttributeError(
                "module 'watchword' has no attribute 'SS3': use watchword.TauSS3, or "
                "`from watchword.pyss3 import SS3` for PySS3's interface "
                "(docs/moving-from-pyss3.md has the table of names)"
            )
        raise AttributeError(f"module 'watchword' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
