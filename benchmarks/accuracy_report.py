"""The tables of `accuracy.py`: measures of every contestant, and differences to refined τ-SS3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from accuracy_job import Job
from numpy.typing import NDArray
from ours import watchword
from report import difference, markdown_table

SEED = 0
REPEATS = 10_000
BINS = 15
BASELINE = "τ-SS3, refined"

Row = dict[str, Any]
FloatArray = NDArray[np.float64]


def print_corpus(job: Job, rows: dict[str, Row]) -> None:
    """Print a table with a row per contestant, by titles, and the settings that were chosen."""
    ww = watchword()
    train, test = job.corpus.train, job.corpus.test
    labels = len(set(train.labels))
    print(f"\n## {job.folder.name}\n")
    print(
        f"{labels} labels. Training: {len(train.texts):,} texts, {train.words:,} words. "
        f"Test: {len(test.texts):,} texts, {test.words:,} words.\n"
    )
    header = ["", "accuracy", "difference", "macro-F1", "difference", "log-loss", "ECE"]
    header += ["cross-validated", "tune and learn", "read the test"]
    baseline = rows.get(BASELINE)
    table = []
    for title, row in rows.items():
        found = ww.evaluation.Evaluation.of(test.labels, row["predicted"])
        differences = ["", ""]
        if baseline is not None and row is not baseline:
            differences = _differences(test.labels, row["predicted"], baseline["predicted"])
        value = row["tuned_value"]
        table.append(
            [
                title,
                f"{found.accuracy:.4f}",
                differences[0],
                f"{found.macro_f1:.4f}",
                differences[1],
                *_calibration(test.labels, row),
                "" if value is None else f"{value:.4f}",
                *(f"{row['seconds'][step]:,.2f} s" for step in ("learn", "read")),
            ]
        )
    print(markdown_table(header, table), end="\n\n")
    for title, row in rows.items():
        print(f"- {title} ({row['version']}): {row['setting']}")


def print_few(job: Job, sizes: Sequence[int], rows: dict[str, list[Row]]) -> None:
    """Print the mean accuracy of every contestant after learning few texts, by titles."""
    held_out = np.array([job.corpus.train.labels[place] for place in job.folds[0]])
    seeds = len(job.samples) // len(sizes)
    print(f"\n## {job.folder.name}, few texts\n")
    print(
        f"Mean accuracy of {seeds} draws on {held_out.size:,} held-out training texts; in brackets "
        f"the mean difference to {BASELINE}, and its least and greatest.\n"
    )
    accuracies = {
        title: np.array([np.mean(held_out == np.array(row["predicted"])) for row in own]).reshape(
            len(sizes), seeds
        )
        for title, own in rows.items()
    }
    table = []
    for title, own in accuracies.items():
        cells = [f"{mean:.3f}" for mean in own.mean(axis=1)]
        if BASELINE in rows and title != BASELINE:
            gaps = own - accuracies[BASELINE]
            cells = [
                f"{cell} ({difference(gap.mean(), gap.min(), gap.max(), 3)})"
                for cell, gap in zip(cells, gaps, strict=True)
            ]
        table.append([title, *cells])
    print(markdown_table(["", *(f"{size:,} texts" for size in sizes)], table))


def _differences(truth: list[str], predicted: list[str], baseline: list[str]) -> list[str]:
    """Return the differences of accuracy and macro-F1 with their percentile intervals.

    Test texts are resampled. Those with the same truth and the same two answers are alike, so a
    resample is the number of texts of each kind.
    """
    names, codes = np.unique([truth, predicted, baseline], return_inverse=True)
    kinds, counts = np.unique(codes.reshape(3, -1), axis=1, return_counts=True)
    drawn = np.random.default_rng(SEED).multinomial(counts.sum(), counts / counts.sum(), REPEATS)
    texts = np.vstack([counts, drawn]).astype(np.float64)  # the first row: all test texts
    pairs = [_measures(texts, kinds[0], answers, len(names)) for answers in kinds[1:]]
    cells = []
    for own, others in zip(*pairs, strict=True):
        gaps = own - others
        low, high = np.quantile(gaps[1:], [0.025, 0.975])
        cells.append(difference(gaps[0], low, high, 4))
    return cells


def _measures(
    texts: FloatArray, truth: NDArray[Any], answers: NDArray[Any], labels: int
) -> tuple[FloatArray, FloatArray]:
    """Return accuracy and macro-F1 of each row, given how many texts it has of each kind."""
    right = truth == answers
    true, chosen = np.eye(labels)[truth], np.eye(labels)[answers]
    hits, sizes = texts @ (true * right[:, np.newaxis]), texts @ (true + chosen)
    f1 = 2 * hits / np.maximum(sizes, 1)
    met = np.flatnonzero((true + chosen).any(axis=0))  # the other answer may have more labels
    return texts @ right / texts.sum(axis=1), f1[:, met].mean(axis=1)


def _calibration(truth: list[str], row: Row) -> list[str]:
    """Return log-loss and expected calibration error, empty without probabilities."""
    if row["probabilities"] is None:
        return ["", ""]
    probabilities = np.array(row["probabilities"])
    column = {label: place for place, label in enumerate(row["labels"])}
    columns = np.array([column.get(label, -1) for label in truth])
    own = probabilities[np.arange(columns.size), columns] * (columns >= 0)
    loss = -np.log(np.maximum(own, np.finfo(np.float64).eps)).mean()
    sure = probabilities.max(axis=1)
    right = np.array(row["predicted"]) == np.array(truth)
    bins = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, weights=right - sure, minlength=BINS)
    return [f"{loss:.3f}", f"{np.abs(gaps).sum() / columns.size:.3f}"]
