"""Presets: the parameters of the paper, and those of the authors' later package, PySS3."""

from __future__ import annotations

from typing import Any

PAPER: dict[str, Any] = {
    "smoothness": 0.455,
    "significance": 1.0,
    "sanction": 1.0,
    "max_ngram": 3,
    "min_count": 1,
    "alpha": 0.0,
    "prior": 0.0,
    "ngram_scale": "length",
    "significance_function": "vanilla",
    "confidence_function": "gv",
    "reading": "paper",
    "summary": "sum",
    "counting": "occurrences",
}

# The paper's training for its tasks: every million words, drop n-grams with a count of at most ten
# under a label. Not part of PAPER, because a pruned model cannot merge, unlearn or learn in several
# threads.
PAPER_TASKS: dict[str, Any] = PAPER | {
    "prune_period": 1_000_000,
    "prune_floor": 10,
    "prune_shortest": 1,
}

PYSS3: dict[str, Any] = PAPER | {
    "smoothness": 0.45,
    "significance": 0.5,
    "max_ngram": 1,
    "min_count": 2,
    "significance_function": "xai",
    "confidence_function": "norm_gv_xai",
    "reading": "words_sum",
}
