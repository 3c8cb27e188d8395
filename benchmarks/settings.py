"""What each setting of the model does to early detection: `settings.py FOLDER …`.

For every stream the model is taught the training subjects and reads the test subjects, with the
paper's settings and then with one thing changed at a time. Nothing is tuned, so nothing can be
tuned wrongly. ERDE50 and F1 are those of the paper's rule (positive > negative), which depends on
how the two labels' values happen to be scaled; the mean of the average precision after several
numbers of posts (AP) depends only on the order of subjects: it says how much the values know.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from command import run_command
from ours import watchword
from report import markdown_table, say
from stream_ours import subjects_of
from stream_parts import POSITIVE, read_part

POSTS = (1, 2, 5, 10, 20, 50, 100)  # after how many posts subjects are ranked
OURS = {"smoothness": 0.3, "prior": 1, "ngram_scale": "words"}
EXTREME = {"max_ngram": 1, "smoothness": 0.2, "significance": 4}

# Name, parameters, and the floor of pruning if there is any.
SETTINGS: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("words, as in SS3", {"max_ngram": 1}, 0),
    ("2-grams", {"max_ngram": 2}, 0),
    ("3-grams, the paper's", {}, 0),
    ('… reading="words_sum"', {"reading": "words_sum"}, 0),
    ("… min_count=2", {"min_count": 2}, 0),
    ("… min_count=5", {"min_count": 5}, 0),
    ("… pruned, floor 2", {}, 2),
    ("… pruned, floor 10", {}, 10),
    ("… prior=1", {"prior": 1}, 0),
    ('… ngram_scale="words"', {"ngram_scale": "words"}, 0),
    ("… both", {"prior": 1, "ngram_scale": "words"}, 0),
    ("… smoothness=0.3", {"smoothness": 0.3}, 0),
    ("… significance=2", {"significance": 2}, 0),
    ("… all three: both, smoothness=0.3", OURS, 0),
    ("words, prior=1, smoothness=0.3", OURS | {"max_ngram": 1}, 0),
    ("words, smoothness=0.2, significance=4", EXTREME, 0),
    ("… prior=1", EXTREME | {"prior": 1}, 0),
)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="settings.py", description=__doc__)
    parser.add_argument("streams", nargs="+", type=Path, metavar="FOLDER")
    return parser.parse_args()


def _measure(options: argparse.Namespace) -> int:
    ww = watchword()
    for folder in options.streams:
        say(f"reading {folder.name}")
        train, test = (
            subjects_of(read_part(folder / f"{name}.jsonl.gz")) for name in ("train", "test")
        )
        taught = ww.TauSS3.paper()
        ww.teach(taught, train)
        rows = []
        for name, parameters, floor in SETTINGS:
            say(f"{folder.name}: {name}")
            model = taught.replace(**parameters)
            if floor:
                model.prune(floor)
            scores = ww.score_streams(test, model, POSITIVE)
            found = ww.replay_scores(scores, ww.Overtakes(POSITIVE)).measures
            rows.append(
                [
                    name,
                    f"{100 * found.erde5:.2f}",
                    f"{100 * found.erde50:.2f}",
                    f"{found.f1:.3f}",
                    f"{_average_precision(scores):.3f}",
                ]
            )
        print(f"\n{folder.name}\n")
        print(markdown_table(["setting", "ERDE5", "ERDE50", "F1", "AP"], rows))
    return 0


def _average_precision(scores: Any) -> float:
    """The mean over several numbers of posts, for subjects with fewer after their last."""
    from watchword.metrics import average_precision

    found = []
    for posts in POSTS:
        shares = []
        for series in scores.series:
            at = min(posts, series.value.size) - 1
            value, other = series.value[at], series.other[at]
            shares.append(value / (value + other) if value + other > 0 else 0.5)
        found.append(
            average_precision(shares, scores.truth, positive=POSITIVE, subjects=scores.subjects)
        )
    return float(np.mean(found))


def main() -> int:
    options = _options()
    return run_command("settings.py", lambda: _measure(options))


if __name__ == "__main__":
    sys.exit(main())
