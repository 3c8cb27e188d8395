"""eRisk: collections, submissions, the three tasks of the paper, client and practice server."""

from __future__ import annotations

from watchword.erisk.layout import (
    Collection,
    CollectionWarning,
    find_collections,
    read_collection,
    read_erisk,
)
from watchword.erisk.paper_tasks import TaskResult, find_sets, run_task
from watchword.erisk.published import TASKS, PublishedRow, SetSize, Task, task_named
from watchword.erisk.submission import (
    ChunkDecision,
    ErdeWithBounds,
    SubmissionScore,
    read_counts,
    read_submissions,
    read_truth,
    score_decisions,
    score_submissions,
    write_submissions,
)
from watchword.erisk.synthetic_collection import make_collection, make_subjects

__all__ = [
    "TASKS",
    "ChunkDecision",
    "Collection",
    "CollectionWarning",
    "ErdeWithBounds",
    "PublishedRow",
    "SetSize",
    "SubmissionScore",
    "Task",
    "TaskResult",
    "find_collections",
    "find_sets",
    "make_collection",
    "make_subjects",
    "read_collection",
    "read_counts",
    "read_erisk",
    "read_submissions",
    "read_truth",
    "run_task",
    "score_decisions",
    "score_submissions",
    "task_named",
    "write_submissions",
]
