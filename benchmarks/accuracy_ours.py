"""watchword on corpora: τ-SS3 as it comes, refined, as in the paper, tuned by `watchword.search`.

`python accuracy_ours.py NAME < JOB` prints the labels of the test texts.
"""

from __future__ import annotations

from typing import Any

from accuracy_job import Row, Task, answer
from ours import watchword
from process import Stopwatch

FOLDS = 4
SEED = 0
UNTUNED = {
    "tau-ss3-refined": "TauSS3(), refined",
    "tau-ss3-untuned": "TauSS3()",
    "tau-ss3-paper": "TauSS3.paper()",
}


def folds_of(labels: list[str]) -> tuple[tuple[int, ...], ...]:
    """The folds that `watchword.search` uses, for everybody else."""
    watchword()
    from watchword.evaluation.folds import deal

    return tuple(tuple(fold.held_out.tolist()) for fold in deal(labels, folds=FOLDS, seed=SEED))


def run(name: str, task: Task) -> Row:
    ww = watchword()
    train, test = task.corpus.train, task.corpus.test
    watch = Stopwatch()
    with watch.step("learn"):
        if name in UNTUNED:
            setting, value = UNTUNED[name], None
            model = ww.TauSS3.paper() if name == "tau-ss3-paper" else ww.TauSS3()
            model.learn_many(train.texts, train.labels, threads=1)
            if name == "tau-ss3-refined":
                model.refine(train.texts, train.labels, threads=1)
        else:
            model, setting, value = _tuned(ww, task)
    with watch.step("read"):
        predicted = list(model.predict_many(test.texts, threads=1))
    probabilities = model.probability_many(test.texts, threads=1).tolist()
    version, labels = ww.__version__, list(model.labels)
    return Row(version, setting, value, predicted, watch.processor, labels, probabilities)


def _tuned(ww: Any, task: Task) -> tuple[Any, str, float]:
    train = task.corpus.train

    def progress(items: Any, total: int) -> Any:
        for number, item in enumerate(items, start=1):
            if number % 50 == 0:
                task.say(f"tau-ss3: {number} of {total} settings")
            yield item

    found = ww.search(
        train.texts,
        train.labels,
        method="random",
        trials=task.trials,
        folds=FOLDS,
        seed=SEED,
        threads=1,
        progress=progress,
    )
    best = found.best
    setting = ", ".join(f"{name}={value!r}" for name, value in best.parameters.items())
    setting += ", refined" if best.refined else ""
    return found.model(train.texts, train.labels, threads=1), setting, best.value


if __name__ == "__main__":
    answer(run, ("tau-ss3", *UNTUNED))
