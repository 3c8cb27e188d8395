"""Evaluation: accuracy of labels, accuracy and earliness of alerts, and tuning of policies.

- Texts: `labels` (`evaluate` and its result), `label_counts`, `folds` (also of subjects).
- Measures of alerts: `metrics` (with bootstrap intervals), `alert_counts` (formulas that need
  numbers of subjects only), `alert_measures` (measures by name), `paired_tests`.
- Replays: `scores` (of a model or of any classifier, also from files: `score_files`), `replaying`.
- Tuning: `objectives`, `fitted_policies` and `learnt` (what is tried), `tuning_sources`, `held_out`
  (measures of folds and of their resamples), `tuning`, `tuning_result`, `nested_tuning`.
- Pictures as plain data: `charts`, `replay_charts`, `tuning_charts`, `threshold_curves`.
"""

from watchword.evaluation import metrics
from watchword.evaluation.fitted_policies import Learnt, Thresholds
from watchword.evaluation.folds import cross_validate
from watchword.evaluation.labels import MEASURES, Evaluation, evaluate
from watchword.evaluation.metrics import erde, latency_weighted_f1
from watchword.evaluation.nested_tuning import NestedTuning, nested_tune
from watchword.evaluation.replaying import Measures, Outcome, Replay, replay, replay_scores
from watchword.evaluation.scores import Scores, read_scores, score_streams
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
