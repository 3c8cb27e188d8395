"""Base class of policies, and policies that combine others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, get_args

import numpy as np

from watchword._arrays import BoolArray
from watchword._checks import Label, as_choice, as_label, as_whole
from watchword.model.native import NativePolicy
from watchword.streams.steps import QUANTITIES, Quantity, ScoreName, Step, marked


class Policy(ABC):
    """Base class of policies. Subclasses are frozen dataclasses with a field `positive`."""

    positive: Label

    @abstractmethod
    def alerts(self, step: Step) -> BoolArray:
        """Return which subjects to alert now, one boolean per row.

        Rows must be independent of each other unless `is_population` is true. Memory must be kept
        in `Step.memory` only: a policy without memory may get many posts of one subject at once.
        """

    @property
    def remembers(self) -> int:
        """The number of columns of `Step.memory` that the policy uses; they start at 0."""
        return 0

    @property
    def is_population(self) -> bool:
        """Whether the policy compares all subjects of a round (it then needs a `Watcher`)."""
        return False

    @property
    def needs(self) -> frozenset[Quantity]:
        """The quantities it uses: `"shares"`, `"sums"`, `"gains"` [default: all].

        Scores without one of them are rejected. A policy that only compares `Step.value` with
        `Step.other`, or uses `Step.score("share")`, needs shares only.
        """
        return frozenset(QUANTITIES)

    @property
    def ranks_by(self) -> ScoreName | None:
        """The score by which subjects are ranked: the one that the policy compares.

        None if it compares none: subjects are then ranked by their share.
        """
        return None

    @property
    def sums_log_ratios(self) -> bool:
        """Whether `Step.log_ratios` has the sum of `log_ratio_of` over the posts of each subject.

        The sum is kept in the state like one more column of the memory.
        """
        return self.ranks_by == "log_ratio"

    @property
    def columns(self) -> int:
        """The number of columns in the state: the memory and the sum of log-ratios."""
        return self.remembers + self.sums_log_ratios

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The combined policies; empty for a simple policy."""
        return ()

    def after(self, posts: int) -> After:
        """Return this policy without alerts before the given number of posts."""
        return After(self, posts)

    def ranked_by(self, score: ScoreName) -> RankedBy:
        """Return this policy with the score that ranks subjects; alerts stay the same."""
        return RankedBy(self, score)

    def __or__(self, other: Policy) -> AnyOf:
        return AnyOf((self, other))

    def __and__(self, other: Policy) -> AllOf:
        return AllOf((self, other))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `policy_from_dict`.

        >>> from watchword import Overtakes
        >>> Overtakes("at risk", margin=1).to_dict()
        {'policy': 'Overtakes', 'positive': 'at risk', 'ratio': 1.0, 'margin': 1.0}
        """
        own = {name: _plain(getattr(self, name)) for name in field_names(type(self))}
        return {"policy": type(self).__name__} | own


def leaves(policy: Policy) -> Iterator[Policy]:
    """Yield the simple policies that a policy is made of."""
    if not policy.parts:
        yield policy
    for part in policy.parts:
        yield from leaves(part)


class BuiltInPolicy(Policy):
    """Base class of policies whose rule is in the core, which applies it to each post."""

    @abstractmethod
    def compiled(self) -> NativePolicy:
        """Return the rule with the policy's parameters."""

    def alerts(self, step: Step) -> BoolArray:
        """Return which subjects to alert now, one boolean per row."""
        return marked(self.compiled(), step)


class _Composite(BuiltInPolicy):
    """Base class of policies made of other policies, their `parts`."""

    @property
    def positive(self) -> Label:  # type: ignore[override]
        """The positive label of all parts."""
        return self.parts[0].positive

    @property
    def remembers(self) -> int:
        """The number of memory columns of all parts together."""
        return sum(part.remembers for part in self.parts)

    @property
    def is_population(self) -> bool:
        """Whether a part is a population policy."""
        return any(part.is_population for part in self.parts)

    @property
    def needs(self) -> frozenset[Quantity]:
        """The quantities that any part needs."""
        return frozenset[Quantity]().union(*(part.needs for part in self.parts))

    @property
    def ranks_by(self) -> ScoreName | None:
        """The score of the first part that has one."""
        return next((part.ranks_by for part in self.parts if part.ranks_by), None)

    @property
    def sums_log_ratios(self) -> bool:
        """Whether a part uses the sum of log-ratios."""
        return any(part.sums_log_ratios for part in self.parts)


