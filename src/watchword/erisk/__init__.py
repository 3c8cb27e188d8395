"""eRisk: collections, submissions, the three tasks of the paper, client and practice server."""

from __future__ import annotations

from watchword.erisk.layout import (
    Collection,
    CollectionWarning,
    find_collections,
    read_collection,
    read_erisk,
)
from watchword.erisk.pan import read_pan
from watchword.erisk.paper_tasks import TaskResult, find_sets, run_task
from watchword.erisk.published import TASKS, PublishedRow, SetSize, Task, task_named
from watchword.erisk.run_files import ChunkRun, RoundRun, read_runs
from watchword.erisk.run_score import RunIntervals, RunScore
from watchword.erisk.scoring import Scoreboard, score_runs
from watchword.erisk.submission import (
    ChunkDecision,
    ErdeWithBounds,
    SubmissionScore,
    read_submissions,
    score_decisions,
    score_submissions,
    write_submissions,
)
from watchword.erisk.synthetic_collection import make_collection, make_subjects
from watchword.erisk.synthetic_discussions import make_discussions
from watchword.erisk.tables import read_counts, read_truth

__all__ = [
    "TASKS",
    "ChunkDecision",
    "ChunkRun",
    "Collection",
    "CollectionWarning",
    "ErdeWithBounds",
    "PublishedRow",
    "RoundRun",
    "RunIntervals",
    "RunScore",
    "Scoreboard",
    "SetSize",
    "SubmissionScore",
    "Task",
    "TaskResult",
    "find_collections",
    "find_sets",
    "make_collection",
    "make_discussions",
    "make_subjects",
    "read_collection",
    "read_counts",
    "read_erisk",
    "read_pan",
    "read_runs",
    "read_submissions",
    "read_truth",
    "run_task",
    "score_decisions",
    "score_runs",
    "score_submissions",
    "task_named",
    "write_submissions",
]
