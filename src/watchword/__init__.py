"""Early risk detection over text streams with τ-SS3.

>>> import watchword as ww
>>> model = ww.TauSS3()
>>> model.learn_one("machine learning is being widely used", "tech")
>>> model.labels
('tech',)
"""

from __future__ import annotations

try:
    from watchword import _native
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "watchword's native core is missing: did you forget to compile? Run: pip install ."
    ) from error

from watchword.errors import (
    EmptyModelError,
    HookError,
    IncompatibleModelsError,
    MissingExtraError,
    ModelFormatError,
    PrunedModelError,
    UnknownLabelError,
    UnlearnError,
    WatchwordError,
)
from watchword.explanation import Block, Explanation, NgramBlock
from watchword.metrics import erde, latency_weighted_f1
from watchword.model import TauSS3
from watchword.results import (
    ConfidenceTable,
    ModelStatistics,
    NextWord,
    Pruned,
    RankedNgram,
    Value,
)
from watchword.text import Term, read_terms

__version__ = "0.1.0"

__all__ = [
    "Block",
    "ConfidenceTable",
    "EmptyModelError",
    "Explanation",
    "HookError",
    "IncompatibleModelsError",
    "MissingExtraError",
    "ModelFormatError",
    "ModelStatistics",
    "NextWord",
    "NgramBlock",
    "Pruned",
    "PrunedModelError",
    "RankedNgram",
    "TauSS3",
    "Term",
    "UnknownLabelError",
    "UnlearnError",
    "Value",
    "WatchwordError",
    "erde",
    "latency_weighted_f1",
    "read_terms",
]

UNICODE_VERSION: str = _native.unicode_version
