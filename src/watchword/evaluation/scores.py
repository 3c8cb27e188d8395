"""Scores of subjects over time, computed once per model and reused for any number of policies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from watchword._arrays import BoolArray, FloatArray, IntArray
from watchword._checks import Label, as_choice, as_label, as_threads
from watchword.data import Subject
from watchword.errors import UnknownLabelError
from watchword.evaluation.metrics import chunk_delays, chunk_sizes
from watchword.model.engine import engine_of
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.driver import Histories, Series
from watchword.streams.policies import POLICIES, Policy
from watchword.streams.policy import field_names
from watchword.streams.steps import QUANTITIES, SHARES, Quantity

By = Literal["post", "chunk"]
BYS: tuple[By, ...] = get_args(By)


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
        totals = np.array([each.value.size for each in series], np.int64)
        return cls(
            tuple(subjects),
            tuple(truth),
            as_label(positive),
            "post",
            tuple(series),
            totals,
            SHARES,
        )

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
    model: TauSS3,
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
    labels, values = engine_of(model).evidence(contents, as_threads(threads))
    if positive not in labels:
        raise UnknownLabelError(f"unknown label {positive!r}; the model knows {labels}")
    column = labels.index(as_label(positive))
    ends = np.cumsum(sizes)
    series = []
    for subject, begin, end in zip(listed, ends - sizes, ends, strict=True):
        steps = None if by == "post" else _chunk_ends(subject)
        series.append(Series.from_gains(values[begin:end], column, ends=steps))
    return Scores(
        tuple(subject.id for subject in listed),
        tuple(subject.label for subject in listed),
        as_label(positive),
        by,
        tuple(series),
        sizes,
    )


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
    _check_needs(scores, policy)
    return scores.histories.first_alerts(policy)


def _check_needs(scores: Scores, policy: Policy) -> None:
    missing = policy.needs - scores.has
    if not missing:
        return
    for part in policy.parts:
        _check_needs(scores, part)  # the message about a part is more precise
    lacking = " and ".join(f"{name} ({QUANTITIES[name]})" for name in sorted(missing))
    own = ", unless its property `needs` says less" if type(policy).needs is Policy.needs else ""
    kinds: list[Any] = [kind for kind in POLICIES.values() if "positive" in field_names(kind)]
    usable = [kind.__name__ for kind in kinds if kind(scores.positive).needs <= scores.has]
    raise ValueError(
        f"{policy} needs {lacking}{own}, but these scores have only "
        f"{', '.join(sorted(scores.has))}; policies that work with them by default: "
        f"{', '.join(usable)}"
    )


def _series_of_shares(given: FloatArray) -> Series:
    shares = np.asarray(given, np.float64)
    if shares.ndim != 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"shares must be numbers from 0 to 1, one per post, got {given!r}")
    others, unknown = 1.0 - shares, np.full(shares.size, np.nan)
    return Series(
        posts=np.arange(1, shares.size + 1),
        value=shares,
        other=others,
        gain=unknown,
        other_gain=unknown,
        log_ratios=unknown,
    )


def _chunk_ends(subject: Subject) -> IntArray:
    if not subject.posts:  # no steps, as with by="post"
        return np.zeros(0, np.int64)
    sizes = chunk_sizes(len(subject.posts)) if subject.chunks is None else subject.chunks
    return np.cumsum(np.asarray(sizes, np.int64))
