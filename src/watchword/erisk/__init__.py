"""eRisk: collections, submissions, the three tasks of the paper, client and practice server.

- Collections: `layout`, `listing`, `xml_reader`, `truth`, `tables`; `pan` for PAN 2012;
  `synthetic_collection` and `synthetic_discussions` write some.
- Runs of any team and their scores: `run_files`, `run_score`, `scoring`, `symptoms`.
- The tasks of the paper: `published` results and `paper_tasks`.
- Tasks from 2019 on: the `client`, with `protocol`, `dialects`, `transport`, `journal` and
  `emissions`; the practice `server`, with `practice_task`.
"""

from __future__ import annotations

from watchword.erisk.layout import Collection, find_collections, read_collection, read_erisk
from watchword.erisk.pan import read_pan
from watchword.erisk.paper_tasks import TaskResult, find_sets, run_task
from watchword.erisk.published import TASKS, PublishedRow, SetSize, Task, task_named
from watchword.erisk.run_files import (
    ChunkDecision,
    ChunkRun,
    RoundRun,
    read_runs,
    read_submissions,
    write_submissions,
)
from watchword.erisk.run_score import RunIntervals, RunScore
from watchword.erisk.scoring import Scoreboard, score_runs
from watchword.erisk.synthetic import make_collection, make_discussions, make_subjects
from watchword.erisk.truth import CollectionWarning, read_counts, read_truth

__all__ = [
    "TASKS",
    "ChunkDecision",
    "ChunkRun",
    "Collection",
    "CollectionWarning",
    "PublishedRow",
    "RoundRun",
    "RunIntervals",
    "RunScore",
    "Scoreboard",
    "SetSize",
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
    "score_runs",
    "task_named",
    "write_submissions",
]
