"""Which score ranks the subjects of a stream best: `stream_scores.py FOLDER …`.

Models with the default parameters, counted and refined, are taught with three quarters of the
training subjects and read the rest, with the folds of `streams.py`. The table has the average
precision of ranking subjects after their last posts, as a mean over folds. Test parts are not
looked at.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from command import run_command
from ours import watchword
from report import markdown_table, say
from stream_ours import folds_of, subjects_of
from stream_parts import POSITIVE, read_part

FLOORS = (0.0001, 0.001, 0.01, 0.1, 1.0)  # added to both gains in log-ratios


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="stream_scores.py", description=__doc__)
    parser.add_argument(
        "streams",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="stream, as for streams.py",
    )
    options = parser.parse_args(arguments)
    return run_command("stream_scores.py", lambda: _study(options.streams))


def _study(folders: list[Path]) -> int:
    columns: dict[str, dict[str, float]] = {}
    for folder in folders:
        part = read_part(folder / "train.jsonl.gz")
        subjects, folds = subjects_of(part), folds_of(part, "time")
        for refined in (False, True):
            name = f"{folder.name}, {'refined' if refined else 'counted'}"
            say(name)
            columns[name] = _by_score(subjects, folds, refined=refined)
    rows = [
        [score, *(f"{column[score]:.3f}" for column in columns.values())]
        for score in next(iter(columns.values()))
    ]
    print(markdown_table(["", *columns], rows))
    return 0


def _by_score(
    subjects: list[Any], folds: tuple[tuple[int, ...], ...], *, refined: bool
) -> dict[str, float]:
    """Return the average precision of each score."""
    ww = watchword()
    from watchword.evaluation.replaying import average_precision_of
    from watchword.streams.steps import ScoreName

    found: dict[str, list[float]] = {}
    for fold in folds:
        own = set(fold)
        model = ww.TauSS3()
        rest = [one for at, one in enumerate(subjects) if at not in own]
        ww.teach(model, rest, refine=refined, threads=1)
        scores = ww.score_streams([subjects[at] for at in fold], model, POSITIVE, threads=1)
        for score in get_args(ScoreName):
            found.setdefault(score, []).append(average_precision_of(scores, score))
        for floor in FLOORS:
            value = _of_log_ratios(scores, floor)
            found.setdefault(f"log-ratios with {floor:g}", []).append(value)
    sizes = [len(fold) for fold in folds]
    return {score: float(np.average(values, weights=sizes)) for score, values in found.items()}


def _of_log_ratios(scores: Any, floor: float) -> float:
    from watchword.evaluation.metrics import average_precision

    means = [
        float(np.mean(np.log((one.gain + floor) / (one.other_gain + floor))))
        for one in scores.series
    ]
    truth = [label == POSITIVE for label in scores.truth]
    return average_precision(means, truth, positive=True, subjects=scores.subjects)


if __name__ == "__main__":
    sys.exit(main())
