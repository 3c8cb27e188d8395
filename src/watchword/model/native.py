"""The part of the compiled core that other packages use.

Only `watchword.model` imports `watchword._native`: other packages depend on these names alone. An
import `as` the same name exports it.
"""

from watchword import _native
from watchword._native import Assembler as Assembler
from watchword._native import Combine as Combine
from watchword._native import LevelCounter as LevelCounter
from watchword._native import RowsFailure as RowsFailure
from watchword._native import Score as Score
from watchword._native import StepFeature as StepFeature
from watchword._native import SubjectTable as SubjectTable
from watchword._native import TermBatch as TermBatch
from watchword._native import Trails as Trails
from watchword._native import combined as combined
from watchword._native import falling_threshold as falling_threshold
from watchword._native import feature_table as feature_table
from watchword._native import log_ratios as log_ratios
from watchword._native import max_count as max_count
from watchword._native import scores as scores
from watchword._native import shares as shares

core = _native  # as a module: results of a search depend on its file
NativeCombination = _native.Combination
NativePolicy = _native.Policy
NativeStep = _native.Step
