"""Evaluation: accuracy of labels, accuracy and earliness of alerts, and tuning of policies.

The measures of early detection are in `watchword.evaluation.metrics`. `alert_counts` has the
formulas of those that need numbers of subjects only; `alert_measures` finds measures by name.
"""

from watchword.evaluation import metrics
from watchword.evaluation.fitted_policies import Thresholds
from watchword.evaluation.folds import cross_validate
from watchword.evaluation.labels import MEASURES, Evaluation, evaluate
from watchword.evaluation.learnt import Learnt
from watchword.evaluation.metrics import erde, latency_weighted_f1
from watchword.evaluation.nested_tuning import NestedTuning, nested_tune
from watchword.evaluation.replaying import Measures, Outcome, Replay, replay, replay_scores
from watchword.evaluation.score_files import read_scores
from watchword.evaluation.scores import Scores, score_streams
from watchword.evaluation.tuning import grid, tune
from watchword.evaluation.tuning_result import Trial, Tuning

__all__ = [
    "MEASURES",
    "Evaluation",
    "Learnt",
    "Measures",
    "NestedTuning",
    "Outcome",
    "Replay",
    "Scores",
    "Thresholds",
    "Trial",
    "Tuning",
    "cross_validate",
    "erde",
    "evaluate",
    "grid",
    "latency_weighted_f1",
    "metrics",
    "nested_tune",
    "read_scores",
    "replay",
    "replay_scores",
    "score_streams",
    "tune",
]
