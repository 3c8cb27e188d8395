"""Cross-validation of a text classifier."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from watchword._checks import Targets, are_several, as_label_sets, as_labelled_texts
from watchword._progress import Progress, tracked
from watchword.evaluation.folds import deal
from watchword.evaluation.label_counts import in_order
from watchword.evaluation.labels import Evaluation, evaluate
from watchword.model.tau_ss3 import TauSS3


def cross_validate(
    texts: Iterable[str],
    labels: Targets,
    *,
    model: TauSS3 | None = None,
    folds: int = 5,
    groups: Sequence[Hashable] | None = None,
    repeats: int = 1,
    seed: int = 0,
    refine: bool | Mapping[str, Any] = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate a model by cross-validation: each fold is predicted from all other texts.

    Folds are stratified by label, and texts of one group (for example, one author) are always in
    the same fold. With `repeats`, the texts are dealt to folds that number of times, and each text
    is counted as often. `model` provides parameters and hooks; it is not changed. `labels` has one
    label per text, or one collection of labels per text: a text is then learnt under each of its
    labels, and several labels are predicted. With `refine` (True, or arguments of `TauSS3.refine`),
    each model is refined with the texts it learnt, never with those it predicts. The result covers
    all folds together; `folds` has the evaluation of each fold, and `spread` the deviation between
    them.

    >>> texts = ["machine learning", "deep learning", "what a match", "the match"] * 5
    >>> found = cross_validate(texts, ["tech", "tech", "sports", "sports"] * 5, folds=2)
    >>> found.accuracy, len(found.folds)
    (1.0, 2)
    """
    documents, truth = as_labelled_texts(texts, labels)
    if model is not None and not isinstance(model, TauSS3):
        raise TypeError(f"model must be a TauSS3, got {type(model).__name__}")
    known = [in_order(one) for one in as_label_sets(truth)]
    judged: list[Any] = known if are_several(truth) else truth
    parameters = {} if model is None else model.parameters
    settings = refine if isinstance(refine, Mapping) else {} if refine else None
    parts = deal(truth, folds=folds, groups=groups, repeats=repeats, seed=seed)

    def judge_all() -> Iterator[Evaluation]:
        for fold in parts:
            taught = TauSS3(**parameters)
            learnt, held_out = fold.others(len(documents)).tolist(), fold.held_out.tolist()
            texts, labels = ([column[i] for i in learnt] for column in (documents, known))
            taught.learn_many(texts, labels, threads=threads)
            if settings is not None:
                taught.refine(texts, labels, threads=threads, **settings)
            texts, labels = ([column[i] for i in held_out] for column in (documents, judged))
            yield evaluate(taught, texts, labels, threads=threads)

    return Evaluation.pooled(tracked(judge_all(), len(parts), progress))
