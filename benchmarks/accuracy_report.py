"""The table of `accuracy.py`: measures of every contestant, and its difference to tuned τ-SS3."""

from __future__ import annotations

from typing import Any

import numpy as np
from accuracy_job import Job
from numpy.typing import NDArray
from ours import watchword
from report import markdown_table

SEED = 0
REPEATS = 10_000

Row = dict[str, Any]


def print_corpus(job: Job, rows: dict[str, Row], ours: str) -> None:
    """A table with a row per contestant, by titles, and the settings that were chosen."""
    ww = watchword()
    train, test = job.corpus.train, job.corpus.test
    labels = len(set(train.labels))
    print(f"\n## {job.folder.name}\n")
    print(
        f"{labels} labels. Training: {len(train.texts):,} texts, {train.words:,} words. "
        f"Test: {len(test.texts):,} texts, {test.words:,} words.\n"
    )
    truth = np.array(test.labels)
    rightness = {title: np.array(row["predicted"]) == truth for title, row in rows.items()}
    header = ["", "accuracy", "macro-F1", "accuracy − tuned τ-SS3's", "cross-validated"]
    header += ["tune and learn", "read the test"]
    table = []
    for title, row in rows.items():
        found = ww.evaluation.Evaluation.of(test.labels, row["predicted"])
        value = row["tuned_value"]
        table.append(
            [
                title,
                f"{found.accuracy:.4f}",
                f"{found.macro_f1:.4f}",
                _difference(rightness[title], rightness[ours])
                if ours in rows and title != ours
                else "",
                "" if value is None else f"{value:.4f}",
                *(f"{row['seconds'][step]:,.2f} s" for step in ("learn", "read")),
            ]
        )
    print(markdown_table(header, table), end="\n\n")
    for title, row in rows.items():
        print(f"- {title} ({row['version']}): {row['setting']}")


def _difference(right: NDArray[np.bool_], baseline: NDArray[np.bool_]) -> str:
    """With its percentile interval over resampled test texts.

    A text gives −1, 0 or 1, so that a resample is fully told by how many there are of each.
    """
    gains = right.astype(np.int64) - baseline
    counts = np.array([(gains == gain).sum() for gain in (-1, 0, 1)])
    drawn = np.random.default_rng(SEED).multinomial(gains.size, counts / gains.size, REPEATS)
    low, high = np.quantile((drawn[:, 2] - drawn[:, 0]) / gains.size, [0.025, 0.975])
    return f"{gains.mean():+.4f} [{low:+.4f}, {high:+.4f}]"
