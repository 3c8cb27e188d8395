"""What one more setting costs in a grid search of PySS3.

`python searching_pyss3.py < JOB` teaches it each fold's other texts and then does what its
`Evaluation.grid_search` repeats for every setting: new hyperparameters, `update_values`, `predict`
of the texts that are held out. Only that is timed. It reads the first time before the clock starts,
because for words it keeps the texts as numbers from then on.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

import pyss3
from corpus import read_corpus
from process import Stopwatch
from report import BenchmarkError, say

# What is new in the setting: everything that depends on it is computed again. Each differs from
# the one before and from PySS3's own values (σ .45, λ .5, ρ 1) in just this.
SETTINGS = {
    "sanction": (0.45, 0.5, 1.5),
    "significance": (0.45, 1.0, 1.5),
    "smoothness": (0.3, 1.0, 1.5),
}


def run(job: dict[str, Any]) -> dict[str, Any]:
    pyss3.set_verbosity(0)
    part = read_corpus(Path(job["folder"])).train
    seconds: dict[str, Counter[str]] = {name: Counter() for name in SETTINGS}
    words: Counter[str] = Counter()
    for number, fold in enumerate(job["folds"], start=1):
        say(f"pyss3: n-grams up to {job['length']}, fold {number} of {len(job['folds'])}")
        held_out = set(fold)
        places = [place for place in range(len(part.texts)) if place not in held_out]
        model = pyss3.SS3()
        model.fit(
            [part.texts[place] for place in places],
            [part.labels[place] for place in places],
            n_grams=job["length"],
            leave_pbar=False,
        )
        texts = [part.texts[place] for place in fold]
        words["held out"] += sum(len(text.split()) for text in texts)
        texts = texts[: job["texts"]]
        words["read"] += sum(len(text.split()) for text in texts)
        model.predict(texts, leave_pbar=False)
        for name, setting in SETTINGS.items():
            watch = Stopwatch()
            with watch.step("update"):
                model.set_hyperparameters(*setting)
                model.update_values()
            with watch.step("read"):
                model.predict(texts, labels=False, leave_pbar=False)
            seconds[name].update(watch.processor)
    return {"version": metadata.version("pyss3"), "seconds": seconds, "words": words}


def main() -> None:
    # PySS3 prints; the result must be the only thing on standard output.
    result_channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        result = run(json.loads(sys.stdin.read()))
    except BenchmarkError as error:
        sys.exit(str(error))
    json.dump(result, result_channel)
    result_channel.close()


if __name__ == "__main__":
    main()
