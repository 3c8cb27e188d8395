"""Scores of subjects over time, computed once per model or read from files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from watchword._checks import (
    BoolArray,
    FloatArray,
    IntArray,
    Label,
    as_choice,
    as_label,
    as_threads,
    reprs,
)
from watchword.data import Subject
from watchword.data.lines import BadLines, Flaw, Source, name_of, shown, two_labels
from watchword.data.records import as_given_label, as_identity
from watchword.data.tables import item_batches
from watchword.errors import DataFormatError, UnknownLabelError
from watchword.evaluation.metrics import chunk_delays, chunk_sizes
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.function_model import FunctionModel, score_source
from watchword.streams.histories import Histories, Series
from watchword.streams.policies import Policy, check_needs
from watchword.streams.sources import combination_of
from watchword.streams.steps import (
    EMA_WEIGHT,
    QUANTITIES,
    SHARES,
    Combination,
    CombineName,
    Quantity,
    gains_of,
)

By = Literal["post", "chunk"]
BYS: tuple[By, ...] = get_args(By)
_ADVICE = " (pass other scores, such as decision values, through the logistic function first)"


@dataclass(frozen=True, eq=False)
class Scores:
    """The values of subjects over time.

    >>> falling = np.array([0.9, 0.4, 0.2])
    >>> scores = Scores.from_shares(["ann"], ["control"], [falling], positive="at risk")
    >>> scores.series[0].other.tolist()
    [0.09999999999999998, 0.6, 0.8]
    """

    subjects: tuple[str, ...]
    truth: tuple[Label | None, ...]
    positive: Label
    by: By
    series: tuple[Series, ...]
    totals: IntArray  #: total number of posts of each subject
    has: frozenset[Quantity] = frozenset(QUANTITIES)  #: quantities available to policies

    @classmethod
    def from_shares(
        cls,
        subjects: Iterable[str],
        truth: Iterable[Label | None],
        shares: Iterable[FloatArray],
        *,
        positive: Label,
    ) -> Scores:
        """Return scores from another classifier: the share of the positive label after each post.

        `Reaches` with the score `"share"` compares these shares with its threshold, and `Overtakes`
        compares share − (1 − share) with its margin. Policies that need gains or sums
        (`Policy.needs`) are rejected, because shares do not determine them.
        """
        series = [_series_of_shares(each) for each in shares]
        return cls._of_series(subjects, truth, series, positive=positive, has=SHARES)

    @classmethod
    def from_posts(
        cls,
        subjects: Iterable[str],
        truth: Iterable[Label | None],
        scores: Iterable[ArrayLike],
        *,
        positive: Label,
        combine: CombineName = "mean",
        ema_weight: float = EMA_WEIGHT,
        by: By = "post",
    ) -> Scores:
        """Return scores from another classifier that scores each post by itself.

        `scores` are, for each subject, the probabilities of the positive label of its posts, from 0
        to 1. The subject's score after a post combines those of its posts so far, by `combine`:

        - `"mean"`: their mean
        - `"sum"`: their sum; policies that need sums can be used only with it
        - `"max"`: the highest
        - `"last"`: the latest
        - `"ema"`: their exponential moving average; the latest post has the weight `ema_weight`

        For the other label, 1 − score is combined in the same way; with `"max"`, it is that of the
        post with the highest score. So the share of the positive label is the subject's score; with
        `"sum"`, it is the mean. Gains are the scores of single posts. With `by="chunk"`, policies
        decide after each tenth of the posts.

        >>> probabilities = [0.2, 0.9, 0.4]
        >>> options = {"positive": "at risk", "combine": "max"}
        >>> highest = Scores.from_posts(["ann"], ["control"], [probabilities], **options)
        >>> highest.series[0].value.tolist(), highest.series[0].gain.tolist()
        ([0.2, 0.9, 0.9], [0.2, 0.9, 0.4])
        """
        as_choice("by", by, BYS)
        combination = Combination(combine, ema_weight)
        gains = [gains_of(_from_0_to_1("scores", each, _ADVICE)) for each in scores]
        series = [
            Series.from_gains(each, 0, ends=_ends_of(len(each), by), combination=combination)
            for each in gains
        ]
        has = combination.provides
        return cls._of_series(subjects, truth, series, positive=positive, by=by, has=has)

    @classmethod
    def from_values(
        cls,
        subjects: Iterable[str],
        truth: Iterable[Label | None],
        values: Iterable[ArrayLike],
        others: Iterable[ArrayLike],
        *,
        positive: Label,
    ) -> Scores:
        """Return scores from another classifier that adds up evidence over posts.

        `values` are, for each subject, the evidence for the positive label after each post, and
        `others` that for the best other label, as in `Step.value` and `Step.other`. Evidence is
        never negative, and sums of it never fall; gains are the differences between posts. All
        policies can be used.

        >>> scores = Scores.from_values(["ann"], ["well"], [[1, 3]], [[2, 2]], positive="at risk")
        >>> scores.series[0].gain.tolist(), scores.histories.scores("share").tolist()
        ([1.0, 2.0], [0.6])
        """
        series = [
            _series_of_values(value, other) for value, other in zip(values, others, strict=True)
        ]
        return cls._of_series(subjects, truth, series, positive=positive)

    @classmethod
    def _of_series(
        cls,
        subjects: Iterable[str],
        truth: Iterable[Label | None],
        series: Sequence[Series],
        *,
        positive: Label,
        by: By = "post",
        has: frozenset[Quantity] = frozenset(QUANTITIES),
    ) -> Scores:
        totals = np.array([one.posts[-1] if one.posts.size else 0 for one in series], np.int64)
        names, label = tuple(subjects), as_label(positive)
        return cls(names, tuple(truth), label, by, tuple(series), totals, has)

    def __post_init__(self) -> None:
        sizes = {len(self.subjects), len(self.truth), len(self.series), len(self.totals)}
        if len(sizes) > 1:
            raise ValueError("subjects, truth, series and totals must have the same length")

    @cached_property
    def histories(self) -> Histories:
        """The series of all subjects, for the policy driver."""
        return Histories(self.series)

    def chosen(self, indices: Sequence[int]) -> Scores:
        """Return the scores of the subjects with these indices only."""
        return replace(
            self,
            subjects=tuple(self.subjects[index] for index in indices),
            truth=tuple(self.truth[index] for index in indices),
            series=tuple(self.series[index] for index in indices),
            totals=self.totals[np.asarray(indices, np.int64)],
        )


def score_streams(
    subjects: Iterable[Subject],
    model: TauSS3 | FunctionModel,
    positive: Label,
    *,
    by: By = "post",
    threads: int | None = None,
) -> Scores:
    """Read all posts of subjects with a model and return their scores."""
    as_choice("by", by, BYS)
    listed = list(subjects)
    sizes = np.array([len(subject.posts) for subject in listed], np.int64)
    contents = [post.content for subject in listed for post in subject.posts]
    source = score_source(model)
    combination = combination_of(source)
    labels, values = source.evidence(contents, as_threads(threads))
    if positive not in labels:
        raise UnknownLabelError(
            f"unknown label {positive!r}; the model knows {reprs(labels, most=10)}"
        )
    column = labels.index(as_label(positive))
    ends = np.cumsum(sizes)
    series = []
    for subject, begin, end in zip(listed, ends - sizes, ends, strict=True):
        gains, steps = values[begin:end], _ends_of(len(subject.posts), by, subject.chunks)
        series.append(Series.from_gains(gains, column, ends=steps, combination=combination))
    names, truth = [subject.id for subject in listed], [subject.label for subject in listed]
    has = combination.provides
    return Scores._of_series(names, truth, series, positive=positive, by=by, has=has)


def alerts_of(scores: Scores, policy: Policy) -> tuple[BoolArray, IntArray]:
    """Return a mask of the alerted subjects and their delays (0 without an alert).

    Delays of chunks follow the official rule: 0 for subjects with fewer than ten posts.
    """
    steps = first_alerts(scores, policy)
    alerted = steps >= 0
    if scores.by == "chunk":
        delays = chunk_delays(np.maximum(steps, 0) + 1, scores.totals)
    else:
        delays = steps + 1
    return alerted, np.where(alerted, delays, 0)


def first_alerts(scores: Scores, policy: Policy) -> IntArray:
    """Return the index of the step at which each subject is alerted; -1 without an alert.

    Raises `ValueError` if the scores lack a quantity that the policy needs.
    """
    check_needs(policy, scores.has)
    return scores.histories.first_alerts(policy)


def _series_of_shares(given: FloatArray) -> Series:
    shares = _from_0_to_1("shares", given)
    others, unknown = 1.0 - shares, np.full(shares.size, np.nan)
    return Series(
        posts=np.arange(1, shares.size + 1),
        value=shares,
        other=others,
        gain=unknown,
        other_gain=unknown,
        log_ratios=unknown,
    )


def _from_0_to_1(name: str, given: ArrayLike, advice: str = "") -> FloatArray:
    values = np.asarray(given, np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"{name} must be numbers from 0 to 1, one per post, got {given!r}{advice}")
    return values


def _series_of_values(value: ArrayLike, other: ArrayLike) -> Series:
    for_it, for_others = _sums("values", value), _sums("others", other)
    if for_it.size != for_others.size:
        raise ValueError("values and others must have the same number of posts for each subject")
    sums = np.stack([for_it, for_others], axis=1)
    own = Series.from_gains(np.diff(sums, axis=0, prepend=0.0), 0)
    return replace(own, value=sums[:, 0], other=sums[:, 1])  # without the errors of rounding


def _sums(name: str, given: ArrayLike) -> FloatArray:
    sums = np.asarray(given, np.float64)
    if sums.ndim != 1 or not np.isfinite(sums).all() or (np.diff(sums, prepend=0.0) < 0).any():
        raise ValueError(
            f"{name} must be numbers from 0 on that never fall, one per post, got {given!r} (use "
            "from_posts for scores of single posts, from_shares for shares)"
        )
    return sums


def _ends_of(posts: int, by: By, chunks: ArrayLike | None = None) -> IntArray | None:
    """Return the number of posts after each chunk; None if each post is a step."""
    if by == "post":
        return None
    ends = np.cumsum(np.asarray(chunk_sizes(posts) if chunks is None else chunks, np.int64))
    return ends if posts else np.zeros(0, np.int64)  # without posts, there are no steps


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
