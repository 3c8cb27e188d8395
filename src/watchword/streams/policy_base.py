"""The base class of policies, and policies that combine others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar, get_args

import numpy as np

from watchword._checks import BoolArray, Label, as_choice, as_label, as_whole
from watchword.model.native import NativePolicy, Score
from watchword.streams.steps import QUANTITIES, Quantity, ScoreName, Step

Check = Callable[[str, Any], Any]
"""A check of a field: it takes its name and its value, and returns the value to keep."""


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
        return sum(part.remembers for part in self.parts)

    @property
    def is_population(self) -> bool:
        """Whether the policy compares all subjects of a round (it then needs a `Watcher`)."""
        return any(part.is_population for part in self.parts)

    @property
    def needs(self) -> frozenset[Quantity]:
        """The quantities it uses: `"shares"`, `"sums"`, `"gains"` [default: all, or of its parts].

        Scores without one of them are rejected. A policy that only compares `Step.value` with
        `Step.other`, or uses `Step.score("share")`, needs shares only.
        """
        needed = [part.needs for part in self.parts] or [frozenset(QUANTITIES)]
        return frozenset[Quantity]().union(*needed)

    @property
    def ranks_by(self) -> ScoreName | None:
        """The score by which subjects are ranked: the one that the policy compares.

        None if it compares none: subjects are then ranked by their share. A combined policy has the
        score of its first part with one.
        """
        return next((part.ranks_by for part in self.parts if part.ranks_by), None)

    @property
    def sums_log_ratios(self) -> bool:
        """Whether `Step.log_ratios` has the sum of `log_ratio_of` over the posts of each subject.

        The sum is kept in the state like one more column of the memory.
        """
        return self.ranks_by == "log_ratio" or any(part.sums_log_ratios for part in self.parts)

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


def as_policy(name: str, value: object) -> Policy:
    """Return the value, or raise `TypeError` if it is not a policy."""
    if not isinstance(value, Policy):
        raise TypeError(f"{name} must be a Policy, such as Overtakes(label), got {value!r}")
    return value


def as_score(name: str, value: object) -> ScoreName:
    """Return the value, or raise `ValueError` if it is not the name of a score."""
    return as_choice(name, value, get_args(ScoreName))


def as_at_least_one(name: str, value: object) -> int:
    """Return the value as a whole number above 0."""
    return as_whole(name, value, 1)


def check_fields(policy: Any, **checks: Check) -> None:
    """Check and convert the fields of a frozen dataclass in its `__post_init__`."""
    if "positive" in vars(policy):
        object.__setattr__(policy, "positive", as_label(policy.positive))
    for name, check in checks.items():
        object.__setattr__(policy, name, check(name, getattr(policy, name)))


class BuiltInPolicy(Policy):
    """Base class of policies whose rule is in the core, which applies it to each post.

    A subclass names its `rule` and, in the order of the rule's arguments, a check of each field.
    """

    _rule: ClassVar[Callable[..., NativePolicy]]
    _checks: ClassVar[dict[str, Check]] = {}

    def __init_subclass__(
        cls, *, rule: Callable[..., NativePolicy] | None = None, **checks: Check
    ) -> None:
        super().__init_subclass__()
        cls._checks = checks or cls._checks
        if rule is not None:
            cls._rule = staticmethod(rule)

    def __post_init__(self) -> None:
        check_fields(self, **self._checks)

    def compiled(self) -> NativePolicy:
        """Return the rule with the policy's parameters."""
        return self._rule(*(_native(getattr(self, name)) for name in self._checks))

    def alerts(self, step: Step) -> BoolArray:
        """Return which subjects to alert now, one boolean per row."""
        memory = np.ascontiguousarray(step.memory, np.float64)
        alerts = self.compiled().alerts(step.native(memory))
        if memory is not step.memory:
            step.memory[...] = memory
        return alerts


def _native(value: Any) -> Any:
    if type(value) in (float, int):  # first, because tuning compiles thousands of policies
        return value
    if isinstance(value, tuple):
        return [compiled(policy) for policy in value]
    if isinstance(value, str):
        return Score[value]
    return compiled(value) if isinstance(value, Policy) else value


class _Composite(BuiltInPolicy):
    """Base class of policies made of other policies, their `parts`."""

    @property
    def positive(self) -> Label:  # type: ignore[override]
        """The positive label of all parts."""
        return self.parts[0].positive


@dataclass(frozen=True)
class After(_Composite, rule=NativePolicy.after, of=as_policy, posts=as_at_least_one):
    """Another policy, without alerts before `posts` posts. Created by `Policy.after`."""

    of: Policy
    posts: int

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The other policy."""
        return (self.of,)


@dataclass(frozen=True)
class RankedBy(_Composite, rule=lambda of, _: of, of=as_policy, score=as_score):
    """Another policy, with another score to rank subjects by. Created by `Policy.ranked_by`.

    >>> from watchword import Overtakes
    >>> Overtakes("at risk").ranked_by("difference").ranks_by
    'difference'
    """

    of: Policy
    score: ScoreName

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


@dataclass(frozen=True)
class _Combined(_Composite, policies=as_policy):  # the check of each policy
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
class AnyOf(_Combined, rule=NativePolicy.any_of):
    """Alerts at a post where at least one of its policies alerts. Created by `a | b`.

    >>> from watchword import Leaps, Overtakes
    >>> Overtakes("at risk") | Leaps("at risk", factor=8)  # doctest: +ELLIPSIS
    AnyOf(policies=(Overtakes(...), Leaps(positive='at risk', factor=8.0)))
    """


@dataclass(frozen=True)
class AllOf(_Combined, rule=NativePolicy.all_of):
    """Alerts at a post where all its policies alert. Created by `a & b`.

    >>> from watchword import Overtakes, Repeats
    >>> Overtakes("at risk") & Repeats("at risk", times=2)  # doctest: +ELLIPSIS
    AllOf(policies=(Overtakes(...), Repeats(positive='at risk', times=2)))
    """


def compiled(policy: Policy) -> NativePolicy:
    """Return the policy as the core applies it; the core calls a user-defined policy back."""
    # A subclass of a built-in policy may differ from it in any method.
    if isinstance(policy, BuiltInPolicy) and "_rule" in vars(type(policy)):
        return policy.compiled()
    return NativePolicy.own(partial(_ask, policy), policy.remembers, policy.is_population)


def _ask(policy: Policy, *values: Any) -> BoolArray:
    """Return a policy's alerts after checking that they are one boolean per row."""
    step = Step(*values)
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


def ranking_score(policy: Policy, has: Collection[Quantity] = frozenset(QUANTITIES)) -> ScoreName:
    """Return the score by which subjects are ranked: the policy's score, else the share.

    It is also the share if the quantities that the policy's score needs are not available.
    """
    own = policy.ranks_by
    return own if own is not None and Step.needed_for(own) <= set(has) else "share"
