"""PySS3 on streams: its values of every post, for the policies that watchword is tuned with.

`python stream_pyss3.py pyss3 < JOB` teaches it the posts, one text each, with 3-grams and its own
parameters, and prints the two labels' values of every training post (from models that have not
seen the subject) and of every test post. The policy is tuned by whoever asked.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pyss3
from process import Stopwatch
from stream_job import Job, answer
from stream_parts import NEGATIVE, POSITIVE, Part

LONGEST_NGRAM = 3


def taught(part: Part, places: list[int]) -> Any:
    model = pyss3.SS3()
    texts, labels = [], []
    for place in places:
        begin, end = part.starts[place : place + 2]
        texts += part.texts[begin:end]
        labels += [POSITIVE if part.truth[place] else NEGATIVE] * int(end - begin)
    model.fit(texts, labels, n_grams=LONGEST_NGRAM, leave_pbar=False)
    return model


def values(model: Any, texts: list[str]) -> list[list[float]]:
    """The values of the positive and of the negative label, for each text."""
    columns = [model.get_category_index(label) for label in (POSITIVE, NEGATIVE)]
    found = (model.classify(text, sort=False) for text in texts)
    return [[float(vector[column]) for column in columns] for vector in found]


def run(_name: str, job: Job) -> dict[str, Any]:
    pyss3.set_verbosity(0)
    watch = Stopwatch()
    part = job.train
    everybody = range(len(part.subjects))
    train_values: list[list[float]] = [[]] * len(part.texts)
    with watch.step("tune"):
        for number, fold in enumerate(job.folds):
            job.say(f"pyss3: fold {number + 1} of {len(job.folds)}")
            model = taught(part, sorted(set(everybody) - set(fold)))
            posts = part.posts_of(fold)
            read = values(model, [part.texts[post] for post in posts])
            for post, vector in zip(posts, read, strict=True):
                train_values[post] = vector
    job.say("pyss3: test subjects")
    with watch.step("train"):
        model = taught(part, list(everybody))
    with watch.step("read"):
        test_values = values(model, job.test.texts)
    return {
        "version": metadata.version("pyss3"),
        "train_values": train_values,
        "test_values": test_values,
        "seconds": {
            "learn": watch.processor["tune"] + watch.processor["train"],
            "read": watch.processor["read"],
        },
    }


if __name__ == "__main__":
    answer(run, ("pyss3",))