@dataclass(frozen=True)
class After(_Composite):
    """Another policy, without alerts before `posts` posts. Created by `Policy.after`."""

    of: Policy
    posts: int

    def __post_init__(self) -> None:
        settle(self, of=as_policy, posts=as_at_least_one)

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The other policy."""
        return (self.of,)

    def compiled(self) -> NativePolicy:
        """Return the rule: alert where the other policy does and enough posts have been read."""
        return NativePolicy.after(compiled(self.of), self.posts)


@dataclass(frozen=True)
class RankedBy(_Composite):
    """Another policy, with another score to rank subjects by. Created by `Policy.ranked_by`.

    >>> from watchword import Overtakes
    >>> Overtakes("at risk").ranked_by("difference").ranks_by
    'difference'
    """

    of: Policy
    score: ScoreName

    def __post_init__(self) -> None:
        settle(self, of=as_policy, score=as_score)

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The other policy."""
        return (self.of,)

    @property
    def needs(self) -> frozenset[Quantity]:
        """The quantities that the other policy and the score need."""
        return self.of.needs | Step.needed_for(self.score)

    @property
    def ranks_by(self) -> ScoreName:
        """The score."""
        return self.score

    @property
    def sums_log_ratios(self) -> bool:
        """Whether the score or the other policy uses the sum of log-ratios."""
        return self.score == "log_ratio" or self.of.sums_log_ratios

    def compiled(self) -> NativePolicy:
        """Return the rule of the other policy."""
        return compiled(self.of)


@dataclass(frozen=True)
class _Combined(_Composite):
    policies: tuple[Policy, ...]

    def __post_init__(self) -> None:
        checked = tuple(as_policy("a policy", policy) for policy in self.policies)
        flat: list[Policy] = []
        for policy in checked:  # a | b | c is one policy of three
            flat += policy.policies if isinstance(policy, type(self)) else [policy]
        if not flat:
            raise ValueError("policies must not be empty")
        labels = {policy.positive for policy in flat}
        if len(labels) > 1:
            raise ValueError(f"policies for different labels cannot be combined: {labels}")
        object.__setattr__(self, "policies", tuple(flat))

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The combined policies."""
        return self.policies


@dataclass(frozen=True)
class AnyOf(_Combined):
    """Alerts where at least one of several policies does. Created by `a | b`.

    >>> from watchword import Leaps, Overtakes
    >>> Overtakes("at risk") | Leaps("at risk", factor=8)  # doctest: +ELLIPSIS
    AnyOf(policies=(Overtakes(...), Leaps(positive='at risk', factor=8.0)))
    """

    def compiled(self) -> NativePolicy:
        """Return the rule: alert where at least one policy does."""
        return NativePolicy.any_of([compiled(policy) for policy in self.policies])


@dataclass(frozen=True)
class AllOf(_Combined):
    """Alerts where all of several policies do at the same post. Created by `a & b`.

    >>> from watchword import Overtakes, Repeats
    >>> Overtakes("at risk") & Repeats("at risk", times=2)  # doctest: +ELLIPSIS
    AllOf(policies=(Overtakes(...), Repeats(positive='at risk', times=2)))
    """

    def compiled(self) -> NativePolicy:
        """Return the rule: alert where all policies do."""
        return NativePolicy.all_of([compiled(policy) for policy in self.policies])


def compiled(policy: Policy) -> NativePolicy:
    """Return the policy as the core applies it; the core calls a user-defined policy back."""
    # A subclass of a built-in policy may differ from it in any method.
    if isinstance(policy, BuiltInPolicy) and "compiled" in vars(type(policy)):
        return policy.compiled()
    return NativePolicy.own(partial(_ask, policy), policy.remembers, policy.is_population)


def _ask(policy: Policy, *values: Any) -> BoolArray:
    return checked_alerts(policy, Step(*values))


def checked_alerts(policy: Policy, step: Step) -> BoolArray:
    """Return a policy's alerts after checking that they are one boolean per row."""
    alerts: Any = policy.alerts(step)
    if not (isinstance(alerts, np.ndarray) and alerts.dtype == np.bool_):
        kind = getattr(alerts, "dtype", type(alerts).__name__)
        raise TypeError(f"{type(policy).__name__}.alerts must return an array of bool, got {kind}")
    if alerts.shape != step.posts.shape:
        raise ValueError(
            f"{type(policy).__name__}.alerts must return one bool per subject "
            f"{step.posts.shape}, got {alerts.shape}"
        )
    return alerts


def field_names(kind: type[Policy]) -> list[str]:
    """Return the names of a policy's fields."""
    return [field.name for field in fields(kind)]  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, Policy):
        return value.to_dict()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def settle(policy: object, **checks: Any) -> None:
    """Check and convert the fields of a frozen dataclass in its `__post_init__`."""
    for name, check in checks.items():
        value = getattr(policy, name)
        settled = check(value) if check is as_label else check(name, value)
        object.__setattr__(policy, name, settled)


def as_policy(name: str, value: object) -> Policy:
    """Return the value, or raise `TypeError` if it is not a policy."""
    if not isinstance(value, Policy):
        raise TypeError(f"{name} must be a Policy, such as Overtakes(label), got {value!r}")
    return value


def ranking_score(policy: Policy, has: Collection[Quantity] = frozenset(QUANTITIES)) -> ScoreName:
    """Return the score by which subjects are ranked: the policy's score, else the share.

    It is also the share if the quantities that the policy's score needs are not available.
    """
    own = policy.ranks_by
    return own if own is not None and Step.needed_for(own) <= set(has) else "share"


def as_score(name: str, value: object) -> ScoreName:
    """Return the value, or raise `ValueError` if it is not the name of a score."""
    return as_choice(name, value, get_args(ScoreName))


def as_at_least_one(name: str, value: object) -> int:
    """Return the value as a whole number above 0."""
    return as_whole(name, value, 1)
