"""The part of the compiled core that other packages use.

Only `watchword.model` imports `watchword._native`: other packages depend on these names alone.
"""

from watchword import _native as core  # as a module: results of a search depend on its file
from watchword._native import Assembler, LevelCounter, RowsFailure, TermBatch, Trails, max_count

__all__ = [
    "Assembler",
    "LevelCounter",
    "RowsFailure",
    "TermBatch",
    "Trails",
    "core",
    "max_count",
]
