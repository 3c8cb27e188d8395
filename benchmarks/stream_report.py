"""The tables of `streams.py`: measures of every contestant, and its differences to τ-SS3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ours import watchword
from report import difference, markdown_table
from stream_job import Job

OURS = "τ-SS3 (3-grams)"
NAMES = {"erde50": "ERDE50", "f_latency": "F_latency"}
RANKED = "average precision"
COLUMNS = ("ERDE5", "ERDE50", "F1", "F_latency", RANKED)
HEADS = [f"{column} %" if column.startswith("ERDE") else column for column in COLUMNS]
STEPS = ("learn", "read")
SEED = 0
REPEATS = 1000

Row = dict[str, Any]


def trivial_rows(subjects: int) -> dict[str, Row]:
    """Never alerting, and alerting everybody at the first post; nothing to rank by."""
    return {
        "never alert": {"delays": [0] * subjects, "scores": None},
        "alert everybody at post 1": {"delays": [1] * subjects, "scores": None},
    }


def print_stream(job: Job, rows: dict[str, dict[str, Row]]) -> None:
    """Two tables for each measure that was tuned for, and the settings that were chosen."""
    truth = job.test.truth
    print(f"\n## {job.folder.name}\n")
    print(
        f"Training: {len(job.train.subjects):,} subjects ({int(job.train.truth.sum())} positive), "
        f"{len(job.train.texts):,} posts. Test: {truth.size:,} subjects ({int(truth.sum())} "
        f"positive), {len(job.test.texts):,} posts."
    )
    print(_bounds(truth))
    for measure, own in rows.items():
        everybody = own | trivial_rows(truth.size)
        print(f"\nTuned for {NAMES[measure]}:\n")
        header = ["", *HEADS, "tune and learn", "read the test"]
        table = [_cells(title, row, truth) for title, row in everybody.items()]
        print(markdown_table(header, table))
        if OURS in own:
            print(f"\nDifference to {OURS}, with its 95 % interval:\n")
            table = [
                _difference(title, row, own[OURS], truth)
                for title, row in everybody.items()
                if title != OURS
            ]
            print(markdown_table(["", *HEADS], table))
        print()
        for title, row in own.items():
            print(f"- {title}: {row['setting']} ({row['tuned_value']:.4f} in cross-validation)")


def _bounds(truth: NDArray[np.bool_]) -> str:
    watchword()
    from watchword.evaluation.metrics import erde_bounds

    texts = []
    for deadline in (5, 50):
        first = np.ones(truth.size)
        bounds = erde_bounds(truth, first, deadline=deadline, positive=True)
        texts.append(
            f"ERDE{deadline}: {100 * bounds.never:.2f} % for never alerting, "
            f"{100 * bounds.at_once:.2f} % for alerting everyone at the first post, "
            f"{100 * bounds.best:.2f} % at best"
        )
    return "; ".join(texts) + "."


def _cells(title: str, row: Row, truth: NDArray[np.bool_]) -> list[str]:
    cells = [title]
    for column in COLUMNS:
        if column == RANKED and row["scores"] is None:
            cells.append("")
            continue
        value = measure(column)(truth, *_prediction(row), positive=True)
        cells.append(f"{100 * value:.2f}" if column.startswith("ERDE") else f"{value:.3f}")
    seconds = row.get("seconds")
    return cells + ([f"{seconds[step]:.1f} s" for step in STEPS] if seconds else ["", ""])


def _difference(title: str, row: Row, ours: Row, truth: NDArray[np.bool_]) -> list[str]:
    watchword()
    from watchword.evaluation.metrics import bootstrap_interval

    cells = [title]
    for column in COLUMNS:
        if column == RANKED and row["scores"] is None:
            cells.append("")
            continue
        found = bootstrap_interval(
            measure(column),
            truth,
            _prediction(row),
            baseline=_prediction(ours),
            positive=True,
            seed=SEED,
            repeats=REPEATS,
        )
        factor, digits = (100, 2) if column.startswith("ERDE") else (1, 3)
        numbers = (factor * x for x in (found.value, found.low, found.high))
        cells.append(difference(*numbers, digits))
    return cells


def _prediction(row: Row) -> tuple[Any, Any, Any]:
    delays = np.array(row["delays"])
    scores = np.zeros(delays.size) if row["scores"] is None else np.array(row["scores"])
    return delays > 0, delays, scores


def measure(column: str) -> Callable[..., float]:
    """The measure of a column as a function of truth, alerts, delays and final scores."""
    watchword()
    from watchword.evaluation import metrics

    def erde5(
        truth: Any,
        alerted: Any,
        delays: Any,
        _: Any,
        *,
        cost_false_positive: Any = None,
        **own: Any,
    ) -> float:
        own["cost_false_positive"] = cost_false_positive  # bootstrap_interval looks for the name
        return metrics.erde(truth, alerted, delays, deadline=5, **own)

    def erde50(
        truth: Any,
        alerted: Any,
        delays: Any,
        _: Any,
        *,
        cost_false_positive: Any = None,
        **own: Any,
    ) -> float:
        own["cost_false_positive"] = cost_false_positive
        return metrics.erde(truth, alerted, delays, deadline=50, **own)

    def f1(truth: Any, alerted: Any, _delays: Any, _scores: Any, *, positive: Any) -> float:
        return metrics.precision_recall_f1(truth, alerted, positive=positive).f1

    def f_latency(truth: Any, alerted: Any, delays: Any, _: Any, *, positive: Any) -> float:
        return metrics.latency_weighted_f1(truth, alerted, delays, positive=positive)

    def ranked(truth: Any, _alerted: Any, _delays: Any, scores: Any, *, positive: Any) -> float:
        order = np.arange(len(scores))
        return metrics.average_precision(scores, truth, positive=positive, subjects=order)

    return dict(zip(COLUMNS, (erde5, erde50, f1, f_latency, ranked), strict=True))[column]
