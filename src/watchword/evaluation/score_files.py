"""Files with the scores of posts from another classifier, as JSON lines."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from watchword._arrays import FloatArray
from watchword._checks import Label
from watchword.data.flaws import BadLines, Flaw, shown, two_labels
from watchword.data.inputs import item_batches
from watchword.data.lines import Source, name_of
from watchword.data.records import as_given_label, as_identity
from watchword.errors import DataFormatError
from watchword.evaluation.scores import By, Scores
from watchword.streams.combining import EMA_WEIGHT, CombineName


class PostScores(NamedTuple):
    """The scores of subjects' posts, in order, and the subjects' labels."""

    subjects: tuple[str, ...]
    truth: tuple[Label | None, ...]
    scores: tuple[FloatArray, ...]


_ScoreLine = tuple[
    str, int, float, Label | None
]  # a subject, the number of a post, score and label


def read_scores(
    source: Source,
    *,
    positive: Label,
    combine: CombineName = "mean",
    ema_weight: float = EMA_WEIGHT,
    by: By = "post",
) -> Scores:
    """Read the scores of posts from JSON lines, and combine them; see `Scores.from_posts`.

    Each line has the `subject`, the post's number `seq`, its `score` from 0 to 1, and may have the
    subject's true `label`. Lines may be in any order. The posts of every subject are numbered from
    0 or, throughout the file, from 1; a missing or duplicate number is an error.

    >>> lines = ['{"subject": "ann", "seq": 2, "score": 0.9, "label": "at risk"}',
    ...          '{"subject": "ann", "seq": 1, "score": 0.2}']
    >>> read_scores(lines, positive="at risk").series[0].value.tolist()
    [0.2, 0.55]
    """
    found = read_post_scores(source)
    return Scores.from_posts(
        *found, positive=positive, combine=combine, ema_weight=ema_weight, by=by
    )


def read_post_scores(source: Source) -> PostScores:
    """Read the scores of posts from JSON lines, without combining them."""
    name, bad = name_of(source), BadLines("error", None)
    found: dict[str, dict[int, tuple[float, int]]] = {}  # of each post, also its line
    labels: dict[str, tuple[Label, int]] = {}
    for number, (subject, seq, score, label) in chain.from_iterable(
        item_batches(source, _line_of, bad)
    ):
        posts = found.setdefault(subject, {})
        if seq in posts:
            flaw = f"duplicate post {seq} of subject {shown(subject)}, also on line {posts[seq][1]}"
            bad.meet(Flaw(flaw), name=name, line=number)
        if label is not None:
            known, line = labels.setdefault(subject, (label, number))
            if known != label:
                bad.meet(two_labels(subject, label, known, line), name=name, line=number)
        posts[seq] = score, number
    if not found:
        raise bad.nothing_in(name, "scores")
    first = min(1, *(min(posts) for posts in found.values()))
    for subject, posts in found.items():
        _check_numbers(name, subject, posts, first)
    truth = tuple(labels.get(subject, (None, 0))[0] for subject in found)
    scores = (np.array([posts[seq][0] for seq in sorted(posts)]) for posts in found.values())
    return PostScores(tuple(found), truth, tuple(scores))


def _check_numbers(name: str, subject: str, scores: Collection[int], first: int) -> None:
    """Raise `DataFormatError` unless the posts are numbered without gaps."""
    last = max(scores)
    if last - first + 1 != len(scores):
        missing = next(seq for seq in range(first, last) if seq not in scores)
        raise DataFormatError(
            f"{name}: subject {shown(subject)} has no post {missing}, though it has a post {last} "
            f"(number the posts of every subject from {first} on, without gaps)"
        )


def _line_of(record: Mapping[str, Any]) -> _ScoreLine:
    label = record.get("label")
    return (
        as_identity("subject", record.get("subject")),
        _seq_of(record),
        _score_of(record),
        None if label is None else as_given_label(label),
    )


def _seq_of(record: Mapping[str, Any]) -> int:
    seq = record.get("seq")
    if type(seq) is int and seq >= 0:
        return seq
    if seq is None:
        raise Flaw('"seq" is missing: number the posts of each subject')
    raise Flaw(f'"seq" must be a whole number from 0 on, got {shown(seq)}')


def _score_of(record: Mapping[str, Any]) -> float:
    score = record.get("score")
    if isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 1:
        return float(score)
    if score is None:
        raise Flaw('"score" is missing')
    raise Flaw(
        f'"score" must be a number from 0 to 1, got {shown(score)} (pass other scores, such as '
        "decision values, through the logistic function first)"
    )
