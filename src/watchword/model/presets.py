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

# Values to try in the 4-fold search over σ, λ and ρ. The paper names the best of its values, which
# are among these (0.455, 1 and 1), but not the others.
PAPER_GRID: dict[str, tuple[float, ...]] = {
    "smoothness": (0.1, 0.2, 0.3, 0.4, 0.455, 0.5, 0.6, 0.8, 1.0),
    "significance": (0.5, 1.0, 1.5, 2.0),
    "sanction": (0.5, 1.0, 1.5, 2.0),
}

PYSS3: dict[str, Any] = {one.name: one.pyss3 for one in TABLE if one.pyss3 is not None}
