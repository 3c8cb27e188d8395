"""The same calls to PySS3 or to `watchword.pyss3`: `python pyss3_calls.py MODULE < JOB`.

The job has documents; the answer, on standard output, has what every method returned. Which of the
two it is decides nothing but the import.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

SIGNIFICANCES = ("vanilla", "xai")
CONFIDENCES = ("gv", "norm_gv", "norm_gv_xai")
VALUES = ("lv", "sg", "sn", "gv", "cv")

Job = dict[str, Any]


def run(module: str, job: Job) -> dict[str, Any]:
    """Returns the answers by configuration."""
    package = importlib.import_module(module)
    util = importlib.import_module(f"{module}.util")
    package.set_verbosity(0)
    answers = {"clean": [util.Preproc.clean_and_ready(text) for text in job["test"]]}
    for trained, length in itertools.product(job["trained"], job["lengths"]):
        for sg, cv in itertools.product(SIGNIFICANCES, CONFIDENCES):
            model = package.SS3(sg_m=sg, cv_m=cv)
            _train(model, trained, length, job)
            for setting in job["settings"]:
                model.set_hyperparameters(*setting)
                model.update_values()
                name = f"{trained} {length}-grams {sg} {cv} {setting}"
                answers[name] = dict(_asked(model, job))
        answers[f"{trained} {length}-grams, other reading"] = dict(
            _read_otherwise(package.SS3(), trained, length, job)
        )
    several = package.SS3()
    texts = [text for text, _ in job["train"]]
    several.fit(texts, job["several"], n_grams=2)
    answers["several labels"] = dict(_asked(several, job))
    return answers


def _train(model: Any, trained: str, length: int, job: Job) -> None:
    if trained == "fit":
        texts, labels = zip(*job["train"], strict=True)
        model.fit(list(texts), list(labels), n_grams=length)
        return
    learnt = job["train"][: job["learnt"]]
    if trained == "fit then learn":
        texts, labels = zip(*learnt[::2], strict=True)
        model.fit(list(texts), list(labels), n_grams=length)
        learnt = learnt[1::2]
    for text, label in learnt:
        model.learn(text, label, n_grams=length, update=False)
    model.update_values(force=True)


def _asked(model: Any, job: Job) -> Iterator[tuple[str, Any]]:
    """Yields the answers of all methods that only read."""
    documents, categories = job["test"], model.get_categories(all=True)
    yield "categories", categories
    yield "most probable", model.get_most_probable_category()
    yield "longest", model.get_ngrams_length()
    for name in VALUES:
        lookup = getattr(model, name)
        yield name, [[lookup(ngram, one) for one in categories] for ngram in job["ngrams"]]
    yield "classify", [model.classify(one, sort=False) for one in documents]
    yield "ranked", [[value for _, value in model.classify(one)] for one in documents]
    for default in ("most-probable", "unknown", categories[0]):
        yield f"label {default}", [model.classify_label(one, def_cat=default) for one in documents]
    yield "indices", [model.classify_label(one, labels=False) for one in documents]
    yield "several", [model.classify_multilabel(one) for one in documents]
    yield "predict", model.predict(documents)
    yield "predict unknown", model.predict(documents, def_cat="unknown")
    yield "proba", model.predict_proba(documents)
    # PySS3 raises an error where there is nothing to explain.
    shown = [one for one in documents if one][: job["shown"]]
    yield "json", [_shortened(model.classify(one, json=True)) for one in shown]
    for level in ("word", "sentence", "paragraph"):
        yield (
            f"insight {level}",
            [model.extract_insight(one, level=level, window_size=2) for one in shown],
        )
    yield "stopwords", sorted(model.get_stopwords())
    yield "next", [_next(model, ngram, categories[-1]) for ngram in job["ngrams"]]


def _read_otherwise(model: Any, trained: str, length: int, job: Job) -> Iterator[tuple[str, Any]]:
    """Yields answers without cleaning, with a function that cleans, with other delimiters."""
    _train(model, trained, length, job)
    documents = job["test"][: job["shown"]]
    yield "no cleaning", [model.classify(one, prep=False, sort=False) for one in documents]
    own = [model.classify(one, sort=False, prep_func=str.lower) for one in documents]
    yield "own cleaning", own
    model.set_block_delimiters(parag=r"\n\n", sent=r"[.;]")
    yield "delimiters", [model.classify(one, sort=False) for one in documents]
    model.summary_op_ngrams = lambda vectors: [max(column) for column in zip(*vectors)]  # noqa: B905
    model.summary_op_paragraphs = lambda vectors: vectors[-1]
    yield "operators", [model.classify(one, sort=False) for one in documents]
    yield "operators, predict", model.predict(documents)


def _next(model: Any, ngram: str, category: Any) -> list[Any]:
    """The words seen next; those of equal counts have no order of their own."""
    return sorted(map(list, model.get_next_words(ngram, category)), key=lambda one: one[0])


def _shortened(found: dict[str, Any]) -> list[Any]:
    words = [
        [word["lexeme"], word["token"], word["cv"], word["fr"], word["lv"]]
        for paragraph in found["pars"]
        for sentence in paragraph["sents"]
        for word in sentence["words"]
    ]
    return [found["cv"], found["wmv"], [one[1:] for one in found["cvns"]], words]


def answer(body: Callable[[Job], Any]) -> None:
    """Answers the job on standard input, with nothing else on standard output: PySS3 prints."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    json.dump(body(json.loads(sys.stdin.read())), channel)
    channel.close()


if __name__ == "__main__":
    answer(lambda job: run(sys.argv[1], job))
