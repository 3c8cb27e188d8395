"""The part of the compiled core that other packages use.

Only `watchword.model` imports `watchword._native`: other packages depend on these names alone.
"""

from watchword import _native as core  # as a module: results of a search depend on its file
from watchword._native import (
    Assembler,
    Combine,
    LevelCounter,
    RowsFailure,
    Score,
    StepFeature,
    SubjectTable,
    TermBatch,
    Trails,
    combined,
    falling_threshold,
    feature_table,
    log_ratios,
    max_count,
    remembers,
    scores,
    shares,
)
from watchword._native import Combination as NativeCombination
from watchword._native import Policy as NativePolicy
from watchword._native import Step as NativeStep

__all__ = [
    "Assembler",
    "Combine",
    "LevelCounter",
    "NativeCombination",
    "NativePolicy",
    "NativeStep",
    "RowsFailure",
    "Score",
    "StepFeature",
    "SubjectTable",
    "TermBatch",
    "Trails",
    "combined",
    "core",
    "falling_threshold",
    "feature_table",
    "log_ratios",
    "max_count",
    "remembers",
    "scores",
    "shares",
]
