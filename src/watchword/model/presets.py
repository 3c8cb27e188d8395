"""Presets: the parameters of the paper, and those of the authors' later package, PySS3."""

from __future__ import annotations

from typing import Any

from watchword.model.parameters import TABLE

PAPER: dict[str, Any] = {one.name: one.paper for one in TABLE if one.paper is not None}

# The paper's training for its tasks: every million words, drop n-grams with a count of at most ten
# under a label. Not part of PAPER, because a pruned model cannot merge, unlearn or learn in several
# threads.
PAPER_TASKS: dict[str, Any] = PAPER | {
    "prune_period": 1_000_000,
    "prune_floor": 10,
    "prune_shortest": 1,
}

PYSS3: dict[str, Any] = {one.name: one.pyss3 for one in TABLE if one.pyss3 is not None}
