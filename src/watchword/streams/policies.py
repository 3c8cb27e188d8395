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
from typing import Any, Literal, get_args

import numpy as np

from watchword._checks import (
    FloatArray,
    IntArray,
    Label,
    as_above_zero,
    as_not_negative,
    as_number,
    as_share,
    as_whole,
)
from watchword.model.native import NativePolicy, falling_threshold
from watchword.streams.histories import Histories
from watchword.streams.policy_base import (
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
from watchword.streams.steps import GAINS, QUANTITIES, SHARES, SUMS, Quantity, ScoreName, Step

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

FeatureName = Literal[
    "share", "log_ratio", "posts", "share_posts", "evidence", "gain",
]  # fmt: skip
FEATURES: tuple[FeatureName, ...] = get_args(FeatureName)

NEEDED_FOR: dict[FeatureName, frozenset[Quantity]] = {
    "share": SHARES,
    "log_ratio": Step.needed_for("log_ratio"),
    "posts": frozenset(),
    "share_posts": SHARES,
    "evidence": SUMS,
    "gain": GAINS,
}
"""The quantities that each feature is computed from."""


def _rule(*numbers: float) -> NativePolicy:
    return NativePolicy.weighs(np.array(numbers[:-1]), numbers[-1])


_CHECKS = dict.fromkeys((*FEATURES, "threshold"), as_number)


@dataclass(frozen=True, repr=False)
class Weighs(BuiltInPolicy, rule=_rule, **_CHECKS):
    """Alert if the weighted sum of features of the history is at least `threshold`.

    There is no alert without evidence for the label, whatever the threshold.

    A feature without a weight is not used. Weights are usually learnt from subjects with known
    labels: see `watchword.Learnt`. All features are 0 after
    a first post without evidence:

    - `share`: (value − other) / (value + other), from −1 to 1;
    - `log_ratio`: the score of this name, stretched to −1 to 1;
    - `posts`: the logarithm of the number of posts; `share_posts`: share · posts;
    - `evidence`: log(1 + value + other);
    - `gain`: as the share, of the latest post by itself.

    >>> Weighs("at risk", share=2, posts=0.5, threshold=1.5)
    Weighs(positive='at risk', share=2.0, posts=0.5, threshold=1.5)
    """

    positive: Label
    share: float = 1.0
    log_ratio: float = 0.0
    posts: float = 0.0
    share_posts: float = 0.0
    evidence: float = 0.0
    gain: float = 0.0
    threshold: float = 0.5

    def __repr__(self) -> str:
        """Return the policy without features that are not used."""
        used = {"share": self.share} | self.weights
        named = {"positive": self.positive} | used | {"threshold": self.threshold}
        return f"Weighs({', '.join(f'{name}={value!r}' for name, value in named.items())})"

    @property
    def weights(self) -> dict[FeatureName, float]:
        """The weight of each feature that is used."""
        return {name: weight for name in FEATURES if (weight := getattr(self, name))}

    @property
    def needs(self) -> frozenset[Quantity]:
        """The quantities that the features are computed from."""
        return frozenset[Quantity]().union(*(NEEDED_FOR[name] for name in self.weights))

    @property
    def sums_log_ratios(self) -> bool:
        """Whether the log-ratio has a weight."""
        return self.log_ratio != 0

    def contributions(self, histories: Histories) -> FloatArray:
        """Return weight · feature after each step of all subjects, a column for each of `weights`.

        >>> from watchword.streams.histories import Series
        >>> gains = np.array([[0.5, 0.5], [2.5, 0.5]])
        >>> policy = Weighs("at risk", share=3, gain=0.5)
        >>> policy.contributions(Histories([Series.from_gains(gains, 0)])).round(2).tolist()
        [[0.0, 0.0], [1.5, 0.33]]
        """
        used = [FEATURES.index(name) for name in self.weights]
        return np.asarray(histories.features[:, used] * np.array([*self.weights.values()]))


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
