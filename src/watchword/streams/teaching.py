"""Teaching a model the posts of subjects."""

from __future__ import annotations

from collections.abc import Iterable

from watchword._checks import Label
from watchword.data import Subject
from watchword.model.refining import POST_SETTINGS
from watchword.model.tau_ss3 import TauSS3


def teach(
    model: TauSS3,
    subjects: Iterable[Subject],
    *,
    refine: bool = False,
    threads: int | None = None,
) -> None:
    """Teach a model all posts of subjects, each post as a document with its subject's label.

    With `refine`, then refine the model with these posts (`TauSS3.refine`), with a low cost of
    mistakes, because many posts say nothing about their label, and with equal weight of labels.

    A model that prunes periodically learns in one thread, in the order of the subjects.
    """
    texts: list[str] = []
    labels: list[Label] = []
    for subject in subjects:
        if subject.label is None:
            raise ValueError(f"subject {subject.id!r} has no label")
        texts += [post.content for post in subject.posts]
        labels += [subject.label] * len(subject.posts)
    workers = threads if model.parameters["prune_period"] is None else 1
    model.learn_many(texts, labels, threads=workers)
    if refine:
        model.refine(texts, labels, **POST_SETTINGS, threads=threads)
