"""The part of the compiled core that other packages use.

Only `watchword.model` imports `watchword._native`: other packages depend on these names alone.
"""

from watchword import _native as core  # as a module: results of a search depend on its file
from watchword._native import (
    Assembler,
    LevelCounter,
    RowsFailure,
    Score,
    SubjectTable,
    TermBatch,
    Trails,
    falling_threshold,
    log_ratios,
    max_count,
    scores,
)
from watchword._native import Policy as NativePolicy
from watchword._native import Step as NativeStep

__all__ = [
    "Assembler",
    "LevelCounter",
    "NativePolicy",
    "NativeStep",
    "RowsFailure",
    "Score",
    "SubjectTable",
    "TermBatch",
    "Trails",
    "core",
    "falling_threshold",
    "log_ratios",
    "max_count",
    "scores",
]
