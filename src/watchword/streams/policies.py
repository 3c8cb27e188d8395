"""Policies: rules that decide when to alert.

A policy compares the accumulated confidence of each label and decides which subjects to alert. The
same code serves one subject or a million: a policy gets a `Step` of arrays, one row per subject,
and returns an array of booleans. The first alert of a subject is final; the reader enforces that,
not the policy. The rules of the policies in this module are in the core (`src/core/policy.cpp`).

To write your own policy, define a frozen dataclass with a method `alerts`:

>>> @dataclass(frozen=True)
... class Doubles(Policy):
...     positive: Label
...
...     def alerts(self, step):
...         return step.value > 2 * step.other
>>> Doubles("at risk").after(3)
After(of=Doubles(positive='at risk'), posts=3)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchword._arrays import FloatArray, IntArray
from watchword._checks import (
    Label,
    as_above_zero,
    as_not_negative,
    as_number,
    as_share,
    as_whole,
)
from watchword.model.native import NativePolicy, falling_threshold
from watchword.streams.policy import (
    After,
    AllOf,
    AnyOf,
    BuiltInPolicy,
    Policy,
    RankedBy,
    as_at_least_one,
    as_policy,
    as_score,
    field_names,
)
from watchword.streams.steps import GAINS, QUANTITIES, SHARES, Quantity, ScoreName, Step
from watchword.streams.weighing import Weighs

__all__ = [
    "POLICIES",
    "After",
    "AllOf",
    "AnyOf",
    "Leaps",
    "Overtakes",
    "Policy",
    "RankedBy",
    "Reaches",
    "ReachesFalling",
    "Repeats",
    "StandsOut",
    "Stays",
    "Step",
    "Weighs",
    "as_policy",
    "check_needs",
    "policy_from_dict",
]


def _as_count(name: str, value: object) -> int:
    return as_whole(name, value, 0)


@dataclass(frozen=True)
class Overtakes(
    BuiltInPolicy, rule=NativePolicy.overtakes, ratio=as_not_negative, margin=as_number
):
    """The paper's rule: alert if the positive value is above that of the best other label.

    A good first choice: it needs no tuning if the model has learnt both labels equally well. If
    alerts come too easily, raise `margin`, which delays the first alerts, or `ratio`, which also
    matters after many posts: alert if value > ratio · other + margin. A negative margin lets the
    value be below the other, but without evidence for the label there is no alert.

    >>> Overtakes("at risk")
    Overtakes(positive='at risk', ratio=1.0, margin=0.0)
    """

    positive: Label
    ratio: float = 1.0
    margin: float = 0.0

    needs = SHARES  # compares two values of the same step


@dataclass(frozen=True)
class Leaps(BuiltInPolicy, rule=NativePolicy.leaps, factor=as_not_negative):
    """Alert if the latest post added `factor` times as much to the positive value as to any other.

    Catches sudden signals that a long harmless history would hide. Alone it gives many false
    alerts; the paper's authors combined it with their first rule:
    `Overtakes("at risk") | Leaps("at risk")`.

    >>> Leaps("at risk").factor
    4.0
    """

    positive: Label
    factor: float = 4.0

    needs = GAINS


class _ComparesScore(BuiltInPolicy):
    """Base class of policies that compare a score."""

    score: ScoreName

    @property
    def needs(self) -> frozenset[Quantity]:
        """The quantities that the score is computed from."""
        return Step.needed_for(self.score)

    @property
    def ranks_by(self) -> ScoreName:
        """The score that is compared."""
        return self.score


@dataclass(frozen=True)
class Reaches(_ComparesScore, rule=NativePolicy.reaches, threshold=as_share, score=as_score):
    """Alert if the positive label's normalised score is at least `threshold`.

    The score is between 0 and 1 for short and long histories alike. `"share"` is
    value / (value + other); `"softmax"` is the softmax of the means per post, which stays close to
    .5 unless most posts point the same way; `"difference"` follows value − other, which grows with
    every post that points the same way; `"log_ratio"` follows the mean over posts of the logarithm
    of gain / other gain, in which a long post counts little more than a short one. Scores vary
    widely over the first posts: combine this policy with `after`.

    >>> Reaches("at risk", threshold=0.7).after(5)
    After(of=Reaches(positive='at risk', threshold=0.7, score='share'), posts=5)
    """

    positive: Label
    threshold: float = 0.5
    score: ScoreName = "share"


@dataclass(frozen=True)
class Stays(
    _ComparesScore, rule=NativePolicy.stays, threshold=as_share, last=_as_count, score=as_score
):
    """Alert if the current score and the `last` scores before it are all at least `threshold`.

    A single post with an extreme score does not trigger an alert.

    >>> Stays("at risk", threshold=0.6, last=4).last
    4
    """

    positive: Label
    threshold: float = 0.5
    last: int = 2
    score: ScoreName = "share"

    remembers = 1  # the number of consecutive posts with a high score


@dataclass(frozen=True)
class Repeats(BuiltInPolicy, rule=NativePolicy.repeats, times=as_at_least_one):
    """Alert after `times` consecutive posts that each favour the positive label.

    Considers single posts, not the whole history: for signals that come in series. A post without
    evidence ends the series.

    >>> Repeats("at risk", times=2).times
    2
    """

    positive: Label
    times: int = 3

    needs = GAINS
    remembers = 1  # the length of the current series


@dataclass(frozen=True)
class ReachesFalling(
    _ComparesScore,
    rule=NativePolicy.reaches_falling,
    start=as_share,
    end=as_share,
    wait=_as_count,
    scale=as_above_zero,
    score=as_score,
):
    """Alert as `Reaches` does, with a threshold that falls from `start` to `end` over the posts.

    Strict early and sensitive late: no alert in the first `wait` posts, then
    θ(t) = end + (start − end) · e^(−(t − wait) / scale) after t posts.

    >>> import numpy as np
    >>> policy = ReachesFalling("at risk", start=0.9, end=0.6, wait=3, scale=10)
    >>> policy.threshold_after(np.array([3, 13, 1000])).round(3).tolist()
    [0.9, 0.71, 0.6]
    """

    positive: Label
    start: float = 0.9
    end: float = 0.6
    wait: int = 0
    scale: float = 10.0
    score: ScoreName = "share"

    def threshold_after(self, posts: IntArray) -> FloatArray:
        """Return θ after the given numbers of posts."""
        return falling_threshold(self.start, self.end, self.wait, self.scale, posts)


@dataclass(frozen=True)
class StandsOut(BuiltInPolicy, rule=NativePolicy.stands_out, gamma=as_not_negative):
    """Alert if the score, positive − other, is an outlier among all subjects of the round.

    The threshold is median + gamma · MAD (the median absolute deviation), from the fourth round
    on. For collections that are read in rounds, where most subjects are harmless and the model's
    values are not well calibrated. Subjects without further posts still count in the comparison,
    but get no alert.

    >>> StandsOut("at risk", gamma=2.5).is_population
    True
    """

    positive: Label
    gamma: float = 2.0

    needs = SHARES  # compares the scores of one round
    ranks_by = "difference"
    is_population = True


POLICIES: dict[str, type[Policy]] = {
    kind.__name__: kind
    for kind in (
        Overtakes, Leaps, Reaches, Stays, Repeats, ReachesFalling, StandsOut, Weighs,
        After, RankedBy, AnyOf, AllOf,
    )
}  # fmt: skip
"""All policies of this package by name."""


def check_needs(policy: Policy, has: frozenset[Quantity]) -> None:
    """Raise `ValueError` if a policy needs other quantities than these."""
    missing = policy.needs - has
    if not missing:
        return
    for part in policy.parts:
        check_needs(part, has)  # the message about a part is more precise
    lacking = " and ".join(f"{name} ({QUANTITIES[name]})" for name in sorted(missing))
    own = ", unless its property `needs` says less" if type(policy).needs is Policy.needs else ""
    kinds: list[Any] = [kind for kind in POLICIES.values() if "positive" in field_names(kind)]
    usable = [kind.__name__ for kind in kinds if kind(policy.positive).needs <= has]
    raise ValueError(
        f"{policy} needs {lacking}{own}, but these scores have only {', '.join(sorted(has))}; "
        f"policies that work with them by default: {', '.join(usable)}"
    )


def policy_from_dict(data: Mapping[str, Any]) -> Policy:
    """Return the policy described by the output of `Policy.to_dict`.

    >>> policy = Overtakes("at risk", ratio=2).after(5)
    >>> policy_from_dict(policy.to_dict()) == policy
    True
    """
    name = data.get("policy") if isinstance(data, Mapping) else None
    if not isinstance(name, str) or name not in POLICIES:
        known = ", ".join(POLICIES)
        raise ValueError(f"not a policy description: {data!r} ('policy' must be one of {known})")
    kind = POLICIES[name]
    own = {name: value for name, value in data.items() if name != "policy"}
    unknown = own.keys() - set(field_names(kind))
    if unknown:
        names = ", ".join(sorted(map(str, unknown)))
        known = ", ".join(field_names(kind))
        raise ValueError(f"{kind.__name__} has no parameter {names} (known: {known})")
    if "policies" in own:
        own["policies"] = tuple(policy_from_dict(each) for each in own["policies"])
    if "of" in own:
        own["of"] = policy_from_dict(own["of"])
    return kind(**own)
