"""Early risk detection over text streams with τ-SS3.

>>> import watchword as ww
>>> model = ww.TauSS3()
>>> model.learn_one("machine learning is being widely used", "tech")
>>> model.labels
('tech',)
"""

from __future__ import annotations

from watchword import _interrupts  # noqa: F401  (first: it is about the time that the others take)

try:
    from watchword import _native
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "watchword's native core is missing: did you forget to compile? Run: pip install ."
    ) from error

from watchword.datasets import (
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
from watchword.errors import (
    DataFormatError,
    EmptyModelError,
    HookError,
    IncompatibleModelsError,
    MappedModelError,
    MissingExtraError,
    ModelFormatError,
    ModelLimitError,
    PrunedModelError,
    StateError,
    UnknownLabelError,
    UnknownSubjectError,
    UnlearnError,
    WatchwordError,
)
from watchword.evaluation import Evaluation, evaluate
from watchword.explanation import Block, Explanation, NgramBlock
from watchword.glance import Glance, NgramWorth, ngram_worth
from watchword.metrics import erde, latency_weighted_f1
from watchword.model import TauSS3
from watchword.policy import (
    AllOf,
    AnyOf,
    Leaps,
    Overtakes,
    Policy,
    Reaches,
    ReachesFalling,
    Repeats,
    StandsOut,
    Stays,
    Step,
)
from watchword.reasons.change import Change
from watchword.reasons.story import Story
from watchword.replaying import Measures, Outcome, Replay, replay, replay_scores
from watchword.results import (
    ConfidenceTable,
    ModelStatistics,
    NextWord,
    Pruned,
    RankedNgram,
    Value,
)
from watchword.scores import Scores, score_streams
from watchword.search_result import Search, SearchedSetting
from watchword.searching import search
from watchword.space import Between
from watchword.stream import Decision, Reader, Watcher
from watchword.text import Term, read_terms
from watchword.thresholds import Thresholds
from watchword.tuning import Trial, Tuning, grid, teach, tune
from watchword.validation import cross_validate

__version__ = "0.1.0"

__all__ = [
    "AllOf",
    "AnyOf",
    "Between",
    "Block",
    "Change",
    "ConfidenceTable",
    "DataFormatError",
    "Decision",
    "Document",
    "EmptyModelError",
    "Evaluation",
    "Explanation",
    "Glance",
    "HookError",
    "IncompatibleModelsError",
    "Leaps",
    "MappedModelError",
    "Measures",
    "MissingExtraError",
    "ModelFormatError",
    "ModelLimitError",
    "ModelStatistics",
    "NextWord",
    "NgramBlock",
    "NgramWorth",
    "Outcome",
    "Overtakes",
    "Policy",
    "Post",
    "Pruned",
    "PrunedModelError",
    "RankedNgram",
    "Reaches",
    "ReachesFalling",
    "Reader",
    "Repeats",
    "Replay",
    "Scores",
    "Search",
    "SearchedSetting",
    "StandsOut",
    "StateError",
    "Stays",
    "Step",
    "Story",
    "Subject",
    "TauSS3",
    "Term",
    "Thresholds",
    "Trial",
    "Tuning",
    "UnknownLabelError",
    "UnknownSubjectError",
    "UnlearnError",
    "Value",
    "Watcher",
    "WatchwordError",
    "cross_validate",
    "erde",
    "evaluate",
    "grid",
    "iterate_posts",
    "iterate_texts",
    "latency_weighted_f1",
    "make_risk_streams",
    "ngram_worth",
    "read_csv",
    "read_erisk",
    "read_folder",
    "read_jsonl",
    "read_subjects",
    "read_terms",
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


def __getattr__(name: str) -> object:
    """`watchword.web` and `watchword.spark`, which are not loaded before somebody asks for them."""
    if name in ("spark", "web"):
        import importlib

        return importlib.import_module(f"watchword.{name}")
    raise AttributeError(f"module 'watchword' has no attribute {name!r}")
